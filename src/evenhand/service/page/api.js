// Requests to the service. Addresses are relative, so that the page also works under a path of a reverse proxy.
const TIMEOUT = 30_000; // ms for an answer
const DOWNLOAD = 120_000; // ms for a file
const UNENDED = new AbortController().signal;
const STORED = 'evenhand key';

// An answer that is an error; `code` is the service's, `errors` says where in the request it is.
export class Refused extends Error {
  constructor(status, code, message, errors = []) {
    super(message);
    Object.assign(this, { status, code, errors });
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
    const headers = stored ? { 'If-None-Match': stored.etag } : {};
    const answer = await this.send(path, { headers }, signal);
    if (answer.status === 304 && stored) return stored.body;
    const body = await read(answer);
    signal.throwIfAborted();
    if (!answer.ok) throw refusal(answer.status, body);
    if (body === undefined) throw new Unreachable('the answer is not one of this service');
    const etag = answer.headers.get('ETag');
    if (etag) this.answers.set(path, { etag, body });
    return body;
  }

  // Changes something. Sent again without an answer in between, the same change is not carried out twice.
  async change(path, body, signal = UNENDED) {
    const text = JSON.stringify(body);
    const what = `${path} ${text}`;
    if (this.unanswered?.what !== what) this.unanswered = { what, key: unique() };
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': this.unanswered.key };
    const answer = await this.send(path, { method: 'POST', body: text, headers }, signal);
    const result = await read(answer);
    this.unanswered = null;
    if (!answer.ok) throw refusal(answer.status, result);
    return result;
  }

  async remove(path, signal = UNENDED) {
    const answer = await this.send(path, { method: 'DELETE' }, signal);
    if (!answer.ok) throw refusal(answer.status, await read(answer));
  }

  // What a change would do; nothing is written.
  async preview(path, body, signal) {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await this.send(`${path}?dry_run=true`, { method: 'POST', body: JSON.stringify(body), headers }, signal);
    const result = await read(answer);
    if (!answer.ok) throw refusal(answer.status, result);
    return result;
  }

  // A file, with its name.
  async file(path, signal = UNENDED) {
    const answer = await this.send(path, {}, signal, DOWNLOAD);
    if (!answer.ok) throw refusal(answer.status, await read(answer));
    const [, name = ''] = /filename="([^"]*)"/.exec(answer.headers.get('Content-Disposition') ?? '') ?? [];
    return { name, content: await answer.blob() };
  }

  async send(path, options, signal, limit = TIMEOUT) {
    const headers = { Accept: 'application/json', ...options.headers };
    if (secret.value) headers.Authorization = `Bearer ${secret.value}`;
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(limit)]);
    try {
      // no-store: the browser's cache would answer a 304 in its own way.
      return await fetch(path, { ...options, headers, cache: 'no-store', signal: timeout });
    } catch (error) {
      signal.throwIfAborted();
      throw new Unreachable(error.name === 'TimeoutError' ? `no answer within ${limit / 1000} seconds` : 'no connection');
    }
  }
}

// randomUUID is there over HTTPS and on this computer only.
const unique = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

// The JSON of an answer; undefined if it is not JSON, as from a proxy in front of a server that is down.
async function read(answer) {
  try {
    return await answer.json();
  } catch {
    return undefined;
  }
}

function refusal(status, body) {
  if (body?.code) return new Refused(status, body.code, body.detail, body.errors);
  return status >= 500 ? new Unreachable(`status ${status}`) : new Refused(status, '', `status ${status}`);
}
