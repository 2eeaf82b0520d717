// The view is named after # in the address: #/ the list, #/allocations/NAME one allocation.
const ONE = /^#\/allocations\/([^/]+)$/;

export function routeOf(hash) {
  const found = ONE.exec(hash);
  if (!found) return { name: null };
  try {
    return { name: decodeURIComponent(found[1]) };
  } catch {
    return { name: found[1] }; // a lone % of an address typed by hand
  }
}

export const link = (name) => `#/allocations/${encodeURIComponent(name)}`;

// What a command of the client needs to find this service; its own default need not be told.
export const where = () => (location.host === '127.0.0.1:8000' ? '' : ` --url ${location.origin}`);

export const address = (name) => `v1/allocations/${encodeURIComponent(name)}`;
