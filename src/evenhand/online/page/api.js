// Requests to the service. Addresses are relative, so that the page also works under a path of a reverse proxy.
const TIMEOUT = 30_000; // ms for an answer
const STORED = 'evenhand key';

// An answer that is an error; `code` is the service's.
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

// No answer at all.
export class Unreachable extends Error {}

export const secret = {
  // Storage may be forbidden; the key is then kept until the page is closed.
  get value() {
    try {
      return this.here ?? sessionStorage.getItem(STORED);
    } catch {
      return this.here ?? null;
    }
  },
  set value(key) {
    this.here = key;
    try {
      if (key === null) sessionStorage.removeItem(STORED);
      else sessionStorage.setItem(STORED, key);
    } catch {
      /* see above */
    }
  },
};

// Sends requests, and stores answers with their ETag: an unchanged one is not sent again and stays the same object.
export class Service {
  answers = new Map();

  async get(path, signal) {
    const stored = this.answers.get(path);
    const answer = await this.send(path, stored?.etag, signal);
    if (answer.status === 304 && stored) return stored.body;
    const body = await read(answer);
    signal.throwIfAborted();
    if (!answer.ok) throw refusal(answer.status, body);
    if (body === undefined) throw new Unreachable('the answer is not one of this service');
    const etag = answer.headers.get('ETag');
    if (etag) this.answers.set(path, { etag, body });
    return body;
  }

  async send(path, etag, signal) {
    const headers = { Accept: 'application/json' };
    if (secret.value) headers.Authorization = `Bearer ${secret.value}`;
    if (etag) headers['If-None-Match'] = etag;
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]);
    try {
      // no-store: the browser's cache would answer a 304 in its own way.
      return await fetch(path, { headers, cache: 'no-store', signal: timeout });
    } catch (error) {
      signal.throwIfAborted();
      throw new Unreachable(error.name === 'TimeoutError' ? 'no answer within 30 seconds' : 'no connection');
    }
  }
}

// The JSON of an answer; undefined if it is not JSON, as from a proxy in front of a server that is down.
async function read(answer) {
  try {
    return await answer.json();
  } catch {
    return undefined;
  }
}

function refusal(status, body) {
  if (body?.code) return new Refused(status, body.code, body.detail);
  return status >= 500 ? new Unreachable(`status ${status}`) : new Refused(status, '', `status ${status}`);
}
