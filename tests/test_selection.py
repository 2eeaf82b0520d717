"""Who plays: every choice against plain sorting, and frequencies against the probabilities that are told."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError
from evenhand.fairness import Claim
from evenhand.records import Array, Mask
from evenhand.selection import Categorical, Chosen, Selection, TopM

LANES = 20_000
SIGMAS = 5.0  # a frequency is off by more with a chance below 1e-6


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def in_many_lanes(selection: Selection, claim: Claim, available: list[bool] | None = None) -> Chosen:
    shape = (LANES, claim.score.shape[-1])
    many = Claim(np.broadcast_to(claim.score, shape), claim.random, claim.first, claim.above)
    if claim.first is not None:
        many = Claim(many.score, claim.random, np.broadcast_to(claim.first, shape), claim.above)
    return selection.select(many, None if available is None else np.broadcast_to(np.array(available), shape), rng(3))


def assert_frequencies(played: Mask, probabilities: Any) -> None:
    """Each arm plays as often as its probability says, to five standard deviations of a binomial share."""
    chance = np.asarray(probabilities, dtype=float)
    allowed = SIGMAS * np.sqrt(chance * (1.0 - chance) / len(played))
    assert (np.abs(played.mean(axis=0) - chance) <= allowed).all()


def sorted_out(claim: Claim, awake: list[bool], plays: int) -> list[bool]:
    """Those ahead by the size of their claim, then the others by score; the lowest index on every tie."""
    arms = [arm for arm in range(len(awake)) if awake[arm]]
    first = [] if claim.first is None else [arm for arm in arms if claim.first[arm] > claim.above]
    ahead = sorted(first, key=lambda arm: (-claim.first[arm], arm))
    others = sorted((arm for arm in arms if arm not in first), key=lambda arm: (-claim.score[arm], arm))
    chosen = (ahead + others)[:plays]
    return [arm in chosen for arm in range(len(awake))]


# --- The largest -----------------------------------------------------------------------------------------------------

Arm = tuple[float, float, bool]  # score, claim to go first, awake
FEW = st.sampled_from([-1.0, 0.0, 0.5, 1.0, math.inf])  # few values, so that ties are common
AWAKE = st.sampled_from([True, True, True, False])


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.tuples(FEW, FEW, AWAKE), min_size=1, max_size=6), st.integers(1, 6))
def test_the_largest_scores_play(arms: list[Arm], plays: int) -> None:
    score, _, awake = zip(*arms, strict=True)
    claim, m = Claim(np.array(score), random=False), min(plays, len(arms))
    played, probabilities = TopM(m).select(claim, np.array(awake), rng())
    assert played.tolist() == sorted_out(claim, list(awake), m)
    assert probabilities is not None
    assert probabilities.tolist() == played.tolist()
    if all(awake):
        assert TopM(m).select(claim, None, rng())[0].tolist() == played.tolist()


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(FEW, st.sampled_from([0.0, 1.0, 1.0, math.inf]), AWAKE), min_size=1, max_size=6),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.5]),
)
def test_claims_to_go_first_come_before_the_scores(arms: list[Arm], plays: int, above: float) -> None:
    score, first, awake = zip(*arms, strict=True)
    claim, m = Claim(np.array(score), False, np.array(first), above), min(plays, len(arms))
    played, _ = TopM(m).select(claim, np.array(awake), rng())
    assert played.tolist() == sorted_out(claim, list(awake), m)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(FEW, FEW, AWAKE), min_size=1, max_size=6),
    st.integers(1, 6),
    st.booleans(),
    st.integers(0, 99),
)
def test_as_many_play_as_can_and_nobody_asleep(arms: list[Arm], plays: int, promised: bool, seed: int) -> None:
    score, first, awake = (np.array(column) for column in zip(*arms, strict=True))
    m = min(plays, len(arms))
    claim = Claim(score, False, first if promised else None)
    for ties in ("first", "random"):
        played, _ = TopM(m, ties).select(claim, awake, rng(seed))
        assert played.sum() == min(m, awake.sum())
        assert not (played & ~awake).any()


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.lists(st.tuples(FEW, FEW, AWAKE), min_size=4, max_size=4), min_size=1, max_size=4))
def test_lanes_are_chosen_one_by_one(lanes: list[list[Arm]]) -> None:
    score, first, awake = (np.array([[arm[i] for arm in lane] for lane in lanes]) for i in range(3))
    for m in (1, 2, 4):
        together, _ = TopM(m).select(Claim(score, False, first), awake, rng())
        for lane in range(len(lanes)):
            alone, _ = TopM(m).select(Claim(score[lane], False, first[lane]), awake[lane], rng())
            assert (together[lane] == alone).all()


def test_equal_claims_go_by_the_lowest_index_for_any_number_of_plays() -> None:
    # Arms 0, 1 and 2 are owed alike; their scores do not matter.
    claim = Claim(np.array([0.1, 0.2, 0.3, 0.9]), False, np.array([1.0, 1.0, 1.0, -1.0]))
    assert np.flatnonzero(TopM(1).select(claim, None, rng())[0]).tolist() == [0]
    assert np.flatnonzero(TopM(2).select(claim, None, rng())[0]).tolist() == [0, 1]


# --- Ties at random --------------------------------------------------------------------------------------------------


def test_random_ties_are_uniform_over_the_sets_of_tied_arms() -> None:
    # Two of four tied arms: each of the six pairs with probability 1/6.
    played, probabilities = in_many_lanes(TopM(2, "random"), Claim(np.zeros(4), False))
    assert (np.asarray(probabilities) == 0.5).all()
    for pair in combinations(range(4), 2):
        share = played[:, pair].all(axis=1).mean()
        assert abs(share - 1 / 6) < SIGMAS * math.sqrt(1 / 6 * 5 / 6 / LANES)


@pytest.mark.parametrize(
    ("score", "plays", "awake", "expected"),
    [
        ([1.0, 0.5, 0.5, 0.5, 0.1], 2, None, [1, 1 / 3, 1 / 3, 1 / 3, 0]),
        ([1.0, 1.0, 1.0, 0.5], 1, None, [1 / 3, 1 / 3, 1 / 3, 0]),
        ([math.inf, math.inf, 2.0], 1, None, [0.5, 0.5, 0]),
        ([1.0, 1.0, 1.0, 0.5], 2, [False, True, True, True], [0, 1, 1, 0]),
        ([1.0, 0.5, 0.5, 0.5], 2, [False, True, True, True], [0, 2 / 3, 2 / 3, 2 / 3]),
        ([1.0, 0.5, 0.5], 2, [False, False, True], [0, 0, 1]),
        ([1.0, 0.5, 0.5], 2, [False, False, False], [0, 0, 0]),
        ([1.0, 1.0], 2, None, [1, 1]),
    ],
)
def test_random_ties_play_as_often_as_told(
    score: list[float], plays: int, awake: list[bool] | None, expected: list[float]
) -> None:
    played, probabilities = in_many_lanes(TopM(plays, "random"), Claim(np.array(score), False), awake)
    assert probabilities is not None
    assert np.allclose(probabilities, expected, rtol=1e-15)
    assert_frequencies(played, expected)


def test_without_ties_chance_changes_nothing() -> None:
    score = rng(1).random((50, 5))
    claim = Claim(score, False)
    assert (TopM(2, "random").select(claim, None, rng(2))[0] == TopM(2).select(claim, None, rng())[0]).all()


def test_no_probabilities_are_told_where_they_have_no_closed_form() -> None:
    drawn, promised = Claim(np.array([0.3, 0.7]), True), Claim(np.array([0.3, 0.7]), False, np.array([1.0, 0.0]))
    assert TopM().select(drawn, None, rng())[1] is None
    assert TopM(ties="random").select(drawn, None, rng())[1] is None
    assert TopM(ties="random").select(promised, None, rng())[1] is None
    assert Categorical().select(drawn, None, rng())[1] is None


# --- One arm drawn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chance", "awake", "expected"),
    [
        ([0.2, 0.3, 0.5], None, [0.2, 0.3, 0.5]),
        ([0.0, 1.0, 0.0], None, [0, 1, 0]),
        ([0.2, 0.3, 0.5], [True, True, False], [0.4, 0.6, 0]),
        ([0.0, 0.0, 1.0], [True, True, False], [0.5, 0.5, 0]),  # evenly, where the available arms have no chance
        ([0.2, 0.3, 0.5], [False, True, False], [0, 1, 0]),
        ([0.2, 0.3, 0.5], [False, False, False], [0, 0, 0]),
    ],
)
def test_one_arm_is_drawn_as_often_as_told(
    chance: list[float], awake: list[bool] | None, expected: list[float]
) -> None:
    played, probabilities = in_many_lanes(Categorical(), Claim(np.array(chance), False), awake)
    assert probabilities is not None
    assert np.allclose(probabilities, expected, rtol=1e-14)
    assert (played.sum(axis=-1) == (1 if sum(expected) else 0)).all()
    assert_frequencies(played, expected)


def test_a_claim_to_go_first_leaves_nothing_to_chance() -> None:
    claim = Claim(np.array([0.9, 0.05, 0.05]), False, np.array([-np.inf, np.inf, np.inf]))
    played, probabilities = in_many_lanes(Categorical(), claim)
    assert (played == [False, True, False]).all()
    assert (np.asarray(probabilities) == [0.0, 1.0, 0.0]).all()
    # Where the first two sleep it is the third's turn, and where all three claimants sleep the draw decides.
    assert in_many_lanes(Categorical(), claim, [True, False, True])[0][:, 2].all()
    assert in_many_lanes(Categorical(), claim, [True, False, False])[0][:, 0].all()


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1, allow_subnormal=False), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 99),
)
def test_a_draw_keeps_to_the_awake_and_tells_sound_probabilities(arms: list[tuple[float, bool]], seed: int) -> None:
    chance, awake = (np.array(column) for column in zip(*arms, strict=True))
    played, probabilities = Categorical().select(Claim(chance, False), awake, rng(seed))
    known: Array = np.asarray(probabilities)
    assert played.sum() == min(1, awake.sum())
    assert not (played & ~awake).any()
    assert (known[played] > 0).all()
    assert known.sum() == pytest.approx(played.sum())


# --- Bad parameters --------------------------------------------------------------------------------------------------


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(EvenhandError, match=r"^plays must be a whole number, got 1\.5$"):
        TopM(1.5)  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"^plays must be at least 1, got 0$"):
        TopM(0)
    with pytest.raises(EvenhandError, match=r"^ties must be 'first' or 'random', got 'last'$"):
        TopM(ties="last")
    with pytest.raises(EvenhandError, match=r"^a categorical draw plays one arm a round, got plays = 2$"):
        Categorical(2)
