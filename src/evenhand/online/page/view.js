// The two rendering libraries as one import. Templates show text: markup in a name is not interpreted.
import { Component, h, render } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

const html = htm.bind(h);

// A name given by a user. bdi keeps right-to-left letters from changing the direction of the text around it.
const Name = ({ of }) => html`<bdi class="name">${String(of)}</bdi>`;

export { Component, Name, html, render };
