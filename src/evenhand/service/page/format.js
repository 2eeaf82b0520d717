// Numbers for people. Null is shown as a dash; the minus sign is U+2212.
import { say, unit } from './words.js';

const LOCALE = 'en-GB';
export const SPACE = '\u00a0';
export const NOTHING = '–';

const formats = new Map();

function fixed(value, digits) {
  if (!formats.has(digits)) {
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: 'negative' };
    formats.set(digits, new Intl.NumberFormat(LOCALE, options));
  }
  return formats.get(digits).format(value).replace('-', '\u2212');
}

// Names in the order of people, and whether one has some letters in it.
export const { compare } = new Intl.Collator(LOCALE, { numeric: true });
const folded = (text) => text.normalize('NFKC').toLocaleLowerCase(LOCALE);
export const contains = (text, part) => folded(text).includes(folded(part));

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export const whole = (value) => (known(value) ? fixed(value, 0) : NOTHING);

const three = new Intl.NumberFormat(LOCALE, { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

// A share as a percentage, with about three digits, however small.
function percent(value) {
  const size = Math.abs(100 * value);
  if (size > 0 && size < 1) return three.format(100 * value);
  return fixed(100 * value, size === 0 ? 0 : size >= 10 ? 1 : 2);
}

export const share = (value) => (known(value) ? `${percent(value)}%` : NOTHING);

export const plays = (value) => (known(value) ? fixed(value, Math.abs(value) < 1000 ? 2 : 0) : NOTHING);

export function number(value) {
  if (!known(value)) return NOTHING;
  const size = Math.abs(value);
  if (size > 0 && (size < 0.01 || size >= 1e9)) return value.toPrecision(3).replaceAll('-', '\u2212');
  return fixed(value, size < 10 ? 3 : size < 1000 ? 2 : 0);
}

// A reward in its unit.
const inUnit = (text) => (text === NOTHING || !unit() ? text : `${text}${SPACE}${unit()}`);
export const reward = (value) => inUnit(number(value));

// A dash between two numbers, but words where it could be taken for a sign.
const between = (low, high, show) =>
  known(low) && known(high) ? `${show(low)}${low < 0 ? ' to ' : '–'}${show(high)}` : NOTHING;

export const rewardInterval = (low, high) => inUnit(between(low, high, number));

export const shareInterval = (low, high) =>
  known(low) && known(high) ? `${between(low, high, percent)}%` : NOTHING;

const UNITS = Object.entries({ d: 86400, h: 3600, min: 60, s: 1 });
const unitOf = (seconds) => UNITS.find(([, size]) => seconds >= size) ?? ['s', 1];

// A delay, in the largest unit of which it is at least one.
export function duration(seconds) {
  if (!known(seconds)) return NOTHING;
  const [unit, size] = unitOf(seconds);
  const value = seconds / size;
  return `${fixed(value, Number.isInteger(value) || value >= 100 ? 0 : value < 1 ? 3 : 1)}${SPACE}${unit}`;
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' };
const DATE = { day: 'numeric', month: 'short', year: 'numeric' };

// Seconds since the epoch or a time of the service, in the reader's own zone, which is named.
export const clock = (seconds) => new Date(1000 * seconds).toLocaleTimeString(LOCALE, CLOCK);
export const moment = (time) => (time ? new Date(time).toLocaleString(LOCALE, { ...DATE, ...CLOCK }) : NOTHING);

export const several = (count, one, more = `${one}s`) => say(`${whole(count)} ${count === 1 ? one : more}`);

// How long ago a time was; "now" for a time that another clock puts into the future.
export function ago(time) {
  if (!time) return 'never';
  const seconds = Math.max(0, (Date.now() - new Date(time)) / 1000);
  const [unit, size] = unitOf(seconds);
  return seconds < 10 ? 'now' : `${whole(Math.floor(seconds / size))}${SPACE}${unit} ago`;
}

// A rough number of seconds: the two largest digits say enough of a forecast.
export function about(seconds) {
  if (!known(seconds)) return NOTHING;
  const [unit, size] = unitOf(seconds);
  return `${whole(Number((seconds / size).toPrecision(2)))}${SPACE}${unit}`;
}
