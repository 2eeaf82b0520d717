import { EvenhandError } from "./errors.js";

/** How often and for how long a call is tried. */
export interface Limits {
  /** Milliseconds per try; default: 10,000. */
  timeout?: number;
  /** Further tries after one that failed and may succeed when repeated; default: 10. */
  retries?: number;
  /** Milliseconds per call, with all its tries; default: 30,000. */
  patience?: number;
}

type Send = (request: Request) => Promise<Response>;

const TRANSIENT = new Set([429, 502, 503, 504]); // statuses after which another try may succeed

/**
 * A `fetch` that tries again if the connection fails or the service is temporarily unavailable, after a short, growing,
 * random time and the one that the service asks for. Requests that change something have an idempotency key, the same
 * in all tries.
 */
export function retrying(send: Send, limits: Limits): Send {
  const { timeout = 10_000, retries = 10, patience = 30_000 } = limits;
  return async (request) => {
    if (request.method !== "GET" && !request.headers.has("Idempotency-Key")) {
      request.headers.set("Idempotency-Key", crypto.randomUUID());
    }
    const end = performance.now() + patience;
    for (let tries = 1; ; tries++) {
      const outcome = await once(send, request.clone(), Math.min(timeout, end - performance.now()));
      if (outcome instanceof Response && !TRANSIENT.has(outcome.status)) return outcome;
      const wait = retryAfter(outcome) + Math.random() * Math.min(200 * 2 ** (tries - 1), 5_000);
      if (tries > retries || performance.now() + wait >= end) {
        if (outcome instanceof Response) return outcome;
        throw unavailable(request, tries, outcome);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  };
}

/** The answer, or why there is none. The text of an answer belongs to the try; a file is left to the caller. */
async function once(send: Send, request: Request, timeout: number): Promise<Response | Error> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no answer in ${Math.round(timeout)} ms`)), timeout);
  try {
    const response = await send(new Request(request, { signal: limit.signal, redirect: "manual" }));
    if (!/json/.test(response.headers.get("Content-Type") ?? "")) return response;
    return new Response(await response.arrayBuffer(), response);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds after which the service asks to retry. */
function retryAfter(outcome: Response | Error): number {
  const header = outcome instanceof Response ? outcome.headers.get("Retry-After") : null;
  if (header === null) return 0;
  const milliseconds = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Math.max(milliseconds || 0, 0);
}

function unavailable(request: Request, tries: number, reason: Error): EvenhandError {
  const cause = reason.cause instanceof Error ? reason.cause.message : reason.message;
  const message = `${request.method} ${request.url} was not answered in ${tries} ${tries === 1 ? "try" : "tries"} \
(${cause}). Is the service running there, and can it be reached from here?`;
  const idempotencyKey = request.headers.get("Idempotency-Key") ?? undefined;
  return new EvenhandError(message, { code: "unavailable", idempotencyKey, cause: reason });
}
