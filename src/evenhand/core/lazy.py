"""Public names that are loaded when they are asked for, written once: as imports under ``TYPE_CHECKING``."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # without loading `typing`: a command starts sooner
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EXPORTED: dict[str, dict[str, str]] = {}


def exported(module: str) -> dict[str, str]:
    """The names that a module re-exports, by ``import NAME as NAME``, each with the module that it comes from."""
    if module in _EXPORTED:
        return _EXPORTED[module]
    import re

    loaded = sys.modules.get(module) or import_module(module)
    with open(str(loaded.__file__), encoding="utf-8") as file:
        text = file.read()
    known = re.findall(r"^ *from (\S+) import (\w+) as \2$", text, re.MULTILINE)
    return _EXPORTED.setdefault(module, {name: f"{module}{home}" if home[0] == "." else home for home, name in known})


def lazy(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module."""

    def load(name: str) -> Any:
        """Load a public name from its module at first use."""
        if name == "__all__":
            return list(exported(module))
        if name not in exported(module):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = exported(module)[name]
        value = import_module(f"{module}.{name}") if home == module else getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    return load, lambda: list(exported(module))
