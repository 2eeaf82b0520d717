// The ledger: every promise to an arm or a group, what was paid under each, and what became of what was owed.
import { moment, plays, share, whole } from './format.js';
import { Name, html } from './view.js';
import { say } from './words.js';

// Who made a change: the name of the API key, and its id on demand.
export function Author({ id, authors }) {
  return id ? html`<span title=${`key ${id}`}>${authors[id] ? html`<${Name} of=${authors[id]} />` : `key ${id}`}</span>` : null;
}

const KINDS = { share: '', cap: 'at most ', group: '', group_cap: 'at most ', segment: '' };

// [head, what is shown, class]
const COLUMNS = [
  ['Rounds', ({ since, until }) => `${whole(since + 1)}–${until === null ? 'now' : whole(until)}`, 'number'],
  ['Promised', ({ kind, share: part, segment }) => html`${part ? KINDS[kind] + share(part) : 'nothing'}${segment && html` in <${Name} of=${segment} />`}`, 'number'],
  ['Plays', (entry) => whole(entry.plays), 'number'],
  ['Owed in the end, in plays', (entry) => plays(entry.owed), 'number'],
  ['Carried on', (entry) => (entry.until === null ? '' : plays(entry.carried)), 'number'],
  ['Forgiven', (entry) => (entry.until === null ? '' : plays(entry.forgiven)), 'number'],
  ['Beyond a limit', (entry) => (entry.until === null ? '' : plays(entry.capped)), 'number'],
  ['Advance lapsed', (entry) => (entry.until === null ? '' : plays(entry.lapsed)), 'number'],
  ['Made', ({ began }) => (began === null ? 'at the start' : moment(began)), 'names'],
  ['Why', ({ reason, ended_why: end }) => html`<bdi>${[reason, end && `ended: ${end}`].filter(Boolean).join('; ')}</bdi>`, 'names'],
];

// `authors` are the names of keys, by their ids.
export function Ledger({ entries, authors }) {
  if (entries.length === 0) return null;
  const by = ['By', ({ key }) => html`<${Author} id=${key} authors=${authors} />`, 'names'];
  const columns = [...COLUMNS, by];
  return html`<details class="ledger" open=${entries.length > 1}><summary>All its promises so far</summary>
    <div class="scroll" role="region" aria-label="Promises so far, table" tabindex="0"><table>
      <thead><tr>${columns.map(([head, , look]) => html`<th scope="col" class=${look}>${say(head)}</th>`)}</tr></thead>
      <tbody>${entries.map((entry) => html`<tr>${columns.map(([, show, look]) => html`<td class=${look}>${show(entry)}</td>`)}</tr>`)}</tbody>
    </table></div>
  </details>`;
}
