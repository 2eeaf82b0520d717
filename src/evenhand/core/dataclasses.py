"""Python's dataclasses, which are processed when one of them is first made, compared or asked for its fields."""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError
from functools import partial
from typing import Any, NoReturn, dataclass_transform

from .aside import aside
from .late import fields_of, late, twin

FIRST = ("__dataclass_fields__", "__init__", "__match_args__")
LATER = ("__dataclass_params__", "__repr__")  # most classes that are made are neither shown nor compared


@aside
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(cls: Any = None, *, frozen: bool = False, slots: bool = False, eq: bool = True) -> Any:
    """`dataclasses.dataclass`, with these of its options."""
    if cls is None:
        return partial(dataclass, frozen=frozen, slots=slots, eq=eq)
    body = {"__annotations__": {}, **vars(cls)}
    # without a docstring one would be made of the signature, which takes long
    body["__doc__"] = cls.__doc__ = cls.__doc__ or cls.__name__
    if slots:
        cls = _slotted(cls, body)
    for name in fields_of(cls):
        if isinstance(value := vars(cls).get(name), dataclasses.Field):
            delattr(cls, name) if value.default is dataclasses.MISSING else setattr(cls, name, value.default)
    compared = (("__eq__", "__hash__") if frozen else ("__eq__",)) if eq else ()
    _late(cls, body, FIRST, frozen=frozen, eq=False, repr=False)
    _late(cls, body, (*LATER, *compared), frozen=frozen, eq=eq)
    if eq and not frozen:
        cls.__hash__ = None
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _refuse
        cls.__setstate__ = _restore
    return cls


def _late(cls: type, body: dict[str, Any], names: tuple[str, ...], **options: bool) -> None:
    """Let a class have what a dataclass with these options has under some names."""
    seen = (*FIRST, *LATER, "__eq__", "__hash__")
    late(cls, body, lambda: dataclasses.dataclass(**options)(twin(cls, body, seen)), names)


def _slotted(cls: type, body: dict[str, Any]) -> type:
    """The class again, with slots for its fields."""
    names = fields_of(cls)
    kept = {name: value for name, value in body.items() if name not in (*names, "__dict__", "__weakref__")}
    return type(cls)(cls.__name__, cls.__bases__, {**kept, "__slots__": names, "__qualname__": cls.__qualname__})


def _refuse(record: object, name: str, *value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _restore(record: object, state: Any) -> None:
    """Set the fields of a copy, as Python does where it may."""
    for values in state if isinstance(state, tuple) else (state,):
        for name, value in (values or {}).items():
            object.__setattr__(record, name, value)
