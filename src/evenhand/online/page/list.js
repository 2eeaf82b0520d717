// All allocations.
import { moment, whole } from './format.js';
import { link, where } from './route.js';
import { Name, html } from './view.js';

export function List({ list }) {
  const shown = list?.length ? html`<${Table} list=${list} />` : html`<${Empty} />`;
  return html`<h1 tabindex="-1">Allocations</h1>${list ? shown : html`<p class="note">Loading…</p>`}`;
}

function Empty() {
  const command = `evenhand client create drinks fucb --arm tea --arm coffee --missing never --set "fractions={coffee=0.2}"${where()}`;
  return html`
    <p>There are none yet. This command creates one with two arms and promises a fifth of the rounds to coffee:</p>
    <pre><code>${command}</code></pre>
    <p class="note">It will be shown here immediately.</p>
  `;
}

const HEADS = [['Name'], ['Algorithm'], ['Arms', 'number'], ['Rounds', 'number'], ['State'], ['Created']];

function Table({ list }) {
  return html`
    <div class="scroll"><table class="cards full" role="table" aria-label="Allocations">
      <thead role="rowgroup"><tr role="row">
        ${HEADS.map(([head, look]) => html`<th role="columnheader" scope="col" class=${look}>${head}</th>`)}
      </tr></thead>
      <tbody role="rowgroup">${list.map((one) => html`<${Row} key=${one.name} one=${one} />`)}</tbody>
    </table></div>
  `;
}

function Row({ one }) {
  return html`<tr role="row">
    <th role="rowheader" scope="row"><a href=${link(one.name)}><${Name} of=${one.name} /></a></th>
    <td role="cell" data-label="Algorithm">${one.algorithm}</td>
    <td role="cell" data-label="Arms" class="number">${whole(one.arms)}</td>
    <td role="cell" data-label="Rounds" class="number">${whole(one.round)}</td>
    <td role="cell" data-label="State">${one.closed ? 'closed' : 'open'}</td>
    <td role="cell" data-label="Created">${moment(one.created)}</td>
  </tr>`;
}
