"""What do we believe about rewards that have not arrived?

A piece of evidence turns a `Tally` into the sum and the number of rewards that an index works with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from evenhand.records import Array, Tally


class Evidence(Protocol):
    """A rule for rewards that are still missing."""

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """Sum of rewards and number of rewards to reckon with, each (…, arms)."""
        ...


@dataclass(frozen=True)
class Received:
    """Only rewards that have arrived count: sum S, number M.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Received().of(Tally(pulls, received, rewards))
        (array([3.]), array([4.]))
    """

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S, M)``."""
        return tally.rewards, tally.received


@dataclass(frozen=True)
class Optimistic:
    """What is missing counts as a reward of 1: sum ``S + (N − M)``, number N.

    Whatever the missing rewards in [0, 1] are, and whatever they have to do with their delay, the mean of all N of
    them is no larger.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Optimistic().of(Tally(pulls, received, rewards))
        (array([4.]), array([5.]))

    Source: Lancewicki et al. 2021, section 4; Chen et al. 2024, section 5.
    """

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S + (N − M), N)``."""
        return tally.rewards + (tally.pulls - tally.received), tally.pulls


@dataclass(frozen=True)
class Pessimistic:
    """What is missing counts as a reward of 0: sum S, number N.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Pessimistic().of(Tally(pulls, received, rewards))
        (array([3.]), array([5.]))

    Source: Lancewicki et al. 2021, section 4; Chen et al. 2024, section 5.
    """

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S, N)``."""
        return tally.rewards, tally.pulls
