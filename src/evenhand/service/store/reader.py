"""How events are read: each is checked against the hash of the one before it, also what they say of leased rounds."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, and_, case, select

from evenhand.bandit.leases import Lease
from evenhand.bandit.saved import DAMAGE
from evenhand.core.errors import EvenhandError, StateError
from evenhand.messages.rules import MAX_LEASE
from evenhand.service.store import features, tables
from evenhand.service.store.arms import FORMS, named
from evenhand.service.store.events import KINDS, UPCASTS, VERSION, Event, chained, reader

CHUNK = 5_000  # events per read
LAST = 2**62  # no event has a later sequence
#: The query of the events of all allocations, which are read in their order; see `linked`.
EVENTS = select(*(column for column in tables.events.c if column.name != "allocation"))
_BEFORE = tables.events.alias("before")
#: The same with what the hash of each goes on from: the hash of the event before it, or the body of a state.
_WITH_BEFORE = EVENTS.add_columns(
    case((_BEFORE.c.kind == "state", _BEFORE.c.body), else_=_BEFORE.c.chain).label("before")
).join_from(
    tables.events,
    _BEFORE,
    and_(_BEFORE.c.allocation == tables.events.c.allocation, _BEFORE.c.sequence == tables.events.c.sequence - 1),
    isouter=True,
)


class Place(NamedTuple):
    """A place in the events of an allocation: after one of them, by its sequence and its hash."""

    sequence: int = 0
    chain: str = ""


START = Place()  # before the first event


def found(connection: Connection, names: Sequence[str], *where: ColumnElement[bool]) -> Iterator[Event]:
    """Some events in their order, each checked to follow the one before it, whether that is among them or not."""
    for row in connection.execute(_WITH_BEFORE.where(*where).order_by(tables.events.c.sequence)):
        before = row.before or ""
        if before.startswith("{"):  # the body of a state
            before = _chain_after("state", before, "")
        _check(row, Place(row.sequence - 1 if row.before or row.sequence == 1 else -1, before))
        yield event_of(row, names)


def linked(rows: Iterable[object], at: Place, names: Sequence[str]) -> Iterator[Event]:
    """The events of rows that follow each other, from a place on."""
    for row, _ in places(rows, at):
        yield event_of(row, names)


def places(rows: Iterable[Any], at: Place) -> Iterator[tuple[Any, Place]]:
    """Rows that follow each other, from a place on, each with the place after it."""
    for row in rows:
        _check(row, at)
        at = Place(row.sequence, _chain_after(row.kind, row.body, row.chain))
        yield row, at


def next_rows(
    connection: Connection, id: int, after: int, limit: int | None = None, until: int = LAST
) -> Sequence[Any]:
    """The next rows of events after one, at most so many; some thousands where no limit is given."""
    table = tables.events.c
    where = (table.allocation == id, table.sequence > after, table.sequence <= until)
    rows = connection.execute(EVENTS.where(*where).order_by(table.sequence).limit(limit or CHUNK)).all()
    return features.beside(connection, id, rows)


def place_before(connection: Connection, id: int, sequence: int) -> Place:
    """The place after the last event up to a sequence."""
    table = tables.events.c
    query = EVENTS.where(table.allocation == id, table.sequence <= sequence).order_by(table.sequence.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return START if row is None else Place(row.sequence, _chain_after(row.kind, row.body, row.chain))


def has_event(connection: Connection, id: int, at: Place) -> bool:
    """Whether the event before a place is still there, as it was, or a state in its place."""
    table = tables.events.c
    query = select(table.kind, table.chain).where(table.allocation == id, table.sequence == at.sequence)
    row = connection.execute(query).one_or_none()
    return row is not None and (row.kind == "state" or row.chain == at.chain)


def available_after(connection: Connection, allocation: int, names: Sequence[str]) -> list[tuple[int, list[str]]]:
    """The arms that are not retired, after each round with a change; the first that is known is the first."""
    table = tables.events.c
    available, arms = [], {}
    where = (table.allocation == allocation, table.kind.in_(("create", "change", "state")))
    for event in found(connection, names, *where):
        body = event.body
        match body.get("change"):
            case None if event.kind == "state":
                arms = dict.fromkeys(body["bandit"]["arms"])
                for arm in body["bandit"]["retired"]:
                    del arms[arm]
            case None:
                arms = dict.fromkeys(body["arms"])
            case "add" | "bring_back":
                arms[body["arm"]] = None
            case "retire" | "erase":
                arms.pop(body["arm"], None)
        available.append((event.round or 0, list(arms)))
    return available


@contextmanager
def damage_as_state_error() -> Iterator[None]:
    """Raise a `StateError` for any error that damaged events cause."""
    try:
        yield
    except EvenhandError:
        raise
    except DAMAGE as error:
        raise StateError(f"the events are damaged: {error!r}") from None


def _check(row: Any, at: Place) -> None:
    """Refuse a row that does not follow a place, or is not as it was written."""
    states = row.kind == "state"
    if row.sequence != at.sequence + 1 and not states:
        missing = at.sequence + 1 if at.sequence >= 0 else row.sequence - 1
        raise StateError(f"event {missing} is missing; event {row.sequence} comes next")
    hashed = (row.sequence, row.time, row.kind, row.round, row.version, row.body, row.key)
    if row.chain != chained("" if states else at.chain, *hashed):
        raise StateError(f"event {row.sequence} ({row.kind}) was edited, or events before it were exchanged")
    if states and at.sequence >= 0 and json.loads(row.body)["replaces"] > at.sequence + 1:
        raise StateError(f"event {at.sequence + 1} is missing; event {row.sequence} does not replace it")


def _chain_after(kind: str, body: str, chain: str) -> str:
    """What the hash of the next event goes on from."""
    if kind != "state":
        return chain
    with damage_as_state_error():
        return str(json.loads(body)["chain"])


def event_of(row: Any, names: Sequence[str]) -> Event:
    """The event of a row of its table, brought up to the present version."""
    label = f"event {row.sequence} ({row.kind})"
    if row.kind not in KINDS:
        raise StateError(f"{label} has an unknown kind; this version of Evenhand knows {', '.join(KINDS)}")
    if row.version > VERSION:
        raise StateError(f"{label} has version {row.version}; this version of Evenhand reads up to {VERSION}")
    try:
        text = row.body
        if row.version < VERSION:
            body = json.loads(text)
            for version in range(row.version, VERSION):
                body = UPCASTS.get((row.kind, version), dict)(body)
            text = json.dumps(body)
        body = _body(row.kind, text, names)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StateError(f"{label} is damaged: {where or 'its body'}: {first['msg']}") from None
    except (EvenhandError, *DAMAGE) as error:
        raise StateError(f"{label} is damaged: {error}") from None
    chain = body["chain"] if row.kind == "state" else row.chain
    return Event(row.sequence, row.time, row.kind, row.round, body, chain, row.key, getattr(row, "features", {}))


def _body(kind: str, text: str, names: Sequence[str]) -> Any:
    """The body of an event, with the names of arms in place of their numbers."""
    if kind == "change":  # its types are those of the change, in which arms have names
        return reader(kind).validate_python(named(FORMS[kind], json.loads(text), names), strict=True)
    body = reader(kind).validate_json(text, strict=True)
    return named(FORMS[kind], body, names) if kind in FORMS else body


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
