// A form for a new allocation.
import { ReadOnly, administers } from './access.js';
import { ArmFields, Preview } from './fields.js';
import { link } from './route.js';
import { Form, Problem, fraction } from './submit.js';
import { html } from './view.js';

// What can be promised, with the algorithms that keep it: [name, what one should know of it].
const PROMISES = {
  minimum: {
    text: 'A minimum share of the rounds for some arms; the best arms get the rest',
    algorithms: { f_ts: 'F-TS: Thompson sampling, arms in arrears first', fucb: 'FUCB: confidence bounds, arms in arrears first' },
  },
  merit: {
    text: 'Shares in proportion to the merit of each arm',
    algorithms: { fcts_d: 'FCTS-D: shares by merit, from a posterior' },
  },
  none: {
    text: 'Nothing: the best arms get all',
    algorithms: { thompson: 'Thompson sampling', ucb1: 'UCB1', kl_ucb: 'KL-UCB' },
  },
};

const MISSING = {
  zero: 'It counts as 0: only successes are reported',
  lost: 'It says nothing, and is given up',
  never: 'It is still to come: every reward is reported, also 0',
};

const UNITS = { minutes: 60, hours: 3600, days: 86400 };
const NAME = '[A-Za-z0-9][A-Za-z0-9._\\-]*';

export class Create extends Form {
  state = {
    name: '',
    arms: [{ arm: '', promise: '' }, { arm: '', promise: '' }],
    promise: 'minimum',
    algorithm: 'f_ts',
    missing: 'zero',
    window: '1',
    unit: 'days',
    low: '0',
    high: '1',
    plays: '1',
    preview: null,
    busy: false,
    error: null,
  };

  componentDidMount() {
    this.name?.focus();
  }

  set(change) {
    this.setState({ ...change, error: null }, () => this.check());
  }

  promises() {
    return this.state.promise === 'minimum';
  }

  fractions() {
    return this.promises() ? this.state.arms.map(({ promise }) => fraction(promise)) : [];
  }

  parameters() {
    if (this.state.promise === 'merit') return { merit: { kind: 'linear' } };
    if (!this.promises()) return {};
    const fractions = this.fractions();
    const kept = this.state.arms.map(({ arm }, at) => [arm.trim(), fractions[at]]).filter(([, share]) => share > 0);
    return { fractions: Object.fromEntries(kept) };
  }

  body() {
    const { name, arms, algorithm, missing, window, unit, low, high, plays } = this.state;
    return {
      name,
      arms: arms.map(({ arm }) => arm.trim()),
      algorithm,
      parameters: this.parameters(),
      plays: Number(plays),
      window: missing === 'never' ? null : Number(window) * UNITS[unit],
      missing,
      rewards: [Number(low), Number(high)],
    };
  }

  check() {
    const body = this.body();
    const ready = body.arms.every(Boolean) && !this.fractions().includes(undefined);
    if (ready && body.name) this.preview('POST', 'v1/allocations', body);
    else this.unpreview();
  }

  async submit(event) {
    event.preventDefault();
    const body = this.body();
    if (this.fractions().includes(undefined)) return;
    if (await this.attempt(() => this.props.service.change('POST', 'v1/allocations', body))) {
      location.hash = link(body.name);
    }
  }

  text(field, label, more = {}) {
    const typed = ({ target }) => this.set({ [field]: target.value });
    return html`<label>${label}<input value=${this.state[field]} autocomplete="off" required ...${more} onInput=${typed} /></label>`;
  }

  choice(field, legend, options, changed = () => ({})) {
    const option = ([key, text]) => html`<label class="tick"><input type="radio" name=${field} value=${key}
      checked=${this.state[field] === key} onChange=${() => this.set({ [field]: key, ...changed(key) })} /> ${text}</label>`;
    return html`<fieldset class="choices"><legend>${legend}</legend>${options.map(option)}</fieldset>`;
  }

  select(field, label, options) {
    const option = ([key, text]) => html`<option value=${key} selected=${key === this.state[field]}>${text}</option>`;
    return html`<label>${label}<select onChange=${({ target }) => this.set({ [field]: target.value })}>
      ${options.map(option)}</select></label>`;
  }

  form() {
    const { arms, promise, missing, preview, busy, error, plays } = this.state;
    const number = { type: 'number', step: 'any' };
    const first = (key) => ({ algorithm: Object.keys(PROMISES[key].algorithms)[0] });
    const texts = Object.entries(PROMISES).map(([key, { text }]) => [key, text]);
    return html`<form class="form" onSubmit=${(event) => this.submit(event)}>
      ${this.text('name', 'Name of the allocation: letters, digits, . _ -', {
        pattern: NAME,
        maxlength: 100,
        ref: (node) => (this.name = node),
      })}
      ${this.choice('promise', 'What is promised?', texts, first)}
      ${this.select('algorithm', 'Algorithm', Object.entries(PROMISES[promise].algorithms))}
      <${ArmFields} arms=${arms} promises=${this.promises()} onChange=${(arms) => this.set({ arms })} />
      <${Preview} fractions=${this.promises() ? this.fractions() : null} plays=${Number(plays)} preview=${preview} />
      ${this.choice('missing', 'What does a missing reward mean?', Object.entries(MISSING))}
      ${missing !== 'never' && html`<div class="row">
        ${this.text('window', 'Wait for a reward', { ...number, min: 0 })}
        ${this.select('unit', 'Unit', Object.keys(UNITS).map((unit) => [unit, unit]))}
      </div>`}
      <div class="row">
        ${this.text('low', 'Smallest reward', number)}${this.text('high', 'Largest reward', number)}
        ${this.text('plays', 'Arms per round', { type: 'number', min: 1, max: arms.length, step: 1 })}
      </div>
      <${Problem} error=${error} />
      <div class="row"><button type="submit" class="main" disabled=${busy}>Create the allocation</button>
        <a class="button" href="#/">Cancel</a></div>
      <p class="note">Other algorithms, groups and caps: <code>evenhand client create</code>, or the <a href="docs">routes</a>.</p>
    </form>`;
  }

  render({ access }) {
    return html`
      <nav aria-label="Where you are"><a href="#/">Allocations</a></nav>
      <h1 tabindex="-1">New allocation</h1>
      ${access && (administers(access) ? this.form() : html`<${ReadOnly} access=${access} />`)}
    `;
  }
}
