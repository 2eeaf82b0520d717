// What the policy's estimates rest on: plays elsewhere before its own, and rewards that it has not forgotten. A sentence
// each, where there is anything.
import { reward, several, whole } from './format.js';
import { Name, html } from './view.js';

const NAMED = 10; // arms

const Listed = ({ lines, figures }) => {
  const rest = lines.length - NAMED;
  const arm = (line, at) => html`${at > 0 && '; '}<${Name} of=${line.arm} />${' '}${figures(line)}`;
  return html`${lines.slice(0, NAMED).map(arm)}${rest > 0 && `; and ${several(rest, 'more arm')}`}`;
};

export function Learned({ audit }) {
  const { sources, lines } = audit;
  if (sources.length === 0) return null;
  const known = lines.filter((line) => line.learned_plays > 0);
  const source = (name, at) => html`${at > 0 && ', '}<${Name} of=${name} />`;
  const figures = (line) => `${several(line.learned_plays, 'play')}, mean reward ${reward(line.learned_mean)}`;
  return html`<p class="note learned">
    Learned beforehand, from ${sources.map(source)}:${' '}
    ${known.length > 0 ? html`<${Listed} lines=${known} figures=${figures} />` : 'nothing of these arms'}.
    These plays count for no promise, and no other number on this page includes them.
  </p>`;
}

export function Remembered({ audit }) {
  const remembered = audit.lines.filter((line) => line.counted !== null);
  if (remembered.length === 0) return null;
  const since = (changes) => (changes > 0 ? `, since ${several(changes, 'change')} of its mean` : '');
  const figures = (line) =>
    `${whole(Math.round(line.counted))} of ${several(line.received, 'reward')}${since(line.changes)}`;
  return html`<p class="note remembered">
    The policy goes by the rewards that it has not forgotten: <${Listed} lines=${remembered} figures=${figures} />.
  </p>`;
}
