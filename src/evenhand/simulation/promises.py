"""A check that a policy keeps the promise that it reports."""

from __future__ import annotations

import numpy as np

from evenhand.core.state import ALL_AVAILABLE, Array, Decision, Feedback, State
from evenhand.policy.claim import owed
from evenhand.policy.composition import Policy
from evenhand.policy.groups import group_deficits
from evenhand.policy.shares import proportional

ROUNDS = 300
LANES = 2
LEARNED = 1000  # rounds after whose first half merits are known well enough
BY_MERIT = 0.2  # by which an arm's mean inclusion may differ from its share by merit while intervals are still wide


def promise_is_kept(policy: Policy, arms: int, rounds: int = ROUNDS) -> None:
    """What the policy reports as promised is what the arms get, with all arms available and rewards of 0 and 1.

    Promised shares: no arm or group is ever further behind, or above its cap, than `Policy.allowance`, and where
    probabilities are promised, none is below its share. Shares by merit: in the choices of the second half of the run
    every arm's mean probability is within 0.2 of its share. Quotas: they are filled.
    """
    fractions = _shares(policy, arms)
    if fractions is None and policy.merit is None:
        return
    means = np.linspace(0.8, 0.3, arms)
    state, rng, world = policy.start(arms, LANES), np.random.default_rng(1), np.random.default_rng(2)
    rounds = max(rounds, 2 * int(policy.schedule.rounds(arms)), 0 if policy.merit is None else LEARNED)
    inclusion, choices = np.zeros((LANES, arms)), 0.0
    for round in range(1, rounds + 1):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        rewards = (world.random((LANES, arms)) < means) & decision.played
        policy.observe(state, Feedback(decision.played, rewards), rng)
        if round > rounds // 2:
            chosen = np.ones((LANES, 1)) if decision.chosen is None else decision.chosen.astype(float)
            inclusion, choices = inclusion + decision.inclusion * chosen, choices + chosen.sum()
        if fractions is not None and policy.fairness.promises:
            _check_round(policy, fractions, decision, state.tally.pulls, round)
            _check_bounds(policy, state)
    if policy.merit is not None and choices:
        shares = proportional(policy.merit(means), policy.plays)
        missed = np.abs(inclusion.sum(axis=0) / choices - shares)
        arm = int(missed.argmax())
        assert missed[arm] <= BY_MERIT, (
            f"arm {arm + 1} deserves {shares[arm]:.3f} of the rounds by merit, its mean probability differs from that "
            f"by {missed[arm]:.3f}"
        )
    quotas = getattr(policy.schedule, "quotas", None)
    if quotas is not None:
        assert (state.tally.pulls >= quotas).all(), "a quota is not filled"


def _shares(policy: Policy, arms: int) -> Array | None:
    """The promised shares, (arms,) or (lanes, arms); None for none, or where they are only measured against."""
    if policy.fractions is None or not (policy.fairness.promises or policy.schedule.fractions is not None):
        return None
    fractions = np.asarray(policy.fractions, dtype=float)
    fractions = np.broadcast_to(fractions, (*fractions.shape[:-1], arms))
    total = float(fractions.sum(axis=-1).max())
    assert total <= policy.plays + 1e-9, f"the promised shares sum to {total:g}, but plays = {policy.plays}"
    return fractions


def _check_round(policy: Policy, fractions: Array, decision: Decision, pulls: Array, round: int) -> None:
    """The deficits of one round, and the probabilities of lanes that chose in it."""
    arms = pulls.shape[-1]
    allowed = policy.allowance(arms, round)
    assert allowed is not None
    deficit = np.asarray(owed(fractions, round, pulls))
    lane, arm = np.unravel_index(int(deficit.argmax()), deficit.shape)
    assert deficit[lane, arm] <= allowed + 1e-9, (
        f"round {round}: arm {arm + 1} is {deficit[lane, arm]:.2f} plays behind its promised share, "
        f"at most {allowed:.2f} are allowed"
    )
    if policy.fairness.traits.gives == "shares" and round > policy.schedule.rounds(arms):
        chosen = np.ones((len(pulls), 1), dtype=bool) if decision.chosen is None else decision.chosen
        below = (np.asarray(decision.inclusion) < fractions - 1e-9) & chosen
        assert not below.any(), f"round {round}: an arm plays with less than its promised probability"


def _check_bounds(policy: Policy, state: State) -> None:
    """The caps of the arms, and the floors and caps of the groups, after a round."""
    allowed = policy.allowance(state.arms, state.round)
    off: dict[str, Array] = {}
    if policy.caps is not None:
        off["an arm"] = -np.asarray(owed(policy.caps, state.round, state.tally.pulls))
    if policy.groups:
        floors, caps = group_deficits(policy.groups, state)
        off |= {"a group's floor": floors, "a group": -caps}
    for what, missed in off.items():
        assert allowed is not None
        assert missed.max() <= allowed + 1e-9, (
            f"round {state.round}: {what} is missed or exceeded by {missed.max():.2f} plays, at most {allowed:.2f} are "
            "allowed"
        )
