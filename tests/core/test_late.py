"""Fields of parts stand before members of their bases, and threads may make the first of a class together."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import attrs
import pytest

from evenhand.core.frozen import field, frozen
from evenhand.core.parts import HOMES, kinds


class Base(ABC):
    """With a member of each kind."""

    @property
    def given(self) -> float:
        """Of the base."""
        return 1.0

    @abstractmethod
    def needed(self) -> float:
        """To be defined."""


@frozen
class Filled(Base):
    """With fields of these names."""

    given: float = field(default=2.0)
    needed: float = field(default=3.0)  # type: ignore[assignment]


def test_a_field_stands_before_a_member_of_a_base() -> None:
    assert (Filled().given, Filled(4.0).given, Filled().needed) == (2.0, 4.0, 3.0)


@pytest.mark.parametrize("slot", HOMES)
def test_no_field_of_a_part_is_hidden_by_a_property(slot: str) -> None:
    for part in kinds(slot).values():
        for one in attrs.fields(part) if attrs.has(part) else ():
            assert not isinstance(inspect.getattr_static(part, one.name, None), property), (part, one.name)


def test_threads_that_make_the_first_of_a_class_each_have_one() -> None:
    start = Barrier(8)

    def make(cls: type[Filled]) -> float:
        start.wait()
        return cls(5.0).given

    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            fresh = frozen(
                type(
                    "Fresh",
                    (Base,),
                    {"__annotations__": {"given": "float", "needed": "float"}}
                    | {"given": field(default=2.0), "needed": field(default=3.0)},
                )
            )
            assert [*threads.map(make, [fresh] * 8)] == [5.0] * 8
