// Who gets what in which segment of the rounds: a row for each, with the shares of the arms and what is promised there.
import { several, share } from './format.js';
import { Component, Name, html } from './view.js';
import { say } from './words.js';

const FIRST = 8; // arms with the most plays in sight at first

export class Segments extends Component {
  state = { all: false };

  render({ audit: { segmented, segments, bounds, lines } }, { all }) {
    if (segments.length === 0) return null;
    const total = lines.map((_, at) => segments.reduce((sum, { plays }) => sum + plays[at], 0));
    const promised = lines.map((_, at) => segments.some((one) => one.promised[at] > 0));
    const order = lines.map((_, at) => at).sort((a, b) => promised[b] - promised[a] || total[b] - total[a] || a - b);
    const shown = all ? order : order.slice(0, FIRST);
    const states = new Map(bounds.filter(({ kind }) => kind === 'segment').map((one) => [`${one.segment} ${one.name}`, one]));
    const head = (at) => html`<th role="columnheader" scope="col" class="number" key=${at}><${Name} of=${lines[at].arm} /></th>`;
    const row = (one) => html`<tr role="row" key=${one.segment}>
      <th role="rowheader" scope="row"><${Name} of=${one.segment} />${' '}<span class="soft">${several(one.rounds, 'round')}</span></th>
      ${shown.map((at) => html`<${Cell} key=${at} arm=${lines[at].arm} got=${one.rounds ? one.plays[at] / one.rounds : null}
        least=${one.promised[at]} state=${states.get(`${one.segment} ${lines[at].arm}`)} />`)}</tr>`;
    return html`<section aria-labelledby="segments">
      <h2 id="segments">${say('Who gets what')}, by <${Name} of=${segmented} /></h2>
      <p class="note">${say('The share of the rounds of each row that an arm got; below it what is promised there, beside the promises for all rounds.')}</p>
      <div class="scroll" role="region" aria-label="Shares by segment" tabindex="0">
        <table class="cards wide by-segment" role="table" aria-label="Shares of the arms by segment">
          <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col"><${Name} of=${segmented} /></th>${shown.map(head)}</tr></thead>
          <tbody role="rowgroup">${segments.map(row)}</tbody>
        </table>
      </div>
      ${!all && order.length > FIRST && html`<button type="button" onClick=${() => this.setState({ all: true })}>All ${several(order.length, 'arm')}</button>`}
    </section>`;
  }
}

function Cell({ arm, got, least, state }) {
  const width = `${Math.round(100 * Math.min(1, got ?? 0))}%`;
  return html`<td role="cell" class=${`number within ${state?.verdict === 'missed' ? 'behind' : ''}`} data-label=${arm}
    style=${`--share: ${width}`}>${share(got)}${least > 0 && html`<br /><span class="soft">of ${share(least)}${
      state?.standing ? `, ${state.standing}` : ''}</span>`}</td>`;
}
