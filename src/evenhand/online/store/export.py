"""The log of an allocation as a table with a row for every play, as off-policy evaluation reads it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import Connection, select

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.online.bandit import Bandit, Choice
from evenhand.online.store import tables
from evenhand.online.store.database import Database
from evenhand.online.store.events import Event, begun, event_of, replay, telling_damage
from evenhand.online.store.live import all_events, row_of
from evenhand.results import write_whole

PIECE = 5_000  # rounds that are read at once,
TEXT = 20_000_000  # and characters of available arms at most, of which each row has its own copy
COLUMNS = {
    "timestamp": "datetime64[us, UTC]",
    "decision_id": "str",
    "item_id": "str",
    "position": "int64",
    "reward": "float64",
    "propensity_score": "float64",
    "available": "str",
    "late": "bool",
}


def log(
    database: Database, name: str, since: int = 1, until: int | None = None, estimate: bool = False
) -> Iterator[pd.DataFrame]:
    """The log of an allocation, piece by piece; at least one piece, which may be empty.

    ====================  ==============================================================================================
    ``timestamp``         when it was decided
    ``decision_id``       names the decision; it has a row for each arm that played
    ``item_id``           the arm
    ``position``          1 for the first of the arms of the decision
    ``reward``            that was reported; missing where none was
    ``propensity_score``  the chance with which the arm was to be among those that play; missing where the policy has no
                          closed form for it and nobody asked
    ``available``         the arms that could play, as a JSON list
    ``late``              whether the report came after the window, so that nothing was learned from it
    ====================  ==============================================================================================

    Args:
        database: that holds it.
        name: of the allocation.
        since: the first round.
        until: the last; None for the last decided.
        estimate: whether to estimate the propensities that are missing, from lanes that decide from the same state:
            every event is replayed for that.

    Raises:
        UnknownAllocation: there is none of that name.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Decide, Report, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Decide(count=2))
        >>> told = store.ask("drinks", Report([("1", {"tea": 0.5})]))
        >>> next(log(store.database, "drinks"))[["decision_id", "item_id", "reward", "propensity_score", "late"]]
          decision_id item_id  reward  propensity_score   late
        0           1     tea     0.5               1.0  False
        1           2  coffee     NaN               1.0  False
        >>> store.close()
    """
    since = validate.whole("since", since)
    with database.transaction(writes=False) as connection:
        row = row_of(connection, name)
        with telling_damage():
            changes = _changes(connection, row.id)
    last = row.round if until is None else min(validate.whole("until", until), row.round)
    estimates = _estimates(database, row.id) if estimate else None
    return _pieces(database, row.id, since, last, changes, estimates)


def write_log(database: Database, name: str, path: Path, estimate: bool = False) -> int:
    """Write the log to a file that appears whole or not at all: CSV, or Parquet where its name ends so.

    Returns:
        How many rows it has.

    Raises:
        EvenhandError: the name of the file ends otherwise, there is no such allocation, or it cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from evenhand.online.store import Decide, Report, Store
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> store = Store.open(str(folder / "drinks.db"))
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Decide(count=2))
        >>> write_log(store.database, "drinks", folder / "log.csv")
        2
        >>> store.close()
    """
    if path.suffix not in (".csv", ".parquet"):
        raise EvenhandError(f"the file must end in .csv or .parquet, got {path.name!r}")
    pieces, rows = log(database, name, estimate=estimate), 0

    def counted() -> Iterator[pd.DataFrame]:
        nonlocal rows
        for piece in pieces:
            rows += len(piece)
            yield piece

    write = write_csv if path.suffix == ".csv" else write_parquet
    try:
        write_whole(path, lambda file: write(counted(), file))
    except OSError as error:
        raise EvenhandError(f"the log could not be written to {path}: {error.strerror or error}") from None
    return rows


def write_csv(pieces: Iterator[pd.DataFrame], path: Path) -> None:
    """Write a log to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for text in as_csv(pieces):
            file.write(text)


def as_csv(pieces: Iterator[pd.DataFrame]) -> Iterator[str]:
    """A log as the text of a CSV file, piece by piece."""
    for number, piece in enumerate(pieces):
        # Python quotes a text with the end of a line in it, but a carriage return ends lines for readers, too.
        returns = piece["item_id"].str.contains("\r", regex=False).any()
        quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        yield piece.to_csv(index=False, header=number == 0, lineterminator="\n", quoting=quoting)


def write_parquet(pieces: Iterator[pd.DataFrame], path: Path) -> None:
    """Write a log to a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    try:
        for piece in pieces:
            table = pa.Table.from_pandas(piece, preserve_index=False)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


# --- from events to rows ----------------------------------------------------------------------------------------------


def _pieces(
    database: Database,
    id: int,
    since: int,
    last: int,
    changes: list[tuple[int, str]],
    estimates: Iterator[Choice] | None,
) -> Iterator[pd.DataFrame]:
    size = max(1, min(PIECE, TEXT // max(len(available) for _, available in changes)))
    for first in range(since, last + 1, size):
        rows: list[tuple[Any, ...]] = []
        with telling_damage():
            with database.transaction(writes=False) as connection:
                found = _by_round(connection, id, first, min(first + size - 1, last))
            for round, (decided, reports) in found.items():
                while len(changes) > 1 and changes[1][0] < round:
                    changes.pop(0)
                chances = decided.body.get("propensities") or _estimated(estimates, round, decided.body["arms"])
                rows += _rows(decided, reports, chances, changes[0][1])
            piece = _frame(rows)
        yield piece
    if since > last:
        yield _frame([])


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _by_round(connection: Connection, id: int, first: int, end: int) -> dict[int, tuple[Event, list[Event]]]:
    """The decisions of some rounds, each with its reports."""
    table = tables.events.c
    columns = select(table.sequence, table.time, table.kind, table.round, table.body)
    where = (table.allocation == id, table.round >= first, table.round <= end, table.kind.in_(("decide", "report")))
    found: dict[int, tuple[Event, list[Event]]] = {}
    for row in connection.execute(columns.where(*where).order_by(table.round, table.sequence)):
        event = event_of(row)
        if event.kind == "decide":
            found[row.round] = event, []
        else:
            found[row.round][1].append(event)
    return found


def _rows(
    decided: Event, reports: list[Event], chances: list[float] | None, everybody: str
) -> Iterator[tuple[Any, ...]]:
    rewards: dict[str, tuple[float, bool]] = {}
    for event in reports:
        rewards |= {arm: (reward, arm in event.body["late"]) for arm, reward in event.body["rewards"].items()}
    available = json.dumps(decided.body["available"]) if "available" in decided.body else everybody
    when = pd.Timestamp(decided.time, unit="s", tz="UTC")
    for place, arm in enumerate(decided.body["arms"]):
        reward, late = rewards.get(arm, (None, False))
        chance = None if chances is None else chances[place]
        yield when, str(decided.round), arm, place + 1, reward, chance, available, late


def _changes(connection: Connection, id: int) -> list[tuple[int, str]]:
    """Who could play if nobody said otherwise, as a JSON list, after which rounds."""
    table = tables.events.c
    columns = select(table.sequence, table.time, table.kind, table.round, table.body)
    where = (table.allocation == id, table.kind.in_(("create", "change")))
    changes, active = [], {}
    for row in connection.execute(columns.where(*where).order_by(table.sequence)):
        body = event_of(row).body
        match body.get("change"):
            case None:
                active = dict.fromkeys(body["arms"])
            case "add" | "bring_back":
                active[body["arm"]] = None
            case "retire":
                del active[body["arm"]]
        changes.append((row.round or 0, json.dumps(list(active))))
    return changes


def _estimated(estimates: Iterator[Choice] | None, round: int, arms: list[str]) -> list[float] | None:
    """The estimated chances of the arms of a round."""
    for choice in estimates or ():
        if choice.round == round:
            return [choice.propensities.chances[arm] for arm in arms]
    return None


def _estimates(database: Database, id: int) -> Iterator[Choice]:
    """The decisions that do not tell the chances, made again; replays all from the start."""
    bandit: Bandit | None = None
    for event in all_events(database, id):
        if bandit is None:
            bandit = begun(event)
        elif event.kind != "decide" or "propensities" in event.body:
            replay(bandit, event, closed=False)
        else:
            yield bandit.decide(event.body.get("available"), event.time)
