"""The propensities of a decision: exact where there is a closed form, within their standard errors elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evenhand.core.state import Array
from evenhand.online import Bandit

ARMS = ["a", "b", "c"]
DRAWS = 200_000  # of the independent run: fifteen times as exact as a bandit's thousand lanes
WIDE = 4.5  # standard errors: by chance once in 150 000 comparisons


def live(bandit: Bandit, rounds: int) -> None:
    world = np.random.default_rng(2)
    for _ in range(rounds):
        choice = bandit.decide()
        rewards = {arm: float(world.random() < 0.3 + 0.3 * (arm == "b")) for arm in choice.arms}
        bandit.observe(choice.id, rewards)


def propensities_of(bandit: Bandit, available: list[str] | None = None) -> list[float]:
    known = bandit.decide(available).propensities
    assert known.exact
    assert set(known.stderr.values()) == {0.0}
    return [known.values.get(arm, math.nan) for arm in ARMS]


# --- Closed forms -----------------------------------------------------------------------------------------------------


def test_a_policy_without_randomness_has_propensities_of_0_and_1() -> None:
    bandit = Bandit(ARMS, "fucb", fractions=[0.1, 0.1, 0.1], plays=2)
    for _ in range(20):
        choice = bandit.decide()
        assert choice.propensities.values == {arm: float(arm in choice.arms) for arm in ARMS}
        assert choice.propensities.exact


def test_fair_random() -> None:
    """``r_i + (1 − Σr)/K``; among a and c in proportion."""
    bandit = Bandit(ARMS, "fair_random", fractions=[0.1, 0.2, 0.4])
    assert propensities_of(bandit) == pytest.approx([0.2, 0.3, 0.5])
    choice = bandit.decide(available=["a", "c"])
    assert choice.propensities.values == pytest.approx({"a": 2.0 / 7.0, "c": 5.0 / 7.0})


def test_exp3() -> None:
    """Arm b, played with chance 1/3, earns 1: its weight grows by ``exp(γ/K · 1/(1/3)) = exp(γ)``."""
    bandit = Bandit(ARMS, "exp3", horizon=100, mixing=0.3, seed=1)
    while (choice := bandit.decide()).arms != ("b",):
        assert list(choice.propensities.values.values()) == pytest.approx([1.0 / 3.0] * 3)
        bandit.observe(choice.id, {choice.arms[0]: 0.0})
    bandit.observe(choice.id, {"b": 1.0})
    total = 2.0 + math.exp(0.3)
    share = [0.7 * weight / total + 0.1 for weight in (1.0, math.exp(0.3), 1.0)]
    assert propensities_of(bandit) == pytest.approx(share)


def test_ties_at_random() -> None:
    """LFG at first: all bounds are cut at 1 and tie, so that each of three plays with chance 2/3, of two surely."""
    bandit = Bandit(ARMS, "lfg", fractions=[0.0, 0.0, 0.0], eta=1.0, plays=2)
    assert propensities_of(bandit) == pytest.approx([2.0 / 3.0] * 3)
    assert bandit.decide(available=["a", "b"]).propensities.values == {"a": 1.0, "b": 1.0}


def test_shares_by_merit_at_the_best_point() -> None:
    """FairX-UCB after a play of each: the radius ``sqrt(ln(4 K T))`` exceeds 1, so the box is [0, 1] for every arm, and
    the best point has the largest mean for all: even shares."""
    bandit = Bandit(ARMS, "fairx_ucb", merit={"kind": "linear"}, horizon=100)
    live(bandit, 3)
    assert propensities_of(bandit) == pytest.approx([1.0 / 3.0] * 3)


# --- By lanes ---------------------------------------------------------------------------------------------------------


def draws(bandit: Bandit) -> Array:
    tally = bandit.state.tally  # rewards are 0 or 1
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
    queue = np.maximum(bandit.state.round * np.array([0.3, 0.2, 0.2]) - bandit.state.tally.pulls, 0.0)
    return one_hot((queue + 2.0 * draws(bandit)).argmax(axis=1))


def both(bandit: Bandit) -> Array:
    """The mean of an optimistic and a pessimistic draw; a third of the rewards is missing."""
    pulls, received, rewards = (getattr(bandit.state.tally, name) for name in ("pulls", "received", "rewards"))
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


@pytest.mark.parametrize("rounds", [0, 9, 60])
@pytest.mark.parametrize("case", RANDOM)
def test_lanes_agree_with_a_much_longer_run(case: str, rounds: int) -> None:
    name, parameters, available, reference = RANDOM[case]
    bandit = Bandit(ARMS, name, seed=4, **parameters)
    live(bandit, rounds)
    for _ in range(rounds // 3):
        bandit.decide(["a"])  # plays whose rewards are missing
    runs = reference(bandit)
    truth, error = runs.mean(axis=0), runs.std(axis=0) / math.sqrt(DRAWS)
    known = bandit.decide(available).propensities
    assert not known.exact
    assert list(known.values) == (available or ARMS)
    for place, arm in enumerate(ARMS):
        if arm in known.values:
            reach = WIDE * math.hypot(known.stderr[arm], float(error[place]))
            assert abs(known.values[arm] - truth[place]) < reach
            # That of a thousand lanes, each of which gives its inclusion probability, but for how exactly they know it.
            spread = float(runs.std(axis=0)[place])
            kurtosis = float(((runs[:, place] - truth[place]) ** 4).mean()) / max(spread, 1e-9) ** 4
            exactness = 0.9 - WIDE * math.sqrt(max(kurtosis - 1.0, 0.0) / 4000.0)
            assert known.stderr[arm] >= exactness * spread / math.sqrt(1000.0)
    assert sum(known.values.values()) == pytest.approx(bandit.plays)


def test_a_greedy_policy_that_explores() -> None:
    """Two points: even with chance ε, else by merit 1 + S/M."""
    bandit = Bandit(ARMS, "fgreedy_d", merit={"kind": "linear"}, epsilon=0.4)
    live(bandit, 50)
    merit = 1.0 + bandit.state.tally.rewards / np.maximum(bandit.state.tally.received, 1.0)
    truth = 0.4 / 3.0 + 0.6 * merit / merit.sum()
    known = bandit.decide().propensities
    for arm, propensity in zip(ARMS, truth, strict=True):
        assert abs(known.values[arm] - propensity) < WIDE * known.stderr[arm]


def test_the_coin_that_ends_a_choice_is_part_of_the_propensity() -> None:
    """CLW: with d = 2 a choice of at least 2d − 1 quiet rounds ends with chance 1/4, and then all weights are even."""
    bandit = Bandit(ARMS, "clw", horizon=10_000, delay=2, seed=3)
    held = bandit.decide().arms[0]
    seen = {"free": 0, "bound": 0}
    for _ in range(60):
        quiet = bandit.state.hold.quiet[0]
        choice = bandit.decide()
        known, free = choice.propensities, quiet >= 3.0
        seen["free" if free else "bound"] += 1
        for arm in ARMS:
            propensity = (0.75 * (arm == held) + 0.25 / 3.0) if free else float(arm == held)
            assert abs(known.values[arm] - propensity) < WIDE * known.stderr[arm]
        held = choice.arms[0]
        bandit.state.index.logs[:] = 0.0  # as if nothing had been learned
        bandit.state.index.arms[:] = False
    assert min(seen.values()) > 5


def test_what_all_lanes_agree_on_still_has_an_error() -> None:
    """An arm far ahead plays in all lanes; that says no more than about 1 in 1000."""
    bandit = Bandit(["a", "b"], "thompson")
    bandit.state.tally.pulls[:] = bandit.state.tally.received[:] = 1e6
    bandit.state.index.successes[:] = [1e6, 0.0]
    known = bandit.decide().propensities
    assert known.values == {"a": 1.0, "b": 0.0}
    assert known.stderr["a"] == known.stderr["b"] == pytest.approx(0.001, rel=0.01)


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
        choice, twin = estimated.decide(available, now=0.0), other.decide(available, now=0.0)
        assert choice.propensities.values.keys() == set(choice.available)
        assert choice.arms == twin.arms
        reward = float(world.random())
        for bandit in (estimated, other):
            bandit.observe(choice.id, {choice.arms[0]: reward}, now=0.0)
    assert estimated.dump() == other.dump()


def test_the_answer_does_not_depend_on_when_one_asks() -> None:
    """Not on the rewards, decisions and changes that came in between; and it is worked out once."""
    early, late = (Bandit(ARMS, "f_ts", fractions=[0.1, 0.0, 0.0], seed=8) for _ in range(2))
    for bandit in (early, late):
        live(bandit, 30)
    here, later = early.decide(), late.decide()
    estimate = here.propensities
    assert here.propensities is estimate
    late.observe(later.id, {later.arms[0]: 1.0})
    late.add("d", fraction=0.3)
    late.retire("a")
    for _ in range(20):
        late.decide()
    assert later.propensities == estimate
    assert later.available == tuple(ARMS)


def test_a_loaded_bandit_gives_the_same_answer() -> None:
    bandit = Bandit(ARMS, "thompson", seed=9)
    live(bandit, 20)
    again = Bandit.restored(bandit.dump())
    assert bandit.decide().propensities == again.decide().propensities


def test_lanes_are_only_run_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def shares(*args: Any) -> Array:
        calls.append(args)
        return np.full(3, 1.0 / 3.0)

    monkeypatch.setattr("evenhand.online.bandit.propensities._mean_inclusion", shares)
    bandit = Bandit(ARMS, "thompson")
    live(bandit, 10)
    choice = bandit.decide()
    assert calls == []
    assert choice.propensities.values["a"] == 1 / 3
    assert len(calls) == 1


def test_an_arm_that_plays_has_a_positive_propensity() -> None:
    """Though it is so small that none of the lanes plays the arm; else no weight could be given to what it earned."""
    bandit, world, least = Bandit(ARMS, "thompson", seed=1), np.random.default_rng(0), 1.0
    for _ in range(2_000):
        choice = bandit.decide()
        arm = choice.arms[0]
        least = min(least, choice.propensities.values[arm])
        bandit.observe(choice.id, {arm: float(world.random() < {"a": 0.8, "b": 0.5, "c": 0.2}[arm])})
    assert least == pytest.approx(1.0 / 1002.0)
