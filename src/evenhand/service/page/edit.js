// Changes of an allocation: the promises of its arms, all or nothing; a new arm; arms that retire or come back.
import { ReadOnly, administers } from './access.js';
import { capOf } from './draft.js';
import { faultsOf } from './faults.js';
import { Preview, Reason, ShareField, WORDS, WordFields } from './fields.js';
import { hasGroups } from './parameters.js';
import { Promises, inPlay, promising } from './promises.js';
import { changes, link } from './route.js';
import { Form, Problem, fraction } from './submit.js';
import { Loader, Name, html } from './view.js';
import { say } from './words.js';

export class Edit extends Loader {
  state = { algorithms: [], values: {} };

  // Which promises can be changed follows from the algorithm, and the fields of a new arm from the change that adds it.
  async componentDidMount() {
    const { signal } = this.loading;
    try {
      this.setState(await this.props.service.get('v1/algorithms', signal));
      const { components } = await this.props.service.get('openapi.json', signal);
      this.setState({ values: components.schemas.AddArm.properties });
    } catch {
      // The page shows the state of the connection; without the list, groups and caps cannot be begun.
    }
  }

  // Whether it has promises to groups, and caps.
  bounded({ audit, described }) {
    const { algorithm } = described;
    const one = this.state.algorithms.find(({ name }) => name === algorithm);
    return audit.bounds.length > 0 || hasGroups(one) || algorithm.fairness?.kind === 'bounded_shares';
  }

  render({ name, audit, described, service, access, onChanged }) {
    const bounded = Boolean(audit) && this.bounded({ audit, described });
    const props = { name, audit, described, service, onChanged, bounded, values: this.state.values };
    const forms = () => html`<${Promises} ...${props} /><${NewArm} ...${props} /><${Retirement} ...${props} />
      <${Wording} ...${props} key=${JSON.stringify(audit.words)} />`;
    return html`
      <nav aria-label="Where you are"><a href="#/">Allocations</a> › <a href=${link(name)}><${Name} of=${name} /></a></nav>
      <h1 tabindex="-1">Change <${Name} of=${name} /></h1>
      ${!audit && html`<p class="note">Loading…</p>`}
      ${audit && (administers(access) ? forms() : html`<${ReadOnly} access=${access} />`)}
    `;
  }
}

// These values of a new arm have fields of their own; the others are as the service describes the change.
const SHOWN = ['fraction', 'cap'];

class NewArm extends Form {
  state = { arm: '', promise: '', cap: '', more: {}, reason: '', preview: null, busy: false, error: null, saved: '' };

  // The values that the algorithm has per arm.
  fields() {
    const { values, described } = this.props;
    const per = ([key, { 'x-value': value }]) => !SHOWN.includes(key) && Array.isArray(described.parameters[value?.parameter]);
    return Object.entries(values).filter(per);
  }

  request() {
    const { arm, promise, cap, more, reason } = this.state;
    const { audit, bounded } = this.props;
    const [share, most] = [fraction(promise), bounded ? capOf(cap) : 1];
    const given = this.fields().filter(([key]) => more[key]?.trim());
    const values = given.map(([key]) => [key, Number(more[key].replace(',', '.'))]);
    const change = {
      change: 'add',
      arm: arm.trim(),
      reason: reason.trim(),
      ...(promising(audit) && share && { fraction: share }),
      ...(most < 1 && { cap: most }),
      ...Object.fromEntries(values),
    };
    const wrong = share === undefined || most === undefined || values.some(([, value]) => Number.isNaN(value));
    return { change, wrong };
  }

  typed(change) {
    this.setState({ ...change, saved: '', error: null }, () => {
      const { change, wrong } = this.request();
      if (this.state.arm.trim() && !wrong) this.preview(changes(this.props.name), change);
      else this.unpreview();
    });
  }

  async submit(event) {
    event.preventDefault();
    const { change, wrong } = this.request();
    if (!wrong && (await this.attempt(() => this.props.service.change(changes(this.props.name), change)))) {
      this.unpreview();
      this.setState({ arm: '', promise: '', cap: '', more: {}, reason: '', saved: `“${this.state.arm.trim()}” ${say('plays from the next round on.')}` });
      this.props.onChanged();
    }
  }

  more([key, { description, 'x-value': value }]) {
    const { more } = this.state;
    return html`<label>${description[0].toUpperCase() + description.slice(1)}<input inputmode="decimal" autocomplete="off"
      value=${more[key] ?? ''} required=${value.new == null} onInput=${({ target }) => this.typed({ more: { ...more, [key]: target.value } })} /></label>`;
  }

  render({ audit, described, bounded }, { arm, promise, cap, reason, preview, busy, error, saved }) {
    const promises = promising(audit);
    const fractions = [...inPlay(audit).map((line) => line.promised ?? 0), fraction(promise)];
    const faults = faultsOf(error ?? preview);
    return html`<section aria-labelledby="adding"><h2 id="adding">New arm</h2>
      <form class="form" ref=${this.here} onKeyDown=${this.enter} onSubmit=${(event) => this.submit(event)}>
        <div class="row"><label>Name<input value=${arm} maxlength="200" autocomplete="off" required
          onInput=${({ target }) => this.typed({ arm: target.value })} /></label>
        ${promises && html`<${ShareField} label="Promised, %" value=${promise} faults=${faults} path="fraction"
          onInput=${(promise) => this.typed({ promise })} />`}
        ${bounded && html`<${ShareField} label="At most, %" value=${cap} faults=${faults} path="cap"
          onInput=${(cap) => this.typed({ cap })} />`}
        ${this.fields().map((one) => this.more(one))}
        <${Reason} value=${reason} onInput=${(reason) => this.setState({ reason })} /></div>
        ${promises && arm && html`<${Preview} ...${{ fractions, bounded, preview }} plays=${described.plays} />`}
        <${Problem} error=${error} />
        <div class="row"><button type="submit" disabled=${busy}>Add the arm</button><span role="status">${saved}</span></div>
      </form></section>`;
  }
}

class Retirement extends Form {
  state = { arm: null, preview: null, busy: false, error: null, reason: '' };

  change(line) {
    return { change: line.retired ? 'bring_back' : 'retire', arm: line.arm, reason: this.state.reason.trim() };
  }

  ask(line) {
    this.setState({ arm: line.arm, reason: '', error: null }, () => this.focusOn('form input'));
    this.preview(changes(this.props.name), this.change(line));
  }

  cancel() {
    this.unpreview();
    this.setState({ arm: null, error: null }, () => this.focusOn('button'));
  }

  async submit(event, line) {
    event.preventDefault();
    const { name, service, onChanged } = this.props;
    if (!(await this.attempt(() => service.change(changes(name), this.change(line))))) return;
    this.cancel();
    onChanged();
  }

  // What would become of it, and why: nothing is done before the button is pressed.
  sure(line) {
    const text = does(line);
    const { preview, reason, busy, error } = this.state;
    return html`<form class="form" onKeyDown=${this.enter} onSubmit=${(event) => this.submit(event, line)}>
      <h3>${text} <${Name} of=${line.arm} /></h3>
      <${Preview} fractions=${null} plays=${this.props.described.plays} preview=${preview} />
      <${Reason} value=${reason} onInput=${(reason) => this.setState({ reason })} />
      <${Problem} error=${error} />
      <div class="row"><button type="submit" class="main" disabled=${busy}>${text} ${line.arm}</button>
        <button type="button" onClick=${() => this.cancel()}>Cancel</button></div></form>`;
  }

  row(line) {
    const text = does(line);
    return html`<li key=${line.arm}><span><${Name} of=${line.arm} />
        ${line.retired && html` <span class="badge">retired</span>`}</span>
      <button type="button" aria-label=${`${text} ${line.arm}`} onClick=${() => this.ask(line)}>${text}</button></li>`;
  }

  render({ audit }, { arm }) {
    const asked = audit.lines.find((line) => line.arm === arm);
    return html`<section aria-labelledby="retiring" ref=${this.here}><h2 id="retiring">Retire arms</h2>
      <p class="note">A retired arm plays no more and its promise ends; its rewards are still accepted, and it can come back.</p>
      ${asked ? this.sure(asked) : html`<ul class="arm-fields tall">${audit.lines.map((line) => this.row(line))}</ul>`}</section>`;
  }
}

const does = (line) => (line.retired ? 'Bring back' : 'Retire');

class Wording extends Form {
  state = { ...this.props.audit.words, busy: false, error: null };

  async submit(event) {
    event.preventDefault();
    const { name, service, onChanged } = this.props;
    const words = Object.fromEntries(WORDS.map(([key]) => [key, this.state[key].trim()]));
    if (await this.attempt(() => service.change(changes(name), { change: 'reword', ...words }))) onChanged();
  }

  render(_, { busy, error, ...words }) {
    return html`<section aria-labelledby="wording"><h2 id="wording">Words</h2>
      <form class="form" ref=${this.here} onSubmit=${(event) => this.submit(event)}>
        <${WordFields} words=${words} onInput=${(change) => this.setState(change)} />
        <${Problem} error=${error} />
        <div class="row"><button type="submit" disabled=${busy}>Save the words</button></div>
      </form></section>`;
  }
}
