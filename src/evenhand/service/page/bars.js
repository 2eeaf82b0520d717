// The small pictures in a row of an arm: its share against the promise, its estimated reward with the interval.
// They repeat what stands beside them as text, so screen readers pass over them.
import { html } from './view.js';

const percent = (value, [low, high]) => `${(100 * (Math.min(Math.max(value, low), high) - low)) / (high - low || 1)}%`;

const extent = (values) => {
  const known = values.filter(Number.isFinite);
  const end = (of, first) => known.reduce((one, other) => of(one, other), first); // there may be too many to be arguments
  return known.length ? [end(Math.min, Infinity), end(Math.max, -Infinity)] : [0, 1];
};

const ENDS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]; // of a scale, times a power of ten

function even(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number((power * ENDS.find((end) => end * power >= value * (1 - 1e-9))).toPrecision(3));
}

// One scale for the shares of all arms and groups of an allocation, so that bars can be compared: from 0 to an even number.
export function shareScale({ lines, bounds }) {
  const limits = bounds.map(({ kind, at_most }) => (kind === 'arm' || at_most === null || at_most >= 1 ? null : 1.02 * at_most));
  const shares = [...lines, ...bounds].flatMap((line) => [line.share, line.promised, line.high_share, line.at_least]);
  return [0, even(Math.max(0.01, extent([...shares, ...limits])[1]))];
}

export function rewardScale(rows) {
  const [low, high] = extent(rows.flatMap((line) => [line.estimate, line.low, line.high]));
  const room = low === high ? 0.5 : 0.04 * (high - low);
  return [low - room, high + room];
}

function Interval({ low, high, scale, look }) {
  if (low == null || high == null) return null;
  const [x1, x2] = [percent(low, scale), percent(high, scale)];
  return html`<g class=${look}>
    <line x1=${x1} x2=${x2} y1="11" y2="11" /><line x1=${x1} x2=${x1} y1="7" y2="15" /><line x1=${x2} x2=${x2} y1="7" y2="15" />
  </g>`;
}

// `least` and `most` are the ends of what is promised; where there is a largest share, all beyond it is shaded.
export function ShareBar({ line, scale, least = line.promised, most = null }) {
  const mark = least ? percent(least, scale) : null;
  const limit = most === null || most >= scale[1] ? null : percent(most, scale);
  return html`<svg class="bar" width="100%" height="22" aria-hidden="true">
    <rect class="ground" width="100%" height="12" y="5" rx="2" />
    ${line.share !== null && html`<rect class="got" width=${percent(line.share, scale)} height="12" y="5" rx="2" />`}
    <${Interval} low=${line.low_share} high=${line.high_share} scale=${scale} look="whisker" />
    ${limit && html`<rect class="beyond" x=${limit} width=${`${100 - parseFloat(limit)}%`} height="12" y="5" />
      <line class="limit" x1=${limit} x2=${limit} y1="1" y2="21" />`}
    ${mark && html`<line class="promise" x1=${mark} x2=${mark} y1="1" y2="21" />`}
  </svg>`;
}

export function RewardDot({ line, scale }) {
  return html`<svg class="bar" width="100%" height="22" aria-hidden="true">
    <line class="ground" x1="0" x2="100%" y1="11" y2="11" />
    <${Interval} low=${line.low} high=${line.high} scale=${scale} look="reach" />
    ${line.estimate !== null && html`<circle class="dot" cx=${percent(line.estimate, scale)} cy="11" r="4.5" />`}
  </svg>`;
}
