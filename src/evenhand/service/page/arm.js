// One arm in a row that also fits on a phone: its state in a word, its share, its estimate, and why on demand.
import { RewardDot, ShareBar } from './bars.js';
import { Compare } from './compare.js';
import { about, number, plays, reward, rewardInterval, several, share, shareInterval, whole } from './format.js';
import { Badge } from './health.js';
import { Ledger } from './ledger.js';
import { byMerit, received, standing } from './states.js';
import { Term } from './terms.js';
import { Ago, Component, Name, html } from './view.js';
import { say } from './words.js';

function Standing({ line, cap, groups, within, since }) {
  return html`<span class="standing">
    <${Badge} ...${standing(line, cap, groups, within)} />${since && html`${' '}<span class="soft">alarm <${Ago} time=${since} /></span>`}
    ${!line.trusted && html`${' '}<${Badge} state="attention" text="estimate not to be trusted" />`}
  </span>`;
}

function promise(line, cap, groups, within) {
  const own = byMerit(line) ? `now\u00a0deserves\u00a0${share(line.promised)}` : line.promised ? `promised\u00a0${share(line.promised)}` : '';
  return [own, cap && `at\u00a0most\u00a0${share(cap.at_most)}`, groups && `in ${groups}`, within && 'promised\u00a0in\u00a0segments'].filter(Boolean).join(', ');
}

const estimated = (line, totals) =>
  line.estimate === null ? (totals ? 'learned from totals' : 'no reward known') : html`<strong>${reward(line.estimate)}</strong>${' '}
    <span class="soft">${rewardInterval(line.low, line.high)}</span>`;

export class Arm extends Component {
  shouldComponentUpdate(next) {
    return ['line', 'open', 'least', 'scales', 'cap', 'groups', 'within', 'since', 'ledger'].some((prop) => next[prop] !== this.props[prop]);
  }

  render({ line, lines, name, service, cap, groups, within, since, ledger, authors, open, least, scales, totals, onWhy, id }) {
    const behind = !line.retired && [line, within].some((one) => one?.verdict === 'missed');
    return html`<tr role="row" class="arm">
        <th role="rowheader" scope="row"><${Name} of=${line.arm} /></th>
        <td role="cell" class="is"><${Standing} ...${{ line, cap, groups, within, since }} /></td>
        <td role="cell" class="received" data-label="Share">
          <${ShareBar} line=${line} scale=${scales.share} most=${cap?.at_most ?? null} />
          <span><strong>${received(line)}</strong>${' '}
            <span class="soft"><bdi>${promise(line, cap, groups, within)}</bdi></span></span>
        </td>
        <td role="cell" class="earned" data-label="Reward">
          <${RewardDot} line=${line} scale=${scales.reward} /><span>${estimated(line, totals)}</span>
        </td>
        <td role="cell" class="ask">
          <button type="button" aria-expanded=${open} aria-controls=${id} onClick=${onWhy}
            aria-label=${`Why: ${line.arm}`}>Why</button>
        </td>
      </tr>
      ${(open || behind || least) && html`<tr role="row" class=${open ? 'because' : 'because short'} id=${id}>
        <td role="cell" colspan="5"><${Why} ...${{ line, open, ledger, authors, totals, compared: { lines, name, service } }} /></td>
      </tr>`}`;
  }
}

// An arm that is behind, and the one with the smallest share, say why at once; the figures behind the sentence come on demand.
function Why({ line, open, ledger, authors, totals, compared }) {
  const { catch_up_rounds: rounds, catch_up_seconds: seconds } = line;
  const again = rounds !== null && html`${' '}It can catch up in ${several(rounds, 'round')} at the earliest${
    seconds === null ? '' : ` (${about(seconds)} at the present pace)`}.`;
  return html`<p><bdi>${line.reason}</bdi>${again}</p>${open && html`<${Facts} line=${line} />
    ${!totals && html`<${Compare} line=${line} ...${compared} />`}<${Ledger} entries=${ledger} authors=${authors} />`}`;
}

const term = (word, text) => html`<${Term} word=${word}>${text}</${Term}>`;

function Facts({ line }) {
  const missing = [line.pending && `${whole(line.pending)} pending`, line.lost && `${whole(line.lost)} lost`];
  const rows = [
    [term('promise', 'Promised'), byMerit(line) ? `${share(line.promised)}, by merit` : line.promised ? share(line.promised) : 'nothing'],
    [term('share', 'Received'), `${share(line.share)} (${several(line.plays, 'play')} in ${several(line.rounds, 'round')})`],
    ['95% interval of its share', shareInterval(line.low_share, line.high_share)],
    [term('deficit', 'Owed now, in plays'), line.deficit === null ? 'nothing is promised in plays' : plays(Math.max(0, line.deficit))],
    ['Furthest behind so far', plays(line.worst)],
    ['Could play in', `${share(line.available)} ${say('of all rounds')}`],
    ['Mean reward', reward(line.estimate)],
    ['95% interval of its reward', rewardInterval(line.low, line.high)],
    [term('score', say('Score by which the policy compares arms')), line.score === null ? 'drawn at random, or none yet' : number(line.score)],
    ['Missing rewards', missing.filter(Boolean).join(', ') || 'none'],
    ['Late rewards, of the lost', whole(line.late)],
  ];
  return html`<dl class="facts">
    ${rows.map(([head, value]) => html`<div><dt>${head}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
