"""Classes that cannot be parts are refused where they are registered, with the remedy."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from evenhand import EvenhandError
from evenhand.core.definition import BASES, check_definition
from evenhand.core.parts import HOMES, kinds, part
from evenhand.policy.index import Index
from evenhand.policy.part import Traits


class NotFrozen(Index):
    width: float = 1.0

    def score(self, state: Any, observation: Any, rng: Any) -> Any: ...


class OwnConstructor(Index):
    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    def score(self, state: Any, observation: Any, rng: Any) -> Any: ...


@frozen
class OtherName(Index):
    def scores(self, state: Any, observation: Any, rng: Any) -> Any: ...


@frozen
class TooFew(Index):
    def score(self, state: Any) -> Any: ...  # type: ignore[override]


@frozen
class NoBase:
    def score(self, state: Any, observation: Any, rng: Any) -> Any: ...


@frozen
class Good(Index):
    width: float = 1.0
    traits = Traits(random=True)

    def score(self, state: Any, observation: Any, rng: Any) -> Any: ...


class NoParameters(Index):
    traits = Traits(random=True)

    def score(self, state: Any, observation: Any, rng: Any) -> Any: ...


FAULTS = [
    ("index", NotFrozen, "put @frozen (from attrs import frozen) below @part, for its parameters"),
    ("index", OwnConstructor, "put @frozen (from attrs import frozen) below @part, for its parameters"),
    ("index", OtherName, "it needs score(self, state, observation, rng); did you mean 'scores'?"),
    ("index", TooFew, "score must take the arguments of score(self, state, observation, rng)"),
    ("index", NoBase, "derive it from evenhand.policy.Index"),
    ("fairness", Good, "it derives from Index, the base class of slot 'index'"),
]


@pytest.mark.parametrize(("slot", "cls", "remedy"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_what_cannot_be_a_part_is_refused_with_the_remedy(slot: str, cls: type, remedy: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        part(slot, "tests.refused")(cls)
    assert str(caught.value) == f"{cls.__name__} cannot be a part in slot {slot!r}: {remedy}"
    assert "tests.refused" not in kinds(slot)


@pytest.mark.parametrize("cls", [Good, NoParameters])
def test_what_can_be_one_is_not(cls: type) -> None:
    check_definition("index", cls)


@pytest.mark.parametrize("slot", HOMES)
def test_the_shipped_parts_are_as_they_must_be(slot: str) -> None:
    for cls in kinds(slot).values():
        if cls.__module__.startswith("evenhand."):  # those of other tests are registered here too
            check_definition(slot, cls)


def test_base_classes_are_where_they_are_said_to_be() -> None:
    for module, name in BASES.values():
        assert hasattr(__import__(module, fromlist=[name]), name)
