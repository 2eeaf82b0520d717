// Which algorithm suits: the questions of the service's table, and what it recommends for the answers.
import { html, options } from './view.js';

// The answers that are usual: the first option of each question.
export const usual = (questions) => Object.fromEntries(questions.map(({ name, options }) => [name, Object.keys(options)[0]]));

// At most two recommendations for the answers, the better one first.
export const suiting = (recommendations, answers) => recommendations
  .filter(({ when }) => Object.entries(answers).every(([question, answer]) => when[question].includes(answer))).slice(0, 2);

// Policies of parts that are recommended, described as algorithms are; they take the shares of the arms.
export const ofParts = (recommendations) => recommendations.filter(({ parameters }) => 'index' in parameters)
  .map(({ algorithm, why, parameters: parts }) => ({
    name: algorithm,
    summary: `A policy of parts: ${why}`,
    promises: 'share',
    promise: 'the shares of the rounds that its arms are promised.',
    made_for: {},
    parameters: [{ name: 'fractions', required: true, kinds: [] }],
    by_features: true,
    parts: { ...parts, fairness: Object.fromEntries(Object.entries(parts.fairness).filter(([name]) => name !== 'fractions')) },
  }));

// What can be answered to the question about the promise, of the kind of promise that the form has chosen.
export function promisesOf(kind, { questions, recommendations, algorithms }) {
  const kindOf = (option) => {
    const first = recommendations.find(({ when }) => when.promise.includes(option));
    return algorithms.find(({ name }) => name === first?.algorithm)?.promises;
  };
  const options = questions.find(({ name }) => name === 'promise')?.options ?? {};
  return Object.entries(options).filter(([option]) => kindOf(option) === kind);
}

// The texts of the fields for parameters that the answers ask for; evidence of earlier answers is taken back.
export const textsFor = (one) => {
  const { evidence } = one?.parameters ?? {};
  return { evidence: evidence === undefined ? '' : typeof evidence === 'string' ? evidence : JSON.stringify(evidence) };
};

export function Advice({ kind, listed, answers, suits, chosen, onAnswer, onUse }) {
  const select = ({ name, text, options: all }) => html`<label key=${name}>${text}
    <select onChange=${({ target }) => onAnswer({ [name]: target.value })}>${options(all, answers[name])}</select></label>`;
  const asked = listed.questions.filter(({ name }) => ['rewards', 'means', 'explainable'].includes(name))
    .map((one) => ({ ...one, options: Object.entries(one.options) }));
  const promises = promisesOf(kind, listed);
  const kept = promises.length > 1 ? [{ name: 'promise', text: 'How is it kept?', options: promises }] : [];
  const shown = ({ algorithm, why, evidence }) => html`<li><strong>${algorithm}</strong>: ${why}
    ${evidence.length > 0 && html` <span class="note">Experiments: ${evidence.join(', ')}.</span>`}
    ${algorithm !== chosen && html` <button type="button" onClick=${() => onUse(algorithm)}>Use ${algorithm}</button>`}</li>`;
  return html`${[...kept, ...asked].map(select)}
    <section aria-label="Recommended" aria-live="polite">${suits.length > 0
      ? html`<ul class="advice">${suits.map(shown)}</ul>`
      : html`<p class="note">No published policy is made for all of this; change one of the answers, or choose below.</p>`}
    </section>`;
}
