"""Rewards whose means depend on the context: of linear and of logistic form."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, number_of
from evenhand.core.exponential import exp
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask
from evenhand.core.validate import Rows
from evenhand.environment.contexts import Context
from evenhand.environment.rewards import UNIT, Rewards, RewardTraits

#: Noise of rewards that are the smallest or the largest.
COINS = "coins"


class ContextualRewards(Rewards):
    """Rewards by the context. An own model needs ``arms``, ``widths``, `means_given` and `draw_given`."""

    traits = RewardTraits(contextual=True)

    @property
    @abstractmethod
    def arms(self) -> int:
        """Number of arms."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, int]:
        """How many columns the situation must have, and how many each arm."""

    @abstractmethod
    def means_given(self, context: Context) -> Array:
        """Expected reward of every arm in some contexts, (…, arms).

        Args:
            context: situations (…, columns) and features of the arms (…, arms, columns).
        """

    @abstractmethod
    def draw_given(self, rng: np.random.Generator, means: Array) -> NDArray[Any]:
        """Rewards with these means, (rounds, lanes, arms).

        Args:
            rng: the environment's random stream for rewards.
            means: (rounds, lanes, arms), that `means_given` returned.
        """

    @property
    def means(self) -> Array:
        """They depend on the context: `evenhand.Environment.means` has their mean over all contexts."""
        raise EvenhandError(f"{type(self).__name__} has means by context; environment.means is their mean over all")

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards without a context are refused: see `draw_given`."""
        raise EvenhandError(f"{type(self).__name__} draws rewards in a context: draw_given(rng, means)")


def _table(value: Rows) -> Array:
    return validate.table("", value)


def _shared(value: Any) -> Array | None:
    return None if value is None else validate.for_all_lanes("", validate.numbers(value))


def _noise(value: float | str) -> float | str:
    return value if value == COINS else validate.nonnegative(value)  # type: ignore[arg-type]


@frozen(eq=False)
class _ByScore(ContextualRewards):
    """Rewards whose means depend on ``θ_a · x + β · z_a``, x the situation and z_a the features of the arm."""

    coefficients: Array = field(converter=_table)
    shared: Array | None = field(default=None, converter=_shared)

    @property
    def arms(self) -> int:
        """Number of rows of the coefficients."""
        return len(self.coefficients)

    @property
    def widths(self) -> tuple[int, int]:
        """How many coefficients the situation has, and how many each arm."""
        return self.coefficients.shape[1], 0 if self.shared is None else len(self.shared)

    def scores(self, context: Context) -> Array:
        """``θ_a · x + β · z_a``, (…, arms), added column by column: the same digits on every machine."""
        total = np.zeros((*context.situation.shape[:-1], self.arms))
        for column, weights in enumerate(self.coefficients.T):
            total += context.situation[..., column, np.newaxis] * weights
        for column, weight in enumerate(() if self.shared is None else self.shared):
            total += np.asarray(context.arms)[..., column] * weight
        return total


@part("rewards", "linear")
@frozen(eq=False)
class Linear(_ByScore):
    """Reward with mean ``θ_a · x + β · z_a``, cut to [low, high].

    The noise is uniform and symmetric about the mean. Towards the ends of the range it becomes smaller, so that every
    reward lies in the range and the mean is exact.

    Args:
        coefficients: θ, (arms, columns), for the columns of the situation; that of an intercept is the first.
        shared: β, (columns,), for the columns of the arms; None where arms have no features.
        noise: ≥ 0, standard deviation of the noise; ``"coins"`` pay ``high`` with the chance that makes the mean
            right, else ``low``.
        low: the smallest reward.
        high: the largest reward.

    Raises:
        EvenhandError: a parameter is out of range.

    Example:
        >>> rewards = Linear([[0.5, 0.2], [0.5, -0.2]], noise=0.0)
        >>> rewards.means_given(Context(np.array([[1.0, 0.5], [1.0, 9.0]])))
        array([[0.6, 0.4],
               [1. , 0. ]])
    """

    noise: float | str = field(default=0.1, converter=_noise)
    low: float = field(default=0.0, converter=validate.real)
    high: float = field(default=1.0, converter=validate.real)

    def __attrs_post_init__(self) -> None:
        if self.low >= self.high:
            raise EvenhandError(f"must be below high = {self.high:g}, got {self.low:g}", "low")

    @property
    def range(self) -> tuple[float, float]:
        """(low, high)."""
        return self.low, self.high

    def means_given(self, context: Context) -> Array:
        """``θ_a · x + β · z_a`` within the range, (…, arms)."""
        return np.asarray(np.clip(self.scores(context), self.low, self.high))

    def draw_given(self, rng: np.random.Generator, means: Array) -> Array:
        """Rewards within the range, of the shape of the means."""
        chance = rng.random(means.shape)
        if isinstance(self.noise, str):
            return np.where(chance * (self.high - self.low) < means - self.low, self.high, self.low)
        reach = np.minimum(self.noise * np.sqrt(3.0), np.minimum(means - self.low, self.high - means))
        return np.asarray(np.clip(means + reach * (2.0 * chance - 1.0), self.low, self.high))


@part("rewards", "logistic")
@frozen(eq=False)
class Logistic(_ByScore):
    """Reward 1 with probability ``1/(1 + exp(−θ_a · x − β · z_a))``, else 0.

    Args:
        coefficients: θ, (arms, columns), for the columns of the situation; that of an intercept is the first.
        shared: β, (columns,), for the columns of the arms; None where arms have no features.

    Raises:
        EvenhandError: a parameter is out of range.

    Example:
        >>> Logistic([[0.0, 2.0], [0.0, -2.0]]).means_given(Context(np.array([[1.0, 1.0]]))).round(3)
        array([[0.881, 0.119]])
    """

    traits = RewardTraits(binary=True, contextual=True)

    @property
    def range(self) -> tuple[float, float]:
        """(0, 1)."""
        return UNIT

    def means_given(self, context: Context) -> Array:
        """The chances of a reward, (…, arms)."""
        score = self.scores(context)
        small = exp(-np.abs(score))
        return np.asarray(np.where(score >= 0.0, 1.0, small) / (1.0 + small))

    def draw_given(self, rng: np.random.Generator, means: Array) -> Mask:
        """0/1 rewards as booleans, of the shape of the means."""
        return np.asarray(rng.random(means.shape) < means)


def check_fit(rewards: Rewards, contexts: Any, arms: int) -> None:
    """Refuse contexts and rewards that do not belong together."""
    if isinstance(rewards, ContextualRewards):
        if contexts is None:
            raise EvenhandError(
                f"{type(rewards).__name__} rewards depend on contexts: give the environment contexts, such as "
                f"{{'kind': 'normal', 'situation': {rewards.widths[0] - 1}}}"
            )
        for what, given, needed in zip(("situation", "arms"), contexts.widths, rewards.widths, strict=True):
            if given != needed:
                raise EvenhandError(
                    f"has {number_of(given, 'column')} of the {what} ({', '.join(contexts.columns)}), but rewards have "
                    f"{number_of(needed, 'coefficient')} for them",
                    "contexts",
                )
    if contexts is None:
        return
    if contexts.arms not in (None, arms):
        raise EvenhandError(f"is given for {number_of(contexts.arms, 'arm')}, rewards for {arms}", "contexts")
    if None not in (contexts.rows, rewards.rows) and contexts.rows != rewards.rows:
        raise EvenhandError(
            f"has {number_of(contexts.rows, 'row')}, the log of rewards {rewards.rows}; they must be equally long",
            "contexts",
        )
