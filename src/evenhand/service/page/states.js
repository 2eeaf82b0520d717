// How an arm stands with its promise, in a word.
import { plays } from './format.js';

// Plays that the policy still makes up for: without what lapsed with earlier promises.
export const owed = (line) => (line.deficit === null ? null : line.deficit - line.lapsed);

// A share by merit is estimated anew in every round, so that past plays are not held against it.
export const byMerit = (line) => line.promised > 0 && line.deficit === null;

// Up to one play behind is what any policy must be that decides in whole plays.
export const WITHIN = 1 + 1e-9;

// `cap` is the line of its largest share, if it has one; `groups` are the names of those in which it is.
export function standing(line, cap, groups) {
  if (line.retired) return { state: 'closed', text: 'retired' };
  if (byMerit(line)) return { state: 'plain', text: 'by merit' };
  if (cap?.excess > WITHIN) return { state: 'attention', text: `${plays(cap.excess)} plays above its largest share` };
  if (!line.promised) return { state: 'plain', text: cap ? 'largest share only' : groups ? 'in a group' : 'no promise' };
  if (line.rounds === 0) return { state: 'plain', text: 'not yet begun' };
  const behind = owed(line);
  if (behind <= WITHIN) return { state: 'good', text: 'kept' };
  const short = line.high_share !== null && line.high_share < line.promised;
  return short
    ? { state: 'bad', text: 'below its promise' }
    : { state: 'attention', text: `${plays(behind)} plays behind` };
}

// Every play is pending, received or lost, but for algorithms that take totals, which name no arm.
export const takesTotals = (lines) =>
  lines.some((line) => line.all_plays > 0) &&
  lines.every((line) => line.received === 0 && line.pending === 0 && line.lost === 0);
