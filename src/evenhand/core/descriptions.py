"""What arguments and fields mean: of functions from their docstrings, of records from the comments at their fields.

Arguments that several functions have are described in one place, from which their docstrings are completed.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import takewhile
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

#: The sections of a docstring, in their order.
SECTIONS = ("Args:", "Returns:", "Yields:", "Raises:", "Example:", "Source:")


def described(function: Callable[..., Any]) -> dict[str, str]:
    """The arguments that the docstring of a function or class describes, each with its lines."""
    return _described((inspect.getdoc(function) or "").split("\n\n"))


def _described(sections: Sequence[str]) -> dict[str, str]:
    for section in sections:
        if section.startswith("Args:"):
            texts = re.split(r"^    (?! )", section, flags=re.MULTILINE)[1:]
            return {name.strip("*"): text.strip() for name, _, text in (text.partition(": ") for text in texts)}
    return {}


def complete(function: Callable[..., Any], common: Mapping[str, str]) -> None:
    """Describe the arguments that a docstring leaves out as ``common`` does, in the order of the signature."""
    sections = (inspect.getdoc(function) or "").split("\n\n")
    place = next((at for at, section in enumerate(sections) if section.startswith(SECTIONS)), len(sections))
    known = {**common, **_described(sections)}
    lines = [f"    {name}: {known[name]}" for name in inspect.signature(function).parameters if name in known]
    replaced = place < len(sections) and sections[place].startswith("Args:")
    sections[place : place + replaced] = ["\n".join(["Args:", *lines])] if lines else []
    function.__doc__ = "\n\n".join(sections)


def described_by(common: Mapping[str, str], returns: str = "") -> Callable[[Function], Function]:
    """Complete a docstring as `complete` does, and with what is returned, if that is given."""

    def completed(function: Function) -> Function:
        complete(function, common)
        if returns:
            section = f"\n\nReturns:\n    {returns}\n\n"
            function.__doc__ = re.sub(r"\n\n(?=Raises:|Example:|Source:)", section, function.__doc__ or "", count=1)
        return function

    return completed


def texts(record: type) -> dict[str, str]:
    """What each field of a record means: the comment beside it, or where that takes more than a line those above."""
    found: dict[str, str] = {}
    for cls in (one for one in reversed(record.__mro__) if one.__module__ != "builtins"):
        found |= _classes(cls.__module__).get(cls.__name__, {})
    return found


@cache
def _classes(module: str) -> dict[str, dict[str, str]]:
    """The texts of the fields of each class of a module, which is parsed once: class by class takes 0.2 s."""
    source = inspect.getsource(sys.modules[module])
    lines, classes = source.splitlines(), (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.ClassDef))
    return {cls.name: {name: text for one in cls.body for name, text in _text(one, lines)} for cls in classes}


def _text(one: ast.stmt, lines: list[str]) -> list[tuple[str, str]]:
    """The name of a field and the comment at it, if it is one that has one."""
    match one:
        case ast.AnnAssign(target=ast.Name(id=name), lineno=first, end_lineno=int(last), end_col_offset=int(end)):
            above = [*takewhile(lambda line: line.startswith("# "), map(str.strip, reversed(lines[: first - 1])))]
            beside = lines[last - 1].encode()[end:].decode().strip()
            text = " ".join(line.removeprefix("# ") for line in ([beside] if beside else reversed(above)))
            return [(name, text)] if text else []
    return []
