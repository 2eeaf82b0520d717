"""What is known of the situation and the arms before each decision: models of contexts, each with its law.

A model draws the contexts of a number of rounds at a time, from a stream of their own that no policy touches, so that
every policy faces the same contexts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.errors import EvenhandError, number_of, shown
from evenhand.core.parts import Part, part
from evenhand.core.state import Array
from evenhand.core.validate import PerArm, Rows

#: Contexts that stand for a law that cannot be listed.
SAMPLE = 20_000

Columns: TypeAlias = "int | Rows"


class Context(NamedTuple):
    """Features as numbers: of the situation, (…, columns), and of the arms, (…, arms, columns) or None."""

    situation: Array
    arms: Array | None = None


class Contexts(Part, ABC):
    """A model of contexts. A class of your own needs ``widths`` and `draw`; the other members have defaults.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.rewards import Logistic
        >>> class Weekend(Contexts):
        ...     widths = (2, 0)
        ...     def draw(self, rng, rows, lanes, arms):
        ...         weekend = rows % 7 >= 5
        ...         return Context(np.stack(np.broadcast_arrays(weekend, np.ones((1, lanes))), axis=-1))
        >>> Environment(Logistic([[1.0, 0.0], [-1.0, 0.0]]), contexts=Weekend()).arms
        2
    """

    @by_default
    @abstractmethod
    def widths(self) -> tuple[int, int]:
        """How many columns the situation has, and how many each arm."""

    @by_default
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, those of the situation first; by default their numbers."""
        situation, arms = self.widths
        return (*(f"x{place + 1}" for place in range(situation)), *(f"z{place + 1}" for place in range(arms)))

    @by_default
    def arms(self) -> int | None:
        """Number of arms that the model is for; None for any number."""
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int, arms: int) -> Context:
        """Contexts of some rounds: situations (rounds, lanes, columns) and, with features, arms (…, arms, columns).

        Args:
            rng: the environment's random stream for contexts.
            rows: (rounds, 1) or (rounds, lanes), the row of the log that each round replays: the number of the round,
                from 0, unless the log is shuffled.
            lanes: number of replications.
            arms: number of arms.
        """

    def law(self, arms: int) -> tuple[Context, Array]:
        """Contexts (contexts, …) that stand for all, and their probabilities (contexts,): by default 20,000 drawn ones.

        Args:
            arms: number of arms.
        """
        numbers = np.arange(SAMPLE if self.rows is None else self.rows)[:, np.newaxis]
        drawn = self.draw(np.random.default_rng(0), numbers, 1, arms)
        known = None if drawn.arms is None else np.broadcast_to(drawn.arms, (len(numbers), 1, *drawn.arms.shape[-2:]))
        return Context(drawn.situation[:, 0], None if known is None else known[:, 0]), _evenly(len(numbers))

    @by_default
    def rows(self) -> int | None:
        """Number of logged rounds; None for a model without a log, or one from which rounds are drawn."""
        return None

    @by_default
    def shuffled(self) -> bool:
        """Whether each lane replays the rows of the log in an order of its own."""
        return False


def _evenly(number: int) -> Array:
    return np.full(number, 1.0 / number)


def _columns(value: Columns) -> int | Array:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return validate.natural(value)
    if np.ndim(value) == 0:
        raise EvenhandError(f"must be a number of columns, or a table with one row for each arm, got {shown(value)}")
    return validate.table("", value)


def _deviations(value: PerArm) -> Array:
    return validate.for_all_lanes("", validate.nonnegatives(value))


@part("contexts", "normal")
@frozen(eq=False)
class Normal(Contexts):
    """Independent normal features with mean 0, and an intercept, which is the last column of the situation.

    Args:
        situation: number of columns that are drawn for every round, besides the intercept.
        arms: number of columns that are drawn for every arm and round, or a table (arms, columns) that stays.
        sd: ≥ 0, standard deviation of the drawn columns; one number, or one for each column of the situation and then
            of an arm.
        intercept: whether the situation has a column of ones.

    Raises:
        EvenhandError: a parameter is out of range, or there is no column at all.

    Example:
        >>> contexts = Normal(situation=2, arms=[[0.5], [0.1]])
        >>> contexts.widths, contexts.columns
        ((3, 1), ('x1', 'x2', 'intercept', 'z1'))
        >>> contexts.draw(np.random.default_rng(0), np.zeros((1, 1), dtype=int), lanes=1, arms=2).situation.round(2)
        array([[[ 0.13, -0.13,  1.  ]]])
    """

    situation: int = field(converter=validate.natural)
    arm_columns: int | Array = field(default=0, converter=_columns, alias="arms")
    sd: Array = field(default=1.0, converter=_deviations)
    intercept: bool = field(default=True, converter=validate.truth)

    def __attrs_post_init__(self) -> None:
        if not any(self.widths):
            raise EvenhandError("must be at least 1 where there is neither an intercept nor a feature of the arms")
        if len(self.sd) not in (1, self._drawn):
            raise EvenhandError(
                f"has {number_of(len(self.sd), 'entry', 'entries')} for {number_of(self._drawn, 'drawn column')}", "sd"
            )

    @property
    def _fixed(self) -> Array | None:
        return None if isinstance(self.arm_columns, int) else self.arm_columns

    @property
    def _drawn(self) -> int:
        return self.situation + (self.arm_columns if isinstance(self.arm_columns, int) else 0)

    @property
    def widths(self) -> tuple[int, int]:
        """How many columns the situation has, with the intercept, and how many each arm."""
        columns = self.arm_columns
        return self.situation + self.intercept, columns if isinstance(columns, int) else columns.shape[1]

    @property
    def columns(self) -> tuple[str, ...]:
        """x1, x2, … and the intercept, then z1, z2, … of an arm."""
        names = [f"x{place + 1}" for place in range(self.situation)] + ["intercept"] * self.intercept
        return (*names, *(f"z{place + 1}" for place in range(self.widths[1])))

    @property
    def arms(self) -> int | None:
        """Number of rows of a table of the arms' features."""
        return None if self._fixed is None else len(self._fixed)

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int, arms: int) -> Context:
        """Normal situations, (rounds, lanes, columns), and the features of the arms."""
        width = self._drawn - self.situation
        return self._made(rng.standard_normal((len(rows), lanes, self.situation + arms * width)), arms)

    def law(self, arms: int) -> tuple[Context, Array]:
        """Drawn contexts and their mirror images, so that every mean is 0."""
        width = self._drawn - self.situation
        half = np.random.default_rng(0).standard_normal((SAMPLE // 2, self.situation + arms * width))
        return self._made(np.concatenate([half, -half]), arms), _evenly(2 * len(half))

    def _made(self, drawn: Array, arms: int) -> Context:
        """The context of standard normal numbers, (…, columns)."""
        sd = np.broadcast_to(self.sd, self._drawn)
        situation = drawn[..., : self.situation] * sd[: self.situation]
        if self.intercept:
            situation = np.concatenate([situation, np.ones((*situation.shape[:-1], 1))], axis=-1)
        if self._fixed is not None:
            return Context(situation, np.broadcast_to(self._fixed, (*situation.shape[:-1], *self._fixed.shape)))
        if self._drawn == self.situation:
            return Context(situation)
        features = drawn[..., self.situation :].reshape(*drawn.shape[:-1], arms, -1)
        return Context(situation, features * sd[self.situation :])


def at(places: NDArray[np.intp], number: int, context: Context) -> Context:
    """Of some pulls, by their flat places among a number of arms, the features of the situation and of the arm."""
    lanes, arms = np.divmod(places, number)
    return Context(context.situation[lanes], None if context.arms is None else context.arms[lanes, arms])


class Awaited:
    """The contexts of rounds whose rewards are still under way, so that each reward finds that of its own pull."""

    def __init__(self, arms: int, widths: tuple[int, int]) -> None:
        """Nothing is awaited."""
        self._arms = arms
        self._slots: dict[int, int] = {}  # by round
        self._left = np.zeros(0, dtype=np.int64)  # rewards awaited in each slot
        self._situation = np.zeros((0, 0, widths[0]))
        self._features = np.zeros((0, 0, arms, widths[1])) if widths[1] else None

    def keep(self, round: int, context: Context, rewards: int) -> None:
        """The context of a round, (lanes, …), from which so many rewards are awaited."""
        if not rewards:
            return
        free = np.flatnonzero(self._left == 0)
        if not free.size:
            free = np.arange(len(self._left), 2 * len(self._left) + 1)
            self._left = np.concatenate([self._left, np.zeros_like(free)])
            self._situation = _longer(self._situation, context.situation, len(free))
            if self._features is not None:
                self._features = _longer(self._features, context.arms, len(free))
        slot = int(free[0])
        self._slots[round], self._left[slot] = slot, rewards
        self._situation[slot] = context.situation
        if self._features is not None:
            self._features[slot] = context.arms

    def take(self, round: int, places: NDArray[np.intp], delays: NDArray[np.int64]) -> Context:
        """The contexts at some pulls, whose rewards are not awaited any more: situation and features of the arm."""
        rounds, inverse = np.unique(round - delays, return_inverse=True)
        numbers = np.array([self._slots[one] for one in rounds.tolist()], dtype=np.intp)
        lanes, arms = np.divmod(places, self._arms)
        slots = numbers[inverse]
        features = None if self._features is None else self._features[slots, lanes, arms]
        found = Context(self._situation[slots, lanes], features)
        np.subtract.at(self._left, slots, 1)
        for one, slot in zip(rounds.tolist(), numbers.tolist(), strict=True):
            if self._left[slot] == 0:
                del self._slots[one]
        return found


def _longer(kept: Array, like: Any, slots: int) -> Array:
    """An array with so many more slots, each of the shape of a context's."""
    return np.concatenate([kept.reshape(len(kept), *like.shape), np.zeros((slots, *like.shape))])
