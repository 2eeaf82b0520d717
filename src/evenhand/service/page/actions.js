// What one can do with an allocation: change it, close it, download it, and copy the link to this view.
import { ReadOnly, administers } from './access.js';
import { address, alarming, changes, editing } from './route.js';
import { Form, Problem } from './submit.js';
import { html } from './view.js';

// [what it is, the path after that of the allocation, the name of the file where the service gives none]
const FILES = [
  ['Audit, as CSV', '/audit.csv', 'csv'],
  ['Figure, as SVG', '/audit.svg', 'svg'],
  ['Log, as CSV', '/log?format=csv', 'csv'],
  ['Log, as Parquet', '/log?format=parquet', 'parquet'],
];

export class Actions extends Form {
  state = { busy: false, error: null, copied: false, confirming: false };

  async download(path, suffix) {
    const { name, service } = this.props;
    await this.attempt(async () => {
      const file = await service.file(address(name) + path);
      const link = document.createElement('a');
      link.href = URL.createObjectURL(file.content);
      link.download = file.name || `${name}.${suffix}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  }

  async copy() {
    await navigator.clipboard.writeText(location.href);
    this.setState({ copied: true });
  }

  async close(closed) {
    const { name, service } = this.props;
    const done = await this.attempt(() => service.change(changes(name), { change: closed ? 'close' : 'reopen' }));
    if (done) this.setState({ confirming: false });
  }

  changing({ name, closed }) {
    const { confirming } = this.state;
    const sure = html`<span class="confirm">It will decide no more until it is reopened.${' '}
      <button type="button" class="main" onClick=${() => this.close(true)}>Close ${name}</button>${' '}
      <button type="button" onClick=${() => this.setState({ confirming: false })}>Cancel</button></span>`;
    const close = html`<button type="button" onClick=${() => this.setState({ confirming: true })}>Close allocation</button>`;
    const reopen = html`<button type="button" onClick=${() => this.close(false)}>Reopen</button>`;
    return html`<a class="button" href=${editing(name)}>Change arms and promises</a>
      ${closed ? reopen : confirming ? sure : close}`;
  }

  render(props, { busy, error, copied }) {
    const file = ([text, path, suffix]) => html`<li>
      <button type="button" disabled=${busy} onClick=${() => this.download(path, suffix)}>${text}</button></li>`;
    return html`<div class="actions" ref=${this.here}>
      ${administers(props.access) && this.changing(props)}
      <a class="button" href=${alarming(props.name)}>Alarms and webhooks</a>
      <button type="button" disabled=${busy} title="A page to be handed on, which prints well" onClick=${() => this.download('/report', 'html')}>Report</button>
      <details class="menu"><summary class="button">Download</summary><ul>${FILES.map(file)}</ul></details>
      ${navigator.clipboard && html`<button type="button" onClick=${() => this.copy()}>Copy the link to this view</button>`}
      <span role="status">${busy ? 'Working…' : copied ? 'Copied.' : ''}</span>
      <${Problem} error=${error} />
      ${props.access && !administers(props.access) && html`<${ReadOnly} access=${props.access} />`}
    </div>`;
  }
}
