import type { components } from "./schema.js";

type Problem = components["schemas"]["Problem"];

/** A place in a request where something is wrong. */
export type Detail = components["schemas"]["Detail"];

/** What is known of a call that failed. */
export interface Failure {
  status?: number | undefined;
  code: string;
  errors?: readonly Detail[];
  requestId?: string | undefined;
  idempotencyKey?: string | undefined;
  cause?: unknown;
}

/** The service refused a call, or could not be reached or did not answer as it should, in all tries. */
export class EvenhandError extends Error {
  override readonly name = "EvenhandError";
  /** Of the HTTP answer; undefined if there was none. */
  readonly status: number | undefined;
  /** For programs: that of the service, such as `closed`; `unavailable` without an answer, `unexpected` for another one. */
  readonly code: string;
  /** The places in the request where something is wrong. */
  readonly errors: readonly Detail[];
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined;
  /** With this key the call can be repeated: it is not carried out twice. Undefined if the call changes nothing. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, failure: Failure) {
    super(message, { cause: failure.cause });
    this.status = failure.status;
    this.code = failure.code;
    this.errors = failure.errors ?? [];
    this.requestId = failure.requestId;
    this.idempotencyKey = failure.idempotencyKey;
  }
}

/** The error for an answer that is not successful, or not one of the service. */
export async function errorOf(request: Request, response: Response): Promise<EvenhandError> {
  const idempotencyKey = request.headers.get("Idempotency-Key") ?? undefined;
  const body: unknown = await response.json().catch(() => undefined);
  if (isProblem(body)) {
    const { code, detail, errors } = body;
    const requestId = body.request_id ?? undefined;
    return new EvenhandError(detail, { status: response.status, code, errors, requestId, idempotencyKey });
  }
  const message = `${request.method} ${request.url} was answered with ${response.status}, but not as an Evenhand service \
answers; is this the address of the service?`;
  return new EvenhandError(message, { status: response.status, code: "unexpected", idempotencyKey });
}

function isProblem(body: unknown): body is Problem {
  return (
    typeof body === "object" && body !== null && "code" in body && "detail" in body && typeof body.detail === "string"
  );
}
