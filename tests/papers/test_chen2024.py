"""The experiments of Chen et al. 2024: their claims can be measured, and can be refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from evenhand import compare
from evenhand.core.state import Array
from evenhand.judgement.claims import CONTRADICTS, OPEN, Finding
from evenhand.papers.chen2024.claims import MEASURES, closest, distance, lost_for_ever, part_of_plays, spread, widest
from evenhand.papers.chen2024.settings import EXPERIMENTS, on_log
from evenhand.papers.experiment import CompletedRun, Experiment, PaperClaim, Runs
from evenhand.papers.judging import judge
from evenhand.papers.verdicts import below, within
from evenhand.studies import configuration as config

FOLDER = Path(str(files("evenhand.papers"))) / "chen2024"
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}
PARTS = sorted({part for experiment in EXPERIMENTS for part in experiment.parts})


def run_of(part: str, horizon: int, lanes: int, played: Mapping[str, str] | None = None) -> CompletedRun:
    """A configuration at a small size; ``played`` says for some labels whose policy plays under them, and runs these
    labels only."""
    setup = config.load(FOLDER / f"{part}.toml", horizon=horizon, lanes=lanes)
    policies = setup.policies if played is None else {label: setup.policies[by] for label, by in played.items()}
    results = compare(policies, setup.environment, horizon, lanes, setup.seed, checkpoints=10)
    return CompletedRun(results, setup, {label: [1.0, 1.1] for label in policies})


def claim_of(experiment: str, words: str) -> PaperClaim:
    (found,) = (claim for claim in BY_ID[experiment].claims if claim.sentence.startswith(words))
    return found


def holds(claim: PaperClaim, run: CompletedRun, part: str) -> bool:
    findings = list(claim.test({part: run}))
    assert findings
    return all(finding.holds for finding in findings)


def curves(ends: Mapping[str, list[float]]) -> CompletedRun:
    """A run of which only the reward regrets in the end are known, one per lane."""
    records = {label: SimpleNamespace(curves={"reward_regret": np.array([lanes])}) for label, lanes in ends.items()}
    results = SimpleNamespace(policies=records, rounds=np.array([100]))
    return CompletedRun(cast(Any, results), cast(Any, None))


@pytest.fixture(scope="module")
def runs() -> Runs:
    """All configurations, at a tiny size."""
    return {part: run_of(part, horizon=40, lanes=2) for part in PARTS}


def test_the_experiments_are_those_of_the_paper() -> None:
    assert list(BY_ID) == ["C-1", *(f"C-2{letter}" for letter in "abcd"), *(f"C-{number}" for number in range(3, 11))]
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == PARTS


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_claim_can_be_measured(experiment: Experiment, runs: Runs) -> None:
    verdicts = judge(experiment, {part: runs[part] for part in experiment.parts})
    assert len(verdicts) == len(experiment.claims)
    assert len({claim.sentence for claim in experiment.claims}) == len(experiment.claims)


@pytest.mark.parametrize("experiment", ["C-1", "C-2a", "C-2d", "C-8", "C-9"])
def test_a_figure_shows_every_policy(experiment: str, runs: Runs) -> None:
    one = BY_ID[experiment]
    mine = {part: runs[part] for part in one.parts}
    figure = one.draw(mine)
    shown = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    shown |= {text.get_text() for axes in figure.axes for text in axes.get_xticklabels()}
    labels = {label for run in mine.values() for label in run.results.policies}
    # Where the radii have panels of their own, the legend names the policy once.
    assert shown >= (labels if experiment == "C-2a" else {label.removesuffix(", code's radius") for label in labels})


def test_both_radii_have_curves_of_their_own(runs: Runs) -> None:
    # The lower row is the code's radius: of FCUCB-D, whose fairness regret is in the third and the sixth panel.
    axes = BY_ID["C-1"].draw({"c1": runs["c1"]}).axes
    for panel, label in ((2, "FCUCB-D"), (5, "FCUCB-D, code's radius")):
        (line,) = (line for line in axes[panel].lines if line.get_label() == "FCUCB-D")
        mean = runs["c1"].results.policies[label].curves["fairness_regret"].mean(axis=1)
        np.testing.assert_array_equal(np.asarray(line.get_ydata()), mean)


@pytest.mark.slow
def test_a_policy_that_is_all_for_the_reward_is_not_fair() -> None:
    right = run_of("c1", 2000, 40, {label: label for label in ("FCUCB-D", "FCTS-D", "FGreedy-D")})
    wrong = run_of("c1", 2000, 40, {"FCUCB-D": "FCUCB-D", "FCTS-D": "MP-TS-D", "FGreedy-D": "FGreedy-D"})
    higher = claim_of("C-1", "FCUCB-D has a higher fairness regret")
    assert holds(higher, right, "c1")
    assert not holds(higher, wrong, "c1")
    near = claim_of("C-1", "FCUCB-D and FCTS-D converge").test
    found = {True: [*near({"c1": right})][1], False: [*near({"c1": wrong})][1]}
    assert all("FCTS-D" in one.text and one.holds is expected for expected, one in found.items())


@pytest.mark.slow
def test_policies_that_trust_early_rewards_are_not_better_under_biased_delays() -> None:
    names = {"FCUCB-D": "OP-FCUCB-D", "FCTS-D": "OP-FCTS-D"}
    right = run_of("c2d", 1000, 6, {label: label for label in (*names, *names.values())})
    swapped = run_of("c2d", 1000, 6, names | {wary: label for label, wary in names.items()})
    better = claim_of("C-2d", "OP-FCUCB-D and OP-FCTS-D significantly outperform")
    assert holds(better, right, "c2d")
    assert not holds(better, swapped, "c2d")
    misled = claim_of("C-2d", "At the beginning")
    assert holds(misled, right, "c2d")
    fooled_by_none = run_of("c1", 600, 6, {label: label for label in names})  # delays that do not depend on the reward
    assert not holds(misled, fooled_by_none, "c2d")


@pytest.mark.slow
def test_regrets_that_end_do_not_grow_linearly() -> None:
    labels = ("CUCB-D", "MP-TS-D", "FGreedy-D", "FCTS-D")
    right = run_of("c2c", 1200, 6, {label: label for label in labels})
    wrong = run_of("c2c", 1200, 6, {label: "FCTS-D" if label == "MP-TS-D" else label for label in labels})
    grows = claim_of("C-2c", "CUCB-D, MP-TS-D and FGreedy-D do not")
    assert holds(grows, right, "c2c")
    assert not holds(grows, wrong, "c2c")


@pytest.mark.parametrize(("sampling", "confirmed"), [(1.0, True), (3.0, False)])
def test_the_sampling_versions_must_be_the_faster_ones(sampling: float, confirmed: bool, runs: Runs) -> None:
    slow, quick = [1.9, 2.0, 2.1], [0.9 * sampling, sampling, 1.1 * sampling]
    seconds = {"FCUCB-D": slow, "OP-FCUCB-D": slow, "FCTS-D": quick, "OP-FCTS-D": quick}
    run = replace(runs["c9"], seconds=seconds)
    faster = claim_of("C-9", "FCTS-D and OP-FCTS-D take less time")
    assert [found.effect for found in faster.test({"c9": run})] == pytest.approx([sampling / 2.0] * 2)
    assert holds(faster, run, "c9") is confirmed
    once = replace(run, seconds={label: times[:1] for label, times in seconds.items()})
    assert [found.mark(found.p_value) for found in faster.test({"c9": once})] == [OPEN, OPEN]


def test_a_cost_that_may_be_is_shown_by_one_regret_that_is_larger(runs: Runs) -> None:
    cost = claim_of("C-9", "OP-FCUCB-D and OP-FCTS-D can be used").test
    last, noise = runs["c9"].results.rounds, np.random.default_rng(2).normal(0.0, 0.1, 20)

    def found(*more: float) -> Finding:
        labels = [(label, measure) for label in ("OP-FCUCB-D", "OP-FCTS-D") for measure in MEASURES]
        run = runs["c9"]
        for (label, measure), by in zip(labels, more, strict=True):
            for name, value in ((label, by + noise), (label.removeprefix("OP-"), 0.0 * noise)):
                record = run.results.policies[name]
                changed = replace(record, curves=record.curves | {measure: np.tile(10.0 + value, (len(last), 1))})
                run = replace(run, results=replace(run.results, policies=run.results.policies | {name: changed}))
        (one,) = cost({"c9": run})
        return one

    assert (found(1.0, 1.0, 1.0, -1.0).low, found(1.0, 1.0, 1.0, -1.0).holds) == (3.0, True)
    assert found(-1.0, -1.0, -1.0, 1.0).holds
    none = found(-1.0, -1.0, -1.0, -1.0)
    assert none.mark(none.p_value) == CONTRADICTS


@pytest.mark.parametrize(("late", "flat"), [(1.05, True), (1.2, False)])
def test_a_regret_that_depends_on_the_delay_is_not_flat(late: float, flat: bool) -> None:
    test = claim_of("C-2a", "With the narrower confidence radius").test
    records = {
        delay: {
            "FCUCB-D, code's radius": SimpleNamespace(
                curves={
                    measure: np.array([[100.0, 101.0, 99.0]]) * (late if delay == 150 else 1.0)
                    for measure in ("reward_regret", "fairness_regret")
                }
            )
        }
        for delay in range(0, 301, 50)
    }
    made = {
        f"c2a-{delay:03}": CompletedRun(
            cast(Any, SimpleNamespace(policies=one, rounds=np.array([100]))), cast(Any, None)
        )
        for delay, one in records.items()
    }
    found = list(test(made))
    assert [round(one.effect, 9) for one in found] == [round(late - 1.0, 9)] * 2  # that of the delay that differs
    assert all(one.holds for one in found) is flat


def test_the_nearest_to_failing_stands_for_all() -> None:
    fine, fails = below("fine", [-3.0, -2.9, -3.1], 0.0), below("fails", [2.0, 3.0, 4.0], 0.0)
    one = closest([fine, fails, fine])
    assert (one.effect, one.holds) == (3.0, False)
    assert one.text == "fails (worst of 3)"
    one = closest([fine, fine])
    assert one.holds
    inside, lower = within("inside", [0.0, 0.1, -0.1], -1.0, 1.0), within("lower", [-2.0, -2.1, -1.9], -1.0, 1.0)
    one = widest([inside, lower])
    assert (one.text.startswith("lower"), one.holds) == (True, False)


def test_plays_count_up_to_the_round_that_is_asked() -> None:
    pulls = np.array([[[3, 1, 0]], [[4, 4, 4]], [[0, 0, 90]]])
    results = SimpleNamespace(rounds=np.array([2, 6, 10]), policies={"one": SimpleNamespace(pulls=pulls)})
    run = CompletedRun(cast(Any, results), cast(Any, None))
    assert part_of_plays(run, "one", (0, 1), until=6).tolist() == [8 / 12]
    assert part_of_plays(run, "one", (0, 1), until=5).tolist() == [1.0]
    assert part_of_plays(run, "one", (2,)).tolist() == [1.0]


def test_gaps_are_those_between_means() -> None:
    run = curves({"high": [5.0, 9.0], "low": [1.0, 3.0], "middle": [4.0, 4.0]})
    assert spread(run, "reward_regret").tolist() == [4.0, 6.0]
    assert distance(run, "reward_regret", "low", "middle").tolist() == [3.0, 1.0]
    assert distance(run, "reward_regret", "middle", "low").tolist() == [3.0, 1.0]


def test_what_is_lost_for_ever(runs: Runs) -> None:
    merits = 1.0 + 2.0 * np.array([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4]) ** 4
    fair: Array = 3.0 * merits / merits.sum()
    best = [0, 0, 1, 1, 1, 0, 0]
    for label in ("CUCB-D", "MP-TS-D"):
        assert lost_for_ever(runs["c2b"], label) == pytest.approx(np.abs(fair - best).sum())
    assert lost_for_ever(runs["c2b"], "FGreedy-D") == pytest.approx(0.13 * np.abs(fair - 3 / 7).sum())


def test_an_experiment_runs_on_a_log(tmp_path: Path) -> None:
    # Ad k of ten has k conversions, each a week late at 5 clicks a week: 100 visits at a click rate of 5%.
    log = tmp_path / "log.tsv"
    rows = [f"1\t604800\t5\tproduct\tad {ad}\n" for ad in range(1, 11) for _ in range(ad)]
    log.write_text("".join(rows), encoding="utf-8")
    shipped = tomllib.loads((FOLDER / "c3.toml").read_text(encoding="utf-8"))
    (need,) = BY_ID["C-3"].data
    assert (need.kind, need.put) == ("conversions", on_log)
    setup = config.parse(need.put(shipped, log), horizon=50, lanes=2)
    assert shipped["environment"]["dataset"] == "conversions"  # the configuration that ships is as it was
    # Most conversions first, scaled to [0, 1].
    np.testing.assert_allclose(setup.environment.means, np.arange(9, -1, -1) / 9)
    assert setup.environment.merit == config.load(FOLDER / "c3.toml").environment.merit
    results = compare(setup.policies, setup.environment, 50, 2, 1, checkpoints=1)
    # Nothing arrives within 50 rounds.
    assert all(np.isnan(record.estimate).all() for record in results.policies.values())


@pytest.mark.parametrize(("power", "holds"), [(0.5, True), (0.6, True), (0.9, False), (1.0, False)])
def test_a_line_is_not_of_the_order_of_a_root(power: float, holds: bool) -> None:
    rounds = np.arange(1000, 100_001, 1000)
    curve = rounds[:, np.newaxis] ** power * np.linspace(0.9, 1.1, 20)
    record = SimpleNamespace(curves=dict.fromkeys(MEASURES, curve))
    results = SimpleNamespace(policies={"FCTS-D": record}, rounds=rounds)
    runs = dict.fromkeys(BY_ID["C-10"].parts, CompletedRun(cast(Any, results), cast(Any, None)))
    found = list(claim_of("C-10", "Where delays do not depend on rewards").test(runs))
    assert [one.holds for one in found] == [holds] * 4
