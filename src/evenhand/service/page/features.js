// The fields of what is known before each decision: features of the situation and of the arms, and segments.
import { Fault, describedBy } from './faults.js';
import { fresh } from './fields.js';
import { Field, typed } from './parameters.js';
import { html, options } from './view.js';
import { say } from './words.js';

const OF = { situation: 'the situation, such as who asks', arms: 'each arm, such as its price' };
const CUT = ['category', 'flag', 'number']; // kinds whose values can be segments

export const newFeature = (of) => fresh({ of, name: '', kind: 'number', texts: {} });

const before = ({ id }) => `feature-${id}.`;
const alike = (one, other) => one.of === other.of && one.name.trim() === other.name.trim();

// What a feature lacks before the service is asked.
export function lacks(one, features) {
  if (!one.name.trim()) return 'It needs a name.';
  return features.filter((other) => alike(one, other)).length > 1 ? 'Another feature has this name.' : '';
}

// The declaration as the service takes it, of the kinds that it describes; null for none.
export function declared(features, kinds) {
  const table = (one) => ({ kind: one.kind, ...typed(kinds.find(({ kind }) => kind === one.kind).parameters, one.texts, before(one)) });
  const side = (of) => {
    const there = features.filter((one) => one.of === of);
    return there.length ? { [of]: Object.fromEntries(there.map((one) => [one.name.trim(), table(one)])) } : {};
  };
  return features.length ? { ...side('situation'), ...side('arms') } : null;
}

// The feature of the situation that makes segments, if one is chosen that is there still.
const chosenOf = (features, segments) => features.find(({ id, of, kind }) => id === segments && of === 'situation' && CUT.includes(kind));

// The segments as the service takes them; null for none.
export function segmentsOf(features, segments, cuts) {
  const chosen = chosenOf(features, segments);
  if (!chosen) return null;
  const numbers = cuts.split(/[\s,;]+/).filter(Boolean).map((text) => (Number.isNaN(Number(text)) ? text : Number(text)));
  return chosen.kind === 'number' ? { feature: chosen.name.trim(), cuts: numbers } : chosen.name.trim();
}

// Messages name a feature by its name, and one of a list by its place; the fields have the number of the feature.
function faultsIn(faults, one) {
  const path = `features.${one.of}.${one.name.trim()}`;
  const own = Object.entries(faults).filter(([at]) => at === path || at.startsWith(`${path}.`));
  return Object.fromEntries(own.map(([at, text]) => {
    const [, field, place] = /^\.?(.*?)(?:\[(\d+)\])?$/.exec(at.slice(path.length));
    return [before(one) + field, place === undefined ? text : `number ${Number(place) + 1} ${text}`];
  }));
}

// Where segments of a number lack cuts, the fault stands at these, not at the segments.
export function atCuts(faults, by) {
  const { segments, ...others } = faults;
  return segments && by?.cuts?.length === 0 ? { ...others, 'segments.cuts': 'must be numbers with which segments begin, such as 18, 65' } : faults;
}

export function FeatureFields({ features, kinds, segments, cuts, faults, tried, onChange }) {
  const set = (id, change) => onChange({ features: features.map((one) => (one.id === id ? { ...one, ...change } : one)) });
  const without = (id) => onChange({ features: features.filter((one) => one.id !== id) });
  const feature = (one, at) => html`<${Feature} key=${one.id} ...${{ one, at, kinds, tried }} lacking=${lacks(one, features)}
    faults=${faultsIn(faults, one)} onChange=${(change) => set(one.id, change)} onRemove=${() => without(one.id)} />`;
  const add = (of) => html`<button type="button" onClick=${() => onChange({ features: [...features, newFeature(of)] })}>
    Add a feature of ${of === 'arms' ? 'the arms' : 'the situation'}</button>`;
  return html`<fieldset class="groups"><legend>What is known before each decision</legend>
    <p class="note">Features, if the right arm depends on who asks, or arms differ in what is known of them. Every decision
      then says their values. Those of an arm that stay are given once: <code>evenhand client change redeclare</code>.</p>
    ${features.map(feature)}
    ${['features', 'features.situation', 'features.arms'].map((path) => html`<${Fault} faults=${faults} path=${path} />`)}
    <div class="row">${Object.keys(OF).map(add)}</div>
    ${features.some(({ of }) => of === 'situation') && html`<${Segments} ...${{ features, segments, cuts, faults, onChange }} />`}
  </fieldset>`;
}

function Feature({ one, at, kinds, tried, lacking, faults, onChange, onRemove }) {
  const called = `Feature ${at + 1}`;
  const wrong = { ...faults, ...(lacking && (tried || one.name.trim()) && { [`${before(one)}name`]: lacking }) };
  const own = kinds.find(({ kind }) => kind === one.kind);
  return html`<fieldset class="group"><legend>${called}, of ${OF[one.of]}</legend>
    <div class="row">
      <label>Name<input value=${one.name} maxlength="200" autocomplete="off" required aria-label=${`Name of feature ${at + 1}`}
        ...${describedBy(wrong, `${before(one)}name`)} onInput=${({ target }) => onChange({ name: target.value })} /></label>
      <label>Kind<select aria-label=${`Kind of feature ${at + 1}`} ...${describedBy(wrong, before(one))}
        onChange=${({ target }) => onChange({ kind: target.value })}>${options(kinds.map(({ kind }) => [kind, kind]), one.kind)}</select></label>
    </div>
    ${['name', ''].map((path) => html`<${Fault} faults=${wrong} path=${before(one) + path} />`)}
    ${own && html`<p class="note">${own.summary}.</p>`}
    ${own?.parameters.map((parameter) => html`<${Field} key=${`${own.kind}.${parameter.name}`} of=${parameter} before=${before(one)}
      texts=${one.texts} faults=${wrong} onInput=${(texts) => onChange({ texts })} />`)}
    <button type="button" aria-label=${`Remove feature ${at + 1}`} onClick=${onRemove}>Remove the feature</button>
  </fieldset>`;
}

function Segments({ features, segments, cuts, faults, onChange }) {
  const able = features.filter(({ of, kind }) => of === 'situation' && CUT.includes(kind));
  const chosen = chosenOf(features, segments);
  const all = [['', say('nothing: over all rounds')], ...able.map(({ id, name }) => [id, name.trim() || 'without a name'])];
  return html`<div class="row">
    <label>Count rounds, and promise shares, by<select ...${describedBy(faults, 'segments')}
      onChange=${({ target }) => onChange({ segments: Number(target.value) || null })}>
      ${options(all, chosen?.id ?? '')}</select></label>
    ${chosen?.kind === 'number' && html`<label>Cuts, each begins a segment<input value=${cuts} autocomplete="off" inputmode="decimal"
      placeholder="such as 18, 65" ...${describedBy(faults, 'segments.cuts')} onInput=${({ target }) => onChange({ cuts: target.value })} /></label>`}
  </div>
  ${['segments', 'segments.cuts'].map((path) => html`<${Fault} faults=${faults} path=${path} />`)}
  ${chosen && html`<p class="note">Shares in the rounds of one segment are promised once the allocation is there:${' '}
    <code>evenhand client change promise --segment</code>.</p>`}`;
}
