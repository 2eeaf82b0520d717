"""Classes of records whose methods are compiled when the first of them is asked for.

To compile them takes a quarter of a millisecond a class, 20 ms of `import Bandit`, and most classes are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from .aside import aside

#: What a decorator has to see of a class, beside its fields and the methods that it would make.
SEEN = ("__annotations__", "__attrs_post_init__", "__doc__", "__module__", "__post_init__")


def fields_of(cls: type) -> list[str]:
    """The names of a class's own fields; annotations are text."""
    return [name for name, kind in vars(cls).get("__annotations__", {}).items() if "ClassVar[" not in kind]


@aside
def late(cls: type, body: dict[str, Any], decorator: Callable[[type], type], names: Collection[str]) -> None:
    """Let a class with such a body have what a decorator makes, as soon as one of the names is asked for."""
    seen = {one: value for one, value in body.items() if one in SEEN or one in names or one in body["__annotations__"]}

    def make() -> None:
        twin = decorator(type(cls)(cls.__name__, cls.__bases__, {**seen, "__qualname__": cls.__qualname__}))
        for name, value in list(vars(cls).items()):
            if isinstance(value, _Late):
                setattr(cls, name, value.change(getattr(twin, name)))

    for name in names:
        if name not in body:
            setattr(cls, name, _Late(name, make))


@aside
def changed(cls: type, name: str, change: Callable[[Any], Any]) -> None:
    """Change an attribute of a class, as soon as it is made."""
    made = vars(cls).get(name)
    if isinstance(made, _Late):
        made.change = change
    else:
        setattr(cls, name, change(getattr(cls, name)))


class _Late:
    """An attribute of a class that is not made yet."""

    def __init__(self, name: str, make: Callable[[], None]) -> None:
        self.name, self.make = name, make
        self.change: Callable[[Any], Any] = lambda made: made

    def __get__(self, record: object, owner: type) -> object:
        self.make()
        return getattr(owner if record is None else record, self.name)
