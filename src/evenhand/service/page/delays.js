// The delays of the rewards.
import { Chart, ROOM, axis, tip } from './chart.js';
import { duration, several, whole } from './format.js';
import { Component, html } from './view.js';
import { say } from './words.js';

const TOTALS = 'Rewards arrive as totals of rounds. They name no decision, so there is no delay to measure.';
const LEASED = 'Of the rewards of leased decisions no delay is known: a client reports them together.';

export class Delays extends Component {
  shouldComponentUpdate(next) {
    return next.delays !== this.props.delays || next.totals !== this.props.totals || next.received !== this.props.received;
  }

  render({ delays, totals, received }) {
    const none = received ? LEASED : 'No reward has been received yet.';
    const reason = totals ? say(TOTALS) : none;
    return html`<section aria-labelledby="delays">
      <h2 id="delays">Delay of the rewards</h2>
      ${delays ? html`<${Summary} delays=${delays} />` : html`<p class="note">${reason}</p>`}
    </section>`;
  }
}

function Summary({ delays }) {
  const { count, quantiles } = delays;
  const parts = Object.entries(quantiles).sort(([one], [other]) => one - other);
  const label = 'Number of rewards by delay; as a table below';
  return html`
    <p>Of the last ${several(count, 'reward')}, from the decision on:</p>
    <dl class="tiles">${parts.map(([part, delay]) => html`<${Part} part=${part} delay=${delay} />`)}</dl>
    <${Chart} ...${{ data: delays, height: 260, label, picture }} />
    <details><summary>As a table</summary><${Table} bins=${delays} /></details>
  `;
}

function Part({ part, delay }) {
  const text = `${Number((100 * part).toPrecision(3))}% were received within`;
  return html`<div><dt>${text}</dt><dd data-quantile=${part}>${duration(delay)}</dd></div>`;
}

function Table({ bins }) {
  const row = (count, place) => html`<tr>
    <th scope="row">${between(bins, place)}</th><td class="number">${whole(count)}</td>
  </tr>`;
  return html`<table class="bins">
    <thead><tr><th scope="col">Delay</th><th scope="col">Rewards</th></tr></thead>
    <tbody>${bins.counts.map(row)}</tbody>
  </table>`;
}

const between = (bins, place) => `${duration(bins.edges[place])} to ${duration(bins.edges[place + 1])}`;

// Bins grow where delays differ much; the last one is cut or filled up to the longest delay.
function grow({ edges }) {
  const [first, second] = [edges[1] - edges[0], edges[2] - edges[1]];
  return edges.length > 3 && Math.abs(second - first) > 1e-6 * second;
}

// Bars of one width; the axis below counts the edges between them, and shows what delay each stands for.
function picture(bins, look, width) {
  const count = bins.counts.length;
  const step = Math.ceil((count * 75) / (width - 80)); // px a label
  const edges = axis(look, grow(bins) ? 'delay, on a growing scale' : 'delay', {
    type: 'value',
    position: 'bottom',
    min: 0,
    max: count,
    interval: step,
    splitLine: { show: false },
    axisLabel: { formatter: (place) => (place % step ? '' : duration(bins.edges[place])), showMaxLabel: count % step === 0 },
  });
  return {
    grid: ROOM,
    xAxis: [{ type: 'category', show: false, data: bins.counts.map((_, place) => String(place)) }, edges],
    yAxis: axis(look, 'rewards', { type: 'value', minInterval: 1 }),
    tooltip: tip(look, ([{ dataIndex, value }]) => [between(bins, dataIndex), several(value, 'reward')], { axisPointer: { type: 'shadow' } }),
    series: [{ type: 'bar', data: bins.counts, barCategoryGap: '6%', itemStyle: { color: look.got }, emphasis: { disabled: true } }],
  };
}
