// A long list in pages.
import { whole } from './format.js';
import { html } from './view.js';

const narrow = matchMedia('(max-width: 45rem)');

// Calls `changed` when the window becomes narrow or wide, when pages have another size; returns how to end that.
export function onResize(changed) {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}

export const isNarrow = () => narrow.matches;

// The rows of a page, the last one where there are fewer.
export function cut(all, page, size) {
  const last = Math.max(0, Math.ceil(all.length / size) - 1);
  const at = Math.min(page, last);
  return { all, at, last, size, rows: all.slice(at * size, (at + 1) * size) };
}

export function Pager({ page, what, none, onTurn }) {
  const { all, at, last, size, rows } = page;
  const range = `${what} ${whole(at * size + 1)} to ${whole(at * size + rows.length)} of ${whole(all.length)}`;
  return html`<div class="pager">
    <span role="status">${rows.length ? range : none}</span>
    ${last > 0 && html`<${Turns} ...${{ at, last, onTurn }} />`}
  </div>`;
}

// aria-disabled keeps the focus on the button when the last page is reached.
export function Turns({ at, last, onTurn }) {
  const button = (to, text) => {
    const exists = to >= 0 && to <= last;
    return html`<button type="button" aria-disabled=${!exists} onClick=${() => exists && onTurn(to)}>${text}</button>`;
  };
  return html`${button(at - 1, 'Previous')} ${button(at + 1, 'Next')}`;
}
