"""What a play can earn: reward models, each with its means and a way to draw.

A model draws the rewards of all arms for a stretch of rounds, whether they are played or not, so that every policy
faces the same rewards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import DataError, EvenhandError
from evenhand.records import Array, Mask


class Rewards(Protocol):
    """A reward model."""

    @property
    def means(self) -> Any:
        """Expected reward of each arm, (arms,), or one row a lane, (lanes, arms)."""
        ...

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards of every arm, (rounds, lanes, arms).

        Args:
            rng: the environment's stream for rewards.
            rows: (rounds, 1) or (rounds, lanes), which row of a log each round is; models without a log
                only look at how many rounds there are.
            lanes: number of replications.
        """
        ...


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Reward 1 with probability μ, else 0.

    Args:
        means: (arms,) in [0, 1], or `PerLane`.

    Example:
        >>> import numpy as np
        >>> Bernoulli([0.0, 1.0]).draw(np.random.default_rng(0), np.zeros((1, 1), dtype=int), lanes=1)
        array([[[False,  True]]])
    """

    means: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", validate.per_arm("means", self.means, 0.0, 1.0))

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """0/1 rewards as booleans, (rounds, lanes, arms)."""
        return below(rng, self.means, len(rows), lanes)


def below(rng: np.random.Generator, chances: Array, rounds: int, lanes: int) -> Mask:
    """True with the chance of each arm, (rounds, lanes, arms).

    Args:
        rng: the random stream.
        chances: (arms,) or (lanes, arms), in [0, 1].
        rounds: number of rounds.
        lanes: number of replications.

    Example:
        >>> import numpy as np
        >>> below(np.random.default_rng(0), np.array([0.0, 1.0]), rounds=1, lanes=1)
        array([[[False,  True]]])
    """
    # Laid out for all lanes, the chances are compared in one long run; short rows of arms take three times as long.
    laid_out = np.ascontiguousarray(np.broadcast_to(chances, (lanes, chances.shape[-1])))
    return np.asarray(rng.random((rounds, *laid_out.shape)) < laid_out)


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Reward drawn from the normal distribution N(μ, σ²); it may leave [0, 1].

    Args:
        means: (arms,), or `PerLane`.
        sd: σ ≥ 0, one number or one an arm.

    Example:
        >>> import numpy as np
        >>> rewards = Gaussian([0.2, 0.8], sd=0.1)
        >>> rewards.draw(np.random.default_rng(0), np.zeros((5000, 1), dtype=int), lanes=1).mean(axis=(0, 1)).round(2)
        array([0.2, 0.8])
    """

    means: Any
    sd: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", validate.per_arm("means", self.means))
        object.__setattr__(self, "sd", validate.per_arm_or_one("sd", self.sd, low=0.0))
        validate.same_length("sd", self.sd, self.means, "means")

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Normal rewards, (rounds, lanes, arms)."""
        noise = rng.standard_normal((len(rows), lanes, self.means.shape[-1]))
        noise *= self.sd
        noise += self.means
        return noise


@dataclass(frozen=True, eq=False)
class Beta:
    """Reward drawn from Beta(a, b), with mean a/(a+b).

    Args:
        a: (arms,) > 0, or `PerLane`.
        b: (arms,) > 0, or `PerLane`.

    Example:
        >>> Beta([1.0, 3.0], [1.0, 1.0]).means
        array([0.5 , 0.75])
    """

    a: Any
    b: Any

    def __post_init__(self) -> None:
        tiny = float(np.finfo(float).tiny)
        object.__setattr__(self, "a", validate.per_arm("a", self.a, low=tiny))
        object.__setattr__(self, "b", validate.per_arm("b", self.b, low=tiny))
        if self.a.shape != self.b.shape:
            raise EvenhandError(f"a has {self.a.shape[-1]} entries, b has {self.b.shape[-1]}: both need one an arm")

    @property
    def means(self) -> Array:
        """a/(a+b), (arms,) or (lanes, arms)."""
        a, b = (getattr(shape, "values", shape) for shape in (self.a, self.b))
        return np.asarray(a / (a + b))

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Beta rewards, (rounds, lanes, arms)."""
        return rng.beta(self.a, self.b, (len(rows), lanes, self.a.shape[-1]))


@dataclass(frozen=True, eq=False)
class BetaMeans:
    """Reward drawn from Beta(μ, 1 − μ), the Beta rewards of Fang et al. 2022, section 6.1, setting 5.

    A mean of exactly 0 or 1 is that constant reward.

    Args:
        means: (arms,) in [0, 1], or `PerLane`.

    Example:
        >>> import numpy as np
        >>> rewards = BetaMeans([0.3, 1.0])
        >>> rewards.draw(np.random.default_rng(0), np.zeros((5000, 1), dtype=int), lanes=1).mean(axis=(0, 1)).round(2)
        array([0.3, 1. ])
    """

    means: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", validate.per_arm("means", self.means, 0.0, 1.0))

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Beta rewards, (rounds, lanes, arms)."""
        inner = np.clip(self.means, 1e-12, 1.0 - 1e-12)
        drawn = rng.beta(inner, 1.0 - inner, (len(rows), lanes, inner.shape[-1]))
        return np.where(inner == self.means, drawn, self.means)


@dataclass(frozen=True, eq=False)
class Categorical:
    """Reward drawn from a list of values, for instance a histogram of ratings.

    Args:
        values: (values,), the rewards that can occur.
        probabilities: (arms, values), a row an arm, each with sum 1.

    Example:
        >>> Categorical([0.0, 0.5, 1.0], [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]).means
        array([0.25, 0.9 ])

    Raises:
        EvenhandError: a row does not sum to 1, or has another length than ``values``.
    """

    values: Any
    probabilities: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", validate.per_arm("values", self.values))
        object.__setattr__(self, "probabilities", validate.table("probabilities", self.probabilities, 0.0, 1.0))
        if self.probabilities.shape[-1] != self.values.shape[-1]:
            raise EvenhandError(
                f"probabilities has {self.probabilities.shape[-1]} columns for {self.values.shape[-1]} values"
            )
        validate.rows_sum_to_one("probabilities", self.probabilities)

    @property
    def means(self) -> Array:
        """Expected value of each arm, (arms,)."""
        return np.asarray(self.probabilities @ self.values)

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards by inversion, (rounds, lanes, arms)."""
        uniform = rng.random((len(rows), lanes, len(self.probabilities)))
        cumulative = np.cumsum(self.probabilities, axis=-1)
        drawn = np.empty_like(uniform)
        for arm, steps in enumerate(cumulative):
            place = np.searchsorted(steps / steps[-1], uniform[..., arm], side="right")
            drawn[..., arm] = self.values[place]
        return drawn


@dataclass(frozen=True, eq=False)
class Table:
    """Rewards replayed from a log: one row a round, one column an arm.

    A blank (NaN) is a reward that the log does not know; the arm must be asleep in that round, which
    `Availability` from the same log sees to.

    Args:
        values: (rows, arms), the rewards; NaN for unknown.
        order: ``"log"`` replays the rows as they stand in every lane, ``"shuffled"`` in an order of each lane's own.

    Example:
        >>> import numpy as np
        >>> log = Table([[0.5, np.nan], [1.0, 0.25]])
        >>> log.means
        array([0.75, 0.25])
    """

    values: Any
    order: str = "log"

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.values, dtype=float)
        except (TypeError, ValueError):
            raise EvenhandError("a reward table needs rows of equal length, one number an arm") from None
        if values.ndim != 2 or values.size == 0:
            raise EvenhandError(f"a reward table needs rows and a column an arm, got shape {values.shape}")
        if np.isinf(values).any():
            raise DataError(f"row {int(np.argwhere(np.isinf(values))[0, 0]) + 1} of the reward table is infinite")
        validate.one_of("order", self.order, ("log", "shuffled"))
        object.__setattr__(self, "values", values)

    @property
    def means(self) -> Array:
        """Mean of the known rewards of each arm, (arms,); 0 for an arm without any."""
        known = ~np.isnan(self.values)
        return np.asarray(np.nansum(self.values, axis=0) / np.maximum(known.sum(axis=0), 1))

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """The logged rewards, 0 where unknown, (rounds, lanes, arms)."""
        found = np.nan_to_num(self.values[rows])
        return np.broadcast_to(found, (len(rows), lanes, self.values.shape[-1]))


@dataclass(frozen=True, eq=False)
class Winners:
    """In every round exactly one arm pays 1, the others nothing.

    Args:
        probabilities: (arms,), the chance of each arm to be the one; they sum to 1.

    Example:
        >>> import numpy as np
        >>> Winners([0.75, 0.25]).draw(np.random.default_rng(0), np.zeros((3, 1), dtype=int), lanes=1).sum(axis=-1)
        array([[1],
               [1],
               [1]])

    Source: Wang et al. 2021, section 4.2.
    """

    probabilities: Any

    def __post_init__(self) -> None:
        chances = validate.per_arm("probabilities", self.probabilities, 0.0, 1.0)
        chances = validate.for_all_lanes("probabilities", chances)
        validate.rows_sum_to_one("probabilities", chances[np.newaxis])
        object.__setattr__(self, "probabilities", chances)

    @property
    def means(self) -> Array:
        """The probabilities, (arms,)."""
        return np.asarray(self.probabilities)

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """0/1 rewards as booleans, (rounds, lanes, arms)."""
        ends = np.cumsum(self.probabilities)
        winner = np.searchsorted(ends / ends[-1], rng.random((len(rows), lanes)), side="right")
        return np.asarray(winner[..., np.newaxis] == np.arange(len(ends)))
