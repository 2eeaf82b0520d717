// The view is named after # in the address: #/ the list, #/allocations/NAME one allocation.
const ONE = /^#\/allocations\/([^/]+)$/;

export function routeOf(hash) {
  const match = ONE.exec(hash);
  if (!match) return { name: null };
  try {
    return { name: decodeURIComponent(match[1]) };
  } catch {
    return { name: match[1] }; // a lone % of an address typed by hand
  }
}

export const link = (name) => `#/allocations/${encodeURIComponent(name)}`;

// The option with which the command line finds this service; empty for its default.
export const where = () => (location.host === '127.0.0.1:8000' ? '' : ` --url ${location.origin}`);

export const address = (name) => `v1/allocations/${encodeURIComponent(name)}`;
