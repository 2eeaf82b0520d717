"""The claims of Patil et al. 2019, and that a wrong policy does not get away with them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from evenhand.algorithms import fucb, t_fucb, ucb1
from evenhand.environment.rewards import Bernoulli
from evenhand.environment.world import Environment
from evenhand.papers.experiment import CompletedRun, Runs, experiments
from evenhand.papers.judging import judge
from evenhand.papers.patil2019 import claims
from evenhand.policy.composition import Policy
from evenhand.simulation.simulate import compare
from evenhand.studies.configuration import load
from evenhand.theory.bounds import naive_epsilon
from tests.thinned import thinned

FOLDER = Path(str(files("evenhand.papers"))) / "patil2019"
EXPERIMENT = experiments()["P-2b"]


def verdicts(**instead: Policy) -> dict[str, str]:
    """The verdicts of P-2b in a small size, with other policies under the labels of some."""
    setup = load(FOLDER / "p2b.toml", horizon=3000, lanes=10)
    policies = setup.policies | instead
    results = compare(policies, setup.environment, setup.horizon, setup.lanes, setup.seed, progress=False)
    runs: Runs = {"p2b": CompletedRun(results, setup)}
    return {verdict.sentence: verdict.status for verdict in judge(EXPERIMENT, runs)}


@pytest.fixture(scope="module")
def right() -> dict[str, str]:
    """The verdicts of P-2b with the policies that it names."""
    return verdicts()


@pytest.mark.parametrize("label", thinned(["FUCB", "F-TS"], "FUCB".__eq__))
def test_ucb1_is_not_taken_for_a_fair_policy(label: str, right: dict[str, str]) -> None:
    promise = "FUCB and F-TS never leave an arm a whole play behind."
    assert right[promise] == "confirmed"
    assert verdicts(**{label: ucb1()})[promise] in ("contradicted", "holds in part", "undecided")


def test_the_right_policy_under_a_wrong_name_is_seen(right: dict[str, str]) -> None:
    # F-TS in place of LFG has the least r-regret, and LFG in place of F-TS has not.
    setup = load(FOLDER / "p2b.toml", horizon=3000, lanes=10)
    lowest = "LFG has a lower r-regret than FUCB, F-TS and η-FUCB."
    assert right[lowest] == "holds in part"
    swapped = {"LFG": setup.policies["F-TS"], "F-TS": setup.policies["LFG"]}
    assert verdicts(**swapped)[lowest] == "confirmed"


def test_a_policy_that_plays_in_blocks_is_not_fair_all_along() -> None:
    shares, world = [0.05] * 4, Environment(Bernoulli([0.8, 0.7, 0.6, 0.5]))
    policies = {"FUCB": fucb(shares), "T-FUCB": t_fucb(shares, horizon=800)}
    results = compare(policies, world, 800, lanes=8, seed=1, checkpoints=80, progress=False)
    run = CompletedRun(results, load(FOLDER / "p2b.toml"))
    right, wrong = (claims.fair_with(run, label, 1.0) for label in policies)
    assert right.effect >= 1.0
    assert right.p_value == 1.0
    assert wrong.effect < 1.0
    assert not wrong.holds
    assert wrong.p_value < 0.001


def test_naive_runs_with_the_epsilon_of_the_theorem() -> None:
    for part in ("p2a", "p2b"):
        setup = load(FOLDER / f"{part}.toml")
        schedule: Any = setup.policies["NAIVE, ε = 0.83"].schedule
        fractions = 0.05 if part == "p2b" else 0.0
        best = float(naive_epsilon(setup.horizon, setup.environment.means, fractions))
        assert schedule.quotas.sum() == pytest.approx(best * setup.horizon, abs=1.0)
        assert list(claims.KNOWING) == [label for label in setup.policies if label in claims.KNOWING]
