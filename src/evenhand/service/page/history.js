// Shares and rewards over calendar time, with the changes of arms and promises marked in it.
import { Chart, ROOM, axis, plain, tip } from './chart.js';
import { course } from './course.js';
import { duration, moment, reward, several, share, whole } from './format.js';
import { Author } from './ledger.js';
import { Swatch, lookOf } from './looks.js';
import { Range, chosenRange, rangeOf } from './range.js';
import { byMerit } from './states.js';
import { Component, Name, html, toggled } from './view.js';
import { unit } from './words.js';

const FIRST = 5; // groups and arms that are drawn unless others are selected
const FURTHEST = 2; // of these, where not all arms are in the history: furthest behind
const LISTED = 10; // arms that are listed unless all are asked for
const MINUTE = 60_000; // ms

export class History extends Component {
  state = { shown: null, all: false };

  // The same object as long as nothing changes, so that the charts are not drawn again.
  data({ audit, chosen, described }) {
    const { history, changes_made: changes } = audit;
    const known = knownUntil(audit, described);
    const now = MINUTE * Math.ceil(Date.now() / MINUTE);
    const of = [history, known, this.state.shown, chosen.range, chosen.from, chosen.to, now, audit.lines];
    if (!this.kept?.of.every((part, at) => part === of[at])) {
      const times = history.times.map((time) => Date.parse(time));
      const made = changes.map((one) => Date.parse(one.time)); // perhaps after the last decision
      const ends = rangeOf(chosen, Math.min(times[0], ...made) - 1, Math.max(times.at(-1), ...made) + 1);
      const ranged = chosen.range ? rangeOf(chosen, 0, now) : ends;
      const marked = changes
        .map((one, at) => ({ ...one, number: at + 1, at: Date.parse(one.time) }))
        .filter(({ at }) => ranged[0] <= at && at <= ranged[1]);
      const promised = new Map(audit.lines.map((line) => [line.arm, line.promised]));
      const groups = groupsOf(audit);
      const arms = history.arms.map((arm) => ({ id: `arm ${arm}`, arm, loaded: promised.has(arm), promised: promised.get(arm) }));
      const lines = [...arms, ...groups].map((line, place) => ({ ...line, place }));
      const first = [...groups.map(({ id }) => id), ...leading(history, audit).map((arm) => `arm ${arm}`)].slice(0, FIRST);
      const shown = this.state.shown ?? new Set(first);
      const drawn = lines.filter(({ id }) => shown.has(id));
      this.props.looks.draw('history', drawn.map(lookId));
      for (const line of drawn) line.slot = this.props.looks.slots.get(lookId(line));
      const merit = audit.lines.some(byMerit);
      this.kept = { of, known, merit, ends: ranged, marked, lines, drawn, ...course(together(history, groups), times, ranged, known) };
    }
    return this.kept;
  }

  body(props) {
    const { audit, chosen, onChoose } = props;
    const data = this.data(props);
    const { whole: all, parts } = data;
    const drag = (from, to) => onChoose(chosenRange([from, to]));
    const [from, to] = data.ends.map((end) => moment(end));
    const chart = (picture, words) => html`<${Chart} data=${data} height=${250} picture=${picture} onDrag=${drag}
      label=${`${words} over time, ${several(data.drawn.length, 'line')}; the table below has the numbers`} />`;
    return html`
      <${Range} chosen=${chosen} ends=${data.ends} onChoose=${onChoose} />
      <p class="note">${several(all.rounds, 'round')} from ${from} to ${to}, in steps of ${duration(data.step / 1000)}.${' '}
        <span class="pointer">Drag over a chart to choose a range.</span></p>
      ${audit.history.arms.length < audit.arms && html`<p class="note">Of ${several(audit.arms, 'arm')}, the${' '}
        ${whole(audit.history.arms.length)} with the most plays and furthest behind can be chosen.</p>`}
      ${all.rounds > 0
        ? html`<div class="pair">
            <figure><figcaption><h3>Share of the rounds</h3></figcaption>${chart(shares, 'Shares')}</figure>
            <figure><figcaption><h3>Mean reward</h3></figcaption>${chart(means, 'Mean rewards')}</figure>
          </div>`
        : html`<p role="status">No round was decided in this range.</p>`}
      ${data.known < data.ends[1] && html`<p class="note">Mean rewards are of rounds up to ${moment(data.known)}: a missing reward is
        zero when its window is over, and later rounds would show only the rewards that arrived.</p>`}
      <${Legend} data=${data} all=${this.state.all} onAll=${() => this.setState({ all: true })}
        onLine=${(id) => this.setState({ shown: toggled(data.drawn.map((line) => line.id), id) })} />
      <${Changes} marked=${data.marked} count=${audit.changes_made.length} authors=${audit.authors} />
      <details><summary>As a table</summary><${Listed} data=${data} parts=${parts} /></details>
    `;
  }

  render(props) {
    const { history } = props.audit;
    return html`<section aria-labelledby="course">
      <h2 id="course">Over time</h2>
      ${history?.rounds.length ? this.body(props) : html`<p class="note">Nothing has been decided yet.</p>`}
    </section>`;
  }
}

// Missing rewards are zeros once their window is over, and others are known at once: of later rounds only these are known.
function knownUntil({ arms, history, lines }, { missing, window }) {
  const all = missing !== 'zero' || (lines.length === arms && lines.every(({ pending }) => pending === 0));
  return all ? Infinity : Date.parse(history.times.at(-1)) - 1000 * window;
}

// An arm has the same look in all charts; a group may have the name of an arm.
const lookId = ({ id, arm, group }) => (group ? id : arm);

// The groups of which the history has every arm.
function groupsOf({ bounds, history }) {
  const places = new Map(history.arms.map((arm, place) => [arm, place]));
  const known = bounds.filter(({ kind, arms }) => kind === 'group' && arms.every((arm) => places.has(arm)));
  const group = (arms) => arms.map((arm) => places.get(arm));
  return known.map(({ name, arms, at_least }) => ({ id: `group ${name}`, arm: name, group: group(arms), loaded: true, promised: at_least }));
}

// The history with a row for each group, the sum of its arms.
function together(history, groups) {
  const sums = (rows, { group }) => history.rounds.map((_, at) => group.reduce((sum, place) => sum + rows[place][at], 0));
  const all = (field) => [...history[field], ...groups.map((one) => sums(history[field], one))];
  const arms = [...history.arms, ...groups.map(({ arm }) => arm)];
  return { ...history, arms, plays: all('plays'), known: all('known'), rewards: all('rewards') };
}

// The arms with the most plays; where the history has only some of the arms, also those furthest behind.
function leading(history, { arms, lines }) {
  const plays = new Map(history.arms.map((arm, place) => [arm, history.plays[place].at(-1)]));
  const most = [...history.arms].sort((one, other) => plays.get(other) - plays.get(one));
  if (history.arms.length === arms) return most.slice(0, FIRST);
  const behind = lines.filter((line) => line.deficit !== null && !line.retired && plays.has(line.arm));
  const worst = behind.sort((one, other) => other.deficit - one.deficit).slice(0, FURTHEST).map(({ arm }) => arm);
  return [...worst, ...most.filter((arm) => !worst.includes(arm))].slice(0, FIRST);
}

// Groups first, then those with the most plays in the range.
function ranked({ lines, whole: { arms } }) {
  return [...lines].sort((one, other) => Boolean(other.group) - Boolean(one.group) || arms[other.place].plays - arms[one.place].plays);
}

function Legend({ data, all, onAll, onLine }) {
  const drawn = new Set(data.drawn.map(({ id }) => id));
  const first = ranked(data);
  const rows = all ? first : first.filter(({ id }, place) => drawn.has(id) || place < LISTED);
  const row = ({ id, arm, group, place, slot, loaded, promised }) => {
    const { plays, share: got, mean } = data.whole.arms[place];
    return html`<tr key=${id}>
      <th scope="row"><label class="tick">
        <input type="checkbox" checked=${drawn.has(id)} onChange=${() => onLine(id)} />
        <${Swatch} look=${drawn.has(id) ? lookOf(slot) : null} /><span><${Name} of=${arm} />${
          group && html` <span class="badge">group</span>`}</span>
      </label></th>
      <td class="number">${whole(plays)}</td><td class="number">${share(got)}</td>
      <td class="number">${promised ? share(promised) : loaded ? '' : '–'}</td><td class="number">${reward(mean)}</td>
    </tr>`;
  };
  return html`<div class="scroll tall" role="region" aria-label="Arms in this range" tabindex="0">
    <table class="in-range" aria-label="Arms in this range">
      <thead><tr><th scope="col">Line</th><th scope="col" class="number">Plays</th>
        <th scope="col" class="number">Share</th><th scope="col" class="number">${data.merit ? 'Deserved now' : 'Promised now'}</th>
        <th scope="col" class="number">Mean reward</th></tr></thead>
      <tbody>${rows.map(row)}</tbody>
    </table>
    ${rows.length < data.lines.length && html`<button type="button" onClick=${onAll}>All ${whole(data.lines.length)} lines</button>`}
  </div>`;
}

function Changes({ marked, count, authors }) {
  if (count === 0) return null;
  const one = ({ number, time, round, text, reason, key }) => html`<li value=${number}>
    <time datetime=${time}>${moment(time)}</time>, after round ${whole(round)}: <bdi>${text}</bdi>${reason && html` (<bdi>${reason}</bdi>)`}${
      key && html`, by <${Author} id=${key} authors=${authors} />`}
  </li>`;
  return html`<h3>Changes of arms and promises</h3>
    ${marked.length > 0
      ? html`<ol class="changes">${marked.map(one)}</ol>`
      : html`<p class="note">None in this range; ${several(count, 'change')} in all.</p>`}`;
}

function Listed({ data, parts }) {
  const cells = ({ place }) => (part) => html`<td class="number">${share(part.arms[place].share)}</td>`;
  return html`<div class="scroll tall" role="region" aria-label="Shares over time, table" tabindex="0"><table>
    <thead><tr><th scope="col">From</th><th scope="col" class="number">Rounds</th>
      ${data.drawn.map(({ arm }) => html`<th scope="col" class="number"><${Name} of=${arm} /></th>`)}</tr></thead>
    <tbody>${parts.map((part) => html`<tr><th scope="row">${moment(part.start)}</th>
      <td class="number">${whole(part.rounds)}</td>${data.drawn.map((line) => cells(line)(part))}</tr>`)}</tbody>
  </table></div>`;
}

// --- the charts -------------------------------------------------------------------------------------------------------

const percent = (value) => String(Number((100 * value).toPrecision(6)));
const shares = (data, look, width) =>
  picture(data, look, width, 'share', share, axis(look, '%', { min: 0, axisLabel: { formatter: percent } }));
// An axis around a single value would show rewards that cannot be.
const lowest = ({ min, max }) => (min === max ? Math.min(0, min) : null);
const means = (data, look, width) => picture(data, look, width, 'mean', reward, axis(look, unit() || 'reward', { scale: true, min: lowest }));

function picture(data, look, width, field, shown, amounts) {
  const few = data.parts.filter(({ rounds }) => rounds > 0).length < 3; // a line needs two points
  const series = data.drawn.map(({ arm, place, slot }) => ({
    type: 'line',
    name: plain(arm),
    data: data.parts.map((part) => [part.middle, part.arms[place][field]]),
    showSymbol: few,
    symbolSize: 7,
    connectNulls: true,
    emphasis: { disabled: true },
    lineStyle: { ...lookOf(slot), width: 2 },
    itemStyle: { color: lookOf(slot).color },
  }));
  const tipLines = (points) => {
    const part = data.parts.find(({ middle }) => middle === points[0].value[0]);
    if (!part) return [];
    const lines = data.drawn.map(({ arm, place }) => `${plain(arm)}: ${shown(part.arms[place][field])}`);
    return [`${moment(part.start)}, ${several(part.rounds, 'round')}`, ...lines];
  };
  const yAxis = { ...amounts, type: 'value', nameLocation: 'end', nameGap: 8 };
  const all = [...series, changed(data.marked, look)];
  return { grid: ROOM, xAxis: timeAxis(look, width, data.ends), yAxis, series: all, tooltip: tip(look, tipLines) };
}

function timeAxis(look, width, [min, max]) {
  const more = { type: 'time', min, max, splitNumber: Math.max(2, Math.round(width / 110)), splitLine: { show: false } };
  const formatter = { year: '{yyyy}', month: '{MMM}', day: '{d} {MMM}', hour: '{HH}:{mm}', minute: '{HH}:{mm}' };
  return axis(look, '', { ...more, axisLabel: { formatter } });
}

// A numbered line where something was changed.
function changed(marked, look) {
  const lineStyle = { color: look.soft, type: 'dashed', width: 1 };
  const label = { formatter: ({ name }) => name, color: look.soft, distance: 2 };
  const data = marked.map(({ at, number }) => ({ xAxis: at, name: String(number) }));
  return { type: 'line', data: [], markLine: { silent: true, symbol: 'none', lineStyle, label, data } };
}
