// All allocations: their health, when they last decided, and where to look first.
import { compare, contains, plays, whole } from './format.js';
import { Health, STATES, WORDS } from './health.js';
import { Paged, Pager, Turns, cut, isNarrow } from './pager.js';
import { link, where } from './route.js';
import { Ago, Name, html, options } from './view.js';

const text = (field) => (one, other) => compare(one[field], other[field]);
// The largest or latest first; what is unknown last.
const most = (value) => (one, other) => {
  const [a, b] = [value(one), value(other)];
  return a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? 1 : -1;
};
const latest = (field) => [most((one) => one.health[field]), (one) => html`<${Ago} time=${one.health[field]} />`];

// [head, order, what is shown, class, how the order is called on a phone]
const COLUMNS = {
  name: ['Allocation', text('name'), null, '', 'By name'],
  health: [
    'Health',
    (one, other) => STATES.indexOf(one.health?.status) - STATES.indexOf(other.health?.status),
    (one) => html`<${Health} status=${one.health.status} /> <span class="why"><bdi>${one.health.text}</bdi></span>`,
    'sentence',
    'Worst health first',
  ],
  behind: ['Behind, in plays', most((one) => one.health.behind), (one) => plays(one.health.behind), 'number', 'Furthest behind first'],
  decision: ['Last decision', ...latest('last_decision'), 'time', 'Latest decision first'],
  reward: ['Last reward', ...latest('last_reward'), 'time', 'Latest reward first'],
  rounds: ['Rounds', most((one) => one.round), (one) => whole(one.round), 'number', 'Most rounds first'],
  arms: ['Arms', most((one) => one.arms), (one) => whole(one.arms), 'number', 'Most arms first'],
  algorithm: ['Algorithm', text('algorithm'), (one) => html`<bdi>${one.algorithm}</bdi>`, 'algorithm', 'By algorithm'],
};
const FIRST = 'health'; // the order at first

// Those that match, in order. `reverse` turns the order round.
function select(list, { filter = '', health = '', order = FIRST, reverse = '' }) {
  const found = list.filter(
    (one) => (!health || one.health.status === health) && contains(`${one.name} ${one.algorithm}`, filter),
  );
  const ranked = (COLUMNS[order] ?? COLUMNS[FIRST])[1];
  const sign = reverse ? -1 : 1;
  return found.sort((one, other) => sign * ranked(one, other) || compare(one.name, other.name));
}

export class List extends Paged {
  body() {
    const { list, chosen } = this.props;
    const page = cut(select(list, chosen), this.state.page, isNarrow() ? 25 : 50);
    return html`
      <${Tools} list=${list} chosen=${chosen} onChoose=${this.choose} />
      <${Pager} page=${page} what="Allocations" none="No allocation matches" onTurn=${this.turn} />
      ${page.rows.length > 0 && html`<${Table} rows=${page.rows} chosen=${chosen} onChoose=${this.choose} />`}
      ${page.last > 0 && html`<div class="pager"><${Turns} at=${page.at} last=${page.last} onTurn=${this.turn} /></div>`}
    `;
  }

  render({ list, administers }) {
    const some = list && (list.length ? this.body() : html`<${Empty} administers=${administers} />`);
    return html`
      <div class="title"><h1 tabindex="-1">Allocations</h1>
        ${administers && html`<a class="button main" href="#/new">New allocation</a>`}
      </div>
      ${list ? some : html`<p class="note">Loading…</p>`}
    `;
  }
}

function Empty({ administers }) {
  const command = `evenhand client create drinks fucb --arm tea --arm coffee --missing never --set "fractions={coffee=0.2}"${where()}`;
  return html`
    <p>There are none yet. ${administers && html`<a href="#/new">Create one here</a>, or by this command, which`}
      ${administers ? '' : 'This command'} creates one with two arms and promises a fifth of the rounds to coffee:</p>
    <pre><code>${command}</code></pre>
    <p class="note">It will be shown here immediately.</p>
  `;
}

function Tools({ list, chosen, onChoose }) {
  const { filter = '', health = '', order = FIRST } = chosen;
  const count = (state) => list.filter((one) => one.health.status === state).length;
  const healthy = list.every((one) => one.health);
  const states = () => STATES.map((state) => [state, `${WORDS[state]} (${whole(count(state))})`]);
  return html`<form class="tools" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label>Name or algorithm contains
      <input type="search" autocomplete="off" value=${filter} onInput=${({ target }) => onChoose({ filter: target.value })} />
    </label>
    ${healthy && html`<label>Health
      <select onChange=${({ target }) => onChoose({ health: target.value })}>
        ${options([['', `All (${whole(list.length)})`], ...states()], health)}
      </select>
    </label>`}
    <label class="narrow">Order
      <select onChange=${({ target }) => onChoose({ order: target.value, reverse: '' })}>
        ${options(columns(list).map(([key, column]) => [key, column[4]]), order)}
      </select>
    </label>
  </form>`;
}

function Table({ rows, chosen, onChoose }) {
  const { order = FIRST, reverse = '' } = chosen;
  const head = ([key, [words, , , look]]) => {
    const now = key === order;
    const sort = now ? (reverse ? 'descending' : 'ascending') : 'none';
    const press = () => onChoose({ order: key, reverse: now && !reverse ? '1' : '' });
    const arrow = now ? (reverse ? '▲' : '▼') : '';
    return html`<th role="columnheader" scope="col" class=${look} aria-sort=${sort}>
      <button type="button" class="sort" onClick=${press}>${words} <span aria-hidden="true">${arrow}</span></button>
    </th>`;
  };
  return html`
    <div class="scroll"><table class="list" role="table" aria-label="Allocations">
      <thead role="rowgroup"><tr role="row">${columns(rows).map(head)}</tr></thead>
      <tbody role="rowgroup">${rows.map((one) => html`<${Row} key=${one.name} one=${one} />`)}</tbody>
    </table></div>
  `;
}

const OF_HEALTH = ['health', 'behind', 'decision', 'reward'];
const columns = (rows) => Object.entries(COLUMNS).filter(([key]) => rows[0].health || !OF_HEALTH.includes(key));

function Row({ one }) {
  const cell = ([key, [head, , show, look]]) =>
    html`<td role="cell" data-field=${key} data-label=${head} class=${look}>${show(one)}</td>`;
  return html`<tr role="row">
    <th role="rowheader" scope="row"><a href=${link(one.name)}><${Name} of=${one.name} /></a></th>
    ${columns([one]).slice(1).map(cell)}
  </tr>`;
}
