"""What do we believe about rewards that have not arrived, or are old?

A piece of evidence turns a `Tally` into the sum and the number of rewards that an index works with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from evenhand.core.errors import EvenhandError
from evenhand.core.parts import Part, build, part
from evenhand.core.state import Array, Decision, Feedback, Shape, State, Tally


class Evidence(Part, ABC):
    """A rule for rewards that are still missing, or too old to count. An own rule needs `of` only.

    What it remembers beside the tally, if anything, is ``state.evidence``. Indexes of one policy share it.

    Attributes:
        bounded: whether it fills in 0 or 1 for a missing reward, and so needs rewards of a finite range.
    """

    bounded: bool = False

    def start(self, shape: Shape) -> Any:
        """What the evidence remembers beside the tally, before the first round; None for nothing.

        Args:
            shape: (…, arms), of every array in the state.
        """
        return None

    def tally(self, state: State) -> Tally:
        """The counts that the evidence goes by: those of the state, or what is not forgotten of them."""
        return state.tally

    @abstractmethod
    def of(self, tally: Tally) -> tuple[Array, Array]:
        """Sum and number of the rewards to work with, each (…, arms).

        Args:
            tally: pulls, rewards received, and their sum.
        """

    def memory(self) -> object:
        """What must be equal in two pieces of evidence that share one memory; None where there is none."""
        return None

    def after_decision(self, state: State, decision: Decision) -> None:
        """Record who plays; called before the round and the pulls in ``state`` are counted up."""

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Record what arrived; called after the tally in ``state`` is updated."""


@part("evidence", "received")
@frozen
class Received(Evidence):
    """Only rewards that have arrived count: sum S, number M.

    Example:
        >>> import numpy as np
        >>> from evenhand.core.state import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Received().of(Tally(pulls, received, rewards))
        (array([3.]), array([4.]))
    """

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S, M)``."""
        return tally.rewards, tally.received


@part("evidence", "optimistic")
@frozen
class Optimistic(Evidence):
    """A missing reward counts as 1: sum ``S + (N − M)``, number N.

    Whatever the missing rewards in [0, 1] are, and however they depend on their delay, the mean of all N rewards is no
    larger.

    Example:
        >>> import numpy as np
        >>> from evenhand.core.state import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Optimistic().of(Tally(pulls, received, rewards))
        (array([4.]), array([5.]))

    Source: Lancewicki et al. 2021, section 4; Chen et al. 2024, section 5.
    """

    bounded: ClassVar[bool] = True  # type: ignore[misc]

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S + (N − M), N)``."""
        return tally.rewards + (tally.pulls - tally.received), tally.pulls


@part("evidence", "pessimistic")
@frozen
class Pessimistic(Evidence):
    """A missing reward counts as 0: sum S, number N.

    Example:
        >>> import numpy as np
        >>> from evenhand.core.state import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Pessimistic().of(Tally(pulls, received, rewards))
        (array([3.]), array([5.]))

    Source: Lancewicki et al. 2021, section 4; Chen et al. 2024, section 5.
    """

    bounded: ClassVar[bool] = True  # type: ignore[misc]

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S, N)``."""
        return tally.rewards, tally.pulls


EvidenceLike = Evidence | str | Mapping[str, object]


def as_evidence(value: EvidenceLike) -> Evidence:
    """A piece of evidence, given as one, by its kind, or by its plain form.

    Raises:
        EvenhandError: there is no such kind.

    Example:
        >>> as_evidence("optimistic")
        Optimistic()
    """
    evidence = build("evidence", value)
    if not isinstance(evidence, Evidence):
        raise EvenhandError(f"must be evidence such as Received() or 'received', got {value!r}")
    return evidence


def shared_evidence(one: Evidence | None, other: Evidence | None, names: str) -> Evidence | None:
    """The evidence whose memory two parts read; each may have none.

    Raises:
        EvenhandError: both remember something, and not the same.

    Example:
        >>> shared_evidence(Received(), Optimistic(), "first and second")
        Received()
    """
    if one is None or other is None:
        return one or other
    if one.memory() != other.memory():
        raise EvenhandError(
            f"{names} must forget alike, as they share one memory, got {one!r} and {other!r}: give both the same "
            "discount or window"
        )
    return one
