// A form for the promises of an allocation: shares of its arms, caps, and groups; changed all at once or not at all.
import { belowPromise, capOf, wrongBounds } from './draft.js';
import { Fault, faultsOf } from './faults.js';
import { Preview, Reason, ShareField } from './fields.js';
import { several, share, whole } from './format.js';
import { GroupFields, boundsOf, lacking } from './groups.js';
import { changes as path } from './route.js';
import { byMerit } from './states.js';
import { Form, Problem, fraction, percent } from './submit.js';
import { Name, html } from './view.js';
import { say } from './words.js';

export const promising = (audit) => audit.lines.some((line) => line.promised !== null) && !audit.lines.some(byMerit);
export const inPlay = (audit) => audit.lines.filter((line) => !line.retired);

// Texts by arm are in maps: the name of an arm can be that of a property that every object has.
const UNTOUCHED = { shares: new Map(), caps: new Map(), groups: null, reason: '', preview: null, tried: false };

// The groups of an allocation, as the fields have them; arms are identified by their names.
function groupsOf(audit, plays) {
  const limit = ({ at_most }) => (at_most === null || at_most >= plays ? '' : percent(at_most) || '0');
  const of = (line) => ({ id: line.name, name: line.name, known: true, arms: line.arms, least: percent(line.at_least), most: limit(line) });
  return audit.bounds.filter(({ kind }) => kind === 'group').map(of);
}

const capsOf = (audit) => new Map(audit.bounds.filter(({ kind }) => kind === 'arm').map((one) => [one.name, one.at_most]));

// Those whose value is no longer what it was.
const others = (after, before) => Object.fromEntries(Object.entries(after).filter(([key, value]) => before(key) !== value));

export class Promises extends Form {
  state = { ...UNTOUCHED, busy: false, error: null, saved: '' };

  share(line) {
    return this.state.shares.get(line.arm) ?? percent(line.promised);
  }

  cap(line) {
    const now = capsOf(this.props.audit).get(line.arm);
    return this.state.caps.get(line.arm) ?? (now === undefined ? '' : percent(now) || '0');
  }

  groups() {
    return this.state.groups ?? groupsOf(this.props.audit, this.props.described.plays);
  }

  // What there is to choose from: the arms that play, and retired ones that are in a group.
  arms() {
    const { audit, described } = this.props;
    const members = audit.bounds.filter(({ kind }) => kind === 'group').flatMap(({ arms }) => arms);
    const names = [...new Set([...inPlay(audit).map(({ arm }) => arm), ...members])];
    return names.map((arm) => ({ id: arm, arm, retired: described.retired.includes(arm) }));
  }

  // The promises that are no longer as they were.
  changes() {
    const { audit, bounded } = this.props;
    const lines = inPlay(audit);
    const promised = new Map(lines.map((line) => [line.arm, line.promised]));
    const caps = capsOf(audit);
    const typed = (texts, value) => Object.fromEntries(lines.filter(({ arm }) => texts.has(arm)).map((line) => [line.arm, value(line)]));
    const all = {
      fractions: others(typed(this.state.shares, (line) => fraction(this.share(line))), (arm) => promised.get(arm)),
      caps: bounded ? others(typed(this.state.caps, (line) => capOf(this.cap(line))), (arm) => caps.get(arm) ?? 1) : {},
      groups: this.changedGroups(),
    };
    return Object.fromEntries(Object.entries(all).filter(([, some]) => Object.keys(some).length > 0));
  }

  change(changes) {
    return { change: 'promise', reason: this.state.reason.trim(), ...changes };
  }

  // By name: what changes of a group, or null for one that ends.
  changedGroups() {
    const { audit, described } = this.props;
    if (this.state.groups === null) return {};
    const { plays } = described;
    const before = new Map(groupsOf(audit, plays).map((one) => [one.name, one]));
    const same = (one) => one.known && JSON.stringify(before.get(one.name)) === JSON.stringify(one);
    const ended = [...before.keys()].filter((name) => !this.state.groups.some((one) => one.known && one.name === name));
    // What is left out of a change stays as it is: a limit of all plays is none.
    const table = (one) => ({ arms: one.arms, ...(before.get(one.name)?.most && { at_most: plays }), ...boundsOf(one, plays) });
    const made = this.state.groups.filter((one) => !same(one)).map((one) => [one.name.trim(), table(one)]);
    return Object.fromEntries([...ended.map((name) => [name, null]), ...made]);
  }

  // What is wrong with the fields, before the service is asked.
  wrong() {
    const { audit, bounded, described } = this.props;
    const lines = inPlay(audit);
    const caps = bounded ? lines.map((line) => capOf(this.cap(line))) : [];
    const fractions = lines.map((line) => fraction(this.share(line)));
    const faults = belowPromise(fractions, caps, lines.map(({ arm }) => arm));
    const incomplete = this.groups().some((one) => lacking(one, described.plays));
    return { fractions, faults, wrong: wrongBounds(fractions, caps), incomplete };
  }

  typed(change) {
    this.setState({ ...change, saved: '', error: null }, () => {
      const changes = this.changes();
      const { wrong, incomplete } = this.wrong();
      if (Object.keys(changes).length && !wrong && !incomplete) this.preview(path(this.props.name), this.change(changes));
      else this.unpreview();
    });
  }

  async submit(event) {
    event.preventDefault();
    const { name, service, onChanged } = this.props;
    const changes = this.changes();
    const { wrong, incomplete } = this.wrong();
    if (wrong || incomplete) return this.showFaults();
    if (await this.attempt(() => service.change(path(name), this.change(changes)))) {
      const count = Object.values(changes).reduce((total, some) => total + Object.keys(some).length, 0);
      this.unpreview();
      this.setState({ ...UNTOUCHED, saved: `${several(count, 'promise')} changed, ${say('from the next round on.')}` });
      onChanged();
    }
  }

  row(line, faults) {
    const { shares, caps } = this.state;
    const field = (label, value, named, key, texts) => html`<${ShareField} label=${label} named=${named} value=${value}
      faults=${key === 'caps' ? faults : {}} path=${line.arm} onInput=${(text) => this.typed({ [key]: new Map([...texts, [line.arm, text]]) })} />`;
    return html`<li key=${line.arm}><span><${Name} of=${line.arm} />${' '}
      <span class="soft">${received(line)}</span></span>
      ${field('Promised, %', this.share(line), `Promised to ${line.arm}, per cent`, 'shares', shares)}
      ${this.props.bounded && field('At most, %', this.cap(line), `At most for ${line.arm}, per cent`, 'caps', caps)}
      <${Fault} faults=${faults} path=${line.arm} /></li>`;
  }

  render({ audit, described, bounded }, { reason, preview, busy, error, saved, tried }) {
    if (!promising(audit)) return html`<p class="note">${unchangeable(audit)}</p>`;
    const lines = inPlay(audit);
    const { fractions, faults, wrong } = this.wrong();
    const { plays } = described;
    return html`<section aria-labelledby="promises"><h2 id="promises">Promises</h2>
      <form class="form" ref=${this.here} onKeyDown=${this.enter} onSubmit=${(event) => this.submit(event)}>
        ${lines.length < audit.arms - described.retired.length && html`<p class="limited">Only the arms that are loaded.</p>`}
        <ul class=${bounded ? 'arm-fields tall capped' : 'arm-fields tall'}>${lines.map((line) => this.row(line, faults))}</ul>
        ${bounded && html`<${GroupFields} groups=${this.groups()} arms=${this.arms()} faults=${faultsOf(error ?? preview)}
          ...${{ plays, tried }} onChange=${(groups) => this.typed({ groups })} />`}
        <${Preview} ...${{ fractions, plays, preview, bounded, wrong }} />
        <div class="row"><${Reason} value=${reason} onInput=${(reason) => this.setState({ reason })} /></div>
        <${Problem} error=${error} />
        <div class="row"><button type="submit" class="main" disabled=${busy || !Object.keys(this.changes()).length}>Save the promises</button>
          <span role="status">${saved}</span></div>
        <p class="note">A promise that changes begins with the next round, and what is owed goes on.</p>
      </form></section>`;
  }
}

// The share counts from where the present promise began, not from the first round.
function received({ share: got, since, rounds }) {
  if (got === null) return say('no round yet since its promise began');
  const counted = several(rounds, 'round');
  return `received ${share(got)} ${since ? `${say('since round')} ${whole(since)} (${counted})` : `in ${counted}`}`;
}

const unchangeable = (audit) =>
  say(audit.lines.some(byMerit)
    ? 'The shares follow the merit of the arms, so that there is no promised share to change.'
    : 'The algorithm of this allocation promises no share per arm.');
