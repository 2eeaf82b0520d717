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
from evenhand.bandit.memory import Memory, apart
from evenhand.bandit.pending import PendingRewards
from evenhand.core import validate
from evenhand.core.errors import StateError
from evenhand.core.files import path_of, write_whole
from evenhand.core.state import dump as dump_record
from evenhand.core.state import restore as restore_record
from evenhand.core.version import __version__

FORMAT = 1
#: Errors that a damaged description leads to.
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def dump(memory: Memory) -> dict[str, Any]:
    """Everything as plain JSON values."""
    return {
        "evenhand": __version__,
        "format": FORMAT,
        "algorithm": as_plain("algorithm", memory.algorithm),
        "arms": list(memory.names),
        "options": {
            "plays": memory.plays,
            "seed": memory.seed,
            "window": memory.pending.window,
            "missing": memory.missing,
            "rewards": list(memory.reward_range),
        },
        "parameters": {name: as_plain(name, value) for name, value in memory.parameters.items()},
        "retired": [name for name in memory.names if name in memory.retired],
        "version": memory.version,
        "state": dump_record(memory.state),
        "learned": memory.learned,
        "pending": memory.pending.dump(),
        "leases": memory.leases.dump(),
        "statistics": dump_record(memory.statistics),
        "deficit_history": memory.deficit_history.dump(),
        "count_history": memory.count_history.dump(),
        "changes": memory.changes.dump(),
        "available": memory.availability.dump(),
        "last_total": memory.last_total,
        "sources": list(memory.sources),
    }


def arguments(plain: Any) -> tuple[list[str], str | Mapping[str, Any], dict[str, Any]]:
    """The arms, the algorithm and the keyword arguments with which a dumped bandit was made.

    Raises:
        StateError: it is not a dumped bandit of this format, or damaged.
    """
    if not isinstance(plain, dict) or "evenhand" not in plain or "format" not in plain:
        raise StateError("this is not a saved bandit")
    if plain["format"] != FORMAT:
        raise StateError(f"the saved bandit has format {plain['format']!r}; this version reads format {FORMAT}")
    try:
        parameters = {name: from_plain(value) for name, value in plain["parameters"].items()}
        algorithm, others = apart(from_plain(plain["algorithm"]), parameters)
        return plain["arms"], algorithm, {**plain["options"], **others}
    except DAMAGE as error:
        raise damaged(error) from None


def restore(memory: Memory, plain: Mapping[str, Any]) -> None:
    """Fill a bandit that was made with the `arguments` of a dumped one.

    Raises:
        StateError: the description is damaged.
    """
    try:
        memory.adopt(Arms(memory.names, plain["retired"]), memory.parameters, memory.policy)
        memory.version, memory.last_total = plain["version"], plain["last_total"]
        memory.sources = tuple(map(str, plain["sources"]))
        memory.state = restore_record(memory.state, plain["state"])
        memory.learned = validate.whole("learned", plain["learned"], low=0)
        memory.pending = PendingRewards.restored(memory.arms, memory.plays, memory.pending.window, plain["pending"])
        memory.leases = Leases.restored(plain["leases"])
        memory.statistics = restore_record(memory.statistics, plain["statistics"])
        memory.deficit_history = DeficitHistory.restored(plain["deficit_history"])
        memory.count_history = CountHistory.restored(plain["count_history"])
        memory.changes = ChangeLog.restored(plain["changes"], len(memory.arms))
        memory.availability.restore(plain["available"])
        again = dump(memory)
    except StateError:
        raise
    except DAMAGE as error:
        raise damaged(error) from None
    for name in (again.keys() | plain.keys()) - {"evenhand"}:
        if name not in again or name not in plain or again[name] != plain[name]:
            raise StateError(f"the saved bandit is damaged: its {name!r} is inconsistent with the rest")


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
