// The deficits over time.
import { Chart, ROOM, axis, plain, tip } from './chart.js';
import { moment, plays, several, whole } from './format.js';
import { Swatch, lookOf } from './looks.js';
import { Component, Name, html, toggled } from './view.js';
import { say } from './words.js';

const FIRST = 5; // arms that are drawn unless others are selected
const LARGEST = 'the largest of all arms';
const NONE = 'No share is promised to any arm, so none can be behind.';
const BY_MERIT =
  'Shares follow the merit of the arms as it is estimated in each round. No number of plays is promised, so none is owed.';
const GROUPED = 'No share is promised to a single arm; the rows of groups above say how far these are behind.';
const WITHIN = 'Shares are promised in segments alone; the table of segments above says how far each is behind.';
const BEFORE = 'There are no deficits before the first decision.';

export class DeficitHistory extends Component {
  state = { shown: null, largest: true, ahead: false, listed: false, opened: false };
  places = new Map(); // of arms, in the order of their appearance, which does not change with their rank

  // The arms of the history with their places; the first ones are the furthest behind when the page is opened.
  arms(history) {
    for (const arm of history.arms) if (!this.places.has(arm)) this.places.set(arm, this.places.size);
    const { shown } = this.state;
    return history.arms
      .map((arm, at) => ({ arm, place: this.places.get(arm), deficits: history.deficits[at] }))
      .map((line) => ({ ...line, drawn: shown ? shown.has(line.arm) : line.place < FIRST }))
      .sort((one, other) => one.place - other.place);
  }

  // The same object as long as nothing changes, so that the chart is not drawn again.
  data(history) {
    const { shown, largest, ahead } = this.state;
    const of = [history, shown, largest, ahead];
    if (!this.kept?.of.every((part, at) => part === of[at])) {
      const arms = this.arms(history);
      const lines = arms.filter(({ drawn }) => drawn);
      this.props.looks.draw('deficits', lines.map(({ arm }) => arm));
      for (const line of lines) line.slot = this.props.looks.slots.get(line.arm);
      if (largest) lines.unshift({ arm: say(LARGEST), slot: null, deficits: history.largest }); // the others lie on it
      this.kept = { of, arms, lines, ahead, rounds: history.rounds, times: history.times };
    }
    return this.kept;
  }

  // A promise that was always kept to within a play needs a sentence; its saw of quarter plays would look like an alarm.
  body(history) {
    if (!history.note) return this.chart(history);
    const { opened } = this.state;
    return html`
      <p>${history.note}</p>
      <details open=${opened} onToggle=${(event) => this.setState({ opened: event.target.open })}>
        <summary>Show it over time</summary>${opened && this.chart(history)}
      </details>
    `;
  }

  chart(history) {
    const data = this.data(history);
    const { largest, ahead, listed } = this.state;
    const label = `Deficits of ${several(data.lines.length, 'line')} over the rounds; as a table below`;
    const drawn = data.arms.filter((one) => one.drawn).map(({ arm }) => arm);
    const onArm = (arm) => this.setState({ shown: toggled(drawn, arm) });
    const onLargest = () => this.setState({ largest: !largest });
    return html`
      <p>The largest number of plays that an arm was behind its promise since the previous point; below 0 it was ahead.</p>
      <p><label class="tick">
        <input type="checkbox" checked=${ahead} onChange=${() => this.setState({ ahead: !ahead })} />
        also show how far arms are ahead
      </label></p>
      <${Legend} arms=${data.arms} ...${{ largest, onArm, onLargest }} />
      <${Chart} ...${{ data, height: 320, label, picture }} />
      <details onToggle=${(event) => this.setState({ listed: event.target.open })}>
        <summary>As a table</summary>
        ${listed && html`<${Listed} data=${data} />`}
      </details>
    `;
  }

  render({ history, merit, grouped, within }) {
    const reason = history !== null ? BEFORE : merit ? BY_MERIT : grouped ? GROUPED : within ? WITHIN : NONE;
    return html`<section aria-labelledby="history">
      <h2 id="history">Behind the promises over time</h2>
      ${history?.rounds.length ? this.body(history) : html`<p class="note">${say(reason)}</p>`}
    </section>`;
  }
}

function Legend({ arms, largest, onArm, onLargest }) {
  const box = (checked, onChange, look, name) => html`<li><label>
    <input type="checkbox" checked=${checked} onChange=${onChange} />${look}${name}
  </label></li>`;
  const one = ({ arm, slot, drawn }) =>
    box(drawn, () => onArm(arm), html`<${Swatch} look=${drawn ? lookOf(slot) : null} />`, html`<${Name} of=${arm} />`);
  const thick = html`<span class="swatch ink" aria-hidden="true"></span>`;
  return html`<fieldset class="legend"><legend>Lines</legend>
    <ul>${arms.map(one)}${box(largest, onLargest, thick, say(LARGEST))}</ul>
  </fieldset>`;
}

function picture(data, look, width) {
  const dots = data.rounds.length < 3; // a line needs two points
  const series = data.lines.map(({ arm, slot, deficits }) => ({
    type: 'line',
    name: plain(arm),
    data: deficits.map((deficit, at) => [data.rounds[at], deficit]),
    showSymbol: dots,
    symbol: 'circle',
    symbolSize: 8,
    emphasis: { disabled: true },
    lineStyle:
      slot === null ? { color: look.ink, width: 6, opacity: 0.25, cap: 'round' } : { ...lookOf(slot), width: 2 },
    itemStyle: { color: slot === null ? look.ink : lookOf(slot).color },
  }));
  const tipLines = (points) => {
    const at = data.rounds.indexOf(points[0].value[0]);
    const lines = data.lines.map(({ arm, deficits }) => `${plain(arm)}: ${plays(deficits[at])}`);
    return [say(`round ${whole(data.rounds[at])}`), moment(data.times[at]), ...lines];
  };
  // The part below 0 would compress the part above: arms are often far ahead, and seldom behind.
  const scale = data.ahead ? {} : { min: 0, max: ({ max }) => (max > 2 ? null : 2) };
  const amounts = axis(look, 'deficit in plays', { type: 'value', ...scale, axisLabel: { formatter: short } });
  const marks = { splitNumber: Math.max(2, Math.round(width / 130)), splitLine: { show: false }, axisLabel: { formatter: short, showMaxLabel: false } };
  const rounds = axis(look, say('round'), { type: 'value', max: 'dataMax', ...marks });
  return { grid: ROOM, xAxis: rounds, yAxis: amounts, series, tooltip: tip(look, tipLines) };
}

const compact = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 2 });
const exact = new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 6 });
const short = (value) => (Math.abs(value) < 1e6 ? exact.format(value) : compact.format(value)).replace('-', '\u2212');

function Listed({ data }) {
  return html`<div class="scroll tall" role="region" aria-label="Deficits over time, table" tabindex="0"><table>
    <thead><tr><th scope="col">Round</th><th scope="col">Time</th>
      ${data.lines.map(({ arm }) => html`<th scope="col"><${Name} of=${arm} /></th>`)}</tr></thead>
    <tbody>${data.rounds.map((round, at) => html`<tr>
      <th scope="row" class="number">${whole(round)}</th><td>${moment(data.times[at])}</td>
      ${data.lines.map(({ deficits }) => html`<td class="number">${plays(deficits[at])}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}
