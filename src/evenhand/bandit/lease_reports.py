"""How a bandit takes reports of leased rounds, and gives back those that were not played."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.bandit import lease_scores
from evenhand.bandit.arms import RECENT, Available
from evenhand.bandit.lease_rounds import note_deficits
from evenhand.bandit.leases import Lease, Places, Report
from evenhand.bandit.pending import RewardError
from evenhand.bandit.record import Record
from evenhand.bandit.scores import UNCOUNTED
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.state import Array, Mask
from evenhand.messages import answers
from evenhand.messages.answers import moment, rfc3339
from evenhand.policy.accounts import BILLION
from evenhand.policy.memories import advance

Rewards = Mapping[str, tuple[Sequence[int], Sequence[float]]]  # positions and values by arm
Found = dict[str, tuple[Places, Array]]  # the same as arrays


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


def _sorted_out(record: Record, lease: Lease, added: Places, played: int, rewards: Rewards) -> tuple[Found, Found, int]:
    """The rewards that are new, those that are late, and how many are known already; refuses all if one is wrong."""
    new, late, duplicates = Found(), Found(), 0
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


def _size(rewards: Found) -> int:
    return sum(len(positions) for positions, _ in rewards.values())


def _listed(rewards: Found) -> dict[str, dict[str, list[Any]]]:
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
    late, new = (_by_place(record, facts[kind]) for kind in ("late", "rewards"))
    if late or new:
        record.count_history.received = now
    for place, (positions, values) in late.items():
        record.statistics.late[place] += float(len(positions))
        lease.fill(place, positions, values)
        if record.missing == "zero":
            lease_scores.learn(record, lease, place, positions, np.zeros(len(positions)), times=-1.0)
    for place, (positions, values) in new.items():
        lease.fill(place, positions, values)
    if added > 0:
        lease_scores.guess(record, lease)
    for place, (positions, values) in new.items():
        lease_scores.learn(record, lease, place, positions, values)
    _take_rewards(record, lease, new, given)
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


def _take_rewards(record: Record, lease: Lease, new: Mapping[int, tuple[Places, Array]], given: Container[str]) -> None:
    """Take the rewards of a report, those of all arms together."""
    if not new:
        return
    places = np.repeat(list(new), [len(values) for _, values in new.values()])
    values = np.concatenate([values for _, values in new.values()])
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


def _by_place(record: Record, rewards: Mapping[str, Mapping[str, Any]]) -> dict[int, tuple[Places, Array]]:
    """Positions and rewards by the places of arms, of what `_listed` described."""
    return {
        record.arms.place[arm]: (np.array(some["positions"], dtype=np.int64), np.array(some["values"], dtype=float))
        for arm, some in rewards.items()
    }


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
