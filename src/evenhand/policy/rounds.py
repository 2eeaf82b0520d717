"""A round of a policy: its parts choose in turn who plays, and record that and what comes back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import fields
from evenhand.core.state import Array, Decision, Feedback, Mask, Observation, Shape, State, rows
from evenhand.core.streams import among
from evenhand.policy.claim import Fairness, Ranking, Shares
from evenhand.policy.fairness import NoPromise
from evenhand.policy.hold import Hold
from evenhand.policy.index import Index
from evenhand.policy.part import PolicyPart
from evenhand.policy.schedule import Schedule
from evenhand.policy.selection import Selection, TopM

#: Which probability a decision reports: that of the selection, that given the past alone, or none.
INCLUSION, GIVEN, UNKNOWN = "inclusion", "given the past", "unknown"


class Rounds:
    """What every round asks of a policy, found once: to look it up in the parts takes as long as some of the steps."""

    def __init__(self, parts: Mapping[str, Any], plays: int, contextual: bool, by_arm: bool) -> None:
        """The parts that can remember something, by their slots, and whether arms alone say what rewards are of."""
        self.plays, self.contextual = plays, contextual
        self.index: Index = parts["index"]
        self.fairness: Fairness = parts["fairness"]
        self.schedule: Schedule = parts["schedule"]
        self.hold: Hold = parts["hold"]
        selection: Selection = parts["selection"]
        gives, index, fair, schedule = self.fairness.traits, type(self.index), type(self.fairness), self.schedule
        self.floor = selection.floor
        self.may_hold = _may_hold(self.hold, schedule)
        self.by_lane = self.may_hold and any(map(has_rows, parts.values()))
        self.drawn = self.index.traits.random  # whether scores are drawn, also where they do not count
        self.draws_scores = self.drawn and not (gives.ignores_score or schedule.traits.alone)
        self.known = self._known()
        self.known_held = GIVEN if self.hold.traits.random else INCLUSION  # where no lane chooses
        self.score, self.claim, self.select = self.index.score, self.fairness.claim, selection.select
        self.claims = Shares if gives.gives == "shares" else Ranking
        # of the schedule, None where it has none of its own
        self.plan: Callable[..., Any] | None = None if type(schedule).plan is Schedule.plan else schedule.plan
        self.forced = None if type(schedule).forced is Schedule.forced else schedule.forced
        # Whether the largest scores decide alone, and the index has a way to them; one that inherits it may not.
        top, scores_alone = type(selection).select is TopM.select, fair.claim is NoPromise.claim
        leaders_suffice = top and scores_alone and schedule.keeps_scores and "leading" in vars(index)
        self.leading = partial(self.index.leading, plays=plays) if leaders_suffice else None
        self.scaled = gives.scaled or gives.scored or selection.traits.scaled  # whether a part needs scores, or spreads
        # whether the arm that goes before all others, or else the one with the largest score, plays alone
        single = isinstance(selection, TopM) and top and plays == 1 and selection.ties == "first"
        simple = not (self.plan or self.may_hold or contextual or self.scaled or self.known == GIVEN)
        self.single = single and simple and (scores_alone or "ahead" in vars(fair))
        self.best = self.index.best if "best" in vars(index) else None  # the first by score, where that is quicker
        self.ahead = None if scores_alone else self.fairness.ahead  # the arm that no score can overtake
        self.after_decision = _overridden(parts, "after_decision")
        self.after_feedback = _overridden(parts, "after_feedback")
        # the records of a reward of one arm; None where a part that learns from feedback has none of its own
        learning = [(slot, parts[slot]) for slot, _ in self.after_feedback]
        by_arm = by_arm and not (contextual or self.may_hold)
        each = by_arm and all("after_reward" in vars(type(one)) for _, one in learning)
        self.after_reward = tuple((slot, one.after_reward) for slot, one in learning) if each else None

    def _known(self) -> str:
        """The probability that is reported where a lane chooses: of the selection, given the past alone, or none."""
        index, hold = self.index.traits, self.hold.traits
        if hold.random and not hold.closed:
            return UNKNOWN
        if self.draws_scores and not index.closed:
            return INCLUSION if self.floor and not hold.random else UNKNOWN
        return GIVEN if self.draws_scores or hold.random else INCLUSION

    def held(self, state: State, observation: Observation, rng: np.random.Generator) -> tuple[Mask | None, Any]:
        """Who plays on, or must play by plan, and what the hold reports of it; None where all lanes choose."""
        held, chance = self.hold.continued(state, observation, rng)
        if held is None and self.forced is not None:
            held = self.forced(state, observation)
        elif held is not None and observation.available is not None and self.plays > 1:
            held = _full(held, observation.available, self.plays)
        return held, chance

    def play_single(self, state: State, observation: Observation, rng: np.random.Generator) -> Decision:
        """As `Policy.choose`, where one arm of a lane plays and all can: without claims, and scores that none needs."""
        place, shape = None if self.ahead is None else self.ahead(state), state.tally.pulls.shape
        if place is None or self.drawn:
            best = None if self.best is None else self.best(state)
            if best is None:
                score: Array = (self.leading or self.score)(state, observation, rng)
                if getattr(score, "shape", None) != shape:
                    raise self._not_per_arm(score, shape)
                best = int(score.argmax())
            place = best if place is None else place
        played = np.zeros(shape, dtype=bool)
        played[place] = True
        chances = played if self.known == INCLUSION else None
        return Decision(state.round + 1, played, chances, None, played, places=[place])

    def propensities(
        self, state: State, observation: Observation, held: Mask | None, chosen: Mask | None
    ) -> Array | None:
        """The probability of each arm to play, given the past alone; None where a part does not say it."""

        def selected(score: Array) -> Array:
            return np.asarray(self.selected(score, state, observation, np.random.default_rng(0))[1], dtype=float)

        anew = self.index.propensity(state, observation, selected)
        if anew is None or self.known_held == GIVEN:
            return None if anew is None else self.hold.propensity(state, observation, anew)
        return anew if held is None or chosen is None else np.where(chosen, anew, held)

    def selected(
        self, score: Array, state: State, observation: Observation, rng: np.random.Generator
    ) -> tuple[Mask, NDArray[Any]]:
        """Who plays with these scores, and the probability with which each arm was selected."""
        if getattr(score, "shape", None) != state.tally.pulls.shape:
            raise self._not_per_arm(score, state.tally.pulls.shape)
        claim = self.claim(score, state)
        if not isinstance(claim, self.claims):
            owner, given, gives = (one.__name__ for one in (type(self.fairness), type(claim), self.claims))
            raise EvenhandError(f"{owner}.claim must return {gives}, as its traits declare, got {given}")
        if self.plan is not None:
            claim = self.plan(claim, state, observation)
        return self.select(claim, state, observation, rng)

    def select_in(
        self, chosen: Mask, held: Mask, state: State, observation: Observation, rng: np.random.Generator
    ) -> tuple[Mask, NDArray[Any]]:
        """A selection in some lanes only; the others go on."""
        lanes: Any = np.flatnonzero(chosen)
        picked = lanes if self.by_lane else slice(None)
        if not self.by_lane:
            state, observation, rng = rows(state, lanes), rows(observation, lanes), among(rng, chosen)
        selected, share = self.selected(self.score(state, observation, rng), state, observation, rng)
        played, inclusion = held.copy(), held.astype(share.dtype)
        played[lanes], inclusion[lanes] = selected[picked], share[picked]
        return played, inclusion

    def _not_per_arm(self, score: object, wanted: Shape) -> EvenhandError:
        """What is said to scores of an index of one's own that are not one per arm."""
        shape = getattr(score, "shape", None)
        got = f"shape {shape}" if shape is not None else f"a {type(score).__name__}"
        method = f"{type(self.index).__name__}.score"
        return EvenhandError(f"{method} must return an array with one number per arm, shape {wanted}, got {got}")

    def count(
        self,
        state: State,
        places: Sequence[int],
        rewards: Sequence[float],
        rng: np.random.Generator,
        given: Container[str] = (),
    ) -> None:
        """As `Policy.observe`, of rewards of some arms of a single lane, each once, where `after_reward` is not None.

        There are no arrays of all arms, which take longer where arms are many.
        """
        tally, records, pairs = state.tally, self.after_reward or (), zip(places, rewards, strict=True)
        for place, reward in pairs if len(places) == 1 else sorted(pairs):  # chance is drawn in the order of the arms
            tally.received[place] += 1.0
            tally.rewards[place] += reward
            for slot, record in records:
                if slot not in given:
                    record(state, place, reward, rng)


def _may_hold(hold: Hold, schedule: Schedule) -> bool:
    """Whether anything but the selection can say who plays, or rewards count in some lanes only."""
    kind = type(hold)
    return kind.continued is not Hold.continued or kind.credited is not Hold.credited or schedule.forces


def has_rows(part: Any) -> bool:
    """Whether a parameter differs between lanes."""
    if isinstance(part, np.ndarray):
        return part.ndim > 1
    return any(has_rows(getattr(part, parameter.name)) for parameter in fields(type(part)))


def _overridden(parts: Mapping[str, PolicyPart], member: str) -> tuple[tuple[str, Any], ...]:
    """What the parts that have an own member record, by their slots."""
    base = getattr(PolicyPart, member)
    return tuple((slot, getattr(one, member)) for slot, one in parts.items() if getattr(type(one), member) is not base)


def _full(held: Mask, available: Mask, plays: int) -> Mask:
    """The holds of lanes in which as many arms play as can."""
    due = np.minimum(plays, available.sum(axis=-1, keepdims=True))
    return np.asarray(held & (held.sum(axis=-1, keepdims=True) >= due))


def check_features(feedback: Feedback) -> None:
    """Refuse rewards without the features of their pulls."""
    answers = feedback.answers
    if (answers is None or answers.situation is answers.arms is None) and np.any(feedback.received):
        raise EvenhandError(
            "the policy learns from features: give each reward those of its pull, "
            "Feedback(received, rewards, answers=Answers(places, delays, rewards, situation, arms))"
        )


def in_shape(observation: Observation, given: Mask, state: State) -> Observation:
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
