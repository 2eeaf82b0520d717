// What all forms have in common: they send a change once, and say what became of it.
import { Refused } from './api.js';
import { Loader, html } from './view.js';

const PAUSE = 400; // ms without a key pressed, before a preview is requested

export class Form extends Loader {
  componentWillUnmount() {
    super.componentWillUnmount();
    this.stop();
  }

  // Runs `work`, and shows its error; true if there was none.
  async attempt(work) {
    if (this.state.busy) return false;
    this.setState({ busy: true, error: null });
    try {
      await work();
      this.setState({ busy: false });
      return true;
    } catch (error) {
      this.setState({ busy: false, error: errorOf(error) }, () => this.focusOn('[role="alert"]'));
      return false;
    }
  }

  // The `ref` of the element in which faults are shown.
  here = (node) => (this.node = node);

  focusOn(selector) {
    this.node?.querySelector(selector)?.focus();
  }

  // The enter key in a field leads to what would become of the change: only the button saves.
  enter = (event) => {
    if (event.key !== 'Enter' || event.target.localName !== 'input') return;
    event.preventDefault();
    this.node?.querySelector('.preview')?.scrollIntoView({ block: 'nearest' });
  };

  // Shows what is missing, and leads there.
  showFaults() {
    this.setState({ tried: true }, () => this.focusOn('[aria-invalid="true"], .fault'));
  }

  // Asks for a preview a little after the last key was pressed; an older answer never replaces a newer one.
  preview(path, body) {
    this.unpreview();
    const flight = (this.flight = new AbortController());
    this.timer = setTimeout(async () => {
      let preview = null; // no answer is no verdict
      try {
        preview = { feasible: true, ...(await this.props.service.preview(path, body, flight.signal)) };
      } catch (error) {
        if (error instanceof Refused) preview = { feasible: false, ...problem(error) };
      }
      if (!flight.signal.aborted) this.setState({ preview });
    }, PAUSE);
  }

  // Shows no preview, and waits for none.
  unpreview() {
    this.stop();
    this.setState({ preview: null });
  }

  stop() {
    clearTimeout(this.timer);
    this.flight?.abort();
  }
}

const problem = ({ code, message, errors }) => ({ code, text: message, errors });

const errorOf = (error) => {
  if (!(error instanceof Refused)) return { message: `${error.message}: nothing is known of the change; try again` };
  const places = error.errors?.length > 1 ? error.errors.map(({ where, message }) => `${where}: ${message}`) : [];
  return { message: error.message, places, ...problem(error) };
};

export function Problem({ error }) {
  if (!error) return null;
  return html`<div role="alert" tabindex="-1" class="alarm">
    <p><bdi>${error.message}</bdi></p>
    ${error.places?.length > 0 && html`<ul>${error.places.map((one) => html`<li><bdi>${one}</bdi></li>`)}</ul>`}
  </div>`;
}

export const percent = (fraction) => (fraction ? String(Number((100 * fraction).toPrecision(8))) : '');

// The share that a field in per cent says, at most `most` of 1: undefined if it is none.
export function fraction(text, most = 1) {
  if (text.trim() === '') return 0;
  const value = Number(text.replace(',', '.')) / 100;
  return value >= 0 && value <= most ? Number(value.toPrecision(12)) : undefined;
}
