// A chart of echarts in the colours of the page. Canvas only, and tips made of nodes: both work under the page's
// Content-Security-Policy, and a name in a tip stays text.
import { dark } from './looks.js';
import { Component, html } from './view.js';

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(['ink', 'soft', 'line', 'card', 'got', 'promise', 'reward'].map((name) => [name, of(name)]));
}

// The chart is drawn again only if `data` is another object, or the colours or the width change.
export class Chart extends Component {
  componentDidMount() {
    this.chart = globalThis.echarts.init(this.node);
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.node);
    this.recolour = () => this.draw();
    dark.addEventListener('change', this.recolour);
    if (this.props.onDrag) draggable(this.node, this.chart, (from, to) => this.props.onDrag(from, to));
  }

  componentWillUnmount() {
    dark.removeEventListener('change', this.recolour);
    this.watch.disconnect();
    this.chart.dispose();
  }

  shouldComponentUpdate(next) {
    return next.data !== this.props.data || next.height !== this.props.height || next.label !== this.props.label;
  }

  componentDidUpdate() {
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.node;
    if (!width || !height) return;
    if (width !== this.chart.getWidth() || height !== this.chart.getHeight()) this.chart.resize();
    const look = colours();
    const textStyle = { fontFamily: getComputedStyle(this.node).fontFamily, color: look.ink };
    const option = { animation: false, textStyle, ...this.props.picture(this.props.data, look, width) };
    this.chart.setOption(option, { replaceMerge: ['series', 'xAxis', 'yAxis'] });
  }

  render({ label, height }) {
    // The style is set by script, which the policy allows.
    return html`<div class="chart" role="img" aria-label=${label} style=${{ height: `${height}px` }}
      ref=${(node) => (this.node = node)}></div>`;
  }
}

const LEAST = 8; // px; less is a click, not a drag

// Calls `chosen` with the two ends, on the axis below, of what a pointer was dragged over.
function draggable(node, chart, chosen) {
  const shade = document.createElement('div');
  shade.className = 'shade';
  shade.hidden = true;
  node.append(shade);
  node.style.touchAction = 'pan-y';
  let start = null;
  const place = (event) => {
    const { left, width } = node.getBoundingClientRect();
    return Math.min(Math.max(event.clientX - left, 0), width);
  };
  node.addEventListener('pointerdown', (event) => (start = event.button === 0 ? place(event) : null));
  node.addEventListener('pointermove', (event) => {
    if (start === null || Math.abs(place(event) - start) < LEAST) return;
    node.setPointerCapture(event.pointerId);
    shade.hidden = false;
    shade.style.left = `${Math.min(start, place(event))}px`;
    shade.style.width = `${Math.abs(place(event) - start)}px`;
  });
  node.addEventListener('pointerup', (event) => {
    const ends = [start, place(event)].map((x) => chart.convertFromPixel({ xAxisIndex: 0 }, x));
    if (!shade.hidden) chosen(Math.min(...ends), Math.max(...ends));
    shade.hidden = true;
    start = null;
  });
  node.addEventListener('pointercancel', () => {
    shade.hidden = true;
    start = null;
  });
}

// --- what pictures have in common ---------------------------------------------------------------------------------

export const FONT = 12;

export function axis(look, name, more = {}) {
  return {
    name,
    nameLocation: 'middle',
    nameGap: 30,
    nameTextStyle: { color: look.soft, fontSize: FONT },
    axisLabel: { color: look.ink, fontSize: FONT, hideOverlap: true, ...more.axisLabel },
    axisLine: { show: true, onZero: false, lineStyle: { color: look.soft } },
    splitLine: { show: true, lineStyle: { color: look.line } },
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== 'axisLabel')),
  };
}

// Room for the labels and names of two value axes, however long the numbers are.
export const ROOM = { left: 6, right: 30, top: 14, bottom: 6, outerBoundsMode: 'same', outerBoundsContain: 'all' };

export function tip(look, rows, more = {}) {
  return {
    trigger: 'axis',
    confine: true,
    transitionDuration: 0,
    backgroundColor: look.card,
    borderColor: look.soft,
    textStyle: { color: look.ink, fontSize: FONT },
    className: 'tip',
    formatter: (points) => nodes(rows(points)),
    ...more,
  };
}

// Lines of text as nodes, the first one bold.
function nodes(rows) {
  return rows.map((text, place) => {
    const node = document.createElement(place ? 'div' : 'strong');
    node.textContent = text;
    node.dir = 'auto';
    return node;
  });
}

const LONGEST = 40; // letters of a name
const STEERING = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

// A name in one line of a picture: not too long, and without letters that steer or break the line.
export function plain(name) {
  const letters = [...name.replace(STEERING, ' ').trim()];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join('')}…` : letters.join('') || '(blank)';
}
