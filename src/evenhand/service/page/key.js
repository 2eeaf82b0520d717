// Asks for a key if the service has keys.
import { Component, html } from './view.js';

export const WITHOUT_KEY = 'This service requires a key with the scope “read”.';
const UNSENDABLE = 'A key has only letters, digits, - and _; this is not one.';

export function lacking(access) {
  const scopes = access.scopes.length ? access.scopes.join(', ') : 'nothing';
  return `The key “${access.name}” allows ${scopes}, but this page needs the scope “read”.`;
}

export class KeyForm extends Component {
  state = { key: '', unsendable: false };

  componentDidMount() {
    this.input.focus();
  }

  submit(event) {
    event.preventDefault();
    const key = this.state.key.trim();
    const unsendable = !/^[\x21-\x7e]+$/.test(key);
    this.setState({ unsendable });
    if (unsendable) this.input.focus();
    else this.props.onKey(key);
  }

  render() {
    const { key, unsendable } = this.state;
    const input = (node) => (this.input = node);
    return html`
      <h1 tabindex="-1">A key is needed</h1>
      <form class="key" onSubmit=${(event) => this.submit(event)}>
        <p id="why" role="alert">${unsendable ? UNSENDABLE : this.props.asking}</p>
        <label for="key">Key</label>
        <input id="key" type="password" autocomplete="off" spellcheck="false" required ref=${input} value=${key}
          aria-describedby="why kept" onInput=${(event) => this.setState({ key: event.target.value })} />
        <button type="submit">Show the allocations</button>
        <p id="kept" class="note">It is stored until this tab is closed, and sent to this server only. To create one:</p>
        <pre><code>evenhand keys create page --scope read</code></pre>
      </form>
    `;
  }
}
