"""What a play can earn: reward models, each with its means and a way to draw.

A model draws the rewards of all arms for a number of rounds at a time, whether they are played or not, so that every
policy faces the same rewards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.errors import DataError, EvenhandError, number_of, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, part
from evenhand.core.state import Array, Mask
from evenhand.core.validate import Rows

UNIT = (0.0, 1.0)
BETA_EDGE = 1e-12  # means of Beta rewards closer to 0 or 1 are drawn as if they were so far away


@frozen
class RewardTraits:
    """What is true of a reward model, for those who combine it with others."""

    in_hindsight: bool = False  # whether policies are compared with the arm that earned most in the run
    binary: bool = False  # whether every reward is 0 or 1
    drifting: bool = False  # whether means change over the rounds; `Rewards.means_at` has those of each
    contextual: bool = False  # whether means depend on the context; `ContextualRewards.means_given` has those of each


class Rewards(Part, ABC):
    """A reward model. A class of your own needs ``means`` and `draw`; the other members have defaults.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.rewards import Rewards
        >>> class Coins(Rewards):
        ...     means = np.array([0.5, 0.5])
        ...     def draw(self, rng, rows, lanes):
        ...         return rng.integers(0, 2, (len(rows), lanes, 2))
        >>> Environment(Coins()).arms
        2
    """

    traits: ClassVar[RewardTraits] = RewardTraits()

    @by_default
    @abstractmethod
    def means(self) -> Array:
        """Expected reward of each arm, (arms,), or (lanes, arms)."""

    @by_default
    def arms(self) -> int:
        """Number of arms."""
        return int(np.shape(self.means)[-1])

    @abstractmethod
    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards of every arm, (rounds, lanes, arms).

        Args:
            rng: the environment's random stream for rewards.
            rows: (rounds, 1) or (rounds, lanes), the row of the log that each round replays: the number of the round,
                from 0, unless the log is shuffled.
            lanes: number of replications.
        """

    def means_at(self, rows: NDArray[np.intp]) -> Array:
        """Expected reward of each arm in some rounds, (rounds, arms); by default the same in all.

        Args:
            rows: (rounds,), counted from 0.
        """
        return np.broadcast_to(self.means, (len(rows), np.shape(self.means)[-1]))

    @by_default
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest reward that can occur; None if there is no such limit, or none is known."""
        return None

    @by_default
    def unknown(self) -> Mask | None:
        """(rows, arms), the rewards that a log does not hold; None for a model without a log."""
        return None

    @by_default
    def rows(self) -> int | None:
        """Number of logged rounds; None for a model without a log."""
        return None if self.unknown is None else len(self.unknown)

    @by_default
    def shuffled(self) -> bool:
        """Whether each lane replays the rows of the log in an order of its own."""
        return False


class RewardRules(NamedTuple):
    """What the compiled engine knows of rewards, which lie in their range whatever is drawn."""

    binary: bool = False  # whether they are drawn as booleans
    chances: Array | None = None  # (…, arms), below which a uniform number of its own makes each arm's reward 1


def below(rng: np.random.Generator, probabilities: Array, rounds: int, lanes: int) -> Mask:
    """True with the probability of each arm, (rounds, lanes, arms)."""
    # Broadcast to all lanes first: comparing short rows of arms one by one takes three times as long.
    thresholds = np.ascontiguousarray(np.broadcast_to(probabilities, (lanes, probabilities.shape[-1])))
    return np.asarray(rng.random((rounds, *thresholds.shape)) < thresholds)


@part("rewards", "bernoulli")
@frozen(eq=False)
class Bernoulli(Rewards):
    """Reward 1 with probability μ, else 0.

    Args:
        means: μ, (arms,) in [0, 1], or `PerLane`.

    Raises:
        EvenhandError: a mean is not in [0, 1].

    Example:
        >>> import numpy as np
        >>> Bernoulli([0.0, 1.0]).draw(np.random.default_rng(0), np.zeros((1, 1), dtype=int), lanes=1)
        array([[[False,  True]]])
    """

    means: Array = field(converter=validate.units)

    traits = RewardTraits(binary=True)

    def rules(self) -> RewardRules:
        """A number for each arm."""
        return RewardRules(binary=True, chances=self.means)

    range = UNIT

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """0/1 rewards as booleans, (rounds, lanes, arms)."""
        return below(rng, self.means, len(rows), lanes)


@part("rewards", "gaussian")
@frozen(eq=False)
class Gaussian(Rewards):
    """Reward drawn from the normal distribution N(μ, σ²).

    Args:
        means: μ, (arms,), or `PerLane`.
        sd: σ ≥ 0, one number, or one per arm, or `PerLane`.

    Raises:
        EvenhandError: a parameter is out of range, or ``sd`` and ``means`` differ in length.

    Example:
        >>> import numpy as np
        >>> rewards = Gaussian([0.2, 0.8], sd=0.1)
        >>> rewards.draw(np.random.default_rng(0), np.zeros((5000, 1), dtype=int), lanes=1).mean(axis=(0, 1)).round(2)
        array([0.2, 0.8])
    """

    means: Array = field(converter=validate.numbers)
    sd: Array = field(converter=validate.nonnegatives)

    def __attrs_post_init__(self) -> None:
        validate.same_length("sd", self.sd, self.means, "means")

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest mean where σ = 0, else None: a normal reward has no limits.

        None also for means that differ between lanes, so that the scale does not depend on how the lanes are divided.
        """
        if self.sd.any() or self.means.ndim > 1:
            return None
        return float(self.means.min()), float(self.means.max())

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Normal rewards, (rounds, lanes, arms)."""
        noise = rng.standard_normal((len(rows), lanes, self.means.shape[-1]))
        noise *= self.sd
        noise += self.means
        return noise


@part("rewards", "beta")
@frozen(eq=False)
class Beta(Rewards):
    """Reward drawn from a Beta distribution, given either by a and b or by its means.

    ``Beta(a, b)`` has mean ``a/(a + b)``. With ``means`` it is ``Beta(μ, 1 − μ)``, and a mean of exactly 0 or 1 is that
    constant reward.

    Args:
        a: (arms,) > 0, or `PerLane`.
        b: (arms,) > 0, or `PerLane`.
        means: μ, (arms,) in [0, 1], or `PerLane`.

    Raises:
        EvenhandError: a parameter is out of range, ``a`` and ``b`` differ in length, or neither or both ways are used.

    Example:
        >>> Beta([1.0, 3.0], [1.0, 1.0]).means
        array([0.5 , 0.75])
        >>> Beta(means=[0.3, 1.0]).means
        array([0.3, 1. ])

    Source: Fang et al. 2022, section 6.1, setting 5 (by means).
    """

    a: Array | None = field(default=None, converter=validate.positives_or_none)
    b: Array | None = field(default=None, converter=validate.positives_or_none)
    _means: Array | None = field(default=None, converter=validate.units_or_none, alias="means")

    def __attrs_post_init__(self) -> None:
        if (self.a is None) != (self.b is None) or (self.a is None) == (self._means is None):
            raise EvenhandError("Beta rewards need either a and b, or means")
        if self.a is not None and self.b is not None and self.a.shape != self.b.shape:
            raise EvenhandError(
                f"has {number_of(self.a.shape[-1], 'entry', 'entries')}, b has {self.b.shape[-1]}; "
                "both need one number per arm",
                "a",
            )

    @property
    def means(self) -> Array:
        """Expected rewards, (arms,) or (lanes, arms)."""
        if self.a is None or self.b is None:
            return np.asarray(self._means)
        return np.asarray(self.a / (self.a + self.b))

    range = UNIT

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Beta rewards, (rounds, lanes, arms)."""
        shape = (len(rows), lanes, self.means.shape[-1])
        if self.a is not None and self.b is not None:
            return rng.beta(self.a, self.b, shape)
        inner = np.clip(self.means, BETA_EDGE, 1.0 - BETA_EDGE)
        return np.where(inner == self.means, rng.beta(inner, 1.0 - inner, shape), self.means)


def _values(value: Sequence[float] | Array) -> Array:
    return validate.for_all_lanes("", validate.numbers(value))


def _probability_rows(value: Rows) -> Array:
    rows = validate.table("", value, 0.0, 1.0)
    validate.rows_sum_to_one("", rows)
    return rows


def _probabilities(value: Sequence[float] | Array) -> Array:
    probabilities = validate.units_of_all_lanes(value)
    validate.rows_sum_to_one("", probabilities[np.newaxis])
    return probabilities


@part("rewards", "categorical")
@frozen(eq=False)
class Categorical(Rewards):
    """Reward drawn from a list of values, for instance a histogram of ratings.

    Args:
        values: (values,), the rewards that can occur.
        probabilities: (arms, values), one row per arm, each with sum 1.

    Raises:
        EvenhandError: a row does not sum to 1, or has another length than ``values``.

    Example:
        >>> Categorical([0.0, 0.5, 1.0], [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]).means
        array([0.25, 0.9 ])
    """

    values: Array = field(converter=_values)
    probabilities: Array = field(converter=_probability_rows)

    def __attrs_post_init__(self) -> None:
        columns, values = self.probabilities.shape[-1], len(self.values)
        if columns != values:
            raise EvenhandError(f"has {number_of(columns, 'column')} for {number_of(values, 'value')}", "probabilities")

    def rules(self) -> RewardRules:
        """They are drawn in NumPy."""
        return RewardRules()

    @property
    def means(self) -> Array:
        """Expected value of each arm, (arms,)."""
        return np.asarray(self.probabilities @ self.values)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return float(self.values.min()), float(self.values.max())

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards by inversion, (rounds, lanes, arms)."""
        uniform = rng.random((len(rows), lanes, len(self.probabilities)))
        drawn = np.empty_like(uniform)
        for arm, steps in enumerate(np.cumsum(self.probabilities, axis=-1)):
            place = np.searchsorted(steps / steps[-1], uniform[..., arm], side="right")
            drawn[..., arm] = self.values[place]
        return drawn


def _logged(value: Rows) -> Array:
    try:
        values = np.asarray(value, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"must be rows of equal length, one number per arm, got {shown(value)}") from None
    if values.ndim != 2 or values.size == 0:
        raise EvenhandError(f"must be rows of equal length, one number per arm, got shape {values.shape}")
    infinite = np.argwhere(np.isinf(values))
    if infinite.size:
        raise DataError(f"row {int(infinite[0, 0]) + 1} of the reward table is infinite")
    return values


@part("rewards", "table")
@frozen(eq=False)
class Table(Rewards):
    """Rewards replayed from a log: one row per round, one column per arm.

    NaN is a reward that the log does not hold; the arm must be asleep in that round, as with the availability
    ``Logged(~np.isnan(values))``.

    Args:
        values: (rows, arms), the rewards; NaN where unknown.
        order: ``"log"`` replays the rows as they stand in every lane, ``"shuffled"`` in an order of each lane's own.

    Raises:
        EvenhandError: the rows differ in length, or hold anything but numbers.
        DataError: a reward is infinite.

    Example:
        >>> import numpy as np
        >>> log = Table([[0.5, np.nan], [1.0, 0.25]])
        >>> log.means, log.range
        (array([0.75, 0.25]), (0.25, 1.0))
    """

    values: Array = field(converter=_logged)
    order: str = field(default="log", validator=validate.choice("log", "shuffled"))

    traits = RewardTraits(in_hindsight=True)

    def rules(self) -> RewardRules | None:
        """They are read in NumPy; of other numbers than 0 and 1 sums depend on the order."""
        known = self.values[~np.isnan(self.values)]
        return RewardRules(binary=True) if np.isin(known, (0.0, 1.0)).all() else None

    @property
    def means(self) -> Array:
        """Mean of the known rewards of each arm, (arms,); 0 for an arm without any."""
        known = ~np.isnan(self.values)
        return np.asarray(np.nansum(self.values, axis=0) / np.maximum(known.sum(axis=0), 1))

    @property
    def shuffled(self) -> bool:
        """Whether each lane replays the rows in an order of its own."""
        return self.order == "shuffled"

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest known reward; None if none is known."""
        known = self.values[~np.isnan(self.values)]
        return (float(known.min()), float(known.max())) if known.size else None

    @property
    def rows(self) -> int:
        """Number of logged rounds."""
        return len(self.values)

    @property
    def unknown(self) -> Mask:
        """(rows, arms), True where the log holds no reward."""
        return np.isnan(self.values)

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """The logged rewards, 0 where unknown, (rounds, lanes, arms)."""
        replayed = np.nan_to_num(self.values[rows])
        return np.broadcast_to(replayed, (len(rows), lanes, self.values.shape[-1]))


@part("rewards", "winners")
@frozen(eq=False)
class Winners(Rewards):
    """In every round exactly one arm pays 1, the others nothing.

    Args:
        probabilities: (arms,), how likely each arm is to be the one that pays; with sum 1.

    Raises:
        EvenhandError: the probabilities do not sum to 1.

    Example:
        >>> import numpy as np
        >>> Winners([0.75, 0.25]).draw(np.random.default_rng(0), np.zeros((3, 1), dtype=int), lanes=1).sum(axis=-1)
        array([[1],
               [1],
               [1]])

    Source: Wang et al. 2021, section 4.2.
    """

    probabilities: Array = field(converter=_probabilities)

    traits = RewardTraits(in_hindsight=True, binary=True)

    def rules(self) -> RewardRules:
        """They are drawn in NumPy, as booleans."""
        return RewardRules(binary=True)

    @property
    def means(self) -> Array:
        """The probabilities, (arms,)."""
        return self.probabilities

    range = UNIT

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """0/1 rewards as booleans, (rounds, lanes, arms)."""
        ends = np.cumsum(self.probabilities)
        winner = np.searchsorted(ends / ends[-1], rng.random((len(rows), lanes)), side="right")
        return np.asarray(winner[..., np.newaxis] == np.arange(len(ends)))
