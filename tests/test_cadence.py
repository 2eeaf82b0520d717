"""How long a choice lasts: quotas, commitments, and the rounding of quotas against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Policy
from evenhand.algorithms import naive, naive_quotas, t_fucb, t_fucb_quotas
from evenhand.cadence import EveryRound, QuotasThen
from evenhand.fairness import Claim, DeficitFirst
from evenhand.index import EmpiricalMean
from evenhand.records import Feedback, State, Tally
from evenhand.selection import TopM


def state_after(pulls: Any) -> State:
    counts = np.asarray(pulls, dtype=float)
    return State(int(counts.sum(axis=-1).max()), Tally(counts, counts, np.zeros_like(counts)))


def choices(policy: Policy, rewards: list[list[float]], awake: list[list[bool]] | None = None) -> list[list[int]]:
    """Who plays in each round, given every round's rewards and availability."""
    state, rng = policy.start(len(rewards[0])), np.random.default_rng(0)
    found = []
    for t, row in enumerate(rewards):
        decision = policy.decide(state, rng, None if awake is None else np.array(awake[t]))
        policy.observe(state, Feedback(decision.played, np.array(row) * decision.played), rng)
        found.append(np.flatnonzero(decision.played).tolist())
    return found


# --- Cadences --------------------------------------------------------------------------------------------------------


def test_every_round_changes_nothing() -> None:
    cadence, worth = EveryRound(), np.array([0.2, 0.4])
    claim, state = Claim(worth, False), state_after([1, 1])
    assert cadence.worth(worth, state) is worth
    assert cadence.claim(claim, state) is claim
    assert cadence.fractions is None


def test_open_quotas_go_before_all_claims_and_leave_the_rest_alone() -> None:
    claim = Claim(np.array([0.9, 0.5, 0.1]), False, np.array([3.0, 2.0, 1.0]), 1.5)
    found = QuotasThen([2, 2, 0]).claim(claim, state_after([1, 2, 0]))
    assert found.first.tolist() == [math.inf, 2.0, 1.0]
    assert (found.above, found.score.tolist()) == (1.5, [0.9, 0.5, 0.1])
    nobody = QuotasThen([2, 2, 0]).claim(Claim(claim.score, False), state_after([2, 2, 0]))
    assert nobody.first.tolist() == [-math.inf] * 3


@pytest.mark.parametrize(
    ("plays", "expected"), [(1, [[0], [0], [1], [1], [2], [2]]), (2, [[0, 1], [0, 1]]), (3, [[0, 1, 2]] * 2)]
)
def test_quotas_are_filled_lowest_index_first(plays: int, expected: list[list[int]]) -> None:
    # Two plays each, whatever the bounds say: arm 2, untried or the best, waits for its turn.
    policy = Policy(cadence=QuotasThen(2), selection=TopM(plays))
    assert choices(policy, [[0.1, 0.2, 0.9]] * len(expected)) == expected


def test_quotas_are_filled_before_what_is_owed() -> None:
    # Arm 0 is owed nearly everything, and waits until arm 1 has had its two plays.
    policy = Policy(fairness=DeficitFirst(np.array([0.9, 0.0])), cadence=QuotasThen([0, 2]))
    assert choices(policy, [[0.0, 0.0]] * 4) == [[1], [1], [0], [0]]


def test_sleeping_arms_fill_their_quotas_later() -> None:
    # Quotas 1, 2. Arm 0 sleeps in rounds 1 and 2, arm 1 in round 4: the round is left to the worth, and arm 0 plays.
    awake = [[False, True], [False, True], [True, True], [True, False], [True, True]]
    policy = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 2]))
    assert choices(policy, [[0.5, 0.9]] * 5, awake) == [[1], [1], [0], [0], [1]]


def test_a_commitment_is_made_once_and_never_looks_again() -> None:
    # One play each; then arm 1, which paid more then, for ever, though arm 0 would look better from round 3 on.
    policy = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 1], commit=True))
    assert choices(policy, [[0.5, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]) == [[0], [1], [1], [1], [1]]
    # Without the commitment the mean of arm 1 falls to 1/2 in round 3 and to 1/3 in round 4.
    free = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 1]))
    assert choices(free, [[0.5, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]) == [[0], [1], [1], [0], [0]]


def test_lanes_commit_when_their_own_quotas_are_filled() -> None:
    policy = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 1], commit=True))
    state, rng = policy.start(2, lanes=2), np.random.default_rng(0)
    # In lane 1 arm 1 sleeps in round 2, so its quota is filled a round later than in lane 0.
    awake = [[[True, True]] * 2, [[True, True], [True, False]], [[True, True]] * 2, [[True, True]] * 2]
    made, found = [], []
    for row in awake:
        decision = policy.decide(state, rng, np.array(row))
        made.append(state.cadence.made[:, 0].tolist())
        found.append(decision.played.argmax(axis=-1).tolist())
        policy.observe(state, Feedback(decision.played, np.array([0.2, 0.7]) * decision.played), rng)
    assert made == [[False, False], [False, False], [True, False], [True, True]]
    assert found == [[0, 0], [1, 0], [1, 1], [1, 1]]
    assert state.cadence.worth == pytest.approx(np.array([[0.2, 0.7], [0.2, 0.7]]))


def test_fractions_of_a_schedule_are_told() -> None:
    assert QuotasThen([2, 1]).fractions is None
    assert QuotasThen([2, 1], fractions=[0.2, 0.1]).fractions.tolist() == [0.2, 0.1]
    assert t_fucb([0.2, 0.1], horizon=10).fractions.tolist() == [0.2, 0.1]


@pytest.mark.parametrize(
    ("quotas", "message"),
    [
        ([1.5, 2], r"^quotas must be whole numbers, got \[1\.5, 2\]$"),
        ([1, -1], r"^quotas\[1\] must be a number of at least 0, got -1\.0$"),
        ([1, math.nan], r"^quotas\[1\] must be a number of at least 0, got nan$"),
        ("many", r"^quotas must be a list with one number an arm, got 'many'$|^quotas must be numbers"),
        (-2, r"^quotas must be a number of at least 0, got -2$"),
    ],
)
def test_bad_quotas_are_refused(quotas: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        QuotasThen(quotas)


# --- Quotas, rounded -------------------------------------------------------------------------------------------------


@st.composite
def shares(draw: st.DrawFn) -> list[Fraction]:
    """Promised shares with a sum of at most 1, as decimals of up to three digits or as parts of an odd number."""
    scale = draw(st.sampled_from([10, 100, 1000, 3, 7, 12]))
    left, found = scale, []
    for _ in range(draw(st.integers(1, 5))):
        part = draw(st.integers(0, left))
        left -= part
        found.append(Fraction(part, scale))
    return found


def floats(fractions: list[Fraction]) -> list[float]:
    return [float(r) for r in fractions]


def rounded_exploration(r: list[Fraction], horizon: int, epsilon: Fraction) -> list[int]:
    """NAIVE's plays: as few rounds T' ≥ ⌊εT⌋ as let each arm have ⌈r T'⌉; the rest goes to whoever is furthest below
    (r + (1 − Σr)/K) T'."""
    wanted = [share + (1 - sum(r)) / len(r) for share in r]
    for rounds in range(math.floor(epsilon * horizon), horizon + 1):
        plays = [math.ceil(share * rounds) for share in r]
        if sum(plays) > rounds:
            continue
        while sum(plays) < rounds:
            missing = [want * rounds - n for want, n in zip(wanted, plays, strict=True)]
            plays[missing.index(max(missing))] += 1
        return plays
    return [0] * len(r)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(shares(), st.integers(1, 300), st.integers(0, 20))
@example([Fraction("0.07"), Fraction("0.24"), Fraction("0.04")], 300, 2)
@example([Fraction(1, 3)] * 3, 100, 2)
@example([Fraction("0.29"), Fraction("0.57"), Fraction("0.14")], 200, 10)
def test_naive_quotas_are_rounded_as_told_and_keep_the_promise(
    r: list[Fraction], horizon: int, twentieths: int
) -> None:
    epsilon = Fraction(twentieths, 20)
    quotas = naive_quotas(floats(r), horizon, float(epsilon)).tolist()
    assert quotas == rounded_exploration(r, horizon, epsilon)
    # Afterwards arm i plays with probability at least r_i, so that n_i + r_i (T − Σn) plays can be expected.
    for share, n in zip(r, quotas, strict=True):
        assert n + share * (horizon - sum(quotas)) >= share * horizon
    assert sum(quotas) <= horizon


def test_naive_quotas_of_whole_numbers_are_the_papers() -> None:
    # n = (r + (1 − Σr)/K) ε T: (0.1 + 0.5/2) · 40 = 14, (0.4 + 0.5/2) · 40 = 26.
    assert naive_quotas([0.1, 0.4], horizon=400, epsilon=0.1).tolist() == [14, 26]
    assert naive_quotas([0.1, 0.4], horizon=400, epsilon=0.0).tolist() == [0, 0]
    assert naive_quotas([0.1, 0.4], horizon=400, epsilon=1.0).tolist() == [140, 260]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(shares(), st.integers(1, 100_000))
@example([Fraction("0.07"), Fraction("0.57"), Fraction("0.29")], 100)
@example([Fraction("0.7"), Fraction("0.2"), Fraction("0.1")], 10)
@example([Fraction(1, 3)] * 3, 10)
def test_t_fucb_quotas_fit_and_keep_the_promise(r: list[Fraction], horizon: int) -> None:
    quotas = t_fucb_quotas(floats(r), horizon).tolist()
    due = [math.ceil(share * horizon) for share in r]
    assert sum(quotas) <= horizon
    if sum(max(n, 1) for n in due) <= horizon:
        assert quotas == [max(n, 1) for n in due]
    elif sum(due) <= horizon:
        assert quotas == due
    else:  # no whole numbers keep the promise; no arm misses a whole play
        assert all(share * horizon - n < 1 for share, n in zip(r, quotas, strict=True))
        assert all(n <= most for n, most in zip(quotas, due, strict=True))
        assert sum(quotas) == min(horizon, sum(due))


def test_naive_spends_its_quotas_first_and_then_draws_its_shares() -> None:
    # T' = 10: n = (0.2 + 0.5/2) · 10 = 4.5 and 5.5, at least ⌈2⌉ and ⌈3⌉; the missing five go to 2, 3 in turn: 5 and 5.
    policy = naive([0.2, 0.3], horizon=100, epsilon=0.1)
    state, rng = policy.start(2), np.random.default_rng(0)
    quotas = naive_quotas([0.2, 0.3], 100, 0.1).tolist()
    for t in range(12):
        decision = policy.decide(state, rng)
        policy.observe(state, Feedback(decision.played, np.array([0.4, 0.6]) * decision.played), rng)
        assert decision.probabilities is not None
        if t < 10:
            assert decision.probabilities.tolist() == ([1.0, 0.0] if t < quotas[0] else [0.0, 1.0])
        else:  # the rest of 0.5 goes to arm 1, which paid more
            assert decision.probabilities == pytest.approx([0.2, 0.8])
