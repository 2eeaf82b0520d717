"""A policy is a choice of parts: index, fairness, selection, schedule and hold; the index names its evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from attrs import field
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.cohorts import Answers, Cohorts
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, InfeasiblePromise, number_of, shown
from evenhand.core.frozen import frozen
from evenhand.core.parts import Part, build, part, rules_of
from evenhand.core.state import (
    Array,
    Decision,
    FeatureShape,
    Feedback,
    Mask,
    Observation,
    Shape,
    State,
    Tally,
    Unit,
    changed_at,
    fields_of,
    grown,
    rows,
)
from evenhand.core.streams import among
from evenhand.policy.accounts import BILLION, Accounts
from evenhand.policy.claim import Claim, Fairness, Group, Ranking, Shares, spread
from evenhand.policy.evidence import Evidence
from evenhand.policy.fairness import NoPromise
from evenhand.policy.hold import EveryRound, Hold
from evenhand.policy.index import UCB, Index
from evenhand.policy.merit import Merit
from evenhand.policy.part import PolicyPart
from evenhand.policy.rules import HoldRules, PolicyRules
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

#: Which probability a decision reports: that of the selection, that given the past alone, or none.
INCLUSION, GIVEN, UNKNOWN = "inclusion", "given the past", "unknown"

#: What remembers: the parts in the slots, and the evidence that the index names; each has a field of `State`.
REMEMBERING = ("index", "evidence", *(slot for slot in SLOTS if slot != "index"))


Plain: TypeAlias = str | Mapping[str, object]


def _index(value: Index | Plain) -> Index:
    index: Index = build("index", value)
    return index


def _fairness(value: Fairness | Plain) -> Fairness:
    fairness: Fairness = build("fairness", value)
    return fairness


def _selection(value: Selection | Plain) -> Selection:
    selection: Selection = build("selection", value)
    return selection


def _schedule(value: Schedule | Plain) -> Schedule:
    schedule: Schedule = build("schedule", value)
    return schedule


def _hold(value: Hold | Plain) -> Hold:
    hold: Hold = build("hold", value)
    return hold


@dataclass(slots=True)
class _Plan:
    """What every round asks of a policy, found once: to look it up in the parts takes as long as some of the steps."""

    score: Callable[[State, Observation, np.random.Generator], Array]
    leading: Callable[[State, Observation, np.random.Generator, int], Array] | None  # where the leaders suffice
    claim: Callable[[Array, State], Claim]
    claims: type[Claim]
    plan: Callable[[Any, State, Observation], Any] | None  # of the schedule; None: it plans nothing
    select: Callable[[Any, State, Observation, np.random.Generator], tuple[Mask, NDArray[Any]]]
    plays: int
    may_hold: bool
    known: str
    contextual: bool
    scaled: bool  # whether a part needs the scores or their spread
    single: bool  # whether the arm that goes before all others, or else the one with the largest score, plays alone
    best: Callable[[State], int | None] | None  # the arm with the largest score, if that is quicker
    ahead: Callable[[State], int | None] | None  # the arm that no score can overtake; None: never any
    drawn: bool  # whether scores are drawn, also where they do not count
    records: tuple[tuple[str, Callable[[State, Decision], None]], ...]


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

    index: Index = field(default=UCB(), converter=_index, metadata={"slot": "index"})
    fairness: Fairness = field(default=NoPromise(), converter=_fairness, metadata={"slot": "fairness"})
    selection: Selection = field(default=TopM(), converter=_selection, metadata={"slot": "selection"})
    schedule: Schedule = field(default=NoSchedule(), converter=_schedule, metadata={"slot": "schedule"})
    hold: Hold = field(default=EveryRound(), converter=_hold, metadata={"slot": "hold"})
    name: str = ""

    def __attrs_post_init__(self) -> None:
        for slot, (base, example) in SLOTS.items():
            validate.part(slot, getattr(self, slot), base, example)
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
        return None if any(one is None for one in rules) else PolicyRules._make(rules)

    @property
    def only_holds(self) -> bool:
        """Whether in rounds without a new choice nothing happens but plays and sums, so that many can go at a time."""
        return (
            type(self) is Policy
            and self.records == {"hold"}
            and self._counts_down
            and self.schedule.traits.idle
            and not self.named
        )

    @property
    def _counts_down(self) -> bool:
        """Whether the hold knows how long every choice lasts."""
        rules: HoldRules | None = rules_of(self.hold)
        return rules is not None and rules.size is not None and rules.phases is None

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
    def bounded(self) -> bool:
        """Whether it needs rewards of a finite range."""
        return any(one.traits.bounded for one in parts_in(self))

    @cached_property
    def named(self) -> bool:
        """Whether it needs feedback that names the pull of each reward."""
        return any(one.traits.named for one in parts_in(self))

    @cached_property
    def contextual(self) -> bool:
        """Whether it goes by features, and learns from each reward with those of its pull."""
        return any(one.traits.contextual for one in parts_in(self))

    @cached_property
    def recorded(self) -> tuple[str, ...]:
        """The slots of parts whose memory a log must record, as computing it again gives other last digits."""
        return tuple(slot for slot, one in self.parts.items() if not one.traits.exact)

    @cached_property
    def in_order(self) -> bool:
        """Whether it has to be shown every round in order, as it learns from the round just decided only."""
        return self.index.traits.in_order

    @cached_property
    def draws(self) -> bool:
        """Whether decisions are random beyond the selection: in the score, or in how long a choice lasts."""
        return self.hold.traits.random or self._draws_scores

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
        return Tally.empty(shape, Cohorts.empty(shape, self._tests_delays) if self.named else None)

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
        if propensities or self._known != GIVEN:
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
        plan = self._plan
        if observation.available is not None:
            observation = _in_shape(observation, observation.available, state)
        elif plan.single and state.tally.pulls.ndim == 1:
            return self._single(plan, state, observation, rng)
        if plan.contextual and observation.situation is observation.arms is None:
            raise EvenhandError("the policy goes by features, and the observation has none", "features")
        held = chance = chosen = score = None
        if plan.may_hold:
            held, chance = self.hold.continued(state, observation, rng)
            if held is None:
                held = self.schedule.forced(state, observation)
            elif observation.available is not None and self.plays > 1:
                held = _full(held, observation.available, self.plays)
        if held is not None:
            chosen = np.logical_not(held @ np.ones((state.arms, 1), dtype=bool))
        if held is None or chosen is None or chosen.all():
            if plan.leading is not None and state.tally.pulls.ndim == 1:
                score = plan.leading(state, observation, rng, plan.plays)
            else:
                score = plan.score(state, observation, rng)
            played, inclusion = self._selected(score, state, observation, rng)
            known = plan.known
        elif not chosen.any() and not self.by_lane:
            played, inclusion, known = held, held, GIVEN if self.hold.traits.random else INCLUSION
        else:
            played, inclusion = self._select_in(chosen[..., 0], held, state, observation, rng)
            known = plan.known
        chances = inclusion if known == INCLUSION else None
        if known == GIVEN and propensities:
            chances = self._propensities(state, observation, held, chosen)
        decision = Decision(state.round + 1, played, chances, observation.available, inclusion, chosen, chance)
        if plan.scaled and score is not None:
            decision.spread = spread(score, observation.available)
            decision.scores = score if self.fairness.traits.scored else None
        if plan.contextual:
            decision.situation, decision.arms = observation.situation, observation.arms
        return decision

    def _single(self, plan: _Plan, state: State, observation: Observation, rng: np.random.Generator) -> Decision:
        """As `choose`, where one arm of a single lane plays and all can: without claims, and scores that none needs."""
        place, shape = None if plan.ahead is None else plan.ahead(state), state.tally.pulls.shape
        if place is None or plan.drawn:
            best = None if plan.best is None else plan.best(state)
            if best is None:
                leading = plan.leading
                score = plan.score(state, observation, rng) if leading is None else leading(state, observation, rng, 1)
                if getattr(score, "shape", None) != shape:
                    raise EvenhandError(_not_per_arm(f"{type(self.index).__name__}.score", score, state))
                best = int(score.argmax())
            place = best if place is None else place
        played = np.zeros(shape, dtype=bool)
        played[place] = True
        chances = played if plan.known == INCLUSION else None
        return Decision(state.round + 1, played, chances, None, played, places=[place])

    def _propensities(
        self, state: State, observation: Observation, held: Mask | None, chosen: Mask | None
    ) -> Array | None:
        """The probability of each arm to play, given the past alone; None where a part does not say it."""

        def selected(score: Array) -> Array:
            return np.asarray(self._selected(score, state, observation, np.random.default_rng(0))[1], dtype=float)

        anew = self.index.propensity(state, observation, selected)
        if anew is None or self.hold.traits.random:
            return None if anew is None else self.hold.propensity(state, observation, anew)
        return anew if held is None or chosen is None else np.where(chosen, anew, held)

    def apply(self, state: State, decision: Decision, given: Container[str] = ()) -> None:
        """Record a decision, whether it was just chosen or is read from a log: updates ``state`` in place.

        Args:
            state: updated in place.
            decision: that was made.
            given: slots of the parts that do not record it, as what they remember is known from elsewhere.
        """
        for slot, record in self._plan.records:
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
        if self.contextual:
            _check_features(feedback)
        credited, tally = self.hold.credited(state) if self._may_hold else None, state.tally
        if credited is not None:
            feedback = Feedback(feedback.received * credited, feedback.rewards * credited)
        tally.received += feedback.received
        tally.rewards += feedback.rewards
        if tally.cohorts is not None:
            answers = feedback.answers
            if answers is None:
                answers = Answers.at_once(feedback.received, feedback.rewards)
            tally.cohorts.receive(answers, tally.received)
        for slot, record in self._after_feedback:
            if slot not in given:
                record(state, feedback, rng)

    def count(
        self,
        state: State,
        places: Sequence[int],
        rewards: Sequence[float],
        rng: np.random.Generator,
        given: Container[str] = (),
    ) -> None:
        """Record rewards of some arms of a single lane as `observe` does, but without arrays of all arms.

        Only where `rewards_by_arm` has records, or none are needed: it is not None.

        Args:
            state: updated in place.
            places: of the arms, each once.
            rewards: of each, on the scale [0, 1].
            rng: the policy's own random stream.
            given: as in `observe`.
        """
        tally, records, pairs = state.tally, self.rewards_by_arm or (), zip(places, rewards, strict=True)
        for place, reward in pairs if len(places) == 1 else sorted(pairs):  # chance is drawn in the order of the arms
            tally.received[place] += 1.0
            tally.rewards[place] += reward
            for slot, record in records:
                if slot not in given:
                    record(state, place, reward, rng)

    def _selected(
        self, score: Array, state: State, observation: Observation, rng: np.random.Generator
    ) -> tuple[Mask, NDArray[Any]]:
        """Who plays with these scores, and the probability with which each arm was selected."""
        if getattr(score, "shape", None) != state.tally.pulls.shape:
            raise EvenhandError(_not_per_arm(f"{type(self.index).__name__}.score", score, state))
        plan = self._plan
        claim = plan.claim(score, state)
        if not isinstance(claim, plan.claims):
            owner, given, gives = (one.__name__ for one in (type(self.fairness), type(claim), plan.claims))
            raise EvenhandError(f"{owner}.claim must return {gives}, as its traits declare, got {given}")
        if plan.plan is not None:
            claim = plan.plan(claim, state, observation)
        return plan.select(claim, state, observation, rng)

    def _select_in(
        self, chosen: Mask, held: Mask, state: State, observation: Observation, rng: np.random.Generator
    ) -> tuple[Mask, NDArray[Any]]:
        """A selection in some lanes only; the others go on."""
        lanes = np.flatnonzero(chosen)
        if self.by_lane:
            selected, share = self._selected(self.index.score(state, observation, rng), state, observation, rng)
            selected, share = selected[lanes], share[lanes]
        else:
            state, observation, rng = rows(state, lanes), rows(observation, lanes), among(rng, chosen)
            selected, share = self._selected(self.index.score(state, observation, rng), state, observation, rng)
        played, inclusion = held.copy(), held.astype(share.dtype)
        played[lanes], inclusion[lanes] = selected, share
        return played, inclusion

    @cached_property
    def _may_hold(self) -> bool:
        """Whether anything but the selection can say who plays, or rewards count in some lanes only."""
        kind = type(self.hold)
        return kind.continued is not Hold.continued or kind.credited is not Hold.credited or self.schedule.forces

    @cached_property
    def _plan(self) -> _Plan:
        """What every round asks."""
        gives, fair, selection = self.fairness.traits, type(self.fairness), self.selection
        # Whether the largest scores decide alone, and the index has a way to them; one that inherits it may not.
        top, scores_alone = type(selection).select is TopM.select, fair.claim is NoPromise.claim
        leaders_suffice = top and scores_alone and self.schedule.keeps_scores and "leading" in vars(type(self.index))
        plan = None if type(self.schedule).plan is Schedule.plan else self.schedule.plan
        scaled = gives.scaled or gives.scored or selection.traits.scaled
        single = isinstance(selection, TopM) and top and selection.plays == 1 and selection.ties == "first"
        simple = plan is None and not (self._may_hold or self.contextual or scaled or self._known == GIVEN)
        return _Plan(
            score=self.index.score,
            leading=self.index.leading if leaders_suffice else None,
            claim=self.fairness.claim,
            claims=Shares if gives.gives == "shares" else Ranking,
            plan=plan,
            select=self.selection.select,
            plays=self.plays,
            may_hold=self._may_hold,
            known=self._known,
            contextual=self.contextual,
            scaled=scaled,
            single=single and simple and (scores_alone or "ahead" in vars(fair)),
            best=self.index.best if "best" in vars(type(self.index)) else None,
            ahead=None if scores_alone else self.fairness.ahead,
            drawn=self.index.traits.random,
            records=self._overridden("after_decision"),
        )

    @cached_property
    def _tests_delays(self) -> bool:
        return any(one.traits.tests_delays for one in parts_in(self))

    @cached_property
    def _draws_scores(self) -> bool:
        ignored = self.fairness.traits.ignores_score or self.schedule.traits.alone
        return self.index.traits.random and not ignored

    @cached_property
    def _known(self) -> str:
        """The probability that is reported where a lane chooses: of the selection, given the past alone, or none."""
        index, hold = self.index.traits, self.hold.traits
        if hold.random and not hold.closed:
            return UNKNOWN
        if self._draws_scores and not index.closed:
            return INCLUSION if self.selection.floor and not hold.random else UNKNOWN
        return GIVEN if self._draws_scores or hold.random else INCLUSION

    @property
    def estimates(self) -> bool:
        """Whether propensities are estimated: chance decides beyond the selection, and nothing says with which law."""
        return self._known == UNKNOWN

    @cached_property
    def _after_feedback(self) -> tuple[tuple[str, Callable[[State, Feedback, np.random.Generator], None]], ...]:
        return self._overridden("after_feedback")

    @cached_property
    def rewards_by_arm(self) -> tuple[tuple[str, Callable[[State, int, float, np.random.Generator], None]], ...] | None:
        """The records of a reward of one arm; None where a part that learns from feedback has none of its own."""
        parts = [(slot, self.parts[slot]) for slot, _ in self._after_feedback]
        all_have = all("after_reward" in vars(type(one)) for _, one in parts)
        if type(self) is not Policy or self.named or self.contextual or self._may_hold or not all_have:
            return None
        return tuple((slot, one.after_reward) for slot, one in parts)

    @cached_property
    def records(self) -> frozenset[str]:
        """The slots of the parts that record every round."""
        return frozenset(slot for slot, _ in (*self._plan.records, *self._after_feedback))

    @cached_property
    def parts(self) -> dict[str, PolicyPart]:
        """The parts that can remember something, by their slots."""
        owned = ((slot, getattr(self, slot)) for slot in REMEMBERING)
        return {slot: one for slot, one in owned if one is not None}

    def _overridden(self, member: str) -> tuple[tuple[str, Any], ...]:
        base = getattr(PolicyPart, member)
        return tuple(
            (slot, getattr(one, member)) for slot, one in self.parts.items() if getattr(type(one), member) is not base
        )

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

    def recolumn(
        self, state: State, columns: tuple[int, int], situation: NDArray[np.intp], arms: NDArray[np.intp]
    ) -> State:
        """The state when other features are declared; see `evenhand.policy.part.PolicyPart.recolumn`.

        Args:
            state: of a single lane; it stays as it is.
            columns: from now on, of the situation and of every arm.
            situation: (d,), places of the columns before; −1 for new ones.
            arms: (d_arm,), the same of those of every arm.

        Raises:
            EvenhandError: a part remembers features, and does not say what becomes of them.
        """
        memories = {
            slot: one.recolumn(getattr(state, slot), columns, situation, arms) for slot, one in self.parts.items()
        }
        return dataclasses.replace(state, **memories)

    def begin(self, state: State, changed: Mask, accounts: Accounts) -> None:
        """Begin the promises to some arms anew with the next round; updates ``state`` in place.

        Args:
            state: of one lane or many.
            changed: (…, arms), whose promise begins.
            accounts: of the promises to all arms from now on; see `evenhand.policy.settlement`.

        Raises:
            EvenhandError: plays are carried that a part cannot count; nothing changes then.
        """
        at = np.flatnonzero(changed.reshape(-1, state.arms).any(axis=0))
        carried = np.where(changed, accounts.carried / BILLION, 0.0)
        memories = {
            slot: changed_at(changed, one.begin(getattr(state, slot), at, carried), getattr(state, slot))
            for slot, one in self.parts.items()
            if slot == "fairness" or one.promises
        }
        for slot, memory in memories.items():
            setattr(state, slot, memory)
        state.begun = accounts

    def advance(self, state: State, plays: Array, rounds: float, begun: Sequence[int] = ()) -> None:
        """Count rounds of which only the plays of each arm are known, in what the parts remember; in place.

        Args:
            state: of a single lane, before its tally and its round are counted up.
            plays: (arms,), plays of each arm in these rounds.
            rounds: how many.
            begun: places of arms whose promise began after these rounds, and so does not count them.

        Raises:
            EvenhandError: a part has to see single rounds; nothing changes then.
        """
        memories, promised = {}, plays
        if begun:
            promised = plays.copy()
            promised[list(begun)] = 0.0
        for slot, one in self.parts.items():
            given = promised if slot == "fairness" or one.promises else plays
            try:
                memories[slot] = one.advance(getattr(state, slot), given, rounds)
            except EvenhandError as error:
                raise EvenhandError(f"its {slot} {error}") from None
        for slot, memory in memories.items():
            setattr(state, slot, memory)

    def learn(self, state: State, plays: Array, sums: Array) -> None:
        """Learn from plays elsewhere, which count for no promise; updates what the parts remember in ``state``.

        Args:
            state: of a single lane.
            plays: (arms,), plays whose rewards are known.
            sums: (arms,), of these rewards, each on the scale [0, 1].

        Raises:
            EvenhandError: a part learns from more than counts; nothing changes then.
        """
        memories = {slot: one.learn(getattr(state, slot), plays, sums) for slot, one in self.parts.items()}
        for slot, memory in memories.items():
            setattr(state, slot, memory)

    @cached_property
    def by_lane(self) -> bool:
        """Whether a parameter differs between lanes."""
        return _has_rows(self)


def _memory(part: Any, shape: Shape) -> Any:
    """What a part remembers, in a form that can be saved and cut to some lanes."""
    memory = None if part is None else part.start(shape)
    if isinstance(memory, np.ndarray) or (dataclasses.is_dataclass(memory) and not isinstance(memory, type)):
        return memory
    if memory is None or isinstance(memory, int | float | str):
        return memory
    owner, kind = type(part).__name__, type(memory).__name__
    raise EvenhandError(f"{owner}.start must return a dataclass of arrays, an array or None, got a {kind}")


def _not_per_arm(method: str, values: object, state: State) -> str:
    shape = getattr(values, "shape", None)
    got = f"shape {shape}" if shape is not None else f"a {type(values).__name__}"
    return f"{method} must return an array with one number per arm, shape {state.tally.pulls.shape}, got {got}"


def _full(held: Mask, available: Mask, plays: int) -> Mask:
    """The holds of lanes in which as many arms play as can."""
    due = np.minimum(plays, available.sum(axis=-1, keepdims=True))
    return np.asarray(held & (held.sum(axis=-1, keepdims=True) >= due))


def _has_rows(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.ndim > 1
    return any(_has_rows(getattr(part, parameter.name)) for parameter in fields_of(type(part)))


def parts_in(part: Any) -> Iterator[PolicyPart]:
    """All parts that a part is made of, however deep inside."""
    for parameter in fields_of(type(part)):
        value = getattr(part, parameter.name)
        if isinstance(value, PolicyPart):
            yield value
            yield from parts_in(value)


def _check_features(feedback: Feedback) -> None:
    """Refuse rewards without the features of their pulls."""
    answers = feedback.answers
    if (answers is None or answers.situation is answers.arms is None) and np.any(feedback.received):
        raise EvenhandError(
            "the policy learns from features: give each reward those of its pull, "
            "Feedback(received, rewards, answers=Answers(places, delays, rewards, situation, arms))"
        )


def _in_shape(observation: Observation, given: Mask, state: State) -> Observation:
    """An observation whose mask is of booleans, in the shape of the state."""
    shape, available = state.tally.pulls.shape, np.asarray(given)
    if available.dtype != bool:
        if available.dtype.kind not in "iuf" or not np.isin(available, (0, 1)).all():
            raise EvenhandError(f"must be true or false, one per arm, got {shown(given)}", "available")
        available = available.astype(bool)
    if available.shape == shape:
        return observation if available is given else dataclasses.replace(observation, available=available)
    try:
        return dataclasses.replace(observation, available=np.broadcast_to(available, shape))
    except ValueError:
        raise EvenhandError(f"has shape {available.shape}, this policy needs {shape}", "available") from None
