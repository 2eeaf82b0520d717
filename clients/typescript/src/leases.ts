import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type Lease = Schemas["Lease"];
export type LeaseReport = Schemas["LeaseReport"];

/** A decision that was drawn from a lease. */
export interface LeasedDecision {
  /** Identifies the decision when its rewards are sent, as that of any other decision. */
  id: string;
  /** Of the decision in the lease, counted from 0. */
  position: number;
  /** Names of the arms that play. */
  arms: string[];
}

/** All decisions of a lease have been drawn, or its time is over: report it, and take another. */
export class LeaseOver extends Error {
  override name = "LeaseOver";
}

/**
 * The decisions of a lease, each drawn once, without the service.
 *
 * Every decision that is drawn counts as played. Rewards can be collected here, and go to the service with the next
 * report.
 */
export class LeasedDecisions {
  /** Number of decisions drawn so far. */
  played = 0;
  readonly #end: number; // by the clock of `performance`
  readonly #ends: number[] = []; // of the arms in the table
  readonly #columns: number[] = []; // of the decisions drawn, where they follow units
  #over = false;
  #column: number; // of the next decision
  #known = 0; // decisions of which the service has the columns
  #rewards: { arm: string; position: number; value: number }[] = []; // to be reported

  /**
   * @param lease as the service answered it
   * @param begun when it was requested, by `performance.now()`
   */
  constructor(
    readonly lease: Lease,
    begun = performance.now(),
  ) {
    this.#end = begun + lease.seconds * 1000;
    this.#column = lease.start;
    let end = 0;
    for (const { count } of lease.arms) this.#ends.push((end += count));
  }

  /** The number of decisions that can be drawn; 0 where the time is over. */
  get left(): number {
    return this.#over || performance.now() >= this.#end ? 0 : this.lease.decisions - this.played;
  }

  /** The probability with which an arm plays in any decision of the lease. */
  propensity(arm: string): number {
    return this.lease.arms.find((one) => one.arm === arm)?.propensity ?? 0;
  }

  /**
   * The next decision.
   *
   * @param unit whose arm it is, such as the id of a user, in a lease for units; the same one has the same arms
   * @throws LeaseOver if there is none left, or the time is over
   */
  draw(unit?: string): LeasedDecision {
    const { decisions, id, plays, round, salt, step } = this.lease;
    if ((unit === undefined) !== (salt === null)) {
      throw new TypeError(`lease ${id} ${salt === null ? "is not for units: leave them out" : "is for units: give one"}`);
    }
    if (this.left < 1) throw new LeaseOver(`lease ${id} has no decision left: report it, and take another`);
    let column = this.#column;
    if (unit !== undefined) {
      column = columnOf(unit, salt ?? 0, decisions);
      this.#columns.push(column);
    } else if ((this.#column += step) >= decisions) {
      this.#column -= decisions;
    }
    const position = this.played++;
    const arms: string[] = [];
    for (let play = 0; play < plays; play++) arms.push(this.#armAt(column + play * decisions));
    return { id: String(round + position), position, arms };
  }

  /** The arm in a cell of the table. */
  #armAt(cell: number): string {
    let low = 0;
    let high = this.#ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cell < (this.#ends[middle] as number)) high = middle;
      else low = middle + 1;
    }
    return (this.lease.arms[low] as Schemas["LeasedArm"]).arm;
  }

  /** Collect a reward of a decision, for the next report. */
  reward(position: number, arm: string, value: number): void {
    if (!(position >= 0 && position < this.played)) {
      throw new RangeError(`position must be one of the ${this.played} decisions drawn, got ${position}`);
    }
    this.#rewards.push({ arm, position, value });
  }

  /** What is to be reported next, with at most so many rewards and columns, and whether that is all. */
  body(most: number): { body: Schemas["ReportRequest"]; last: boolean } {
    const columns = this.#columns.slice(this.#known, this.#known + most);
    const units = this.lease.salt !== null;
    const played = units ? this.#known + columns.length : this.played;
    const waiting = this.#rewards.filter(({ position }) => position < played);
    const rewards: Record<string, Schemas["PositionRewards"]> = {};
    for (const { arm, position, value } of waiting.slice(0, most)) {
      const some = (rewards[arm] ??= { positions: [], values: [] });
      some.positions.push(position);
      some.values.push(value);
    }
    const body = { played, rewards, finished: false, ...(units ? { columns } : {}) };
    return { body, last: played === this.played && waiting.length <= most };
  }

  /** Take note that a body was reported: its rewards need not be reported again. */
  reported({ rewards = {} }: Schemas["ReportRequest"], report: LeaseReport): void {
    const sent = new Map<string, Set<number>>();
    for (const [arm, { positions }] of Object.entries(rewards)) sent.set(arm, new Set(positions));
    this.#rewards = this.#rewards.filter(({ arm, position }) => !sent.get(arm)?.has(position));
    this.#known = Math.max(this.#known, report.played);
    if (report.returned) this.#over = true;
  }
}

const UTF8 = new TextEncoder();

/**
 * The column of a unit in a lease of some decisions: FNV-1a of its UTF-8 bytes, mixed as in MurmurHash3, scaled.
 *
 * It is the one of the Python client, bit for bit.
 */
export function columnOf(unit: string, salt: number, decisions: number): number {
  let value = salt;
  for (const byte of UTF8.encode(unit)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return Math.floor((((value ^ (value >>> 16)) >>> 0) * decisions) / 2 ** 32);
}
