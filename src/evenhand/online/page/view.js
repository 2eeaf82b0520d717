// The two libraries that render, as one import. What a template shows is text: markup in a name stays letters.
import { Component, h, render } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

const html = htm.bind(h);

// A name given by somebody else. bdi keeps right-to-left letters from turning what stands around it.
const Name = ({ of }) => html`<bdi class="name">${String(of)}</bdi>`;

export { Component, Name, html, render };
