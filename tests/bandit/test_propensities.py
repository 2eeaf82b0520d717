"""The propensities of a decision: exact where there is a closed form, within their standard errors elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evenhand import Feedback, Observation, Policy
from evenhand.algorithms import ars_clw, clw, fgreedy_d
from evenhand.bandit import Bandit
from evenhand.core.state import Array, each_array
from evenhand.policy.exploration_floor import ExplorationFloor
from evenhand.policy.index import BetaSample
from evenhand.policy.merit import Linear
from tests.service.propensity import errors, propensities

ARMS = ["a", "b", "c"]
DRAWS = 200_000  # of the independent run: fifteen times as exact as a bandit's thousand lanes
WIDE = 4.5  # standard errors: by chance once in 150 000 comparisons


def live(bandit: Bandit, rounds: int) -> None:
    world = np.random.default_rng(2)
    for _ in range(rounds):
        choice = bandit.decide()
        rewards = {arm: float(world.random() < 0.3 + 0.3 * (arm == "b")) for arm in choice.names}
        bandit.observe(choice.id, rewards)


def propensities_of(bandit: Bandit, available: list[str] | None = None) -> list[float]:
    decision = bandit.decide(available=available, propensities=True)
    assert set(errors(decision).values()) == {0.0}
    return [propensities(decision).get(arm, math.nan) for arm in ARMS]


# --- Closed forms -----------------------------------------------------------------------------------------------------


def test_a_policy_without_randomness_has_propensities_of_0_and_1() -> None:
    bandit = Bandit(ARMS, "fucb", fractions=[0.1, 0.1, 0.1], plays=2)
    for _ in range(20):
        choice = bandit.decide(propensities=True)
        assert propensities(choice) == {arm: float(arm in choice.names) for arm in ARMS}
        assert set(errors(choice).values()) == {0.0}


def test_fair_random() -> None:
    """``r_i + (1 − Σr)/K``; among a and c in proportion."""
    bandit = Bandit(ARMS, "fair_random", fractions=[0.1, 0.2, 0.4])
    assert propensities_of(bandit) == pytest.approx([0.2, 0.3, 0.5])
    choice = bandit.decide(available=["a", "c"], propensities=True)
    assert propensities(choice) == pytest.approx({"a": 2.0 / 7.0, "c": 5.0 / 7.0})


def test_exp3() -> None:
    """Arm b, played with chance 1/3, earns 1: its weight grows by ``exp(γ/K · 1/(1/3)) = exp(γ)``."""
    bandit = Bandit(ARMS, "exp3", horizon=100, mixing=0.3, seed=1)
    while (choice := bandit.decide(propensities=True)).names != ("b",):
        assert list(propensities(choice).values()) == pytest.approx([1.0 / 3.0] * 3)
        bandit.observe(choice.id, {choice.names[0]: 0.0})
    bandit.observe(choice.id, {"b": 1.0})
    total = 2.0 + math.exp(0.3)
    share = [0.7 * weight / total + 0.1 for weight in (1.0, math.exp(0.3), 1.0)]
    assert propensities_of(bandit) == pytest.approx(share)


def test_ties_at_random() -> None:
    """LFG at first: all bounds are cut at 1 and tie, so that each of three plays with chance 2/3, of two surely."""
    bandit = Bandit(ARMS, "lfg", fractions=[0.0, 0.0, 0.0], eta=1.0, plays=2)
    assert propensities_of(bandit) == pytest.approx([2.0 / 3.0] * 3)
    assert propensities(bandit.decide(available=["a", "b"], propensities=True)) == {"a": 1.0, "b": 1.0}


def test_shares_by_merit_at_the_best_point() -> None:
    """FairX-UCB after a play of each: the radius ``sqrt(ln(4 K T))`` exceeds 1, so the box is [0, 1] for every arm, and
    the best point has the largest mean for all: even shares."""
    bandit = Bandit(ARMS, "fairx_ucb", merit={"kind": "linear"}, horizon=100)
    live(bandit, 3)
    assert propensities_of(bandit) == pytest.approx([1.0 / 3.0] * 3)


# --- By lanes ---------------------------------------------------------------------------------------------------------


def draws(bandit: Bandit) -> Array:
    tally = bandit._record.state.tally  # rewards are 0 or 1
    won, lost = tally.rewards, tally.received - tally.rewards
    return np.random.default_rng(99).beta(1.0 + won, 1.0 + lost, (DRAWS, len(ARMS)))


def one_hot(arms: NDArray[np.intp]) -> Array:
    return np.asarray(arms[:, np.newaxis] == np.arange(len(ARMS)), dtype=float)


def best(bandit: Bandit) -> Array:
    return one_hot(draws(bandit).argmax(axis=1))


def two_best(bandit: Bandit) -> Array:
    return 1.0 - one_hot(draws(bandit).argmin(axis=1))


def best_of_two(bandit: Bandit) -> Array:
    return one_hot(np.where([True, False, True], draws(bandit), -1.0).argmax(axis=1))


def by_merit(bandit: Bandit) -> Array:
    merit = 1.0 + draws(bandit)
    return np.asarray(2.0 * merit / merit.sum(axis=1, keepdims=True))


def queued(bandit: Bandit) -> Array:
    """The exact queue, max(t r − N, 0), and η θ."""
    queue = np.maximum(bandit._record.state.round * np.array([0.3, 0.2, 0.2]) - bandit._record.state.tally.pulls, 0.0)
    return one_hot((queue + 2.0 * draws(bandit)).argmax(axis=1))


def both(bandit: Bandit) -> Array:
    """The mean of an optimistic and a pessimistic draw; a third of the rewards is missing."""
    pulls, received, rewards = (getattr(bandit._record.state.tally, name) for name in ("pulls", "received", "rewards"))
    rng, late, size = np.random.default_rng(98), pulls - received, (DRAWS, len(ARMS))
    high = rng.beta(1.0 + rewards + late, 1.0 + received - rewards, size)
    return one_hot((high + rng.beta(1.0 + rewards, 1.0 + pulls - rewards, size)).argmax(axis=1))


RANDOM: dict[str, tuple[str, dict[str, Any], list[str] | None, Callable[[Bandit], Array]]] = {
    "thompson": ("thompson", {}, None, best),
    "thompson, two plays": ("thompson", {"plays": 2}, None, two_best),
    "thompson, one asleep": ("thompson", {}, ["a", "c"], best_of_two),
    "thompson, both": ("thompson", {"evidence": "both"}, None, both),
    "mp_ts_d": ("mp_ts_d", {}, None, best),
    "tscsf_b": ("tscsf_b", {"fractions": [0.3, 0.2, 0.2], "eta": 2.0}, None, queued),
    "fcts_d": ("fcts_d", {"merit": {"kind": "linear"}, "plays": 2}, None, by_merit),
}


@pytest.mark.covering
@pytest.mark.parametrize("rounds", [0, 9, 60])
@pytest.mark.parametrize("case", RANDOM)
def test_lanes_agree_with_a_much_longer_run(case: str, rounds: int) -> None:
    name, parameters, available, reference = RANDOM[case]
    bandit = Bandit(ARMS, name, seed=4, **parameters)
    live(bandit, rounds)
    for _ in range(rounds // 3):
        bandit.decide(available=["a"])  # plays whose rewards are missing
    runs = reference(bandit)
    truth, error = runs.mean(axis=0), runs.std(axis=0) / math.sqrt(DRAWS)
    decision = bandit.decide(available=available, propensities=True)
    known, stderr = propensities(decision), errors(decision)
    assert list(known) == (available or ARMS)
    for place, arm in enumerate(ARMS):
        if arm in known:
            reach = WIDE * math.hypot(stderr[arm], float(error[place]))
            assert abs(known[arm] - truth[place]) < reach
            # That of a thousand lanes, each of which gives its inclusion probability, but for how exactly they know it.
            spread = float(runs.std(axis=0)[place])
            kurtosis = float(((runs[:, place] - truth[place]) ** 4).mean()) / max(spread, 1e-9) ** 4
            exactness = 0.9 - WIDE * math.sqrt(max(kurtosis - 1.0, 0.0) / 4000.0)
            assert stderr[arm] >= exactness * spread / math.sqrt(1000.0)
    assert sum(known.values()) == pytest.approx(bandit._record.plays)


def test_a_greedy_policy_that_explores() -> None:
    """Two points: even with chance ε, else by merit 1 + S/M."""
    bandit = Bandit(ARMS, "fgreedy_d", merit={"kind": "linear"}, epsilon=0.4)
    live(bandit, 50)
    merit = 1.0 + bandit._record.state.tally.rewards / np.maximum(bandit._record.state.tally.received, 1.0)
    truth = 0.4 / 3.0 + 0.6 * merit / merit.sum()
    decision = bandit.decide(propensities=True)
    assert propensities(decision) == pytest.approx(dict(zip(ARMS, truth, strict=True)))
    assert set(errors(decision).values()) == {0.0}


def test_the_coin_that_ends_a_choice_is_part_of_the_propensity() -> None:
    """CLW: with d = 2 a choice of at least 2d − 1 quiet rounds ends with chance 1/4, and then all weights are even."""
    bandit = Bandit(ARMS, "clw", horizon=10_000, delay=2, seed=3)

    def forget() -> None:  # as if nothing had been learned
        bandit._record.state.index.logs[:] = 0.0
        bandit._record.state.index.arms[:] = False

    held = bandit.decide().names[0]
    forget()
    seen = {"free": 0, "bound": 0}
    for _ in range(60):
        quiet = bandit._record.state.hold.quiet[0]
        choice = bandit.decide(propensities=True)
        free = quiet >= 3.0
        seen["free" if free else "bound"] += 1
        truth = {arm: (0.75 * (arm == held) + 0.25 / 3.0) if free else float(arm == held) for arm in ARMS}
        assert propensities(choice) == pytest.approx(truth)
        assert set(errors(choice).values()) == {0.0}
        held = choice.names[0]
        forget()
    assert min(seen.values()) > 5


@pytest.mark.parametrize("asleep", [False, True])
@pytest.mark.parametrize(
    "policy", [clw(horizon=50, delay=3), ars_clw(first_horizon=8), fgreedy_d(Linear(), epsilon=0.3, plays=2)]
)
def test_closed_forms_are_the_frequencies_of_many_draws(policy: Policy, asleep: bool) -> None:
    """In every round, 20 000 lanes that have the same past decide again; no arm is played more or less often."""
    world, rng, draws = np.random.default_rng(4), np.random.default_rng(5), 20_000
    state = policy.start(4)
    for _ in range(25):
        mask = world.random(4) < 0.7 if asleep else None
        if mask is not None and mask.sum() < policy.plays:
            mask = None
        lanes = each_array(state, lambda array: np.repeat(array[np.newaxis], draws, axis=0))
        drawn = policy.choose(lanes, Observation(mask), np.random.default_rng([6, state.round]), propensities=False)
        assert drawn.propensities is None
        decision = policy.decide(state, Observation(mask), rng)
        assert decision.propensities is not None
        sure = np.asarray(decision.propensities, dtype=float)
        error = np.sqrt(np.maximum(sure * (1.0 - sure), 1e-12) / draws)
        assert (np.abs(drawn.played.mean(axis=0) - sure) <= WIDE * error + 1e-12).all()
        policy.observe(state, Feedback(decision.played, decision.played * world.random(4)), rng)


def test_a_floor_over_drawn_scores_has_the_chance_that_is_given_what_was_drawn() -> None:
    bandit = Bandit(ARMS, Policy(BetaSample(), selection=ExplorationFloor(0.05)), seed=2)
    for _ in range(20):
        decision = bandit.decide()
        [arm] = decision.arms
        assert arm.propensity is not None
        assert min(abs(arm.propensity - 0.9), abs(arm.propensity - 0.05)) < 1e-9
        assert arm.stderr == 0.0
        bandit.observe(decision.id, {arm.arm: 1.0})
    known = bandit.decide(propensities=True)
    assert sorted(propensities(known).values()) == pytest.approx([0.05, 0.05, 0.9])
    assert set(errors(known).values()) == {0.0}


def test_what_all_lanes_agree_on_still_has_an_error() -> None:
    """An arm far ahead plays in all lanes; that says no more than about 1 in 1000."""
    bandit = Bandit(["a", "b"], "thompson")
    bandit._record.state.tally.pulls[:] = bandit._record.state.tally.received[:] = 1e6
    bandit._record.state.index.successes[:] = [1e6, 0.0]
    decision = bandit.decide(propensities=True)
    assert propensities(decision) == {"a": 1.0, "b": 0.0}
    assert list(errors(decision).values()) == pytest.approx([0.001, 0.001], rel=0.01)


# --- Asking -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["thompson", "fcts_d", "clw", "tscsf_b", "lfg"])
def test_asking_changes_nothing(name: str) -> None:
    """One bandit is asked in every round, its twin never."""
    parameters: dict[str, dict[str, Any]] = {
        "fcts_d": {"merit": {"kind": "power"}},
        "clw": {"horizon": 500, "delay": 2},
        "tscsf_b": {"fractions": [0.1, 0.1, 0.1], "eta": 5.0, "queue": "recursive"},
        "lfg": {"fractions": [0.1, 0.1, 0.1], "eta": 5.0},
    }
    estimated, other = (Bandit(ARMS, name, seed=6, **parameters.get(name, {})) for _ in range(2))
    world = np.random.default_rng(7)
    for _ in range(60):
        available = None if world.random() < 0.5 else ["b", "c"]
        choice = estimated.decide(available=available, now=0.0, propensities=True)
        twin = other.decide(available=available, now=0.0)
        assert list(propensities(choice)) == (available or ARMS)
        assert choice.names == twin.names
        reward = float(world.random())
        for bandit in (estimated, other):
            bandit.observe(choice.id, {choice.names[0]: reward}, now=0.0)
    assert estimated.dump() == other.dump()


def test_a_loaded_bandit_gives_the_same_answer() -> None:
    bandit = Bandit(ARMS, "thompson", seed=9)
    live(bandit, 20)
    again = Bandit.restored(bandit.dump())
    decisions = [one.decide(now=0.0, propensities=True) for one in (bandit, again)]
    assert decisions[0] == decisions[1]


def test_lanes_are_only_run_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def shares(*args: Any) -> Array:
        calls.append(args)
        return np.full(3, 1.0 / 3.0)

    monkeypatch.setattr("evenhand.bandit.propensities._mean_inclusion", shares)
    bandit = Bandit(ARMS, "thompson")
    live(bandit, 10)
    assert bandit.decide().propensities is None
    assert calls == []
    assert propensities(bandit.decide(propensities=True))["a"] == 1 / 3
    assert len(calls) == 1


def test_an_arm_that_plays_has_a_positive_propensity() -> None:
    """Though it is so small that none of the lanes plays the arm; else no weight could be given to what it earned."""
    bandit, world, least = Bandit(ARMS, "thompson", seed=1), np.random.default_rng(0), 1.0
    for _ in range(2_000):
        choice = bandit.decide(propensities=True)
        arm = choice.names[0]
        least = min(least, propensities(choice)[arm])
        bandit.observe(choice.id, {arm: float(world.random() < {"a": 0.8, "b": 0.5, "c": 0.2}[arm])})
    assert least == pytest.approx(1.0 / 1002.0)
