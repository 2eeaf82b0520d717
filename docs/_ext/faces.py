"""What is public: the names that ``evenhand`` exports, and those of the modules that it exports."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import evenhand
from evenhand.core.lazy import exported


def names_in(module: ModuleType) -> list[str]:
    """The public names of a module: what it exports, or else what is defined in it."""
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return list(exported(module.__name__)) or [name for name in own if not name.startswith("_")]


def modules(module: ModuleType = evenhand) -> Iterator[ModuleType]:
    """The public modules, ``evenhand`` first."""
    yield module
    for name in names_in(module):
        if inspect.ismodule(thing := getattr(module, name)):
            yield from modules(thing)


@cache
def public() -> dict[str, Any]:
    """Every public name with its module, such as ``evenhand.rewards.Bernoulli``, and what it stands for."""
    found = {f"{module.__name__}.{name}": getattr(module, name) for module in modules() for name in names_in(module)}
    return {name: thing for name, thing in found.items() if not inspect.ismodule(thing) and "__" not in name}


@cache
def by_home() -> dict[str, str]:
    """The public names by where functions and classes are defined."""
    things = [(name, thing) for name, thing in reversed(public().items()) if inspect.isclass(thing) or callable(thing)]
    homes = {name: f"{thing.__module__}.{getattr(thing, '__qualname__', '')}" for name, thing in things}
    return {home: name for name, home in homes.items() if home.startswith("evenhand.")}


def is_home(name: str, thing: Any) -> bool:
    """Whether a thing is shown under this public name, the first of those that it has."""
    home = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
    return by_home().get(home, name) == name


def told_elsewhere(thing: type) -> set[str]:
    """Members that need no second description: a public base class has it, or the class without ``Async``."""
    shown = {id(one) for one in public().values()}
    twin = getattr(sys.modules[thing.__module__], thing.__name__.removeprefix("Async"), thing)
    others = [*(base for base in thing.__mro__[1:] if id(base) in shown), *([] if twin is thing else [twin])]
    return {name for name in vars(thing) if not name.startswith("_") and any(hasattr(one, name) for one in others)}


def directive(name: str, thing: Any) -> str:
    """The reStructuredText that shows a public name."""
    if inspect.isclass(thing):
        left_out = ", ".join(sorted({"model_config", *told_elsewhere(thing)}))
        return f".. autoclass:: {name}\n   :members:\n   :exclude-members: {left_out}"
    return f".. autofunction:: {name}" if inspect.isfunction(thing) else f".. py:data:: {name}"


def page(of: str) -> str:
    """The API of public modules: of each its own docstring, and every name in it that has no page of its own."""
    from evenhand.algorithms.registry import ALGORITHMS

    pages = {f"evenhand.algorithms.{name}" for name in ALGORITHMS}
    pieces = []
    for module in modules():
        if module.__name__ in of.split():
            pieces.append(
                f"## {module.__name__}\n\n```{{eval-rst}}\n.. automodule:: {module.__name__}\n   :no-members:\n```"
            )
            own = {name: thing for name, thing in public().items() if name.rpartition(".")[0] == module.__name__}
            shown = "\n\n".join(
                directive(name, thing) for name, thing in own.items() if is_home(name, thing) and name not in pages
            )
            pieces.append(f"```{{eval-rst}}\n{shown}\n```")
    return "\n\n".join(pieces)
