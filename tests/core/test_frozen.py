"""attrs' frozen classes whose methods are compiled when they are needed: they do as those of attrs."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from copy import copy
from functools import partial
from operator import attrgetter
from typing import Any

import attrs
import pytest

from evenhand.core.frozen import evolve, field, fields, frozen


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


def checked(instance: object, one: Any, value: object) -> None:
    if value == "poison":
        raise ValueError(f"{one.name} must not be {value}")


SLOTLESS = partial(attrs.frozen, slots=False)


def cocktail(decorator: Any, field: Any, **options: bool) -> tuple[type[Any], type[Any]]:
    """A class with a field of every other kind, and one that derives from it."""

    @decorator(**options)
    class Drink:
        name: str = field(validator=checked)
        sizes: list[int] = field(factory=list, converter=sorted)
        _parts: tuple[str, ...] = field(alias="parts", kw_only=True)
        number: int = field(init=False, default=3)
        later: str = field(init=False, repr=False)
        letters: Any = field(converter=list, kw_only=True)

        @letters.default  # type: ignore[untyped-decorator]
        def _spelt(self) -> str:
            return self.name

        def __attrs_post_init__(self) -> None:
            vars(self)["later"] = f"{self.name}, {self.number}"

    @decorator(**options)
    class Tea(Drink):
        sizes: list[int] = field(default=(2, 1), converter=sorted)
        origin: str = "Assam"

    return Drink, Tea


def answer(work: Callable[[], Any]) -> Any:
    """What it returns, or the error that it raises."""
    try:
        return work()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", [{}, {"eq": False}, {"kw_only": True}])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), {}),
        (("tea",), {}),
        (("tea",), {"parts": ("leaf",)}),
        ((), {"name": "tea", "parts": (), "sizes": [3, 1]}),
        (("poison",), {"parts": ()}),
        (("tea", [2, 1]), {"parts": (), "letters": "xyz"}),
        (("tea", 5), {"parts": ()}),
        (("tea", [], "x", "y"), {"parts": ()}),
        (("tea",), {"parts": (), "number": 4}),
    ],
)
def test_constructors_do_as_those_of_attrs(
    options: dict[str, Any], place: int, given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    makers: list[tuple[Any, Any]] = [(frozen, field), (SLOTLESS, attrs.field)]
    own, theirs = (cocktail(*of, **options)[place] for of in makers)
    made, other = (answer(lambda: cls(*given, **named)) for cls in (own, theirs))  # noqa: B023
    assert getattr(made, "__dict__", made) == (
        {one.name: getattr(other, one.name) for one in attrs.fields(theirs)} if attrs.has(type(other)) else other
    )
    assert str(inspect.signature(own)) == str(inspect.signature(theirs))
    about = attrgetter("name", "alias", "type", "converter", "validator", "init", "kw_only", "eq", "repr")
    assert [*map(about, attrs.fields(own))] == [*map(about, attrs.fields(theirs))]
    for ours, one in zip(fields(own), fields(theirs), strict=True):
        assert (ours.name, ours.alias, ours.required, ours.default) == (one.name, one.alias, one.required, one.default)


def test_a_class_of_attrs_may_derive_from_one_that_is_made_here() -> None:
    @attrs.frozen
    class Glass(Cup):
        name: str = "tumbler"

    assert [one.name for one in fields(Glass)] == ["size", "name"]
    assert evolve(Glass(2), name="flute") == Glass(2, "flute")
