"""A log of decisions: the items that were played, with which propensity, and their rewards."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np
import pandas as pd
from pyarrow import ArrowException

from evenhand.bandit.evaluation.columns import Reading, keep, kept_at, kept_with
from evenhand.bandit.evaluation.known import known as known_of
from evenhand.bandit.evaluation.known import notes_of
from evenhand.bandit.evaluation.plays import Plays, Rows
from evenhand.bandit.evaluation.table import (
    KINDS,
    Index,
    Table,
    in_order,
    items_of,
    names,
    propensities,
    rewards,
    rounds_of,
    times,
)
from evenhand.core.descriptions import complete, described
from evenhand.core.errors import DataError, EvenhandError, number_of
from evenhand.core.files import NOT_UTF8, check_header, path_of
from evenhand.core.state import Array, Mask
from evenhand.features.declaration import Features, as_features

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.world import FittedEnvironment

QUOTED = r"\A'(?='*[=+\-@\t\r])"  # the apostrophe with which `evenhand export` keeps spreadsheets from computing
ONLY_SUCCESSES = "no reward is 0: if only successes are reported, say that missing is 'zero'"
LARGEST_CELL = 2**31 - 1  # characters; Python's default is too small for the names of 20,000 arms


@dataclass(frozen=True, eq=False)
class Log(Rows):
    """A log of decisions, in the order of time.

    A round is a decision, or a row where the log has no ids of decisions. The rows of a round are consecutive. Plays
    that cannot be judged, because their rewards are lost or open, are in ``plays`` alone.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2], "item_id": ["tea", "mate"], "click": [0, 1], "propensity_score": [0.5, 0.25]}
        >>> log = Log.of(pd.DataFrame(rows))
        >>> log.items, log.item, log.rounds
        (('mate', 'tea'), array([1, 0]), 2)
    """

    notes: tuple[str, ...] = ()  # how the rows were changed when they were read
    plays: Plays | None = None  # all rows, with their times; None for a part of a log
    estimated: bool = False  # whether the propensities were estimated

    @property
    def rows(self) -> int:
        """Plays in the log."""
        return len(self.item)

    @property
    def rounds(self) -> int:
        """Decisions in the log."""
        return len(self.available)

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        columns: Mapping[str, str] | None = None,
        *,
        window: float | None = None,
        missing: str | None = None,
        rewards: tuple[float, float] | None = None,
        unit: str = "",
        rounds: str = "decision",
        features: Features | Mapping[str, object] | None = None,
        source: str = "the log",
    ) -> Log:
        """A log from a table in memory; see `read_log`, whose arguments these are.

        Rows are counted from 1 in messages.

        Args:
            frame: one row per play.
            source: what messages call the log.

        Raises:
            DataError: a column is missing, or a cell is wrong.
        """
        reading = Reading(columns or {}, window, missing, rewards, unit, rounds, as_features(features))
        return _log(frame, reading, source, np.arange(1, len(frame) + 1))

    def __str__(self) -> str:
        """What it is, in a line."""
        sizes = f"{number_of(self.rows, 'play')} of {number_of(len(self.items), 'item')}"
        known = "estimated" if self.estimated else "known" if self.has_propensities else "not known"
        ends = f"{number_of(self.rounds, 'decision')}, mean reward {self.reward.mean():.3g}, propensities {known}"
        return f"{self.source}: {sizes} in {ends}"

    def with_items(self, names: Iterable[str]) -> Log:
        """The log with further items, which it never plays; available unless the log lists the available items.

        Args:
            names: of the items; those that the log has already are left out.

        Returns:
            A new log, or this one if it has all of them.
        """
        more = tuple(dict.fromkeys(name for name in names if name not in self.items))
        if not more:
            return self
        if self.known is not None and self.known.arms is not None:
            raise DataError(f"the features of {more[0]!r}, which is not in {self.source}, are not known")
        wider = np.full((len(self.sets), len(more)), not self.has_available)
        return replace(self, items=self.items + more, sets=np.hstack([self.sets, wider]))

    def by_position(self) -> dict[str, Log]:
        """One log per position, of its rows.

        Returns:
            The logs by position, in the order of the positions.

        Raises:
            DataError: there are no positions, or a round has several rows: their propensities are for being played at
                all, not for being played in a position.
        """
        if self.position is None:
            raise DataError(f"{self.source} has no column of positions; name it with columns={{'position': '…'}}")
        if self.rows > self.rounds:
            raise DataError(
                f"{self.source} has decisions with several rows, whose propensities are for being played at all; if "
                "they are for being played in that position, read the log with rounds='row'"
            )
        parts = {position: self._only(self.position == position) for position in in_order(self.position.tolist())}
        return {position: replace(part, notes=(), plays=None) for position, part in parts.items()}

    def environment(self) -> FittedEnvironment:
        """The world from which the log seems to be: what arms earn, when rewards come, and who is available.

        Each arm's rewards are those of its plays, weighted by inverse propensities where the log has them. Delays are
        estimated by the product limit where a test does not find that they depend on the reward, else for each class of
        rewards. Its ``assumptions`` say what was assumed.

        Raises:
            DataError: an item has no play whose reward is known.

        Example:
            >>> import pandas as pd
            >>> rows = {"time": range(4), "item": ["tea", "mate"] * 2, "click": [0, 1, 1, 1]}
            >>> world = Log.of(pd.DataFrame(rows)).environment()
            >>> world.names, world.means
            (('mate', 'tea'), array([1. , 0.5]))

        Source: Kaplan and Meier 1958 (product limit); Aalen and Johansen 1978 (by class).
        """
        from evenhand.bandit.evaluation.world import Fit

        if self.plays is None:
            raise DataError(f"{self.source} is a part of a log, which says nothing of times; take the whole")
        return Fit(self.plays).environment()

    def _only(self, rows: Mask | slice) -> Log:
        """The log of some of the rows, and of the rounds that have any of them."""
        kept, round = np.unique(self.round[rows], return_inverse=True)
        return replace(
            self,
            item=self.item[rows],
            reward=self.reward[rows],
            propensity=self.propensity[rows],
            round=round,
            available=self.available[kept],
            position=None if self.position is None else self.position[rows],
            known=None if self.known is None else self.known.take(kept),
        )


def read_log(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    *,
    window: float | None = None,
    missing: str | None = None,
    rewards: tuple[float, float] | None = None,
    unit: str | None = None,
    rounds: str | None = None,
    features: Features | Mapping[str, object] | None = None,
    kept: bool = True,
) -> Log:
    """A log of decisions from a CSV or a Parquet file.

    It has one row per play, with the columns

    ====================  ==============================================================================================
    ``timestamp``         time of the decision: numbers, or dates in ISO 8601 (all with a time zone, or all without:
                          UTC). Rows that are not in order of time are sorted, stably, and the log notes it.
    ``rewarded``          optional; time of the reward
    ``decision_id``       optional; rows with the same id are the plays of one round
    ``item_id``           the item that was played
    ``position``          optional; where it was shown
    ``reward``            blank where it is missing
    ``propensity_score``  the probability with which the item was among those played in the round, in (0, 1]; `evaluate`
                          needs it
    ``available``         optional; names of the available items joined by ``|``, or a JSON list; without it, all items
                          of the log are available in every round
    ====================  ==============================================================================================

    Usual other names, such as ``arm`` or ``click``, are recognised; a log that has two of them for the same column
    needs ``columns``. Of further columns those are read that ``features`` declares. Those of the arms are of the item
    that was played, and each item's are the same in all rows; where they are not, ``available`` holds those of all
    available items, as ``{"tea": {"price": 2.5}}``. In a CSV file an apostrophe before an item or a feature
    that begins with ``=``, ``+``, ``-`` or ``@`` is not a part of it: `evenhand export` writes it, so that spreadsheets
    compute nothing.

    What is said here is kept beside the file, for ``log.csv`` in ``log.columns.toml``, and holds for the next time.

    Args:
        path: of the file; Parquet if it ends in ``.parquet``, else CSV.
        columns: other names of columns, such as ``{"reward": "bought"}``.
        window: time after a decision in which its reward counts, as the times in the file; of dates, seconds. Plays
            that are younger at the end of the log are left out where rewards are missing.
        missing: what a blank reward means: ``"zero"``, where only successes are reported, or ``"lost"``, where it says
            nothing, both after the window; ``"never"``, where every reward comes in the end and these are still open.
            None refuses a log with blanks.
        rewards: the smallest and the largest reward that can occur; one beyond is an error.
        unit: of the rewards, such as ``"€"``.
        rounds: ``"decision"``, or ``"row"`` for a log in which the rows of a decision have separate propensities, each
            for being played in its position: then every row is a round.
        features: what was known before each decision, each in a column of its name or of that in ``columns``.
        kept: whether what is said here is written down.

    Raises:
        DataError: the file or a column is missing, or a cell is wrong; with the file, the row and the column. Row 1 of
            a CSV file is its header, row 1 of a Parquet file its first row.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = file.write_text("timestamp,item_id,click,propensity_score\\n1,tea,1,0.5\\n2,mate,,0.25\\n")
        >>> read_log(file, missing="zero").reward
        array([1., 0.])
        >>> read_log(file).notes
        ('1 of 2 rows have no reward, and count as 0', 'read as log.columns.toml says')
    """
    path = path_of(path)
    said = {"window": window, "missing": missing, "rewards": rewards, "unit": unit, "rounds": rounds}
    log = read_as(path, kept_with(path).with_(columns=columns, features=as_features(features), **said))
    if kept:
        keep(path, log.reading)
    return log


complete(Log.of.__func__, described(read_log))  # type: ignore[attr-defined]


def read_as(path: Path, reading: Reading) -> Log:
    """The log in a file, read in a given way; nothing is kept."""
    parquet = path.suffix == ".parquet"
    try:
        if parquet:
            frame, numbers = _parquet(path, reading)
        else:
            with path.open(newline="", encoding="utf-8-sig") as file:
                frame, numbers = _csv(file, path, reading)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, UnicodeError, csv.Error, ArrowException) as error:
        reason = NOT_UTF8 if isinstance(error, UnicodeError) else error
        raise DataError(f"{path} cannot be read as a {'Parquet' if parquet else 'CSV'} file: {reason}") from None
    log = _log(frame, reading, str(path), numbers)
    says, name = "", kept_at(path).name
    if reading.rounds == "row":
        says = f"every row is a round, as {name} says; if not, remove rounds there or evaluate with --no-rows"
    elif kept_with(path) != Reading():
        says = f"read as {name} says"
    return replace(log, notes=(*log.notes, says)) if says else log


def parse(text: str, reading: Reading, source: str = "the file") -> Log:
    """The log in the text of a CSV file."""
    try:
        frame, numbers = _csv(io.StringIO(text.removeprefix("\ufeff"), newline=""), Path(source), reading)
    except csv.Error as error:
        raise DataError(f"{source} cannot be read as a CSV file: {error}") from None
    return _log(frame, reading, source, numbers)


def _csv(file: TextIO, path: Path, reading: Reading) -> tuple[pd.DataFrame, Index]:
    """The columns that are read, as strings, and the line in which each row ends."""
    numbers: list[int] = []
    csv.field_size_limit(LARGEST_CELL)
    reader = csv.reader(file, strict=True)
    header = [name.strip() for name in next(reader, [])]
    check_header(path, header)
    known = reading.names(header, str(path))
    wanted = list(dict.fromkeys(known.values()))
    places = [header.index(name) for name in wanted]
    cells: list[list[str]] = [[] for _ in wanted]
    for line in reader:
        if not any(line):
            continue
        if len(line) != len(header):
            sizes = f"{number_of(len(line), 'cell')} for {number_of(len(header), 'column')}"
            raise DataError(f"{path}, row {reader.line_num}: {sizes}")
        numbers.append(reader.line_num)
        for column, place in zip(cells, places, strict=True):
            column.append(line[place].strip())
    frame = pd.DataFrame(dict(zip(wanted, cells, strict=True)), dtype=object)
    for name in ("item_id", *reading.declared):
        if name in known:
            frame[known[name]] = frame[known[name]].str.replace(QUOTED, "", regex=True)
    return frame, np.array(numbers, dtype=np.intp)


def _parquet(path: Path, reading: Reading) -> tuple[pd.DataFrame, Index]:
    """The columns that are read, and the numbers of the rows."""
    from pyarrow import parquet

    wanted = reading.names(parquet.read_schema(path).names, str(path))
    table = parquet.read_table(path, columns=list(dict.fromkeys(wanted.values())))
    table.validate(full=True)  # else strings that are not UTF-8 are noticed only where they are used
    frame = table.to_pandas(ignore_metadata=True)
    return frame, np.arange(1, len(frame) + 1)


def _log(frame: pd.DataFrame, reading: Reading, source: str, numbers: Index) -> Log:
    """The log, with the rows of a round together."""
    known = reading.names([str(name) for name in frame.columns], source)
    if reading.rounds == "row":
        known.pop("decision_id", None)
    table = Table(source, frame[list(dict.fromkeys(known.values()))], known, numbers)
    if not len(frame):
        raise DataError(f"{source} has no rows")
    decided, kind = times(table, "timestamp")
    notes = _repeated(table) + (("times have no time zone, and are taken for UTC",) if kind == KINDS[1] else ())
    table, decided, round, sorted_now = _in_order(table, decided)
    notes += sorted_now
    reward, rewarded, open, more = _settled(table, decided, kind, reading)
    items, item, sets, group, listed = items_of(table, round)
    propensity = propensities(table)
    position = names(table, "position") if "position" in table.names else None
    available = group[np.flatnonzero(np.diff(round, prepend=-1))]
    features = None
    if reading.features is not None:
        features, counts = known_of(table, reading.features, round, items, item)
        more += notes_of(counts, features, round, item)
    unsaid = "propensity_score" in known and int(np.isnan(propensity).sum())
    rows = (source, items, item, reward, propensity, round, sets, available, listed, position, reading, features)
    plays = Plays(*rows, decided=decided, rewarded=rewarded, open=open, unsaid=bool(unsaid))
    if unsaid:
        more += (f"{unsaid:,} of {len(item):,} rows have no propensity, so the log counts as one without propensities",)
    notes += more
    log = replace(Log(*rows), notes=notes, plays=plays)
    judged = ~(open | np.isnan(reward))
    if not judged.any():
        young = f": all are younger than the window, {reading.window:g}" if reading.window and open.all() else ""
        raise DataError(f"{source} has no rows with a reward" + (" that is final" if open.any() else "") + young)
    return log if judged.all() else log._only(judged)


def _in_order(table: Table, decided: Array) -> tuple[Table, Array, Index, tuple[str, ...]]:
    """The rows in order of time, those of a round together; their times, their rounds, and a note if they were not."""
    order = np.argsort(decided, kind="stable")
    notes = ("the rows were not in order of time and have been sorted",) if (np.diff(order) < 0).any() else ()
    table, decided = table.take(order), decided[order]
    round = rounds_of(table)
    order = np.argsort(round, kind="stable")
    return table.take(order), decided[order], round[order], notes


def _repeated(table: Table) -> tuple[str, ...]:
    """A note where rows are the same in all columns, as after joining a file with itself."""
    again = table.cells("timestamp").duplicated(keep=False).to_numpy(copy=True)
    again[again] = table.frame[again].astype(str).duplicated()
    if "decision_id" in table.names or not again.any():  # the same item twice in a decision is an error
        return ()
    which = f"{int(again.sum()):,} of {len(again):,} rows repeat an earlier one in every column"
    return (f"{which}, first row {table.numbers[np.argmax(again)]}: if it is the same play, remove it",)


def _settled(table: Table, decided: Array, kind: str, reading: Reading) -> tuple[Array, Array, Mask, tuple[str, ...]]:
    """Rewards, NaN where they are lost; when they came; which plays are open; and notes."""
    reward, rewarded = rewards(table), np.full(len(decided), np.nan)
    if "rewarded" in table.names:
        rewarded, other = times(table, "rewarded", optional=True)
        differs = f"{{}} is {other}, and {table.names['timestamp']!r} {kind}; write both in one way"
        table.complain(~np.isnan(rewarded) & (other != kind), "rewarded", differs)
        early = "{} is before the decision: are the two times exchanged, or in different time zones?"
        table.complain(rewarded < decided, "rewarded", early)
    if reading.rewards is not None:
        low, high = reading.rewards
        beyond = (reward < low) | (reward > high)
        ends = f"({min(low, float(np.nanmin(reward))):.12g}, {max(high, float(np.nanmax(reward))):.12g})"
        fault = (
            f"{{}} is not within the range of rewards, {low:g} to {high:g}, so from this row on no interval holds that"
        )
        table.complain(beyond, "reward", f"{fault} rests on it; if such rewards can occur, say rewards={ends}")
    end = max(float(decided.max()), float(np.nanmax(rewarded, initial=-np.inf)))
    late = rewarded - decided > (np.inf if reading.window is None else reading.window)
    blank = np.isnan(reward) | late
    if not blank.any():
        return reward, rewarded, blank, ()
    if reading.missing is None:
        _ask(table, blank, late)
    young = np.zeros(len(blank), dtype=bool) if reading.window is None else end - decided < reading.window
    open = blank if reading.missing == "never" else young
    zero = reading.missing == "zero"
    notes = () if zero or (reward[~blank] <= 0.0).any() else (ONLY_SUCCESSES,)
    settled = np.where(blank, 0.0 if zero else np.nan, reward)
    settled[open & blank] = np.nan
    return (
        settled,
        np.where(blank, np.nan, rewarded),
        open,
        notes + _counted(blank & ~open, late & ~open, open, reading),
    )


def _ask(table: Table, blank: Mask, late: Mask) -> None:
    """Stop, and say what a blank reward can mean."""
    what = "the reward came after the window" if late[np.argmax(blank)] else "the reward is missing"
    table.complain(
        blank,
        "reward",
        f"{what}, as in {int(blank.sum()):,} of {len(blank):,} rows; say what that means: missing='zero' where only "
        "successes are reported, missing='lost' where it says nothing, or missing='never' where every reward comes in "
        "the end; and with a window from which age on it is final",
    )


def _counted(final: Mask, late: Mask, open: Mask, reading: Reading) -> tuple[str, ...]:
    """Notes on rewards that are missing."""
    rows, notes = f"of {len(final):,} rows", []
    if final.any():
        count = f"{int(final.sum()):,} {rows} have no reward" + (" within the window" if late.any() else "")
        notes.append(f"{count}, and " + ("count as 0" if reading.missing == "zero" else "were left out"))
    if open.any():
        why = "have no reward yet" if reading.missing == "never" else "are younger than the window"
        notes.append(f"{int(open.sum()):,} {rows} {why}, and were left out")
    return tuple(notes)


def check_propensities(log: Log) -> None:
    """Refuse a log without propensities, where they are needed."""
    if not log.has_propensities:
        lacks = "no column 'propensity_score'"
        if log.plays is not None and log.plays.unsaid:
            lacks = "rows with a blank 'propensity_score', which `evenhand export --estimate` estimates"
        raise EvenhandError(
            f"{log.source} has {lacks}, the probability with which each item was played; estimate "
            "it by estimated(log), or name it with columns={'propensity_score': '…'}; where a policy draws by "
            "features, none is estimated for it, and an exploration_floor makes it known"
        )
