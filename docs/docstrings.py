"""What the pages of the API add to the docstrings: the fields of records, labels in bold, links for bare names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from sphinx.util.inspect import stringify_signature

import evenhand

LABELS = ("Promise", "Source")


def complete(obj: Any, lines: list[str]) -> list[str]:
    """A docstring's lines, with the labelled paragraphs set off and the fields of a record listed."""
    told = ["Fields:" if line == "Attributes:" else line for line in labelled(lines)]
    return [*told, *fields(obj, told)]


def signature(what: str, obj: Any) -> tuple[str, str] | None:
    """Arguments and result with the annotations as they stand in the source, which are shorter than what they mean."""
    if getattr(obj, "_is_protocol", False):
        return "", ""  # a protocol is not called
    ours = callable(obj) and str(getattr(obj, "__module__", "")).startswith("evenhand")
    if not ours or (inspect.isclass(obj) and issubclass(obj, BaseException | BaseModel)):
        return None
    plain = inspect.signature(obj)
    own = [p.replace(default=...) if inspect.isfunction(p.default) else p for p in plain.parameters.values()]
    if what == "method" and own and own[0].name == "self":
        own = own[1:]
    kept = plain.replace(parameters=own)
    if inspect.isclass(obj):
        kept = kept.replace(return_annotation=inspect.Signature.empty)
    arguments, _, result = stringify_signature(kept).partition(" -> ")
    return arguments.replace("Ellipsis", "..."), result


def labelled(lines: list[str]) -> list[str]:
    """``Promise: …`` and ``Source: …`` as paragraphs with a bold label; their indented lines are no definitions."""
    made: list[str] = []
    inside = False
    for line in lines:
        label = next((name for name in LABELS if line.startswith(f"{name}: ")), None)
        if label is not None:
            made.append(line.replace(f"{label}:", f"**{label}:**", 1))
        else:
            made.append(line.strip() if inside else line)
        inside = bool(line.strip()) and (inside or label is not None)
    return made


def fields(obj: Any, lines: list[str]) -> list[str]:
    """The fields of a dataclass as a section *Fields*, from the comments beside them in the source."""
    if not (inspect.isclass(obj) and dataclasses.is_dataclass(obj)) or "Fields:" in lines or "Args:" in lines:
        return []
    own = set(vars(obj).get("__annotations__", ()))
    told = re.findall(r"^    (\w+): (?:[^#\n]+?)  # (.+)$", inspect.getsource(obj), flags=re.MULTILINE)
    kept = [f"    {name}: {comment}" for name, comment in told if name in own]
    return ["", "Fields:", *kept, ""] if kept else []


def meaning(target: str, known: Iterable[str]) -> str | None:
    """The one documented object that a bare name can mean; None where there is none, or more than one."""
    if target.startswith("evenhand.") and target.removeprefix("evenhand.") in evenhand._HOME:
        name = target.removeprefix("evenhand.")
        return f"evenhand.{evenhand._HOME[name]}.{name}"
    if target in evenhand._HOME:
        return f"evenhand.{evenhand._HOME[target]}.{target}"
    found = [name for name in known if name.endswith(f".{target}")]
    return found[0] if len(found) == 1 else None
