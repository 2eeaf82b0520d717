"""The log of an allocation as a table with one row per play, in the columns that off-policy evaluation reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from evenhand.bandit.audit.health import stated
from evenhand.bandit.contexts import Contexts
from evenhand.bandit.decisions import estimated
from evenhand.bandit.propensities import Propensities
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.files import whole
from evenhand.messages import answers
from evenhand.service.store import tables
from evenhand.service.store.allocation import AllocationRow, all_events, loaded
from evenhand.service.store.arms import read_names
from evenhand.service.store.checked import intact, isolated
from evenhand.service.store.database import Database
from evenhand.service.store.errors import TooMuchWork
from evenhand.service.store.events import Event, fold
from evenhand.service.store.features import Sealed, find
from evenhand.service.store.reader import (
    LeaseLog,
    available_after,
    damage_as_state_error,
    found,
    linked,
    next_rows,
    place_before,
)

if TYPE_CHECKING:
    import pandas as pd

FORMULA = r"\A'*[=+\-@\t\r]"  # with apostrophes before it, so that each is added once and taken away once
COMPUTED = rf"(?!-[\d.]+(?:e[+-]?\d+)?\Z){FORMULA}"  # of a feature, which may be a number below 0
MAX_ROUNDS = 5_000  # per piece
MAX_CHARACTERS = 20_000_000  # of available arms per piece, of which each row has its own copy
COLUMNS = {
    "timestamp": "datetime64[us, UTC]",  # of the decision
    "decision_id": "str",  # which has a row per arm that played
    "item_id": "str",  # the arm
    "position": "int64",  # 1 for the first of the arms of the decision
    "reward": "float64",  # of the arm; missing if none was received
    "rewarded": "datetime64[us, UTC]",  # when it was received; of a round of a lease, when it was reported
    "propensity_score": "float64",  # of the arm; missing if it has no closed form and was not requested
    "available": "str",  # the arms that could play, as a JSON list
    "late": "bool",  # whether the reward was received after the window, so that nothing was learned from it
}


@dataclass(frozen=True)
class LogLimits:
    """The limits of a log."""

    work: int | None = None
    characters: int | None = None
    proceed: Callable[[], None] = lambda: None  # raises once the log is to stop

    def check(self, rounds: int, arms: int, characters: int, estimate: bool) -> None:
        """Refuse a log that is over the limits."""
        remedy = "request fewer rounds with since and until, or use `evenhand export`"
        if estimate and self.work is not None and rounds * arms > self.work:
            raise TooMuchWork(
                f"{rounds:,} rounds among {arms:,} arms have {rounds * arms:,} propensities; a request may estimate at "
                f"most {self.work:,}; {remedy}"
            )
        if self.characters is not None and rounds * characters > self.characters:
            raise TooMuchWork(
                f"each of {rounds:,} rounds repeats the names of {arms:,} arms, {rounds * characters:,} characters in "
                f"all; a request may have at most {self.characters:,}; {remedy}"
            )


NO_LIMITS = LogLimits()


def log(
    database: Database,
    name: str,
    since: int = 1,
    until: int | None = None,
    estimate: bool = False,
    limits: LogLimits = NO_LIMITS,
    features: bool = False,
) -> Iterator[pd.DataFrame]:
    """The log of an allocation, piece by piece; at least one piece, which may be empty.

    With ``features`` there is a column for each feature of the situation, and those of arms stand in ``available``.
    """
    since = validate.whole("since", since)
    with intact(database, name, limit=None) as (connection, row):
        names = read_names(connection, row.id)
        available = [(round, json.dumps(arms)) for round, arms in available_after(connection, row.id, names)]
    last = row.round if until is None else min(validate.whole("until", until), row.round)
    arms = max((names for _, names in available), key=len)
    limits.check(max(0, last - since + 1), arms.count('", "') + 1, len(arms), estimate)
    estimates = _estimates(database, row.id, limits) if estimate else None
    known = _known_features(database, row) if features else None
    return _pieces(database, row, since, last, available, estimates, limits, known)


def write_log(database: Database, name: str, path: Path, estimate: bool = False, features: bool = False) -> int:
    """Write the log to a CSV or Parquet file, which is written whole or not at all."""
    if path.suffix not in (".csv", ".parquet"):
        raise EvenhandError(f"the name of a log must end in .csv or .parquet, got {path.name!r}")
    frames, rows = log(database, name, estimate=estimate, features=features), 0

    def counted() -> Iterator[pd.DataFrame]:
        nonlocal rows
        for frame in frames:
            rows += len(frame)
            yield frame

    try:
        with whole(path) as temporary, temporary.open("wb") as file:
            file.writelines(ENCODERS[path.suffix.removeprefix(".")](counted()))
    except OSError as error:
        raise EvenhandError(f"the log could not be written to {path}: {error.strerror or error}") from None
    return rows


def encoded(format: str, frames: Iterator[pd.DataFrame]) -> Iterator[bytes]:
    """The bytes of a log as a ``csv`` or ``parquet`` file, in pieces; errors are raised before the first piece."""
    pieces = ENCODERS[format](frames)
    return chain([next(pieces)], pieces)


def read_event_page(database: Database, name: str, after: int = 0, limit: int = 100) -> answers.Events:
    """A page of the events of an allocation, without the state of the policy."""
    with intact(database, name) as (connection, row):
        names, at = read_names(connection, row.id), place_before(connection, row.id, after)
        rows = next_rows(connection, row.id, after, limit + 1, row.sequence)  # the next one bears out the last
        events = list(linked(rows, at, names))[:limit]
    facts = [
        answers.Event(one.sequence, answers.moment(one.time), one.kind, one.round, _facts(one), one.key)
        for one in events
    ]
    return answers.Events(tuple(facts), facts[-1].sequence if facts and facts[-1].sequence < row.sequence else None)


def _facts(event: Event) -> dict[str, Any]:
    """What an event says; of each promise of an alarm also in a sentence, with the present names."""
    facts = {label: value for label, value in event.body.items() if label not in ("memory", "bandit")}
    if event.kind == "alarm":
        facts["promises"] = [{**one, "text": stated(facts["alarm"], one)} for one in facts["promises"]]
    return facts


def as_csv(frames: Iterator[pd.DataFrame]) -> Iterator[bytes]:
    """A log as a CSV file, in pieces; names that spreadsheets would take for formulas have an apostrophe in front."""
    for number, frame in enumerate(frames):
        texts = {"item_id": FORMULA, **dict.fromkeys(frame.columns[len(COLUMNS) :], COMPUTED)}
        quoted = {name: frame[name].str.replace(one, r"'\g<0>", regex=True) for name, one in texts.items()}
        frame = frame.assign(**quoted)
        # Python quotes strings with a line feed, but a carriage return ends lines for readers, too.
        returns = any(frame[name].str.contains("\r", regex=False).any() for name in texts)
        quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        yield frame.to_csv(index=False, header=number == 0, lineterminator="\n", quoting=quoting).encode()


def as_parquet(frames: Iterator[pd.DataFrame]) -> Iterator[bytes]:
    """A log as a Parquet file, in pieces, with one row group per frame and the declared type for every column."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {"str": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    types["datetime64[us, UTC]"] = pa.timestamp("us", tz="UTC")
    first = next(frames)
    schema = pa.schema([(name, types[COLUMNS.get(name, "str")]) for name in first.columns])
    file = _Pieces()
    with parquet.ParquetWriter(file, schema) as writer:
        for frame in chain([first], frames):
            writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            yield file.take()
    yield file.take()


ENCODERS = {"csv": as_csv, "parquet": as_parquet}


class _Pieces(io.RawIOBase):
    """A file whose content is taken away while it is written."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._length

    def write(self, piece: object) -> int:
        self._pieces.append(bytes(piece))  # type: ignore[call-overload]
        self._length += len(self._pieces[-1])
        return len(self._pieces[-1])

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


# --- from events to rows ----------------------------------------------------------------------------------------------


def _pieces(
    database: Database,
    row: AllocationRow,
    since: int,
    last: int,
    available: list[tuple[int, str]],
    estimates: Iterator[tuple[int, Propensities]] | None,
    limits: LogLimits,
    known: KnownFeatures | None,
) -> Iterator[pd.DataFrame]:
    names = () if known is None else known.names
    size = max(1, min(MAX_ROUNDS, MAX_CHARACTERS // max(len(arms) for _, arms in available)))
    leased = LeaseLog(row.id)
    for first in range(since, last + 1, size):
        rows: list[tuple[Any, ...]] = []
        with isolated(database, row.name, row.id), damage_as_state_error():
            with database.transaction(writes=False) as connection:
                rounds = _by_round(connection, row.id, first, min(first + size - 1, last), leased)
                stored = {} if known is None else find(connection, row.id, rounds)
            for round, (decision, rewards) in rounds.items():
                limits.proceed()
                while len(available) > 1 and available[1][0] < round:
                    available.pop(0)
                propensity = decision.body.get("propensity") or _estimated(estimates, round, decision.body["arms"])
                able = json.dumps(decision.body["available"]) if "available" in decision.body else available[0][1]
                cells: tuple[str | None, ...] = ()
                if known is not None:
                    able, cells = known.of(able, stored.get(round))
                rows += (one + cells for one in _rows(decision, rewards, propensity, able))
            frame = _frame(rows, names)
        yield frame
    if since > last:
        yield _frame([], names)


@dataclass(frozen=True)
class KnownFeatures:
    """What an allocation knows of features."""

    contexts: Contexts
    names: tuple[str, ...]  # of those of the situation
    arms: Mapping[str, Mapping[str, Any]]  # of each arm, where arms have any

    def of(self, available: str, stored: Sealed | None) -> tuple[str, tuple[str | None, ...]]:
        """The arms that could play, a JSON list, with their features; and the cells of those of the situation."""
        if stored is None:
            return available, (None,) * len(self.names)
        situation, given = stored.given(self.contexts)
        if self.arms:
            able = {arm: {**self.arms[arm], **given.get(arm, {})} for arm in json.loads(available)}
            available = json.dumps(able)
        return available, tuple(
            one if one is None or isinstance(one, str) else json.dumps(one) for one in map(situation.get, self.names)
        )


def _known_features(database: Database, row: AllocationRow) -> KnownFeatures:
    """What an allocation knows of features."""
    with database.transaction(writes=False) as connection, isolated(database, row.name, row.id):
        bandit = loaded(connection, row).bandit
    contexts = bandit.contexts
    if contexts is None:
        raise EvenhandError(f"allocation {row.name!r} has no features; export its log without them")
    if taken := [name for name in contexts.features.situation if name in COLUMNS]:
        raise EvenhandError(
            f"a feature is called {taken[0]!r}, as a column of the log; export the log without features"
        )
    arms = dict(zip(bandit.names, contexts.arms, strict=True)) if contexts.features.arms else {}
    return KnownFeatures(contexts, tuple(contexts.features.situation), arms)


def _frame(rows: list[tuple[Any, ...]], features: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd  # not at the top: a server starts sooner without it

    columns = COLUMNS | dict.fromkeys(features, "str")
    frame = pd.DataFrame(rows, columns=list(columns))
    return frame.assign(rewarded=pd.to_datetime(frame["rewarded"], utc=True)).astype(columns)  # also where none came


def _by_round(
    connection: Connection, id: int, first: int, last: int, leased: LeaseLog
) -> dict[int, tuple[Event, list[Event]]]:
    """The decisions of some rounds, each with its rewards."""
    table = tables.events.c
    where = (table.allocation == id, table.round >= first, table.round <= last, table.kind.in_(("decide", "reward")))
    rounds: dict[int, tuple[Event, list[Event]]] = {}
    names = read_names(connection, id)
    for one in leased.rounds(connection, names, first, last):
        rounds[one.decided.round or 0] = one.decided, [] if one.rewarded is None else [one.rewarded]
    for event in found(connection, names, *where):
        round = event.round or 0
        if event.kind == "decide":
            rounds[round] = event, []
        elif round in rounds:  # else its decision is of the time before the first event
            rounds[round][1].append(event)
    return dict(sorted(rounds.items()))


def _rows(
    decision: Event, rewards: list[Event], propensity: list[float] | None, available: str
) -> Iterator[tuple[Any, ...]]:
    import pandas as pd

    received: dict[str, tuple[float | None, pd.Timestamp | None, bool]] = {}
    for event in rewards:
        came = pd.Timestamp(max(event.time, decision.time), unit="s", tz="UTC")  # that of a lease is before its rounds
        received |= {arm: (reward, came, arm in event.body["late"]) for arm, reward in event.body["rewards"].items()}
    time = pd.Timestamp(decision.time, unit="s", tz="UTC")
    for place, arm in enumerate(decision.body["arms"]):
        reward, when, late = received.get(arm, (None, None, False))
        value = None if propensity is None else propensity[place]
        yield time, str(decision.round), arm, place + 1, reward, when, value, available, late


def _estimated(estimates: Iterator[tuple[int, Propensities]] | None, round: int, arms: list[str]) -> list[float] | None:
    """The estimated propensities of the arms of a round."""
    for estimated_round, estimate in estimates or ():
        if estimated_round == round:
            return [estimate[arm].propensity or 0.0 for arm in arms]
    return None


def _estimates(database: Database, id: int, limits: LogLimits) -> Iterator[tuple[int, Propensities]]:
    """The propensities of the rounds without recorded ones, estimated from the state before; replays all events."""
    bandit: Record | None = None
    for event in all_events(database, id):
        limits.proceed()
        if bandit is not None and event.kind == "decide" and "propensity" not in event.body:
            body = event.body
            estimate = estimated(bandit, body["arms"], body.get("available"), body.get("silent", False))
            yield event.round or 0, estimate
        bandit, _ = fold(bandit, event, closed=False)
