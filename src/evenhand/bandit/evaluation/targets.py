"""Target policies, whose value and shares are estimated from the log of another policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenhand.bandit.evaluation.decider import Decider
from evenhand.bandit.evaluation.log import Log
from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array

if TYPE_CHECKING:
    from evenhand.bandit.bandit import Bandit

CELLS = 2_000_000  # propensities in memory at a time


class Target(Protocol):
    """A policy that plays one item per round, whose mean reward is to be estimated."""

    @property
    def name(self) -> str:
        """The name in results and messages."""

    def items(self) -> tuple[str, ...]:
        """Items that the target can play and the log may lack.

        Returns:
            Their names.
        """

    def propensities(self, log: Log) -> Iterator[Array]:
        """The propensity of every item in each round, (rounds, items), in order and some rounds at a time.

        The propensities of a round may depend on the earlier rounds of the log and on nothing else.

        Args:
            log: whose rounds the target decides again.

        Returns:
            Arrays of (some rounds, items), each number in [0, 1].
        """


@dataclass(frozen=True)
class FixedShares:
    """Every item plays with a fixed share, in proportion among the available items.

    ``π(i) = s_i / Σ_{j available} s_j``, and equal shares where that sum is 0

    Args:
        shares: by item, with a sum of 1; items left out have none. None gives equal shares to all available items.

    Raises:
        EvenhandError: a share is outside [0, 1], or the sum is not 1.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1], "item_id": ["a"], "reward": [1], "propensity_score": [1], "available": "a|b"}
        >>> log = Log.of(pd.DataFrame(rows))
        >>> next(FixedShares({"a": 0.25, "b": 0.75}).propensities(log))
        array([[0.25, 0.75]])
    """

    shares: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.shares is None:
            return
        total = sum(validate.number(f"the share of {name!r}", share, 0.0, 1.0) for name, share in self.shares.items())
        if abs(total - 1.0) > 1e-6:
            raise EvenhandError(f"shares must sum to 1, they sum to {total:.6g}")

    @property
    def name(self) -> str:
        """``uniform`` or ``fixed shares``."""
        return "uniform" if self.shares is None else "fixed shares"

    def items(self) -> tuple[str, ...]:
        """The items with a share.

        Returns:
            Their names.
        """
        return tuple(name for name, share in (self.shares or {}).items() if share > 0.0)

    def propensities(self, log: Log) -> Iterator[Array]:
        """The shares among the available items.

        Args:
            log: whose rounds the target decides again.

        Returns:
            Arrays of (some rounds, items), each row with the sum 1.
        """
        by_item = dict.fromkeys(log.items, 1.0) if self.shares is None else self.shares
        shares = np.array([by_item.get(name, 0.0) for name in log.items])
        weights = np.where((log.sets @ shares > 0.0)[:, np.newaxis], log.sets * shares, log.sets)
        by_set = weights / weights.sum(axis=1, keepdims=True)
        size = max(1, CELLS // len(log.items))
        for start in range(0, log.rounds, size):
            yield by_set[log.available[start : start + size]]


def as_target(target: Target | Bandit | Mapping[str, float] | str) -> Target:
    """A target, from one, from a bandit, from shares by item, or from ``"uniform"``."""
    from evenhand.bandit.bandit import Bandit

    if isinstance(target, Bandit):
        return Decider(target)
    if isinstance(target, Mapping):
        return FixedShares(dict(target))
    if isinstance(target, str):
        validate.one_of("target", target, ("uniform",))
        return FixedShares()
    return target
