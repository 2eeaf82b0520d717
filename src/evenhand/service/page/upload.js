// A log of decisions, from which a new allocation starts: what its promise would cost, before anything is created.
import { Refused } from './api.js';
import { fraction } from './submit.js';
import { Component, html, options } from './view.js';

const ROLES = { timestamp: 'Time of the decision', item_id: 'What was played', reward: 'Reward' };
const SHOWN = 8; // sentences of the answer

// The names of the columns: those of the first line, where no name holds a comma.
const columnsOf = (text) => text.split(/\r?\n/, 1)[0].replace(/^\uFEFF/, '').split(',').map((name) => name.trim().replace(/^"|"$/g, ''));

export class Upload extends Component {
  state = { log: '', columns: {}, promise: '10', blank: '', answer: null, error: null, busy: false };

  async read({ target }) {
    const [file] = target.files;
    const log = file ? await file.text() : '';
    this.setState({ log, columns: {}, answer: null, error: null });
    this.props.onStart(null);
  }

  set(change) {
    this.setState({ ...change, answer: null, error: null });
    this.props.onStart(null);
  }

  // What is asked of the service, or undefined where a field holds something else.
  get body() {
    const { log, columns, promise, blank } = this.state;
    const share = fraction(promise);
    if (share === undefined) return undefined;
    const given = Object.fromEntries(Object.entries(columns).filter(([, name]) => name));
    return { log, columns: given, promises: [share], ...(blank && { missing: blank }) };
  }

  async ask() {
    const body = this.body;
    if (!body) return this.setState({ error: 'A promise is a share from 0 to 100 %.' });
    this.setState({ busy: true, answer: null, error: null });
    try {
      const answer = await this.props.service.change('v1/price', body);
      this.setState({ busy: false, answer });
      this.props.onStart({ ...answer, share: this.state.promise, missing: body.missing });
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Error)) throw error;
      this.setState({ busy: false, error: error.message });
    }
  }

  column(role, label, names) {
    const chosen = this.state.columns[role] ?? '';
    const change = ({ target }) => this.set({ columns: { ...this.state.columns, [role]: target.value } });
    const all = ['', ...names].map((name) => [name, name || 'by its usual name']);
    return html`<label>${label}<select onChange=${change}>${options(all, chosen)}</select></label>`;
  }

  fields() {
    const { log, promise, blank, busy } = this.state;
    const names = columnsOf(log);
    const meanings = { '': 'there are none', zero: 'a reward of 0', lost: 'nothing: it was lost', never: 'it is still to come' };
    return html`<div class="row">${Object.entries(ROLES).map(([role, label]) => this.column(role, label, names))}</div>
      <div class="row"><label>A blank reward means<select onChange=${({ target }) => this.set({ blank: target.value })}>
          ${options(Object.entries(meanings), blank)}</select></label>
        <label>Promised to each, %<input value=${promise} inputmode="decimal" autocomplete="off"
          onInput=${({ target }) => this.set({ promise: target.value })} /></label>
        <button type="button" disabled=${busy} onClick=${() => this.ask()}>What would it cost?</button></div>`;
  }

  render() {
    const { log, answer, error } = this.state;
    const texts = answer ? [...answer.price.sentences, ...answer.price.unknown, ...answer.notes].slice(0, SHOWN) : [];
    return html`<fieldset class="upload"><legend>Start from a log (optional)</legend>
      <label>CSV file with a row per decision<input type="file" accept=".csv,text/csv" onChange=${(event) => this.read(event)} /></label>
      ${log && this.fields()}
      <div role="status">${texts.map((text) => html`<p><bdi>${text}</bdi></p>`)}
        ${answer && html`<p class="note">The arms, the promise and the range of rewards are filled in below; the policy learns from the log beforehand.</p>`}</div>
      ${error && html`<p role="alert" class="fault"><bdi>${error}</bdi></p>`}
    </fieldset>`;
  }
}
