"""Descriptions of arguments that several functions have, which stand in one place and are added to the docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

#: The sections of a docstring, in their order.
SECTIONS = ("Args:", "Returns:", "Yields:", "Raises:", "Example:", "Source:")


def described(function: Callable[..., Any]) -> dict[str, str]:
    """The arguments that the docstring of a function or class describes, each with its lines."""
    for section in (inspect.getdoc(function) or "").split("\n\n"):
        if section.startswith("Args:"):
            texts = re.split(r"^    (?! )", section, flags=re.MULTILINE)[1:]
            return {name.strip("*"): text.strip() for name, _, text in (text.partition(": ") for text in texts)}
    return {}


def complete(function: Callable[..., Any], common: Mapping[str, str]) -> None:
    """Describe the arguments that a docstring leaves out as ``common`` does, in the order of the signature."""
    sections = (inspect.getdoc(function) or "").split("\n\n")
    place = next((at for at, section in enumerate(sections) if section.startswith(SECTIONS)), len(sections))
    texts = {**common, **described(function)}
    lines = [f"    {name}: {texts[name]}" for name in inspect.signature(function).parameters if name in texts]
    replaced = place < len(sections) and sections[place].startswith("Args:")
    sections[place : place + replaced] = ["\n".join(["Args:", *lines])] if lines else []
    function.__doc__ = "\n\n".join(sections)
