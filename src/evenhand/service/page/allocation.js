// One allocation: the answer in a sentence, then who gets what, over time, and what it costs.
import { Actions } from './actions.js';
import { Arms } from './arms.js';
import { Cost } from './cost.js';
import { DeficitHistory } from './deficits.js';
import { Delays } from './delays.js';
import { sentence } from './faults.js';
import { duration, moment, plays, reward, several, whole } from './format.js';
import { History } from './history.js';
import { Learned, Remembered } from './learned.js';
import { Looks } from './looks.js';
import { where } from './route.js';
import { Segments } from './segments.js';
import { Settings } from './settings.js';
import { byMerit, takesTotals } from './states.js';
import { Resolved } from './stated.js';
import { Stopping } from './stopping.js';
import { Term } from './terms.js';
import { Ago, Component, Name, html } from './view.js';
import { say, unit } from './words.js';

// Arms that are loaded at first.
export const LOADED = 200;
const NAMED = 3; // alarms

export function Allocation(props) {
  const { name, audit } = props;
  return html`
    <nav aria-label="Where you are"><a href="#/">Allocations</a></nav>
    <div class="title"><h1 tabindex="-1"><${Name} of=${name} /></h1>
      ${audit?.closed && html`<strong class="badge">closed</strong>`}</div>
    ${audit && html`<p class="verdict"><bdi>${audit.verdict}</bdi></p>`}
    <${Missed} alarms=${audit?.alarms ?? []} />
    ${audit && html`<${Resolved} ...${{ name, audit }} service=${props.service} />`}
    <${Alarm} fault=${audit?.fault ?? ''} />
    <${Warnings} warnings=${audit?.warnings ?? []} />
    ${audit ? html`<${Details} ...${props} />` : html`<p class="note">Loading…</p>`}
  `;
}

// Only the heading is announced: the reason changes with every round.
function Alarm({ fault }) {
  return html`<div class=${fault ? 'alarm' : ''}>
    <div role="alert">${fault && html`<h2>A promise cannot be kept</h2>`}</div>
    ${fault && html`<p><bdi>${sentence(fault)}</bdi></p>`}
  </div>`;
}

// The alarms that stand: since when promises are missed, and how far each is kept now.
function Missed({ alarms }) {
  const rest = alarms.length - NAMED;
  const one = ({ since, round, text }) => html`<li><bdi dir="ltr">${text}</bdi> <span class="soft">Found <${Ago} time=${since} />,
    after round ${whole(round)}.</span></li>`;
  return html`<div class=${alarms.length ? 'missed' : ''}>
    <div aria-live="polite">${alarms.length > 0 && html`<h2>${several(alarms.length, 'promise was', 'promises were')} missed, and not kept since</h2>`}</div>
    ${alarms.length > 0 && html`<ul class="alarms">${alarms.slice(0, NAMED).map(one)}</ul>`}
    ${rest > 0 && html`<p>And ${whole(rest)} more, each marked below.</p>`}
  </div>`;
}

function Warnings({ warnings }) {
  return html`<div class=${warnings.length ? 'alarm doubt' : ''}>
    <div role="status">${warnings.length > 0 && html`<h2>Warnings</h2>`}</div>
    ${warnings.map((warning) => html`<p><bdi>${warning}</bdi></p>`)}
  </div>`;
}

class Details extends Component {
  looks = new Looks();

  render({ name, audit, described, loaded, onMore, chosen, onChoose, service, access }) {
    const view = { chosen, onChoose };
    const { looks } = this;
    const totals = takesTotals(audit.lines);
    return html`
      <p class="lead">
        <code>${audit.algorithm}</code>, ${several(described.plays, 'play')} per round, as of${' '}
        <time>${moment(audit.time)}</time>
      </p>
      <${Actions} ...${{ name, described, service, access, closed: audit.closed }} />
      ${audit.round === 0 && html`<${Undecided} name=${name} />`}
      <${Tiles} audit=${audit} described=${described} />
      <${Arms} ...${{ audit, name, service }} retired=${described.retired} loaded=${loaded} onMore=${onMore} ...${view} />
      <${Segments} audit=${audit} />
      <${Stopping} ...${{ name, audit, service }} />
      <${Learned} audit=${audit} />
      <${Remembered} audit=${audit} />
      ${audit.history && html`<${History} ...${{ audit, described, looks }} ...${view} />`}
      <${Cost} cost=${audit.cost} />
      <${DeficitHistory} looks=${looks} history=${audit.deficit_history} merit=${audit.lines.some(byMerit)} grouped=${audit.bounds.some(({ kind }) => kind !== 'segment')} within=${audit.bounds.length > 0} />
      <${Delays} delays=${audit.delays} totals=${totals} received=${sum(audit.lines, 'received')} />
      <${Settings} described=${described} changes=${audit.version} />
    `;
  }
}

function Undecided({ name }) {
  return html`<div class="hint">
    <p>This command requests the first decision:</p>
    <pre><code>evenhand client decide ${name}${where()}</code></pre>
  </div>`;
}

const sum = (lines, field) => lines.reduce((total, line) => total + line[field], 0);

function Tiles({ audit, described }) {
  const { lines } = audit;
  const part = lines.length < audit.arms ? `of the ${several(lines.length, 'arm')} loaded` : '';
  const late = part ? `received after the window; ${part}` : 'received after the window';
  const [lost, arrived] = [sum(lines, 'lost'), sum(lines, 'late')];
  const retired = described.retired.length;
  const retiredNote = retired > 0 && `and ${whole(retired)} retired`;
  return html`<dl class="tiles">
    <${Tile} head=${say('Rounds')} word="round" value=${whole(audit.rounds)} />
    <${Tile} head=${say('Arms')} word="arm" value=${whole(described.arms.length - retired)} note=${retiredNote} />
    <${Furthest} ...${audit} />
    ${audit.cost?.per_round != null && html`<${Tile} head="Cost of the promises" word="price of the promises" value=${reward(audit.cost.per_round)} note=${say(unit() ? 'per round' : 'reward per round')} />`}
    ${!takesTotals(lines) && html`
      <${Tile} head="Pending rewards" value=${whole(sum(lines, 'pending'))} note=${part} />
      ${lost > 0 && html`<${Tile} head="Lost rewards" value=${whole(lost)} note=${part} />`}
      ${arrived > 0 && html`<${Tile} head="Late rewards" value=${whole(arrived)} note=${late} />`}
    `}
    ${audit.delays && html`<${Tile} head="Median delay" word="delay" value=${duration(audit.delays.quantiles['0.5'])} />`}
  </dl>`;
}

// What the policy still makes up for, to an arm or a group; shares by merit owe no plays.
function Furthest({ behind, furthest, round }) {
  if (behind === null) return null;
  const none = round === 0 ? say('no round yet') : 'nothing is owed';
  const note = furthest === null ? none : html`<${Name} of=${furthest} />`;
  return html`<${Tile} head="Furthest behind, in plays" word="deficit" value=${plays(behind)} note=${note} />`;
}

function Tile({ head, word, value, note }) {
  return html`<div><dt>${word ? html`<${Term} word=${word}>${head}</${Term}>` : head}</dt><dd>${value}</dd>${note && html`<dd class="note">${note}</dd>`}</div>`;
}
