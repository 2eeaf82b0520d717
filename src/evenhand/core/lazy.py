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
    import ast
    from pathlib import Path

    loaded = sys.modules.get(module) or import_module(module)
    tree = ast.parse(Path(str(loaded.__file__)).read_text(encoding="utf-8"))
    found = _EXPORTED.setdefault(module, {})
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            home = f"{module}.{node.module}" if node.level else str(node.module)
            found |= {one.name: home for one in node.names if one.asname == one.name}
    return found


def lazy(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
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
