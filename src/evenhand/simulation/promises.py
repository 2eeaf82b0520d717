"""A check that a policy keeps the promise that it reports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.cohorts import Answers
from evenhand.core.state import Array, Decision, Feedback, Mask, Observation, State
from evenhand.judgement.judge import MISSED, Judgements, judge
from evenhand.judgement.keeping import Keeping, keeping_of
from evenhand.judgement.sentences import Case, sentence
from evenhand.policy.composition import Policy
from evenhand.policy.groups import caps_of, floors_of, membership
from evenhand.policy.shares import proportional

ROUNDS = 300
LANES = 2
LEARNED = 1000  # rounds after whose first half merits are known well enough
BY_MERIT = 0.2  # by which a share by merit may be misjudged while intervals of the means are still wide
COLUMNS = (2, 1)  # of the situation and of every arm, for a policy that goes by features
SURE = 1.0 - 1e-6  # confidence, as a check must not fail by chance


def promise_is_kept(policy: Policy, arms: int, rounds: int = ROUNDS) -> None:
    """What the policy reports as promised is what the arms get, with all arms available and rewards of 0 and 1.

    Promised shares, floors and caps: after no round is one missed (`evenhand.judgement.judge`), and where
    probabilities are promised, none is below its share. Shares by merit: none is missed in the second half of the run,
    with shares that may be misjudged by 0.2. Quotas: they are filled.
    """
    fractions = _shares(policy, arms)
    if fractions is None and policy.merit is None:
        return
    means = np.linspace(0.8, 0.3, arms)
    state, rng, world = started(policy, arms), np.random.default_rng(1), np.random.default_rng(2)
    rounds = max(rounds, 2 * int(policy.schedule.rounds(arms)), 0 if policy.merit is None else LEARNED)
    keeping, first = keeping_of(policy, arms, rounds, state), state.tally.pulls
    for round in range(1, rounds + 1):
        decision = policy.decide(state, seen(policy, state, world, means=means), rng)
        rewards = (world.random((LANES, arms)) < means) & decision.played
        policy.observe(state, heard(decision, rewards), rng)
        if fractions is not None and policy.fairness.promises:
            _check_round(policy, keeping, np.broadcast_to(fractions, (LANES, arms)), state)
            _check_chances(policy, fractions, decision, round)
        if policy.merit is not None and round == rounds // 2:
            first = state.tally.pulls.copy()
    if policy.merit is not None:
        later = rounds - rounds // 2
        shares = np.tile(proportional(policy.merit(means), policy.plays), LANES)
        due = later * np.maximum(shares - BY_MERIT, 0.0)
        plays, most = (state.tally.pulls - first).ravel(), later * np.minimum(shares + BY_MERIT, 1.0)
        found = judge(keeping, due, plays, later, online=True, due_at_most=most, confidence=SURE)
        _none_is_missed(found, shares, _names(arms), rounds)
    quotas = getattr(policy.schedule, "quotas", None)
    if quotas is not None:
        assert (state.tally.pulls >= quotas).all(), "a quota is not filled"


def started(policy: Policy, arms: int, lanes: int | None = LANES) -> State:
    """The state before the first round, for features as `seen` has them where the policy goes by any."""
    return policy.start(arms, lanes, columns=COLUMNS if policy.contextual else None)


def seen(
    policy: Policy,
    state: State,
    world: np.random.Generator,
    available: Mask | None = None,
    means: Array | None = None,
) -> Observation:
    """What a policy sees before a decision: features where it goes by them, of which the arms' are means if given."""
    if not policy.contextual:
        return Observation(available)
    shape = (*state.tally.pulls.shape, COLUMNS[1])
    arms = world.random(shape) if means is None else np.broadcast_to(means[:, np.newaxis], shape)
    return Observation(available, world.random((*shape[:-2], COLUMNS[0])), arms)


def heard(decision: Decision, rewards: NDArray[Any]) -> Feedback:
    """The rewards of a decision, at once, with the features that it was made by."""
    played = decision.played
    if decision.situation is None or decision.arms is None:
        return Feedback(played, rewards)
    lanes, places = np.atleast_2d(played).nonzero()
    delays = np.zeros(len(lanes), dtype=np.int64)
    answers = Answers(
        lanes * played.shape[-1] + places,
        delays,
        rewards[played].astype(float),
        np.atleast_2d(decision.situation)[lanes],
        decision.arms[played],
    )
    return Feedback(played, rewards, answers)


def _shares(policy: Policy, arms: int) -> Array | None:
    """The promised shares, (arms,) or (lanes, arms); None for none, or where they are only measured against."""
    if policy.fractions is None or not policy.promises_shares:
        return None
    fractions = np.asarray(policy.fractions, dtype=float)
    fractions = np.broadcast_to(fractions, (*fractions.shape[:-1], arms))
    total = float(fractions.sum(axis=-1).max())
    assert total <= policy.plays + 1e-9, f"the promised shares sum to {total:g}, but plays = {policy.plays}"
    return fractions


def _check_round(policy: Policy, keeping: Keeping, fractions: Array, state: State) -> None:
    """The promises to arms and groups after a round, each lane for itself."""
    round, pulls, arms = state.round, state.tally.pulls, state.arms
    checked = [(fractions, pulls, _names(arms), False)]
    if policy.caps is not None:
        checked.append((np.broadcast_to(policy.caps, pulls.shape), pulls, _names(arms), True))
    if policy.groups:
        plays, names = pulls @ membership(policy.groups, arms), [f"the group {one['name']}" for one in policy.groups]
        for bound, cap in ((floors_of(policy.groups), False), (caps_of(policy.groups), True)):
            checked.append((np.broadcast_to(bound, plays.shape), plays, names, cap))
    for shares, plays, names, cap in checked:
        due = (shares * round).ravel()
        found = judge(keeping, due, plays.ravel(), round, online=True, cap=cap, confidence=SURE)
        _none_is_missed(found, shares.ravel(), names, round, cap)


def _none_is_missed(found: Judgements, shares: Array, names: list[str], round: int, cap: bool = False) -> None:
    """The sentence of the promise that is missed most, if one is."""
    missed = np.flatnonzero(found.are(MISSED))
    if missed.size:
        place = int(missed[found.behind[missed].argmax()])
        case = Case(names[place % len(names)], float(shares[place]), found[place], cap)
        raise AssertionError(f"round {round}: {sentence(case)}; {found.allowed:.3g} are allowed")


def _names(arms: int) -> list[str]:
    return [f"arm {arm + 1}" for arm in range(arms)]


def _check_chances(policy: Policy, fractions: Array, decision: Decision, round: int) -> None:
    """The probabilities of lanes that chose in a round."""
    if policy.fairness.traits.gives == "shares" and round > policy.schedule.rounds(fractions.shape[-1]):
        chosen = np.ones((LANES, 1), dtype=bool) if decision.chosen is None else decision.chosen
        below = (np.asarray(decision.inclusion) < fractions - 1e-9) & chosen
        assert not below.any(), f"round {round}: an arm plays with less than its promised probability"
