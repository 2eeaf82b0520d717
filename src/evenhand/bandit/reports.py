"""How a bandit takes reports of leased rounds, and takes back those that were not played."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.bandit.arms import Available
from evenhand.bandit.availability import RECENT
from evenhand.bandit.lease_rounds import note_deficits
from evenhand.bandit.leases import Lease, Places, Report
from evenhand.bandit.pending import RewardError
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.state import Array, Mask
from evenhand.messages import answers
from evenhand.messages.answers import moment, rfc3339

Rewards = Mapping[str, tuple[Sequence[int], Sequence[float]]]  # positions and values by arm


class LeaseError(EvenhandError):
    """A lease is unknown, or what was reported of it cannot be.

    Attributes:
        status: ``"unknown"`` where there is no such lease; ``"over"`` where its time for reports is over;
            ``"conflict"`` where something else was reported before.

    Example:
        >>> LeaseError("there is no lease '7'", "unknown").status
        'unknown'
    """

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


def found(record: Record, id: str) -> Lease:
    """A lease by its id.

    Args:
        record: of the bandit.
        id: of the lease.

    Returns:
        The lease.

    Raises:
        LeaseError: there is no such lease among those that are remembered.
    """
    lease = record.leases.get(id) if isinstance(id, str) else None
    if lease is None:
        raise LeaseError(f"there is no lease {id!r} among those that are remembered", "unknown")
    return lease


def report(
    record: Record,
    id: str,
    played: int,
    rewards: Rewards,
    columns: Sequence[int] | None,
    finished: bool,
    now: float,
) -> tuple[answers.LeaseReport, dict[str, Any] | None]:
    """Take a report of a lease; see `evenhand.bandit.Bandit.report`.

    Args:
        record: of the bandit.
        id: of the lease.
        played: number of its decisions that were played so far.
        rewards: by arm, the positions with rewards, counted from 0, and these rewards, in your unit.
        columns: of the decisions that were not reported yet, of a lease for units.
        finished: whether no more will be played.
        now: seconds since the epoch.

    Returns:
        What was taken, and the facts that a log must have of it, for `evenhand.bandit.replay.replay_report`;
        None where nothing was new.
    """
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
        known = _known(lease, positions, record.arms.place[arm])
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


def _known(lease: Lease, positions: Places, place: int) -> Array:
    """The rewards that are known of an arm at some positions; NaN where there is none."""
    known = np.full(len(positions), np.nan)
    inside = positions < len(lease.rewards)
    hit = lease.arms_of(positions[inside]) == place
    known[inside] = lease.rewards[positions[inside]][hit]
    return known


def _size(rewards: Mapping[str, tuple[Places, Array]]) -> int:
    return sum(len(positions) for positions, _ in rewards.values())


def _listed(rewards: Mapping[str, tuple[Places, Array]]) -> dict[str, dict[str, list[Any]]]:
    return {arm: {"positions": at.tolist(), "values": values.tolist()} for arm, (at, values) in rewards.items()}


def check_recorded(record: Record, lease: Lease, facts: Mapping[str, Any]) -> None:
    """Refuse a report of a log with rewards for which the lease does not wait.

    Args:
        record: of the bandit.
        lease: that is reported.
        facts: of the report, as `report` returns them.

    Raises:
        StateError: it has such rewards.
    """
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
    """Record a report of a lease, whether it has just arrived or is read from a log.

    Args:
        record: updated in place.
        lease: that it is of.
        facts: what is new in it.
        now: seconds since the epoch.
        given: slots of the parts that do not learn from it; see `evenhand.Policy.observe`.
    """
    added, arms = facts["played"] - lease.played, len(record.arms)
    if added > 0:
        before = lease.reserved(arms)
        lease.columns = np.concatenate([lease.columns, np.array(facts.get("columns", ()), dtype=np.int64)])
        lease.rewards = np.concatenate([lease.rewards, np.full((added, lease.plays), np.nan)])
        time = max(now, lease.reports[-1].time) if lease.reports else now
        lease.reports.append(Report(facts["played"], time, added * lease.plays))
        packed = Available.of(_grown(lease.available, arms)).packed
        for _ in range(min(added, RECENT)):
            record.availability.add(packed)
        if lease.salt is not None:
            _recount(record, lease, lease.reserved(arms) - before)
    statistics = record.statistics
    if facts["late"] or facts["rewards"]:
        record.count_history.received = now
    for arm, some in facts["late"].items():
        statistics.late[record.arms.place[arm]] += float(len(some["positions"]))
        _write(lease, record.arms.place[arm], some)
    places, values = _flat(record, facts["rewards"])
    if len(places):
        for arm, some in facts["rewards"].items():
            _write(lease, record.arms.place[arm], some)
        received = np.bincount(places, minlength=arms).astype(float)
        statistics.received += received
        statistics.known += received
        statistics.sums += np.bincount(places, values, arms)
        low, high = record.reward_range
        sums = np.bincount(places, (values - low) / (high - low), arms).astype(float)
        record.learn_sums(received, sums, given)
        for one in lease.reports:
            one.missing = lease.missing(one) if one.until > lease.closed else 0
    if facts["finished"]:
        record_return(record, lease)
    record.leases.forget()


def _write(lease: Lease, place: int, some: Mapping[str, Sequence[Any]]) -> None:
    """Write rewards of an arm into the table of a lease."""
    positions = np.array(some["positions"], dtype=np.int64)
    rows, columns = (lease.arms_of(positions) == place).nonzero()
    lease.rewards[positions[rows], columns] = np.array(some["values"], dtype=float)


def _flat(record: Record, rewards: Mapping[str, Mapping[str, Sequence[Any]]]) -> tuple[Places, Array]:
    """The places of arms, and their rewards."""
    parts = [np.full(len(some["values"]), record.arms.place[arm]) for arm, some in rewards.items()]
    values = [np.array(some["values"], dtype=float) for some in rewards.values()]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), np.concatenate([np.empty(0), *values])


def _grown(available: Mask, arms: int) -> Mask:
    """A mask of all arms; those that were added later were not available."""
    return np.concatenate([available, np.zeros(arms - len(available), dtype=bool)])


def _recount(record: Record, lease: Lease, change: Array, rounds: float = 0.0) -> None:
    """Count other plays of a lease; a promise that has begun since does not know of them."""
    fresh = sorted(lease.fresh)
    record.policy.advance(record.state, change, rounds, fresh)
    record.state.tally.pulls += change
    record.state.begun.pulls[fresh] += change[fresh]


# --- returns and windows ----------------------------------------------------------------------------------------------


def record_return(record: Record, lease: Lease) -> None:
    """Take the rounds of a lease that were not reported out of the account, whether just now or by a log.

    Their plays are counted no more, and for the promises that they were meant for it is as if there had been no such
    rounds.

    Args:
        record: of the bandit.
        lease: whose rounds are returned.
    """
    arms, before, unplayed = len(record.arms), lease.reserved(len(record.arms)), lease.open
    note_deficits(record)
    lease.returned = True
    _recount(record, lease, lease.reserved(arms) - before, -float(unplayed))
    earlier = np.ones(arms, dtype=bool)
    earlier[sorted(lease.fresh)] = False
    record.state.begun.rounds += unplayed * earlier
    record.statistics.missed -= unplayed * np.logical_not(_grown(lease.available, arms))
    record.leases.forget()


def overdue(record: Record, now: float) -> dict[str, int]:
    """The leases with reported rounds whose window has passed, each with the number of those rounds.

    Args:
        record: of the bandit.
        now: seconds since the epoch.

    Returns:
        Numbers of rounds, counted from the first of the lease, by the ids of leases.
    """
    window, closed = record.pending.window, dict[str, int]()
    if window is not None:
        for lease in record.leases:
            until = [one.until for one in lease.reports if one.missing and one.time + window <= now]
            if until:
                closed[str(lease.first)] = until[-1]
    return closed


def record_closed(record: Record, closed: Mapping[str, int], given: Container[str] = ()) -> None:
    """Record that windows of leased rounds have passed, whether just now or by a log.

    Args:
        record: updated in place.
        closed: by lease the number of its rounds whose windows have passed.
        given: slots of the parts that do not learn from it; see `evenhand.Policy.observe`.
    """
    arms = len(record.arms)
    for id, until in closed.items():
        lease = found(record, id)
        rows, columns = np.isnan(lease.rewards[lease.closed : until]).nonzero()
        places = lease.arms_of(rows + lease.closed)[np.arange(len(rows)), columns]
        lost = np.bincount(places, minlength=arms).astype(float)
        record.statistics.lost += lost
        lease.closed = until
        for report in lease.reports:
            report.missing = report.missing if report.until > until else 0
        if record.missing == "zero":
            record.statistics.known += lost
            record.learn_sums(lost, record.reward_range.scaled(0.0) * lost, given)
    record.leases.forget()
