// An arm's mean reward against that of another arm that one chooses: the difference, its interval, and what is claimed of it.
import { RewardDot } from './bars.js';
import { reward, rewardInterval } from './format.js';
import { Badge } from './health.js';
import { address } from './route.js';
import { Loader, html, options, visible } from './view.js';
import { say } from './words.js';

const CLAIMS = {
  holds: ['good', 'Holds however often one looks'],
  holds_if: ['attention', 'Holds under premises'],
  not_claimed: ['closed', 'Not claimed'],
};

export class Compare extends Loader {
  state = { other: '', found: null, fault: '' };

  componentDidUpdate({ line }) {
    if (line !== this.props.line && this.state.other) this.load(this.state.other);
  }

  choose(other) {
    this.setState({ other, found: null, fault: '' });
    if (other) this.load(other);
  }

  async load(other) {
    this.loading.abort();
    const { signal } = (this.loading = new AbortController());
    const { service, name, line } = this.props;
    try {
      const { differences, sentences } = await service.get(`${address(name)}/differences?control=${encodeURIComponent(other)}`, signal);
      const at = differences.findIndex(({ first }) => first === line.arm);
      this.setState({ found: { ...differences[at], sentence: sentences[at] }, fault: '' });
    } catch (error) {
      if (!signal.aborted) this.setState({ found: null, fault: error.message });
    }
  }

  render({ line, lines }, { other, found, fault }) {
    const others = lines.filter(({ arm, retired }) => arm !== line.arm && !retired);
    if (line.retired || others.length === 0) return null;
    return html`<div class="compare">
      <label>Compare its mean reward with that of
        <select name="other" value=${other} onChange=${({ target }) => this.choose(target.value)}>
          ${options([['', say('choose an arm')], ...others.map(({ arm }) => [arm, visible(arm)])], other)}
        </select>
      </label>
      <div aria-live="polite">${fault && html`<p><bdi>${fault}</bdi></p>`}${found && html`<${Found} ...${found} />`}</div>
    </div>`;
  }
}

// Both ends of the scale are as far from 0, so that the middle says that the arms are alike.
function Found({ value, interval, sentence }) {
  const { low, high, claim } = interval;
  const end = 1.08 * Math.max(-low, high);
  const [state, text] = CLAIMS[claim];
  return html`<p><${Badge} state=${state} text=${text} />${' '}<bdi>${sentence}</bdi></p>
    ${claim !== 'not_claimed' && html`<div class="gap">
      <span>Difference per play <strong>${reward(value)}</strong>${' '}<span class="soft">${rewardInterval(low, high)}</span></span>
      <div class="zero"><${RewardDot} line=${{ estimate: value, low, high }} scale=${[-end, end]} /></div>
    </div>`}`;
}
