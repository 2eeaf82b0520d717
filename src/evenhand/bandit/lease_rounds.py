"""How a bandit leases rounds: how often each arm plays in them, reports of them, and returns of what was not played."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.bandit import lease_scores
from evenhand.bandit.arms import RECENT, Available
from evenhand.bandit.counts import FOLLOWED
from evenhand.bandit.leases import Lease, Places, Report, golden_step
from evenhand.bandit.pending import RewardError
from evenhand.bandit.propensities import copied
from evenhand.bandit.record import Record
from evenhand.bandit.scores import UNCOUNTED
from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.state import Array, Mask, Observation, State
from evenhand.messages import answers
from evenhand.messages.answers import moment, rfc3339
from evenhand.messages.rules import MAX_LEASE, MAX_LEASE_SECONDS
from evenhand.policy.accounts import BILLION
from evenhand.policy.memories import advance

STEPS = 128  # decisions of the policy by which a lease is planned, at most
GRACE = 60.0  # seconds for reports after a lease has expired, at least
BATCHES = "request decisions, of which a batch has as many as the lease would"
Rewards = Mapping[str, tuple[Sequence[int], Sequence[float]]]  # positions and values by arm


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
    }
    if available is not None:
        facts["available"] = able.listed(record.names)
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


# --- reports ----------------------------------------------------------------------------------------------------------


class LeaseError(EvenhandError):
    """A lease is unknown, or what was reported of it cannot be."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


def found(record: Record, id: str) -> Lease:
    """A lease by its id."""
    lease = record.leases.named(id) if isinstance(id, str) else None
    if lease is None:
        raise LeaseError(f"there is no lease {id!r} among those that are remembered", "unknown")
    return lease


def report(
    record: Record, id: str, played: int, rewards: Rewards, columns: Sequence[int] | None, finished: bool, now: float
) -> tuple[answers.LeaseReport, dict[str, Any] | None]:
    """Take a report of a lease; see `evenhand.bandit.Bandit.report`."""
    lease = found(record, id)
    before, added = lease.played, _added_columns(lease, played, columns)
    played = max(played, before)
    new, late, duplicates = _sorted_out(record, lease, added, played, rewards)
    returns = finished and lease.open > played - before
    facts: dict[str, Any] = {"played": played, "rewards": _listed(new), "late": _listed(late), "finished": returns}
    if len(added):
        facts["columns"] = added.tolist()
    changes = played > before or bool(new) or bool(late) or returns
    if changes:
        record_report(record, lease, facts, now)
    sizes = _size(new), duplicates, _size(late)
    return answers.LeaseReport(id, played, lease.open == 0, played - before, *sizes), facts if changes else None


def _added_columns(lease: Lease, played: int, columns: Sequence[int] | None) -> Places:
    """The columns of the rounds that a report adds, of a lease for units; and whether it can add them."""
    name, before = f"lease {lease.first}", lease.played
    if validate.whole("played", played, low=0) > lease.size:
        raise EvenhandError(f"played must be at most {lease.size:,}, the decisions of {name}, got {played:,}")
    if played > before and lease.returned:
        raise LeaseError(
            f"{name} is over: what was not reported was returned at {rfc3339(moment(lease.report_by))} at the latest; "
            "report more often, or lease for longer",
            "over",
        )
    if lease.salt is None or played <= before:
        if columns and lease.salt is None:
            raise EvenhandError(f"{name} is not for units, and its columns follow from its start: leave columns out")
        return np.empty(0, dtype=np.int64)
    if columns is None or not played - before <= len(columns) <= played:
        got = "none" if columns is None else f"{len(columns):,}"
        raise EvenhandError(
            f"{name} is for units: columns must list those of the {played - before:,} decisions that the report adds, "
            f"got {got}"
        )
    listed, known = np.array(columns, dtype=np.int64), len(columns) - (played - before)
    if np.any(listed < 0) or np.any(listed >= lease.size):
        raise EvenhandError(f"columns of {name} must be from 0 to {lease.size - 1:,}")
    if not np.array_equal(listed[:known], lease.columns[before - known :]):
        raise LeaseError(f"other columns of {name} were reported before", "conflict")
    return listed[known:]


def _sorted_out(
    record: Record, lease: Lease, added: Places, played: int, rewards: Rewards
) -> tuple[dict[str, tuple[Places, Array]], dict[str, tuple[Places, Array]], int]:
    """The rewards that are new, those that are late, and how many are known already; refuses all if one is wrong."""
    new: dict[str, tuple[Places, Array]] = {}
    late: dict[str, tuple[Places, Array]] = {}
    duplicates = 0
    if len(added):  # the arms of the rounds that are being reported follow from these columns
        lease = replace(lease, columns=np.concatenate([lease.columns, added]))
    for arm, (listed, values) in rewards.items():
        record.arms.check(arm)
        positions, numbers = _checked(record, lease, arm, played, listed, values)
        known = lease.known(positions, record.arms.place[arm])
        fresh = np.isnan(known)
        wrong = ~fresh & (known != numbers)
        if wrong.any():
            at = int(wrong.argmax())
            raise RewardError(
                f"lease {lease.first}, position {positions[at]}, arm {arm!r}: its reward is {known[at]:g} and cannot "
                f"change to {numbers[at]:g}",
                "conflict",
            )
        duplicates += int(np.count_nonzero(~fresh))
        over = positions < lease.closed
        for kind, some in ((new, fresh & ~over), (late, fresh & over)):
            if some.any():
                kind[arm] = positions[some], numbers[some]
    return new, late, duplicates


def _checked(
    record: Record, lease: Lease, arm: str, played: int, listed: Sequence[int], values: Sequence[float]
) -> tuple[Places, Array]:
    """Positions and values as arrays."""
    name = f"the rewards of {arm!r} in lease {lease.first}"
    positions, numbers = np.array(listed, dtype=np.int64), np.array(values, dtype=float)
    if len(positions) != len(numbers):
        raise EvenhandError(f"{name} have {len(positions):,} positions, but {len(numbers):,} values")
    outside = (positions < 0) | (positions >= played)
    if outside.any():
        raise EvenhandError(
            f"{name} name position {positions[outside][0]}, but {played:,} decisions were played, from 0 on"
        )
    if len(np.unique(positions)) < len(positions):
        raise EvenhandError(f"{name} name a position twice")
    low, high = record.reward_range
    wrong = ~((numbers >= low) & (numbers <= high))
    if wrong.any():
        record.reward_range.check(arm, float(numbers[wrong][0]))
    plays = (lease.arms_of(positions) == record.arms.place[arm]).any(axis=1)
    if not plays.all():
        raise RewardError(
            f"arm {arm!r} did not play in decision {lease.first + int(positions[~plays][0])} of lease {lease.first}",
            "unknown",
        )
    return positions, numbers


def _size(rewards: Mapping[str, tuple[Places, Array]]) -> int:
    return sum(len(positions) for positions, _ in rewards.values())


def _listed(rewards: Mapping[str, tuple[Places, Array]]) -> dict[str, dict[str, list[Any]]]:
    return {arm: {"positions": at.tolist(), "values": values.tolist()} for arm, (at, values) in rewards.items()}


def check_recorded(record: Record, lease: Lease, facts: Mapping[str, Any]) -> None:
    """Refuse a report of a log with rewards for which the lease does not wait."""
    for kind in ("rewards", "late"):
        for arm, some in facts[kind].items():
            positions = np.array(some["positions"], dtype=np.int64)
            waits = (positions >= 0) & (positions < facts["played"]) & ((positions < lease.closed) == (kind == "late"))
            known = lease.rewards[positions[waits & (positions < lease.played)]]
            places = lease.arms_of(positions[waits & (positions < lease.played)])
            taken = ~np.isnan(known) & (places == record.arms.place[arm])
            if not waits.all() or taken.any() or len(np.unique(positions)) < len(some["values"]):
                raise StateError(f"lease {lease.first} does not wait for these rewards of arm {arm!r}")


def record_report(
    record: Record, lease: Lease, facts: Mapping[str, Any], now: float, given: Container[str] = ()
) -> None:
    """Record a report of a lease, whether it has just arrived or is read from a log."""
    added = facts["played"] - lease.played
    if added > 0:
        _count_played(record, lease, facts, added, now)
    if facts["late"] or facts["rewards"]:
        record.count_history.received = now
    for arm, some in facts["late"].items():
        record.statistics.late[record.arms.place[arm]] += float(len(some["positions"]))
        lease.fill(record.arms.place[arm], some)
        if record.missing == "zero":
            zeros = np.zeros(len(some["positions"]))
            lease_scores.learn(record, lease, record.arms.place[arm], np.array(some["positions"]), zeros, times=-1.0)
    for arm, some in facts["rewards"].items():
        lease.fill(record.arms.place[arm], some)
    if added > 0:
        lease_scores.guess(record, lease)
    for arm, some in facts["rewards"].items():
        positions, known = np.array(some["positions"], dtype=np.int64), np.array(some["values"], dtype=float)
        lease_scores.learn(record, lease, record.arms.place[arm], positions, known)
    _take_rewards(record, lease, *_flat(record, facts["rewards"]), given)
    if facts["finished"]:
        record_return(record, lease)
    record.leases.forget()


def _count_played(record: Record, lease: Lease, facts: Mapping[str, Any], added: int, now: float) -> None:
    """Count the rounds of a lease that a report says were played, so many more than before."""
    arms = len(record.arms)
    before = lease.reserved(arms)
    lease.columns = np.concatenate([lease.columns, np.array(facts.get("columns", ()), dtype=np.int64)])
    lease.rewards = np.concatenate([lease.rewards, np.full((added, lease.plays), np.nan)])
    time = max(now, lease.reports[-1].time) if lease.reports else now
    counted = not facts.get("uncounted")  # as what is from before there were sums for differences
    table = lease_scores.count_rounds(record, lease, facts["played"], now) if counted else UNCOUNTED
    lease.reports.append(Report(facts["played"], time, added * lease.plays, table))
    packed = Available.of(_grown(lease.available, arms)).packed
    for _ in range(min(added, RECENT)):
        record.availability.add(packed)
    if lease.salt is not None:
        note_deficits(record)
        _recount(record, lease, lease.reserved(arms) - before)


def _take_rewards(record: Record, lease: Lease, places: Places, values: Array, given: Container[str]) -> None:
    """Take the rewards of a report, those of all arms together."""
    if not len(places):
        return
    statistics, arms = record.statistics, len(record.arms)
    received = np.bincount(places, minlength=arms).astype(float)
    statistics.received += received
    statistics.known += received
    statistics.sums += (amounts := np.bincount(places, values, arms))
    record.count_history.credit(lease.first, at := received.nonzero(), received[at], amounts[at])
    sums = np.bincount(places, record.reward_range.scale(values), arms).astype(float)
    record.learn_sums(received, sums, given)
    for one in lease.reports:
        one.missing = lease.missing(one) if one.until > lease.closed else 0


def _flat(record: Record, rewards: Mapping[str, Mapping[str, Sequence[object]]]) -> tuple[Places, Array]:
    """The places of arms, and their rewards."""
    parts = [np.full(len(some["values"]), record.arms.place[arm]) for arm, some in rewards.items()]
    values = [np.array(some["values"], dtype=float) for some in rewards.values()]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), np.concatenate([np.empty(0), *values])


def _grown(available: Mask, arms: int) -> Mask:
    """A mask of all arms; those that were added later were not available."""
    return np.concatenate([available, np.zeros(arms - len(available), dtype=bool)])


def _recount(record: Record, lease: Lease, change: Array, returned: int = 0) -> None:
    """Count other plays of a lease, of which rounds are returned; see `_credit` for promises that began since."""
    begun, later = record.state.begun, sorted(lease.granted)
    advance(record.policy, record.state, change, -float(returned), later)
    record.state.tally.pulls += change
    begun.plays = begun.plays.copy()
    begun.plays[later] += change[later]
    for place in later:
        _credit(record, place, lease.granted[place], -int(change[place]), returned)


def _credit(record: Record, place: int, share: float, plays: int, rounds: int) -> None:
    """What an arm is owed after a later promise began: its plays were charged at the share that was then in force.

    ``D ← D + p − r u``, p being the plays that were charged and are not made, and u the rounds that are not played.
    """
    if share == 0.0:
        return
    begun = record.state.begun
    name = "carried" if record.promised[place] else "waiting"
    account = getattr(begun, name).copy()
    account[place] += plays * BILLION - np.rint(share * rounds * BILLION)
    setattr(begun, name, account)
    record.ledger.give_back(place, plays)


# --- returns and windows ----------------------------------------------------------------------------------------------


def record_return(record: Record, lease: Lease) -> None:
    """Take the rounds of a lease that were not reported out of the account, whether just now or by a log."""
    arms, before, unplayed = len(record.arms), lease.reserved(len(record.arms)), lease.open
    note_deficits(record)
    lease.returned = True
    _recount(record, lease, lease.reserved(arms) - before, unplayed)
    earlier = np.ones(arms, dtype=bool)
    earlier[sorted(lease.granted)] = False
    record.state.begun.rounds = record.state.begun.rounds + unplayed * earlier
    record.returned += unplayed
    record.statistics.missed -= unplayed * np.logical_not(_grown(lease.available, arms))
    later = np.arange(arms) >= len(lease.available)  # arms that were added since, before which the rounds were counted
    record.statistics.added -= unplayed * later
    record.statistics.missed += unplayed * later
    record.leases.forget()


def overdue(record: Record, now: float) -> dict[str, int]:
    """The leases with reported rounds whose window has passed, each with the number of those rounds."""
    window, closed = record.pending.window, dict[str, int]()
    if window is not None:
        for lease in record.leases.values():
            until = [one.until for one in lease.reports if one.missing and one.time + window <= now]
            if until:
                closed[str(lease.first)] = until[-1]
    return closed


def record_closed(record: Record, closed: Mapping[str, int], given: Container[str] = ()) -> None:
    """Record that windows of leased rounds have passed, whether just now or by a log."""
    arms = len(record.arms)
    for id, until in closed.items():
        lease = found(record, id)
        rows, columns = np.isnan(lease.rewards[lease.closed : until]).nonzero()
        begin, places = lease.closed, lease.arms_of(rows + lease.closed)[np.arange(len(rows)), columns]
        lost = np.bincount(places, minlength=arms).astype(float)
        record.statistics.lost += lost
        lease.closed = until
        for report in lease.reports:
            report.missing = report.missing if report.until > until else 0
        if record.missing == "zero":
            for place in np.unique(places).tolist():
                positions = rows[places == place] + begin
                lease_scores.learn(record, lease, place, positions, np.zeros(len(positions)))
            record.statistics.known += lost
            record.count_history.credit(lease.first, at := lost.nonzero(), lost[at])
            record.learn_sums(lost, record.reward_range.scaled([0.0])[0] * lost, given)
    record.leases.forget()
