"""attrs' frozen classes, which are processed when one of them is first made, compared or asked for its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["frozen"]

if TYPE_CHECKING:
    from attrs import frozen as frozen
else:
    from functools import partial

    import attrs

    from .aside import aside
    from .late import fields_of, late

    NAMES = ("__attrs_attrs__", "__delattr__", "__init__", "__match_args__", "__repr__", "__setattr__")

    @aside
    def frozen(cls=None, *, eq=True):
        """`attrs.frozen`, with these of its options, and without slots."""
        if cls is None:
            return partial(frozen, eq=eq)
        body = {"__annotations__": {}, **vars(cls)}
        for name in fields_of(cls):
            # one of a base would stand before the field again, and may be abstract or a property
            if name in body and not any(hasattr(base, name) for base in cls.__bases__):
                delattr(cls, name)
        names = (*NAMES, "__eq__", "__hash__", "__ne__") if eq else NAMES
        late(cls, body, partial(attrs.frozen, eq=eq, slots=False), names)
        return cls
