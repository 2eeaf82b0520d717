// What the policy had learned from plays elsewhere before its own: a sentence, where there is anything.
import { reward, several } from './format.js';
import { Name, html } from './view.js';

const NAMED = 10; // arms

export function Learned({ audit }) {
  const { sources, lines } = audit;
  if (sources.length === 0) return null;
  const known = lines.filter((line) => line.learned_plays > 0);
  const source = (name, at) => html`${at > 0 && ', '}<${Name} of=${name} />`;
  const arm = (line, at) => html`${at > 0 && '; '}<${Name} of=${line.arm} />${' '}
    ${several(line.learned_plays, 'play')}, mean reward ${reward(line.learned_mean)}`;
  const rest = known.length - NAMED;
  return html`<p class="note learned">
    Learned beforehand, from ${sources.map(source)}:${' '}
    ${known.length > 0 ? known.slice(0, NAMED).map(arm) : 'nothing of these arms'}${rest > 0 && `; and ${several(rest, 'more arm')}`}.
    These plays count for no promise, and no other number on this page includes them.
  </p>`;
}
