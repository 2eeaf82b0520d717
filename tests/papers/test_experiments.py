"""The papers' experiments: every configuration can be run."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen

from evenhand import compare
from evenhand.algorithms import fcucb_d
from evenhand.algorithms.citations import PAPERS
from evenhand.core.parts import plain
from evenhand.core.state import Array, Observation, State
from evenhand.environment.availability import Always
from evenhand.environment.delays import Geometric
from evenhand.environment.rewards import Bernoulli, Table, Winners
from evenhand.environment.world import Environment
from evenhand.feedback import (
    AnonymousFeedback,
    Bounded,
    Decreasing,
    Discounted,
    Increasing,
    NonOblivious,
    Polynomial,
    RandomDelay,
)
from evenhand.policy.confidence import ConfidenceIntervals, OptimisticShares
from evenhand.policy.hold import PowerSize
from evenhand.policy.index import Index
from evenhand.policy.merit import Power
from evenhand.studies import configuration as config
from tests.thinned import thinned

CONFIGURATIONS = sorted(Path(str(files("evenhand.papers"))).glob("*/*.toml"))
SPREAD = [path for path in CONFIGURATIONS if path.parent.name == "wang2021"]
MERIT = [path for path in CONFIGURATIONS if path.parent.name == "chen2024"]
EXPERIMENTS = [
    *("p2a", "p2b", "p2c", "p2d"),
    *("h1-h3", "h2-h4", "h5", "h6-h7"),
    *("f1-", "f2-", "f3-13", "f3-31", "f3-118", "f4-", "f5-", "f6-", "f7-"),
    *("c1", "c2b", "c2c", "c2d", "c3", "c9", "c9-steep", "c10-"),
    *(f"c2a-{delay:03}" for delay in range(0, 301, 50)),
    *(f"c{figure}-{exponent}" for figure in range(4, 9) for exponent in (2, 4, 6, 8)),
    *("w2-10-30", "w2-0-60", "w3-bounded-10-20", "w3-bounded-30-40", "w4-discounted-08", "w4-discounted-09"),
    *(f"w3-{line}-{length}" for line in ("decreasing", "increasing") for length in (50, 100)),
    *(f"w4-polynomial-{exponent}" for exponent in (2, 3)),
    *(f"w5-{kind}-{arms}-{delay}" for kind in ("oblivious", "nonoblivious") for arms in (2, 7) for delay in (10, 20)),
    *(f"w6-{kind}-7-{delay}" for kind in ("oblivious", "nonoblivious") for delay in (10, 20)),
    "w7-0-20",
    *(f"w5-synthetic-{kind}-10" for kind in ("oblivious", "nonoblivious")),
]


FIRST = {re.sub(r"-.*|\d$", "", path.stem): path for path in reversed(CONFIGURATIONS)}  # of each kind
SMALL = [*FIRST.values()][::2]  # of which the main run takes every second


@pytest.mark.parametrize(
    "path",
    thinned(CONFIGURATIONS, SMALL.__contains__, lambda path: f"{path.parent.name}/{path.stem}"),
)
def test_a_configuration_runs_at_a_small_size(path: Path) -> None:
    assert path.parent.name in {*PAPERS, "beyond"}
    setup = config.load(path, horizon=None, lanes=2)
    results = compare(setup.policies, setup.environment, horizon=60, lanes=2, seed=setup.seed, checkpoints=3)
    assert list(results.policies) == list(setup.policies)
    always = isinstance(setup.environment.availability, Always)
    for label, policy in setup.policies.items():
        plays = results.policies[label].pulls[-1].sum(axis=-1)
        assert (plays <= 60 * policy.plays).all()
        assert (plays == 60 * policy.plays).all() or not always


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_no_experiment_is_missing(experiment: str) -> None:
    assert any(path.stem.startswith(experiment) for path in CONFIGURATIONS)


@pytest.mark.parametrize("path", MERIT, ids=lambda path: path.stem)
def test_policies_and_measures_have_the_same_merit(path: Path) -> None:
    setup = config.load(path)
    merit = setup.environment.merit
    # Figures 4 to 8 vary the exponent, which is the end of the file's name; all others have 4.
    betas = {"c3": 3.5, "c9-steep": 50.0}
    exponent = float(path.stem[-1]) if path.stem[1] in "45678" else 4.0
    assert merit == Power(beta=betas.get(path.stem, 2.0), exponent=exponent)
    assert all(policy.merit in (None, merit) for policy in setup.policies.values())


RADII = [path for path in MERIT if path.stem.startswith(("c1", "c2", "c3"))]


@pytest.mark.parametrize("path", RADII, ids=lambda path: path.stem)
def test_the_two_radii_stand_side_by_side(path: Path) -> None:
    policies = config.load(path).policies
    optimistic = {label for label, policy in policies.items() if policy.name in ("fcucb_d", "op_fcucb_d")}
    names = {label.removesuffix(", code's radius") for label in optimistic}
    assert optimistic == names | {f"{name}, code's radius" for name in names}
    for name in names:
        theorem, code = policies[name].index, policies[f"{name}, code's radius"].index
        assert isinstance(theorem, OptimisticShares)
        assert isinstance(code, OptimisticShares)
        assert isinstance(theorem.confidence, ConfidenceIntervals)
        assert isinstance(code.confidence, ConfidenceIntervals)
        # The code halves the logarithm, which knows the round in place of the horizon.
        assert (theorem.confidence.scale, theorem.confidence.anytime) == (1.0, False)
        assert (code.confidence.scale, code.confidence.anytime) == (0.5, True)


def spread_of(path: Path) -> AnonymousFeedback:
    """The spread that the name of a file says."""
    figure, *words = path.stem.replace("synthetic-", "").split("-")
    kind, number = words[0], int(words[-1])
    if figure in ("w2", "w7"):
        return RandomDelay(int(kind), number)
    if kind == "bounded":
        return Bounded(int(words[1]), number)
    if kind == "oblivious":
        return RandomDelay(number // 2, number)  # delays of 5 to 10 and of 10 to 20
    kinds: dict[str, Callable[[int], AnonymousFeedback]] = {
        "decreasing": Decreasing,
        "increasing": Increasing,
        "discounted": lambda tenths: Discounted(tenths / 10),
        "polynomial": Polynomial,
        "nonoblivious": NonOblivious,  # the best arm is that of the largest mean
    }
    return kinds[kind](number)


@pytest.mark.parametrize("path", SPREAD, ids=lambda path: path.stem)
def test_rewards_spread_as_the_name_of_the_file_says(path: Path) -> None:
    setup = config.load(path)
    assert plain(setup.environment.feedback) == plain(spread_of(path))
    means = setup.environment.means.tolist()
    if path.stem.startswith("w5-synthetic"):
        assert isinstance(setup.environment.rewards, Table)
        assert setup.environment.rewards.values.shape == (setup.horizon, 7)
    elif path.stem.startswith(("w5", "w6")):
        assert isinstance(setup.environment.rewards, Winners)
        two = path.stem.split("-")[2] == "2"
        assert means == ([0.52, 0.48] if two else [0.30, 0.20, 0.14, 0.12, 0.10, 0.08, 0.06])
    if path.stem.startswith("w6"):
        sizes = {label.rpartition(" ")[2]: policy.hold.size for label, policy in setup.policies.items()}  # type: ignore[attr-defined]
        assert sizes == {"1/4": PowerSize(0.25), "1/2": PowerSize(0.5), "1": PowerSize(1.0), "2": PowerSize(2.0)}
    elif path.stem.startswith("w7"):
        ends = [1000 << phase for phase in range(14)]
        assert (setup.checkpoints, setup.horizon) == (ends, ends[-1])
    elif path.stem.startswith("w5"):
        assert {"ars_exp3", "clw"} <= {policy.name for policy in setup.policies.values()}
    else:
        assert means == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
        names = {policy.name for policy in setup.policies.values()}
        # At the power 2 the mean time that a reward takes is infinite, and ODAAF can be told nothing.
        assert names == {"ars_ucb", "ucb", "ucb1"} | (set() if path.stem == "w4-polynomial-2" else {"odaaf"})


def moments(feedback: AnonymousFeedback) -> tuple[float, float]:
    """Mean and variance of the time that a part of a reward takes, from what a play sends; of a delay, by counting."""
    if isinstance(feedback, RandomDelay):
        times = np.arange(feedback.low, feedback.high + 1.0)
        return float(times.mean()), float(times.var())
    rounds, plays = (40_000 if isinstance(feedback, Polynomial) else 600), np.ones((1, 1), dtype=bool)
    flow = feedback.flow(1, rounds)
    parts = [float(flow.step(np.array([float(t == 0)]), plays, None)[0]) for t in range(rounds)]
    mean = float(np.arange(rounds) @ parts)
    return mean, float((np.arange(rounds) - mean) ** 2 @ parts)


@pytest.mark.parametrize("path", SPREAD, ids=lambda path: path.stem)
def test_benchmarks_are_told_the_truth_about_delays(path: Path) -> None:
    setup = config.load(path)
    feedback = setup.environment.feedback
    longest: float | None = None
    if isinstance(feedback, RandomDelay):
        longest = feedback.high
    elif isinstance(feedback, Bounded):
        longest = feedback.stop
    elif isinstance(feedback, Decreasing | Increasing):
        longest = feedback.length
    elif isinstance(feedback, NonOblivious):
        longest = feedback.delay
    told = 0
    for label, policy in setup.policies.items():
        schedule: Any = policy.schedule
        hold: Any = policy.hold
        if policy.name == "odaaf":
            told += 1
            if schedule.rule in ("bounded", "composite"):
                assert schedule.max_delay == longest
            if schedule.rule != "composite":
                assert isinstance(feedback, AnonymousFeedback)
                mean, variance = moments(feedback)
                assert schedule.mean_delay == pytest.approx(mean, abs=1e-4)
                assert schedule.rule != "variance" or schedule.variance == pytest.approx(variance, abs=1e-6)
        elif policy.name == "clw":
            told += 1
            # An error of a tenth where the label says so.
            off = {"small": -1, "large": 1}.get(label.split()[-1], 0)
            assert longest is not None
            assert hold.phases.longest == longest + off * longest // 10
    few = dict.fromkeys((one.stem for one in SPREAD if one.stem.startswith("w6")), 0) | {"w7-0-20": 1}
    few |= {"w4-discounted-08": 2, "w4-discounted-09": 2, "w4-polynomial-3": 1, "w4-polynomial-2": 0}
    assert told == few.get(path.stem, 4) if path.stem[1] != "5" else told > 0


@frozen
class UpperEnds(Index):
    """The upper ends of the intervals, in place of the best point in them."""

    confidence: ConfidenceIntervals

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return self.confidence.of(state)[1]


def test_a_fair_policy_loses_less_with_the_best_point_of_the_box_than_with_its_upper_ends() -> None:
    # At β = 50 the two differ; in the experiments of the paper they are the same.
    merit, lanes = Power(beta=50.0, exponent=4.0), 20
    world = Environment(Bernoulli([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4]), feedback=Geometric(0.05), merit=merit)
    best = fcucb_d(merit, horizon=400)
    assert isinstance(best.index, OptimisticShares)
    assert isinstance(best.index.confidence, ConfidenceIntervals)
    ends = evolve(best, index=UpperEnds(best.index.confidence))
    results = compare({"best": best, "ends": ends}, world, horizon=400, lanes=lanes, seed=1, checkpoints=1)
    regret = {label: record.curves["reward_regret"][-1] for label, record in results.policies.items()}
    more = regret["ends"] - regret["best"]
    assert more.mean() > 5.0 * more.std(ddof=1) / lanes**0.5  # lanes are independent
