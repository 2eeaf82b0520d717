"""Whether a database holds what its events say; reads only."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select, text

from evenhand.bandit import saved
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.health import due
from evenhand.bandit.decisions import decided_again
from evenhand.bandit.lease_rounds import planned
from evenhand.bandit.record import Record
from evenhand.bandit.saved import DAMAGE, FORMAT
from evenhand.core.errors import MissingPart, StateError
from evenhand.core.files import whole
from evenhand.core.imports import import_source
from evenhand.core.version import __version__
from evenhand.messages.rules import ALLOCATION, matches
from evenhand.service.store import features, seals, summaries, tables
from evenhand.service.store.allocation import first_event, row_values
from evenhand.service.store.arms import read_names
from evenhand.service.store.checked import RENAMED
from evenhand.service.store.database import Database
from evenhand.service.store.errors import UnknownAllocation
from evenhand.service.store.events import Event, created_by, fold
from evenhand.service.store.reader import Place, linked, next_rows, place_before
from evenhand.service.store.snapshots import Snapshot, unpacked

MANY = 20_000  # events from which on more processes, each of which takes a second to start, save time
STATES = "evenhand verified 1"  # format of a file of states


@dataclass(frozen=True)
class Verification:
    """What was found."""

    events: dict[str, int]
    since: dict[str, int]
    faults: tuple[str, ...]


def verify(
    database: Database,
    names: Sequence[str] = (),
    redecide: bool = False,
    *,
    jobs: int = 1,
    sources: Sequence[str] = (),
    onward: Path | None = None,
    checksum: str | None = None,
) -> Verification:
    """Apply all events again, and compare the result with everything else that the database says.

    Args:
        database: is only read.
        names: of allocations; all, and the database's own consistency, where there is none.
        redecide: whether to decide every round again as well, and compare; equal decisions can be expected only of a
            computer with a like processor, the same NumPy, and the same version of Evenhand.
        jobs: processes at most, each with an allocation at a time; -1 for every core.
        sources: files or modules with parts of your own, which these processes import.
        onward: a file with the states that were verified the last time; those of allocations whose last event is still
            there are gone on from, and the file is written anew. None begins with the first events.
        checksum: that an event must have, as a report names it; None for none.

    Returns:
        The number of verified events by allocation, since which round each has its events, and the faults that were
            found.

    Raises:
        EvenhandError: it is not a database of the service, or one of a later version.
        UnknownAllocation: there is no allocation of a given name.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Decide(count=3))
        >>> verify(store.database)
        Verification(events={'drinks': 4}, since={'drinks': 1}, faults=())
        >>> store.close()
    """
    database.check_version()
    with database.transaction(writes=False) as connection:
        faults = [] if names else list(_database_faults(connection))
        rows = _rows(connection, names)
        faults += [] if checksum is None else _checksum_faults(connection, rows, checksum)
    states = {} if onward is None else _read_states(onward)
    tasks = [(row.name, redecide, None if onward is None else states.get(row.name, "")) for row in rows]
    processes = min(len(tasks), jobs if jobs > 0 else os.cpu_count() or 1)
    if processes < 2 or sum(row.sequence for row in rows) < MANY:
        replays = [_replayed(database, *task) for task in tasks]
    else:
        begin = partial(_begin, database.url.render_as_string(hide_password=False), database.read_only, tuple(sources))
        with ProcessPoolExecutor(processes, get_context("spawn"), begin) as pool:
            replays = list(pool.map(_replayed_here, tasks))
    faults += [f"allocation {one.name!r}: {fault}" for one in replays for fault in one.faults]
    good = [one for one in replays if not one.faults]
    if onward is not None:
        _write_states(onward, states | {one.name: one.state for one in replays})
    return Verification({one.name: one.events for one in good}, {one.name: one.since for one in good}, tuple(faults))


@dataclass(frozen=True)
class Replayed:
    """An allocation whose events were applied: its faults, and a state in order from which the next time can go on."""

    name: str
    faults: tuple[str, ...]
    events: int
    since: int
    state: str


def _replayed(database: Database, name: str, redecide: bool, state: str | None) -> Replayed:
    with database.transaction(writes=False) as connection:
        (row,) = _rows(connection, [name])
        replay = _Replay(connection, row, redecide, state)
        faults = tuple(replay.faults())
        return Replayed(name, faults, replay.events, replay.since, "" if faults else replay.state or "")


_here: list[Database] = []  # of a process that verifies allocations of another one


def _begin(url: str, read_only: bool, sources: Sequence[str]) -> None:
    for source in sources:
        import_source(source)
    _here.append(Database(url, read_only))


def _replayed_here(task: tuple[str, bool, str | None]) -> Replayed:
    return _replayed(_here[0], *task)


def _read_states(path: Path) -> dict[str, str]:
    """The states in a file, by the names of allocations; none where there is no such file yet."""
    if not path.exists():
        return {}
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] == STATES:
            return {str(name): str(state) for name, state in plain["states"].items()}
    except (OSError, *DAMAGE) as error:
        raise StateError(f"{path} is not a file of states that were verified: {error!r}") from None
    raise StateError(f"{path} is not a file of states that were verified")


def _write_states(path: Path, states: Mapping[str, str]) -> None:
    text = json.dumps({"format": STATES, "states": states})
    try:
        with whole(path, private=True) as file:
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StateError(f"the states could not be written to {path}: {error.strerror or error}") from None


def _rows(connection: Connection, names: Sequence[str]) -> list[Row[Any]]:
    query, name_of = select(tables.allocations), tables.allocations.c.name
    if not names:
        return list(connection.execute(query.order_by(name_of)))
    able = [name for name in names if matches(ALLOCATION, name)]  # not every string can be used in a query
    known = {row.name: row for row in connection.execute(query.where(name_of.in_(able)))}
    for name in names:
        if name not in known:
            raise UnknownAllocation(f"there is no allocation {name!r}")
    return [known[name] for name in names]


def _database_faults(connection: Connection) -> Iterator[str]:
    """What is wrong with the file, and rows that belong to no allocation."""
    if connection.dialect.name == "sqlite":
        for (line,) in connection.execute(text("PRAGMA integrity_check(10)")):
            if line != "ok":
                yield f"SQLite reports that the file is damaged: {line}"
    known = select(tables.allocations.c.id)
    for table in tables.OF_ALLOCATION:
        strays = select(func.count()).select_from(table).where(table.c.allocation.not_in(known))
        if count := connection.execute(strays).scalar_one():
            yield f"{count:,} rows of {table.name} belong to no allocation"


def _checksum_faults(connection: Connection, rows: Sequence[Row[Any]], checksum: str) -> list[str]:
    """Whether no event of some allocations has the checksum; that it is the right one, follows from the replay."""
    table, ids = tables.events.c, [row.id for row in rows]
    query = select(table.sequence).where(table.allocation.in_(ids), table.chain == checksum.strip().lower())
    found = connection.execute(query).first() is not None
    return [] if found else [f"no event has the checksum {checksum!r}: the events are others, or are not kept any more"]


class _Replay:
    """Applies the events of an allocation again, and compares."""

    def __init__(self, connection: Connection, row: Row[Any], redecide: bool, state: str | None) -> None:
        self._connection, self._row, self._redecide, self.state = connection, row, redecide, state
        self.events, self.since = 0, 1

    def faults(self) -> Iterator[str]:
        """What is wrong; what follows from an earlier fault is left out."""
        table = tables.snapshots.c
        query = select(table.sequence, table.state).where(table.allocation == self._row.id)
        first: Event | None = None
        last: Event | None = None
        sealed: dict[int, str] = {}
        try:
            names = read_names(self._connection, self._row.id)
            bandit, closed, begun = self._begun(names)
            snapshots = {one.sequence: one.state for one in self._connection.execute(query) if one.sequence >= begun}
            for last in _events(self._connection, self._row.id, names, begun - 1):
                if last.sequence != begun:
                    if self._redecide and bandit is not None and last.kind in REDECIDED:
                        yield from REDECIDED[last.kind](bandit, last)
                    bandit, closed = fold(bandit, last, closed)
                if last.sequence in snapshots and bandit is not None:
                    yield from _snapshot_faults(snapshots.pop(last.sequence), last, bandit, closed)
                self.events += 1
                sealed |= features.seals_in(last)
            first = first_event(self._connection, self._row.id, names)
        except (MissingPart, StateError) as error:
            yield str(error)
            return
        if bandit is None or first is None or last is None:
            yield "it has no events"
            return
        self.since = (first.round or 0) + 1
        yield from _row_faults(self._row, bandit, first, last, closed)
        for sequence in snapshots:
            yield f"there is a snapshot after event {sequence}, but no such event"
        yield from self._faults_beside(bandit, names)
        yield from self._summary_faults(bandit, last, closed)
        if not self.state:  # else those of events that were verified before are not read again
            yield from features.faults(self._connection, self._row.id, sealed)
        if self.state is not None:
            reached = Snapshot(last.sequence, last.chain, closed, saved.dump(bandit), (__version__,))
            self.state = b64encode(reached.packed()).decode()

    def _faults_beside(self, bandit: Record, names: Sequence[str]) -> Iterator[str]:
        """What is wrong with the names and the answers that stand beside the events."""
        if bandit.names != names:
            yield f"{len(names):,} arms have a name, but its events result in {len(bandit.names):,} arms"
        if seals.named(self._connection, self._row.id, self._row.name) != self._row.named:
            yield RENAMED
        if seals.answered(self._connection, self._row.id) != self._row.answered:
            yield "its answers to idempotency keys were edited, added or removed"

    def _begun(self, names: Sequence[str]) -> tuple[Record | None, bool, int]:
        """The bandit after the last event that was verified before, whether it is closed, and that event; or none."""
        if self.state:
            known = unpacked(b64decode(self.state), names)
            place = place_before(self._connection, self._row.id, known.sequence)
            if (known.sequence, known.chain, known.versions) == (*place, (__version__,)):
                self.events = known.sequence - first_event(self._connection, self._row.id, names).sequence
                return saved.restored(known.bandit), known.closed, known.sequence
        return None, False, 0

    def _summary_faults(self, bandit: Record, last: Event, closed: bool) -> Iterator[str]:
        """Whether the health that is kept for lists, if it is of the last event, is another one."""
        table = tables.summaries.c
        query = select(table.body).where(table.allocation == self._row.id, table.chain == last.chain)
        body = self._connection.execute(query.where(table.evenhand == __version__)).scalar()
        if body is None:
            return
        kept, now = summaries.parsed(body), summaries.made(bandit, closed, last.time)
        if kept is None or now is None or replace(kept, text="") != replace(now, text=""):  # words may be others by now
            yield "the health that is kept for lists is not the one that its events result in"


def _events(connection: Connection, id: int, names: Sequence[str], after: int) -> Iterator[Event]:
    """The events of an allocation after one, each checked to follow the one before."""
    at = place_before(connection, id, after)
    while rows := next_rows(connection, id, at.sequence):
        for event in linked(rows, at, names):
            at = Place(event.sequence, event.chain)
            yield event


def _redecided(bandit: Record, event: Event) -> Iterator[str]:
    body = event.body
    given: tuple[Any, Any] = (None, None)
    if (contexts := bandit.contexts) is not None:
        given = next((one.given(contexts) for one in event.features.values()), ({}, {}))
    decision = decided_again(bandit, body.get("available"), body.get("silent", False), *given)
    arms = {bandit.names[place] for place in np.flatnonzero(decision.played).tolist()}
    if arms != set(body["arms"]):
        yield (
            f"event {event.sequence}: round {event.round} was decided for {', '.join(body['arms'])}, but this computer "
            f"and version decide for {', '.join(sorted(arms))}"
        )


def _leased_again(bandit: Record, event: Event) -> Iterator[str]:
    body = event.body
    plan = planned(bandit, body["decisions"], bandit.arms.available(body.get("available")))
    counts = {bandit.names[place]: count for place, count in enumerate(plan.counts.tolist()) if count}
    if counts != dict(zip(body["arms"], body["counts"], strict=True)) or plan.start != body["start"]:
        yield f"event {event.sequence}: the lease of round {event.round} is not the one that this computer grants"


def _judged_again(bandit: Record, event: Event) -> Iterator[str]:
    alarm, promises = event.body["alarm"], list(event.body["promises"])
    if due(Account(bandit)).get(alarm) != promises:
        yield f"event {event.sequence}: {alarm} of round {event.round} is not what this computer finds"


#: How events of a kind are decided again.
REDECIDED = {"decide": _redecided, "lease": _leased_again, "alarm": _judged_again}


def _snapshot_faults(packed: bytes, last: Event, bandit: Record, closed: bool) -> Iterator[str]:
    try:
        snapshot = unpacked(packed, bandit.names)
        if snapshot.bandit["format"] != FORMAT:  # of another version, which the events replace
            return
        restored = saved.dump(saved.restored(snapshot.bandit))
    except DAMAGE as error:
        yield f"the snapshot after event {last.sequence} is damaged: {error}"
        return
    if snapshot.versions != (__version__,):  # a later version may count otherwise, and go on from what was counted
        return
    expected = Snapshot(last.sequence, last.chain, closed, saved.dump(bandit), snapshot.versions)
    if replace(snapshot, bandit=restored) != expected:
        yield f"the snapshot after event {last.sequence} differs from the state that the events result in"


def _row_faults(row: Row[Any], bandit: Record, first: Event, last: Event, closed: bool) -> Iterator[str]:
    """Where the row of an allocation says something else than its events."""
    created = created_by(first)["created"]
    expected = row_values(bandit, last.sequence, last.chain, closed) | {"created": created}
    for name, value in expected.items():
        if getattr(row, name) != value:
            yield f"its {name} is recorded as {getattr(row, name)!r}, but its events result in {value!r}"
