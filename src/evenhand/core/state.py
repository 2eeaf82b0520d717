"""What passes between the parts: tallies, decisions, feedback, and the state of a policy.

Every array has the arms on its last axis: ``(arms,)`` for one online decision, ``(lanes, arms)`` for a
simulation, where a *lane* is an independent replication.
"""

from __future__ import annotations

import dataclasses
import math
import reprlib
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core.cohorts import Answers, Cohorts
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.frozen import evolve, fields

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Shape = tuple[int, ...]
T = TypeVar("T")


class FeatureShape(tuple[int, ...]):
    """The shape of a state's arrays, (arms,) or (lanes, arms), where decisions come with features.

    Args:
        shape: (arms,) or (lanes, arms).
        situation: number of columns of the situation, d.
        arms: number of columns of every arm.

    Example:
        >>> shape = FeatureShape((2, 3), situation=5, arms=1)
        >>> shape, shape.situation, shape.columns
        ((2, 3), 5, (5, 1))
    """

    situation: int
    columns: tuple[int, int]  # of the situation, and of every arm

    def __new__(cls, shape: Shape, situation: int, arms: int = 0) -> FeatureShape:
        """See the class."""
        made = super().__new__(cls, shape)
        made.situation, made.columns = situation, (situation, arms)
        return made


@dataclass(slots=True)
class Tally:
    """How often each arm was played and what came back; always ``received <= pulls``.

    Example:
        >>> from evenhand.typing import Tally
        >>> Tally.empty((3,)).pulls
        array([0., 0., 0.])
    """

    pulls: Array  # (…, arms) plays so far, N
    received: Array  # (…, arms) rewards that have arrived so far, M
    rewards: Array  # (…, arms) sum of the rewards that have arrived, S
    cohorts: Cohorts | None = None  # the same by age; None where no evidence asks for it

    @classmethod
    def empty(cls, shape: Shape, cohorts: Cohorts | None = None) -> Tally:
        """A tally of nothing: zeros of the given shape.

        Args:
            shape: (arms,) or (lanes, arms).
            cohorts: counts by age; None where the policy needs none.
        """
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape), cohorts)


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known before a decision.

    Example:
        >>> Observation().available is None  # every arm can play
        True
    """

    available: Mask | None = None  # (…, arms) or (arms,), True where an arm can play; None: all can
    situation: Array | None = None  # (…, d) features of the situation, encoded; None: there are none
    arms: Array | None = None  # (…, arms, d_arm) features of the arms, encoded; None: there are none


#: Every arm can play, and nothing else is known.
ALL_AVAILABLE = Observation()


@dataclass(slots=True)  # frozen, it would take six times as long to make, and one is made in every round
class Decision:
    """Who plays in one round.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy()
        >>> decision = policy.decide(policy.start(arms=3), Observation(), np.random.default_rng(0))
        >>> decision.round, decision.played.tolist(), decision.propensities.tolist()
        (1, [True, False, False], [True, False, False])
    """

    round: int  # counted from 1
    played: Mask  # (…, arms) True where the arm plays
    # (…, arms) probability of playing, given the past: before anything is drawn in this round. Where scores are drawn
    # and an exploration floor gives every arm a chance, given also the scores: the same as ``inclusion``, above 0 for
    # every available arm. None: it has no closed form, or was not asked for.
    propensities: NDArray[Any] | None
    available: Mask | None  # (…, arms) the arms that could be played; None: all
    inclusion: NDArray[Any]  # (…, arms) probability of playing, given also what was drawn before the selection
    chosen: Mask | None = None  # (…, 1) True in the lanes that chose anew; None: all
    hold: Any = None  # what chance decided of how long the choice lasts, for the hold; None: nothing
    # (…, 1) the largest score compared less the smallest, cut to [0, 1]; None: no part asks for it
    spread: Array | None = None
    scores: Array | None = None  # (…, arms) that were compared; None: no part asks for them
    situation: Array | None = None  # (…, d) as observed; None: the policy goes by no features
    arms: Array | None = None  # (…, arms, d_arm) as observed
    places: list[int] | None = None  # of the arms that play in a single lane; None: not known yet


@dataclass(slots=True)
class Feedback:
    """What a policy learns at the end of a round: how many rewards arrived for each arm, and their sum.

    Example:
        >>> import numpy as np
        >>> from evenhand import Feedback
        >>> Feedback(received=np.array([1, 0]), rewards=np.array([0.5, 0.0])).rewards
        array([0.5, 0. ])
    """

    received: NDArray[Any]  # (…, arms) rewards that arrived
    rewards: NDArray[Any]  # (…, arms) sum of the rewards that arrived
    answers: Answers | None = None  # each with its pull; None: unknown, or all are of the round that ends


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened in a round: what the played arms earned, and what the policy learns of it now."""

    earned: NDArray[Any]  # (…, arms) reward of each played arm, 0 elsewhere
    feedback: Feedback
    potential_rewards: NDArray[Any] | None = None  # (…, arms) what each arm would have earned; None: unknown
    means: Array | None = None  # (…, arms) what each arm earns on average in this context; None: there is no context


@dataclass(slots=True)
class Unit:
    """The user's unit of reward: what is x on the scale [0, 1], on which policies work, is ``low + width · x``."""

    low: float
    width: float  # > 0


@dataclass(slots=True)
class State:
    """All that a policy remembers; the parts' own records are None where a part remembers nothing.

    Example:
        >>> from evenhand import Policy
        >>> state = Policy().start(arms=3, lanes=2)
        >>> state.round, state.clock, state.tally.pulls.shape
        (0, 1, (2, 3))
    """

    round: int  # rounds decided so far
    tally: Tally
    plays: int = 1  # arms played per round
    index: Any = None
    evidence: Any = None  # of the evidence that the index names
    fairness: Any = None
    selection: Any = None
    schedule: Any = None
    hold: Any = None
    begun: Any = None  # `evenhand.policy.accounts.Accounts`, or None where every promise holds from round 1 on
    unit: Unit | None = None  # of the rewards; None where they are in [0, 1]
    rounds_before: float = 0.0  # rounds that plays elsewhere, from which it learned, would have taken

    @property
    def clock(self) -> int:
        """The round being decided, counted from 1 (t in the papers)."""
        return self.round + 1

    @property
    def time(self) -> float:
        """The round being decided, counted from the first play that was learned from, also elsewhere."""
        return self.round + 1 + self.rounds_before

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.tally.pulls.shape[-1])


class PerLane(np.ndarray[Any, np.dtype[np.float64]]):
    """A parameter that differs between lanes: row ``l`` holds in lane ``l``.

    Wherever a reward model or a part of a policy takes one value per arm, it also takes ``PerLane(values)``;
    `evenhand.simulate` gives each block of lanes its own rows.

    Args:
        values: (lanes, arms), or (lanes, 1) for one value per lane.

    Raises:
        EvenhandError: ``values`` does not have two axes.

    Example:
        >>> from evenhand import PerLane
        >>> PerLane([[0.1, 0.9], [0.4, 0.6]]).shape
        (2, 2)
    """

    def __new__(cls, values: object) -> PerLane:
        """See the class."""
        array = np.asarray(values, dtype=float)
        if array.ndim != 2:
            raise EvenhandError(f"PerLane needs an array (lanes, arms), got shape {array.shape}")
        return array.view(cls)

    def __array_finalize__(self, source: object) -> None:
        """Nothing to carry over."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results of arithmetic are plain arrays."""
        return np.asarray(array)


@cache
def remembered(kind: type) -> tuple[str, ...]:
    """The names of a record's fields that it remembers; empty for what is no record.

    A field with ``compare=False`` is a cache: it follows from the others, is None by default and stands last. Whatever
    copies a record (`dump` and `restore`, a new arm, some of the lanes) leaves it out; who needs it makes it anew.
    """
    if not dataclasses.is_dataclass(kind):
        return ()
    return tuple(field.name for field in dataclasses.fields(kind) if field.compare)


def rows(record: T, lanes: NDArray[np.intp]) -> T:
    """A copy of a record with only the given lanes in its arrays."""
    return each_array(record, lambda array: array[lanes])


def each_array(record: T, change: Callable[[NDArray[Any]], Any]) -> T:
    """A copy of a record with every array in it changed; what is no array stays as it is."""
    if isinstance(record, np.ndarray):
        return change(record)  # type: ignore[no-any-return]
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        return record
    return type(record)(**{name: each_array(getattr(record, name), change) for name in remembered(type(record))})


def shapes_in(record: object) -> list[Shape]:
    """The shapes of all arrays in a record."""
    shapes: list[Shape] = []

    def note(array: NDArray[Any]) -> NDArray[Any]:
        shapes.append(array.shape)
        return array

    each_array(record, note)
    return shapes


def grown(old: T, fresh: T) -> T:
    """A record with the values of ``old``, and those of ``fresh`` for the arms that ``old`` does not have."""
    if isinstance(old, np.ndarray) and isinstance(fresh, np.ndarray):
        if fresh.shape == old.shape:
            return old.copy()
        longer = fresh.copy()
        longer[..., : old.shape[-1]] = old
        return longer
    if dataclasses.is_dataclass(fresh) and not isinstance(fresh, type):
        names = remembered(type(fresh))
        return type(fresh)(**{name: grown(getattr(old, name), getattr(fresh, name)) for name in names})
    return old


def changed_at(places: Mask, new: T, old: T) -> T:
    """A record with the values of ``new`` at some places (…, arms), and those of ``old`` at the others."""
    if isinstance(new, np.ndarray) and isinstance(old, np.ndarray):
        kept = new.copy()
        np.copyto(kept, old, where=~places if new.shape == places.shape else False)
        return kept
    if dataclasses.is_dataclass(new) and not isinstance(new, type):
        names = remembered(type(new))
        return type(new)(**{name: changed_at(places, getattr(new, name), getattr(old, name)) for name in names})
    return new


def for_lanes(part: T, lanes: slice, keep: bool = False) -> T:
    """A copy of a part in which every `PerLane` parameter is cut to the given lanes."""
    if isinstance(part, PerLane):
        return part[lanes] if keep else np.asarray(part)[lanes]  # type: ignore[return-value]
    changes: dict[str, Any] = {}
    for parameter in fields(type(part)):
        value = getattr(part, parameter.name)
        new = for_lanes(value, lanes, keep)
        if parameter.init and new is not value:
            changes[parameter.alias] = new
    return evolve(part, **changes) if changes else part


def dump(record: object) -> Any:
    """A state or any record in it as plain JSON values; floats are kept exactly.

    Args:
        record: the record.

    Returns:
        The plain values, from which `restore` makes the record.

    Example:
        >>> from evenhand import dump
        >>> from evenhand.typing import Tally
        >>> dump(Tally.empty((2,)))["pulls"]
        {'dtype': 'float64', 'values': [0.0, 0.0]}
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {name: dump(getattr(record, name)) for name in remembered(type(record))}
    if isinstance(record, np.ndarray):
        finite = record.dtype.kind != "f" or np.isfinite(record).all()
        # JSON has no word for infinity; NumPy reads the text back.
        values = record if finite else np.where(np.isfinite(record), record.astype(object), record.astype(str))
        return {"dtype": str(record.dtype), "values": values.tolist()}
    return record.item() if isinstance(record, np.generic) else record


def restore(template: T, plain: Any, grown: bool = False) -> T:
    """The record that `dump` wrote, in the shape of ``template`` (for a state: a fresh one of the same policy).

    Args:
        template: a record of the same type and shape; arrays that a record lists in ``grows`` may have become longer.
        plain: what `dump` returned.
        grown: whether a longer last axis is accepted.

    Raises:
        StateError: a field is missing or foreign, or an array has another shape than the template's.

    Example:
        >>> from evenhand import Policy, dump, restore
        >>> policy = Policy()
        >>> restore(policy.start(arms=2), dump(policy.start(arms=2))).round
        0
        >>> restore(policy.start(arms=3), dump(policy.start(arms=2)))
        Traceback (most recent call last):
        ...
        evenhand.core.errors.StateError: a saved array has shape (2,), but this policy needs (3,)
    """
    if isinstance(template, np.ndarray):
        return _restored_array(template, plain, grown)  # type: ignore[return-value]
    if not dataclasses.is_dataclass(template) or isinstance(template, type):
        if type(plain) is not type(dump(template)):
            raise StateError(
                f"the saved state has {plain!r} where this policy has {template!r}: restore it with "
                "the policy that it was saved from"
            )
        kept: T = plain
        return kept
    names = set(remembered(type(template)))
    if not isinstance(plain, dict) or set(plain) != names:
        found = sorted(plain) if isinstance(plain, dict) else type(plain).__name__
        raise StateError(f"the saved {type(template).__name__} must have {sorted(names)}, got {found}")
    if isinstance(template, State) and not (type(plain["round"]) is int and plain["round"] >= 0):
        raise StateError(f"the round of a saved state must be a whole number, got {plain['round']!r}")
    grows: frozenset[str] = getattr(template, "grows", frozenset())
    return type(template)(**{name: restore(getattr(template, name), plain[name], name in grows) for name in names})


def unkept(owner: object, first: object, now: object) -> str:
    """Why `dump` and `restore` do not keep the kinds of what a part remembers; empty where they do.

    Shapes are not compared.

    Args:
        owner: the part.
        first: what it remembered when it began.
        now: what it remembers.

    Example:
        >>> unkept(object(), 0, 1), unkept(object(), 0, [1])[:52]
        ('', 'what object remembers cannot be saved: it is [1] and')
    """
    fault = _unkept("it", first, now)
    return fault and (
        f"what {type(owner).__name__} remembers cannot be saved: {fault}; remember arrays, texts and finite numbers, "
        "and leave each of the kind that `start` gives"
    )


def _unkept(name: str, first: object, now: object) -> str:
    """What in a record is not kept, and what it was; empty for nothing."""
    if dataclasses.is_dataclass(now) and not isinstance(now, type) and type(first) is type(now):
        each = (_unkept(repr(one), getattr(first, one), getattr(now, one)) for one in remembered(type(now)))
        return next(filter(None, each), "")
    if _kind(now) and _kind(now) == _kind(first):
        return ""
    shown = [f"an array of {one.dtype}" if isinstance(one, np.ndarray) else reprlib.repr(one) for one in (now, first)]
    return f"{name} is {shown[0]}" if shown[0] == shown[1] else f"{name} is {shown[0]} and was {shown[1]}"


def _kind(value: object) -> str:
    """The kind of an array, text or finite number, or of None; empty for anything else."""
    if isinstance(value, np.ndarray):
        return str(value.dtype) if value.dtype.kind in "biufU" else ""
    value = value.item() if isinstance(value, np.generic) else value
    known = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return type(value).__name__ if known else ""


def _restored_array(template: NDArray[Any], plain: Any, grown: bool) -> NDArray[Any]:
    if not isinstance(plain, dict) or set(plain) != {"dtype", "values"}:
        raise StateError("a saved array must have 'dtype' and 'values'")
    if plain["dtype"] != str(template.dtype):
        raise StateError(f"a saved array has type {plain['dtype']!r}, but this policy needs {str(template.dtype)!r}")
    try:
        array = np.array(plain["values"], dtype=template.dtype)
    except (TypeError, ValueError) as error:
        raise StateError(f"the values of a saved array do not match its type: {error}") from None
    longer = grown and array.shape[:-1] == template.shape[:-1] and array.shape[-1] >= template.shape[-1]
    if array.shape != template.shape and not longer:
        raise StateError(f"a saved array has shape {array.shape}, but this policy needs {template.shape}")
    return array
