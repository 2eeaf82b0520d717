// The arms: a filter, pages, two charts of the visible arms, and a table with every number.
import { Chart } from './chart.js';
import { several, whole } from './format.js';
import { rewards, shares } from './pictures.js';
import { Table } from './table.js';
import { Component, html } from './view.js';

const narrow = matchMedia('(max-width: 45rem)');
const inSight = () => (narrow.matches ? 10 : 20);

const descending = (field) => (one, other) => (other[field] ?? -Infinity) - (one[field] ?? -Infinity) || 0;
const names = new Intl.Collator('en-GB', { numeric: true });

const ORDERS = {
  given: ['As given', null],
  behind: ['Furthest behind first', descending('deficit')],
  plays: ['Most plays first', descending('all_plays')],
  estimate: ['Largest estimated reward first', descending('estimate')],
  pending: ['Most pending rewards first', descending('pending')],
  name: ['By name', (one, other) => names.compare(one.arm, other.arm)],
};

const folded = (text) => text.normalize('NFKC').toLocaleLowerCase('en-GB');

function select(lines, filter, order) {
  const matching = filter ? lines.filter((line) => folded(line.arm).includes(folded(filter))) : lines;
  return ORDERS[order][1] ? [...matching].sort(ORDERS[order][1]) : matching;
}

export class Arms extends Component {
  state = { filter: '', order: 'given', page: 0 };

  componentDidMount() {
    this.resized = () => this.setState({ page: 0 });
    narrow.addEventListener('change', this.resized);
  }

  componentWillUnmount() {
    narrow.removeEventListener('change', this.resized);
  }

  // The same object as long as nothing changes, so that the charts are not drawn again.
  rows(lines, page, size) {
    const { filter, order } = this.state;
    const of = [lines, filter, order, page, size];
    if (!this.cut?.of.every((part, place) => part === of[place])) {
      const all = select(lines, filter, order);
      const last = Math.max(0, Math.ceil(all.length / size) - 1);
      const at = Math.min(page, last);
      this.cut = { of, all, at, last, rows: all.slice(at * size, (at + 1) * size) };
    }
    return this.cut;
  }

  render({ audit, loaded, onMore }, { filter, order, page }) {
    const size = inSight();
    const { all, at, last, rows } = this.rows(audit.lines, page, size);
    const turn = (page) => this.setState({ page });
    const choose = (change) => this.setState({ ...change, page: 0 });
    return html`<section aria-labelledby="arms">
      <h2 id="arms">Promised and received</h2>
      <${Tools} filter=${filter} order=${order} onChange=${choose} />
      <${Limited} audit=${audit} loaded=${loaded} onMore=${onMore} />
      <${Pager} count=${all.length} first=${at * size} size=${rows.length} at=${at} last=${last} onTurn=${turn} />
      ${rows.length > 0 && html`<${Pictures} rows=${rows} /><${Table} rows=${rows} />`}
      ${last > 0 && html`<div class="pager"><${Turns} at=${at} last=${last} onTurn=${turn} /></div>`}
    </section>`;
  }
}

function Tools({ filter, order, onChange }) {
  const typed = (event) => onChange({ filter: event.target.value });
  const option = ([key, [text]]) => html`<option value=${key} selected=${key === order}>${text}</option>`;
  return html`<form class="tools" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label>Arms whose name contains
      <input type="search" name="filter" autocomplete="off" value=${filter} onInput=${typed} />
    </label>
    <label>Order
      <select name="order" value=${order} onChange=${(event) => onChange({ order: event.target.value })}>
        ${Object.entries(ORDERS).map(option)}
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

function Pager({ count, first, size, at, last, onTurn }) {
  const range = `Arms ${whole(first + 1)} to ${whole(first + size)} of ${whole(count)}`;
  return html`<div class="pager">
    <span role="status">${size ? range : 'No arm has a matching name'}</span>
    ${last > 0 && html`<${Turns} ...${{ at, last, onTurn }} />`}
  </div>`;
}

// aria-disabled keeps the focus on the button when the last page is reached.
function Turns({ at, last, onTurn }) {
  const button = (to, text) => {
    const exists = to >= 0 && to <= last;
    return html`<button type="button" aria-disabled=${!exists} onClick=${() => exists && onTurn(to)}>${text}</button>`;
  };
  return html`${button(at - 1, 'Previous')} ${button(at + 1, 'Next')}`;
}

function Pictures({ rows }) {
  const height = 56 + 26 * Math.max(rows.length, 2);
  const suffix = `of ${several(rows.length, 'arm')}; the table below has the numbers`;
  const chart = (picture, label) => html`<${Chart} ...${{ data: rows, height, picture, label: `${label} ${suffix}` }} />`;
  const known = rows.some((line) => line.estimate !== null);
  return html`<div class="pair">
    <figure>
      <figcaption><h3>Share of the rounds since the promise began</h3>
        <span class="key-got">received, with its 95 % interval</span> <span class="key-promise">promised</span>
      </figcaption>
      ${chart(shares, 'Shares promised and received')}
    </figure>
    <figure>
      <figcaption><h3>Estimated reward</h3><span class="key-reward">estimate, with its 95 % interval</span></figcaption>
      ${known ? chart(rewards, 'Estimated rewards') : html`<p class="note">No reward of these arms is known yet.</p>`}
    </figure>
  </div>
  <p class="note">The 95 % intervals hold at all times at once. Pending, lost and late rewards widen those of rewards.</p>`;
}
