// The fields of the parameters of an algorithm, as the service describes them.
import { Fault, describedBy } from './faults.js';
import { Term } from './terms.js';
import { html, options } from './view.js';

// These have fields of their own: beside each arm, and for each group.
const ELSEWHERE = ['fractions', 'caps', 'groups'];

const has = (name) => (algorithm) => algorithm?.parameters.some((one) => one.name === name) ?? false;
export const promisesShares = has('fractions');
export const hasCaps = has('caps');
export const hasGroups = has('groups');

// The values of the parameters of an algorithm, of the texts that were typed; without those left empty. A table of a
// kind has the name of the kind at `name`, and its other keys at `name.key`.
export function valuesOf(algorithm, texts) {
  const here = (algorithm?.parameters ?? []).filter(({ name }) => !ELSEWHERE.includes(name));
  const table = ({ name, kinds }) => {
    const kind = kinds.find((one) => one.kind === texts[name]);
    return { kind: kind.kind, ...typed(kind.parameters, texts, `${name}.`) };
  };
  const [tables, plain] = [here.filter(({ kinds }) => kinds.length), here.filter(({ kinds }) => !kinds.length)];
  const chosen = tables.filter(({ name }) => texts[name]).map((one) => [one.name, table(one)]);
  return { ...typed(plain, texts, ''), ...Object.fromEntries(chosen) };
}

export function typed(parameters, texts, before) {
  const given = parameters.filter(({ name }) => texts[before + name]?.trim());
  return Object.fromEntries(given.map(({ name, type }) => [name, valueOf(type, texts[before + name].trim())]));
}

// Numbers, lists and tables as JSON; all else is a string, such as inf.
function valueOf(type, text) {
  if (type === 'names') return text.split(text.includes('\n') ? '\n' : ',').map((name) => name.trim()).filter(Boolean);
  if (type === 'numbers') return text.replace(/^\[|\]$/g, '').split(/[\s,;]+/).filter(Boolean).map(numberOf);
  const plain = type === 'number' ? text.replace(',', '.') : text;
  try {
    return type === 'string' ? text : JSON.parse(plain);
  } catch {
    return plain;
  }
}

const numberOf = (text) => (Number.isNaN(Number(text)) ? text : Number(text));

export function Parameters({ algorithm, texts, faults, onInput }) {
  const all = algorithm.parameters.filter(({ name }) => !ELSEWHERE.includes(name));
  const first = all.filter(({ required }) => required);
  const others = all.filter((one) => !first.includes(one));
  const field = (one) => html`<${one.kinds.length ? Table : Field} key=${one.name} ...${{ of: one, texts, faults, onInput }} />`;
  return html`
    ${first.map(field)}
    ${others.length > 0 && html`<details class="more"><summary>More parameters</summary>
      <div class="form">${others.map(field)}</div></details>`}
  `;
}

// A parameter that is a table: its kind, and below it the parameters of that kind.
function Table({ of, texts, faults, onInput }) {
  const { name, kinds, description } = of;
  const kind = kinds.find((one) => one.kind === texts[name]);
  const all = kinds.map(({ kind: key, summary }) => [key, `${key}: ${summary}`]);
  return html`<fieldset class="parameter"><legend><${Term} word=${name}><code>${name}</code></${Term}></legend>
    <select id=${`parameter-${name}`} aria-label=${name} ...${describedBy(faults, name, `about-${name}`)}
      onChange=${({ target }) => onInput({ ...texts, [name]: target.value })}>${options(all, texts[name])}</select>
    <${Fault} faults=${faults} path=${name} />
    <p class="note" id=${`about-${name}`}>${description}</p>
    ${kind?.parameters.map((one) => html`<${Field} key=${`${name}.${kind.kind}.${one.name}`} of=${one} before=${`${name}.`}
      ...${{ texts, faults, onInput }} />`)}
  </fieldset>`;
}

// The placeholders of lists.
const LISTS = { numbers: 'such as 0, 0.5, 1', names: 'such as DE, FR, or a line for each' };

export function Field({ of, before = '', texts, faults, onInput }) {
  const { name, type, required, description } = of;
  const path = before + name;
  const id = `parameter-${path}`;
  const text = texts[path] ?? '';
  const about = describedBy(faults, path, `about-${path}`);
  const typed = ({ target }) => onInput({ ...texts, [path]: target.value });
  const usual = of.default === null ? '' : typeof of.default === 'string' ? of.default : JSON.stringify(of.default);
  const choice = html`<select id=${id} ...${about} onChange=${typed}>
    ${options([['', `default: ${usual}`], ['true', 'true'], ['false', 'false']], text)}
  </select>`;
  const input = html`<input id=${id} ...${about} value=${text} required=${required} autocomplete="off"
    spellcheck=${false} inputmode=${type === 'number' || type === 'integer' ? 'decimal' : 'text'}
    placeholder=${LISTS[type] ?? usual} onInput=${typed} />`;
  const list = html`<textarea id=${id} ...${about} value=${text} required=${required} rows="2" spellcheck=${false}
    placeholder=${LISTS.names} onInput=${typed}></textarea>`;
  return html`<div class="parameter"><label for=${id}><code>${name}</code></label>
    ${type === 'boolean' ? choice : type === 'names' ? list : input}
    <${Fault} faults=${faults} path=${path} />
    <p class="note" id=${`about-${path}`}>${description}</p></div>`;
}
