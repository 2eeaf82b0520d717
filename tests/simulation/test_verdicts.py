"""Verdicts and paired differences against numbers put in by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evenhand import Environment, Policy, compare
from evenhand.algorithms import bandit_q, lfg
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.policy import BoundedShares
from evenhand.rewards import Bernoulli, Table
from evenhand.simulation.results import Results
from evenhand.simulation.tables import PolicyResult
from evenhand.simulation.verdicts import differences, verdicts

T = 1000


def results_of(plays: dict[str, list[list[int]]], promised: list[float] | None, **curves: list[float]) -> Results:
    """Results with one checkpoint: plays by policy, lane and arm; curves, the same for all policies, by lane."""
    policies = {}
    for place, (label, pulls) in enumerate(plays.items()):
        lanes, arms = np.array(pulls).shape
        shifted = {name: np.array([values]) + place for name, values in curves.items()}
        unknown = np.full((lanes, arms), np.nan)
        policies[label] = PolicyResult(np.array([pulls], dtype=np.int32), shifted, unknown, unknown)
    names = ("tea", "coffee", "milk", "cocoa", "water", "juice")[: len(next(iter(plays.values()))[0])]
    shares: dict[str, Array | None] = {label: None if promised is None else np.array(promised) for label in plays}
    return Results(policies, np.array([T]), names, shares, {"horizon": T, "lanes": 2, "seed": 0})


def text(plays: list[list[int]], promised: list[float] | None, **curves: list[float]) -> str:
    return verdicts(results_of({"A": plays}, promised, **curves))["A"].text


def test_a_kept_promise_and_its_cost() -> None:
    assert text([[800, 200], [800, 200]], [0.0, 0.2], r_regret=[3.0, 4.4], regret=[9.0, 9.0]) == (
        "A kept its promise, and earned 4 less than the fair optimum."
    )
    assert text([[800, 200]], [0.0, 0.2], r_regret=[3.0], reward=[297.0]) == (
        "A kept its promise, and earned 3 less (1.0%) than the fair optimum."
    )
    assert (
        text([[500, 500]], [0.5, 0.5], r_regret=[0.2])
        == "A kept both promises, and earned as much as the fair optimum."
    )


def test_the_arms_furthest_behind_come_first() -> None:
    assert text([[900, 60, 40]], [0.2, 0.2, 0.2], r_regret=[-277.0]) == (
        "A left milk short by 160 plays and coffee by 140 (1 of 3 promises kept), "
        "and earned 277 more than the fair optimum."
    )


def test_more_than_three_arms_are_counted() -> None:
    assert text([[995, 1, 1, 1, 1, 1]], [0.0, 0.1, 0.1, 0.1, 0.1, 0.1], r_regret=[1.0]).startswith(
        "A left coffee short by 99 plays, milk by 99, cocoa by 99 and 2 more arms by up to 99 (0 of 5 promises kept)"
    )


def test_numbered_arms_do_not_run_into_their_plays() -> None:
    results = results_of({"A": [[998, 0, 0, 2, 0]]}, [0.0, 0.177, 0.141, 0.1, 0.05], r_regret=[1.0])
    assert verdicts(replace(results, names=("1", "2", "3", "4", "5")))["A"].text.startswith(
        "A left arm 2 short by 177 plays, arm 3 by 141, arm 4 by 98 and 1 more arm by 50 (0 of 4 promises kept)"
    )


@pytest.mark.parametrize(("plays", "kept"), [(198, True), (197, False)])
def test_one_percent_of_the_promised_plays_may_be_missing(plays: int, kept: bool) -> None:
    verdict = verdicts(results_of({"A": [[T - plays, plays]]}, [0.0, 0.2], r_regret=[0.0]))["A"]
    assert verdict.missed == (() if kept else ("coffee",))
    assert verdict.missing == (plays - T, 200 - plays)
    assert verdict.to_json()["promises_kept"] is kept


def test_a_single_play_may_be_missing() -> None:
    assert verdicts(results_of({"A": [[T - 4, 4]]}, [0.0, 0.005], r_regret=[0.0]))["A"].missed == ()
    assert verdicts(results_of({"A": [[T - 3, 3]]}, [0.0, 0.005], r_regret=[0.0]))["A"].missed == ("coffee",)


def test_lanes_are_averaged_and_promises_may_differ_between_them() -> None:
    results = results_of({"A": [[700, 300], [900, 100]]}, [0.0, 0.2], r_regret=[0.0, 0.0])
    verdict = verdicts(results)["A"]
    assert (verdict.missing, verdict.missed, verdict.undecided) == ((-800, 0), (), ("coffee",))
    assert verdict.to_json()["promises_kept"] is None
    results.promised["A"] = np.array([[0.0, 0.3], [0.0, 0.1]])
    verdict = verdicts(results)["A"]
    assert (verdict.missing, verdict.undecided) == ((-800, 0), ())
    assert verdict.to_json()["promises_kept"] is True


def test_a_few_missing_plays_of_noisy_lanes_are_no_breach() -> None:
    """3% of the plays are missing, by less than one standard error."""
    plays = [[800 - extra, 200 + extra] for extra in (-40, 30, -20, 10, -25, 9)]
    verdict = verdicts(results_of({"A": plays}, [0.0, 0.2], r_regret=[0.0] * 6))["A"]
    assert verdict.missing == pytest.approx((-806, 6))
    assert (verdict.missed, verdict.undecided) == ((), ("coffee",))
    (case,) = verdict.cases
    ends = stats.ttest_1samp([40, -30, 20, -10, 25, -9], 0.0).confidence_interval(0.9)
    assert (case.judgement.low, case.judgement.high) == pytest.approx((ends.low, ends.high))


def test_how_promises_are_kept_is_saved_with_the_results(tmp_path: Path) -> None:
    world = Environment(Bernoulli([0.9, 0.5]), names=("tea", "milk"))
    group = {"name": "cold", "arms": [1], "exactly": 0.4}
    policies = {"owed": lfg([0.0, 0.2], eta=999.0), "both": Policy(fairness=BoundedShares(caps=0.8, groups=[group]))}
    results = compare(policies, world, horizon=300, lanes=3)
    found, again = (verdicts(one) for one in (results, Results.load(results.save(tmp_path))))
    for label in policies:
        assert found[label] == again[label]
    assert re.match("owed is behind with milk by .* plays, as eta = 999 allows, and earned ", found["owed"].text)
    assert [(one.subject, one.share, one.cap) for one in found["both"].cases] == [
        ("the group cold", 0.4, False),
        ("the group cold", 0.4, True),
        ("tea", 0.8, True),
        ("milk", 0.8, True),
    ]


def test_without_promises_the_best_policy_is_the_measure() -> None:
    assert text([[900, 100]], None, regret=[12.0], reward=[5.0]) == (
        "A promised no share, and earned 12 less (70.6%) than the best policy."
    )
    assert text([[900, 100]], None, reward=[1234.0]) == "A promised no share, and earned 1,234."


def test_shares_by_merit() -> None:
    merit = {"fairness_regret": [25.0], "reward_regret": [3.25], "regret": [90.0]}
    assert text([[600, 400]], [0.6, 0.4], **merit) == "A kept both shares by merit, and has a reward regret of 3.25."
    assert text([[700, 300]], [0.6, 0.4], **merit) == (
        "A left coffee short by 100 plays (1 of 2 shares by merit kept), and has a reward regret of 3.25."
    )


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 6.0)])
def test_guaranteed_rewards_are_judged_in_every_unit(low: float, high: float) -> None:
    """Arms b and c earn far less than the tenth of a reward per round that each was promised."""
    rows = np.random.default_rng(1).random((800, 3)) < np.array([0.8, 0.3, 0.2])
    world = Environment(Table(low + (high - low) * rows), names=("a", "b", "c"), reward_range=(low, high))
    results = compare([bandit_q([0.02, 0.1, 0.1], horizon=800)], world, 800, lanes=10)
    (found,) = verdicts(results).values()
    earned = results.policies["bandit_q"].estimate - low
    behind = 0.1 * 800 - (earned / (high - low) * results.policies["bandit_q"].pulls[-1])[:, 1]
    reach = stats.ttest_1samp(behind, 0.0).confidence_interval(0.9).high - behind.mean()
    one = found.cases[1].judgement
    assert (one.behind, one.high - one.behind, one.tolerance) == pytest.approx((behind.mean(), reach, 1.0))
    assert [case.judgement.verdict for case in found.cases] == ["kept", "missed", "missed"]
    assert re.match(r"bandit_q left c short by \d+ of reward and b by \d+ \(1 of 3 promises kept\)", found.text)
    assert found.to_json()["promises_kept"] is False
    assert [promise["reward"] for promise in found.to_json()["promises"]] == [True] * 3


def test_differences_are_those_of_a_paired_t_test() -> None:
    results = results_of({"A": [[1, 1]] * 5, "B": [[1, 1]] * 5}, None, reward=[1.0, 2.0, 3.0, 4.0, 5.0])
    results.policies["B"].curves["reward"][0] = [2.0, 2.5, 4.5, 4.0, 7.0]
    (found,) = differences(results, against="A")
    expected = stats.ttest_rel([2.0, 2.5, 4.5, 4.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0]).confidence_interval(0.95)
    assert (found.label, found.mean) == ("B", 1.0)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_a_single_lane_has_no_interval() -> None:
    (found,) = differences(results_of({"A": [[1, 1]], "B": [[1, 1]]}, None, reward=[3.0]), against="A")
    assert found.mean == 1.0
    assert np.isnan([found.low, found.high]).all()


def test_a_policy_that_is_not_there() -> None:
    with pytest.raises(EvenhandError, match="there is no policy 'a'; did you mean 'A'"):
        differences(results_of({"A": [[1, 1]]}, None, reward=[3.0]), against="a")
