"""Who plays: every choice against plain sorting, and frequencies against the probabilities that are reported."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evenhand import EvenhandError
from evenhand.core.state import Array, Mask, Observation, State, Tally
from evenhand.policy.claim import Claim, Ranking, Shares
from evenhand.policy.selection import Categorical, DependentRounding, Selected, Selection, SystematicSampling, TopM
from evenhand.policy.shares import proportional

LANES = 20_000
SIGMAS = 5.0  # a frequency is off by more with a chance below 1e-6


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def chosen(selection: Selection, claim: Claim, available: Any, rng: np.random.Generator, pulls: Any = None) -> Selected:
    """Who plays, after the given plays of each arm; none unless given otherwise."""
    counts = np.zeros(claim.score.shape) if pulls is None else np.asarray(pulls, dtype=float)
    state = State(round=9, tally=Tally(counts, counts, np.zeros_like(counts)))
    return selection.select(claim, state, Observation(available), rng)


def in_many_lanes(
    selection: Selection, claim: Claim, available: list[bool] | None = None, pulls: list[float] | None = None
) -> Selected:
    shape = (LANES, claim.score.shape[-1])
    priority = None if claim.priority is None else np.broadcast_to(claim.priority, shape)
    many = replace(claim, score=np.broadcast_to(claim.score, shape), priority=priority)
    awake = None if available is None else np.broadcast_to(np.array(available), shape)
    return chosen(selection, many, awake, rng(3), None if pulls is None else np.broadcast_to(pulls, shape))


def assert_frequencies(played: Mask, probabilities: Any) -> None:
    """Each arm plays as often as its probability says, to five standard deviations of a binomial share."""
    chance = np.asarray(probabilities, dtype=float)
    allowed = SIGMAS * np.sqrt(chance * (1.0 - chance) / len(played))
    assert (np.abs(played.mean(axis=0) - chance) <= allowed).all()


def sorted_out(claim: Claim, awake: list[bool], plays: int) -> list[bool]:
    """Those ahead by the size of their claim, then the others by score; the lowest index on every tie."""
    arms = [arm for arm in range(len(awake)) if awake[arm]]
    priority = np.full(len(awake), -math.inf) if claim.priority is None else claim.priority
    first = [arm for arm in arms if priority[arm] > claim.threshold]
    ahead = sorted(first, key=lambda arm: (-priority[arm], arm))
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
    claim, m = Ranking(np.array(score)), min(plays, len(arms))
    played, probabilities = chosen(TopM(m), claim, np.array(awake), rng())
    assert played.tolist() == sorted_out(claim, list(awake), m)
    assert probabilities is not None
    assert probabilities.tolist() == played.tolist()
    if all(awake):
        assert chosen(TopM(m), claim, None, rng())[0].tolist() == played.tolist()


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(FEW, st.sampled_from([0.0, 1.0, 1.0, math.inf]), AWAKE), min_size=1, max_size=6),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.5]),
)
def test_claims_to_go_first_come_before_the_scores(arms: list[Arm], plays: int, above: float) -> None:
    score, first, awake = zip(*arms, strict=True)
    claim, m = Ranking(np.array(score), np.array(first), above), min(plays, len(arms))
    played, _ = chosen(TopM(m), claim, np.array(awake), rng())
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
    claim = Ranking(score, first if promised else None)
    for ties in ("first", "random"):
        played, _ = chosen(TopM(m, ties), claim, awake, rng(seed))
        assert played.sum() == min(m, awake.sum())
        assert not (played & ~awake).any()


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.lists(st.tuples(FEW, FEW, AWAKE), min_size=4, max_size=4), min_size=1, max_size=4))
def test_lanes_are_chosen_one_by_one(lanes: list[list[Arm]]) -> None:
    score, first, awake = (np.array([[arm[i] for arm in lane] for lane in lanes]) for i in range(3))
    for m in (1, 2, 4):
        together, _ = chosen(TopM(m), Ranking(score, first), awake, rng())
        for lane in range(len(lanes)):
            alone, _ = chosen(TopM(m), Ranking(score[lane], first[lane]), awake[lane], rng())
            assert (together[lane] == alone).all()


def test_equal_claims_go_by_the_lowest_index_for_any_number_of_plays() -> None:
    # Arms 0, 1 and 2 are owed alike; their scores do not matter.
    claim = Ranking(np.array([0.1, 0.2, 0.3, 0.9]), np.array([1.0, 1.0, 1.0, -1.0]))
    assert np.flatnonzero(chosen(TopM(1), claim, None, rng())[0]).tolist() == [0]
    assert np.flatnonzero(chosen(TopM(2), claim, None, rng())[0]).tolist() == [0, 1]


# --- Ties at random --------------------------------------------------------------------------------------------------


def test_random_ties_are_uniform_over_the_sets_of_tied_arms() -> None:
    # Two of four tied arms: each of the six pairs with probability 1/6.
    played, probabilities = in_many_lanes(TopM(2, "random"), Ranking(np.zeros(4)))
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
    played, probabilities = in_many_lanes(TopM(plays, "random"), Ranking(np.array(score)), awake)
    assert probabilities is not None
    assert np.allclose(probabilities, expected, rtol=1e-15)
    assert_frequencies(played, expected)


def test_without_ties_chance_changes_nothing() -> None:
    score = rng(1).random((50, 5))
    claim = Ranking(score)
    assert (chosen(TopM(2, "random"), claim, None, rng(2))[0] == chosen(TopM(2), claim, None, rng())[0]).all()


def test_inclusion_is_known_also_where_arms_go_first() -> None:
    score, priority = np.array([0.3, 0.7]), np.array([1.0, 0.0])
    for ties in ("first", "random", "fewest"):
        assert chosen(TopM(ties=ties), Ranking(score), None, rng())[1].tolist() == [0.0, 1.0]
        assert chosen(TopM(ties=ties), Ranking(score, priority), None, rng())[1].tolist() == [1.0, 0.0]
    assert chosen(Categorical(), Shares(score), None, rng())[1].tolist() == [0.3, 0.7]
    assert chosen(Categorical(), Shares(score, priority), None, rng())[1].tolist() == [1.0, 0.0]


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
    played, probabilities = in_many_lanes(Categorical(), Shares(np.array(chance)), awake)
    assert probabilities is not None
    assert np.allclose(probabilities, expected, rtol=1e-14)
    assert (played.sum(axis=-1) == (1 if sum(expected) else 0)).all()
    assert_frequencies(played, expected)


def test_a_claim_to_go_first_leaves_nothing_to_chance() -> None:
    claim = Shares(np.array([0.9, 0.05, 0.05]), np.array([-np.inf, np.inf, np.inf]))
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
    played, probabilities = chosen(Categorical(), Shares(chance), awake, rng(seed))
    known: Array = np.asarray(probabilities)
    assert played.sum() == min(1, awake.sum())
    assert not (played & ~awake).any()
    assert (known[played] > 0).all()
    assert known.sum() == pytest.approx(played.sum())


# --- Several arms drawn ----------------------------------------------------------------------------------------------

Sets = dict[frozenset[int], Fraction]  # the probability of every set of arms that may play
Contest = list[tuple[int, Fraction]]  # arms that are not settled yet, and their shares
NOBODY: frozenset[int] = frozenset()
EVERY: list[Callable[[int], Selection]] = [DependentRounding, SystematicSampling]


def knock_out(contest: Contest, through: Contest, chosen: frozenset[int]) -> Sets:
    """Neighbours settle in pairs, as `DependentRounding` says; who is left, or has nobody to meet, is through."""
    if len(contest) < 2:
        through = through + contest
        if len(through) > 1:
            return knock_out(through, [], chosen)
        (arm, share), *_ = through
        assert share in (0, 1)  # a sum of shares is a whole number
        return {chosen | {arm} if share else chosen: Fraction(1)}
    (one, a), (two, b), *rest = contest
    total = a + b
    if total > 1:
        chance = (1 - b) / (2 - total) if total < 2 else Fraction(1)  # of the first one to play
        ways = [(chance, (two, total - 1), chosen | {one}), (1 - chance, (one, total - 1), chosen | {two})]
    else:
        chance = a / total if total else Fraction(1)  # of the first one to go on
        ways = [(chance, (one, total), chosen), (1 - chance, (two, total), chosen)]
    found: Sets = {}
    for chance, left, played in ways:
        for arms, part in (knock_out(rest, [*through, left], played) if chance else {}).items():
            found[arms] = found.get(arms, Fraction(0)) + chance * part
    return found


def draw_of(order: tuple[int, ...]) -> Any:
    """Who meets whom when the arms stand in this order: orders of the same draw are the same tournament."""
    left: list[Any] = list(order)
    while len(left) > 1:
        pairs = [frozenset(left[place : place + 2]) for place in range(0, len(left) - 1, 2)]
        left = pairs + left[2 * len(pairs) :]
    return left[0]


@cache
def averaged(shares: tuple[Fraction, ...]) -> Sets:
    draws = {draw_of(order): order for order in permutations(range(len(shares)))}
    found: Sets = {}
    for order in draws.values():
        for arms, chance in knock_out([(arm, shares[arm]) for arm in order], [], NOBODY).items():
            found[arms] = found.get(arms, Fraction(0)) + chance / len(draws)
    return found


def tournament(shares: list[Fraction]) -> Sets:
    """All draws of a tournament are alike."""
    return averaged(tuple(shares))


def pointers(shares: list[Fraction]) -> Sets:
    """Systematic sampling: which arms the pointers u, u + 1, … meet, between those u at which one goes to the next."""
    ends = [sum(shares[: arm + 1], Fraction(0)) for arm in range(len(shares))]
    turns = sorted({Fraction(0), Fraction(1), *(end % 1 for end in ends)})
    found: Sets = {}
    for low, high in pairwise(turns):
        u, arms = (low + high) / 2, set()
        for arm, (share, end) in enumerate(zip(shares, ends, strict=True)):
            if any(end - share <= u + k < end for k in range(len(shares))):
                arms.add(arm)
        found[frozenset(arms)] = found.get(frozenset(arms), Fraction(0)) + high - low
    return found


def chance_of(sets: Sets, together: tuple[int, ...], apart: tuple[int, ...] = ()) -> Fraction:
    """Of all those ``together`` playing and none of those ``apart``."""
    return sum((p for arms, p in sets.items() if arms >= set(together) and not arms & set(apart)), Fraction(0))


RULES = [(DependentRounding, tournament), (SystematicSampling, pointers)]


def fractions(*decimals: str) -> list[Fraction]:
    return [Fraction(decimal) for decimal in decimals]


SHARES = {
    "two arms": fractions("0.3", "0.7"),
    "one of three": fractions("0.2", "0.5", "0.3"),
    "one of five": fractions("0.1", "0.3", "0.05", "0.15", "0.4"),
    "two of three": fractions("2/3", "2/3", "2/3"),
    "two of four, evenly": fractions("0.5", "0.5", "0.5", "0.5"),
    "two of five": fractions("0.9", "0.1", "0.45", "0.35", "0.2"),
    "three of six": fractions("0.7", "0.2", "0.6", "0.6", "0.55", "0.35"),
    "three of seven, as in the paper": [3 * Fraction(10_000 + 2 * n**4, 100_632) for n in (3, 5, 7, 9, 8, 6, 4)],
    "four of five": fractions("0.8", "0.9", "0.75", "0.6", "0.95"),
    "one is certain": fractions("1/3", "1/3", "1", "1/3"),
    "the first and the last are certain": fractions("1", "0.4", "0.6", "1"),
    "some have none": fractions("0", "0.5", "0", "0.25", "0.25"),
    "all or nothing": fractions("1", "0", "0", "1", "1"),
    "the last has none": fractions("0.6", "0.3", "0.1", "0"),
    "certain and none": fractions("0", "1", "0.9", "0.35", "0", "0.75"),
    "all": fractions("1", "1", "1"),
    "both of two": fractions("1", "1"),
    "the only one": fractions("1"),
}


def test_the_shares_sum_to_whole_plays() -> None:
    assert all(sum(shares).denominator == 1 for shares in SHARES.values())


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("sets_of", [tournament, pointers])
def test_exactly_so_many_play_with_exactly_their_shares(
    sets_of: Callable[[list[Fraction]], Sets], shares: list[Fraction]
) -> None:
    # Of the rules themselves, in exact arithmetic; that the package draws by them is tested below.
    sets = sets_of(shares)
    assert sum(sets.values()) == 1
    assert {len(arms) for arms in sets} == {sum(shares)}
    assert [chance_of(sets, (arm,)) for arm in range(len(shares))] == shares


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
def test_dependent_rounding_correlates_every_pair_negatively(shares: list[Fraction]) -> None:
    sets = tournament(shares)
    for one, two in combinations(range(len(shares)), 2):
        p, q = shares[one], shares[two]
        assert chance_of(sets, (one, two)) <= p * q
        assert chance_of(sets, (), (one, two)) <= (1 - p) * (1 - q)
    # Srinivasan's theorem is about sets of any size.
    for size in range(3, len(shares) + 1):
        for arms in combinations(range(len(shares)), size):
            assert chance_of(sets, arms) <= math.prod(shares[arm] for arm in arms)
            assert chance_of(sets, (), arms) <= math.prod(1 - shares[arm] for arm in arms)


def test_systematic_sampling_correlates_some_pairs_positively() -> None:
    sets = pointers(SHARES["two of four, evenly"])
    assert sets == {frozenset({0, 2}): Fraction(1, 2), frozenset({1, 3}): Fraction(1, 2)}
    # Dependent rounding: never when they meet at once, which one draw in three has, else a quarter.
    assert chance_of(tournament(SHARES["two of four, evenly"]), (0, 2)) == Fraction(1, 6)


def assert_drawn(played: Mask, sets: Sets) -> None:
    """Every set of arms plays as often as its probability says, and no other one ever.

    Within five standard deviations of a binomial share: with 2 · 10³ comparisons in this file one of them fails by
    chance once in a thousand seeds.
    """
    codes, counts = np.unique(played @ (1 << np.arange(played.shape[-1])), return_counts=True)
    found = dict(zip(codes.tolist(), counts.tolist(), strict=True))
    expected = {sum(1 << arm for arm in arms): float(p) for arms, p in sets.items() if p}
    assert set(found) <= set(expected)
    for code, p in expected.items():
        assert abs(found.get(code, 0) / len(played) - p) <= SIGMAS * math.sqrt(p * (1.0 - p) / len(played))


def assert_pairs(played: Mask, sets: Sets) -> None:
    """The same of single arms and of pairs."""
    arms = range(played.shape[-1])
    for chosen in [*combinations(arms, 1), *combinations(arms, 2)]:
        p = float(chance_of(sets, chosen))
        share = played[:, chosen].all(axis=1).mean()
        assert abs(share - p) <= SIGMAS * math.sqrt(p * (1.0 - p) / len(played))


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize(("draw", "sets_of"), RULES, ids=["D", "S"])
def test_arms_are_drawn_as_the_rule_says(
    draw: Callable[[int], Selection], sets_of: Callable[[list[Fraction]], Sets], shares: list[Fraction]
) -> None:
    claim = Shares(np.array(shares, dtype=float))
    played, vector = in_many_lanes(draw(int(sum(shares))), claim)
    assert (played.sum(axis=-1) == sum(shares)).all()
    np.testing.assert_allclose(vector, np.broadcast_to(claim.score, vector.shape), rtol=1e-15)
    assert_drawn(played, sets_of(shares))
    assert_pairs(played, sets_of(shares))
    assert played[:, np.array(shares) == 1].all()
    assert not played[:, np.array(shares) == 0].any()


@pytest.mark.parametrize(("draw", "sets_of"), RULES, ids=["D", "S"])
def test_lanes_have_shares_of_their_own(
    draw: Callable[[int], Selection], sets_of: Callable[[list[Fraction]], Sets]
) -> None:
    kinds = [
        SHARES["two of five"],
        fractions("0.4", "0.4", "0.4", "0.4", "0.4"),
        fractions("1", "0", "0.5", "0.5", "0"),
    ]
    score = np.array([kinds[lane % 3] for lane in range(LANES)], dtype=float)
    played, vector = chosen(draw(2), Shares(score), None, rng(4))
    np.testing.assert_allclose(vector, score, rtol=1e-15)
    for place, shares in enumerate(kinds):
        assert_drawn(played[place::3], sets_of(shares))


def test_lanes_are_drawn_independently() -> None:
    # Neighbouring lanes: the chance that an arm plays in both is the square of its share.
    for draw in EVERY:
        played, _ = in_many_lanes(draw(2), Shares(np.array([0.9, 0.1, 0.45, 0.35, 0.2])))
        both = (played[0::2] & played[1::2]).mean(axis=0)
        p = np.array([0.9, 0.1, 0.45, 0.35, 0.2]) ** 2
        assert (np.abs(both - p) <= SIGMAS * np.sqrt(p * (1.0 - p) / (LANES // 2))).all()


def test_a_single_decision_is_a_lane() -> None:
    for draw in EVERY:
        drawn = [chosen(draw(2), Shares(np.array([1.0, 2.0, 3.0])), None, rng(s)) for s in range(500)]
        played = np.array([arms for arms, _ in drawn])
        assert drawn[0][1] == pytest.approx([1 / 3, 2 / 3, 1.0], rel=1e-15)
        assert_frequencies(played, [1 / 3, 2 / 3, 1.0])


def test_the_certain_and_the_excluded_are_never_mistaken() -> None:
    # Shares of 0 and 1, and beside them such as differ from 1 by a rounding error: many draws of each.
    rest = [0.1, 0.2, 0.3, 0.4, 1.0 - 1e-16, 1e-300]
    for draw in EVERY:
        for place in range(7):
            score = np.insert(np.array(rest), place, [1.0, 0.0])
            played, _ = in_many_lanes(draw(3), Shares(score))
            assert (played.sum(axis=-1) == 3).all()
            assert played[:, place].all()
            assert not played[:, place + 1].any()


class Extreme:
    """A random generator that always says the same."""

    def __init__(self, value: float) -> None:
        self._value = value

    def random(self, size: Any) -> Array:
        return np.full(size, self._value)

    def permuted(self, values: Any, axis: int) -> NDArray[Any]:
        return np.flip(values, axis)


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("draw", EVERY, ids=["D", "S"])
@pytest.mark.parametrize("value", [0.0, 1.0 - 2.0**-53])
def test_the_smallest_and_the_largest_random_numbers_are_no_exception(
    draw: Callable[[int], Selection], shares: list[Fraction], value: float
) -> None:
    claim, extreme = Shares(np.array(shares, dtype=float)), Extreme(value)
    played, _ = chosen(draw(int(sum(shares))), claim, None, extreme)  # type: ignore[arg-type]
    assert played.sum() == sum(shares)
    assert played[np.array(shares) == 1].all()
    assert not played[np.array(shares) == 0].any()


@pytest.mark.parametrize("draw", EVERY, ids=["D", "S"])
def test_sums_that_miss_a_whole_number_by_a_rounding_error_leave_nobody_out(draw: Callable[[int], Selection]) -> None:
    # 50 000 shares of 3/50 000 sum to 3 − 2e-12, and a last arm has none; the random number is within 1e-12 of 1.
    claim, extreme = Shares(np.append(np.ones(50_000), 0.0)), Extreme(1.0 - 2.0**-40)
    assert np.cumsum(claim.score * 3 / 50_000)[-1] < 3.0 - 1e-12
    played, _ = chosen(draw(3), claim, None, extreme)  # type: ignore[arg-type]
    assert played.sum() == 3
    assert not played[-1]


WEIGHT = st.one_of(st.integers(1, 6).map(float), st.floats(1e-3, 1e3))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(WEIGHT, FEW, AWAKE), min_size=1, max_size=7),
    st.integers(1, 7),
    st.sampled_from([None, 0.0, 0.5]),
    st.integers(0, 99),
)
def test_whoever_goes_first_plays_and_the_others_share_the_rest(
    arms: list[Arm], plays: int, above: float | None, seed: int
) -> None:
    score, first, awake = (np.array(column) for column in zip(*arms, strict=True))
    places, m = np.flatnonzero(awake).tolist(), min(plays, len(arms))
    ahead: list[int] = []
    if above is not None:
        ahead = sorted((arm for arm in places if first[arm] > above), key=lambda arm: (-first[arm], arm))[:m]
    others = [arm for arm in places if arm not in ahead]
    expected = np.zeros(len(arms))
    expected[ahead] = 1.0
    expected[others] = proportional(score[others], min(m - len(ahead), len(others))) if others else 0.0
    claim = Shares(score) if above is None else Shares(score, first, above)
    for draw in EVERY:
        played, vector = chosen(draw(m), claim, awake, rng(seed))
        assert vector == pytest.approx(expected, rel=1e-12, abs=0.0)
        assert played.sum() == min(m, len(places))
        assert not (played & ~awake).any()
        assert played[ahead].all()
        if all(awake):
            again, same = chosen(draw(m), claim, None, rng(seed))
            assert again.tolist() == played.tolist()
            assert same.tolist() == vector.tolist()


@pytest.mark.parametrize("draw", EVERY, ids=["D", "S"])
def test_with_some_asleep_or_ahead_the_others_are_drawn_by_their_shares(draw: Callable[[int], Selection]) -> None:
    # Weights 1, 2, 3, 4, 5; the third sleeps and the last goes first: one play is left to 1, 2 and 4.
    claim = Shares(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0.0, 0.0, 9.0, 0.0, 1.0]))
    played, vector = in_many_lanes(draw(2), claim, [True, True, False, True, True])
    expected = fractions("1/7", "2/7", "0", "4/7", "1")
    assert vector[0] == pytest.approx(np.array(expected, dtype=float), rel=1e-15)
    assert_drawn(played, {frozenset({4, arm}): expected[arm] for arm in (0, 1, 3)})


@pytest.mark.parametrize("draw", EVERY, ids=["D", "S"])
def test_lanes_in_which_some_go_first(draw: Callable[[int], Selection]) -> None:
    # Nobody in the first, two in the second, more than can play in the third; the fourth sleeps.
    first = np.array([[0.0, 0, 0, 0], [0, 1, 0, 1], [1, 2, 2, 3], [1, 1, 1, 1]])
    awake = np.array([[True] * 4] * 3 + [[False] * 4])
    claim = Shares(np.array([[1.0, 1.0, 1.0, 2.0]] * 4), first)
    played, vector = chosen(draw(2), claim, awake, rng())
    assert vector == pytest.approx(
        np.array([[0.4, 0.4, 0.4, 0.8], [0, 1, 0, 1], [0, 1, 0, 1], [0, 0, 0, 0]]), rel=1e-15
    )
    assert played[1:].tolist() == [[False, True, False, True]] * 2 + [[False] * 4]
    assert played[0].sum() == 2


# --- Ties at random among those who go first -------------------------------------------------------------------------


def shared_out(claim: Claim, awake: list[bool], plays: int) -> list[Fraction]:
    """How often each arm plays, over all orders in which ties may be broken."""
    arms = len(awake)
    counts = [0] * arms
    for order in permutations(range(arms)):

        def rank(arm: int, order: tuple[int, ...] = order) -> tuple[float, float, int]:
            priority = -math.inf if claim.priority is None else claim.priority[arm]
            leads = priority > claim.threshold
            return (-priority if leads else math.inf, 0.0 if leads else -claim.score[arm], order[arm])

        for arm in sorted((arm for arm in range(arms) if awake[arm]), key=rank)[:plays]:
            counts[arm] += 1
    return [Fraction(count, math.factorial(arms)) for count in counts]


TIED = st.sampled_from([0.0, 0.5, 1.0])


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(TIED, st.sampled_from([-1.0, 0.0, 0.0, 1.0, 2.0]), AWAKE), min_size=1, max_size=5),
    st.integers(1, 5),
    st.sampled_from([None, 0.0, 0.5]),
    st.integers(0, 99),
)
def test_random_ties_are_told_exactly(arms: list[Arm], plays: int, above: float | None, seed: int) -> None:
    score, first, awake = (np.array(column) for column in zip(*arms, strict=True))
    m = min(plays, len(arms))
    claim = Ranking(score) if above is None else Ranking(score, first, above)
    played, vector = chosen(TopM(m, "random"), claim, awake, rng(seed))
    expected = shared_out(claim, awake.tolist(), m)
    assert vector == pytest.approx(np.array(expected, dtype=float), rel=1e-14, abs=0.0)
    assert vector.sum() == pytest.approx(min(m, awake.sum()), rel=1e-14)
    assert (vector[played] > 0.0).all()
    assert played.sum() == min(m, awake.sum())


def test_random_ties_among_those_who_go_first_play_as_often_as_told() -> None:
    # Arms 1, 2 and 3 are owed alike and one of them plays beside arm 0, which is owed more; scores do not matter.
    claim = Ranking(np.array([0.0, 0.9, 0.1, 0.5, 2.0]), np.array([3.0, 1.0, 1.0, 1.0, 0.0]))
    played, vector = in_many_lanes(TopM(2, "random"), claim)
    assert vector[0] == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3, 0.0], rel=1e-15)
    assert_frequencies(played, vector[0])
    # Two go first, and two others of equal score share the third play.
    claim = Ranking(np.array([0.0, 0.5, 0.5, 0.1, 0.0]), np.array([1.0, 0.0, 0.0, 0.0, 1.0]))
    played, vector = in_many_lanes(TopM(3, "random"), claim)
    assert vector[0].tolist() == [1.0, 0.5, 0.5, 0.0, 1.0]
    assert_frequencies(played, vector[0])


# --- Bad parameters --------------------------------------------------------------------------------------------------


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(EvenhandError, match=r"^plays must be a whole number, got 1\.5$"):
        TopM(1.5)  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"^plays must be at least 1, got 0$"):
        TopM(0)
    with pytest.raises(EvenhandError, match=r"^ties must be 'first' or 'random' or 'fewest', got 'last'$"):
        TopM(ties="last")
    with pytest.raises(EvenhandError, match=r"^plays must be 1 for a categorical draw, got 2; use DependentRounding"):
        Categorical(2)
    for build in (DependentRounding, SystematicSampling):
        with pytest.raises(EvenhandError, match=r"^plays must be a whole number, got 2\.0$"):
            build(2.0)  # type: ignore[arg-type]
        with pytest.raises(EvenhandError, match=r"^plays must be at least 1, got 0$"):
            build(0)


# --- Ties by the number of plays -------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(FEW, FEW, st.integers(0, 2), AWAKE), min_size=1, max_size=6),
    st.integers(1, 6),
    st.booleans(),
)
def test_of_equal_arms_the_one_with_the_fewest_plays_goes_first(
    arms: list[tuple[float, float, int, bool]], plays: int, promised: bool
) -> None:
    score, first, pulls, awake = zip(*arms, strict=True)
    m, up = min(plays, len(arms)), [arm for arm in range(len(arms)) if awake[arm]]
    ahead = [arm for arm in up if promised and first[arm] > 0.0]
    ahead.sort(key=lambda arm: (-first[arm], pulls[arm], arm))
    others = sorted((arm for arm in up if arm not in ahead), key=lambda arm: (-score[arm], pulls[arm], arm))
    claim = Ranking(np.array(score), np.array(first) if promised else None)
    played, vector = chosen(TopM(m, "fewest"), claim, np.array(awake), rng(), pulls)
    assert np.flatnonzero(played).tolist() == sorted((ahead + others)[:m])
    assert vector.tolist() == played.tolist()
    if all(awake):
        assert (chosen(TopM(m, "fewest"), claim, None, rng(), pulls)[0] == played).all()


def test_only_fewest_looks_at_the_number_of_plays() -> None:
    # Arms 0, 1 and 2 share the best score; arms 1 and 2 have the fewest plays of them, arm 3 fewer and a lower score.
    claim, pulls = Ranking(np.array([1.0, 1.0, 1.0, 0.5])), [3.0, 1.0, 1.0, 0.0]
    assert in_many_lanes(TopM(ties="fewest"), claim, pulls=pulls)[1][0].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert in_many_lanes(TopM(ties="first"), claim, pulls=pulls)[1][0].tolist() == [1.0, 0.0, 0.0, 0.0]
    played, chance = in_many_lanes(TopM(ties="random"), claim, pulls=pulls)
    assert chance[0].tolist() == [1 / 3, 1 / 3, 1 / 3, 0.0]
    assert_frequencies(played, chance[0])


# --- Weights that are no numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selection", [Categorical(), DependentRounding(1), DependentRounding(2), SystematicSampling(2)]
)
@pytest.mark.parametrize("weight", [math.inf, math.nan])
@pytest.mark.parametrize("awake", [None, [True, True, False]])
def test_infinite_and_nan_weights_are_refused(selection: Selection, weight: float, awake: list[bool] | None) -> None:
    message = "^the weights of the arms must be finite; a fairness part gave infinity or NaN$"
    for score in (np.array([weight, 1.0, 0.5]), np.array([[0.2, 1.0, 0.5], [0.5, weight, 1.0]])):
        for priority in (None, np.where(np.arange(3) == 2, 1.0, 0.0)):  # also where another arm goes first
            if priority is not None and awake is not None:
                continue
            first = None if priority is None else np.broadcast_to(priority, score.shape)
            with pytest.raises(EvenhandError, match=message):
                chosen(selection, Shares(score, first), awake, rng())


@pytest.mark.parametrize("selection", [Categorical(), DependentRounding(1), SystematicSampling(1)])
@pytest.mark.parametrize("weight", [math.inf, math.nan])
def test_the_weight_of_an_arm_that_cannot_play_does_not_matter(selection: Selection, weight: float) -> None:
    _, chance = chosen(selection, Shares(np.array([3.0, 1.0, weight])), np.array([True, True, False]), rng())
    assert chance.tolist() == [0.75, 0.25, 0.0]


@pytest.mark.parametrize("selection", [TopM(), Categorical(), DependentRounding(), SystematicSampling()])
@pytest.mark.parametrize(("priority", "first"), [(1.0, 1), (1.0 + 1e-9, 0)])
def test_a_priority_at_the_threshold_gives_none(selection: Selection, priority: float, first: int) -> None:
    kind = Ranking if selection.traits.takes == "ranking" else Shares
    claim = kind(np.array([1e-300, 1.0]), np.array([priority, 0.0]), 1.0)
    played, _ = chosen(selection, claim, None, rng())
    assert played.tolist() == [arm == first for arm in range(2)]


@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.9, 0.8, 0.3], [0.25, 0.25, 0.25, 0.25], [0.4, 0.7, 0.7, 0.2]])
def test_who_plays_by_dependent_rounding_does_not_hang_on_the_last_digit(shares: list[float]) -> None:
    """Processors and versions of NumPy round shares differently."""
    played = []
    for nudge in (0.0, 4.0 * np.finfo(float).eps, -4.0 * np.finfo(float).eps):
        for arm in range(len(shares)):
            claim = Shares(np.tile(np.array(shares) + nudge * (np.arange(len(shares)) == arm), (LANES, 1)))
            played.append(chosen(DependentRounding(round(sum(shares))), claim, None, rng(1))[0])
    assert all(np.array_equal(one, played[0]) for one in played)
