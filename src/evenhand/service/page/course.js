// What the cumulative counts of an audit's history say of a range of time: in parts of equal length, and in all.
const SECOND = 1000;
const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 604800, 2592000, 31536000];
const PARTS = 40; // of a range, at most

const finite = (value) => (Number.isFinite(value) ? value : null);

// The number of marks that are not after a time.
function upTo(times, time) {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Parts as long as a usual step that has several marks, so that a line does not show the marks themselves.
function stepOf(times, [from, to]) {
  const marks = upTo(times, to) - upTo(times, from - 1);
  const least = Math.max((to - from) / PARTS, (3 * (to - from)) / Math.max(marks, 1), SECOND);
  return SECOND * (STEPS.find((step) => SECOND * step >= least) ?? STEPS.at(-1));
}

// The counts between two times, per arm; mean rewards of rounds up to a time, after which not all that counts is known.
function between(history, times, from, to, known) {
  const [low, high, sure] = [from, to, Math.max(from, Math.min(to, known))].map((time) => upTo(times, time));
  const at = (values, place) => (place > 0 ? values[place - 1] : 0);
  const grown = (values, end = high) => at(values, end) - at(values, low);
  const rounds = grown(history.rounds);
  const arms = history.arms.map((arm, place) => {
    const plays = grown(history.plays[place]);
    const mean = grown(history.rewards[place], sure) / grown(history.known[place], sure);
    return { arm, plays, share: finite(plays / rounds), mean: finite(mean) };
  });
  return { rounds, arms };
}

// Where parts begin and end: at whole steps, but for the ends of the range; a short one at an end joins its neighbour.
function edgesOf(step, [from, to]) {
  const edges = [from];
  for (let edge = (Math.floor(from / step) + 1) * step; edge < to; edge += step) edges.push(edge);
  edges.push(to);
  if (edges.length > 2 && to - edges.at(-2) < step / 2) edges.splice(-2, 1);
  if (edges.length > 2 && edges[1] - from < step / 2) edges.splice(1, 1);
  return edges;
}

// The course over a range: `parts` with their middle, and the counts of the whole range.
export function course(history, times, range, known) {
  const step = stepOf(times, range);
  const edges = edgesOf(step, range);
  const parts = edges.slice(1).map((end, at) => {
    const start = edges[at];
    return { start, end, middle: (start + end) / 2, ...between(history, times, start, end, known) };
  });
  return { step, parts, whole: between(history, times, ...range, known) };
}
