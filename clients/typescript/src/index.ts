import createHttp from "openapi-fetch";
import { errorOf, EvenhandError } from "./errors.js";
import { LeasedDecisions, type LeaseReport } from "./leases.js";
import { type Limits, retrying } from "./retries.js";
import type { components, operations, paths } from "./schema.js";

export { EvenhandError, type Detail } from "./errors.js";
export { columnOf, type Lease, type LeasedDecision, LeasedDecisions, LeaseOver, type LeaseReport } from "./leases.js";
export type { Limits } from "./retries.js";
export { verifyWebhook, type WebhookMessage } from "./webhooks.js";
export type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];
export type AccessInfo = Schemas["AccessInfo"];
export type AlgorithmInfo = Schemas["AlgorithmInfo"];
export type Allocation = Schemas["Allocation"];
export type AllocationRequest = Schemas["AllocationRequest"];
export type AllocationSummary = Schemas["AllocationSummary"];
export type Arm = Schemas["Arm"];
export type Audit = Schemas["Audit"];
/** A change of arms or promises; which one, its field `change` says. */
export type Change = paths["/v1/allocations/{name}/changes"]["post"]["requestBody"]["content"]["application/json"];
export type ChangeResult = Schemas["ChangeResult"];
export type Decision = Schemas["Decision"];
export type DecisionOutcome = Schemas["DecisionOutcome"];
export type DecisionRequest = Schemas["CountedRounds"] | Schemas["ListedRounds"];
export type Event = Schemas["Event"];
export type Plan = Schemas["Plan"];
export type Price = Schemas["Price"];
export type RewardResult = Schemas["RewardResult"];
export type Webhook = Schemas["Webhook"];
export type TotalResult = Schemas["TotalResult"];
export type Differences = Schemas["Differences"];
export type DifferencesQuery = NonNullable<operations["differences"]["parameters"]["query"]>;
export type Stopping = Schemas["Stopping"];
export type StoppingQuery = NonNullable<operations["stopping"]["parameters"]["query"]>;
export type LogQuery = NonNullable<operations["log"]["parameters"]["query"]>;

/** By which the service recognises a call that is repeated; a new one for each call by default. */
export interface Once {
  idempotencyKey?: string;
}

export interface Version {
  /** That the allocation must have, so that no other change came between; default: any. */
  version?: number;
}

export interface Options extends Limits {
  /** Address of the service, such as `http://127.0.0.1:8000`. */
  url: string;
  /** API key, if the service has keys. */
  key?: string;
  /** Sends the requests; default: the `fetch` of the platform. */
  fetch?: (request: Request) => Promise<Response>;
}

export type Client = ReturnType<typeof createClient>;

const PAGE = 1000; // entries per page of a list
const DRY_RUN = { dry_run: true }; // of requests that are to write nothing
const REPORT = 20_000; // rewards and columns per report of a lease

/**
 * A client of the HTTP service: a method per operation, with types from the service's description.
 *
 * A call that fails because the service cannot be reached or is busy (429, 502, 503, 504) is tried again; any other
 * error is thrown at once, as an {@link EvenhandError}. A call that changes something is carried out once.
 */
export function createClient({ url, key, fetch = globalThis.fetch, ...limits }: Options) {
  const http = createHttp<paths>({
    baseUrl: url,
    fetch: retrying(fetch, limits),
    ...(key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } }),
  });
  http.use({
    async onResponse({ request, response }) {
      if (!response.ok) throw await errorOf(request, response);
    },
  });

  return {
    /** The requests themselves, for all that the methods do not have: `http.GET("/v1/access")`. */
    http,

    // --- decisions and rewards ---------------------------------------------------------------------------------------

    /** Decide which arms play in the next round. */
    async decide(name: string, options: Omit<Schemas["CountedRounds"], "count"> & Once = {}): Promise<Decision> {
      const { idempotencyKey, ...request } = options;
      const [decision] = await this.decideMany(name, request, once(idempotencyKey));
      if (decision === undefined) throw new EvenhandError("the answer has no decision", { code: "unexpected" });
      return decision;
    },

    /** Decide which arms play in the next rounds: `{ count: 3 }`, or `{ rounds: [{ available: ["tea"] }, {}] }`. */
    async decideMany(name: string, request: DecisionRequest, options: Once = {}): Promise<Decision[]> {
      const parameters = { params: { path: path({ name }), header: header(options) } };
      const { data } = await http.POST("/v1/allocations/{name}/decisions", { ...parameters, body: request });
      return given(data).decisions;
    },

    /** A decision, and what came of it. */
    async decision(name: string, id: string): Promise<DecisionOutcome> {
      return given((await http.GET("/v1/allocations/{name}/decisions/{id}", { params: { path: path({ name, id }) } })).data);
    },

    /** Send rewards of a decision by the names of arms; one that is not accepted is a result, not an error. */
    async reward(
      name: string,
      decision: string,
      rewards: Record<string, number>,
      options: Once = {},
    ): Promise<RewardResult[]> {
      return this.rewardMany(name, [{ decision, rewards }], options);
    },

    /** Send the rewards of several decisions. */
    async rewardMany(
      name: string,
      rewards: Schemas["DecisionRewards"][],
      options: Once = {},
    ): Promise<RewardResult[]> {
      const parameters = { params: { path: path({ name }), header: header(options) } };
      const { data } = await http.POST("/v1/allocations/{name}/rewards", { ...parameters, body: { rewards } });
      return given(data).results;
    },

    /** Lease the next rounds, to draw their decisions here; report what was drawn with `report`. */
    async lease(name: string, request: Schemas["LeaseRequest"], options: Once = {}): Promise<LeasedDecisions> {
      const begun = performance.now(); // before it was granted, so that no decision is drawn too late
      const parameters = { params: { path: path({ name }), header: header(options) } };
      const { data } = await http.POST("/v1/allocations/{name}/leases", { ...parameters, body: request });
      return new LeasedDecisions(given(data), begun);
    },

    /** Report the decisions of a lease that were drawn so far, and the rewards that were collected in it. */
    async report(name: string, leased: LeasedDecisions, { finished = false } = {}): Promise<LeaseReport> {
      const params = { path: path({ name, id: leased.lease.id }) };
      for (;;) {
        const { body, last } = leased.body(REPORT);
        const { data } = await http.POST("/v1/allocations/{name}/leases/{id}/reports", {
          params,
          body: { ...body, finished: finished && last },
        });
        const report = given(data);
        leased.reported(body, report);
        if (last) return report;
      }
    },

    /** Send the anonymous total of the round just decided. */
    async total(name: string, request: Schemas["TotalRequest"], options: Once = {}): Promise<TotalResult> {
      const parameters = { params: { path: path({ name }), header: header(options) } };
      return given((await http.POST("/v1/allocations/{name}/totals", { ...parameters, body: request })).data);
    },

    // --- allocations -------------------------------------------------------------------------------------------------

    /** Create an allocation, or with `dryRun` plan it; one that exists with the same settings is returned as it is. */
    async create<Dry extends boolean = false>(
      request: AllocationRequest,
      { dryRun }: { dryRun?: Dry } = {},
    ): Promise<Dry extends true ? Plan : Allocation> {
      const params = { query: dryRun ? DRY_RUN : {} };
      const { data } = await http.POST("/v1/allocations", { params, body: request });
      return given(data) as Dry extends true ? Plan : Allocation;
    },

    /** The allocations that the key is for. */
    async allocations(): Promise<AllocationSummary[]> {
      const found: AllocationSummary[] = [];
      for (let cursor: string | null = null; ; ) {
        const page: Schemas["Allocations"] = given(
          (await http.GET("/v1/allocations", { params: { query: { limit: PAGE, ...from(cursor) } } })).data,
        );
        found.push(...page.allocations);
        if ((cursor = page.next) === null) return found;
      }
    },

    /** An allocation: its settings and its current round. */
    async describe(name: string): Promise<Allocation> {
      return given((await http.GET("/v1/allocations/{name}", { params: { path: path({ name }) } })).data);
    },

    /** Change arms or promises, or close or reopen the allocation: `{ change: "retire", arm: "tea" }`. */
    async change(name: string, change: Change, { version, ...options }: Once & Version = {}): Promise<ChangeResult> {
      const query = version === undefined ? {} : { version };
      const params = { path: path({ name }), header: header(options), query };
      return given((await http.POST("/v1/allocations/{name}/changes", { params, body: change })).data) as ChangeResult;
    },

    /** What `change` would do with the same change, and what each arm would be promised; nothing is written. */
    async plan(name: string, change: Change, { version }: Version = {}): Promise<Plan> {
      const query = { ...DRY_RUN, ...(version === undefined ? {} : { version }) };
      const params = { path: path({ name }), query };
      return given((await http.POST("/v1/allocations/{name}/changes", { params, body: change })).data) as Plan;
    },

    /** The arms of an allocation, in their order, with their promises. */
    async arms(name: string): Promise<Arm[]> {
      const found: Arm[] = [];
      for (let cursor: string | null = null; ; ) {
        const params = { path: path({ name }), query: { limit: PAGE, ...from(cursor) } };
        const page: Schemas["Arms"] = given((await http.GET("/v1/allocations/{name}/arms", { params })).data);
        found.push(...page.arms);
        if ((cursor = page.next) === null) return found;
      }
    },

    /** Register an address to which events are sent; the answer has the secret for `verifyWebhook`. */
    async addWebhook(name: string, webhook: Schemas["WebhookRequest"]): Promise<Schemas["Webhook"]> {
      const params = { path: path({ name }) };
      return given((await http.POST("/v1/allocations/{name}/webhooks", { params, body: webhook })).data);
    },

    /** The addresses to which events are sent, how far each is, and what is wrong with it. */
    async webhooks(name: string): Promise<Schemas["Webhook"][]> {
      const params = { path: path({ name }) };
      return given((await http.GET("/v1/allocations/{name}/webhooks", { params })).data).webhooks;
    },

    /** Remove an address: nothing is sent to it any more. */
    async removeWebhook(name: string, id: string): Promise<Schemas["Webhook"]> {
      const params = { path: path({ name, id }) };
      return given((await http.DELETE("/v1/allocations/{name}/webhooks/{id}", { params })).data);
    },

    // --- results -----------------------------------------------------------------------------------------------------

    /** What each arm was promised, and what it received; with a limit the arms furthest behind their promise. */
    async audit(name: string, limit?: number): Promise<Audit> {
      const params = { path: path({ name }), ...(limit === undefined ? {} : { query: { limit } }) };
      return given((await http.GET("/v1/allocations/{name}/audit", { params })).data);
    },

    /** A report on the allocation, to be handed on: a page of HTML that loads nothing. */
    async reportPage(name: string): Promise<string> {
      const params = { path: path({ name }) };
      return given((await http.GET("/v1/allocations/{name}/report", { params, parseAs: "text" })).data);
    },

    /** Whether one may stop: the arms that can still be the best, and what this rests on. */
    async stopping(name: string, query: StoppingQuery = {}): Promise<Stopping> {
      const params = { path: path({ name }), query };
      return given((await http.GET("/v1/allocations/{name}/stopping", { params })).data);
    },

    /** What promised shares would cost in the long run; `promises` are for every active arm. */
    async price(name: string, promises?: number[]): Promise<Price> {
      const params = { path: path({ name }), query: promises === undefined ? {} : { promise: promises.join(",") } };
      return given((await http.GET("/v1/allocations/{name}/price", { params })).data);
    },

    /** Differences of mean rewards, with intervals that hold however often one looks. */
    async differences(name: string, query: DifferencesQuery = {}): Promise<Differences> {
      const params = { path: path({ name }), query };
      return given((await http.GET("/v1/allocations/{name}/differences", { params })).data);
    },

    /** What happened to an allocation, in order, up to now. */
    async *events(name: string, after = 0): AsyncGenerator<Event> {
      for (let next: number | null = after; next !== null; ) {
        const params = { path: path({ name }), query: { after: next, limit: PAGE } };
        const page: Schemas["Events"] = given((await http.GET("/v1/allocations/{name}/events", { params })).data);
        yield* page.events;
        next = page.next;
      }
    },

    /** The log of an allocation, as a file in CSV or Parquet. */
    async log(name: string, query: LogQuery = {}): Promise<ReadableStream<Uint8Array>> {
      const params = { path: path({ name }), query };
      return given((await http.GET("/v1/allocations/{name}/log", { params, parseAs: "stream" })).data ?? undefined);
    },

    /** The access of the client's key. */
    async access(): Promise<AccessInfo> {
      return given((await http.GET("/v1/access")).data);
    },

    /** The algorithms that allocations can have, by name, with their promises and parameters. */
    async algorithms(): Promise<AlgorithmInfo[]> {
      return given((await http.GET("/v1/algorithms")).data).algorithms;
    },
  };
}

/** The parts of a path; `.` and `..` would lead elsewhere. */
function path<Parts extends Record<string, string>>(parts: Parts): Parts {
  for (const [what, value] of Object.entries(parts)) {
    if (["", ".", ".."].includes(value)) throw new TypeError(`${what} must be a name such as "drinks", got "${value}"`);
  }
  return parts;
}

function header({ idempotencyKey }: Once): { "Idempotency-Key"?: string } {
  return idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
}

function once(idempotencyKey: string | undefined): Once {
  return idempotencyKey === undefined ? {} : { idempotencyKey };
}

function from(cursor: string | null): { cursor?: string } {
  return cursor === null ? {} : { cursor };
}

/** The body of a successful answer. */
function given<Body>(body: Body | undefined): Body {
  if (body === undefined) throw new EvenhandError("the answer is empty", { code: "unexpected" });
  return body;
}
