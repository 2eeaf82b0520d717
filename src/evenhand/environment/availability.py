"""Which arms can play: availability models, each with a way to draw and its distribution over sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.errors import EvenhandError, number_of, there_are
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, part
from evenhand.core.state import Array, Mask
from evenhand.core.validate import Rows
from evenhand.environment.rewards import below

#: Arms up to which all 2^K sets of independent availability are listed.
MAX_ENUMERATED = 15


@frozen
class AvailabilityTraits:
    """What is true of a model of who can play."""

    sleeping: bool = True  # whether an arm may be unavailable in a round


class Availability(Part, ABC):
    """A model of which arms are available. A class of your own needs `draw`; the other members have defaults.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.availability import Availability
        >>> from evenhand.rewards import Bernoulli
        >>> class OneSleeps(Availability):
        ...     def draw(self, rng, rows, lanes):
        ...         return rng.integers(0, 3, (len(rows), lanes, 1)) != np.arange(3)
        >>> Environment(Bernoulli([0.9, 0.8, 0.7]), OneSleeps()).availability.traits.sleeping
        True
    """

    traits: ClassVar[AvailabilityTraits] = AvailabilityTraits()

    @by_default
    def arms(self) -> int | None:
        """Number of arms that the model is for; None for any number."""
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask | None:
        """Which arms are available, (rounds, lanes, arms); None if all are, always.

        Args:
            rng: the environment's random stream for availability.
            rows: (rounds, 1) or (rounds, lanes), the row of the log that each round replays: the number of the round,
                from 0, unless the log is shuffled.
            lanes: number of replications.
        """

    def distribution(self, arms: int) -> tuple[Mask, Array] | None:
        """Every set of available arms (sets, arms) with its probability (sets,); None if they cannot be listed.

        Args:
            arms: number of arms.

        Returns:
            The sets and probabilities that sum to 1, or None.
        """
        return None

    @by_default
    def independent(self) -> Array | None:
        """(arms,), the probability that each arm is available, independently of all others; None if they depend."""
        return None

    def inclusion(self, plays: int) -> Callable[[Array], Array] | None:
        """A formula for each arm's probability of being among the m available arms of highest priority.

        Args:
            plays: m ≥ 1.

        Returns:
            A function from priorities (arms,) to probabilities (arms,), by which arms of priority 0 or less never
            play; None if there is no formula, and the sum over the `distribution` has to do.
        """
        return None

    @by_default
    def logged(self) -> Mask | None:
        """(rows, arms), the log that is replayed; None for a model without a log."""
        return None

    @by_default
    def rows(self) -> int | None:
        """Number of logged rounds; None for a model without a log."""
        return None if self.logged is None else len(self.logged)


@part("availability", "always")
@frozen(eq=False)
class Always(Availability):
    """Every arm is available in every round.

    Example:
        >>> Always().distribution(arms=2)
        (array([[ True,  True]]), array([1.]))
    """

    traits = AvailabilityTraits(sleeping=False)

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> None:
        """None: all arms, always."""

    def distribution(self, arms: int) -> tuple[Mask, Array]:
        """The full set, with probability 1."""
        return np.ones((1, arms), dtype=bool), np.ones(1)


@part("availability", "independent")
@frozen(eq=False)
class Independent(Availability):
    """Each arm is available with its own probability, independently of the others and of the past.

    Args:
        probabilities: (arms,) in [0, 1].

    Raises:
        EvenhandError: a probability is not in [0, 1].

    Example:
        >>> sets, probability = Independent([0.5, 1.0]).distribution(arms=2)
        >>> sets[probability > 0].tolist(), probability[probability > 0].tolist()
        ([[False, True], [True, True]], [0.5, 0.5])
    """

    probabilities: Array = field(converter=validate.units_of_all_lanes)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.probabilities)

    @property
    def independent(self) -> Array:
        """The probabilities."""
        return self.probabilities

    def rules(self) -> Array:
        """The chances below which a uniform number of its own makes each arm available."""
        return self.probabilities

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask:
        """Which arms are available, (rounds, lanes, arms)."""
        return below(rng, self.probabilities, len(rows), lanes)

    def distribution(self, arms: int) -> tuple[Mask, Array] | None:
        """All 2^K sets and their probabilities, up to `MAX_ENUMERATED` arms."""
        if arms > MAX_ENUMERATED:
            return None
        sets = (np.arange(2**arms)[:, np.newaxis] >> np.arange(arms)) & 1 == 1
        return sets, np.where(sets, self.probabilities, 1.0 - self.probabilities).prod(axis=-1)

    def inclusion(self, plays: int) -> Callable[[Array], Array]:
        """Exact for any number of arms, by the law of the number of available arms ahead (Poisson binomial)."""

        def probability(priority: Array) -> Array:
            ahead = np.zeros(plays)  # probability that 0, 1, …, m − 1 arms ahead are available
            ahead[0] = 1.0
            shares = np.zeros_like(self.probabilities)
            for arm in np.argsort(-priority, kind="stable")[: np.count_nonzero(priority > 0.0)]:
                available = self.probabilities[arm]
                shares[arm] = available * ahead.sum()
                ahead[1:] = ahead[1:] * (1.0 - available) + ahead[:-1] * available
                ahead[0] *= 1.0 - available
            return shares

        return probability


def _sets(value: Rows) -> Mask:
    sets = validate.table("", value, 0.0, 1.0)
    if not np.isin(sets, (0.0, 1.0)).all():
        raise EvenhandError("must contain 0 (asleep) or 1 (available), with one column per arm")
    return sets.astype(bool)


@part("availability", "joint")
@frozen(eq=False)
class Joint(Availability):
    """The set of available arms is drawn from a table.

    Args:
        sets: (sets, arms) of 0 and 1, or of booleans.
        probabilities: (sets,) in [0, 1] with sum 1.

    Raises:
        EvenhandError: the probabilities do not sum to 1, or there is not one for each set.

    Example:
        >>> import numpy as np
        >>> joint = Joint([[1, 0], [1, 1]], [0.25, 0.75])
        >>> joint.draw(np.random.default_rng(0), np.zeros((4000, 1), dtype=int), lanes=1).mean(axis=(0, 1)).round(2)
        array([1.  , 0.75])
    """

    sets: Mask = field(converter=_sets)
    probabilities: Array = field(converter=validate.units_of_all_lanes)

    def __attrs_post_init__(self) -> None:
        if len(self.sets) != len(self.probabilities):
            probabilities = number_of(len(self.probabilities), "probability", "probabilities")
            raise EvenhandError(f"{there_are(len(self.sets), 'set')} but {probabilities}")
        validate.rows_sum_to_one("probabilities", self.probabilities[np.newaxis])

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.sets.shape[-1])

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask:
        """Which arms are available, (rounds, lanes, arms)."""
        steps = np.cumsum(self.probabilities)
        place = np.searchsorted(steps / steps[-1], rng.random((len(rows), lanes)), side="right")
        return np.asarray(self.sets[place])

    def distribution(self, arms: int) -> tuple[Mask, Array]:
        """The table."""
        return self.sets, self.probabilities


@part("availability", "log")
@frozen(eq=False)
class Logged(Availability):
    """Availability replayed from a log: one row per round, one column per arm.

    Args:
        table: (rows, arms) of booleans, or of 0 and 1.

    Raises:
        EvenhandError: the rows differ in length, or hold anything but 0 and 1.

    Example:
        >>> sets, probability = Logged([[1, 0], [1, 1], [1, 0], [1, 0]]).distribution(arms=2)
        >>> sets.tolist(), probability.tolist()
        ([[True, False], [True, True]], [0.75, 0.25])
    """

    table: Mask = field(converter=_sets)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.table.shape[-1])

    @property
    def logged(self) -> Mask:
        """The log."""
        return self.table

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask:
        """The logged availability, (rounds, lanes, arms)."""
        return np.broadcast_to(self.table[rows], (len(rows), lanes, self.arms))

    def distribution(self, arms: int) -> tuple[Mask, Array]:
        """The distinct rows and how often each stands in the log."""
        sets, counts = np.unique(self.table, axis=0, return_counts=True)
        return sets, counts / counts.sum()
