"""How a bandit takes over what a log says has happened, without deciding or judging anything again.

What parts of the policy remember comes from the log as well (see `Recorder`), except where it follows from counting.
So the state after an event is the same on every computer, and with every later version of the algorithms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.bandit import changes, decisions, lease_reports, lease_rounds, rewards
from evenhand.bandit.ledger import BEHIND, Promised, Stated, holder_of
from evenhand.bandit.propensities import copied
from evenhand.bandit.record import Record
from evenhand.bandit.saved import changed, difference
from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.state import Decision, unkept
from evenhand.messages.changes import ChangeRecord

if TYPE_CHECKING:
    from evenhand.bandit.contexts import Pull


def recorded_slots(record: Record) -> tuple[str, ...]:
    """The slots of the parts whose memory a log must record: all that have one, unless it says that it is exact."""
    return tuple(slot for slot in record.policy.recorded if getattr(record.state, slot) is not None)


class Recorder:
    """Says how the memories of the parts have changed since it was last asked, for a log."""

    def __init__(self, record: Record) -> None:
        self._record, self.slots = record, recorded_slots(record)
        self.mark()

    def mark(self) -> None:
        """Count changes from here."""
        state = self._record.state
        self._before = {slot: copied(getattr(state, slot)) for slot in self.slots}

    def changes(self) -> dict[str, Any]:
        """For each slot whose part remembers something else than before, the `difference`; and mark."""
        state = self._record.state
        differences = {slot: difference(self._before[slot], getattr(state, slot)) for slot in self.slots}
        found = {slot: part for slot, part in differences.items() if part is not None}
        for slot in found:
            if fault := unkept(self._record.policy.parts[slot], self._before[slot], getattr(state, slot)):
                raise EvenhandError(fault)
            self._before[slot] = copied(getattr(state, slot))
        return found


def replay_decision(
    record: Record,
    round: int,
    arms: Sequence[str],
    now: float,
    *,
    available: Sequence[str] | None = None,
    propensity: Sequence[float] | None = None,
    silent: bool = False,
    least: float = 0.0,
    uncounted: bool = False,
    pull: Pull | None = None,
    spread: float | None = None,
    eta: float | None = None,
) -> None:
    """Record a decision of a log; ``pull`` has the features, which stand beside it, and ``eta`` is for its readers."""
    if round != record.state.clock:
        raise StateError(f"it is of round {round}, which should be {record.state.clock}")
    given, able = recorded_slots(record), record.arms.available(available)
    places = [record.arms.place[arm] for arm in arms]
    played, inclusion = np.zeros(len(record.arms), dtype=bool), np.zeros(len(record.arms))
    played[places] = True
    if len(places) != np.count_nonzero(played & able.arms) or len(places) > record.plays:
        raise StateError(f"{', '.join(arms)} cannot have played: they were not all available, or are too many")
    inclusion[places] = 1.0 if propensity is None else propensity
    if silent:
        record.learn_rewards([], [], [], given)
    decision = Decision(round, played, inclusion, able.mask, inclusion, places=places)
    if spread is not None:
        decision.spread = np.array([spread])
    if record.contexts is not None:
        if pull is None:
            raise StateError("its features are erased: what is later follows from a state that was saved since")
        if record.policy.contextual:
            decision.situation, decision.arms = record.contexts.observed(pull, places, len(record.arms))
    decisions.apply(record, decision, able, now, given, least, not uncounted, pull)


def replay_rewards(
    record: Record, decision: str, values: Mapping[str, float], late: Sequence[str], now: float, unlearned: bool = False
) -> None:
    """Record the rewards of a decision of a log; ``unlearned`` where its features were erased before they arrived."""
    entry = record.find(decision)
    if entry is None:
        raise StateError(f"there is no decision {decision!r} among those that are remembered")
    for arm in values:
        if entry.rewards.get(arm, 0.0) is not None or entry.closed != (arm in late):
            raise StateError(f"decision {decision} does not wait for a reward of arm {arm!r}")
    erased = [entry.round] if unlearned else []
    if not entry.closed:
        _check_features(record, [entry.round], erased)
    rewards.take(record, entry, list(values.items()), now, recorded_slots(record), erased)


def replay_total(record: Record, round: int, value: float) -> None:
    """Record the total of a round of a log."""
    if round != record.state.round or not record.pending.is_waiting(round):
        raise StateError(f"it is of round {round}, which should be {record.state.round}")
    rewards.record_total(record, value, recorded_slots(record))


def replay_expiry(
    record: Record,
    closed: Mapping[str, Sequence[str]],
    leases: Mapping[str, int] | None = None,
    returned: Sequence[str] = (),
    unlearned: Sequence[int] = (),
) -> None:
    """Record that the windows of decisions have passed, by a log."""
    for name, arms in closed.items():
        entry = record.pending.find(name)
        missing = [] if entry is None else [arm for arm, reward in entry.rewards.items() if reward is None]
        if entry is None or not record.pending.is_waiting(entry.round) or missing != list(arms):
            raise StateError(f"decision {name} does not wait for rewards of {', '.join(arms)}")
    for id, until in (leases or {}).items():
        if not lease_reports.found(record, id).closed < until <= lease_reports.found(record, id).played:
            raise StateError(f"lease {id} has no {until} rounds that wait for rewards")
    for id in returned:
        if not lease_reports.found(record, id).open:
            raise StateError(f"lease {id} has no rounds that could be returned")
    if record.missing == "zero":
        _check_features(record, [int(id) for id in closed], unlearned)
    facts = {"closed": closed, "leases": leases or {}, "returned": returned, "unlearned": unlearned}
    rewards.record_expiry(record, facts, recorded_slots(record))


def _check_features(record: Record, rounds: Sequence[int], unlearned: Sequence[int]) -> None:
    """Refuse rewards from which the policy has learned, where the features are erased now."""
    lacking = record.erased(rounds) - set(unlearned)
    if lacking:
        raise StateError(
            f"the features of decision {min(lacking)} are erased: what is later follows from a state that was saved "
            "since"
        )


def replay_lease(record: Record, round: int, facts: Mapping[str, Any], now: float) -> None:
    """Record a lease of a log."""
    if round != record.state.clock:
        raise StateError(f"it begins with round {round}, which should be {record.state.clock}")
    counts, size, plays = facts["counts"], facts["decisions"], facts["plays"]
    fills = sum(counts) == size * plays and all(0 < count <= size for count in counts)
    if not fills or not 0 < plays <= record.plays or not 0 <= facts["start"] < size or not 0 < facts["step"] <= size:
        raise StateError(f"its counts do not fill {size} rounds")
    able = record.arms.available(facts.get("available"))
    places = [record.arms.place[arm] for arm in facts["arms"]]
    if not len(set(places)) == len(places) == len(counts) or not able.arms[places].all():
        raise StateError(f"{', '.join(facts['arms'])} cannot have been leased: they were not all available")
    lease_rounds.record_lease(record, facts, able, now)


def replay_report(record: Record, id: str, facts: Mapping[str, Any], now: float) -> None:
    """Record a report of a lease of a log."""
    lease = lease_reports.found(record, id)
    if facts["played"] < lease.played or facts["played"] > (lease.played if lease.returned else lease.size):
        raise StateError(f"lease {id} has {lease.played} rounds that were reported, not up to {facts['played']}")
    if len(facts.get("columns", ())) != (0 if lease.salt is None else facts["played"] - lease.played):
        raise StateError(f"lease {id} has other columns")
    lease_reports.check_recorded(record, lease, facts)
    if facts["finished"] and lease.size <= facts["played"]:
        raise StateError(f"lease {id} has no rounds that could be returned")
    lease_reports.record_report(record, lease, facts, now, recorded_slots(record))


def replay_change(record: Record, change: ChangeRecord, now: float, key: str = "") -> None:
    """Record a change of arms or promises of a log; promises were feasible when they were made."""
    kept = {slot: getattr(record.state, slot) for slot in recorded_slots(record)}
    changes.make(record, change, now, replayed=True, key=key)
    for slot, part in kept.items():
        setattr(record.state, slot, part)


def replay_alarm(record: Record, alarm: str, promises: Sequence[Mapping[str, Any]], now: float) -> None:
    """Take over what was stated of promises."""
    for one in promises:
        promise: Promised = one["promise"], holder_of(one, record.arms.place)
        if (promise in record.alarms) == (alarm == BEHIND):
            raise StateError(f"it says {alarm} of a promise of which that was said before, or nothing: {promise}")
        if alarm == BEHIND:
            record.alarms[promise] = Stated(now, int(record.state.round))
        else:
            del record.alarms[promise]


def replay_memory(record: Record, patches: Mapping[str, object]) -> None:
    """Take over what parts of the policy remember, as a `Recorder` described it."""
    known = recorded_slots(record)
    for slot, part in patches.items():
        if slot not in known:
            raise StateError(f"the part {slot!r} of {record.label} has no memory to be recorded")
        setattr(record.state, slot, changed(getattr(record.state, slot), part))
