// The range of calendar time that the history shows: all, the last day, week or month, or from one moment to another.
import { Component, html } from './view.js';

const DAY = 86_400_000; // ms
const LAST = { '24h': ['Last 24 h', DAY], '7d': ['7 days', 7 * DAY], '30d': ['30 days', 30 * DAY] };

// [from, to] in ms, of what is chosen; the ends of the history where nothing is.
export function rangeOf({ range, from, to }, first, now) {
  if (range in LAST) return [now - LAST[range][1], now];
  const ends = [Number(from), Number(to)];
  return from && to && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends.map((end) => 1000 * end) : [first, now];
}

export const UNCHOSEN = { range: '', from: '', to: '' };
export const chosenRange = ([from, to]) => ({ range: '', from: Math.floor(from / 1000), to: Math.ceil(to / 1000) });

// A moment as a field for date and time has it, in the reader's zone.
function field(time) {
  const moved = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return moved.toISOString().slice(0, 16);
}

export class Range extends Component {
  typed(place, text) {
    const time = Date.parse(text);
    const ends = this.props.ends.map((end, at) => (at === place ? time : end));
    if (Number.isFinite(time) && ends[0] < ends[1]) this.props.onChoose(chosenRange(ends));
  }

  render({ chosen, ends, onChoose }) {
    const own = Boolean(chosen.from && chosen.to) && !(chosen.range in LAST);
    const now = own ? 'own' : chosen.range in LAST ? chosen.range : '';
    const button = (key, text) => html`<button type="button" aria-pressed=${now === key}
      onClick=${() => onChoose({ ...UNCHOSEN, range: key })}>${text}</button>`;
    const input = (place, text) => html`<label>${text}
      <input type="datetime-local" value=${field(ends[place])} onChange=${({ target }) => this.typed(place, target.value)} />
    </label>`;
    return html`<div class="range">
      <div class="segments" role="group" aria-label="Range of time">
        ${button('', 'All')}${Object.entries(LAST).map(([key, [text]]) => button(key, text))}
        <button type="button" aria-pressed=${own} onClick=${() => onChoose(chosenRange(ends))}>From – to</button>
      </div>
      ${own && html`<div class="ends">${input(0, 'From')}${input(1, 'To')}</div>`}
    </div>`;
  }
}
