"""Whether a log can answer, and why not."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from evenhand.bandit.evaluation.evaluation import evaluate, grade
from tests.bandit.evaluation.logs import AWAKE, MEANS, USED, WANTED, even, fixed, simulated


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
