"""Floors and caps of arms and groups, by hand and by plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand import Feedback, Observation, Policy
from evenhand.algorithms import group_ts, group_ucb
from evenhand.core.errors import EvenhandError
from evenhand.core.parts import build, plain
from evenhand.core.state import ALL_AVAILABLE
from evenhand.policy.groups import BoundedShares, as_groups, group_deficits, membership
from evenhand.policy.index import EmpiricalMean

NORTH = {"name": "north", "arms": [1, 2], "at_least": 0.5}
CONTROL = {"name": "control", "arms": [0], "exactly": 0.25}


def played(policy: Policy, rounds: int, means: list[float], seed: int = 0) -> np.ndarray:
    """The arm of every round, with rewards of 0 and 1."""
    state, rng, world = policy.start(len(means)), np.random.default_rng(seed), np.random.default_rng(seed + 1)
    arms = []
    for _ in range(rounds):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, decision.played * (world.random(len(means)) < means)), rng)
        arms.append(int(decision.played.argmax()))
    return np.array(arms)


@pytest.mark.parametrize("eta", [0.0, 0.7, 4.0])
def test_the_scores_are_those_of_a_plain_loop(eta: float) -> None:
    groups = as_groups([NORTH, CONTROL, {"name": "most", "arms": [0, 1], "at_most": 0.6}])
    floors, caps = [0.1, 0.0, 0.2, 0.0], [1.0, 0.3, 1.0, 0.2]
    part = BoundedShares(floors, caps, groups, eta)
    policy = Policy(EmpiricalMean(), part)
    state, rng, world = policy.start(4), np.random.default_rng(1), np.random.default_rng(2)
    counts = [0] * 4
    for round in range(60):
        score = world.random(4)
        expected = []
        for arm in range(4):
            value = eta * score[arm]
            value += max(floors[arm] * round - counts[arm], 0.0) - max(counts[arm] - caps[arm] * round, 0.0)
            for group in groups:
                if arm in group["arms"]:
                    plays = sum(counts[one] for one in group["arms"])
                    value += max(group["at_least"] * round - plays, 0.0)
                    if group["at_most"] is not None:
                        value -= max(plays - group["at_most"] * round, 0.0)
            expected.append(value)
        np.testing.assert_allclose(part.claim(score, state).score, expected, atol=1e-9)
        decision = policy.decide(state, Observation(world.random(4) < 0.8), rng)
        counts = [count + int(plays) for count, plays in zip(counts, decision.played, strict=True)]


@pytest.mark.parametrize("build_policy", [group_ucb, group_ts])
def test_a_group_is_paid_by_its_best_arm(build_policy: Any) -> None:
    arms = played(build_policy(groups=[NORTH], eta=2.0), 4000, [0.9, 0.6, 0.2])
    shares = np.bincount(arms, minlength=3) / len(arms)
    assert abs(shares[1] + shares[2] - 0.5) < 0.02
    assert shares[1] > 0.4  # the better of the two; each alone would have a quarter by chance


def test_a_cap_and_a_fixed_share_hold_at_every_time() -> None:
    policy = group_ts(caps=[1.0, 1.0, 0.3], groups=[CONTROL], eta=0.5)
    arms = played(policy, 3000, [0.1, 0.3, 0.9])
    rounds = np.arange(1, len(arms) + 1)
    fixed, capped = np.cumsum(arms == 0), np.cumsum(arms == 2)
    allowed = 1.0 + 0.5  # a play, and what a score of 1 outweighs
    assert np.abs(fixed - 0.25 * rounds).max() <= allowed
    assert (capped - 0.3 * rounds).max() <= allowed


def test_an_arm_with_a_cap_of_zero_plays_only_where_no_other_can() -> None:
    policy = group_ucb(caps=[0.0, 1.0])
    state, rng = policy.start(2), np.random.default_rng(0)
    assert [policy.decide(state, ALL_AVAILABLE, rng).played.argmax() for _ in range(5)] == [1] * 5
    assert policy.decide(state, Observation(np.array([True, False])), rng).played.tolist() == [True, False]


def test_what_is_owed_counts_from_when_the_promise_began() -> None:
    policy = group_ucb(groups=[NORTH])
    state = policy.start(3)
    state.round, state.tally.pulls[:] = 10, [6, 3, 1]
    for account in (state.fairness.groups, state.fairness.group_caps):
        account.rounds, account.plays = np.array([4.0]), np.array([3.0])
    floors, caps = group_deficits(policy.groups, state)
    assert floors.tolist() == [0.5 * 6 - 1]
    assert caps.tolist() == [2 * 6 - 1]


def test_membership_and_the_plain_form() -> None:
    part = BoundedShares(0.1, [1.0, 0.5, 1.0], [NORTH, CONTROL])
    assert membership(part.groups, 3).tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    assert plain(build("fairness", plain(part))) == plain(part)
    assert plain(part)["groups"][1] == {"name": "control", "arms": [0], "at_least": 0.25, "at_most": 0.25}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("north", r"^groups must be a list of tables such as .*, got 'north'$"),
        ([3], r"^groups\[0\] must be a table"),
        ([{"name": "n", "arms": [0], "at_leats": 0.1}], r"^groups\[0\] has an unknown key 'at_leats'; did you mean"),
        (
            [{"name": " ", "arms": [0]}],
            r"^groups\[0\]\.name must be a string without surrounding white space, got ' '$",
        ),
        ([{"name": "n", "arms": []}], r"^groups: the group 'n' needs arms, a list with at least one arm, got \[\]$"),
        ([{"name": "n", "arms": [-1]}], "an arm of the group 'n' must be at least 0, got -1$"),
        ([{"name": "n", "arms": [1, 1]}], "the group 'n' names an arm twice$"),
        ([{"name": "n", "arms": [1], "at_least": math.nan}], "at_least of the group 'n' must be a number of at least"),
        (
            [{"name": "n", "arms": [1], "at_least": 0.2, "at_most": 0.1}],
            "promised at least 0.2 and at most 0.1; at_least must not exceed at_most$",
        ),
        ([{"name": "n", "arms": [1], "exactly": 0.2, "at_most": 0.3}], "has exactly together with at_least or at_most"),
        ([NORTH, NORTH], "two groups have the name 'north'; give each its own name$"),
    ],
)
def test_a_wrong_group_is_refused(groups: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        BoundedShares(groups=groups)


def test_what_does_not_fit_the_arms_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"fractions\[1\] is 0.3, above caps\[1\], which is 0.2"):
        BoundedShares([0.0, 0.3], [1.0, 0.2])
    with pytest.raises(EvenhandError, match="the group 'north' has an arm 2, but arms are numbered from 0 to 1"):
        group_ucb(groups=[NORTH]).start(2)
