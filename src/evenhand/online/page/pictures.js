// The charts of the arms as options of echarts: a row per arm, a dot for the estimate, a line for its interval.
import { axis, plain, tip } from './chart.js';
import { reward, rewardInterval, share, shareInterval } from './format.js';

const LETTER = 7.2; // px, roughly

function arms(rows, look, width) {
  const longest = Math.max(...rows.map((line) => plain(line.arm).length));
  const room = Math.min(LETTER * longest + 6, 0.32 * width, 200);
  return {
    room,
    axis: axis(look, '', {
      type: 'category',
      inverse: true,
      data: rows.map((_, place) => String(place)),
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: {
        interval: 0,
        hideOverlap: false,
        width: room,
        overflow: 'truncate',
        formatter: (place) => plain(rows[place].arm),
      },
    }),
  };
}

// A line for each interval that is known.
function intervals(rows, low, high, color) {
  const known = rows
    .map((line, place) => [line[low], line[high], place])
    .filter(([from, to]) => from !== null && to !== null);
  return {
    silent: true,
    symbol: 'none',
    label: { show: false },
    emphasis: { disabled: true },
    lineStyle: { color, width: 3, type: 'solid', opacity: 0.55 },
    data: known.map(([from, to, place]) => [{ coord: [from, place] }, { coord: [to, place] }]),
  };
}

function dots(rows, field, more) {
  const data = rows.map((line, place) => [line[field], place]).filter(([value]) => value !== null);
  return { type: 'scatter', data, emphasis: { disabled: true }, ...more };
}

// Invisible points, so that the axes include the ends of the intervals.
function extent(rows, ...fields) {
  const data = rows
    .flatMap((line, place) => fields.map((field) => [line[field], place]))
    .filter(([value]) => value !== null);
  return { type: 'scatter', data, symbolSize: 0, silent: true, tooltip: { show: false } };
}

// A picture of rows: `mark` = [field, low, high, colour], further series, the axis below, the lines of a tip.
function ranged(rows, look, width, [field, low, high, color], series, below, tipLines) {
  const { room, axis: names } = arms(rows, look, width);
  const dot = { symbolSize: 9, itemStyle: { color }, markLine: intervals(rows, low, high, color) };
  return {
    grid: { left: room + 14, right: 18, top: 6, bottom: 50, outerBoundsMode: 'none' },
    xAxis: { type: 'value', splitNumber: Math.max(2, Math.round((width - room) / 90)), ...below },
    yAxis: names,
    // An open tip may still request a row that no longer exists.
    tooltip: tip(look, ([{ axisValue }]) => (rows[axisValue] ? tipLines(rows[axisValue]) : []), {
      axisPointer: { type: 'shadow', axis: 'y' },
    }),
    series: [dots(rows, field, dot), ...series, extent(rows, low, high)],
  };
}

export function shares(rows, look, width) {
  const mark = { symbol: 'rect', symbolSize: [4, 18], itemStyle: { color: look.promise, opacity: 1 }, z: 3 };
  const owed = rows.map((line) => ({ ...line, promised: line.promised || null })); // no mark where nothing is promised
  const below = axis(look, 'share of the rounds, %', {
    min: 0,
    axisLabel: { formatter: (value) => String(Number((100 * value).toPrecision(6))) },
  });
  const tipLines = (line) => [
    plain(line.arm),
    `promised ${share(line.promised)}`,
    `received ${share(line.share)}`,
    `95 % interval ${shareInterval(line.low_share, line.high_share)}`,
  ];
  const series = [dots(owed, 'promised', mark)];
  return ranged(rows, look, width, ['share', 'low_share', 'high_share', look.got], series, below, tipLines);
}

export function rewards(rows, look, width) {
  const tipLines = (line) => [
    plain(line.arm),
    `estimate ${reward(line.estimate)}`,
    `95 % interval ${rewardInterval(line.low, line.high)}`,
  ];
  const below = axis(look, 'reward per play', { scale: true });
  return ranged(rows, look, width, ['estimate', 'low', 'high', look.reward], [], below, tipLines);
}
