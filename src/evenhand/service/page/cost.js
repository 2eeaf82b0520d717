// What the promises cost: the reward that the best arms would have brought in the rounds given away for promises.
import { reward } from './format.js';
import { html } from './view.js';

export function Cost({ cost }) {
  if (cost === null) return null;
  const interval = html`${' '}<span class="soft">(95% interval from <span data-field="low">${reward(cost.low)}</span> to${' '}
    <span data-field="high">${reward(cost.high)}</span>)</span>`;
  const known = cost.per_round !== null;
  return html`<section aria-labelledby="cost">
    <h2 id="cost">What the promises cost</h2>
    ${known && html`<p><strong data-field="per_round">${reward(cost.per_round)}</strong> of reward per round${
      cost.low !== null && interval}: <strong data-field="total">${reward(cost.total)}</strong> since the promises last changed,
      by the present estimates.</p>`}
    ${cost.note && html`<p class="note"><bdi>${cost.note}</bdi></p>`}
  </section>`;
}
