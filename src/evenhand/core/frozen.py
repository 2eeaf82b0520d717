"""attrs' frozen classes, whose methods for printing and comparing are not compiled before they are needed.

To compile them takes half of the time that the classes take, 15 ms of ``import Bandit``, and few are ever compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["frozen"]

if TYPE_CHECKING:
    from attrs import frozen as frozen
else:
    from functools import partial

    import attrs

    def frozen(cls=None, *, eq=True):
        """`attrs.frozen`, with these of its options."""
        if cls is None:
            return partial(frozen, eq=eq)
        for name in ("__repr__", "__eq__", "__hash__") if eq else ("__repr__",):
            if name not in vars(cls):
                setattr(cls, name, vars(Late)[name])
        return attrs.frozen(cls, eq=False, repr=False)

    class Late:
        """The methods."""

        def __repr__(self):
            shown = [f"{one.name}={getattr(self, one.name)!r}" for one in attrs.fields(type(self)) if one.repr]
            return f"{type(self).__qualname__.rpartition('>.')[2]}({', '.join(shown)})"

        def __eq__(self, other):
            return compiled(type(self)).__eq__(self, other)

        def __hash__(self):
            return compiled(type(self)).__hash__(self)

    def compiled(cls):
        """A class that from now on compares by methods that attrs has compiled for its fields."""
        twin = attrs.make_class(
            cls.__name__, {one.name: attrs.field(eq=one.eq) for one in attrs.fields(cls)}, frozen=True
        )
        cls.__eq__, cls.__hash__ = twin.__eq__, twin.__hash__
        return cls
