// The view is named after # in the address: #/ the list, #/new a form, #/allocations/NAME one allocation,
// #/allocations/NAME/edit its changes, #/allocations/NAME/alarms its alarms and webhooks. What is chosen in it (order, filter, range) follows after a question mark.
const ONE = /^#\/allocations\/([^/]+)(?:\/(edit|alarms))?$/;

export function routeOf(hash) {
  const [path, query = ''] = hash.split('?', 2);
  const chosen = Object.fromEntries(new URLSearchParams(query));
  const match = ONE.exec(path);
  if (!match) return { view: path === '#/new' ? 'new' : 'list', name: null, chosen };
  return { view: match[2] ?? 'one', name: decoded(match[1]), chosen };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone % of an address typed by hand
  }
}

// Keeps what is chosen in the address, so that it is a link to this view, without a new entry in the history.
export function keep(chosen) {
  const [path] = (location.hash || '#/').split('?', 1);
  const query = new URLSearchParams(chosen).toString();
  history.replaceState(null, '', query ? `${path}?${query}` : path);
}

export const link = (name) => `#/allocations/${encodeURIComponent(name)}`;
export const editing = (name) => `${link(name)}/edit`;
export const alarming = (name) => `${link(name)}/alarms`;

// The option with which the command line finds this service; empty for its default.
export const where = () => (location.host === '127.0.0.1:8000' ? '' : ` --url ${location.origin}`);

export const address = (name) => `v1/allocations/${encodeURIComponent(name)}`;
export const changes = (name) => `${address(name)}/changes`;
