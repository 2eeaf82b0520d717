"""Messages about a configuration file with the line that each is about."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.core.errors import ConfigurationError, EvenhandError, Fault
from evenhand.core.errors import Path as Steps
from evenhand.messages.audit_text import cells_of
from evenhand.studies.positions import Span, positions

VALUES = ("kind", "profile", "algorithm", "label")  # keys whose value is what a fault is about, not the key
WHERE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)")
WIDEST = 100  # columns of a line that is shown


@contextmanager
def toml(path: Path) -> Iterator[dict[str, Any]]:
    """The tables of a TOML file; errors in the block are shown with their places in it."""
    if path.suffix == ".csv":
        raise ConfigurationError(f"{path} is no configuration; `evenhand evaluate {path}` is for logs of decisions")
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, text, str(path)) from None
    try:
        yield data
    except EvenhandError as error:
        raise located(error, text, str(path)) from None


def located(error: EvenhandError, text: str, name: str) -> EvenhandError:
    """The same error with file, line and column in front of every fault, and the line with a caret below it, in
    the order of the file.

    A fault that is about no value in the file, as about one that is missing, has the file's name only.
    """
    found = positions(text)
    spans = sorted(((fault, _span(fault, found)) for fault in error.faults), key=lambda one: one[1] or (-1, -1))
    return error.having(Fault(_pointed(str(fault), span, text, name)) for fault, span in spans)


def not_toml(error: tomllib.TOMLDecodeError, text: str, name: str) -> ConfigurationError:
    """The error for a file that is not TOML, with the line."""
    match = WHERE.fullmatch(str(error))
    reason = match[1] if match else str(error)
    message = f"not valid TOML: {reason[:1].lower()}{reason[1:]}"
    if match is None or match[2] is None:
        at = len(text.rstrip("\n"))
    else:
        at = sum(len(line) for line in text.splitlines(keepends=True)[: int(match[2]) - 1]) + int(match[3]) - 1
    return ConfigurationError(_pointed(message, (at, at + 1), text, name))


def _span(fault: Fault, found: Mapping[Steps, Span]) -> tuple[int, int] | None:
    """What a fault is about: the value at its path or, where that is not in the file, the next table around it."""
    if fault.key:
        for keyed in ((*fault.path, fault.key), (*fault.path, "grid", fault.key)):
            if keyed in found:
                return found[keyed].value if fault.key in VALUES else found[keyed].key
    for length in range(len(fault.path), 0, -1):
        *before, last = fault.path[:length]
        for path in ((*before, last), (*before, "grid", last)):
            if path in found:
                return found[path].value
    return None


def _pointed(message: str, span: tuple[int, int] | None, text: str, name: str) -> str:
    if span is None:
        return f"{name}: {message}"
    start, end = span
    number, begin = text.count("\n", 0, start) + 1, text.rfind("\n", 0, start) + 1
    line = text[begin:].partition("\n")[0].rstrip("\r")
    column, length = start - begin, max(1, min(end, begin + len(line)) - start)
    cut = max(0, column - WIDEST // 2) if column + length > WIDEST else 0
    shown, before, marked = (_plain(part) for part in (line[cut : cut + WIDEST], line[cut:column], line[column:]))
    dots = "…" if cut else ""
    caret = "^" * min(cells_of(marked[:length]) or 1, WIDEST - (column - cut))
    gap = " " * (cells_of(before) + len(dots))
    return f"{name}:{number}:{column + 1}: {message}\n{number:5} | {dots}{shown}\n      | {gap}{caret}"


def _plain(text: str) -> str:
    """A piece of a line without what a terminal would execute."""
    return "".join(" " if letter == "\t" else letter if letter.isprintable() else "\ufffd" for letter in text)
