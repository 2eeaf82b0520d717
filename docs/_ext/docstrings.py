"""What the pages of the API add to the docstrings: the fields of records, labels in bold, links for bare names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from pydantic import BaseModel
from sphinx.util.inspect import stringify_signature
from typing_extensions import is_typeddict

import formulas
from evenhand.core.descriptions import texts

LABELS = ("Promise", "Source")


def complete(obj: Any, lines: list[str]) -> list[str]:
    """A docstring's lines, with the labelled paragraphs set off and the fields of a record listed."""
    body = ["Fields:" if line == "Attributes:" else line for line in labelled(with_formulas(lines))]
    return [*body, *fields(obj, body)]


def with_formulas(lines: list[str]) -> list[str]:
    """Formulas typeset, except in tables, where columns would not fit any more, and in examples."""
    text = "\n".join(lines)
    pieces = re.split(r"(^ *={3,} .*?(?=^\s*$|\Z)|^ *>>> .*?(?=^\s*$|\Z))", text, flags=re.MULTILINE | re.DOTALL)
    for place in range(0, len(pieces), 2):
        pieces[place] = formulas.typeset(formulas.typeset_bare(pieces[place], ":math:`{}`"), role=":math:`{}`")
    return "".join(pieces).split("\n")


def signature(what: str, obj: Any) -> tuple[str, str] | None:
    """Arguments and result with the annotations as they stand in the source, which are shorter than what they mean."""
    if getattr(obj, "_is_protocol", False):
        return "", ""  # a protocol is not called
    ours = callable(obj) and not is_typeddict(obj) and str(getattr(obj, "__module__", "")).startswith("evenhand")
    if not ours or (inspect.isclass(obj) and issubclass(obj, BaseException | BaseModel)):
        return None
    plain = inspect.signature(obj)
    own = [p.replace(default=...) if inspect.isfunction(p.default) else p for p in plain.parameters.values()]
    if what == "method" and own and own[0].name == "self":
        own = own[1:]
    shown = plain.replace(parameters=own)
    if inspect.isclass(obj):
        shown = shown.replace(return_annotation=inspect.Signature.empty)
    arguments, _, result = stringify_signature(shown).partition(" -> ")
    return arguments.replace("Ellipsis", "..."), result


def labelled(lines: list[str]) -> list[str]:
    """``Promise: …`` and ``Source: …`` as paragraphs with a bold label; their indented lines are no definitions."""
    result: list[str] = []
    inside = False
    for line in lines:
        label = next((name for name in LABELS if line.startswith(f"{name}: ")), None)
        if label is not None:
            result.append(line.replace(f"{label}:", f"**{label}:**", 1))
        else:
            result.append(line.strip() if inside else line)
        inside = bool(line.strip()) and (inside or label is not None)
    return result


def fields(obj: Any, lines: list[str]) -> list[str]:
    """The fields of a record as a section *Fields*, from the comments at them in the source."""
    if not (inspect.isclass(obj) and is_record(obj)) or "Fields:" in lines or "Args:" in lines:
        return []
    hints = vars(obj).get("__annotations__", {})
    own = {name for name, hint in hints.items() if not str(hint).startswith("ClassVar")}
    rows = [f"    {name}: {text}" for name, text in texts(obj).items() if name in own]
    return ["", "Fields:", *rows, ""] if rows else []


def is_record(obj: type) -> bool:
    """Whether a class is a dataclass or made with attrs."""
    return dataclasses.is_dataclass(obj) or hasattr(obj, "__attrs_attrs__")
