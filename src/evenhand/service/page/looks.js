// The looks of lines: a colour and a dash for each that is drawn, none twice, however many arms there are to choose from.
import { html } from './view.js';

const TONES = 8; // colours of the page, for the first lines
const DASHES = ['solid', 'dashed', 'dotted'];
const TURN = 137.508; // degrees: each next hue is far from all before
export const dark = matchMedia('(prefers-color-scheme: dark)');

const tone = (slot) => getComputedStyle(document.documentElement).getPropertyValue(`--tone${slot}`).trim();

// A colour of OKLCH as sRGB: of one lightness, so that all are seen as well on the page.
function oklch(light, chroma, degrees) {
  const [a, b] = [Math.cos, Math.sin].map((of) => chroma * of((degrees * Math.PI) / 180));
  const [l, m, s] = [
    light + 0.3963377774 * a + 0.2158037573 * b,
    light - 0.1055613458 * a - 0.0638541728 * b,
    light - 0.0894841775 * a - 1.291485548 * b,
  ].map((value) => value ** 3);
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const shown = (value) => (value > 0.0031308 ? 1.055 * value ** (1 / 2.4) - 0.055 : 12.92 * value);
  return `#${linear.map((value) => Math.round(255 * shown(Math.min(Math.max(value, 0), 1))).toString(16).padStart(2, '0')).join('')}`;
}

// The look of a slot, 0, 1, …
export function lookOf(slot) {
  if (slot < TONES) return { color: tone(slot), type: DASHES[0] };
  const step = [0, 0.09, -0.06, 0.045, -0.03][Math.floor(slot / TONES) % 5];
  const color = oklch((dark.matches ? 0.78 : 0.54) + (dark.matches ? -step : step) / 1.5, 0.105, (TURN * slot) % 360);
  return { color, type: DASHES[(1 + Math.floor((slot - TONES) / TONES)) % DASHES.length] };
}

// Which slot each drawn line has: the same in all charts and as long as one of them draws it; then others can have it.
export class Looks {
  slots = new Map();
  drawn = new Map(); // by chart

  draw(chart, ids) {
    this.drawn.set(chart, new Set(ids));
    const all = new Set([...this.drawn.values()].flatMap((some) => [...some]));
    for (const id of this.slots.keys()) if (!all.has(id)) this.slots.delete(id);
    const taken = new Set(this.slots.values());
    let free = 0;
    for (const id of all) {
      if (this.slots.has(id)) continue;
      while (taken.has(free)) free += 1;
      this.slots.set(id, free);
      taken.add(free);
    }
  }

  of(id) {
    return this.slots.has(id) ? lookOf(this.slots.get(id)) : null;
  }
}

// The line beside a name; nothing where it is not drawn. Styles are set by script, which the policy allows.
export function Swatch({ look }) {
  const style = look ? { borderTopColor: look.color, borderTopStyle: look.type } : { borderTopColor: 'transparent' };
  return html`<span class="swatch" style=${style} aria-hidden="true"></span>`;
}
