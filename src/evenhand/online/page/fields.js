// The fields of arms and their promises, and what the service says of these before anything is written.
import { Badge } from './health.js';
import { fraction, percent } from './submit.js';
import { html } from './view.js';

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

// The sum as one types, and the verdict of the service a moment later.
export function Preview({ fractions, plays, preview }) {
  const wrong = fractions.includes(undefined);
  const sum = fractions.reduce((total, one) => total + (one ?? 0), 0);
  const rest = plays - sum;
  const left = rest >= 0 ? `${percent(rest) || 0} % stay for the arms with the largest rewards` : 'more than there are';
  const text = wrong ? 'A promised share is a number from 0 to 100.' : `Promised in all: ${percent(sum) || 0} % of the rounds; ${left}.`;
  const state = wrong || rest < 0 || preview?.feasible === false ? 'bad' : preview?.feasible ? 'good' : null;
  return html`<div class="preview" role="status">
    <p>${text}</p>
    ${state && html`<p><${Badge} state=${state} text=${state === 'good' ? 'Can be kept' : 'Cannot be kept'} />${' '}
      <bdi>${preview?.text ?? ''}</bdi></p>`}
    ${!state && preview?.text && html`<p><bdi>${preview.text}</bdi></p>`}
  </div>`;
}
