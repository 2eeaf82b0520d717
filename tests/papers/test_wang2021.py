"""The claims of Wang et al. 2021, their measures against hand-made cases, and that a wrong policy does not get away."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.algorithms import fair_random, ucb1
from evenhand.core.state import Array
from evenhand.judgement.claims import Finding
from evenhand.papers.experiment import CompletedRun, Experiment, PaperClaim, Runs
from evenhand.papers.judging import judge
from evenhand.papers.runner import Store
from evenhand.papers.wang2021.claims import (
    ARS,
    CHOICE,
    LEARNS,
    MEAN_GIVEN,
    NAMES,
    RULES,
    UCB,
    bend,
    by_chance,
    in_most,
    stuck_below,
    stuck_less,
)
from evenhand.papers.wang2021.settings import EXPERIMENTS
from evenhand.papers.wang2021.together import bootstrapped_below
from evenhand.policy.composition import Policy
from evenhand.simulation.results import Results
from evenhand.simulation.simulate import compare
from evenhand.simulation.tables import PolicyResult
from evenhand.studies.configuration import load, parse

FOLDER = Path(str(files("evenhand.papers"))) / "wang2021"
BY_ID = {experiment.id: experiment for experiment in EXPERIMENTS}


def run_of(part: str, horizon: int, lanes: int, policies: dict[str, Policy] | None = None) -> CompletedRun:
    """A configuration at a small size, with its own policies or these."""
    setup = load(FOLDER / f"{part}.toml", horizon=horizon, lanes=lanes)
    size, rounds = (setup.horizon, setup.lanes, setup.seed), setup.checkpoints
    rounds = rounds if isinstance(rounds, int) else [one for one in rounds if one <= horizon]
    options: dict[str, Any] = {"checkpoints": rounds, "spacing": setup.spacing}
    return CompletedRun(compare(policies or setup.policies, setup.environment, *size, **options), setup)


def claim_of(experiment: str, words: str) -> PaperClaim:
    (found,) = (claim for claim in BY_ID[experiment].claims if words in claim.sentence)
    return found


class Tiny(dict[str, CompletedRun]):
    """Configurations at a tiny size, each run when it is asked for."""

    def __missing__(self, part: str) -> CompletedRun:
        self[part] = run_of(part, horizon=4000 if part in LEARNS else 120, lanes=3)  # of three phases
        return self[part]


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Tiny()


def test_every_configuration_is_part_of_one_experiment() -> None:
    parts = [part for experiment in EXPERIMENTS if experiment.id != "W-2-4" for part in experiment.parts]
    assert sorted(parts) == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert sorted(parts) == sorted(NAMES)
    assert list(BY_ID) == ["W-2", "W-3", "W-4", "W-2-4", "W-5", "W-6", "W-7"]
    # Figures 2 to 4 together are the same runs.
    assert BY_ID["W-2-4"].parts == (*BY_ID["W-2"].parts, *BY_ID["W-3"].parts, *BY_ID["W-4"].parts)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_every_claim_is_measured_and_every_figure_drawn(experiment: Experiment, runs: Runs) -> None:
    for verdict in judge(experiment, runs):
        for finding in verdict.findings:
            assert np.isnan(finding.effect) or finding.low <= finding.effect <= finding.high
            assert not (finding.holds and np.isnan(finding.effect))
    figure = experiment.draw(runs)
    figure.draw_without_rendering()
    # Three panels a spread, two for all of them; one a case of W-5, and two for the exponents.
    assert len(figure.axes) == {"W-5": 12, "W-2-4": 2, "W-6": 4, "W-7": 1}.get(experiment.id, 3 * len(experiment.parts))


# --- measures ---------------------------------------------------------------------------------------------------------

BELOW, UNSURE, ABOVE = (-1.0, -2.0, -0.5), (-1.0, -2.0, 0.5), (1.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("tests", "needed", "counts", "holds"),
    [
        ([[BELOW], [BELOW], [ABOVE]], 1, (2, 2, 2), True),
        ([[BELOW], [BELOW], [ABOVE], [ABOVE]], 1, (2, 2, 2), False),  # half is not most
        ([[BELOW], [UNSURE], [ABOVE]], 1, (2, 1, 2), False),  # likely, but not sure
        ([[BELOW, ABOVE], [BELOW, BELOW], [BELOW, UNSURE]], 2, (2, 1, 2), False),
        ([[BELOW, ABOVE], [BELOW, BELOW], [BELOW, UNSURE]], 1, (3, 3, 3), True),
    ],
)
def test_most_is_more_than_half_of_the_spreads_for_sure(
    tests: list[list[tuple[float, float, float]]], needed: int, counts: tuple[int, int, int], holds: bool
) -> None:
    found = in_most("", tests, needed, lanes=10)
    assert (found.effect, found.low, found.high) == counts
    assert found.holds is holds


def run_with(run: CompletedRun, label: str, measure: str, curve: Array) -> CompletedRun:
    """The run, with a measure of a policy as given, a value per checkpoint and lane."""
    record = run.results.policies[label]
    changed: PolicyResult = replace(record, curves=record.curves | {measure: curve})
    results: Results = replace(run.results, policies=run.results.policies | {label: changed})
    lanes = {"lanes": curve.shape[1]}
    return replace(run, results=replace(results, information=results.information | lanes))


@pytest.mark.parametrize(("stuck", "holds"), [(0, True), (3, True), (10, False)])
def test_the_share_of_stuck_lanes_has_an_exact_interval(runs: Runs, stuck: int, holds: bool) -> None:
    last = len(runs["w2-10-30"].results.rounds)
    flags = np.tile(np.arange(100) < stuck, (last, 1)).astype(float)
    found = stuck_below(run_with(runs["w2-10-30"], CHOICE, "stuck", flags), CHOICE, most=0.1)
    assert found.effect == stuck / 100
    assert found.holds is holds
    if stuck == 0:  # the chance of none in a hundred is 2.5%
        assert found.low == 0.0
        assert (1.0 - found.high) ** 100 == pytest.approx(0.025)


def test_a_ratio_of_stuck_lanes_has_a_bootstrap_interval() -> None:
    # Nine lanes of 1 and one of 31: the mean is 4, of which a bootstrap makes 1 + 3 B, B binomial(10, 1/10).
    # The 2.5% and 97.5% quantiles of B are 0 and 3.
    over, under = np.array([1.0] * 9 + [31.0]), np.full(10, 8.0)
    found = bootstrapped_below("", over, under, 0.9)
    assert (found.effect, found.low, found.high) == (0.5, 1 / 8, 10 / 8)
    assert not found.holds
    assert found.p_value == 1.0
    # The chance of B = 0 is 0.9^10 = 0.349: twice that is the p-value of a bound between 1/8 and 4/8.
    assert bootstrapped_below("", over, under, 0.2).p_value == pytest.approx(2 * 0.9**10, abs=0.03)
    assert bootstrapped_below("", np.full(10, 9.0) + np.arange(10), under, 0.9).p_value <= 0.001


def test_stuck_lanes_stand_beside_the_ratio(runs: Runs) -> None:
    last = len(runs["w2-10-30"].results.rounds)
    flags = np.tile(np.arange(3) < 1, (last, 1)).astype(float)
    claim = claim_of("W-2", "k² and α = 4 significantly outperforms")
    made = {part: run_with(runs[part], CHOICE, "stuck", flags) for part in BY_ID["W-2"].parts}
    assert all("(lanes stuck: 33% and " in found.text for found in claim.test(made))


@pytest.mark.slow
def test_what_is_late_and_what_comes_soon(runs: Runs) -> None:
    early = list(claim_of("W-2-4", "Where rewards take long").test(runs))
    assert [found.text.split(" (")[0] for found in early] == [
        *("delay of 0 to 60", "equal parts, 30 to 40", "decreasing over 100", "increasing over 100"),
        "increasing over 50",
    ]
    soon = list(claim_of("W-2-4", "Where rewards come soon").test(runs))
    assert [found.text.split(" (")[0] for found in soon] == [NAMES[part] for part in NAMES if "w4-" in part][:3]
    assert "(d1 = 27)" in early[0].text
    none = list(claim_of("W-2-4", "Theorem 1 bounds").test(runs))
    assert len(none) == 12
    assert max(found.effect for found in none) < 1e-10  # of 120 steps


@pytest.mark.slow
@pytest.mark.parametrize("part", ["w5-nonoblivious-7-10", "w5-synthetic-nonoblivious-10"])
def test_linear_and_sublinear_regrets_are_told_apart(runs: Runs, part: str) -> None:
    run = runs[part]
    measure = "composite_regret" if by_chance(run) else "adversarial_regret"
    lanes = 1.0 + 0.01 * np.arange(20)  # regrets differ a little from lane to lane
    time = run.results.rounds[:, np.newaxis]

    def found(power: float, straight: bool) -> Finding:
        return bend(run_with(run, ARS, measure, lanes * time**power), ARS, straight)

    assert found(0.7, straight=False).holds
    assert not found(0.7, straight=True).holds
    assert found(1.05, straight=True).holds
    assert not found(1.05, straight=False).holds


# --- real data --------------------------------------------------------------------------------------------------------


def test_each_log_takes_the_place_of_seven_fixed_chances_only(tmp_path: Path) -> None:
    experiment = BY_ID["W-5"]
    changed: dict[str, list[str]] = {}
    for data in experiment.data:
        for part in experiment.parts:
            before = tomllib.loads((FOLDER / f"{part}.toml").read_text(encoding="utf-8"))
            after = data.put(before, tmp_path)
            if after != before:
                assert "rewards" not in after["environment"]
                assert after["environment"]["feedback"] == before["environment"]["feedback"]
                assert after["environment"]["dataset"]["path"] == str(tmp_path)
                changed.setdefault(data.kind, []).append(part)
    assert changed == {
        "outbrain": ["w5-nonoblivious-7-10", "w5-nonoblivious-7-20"],
        "coupons": ["w5-oblivious-7-10", "w5-oblivious-7-20"],
    }


def test_a_coupon_log_is_replayed(tmp_path: Path) -> None:
    days = "".join(f"0,2012-03-{1 + row % 28:02} 10:00:00\n" for row in range(10_000))
    log = tmp_path / "coupon_visit_train.csv"
    log.write_text(f"PURCHASE_FLG,I_DATE\n{days}", encoding="utf-8")
    store = Store(tmp_path, quick=True, data={"coupons": log})
    setup = store.setup(BY_ID["W-5"], "w5-oblivious-7-10")
    assert setup.environment.names[0] == "Monday"
    assert setup.environment.rewards.means == pytest.approx(np.full(7, 1 / 7), abs=1e-3)  # four weeks, over and over
    own = store.setup(BY_ID["W-5"], "w5-nonoblivious-7-10")
    plain = tomllib.loads((FOLDER / "w5-nonoblivious-7-10.toml").read_text(encoding="utf-8"))
    assert own.environment.means.tolist() == parse(plain).environment.means.tolist()


# --- claims that a wrong policy must not pass -------------------------------------------------------------------------


def under(run: CompletedRun, label: str, policy: str) -> CompletedRun:
    """The run, with what another policy did under a label."""
    results = run.results
    return replace(run, results=replace(results, policies=results.policies | {label: results.policies[policy]}))


def holds(claim: PaperClaim, runs: Runs) -> bool:
    return all(finding.holds for finding in claim.test(runs))


@pytest.mark.slow
def test_only_the_right_policy_outperforms_elimination() -> None:
    policies = load(FOLDER / "w2-10-30.toml", horizon=8000).policies
    shown = {label: policies[label] for label in (CHOICE, *RULES)}
    right = dict.fromkeys(BY_ID["W-2"].parts, run_of("w2-10-30", 8000, 6, shown))
    claim = claim_of("W-2", "k² and α = 4 significantly outperforms")
    assert holds(claim, right)
    assert not holds(claim, {part: under(run, CHOICE, MEAN_GIVEN) for part, run in right.items()})


def test_playing_at_random_is_not_logarithmic() -> None:
    claim, parts = claim_of("W-4", "k² and α = 4 is at most logarithmic"), BY_ID["W-4"].parts
    wrong = run_of("w4-polynomial-3", 4000, 10, {CHOICE: fair_random([0.0] * 9)})
    # Steps of ln t, each of a random size of mean 1.
    steps = np.diff(np.log(wrong.results.rounds), prepend=0.0)[:, np.newaxis]
    sizes = np.random.default_rng(1).exponential(size=(len(steps), 40))
    right = run_with(wrong, CHOICE, "composite_regret", np.cumsum(steps * sizes, axis=0))
    assert holds(claim, dict.fromkeys(parts, right))
    assert not holds(claim, dict.fromkeys(parts, wrong))


def test_a_policy_that_learns_nothing_is_not_sublinear() -> None:
    claim = claim_of("W-5", "the regret of ARS-EXP3 is sublinear")
    wrong = run_of("w5-nonoblivious-7-10", 3000, 10, {ARS: fair_random([0.0] * 7)})
    assert not any(finding.holds for finding in claim.test(dict.fromkeys(BY_ID["W-5"].parts, wrong)))


def test_no_lane_stuck_either_way_decides_nothing(runs: Runs) -> None:
    """With n lanes of which none differs, up to 1 − 0.025^(1/n) of them could: 71% of 3."""
    run = runs["w4-polynomial-2"]
    found = stuck_less(run_with(run, CHOICE, "stuck", run.results.policies[UCB].curves["stuck"]), UCB)
    assert (found.low, found.effect, found.high) == pytest.approx((-0.70760, 0.0, 0.70760), abs=1e-5)
    assert not found.holds
    assert found.p_value > 0.025  # so that it contradicts nothing


# --- what the papers say and do not run -------------------------------------------------------------------------------


@pytest.mark.slow
def test_rounds_that_grow_fast_cost_more_and_a_swap_is_noticed() -> None:
    run = run_of("w6-oblivious-7-10", 20_000, 40)
    slow, fast = "ARS-EXP3, β = 1/2", "ARS-EXP3, β = 2"
    policies = run.results.policies
    swapped = replace(
        run, results=replace(run.results, policies=policies | {slow: policies[fast], fast: policies[slow]})
    )
    claim = claim_of("W-6", "g(k) = √k is a good choice")
    parts = BY_ID["W-6"].parts
    for one, holds in ((run, True), (swapped, False)):
        found = list(claim.test(dict.fromkeys(parts, one)))
        assert len(found) == 2 * len(parts)
        assert all(finding.holds for finding in found if fast in finding.text) is holds


def test_a_policy_that_does_not_learn_is_not_said_to() -> None:
    run = run_of("w7-0-20", 64_000, 10, {"UCB1": ucb1()})  # which surely learns, in a tenth of the time of CLW
    learning = run.results.policies["UCB1"]
    even = replace(learning, pulls=learning.pulls * 0 + 1)
    claim = claim_of("W-7", "ARS-CLW learns").test
    first, second = claim({"w7-0-20": replace(run, results=replace(run.results, policies={"ARS-CLW": even}))})
    assert not first.holds
    assert not second.holds
    first, second = claim({"w7-0-20": replace(run, results=replace(run.results, policies={"ARS-CLW": learning}))})
    assert first.holds
    assert second.holds
