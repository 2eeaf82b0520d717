// What the figures of an audit say, in sentences: which promises are kept, and why an arm got what it got.
import { plays, reward, several, share, whole } from './format.js';
import { WITHIN, byMerit, owed } from './states.js';
import { Name, html } from './view.js';

const playing = (lines) => lines.filter((line) => !line.retired);
const best = (lines) =>
  playing(lines).reduce((most, line) => ((line.estimate ?? -Infinity) > (most?.estimate ?? -Infinity) ? line : most), null);

// Which promises are kept, and who is furthest behind.
export function verdict({ lines, arms, round }) {
  if (round === 0) return 'Nothing has been decided yet.';
  if (lines.some(byMerit)) return 'The shares follow the merit of the arms, as it is estimated in each round.';
  const promised = playing(lines).filter((line) => line.promised > 0 && line.rounds > 0);
  if (promised.length === 0) return 'No share is promised to any arm.';
  const behind = promised.filter((line) => owed(line) > WITHIN).sort((one, other) => owed(other) - owed(one));
  const loaded = lines.length < arms ? ' of the arms loaded' : '';
  const count = promised.length;
  if (behind.length === 0) return count === 1 ? 'The promise is kept.' : `All ${whole(count)} promises${loaded} are kept.`;
  const [worst] = behind;
  const kept = count === 1 ? 'The promise is not kept' : `${whole(count - behind.length)} of ${whole(count)} promises${loaded} are kept`;
  return html`${kept}; <${Name} of=${worst.arm} /> is ${plays(owed(worst))} plays behind its ${share(worst.promised)}.`;
}

// Why an arm got what it got: what it is owed and whether it could play; in full, also how its reward compares, and
// how many are missing.
export function reason(line, lines, totals, full) {
  if (line.retired) return 'It is retired, so it plays no more.';
  const rewards = full && !totals ? [compared(line, best(lines)), missing(line)] : [];
  return [owing(line), available(line), ...rewards].map((sentence) => sentence && html`${sentence}${' '}`);
}

function owing(line) {
  if (byMerit(line)) return `Its share follows its merit, which is now ${share(line.promised)}.`;
  if (!line.promised) return 'Nothing is promised to it.';
  if (line.rounds === 0) return `Its promise of ${share(line.promised)} begins with the next round.`;
  const behind = owed(line);
  if (behind > WITHIN) return `It is owed ${plays(behind)} plays of its promise of ${share(line.promised)}.`;
  const more = line.share - line.promised > 0.005;
  return `It has ${more ? 'more than' : 'just'} the ${share(line.promised)} that it was promised.`;
}

const available = (line) =>
  line.available !== null && line.available < 0.995 ? `It could play in ${share(line.available)} of the rounds only.` : null;

function compared(line, first) {
  if (line.estimate === null) return 'None of its rewards is known yet.';
  if (first === null || first.arm === line.arm) return `Its mean reward, ${reward(line.estimate)}, is the largest of all.`;
  const sure = line.high !== null && first.low !== null && line.high < first.low;
  return html`Its mean reward, ${reward(line.estimate)}, is${' '}
    ${line.estimate < first.estimate ? 'below' : 'equal to'} that of <${Name} of=${first.arm} />,${' '}
    ${reward(first.estimate)}${sure ? '' : '; their intervals overlap, so this may change'}.`;
}

const missing = (line) => {
  const count = line.pending + line.lost;
  return count > 0.1 * line.all_plays && count > 0
    ? `The rewards of ${whole(count)} of its ${several(line.all_plays, 'play')} are missing.`
    : null;
};
