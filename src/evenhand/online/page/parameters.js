// The fields of the parameters of an algorithm, as the service describes them.
import { html } from './view.js';

// Parameters that are shown though they are not required: without them the algorithm promises nothing.
const SHOWN = ['groups', 'caps'];
// What can be typed into fields whose values are tables.
const EXAMPLES = { groups: '[{"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.4}]', caps: '{"tea": 0.5}' };
const FRACTIONS = 'fractions'; // these have a field beside each arm

export const promisesShares = (algorithm) => algorithm?.parameters.some(({ name }) => name === FRACTIONS) ?? false;

// The values of the parameters of an algorithm, of the texts that were typed; without those left empty.
export function valuesOf(algorithm, texts) {
  const typed = (algorithm?.parameters ?? []).filter(({ name }) => name !== FRACTIONS && texts[name]?.trim());
  return Object.fromEntries(typed.map(({ name, type }) => [name, valueOf(type, texts[name].trim())]));
}

// Numbers, lists and tables as JSON; all else is a string, such as inf.
function valueOf(type, text) {
  const plain = type === 'number' ? text.replace(',', '.') : text;
  try {
    return type === 'string' ? text : JSON.parse(plain);
  } catch {
    return plain;
  }
}

export function Parameters({ algorithm, texts, onInput }) {
  const all = algorithm.parameters.filter(({ name }) => name !== FRACTIONS);
  const first = all.filter(({ name, required }) => required || SHOWN.includes(name));
  const others = all.filter((one) => !first.includes(one));
  const field = (one) => html`<${Field} key=${one.name} of=${one} text=${texts[one.name] ?? ''}
    onInput=${(text) => onInput({ ...texts, [one.name]: text })} />`;
  return html`
    ${first.map(field)}
    ${others.length > 0 && html`<details class="more"><summary>More parameters</summary>
      <div class="form">${others.map(field)}</div></details>`}
  `;
}

function Field({ of, text, onInput }) {
  const { name, type, required, description } = of;
  const [id, about] = [`parameter-${name}`, `about-${name}`];
  const typed = ({ target }) => onInput(target.value);
  const usual = of.default === null ? '' : typeof of.default === 'string' ? of.default : JSON.stringify(of.default);
  const choice = html`<select id=${id} aria-describedby=${about} onChange=${typed}>
    ${['', 'true', 'false'].map((value) => html`<option value=${value} selected=${value === text}>${value || `default: ${usual}`}</option>`)}
  </select>`;
  const input = html`<input id=${id} aria-describedby=${about} value=${text} required=${required} autocomplete="off"
    spellcheck=${false} inputmode=${type === 'number' || type === 'integer' ? 'decimal' : 'text'}
    placeholder=${EXAMPLES[name] ?? usual} onInput=${typed} />`;
  return html`<div class="parameter"><label for=${id}><code>${name}</code></label>
    ${type === 'boolean' ? choice : input}
    <p class="note" id=${about}>${description}</p></div>`;
}
