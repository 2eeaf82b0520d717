// What the promises cost: the price of keeping them from now on, and what was incurred so far.
import { reward, share } from './format.js';
import { html } from './view.js';
import { unit } from './words.js';

export function Cost({ cost }) {
  if (cost === null) return null;
  return html`<section aria-labelledby="cost">
    <h2 id="cost">What the promises cost</h2>
    ${cost.incurred !== null && html`<p>So far <strong data-field="incurred">${reward(cost.incurred)}</strong>${unit() ? '' : ' of reward'}${
      part(cost.incurred_relative, 'have been')} <${Between} cost=${cost} low="incurred_low" high="incurred_high" /></p>`}
    ${cost.per_round !== null && html`<p>Keeping them costs <strong data-field="per_round">${reward(cost.per_round)}</strong>${unit() ? '' : ' of reward'} per round${part(cost.relative, 'be')} <${Between} cost=${cost} low="low" high="high" /></p>`}
    ${cost.note && html`<p class="note"><bdi>${cost.note}</bdi></p>`}
  </section>`;
}

const part = (relative, could) => (relative === null ? '' : `, ${share(relative)} of what could ${could} earned`);

function Between({ cost, low, high }) {
  if (cost[low] === null) return null;
  return html`<span class="soft">(95% interval from <span data-field=${low}>${reward(cost[low])}</span> to${' '}
    <span data-field=${high}>${reward(cost[high])}</span>).</span>`;
}
