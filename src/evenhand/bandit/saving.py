"""A bandit as plain JSON values and as a file, and back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.bandit.arguments import as_plain, from_plain
from evenhand.bandit.arms import Arms
from evenhand.bandit.change_log import ChangeLog
from evenhand.bandit.counts import CountHistory
from evenhand.bandit.deficits import DeficitHistory
from evenhand.bandit.leases import Leases
from evenhand.bandit.pending import PendingRewards
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.errors import StateError
from evenhand.core.files import path_of, write_whole
from evenhand.core.state import dump as dump_record
from evenhand.core.state import restore as restore_record
from evenhand.core.version import __version__

FORMAT = 1
#: Errors that a damaged description leads to.
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def dump(record: Record) -> dict[str, Any]:
    """Everything as plain JSON values."""
    return {
        "evenhand": __version__,
        "format": FORMAT,
        "algorithm": as_plain("algorithm", record.algorithm),
        "arms": list(record.names),
        "options": {
            "plays": record.plays,
            "seed": record.seed,
            "window": record.pending.window,
            "missing": record.missing,
            "rewards": list(record.reward_range),
        },
        "parameters": {name: as_plain(name, value) for name, value in record.parameters.items()},
        "retired": [name for name in record.names if name in record.retired],
        "version": record.version,
        "state": dump_record(record.state),
        "learned": record.learned,
        "pending": record.pending.dump(),
        "leases": record.leases.dump(),
        "statistics": dump_record(record.statistics),
        "deficit_history": record.deficit_history.dump(),
        "count_history": record.count_history.dump(),
        "changes": record.changes.dump(),
        "available": record.availability.dump(),
        "last_total": record.last_total,
        "sources": list(record.sources),
    }


def restored(plain: Any) -> Record:
    """The record that `dump` described.

    Raises:
        StateError: it is not a dumped record of this format, or damaged.
    """
    if not isinstance(plain, dict) or "evenhand" not in plain or "format" not in plain:
        raise StateError("this is not a saved bandit")
    if plain["format"] != FORMAT:
        raise StateError(f"the saved bandit has format {plain['format']!r}; this version reads format {FORMAT}")
    try:
        record = Record(
            plain["arms"],
            from_plain(plain["algorithm"]),
            parameters={name: from_plain(value) for name, value in plain["parameters"].items()},
            **plain["options"],
        )
        _fill(record, plain)
        again = dump(record)
    except StateError:
        raise
    except DAMAGE as error:
        raise damaged(error) from None
    for name in (again.keys() | plain.keys()) - {"evenhand"}:
        if name not in again or name not in plain or again[name] != plain[name]:
            raise StateError(f"the saved bandit is damaged: its {name!r} is inconsistent with the rest")
    return record


def _fill(record: Record, plain: Mapping[str, Any]) -> None:
    """Give a new record what has happened."""
    record.adopt(Arms(record.names, plain["retired"]), record.parameters, record.policy)
    record.version, record.last_total = plain["version"], plain["last_total"]
    record.sources = tuple(map(str, plain["sources"]))
    record.state = restore_record(record.state, plain["state"])
    record.learned = validate.whole("learned", plain["learned"], low=0)
    record.pending = PendingRewards.restored(record.arms, record.plays, record.pending.window, plain["pending"])
    record.leases = Leases.restored(plain["leases"])
    record.statistics = restore_record(record.statistics, plain["statistics"])
    record.deficit_history = DeficitHistory.restored(plain["deficit_history"])
    record.count_history = CountHistory.restored(plain["count_history"])
    record.changes = ChangeLog.restored(plain["changes"], len(record.arms))
    record.availability.restore(plain["available"])


def damaged(error: BaseException) -> StateError:
    """The error for a description that cannot be read."""
    return StateError(f"the saved bandit is damaged: {error!r}")


def write(plain: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a dumped bandit to a JSON file, completely or not at all.

    Raises:
        StateError: the file cannot be written.
    """
    text = json.dumps(plain, allow_nan=False)
    try:
        write_whole(path_of(path), lambda file: file.write_text(text, encoding="utf-8"))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = f"there is no folder {Path(path).parent}" if missing else error.strerror or error
        raise StateError(f"the bandit could not be saved to {path}: {reason}") from None


def read(path: str | os.PathLike[str]) -> Any:
    """The content of a JSON file.

    Raises:
        StateError: the file is missing or not JSON.
    """
    try:
        return json.loads(path_of(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StateError(f"there is no file {path}") from None
    except (OSError, RecursionError, ValueError) as error:
        raise StateError(f"{path} cannot be read: {error}") from None
