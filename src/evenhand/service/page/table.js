// The table of the arms: every number of the audit. On a phone each row becomes a card (style.css); roles are explicit,
// as browsers drop them if a table is not laid out as one.
import { number, plays, reward, rewardInterval, share, shareInterval, whole } from './format.js';
import { Component, Name, html } from './view.js';
import { say } from './words.js';

// [fields of the audit, group of columns, head, what is shown]
const COLUMNS = [
  ['promised', 'Promise', 'Share', (line) => share(line.promised)],
  ['since', 'Promise', 'Since round', (line) => whole(line.since)],
  ['rounds', 'Received since', 'Rounds', (line) => whole(line.rounds)],
  ['plays', 'Received since', 'Plays', (line) => whole(line.plays)],
  ['share', 'Received since', 'Share', (line) => share(line.share)],
  ['low_share high_share', 'Received since', '95% interval', (line) => shareInterval(line.low_share, line.high_share)],
  ['deficit', 'Deficit in plays', 'Now', (line) => plays(line.deficit)],
  ['worst', 'Deficit in plays', 'Largest', (line) => plays(line.worst)],
  ['catch_up_rounds', 'Deficit in plays', 'Rounds to catch up', (line) => whole(line.catch_up_rounds)],
  ['due', 'All its promises, in plays', 'Due', (line) => plays(line.due)],
  ['paid', 'All its promises, in plays', 'Paid', (line) => whole(line.paid)],
  ['forgiven', 'All its promises, in plays', 'Forgiven', (line) => plays(line.forgiven)],
  ['capped', 'All its promises, in plays', 'Beyond a limit', (line) => plays(line.capped)],
  ['lapsed', 'All its promises, in plays', 'Advances lapsed', (line) => plays(line.lapsed)],
  ['promises', 'All its promises, in plays', 'Ended', (line) => whole(line.promises)],
  ['all_plays', 'From the first round', 'Plays', (line) => whole(line.all_plays)],
  ['available', 'From the first round', 'Available', (line) => share(line.available)],
  ['estimate', 'Mean reward', 'Estimate', (line) => reward(line.estimate)],
  ['low high', 'Mean reward', '95% interval', (line) => rewardInterval(line.low, line.high)],
  ['score', 'Policy', 'Score', (line) => number(line.score)],
  ['received', 'Rewards', 'In time', (line) => whole(line.received)],
  ['pending', 'Rewards', 'Pending', (line) => whole(line.pending)],
  ['lost', 'Rewards', 'Lost', (line) => whole(line.lost)],
  ['late', 'Rewards', 'Late (of the lost)', (line) => whole(line.late)],
].map(([field, group, head, show]) => ({ field, group, head, show }));

// Groups of columns, in order.
const GROUPS = [...new Set(COLUMNS.map(({ group }) => group))].map((group) => ({
  group,
  span: COLUMNS.filter((column) => column.group === group).length,
}));

export function Table({ rows }) {
  const group = ({ group, span }) => html`<th role="columnheader" scope="colgroup" colspan=${span}>${say(group)}</th>`;
  const head = ({ field, head }) => html`<th role="columnheader" scope="col" key=${field}>${say(head)}</th>`;
  return html`<div class="scroll" role="region" aria-label="Table of the arms" tabindex="0">
    <table class="cards wide" role="table" aria-label="All figures of the arms">
      <thead role="rowgroup">
        <tr role="row"><th role="columnheader" scope="col" rowspan="2">Arm</th>${GROUPS.map(group)}</tr>
        <tr role="row">${COLUMNS.map(head)}</tr>
      </thead>
      <tbody role="rowgroup">${rows.map((line) => html`<${Row} key=${line.arm} line=${line} />`)}</tbody>
    </table>
  </div>`;
}

class Row extends Component {
  shouldComponentUpdate(next) {
    return next.line !== this.props.line;
  }

  render({ line }) {
    const cell = ({ field, group, head, show }) => {
      const label = say(`${group}: ${head.toLowerCase()}`);
      return html`<td role="cell" class="number" data-field=${field} data-label=${label}>${show(line)}</td>`;
    };
    return html`<tr role="row">
      <th role="rowheader" scope="row">
        <${Name} of=${line.arm} />
        ${line.retired && html` <span class="badge">retired</span>`}
      </th>
      ${COLUMNS.map(cell)}
    </tr>`;
  }
}
