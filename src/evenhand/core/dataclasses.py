"""Python's dataclasses, whose methods are compiled when one of them is first called.

To compile them takes half a millisecond a class, which was a third of what `import Bandit` took beyond NumPy.
"""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError, make_dataclass
from functools import partial
from typing import Any, NoReturn, dataclass_transform

from .aside import aside


@aside
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(cls: Any = None, *, frozen: bool = False, slots: bool = False, eq: bool = True) -> Any:
    """`dataclasses.dataclass`, with these of its options."""
    if cls is None:
        return partial(dataclass, frozen=frozen, slots=slots, eq=eq)
    if frozen and slots:  # whose state is set by methods of its own
        return dataclasses.dataclass(frozen=True, slots=True, eq=eq)(cls)
    cls.__doc__ = cls.__doc__ or cls.__name__  # or else it would be made of a signature, which takes long
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    for name in ("__init__", "__repr__", *(["__eq__"] if eq else []), *(["__hash__"] if eq and frozen else [])):
        if name not in vars(made):
            setattr(made, name, _Late(made, name, frozen, eq))
    if eq and not frozen:
        made.__hash__ = None
    if frozen:
        made.__setattr__ = made.__delattr__ = _refuse
    return made


class _Late:
    """A method of a dataclass, which is compiled with the others when the first of them is asked for."""

    def __init__(self, cls: type[Any], name: str, frozen: bool, eq: bool) -> None:
        self.cls, self.name, self.frozen, self.eq = cls, name, frozen, eq

    def __get__(self, record: object, owner: type) -> Any:
        cls = self.cls
        known = [
            (one.name, one.type, dataclasses.field(**{name: getattr(one, name) for name in OPTIONS}))
            for one in dataclasses.fields(cls)
        ]
        names = ("__module__", "__qualname__", "__post_init__")
        space = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        twin = make_dataclass(cls.__name__, known, namespace=space, frozen=self.frozen, eq=self.eq)
        for name, late in list(vars(cls).items()):
            if isinstance(late, _Late):
                setattr(cls, name, getattr(twin, name))
        return getattr(owner if record is None else record, self.name)


OPTIONS = ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")


def _refuse(record: object, name: str, *value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
