"""What a sweep answers: who kept what, who is best, which axis matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import sweep
from evenhand.core.errors import EvenhandError
from evenhand.inference.means import mean_and_reach
from evenhand.simulation.verdicts import main_measures
from evenhand.studies.answer import less_than_best
from evenhand.studies.results import SweepResults
from evenhand.studies.study import Study

ETAS = [0.1, 10_000]


@pytest.fixture(scope="module")
def results() -> SweepResults:
    policies = [{"label": "LFG", "algorithm": "lfg", "eta": 1}, {"label": "UCB", "algorithm": "ucb1"}]
    world = {"rewards": {"kind": "bernoulli", "means": [0.9, 0.2]}, "fractions": [0.0, 0.4]}
    config = {"horizon": 400, "lanes": 20, "environment": world, "policies": policies}
    return sweep(config, {"policies.LFG.eta": ETAS, "horizon": [200, 400]})


def test_the_best_is_of_those_that_kept_their_promises(results: SweepResults) -> None:
    found = results.choices()
    first = found.iloc[0]
    assert (first["policy"], first["eta"], first["best"], first["worlds"]) == ("LFG", "0.1", 2, 2)
    assert (first["kept"], first["missed"], first["behind"]) == (2, 0, 0.0)
    most = found.sort_values("reward").iloc[-1]
    assert (most["kept"], most["best"]) == (0, 0)
    assert np.isnan(most["behind"])
    assert results.answer[2].startswith("Of those that surely kept all promises, LFG with η = 0.1 earned most in 2 of")


def test_who_promises_nothing_is_no_rival_of_who_does(config: dict[str, Any]) -> None:
    del config["environment"]["fractions"]
    config["policies"] = [{"label": "A", "algorithm": "fucb", "fractions": 0.2}, {"label": "B", "algorithm": "ucb1"}]
    results = sweep(config | {"horizon": 500, "lanes": 20}, {"policies.A.tolerance": [0.0, 1.0]})
    assert "B promised no share." in results.answer
    assert results.choices().iloc[0]["policy"] == "A"
    assert results.answer[2].startswith("Of those that surely kept all promises, A with tolerance =")


def test_nobody_is_best_where_nobody_kept(config: dict[str, Any]) -> None:
    config["environment"]["fractions"], config["policies"] = [0.0, 0.45], ["ucb1"]
    text = sweep(config | {"horizon": 2000, "lanes": 20}, {"seed": [1, 2]}).answer
    assert text[0] == "ucb1 missed some promise in both settings."
    assert text[1] == "Nothing surely kept all of its promises, so there is no best of those that did."


def test_a_choice_that_may_be_as_good_as_the_best_is_close(config: dict[str, Any]) -> None:
    del config["environment"]["fractions"]
    config["policies"] = [
        {"label": "A", "algorithm": "ucb1", "exploration": 2.0},
        {"label": "B", "algorithm": "thompson"},
    ]
    results = sweep(config | {"horizon": 500, "lanes": 30}, {"policies.A.exploration": [2.0, 2.000001, 2000.0]})
    found = results.choices().set_index(["policy", "exploration"])
    lanes = results.lanes("reward").pivot(index="lane", columns=["setting", "policy"], values="reward") / 500
    best = lanes[lanes.mean().idxmax()]
    columns: Any = lanes.columns
    for setting, policy in columns:
        rewards = lanes[setting, policy]
        value = {0: "2", 1: "2", 2: "2000"}[setting] if policy == "A" else np.nan
        row = found.loc[[(policy, value)]].iloc[0]
        mean, reach = mean_and_reach((best - rewards).to_numpy())
        assert (row["behind"], row["high"]) == pytest.approx((float(mean), float(mean + reach)))
        assert bool(row["close"]) == (not mean > reach)
    assert results.answer[0] == "A promised no share; it has 2 variants."


def test_the_effect_of_an_axis_is_paired_by_lanes(results: SweepResults) -> None:
    found: Any = results.effects("unfairness").set_index("axis")
    lanes = results.lanes("unfairness")
    lanes = lanes[(lanes["round"] == lanes["horizon"]) & (lanes["policy"] == "LFG")]
    by_lane = lanes.groupby(["eta", "lane"])["unfairness"].mean().unstack("eta")
    gap = (by_lane[ETAS[1]] - by_lane[ETAS[0]]).to_numpy()
    mean, reach = mean_and_reach(gap)
    assert found.loc["eta", ["lowest_at", "highest_at"]].tolist() == ["0.1", "10000"]
    assert found.loc["eta", ["difference", "low"]].tolist() == pytest.approx([float(mean), float(mean - reach)])
    assert results.effects("unfairness")["difference"].is_monotonic_decreasing
    with pytest.raises(EvenhandError, match="there is no measure 'unfair'; did you mean 'unfairness'"):
        results.effects("unfair")


def test_an_axis_that_changes_nothing_is_within_noise(config: dict[str, Any]) -> None:
    text = sweep(config, {"seed": [1, 2]}).answer
    assert text[-2:] == ["Seed: within noise for the r-regret.", "Seed: within noise for the missing plays, all arms."]


def test_drawn_values_are_compared_in_groups(config: dict[str, Any]) -> None:
    axes = {"eta": {"path": "policies[0].eta", "low": 1.0, "high": 1000.0, "spacing": "log"}}
    results = sweep(Study.of(config, axes, mode="random", points=20))
    assert results.choices()["settings"].tolist() == [20, 20]
    (row,) = results.effects("reward").to_dict("records")
    assert "–" in row["lowest_at"]


def test_settings_in_a_list_have_no_effects_of_axes(config: dict[str, Any]) -> None:
    settings = [{"policies[0].eta": 1, "horizon": 40}, {"policies[0].eta": 5, "horizon": 60}]
    listed = sweep(Study.of(config, settings=settings))
    assert listed.effects("reward").empty
    assert listed.study.concerned == {"eta": {"eta_fucb"}, "horizon": set()}


def test_rewards_are_less_than_the_best_of_their_world(results: SweepResults) -> None:
    found = less_than_best(results)
    assert (found["mean"] <= 0.0).all()
    assert found.groupby("horizon")["mean"].max().tolist() == [0.0, 0.0]
    pd.testing.assert_frame_equal(
        found.drop(columns=["mean", "stderr"]), results.last("reward").drop(columns=["mean", "stderr"])
    )


@pytest.mark.parametrize(
    ("axis", "title"),
    [
        ({"policies[0].eta": [1, 2]}, "η of eta_fucb"),
        ({"policies.UCB.exploration": [1, 2]}, "exploration of UCB"),
        ({"environment.feedback.success": [0.5]}, "success of the feedback"),
        ({"environment.rewards.means.arms": [2]}, "arms"),
        ({"horizon": [10]}, "horizon"),
        ({"my_name": {"path": "policies[0].eta", "values": [1]}}, "my name"),
    ],
)
def test_axes_have_names_that_readers_know(config: dict[str, Any], axis: dict[str, Any], title: str) -> None:
    config["environment"] = {
        "rewards": {"kind": "bernoulli", "means": {"kind": "uniform", "arms": 2}},
        "feedback": {"kind": "geometric", "success": 0.5},
    }
    study = Study.of(config, axis)
    assert study.title(study.names[0]) == title


def test_what_was_lost_is_measured_against_the_best_that_keeps(results: SweepResults, config: dict[str, Any]) -> None:
    assert main_measures(results.measures) == ["r_regret", "unfairness"]
    assert main_measures(["reward", "regret", "fairness_regret", "reward_regret"]) == [
        "reward_regret",
        "fairness_regret",
    ]
    del config["environment"]["fractions"]
    config["policies"] = ["ucb1"]
    assert main_measures(sweep(config, {"horizon": [10]}).measures) == ["regret"]
