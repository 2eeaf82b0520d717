"""A decision, as a bandit returns it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evenhand.core.state import Mask
from evenhand.online.bandit.propensities import Propensities


@dataclass(eq=False)  # frozen, it would take three times as long to make, and one is made in every round
class Choice:
    """The arms that play in a round.

    Attributes:
        id: identifies the decision when its rewards are given.
        round: counted from 1.
        arms: that play, the one with the largest propensity first.
        version: of the policy: the number of changes of arms and promises so far.
        propensity: of each of ``arms``, the probability with which it was to play; None where the policy has no closed
            form, and `propensities` estimates it.
        silent: whether the policy had to decide without a reward of the round before, from which it would have learned.

    Example:
        >>> from evenhand.online import Bandit
        >>> choice = Bandit(["tea", "coffee"], "ucb1").decide()
        >>> choice.id, choice.arms, choice.available, choice.propensity
        ('1', ('tea',), ('tea', 'coffee'), (1.0,))
    """

    id: str
    round: int
    arms: tuple[str, ...]
    version: int
    propensity: tuple[float, ...] | None
    silent: bool
    _names: tuple[str, ...] = field(repr=False)
    _available: Mask = field(repr=False)
    _propensities: Callable[[Sequence[str]], Propensities] = field(repr=False)

    @cached_property
    def available(self) -> tuple[str, ...]:
        """The arms that could play."""
        return tuple(self._names[place] for place in np.flatnonzero(self._available).tolist())

    @cached_property
    def propensities(self) -> Propensities:
        """The propensity of every available arm, given everything known before the decision.

        Exact where the policy has a closed form; otherwise estimated at the first use, from lanes that decide from the
        same state, with a standard error.
        """
        return self._propensities(self.available)
