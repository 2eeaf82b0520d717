"""Whether a log can answer, and why not."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from evenhand.bandit.evaluation.evaluation import evaluate, grade
from evenhand.bandit.evaluation.grade import tail_of
from evenhand.bandit.evaluation.log import Log
from evenhand.core.state import Array
from evenhand.inference.tails import pareto_k
from tests.bandit.evaluation.logs import AWAKE, MEANS, USED, WANTED, even, fixed, log_of, simulated


def test_nothing_to_warn_of() -> None:
    assert grade(even(), "uniform").reasons == ()


def test_items_that_the_log_never_plays() -> None:
    evaluation = evaluate(even(), {"0": 0.5, "mate": 0.3, "tea": 0.2})
    assert (
        "the log never plays 'mate', 'tea', to which fixed shares gives 0.5 of the rounds"
        in evaluation.grade.reasons[0]
    )
    assert evaluation.items == ("0", "1", "2", "mate", "tea")
    assert evaluation.shares["fixed shares"] == pytest.approx([0.5, 0.0, 0.0, 0.3, 0.2])


def test_a_target_that_shares_nothing_with_the_log() -> None:
    evaluation = evaluate(even(), {"mate": 1.0}, estimator="snips")
    assert "its reward cannot be estimated" in evaluation.grade.reasons[-1]
    for estimator in ("ips", "dr", "sndr"):  # whose model and zeros say nothing of mate
        found = evaluate(even(), {"mate": 1.0}, estimator=estimator)
        assert np.isnan([found.estimates["fixed shares"].value, found.differences[0].value]).all()
        assert found.differences[0].interval.claim == found.estimates["fixed shares"].interval.claim == "not_claimed"
        assert "nan" not in str(found)
    assert np.isnan(evaluation.estimates["fixed shares"].value)
    assert json.dumps(evaluation.to_json(), allow_nan=False)
    assert evaluation.to_json()["estimates"]["fixed shares"]["value"] is None


def test_an_item_that_the_log_never_lists_is_not_available_where_it_lists_them() -> None:
    log = simulated(np.random.default_rng(1), 60, MEANS, USED, AWAKE)
    evaluation = evaluate(log, {"0": 0.2, "1": 0.2, "2": 0.2, "mate": 0.4})
    assert evaluation.shares["fixed shares"][3] == 0.0
    assert evaluation.notes == ("'mate' is never available in the log; the others get its share",)


def test_a_single_heavy_play() -> None:
    log = even()
    log.propensity[3] = 0.001
    few, heavy, *_ = grade(log, "uniform").reasons
    assert few == "3 plays are too few"
    assert heavy.startswith("a single play has")
    assert "of all weight" in heavy


def test_too_few_rewards() -> None:
    log = even(400)
    log.reward[:] = 0.0
    log.reward[:3] = 1.0
    assert "of the squared error" in grade(log, "uniform").reasons[0]


def test_uneven_weights() -> None:
    log = simulated(np.random.default_rng(0), 40_000, MEANS, np.array([0.999, 0.0005, 0.0005]))
    assert any("40,000 plays count as" in warning for warning in grade(log, fixed(WANTED)).reasons)


def test_propensities_that_do_not_fit() -> None:
    log = even()
    log.propensity[:] = 0.5
    # Every weight is 2/3, then 1.003, as rounded propensities make it.
    assert "the mean weight is 0.667 ± " in grade(log, "uniform").reasons[0]
    log.propensity[:] = 0.3323
    assert grade(log, "uniform").reasons == ()


# --- numbers of a grade -----------------------------------------------------------------------------------------------


def test_sensitivity_by_all_corners() -> None:
    """The extremes over all factors in [1/Γ, Γ] are at corners, of which a small log has few."""
    log = simulated(np.random.default_rng(3), 8, MEANS, USED)
    found = grade(log, fixed(WANTED))
    weight = WANTED[log.item] / log.propensity
    corners = [
        (factors * weight) @ log.reward / (factors @ weight)
        for factors in (np.array(signs) for signs in product((1 / 1.2, 1.2), repeat=8))
    ]
    assert found.sensitivity == pytest.approx((min(corners), max(corners)))


def test_drift_is_found_where_there_is_some_and_seldom_where_not() -> None:
    still, moving = 0, 0
    for seed in range(40):
        log = simulated(np.random.default_rng(seed), 2000, MEANS, USED)
        still += grade(log, "uniform").drift < 0.05
        later = simulated(np.random.default_rng(seed + 1000), 2000, MEANS[::-1], USED)
        half = slice(1000, 2000)
        log.item[half], log.propensity[half], log.reward[half] = (
            later.item[half],
            later.propensity[half],
            later.reward[half],
        )
        moving += any("second half" in one for one in grade(log, "uniform").reasons)
    assert still <= 7  # of 40, binomial with 0.05: more in one of a thousand
    assert moving == 40


def test_rounds_without_a_chance_are_named_with_what_would_mend_them() -> None:
    log = even(1000)
    sure = np.isin(np.arange(1000), [2, 3, 4, 16])
    log.propensity[sure] = 1.0
    found = grade(log, fixed(WANTED))
    (reason,) = [one for one in found.reasons if "had no chance" in one]
    assert "in 4 of 1,000 rounds (3 to 5, 17) items that fixed shares plays had no chance" in reason
    means = [log.reward[log.item == place].mean() for place in range(3)]
    assert "an exploration floor of 0.1 for every item would change that in the next log, and cost about " in reason
    assert f"{0.1 * sum(max(means) - one for one in means):.2g} of reward per round" in reason
    assert found.answer == "with care"
    log.propensity[:500] = 1.0
    assert grade(log, fixed(WANTED)).answer == "no"


def test_a_log_can_answer_for_one_target_and_not_for_another() -> None:
    evaluation = evaluate(even(), {"near": fixed(USED), "far": {"mate": 1.0}})
    assert [one.answer for one in evaluation.grades.values()] == ["yes", "no"]
    assert evaluation.grade.target == "far"


def test_a_log_of_a_deterministic_policy_is_judged_for_its_own_choices_alone() -> None:
    log = even(200)
    log.propensity[:] = 1.0
    found = grade(log, fixed(WANTED))
    assert found.answer == "no"
    assert "in 200 of 200 rounds (1 to 200) items that fixed shares plays had no chance" in found.reasons[0]
    log.item[:] = 0
    assert grade(log, {"0": 1.0}).answer == "yes"


def test_a_no_counts_nothing_and_one_play_is_one() -> None:
    found = grade(log_of(["a"], [1.0], [0.5]))
    assert found.sentence == "No: the log cannot say what uniform would earn."
    assert found.reasons[0] == "1 play is too few"
    assert not any("nan" in one for one in found.reasons)


def test_what_a_floor_costs_is_unknown_where_an_item_was_never_played() -> None:
    found = grade(log_of(["a"] * 200, [1.0, 0.0] * 100, [1.0] * 200), {"a": 0.5, "b": 0.5})
    assert any("cost what this log, which never plays some item, does not show" in one for one in found.reasons)


def bounded(number: int) -> Array:
    """Weights near 1, of which one in a hundred is 4."""
    weights = 1.0 + np.random.default_rng(0).exponential(0.01, number)
    weights[::100] = 4.0 - 0.01 * np.arange(len(weights[::100])) / number
    return weights


def test_a_tail_matters_where_single_weights_are_large_against_the_sample() -> None:
    assert tail_of(np.random.default_rng(0).pareto(1.0, 20_000)) > 0.7
    weights = bounded(20_000)
    assert pareto_k(weights) > 0.7
    assert tail_of(weights) == -np.inf
    assert tail_of(weights[:900]) == pareto_k(weights[:900]) > 0.7


def test_sequences_are_not_called_too_narrow() -> None:
    heavy, single = even(900), even(400)
    heavy.propensity[:] = 1.0 / 3.0 / bounded(900)
    single.propensity[3] = 0.001
    for log in (heavy, single):
        for interval, expected in (("normal", True), ("sequence", False)):
            (found,) = evaluate(log, "uniform", interval=interval).grades.values()
            assert any("the intervals are" in one for one in found.reasons) == expected


def test_an_interval_as_wide_as_the_rewards_are_large_is_no_plain_yes() -> None:
    log = simulated(np.random.default_rng(0), 4000, MEANS, np.array([0.05, 0.9, 0.05]))
    normal, wide = (evaluate(log, {"0": 1.0}, interval=one) for one in ("normal", "sequence"))
    assert (normal.grade.answer, wide.grade.answer) == ("yes", "with care")
    ends = wide.estimates["fixed shares"].interval
    assert f"{ends.low:.3g} to {ends.high:.3g}, is as wide as the rewards are large" in wide.grade.reasons[0]


def test_no_item_has_more_than_its_place_in_a_round_of_several_plays() -> None:
    rows = {"timestamp": np.repeat(range(300), 2), "decision_id": np.repeat(range(300), 2), "reward": 1.0}
    items = np.array([np.random.default_rng(one).permutation(list("abcd"))[:2] for one in range(300)]).ravel()
    log = Log.of(pd.DataFrame(rows | {"item_id": items, "propensity_score": 0.5}))
    assert "of all plays 'a' can have up to 0.5, and fixed shares gives it 1" in grade(log, {"a": 1.0}).reasons[0]
    assert grade(log, {"a": 0.5, "b": 0.5}).answer == "yes"
    assert "uniform: 1 per play, between" in str(evaluate(log, "uniform"))


def clicked(rounds: int, clicks: int) -> Log:
    """Of two items evenly, with so many clicks on the first and on the second."""
    rows = {"timestamp": range(rounds), "item_id": ["a", "b"] * (rounds // 2), "propensity_score": 0.5}
    pairs = np.linspace(0, rounds // 2 - 1, clicks).astype(int)  # all over the log
    return Log.of(pd.DataFrame(rows | {"click": np.repeat(np.isin(np.arange(rounds // 2), pairs), 2).astype(int)}))


@pytest.mark.parametrize(
    ("clicks", "answer", "reason"),
    [
        (
            3,
            "with care",
            "only 3 of the plays of fixed shares, which count as 500, have a reward other than 0",
        ),
        (20, "yes", ""),
    ],
)
def test_few_clicks_make_a_normal_interval_too_narrow(clicks: int, answer: str, reason: str) -> None:
    log = clicked(1000, clicks)
    found = grade(log, {"a": 1.0})
    assert answer == found.answer
    assert any(one.startswith(reason) for one in found.reasons) == bool(reason)
    sequence = evaluate(log, {"a": 1.0}, interval="sequence").grade
    assert not any("a normal interval is too narrow" in one for one in sequence.reasons)


def test_no_click_at_all_is_no_answer() -> None:
    """Its interval would end far below what 500 plays without a click leave possible."""
    log = clicked(1000, 3)
    none = replace(log, reward=log.reward * log.item)
    found = grade(none, {"a": 1.0})
    assert found.answer == "no"
    assert found.reasons[0].startswith("none of the plays of fixed shares, which count as 500, have a reward other tha")


def test_rewards_that_never_vary_are_an_answer() -> None:
    assert grade(replace(clicked(1000, 3), reward=np.ones(1000)), {"a": 1.0}).answer == "yes"
