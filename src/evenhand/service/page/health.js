// The health of an allocation: a shape, a word and a sentence; never a colour alone.
import { html } from './view.js';

export const WORDS = { bad: 'Alarm', attention: 'Attention', good: 'Healthy', closed: 'Closed' };
export const STATES = Object.keys(WORDS); // the worst first

const SHAPES = {
  good: 'M3.5 8.5l3 3 6-7',
  attention: 'M8 3.5v5.5M8 12v.5',
  bad: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  closed: 'M4 8h8',
};

export function Badge({ state, text }) {
  if (state === 'plain') return html`<span class="badge">${text}</span>`;
  return html`<span class="badge ${state}">
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d=${SHAPES[state]} /></svg>${text}
  </span>`;
}

export const Health = ({ status }) => html`<${Badge} state=${status} text=${WORDS[status]} />`;
