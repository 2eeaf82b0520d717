"""Metrics of the user's own: measured beside the others, and shown wherever the others are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import field, frozen

from evenhand import Environment, EvenhandError, Results, compare, figures
from evenhand.algorithms import fucb, thompson, ucb1
from evenhand.availability import Availability
from evenhand.core.errors import ConfigurationError
from evenhand.core.parts import part
from evenhand.core.state import Array
from evenhand.feedback import FeedbackModel, FeedbackTraits, Immediate
from evenhand.rewards import Bernoulli
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.metrics import Measure, Metric, Run
from evenhand.simulation.setup import read_setup
from evenhand.theory.baseline import Baseline

WORLD = Environment(Bernoulli([0.8, 0.5, 0.3]))
SIZE: dict[str, Any] = {"horizon": 40, "lanes": 5, "seed": 3, "checkpoints": 4, "progress": False}


class Changes(Metric):
    """Rounds in which other arms play than in the round before."""

    name, label, unit = "changes", "changes of arms", "rounds"

    def start(self, run: Run) -> dict[str, Any]:
        return {"last": np.zeros((run.lanes, run.arms), dtype=bool), "count": np.zeros(run.lanes)}

    def see(self, memory: dict[str, Any], run: Run) -> None:
        memory["count"] += (run.decision.played != memory["last"]).any(axis=-1)
        memory["last"] = run.decision.played

    def value(self, memory: dict[str, Any], run: Run) -> Array:
        return np.asarray(memory["count"])


@part("metric", "tests.plays_of")
@frozen
class PlaysOf(Metric):
    """Plays of one arm."""

    arm: int = field(default=0)
    label, unit = "plays of an arm", "plays"

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"plays_of_{self.arm + 1}"

    def value(self, memory: None, run: Run) -> Array:
        return run.pulls[:, self.arm]


class OnlyPromised(Changes):
    """Changes, for policies with promises."""

    name = "promised_changes"

    def applies(self, baseline: Baseline) -> bool:
        return baseline.fractions is not None


@pytest.fixture(scope="module")
def results() -> Results:
    return compare([fucb([0.2, 0.1, 0.0]), ucb1()], WORLD, metrics=[Changes(), PlaysOf(1), OnlyPromised()], **SIZE)


def test_values_are_those_of_single_rounds() -> None:
    every = compare([thompson()], WORLD, metrics=[Changes(), PlaysOf(2)], **SIZE | {"checkpoints": 40})
    record = every.policies["thompson"]
    played = np.diff(record.pulls, axis=0, prepend=0) > 0
    others = (np.diff(played, axis=0, prepend=False)).any(axis=-1)
    assert record.curves["changes"].tolist() == others.cumsum(axis=0).tolist()
    assert record.curves["plays_of_3"].tolist() == record.pulls[:, :, 2].tolist()


def test_other_measures_stay_as_they_are(results: Results) -> None:
    plain = compare([fucb([0.2, 0.1, 0.0]), ucb1()], WORLD, **SIZE)
    for label, record in plain.policies.items():
        for name, curve in record.curves.items():
            assert (results.policies[label].curves[name] == curve).all()


def test_they_are_in_every_table(results: Results) -> None:
    names = ["changes", "plays_of_2", "promised_changes"]
    assert list(results.measures)[-3:] == names
    assert results.measures["changes"] == Measure("changes", "changes of arms", "rounds")
    assert results.curves().columns.tolist()[-3:] == names
    assert set(names) <= set(results.summary()["measure"])
    assert set(names) <= set(results.final()["fucb"])
    assert "promised_changes" not in results.final()["ucb1"]
    plain = json.loads(json.dumps(results.to_json(), allow_nan=False))
    assert plain["policies"]["ucb1"]["plays_of_2"]["mean"] == results.policies["ucb1"].pulls[-1, :, 1].mean()


@pytest.mark.slow
def test_they_are_in_the_figures(results: Results, tmp_path: Path) -> None:
    (axes,) = figures.curves(results, "changes").axes
    assert axes.get_ylabel() == "changes of arms (rounds)"
    assert {"changes", "plays_of_2", "promised_changes"} < set(figures.draw_all(results, tmp_path))


def test_they_are_in_the_tables_of_the_command_line(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    from evenhand.cli.results import show_results

    show_results(results)
    assert "plays_of_2" in capsys.readouterr().out


def test_result_files_have_them_also_where_the_metric_is_not_known(results: Results, tmp_path: Path) -> None:
    again = Results.load(results.save(tmp_path))
    assert again.measures == results.measures
    for label, record in results.policies.items():
        assert set(again.policies[label].curves) == set(record.curves)
        assert (again.policies[label].curves["changes"] == record.curves["changes"]).all()
    assert figures.curves(again, "changes").axes[0].get_ylabel() == "changes of arms (rounds)"


def test_a_registered_metric_is_run_again_and_another_is_refused(results: Results, tmp_path: Path) -> None:
    path = compare([ucb1()], WORLD, metrics=[PlaysOf(1)], **SIZE).save(tmp_path) / "curves.parquet"
    setup = read_setup(path)
    assert setup.metrics == (PlaysOf(1),)
    with pytest.raises(ConfigurationError, match=r"metric 0 cannot be run again from this file: .*Changes is not reg"):
        results.setup()


def test_parts_that_are_not_registered_are_named_with_the_remedy() -> None:
    class Own(FeedbackModel):
        def open(self, shape: Any, rounds: int) -> Immediate:
            return Immediate()

    results = compare([ucb1()], Environment(Bernoulli([0.5, 0.4]), feedback=Own()), **SIZE)
    with pytest.raises(ConfigurationError, match=r"environment cannot be run again from this file: .*Own is not reg"):
        results.setup()
    table = {"kind": "mine", "plays": 1}
    results.information["environment"] = table
    with pytest.raises(ConfigurationError, match=r"unknown kind 'mine'.*load the module .* with --import"):
        results.setup()


def test_processes_get_them_by_value() -> None:
    class Local(Changes):
        name = "local"

    here, elsewhere = (
        compare([ucb1(), thompson()], WORLD, metrics=[Changes(), Local()], jobs=jobs, **SIZE) for jobs in (1, 2)
    )
    for label in here.policies:
        for name in ("changes", "local"):
            assert (here.policies[label].curves[name] == elsewhere.policies[label].curves[name]).all()


class Total(Changes):
    """One number for all lanes."""

    def value(self, memory: dict[str, Any], run: Run) -> Array:
        return np.asarray(memory["count"].sum())


class Nameless(Changes):
    name = ""


class Unlabelled(Metric):
    name, unit = "unlabelled", "rounds"

    def value(self, memory: None, run: Run) -> Array:
        return np.zeros(run.lanes)


class Taken(Changes):
    name = "regret"


class Column(Changes):
    name = "lane"


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([Total()], r"metric 'changes' must return one number per lane, shape \(5,\), got shape \(\)"),
        ([Nameless()], "the name '' of Nameless is taken"),
        ([Unlabelled()], "Unlabelled needs a label, a string"),
        ([Taken()], "the name 'regret' of Taken is taken; give it another one"),
        ([Column()], "the name 'lane' of Column is taken"),
        ([Changes(), Changes()], "the name 'changes' of Changes is taken"),
        (["regrets"], r"metrics\[0\]: unknown kind 'regrets'; did you mean 'regret'"),
        ([3], r"metrics\[0\] must be a Metric, or the name of a kind or its table, got 3"),
        ([Changes], r"metrics\[0\] must be a Metric, .* got <class .*: make an object of it, Changes"),
    ],
)
def test_what_is_no_metric_is_refused(metrics: list[Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        compare([ucb1()], WORLD, metrics=metrics, **SIZE)


def test_every_measure_has_one_place() -> None:
    for name, metric in MEASURES.items():
        assert metric.name == name
        assert metric.measure == Measure(name, metric.label, metric.unit)


# --- what cannot be computed ------------------------------------------------------------------------------------------


class Streaks(Availability):
    """Arms sleep for a while; no list of sets tells which."""

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return rng.random((len(rows), lanes, 1)) * 3 < np.array([3, 2, 1])


def test_an_availability_without_a_distribution_leaves_out_what_needs_it(tmp_path: Path) -> None:
    world = Environment(Bernoulli([0.8, 0.5, 0.3]), Streaks(), fractions=[0.1, 0.1, 0.1], penalties=0.2)
    results = compare([ucb1(), fucb([0.2, 0.1, 0.0])], world, **SIZE)
    for label in ("ucb1", "fucb"):
        assert set(results.policies[label].curves) == {"reward", "unfairness", "violation", "max_violation"}
        assert set(results.omitted[label]) == {"regret", "r_regret", "time_averaged_regret", "penalized_regret"}
        assert "Streaks does not list the sets of available arms" in results.omitted[label]["regret"]
    assert results.to_json()["omitted"] == results.omitted
    assert Results.load(results.save(tmp_path)).omitted == results.omitted


def test_without_a_distribution_impossible_promises_are_still_refused() -> None:
    with pytest.raises(EvenhandError, match="the promised shares of 'fucb' cannot be kept"):
        compare([fucb([0.6, 0.6, 0.1])], Environment(Bernoulli([0.8, 0.5, 0.3]), Streaks()), **SIZE)


def test_nothing_is_omitted_elsewhere(results: Results) -> None:
    assert not any(results.omitted.values())
    assert "omitted" not in results.to_json()


def test_an_own_anonymous_feedback_gets_a_composite_regret() -> None:
    class Sums(FeedbackModel):
        traits = FeedbackTraits(anonymous=True)

        def open(self, shape: Any, rounds: int) -> Immediate:
            return Immediate()

    results = compare([ucb1()], Environment(Bernoulli([0.8, 0.5]), feedback=Sums()), **SIZE)
    curves = results.policies["ucb1"].curves
    assert (curves["composite_regret"] == curves["regret"]).all()
    assert "stuck" in curves
