"""How events are read: each is checked against the hash of the one before it, for all that read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, and_, case, select

from evenhand.bandit.saved import DAMAGE
from evenhand.core.errors import EvenhandError, StateError
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
