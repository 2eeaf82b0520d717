"""Which arms can play: availability models, each with a way to draw and its distribution over sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.records import Array, Mask
from evenhand.rewards import below

#: Arms up to which all 2^K sets of independent availability are listed.
MAX_ENUMERATED = 15


class Availability(Protocol):
    """A model of who is awake."""

    @property
    def arms(self) -> int | None:
        """Number of arms that the model knows of; None for any number."""
        ...

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask | None:
        """Who is awake, (rounds, lanes, arms); None for everybody, always."""
        ...

    def distribution(self, arms: int) -> tuple[Mask, Array] | None:
        """Every set of available arms (sets, arms) with its probability (sets,); None where they are too many."""
        ...


@dataclass(frozen=True)
class Always:
    """Every arm is available in every round."""

    @property
    def arms(self) -> None:
        """Any number of arms."""
        return None

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> None:
        """Everybody, always."""

    def distribution(self, arms: int) -> tuple[Mask, Array]:
        """The full set, with probability 1."""
        return np.ones((1, arms), dtype=bool), np.ones(1)


@dataclass(frozen=True, eq=False)
class Independent:
    """Each arm is available with its own probability, independently of the others and of the past.

    Args:
        probabilities: (arms,) in [0, 1].

    Example:
        >>> sets, chance = Independent([0.5, 1.0]).distribution(arms=2)
        >>> sets[chance > 0].tolist(), chance[chance > 0].tolist()
        ([[False, True], [True, True]], [0.5, 0.5])
    """

    probabilities: Any

    def __post_init__(self) -> None:
        probabilities = validate.per_arm("probabilities", self.probabilities, 0.0, 1.0)
        object.__setattr__(self, "probabilities", validate.for_all_lanes("probabilities", probabilities))

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.probabilities.shape[-1])

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask:
        """Who is awake, (rounds, lanes, arms)."""
        return below(rng, self.probabilities, len(rows), lanes)

    def distribution(self, arms: int) -> tuple[Mask, Array] | None:
        """All 2^K sets and their probabilities, up to `MAX_ENUMERATED` arms."""
        if arms > MAX_ENUMERATED:
            return None
        sets = (np.arange(2**arms)[:, np.newaxis] >> np.arange(arms)) & 1 == 1
        chance = np.where(sets, self.probabilities, 1.0 - self.probabilities).prod(axis=-1)
        return sets, chance


@dataclass(frozen=True, eq=False)
class Joint:
    """The set of available arms is drawn from a table.

    Args:
        sets: (sets, arms) of 0 and 1, or of booleans.
        probabilities: (sets,) in [0, 1] with sum 1.

    Example:
        >>> import numpy as np
        >>> joint = Joint([[1, 0], [1, 1]], [0.25, 0.75])
        >>> joint.draw(np.random.default_rng(0), np.zeros((4000, 1), dtype=int), lanes=1).mean(axis=(0, 1)).round(2)
        array([1.  , 0.75])

    Raises:
        EvenhandError: the probabilities do not sum to 1, or there is not one for each set.
    """

    sets: Any
    probabilities: Any

    def __post_init__(self) -> None:
        listed = validate.table("sets", self.sets, 0.0, 1.0)
        if not np.isin(listed, (0.0, 1.0)).all():
            raise EvenhandError("sets must hold 0 (asleep) or 1 (available), a row a set and a column an arm")
        object.__setattr__(self, "sets", listed.astype(bool))
        object.__setattr__(self, "probabilities", validate.per_arm("probabilities", self.probabilities, 0.0, 1.0))
        if len(listed) != len(self.probabilities):
            raise EvenhandError(f"there are {len(listed)} sets but {len(self.probabilities)} probabilities")
        validate.rows_sum_to_one("probabilities", self.probabilities[np.newaxis])

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.sets.shape[-1])

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask:
        """Who is awake, (rounds, lanes, arms)."""
        steps = np.cumsum(self.probabilities)
        place = np.searchsorted(steps / steps[-1], rng.random((len(rows), lanes)), side="right")
        return np.asarray(self.sets[place])

    def distribution(self, arms: int) -> tuple[Mask, Array]:
        """The table."""
        return self.sets, self.probabilities


@dataclass(frozen=True, eq=False)
class Logged:
    """Availability replayed from a log: one row a round, one column an arm.

    Args:
        table: (rows, arms) of booleans, or of 0 and 1.

    Example:
        >>> sets, chance = Logged([[1, 0], [1, 1], [1, 0], [1, 0]]).distribution(arms=2)
        >>> sets.tolist(), chance.tolist()
        ([[True, False], [True, True]], [0.75, 0.25])
    """

    table: Any

    def __post_init__(self) -> None:
        table = validate.table("availability log", self.table, 0.0, 1.0)
        if not np.isin(table, (0.0, 1.0)).all():
            raise EvenhandError("an availability log must hold 0 (asleep) or 1 (available)")
        object.__setattr__(self, "table", table.astype(bool))

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.table.shape[-1])

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> Mask:
        """The logged availability, (rounds, lanes, arms)."""
        return np.broadcast_to(self.table[rows], (len(rows), lanes, self.arms))

    def distribution(self, arms: int) -> tuple[Mask, Array]:
        """The distinct rows and how often each stands in the log."""
        sets, counts = np.unique(self.table, axis=0, return_counts=True)
        return sets, counts / counts.sum()
