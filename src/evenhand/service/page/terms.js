// Words that the page explains: the definitions are those of the glossary, which the service sends.
import { Component, html } from './view.js';

const LEAVING = 200; // ms in which the pointer can go from a word to its definition
const GAP = 6; // px between the two

let tips = null; // the component that shows definitions

const idOf = (word) => `term-${word.replaceAll(' ', '-')}`;

// A word that is explained on hover, on focus and on a tap. A button element would not wrap within a line.
export function Term({ word, children }) {
  const show = ({ currentTarget }) => tips?.show(word, currentTarget);
  const press = (event) => [' ', 'Enter'].includes(event.key) && (event.preventDefault(), show(event));
  return html`<span role="button" tabindex="0" class="term" aria-describedby=${idOf(word)} onMouseEnter=${show}
    onMouseLeave=${() => tips?.leave()} onFocus=${show} onBlur=${() => tips?.hide()} onClick=${show} onKeyDown=${press}>${
    children ?? word}</span>`;
}

// Where a definition stands: below its word, or above it where there is no room.
function place(word, tip) {
  const [from, size] = [word.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = Math.max(GAP, Math.min(from.left, document.documentElement.clientWidth - size.width - GAP));
  const below = from.bottom + GAP + size.height <= window.innerHeight;
  return [left, below ? from.bottom + GAP : Math.max(GAP, from.top - GAP - size.height)];
}

// All definitions, for screen readers, and the one that is shown.
export class Definitions extends Component {
  state = { words: {}, word: null };

  async componentDidMount() {
    tips = this;
    window.addEventListener('scroll', this.move, true);
    window.addEventListener('resize', this.move);
    document.addEventListener('keydown', this.key);
    document.addEventListener('pointerdown', this.press);
    try {
      const words = await (await fetch('assets/glossary.json')).json();
      this.setState({ words });
    } catch {
      // The page is complete without definitions.
    }
  }

  show(word, node) {
    clearTimeout(this.timer);
    this.node = node;
    this.setState({ word }, this.move);
  }

  leave() {
    if (document.activeElement !== this.node) this.timer = setTimeout(() => this.hide(), LEAVING);
  }

  hide() {
    clearTimeout(this.timer);
    this.setState({ word: null });
  }

  move = () => {
    if (!this.tip) return;
    if (!this.node.isConnected) return this.hide();
    const [left, top] = place(this.node, this.tip);
    Object.assign(this.tip.style, { left: `${left}px`, top: `${top}px` });
  };

  key = ({ key }) => key === 'Escape' && this.hide();

  press = ({ target }) => !this.tip?.contains(target) && !this.node?.contains(target) && this.hide();

  render(_, { words, word }) {
    const text = word !== null && words[word];
    return html`<div hidden>${Object.entries(words).map(([one, meaning]) => html`<p key=${one} id=${idOf(one)}>${meaning}</p>`)}</div>
      ${text && html`<div class="definition" role="tooltip" ref=${(node) => (this.tip = node)}
        onMouseEnter=${() => clearTimeout(this.timer)} onMouseLeave=${() => this.leave()}>${text}</div>`}`;
  }
}
