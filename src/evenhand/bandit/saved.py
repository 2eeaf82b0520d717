"""A bandit as plain JSON values and as a file, and back; and what has changed in a record of arrays."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.arguments import as_plain, from_plain
from evenhand.bandit.arms import Arms
from evenhand.bandit.change_log import ChangeLog
from evenhand.bandit.counts import CountHistory, DeficitHistory
from evenhand.bandit.earlier import NEWER
from evenhand.bandit.leases import Leases
from evenhand.bandit.ledger import Ledger, alarms_of, listed_alarms
from evenhand.bandit.pending import PendingRewards
from evenhand.bandit.record import Record
from evenhand.bandit.scores import Scores
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, MissingPart, StateError
from evenhand.core.files import path_of, write_whole
from evenhand.core.state import dump as dump_record
from evenhand.core.state import remembered
from evenhand.core.state import restore as restore_record
from evenhand.core.version import __version__
from evenhand.messages.words import Words

FORMAT = len(NEWER) + 1
NAMED = ("algorithm", "arms", "parameters")  # settings beside the options
#: Errors that a damaged description leads to.
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


def settings_of(record: Record) -> dict[str, Any]:
    """The settings as plain JSON values: the body of the event that creates an allocation, without the version."""
    return {
        "algorithm": as_plain("algorithm", record.algorithm),
        "arms": list(record.names),
        "plays": record.plays,
        "seed": record.seed,
        "window": record.pending.window,
        "missing": record.missing,
        "rewards": list(record.reward_range),
        "parameters": {name: as_plain(name, value) for name, value in record.parameters.items()},
        **({"words": record.words.to_json()} if record.words.to_json() else {}),
        **({} if record.contexts is None else record.contexts.settings(record.names)),
    }


def made_by(settings: Mapping[str, Any]) -> Record:
    """A new record with settings that `settings_of` described."""
    algorithm = from_plain(settings["algorithm"])
    parameters = {name: from_plain(value) for name, value in settings["parameters"].items()}
    with parts_at_hand():
        return Record(**{**settings, "algorithm": algorithm, "parameters": parameters})


def dump(record: Record) -> dict[str, Any]:
    """Everything as plain JSON values."""
    record.check_kept()
    settings = settings_of(record)
    return {
        "evenhand": __version__,
        "format": FORMAT,
        **{name: settings[name] for name in NAMED},
        "options": {name: settings[name] for name in ("plays", "seed", "window", "missing", "rewards")},
        "retired": [name for name in record.names if name in record.retired],
        "version": record.version,
        "state": dump_record(record.state),
        "learned": record.learned,
        "pending": record.pending.dump(),
        "leases": record.leases.dump(),
        "statistics": dump_record(record.statistics),
        "scores": record.scores.dump(),
        "ledger": record.ledger.dump(),
        "deficit_history": record.deficit_history.dump(),
        "count_history": record.count_history.dump(),
        "changes": record.changes.dump(),
        "available": record.availability.dump(),
        "last_total": record.last_total,
        "returned": record.returned,
        "sources": list(record.sources),
        **({"words": settings["words"]} if "words" in settings else {}),
        **({} if record.contexts is None else {"contexts": record.contexts.dump()}),
    } | ({"alarms": listed_alarms(record.alarms)} if record.alarms else {})


def restored(plain: object) -> Record:
    """The record that `dump` described."""
    if not isinstance(plain, dict) or "evenhand" not in plain or "format" not in plain:
        raise StateError("this is not a saved bandit")
    if "checksum" in plain:
        plain = dict(plain)
        if plain.pop("checksum") != checksum_of(plain):
            raise StateError("the saved bandit is damaged: its content has another checksum")
    for earlier, newer in enumerate(NEWER, start=1):
        try:
            plain = newer(plain) if plain["format"] == earlier else plain
        except DAMAGE as error:
            raise damaged(error) from None
    if plain["format"] != FORMAT:
        raise StateError(f"the saved bandit has format {plain['format']!r}; this version reads format {FORMAT}")
    try:
        features = plain.get("contexts", {}).get("features")
        record = made_by({name: plain[name] for name in NAMED} | {"features": features, **plain["options"]})
        _fill(record, plain)
        again = dump(record)
    except (MissingPart, StateError):
        raise
    except DAMAGE as error:
        raise damaged(error) from None
    for name in (again.keys() | plain.keys()) - {"evenhand"}:
        if name not in again or name not in plain or again[name] != plain[name]:
            raise StateError(f"the saved bandit is damaged: its {name!r} is inconsistent with the rest")
    return record


@contextmanager
def parts_at_hand() -> Iterator[None]:
    """Name the parts and algorithms that are not known, where a saved policy is built: nothing is damaged then."""
    try:
        yield
    except EvenhandError as error:
        unknown = [fault.text for fault in error.faults if fault.key in ("kind", "algorithm")]
        named = [found[1] for text in unknown if (found := re.search("'(.+?)'", text))]
        if not named:
            raise
        parts = "the part" if len(named) == 1 else "the parts"
        raise MissingPart(
            f"needs {parts} {', '.join(map(repr, named))}, which Evenhand does not have itself: import the module that "
            "registers it first; `serve` and other commands start with --import FILE_OR_MODULE"
        ) from None


def _fill(record: Record, plain: Mapping[str, Any]) -> None:
    """Give a new record what has happened."""
    record.adopt(Arms(record.names, plain["retired"]), record.parameters, record.policy)
    if "contexts" in plain:
        from evenhand.bandit.contexts import Contexts

        record.contexts = Contexts.restored(plain["contexts"], len(record.arms))
    record.version, record.last_total = plain["version"], plain["last_total"]
    record.sources = tuple(map(str, plain["sources"]))
    record.words = Words.of(plain.get("words"))
    record.returned = validate.whole("returned", plain["returned"], low=0)
    record.state = restore_record(record.state, plain["state"])
    record.learned = validate.whole("learned", plain["learned"], low=0)
    record.pending = PendingRewards.restored(record.arms, record.plays, record.pending.window, plain["pending"])
    record.leases = Leases.restored(plain["leases"])
    record.statistics = restore_record(record.statistics, plain["statistics"])
    record.scores = Scores.restored(plain["scores"])
    record.ledger = Ledger.restored(plain["ledger"], len(record.arms))
    record.deficit_history = DeficitHistory.restored(plain["deficit_history"])
    record.count_history = CountHistory.restored(plain["count_history"])
    record.changes = ChangeLog.restored(plain["changes"], len(record.arms))
    record.availability.restore(plain["available"])
    record.alarms = alarms_of(plain.get("alarms", ()), len(record.arms))


def damaged(error: BaseException) -> StateError:
    """The error for a description that cannot be read."""
    return StateError(f"the saved bandit is damaged: {error!r}")


def checksum_of(plain: Mapping[str, object]) -> str:
    """A hash of plain values, in whatever order their names are."""
    return blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16).hexdigest()


def write(plain: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Write a dumped bandit with its checksum to a JSON file, completely or not at all."""
    text = json.dumps({**plain, "checksum": checksum_of(plain)}, allow_nan=False)
    try:
        write_whole(path_of(path), lambda file: file.write_text(text, encoding="utf-8"))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = f"there is no folder {Path(path).parent}" if missing else error.strerror or error
        raise StateError(f"the bandit could not be saved to {path}: {reason}") from None


def read(path: str | os.PathLike[str]) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path_of(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StateError(f"there is no file {path}") from None
    except (OSError, RecursionError, ValueError) as error:
        raise StateError(f"{path} cannot be read: {error}") from None


T = TypeVar("T")


def difference(old: object, new: object) -> dict[str, Any] | None:
    """How ``new`` differs from ``old``, a record of the same type; None where it does not.

    =========================  ===================================================
    form                       meaning
    =========================  ===================================================
    ``{"fields": {…}}``        the differences of the fields of a record
    ``{"at": […], "to": …}``   new values of an array at some places, counted flat
    ``{"shift": …}``           an array moved by one, with a new last value
    ``{"array": …}``           a whole array, as it may have another shape
    ``{"value": …}``           a number, a string, or None
    =========================  ===================================================
    """
    if isinstance(new, np.ndarray):
        return _array_difference(old, new)
    if is_dataclass(new) and type(old) is type(new):
        kind: Any = type(new)
        parts = {name: difference(getattr(old, name), getattr(new, name)) for name in remembered(kind)}
        changed = {name: part for name, part in parts.items() if part is not None}
        return {"fields": changed} if changed else None
    return None if type(old) is type(new) and old == new else {"value": dump_record(new)}


def _array_difference(old: object, new: NDArray[Any]) -> dict[str, Any] | None:
    if not isinstance(old, np.ndarray) or old.shape != new.shape or old.dtype != new.dtype:
        return {"array": dump_record(new)}
    same = (old == new) | ((old != old) & (new != new))  # NaN is equal to NaN here
    if same.all():
        return None
    (places,) = np.logical_not(same).ravel().nonzero()
    if 2 * len(places) <= new.size or new.size <= 2:
        return {"at": places.tolist(), "to": dump_record(new.ravel()[places])}
    if new.ndim == 1 and np.array_equal(old[1:], new[:-1]):
        return {"shift": dump_record(new[-1:])}
    return {"array": dump_record(new)}


def changed(old: T, patch: object) -> T:
    """The record that ``old`` becomes with a `difference`; arrays are changed in place."""
    match patch:
        case None:
            return old
        case {"fields": dict(parts)} if is_dataclass(old):
            for name, part in parts.items():
                setattr(old, name, changed(getattr(old, name), part))
            for one in fields(old):
                if not one.compare:  # a cache, of what was
                    setattr(old, one.name, None)
            return old
        case {"at": list(places), "to": values} if isinstance(old, np.ndarray):
            flat = old.reshape(-1)  # a view: the arrays of a state are contiguous
            flat[places] = _array(values)
            return old
        case {"shift": value} if isinstance(old, np.ndarray):
            old[:-1] = old[1:].copy()
            old[-1:] = _array(value)
            return old
        case {"array": values}:
            return _array(values)  # type: ignore[return-value]
        case {"value": value}:
            return value  # type: ignore[no-any-return]
    raise StateError(f"this is not a change of {type(old).__name__}: {patch!r}")


def _array(plain: Any) -> NDArray[Any]:
    return np.array(plain["values"], dtype=plain["dtype"])
