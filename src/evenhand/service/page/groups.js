// The fields of promises to groups: the name of each, its arms, and the shares that they get together.
import { ShareField, fresh } from './fields.js';
import { Fault } from './faults.js';
import { fraction } from './submit.js';
import { Name, html } from './view.js';
import { say } from './words.js';

export const newGroup = () => fresh({ name: '', arms: [], least: '', most: '' });

// What a group lacks before it can be promised anything; `plays` is the largest share, of 1.
export function lacking({ name, arms, least, most }, plays) {
  const bounded = least.trim() || most.trim();
  const wrong = [least, most].some((text) => fraction(text, plays) === undefined);
  const lacks = [!name.trim() && 'a name', !arms.length && 'an arm', !bounded && 'a share'].filter(Boolean);
  return wrong ? `Shares are numbers from 0 to ${100 * plays}.` : lacks.length ? `Still needed: ${lacks.join(', ')}.` : '';
}

// The bounds of a group as the service takes them.
export function boundsOf({ least, most }, plays) {
  const at_most = most.trim() ? { at_most: fraction(most, plays) } : {};
  return { at_least: fraction(least, plays) ?? 0, ...at_most };
}

// Messages name a group by its place, or by its name in quotes.
function faultOf(faults, at, name) {
  const quoted = `the group '${name.trim()}'`;
  const found = Object.entries(faults).find(
    ([path, text]) => path.startsWith(`groups[${at}]`) || (path === 'groups' && text.includes(quoted)),
  );
  return found ? { [`groups[${at}]`]: found[1] } : {};
}

// `arms` are those that can be chosen, with an id each; `tried` shows what lacks as an error.
export function GroupFields({ groups, arms, plays, faults = {}, tried = false, onChange }) {
  const set = (at, change) => onChange(groups.map((one, place) => (place === at ? { ...one, ...change } : one)));
  const without = (at) => onChange(groups.filter((_, place) => place !== at));
  const group = (one, at) => html`<${Group} key=${one.id} ...${{ of: one, at, arms, plays, tried }}
    faults=${faultOf(faults, at, one.name)} onChange=${(change) => set(at, change)} onRemove=${() => without(at)} />`;
  const unplaced = groups.every(({ name }, at) => Object.keys(faultOf(faults, at, name)).length === 0);
  return html`<fieldset class="groups"><legend>Promises to groups of arms</legend>
    <p class="note">The arms of a group get a share of the rounds together: at least, at most, or both. An arm can be in
      several groups.${plays > 1 && say(` With ${plays} arms per round, shares go up to ${100 * plays}%.`)}</p>
    ${groups.map(group)}
    ${unplaced && html`<${Fault} faults=${faults} path="groups" />`}
    <button type="button" onClick=${() => onChange([...groups, newGroup()])}>Add a group</button>
  </fieldset>`;
}

function Group({ of, at, arms, plays, tried, faults, onChange, onRemove }) {
  const { name, known } = of;
  const called = known ? name : `group ${at + 1}`;
  const path = `groups[${at}]`;
  const toggle = (id) => onChange({ arms: of.arms.includes(id) ? of.arms.filter((one) => one !== id) : [...of.arms, id] });
  const member = ({ id, arm, retired }, place) => html`<label class="tick" key=${id}><input type="checkbox"
    checked=${of.arms.includes(id)} onChange=${() => toggle(id)} /> ${
    arm.trim() ? html`<${Name} of=${arm} />` : `Arm ${place + 1}`}${retired && ' (retired)'}</label>`;
  const bound = (field, label) => html`<${ShareField} label=${`${label}, %`} value=${of[field]} most=${plays}
    named=${`${label}, per cent, ${called}`} onInput=${(text) => onChange({ [field]: text })} />`;
  const lacks = lacking(of, plays);
  return html`<fieldset class="group"><legend>${known ? html`<${Name} of=${name} />` : `Group ${at + 1}`}</legend>
    <div class="row">
      ${!known && html`<label>Name of the group<input value=${name} maxlength="200" autocomplete="off" aria-label=${`Name of ${called}`}
        aria-invalid=${Object.hasOwn(faults, path) || (tried && !name.trim())} onInput=${({ target }) => onChange({ name: target.value })} /></label>`}
      ${bound('least', 'At least')}${bound('most', 'At most')}
    </div>
    <div class="members" role="group" aria-label=${`Arms of ${called}`}>${arms.map(member)}</div>
    <${Fault} faults=${faults} path=${path} />
    ${lacks && html`<p class=${tried || lacks.startsWith('Shares') ? 'fault' : 'note'} tabindex="-1">${lacks}</p>`}
    <button type="button" aria-label=${`Remove ${called}`} onClick=${onRemove}>Remove the group</button>
  </fieldset>`;
}
