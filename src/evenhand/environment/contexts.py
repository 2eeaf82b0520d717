"""What is known of the situation and the arms before each decision: models of contexts, each with its law.

A model draws the contexts of a number of rounds at a time, from a stream of their own that no policy touches, so that
every policy faces the same contexts.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.errors import EvenhandError, number_of, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, build, part
from evenhand.core.state import Array
from evenhand.core.validate import PerArm, Rows
from evenhand.features.declaration import INTERCEPT, Features
from evenhand.features.kinds import Category

#: Contexts that stand for a law that cannot be listed.
SAMPLE = 20_000

Columns: TypeAlias = "int | Rows"


class Context(NamedTuple):
    """Features as numbers: of the situation, (…, columns), and of the arms, (…, arms, columns) or None."""

    situation: Array
    arms: Array | None = None


def of_arms(number: int) -> tuple[str, ...]:
    """Names of so many columns of an arm."""
    return tuple(f"z{place + 1}" for place in range(number))


class Contexts(Part, ABC):
    """A model of contexts. A class of your own needs ``widths`` and `draw`; the other members have defaults.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.contexts import Context, Contexts
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
        """The names of the columns, those of the situation first; by default x1, x2, … and z1, z2, …"""
        return (*(f"x{place + 1}" for place in range(self.widths[0])), *of_arms(self.widths[1]))

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
        """Contexts (contexts, …) that stand for all, by default 20,000 drawn ones, and their probabilities (contexts,).

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
    """Independent normal features with mean 0, and an intercept, which is the first column of the situation.

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
        ((3, 1), ('intercept', 'x1', 'x2', 'z1'))
        >>> contexts.draw(np.random.default_rng(0), np.zeros((1, 1), dtype=int), lanes=1, arms=2).situation.round(2)
        array([[[ 1.  ,  0.13, -0.13]]])
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
        """The intercept and x1, x2, …, then z1, z2, … of an arm."""
        names = [INTERCEPT] * self.intercept + [f"x{place + 1}" for place in range(self.situation)]
        return (*names, *of_arms(self.widths[1]))

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
            situation = np.concatenate([np.ones((*situation.shape[:-1], 1)), situation], axis=-1)
        if self._fixed is not None or self._drawn == self.situation:
            return with_arms(situation, self._fixed)
        features = drawn[..., self.situation :].reshape(*drawn.shape[:-1], arms, -1)
        return Context(situation, features * sd[self.situation :])


@frozen(eq=False)
class _Listed(Contexts):
    """Contexts that can be listed: those of a log, or all that can occur."""

    _context: Context = field(init=False, repr=False)  # (contexts, columns), and (contexts, arms, columns) or None
    _chances: Array = field(init=False, repr=False)  # (contexts,)

    def _know(self, context: Context, chances: Array) -> None:
        object.__setattr__(self, "_context", context)
        object.__setattr__(self, "_chances", chances)

    @property
    def widths(self) -> tuple[int, int]:
        """How many columns the situation has, and how many each arm."""
        situation, arms = self._context
        return situation.shape[-1], 0 if arms is None else arms.shape[-1]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, those of the situation first."""
        features: Features | None = getattr(self, "features", None)
        if features is None:
            return super().columns
        return features.columns if features.widths[1] else (*features.columns, *of_arms(self.widths[1]))

    @property
    def arms(self) -> int | None:
        """Number of arms, where they have features."""
        return None if self._context.arms is None else self._context.arms.shape[1]

    def law(self, arms: int) -> tuple[Context, Array]:
        """Every context with its probability."""
        return self._context, self._chances

    def at(self, rows: NDArray[np.intp]) -> Context:
        """Some of the contexts, (rounds, lanes, columns)."""
        situation, arms = self._context
        return Context(situation[rows], None if arms is None else arms[rows])


def _laws(value: object) -> dict[str, dict[str, float]]:
    """The levels of each category, and how likely each is."""
    if not isinstance(value, Mapping) or not value:
        raise EvenhandError(
            f"must be a table of categories such as {{'country': {{'DE': 0.6, …}}}}, got {shown(value)}"
        )
    laws = {}
    for name, law in value.items():
        if not isinstance(law, Mapping):
            raise EvenhandError(f"must be a table of levels and their probabilities, got {shown(law)}", str(name))
        laws[str(name)] = {str(level): validate.number(f"{name}.{level}", one, 0.0, 1.0) for level, one in law.items()}
        validate.rows_sum_to_one(str(name), np.array([list(laws[str(name)].values())]))
    return laws


def _fixed(value: object) -> Array | None:
    return None if value is None else validate.table("", value)


@part("contexts", "categories")
@frozen(eq=False)
class Categories(_Listed):
    """Independent categories, one column for each of their levels, after an intercept.

    Args:
        categories: by name, the levels with their probabilities, which sum to 1.
        arms: a table (arms, columns) of the arms' features; None for none.
        intercept: whether the situation has a column of ones.

    Raises:
        EvenhandError: probabilities do not sum to 1, or more than 20,000 combinations can occur.

    Example:
        >>> contexts = Categories({"country": {"DE": 0.75, "FR": 0.25}, "device": {"phone": 0.5, "other": 0.5}})
        >>> contexts.columns
        ('intercept', 'country=DE', 'country=FR', 'device=phone', 'device=other')
        >>> context, chances = contexts.law(arms=2)
        >>> context.situation[0], chances
        (array([1., 1., 0., 1., 0.]), array([0.375, 0.375, 0.125, 0.125]))
    """

    categories: dict[str, dict[str, float]] = field(converter=_laws)
    arm_columns: Array | None = field(default=None, converter=_fixed, alias="arms")
    intercept: bool = field(default=True, converter=validate.truth)
    features: Features = field(init=False, eq=False, repr=False)  # the declaration of the situation

    def __attrs_post_init__(self) -> None:
        number = math.prod(map(len, self.categories.values()))
        if number > SAMPLE:
            raise EvenhandError(
                f"have {number:,} combinations, more than {SAMPLE:,}: take fewer levels, or a log of rows", "categories"
            )
        declared = {name: Category(list(law), unknown="error") for name, law in self.categories.items()}
        object.__setattr__(self, "features", Features(declared, intercept=self.intercept))
        cells = itertools.product(*(law.items() for law in self.categories.values()))
        likely = [(levels, math.prod(chance for _, chance in levels)) for levels in cells]
        rows = [dict(zip(declared, (level for level, _ in levels), strict=True)) for levels, chance in likely if chance]
        context = with_arms(self.features.situations(rows), self.arm_columns)
        self._know(context, np.array([chance for _, chance in likely if chance]))

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int, arms: int) -> Context:
        """One-hot situations, (rounds, lanes, columns), and the features of the arms."""
        ends = np.cumsum(self._chances)
        return self.at(np.searchsorted(ends / ends[-1], rng.random((len(rows), lanes)), side="right"))


def with_arms(situation: Array, arms: Array | None) -> Context:
    """A context in which every arm has the same features in all rounds."""
    return Context(situation, None if arms is None else np.broadcast_to(arms, (*situation.shape[:-1], *arms.shape)))


def _records(value: Any) -> Any:
    """Rows as dictionaries or numbers; a table of pandas as dictionaries, with None where a value is missing."""
    if hasattr(value, "to_dict"):
        frame = value.astype(object)
        return frame.where(frame.notna(), None).to_dict("records")
    return (
        value
        if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping)
        else validate.table("", value)
    )


def _declared(value: Any) -> Features | None:
    if value is None or isinstance(value, Features):
        return value
    if not isinstance(value, Mapping):
        raise EvenhandError(f"must be Features(…) or its table, got {shown(value)}")
    features: Features = build("features", {"kind": "features", **value})
    return features


@part("contexts", "log")
@frozen(eq=False)
class Log(_Listed):
    """Contexts from a log, one row per round.

    Args:
        values: rows of numbers (rows, columns); or, with ``features``, dictionaries or a table of pandas with the
            features of the situation.
        features: the declaration by which rows become numbers; None for rows of numbers.
        arms: features of every arm, (arms, columns); with ``features``, a dictionary for each arm. One more axis, of
            the rows, gives those of each row.
        order: ``"log"`` replays the rows as they stand in every lane, ``"shuffled"`` in an order of each lane's own;
            ``"drawn"`` draws a row for every round, with replacement.

    Raises:
        EvenhandError: a row is not as declared, or numbers of rows differ.

    Example:
        >>> from evenhand.features import Category, Features
        >>> log = Log([{"country": "DE"}, {"country": "FR"}], Features({"country": Category(["DE", "FR"], "error")}))
        >>> log.rows, log.columns
        (2, ('intercept', 'country=DE', 'country=FR'))
        >>> log.draw(np.random.default_rng(0), np.array([[1]]), lanes=1, arms=2).situation
        array([[[1., 0., 1.]]])
    """

    values: Any = field(converter=_records)
    features: Features | None = field(default=None, converter=_declared)
    arm_features: Any = field(default=None, alias="arms")
    order: str = field(default="log", validator=validate.choice("log", "shuffled", "drawn"))

    def __attrs_post_init__(self) -> None:
        context = self._numbers() if self.features is None else self._encoded(self.features)
        self._know(context, _evenly(len(self.values)))

    def _numbers(self) -> Context:
        """Rows that are numbers already."""
        if not isinstance(self.values, np.ndarray):
            raise EvenhandError("has rows by name: give features, the declaration of their kinds", "values")
        if self.arm_features is None:
            return Context(self.values)
        arms = np.asarray(self.arm_features, dtype=float)
        if arms.ndim not in (2, 3) or not np.isfinite(arms).all() or (arms.ndim == 3 and len(arms) != len(self.values)):
            raise EvenhandError(
                f"must be finite numbers (arms, columns), or (rows, arms, columns) for {len(self.values)} rows, got "
                f"shape {arms.shape}",
                "arms",
            )
        return Context(self.values, arms) if arms.ndim == 3 else with_arms(self.values, arms)

    def _encoded(self, features: Features) -> Context:
        """Rows by name as numbers, with those of the arms where they have features."""
        if isinstance(self.values, np.ndarray):
            raise EvenhandError("must be dictionaries where features are declared", "values")
        if not features.arms:
            return Context(features.situations(self.values))
        arms = self.arm_features
        if not isinstance(arms, list | tuple) or not arms:
            raise EvenhandError(f"must be a dictionary for each arm, with {', '.join(features.arms)}", "arms")
        by_row = arms if isinstance(arms[0], list | tuple) else [arms] * len(self.values)
        if len(by_row) != len(self.values) or len({len(one) for one in by_row}) > 1:
            raise EvenhandError(f"must have the same arms in each of {len(self.values)} rows", "arms")
        pairs = [{**row, **arm} for row, own in zip(self.values, by_row, strict=True) for arm in own]
        table = features.encode(pairs).reshape(len(by_row), len(by_row[0]), -1)
        width = features.widths[0]
        return Context(table[:, 0, :width], table[..., width:])

    @property
    def rows(self) -> int | None:
        """Number of logged rounds; None where rows are drawn."""
        return None if self.order == "drawn" else len(self.values)

    @property
    def shuffled(self) -> bool:
        """Whether each lane replays the rows in an order of its own."""
        return self.order == "shuffled"

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int, arms: int) -> Context:
        """The rows of the log, (rounds, lanes, columns)."""
        number = len(self.values)
        if self.order == "drawn":
            rows = (rng.random((len(rows), lanes)) * number).astype(np.intp)
        return self.at(np.broadcast_to(rows, (len(rows), lanes)))


def at(places: NDArray[np.intp], number: int, context: Context) -> Context:
    """The features of the situation and of the arm at some pulls, from flat places among a number of arms."""
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
