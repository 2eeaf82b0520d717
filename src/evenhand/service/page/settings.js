// With which settings an allocation was created.
import { duration, moment, reward, several, whole } from './format.js';
import { Term } from './terms.js';
import { Component, html } from './view.js';
import { say } from './words.js';

const MISSING = { lost: 'counts as lost', zero: 'counts as a reward of 0', never: 'is never given up' };

// What has a place of its own on the page, where it also changes.
const ELSEWHERE = ['fractions', 'caps', 'groups'];

// Long lists have one value per arm, and would fill the page.
function setting(value) {
  if (value === null || typeof value !== 'object') return String(value);
  if ('kind' in value) return kindOf(value);
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  return size > 8 ? several(size, 'value') : JSON.stringify(value);
}

// A table of a kind, such as "power: beta 3, exponent 2".
function kindOf({ kind, ...more }) {
  const keys = Object.entries(more).map(([key, value]) => `${key} ${setting(value)}`);
  return keys.length ? `${kind}: ${keys.join(', ')}` : kind;
}

export class Settings extends Component {
  shouldComponentUpdate(next) {
    return next.described !== this.props.described || next.changes !== this.props.changes;
  }

  render({ described, changes }) {
    const [low, high] = described.rewards;
    const rows = [
      ['Created', moment(described.created)],
      [html`<${Term} word="policy">Algorithm</${Term}>`, typeof described.algorithm === 'string' ? described.algorithm : JSON.stringify(described.algorithm)],
      [html`<${Term} word="play">Arms per round</${Term}>`, whole(described.plays)],
      ['Changes of arms and promises', whole(changes)],
      [html`<${Term} word="window">Window for a reward</${Term}>`, described.window === null ? 'no limit' : duration(described.window)],
      ['A missing reward', MISSING[described.missing] ?? described.missing],
      ['Rewards', `from ${reward(low)} to ${reward(high)}`],
      ['Seed', String(described.seed)],
      ...Object.entries(described.parameters)
        .filter(([key]) => !ELSEWHERE.includes(key))
        .map(([key, value]) => [html`<code>${key}</code>`, setting(value)]),
    ];
    return html`<section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <dl class="settings">
        ${rows.map(([head, value]) => html`<div><dt>${typeof head === 'string' ? say(head) : head}</dt><dd><bdi>${value}</bdi></dd></div>`)}
      </dl>
    </section>`;
  }
}
