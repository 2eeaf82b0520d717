// A new allocation as it stands in the form: what is promised, what is wrong with it, and what is sent.
import { faultsOf } from './faults.js';
import { atCuts, declared, lacks, segmentsOf } from './features.js';
import { wrongShares } from './fields.js';
import { boundsOf, lacking } from './groups.js';
import { hasCaps, hasGroups, promisesShares, valuesOf } from './parameters.js';
import { fraction } from './submit.js';

export const UNITS = { minutes: 60, hours: 3600, days: 86400 };

// The largest share that a field in per cent says; 1, no limit, where it is empty.
export const capOf = (text) => (text.trim() ? fraction(text) : 1);

// What is wrong with the shares of arms before the service is asked.
export function wrongBounds(fractions, caps) {
  if (caps.includes(undefined)) return 'A largest share is a number from 0 to 100.';
  const below = caps.some((cap, at) => cap < fractions[at]);
  return wrongShares(fractions) || (below ? 'The largest share of an arm is below its promised one.' : '');
}

// The faults of fields for caps that are below the promise; `paths` has that of each arm.
export function belowPromise(fractions, caps, paths) {
  const below = paths.filter((_, at) => caps[at] < fractions[at]);
  return Object.fromEntries(below.map((path) => [path, 'Must not be below the promised share.']));
}

// A group without the arms that are no longer there.
const withMembers = (group, arms) => ({ ...group, arms: arms.map(({ id }) => id).filter((id) => group.arms.includes(id)) });

export class Draft {
  constructor(state) {
    this.state = state;
    this.plays = Number(state.plays);
    this.algorithm = state.algorithms.find(({ name }) => name === state.algorithm);
    this.promised = promisesShares(this.algorithm);
    this.capped = hasCaps(this.algorithm);
    this.grouped = hasGroups(this.algorithm);
    this.groups = this.grouped ? state.groups.map((one) => withMembers(one, state.arms)) : [];
    this.fractions = this.promised ? state.arms.map(({ promise }) => fraction(promise)) : [];
    this.caps = this.capped ? state.arms.map(({ cap }) => capOf(cap)) : [];
    this.wrong = wrongBounds(this.fractions, this.caps);
  }

  get named() {
    return this.state.name && this.state.arms.every(({ arm }) => arm.trim());
  }

  get whole() {
    const { features } = this.state;
    return this.algorithm && !this.wrong && !features.some((one) => lacks(one, features)) && !this.groups.some((one) => lacking(one, this.plays));
  }

  // By the paths of the fields.
  get faults() {
    const { arms, error, preview, features, segments, cuts } = this.state;
    const below = belowPromise(this.fractions, this.caps, arms.map((_, at) => `caps[${at}]`));
    return { ...atCuts(faultsOf(error ?? preview), segmentsOf(features, segments, cuts)), ...below };
  }

  get parameters() {
    const caps = this.byName(this.caps, (share) => share < 1);
    const groups = this.groups.map((one) => this.group(one));
    return {
      ...valuesOf(this.algorithm, this.state.texts),
      ...(this.promised && { fractions: this.byName(this.fractions, (share) => share > 0) }),
      ...(Object.keys(caps).length > 0 && { caps }),
      ...(groups.length > 0 && { groups }),
    };
  }

  get body() {
    const { name, arms, missing, window, unit, low, high, unit_word, round_name, arm_name } = this.state;
    const words = { unit: unit_word.trim(), round_name: round_name.trim(), arm_name: arm_name.trim() };
    return {
      name,
      arms: arms.map(({ arm }) => arm.trim()),
      algorithm: this.algorithm.parts ?? this.algorithm.name,
      parameters: this.parameters,
      plays: this.plays,
      window: missing === 'never' ? null : Number(window) * UNITS[unit],
      missing,
      rewards: [Number(low), Number(high)],
      ...this.known,
      ...(Object.values(words).some(Boolean) && { words }),
      ...(this.state.start_from && { start_from: this.evidence }),
    };
  }

  // What is known before a decision.
  get known() {
    const { features, feature_kinds, segments, cuts } = this.state;
    const by = segmentsOf(features, segments, cuts);
    return { ...(features.length > 0 && { features: declared(features, feature_kinds) }), ...(by && { segments: by }) };
  }

  // What a log says of the arms that are there.
  get evidence() {
    const there = new Set(this.state.arms.map(({ arm }) => arm.trim()));
    return Object.fromEntries(Object.entries(this.state.start_from).filter(([arm]) => there.has(arm)));
  }

  byName(shares, given) {
    const kept = this.state.arms.map(({ arm }, at) => [arm.trim(), shares[at]]).filter(([, share]) => given(share));
    return Object.fromEntries(kept);
  }

  group(one) {
    const members = this.state.arms.filter(({ id }) => one.arms.includes(id));
    return { name: one.name.trim(), arms: members.map(({ arm }) => arm.trim()), ...boundsOf(one, this.plays) };
  }
}
