// The two rendering libraries as one import. Templates show text: markup in a name is not interpreted.
import { Component, h, render } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';
import { ago, moment } from './format.js';
import { spoken } from './words.js';

const plain = htm.bind(h);
const html = (strings, ...values) => plain(spoken(strings), ...values);

// Characters that change the direction of letters are shown as escapes: a name must not look like another one.
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const visible = (name) => name.replace(DIRECTION, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

// A name given by a user. bdi keeps right-to-left letters from changing the direction of the text around it.
const Name = ({ of }) => html`<bdi class="name">${visible(String(of))}</bdi>`;

// A time as a distance from now, with the moment itself on demand.
const Ago = ({ time }) => (time ? html`<time datetime=${time} title=${moment(time)}>${ago(time)}</time>` : 'never');

// The options of a selection: values, each with its text.
const options = (all, chosen) => all.map(([value, text]) => html`<option value=${value} selected=${value === chosen}>${text}</option>`);

// A set with one more member, or without it.
function toggled(set, one) {
  const others = new Set(set);
  if (!others.delete(one)) others.add(one);
  return others;
}

// What loads something of its own, until it is gone.
class Loader extends Component {
  loading = new AbortController();

  componentWillUnmount() {
    this.loading.abort();
  }
}

export { Ago, Component, Loader, Name, h, html, options, render, toggled, visible };
