"""What all parts of a policy share: what they remember, and what others ask of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.parts import Part, build
from evenhand.core.state import Array, Decision, Feedback, Shape, State, remembered

if TYPE_CHECKING:
    from evenhand.core.aside import aside


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Traits:
    """What others ask of a part of a policy, in place of its class; an own part names what differs from the defaults.

    A part that is made of others passes on what holds for them: `either` joins two records.

    Example:
        >>> from evenhand.policy import BetaSample
        >>> BetaSample().traits.random, BetaSample().traits.gives
        (True, '')
    """

    # an index: the scores, by default means; a fairness part: the claims, by default a ranking
    gives: Literal["", "means", "weights", "ranking", "shares"] = ""
    # a fairness part: the scores, by default any; a selection: the claims, by default a ranking
    takes: Literal["", "means", "weights", "ranking", "shares"] = ""
    random: bool = False  # an index or a hold: whether chance decides the score, or the end of a choice
    closed: bool = False  # an index or a hold that is random: whether its `propensity` has a closed form
    bounded: bool = False  # whether it needs rewards of a finite range
    named: bool = False  # whether it needs feedback that names the pull of each reward
    contextual: bool = False  # an index: whether it goes by features, and needs those of the pull of each reward
    # whether it is for simulations and logs only: what it remembers cannot be written down and read again
    offline: bool = False
    scaled: bool = False  # a fairness part or a selection: whether it needs the spread of the scores in every decision
    scored: bool = False  # a fairness part: whether it needs the scores themselves
    tests_delays: bool = False  # whether it tests if rewards depend on their delay
    # an index: whether it weighs a reward by the probabilities of the round in which it arrives, and so has to be shown
    # every round in order, also one in which nothing arrived
    in_order: bool = False
    # whether what it remembers follows from plays and rewards without rounding, so that logs need not keep it
    exact: bool = False
    # a fairness part: whether the scores, and with them chance in the index, have no influence
    ignores_score: bool = False
    limits: bool = False  # a fairness part: whether floors, caps and shares of groups can be promised at any time
    # a fairness part: the parameter that allows arms to be behind their promises, if one does
    arrears: Annotated[str, aside] = ""
    # a fairness part: whether its shares can also be promised by segment, as it goes by `deficits` alone or draws each
    # arm with at least its share
    segmented: bool = False
    idle: bool = False  # a fairness part, schedule or hold: whether it leaves everything to the other parts
    # a schedule: whether it decides every round alone, so that no promise of the other parts can be kept
    alone: bool = False
    flexible: bool = False  # a schedule: whether arms and promises can change while it runs
    free: bool = False  # a schedule: whether a simulation pulls every arm once before round 1, free of charge
    # a hold: whether all arms are held equally long on average, so that shares of the choices are shares of rounds
    equal: bool = True
    halved: bool = False  # a hold: whether what arrives in the first half of a choice counts for none

    def either(self, other: Traits) -> Traits:
        """What holds for one of two parts or for both; what they give and take is that of the first.

        Args:
            other: traits of the second part.

        Example:
            >>> Traits(random=True).either(Traits(bounded=True)).bounded
            True
        """
        names = [one.name for one in fields(self) if isinstance(getattr(self, one.name), bool)]
        return replace(self, **{name: getattr(self, name) or getattr(other, name) for name in names})


NO_TRAITS = Traits()
Places = NDArray[np.intp]


class PolicyPart(Part):
    """A part of a policy. All members have safe defaults; an own part needs the one that answers its question.

    What a part remembers, its memory, is an array, a finite number, a text, a dataclass of these, or None; only a part
    with the trait ``offline`` can have a dataclass of anything. Arrays have the arms on the last axis; a part that
    remembers anything else per arm defines `grow`, and `begin` if it makes promises.
    """

    __slots__ = ()

    @by_default
    def traits(self) -> Traits:
        """What others ask of the part: a property, or in a class of one's own ``traits = Traits(random=True)``."""
        return NO_TRAITS

    @by_default
    def fractions(self) -> Array | None:
        """(arms,) or (1,), the share of the rounds that the policy is measured against; None for none."""
        return None

    @by_default
    def promises(self) -> bool:
        """Whether the plays of the arms are promised, and not only what the policy is measured against."""
        return False

    def start(self, shape: Shape) -> Any:
        """What the part remembers beside the tally, before the first round; None for nothing.

        Args:
            shape: (arms,) or (lanes, arms), of every array in the state.

        Returns:
            The part's memory, which stands in the field of the state that has the name of its slot.
        """
        return None

    def after_decision(self, state: State, decision: Decision) -> None:
        """Record who plays; called before the round and the pulls in ``state`` are counted up.

        Args:
            state: of the policy; the part's memory in it is updated in place.
            decision: of the round.
        """

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Record what arrived; called after the tally in ``state`` is updated.

        Args:
            state: of the policy; the part's memory in it is updated in place.
            feedback: of the round.
            rng: for what is drawn.
        """

    def after_reward(self, state: State, place: int, reward: float, rng: np.random.Generator) -> None:
        """Record the reward of one arm of a single lane, which is all that arrived, as `after_feedback` does.

        A part that defines this, too, saves bandits with many arms work on all of them.

        Args:
            state: of the policy; the part's memory in it is updated in place.
            place: of the arm.
            reward: on the scale [0, 1].
            rng: for what is drawn.
        """

    def refuses(self, policy: Composition) -> str | None:
        """Why the part cannot be in a policy, with the remedy; asked when the policy is made.

        Args:
            policy: with all its parts.
        """
        return None

    def grow(self, memory: Any, arms: int) -> Any:
        """The memory when arms are added: what `start` gives at the new places, the rest as it was.

        Args:
            memory: of a single lane; it stays as it is.
            arms: number of arms from now on, at least as many as before.

        Returns:
            A new memory.

        Raises:
            EvenhandError: it holds an array whose last axis is not the arms.
        """
        if memory is None:
            return None

        def longer(old: Array, fresh: Array) -> Array | None:
            if fresh.shape == old.shape or (fresh.shape[:-1] == old.shape[:-1] and fresh.shape[-1] < old.shape[-1]):
                return old.copy()  # one per lane, or a window of rounds that has become longer
            if fresh.shape[:-1] != old.shape[:-1] or fresh.shape[-1] != arms:
                return None
            new = fresh.copy()
            new[..., : old.shape[-1]] = old
            return new

        return self._each(memory, self.start((arms,)), "grow(memory, arms)", longer)

    def recolumn(self, memory: Any, columns: tuple[int, int], situation: Places, arms: Places) -> Any:
        """The memory when other features are declared; the columns that are new have been 0 until now.

        Args:
            memory: of a single lane; it stays as it is.
            columns: from now on, of the situation and of every arm.
            situation: (d,), the place of each column of the situation before; −1 where it is new.
            arms: (d_arm,), the same of the columns of every arm.

        Returns:
            A new memory, or the given one.

        Raises:
            EvenhandError: it goes by features, and does not define this.
        """
        if memory is None or not self.traits.contextual:
            return memory
        name = type(self).__name__
        raise EvenhandError(f"{name} remembers features: define {name}.recolumn(memory, columns, situation, arms)")

    def begin(self, memory: Any, places: Places, carried: Array) -> Any:
        """The memory when promises to some arms begin anew: as `start` gives it at these places, the rest as it was.

        Asked of the part that makes the promises. A part that keeps an account of its own and can begin it with plays
        owed from before overrides this; others refuse such plays.

        Args:
            memory: of one lane or many; it stays as it is.
            places: (n,), of the arms whose promise begins.
            carried: (…, arms), plays owed to each arm from now on, 0 for none; negative where it has had too many.

        Returns:
            A new memory.

        Raises:
            EvenhandError: plays are carried that the part cannot count.
        """
        if memory is None:
            return None
        name = type(self).__name__
        if np.any(carried[..., places]):
            raise EvenhandError(
                f"{name} keeps an account of its own, in which every promise begins with nothing owed: forgive what is "
                f"owed, or define {name}.begin(memory, places, carried)"
            )

        def begun(old: Array, fresh: Array) -> Array | None:
            if old.shape != fresh.shape:
                return None
            if old.shape[-1:] != carried.shape[-1:]:
                return old.copy()
            new = old.copy()
            new[..., places] = fresh[..., places]
            return new

        return self._each(memory, self.start(carried.shape), "begin(memory, places, carried)", begun)

    def advance(self, memory: Any, plays: Array, rounds: float) -> Any:
        """The memory after rounds that are counted together, as those of a lease: who played in each is not known.

        Asked before the tally and the round in the state are counted up.

        Args:
            memory: of a single lane; it stays as it is.
            plays: (arms,), plays of each arm in these rounds; parts of plays where a lease is planned, negative where
                rounds of a lease are given back.
            rounds: how many rounds; negative where they are given back.

        Returns:
            A new memory, or the given one.

        Raises:
            EvenhandError: the part has an own `after_decision`, and so remembers who played in each round.
        """
        if memory is None or type(self).after_decision is PolicyPart.after_decision:
            return memory
        raise EvenhandError(f"{type(self).__name__} remembers who played in each round")

    def learn(self, memory: Any, plays: Array, sums: Array) -> Any:
        """The memory after plays elsewhere that count for no promise, and whose rewards are known.

        Args:
            memory: of a single lane; it stays as it is.
            plays: (arms,), plays of each arm.
            sums: (arms,), sums of their rewards, each on the scale [0, 1].

        Returns:
            A new memory, or the given one.

        Raises:
            EvenhandError: the part learns from more than counts.
        """
        return memory

    def learn_pulls(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Learn from pulls elsewhere, each with its reward and its features; by default as from rewards that arrive.

        Args:
            state: of a single lane, updated in place.
            feedback: its answers name each pull with its features.
            rng: for what is drawn.
        """
        self.after_feedback(state, feedback, rng)

    def rules(self) -> Any:
        """The part's rule for the compiled loop.

        Returns:
            A record of plain numbers; None: it is played by NumPy.
        """
        return None

    def _each(self, memory: Any, fresh: Any, member: str, change: Callable[[Array, Array], Array | None]) -> Any:
        """A memory with each array changed, given the one that it would be at the start."""
        if isinstance(memory, np.ndarray):
            new = change(memory, fresh) if isinstance(fresh, np.ndarray) else None
            if new is None:
                name = type(self).__name__
                raise EvenhandError(
                    f"{name} remembers an array of shape {memory.shape}, whose last axis is not the arms: define "
                    f"{name}.{member}"
                )
            return new
        if is_dataclass(memory) and not isinstance(memory, type):
            names = remembered(type(memory))
            parts = {name: self._each(getattr(memory, name), getattr(fresh, name), member, change) for name in names}
            return type(memory)(**parts)
        return memory


def built(slot: str, value: object, base: Callable[..., T], example: str) -> T:
    """A part of a slot, given as one, by the name of its kind, or by its plain form."""
    found: T = build(slot, value)
    kind: Any = base
    validate.part("", found, kind, example)
    return found


def of_inner(base: type, name: str) -> Any:
    """A method of a part around another one, which is the inner part's."""

    def asked(self: Around, *given: Any, **named: Any) -> Any:
        return getattr(getattr(self, self.inside), name)(*given, **named)

    return wraps(getattr(base, name))(asked)


class Around(PolicyPart):
    """A part around another one of its slot, whose memory it uses; several inner parts share one memory."""

    __slots__ = ()
    inside: ClassVar[str]  # the field that holds the inner part

    start = of_inner(PolicyPart, "start")
    after_decision = of_inner(PolicyPart, "after_decision")
    after_feedback = of_inner(PolicyPart, "after_feedback")
    refuses = of_inner(PolicyPart, "refuses")
    grow = of_inner(PolicyPart, "grow")
    recolumn = of_inner(PolicyPart, "recolumn")
    begin = of_inner(PolicyPart, "begin")
    advance = of_inner(PolicyPart, "advance")
    learn = of_inner(PolicyPart, "learn")
    learn_pulls = of_inner(PolicyPart, "learn_pulls")


class Composition(Protocol):
    """What a part sees of the policy that it is to be in."""

    @property
    def index(self) -> PolicyPart:
        """What gives the scores."""

    @property
    def fairness(self) -> PolicyPart:
        """What says who is owed."""

    @property
    def selection(self) -> PolicyPart:
        """What says who plays."""

    @property
    def schedule(self) -> PolicyPart:
        """What decides some rounds itself."""

    @property
    def hold(self) -> PolicyPart:
        """What says how long a choice lasts."""

    @property
    def plays(self) -> int:
        """Arms played per round."""

    @property
    def named(self) -> bool:
        """Whether the policy needs feedback that names the pull of each reward."""

    @property
    def contextual(self) -> bool:
        """Whether the policy goes by features."""
