"""Dataclasses whose methods are compiled at their first call: they do as those of Python."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

import pytest

from evenhand.core.dataclasses import dataclass


def classes(decorator: Callable[..., Any], **options: bool) -> tuple[type[Any], type[Any]]:
    """A class with fields of every kind, and one that derives from it."""

    @decorator(**options)
    class Drink:
        """Of a shop."""

        name: str
        price: float = 2.0
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        size: int = dataclasses.field(default=1, kw_only=True)

        def __post_init__(self) -> None:
            if self.price < 0.0:
                raise ValueError("the price is below 0")

    @decorator(**options)
    class Tea(Drink):
        """With a field of its own."""

        origin: str = "Assam"

    return Drink, Tea


def answer(work: Callable[[], Any]) -> Any:
    """What it returns, or the error that it raises."""
    try:
        return work()
    except (AttributeError, TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "options", [{}, {"slots": True}, {"frozen": True}, {"eq": False}, {"frozen": True, "slots": True}]
)
@pytest.mark.parametrize("place", [0, 1])
def test_methods_do_as_python_s(options: dict[str, bool], place: int) -> None:
    own, python = classes(dataclass, **options)[place], classes(dataclasses.dataclass, **options)[place]
    for arguments, named in [
        (("a",), {}),
        (("a", 3.0, ["hot"]), {"size": 2}),
        ((), {}),
        (("a", -1.0), {}),
        (("a",), {"x": 1}),
    ]:
        made = answer(lambda: repr(own(*arguments, **named)))  # noqa: B023
        assert made == answer(lambda: repr(python(*arguments, **named)))  # noqa: B023
    for work in (
        lambda cls: cls("a") == cls("a"),
        lambda cls: cls("a") == cls("b"),
        lambda cls: cls("a", tags=["hot"]) == cls("a", tags=["cold"]),
        lambda cls: cls("a") == "a",
        lambda cls: hash(cls("a")) == hash(cls("a")),
        lambda cls: setattr(cls("a"), "price", 1.0),
        lambda cls: delattr(cls("a"), "price"),
        lambda cls: repr(dataclasses.replace(cls("a"), price=5.0)),
        lambda cls: dataclasses.astuple(cls("a")),
        lambda cls: repr(copy(cls("a"))) + repr(deepcopy(cls("a"))),
        lambda cls: [(one.name, one.kw_only) for one in dataclasses.fields(cls)],
        lambda cls: str(inspect.signature(cls)),
        lambda cls: cls.__match_args__,
    ):
        assert answer(lambda: work(own)) == answer(lambda: work(python))  # noqa: B023


@dataclass(frozen=True)
class Cup:
    """Can be pickled, as its module has it."""

    size: int


def test_what_was_not_made_by_the_constructor_has_all_methods() -> None:
    loaded = pickle.loads(pickle.dumps(Cup(3)))
    assert (loaded, repr(loaded)) == (Cup(3), "Cup(size=3)")

    @dataclass(frozen=True)
    class Plate:
        """Never called before."""

        size: int

    raw = object.__new__(Plate)
    raw.__dict__["size"] = 4
    assert repr(raw).endswith("Plate(size=4)")
    assert raw == Plate(4)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'size'"):
        setattr(raw, "size", 5)  # noqa: B010
