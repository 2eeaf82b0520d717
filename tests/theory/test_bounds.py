"""Bounds of the theorems against numbers worked out by hand, with plain logarithms and roots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evenhand.algorithms as published
from evenhand import Environment, EvenhandError, PerLane, Policy, compare
from evenhand.algorithms.registry import ALGORITHMS
from evenhand.delays import ByReward, Delay, Fixed, Geometric, PacketLoss, Uniform
from evenhand.environment.availability import Always, Independent, Logged
from evenhand.environment.rewards import Bernoulli, Gaussian, Table, Winners
from evenhand.feedback import Decreasing, Discounted
from evenhand.policy.hold import GeometricSize, PowerSize
from evenhand.policy.merit import Linear, Merit, Power, Threshold
from evenhand.simulation.measures import MEASURES
from evenhand.theory.baseline import baseline_of
from evenhand.theory.bounds import (
    ARS_UCB,
    any_fair_regret,
    ars_clw_regret,
    ars_exp3_doubling_regret,
    ars_exp3_regret,
    ars_ucb_constant,
    ars_ucb_regret,
    balancing_eta,
    critical_regret_lower,
    fang2022,
    fcts_d_regret,
    fcucb_d_regret,
    fucb_regret,
    hard_threshold_regret,
    hard_threshold_regret_gap_free,
    lfg_regret,
    linear_fairness_instances,
    max_violation_slopes,
    naive_epsilon,
    naive_regret,
    noncritical_regret_lower,
    op_fcts_d_regret,
    op_fcucb_d_regret,
    penalized_regret_lower,
    t_fucb_regret,
    tscsf_b_regret,
    ucb1_regret,
)

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

LN = math.log(1000)
CONSTANT = 1 + math.pi**2 / 3


def test_ucb1_regret() -> None:
    # Gaps 0, 0.5, 0.25: 8 ln T (2 + 4) + (1 + π²/3) 0.75.
    assert ucb1_regret(1000, [0.8, 0.3, 0.55]) == pytest.approx(48 * LN + CONSTANT * 0.75, rel=1e-12)
    # Two best arms add nothing.
    assert ucb1_regret(1000, [0.8, 0.8, 0.3]) == pytest.approx(16 * LN + CONSTANT * 0.5, rel=1e-12)
    assert ucb1_regret(1000, [0.5, 0.5]) == 0.0


@pytest.mark.parametrize("bound", [fucb_regret, t_fucb_regret])
def test_fucb_regret(bound: Callable[..., Any]) -> None:
    # Arm 2: 8 ln T/0.25 = 221 plays against 100 promised; arm 3: 8 ln T/0.0625 = 884 against 900 promised, so none.
    means, fractions = [0.8, 0.3, 0.55], [0.0, 0.1, 0.9]
    expected = 0.5 * (8 * LN / 0.25 - 100) + CONSTANT * 0.75
    assert bound(1000, means, fractions) == pytest.approx(expected, rel=1e-12)
    # A promise to the best arm changes nothing, and without promises it is UCB1's.
    assert bound(1000, means, [0.5, 0.0, 0.0]) == pytest.approx(float(ucb1_regret(1000, means)), rel=1e-12)
    assert bound(1000, [0.8, 0.3], 0.1) == pytest.approx(0.5 * (32 * LN - 100) + CONSTANT * 0.5, rel=1e-12)


def test_naive_regret() -> None:
    # K = 2, r = (0.2, 0.4): m = 0.4, r' = (0.4, 0.6); Δ = (0, 0.5); ε = 0.1, T = 1000, α = 2.
    exploring = 0.2 * 100 * 0.5
    mistaken = 0.4 * 1000 * math.sqrt(2 * LN / 200) * (1 / math.sqrt(0.4) + 1 / math.sqrt(0.4))
    rest = 2 * 0.4 / 1000
    found = naive_regret(1000, [0.8, 0.3], [0.2, 0.4])
    assert found == pytest.approx(exploring + mistaken + rest, rel=1e-12)
    # With ε = 0.4 and α = 3 the exploration costs four times as much, and the mistakes sqrt(3/8) of it.
    other = naive_regret(1000, [0.8, 0.3], [0.2, 0.4], epsilon=0.4, alpha=3.0)
    assert other == pytest.approx(4 * exploring + mistaken * math.sqrt(3 / 8) + 0.8 / 1000**2, rel=1e-12)
    # Where everything is promised nothing is left to lose.
    assert naive_regret(1000, [0.8, 0.3], [0.5, 0.5]) == pytest.approx(0.0, abs=1e-12)


def test_the_best_epsilon_of_naive() -> None:
    settings = 10**6, [0.8, 0.3, 0.6], [0.2, 0.4, 0.1]
    best = float(naive_epsilon(*settings))
    assert 0.0 < best < 1.0
    # The least of the bound over a fine grid, and the order of the theorem: T² ln T eight times as large, twice ε T.
    grid = np.linspace(0.5, 2.0, 3001) * best
    assert grid[np.argmin([naive_regret(*settings, epsilon=one) for one in grid])] == pytest.approx(best, rel=1e-3)
    orders = [float(t * naive_epsilon(t, *settings[1:]) / (t**2 * np.log(t)) ** (1 / 3)) for t in (10**5, 10**8)]
    assert orders[0] == pytest.approx(orders[1], rel=1e-12)
    # It explores in all rounds where nothing can be told apart.
    assert naive_epsilon(100, [0.5, 0.5], 0.1) == 1.0
    assert naive_epsilon(100, [0.5, 0.4999], 0.1) == 1.0


def test_any_fair_regret() -> None:
    assert any_fair_regret(100, [0.75, 0.5, 0.25], [0.25, 0.0, 0.25]) == pytest.approx(100 * 0.5 * 0.5, rel=1e-12)


def test_tscsf_b_regret() -> None:
    # K = 6, m = 3, T = 20000: sqrt(m K T ln T) = sqrt(18 · 20000 ln 20000).
    root = math.sqrt(18 * 20_000 * math.log(20_000))
    expected = 6 / (2 * 63.55) + (4 * root + 2.51 * 6) / 20_000
    assert tscsf_b_regret(20_000, 6, 3, 63.55) == pytest.approx(expected, rel=1e-12)
    without = (4 * root + 2.51 * 6) / 20_000
    assert tscsf_b_regret(20_000, 6, 3, math.inf) == pytest.approx(without, rel=1e-12)
    assert tscsf_b_regret(20_000, 6, 3, math.inf, weight=2.0) == pytest.approx(2 * without, rel=1e-12)


def test_lfg_regret() -> None:
    root = math.sqrt(6 * 18 * 20_000 * math.log(20_000))
    learning = (2 * root + 5.11 * 6) / 20_000
    assert lfg_regret(20_000, 6, 3, 10.0) == pytest.approx(0.3 + learning, rel=1e-12)
    assert lfg_regret(20_000, 6, 3, math.inf, weight=0.5) == pytest.approx(learning / 2, rel=1e-12)


def test_balancing_eta() -> None:
    assert balancing_eta(20_000, 6, 3) == pytest.approx(math.sqrt(6 * 20_000 / (3 * math.log(20_000))), rel=1e-12)
    # There both terms of TSCSF-B's bound have the order sqrt(m K T ln T)/T: K/(2η) is an eighth of the other.
    eta = balancing_eta(20_000, 6, 3)
    learning = 4 * math.sqrt(18 * 20_000 * math.log(20_000)) / 20_000
    assert 6 / (2 * eta) == pytest.approx(learning / 8, rel=1e-12)


def test_hard_threshold_regret() -> None:
    # Gaps 0, 0.1, 0.8 and A = 0.3: arm 2 is critical, arm 3 is not; τ = 0.01.
    means, log = [0.9, 0.8, 0.1], 8 * LN
    hopeless = max(min(log / 0.5, 0.5 * 0.01 * 1000), log / 0.8)
    printed = max(log / 0.1 - 10, 0)
    derived = max(log / 0.1 - 0.1 * 10, 0)
    assert hard_threshold_regret(1000, means, 0.01, 0.3) == pytest.approx(hopeless + printed, rel=1e-12)
    assert hard_threshold_regret(1000, means, 0.01, 0.3, printed=False) == pytest.approx(hopeless + derived, rel=1e-12)
    # With τ = 0.9 the promise exceeds what is learnt of arm 2 anyway, and arm 3's first term is 8 ln T/(Δ − A).
    assert hard_threshold_regret(1000, means, 0.9, 0.3) == pytest.approx(log / 0.5, rel=1e-12)
    # Penalties and fractions by arm; at A = Δ an arm is critical.
    found = hard_threshold_regret(1000, [0.9, 0.4], [0.0, 0.1], [0.0, 0.5])
    assert found == pytest.approx(max(log / 0.5 - 100, 0), rel=1e-12)


def test_max_violation_slopes() -> None:
    # A + μ = (1.2, 1.0, 0.5) and μ = (0.9, 0.8, 0.1); the third is non-critical, so that the theorem is silent.
    means, penalties = [0.9, 0.8, 0.1], [0.3, 0.2, 0.4]
    first = 1 / 0.2**2 + 1 / 0.7**2  # from the arms behind
    second = 1 / (1.0 - 0.9) ** 2 + 1 / 0.5**2  # from the mean ahead and the arm behind
    found = max_violation_slopes(means, penalties)
    assert found[0] == pytest.approx(8 * first, rel=1e-9)
    assert found[1] == pytest.approx(8 * (2 * first + second), rel=1e-9)
    assert math.isnan(found[2])
    # In the order of the arms, whatever the order of A + μ.
    turned = max_violation_slopes(means[::-1], penalties[::-1])
    np.testing.assert_allclose(turned[::-1], found, rtol=1e-12)


def test_max_violation_slopes_of_three_arms() -> None:
    # All critical: A = 1, μ = (0.9, 0.6, 0.5); the sum of (13) with weights 1, then 2 and 1, then 3, 2 and 1.
    mean, bonus = [0.9, 0.6, 0.5], [1.9, 1.6, 1.5]
    terms = []
    for d in range(3):
        ahead = sum(1 / (bonus[d] - mean[m]) ** 2 for m in range(d))
        behind = sum(1 / (bonus[d] - bonus[m]) ** 2 for m in range(d + 1, 3))
        terms.append(ahead + behind)
    expected = [8 * sum((j - d + 1) * terms[d] for d in range(j + 1)) for j in range(3)]
    np.testing.assert_allclose(max_violation_slopes(mean, 1.0), expected, rtol=1e-9)


def test_max_violation_slopes_are_infinite_where_arms_tie() -> None:
    assert max_violation_slopes([0.5, 0.5], 0.2).tolist() == [math.inf, math.inf]


def test_hard_threshold_regret_gap_free() -> None:
    scale = math.sqrt(1000 * LN)
    expected = 8 * scale * (math.sqrt(0.1) + math.sqrt(0.3)) + 8 * math.sqrt(0.9 * 2) * scale + math.sqrt(2) * scale
    assert hard_threshold_regret_gap_free(1000, [0.1, 0.3]) == pytest.approx(expected, rel=1e-12)
    without = expected - math.sqrt(2) * scale
    assert hard_threshold_regret_gap_free(1000, [0.1, 0.3], constant=0.0) == pytest.approx(without, rel=1e-12)


def test_penalized_regret_lower() -> None:
    assert penalized_regret_lower(100, [0.1, 0.2, 0.1], constant=2.0) == pytest.approx(
        2 * 0.6 * math.sqrt(200), rel=1e-12
    )


# --- Wang et al. 2021 -------------------------------------------------------------------------------------------------


def test_wang_theorem_1() -> None:
    # Gaps 0, 0.5, 0.25: 8 α ln T (2 + 4) + c; a tie with the best arm costs nothing.
    assert ars_ucb_regret(1000, [0.8, 0.3, 0.55]) == pytest.approx(8 * 4 * 6 * LN, rel=1e-12)
    assert ars_ucb_regret(1000, [0.3, 0.8, 0.55, 0.8], exploration=5.0, constant=7.0) == pytest.approx(
        8 * 5 * 6 * LN + 7, rel=1e-12
    )
    assert ars_ucb_regret(1, [0.8, 0.3], constant=2.0) == 2.0
    with pytest.raises(EvenhandError, match=r"means\[1\] must be a finite number, got nan"):
        ars_ucb_regret(10, [0.5, math.nan])


@pytest.mark.parametrize(
    ("exploration", "late", "variance", "size", "expected"),
    [
        # k²: F = 1, 5, 14, 30, …, so k_0 = 3 and F(k_0) = 14. Nothing late: T* = 1 + 3 · 14.
        (5.0, 0.0, 0.0, None, 2 * 43 + 24 + 42),
        # α = 16: (4 d_1/2)² = 9 for d_1 = 1.5, and e^9 is the larger one.
        (16.0, 1.5, 0.0, None, 2 * math.exp(9.0) + 24 + 42),
        # α = 16, d_2 = 1/4: 3 k/F(k) ≤ 1 fails at k = 1 (3) and k = 2 (6/5), so N(d_2) = 5.
        (16.0, 0.0, 0.25, None, 2 * (math.exp(5 / 16) + 3 * (14 + 10)) + 24 + 42),
        # 2^k: F = 4, 8, 16, … is f(k + 1): k_0 = 0. 3 k/F(k) ≤ 1 always.
        (16.0, 0.0, 0.25, GeometricSize(0), 2 * 1 + 24),
        (4.0, 0.0, 0.0, None, math.inf),  # the paper's choice
        (16.0, 0.0, 0.0, lambda k: 3.0**k, math.inf),  # condition (ii)
        (5.0, 27.0, 5.0, None, math.inf),  # a delay of 0 to 60: beyond floats
    ],
)
def test_wang_constant(exploration: float, late: float, variance: float, size: Any, expected: float) -> None:
    assert ars_ucb_constant(3, exploration, late, variance, size) == pytest.approx(expected, rel=1e-12)


def test_condition_two_of_theorem_1_is_a_premise() -> None:
    world = Environment(Bernoulli(MEANS), feedback=Discounted(0.2))
    for size, others in ((PowerSize(2.0), []), (lambda k: 3.0**k, ["holds_at_most_double"])):
        policy = published.ars_ucb(size=size, exploration=16.0)
        found = [one.name for one in ARS_UCB.violated(policy, world, baseline_of(policy, world))]
        assert found == others
    as_chosen = published.ars_ucb()
    assert [one.name for one in ARS_UCB.violated(as_chosen, world, baseline_of(as_chosen, world))] == [
        "exploration_above_4"
    ]
    plain = published.ars_ucb(exploration=16.0)
    late, variance = 0.8 / (1 - 0.2), 0.2475 / (1 - 0.2**2)  # means 0.8, 0.3, 0.55: 0.55 · 0.45 is the largest variance
    constant = ars_ucb_constant(3, 16.0, late, variance)
    assert math.isfinite(constant)
    assert ARS_UCB.evaluate(plain, world, baseline_of(plain, world), 1000) == pytest.approx(
        8 * 16 * 6 * LN + constant, rel=1e-12
    )


def test_wang_theorem_1_holds() -> None:
    world, policy = Environment(Bernoulli(MEANS), feedback=Discounted(0.2)), published.ars_ucb(exploration=6.0)
    results = compare([policy], world, 3000, 10, 9, checkpoints=[100, 3000], progress=False)
    bound = ARS_UCB.evaluate(policy, world, baseline_of(policy, world), results.rounds)
    assert bound is not None
    assert (results.policies["ars_ucb"].curves["composite_regret"].mean(axis=-1) <= bound).all()


def test_wang_theorem_2() -> None:
    # β = 1/2: holds of 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, … rounds; 13 of them are 3 + 10 + 15 = 28 rounds, and 14 are 31.
    sizes = [1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4]
    rounds = 30
    complete = max(k for k in range(1, 17) if sum(sizes[:k]) <= rounds)
    root = math.sqrt(7 * complete * math.log(7))
    assert complete == 13
    assert ars_exp3_regret(rounds, 7, 10) == pytest.approx(3 * 3 * root + 2 * 10 * complete + 3, rel=1e-12)
    # β = 1: T = 10 is 1 + 2 + 3 + 4, so K = 4, and a round less K = 3.
    assert ars_exp3_regret(10, 2, 5.0, exponent=1.0) == pytest.approx(12 * math.sqrt(8 * math.log(2)) + 45, rel=1e-12)
    assert ars_exp3_regret(9, 2, 5.0, exponent=1.0) == pytest.approx(9 * math.sqrt(6 * math.log(2)) + 34, rel=1e-12)
    assert ars_exp3_regret(1, 1, 5.0) == 11.0


def test_the_phases_of_a_doubling_add_up() -> None:
    # T_1 = 10: 10, 20, 40 rounds cover 70; the 71st begins a phase of 80.
    each = [float(ars_exp3_regret(rounds, 3, 5)) for rounds in (10, 20, 40, 80)]
    assert ars_exp3_doubling_regret(70, 3, 5, first_horizon=10) == pytest.approx(sum(each[:3]), rel=1e-12)
    assert ars_exp3_doubling_regret(71, 3, 5, first_horizon=10) == pytest.approx(sum(each), rel=1e-12)
    # The promise of `ars_exp3_doubling`: 2.70 times what a known T costs, for a T that the phases fill.
    known = float(ars_exp3_regret(1000 * 1023, 3, 5))
    assert ars_exp3_doubling_regret(1000 * 1023, 3, 5) <= 2.71 * known


def test_wang_theorem_3() -> None:
    # T = 4000: h(8000) = 20 at x = 1/3, and h(d) takes d = 10 at T = 1000; at x = 1/2 and T = 5000, 100 and 100.
    root = math.sqrt(7 * math.log(7))
    assert ars_clw_regret(4000, 7, 10) == pytest.approx(math.sqrt(80_000) * root + 1000, rel=1e-12)
    assert ars_clw_regret(5000, 7, 10, exponent=0.5, constant=2.5) == pytest.approx(
        2.5 * (math.sqrt(500_000) * root + 100), rel=1e-12
    )


ROUNDS = np.array([10, 100, 1000])


@pytest.mark.parametrize(
    "bound",
    [
        lambda t: ucb1_regret(t, [0.8, 0.3, 0.55]),
        lambda t: fucb_regret(t, [0.8, 0.3, 0.55], [0.1, 0.1, 0.3]),
        lambda t: t_fucb_regret(t, [0.8, 0.3, 0.55], [0.1, 0.1, 0.3]),
        lambda t: naive_regret(t, [0.8, 0.3], [0.2, 0.4]),
        lambda t: naive_epsilon(t, [0.8, 0.3], [0.2, 0.4]),
        lambda t: any_fair_regret(t, [0.8, 0.3], [0.2, 0.4]),
        lambda t: tscsf_b_regret(t, 6, 3, 10.0),
        lambda t: lfg_regret(t, 6, 3, 10.0),
        lambda t: hard_threshold_regret(t, [0.9, 0.8, 0.1], 0.1, 0.3),
        lambda t: hard_threshold_regret_gap_free(t, [0.1, 0.3]),
        lambda t: penalized_regret_lower(t, [0.1, 0.3]),
        lambda t: noncritical_regret_lower(t, [0.9, 0.8, 0.1], 0.1, 0.3),
        lambda t: critical_regret_lower(t, [0.9, 0.8, 0.1], 0.1, 0.3),
        lambda t: ars_ucb_regret(t, [0.8, 0.3, 0.55]),
        lambda t: ars_exp3_regret(t, 7, 10),
        lambda t: ars_clw_regret(t, 7, 10),
    ],
)
def test_rounds_may_be_an_array(bound: Callable[[Any], Any]) -> None:
    found = bound(ROUNDS)
    assert found.shape == (3,)
    for place, rounds in enumerate(ROUNDS.tolist()):
        single = bound(rounds)
        assert np.ndim(single) == 0
        assert found[place] == pytest.approx(float(single), rel=1e-12)
    assert bound(ROUNDS.reshape(3, 1)).shape == (3, 1)


def test_means_are_checked() -> None:
    with pytest.raises(EvenhandError, match=r"means\[1\] must be a finite number, got nan"):
        ucb1_regret(10, [0.5, math.nan])
    with pytest.raises(EvenhandError, match=r"fractions\[0\] must be a number in \[0, 1\], got 1.5"):
        penalized_regret_lower(10, [1.5])


# --- which bound goes with which policy -------------------------------------------------------------------------------

MEANS, SHARES = [0.8, 0.3, 0.55], [0.05, 0.1, 0.2]
WORLD = Environment(Bernoulli(MEANS), fractions=SHARES, penalties=0.3)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "fractions": {"fractions": SHARES},
    "horizon": {"horizon": 1000},
    "eta": {"eta": 10.0},
    "penalties": {"penalties": 0.3},
    "pulls": {"pulls": 5},
    "delay": {"delay": 10},
    "discount": {"discount": 0.99},
    "window": {"window": 100},
    "merit": {"merit": Power()},
}
EXPECTED: dict[str, tuple[str, Any]] = {
    "ucb1": ("regret", ucb1_regret(ROUNDS, MEANS)),
    "fucb": ("r_regret", fucb_regret(ROUNDS, MEANS, SHARES)),
    # T-FUCB's theorem speaks of the horizon alone: before it the promised plays have been played ahead of time.
    "t_fucb": ("r_regret", [math.nan, math.nan, float(t_fucb_regret(ROUNDS[-1], MEANS, SHARES))]),
    # NAIVE's proof, too; a tenth of the rounds explores, and each arm may get a play more for the rounding.
    "naive": ("r_regret", [math.nan, math.nan, float(naive_regret(1000, MEANS, SHARES, 0.1)) + 0.5 + 0.25]),
    "tscsf_b": ("time_averaged_regret", tscsf_b_regret(ROUNDS, 3, 1, 10.0)),
    "lfg": ("time_averaged_regret", lfg_regret(ROUNDS, 3, 1, 10.0)),
    "hard_threshold_ucb": ("penalized_regret", hard_threshold_regret(ROUNDS, MEANS, SHARES, 0.3)),
}


def build(name: str, **more: Any) -> Policy:
    needed = ALGORITHMS[name].parameters
    return ALGORITHMS[name].build(**{k: v for n in needed for k, v in ARGUMENTS.get(n, {}).items()} | more)


def bound_of(name: str, policy: Policy, world: Environment = WORLD, rounds: Any = 1000) -> Any:
    """The bound of an algorithm's registry entry; None where it has none, or a premise does not hold."""
    bound = ALGORITHMS[name].bound
    return None if bound is None else bound.evaluate(policy, world, baseline_of(policy, world), rounds)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_bound_of_every_algorithm(name: str) -> None:
    bound = ALGORITHMS[name].bound
    assert (bound is not None) == (name in EXPECTED)
    if bound is not None:
        measure, expected = EXPECTED[name]
        assert bound.measure == measure
        assert measure in MEASURES
        np.testing.assert_allclose(bound_of(name, build(name), rounds=ROUNDS), expected, rtol=1e-12)


def test_every_algorithm_of_the_module_is_tried() -> None:
    assert {name for name in EXPECTED if hasattr(published, name)} == set(EXPECTED)
    assert set(EXPECTED) < set(ALGORITHMS)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_theorems_of_one_play_are_used_for_one_play_only(name: str) -> None:
    if "plays" not in ALGORITHMS[name].parameters:
        return
    found = bound_of(name, build(name, plays=2))
    several = {"tscsf_b": tscsf_b_regret(1000, 3, 2, 10.0), "lfg": lfg_regret(1000, 3, 2, 10.0)}
    if name in several:
        assert found == pytest.approx(float(several[name]), rel=1e-12)
    else:
        assert found is None


@pytest.mark.parametrize("arms", [3, 16])  # 16: more sets than are listed
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_theorems_of_arms_that_never_sleep_are_used_there_only(name: str, arms: int) -> None:
    shares = [0.02] * arms
    world = Environment(Bernoulli(np.linspace(0.2, 0.8, arms)), Independent(np.full(arms, 0.5)), penalties=0.3)
    own = {"fractions": shares} if "fractions" in ALGORITHMS[name].parameters else {}
    found = bound_of(name, build(name, **own), world)
    assert (found is not None) == (name in ("tscsf_b", "lfg"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
@pytest.mark.parametrize(
    ("world", "premise"),
    [
        (Environment(Gaussian(MEANS, 5.0), penalties=0.3), "bounded_rewards"),
        (Environment(Gaussian(MEANS, 0.1), penalties=0.3, reward_range=(-1.0, 2.0)), "bounded_rewards"),
        (Environment(Winners([0.5, 0.3, 0.2]), penalties=0.3), "bounded_rewards"),  # an adversary
        (Environment(Table(np.full((1000, 3), 0.5)), penalties=0.3), "bounded_rewards"),  # a log
        (Environment(Bernoulli(MEANS), feedback=Geometric(0.5), penalties=0.3), "immediate_feedback"),
        (Environment(Bernoulli(MEANS), feedback=PacketLoss(0.5), penalties=0.3), "immediate_feedback"),
        (Environment(Bernoulli(MEANS), feedback=Decreasing(2), penalties=0.3), "immediate_feedback"),
    ],
    ids=repr,
)
def test_bounds_are_not_drawn_where_rewards_or_feedback_are_others(name: str, world: Environment, premise: str) -> None:
    policy, bound = build(name), ALGORITHMS[name].bound
    assert bound is not None
    assert bound_of(name, policy, world) is None
    assert premise in [one.name for one in bound.violated(policy, world, baseline_of(policy, world))]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ucb1", {"exploration": 1.0}),
        ("fucb", {"exploration": 2.5}),
        ("fucb", {"tolerance": 3.0}),
        ("t_fucb", {"exploration": 0.5}),
        ("lfg", {"exploration": 2.0}),
        ("lfg", {"clip": False}),
        ("lfg", {"queue": "exact"}),
        ("tscsf_b", {"queue": "recursive"}),
        ("hard_threshold_ucb", {"exploration": 1.0}),
        ("lfg", {"eta": 0.0}),
        ("tscsf_b", {"eta": 0.0}),
    ],
)
def test_bounds_are_not_drawn_for_other_parameters(name: str, parameters: dict[str, Any]) -> None:
    assert bound_of(name, build(name)) is not None
    assert bound_of(name, build(name, **parameters)) is None


def test_a_log_of_availability_is_no_random_one() -> None:
    world = Environment(Bernoulli(MEANS), Logged(np.ones((1000, 3))))
    for name in ("tscsf_b", "lfg"):
        assert bound_of(name, build(name), world) is None
        assert bound_of(name, build(name), Environment(Bernoulli(MEANS), Independent([0.9, 1.0, 0.8]))) is not None


def test_bounds_are_explained() -> None:
    for name in EXPECTED:
        bound = ALGORITHMS[name].bound
        assert bound is not None
        assert bound.text.startswith(f"bounds {bound.measure}")
        assert bound.source in bound.text
        assert all(premise.sentence in bound.text for premise in bound.holds_if)
        assert len({premise.name for premise in bound.holds_if}) == len(bound.holds_if)


def test_the_largest_weight_counts() -> None:
    policy = published.tscsf_b(SHARES, eta=10.0, weights=[1.0, 3.0, 2.0])
    expected = float(tscsf_b_regret(1000, 3, 1, 10.0, weight=3.0))
    assert bound_of("tscsf_b", policy) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_means_that_differ_between_lanes_have_no_single_bound(name: str) -> None:
    world = Environment(Bernoulli(PerLane(np.array([MEANS, MEANS[::-1]]))), Always(), penalties=0.3)
    assert bound_of(name, build(name), world) is None


@pytest.mark.parametrize("name", ["fucb", "hard_threshold_ucb"])
def test_promises_that_differ_between_lanes_have_no_single_bound(name: str) -> None:
    assert bound_of(name, build(name, fractions=PerLane(np.array([SHARES, SHARES[::-1]])))) is None


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_bounds_hold(name: str) -> None:
    # The mean over lanes has to stay below the bound; five standard errors are granted to chance.
    policy, bound = build(name), ALGORITHMS[name].bound
    assert bound is not None
    results = compare([policy], WORLD, 1000, 50, 9, checkpoints=[10, 100, 1000], progress=False)
    values = bound_of(name, policy, rounds=results.rounds)
    curve = results.policies[name].curves[bound.measure]
    error = curve.std(axis=-1, ddof=1) / math.sqrt(50)
    stated = ~np.isnan(values)
    assert stated[-1]
    assert (curve.mean(axis=-1) - 5.0 * error <= values)[stated].all()


def test_where_weights_differ_ucb1s_bound_is_not_claimed() -> None:
    # UCB1 sees rewards without their weights, and then stays with an arm that weighs less.
    world = Environment(Bernoulli([0.5, 0.4]), weights=[1.0, 3.0])
    results = compare([published.ucb1()], world, 3000, 20, 9, checkpoints=1, progress=False)
    assert results.final()["ucb1"]["regret"]["mean"] > float(ucb1_regret(3000, [0.5, 1.2]))
    assert bound_of("ucb1", published.ucb1(), world, 3000) is None


# --- Chen et al. 2024 -------------------------------------------------------------------------------------------------
# K = 4 arms, m = 2 plays, T = 10 000, so that sqrt(T) = 100; M/λ = 8 for 1 + 2 μ⁴.

FOUR, MERIT = [0.25, 0.5, 0.75, 1.0], Power(2.0, 4.0)
THEOREMS = [fcucb_d_regret, fcts_d_regret, op_fcucb_d_regret, op_fcts_d_regret]


def both(theorem: Callable[..., Any], delay: Delay, merit: Merit = MERIT, **more: Any) -> list[float]:
    reward, fairness = theorem(10_000, FOUR, 2, merit, delay, **more)
    assert np.shape(reward) == np.shape(fairness) == ()
    return [float(reward), float(fairness)]


@pytest.mark.parametrize("theorem", [fcucb_d_regret, fcts_d_regret])
@pytest.mark.parametrize(
    ("delay", "reward"),
    [
        (Fixed(0), 4 * 100),  # K sqrt(T)/q + m d, at q = 1
        (Fixed(30), 4 * 100 + 2 * 30),
        (Fixed([1, 5, 70, 2]), 4 * 100 + 2 * 70),  # the largest of the arms' quantiles
        (Fixed(math.inf), math.inf),
        (PacketLoss(0.5), 4 * 100 / 0.5),  # 0 up to q = 1/2, never beyond
        (PacketLoss([0.5, 1.0, 0.25, 0.75]), 4 * 100 / 0.25),
        (PacketLoss(0.0), math.inf),
        # Rewards of 0, with a chance of 3/4 for the first arm, arrive at once, those of 1 after 500 rounds: q = 1 − μ
        # = 0 for the last arm, so nobody can do without waiting.
        (ByReward([[0, 500]]), 4 * 100 + 2 * 500),
        # Ones at once: 1/4 of the first arm's rewards, at a cost of 4 K sqrt(T), or all after 500 or 5000 rounds.
        (ByReward([[500, 0]]), 4 * 100 + 2 * 500),
        (ByReward([[5000, 0]]), 4 * 100 / 0.25),
    ],
    ids=repr,
)
def test_theorems_6_and_7(theorem: Callable[..., Any], delay: Delay, reward: float) -> None:
    # Fairness: M m/λ = 8 · 2 times as much.
    assert both(theorem, delay) == pytest.approx([reward, 16 * reward], rel=1e-12)
    assert both(theorem, delay, constant=2.5) == pytest.approx([2.5 * reward, 40 * reward], rel=1e-12)


@pytest.mark.parametrize(
    ("delay", "reward", "fairness"),
    [
        # m (1 − q) T + K d sqrt(T), and M m K/λ = 64 times (1 − q) T + d sqrt(T); d counts as 1 at least.
        (Fixed(0), 4 * 100, 64 * 100),
        (Fixed(1), 4 * 100, 64 * 100),
        (Fixed(30), 4 * 30 * 100, 64 * 30 * 100),
        (PacketLoss(0.5), 2 * 5000 + 4 * 100, 64 * (5000 + 100)),
        (PacketLoss([0.5, 1.0, 0.25, 0.75]), 2 * 7500 + 4 * 100, 64 * (7500 + 100)),
        (PacketLoss(0.0), math.inf, math.inf),
        (ByReward([[20, 0]]), 4 * 20 * 100, 64 * 20 * 100),  # 3/4 · T and 1 against 20: 15 400 against 8000
        (ByReward([[60, 0]]), 2 * 7500 + 4 * 100, 64 * 60 * 100),  # 15 400 against 24 000, 7600 against 6000
        (ByReward([[90, 0]]), 2 * 7500 + 4 * 100, 64 * 7600),
    ],
    ids=repr,
)
def test_theorem_8(delay: Delay, reward: float, fairness: float) -> None:
    assert both(op_fcucb_d_regret, delay) == pytest.approx([reward, fairness], rel=1e-12)
    assert both(op_fcucb_d_regret, delay, constant=2.5) == pytest.approx([2.5 * reward, 2.5 * fairness], rel=1e-12)


@pytest.mark.parametrize(
    ("delay", "inner"),
    [
        # (1 − q) T + d sqrt(T)/q, both times 64.
        (Fixed(0), 100),
        (Fixed(30), 30 * 100),
        (PacketLoss(0.5), 5000 + 100 / 0.5),
        (PacketLoss([0.5, 1.0, 0.25, 0.75]), 7500 + 100 / 0.25),
        (PacketLoss(0.0), math.inf),
        (ByReward([[70, 0]]), 70 * 100),  # against 7500 + 400
        (ByReward([[90, 0]]), 7900),
    ],
    ids=repr,
)
def test_theorem_9(delay: Delay, inner: float) -> None:
    assert both(op_fcts_d_regret, delay) == pytest.approx([64 * inner] * 2, rel=1e-12)
    assert both(op_fcts_d_regret, delay, constant=2.5) == pytest.approx([160 * inner] * 2, rel=1e-12)


def test_the_best_quantile_is_found() -> None:
    # On 0, …, 99 the q-quantile is 100 q − 1: a minimum over the hundred q at which it grows.
    steps = [(d + 1) / 100 for d in range(100)]
    delay = Uniform(0, 99)
    reward = min(4 * 100 / q + 2 * d for d, q in enumerate(steps))
    assert both(fcucb_d_regret, delay) == pytest.approx([reward, 16 * reward], rel=1e-12)
    late = [(1 - q, max(d, 1), q) for d, q in enumerate(steps)]
    lost = min(2 * 10_000 * missed + 4 * 100 * d for missed, d, _ in late)
    unfair = 64 * min(10_000 * missed + 100 * d for missed, d, _ in late)
    assert both(op_fcucb_d_regret, delay) == pytest.approx([lost, unfair], rel=1e-12)
    drawn = 64 * min(10_000 * missed + 100 * d / q for missed, d, q in late)
    assert both(op_fcts_d_regret, delay) == pytest.approx([drawn] * 2, rel=1e-12)
    # Neither end: with T = 400 a middle quantile is best for Theorem 6.
    found = [4 * 20 / q + 2 * d for d, q in enumerate(steps)]
    assert 0 < found.index(min(found)) < 99
    assert float(fcucb_d_regret(400, FOUR, 2, MERIT, delay)[0]) == pytest.approx(min(found), rel=1e-12)


def test_a_grid_of_quantiles_is_near_the_best_one() -> None:
    # Geometric: d(q) ≤ d up to q = 1 − 0.95^d. The next lower of the 200 levels costs at most 1/(200 q − 1) more.
    for rounds in (100, 10_000, 1_000_000):
        root = math.sqrt(rounds)
        levels = [(d, 1 - 0.95**d) for d in range(1, 2000)]
        best, q = min((4 * root / q + 2 * d, q) for d, q in levels)
        found = float(fcucb_d_regret(rounds, FOUR, 2, MERIT, Geometric(0.05))[0])
        assert best * (1 - 1e-12) <= found <= best * (1 + 1 / (200 * q - 1))


def test_the_merit_enters_the_fairness_regret_by_its_slope_and_minimum() -> None:
    # f = 3 − μ: M = 1, λ = 2.
    assert both(fcucb_d_regret, Fixed(0), Linear(-1.0, 3.0)) == pytest.approx([400, 0.5 * 2 * 400])
    assert both(op_fcucb_d_regret, Fixed(0), Linear(-1.0, 3.0)) == pytest.approx([400, 0.5 * 8 * 100])
    assert both(op_fcts_d_regret, Fixed(0), Linear(-1.0, 3.0)) == pytest.approx([0.5 * 8 * 100] * 2)
    # A jump has no slope: nothing is said of fairness.
    assert both(fcucb_d_regret, Fixed(0), Threshold()) == pytest.approx([400, math.inf])
    assert both(op_fcts_d_regret, Fixed(0), Threshold()) == [math.inf, math.inf]


@pytest.mark.parametrize("theorem", THEOREMS)
def test_rounds_may_be_an_array_there_too(theorem: Callable[..., Any]) -> None:
    delay = Uniform(0, 99)
    for kind, found in enumerate(theorem(ROUNDS.reshape(3, 1), FOUR, 2, MERIT, delay)):
        assert found.shape == (3, 1)
        for place, rounds in enumerate(ROUNDS.tolist()):
            alone = theorem(rounds, FOUR, 2, MERIT, delay)[kind]
            assert found[place, 0] == pytest.approx(float(alone), rel=1e-12)


@pytest.mark.parametrize("theorem", THEOREMS)
def test_means_must_be_chances_there(theorem: Callable[..., Any]) -> None:
    with pytest.raises(EvenhandError, match=r"^means\[1\] must be a number in \[0, 1\], got 1\.5$"):
        theorem(10, [0.5, 1.5], 1, MERIT, Fixed(0))


@pytest.mark.parametrize("without", ["minimum", "lipschitz"])
@pytest.mark.parametrize("rounds", [100, 400])
def test_without_the_assumptions_fairness_regret_is_linear(without: str, rounds: int) -> None:
    *instances, least = linear_fairness_instances(rounds, without)
    assert least == pytest.approx({"minimum": 4 / 63, "lipschitz": 1 / 30}[without] * rounds)
    # Shares of the first instance: 6/7, 4/7, 4/7 and, with T η = 1/2, 2 · 2/5, 2 · 1.5/5, 2 · 1.5/5; of the second 2/3.
    merits = [instance.merit(instance.means) for instance in instances]
    expected = {"minimum": [6 / 7, 4 / 7, 4 / 7], "lipschitz": [0.8, 0.6, 0.6]}[without]
    np.testing.assert_allclose(2.0 * merits[0] / merits[0].sum(), expected, rtol=1e-5)
    np.testing.assert_allclose(2.0 * merits[1] / merits[1].sum(), [2 / 3] * 3)
    total = np.zeros((2, 20))
    for instance in instances:
        policies = [
            published.fcts_d(instance.merit, cap=True, plays=2),
            published.fcucb_d(instance.merit, horizon=rounds, cap=True, plays=2),
        ]
        world = Environment(Bernoulli(instance.means), merit=instance.merit)
        results = compare(policies, world, rounds, 20, 4, checkpoints=1, progress=False)
        total += [results.policies[name].curves["fairness_regret"][-1] for name in ("fcts_d", "fcucb_d")]
    assert (total.mean(axis=1) >= least).all()


def test_the_missing_assumption_is_one_of_two() -> None:
    with pytest.raises(EvenhandError, match=r"^without must be .*, got 'both'$"):
        linear_fairness_instances(10, "both")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": 0}, "rounds must be numbers of at least 1, got 0"),
        ({"rounds": [10, "x"]}, "rounds must be numbers of at least 1, got [10, 'x']"),
        ({"rounds": 10**400}, "rounds must be numbers of at least 1, got 1000"),
        ({"fractions": [0.1, 0.1, 0.1]}, "fractions has 3 entries, but there are 2 arms"),
        ({"fractions": 1.5}, "fractions must be a number in [0, 1], got 1.5"),
        ({"penalties": [0.1, -0.2]}, "penalties[1] must be a number of at least 0, got -0.2"),
    ],
)
def test_bounds_refuse_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"rounds": 1000, "means": [0.9, 0.5], "fractions": 0.1, "penalties": 0.3}
    with pytest.raises(EvenhandError) as caught:
        fang2022.hard_threshold_regret(**(given | arguments))
    assert str(caught.value).startswith(message)
