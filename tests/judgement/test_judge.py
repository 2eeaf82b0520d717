"""Judgements against counts by hand, probabilities in closed form, and each other."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from evenhand import Policy
from evenhand.algorithms import eta_fucb, fcts_d, floor_ts, fucb, lfg, ucb1
from evenhand.core.state import Array
from evenhand.judgement.judge import FIXED, KEPT, MISSED, OPEN, VERDICTS, judge
from evenhand.judgement.keeping import Keeping, keeping_of
from evenhand.judgement.merits import allowed_shares
from evenhand.judgement.sentences import PROMISES, Case, sentence
from evenhand.merit import Linear, Power
from evenhand.policy import Categorical, GuaranteedShares
from evenhand.policy.shares import proportional

CHANCE, COUNT, PRICE, MERIT = Keeping("chance"), Keeping("count"), Keeping("price"), Keeping("merit")


def verdicts(keeping: Keeping, due: object, plays: object, rounds: float, **options: object) -> list[str]:
    found = judge(keeping, np.array(due, dtype=float), np.array(plays, dtype=float), rounds, **options)  # type: ignore[arg-type]
    return [VERDICTS[one] for one in found.verdicts]


@pytest.mark.parametrize(
    ("policy", "keeps"),
    [
        (fucb([0.1, 0.2]), "count"),
        (lfg([0.1, 0.2], eta=5.0), "count"),
        (eta_fucb([0.1, 0.2], eta=1.0), "price"),
        (ucb1(), "price"),
        (Policy(fairness=GuaranteedShares([0.1, 0.2]), selection=Categorical()), "chance"),
        (floor_ts(0.1), "chance"),
        (floor_ts(0.1, rule="clip"), "price"),
        (fcts_d(Linear(3.0, 1.0)), "merit"),
    ],
)
def test_parts_say_how_they_keep_promises(policy: Policy, keeps: str) -> None:
    assert keeping_of(policy, 2, 100).keeps == keeps


def test_the_parameter_that_allows_arrears_is_named() -> None:
    assert keeping_of(lfg([0.1, 0.2], eta=5.0), 2, 100).parameter == "eta = 5"
    assert keeping_of(fucb([0.1, 0.2], tolerance=50.0), 2, 100).parameter == "tolerance = 50"
    assert keeping_of(fucb([0.1, 0.2]), 2, 100).parameter == ""


def test_an_exact_count_has_no_interval() -> None:
    """2,000 plays are due, so 20 may be missing; the policy may owe 50."""
    keeping = Keeping("count", "eta = 5", allowance=lambda rounds: 50.0)
    assert verdicts(keeping, [2000.0] * 4, [1980.0, 1979.0, 1950.0, 1949.0], 10_000) == [
        *("kept", "undecided", "undecided", "missed")
    ]
    one = judge(keeping, np.array([2000.0]), np.array([1960.0]), 10_000)[0]
    assert (one.low, one.behind, one.high, one.parameter) == (40.0, 40.0, 40.0, "eta = 5")
    assert one.rounds_needed == pytest.approx(25_000, rel=0.001)  # 50 is 1% of 5,000 plays due
    assert one.lanes_needed is None


def test_a_rule_that_always_allows_more_never_decides() -> None:
    keeping = Keeping("count", allowance=lambda rounds: 2.0 + 0.02 * rounds)
    assert judge(keeping, np.array([200.0]), np.array([190.0]), 1000)[0].rounds_needed is None


def test_one_play_may_always_be_missing() -> None:
    assert verdicts(PRICE, [5.0, 5.0], [4.0, 3.0], 1000) == ["kept", "missed"]


@pytest.mark.parametrize("lanes", [2, 10])
def test_lanes_are_judged_by_the_interval_of_their_mean(lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    plays = 180.0 + rng.normal(size=(lanes, 3)) * np.array([1.0, 30.0, 300.0])
    found = judge(PRICE, np.full(3, 200.0), plays, 1000)
    for arm in range(3):
        ends = stats.ttest_1samp(200.0 - plays[:, arm], 0.0).confidence_interval(FIXED)
        assert (found.low[arm], found.high[arm]) == pytest.approx((ends.low, ends.high))
        assert found.verdicts[arm] == (MISSED if ends.low > 2.0 else KEPT if ends.high <= 2.0 else OPEN)


def test_lanes_that_all_keep_a_count_keep_it() -> None:
    assert verdicts(COUNT, [20.0], [[19.5], [150.0]], 1000) == ["kept"]
    assert verdicts(PRICE, [20.0], [[19.5], [150.0]], 1000) == ["undecided"]


def test_chance_is_judged_by_all_lanes_together() -> None:
    plays = np.array([[900.0, 1000.0], [890.0, 1010.0]])
    found = judge(CHANCE, np.full(2, 1000.0), plays, 10_000)
    ends = stats.binomtest(1790, 20_000).proportion_ci(FIXED)
    assert (found.low[0], found.high[0]) == pytest.approx((1000.0 - 10_000 * ends.high, 1000.0 - 10_000 * ends.low))
    assert [VERDICTS[one] for one in found.verdicts] == ["missed", "undecided"]


def test_draws_that_last_count_for_less() -> None:
    """A hundred choices of a hundred rounds say as much as a hundred rounds."""
    held = judge(Keeping("chance", longest=100.0), np.array([2000.0]), np.array([1000.0]), 10_000)
    once = judge(CHANCE, np.array([20.0]), np.array([10.0]), 100)
    assert (held.low[0], held.high[0]) == pytest.approx((100.0 * once.low[0], 100.0 * once.high[0]))


def test_caps_are_mirrored() -> None:
    plays = [510.0, 505.0, 100.0]
    assert verdicts(COUNT, [500.0] * 3, plays, 1000, cap=True) == ["missed", "kept", "kept"]
    found = judge(CHANCE, np.array([500.0]), np.array([560.0]), 1000, cap=True)[0]
    assert (found.verdict, found.behind) == ("missed", 60.0)
    assert found.low < 60.0 < found.high


def test_merits_are_held_against_the_shares_that_means_allow() -> None:
    """The share is between 20% and 30%; only what is below the first, or above the second, decides."""
    due, most = np.full(3, 2000.0), np.full(3, 3000.0)
    found = judge(MERIT, due, np.array([1700.0, 2500.0, 3200.0]), 10_000, online=True, due_at_most=most)
    assert [VERDICTS[one] for one in found.verdicts] == ["missed", "undecided", "kept"]


@pytest.mark.parametrize("plays", [1, 2])
def test_shares_of_all_means_in_the_intervals_are_allowed(plays: int) -> None:
    rng = np.random.default_rng(plays)
    merit = Power(beta=2.0)
    for _ in range(200):
        low, high = np.sort(rng.random((2, 4)), axis=0)
        least, most = allowed_shares(merit, low, high, plays)
        inside = low + (high - low) * rng.random((50, 4))
        corners = np.where(rng.random((50, 4)) < 0.5, low, high)
        for means in (inside, corners):
            shares = proportional(merit(means), plays)
            assert (shares >= least - 1e-9).all()
            assert (shares <= most + 1e-9).all()


@pytest.mark.parametrize("keeping", [CHANCE, COUNT, PRICE, MERIT])
def test_no_rounds_are_kept_promises_or_unknown_ones(keeping: Keeping) -> None:
    for online in (False, True):
        assert verdicts(keeping, [0.0], [0.0], 0.0, online=online) == ["kept"]


def test_many_arms_are_judged_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(50))
    plays = rng.multinomial(5000, shares * 0.9 + 0.002).astype(float)
    for keeping in (CHANCE, Keeping("count", "eta = 5", allowance=lambda rounds: 20.0 + np.log(rounds)), PRICE):
        found = judge(keeping, 5000 * shares, plays, 5000, online=True)
        for arm in range(50):
            alone = judge(keeping, 5000 * shares[[arm]], plays[[arm]], 5000, online=True)
            assert alone[0] == found[arm]


def as_cases() -> some.SearchStrategy[Case]:
    def case(kind: int, due: float, part: float, rounds: int, lanes: int, cap: bool, online: bool) -> Case:
        keeping = [CHANCE, Keeping("count", "eta = 5", allowance=lambda rounds: 30.0), PRICE, MERIT, COUNT][kind]
        share = due / rounds
        plays: Array = np.array([[min(part * due * (1.0 + 0.1 * lane), rounds)] for lane in range(lanes)])
        found = judge(keeping, np.array([due]), plays if lanes > 1 else plays[0], rounds, cap=cap, online=online)
        return Case("tea", share, found[0], cap)

    number = some.floats(0.5, 1.5)
    dues = some.integers(1, 5000).map(float)
    return some.builds(
        case,
        some.integers(0, 4),
        dues,
        number,
        some.integers(5000, 100_000),
        some.integers(1, 5),
        some.booleans(),
        some.booleans(),
    )


@settings(max_examples=400, deadline=None)
@given(as_cases())
def test_of_each_promise_exactly_one_sentence_is_true(case: Case) -> None:
    assert sum(one.premise(case) for one in PROMISES) == 1
    found, text = case.judgement, sentence(case)
    undecided = "undecided" in text or "allows" in text
    assert undecided == (found.verdict == "undecided")
    assert found.low <= found.behind + 1e-9
    assert found.behind <= found.high + 1e-9
    if found.verdict == "missed":
        assert " behind the " in text or " above its " in text
        assert found.behind > found.tolerance
    if found.verdict == "kept":
        assert found.behind <= found.tolerance + 1e-9
    assert (found.rounds_needed is None and found.lanes_needed is None) or found.verdict == "undecided"


def test_an_allowance_without_end_can_be_written_and_read() -> None:
    keeping = Keeping("count", "eta = 1e+308", allowance=lambda rounds: math.inf)
    written = json.dumps(keeping.to_json(100), allow_nan=False)
    assert Keeping.of_json(json.loads(written)).owed_at_most(100) == math.inf
