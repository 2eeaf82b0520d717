/** The client on a running service, at the address in EVENHAND_URL with the key in EVENHAND_KEY. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { readFile } from "node:fs/promises";
import {
  type Change,
  columnOf,
  createClient,
  type Decision,
  EvenhandError,
  type LeasedDecision,
  LeasedDecisions,
  LeaseOver,
  verifyWebhook,
} from "../src/index.js";

const url = process.env["EVENHAND_URL"] ?? assert.fail("EVENHAND_URL is missing");
const key = process.env["EVENHAND_KEY"] ?? assert.fail("EVENHAND_KEY is missing");
const client = createClient({ url, key });

/** A client whose first tries have these outcomes; then the service is asked. */
function after(outcomes: (Response | Error)[], limits: { retries?: number; patience?: number; timeout?: number } = {}) {
  const keys: (string | null)[] = [];
  const fetch = async (request: Request) => {
    keys.push(request.headers.get("Idempotency-Key"));
    const outcome = outcomes.shift();
    if (outcome instanceof Error) throw outcome;
    return outcome ?? globalThis.fetch(request);
  };
  return { client: createClient({ url, key, fetch, ...limits }), keys };
}

const busy = (headers: Record<string, string> = {}) => new Response("busy", { status: 503, headers });

async function errorOf(call: Promise<unknown>): Promise<EvenhandError> {
  const error = await call.then(() => assert.fail("the call succeeded"), (reason: unknown) => reason);
  assert(error instanceof EvenhandError, String(error));
  return error;
}

before(async () => {
  const parameters = { fractions: { coffee: 0.25 } };
  const made = await client.create({
    name: "drinks", arms: ["tea", "coffee"], algorithm: "fucb", parameters, missing: "never", seed: 1,
  });
  assert.deepEqual(made.arms, ["tea", "coffee"]);
  assert.deepEqual(made.rewards, [0, 1]);
});

test("a decision, its reward, and what came of it", async () => {
  const decision: Decision = await client.decide("drinks", { propensities: true });
  const [arm] = decision.arms;
  assert(arm);
  const results = await client.reward("drinks", decision.id, { [arm.arm]: 1, mate: 0 });
  assert.deepEqual(results.map((result) => result.status), ["accepted", "unknown"]);
  const outcome = await client.decision("drinks", decision.id);
  assert.deepEqual(outcome.arms.map(({ arm, reward, status }) => [arm, reward, status]), [[arm.arm, 1, "received"]]);
});

test("an empty body is a decision, and a misspelt field does not compile", async () => {
  const params = { path: { name: "drinks" } };
  const { data } = await client.http.POST("/v1/allocations/{name}/decisions", { params, body: {} });
  assert.equal(data?.decisions.length, 1);
  // @ts-expect-error
  const error = await errorOf(client.http.POST("/v1/allocations/{name}/decisions", { params, body: { cuont: 2 } }));
  assert.match(error.errors[0]?.message ?? "", /did you mean 'count'/);
});

test("several decisions, with other arms in each", async () => {
  const decisions = await client.decideMany("drinks", { rounds: [{ available: ["coffee"] }, {}] });
  assert.equal(decisions.length, 2);
  assert.equal(decisions[0]?.arms[0]?.arm, "coffee");
  assert.equal((await client.decideMany("drinks", { count: 3 })).length, 3);
});

test("the anonymous total of a round", async () => {
  const films = { name: "films", arms: ["a", "b"], algorithm: "ucb1", missing: "never" as const };
  await client.create(films);
  const { round } = await client.decide("films");
  const options = { idempotencyKey: "total-1" };
  assert.deepEqual(await client.total("films", { value: 1, round }, options), { round, status: "accepted" });
  assert.deepEqual(await client.total("films", { value: 1, round }, options), { round, status: "accepted" });
});

test("a refused request throws what the service said", async () => {
  const error = await errorOf(client.decide("nothing"));
  assert.deepEqual([error.status, error.code], [404, "unknown_allocation"]);
  assert.match(error.requestId ?? "", /\S/);
  const wrong = await errorOf(client.decideMany("drinks", { count: 0 }));
  assert.deepEqual(wrong.errors, [{ where: "body.count", message: "must be at least 1" }]);
  const stranger = createClient({ url, key: key.slice(0, -4) + "0000" });
  assert.equal((await errorOf(stranger.access())).code, "unauthenticated");
});

test("a call that is repeated with its key is carried out once", async () => {
  const first = await client.decide("drinks", { idempotencyKey: "order-17" });
  assert.deepEqual(await client.decide("drinks", { idempotencyKey: "order-17" }), first);
  const error = await errorOf(client.decideMany("drinks", { count: 2 }, { idempotencyKey: "order-17" }));
  assert.deepEqual([error.code, error.idempotencyKey], ["key_reused", "order-17"]);
});

test("a call is tried again with the same key, after the time that the service asks for", async () => {
  const { client: other, keys } = after([new TypeError("fetch failed"), busy({ "Retry-After": "1" }), busy()]);
  const begin = performance.now();
  const decision = await other.decide("drinks");
  assert(performance.now() - begin >= 1000);
  assert.equal(keys.length, 4);
  assert.equal(new Set(keys).size, 1);
  assert.equal(typeof keys[0], "string");
  const again = await client.decide("drinks", { idempotencyKey: keys[0] as string });
  assert.deepEqual(again, decision);
});

test("an answer that was lost is the answer of the next try", async () => {
  let lost: unknown;
  const fetch = async (request: Request) => {
    const response = await globalThis.fetch(request);
    if (lost !== undefined) return response;
    lost = await response.json();
    throw new TypeError("terminated");
  };
  const decision = await createClient({ url, key, fetch }).decide("drinks");
  assert.deepEqual({ decisions: [decision] }, lost);
});

test("a call that cannot succeed in time throws, with the key to repeat it", async () => {
  const lost = after([new TypeError("a"), new TypeError("b")], { retries: 1 });
  const error = await errorOf(lost.client.decide("drinks"));
  assert.deepEqual([error.status, error.code, error.idempotencyKey], [undefined, "unavailable", lost.keys[0]]);
  const later = after([busy({ "Retry-After": "3600" })]);
  assert.equal((await errorOf(later.client.decide("drinks"))).status, 503);
  assert.equal(later.keys.length, 1);
  const silent = createClient({
    url, key, timeout: 20, retries: 0,
    fetch: (request) => new Promise((_, reject) => {
      request.signal.addEventListener("abort", () => reject(request.signal.reason));
    }),
  });
  assert.match((await errorOf(silent.access())).message, /no answer in 20 ms/);
});

test("webhooks are registered, and their signatures verified", async () => {
  const hook = await client.addWebhook("drinks", { url: "https://example.org/hook", kinds: ["reward"] });
  assert.match(hook.secret ?? "", /^whsec_/);
  assert.deepEqual((await client.webhooks("drinks")).map((one) => [one.id, one.secret]), [[hook.id, null]]);
  assert.equal((await client.removeWebhook("drinks", hook.id)).url, "https://example.org/hook");
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v2,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const body = '{"test": 2432232314}';
  assert.deepEqual(await verifyWebhook(secret, headers, body, Infinity), { test: 2432232314 });
  await assert.rejects(verifyWebhook(secret, headers, body), /of another time/);
  await assert.rejects(verifyWebhook(secret, headers, body + " ", Infinity), /does not fit/);
});

test("arms and promises change", async () => {
  const change = (change: Change) => client.change("drinks", change);
  assert.equal((await change({ change: "add", arm: "iced tea/lemon", fraction: 0.1 })).changed, true);
  assert.equal((await change({ change: "retire", arm: "iced tea/lemon", reason: "sold out" })).changed, true);
  const arms = await client.arms("drinks");
  assert.deepEqual(arms.map((arm) => [arm.arm, arm.retired]), [["tea", false], ["coffee", false], ["iced tea/lemon", true]]);
  assert.equal((await change({ change: "rename", arm: "iced tea/lemon", new_name: "lemonade" })).changed, true);
  assert.equal((await change({ change: "erase", arm: "lemonade" })).changed, true);
  assert.deepEqual((await client.arms("drinks")).map((arm) => arm.arm), ["tea", "coffee", "erased-3"]);
  const same = await change({ change: "promise", fractions: { coffee: 0.25 } });
  assert.equal(same.changed, false);
  const plan = await client.plan("drinks", { change: "promise", fractions: { coffee: 0.3 } });
  assert.deepEqual([plan.changed, plan.begins], [true, ["coffee"]]);
  assert.equal((await client.plan("drinks", { change: "add", arm: "mate", fraction: 0.1 })).arms.length, 4);
  assert.deepEqual((await client.arms("drinks")).map((arm) => arm.fraction), [0, 0.25, 0]);
  const error = await errorOf(change({ change: "promise", fractions: { tea: 0.9 } }));
  assert.equal(error.code, "infeasible");
  const stale = await errorOf(client.change("drinks", { change: "close" }, { version: same.version + 1 }));
  assert.equal(stale.code, "conflict");
  assert.equal((await client.audit("drinks")).changes_made.find((one) => one.reason !== "")?.reason, "sold out");
});

test("what is read only", async () => {
  assert.deepEqual((await client.access()).scopes.length, 4);
  const fucb = (await client.algorithms()).find((algorithm) => algorithm.name === "fucb");
  assert.deepEqual([fucb?.promises, fucb?.parameters[0]?.name], ["share", "fractions"]);
  assert((await client.allocations()).some((allocation) => allocation.name === "drinks"));
  const { round } = await client.describe("drinks");
  const answer = await client.stopping("drinks", { delta: 0.1, best: 1 });
  assert.deepEqual([answer.stop, answer.candidates.length], [false, 2]);
  const compared = await client.differences("drinks", { assume: "lost independently" });
  assert.equal(compared.differences.length, compared.sentences.length);
  assert.match(await client.reportPage("drinks"), /<h1>Report on drinks<\/h1>/);
  const audit = await client.audit("drinks", 1);
  assert.deepEqual([audit.round, audit.lines.length], [round, 1]);
  const kinds = new Set<string>();
  for await (const event of client.events("drinks")) kinds.add(event.kind);
  assert(kinds.has("create") && kinds.has("decide") && kinds.has("reward"));
  const log = await new Response(await client.log("drinks", { since: 2, until: 2 })).text();
  assert.equal(log.trim().split("\n").length, 2);
});

test("decisions are drawn from a lease, reported with their rewards, and returned", async () => {
  const leased = await client.lease("drinks", { decisions: 1000 });
  const names = Array.from({ length: 600 }, () => leased.draw());
  const first = names[0] as LeasedDecision;
  leased.reward(first.position, first.arms[0] as string, 1);
  const report = await client.report("drinks", leased, { finished: true });
  assert.deepEqual([report.played, report.added, report.accepted, report.returned], [600, 600, 1, true]);
  assert.throws(() => leased.draw(), LeaseOver);
  assert.equal((await client.report("drinks", leased)).accepted, 0);
  for (const place of [0, 1, 2, 299, 599]) {
    const { id, arms } = names[place] as LeasedDecision;
    const outcome = await client.decision("drinks", id);
    assert.deepEqual(outcome.arms.map((arm) => arm.arm), arms);
    assert.equal(outcome.arms[0]?.propensity, leased.propensity(arms[0] as string));
  }
  assert.equal((await client.reward("drinks", first.id, { [first.arms[0] as string]: 1 }))[0]?.status, "duplicate");
});

test("a unit keeps its arm", async () => {
  const leased = await client.lease("drinks", { decisions: 100, units: true });
  const drawn = ["ana", "bo", "ana", "\u{1f375}"].map((unit) => leased.draw(unit).arms);
  assert.deepEqual(drawn[0], drawn[2]);
  assert.throws(() => leased.draw(), TypeError);
  assert.equal((await client.report("drinks", leased, { finished: true })).added, 4);
  const audit = await client.audit("drinks");
  assert(audit.lines.every((line) => Number.isInteger(line.plays)));
});

test("leases are drawn as in Python", async () => {
  const cases = JSON.parse(await readFile(new URL("../../test/leases.json", import.meta.url), "utf8"));
  for (const { unit, salt, decisions, column } of cases.columns) assert.equal(columnOf(unit, salt, decisions), column);
  for (const { lease, units, arms } of cases.leases) {
    const leased = new LeasedDecisions(lease);
    const drawn = arms.map((_: unknown, place: number) => leased.draw(units?.[place]).arms);
    assert.deepEqual(drawn, arms);
  }
});

test("a name cannot lead elsewhere", async () => {
  for (const name of ["", ".", ".."]) await assert.rejects(client.describe(name), TypeError);
});
