// What is wrong with single fields, by the paths with which the service names them: `merit.slope`, `caps[0]`, `plays`.
import { html } from './view.js';

// A message that begins with the path of a value.
const LINE = /^([a-z_]+(?:\.[a-z_]+|\[\d+\])*):? (.+)$/;
const PLACE = /^(?:body\.)?(?:parameters\.)?/;

// Of a refusal; a promise that cannot be kept is the fault of no single field.
export function faultsOf(refusal) {
  if (!refusal?.text || refusal.code === 'infeasible') return {};
  const listed = (refusal.errors ?? []).map(({ where, message }) => [where.replace(PLACE, ''), message]);
  const lines = refusal.text.split('\n').map((line) => LINE.exec(line)?.slice(1)).filter(Boolean);
  return Object.fromEntries(listed.length ? listed : lines);
}

const idOf = (path) => `fault-${path.replace(/[^\w.-]/g, '-')}`;
export const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');

// The attributes of the field of a path; `about` are the ids of what else describes it.
export function describedBy(faults, path, about = '') {
  const wrong = Object.hasOwn(faults, path);
  return { 'aria-describedby': [wrong && idOf(path), about].filter(Boolean).join(' ') || undefined, 'aria-invalid': wrong };
}

export function Fault({ faults, path }) {
  return Object.hasOwn(faults, path) && html`<p class="fault" id=${idOf(path)}><bdi>${sentence(faults[path])}</bdi></p>`;
}
