"""What do we believe about rewards that have not arrived?

A piece of evidence turns a `Tally` into the sum and the number of rewards that an index works with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from evenhand.core.errors import EvenhandError
from evenhand.core.parts import Part, build, part
from evenhand.core.state import Array, Tally


class Evidence(Part, ABC):
    """A rule for rewards that are still missing.

    Attributes:
        bounded: whether it fills in 0 or 1 for a missing reward, and so needs rewards of a finite range.
    """

    bounded: ClassVar[bool] = False

    @abstractmethod
    def of(self, tally: Tally) -> tuple[Array, Array]:
        """Sum and number of the rewards to work with, each (…, arms).

        Args:
            tally: pulls, rewards received, and their sum.
        """


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

    bounded: ClassVar[bool] = True

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

    bounded: ClassVar[bool] = True

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
