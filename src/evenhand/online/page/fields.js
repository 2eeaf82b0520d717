// The fields of arms and their promises, and what the service says of these before anything is written.
import { SPACE, several, share } from './format.js';
import { Badge } from './health.js';
import { fraction, percent } from './submit.js';
import { html } from './view.js';

const NAMED = 5; // arms in a sentence
const KNOWN = /^the promised shares cannot be kept: /; // what the badge before the text says already

// A row per arm: its name, and the share that it is promised where the algorithm promises shares.
export function ArmFields({ arms, promises, onChange }) {
  const set = (at, change) => onChange(arms.map((one, place) => (place === at ? { ...one, ...change } : one)));
  const without = (at) => onChange(arms.filter((_, place) => place !== at));
  // Several lines pasted into a name are several arms.
  const pasted = (at, event) => {
    const names = event.clipboardData.getData('text').split(/\r?\n/).map((name) => name.trim()).filter(Boolean);
    if (names.length < 2) return;
    event.preventDefault();
    onChange([...arms.slice(0, at), ...names.map((arm) => ({ arm, promise: '' })), ...arms.slice(at + 1)]);
  };
  const row = ({ arm, promise }, at) => html`<li>
    <label>Arm ${at + 1}<input value=${arm} maxlength="200" autocomplete="off" required
      onInput=${({ target }) => set(at, { arm: target.value })} onPaste=${(event) => pasted(at, event)} /></label>
    ${promises && html`<${PromiseField} label="Promised, %" value=${promise} onInput=${(promise) => set(at, { promise })} />`}
    <button type="button" aria-label=${`Remove arm ${at + 1}`} aria-disabled=${arms.length < 2}
      onClick=${() => arms.length > 1 && without(at)}>Remove</button>
  </li>`;
  return html`<fieldset><legend>Arms${promises && ' and their promised shares of the rounds'}</legend>
    <ul class="arm-fields">${arms.map(row)}</ul>
    <button type="button" onClick=${() => onChange([...arms, { arm: '', promise: '' }])}>Add an arm</button>
    <p class="note">A list of names can be pasted into a field, one per line.</p>
  </fieldset>`;
}

export function PromiseField({ label, value, onInput, named }) {
  const wrong = fraction(value) === undefined;
  return html`<label class="share-field">${label}<input inputmode="decimal" autocomplete="off" value=${value}
    aria-label=${named} aria-invalid=${wrong} onInput=${({ target }) => onInput(target.value)} /></label>`;
}

// The sum as one types, and the verdict of the service a moment later; `fractions` is null where none are promised.
export function Preview({ fractions, plays, preview }) {
  const wrong = fractions?.includes(undefined);
  const sum = fractions?.reduce((total, one) => total + (one ?? 0), 0) ?? 0;
  const over = sum > plays + 1e-9;
  const state = wrong || over || preview?.feasible === false ? 'bad' : preview?.feasible ? 'good' : null;
  const unkept = over || preview?.code === 'infeasible';
  const verdict = state === 'good' ? (fractions ? 'Can be kept' : 'Possible') : unkept ? 'Cannot be kept' : 'Not possible';
  return html`<div class="preview" role="status">
    ${fractions && html`<p>${wrong ? 'A promised share is a number from 0 to 100.' : inAll(sum, plays)}</p>`}
    ${state && html`<p><${Badge} state=${state} text=${verdict} /> <bdi>${preview?.text?.replace(KNOWN, '') ?? then(preview)}</bdi></p>`}
  </div>`;
}

function inAll(sum, plays) {
  const left = sum > plays + 1e-9 ? 'more than there are' : `${percent(plays - sum) || 0}${SPACE}% stay for the arms with the largest rewards`;
  return `Promised in all: ${percent(sum) || 0}${SPACE}% of the rounds; ${left}.`;
}

// What each arm would be promised whose promise would change, and what the groups of a new allocation.
function then(preview) {
  if (!preview?.changed) return preview ? 'Everything is so already.' : '';
  if (preview.groups.length && !preview.begins.length) return `Groups: ${preview.groups.map(bounds).join(', ')}.`;
  const arms = preview.arms.filter(({ arm }) => preview.begins.includes(arm)).map(({ arm, fraction }) => `${arm} ${share(fraction)}`);
  const more = arms.length > NAMED ? ` and ${several(arms.length - NAMED, 'more arm', 'more arms')}` : '';
  return arms.length ? `From the next round on: ${arms.slice(0, NAMED).join(', ')}${more}.` : '';
}

const bounds = ({ name, at_least, at_most }) =>
  `${name} at least ${share(at_least)}${at_most === null ? '' : `, at most ${share(at_most)}`}`;
