// Whether the shown data are current.
import { clock } from './format.js';
import { html } from './view.js';

const LABELS = { first: 'Connecting', live: 'Live', away: 'No answer', key: 'Waiting for a key' };

// The time changes with every answer, so it is outside of the status that screen readers announce.
export function Connection({ link }) {
  return html`<div class="connection ${link.kind}">
    <span role="status"><span class="dot" aria-hidden="true"></span>${LABELS[link.kind]}</span>
    ${link.kind === 'live' && html`<time>${clock(link.at)}</time>`}
  </div>`;
}

// Stays visible when the page is scrolled.
export function Banner({ link }) {
  const away = link.kind === 'away';
  return html`<div class="banner" role="status" hidden=${!away}>${away && html`<${Away} link=${link} />`}</div>`;
}

function Away({ link }) {
  const last = link.at ? `The shown data are of ${clock(link.at)}. ` : '';
  const what = link.answers ? 'The service cannot answer' : 'The server cannot be reached';
  return html`<strong>${what}</strong>: ${link.why}. ${last}This page retries every few seconds.`;
}
