"""attrs' frozen classes whose methods are compiled when they are needed: they do as those of attrs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy
from typing import Any

import attrs
import pytest

from evenhand.core.frozen import field, frozen


def drink(decorator: Callable[..., Any], field: Callable[..., Any], **options: bool) -> type[Any]:
    """A class with fields of every kind."""

    @decorator(**options)
    class Drink:
        """Of a shop."""

        name: str
        price: float = field(default=2.0, converter=float)
        _cups: int = 1
        note: str = field(default="", eq=False, repr=False)

    return Drink


@pytest.mark.parametrize("options", [{}, {"eq": False}])
def test_methods_do_as_those_of_attrs(options: dict[str, bool]) -> None:
    own, theirs = drink(frozen, field, **options), drink(attrs.frozen, attrs.field, **options)
    rows = [("tea",), ("tea", 2.0, 1, "hot"), ("tea", 3.0), ("coffee",)]
    for one in rows:
        assert repr(own(*one)) == repr(theirs(*one))
        for other in rows:
            assert (own(*one) == own(*other)) == (theirs(*one) == theirs(*other))
            assert (hash(own(*one)) == hash(own(*other))) == (hash(theirs(*one)) == hash(theirs(*other)))
        assert own(*one) != theirs(*one)
    assert attrs.evolve(own("tea"), cups=2)._cups == copy(own("tea", cups=2))._cups == 2
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        own("tea").name = "coffee"


@frozen
class Cup:
    """Of a drink."""

    size: int = 1

    def __repr__(self) -> str:
        return f"a cup of {self.size}"


class Mug(Cup):
    """A class that derives from one without a decorator of its own."""


def test_own_methods_stay_and_derived_classes_differ() -> None:
    assert str(Cup(2)) == "a cup of 2"
    assert pickle.loads(pickle.dumps(Cup(2))) == Cup(2) != Cup(3)
    assert Mug(2) == Mug(2) != Cup(2)
    assert len({Mug(1), Mug(1), Cup(1)}) == 2
