"""The claims of Patil et al. 2019, and that a wrong policy does not get away with them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from evenhand.algorithms import ucb1
from evenhand.config.toml import load
from evenhand.papers.experiment import CompletedRun, Runs, experiments
from evenhand.papers.judging import judge
from evenhand.policy.policy import Policy
from evenhand.simulation.simulate import compare

FOLDER = Path(str(files("evenhand.papers"))) / "patil2019"
EXPERIMENT = experiments()["P-2b"]


def verdicts(**instead: Policy) -> dict[str, str]:
    """The verdicts of P-2b in a small size, with other policies under the labels of some."""
    setup = load(FOLDER / "p2b.toml", horizon=3000, lanes=10)
    policies = setup.policies | instead
    results = compare(policies, setup.environment, setup.horizon, setup.lanes, setup.seed, progress=False)
    runs: Runs = {"p2b": CompletedRun(results, setup)}
    return {verdict.claim.sentence: verdict.status for verdict in judge(EXPERIMENT, runs)}


@pytest.mark.parametrize("label", ["FUCB", "F-TS"])
def test_ucb1_is_not_taken_for_a_fair_policy(label: str) -> None:
    promise = "FUCB and F-TS leave no arm a whole play behind, at no time."
    assert verdicts()[promise] == "confirmed"
    assert verdicts(**{label: ucb1()})[promise] in ("contradicted", "undecided")


def test_the_right_policy_under_a_wrong_name_is_seen() -> None:
    # F-TS in place of LFG has the least r-regret, and LFG in place of F-TS has not.
    setup = load(FOLDER / "p2b.toml", horizon=3000, lanes=10)
    lowest = "LFG has a lower r-regret than the proposed algorithms."
    assert verdicts()[lowest] == "contradicted"
    swapped = {"LFG": setup.policies["F-TS"], "F-TS": setup.policies["LFG"]}
    assert verdicts(**swapped)[lowest] == "confirmed"
