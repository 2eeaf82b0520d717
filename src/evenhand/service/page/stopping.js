// May we stop? The answer of the service, asked anew when something has happened, at most once in a while.
import { address } from './route.js';
import { Loader, html } from './view.js';

const APART = 10_000; // ms

export class Stopping extends Loader {
  state = { answer: null };

  componentDidMount() {
    this.load();
  }

  componentDidUpdate({ audit }) {
    if (audit.sequence !== this.props.audit.sequence) this.load();
  }

  componentWillUnmount() {
    clearTimeout(this.later);
    super.componentWillUnmount();
  }

  async load() {
    const wait = (this.asked ?? -Infinity) + APART - Date.now();
    if (wait > 0) {
      this.later ??= setTimeout(() => this.load(), wait);
      return;
    }
    this.later = undefined;
    this.asked = Date.now();
    try {
      this.setState({ answer: await this.props.service.get(`${address(this.props.name)}/stopping`, this.loading.signal) });
    } catch {
      // The page shows the state of the connection.
    }
  }

  render({ audit }, { answer }) {
    if (answer === null || audit.round === 0) return null;
    const [first, ...others] = answer.sentences;
    return html`<section aria-labelledby="stopping">
      <h2 id="stopping">May we stop?</h2>
      <p data-field="stop"><strong><bdi>${first}</bdi></strong></p>
      ${others.map((sentence, at) => html`<p class=${at === others.length - 1 ? 'note' : ''}><bdi>${sentence}</bdi></p>`)}
    </section>`;
  }
}
