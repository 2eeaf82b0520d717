"""Classes of records whose methods are compiled when the first of them is asked for.

To compile them takes a quarter of a millisecond a class, 20 ms of `import Bandit`, and most classes are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from .aside import aside

#: What a decorator has to see of a class, beside its fields and the methods that it would make.
SEEN = ("__annotations__", "__attrs_post_init__", "__doc__", "__module__", "__post_init__")


def fields_of(cls: type) -> list[str]:
    """The names of a class's own fields; annotations are text."""
    return [name for name, kind in vars(cls).get("__annotations__", {}).items() if "ClassVar[" not in kind]


@aside
def late(cls: type, body: Mapping[str, Any], make: Callable[[], Any], names: Collection[str]) -> None:
    """Let a class with such a body have members of what is made as soon as one of their names is asked for."""

    def replace() -> None:
        made = make()
        for name, value in list(vars(cls).items()):
            if isinstance(value, _Late) and value.make is replace:
                setattr(cls, name, value.change(getattr(made, name)))

    for name in names:
        if name not in body:
            setattr(cls, name, _Late(name, replace))


@aside
def twin(cls: type, body: Mapping[str, Any], names: Collection[str] = ()) -> type:
    """A class with the fields of another one, for a decorator that makes methods with such names."""
    seen = {one: value for one, value in body.items() if one in SEEN or one in names or one in body["__annotations__"]}
    return type(cls)(cls.__name__, cls.__bases__, {**seen, "__qualname__": cls.__qualname__})


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
