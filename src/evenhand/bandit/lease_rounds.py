"""How a bandit leases rounds: how often each arm plays in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from evenhand.bandit.arms import Available
from evenhand.bandit.counts import FOLLOWED
from evenhand.bandit.leases import Lease, Places, golden_step
from evenhand.bandit.propensities import copied
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, Mask, Observation, State
from evenhand.messages import answers
from evenhand.messages.answers import moment
from evenhand.messages.rules import MAX_LEASE, MAX_LEASE_SECONDS
from evenhand.policy.memories import advance

STEPS = 128  # decisions of the policy by which a lease is planned, at most
GRACE = 60.0  # seconds for reports after a lease has expired, at least
BATCHES = "request decisions, of which a batch has as many as the lease would"


@dataclass(frozen=True)
class Plan:
    """The arms of a lease: how often each plays, and where the first round begins."""

    counts: Places  # (arms,)
    plays: int  # per round
    start: int


def lease(
    record: Record, decisions: int, seconds: float, available: Iterable[str] | None, units: bool, now: float
) -> tuple[answers.Lease, dict[str, Any]]:
    """Lease rounds; see `evenhand.bandit.Bandit.lease`."""
    size = validate.whole("decisions", decisions)
    if size > MAX_LEASE:
        raise EvenhandError(f"decisions must be at most {MAX_LEASE:,}, got {size:,}")
    seconds = validate.number("seconds", seconds, 0.0, MAX_LEASE_SECONDS)
    able = record.arms.available(available)
    check_leasable(record)
    plan = planned(record, size, able)
    facts: dict[str, Any] = {
        "decisions": size,
        "arms": [record.names[place] for place in np.flatnonzero(plan.counts).tolist()],
        "counts": plan.counts[plan.counts > 0].tolist(),
        "plays": plan.plays,
        "start": plan.start,
        "step": golden_step(size),
        # the same in all leases, so that a unit keeps its arm
        "salt": int(np.random.SeedSequence([record.seed, 1]).generate_state(1)[0]) if units else None,
        "expires": now + seconds,
        "report_by": now + seconds + max(seconds, GRACE),
        **({} if available is None else {"available": able.listed(record.names)}),
    }
    granted = record_lease(record, facts, able, now)
    return answer_of(record, granted, seconds), facts


def check_leasable(record: Record) -> None:
    """Refuse a lease where the policy must see single rounds."""
    if record.contexts is not None:
        raise EvenhandError(
            "decisions of this bandit depend on the features of each round, which are not known when rounds are "
            "leased: decide many rounds at a time in place of a lease"
        )
    if record.in_order:
        raise EvenhandError(
            f"{record.label} learns from the round just decided only, before the next: request single decisions"
        )
    if record.policy.named:
        raise EvenhandError(
            f"{record.label} cannot lease rounds, as it counts plays by their age, which those of a lease do not have "
            f"before they are reported: {BATCHES}"
        )
    if record.last_total is not None:
        raise EvenhandError(f"this bandit learns from totals of single rounds and leases none: {BATCHES}")
    try:
        advance(record.policy, copied(record.state), np.zeros(len(record.arms)), 0.0)
    except EvenhandError as error:
        raise EvenhandError(f"{record.label} cannot lease rounds, as {error}: {BATCHES}") from None


def planned(record: Record, size: int, able: Available) -> Plan:
    """How often each arm is to play in the next rounds; changes nothing."""
    plays = min(record.plays, int(np.count_nonzero(able.arms)))
    rng = record.chance.deciding(record.state.clock)
    floors = _promised(record, size, plays, able.arms)
    expected = floors + _chosen(record, size, plays, able.arms, floors, rng)
    counts = _rounded(expected, size, plays, float(rng.random()))
    return Plan(counts, plays, int(rng.integers(size)))


def _promised(record: Record, size: int, plays: int, able: Mask) -> Array:
    """(arms,), the rounds in which each arm must play so that none is behind its promise at the end.

    Where these are too many, the arms that are furthest behind have theirs.
    """
    owed = record.policy.fairness.due(record.state, size)
    if owed is None:
        return np.zeros(len(record.arms))
    behind = np.where(able, owed, 0.0)

    def due(level: float) -> Array:
        return np.clip(np.ceil(behind - level), 0.0, size)

    if due(0.0).sum() <= size * plays:
        return due(0.0)
    low, high = 0.0, float(behind.max())
    while high - low > 1e-6 * max(1.0, high):
        middle = (low + high) / 2.0
        low, high = (low, middle) if due(middle).sum() <= size * plays else (middle, high)
    return due(high)


def _chosen(record: Record, size: int, plays: int, able: Mask, floors: Array, rng: np.random.Generator) -> Array:
    """(arms,), the plays that the policy gives beyond the promised ones; a decision of it stands for many rounds."""
    state: State = copied(record.state)
    advance(record.policy, state, floors, 0.0)
    state.tally.pulls += floors
    chosen, left, before = np.zeros(len(record.arms)), size * plays - floors.sum(), state.round
    longest = math.ceil(size / STEPS)
    while left > 1e-9:
        room = np.where(able, size - floors - chosen, 0.0)
        mask = room > 1e-9
        decision = record.policy.choose(state, Observation(None if mask.all() else mask), rng, propensities=False)
        share = np.asarray(decision.inclusion, dtype=float)
        rounds = min(float(longest), left / share.sum(), float((room[share > 0.0] / share[share > 0.0]).min()))
        chosen += rounds * share
        left -= rounds * share.sum()
        round = before + size - math.ceil(max(left, 0.0) / plays)
        advance(record.policy, state, rounds * share, float(round - state.round))
        state.tally.pulls += rounds * share
        state.round = round
    return chosen


def _rounded(expected: Array, size: int, plays: int, draw: float) -> Places:
    """Whole counts with these expected values, drawn by systematic sampling: each is rounded down or up."""
    whole = np.floor(expected + 1e-6)
    rest = np.maximum(expected - whole, 0.0)
    rest[rest < 1e-6] = 0.0
    missing = size * plays - whole.sum()
    sums = np.cumsum(rest)
    ends = np.where(sums >= sums[-1], missing, sums * (missing / max(sums[-1], 1e-6)))  # the last one exactly
    whole += np.diff(np.floor(ends + draw), prepend=math.floor(draw))
    counts: Places = whole.astype(np.int64)
    return counts


def record_lease(record: Record, facts: Mapping[str, Any], able: Available, now: float) -> Lease:
    """Record a lease, whether it was just granted or is read from a log."""
    state, size = record.state, int(facts["decisions"])
    places = np.array([record.arms.place[arm] for arm in facts["arms"]], dtype=np.int64)
    granted = Lease.of(state.round + 1, facts, places, able.arms.copy())
    note_deficits(record)
    reserved = granted.reserved(len(record.arms))
    advance(record.policy, state, reserved, float(size))
    state.round += size
    state.tally.pulls += reserved
    record.statistics.missed += size * np.logical_not(able.arms)
    record.leases[granted.first] = granted
    record.mark(now)
    return granted


def answer_of(record: Record, granted: Lease, seconds: float) -> answers.Lease:
    """A lease as it is answered."""
    first, size = granted.first, granted.size
    counts = zip(granted.places.tolist(), granted.counts.tolist(), strict=True)
    arms = tuple([answers.LeasedArm(record.names[place], count, count / size) for place, count in counts])
    laid = (granted.start, granted.step, granted.salt)
    times = (seconds, moment(granted.expires), moment(granted.report_by))
    return answers.Lease(str(first), first, size, granted.plays, arms, *laid, *times, record.version)


def note_deficits(record: Record) -> None:
    """Record the deficits as they are, before the account changes."""
    if record.fractions is None:
        return
    counted = record.promised & (record.state.round > record.state.begun.rounds)
    deficits = np.where(counted, record.owed(), -np.inf)
    np.maximum(record.statistics.worst, deficits, out=record.statistics.worst)
    places = np.flatnonzero(counted) if len(deficits) <= FOLLOWED else [deficits.argmax()] * int(counted.any())
    for place in places:
        record.deficit_history.note(record.state.round, int(place), float(deficits[place]))
