// Groups of arms that are promised shares together: a row for each, and a table with all figures of groups and caps.
import { ShareBar } from './bars.js';
import { NOTHING, plays, several, share, whole } from './format.js';
import { Badge } from './health.js';
import { Ledger } from './ledger.js';
import { received, urgency, urgent, word } from './states.js';
import { Term } from './terms.js';
import { Ago, Component, Name, html, toggled } from './view.js';
import { say } from './words.js';

const NAMED = 12; // arms of a group
const FIRST = 8; // groups in sight at first

// [field of the audit, head, what is shown]
const COLUMNS = [
  ['state', 'Promise', (line) => html`<${Badge} ...${word(line)} />`],
  ['at_least', 'At least', (line) => (line.at_least ? share(line.at_least) : NOTHING)],
  ['at_most', 'At most', (line) => share(line.at_most)],
  ['since', 'Since round', (line) => whole(line.since)],
  ['rounds', 'Rounds', (line) => whole(line.rounds)],
  ['plays', 'Plays', (line) => whole(line.plays)],
  ['share', 'Share', (line) => share(line.share)],
  ['available', 'Available', (line) => share(line.available)],
  ['owed', 'Owed, in plays', (line) => (line.at_least ? plays(line.owed) : NOTHING)],
  ['excess', 'Too many, in plays', (line) => plays(line.excess)],
];

const look = (field) => (field === 'state' ? 'names' : 'number');

export class Groups extends Component {
  state = { open: new Set(), all: false };

  render({ audit: { bounds, ledger, alarms, authors }, retired, scale }, { open, all }) {
    if (bounds.length === 0) return null;
    const groups = urgent(bounds.filter(({ kind }) => kind === 'group'), (line) => urgency(line));
    const since = new Map(alarms.filter(({ kind }) => kind.startsWith('group')).map((one) => [one.name, one.since]));
    const row = (line, at) => html`<${Group} key=${line.name} id=${`group-${at}`} since=${since.get(line.name)}
      ledger=${ledger.filter(({ kind, name }) => kind.startsWith('group') && name === line.name)} ...${{ line, retired, scale, authors }}
      open=${open.has(line.name)} onWhy=${() => this.setState({ open: toggled(open, line.name) })} />`;
    const heads = ['Group', 'Promise', 'Share of the rounds since the promise began', 'Reason'];
    return html`
      ${groups.length > 0 && html`<table class="overview groups" role="table" aria-label="Overview of the groups">
        <thead role="rowgroup"><tr role="row">${heads.map((text) => html`<th role="columnheader" scope="col">${say(text)}</th>`)}</tr></thead>
        <tbody role="rowgroup">${(all ? groups : groups.slice(0, FIRST)).map(row)}</tbody>
      </table>`}
      ${!all && groups.length > FIRST && html`<button type="button" onClick=${() => this.setState({ all: true })}>All ${whole(groups.length)} groups</button>`}
      <details><summary>All figures of groups, caps and segments</summary><${Figures} bounds=${bounds} /></details>
    `;
  }
}

const promised = ({ at_least, at_most }) =>
  [at_least && `at\u00a0least\u00a0${share(at_least)}`, at_most !== null && `at\u00a0most\u00a0${share(at_most)}`].filter(Boolean).join(', ');

function Group({ line, retired, scale, authors, since, ledger, open, onWhy, id }) {
  const gone = line.arms.filter((arm) => retired.includes(arm)).length;
  return html`<tr role="row" class="arm">
      <th role="rowheader" scope="row"><${Name} of=${line.name} />${' '}<span class="soft">${several(line.arms.length - gone, 'arm')}${
        gone > 0 && ` and ${whole(gone)} retired`}</span></th>
      <td role="cell" class="is"><span class="standing"><${Badge} ...${word(line)} />${
        since && html`${' '}<span class="soft">alarm <${Ago} time=${since} /></span>`}</span></td>
      <td role="cell" class="received" data-label="Share">
        <${ShareBar} line=${line} scale=${scale} least=${line.at_least} most=${line.at_most} />
        <span><strong>${received(line)}</strong>${' '}
          <span class="soft">${promised(line)}</span></span>
      </td>
      <td role="cell" class="ask"><button type="button" aria-expanded=${open} aria-controls=${id} onClick=${onWhy}
        aria-label=${`Why: ${line.name}`}>Why</button></td>
    </tr>
    ${open && html`<tr role="row" class="because" id=${id}><td role="cell" colspan="4">
      <p>Its arms share its promise: any of them can play for it. <${Members} arms=${line.arms} /></p>
      <dl class="facts">
        <div><dt><${Term} word="share">Received</${Term}></dt><dd>${share(line.share)} (${several(line.plays, 'play')} in ${several(line.rounds, 'round')})</dd></div>
        <div><dt><${Term} word="deficit">Owed now, in plays</${Term}></dt><dd>${line.at_least ? plays(Math.max(0, line.owed)) : 'no least share is promised'}</dd></div>
        <div><dt>Beyond its largest share, in plays</dt><dd>${line.excess === null ? 'it has none' : plays(Math.max(0, line.excess))}</dd></div>
      </dl>
      <${Ledger} entries=${ledger} authors=${authors} />
    </td></tr>`}`;
}

function Members({ arms }) {
  const rest = arms.length - NAMED;
  return html`They are ${arms.slice(0, NAMED).map((arm, at) => html`${at > 0 && ', '}<${Name} of=${arm} />`)}${
    rest > 0 && html`<details class="more"><summary>and ${whole(rest)} more</summary>
      ${arms.slice(NAMED).map((arm, at) => html`${at > 0 && ', '}<${Name} of=${arm} />`)}</details>`}`;
}

// A negative number of plays means ahead of the promise, or below the largest share.
function Figures({ bounds }) {
  const head = ([field, text]) => html`<th role="columnheader" scope="col" class=${look(field)} key=${field}>${say(text)}</th>`;
  const cell = (line) => ([field, text, show]) =>
    html`<td role="cell" class=${look(field)} data-field=${field} data-label=${say(text.toLowerCase())}>${show(line)}</td>`;
  const row = (line) => html`<tr role="row" key=${`${line.kind} ${line.segment} ${line.name}`}>
    <th role="rowheader" scope="row"><${Name} of=${line.name} />${line.segment && html`${' '}<span class="soft">in <${Name} of=${line.segment} /></span>`}</th>${COLUMNS.map(cell(line))}</tr>`;
  return html`
    <p class="note">A negative number of plays means ahead of the promise, or below the largest share.</p>
    <div class="scroll" role="region" aria-label="Table of groups, caps and segments" tabindex="0">
      <table class="cards wide bounds" role="table" aria-label="Groups, caps and segments">
        <thead role="rowgroup">
          <tr role="row"><th role="columnheader" scope="col">Group or arm</th>${COLUMNS.map(head)}</tr>
        </thead>
        <tbody role="rowgroup">${bounds.map(row)}</tbody>
      </table>
    </div>`;
}
