// Changes of an allocation: the promises of its arms, all or nothing; a new arm; arms that retire or come back.
import { ReadOnly, administers } from './access.js';
import { Preview, PromiseField } from './fields.js';
import { several, share } from './format.js';
import { address, link } from './route.js';
import { byMerit } from './states.js';
import { Form, Problem, fraction, percent } from './submit.js';
import { Component, Name, html } from './view.js';

export class Edit extends Component {
  render({ name, audit, described, service, access, onChanged }) {
    const props = { name, audit, described, service, onChanged };
    const forms = () => html`<${Promises} ...${props} /><${NewArm} ...${props} /><${Retirement} ...${props} />`;
    return html`
      <nav aria-label="Where you are"><a href="#/">Allocations</a> › <a href=${link(name)}><${Name} of=${name} /></a></nav>
      <h1 tabindex="-1">Change <${Name} of=${name} /></h1>
      ${!audit && html`<p class="note">Loading…</p>`}
      ${audit && (administers(access) ? forms() : html`<${ReadOnly} access=${access} />`)}
    `;
  }
}

const armPath = (name, arm) => `${address(name)}/arms/${encodeURIComponent(arm)}`;
const promising = (audit) => audit.lines.some((line) => line.promised !== null) && !audit.lines.some(byMerit);
const inPlay = (audit) => audit.lines.filter((line) => !line.retired);

class Promises extends Form {
  state = { typed: {}, preview: null, busy: false, error: null, saved: '' };

  text(line) {
    return this.state.typed[line.arm] ?? percent(line.promised);
  }

  // The promises that are no longer as they were.
  changes() {
    const lines = inPlay(this.props.audit).filter((line) => line.arm in this.state.typed);
    const changed = lines.filter((line) => fraction(this.text(line)) !== line.promised);
    return Object.fromEntries(changed.map((line) => [line.arm, fraction(this.text(line))]));
  }

  typed(arm, text) {
    const typed = { ...this.state.typed, [arm]: text };
    this.setState({ typed, saved: '', error: null }, () => {
      const fractions = this.changes();
      const values = Object.values(fractions);
      if (values.length && !values.includes(undefined)) this.preview('PATCH', address(this.props.name), { fractions });
      else this.unpreview();
    });
  }

  async submit(event) {
    event.preventDefault();
    const { name, service, onChanged } = this.props;
    const fractions = this.changes();
    if (Object.values(fractions).includes(undefined)) return;
    if (await this.attempt(() => service.change('PATCH', address(name), { fractions }))) {
      const saved = `${several(Object.keys(fractions).length, 'promise')} changed, from the next round on.`;
      this.unpreview();
      this.setState({ typed: {}, saved });
      onChanged();
    }
  }

  render({ audit, described }, { preview, busy, error, saved }) {
    if (!promising(audit)) return html`<p class="note">The algorithm of this allocation promises no share per arm.</p>`;
    const lines = inPlay(audit);
    const none = Object.keys(this.changes()).length === 0;
    const row = (line) => html`<li key=${line.arm}><span><${Name} of=${line.arm} />${' '}
      <span class="soft">received ${share(line.share)}</span></span>
      <${PromiseField} label="Promised, %" named=${`Promised to ${line.arm}, per cent`} value=${this.text(line)}
        onInput=${(text) => this.typed(line.arm, text)} /></li>`;
    return html`<section aria-labelledby="promises"><h2 id="promises">Promises</h2>
      <form class="form" onSubmit=${(event) => this.submit(event)}>
        ${lines.length < audit.arms - described.retired.length && html`<p class="limited">Only the arms that are loaded.</p>`}
        <ul class="arm-fields tall">${lines.map(row)}</ul>
        <${Preview} fractions=${lines.map((line) => fraction(this.text(line)))} plays=${described.plays} preview=${preview} />
        <${Problem} error=${error} />
        <div class="row"><button type="submit" class="main" disabled=${busy || none}>Save the promises</button>
          <span role="status">${saved}</span></div>
        <p class="note">A promise that changes begins anew with the next round, and what was owed under the old one lapses.
          Promises that stay as they are keep what is owed.</p>
      </form></section>`;
  }
}

class NewArm extends Form {
  state = { arm: '', promise: '', preview: null, busy: false, error: null, saved: '' };

  request() {
    const { arm, promise } = this.state;
    const share = fraction(promise);
    const body = promising(this.props.audit) && share ? { fraction: share } : {};
    return ['PUT', armPath(this.props.name, arm.trim()), body, share];
  }

  typed(change) {
    this.setState({ ...change, saved: '', error: null }, () => {
      const [method, path, body, share] = this.request();
      if (this.state.arm.trim() && share !== undefined) this.preview(method, path, body);
      else this.unpreview();
    });
  }

  async submit(event) {
    event.preventDefault();
    const [method, path, body, share] = this.request();
    if (share === undefined) return;
    if (await this.attempt(() => this.props.service.change(method, path, body))) {
      this.unpreview();
      this.setState({ arm: '', promise: '', saved: `“${this.state.arm.trim()}” plays from the next round on.` });
      this.props.onChanged();
    }
  }

  render({ audit, described }, { arm, promise, preview, busy, error, saved }) {
    const promises = promising(audit);
    const fractions = [...inPlay(audit).map((line) => line.promised ?? 0), fraction(promise)];
    return html`<section aria-labelledby="adding"><h2 id="adding">New arm</h2>
      <form class="form" onSubmit=${(event) => this.submit(event)}>
        <div class="row"><label>Name<input value=${arm} maxlength="200" autocomplete="off" required
          onInput=${({ target }) => this.typed({ arm: target.value })} /></label>
        ${promises && html`<${PromiseField} label="Promised, %" value=${promise}
          onInput=${(promise) => this.typed({ promise })} />`}</div>
        ${promises && arm && html`<${Preview} fractions=${fractions} plays=${described.plays} preview=${preview} />`}
        <${Problem} error=${error} />
        <div class="row"><button type="submit" disabled=${busy}>Add the arm</button><span role="status">${saved}</span></div>
      </form></section>`;
  }
}

class Retirement extends Form {
  state = { busy: false, error: null };

  async retire(arm, retired) {
    const { name, service, onChanged } = this.props;
    if (await this.attempt(() => service.change('PATCH', armPath(name, arm), { retired }))) onChanged();
  }

  render({ audit }, { busy, error }) {
    const row = (line) => html`<li key=${line.arm}><span><${Name} of=${line.arm} />
        ${line.retired && html` <span class="badge">retired</span>`}</span>
      <button type="button" disabled=${busy} aria-label=${`${line.retired ? 'Bring back' : 'Retire'} ${line.arm}`}
        onClick=${() => this.retire(line.arm, !line.retired)}>${line.retired ? 'Bring back' : 'Retire'}</button></li>`;
    return html`<section aria-labelledby="retiring"><h2 id="retiring">Retire arms</h2>
      <p class="note">A retired arm plays no more and its promise ends; its rewards are still accepted, and it can come back.</p>
      <${Problem} error=${error} />
      <ul class="arm-fields tall">${audit.lines.map(row)}</ul></section>`;
  }
}
