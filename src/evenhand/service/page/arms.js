// The arms: a filter, pages, a row for each in sight, and a table with every number on demand.
import { Arm } from './arm.js';
import { rewardScale, shareScale } from './bars.js';
import { Groups } from './bounds.js';
import { compare, contains, several, whole } from './format.js';
import { Paged, Pager, Turns, cut, isNarrow } from './pager.js';
import { byMerit, takesTotals, urgency, urgent } from './states.js';
import { percent } from './submit.js';
import { Table } from './table.js';
import { Term } from './terms.js';
import { html, options, toggled, visible } from './view.js';
import { say } from './words.js';

const descending = (field) => (one, other) => (other[field] ?? -Infinity) - (one[field] ?? -Infinity) || 0;
const FIRST = 'urgency'; // the order at first
const SHORT = 24; // letters
const NONE = []; // the same each time, so that rows are not rendered again

const ORDERS = {
  urgency: ['Most urgent first', null],
  given: ['As given', null],
  behind: ['Furthest behind first', descending('deficit')],
  plays: ['Most plays first', descending('all_plays')],
  fewest: ['Fewest plays first', (one, other) => one.all_plays - other.all_plays],
  estimate: ['Largest estimated reward first', descending('estimate')],
  pending: ['Most pending rewards first', descending('pending')],
  name: ['By name', (one, other) => compare(one.arm, other.arm)],
};

// The name of a group beside each of its arms.
const short = (name) => visible([...name].length > SHORT ? `${[...name].slice(0, SHORT - 1).join('')}…` : name);

// `caps` are the lines of largest shares, by arm, and `within` those of promises in segments.
function select(lines, filter, order, { caps, within }) {
  const matching = filter ? lines.filter((line) => contains(line.arm, filter)) : lines;
  if (order === 'urgency') return urgent(matching, (line) => urgency(line, caps.get(line.arm), within.get(line.arm)));
  return ORDERS[order][1] ? [...matching].sort(ORDERS[order][1]) : matching;
}

// The arm with the smallest share, where there is more than one share.
function smallest(lines) {
  const shared = lines.filter((line) => !line.retired && line.share !== null);
  const least = shared.reduce((one, other) => (other.share < one.share ? other : one), shared[0]);
  return shared.some((line) => line.share > least.share) ? least.arm : null;
}

export class Arms extends Paged {
  state = { page: 0, open: new Set(), figures: false };

  // The same objects as long as nothing changes, so that rows are not rendered again.
  page(audit, { filter = '', order }, bounds) {
    const { lines } = audit;
    const of = [lines, filter, order, this.state.page, isNarrow() ? 10 : 20];
    if (!this.cut?.of.every((part, place) => part === of[place])) {
      const page = cut(select(lines, filter, order in ORDERS ? order : FIRST, bounds), this.state.page, of.at(-1));
      const scales = { share: shareScale(audit), reward: rewardScale(page.rows) };
      this.cut = { of, page, scales, least: smallest(lines) };
    }
    return this.cut;
  }

  // Of each arm its largest share, the names of the groups in which it is, its promise in a segment, since when it is stated to be behind, and its
  // promises so far.
  bounds({ bounds, alarms, ledger }) {
    if (this.bounded?.of !== bounds) {
      const single = ({ kind }) => kind === 'share' || kind === 'cap' || kind === 'segment';
      const since = new Map(alarms.filter(single).map((one) => [one.name, one.since]));
      const entries = new Map();
      for (const one of ledger.filter(single)) entries.set(one.name, [...(entries.get(one.name) ?? []), one]);
      const caps = new Map(bounds.filter(({ kind }) => kind === 'arm').map((line) => [line.name, line]));
      const groups = new Map();
      for (const { name, arms } of bounds.filter(({ kind }) => kind === 'group')) {
        for (const arm of arms) groups.set(arm, [...(groups.get(arm) ?? []), short(name)]);
      }
      const within = new Map();
      for (const line of urgent(bounds.filter(({ kind }) => kind === 'segment'), (one) => urgency(one))) {
        if (!within.has(line.name)) within.set(line.name, line);
      }
      this.bounded = { of: bounds, caps, groups, within, since, entries };
    }
    return this.bounded;
  }

  render({ audit, name, retired, service, loaded, onMore, chosen }, { open, figures }) {
    const totals = takesTotals(audit.lines);
    const merit = audit.lines.some(byMerit);
    const bounds = this.bounds(audit);
    const { caps, groups, within, since, entries } = bounds;
    const { page, scales, least } = this.page(audit, chosen, bounds);
    const arm = (line, at) => html`<${Arm} key=${line.arm} id=${`why-${page.at * page.size + at}`} line=${line}
      cap=${caps.get(line.arm)} within=${within.get(line.arm)} since=${since.get(line.arm)} ledger=${entries.get(line.arm) ?? NONE} authors=${audit.authors} groups=${groups.get(line.arm)?.join(', ') ?? ''}
      lines=${audit.lines} ...${{ name, service }} scales=${scales} totals=${totals} open=${open.has(line.arm)}
      least=${line.arm === least} onWhy=${() => this.setState({ open: toggled(open, line.arm) })} />`;
    const body = () => html`
      <table class="overview" role="table" aria-label="Overview of the arms">
        <thead role="rowgroup"><tr role="row">${headsOf(merit).map(head)}</tr></thead>
        <tbody role="rowgroup">${page.rows.map(arm)}</tbody>
      </table>
      ${page.last > 0 && html`<div class="pager"><${Turns} at=${page.at} last=${page.last} onTurn=${this.turn} /></div>`}
      <details open=${figures} onToggle=${(event) => this.setState({ figures: event.target.open })}>
        <summary>All figures of these arms</summary>
        ${figures && html`<${Table} rows=${page.rows} />`}
      </details>`;
    return html`<section aria-labelledby="arms">
      <h2 id="arms">Who gets what</h2>
      <${Key} merit=${merit} end=${scales.share[1]} />
      <${Groups} ...${{ audit, retired }} scale=${scales.share} />
      ${audit.lines.length > 3 && html`<${Tools} chosen=${chosen} onChoose=${this.choose} />`}
      <${Limited} audit=${audit} loaded=${loaded} onMore=${onMore} />
      <${Pager} page=${page} what=${say('Arms')} none=${say('No arm has a matching name')} onTurn=${this.turn} />
      ${page.rows.length > 0 && body()}
    </section>`;
  }
}

const headsOf = (merit) => ['Arm', 'Promise', `Share of the rounds${merit ? '' : ' since the promise began'}`, 'Mean reward', 'Reason'];
const head = (text) => html`<th role="columnheader" scope="col">${say(text)}</th>`;

// What the pictures show, and how far their scale reaches.
function Key({ merit, end }) {
  const promised = merit ? html`deserved by <${Term} word="merit" />` : html`<${Term} word="promise">promised</${Term}>`;
  return html`<p class="note key-line">
    <span class="key-got"><${Term} word="share" />; bars: 0 to ${percent(end)}% of the rounds</span> <span class="key-promise">${promised}</span>${' '}
    <span class="key-reward">mean <${Term} word="reward" /></span> <span class="key-interval">95% interval, valid at any time</span>
  </p>`;
}

function Tools({ chosen, onChoose }) {
  const { filter = '', order = FIRST } = chosen;
  return html`<form class="tools" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label>Arms whose name contains
      <input type="search" name="filter" autocomplete="off" value=${filter}
        onInput=${({ target }) => onChoose({ filter: target.value })} />
    </label>
    <label>Order
      <select name="order" value=${order} onChange=${({ target }) => onChoose({ order: target.value })}>
        ${options(Object.entries(ORDERS).map(([key, [text]]) => [key, text]), order)}
      </select>
    </label>
  </form>`;
}

function Limited({ audit, loaded, onMore }) {
  const count = audit.lines.length;
  if (count >= audit.arms) return null;
  const more = Math.min(loaded * 10, audit.arms);
  const amount = more === audit.arms ? `all ${whole(more)}` : whole(more);
  return html`<p class="limited">
    ${whole(count)} of ${several(audit.arms, 'arm')} are loaded: those furthest behind their promise, then those with
    most plays. Filter and order work on these.${' '}
    <button type="button" onClick=${() => onMore(more)}>Load ${amount}</button>
  </p>`;
}
