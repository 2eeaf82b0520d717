// One allocation: what was promised, what each arm received, and which rewards are pending.
import { Arms } from './arms.js';
import { Bounds } from './bounds.js';
import { Delays } from './delays.js';
import { duration, moment, plays, several, whole } from './format.js';
import { Learned, Remembered } from './learned.js';
import { where } from './route.js';
import { DeficitHistory } from './deficits.js';
import { Component, Name, html } from './view.js';

// Arms that are loaded at first.
export const LOADED = 200;

export function Allocation({ name, audit, described, loaded, onMore }) {
  const props = { name, audit, described, loaded, onMore };
  return html`
    <nav aria-label="Where you are"><a href="#/">Allocations</a></nav>
    <h1 tabindex="-1"><${Name} of=${name} /></h1>
    <${Alarm} fault=${audit?.fault ?? ''} />
    <${Warnings} warnings=${audit?.warnings ?? []} />
    ${audit ? html`<${Details} ...${props} />` : html`<p class="note">Loading…</p>`}
  `;
}

// Only the heading is announced: the reason changes with every round.
function Alarm({ fault }) {
  return html`<div class=${fault ? 'alarm' : ''}>
    <div role="alert">${fault && html`<h2>A promise cannot be kept</h2>`}</div>
    ${fault && html`<p>With the recent availability: <bdi>${fault}</bdi></p>`}
  </div>`;
}

function Warnings({ warnings }) {
  return html`<div class=${warnings.length ? 'alarm' : ''}>
    <div role="status">${warnings.length > 0 && html`<h2>Estimates cannot be trusted</h2>`}</div>
    ${warnings.map((warning) => html`<p><bdi>${warning}</bdi></p>`)}
  </div>`;
}

function Details({ name, audit, described, loaded, onMore }) {
  return html`
    <p class="lead">
      Algorithm <code>${audit.algorithm}</code>, ${several(described.plays, 'play')} per round,${' '}
      as of <time>${moment(audit.time)}</time>${' '}
      ${audit.closed && html`<strong class="badge">closed</strong>`}
    </p>
    ${audit.round === 0 && html`<${Undecided} name=${name} />`}
    <${Learned} audit=${audit} />
    <${Remembered} audit=${audit} />
    <${Tiles} audit=${audit} described=${described} />
    <${Arms} audit=${audit} loaded=${loaded} onMore=${onMore} />
    <${Bounds} bounds=${audit.bounds} />
    <${DeficitHistory} history=${audit.deficit_history} />
    <${Delays} delays=${audit.delays} />
    <${Settings} described=${described} changes=${audit.version} />
  `;
}

function Undecided({ name }) {
  return html`<div class="hint">
    <p>No decision has been made yet. This command requests one:</p>
    <pre><code>evenhand client decide ${name}${where()}</code></pre>
  </div>`;
}

const sum = (lines, field) => lines.reduce((total, line) => total + line[field], 0);

function Tiles({ audit, described }) {
  const { lines } = audit;
  const part = lines.length < audit.arms ? `of the ${several(lines.length, 'arm')} loaded` : '';
  const late = part ? `lost, then received after the window; ${part}` : 'lost, then received after the window';
  const retired = described.retired.length;
  const retiredNote = retired > 0 && `and ${whole(retired)} retired`;
  const behind = lines.reduce((most, line) => ((line.deficit ?? 0) > (most?.deficit ?? 0) ? line : most), null);
  const owed = lines.some((line) => line.deficit !== null);
  const who = behind && html`<${Name} of=${behind.arm} />`;
  const worst = { head: 'Furthest behind, in plays', value: plays(behind?.deficit ?? 0), note: who };
  return html`<dl class="tiles">
    <${Tile} head="Rounds" value=${whole(audit.round)} />
    <${Tile} head="Arms" value=${whole(described.arms.length - retired)} note=${retiredNote} />
    ${owed && html`<${Tile} ...${worst} />`}
    <${Tile} head="Pending rewards" value=${whole(sum(lines, 'pending'))} note=${part} />
    <${Tile} head="Lost rewards" value=${whole(sum(lines, 'lost'))} note=${part} />
    <${Tile} head="Late rewards" value=${whole(sum(lines, 'late'))} note=${late} />
    ${audit.delays && html`<${Tile} head="Median delay" value=${duration(audit.delays.quantiles['0.5'])} />`}
  </dl>`;
}

function Tile({ head, value, note }) {
  return html`<div><dt>${head}</dt><dd>${value}</dd>${note && html`<dd class="note">${note}</dd>`}</div>`;
}

const MISSING = { lost: 'counts as lost', zero: 'counts as a reward of 0' };

// Long lists have one value per arm, and would fill the page.
function setting(value) {
  if (value === null || typeof value !== 'object') return String(value);
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  return size > 8 ? several(size, 'value') : JSON.stringify(value);
}

class Settings extends Component {
  shouldComponentUpdate(next) {
    return next.described !== this.props.described || next.changes !== this.props.changes;
  }

  render({ described, changes }) {
    const [low, high] = described.rewards;
    const rows = [
      ['Created', moment(described.created)],
      ['Changes of arms and promises', whole(changes)],
      ['Window for a reward', described.window === null ? 'no limit' : duration(described.window)],
      ['A missing reward', MISSING[described.missing] ?? described.missing],
      ['Rewards', `from ${low} to ${high}`],
      ['Seed', String(described.seed)],
      ...Object.entries(described.parameters)
        .filter(([key]) => key !== 'fractions')
        .map(([key, value]) => [html`<code>${key}</code>`, setting(value)]),
    ];
    return html`<section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <dl class="settings">
        ${rows.map(([head, value]) => html`<div><dt>${head}</dt><dd><bdi>${value}</bdi></dd></div>`)}
      </dl>
    </section>`;
  }
}
