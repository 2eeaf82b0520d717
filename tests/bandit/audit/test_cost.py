"""What promises cost, against brute force and the oracles of the simulation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.audit.costing import most_missed
from evenhand.core.state import Array
from evenhand.environment.availability import Always
from evenhand.inference.means import shrunk
from evenhand.policy.claim import Group
from evenhand.theory.bounded import best_bounded, bounds_of
from evenhand.theory.oracle import optimal, optimal_fair
from evenhand.theory.prices import bounded_interval, cost_interval, cost_of_shares


def problem(seed: int) -> tuple[Array, Array, Array, int, np.random.Generator]:
    """Intervals of means, promised shares that can be kept, and plays."""
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(2, 6))
    plays = int(rng.integers(1, arms))
    shares = rng.random(arms)
    shares = np.minimum(shares / shares.sum() * plays * rng.random(), 1.0)
    ends = np.sort(rng.random((2, arms)), axis=0)
    ends[0, 0] = ends[seed % 2, 0]
    return ends[0], ends[1], shares, plays, rng


@pytest.mark.parametrize("seed", range(40))
def test_the_cost_is_the_difference_of_the_two_optima(seed: int) -> None:
    means, _, shares, plays, _ = problem(seed)
    free, fair = optimal(means, plays, Always()), optimal_fair(means, shares, plays, Always())
    assert cost_of_shares(means[None], shares, plays)[0] == pytest.approx(free.value - fair.value, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_the_interval_holds_every_cost_and_its_ends_are_reached(seed: int) -> None:
    low, high, shares, plays, rng = problem(seed)
    least, most = cost_interval(low, high, shares, plays)
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 5).T), axis=-1).reshape(-1, len(low))
    near = np.clip(np.linspace(0.0, 1.0, 2001)[:, None], low, high)
    drawn = low + (high - low) * rng.random((2000, len(low)))
    costs = cost_of_shares(np.concatenate([grid, near, drawn]), shares, plays)
    assert costs.max() == pytest.approx(most, abs=1e-12)
    assert costs.min() >= least - 1e-12
    assert costs.min() == pytest.approx(least, abs=1e-3)


def test_the_bound_of_many_sets_is_one() -> None:
    rng = np.random.default_rng(4)
    low, width = rng.random((2, 30)) / 2.0
    shares, plays = rng.random(30) * 5.0 / 30.0, 5
    _, most = cost_interval(low, low + width, shares, plays)
    corners = np.where(rng.random((5000, 30)) < 0.2, low + width, low)
    assert 0.0 < cost_of_shares(corners, shares, plays).max() <= most


@pytest.mark.parametrize("seed", range(8))
def test_the_interval_with_groups_holds_every_price_and_its_ends_are_reached(seed: int) -> None:
    draws = np.random.default_rng(seed)
    arms, plays = 4 + seed // 4, 1 + seed % 2
    low, width = draws.uniform(0.0, 0.7, arms), draws.uniform(0.0, 0.3, arms) * (draws.random(arms) < 0.8)
    groups = [Group(name="some", arms=[0, 1], at_least=draws.uniform(0.1, 0.7), at_most=None)]
    groups += [Group(name="others", arms=[1, 2], at_least=0.0, at_most=draws.uniform(0.5, 0.9))]
    bounds = bounds_of(arms, draws.uniform(0.0, 0.1, arms), None, groups)

    def best(means: Array) -> Array:
        return best_bounded(means, bounds, plays, Always())[1]

    def price(means: Array) -> float:
        return float(np.sort(means)[-plays:].sum() - means @ best(means))

    least, most = bounded_interval(low, low + width, plays, best)
    corners = low + width * np.array(list(product((0.0, 1.0), repeat=arms)))
    levels = np.linspace(0.0, 1.0, 21)[:, np.newaxis]
    inside = np.concatenate([low + width * draws.random((20, arms)), np.clip(levels, low, low + width)])
    prices = [price(means) for means in np.concatenate([corners, inside])]
    assert least - 1e-9 <= min(prices)
    assert most == pytest.approx(max(prices), abs=1e-9)
    ends = np.unique(np.concatenate([low, low + width]))
    assert least == pytest.approx(min(price(np.clip(end, low, low + width)) for end in ends), abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_what_was_missed_at_most_is_reached_and_never_exceeded(seed: int) -> None:
    low, high, given, plays, draws = problem(seed)
    active = np.arange(len(low)) != (len(low) if seed % 3 else 0)  # in some an arm is retired
    plays = min(plays, int(active.sum()))
    most = most_missed(low, high, given, active, plays)
    corners = np.array(list(product(*zip(low, high, strict=True))))
    drawn = low + (high - low) * draws.random((2000, len(low)))
    means = np.concatenate([corners, drawn])
    best = np.sort(means[:, active], axis=1)[:, -plays, np.newaxis]
    assert (np.maximum(best - means, 0.0) @ given).max() == pytest.approx(most, abs=1e-12)


def test_the_largest_price_of_many_sets_is_bounded() -> None:
    draws = np.random.default_rng(3)
    low, high = np.sort(draws.random((2, 16)), axis=0)
    bounds = bounds_of(16, None, np.full(16, 0.6), [Group(name="some", arms=[0, 1, 2], at_least=1.5, at_most=None)])
    _, most = bounded_interval(low, high, 5, lambda means: best_bounded(means, bounds, 5, Always())[1])
    for _ in range(50):
        means = np.where(draws.random(16) < 0.4, high, low)
        assert np.sort(means)[-5:].sum() - best_bounded(means, bounds, 5, Always())[0] <= most + 1e-9


def decided(algorithm: str, means: dict[str, float], rounds: int = 400, **options: object) -> Bandit:
    bandit = Bandit(list(means), algorithm, **options)  # type: ignore[arg-type]
    for round in range(rounds):
        decision = bandit.decide(now=float(round))
        bandit.observe(decision.id, {arm: means[arm] for arm in decision.names}, now=round + 0.5)
    return bandit


def test_a_cost_by_hand() -> None:
    """Four euros a round are lost in a quarter of the rounds."""
    bandit = decided("fucb", {"a": 9.0, "b": 5.0}, fractions=[0.0, 0.25], rewards=(0.0, 10.0))
    cost = bandit.audit().cost
    assert cost is not None
    assert None not in (cost.low, cost.high, cost.per_round, cost.incurred_low, cost.incurred_high)
    assert cost.per_round == pytest.approx(1.0, rel=0.02)
    assert cost.low < 1.0 < cost.high  # type: ignore[operator]
    assert cost.relative == pytest.approx(1.0 / 9.0, rel=0.02)
    assert cost.incurred == pytest.approx(400.0, rel=0.02)
    assert cost.incurred_low < 400.0 < cost.incurred_high  # type: ignore[operator]
    assert cost.note == ""
    bandit.promise({"b": 0.5})
    later = bandit.audit().cost
    assert later is not None
    assert later.per_round == pytest.approx(2.0, rel=0.02)
    assert later.incurred == cost.incurred  # the total runs on


def test_broken_promises_are_not_charged_the_price_of_kept_ones() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.0, 0.5])
    for round in range(400):
        decision = bandit.decide(available=["a"] if round % 20 else None, now=float(round))
        bandit.observe(decision.id, {arm: {"a": 0.9, "b": 0.5}[arm] for arm in decision.names}, now=round + 0.5)
    audit = bandit.audit()
    assert audit.lines[1].paid == 19
    assert audit.cost is not None
    assert audit.cost.incurred == pytest.approx(19 * 0.4, rel=0.15)


def test_a_largest_share_that_is_used_up_has_cost_what_it_costs() -> None:
    caps = {"a": 0.3, "b": 1.0, "c": 1.0}
    bandit = decided("group_ucb", {"a": 0.9, "b": 0.5, "c": 0.2}, 1000, fractions=0.0, caps=caps, eta=1.0)
    cost = bandit.audit().cost
    assert cost is not None
    assert cost.incurred == pytest.approx(1000 * 0.7 * 0.4, rel=0.1)
    assert cost.incurred_low < 280.0 < cost.incurred_high  # type: ignore[operator]
    bandit.promise(caps={"a": 0.5})
    later = bandit.audit().cost
    assert later is not None
    assert later.incurred == cost.incurred


def test_what_an_arm_or_group_was_given_stays_in_the_total() -> None:
    bandit = decided("fucb", {"a": 0.9, "b": 0.5, "c": 0.2}, 1000, fractions=[0.0, 0.2, 0.3])
    before = bandit.audit().cost
    bandit.retire("c")
    after = bandit.audit().cost
    assert before is not None
    assert after is not None
    assert after.incurred == pytest.approx(before.incurred)
    groups = [{"name": "north", "arms": ["b", "c"], "at_least": 0.5}]
    bandit = decided("group_ucb", {"a": 0.9, "b": 0.5, "c": 0.2}, 1000, groups=groups, eta=1.0)
    before = bandit.audit().cost
    bandit.promise(groups={"north": {"at_least": 0.4}})
    after = bandit.audit().cost
    assert before is not None
    assert after is not None
    assert after.incurred == pytest.approx(before.incurred)


def test_groups_and_merit_have_a_cost_with_an_interval() -> None:
    groups = [{"name": "north", "arms": ["b", "c"], "at_least": 0.5}]
    cost = decided("group_ucb", {"a": 0.9, "b": 0.4, "c": 0.6}, groups=groups).audit().cost
    assert cost is not None
    assert cost.per_round == pytest.approx(0.15, rel=0.05)
    assert cost.low <= 0.15 <= cost.high  # type: ignore[operator]
    assert cost.incurred is not None
    assert 400 * 0.15 * 0.9 <= cost.incurred <= 400 * 0.25
    merit = {"kind": "threshold", "below": 1.0, "above": 3.0}
    cost = decided("fcts_d", {"a": 0.9, "b": 0.4}, merit=merit).audit().cost
    assert cost is not None
    truth = 0.9 - (0.75 * 0.9 + 0.25 * 0.4)
    assert cost.per_round == pytest.approx(truth, rel=0.05)
    assert cost.low <= truth <= cost.high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("draw", "most", "off"),
    [
        (lambda rng: rng.uniform(0.3, 0.6, 200), 0.074, 0.02),
        (lambda rng: np.full(200, 0.4), 0.0, 0.03),
    ],
    ids=["spread", "equal"],
)
def test_the_cost_with_many_arms_is_not_that_of_the_luckiest(draw: Any, most: float, off: float) -> None:
    """200 means of 20 rewards each: as they are, they say far more than the truth."""
    found, plain, truth = list[float](), list[float](), list[float]()
    shares, counts = np.full(200, 0.0025), np.full(200, 20.0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        means = draw(rng)
        seen = rng.binomial(20, means) / 20.0
        for costs, of in ((found, shrunk(seen, counts)), (plain, seen), (truth, means)):
            costs.append(float(cost_of_shares(of[None], shares, 1)[0]))
    assert np.mean(truth) == pytest.approx(most, abs=0.005)
    assert np.mean(plain) > np.mean(truth) + 2.0 * off
    assert abs(np.mean(found) - np.mean(truth)) < off


def test_what_is_not_known_is_said() -> None:
    assert Bandit(["a", "b"], "fucb", fractions=0.1).audit().cost is None
    assert decided("ucb1", {"a": 0.9, "b": 0.5}).audit().cost is None
    bandit = Bandit(["a", "b"], "fucb", fractions=0.1)
    decision = bandit.decide()
    cost = bandit.audit().cost
    assert cost is not None
    assert (cost.per_round, cost.note) == (None, "No reward of an arm is known yet.")
    bandit.observe(decision.id, {decision.names[0]: 1.0})
    cost = bandit.audit().cost
    assert cost is not None
    assert cost.note.startswith("'b' has no known reward: there the price takes the mean of the others")
    assert (cost.per_round, cost.low) == (0.0, 0.0)
    assert cost.high == pytest.approx(0.1, abs=0.005)


LEARNED = {"a": (2000, 14_000.0), "b": (700, 11_900.0)}  # means 7 and 17


def test_the_price_counts_what_was_learned_beforehand_and_what_was_incurred_does_not() -> None:
    bandit = Bandit(["a", "b"], "f_ts", fractions=[0.1, 0.0], rewards=(0, 80), seed=1, start_from=LEARNED)
    decision = bandit.decide()
    cost = bandit.audit().cost
    assert cost is not None
    assert cost.incurred is None
    assert "what the promises have cost is not known yet; keeping them costs" in str(bandit.audit()).replace("\n", " ")
    assert cost.per_round == pytest.approx(1.0, abs=0.02)
    assert 0.0 < cost.low < 1.0 < cost.high < 2.0  # type: ignore[operator]
    assert "learned beforehand" in cost.note
    bandit.observe(decision.id, dict.fromkeys(decision.names, 80.0))
    later = bandit.audit().cost
    assert later is not None
    assert later.per_round == pytest.approx(1.0, abs=0.05)
    assert later.incurred is not None
    assert later.incurred_high == pytest.approx(0.0 if decision.names == ("b",) else 80.0)


def test_a_new_arm_counts_with_the_whole_range_of_rewards() -> None:
    bandit = decided("fucb", {"a": 0.9, "b": 0.5}, fractions=[0.0, 0.25])
    before = bandit.audit().cost
    bandit.add("c", fraction=0.1)
    after = bandit.audit().cost
    assert before is not None
    assert after is not None
    assert after.per_round == pytest.approx(before.per_round + 0.1 * 0.2, abs=0.005)  # type: ignore[operator]
    assert after.low <= before.low  # type: ignore[operator]
    assert after.high == pytest.approx(0.25 * (1.0 - 0.5) + 0.1 * 1.0, abs=0.06)
    assert after.note.startswith("'c' has no known reward")


def test_sleeping_arms_are_mentioned() -> None:
    bandit = decided("fucb", {"a": 0.9, "b": 0.5}, fractions=[0.0, 0.25])
    for _ in range(10):
        bandit.decide(available=["a"])
    cost = bandit.audit().cost
    assert cost is not None
    assert cost.note.startswith("The computation assumes that every arm is always available")


def test_plays_while_the_best_slept_may_have_cost_nothing() -> None:
    """Half the rounds are without the best arm, and all plays that the promise asked for were in these."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.0, 0.5], seed=3)
    for round in range(400):
        decision = bandit.decide(available=["b"] if round % 2 else ["a"])
        bandit.observe(decision.id, {decision.names[0]: {"a": 0.9, "b": 0.3}[decision.names[0]]})
    cost = bandit.audit().cost
    assert cost is not None
    assert cost.incurred_low == 0.0
    assert cost.incurred_high >= 200 * 0.6  # type: ignore[operator]  # had the best been there


@pytest.mark.parametrize("plays", [1, 2])
def test_the_cost_so_far_is_that_of_the_rounds_in_which_better_arms_were_awake(plays: int) -> None:
    """Arms sleep now and then, the worst more often than not, which changes nothing."""
    means, world, truth = {"a": 0.9, "b": 0.8, "c": 0.1, "d": 0.0}, np.random.default_rng(4), 0.0
    bandit = Bandit([*means], "fucb", fractions=[0.0, 0.0, 0.4, 0.0], plays=plays, seed=3)
    for _ in range(600):
        awake = [arm for arm in "abc" if world.random() < 0.97] + ["d"] * (world.random() < 0.3)
        if len(awake) < plays:
            continue
        decision = bandit.decide(available=awake)
        threshold = sorted(means[arm] for arm in awake)[-plays]
        truth += sum(max(threshold - means[arm], 0.0) for arm in decision.names if arm == "c")
        bandit.observe(decision.id, {arm: means[arm] for arm in decision.names})
    cost = bandit.audit().cost
    assert cost is not None
    assert 0.0 < cost.incurred_low <= truth <= cost.incurred_high  # type: ignore[operator]
