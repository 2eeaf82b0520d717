// The fields of arms and their promises, and what the service says of these before anything is written.
import { Fault, describedBy } from './faults.js';
import { several, share } from './format.js';
import { Badge } from './health.js';
import { fraction, percent } from './submit.js';
import { Term } from './terms.js';
import { h, html } from './view.js';
import { say } from './words.js';

const NAMED = 5; // arms in a sentence
const KNOWN = /^the promise(d share)?s cannot be kept: /; // what the badge before the text says already

let last = 0;
// An arm, or a group, that is not there yet; the id stays when others are removed.
export const fresh = (values) => ({ id: (last += 1), ...values });
export const newArm = (arm = '') => fresh({ arm, promise: '', cap: '' });

// A row per arm: its name, the share that it is promised, and the largest one, where the algorithm has these.
export function ArmFields({ arms, promises, caps, faults, onChange }) {
  const set = (at, change) => onChange(arms.map((one, place) => (place === at ? { ...one, ...change } : one)));
  const without = (at) => onChange(arms.filter((_, place) => place !== at));
  // Several lines pasted into a name are several arms.
  const pasted = (at, event) => {
    const names = event.clipboardData.getData('text').split(/\r?\n/).map((name) => name.trim()).filter(Boolean);
    if (names.length < 2) return;
    event.preventDefault();
    onChange([...arms.slice(0, at), ...names.map(newArm), ...arms.slice(at + 1)]);
  };
  const row = ({ id, arm, promise, cap }, at) => html`<li key=${id}>
    <label>Arm ${at + 1}<input value=${arm} maxlength="200" autocomplete="off" required ...${describedBy(faults, `arms[${at}]`)}
      onInput=${({ target }) => set(at, { arm: target.value })} onPaste=${(event) => pasted(at, event)} /></label>
    ${promises && html`<${ShareField} label="Promised, %" value=${promise} faults=${faults} path=${`fractions[${at}]`}
      onInput=${(promise) => set(at, { promise })} />`}
    ${caps && html`<${ShareField} label="At most, %" value=${cap} faults=${faults} path=${`caps[${at}]`}
      onInput=${(cap) => set(at, { cap })} />`}
    <button type="button" aria-label=${`Remove arm ${at + 1}`} aria-disabled=${arms.length < 2}
      onClick=${() => arms.length > 1 && without(at)}>Remove</button>
    ${['arms', 'fractions', 'caps'].map((list) => html`<${Fault} faults=${faults} path=${`${list}[${at}]`} />`)}
  </li>`;
  const shares = caps ? ' with their promised and largest shares of the rounds' : ' and their promised shares of the rounds';
  return html`<fieldset><legend><${Term} word="arm">Arms</${Term}>${promises && shares}</legend>
    <ul class=${caps ? 'arm-fields capped' : 'arm-fields'}>${arms.map(row)}</ul>
    <${Fault} faults=${faults} path="arms" />
    <button type="button" onClick=${() => onChange([...arms, newArm()])}>Add an arm</button>
    <p class="note">A list of names can be pasted into a field, one per line.${
      caps && ' Left empty, an arm is promised nothing, or may have all rounds.'}</p>
  </fieldset>`;
}

// A share in per cent; `most` is the largest one, of 1.
export function ShareField({ label, value, onInput, named, faults = {}, path = '', most = 1 }) {
  const about = describedBy(faults, path);
  const wrong = fraction(value, most) === undefined || about['aria-invalid'];
  return html`<label class="share-field">${label}<input inputmode="decimal" autocomplete="off" value=${value}
    aria-label=${named} ...${about} aria-invalid=${wrong} onInput=${({ target }) => onInput(target.value)} /></label>`;
}

// Why something is changed, for the audit.
export const Reason = ({ value, onInput }) => html`<label>Reason, for the audit<input value=${value} maxlength="1000"
  autocomplete="off" onInput=${({ target }) => onInput(target.value)} /></label>`;

// The sum as one types, and the verdict of the service a moment later; `fractions` is null where none are promised.
// With `bounded`, groups and caps are promised beside it; `wrong` is what is wrong with the fields themselves.
export function Preview({ fractions, plays, preview, bounded = false, wrong = wrongShares(fractions) }) {
  const sum = fractions?.reduce((total, one) => total + (one ?? 0), 0) ?? 0;
  const over = sum > plays + 1e-9;
  const state = wrong || over || preview?.feasible === false ? 'bad' : preview?.feasible ? 'good' : null;
  const unkept = over || preview?.code === 'infeasible';
  const verdict = state === 'good' ? (fractions ? 'Can be kept' : 'Possible') : unkept ? 'Cannot be kept' : 'Not possible';
  return html`<div class="preview" role="status">
    ${fractions && html`<p>${wrong || inAll(sum, plays, bounded)}</p>`}
    ${state && html`<p><${Badge} state=${state} text=${verdict} /> <bdi>${preview?.text?.replace(KNOWN, '') ?? then(preview)}</bdi></p>`}
    <${Effect} effect=${preview?.effect} />
  </div>`;
}

// What the change would cost, who pays and when arrears are made up, as the service says it.
function Effect({ effect }) {
  if (!effect) return null;
  return html`<h3>What if</h3><ul class="effect">${effect.text.map((text) => html`<li><bdi>${text}</bdi></li>`)}</ul>`;
}

export const wrongShares = (fractions) =>
  fractions?.includes(undefined) ? 'A promised share is a number from 0 to 100.' : '';

function inAll(sum, plays, bounded) {
  const promised = `${percent(sum) || 0}% ${say('of the rounds')}`;
  if (sum > plays + 1e-9) return `Promised in all: ${promised}; more than there are.`;
  if (bounded) return `${say('Promised to single arms')}: ${promised}.`;
  return `Promised in all: ${promised}; ${percent(plays - sum) || 0}% ${say('stay for the arms with the largest rewards.')}`;
}

// What each arm and group would be promised whose promise would change, or all groups and caps of a new allocation.
function then(preview) {
  if (!preview?.changed) return preview ? 'Everything is so already.' : '';
  const { begins, round } = preview;
  const made = round === 0 && begins.length === 0;
  const groups = preview.groups.filter(({ name }) => made || begins.includes(name)).map(bounds);
  const arms = preview.arms.filter(({ arm, cap }) => (made ? isCap(cap) : begins.includes(arm)));
  const all = [...groups, ...arms.map((one) => promised(one, made))];
  const more = all.length > NAMED ? ` and ${several(all.length - NAMED, 'more')}` : '';
  const listed = `${all.slice(0, NAMED).join(', ')}${more}.`;
  return all.length === 0 ? '' : made ? `Groups and caps: ${listed}` : `${say('From the next round on')}: ${listed}`;
}

const isCap = (cap) => cap !== null && cap < 1;
const within = (least, most) => [least, most].filter(Boolean).join(' and ');
const promised = ({ arm, fraction, cap }, capOnly) => {
  const least = !capOnly && (fraction > 0 || !isCap(cap)) && share(fraction);
  return `${arm} ${within(least, isCap(cap) && `at most ${share(cap)}`)}`;
};
const bounds = ({ name, at_least, at_most }) =>
  `${name} ${within(at_least > 0 && `at least ${share(at_least)}`, at_most !== null && `at most ${share(at_most)}`)}`;

// [field, label, an example]
export const WORDS = [
  ['unit', 'Unit of rewards', '€'],
  ['round_name', 'Word for rounds, in the plural', 'visitors, or person/people'],
  ['arm_name', 'Word for arms, in the plural', 'films'],
];

// What rewards, rounds and arms are called on this page, in audits and on the command line.
export function WordFields({ words, onInput }) {
  const field = ([key, label, example]) => h('label', {}, label, h('input', {
    value: words[key], maxlength: 40, autocomplete: 'off', placeholder: `such as ${example}`,
    onInput: ({ target }) => onInput({ [key]: target.value }),
  }));
  return h('div', { class: 'row' }, WORDS.map(field));
}
