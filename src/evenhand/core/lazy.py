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
    from importlib.util import find_spec

    with open(str(getattr(find_spec(module), "origin", "")), encoding="utf-8") as file:  # without loading it
        text = file.read()
    known = re.findall(r"^ *from (\S+) import (\w+) as \2$", text, re.MULTILINE)
    return _EXPORTED.setdefault(module, {name: f"{module}{home}" if home[0] == "." else home for home, name in known})


def places(name: str, module: str = __name__.partition(".")[0]) -> list[str]:
    """Where a name is public, in a module and in those that it exports, such as ``evenhand.policy.UCB``."""
    inner = (one for one, home in exported(module).items() if home == module)
    return [f"{module}.{name}"] * (name in exported(module)) + [
        one for each in inner for one in places(name, f"{module}.{each}")
    ]


def elsewhere(name: str, but: str = "") -> str:
    """What a message about a missing name ends with: where it is public, if that is not where it was looked for."""
    found = [] if name.startswith("_") else places(name)
    return f": {name} is {' or '.join(found)}" if found and but not in found else ""


def lazy(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module."""

    def load(name: str) -> Any:
        """Load a public name from its module at first use."""
        if name == "__all__":
            return list(exported(module))
        if name not in exported(module):
            if there := elsewhere(name):  # with a name, as Python would suggest the nearest one of the module
                raise AttributeError(f"module {module!r} has no attribute {name!r}{there}", name=name)
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = exported(module)[name]
        value = import_module(f"{module}.{name}") if home == module else getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    return load, lambda: list(exported(module))
