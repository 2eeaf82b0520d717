// A long list in pages.
import { whole } from './format.js';
import { Component, html } from './view.js';

const narrow = matchMedia('(max-width: 45rem)');

export const isNarrow = () => narrow.matches;

// What is shown in pages: another choice, or a window that becomes narrow or wide, leads to the first one.
export class Paged extends Component {
  state = { page: 0 };
  turn = (page) => this.setState({ page });
  first = () => this.turn(0);
  choose = (change) => {
    this.first();
    this.props.onChoose(change);
  };

  componentDidMount() {
    narrow.addEventListener('change', this.first);
  }

  componentWillUnmount() {
    narrow.removeEventListener('change', this.first);
  }
}

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
