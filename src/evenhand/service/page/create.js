// A form for a new allocation.
import { ReadOnly, administers } from './access.js';
import { Advice, ofParts, promisesOf, suiting, textsFor, usual } from './advice.js';
import { Draft, UNITS } from './draft.js';
import { Fault, describedBy } from './faults.js';
import { FeatureFields } from './features.js';
import { ArmFields, Preview, WordFields, newArm } from './fields.js';
import { GroupFields } from './groups.js';
import { link } from './route.js';
import { Parameters } from './parameters.js';
import { Form, Problem } from './submit.js';
import { Term } from './terms.js';
import { Upload } from './upload.js';
import { html, options } from './view.js';

// What can be promised, in the words of the form.
const PROMISES = {
  share: 'A minimum share of the rounds for some arms; the best arms get the rest',
  merit: 'Shares in proportion to the merit of each arm',
  group: 'Shares for groups of arms, and largest shares',
  reward: 'A reward per round for each arm',
  none: 'Nothing: the best arms get all',
};

const MADE_FOR = {
  delayed: 'rewards that arrive late',
  dependent: 'delays that depend on the reward',
  anonymous: 'sums that name no arm',
  changing: 'means that change',
};

// What the answers of `evenhand which` to the same question mean for a reward that is missing.
const MISSING = {
  zero: 'Only successes, within some time: what has not come by then counts as 0',
  never: 'Every reward is sent, also zeros: what is missing is still to come',
  lost: 'Some are never sent, whatever they are: what has not come in time says nothing',
};

const NAME = '[A-Za-z0-9][A-Za-z0-9._\\-]*';

// What an algorithm is called: the begin of its summary.
const called = ({ name, summary }) => {
  const [title, ...more] = summary.split(':');
  return more.length ? `${title} (${name})` : name;
};

// Parameters that an algorithm needs for some feedback.
const given = (needed) => {
  const all = Object.entries(needed).map((one) => one.join(' = '));
  return all.length ? ` (with ${all.join(', ')})` : '';
};

function About({ algorithm }) {
  const kinds = Object.entries(algorithm.made_for).map(([kind, needed]) => MADE_FOR[kind] + given(needed));
  return html`<p class="note">${algorithm.summary} Promise: ${algorithm.promise}
    ${kinds.length > 0 && html` Made for ${kinds.join(', ')}.`}</p>`;
}

export class Create extends Form {
  state = {
    name: '',
    arms: [newArm(), newArm()],
    groups: [],
    features: [],
    feature_kinds: [],
    segments: null,
    cuts: '',
    algorithms: [],
    questions: [],
    recommendations: [],
    answers: {},
    promise: 'share',
    algorithm: 'f_ts',
    texts: { merit: 'linear' },
    missing: 'zero',
    window: '1',
    unit: 'days',
    low: '0',
    high: '1',
    plays: '1',
    unit_word: '',
    round_name: '',
    arm_name: '',
    start_from: null,
    preview: null,
    busy: false,
    tried: false,
    error: null,
  };

  async componentDidMount() {
    this.name?.focus();
    const { signal } = this.loading;
    try {
      const listed = await this.props.service.get('v1/algorithms', signal);
      const { features: feature_kinds, ...more } = listed;
      more.algorithms = [...more.algorithms, ...ofParts(more.recommendations)];
      this.setState({ ...more, feature_kinds, answers: usual(listed.questions) }, () => this.set(this.promising(this.state.promise)));
    } catch (error) {
      if (!signal.aborted) this.setState({ error: { message: `The algorithms could not be loaded: ${error.message}` } });
    }
  }

  set(change) {
    this.setState({ ...change, error: null }, () => this.check());
  }

  draft() {
    return new Draft(this.state);
  }

  // The recommendations for the answers; whether several arms play, and there are features, is known from their number.
  suits(answers, { plays, features } = this.state) {
    const known = { several: Number(plays) > 1 ? 'yes' : 'no', features: features.length > 0 ? 'yes' : 'no' };
    return suiting(this.state.recommendations, { ...answers, ...known });
  }

  // Other answers, and the algorithm that suits them, if one does.
  answered(change, state = this.state) {
    const answers = { ...this.state.answers, ...change };
    const [first] = this.suits(answers, state);
    return { answers, ...(first && this.using(first)) };
  }

  using(one) {
    return { algorithm: one.algorithm, texts: { ...this.state.texts, ...textsFor(one) } };
  }

  // Other features; with the first one, and without the last one, another algorithm suits.
  knowing(change) {
    const state = { ...this.state, ...change };
    const other = state.features.length > 0 !== this.state.features.length > 0;
    this.set({ ...change, ...(other && this.answered({}, state)) });
  }

  // Another kind of promise, with the first answer that it has.
  promising(kind) {
    const [[promise] = []] = promisesOf(kind, this.state);
    return this.answered({ promise });
  }

  check() {
    const draft = this.draft();
    if (draft.named && draft.whole) this.preview('v1/allocations', draft.body);
    else this.unpreview();
  }

  // Fills in what a log says; without one the fields stay as they are.
  started(found) {
    if (!found) return this.set({ start_from: null });
    const [low, high] = found.rewards.map(String);
    const arms = found.price.by_arm.map(({ arm }) => ({ ...newArm(arm), promise: found.share }));
    return this.set({ arms, low, high, start_from: found.start_from, ...(found.missing && { missing: found.missing }) });
  }

  async submit(event) {
    event.preventDefault();
    const { whole, body } = this.draft();
    if (!whole) this.showFaults();
    else if (await this.attempt(() => this.props.service.change('v1/allocations', body))) {
      location.hash = link(body.name);
    }
  }

  text(field, label, more = {}) {
    const typed = ({ target }) => this.set({ [field]: target.value });
    const { faults } = this.draft();
    return html`<div class="field"><label>${label}<input value=${this.state[field]} autocomplete="off" required ...${more}
      ...${describedBy(faults, field)} onInput=${typed} /></label><${Fault} faults=${faults} path=${field} /></div>`;
  }

  choice(field, legend, options, changed = () => ({})) {
    const option = ([key, text]) => html`<label class="tick"><input type="radio" name=${field} value=${key}
      checked=${this.state[field] === key} onChange=${() => this.set({ [field]: key, ...changed(key) })} /> ${text}</label>`;
    return html`<fieldset class="choices"><legend>${legend}</legend>${options.map(option)}</fieldset>`;
  }

  select(field, label, all) {
    return html`<label>${label}<select onChange=${({ target }) => this.set({ [field]: target.value })}>
      ${options(all, this.state[field])}</select></label>`;
  }

  form() {
    const { arms, promise, missing, preview, busy, tried, error, texts } = this.state;
    const { algorithm, promised, capped, grouped, groups, fractions, wrong, plays, faults } = this.draft();
    const number = { type: 'number', step: 'any' };
    const { answers } = this.state;
    const suits = this.suits(answers);
    const use = (name) => this.set(this.using(suits.find((one) => one.algorithm === name)));
    const { features, feature_kinds: kinds, segments, cuts } = this.state;
    const usable = ({ promises, by_features }) => promises === promise && (features.length > 0 || !by_features);
    const matching = this.state.algorithms.filter(usable);
    return html`<form class="form" ref=${this.here} onSubmit=${(event) => this.submit(event)}>
      ${this.text('name', 'Name of the allocation: letters, digits, . _ -', {
        pattern: NAME,
        maxlength: 100,
        ref: (node) => (this.name = node),
      })}
      <${Upload} service=${this.props.service} onStart=${(found) => this.started(found)} />
      ${this.choice('promise', html`What is <${Term} word="promise">promised</${Term}>?`, Object.entries(PROMISES), (kind) => this.promising(kind))}
      ${kinds.length > 0 && html`<${FeatureFields} ...${{ features, kinds, segments, cuts, faults, tried }}
        onChange=${(change) => this.knowing(change)} />`}
      ${this.state.questions.length > 0 && html`<${Advice} kind=${promise} listed=${this.state} chosen=${algorithm?.name}
        ...${{ answers, suits }} onAnswer=${(change) => this.set(this.answered(change))} onUse=${use} />`}
      ${this.select('algorithm', 'Algorithm', matching.map((one) => [one.name, called(one)]))}
      ${algorithm && html`<${About} algorithm=${algorithm} />
        <${Parameters} ...${{ algorithm, texts, faults }} onInput=${(texts) => this.set({ texts })} />`}
      <${ArmFields} ...${{ arms, faults }} promises=${promised} caps=${capped}
        onChange=${(arms) => this.set({ arms })} />
      ${grouped && html`<${GroupFields} ...${{ groups, arms, plays, faults, tried }} onChange=${(groups) => this.set({ groups })} />`}
      <${Preview} fractions=${promised ? fractions : null} bounded=${grouped} ...${{ wrong, plays, preview }} />
      ${this.choice('missing', 'Are failures reported, too?', Object.entries(MISSING))}
      ${missing !== 'never' && html`<div class="row">
        ${this.text('window', 'Wait for a reward', { ...number, min: 0 })}
        ${this.select('unit', 'Unit', Object.keys(UNITS).map((unit) => [unit, unit]))}
      </div>`}
      <div class="row">
        ${this.text('low', 'Smallest reward', number)}${this.text('high', 'Largest reward', number)}
        ${this.text('plays', 'Arms per round', { type: 'number', min: 1, max: arms.length, step: 1 })}
      </div>
      <${WordFields} words=${{ ...this.state, unit: this.state.unit_word }}
        onInput=${({ unit, ...more }) => this.set(unit === undefined ? more : { unit_word: unit })} />
      <${Problem} error=${error} />
      <div class="row"><button type="submit" class="main" disabled=${busy}>Create the allocation</button>
        <a class="button" href="#/">Cancel</a></div>
      <p class="note">A policy of parts that you choose: <code>evenhand client create</code>, or the <a href="docs">routes</a>.</p>
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
