// How an arm stands with its promise, in a few words: the service judges, and the page shows what it found.

import { share } from './format.js';
import { say } from './words.js';

// A share by merit is estimated anew in every round, so that past plays are not held against it.
export const byMerit = (line) => line.promised > 0 && line.deficit === null;

// The share of an arm or group in the rounds of its promise.
export function received({ share: got, since, retired }) {
  if (got !== null) return share(got);
  return say(retired ? 'no round since it was retired' : since > 0 ? 'no round since its promise began' : 'no round yet');
}

// `cap` is the line of its largest share, if it has one; `groups` are the names of those in which it is; `within` is the
// line of its promise in a segment that is furthest from being kept.
export function standing(line, cap, groups, within) {
  if (line.retired) return { state: 'closed', text: 'retired' };
  if (cap?.verdict === 'missed') return word(cap);
  if (within?.verdict === 'missed' && line.verdict !== 'missed') return { state: 'bad', text: `${within.standing} in a segment` };
  if (byMerit(line) && line.verdict !== 'missed') return { state: 'plain', text: 'by merit' };
  if (line.promised || line.verdict) return word(line);
  return { state: 'plain', text: cap ? 'largest share only' : groups ? 'in a group' : within ? 'in segments only' : 'no promise' };
}

const RANKS = { missed: 0, undecided: 1, kept: 3 };

// Where to look first: missed promises, then those of which nobody can tell and estimates not to be trusted; those that
// are kept or cannot be judged yet, and without a promise, stay in their order.
export function urgency(line, ...bounds) {
  if (line.retired) return 5;
  const ranks = [line, ...bounds].map((one) => RANKS[one?.verdict] ?? 4);
  return Math.min(...ranks, line.trusted === false ? 2 : 3);
}

// Of those that are missed or undecided, the furthest behind first.
export function urgent(lines, rank) {
  const ranks = new Map(lines.map((line) => [line, rank(line)]));
  const owed = (line) => (ranks.get(line) < 2 ? (line.deficit ?? line.owed ?? 0) : 0);
  return [...lines].sort((one, other) => ranks.get(one) - ranks.get(other) || owed(other) - owed(one));
}

const LOOKS = { kept: 'good', undecided: 'plain', missed: 'bad' };
export const word = ({ verdict, standing }) =>
  verdict === null ? { state: 'plain', text: 'too early to say' } : { state: LOOKS[verdict], text: standing };

// Every play is pending, received or lost, but for algorithms that take totals, which name no arm.
export const takesTotals = (lines) =>
  lines.some((line) => line.all_plays > 0) &&
  lines.every((line) => line.received === 0 && line.pending === 0 && line.lost === 0);
