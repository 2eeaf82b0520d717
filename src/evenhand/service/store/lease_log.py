"""What the events say of leased rounds: who played, and with which rewards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from evenhand.bandit.leases import Lease
from evenhand.messages.rules import MAX_LEASE
from evenhand.service.store import tables
from evenhand.service.store.events import Event
from evenhand.service.store.reader import found


@dataclass(frozen=True)
class LeasedRound:
    """A leased round that was played, as events: what was decided, and the rewards that were reported with it."""

    decided: Event
    rewarded: Event | None


class LeaseLog:
    """The leased rounds of an allocation, by its events."""

    def __init__(self, id: int) -> None:
        self._id = id
        self._states: list[Event] | None = None  # that stand for events
        self._last: tuple[int, _Played] | None = None  # the lease that was read last, with its first round

    def rounds(self, connection: Connection, names: Sequence[str], first: int, last: int) -> Iterator[LeasedRound]:
        """The leased rounds from one to another that were played, in order."""
        for event in self._granted(connection, names, first, last):
            round = event.round or 0
            if self._last is None or self._last[0] != round:
                self._last = round, _Played(event, self._reports(connection, names, round))
            played = self._last[1]
            for position in range(max(first - round, played.since), min(last - round + 1, played.until)):
                yield played.at(position)

    def _granted(self, connection: Connection, names: Sequence[str], first: int, last: int) -> list[Event]:
        """The leases that have some of these rounds; of a state that stands for events, those that were open."""
        table = tables.events.c
        where = (table.allocation == self._id, table.round > first - MAX_LEASE, table.round <= last)
        granted = {event.round or 0: event for event in found(connection, names, *where, table.kind == "lease")}
        if self._states is None:
            states = (table.allocation == self._id, table.kind == "state")
            self._states = list(found(connection, names, *states))
        for state in self._states:
            for lease in state.body["bandit"]["leases"]:
                granted.setdefault(lease["first"], _of_state(state, lease))
        events = [event for _, event in sorted(granted.items())]
        return [event for event in events if first - event.body["decisions"] < (event.round or 0) <= last]

    def _reports(self, connection: Connection, names: Sequence[str], round: int) -> list[Event]:
        table = tables.events.c
        where = (table.allocation == self._id, table.round == round, table.kind == "report")
        return list(found(connection, names, *where))


def _of_state(state: Event, lease: Mapping[str, Any]) -> Event:
    """The event of a lease that a state has; the rounds that were reported before it are not known any more."""
    names = state.body["bandit"]["arms"]
    facts = {name: lease[name] for name in ("counts", "plays", "start", "step", "salt")}
    facts |= {"decisions": lease["size"], "arms": [names[place] for place in lease["places"]]}
    facts |= {"available": [name for name, able in zip(names, lease["available"], strict=False) if able]}
    reported = lease["reports"][-1][0] if lease["reports"] else 0
    return Event(state.sequence, state.time, "lease", lease["first"], facts | {"reported": reported})


class _Played:
    """The rounds of a lease that were played."""

    def __init__(self, event: Event, reports: Sequence[Event]) -> None:
        body, self._event, self._reports = event.body, event, reports
        self.until = reports[-1].body["played"] if reports else 0
        self.since, self._ends = body.get("reported", 0), [report.body["played"] for report in reports]
        self._lease = Lease.of(event.round or 0, body, np.arange(len(body["arms"])), np.empty(0, dtype=bool))
        self._lease.columns = np.zeros(self.until, dtype=np.int64)
        self._rewards: dict[int, dict[str, float]] = {}
        self._late: dict[int, list[str]] = {}
        for report in reports:
            until, columns = report.body["played"], report.body.get("columns", ())
            self._lease.columns[until - len(columns) : until] = columns
            for kind in ("rewards", "late"):
                for arm, some in report.body[kind].items():
                    for position, value in zip(some["positions"], some["values"], strict=True):
                        self._rewards.setdefault(position, {})[arm] = value
                        if kind == "late":
                            self._late.setdefault(position, []).append(arm)

    def at(self, position: int) -> LeasedRound:
        """One of them."""
        body, round = self._event.body, (self._event.round or 0) + position
        time = self._reports[bisect_right(self._ends, position)].time
        places = self._lease.arms_of(np.array([position]))[0].tolist()
        places.sort(key=lambda place: -body["counts"][place])
        facts = {
            "arms": [body["arms"][place] for place in places],
            "propensity": [body["counts"][place] / body["decisions"] for place in places],
        }
        if "available" in body:
            facts["available"] = body["available"]
        rewards, late = self._rewards.get(position), self._late.get(position, [])
        rewarded = None if rewards is None else self._event._replace(body={"rewards": rewards, "late": late})
        return LeasedRound(Event(self._event.sequence, time, "decide", round, facts), rewarded)
