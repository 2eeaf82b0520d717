// How an arm stands with its promise, in a word.
import { plays } from './format.js';

// A share by merit is estimated anew in every round, so that past plays are not held against it.
export const byMerit = (line) => line.promised > 0 && line.deficit === null;

// Up to one play behind is what any policy must be that decides in whole plays.
export const WITHIN = 1 + 1e-9;

// `cap` is the line of its largest share, if it has one; `groups` are the names of those in which it is.
export function standing(line, cap, groups) {
  if (line.retired) return { state: 'closed', text: 'retired' };
  if (byMerit(line)) return { state: 'plain', text: 'by merit' };
  if (cap?.verdict === 'missed' && cap.excess > 0) return { state: 'bad', text: `${plays(cap.excess)} plays above its largest share` };
  if (!line.promised) return { state: 'plain', text: cap ? 'largest share only' : groups ? 'in a group' : 'no promise' };
  return word(line.verdict, line.deficit, 'behind');
}

// What the service judged of a promise, in a word: the page judges nothing itself.
export function word(verdict, plays_, side) {
  if (verdict === null) return { state: 'plain', text: 'not yet begun' };
  if (verdict === 'kept') return { state: 'good', text: 'kept' };
  if (verdict === 'undecided') return { state: 'plain', text: 'undecided' };
  return { state: 'bad', text: `${plays(plays_)} plays ${side}` };
}

// Every play is pending, received or lost, but for algorithms that take totals, which name no arm.
export const takesTotals = (lines) =>
  lines.some((line) => line.all_plays > 0) &&
  lines.every((line) => line.received === 0 && line.pending === 0 && line.lost === 0);
