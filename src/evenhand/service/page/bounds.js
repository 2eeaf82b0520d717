// Groups of arms that are promised shares together, and arms with a cap: promised, received, owed.
import { NOTHING, plays, share, whole } from './format.js';
import { Badge } from './health.js';
import { Ledger } from './ledger.js';
import { word } from './states.js';
import { Name, html } from './view.js';

// [field of the audit, head, what is shown]
const COLUMNS = [
  ['arms', 'Arms', (line) => html`<span>${line.arms.map((arm, at) => html`${at > 0 && ', '}<${Name} of=${arm} />`)}</span>`],
  ['state', 'Promise', (line) => html`<${Badge} ...${word(line)} />`],
  ['at_least', 'At least', (line) => (line.at_least ? share(line.at_least) : NOTHING)],
  ['at_most', 'At most', (line) => share(line.at_most)],
  ['since', 'Since round', (line) => whole(line.since)],
  ['plays', 'Plays', (line) => whole(line.plays)],
  ['share', 'Share', (line) => share(line.share)],
  ['owed', 'Owed, in plays', (line) => (line.at_least ? plays(line.owed) : NOTHING)],
  ['excess', 'Too many, in plays', (line) => plays(line.excess)],
];

const look = (field) => (['arms', 'state'].includes(field) ? 'names' : 'number');

export function Bounds({ bounds, ledger }) {
  if (bounds.length === 0) return null;
  const head = ([field, text]) => html`<th role="columnheader" scope="col" class=${look(field)} key=${field}>${text}</th>`;
  return html`<section aria-labelledby="bounds">
    <h2 id="bounds">Groups and caps</h2>
    <p class="note">A group shares its promise: any of its arms can play for it. A negative number of plays means ahead of
      the promise, or below the largest share.</p>
    <div class="scroll" role="region" aria-label="Table of groups and caps" tabindex="0">
      <table class="cards wide bounds" role="table" aria-label="Groups and caps">
        <thead role="rowgroup">
          <tr role="row"><th role="columnheader" scope="col">Group or arm</th>${COLUMNS.map(head)}</tr>
        </thead>
        <tbody role="rowgroup">${bounds.map((line) => html`<${Row} key=${line.kind + line.name} line=${line} />`)}</tbody>
      </table>
    </div>
    <${Ledger} entries=${ledger.filter(({ kind }) => kind.startsWith('group'))} named />
  </section>`;
}

function Row({ line }) {
  const cell = ([field, text, show]) =>
    html`<td role="cell" class=${look(field)} data-field=${field} data-label=${text.toLowerCase()}>${show(line)}</td>`;
  return html`<tr role="row">
    <th role="rowheader" scope="row"><${Name} of=${line.name} /></th>
    ${COLUMNS.map(cell)}
  </tr>`;
}
