"""A policy is a choice of parts: index, fairness, selection, schedule and hold; the index names its evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from evenhand.core import validate
from evenhand.core.cohorts import Answers, Cohorts
from evenhand.core.errors import EvenhandError, InfeasiblePromise, number_of, shown
from evenhand.core.frozen import field, fields, frozen
from evenhand.core.parts import Part, part, rules_of
from evenhand.core.state import (
    Array,
    Decision,
    FeatureShape,
    Feedback,
    Observation,
    Shape,
    State,
    Tally,
    Unit,
    grown,
)
from evenhand.policy.accounts import Accounts
from evenhand.policy.claim import Fairness, Group, spread
from evenhand.policy.evidence import Evidence
from evenhand.policy.fairness import NoPromise
from evenhand.policy.hold import EveryRound, Hold
from evenhand.policy.index import UCB, Index, as_index
from evenhand.policy.merit import Merit
from evenhand.policy.part import PolicyPart, built
from evenhand.policy.rounds import GIVEN, INCLUSION, UNKNOWN, Rounds, check_features, has_rows, in_shape
from evenhand.policy.rules import PolicyRules
from evenhand.policy.schedule import NoSchedule, Schedule
from evenhand.policy.selection import Selection, TopM

#: The slots of a policy: the base class of each, and an example for messages.
SLOTS: dict[str, tuple[type, str]] = {
    "index": (Index, "UCB()"),
    "fairness": (Fairness, "NoPromise()"),
    "selection": (Selection, "TopM()"),
    "schedule": (Schedule, "NoSchedule()"),
    "hold": (Hold, "EveryRound()"),
}

#: What remembers: the parts in the slots, and the evidence that the index names; each has a field of `State`.
REMEMBERING = ("index", "evidence", *(slot for slot in SLOTS if slot != "index"))


Plain: TypeAlias = str | Mapping[str, object]


def _fairness(value: Fairness | Plain) -> Fairness:
    return built("fairness", value, Fairness, SLOTS["fairness"][1])


def _selection(value: Selection | Plain) -> Selection:
    return built("selection", value, Selection, SLOTS["selection"][1])


def _schedule(value: Schedule | Plain) -> Schedule:
    return built("schedule", value, Schedule, SLOTS["schedule"][1])


def _hold(value: Hold | Plain) -> Hold:
    return built("hold", value, Hold, SLOTS["hold"][1])


@part("policy", "policy")
@frozen(eq=False)
class Policy(Part):
    """Decides who plays, and learns from what comes back.

    A policy holds parameters only. What it remembers is a `State`, which `start` makes, `apply` and `observe` update in
    place, and `evenhand.dump` and `evenhand.restore` save and load exactly.

    Each part is an object, the name of a kind such as ``"ucb"``, or a table such as ``{"kind": "ucb", "clip": True}``.

    Args:
        index: the score of each arm, and from which evidence.
        fairness: what each arm is owed.
        selection: who plays per round.
        schedule: who must play by plan.
        hold: how long a choice lasts.
        name: the algorithm's name in the registry, for labels; empty for a composition of one's own.

    Raises:
        EvenhandError: two parts do not fit; the message has the remedy.

    Example:
        >>> import numpy as np
        >>> from evenhand import Feedback, Observation, Policy
        >>> from evenhand.policy import DeficitFirst
        >>> policy, rng = Policy(fairness=DeficitFirst([0.2, 0.2])), np.random.default_rng(7)
        >>> state = policy.start(arms=2)
        >>> decision = policy.decide(state, Observation(), rng)
        >>> decision.played
        array([ True, False])
        >>> policy.observe(state, Feedback(received=decision.played, rewards=np.array([1.0, 0.0])), rng)
        >>> state.tally.rewards
        array([1., 0.])
    """

    index: Index = field(default=UCB(), converter=as_index, metadata={"slot": "index"})
    fairness: Fairness = field(default=NoPromise(), converter=_fairness, metadata={"slot": "fairness"})
    selection: Selection = field(default=TopM(), converter=_selection, metadata={"slot": "selection"})
    schedule: Schedule = field(default=NoSchedule(), converter=_schedule, metadata={"slot": "schedule"})
    hold: Hold = field(default=EveryRound(), converter=_hold, metadata={"slot": "hold"})
    name: str = ""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise EvenhandError(f"must be a string, got {shown(self.name)}", "name")
        for slot in ("selection", "fairness", "schedule", "hold", "index"):
            reason = getattr(self, slot).refuses(self)
            if reason is not None:
                raise EvenhandError(reason)

    @property
    def plays(self) -> int:
        """Arms played per round, m."""
        return self.selection.plays

    def rules(self) -> PolicyRules | None:
        """Those of all parts; None where one of them has none."""
        parts = (self.index, self.fairness, self.selection, self.hold, self.schedule)
        rules = (*map(rules_of, parts), self.plays)
        return None if any(one is None for one in rules) else PolicyRules(*rules)

    @property
    def evidence(self) -> Evidence | None:
        """What the index believes of rewards that are missing or old; None for an index that uses no evidence."""
        return self.index.evidence

    @property
    def merit(self) -> Merit | None:
        """The function of an arm's mean to which its share is proportional; None where no such share is promised."""
        return self.fairness.merit

    @property
    def fractions(self) -> Array | None:
        """(arms,) or (1,), the share of the rounds promised to each arm; None where no share is promised."""
        return self.schedule.fractions if self.fairness.fractions is None else self.fairness.fractions

    @property
    def promises_shares(self) -> bool:
        """Whether shares of the rounds are promised, and not only what the policy is measured against."""
        return self.fractions is not None and (self.fairness.promises or self.schedule.promises)

    @property
    def repays(self) -> bool:
        """Whether plays that are owed are made up for; not where promises are kept by chance."""
        return self.fairness.traits.gives != "shares"

    @property
    def caps(self) -> Array | None:
        """(arms,) or (1,), the largest share of the rounds that each arm may have; None where there is no limit."""
        return self.fairness.caps

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of arms that are promised shares together."""
        return self.fairness.groups

    @cached_property
    def _needs(self) -> set[str]:
        """Which of these traits a part has, however deep inside; asked once, as many rooms ask for one of them."""
        traits = [one.traits for one in parts_in(self)]
        names = ("bounded", "named", "contextual", "tests_delays")
        return {name for one in traits for name in names if getattr(one, name)}

    @property
    def bounded(self) -> bool:
        """Whether it needs rewards of a finite range."""
        return "bounded" in self._needs

    @cached_property
    def named(self) -> bool:
        """Whether it needs feedback that names the pull of each reward."""
        return "named" in self._needs

    @cached_property
    def contextual(self) -> bool:
        """Whether it goes by features, and learns from each reward with those of its pull."""
        return "contextual" in self._needs

    @cached_property
    def recorded(self) -> tuple[str, ...]:
        """The slots of parts whose memory a log must record, as computing it again gives other last digits."""
        return tuple(slot for slot, one in self.parts.items() if not one.traits.exact)

    @property
    def draws(self) -> bool:
        """Whether decisions are random beyond the selection: in the score, or in how long a choice lasts."""
        return self.hold.traits.random or self.rounds.draws_scores

    @property
    def estimates(self) -> bool:
        """Whether propensities are estimated: chance decides beyond the selection, and nothing says with which law."""
        return self.rounds.known == UNKNOWN

    def allowance(self, arms: int, rounds: int, state: State | None = None) -> float | None:
        """The most plays that an arm can be behind its promised share after so many rounds.

        All arms are taken to be available, and the promise to be feasible. None where no share is promised.

        Args:
            arms: K.
            rounds: t.
            state: of a run, for a policy that allows what depends on the scores it has compared; None for none yet.

        Returns:
            Plays, at least 0.
        """
        if not self.fairness.promises or self.fairness.fractions is None:
            return None
        largest = self.hold.longest(rounds)
        exploring = self.selection.exploring(arms)
        drawn = arms + 4.0 * float(np.sqrt(exploring * rounds)) if exploring else 0.0  # what chance can do there
        if state is None:
            allowed = self.fairness.allowance(arms, rounds, self.plays)
        else:
            allowed = self.fairness.allowed(state.fairness, arms, rounds, self.plays)
        return allowed * largest + drawn + self.schedule.rounds(arms)

    def start(
        self,
        arms: int,
        lanes: int | None = None,
        unit: Unit | None = None,
        columns: tuple[int, int] | None = None,
    ) -> State:
        """The state before the first round.

        Args:
            arms: number of arms, K ≥ m.
            lanes: number of independent replications that run side by side; None for a single one without a lane axis.
            unit: of the rewards, in which penalties are given; None for the scale [0, 1].
            columns: of the encoded features, of the situation and of every arm; None where decisions come without.

        Raises:
            EvenhandError: there are fewer arms than plays, a parameter has another number of arms, a share could
                exceed one, or the policy goes by features and there are none.
        """
        self._check(arms, lanes)
        if self.contextual and not any(columns or ()):
            raise EvenhandError(f"{type(self.index).__name__} goes by features: declare them, or use another index")
        shape: Shape = (arms,) if lanes is None else (validate.whole("lanes", lanes), arms)
        if columns is not None:
            shape = FeatureShape(shape, *columns)
        memories = {slot: _memory(getattr(self, slot), shape) for slot in REMEMBERING}
        return State(round=0, tally=self._tally(shape), plays=self.plays, unit=unit, **memories)

    def _tally(self, shape: Shape) -> Tally:
        """A tally of nothing."""
        return Tally.empty(shape, Cohorts.empty(shape, "tests_delays" in self._needs) if self.named else None)

    def _check(self, arms: int, lanes: int | None) -> None:
        """Refuse a number of arms that the policy is not for."""
        validate.whole("arms", arms)
        if self.plays > arms:
            are = "is" if arms == 1 else "are"
            raise EvenhandError(f"plays = {self.plays}, but there {are} only {number_of(arms, 'arm')} to play")
        if self.fractions is not None:
            validate.one_per_arm("fractions", self.fractions, arms)
            if lanes is None and self.fractions.ndim > 1:
                raise EvenhandError("has several rows; use PerLane(fractions) to give each lane one row", "fractions")
        self.fairness.check(arms, self.plays)
        self.schedule.check(arms, self.plays)
        self._check_floor(arms)

    def _check_floor(self, arms: int) -> None:
        """Refuse promises for which an exploration floor leaves too few rounds."""
        floor = self.selection.floor
        if not floor or self.fractions is None:
            return
        needed = float(
            np.maximum(np.broadcast_to(self.fractions, (*self.fractions.shape[:-1], arms)), floor).sum(-1).max()
        )
        if needed > self.plays + 1e-9:
            raise InfeasiblePromise(
                f"the promised shares and a floor of {floor:g} for the other arms take {needed:.6g} plays per round, "
                f"but plays = {self.plays}: lower the floor or the shares"
            )

    def decide(
        self, state: State, observation: Observation, rng: np.random.Generator, propensities: bool = True
    ) -> Decision:
        """Decide who plays the next round, and count the plays in ``state``: `choose` and `apply` together.

        Args:
            state: updated in place.
            observation: what is known before the decision.
            rng: the policy's own random stream.
            propensities: as in `choose`.

        Raises:
            EvenhandError: ``observation.available`` is for another number of arms or lanes.
        """
        if propensities or self.rounds.known != GIVEN:
            decision = self.choose(state, observation, rng)
        else:
            decision = self.choose(state, observation, rng, propensities=False)
        self.apply(state, decision)
        return decision

    def choose(
        self, state: State, observation: Observation, rng: np.random.Generator, propensities: bool = True
    ) -> Decision:
        """Choose who plays the next round, changing nothing but the random stream; see `decide`.

        Args:
            state: before the round.
            observation: what is known of it: who is available, and the features.
            rng: for what is drawn.
            propensities: whether they are wanted where they take a selection of their own, as for choices that a coin
                ends; simulations save the time.

        Returns:
            The decision, to be recorded with `apply`.
        """
        rounds, score = self.rounds, None
        if observation.available is not None:
            observation = in_shape(observation, observation.available, state)
        elif rounds.single and state.tally.pulls.ndim == 1:
            return rounds.play_single(state, observation, rng)
        if rounds.contextual and observation.situation is observation.arms is None:
            raise EvenhandError("the policy goes by features, and the observation has none", "features")
        held, chance = rounds.held(state, observation, rng) if rounds.may_hold else (None, None)
        chosen = None if held is None else np.logical_not(held @ np.ones((held.shape[-1], 1), dtype=bool))
        known = rounds.known
        if held is None or chosen is None or chosen.all():
            scored = rounds.leading if state.tally.pulls.ndim == 1 else None
            score = (scored or rounds.score)(state, observation, rng)
            played, inclusion = rounds.selected(score, state, observation, rng)
        elif chosen.any() or rounds.by_lane:
            played, inclusion = rounds.select_in(chosen[..., 0], held, state, observation, rng)
        else:
            played, inclusion, known = held, held, rounds.known_held
        chances = inclusion if known == INCLUSION else None
        if known == GIVEN and propensities:
            chances = rounds.propensities(state, observation, held, chosen)
        decision = Decision(state.round + 1, played, chances, observation.available, inclusion, chosen, chance)
        if rounds.scaled and score is not None:
            decision.spread = spread(score, observation.available)
            decision.scores = score if self.fairness.traits.scored else None
        if rounds.contextual:
            decision.situation, decision.arms = observation.situation, observation.arms
        return decision

    def apply(self, state: State, decision: Decision, given: Container[str] = ()) -> None:
        """Record a decision, whether it was just chosen or is read from a log: updates ``state`` in place.

        Args:
            state: updated in place.
            decision: that was made.
            given: slots of the parts that do not record it, as what they remember is known from elsewhere.
        """
        for slot, record in self.rounds.after_decision:
            if slot not in given:
                record(state, decision)
        tally, played, places = state.tally, decision.played, decision.places
        if tally.cohorts is not None:
            tally.cohorts.pull(played)
        state.round += 1
        if played.ndim > 1:
            tally.pulls += played
        else:  # few arms of a single lane play, and to add all its arms takes longer
            for place in played.nonzero()[0].tolist() if places is None else places:
                tally.pulls[place] += 1.0

    def observe(self, state: State, feedback: Feedback, rng: np.random.Generator, given: Container[str] = ()) -> None:
        """Record what arrived at the end of a round, on the scale [0, 1]; updates ``state`` in place.

        Args:
            state: updated in place.
            feedback: what arrived.
            rng: the policy's own random stream.
            given: slots of the parts that do not record it, as what they remember is known from elsewhere.
        """
        rounds, tally = self.rounds, state.tally
        if rounds.contextual:
            check_features(feedback)
        credited = self.hold.credited(state) if rounds.may_hold else None
        if credited is not None:
            feedback = Feedback(feedback.received * credited, feedback.rewards * credited)
        tally.received += feedback.received
        tally.rewards += feedback.rewards
        if tally.cohorts is not None:
            answers = feedback.answers
            if answers is None:
                answers = Answers.at_once(feedback.received, feedback.rewards)
            tally.cohorts.receive(answers, tally.received)
        for slot, record in rounds.after_feedback:
            if slot not in given:
                record(state, feedback, rng)

    @cached_property
    def rounds(self) -> Rounds:
        """What every round asks."""
        return Rounds(self.parts, self.plays, self.contextual, type(self) is Policy and not self.named)

    @cached_property
    def parts(self) -> dict[str, PolicyPart]:
        """The parts that can remember something, by their slots."""
        owned = ((slot, getattr(self, slot)) for slot in REMEMBERING)
        return {slot: one for slot, one in owned if one is not None}

    def grow(self, state: State, arms: int) -> State:
        """The state with arms added at the end; see `evenhand.policy.part.PolicyPart.grow`.

        Args:
            state: of a single lane, of a policy of the same parts; it stays as it is.
            arms: number of arms from now on.

        Raises:
            EvenhandError: a part remembers something for which it does not say what new arms start with.
        """
        self._check(arms, None)
        tally = grown(state.tally, self._tally((arms,)))
        begun = None if state.begun is None else grown(state.begun, Accounts.opened((arms,)))
        memories = {slot: one.grow(getattr(state, slot), arms) for slot, one in self.parts.items()}
        return dataclasses.replace(state, tally=tally, begun=begun, **memories)

    @cached_property
    def by_lane(self) -> bool:
        """Whether a parameter differs between lanes."""
        return has_rows(self)


def _memory(part: Any, shape: Shape) -> Any:
    """What a part remembers, in a form that can be saved and cut to some lanes."""
    memory = None if part is None else part.start(shape)
    if isinstance(memory, np.ndarray) or (dataclasses.is_dataclass(memory) and not isinstance(memory, type)):
        return memory
    if memory is None or isinstance(memory, int | float | str):
        return memory
    owner, kind = type(part).__name__, type(memory).__name__
    raise EvenhandError(
        f"{owner}.start must return an array, a number, a text, a dataclass of these, or None, got a {kind}"
    )


def parts_in(part: Any) -> list[PolicyPart]:
    """All parts that a part is made of, however deep inside."""
    found: list[PolicyPart] = []
    for parameter in fields(type(part)):
        value = getattr(part, parameter.name)
        if isinstance(value, PolicyPart):
            found += [value, *parts_in(value)]
    return found
