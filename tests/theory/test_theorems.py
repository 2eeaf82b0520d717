"""The papers' theorems, tested numerically.

A bound holds for expectations; measured are means over lanes, which stay below it with four standard errors to spare.
Beside a bound stands a policy that breaks it: what no policy could break would prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attrs import frozen

from evenhand import Environment, PerLane, Policy, simulate
from evenhand.algorithms import (
    ars_fucb,
    ars_ucb,
    cucb_d,
    exp3,
    f_ts,
    fair_learn,
    fair_random,
    fcts_d,
    fcucb_d,
    fucb,
    hard_threshold_ucb,
    lfg,
    mp_ts_d,
    naive,
    naive_quotas,
    op_fcts_d,
    op_fcucb_d,
    soft_threshold_ucb,
    t_fucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.core.state import Array, Observation, State
from evenhand.delays import ByReward, Delay, Geometric, PacketLoss
from evenhand.environment.availability import Always, Independent
from evenhand.environment.rewards import Bernoulli, Winners
from evenhand.feedback import (
    AnonymousFeedback,
    Bounded,
    Decreasing,
    Discounted,
    Increasing,
    Kernel,
    NonOblivious,
    Polynomial,
    RandomDelay,
)
from evenhand.policy.fairness import DeficitFirst, GuaranteedShares, MeritShares
from evenhand.policy.index import EmpiricalMean, Index
from evenhand.policy.merit import Linear, Power
from evenhand.policy.selection import Categorical
from evenhand.simulation.tables import PolicyResult
from evenhand.theory import bounds
from evenhand.theory.growth import growth_exponent
from evenhand.theory.oracle import fair_shares

ERRORS = 4.0  # standard errors: a mean is off by more with a chance below 1e-4
MEANS = [0.9, 0.5, 0.2]
WORLD = Environment(Bernoulli(MEANS))
CHECKPOINTS = [50, 200, 1000, 5000]


def run(
    policy: Policy, environment: Environment, checkpoints: Sequence[int], lanes: int = 200, seed: int = 1
) -> PolicyResult:
    results = simulate(policy, environment, max(checkpoints), lanes, seed, checkpoints=checkpoints)
    return next(iter(results.policies.values()))


def mean_and_error(values: Any) -> tuple[Array, Array]:
    """Mean over lanes and its standard error; the lanes are the last axis."""
    return np.mean(values, axis=-1), np.std(values, axis=-1, ddof=1) / math.sqrt(np.shape(values)[-1])


def highest(policy: Policy, environment: Environment, measure: str, checkpoints: Sequence[int] = CHECKPOINTS) -> Array:
    """The measure's mean at the checkpoints, and four standard errors more."""
    mean, error = mean_and_error(run(policy, environment, checkpoints).curves[measure])
    return mean + ERRORS * error


def lowest(policy: Policy, environment: Environment, measure: str, checkpoints: Sequence[int] = CHECKPOINTS) -> Array:
    """The measure's mean at the checkpoints, and four standard errors less."""
    mean, error = mean_and_error(run(policy, environment, checkpoints).curves[measure])
    return mean - ERRORS * error


@frozen
class Known(Index):
    """An index that is given, whatever happens."""

    values: tuple[float, ...]

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        return np.broadcast_to(np.array(self.values), state.tally.pulls.shape)


# --- Patil et al. 2019, Theorem 4: never a whole play behind ---------------------------------------------------------

EQUAL = [(2, 0.49), (2, 0.07), (3, 1 / 3 - 1e-6), (5, 0.19), (5, 0.04), (10, 0.0999), (10, 0.07)]


def equal_shares(arms: int, r: float) -> tuple[dict[str, Policy], Environment]:
    """Policies that mimic FUCB while anybody is owed, whatever they do otherwise; the theorem is about them all."""
    shares: Any = [r] * arms
    always_the_last = Known(tuple(float(arm) for arm in range(arms)))
    policies = {
        "fucb": fucb(shares),
        "f_ts": f_ts(shares),
        "greedy": Policy(EmpiricalMean(), DeficitFirst(shares)),
        "always the last": Policy(always_the_last, DeficitFirst(shares)),
    }
    return policies, Environment(Bernoulli(np.linspace(0.9, 0.1, arms)))


@pytest.mark.covering
@pytest.mark.parametrize(("arms", "r"), EQUAL)
@pytest.mark.parametrize("name", ["fucb", "f_ts", "greedy", "always the last"])
def test_with_equal_shares_nobody_is_a_play_behind(name: str, arms: int, r: float) -> None:
    # The proof shows r t − N < K r < 1 in every round of every run; a billionth is left to rounding.
    policies, environment = equal_shares(arms, r)
    behind = run(policies[name], environment, [400], lanes=20).curves["max_violation"]
    assert (behind < arms * r + 1e-9).all()
    assert (behind < 1.0).all()


@pytest.mark.covering
@pytest.mark.parametrize("shares", [[0.24, 0.0, 0.24, 0.0], [0.45, 0.0, 0.45, 0.0], [0.0, 0.3, 0.3, 0.3], [0.0, 0.9]])
@pytest.mark.parametrize("build", [fucb, f_ts])
def test_some_shares_may_be_zero(build: Any, shares: list[float]) -> None:
    # The paper's footnote 8.
    environment = Environment(Bernoulli(np.linspace(0.9, 0.1, len(shares))))
    assert (run(build(shares), environment, [400], lanes=20).curves["max_violation"] < 1.0).all()


def test_the_promise_needs_the_deficits_to_go_first() -> None:
    environment = Environment(Bernoulli([0.9, 0.5, 0.1]))
    for policy in (fair_learn([0.3] * 3, tolerance=1.0), lfg([0.3] * 3, eta=20.0), fair_random([0.3] * 3)):
        assert run(policy, environment, [400], lanes=20).curves["max_violation"].max() > 1.0


# --- Patil et al. 2019, Theorems 1, 2, 3, 5 and 7: regret ------------------------------------------------------------

SHARES = [
    *(pytest.param(one, marks=pytest.mark.slow) for one in ([0.0, 0.0, 0.0], [0.05, 0.05, 0.05])),
    *([0.07, 0.0, 0.24], [0.3, 0.3, 0.3]),
]


def test_theorem_7_bounds_the_regret_of_ucb1() -> None:
    bound = bounds.ucb1_regret(CHECKPOINTS, MEANS)
    assert (highest(ucb1(), WORLD, "regret") < bound).all()
    assert lowest(fair_random([0.0] * 3), WORLD, "regret")[-1] > bound[-1]


@pytest.mark.parametrize("shares", SHARES)
def test_theorem_3_bounds_the_r_regret_of_fucb(shares: list[float]) -> None:
    bound = bounds.fucb_regret(CHECKPOINTS, MEANS, shares)
    assert (highest(fucb(shares), WORLD, "r_regret") < bound).all()
    assert lowest(fair_random(shares), WORLD, "r_regret")[-1] > bound[-1]


@pytest.mark.parametrize("shares", SHARES)
def test_theorem_2_bounds_the_r_regret_of_t_fucb(shares: list[float]) -> None:
    for horizon in CHECKPOINTS:
        found = highest(t_fucb(shares, horizon=horizon), WORLD, "r_regret", [horizon])
        assert found[0] < bounds.t_fucb_regret(horizon, MEANS, shares)
    assert lowest(fair_random(shares), WORLD, "r_regret")[-1] > bounds.t_fucb_regret(5000, MEANS, shares)


@pytest.mark.slow
@pytest.mark.parametrize("shares", SHARES)
def test_the_proof_of_theorem_1_bounds_the_r_regret_of_naive(shares: list[float]) -> None:
    # Rounding the exploration may add a play of each arm, with a gap of 0.4 or 0.7.
    for horizon in (1000, 5000):
        bound = bounds.naive_regret(horizon, MEANS, shares, epsilon=0.2) + 0.4 + 0.7
        policy = naive(shares, horizon=horizon, epsilon=0.2)
        assert highest(policy, WORLD, "r_regret", [horizon])[0] < bound
    # The worst of the fair policies, whose regret theorem 5 gives, breaks it.
    assert bounds.any_fair_regret(5000, MEANS, shares) > bound


@pytest.mark.slow
@pytest.mark.parametrize("shares", SHARES)
def test_theorem_5_bounds_the_r_regret_of_every_fair_policy(shares: list[float]) -> None:
    # FUCB and F-TS owe up to a play per arm, which costs them at most the sum of the gaps.
    bound = bounds.any_fair_regret(2000, MEANS, shares)
    for policy in (fair_random(shares), naive(shares, horizon=2000), t_fucb(shares, horizon=2000)):
        assert highest(policy, WORLD, "r_regret", [2000])[0] < bound
    for policy in (fucb(shares), f_ts(shares)):
        assert highest(policy, WORLD, "r_regret", [2000])[0] < bound + 0.4 + 0.7


@pytest.mark.parametrize("shares", SHARES)
def test_theorem_5_is_tight(shares: list[float]) -> None:
    # Whoever keeps the shares and gives the rest to the worst arm has exactly that regret.
    worst = Policy(Known((0.0, 0.0, 1.0)), GuaranteedShares(np.array(shares), "best"), Categorical())
    mean, error = mean_and_error(run(worst, WORLD, [2000]).curves["r_regret"])
    assert abs(mean[0] - bounds.any_fair_regret(2000, MEANS, shares)) <= ERRORS * error[0] + 1e-9


# --- Patil et al. 2019, sections 3.1 and 4: promises in expectation --------------------------------------------------


def test_the_fair_random_policy_plays_its_shares() -> None:
    # N is binomial with p = r + (1 − Σr)/K.
    shares, rounds, lanes = np.array([0.3, 0.1, 0.0]), 500, 400
    pulls = run(fair_random(shares), WORLD, [rounds], lanes).pulls[-1]
    p = shares + 0.6 / 3
    assert (np.abs(pulls.mean(axis=0) - p * rounds) < ERRORS * np.sqrt(p * (1 - p) * rounds / lanes)).all()


@pytest.mark.covering
@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("horizon", [37, 300])
def test_naive_keeps_its_shares_in_expectation(shares: list[float], horizon: int) -> None:
    for epsilon in (0.0, 0.1, 0.5):
        policy = naive(shares, horizon=horizon, epsilon=epsilon)
        mean, error = mean_and_error(run(policy, WORLD, [horizon]).pulls[-1].T)
        assert (mean + ERRORS * error + 1e-9 >= np.array(shares) * horizon).all()


def test_naive_plays_what_is_not_best_exactly_as_promised() -> None:
    # Rewards without noise: arm 1 is surely found, and the others play n + r (T − Σn) times, a binomial part of it.
    shares, horizon, lanes = np.array([0.2, 0.1, 0.3]), 200, 400
    quotas = naive_quotas(shares, horizon)
    rest = horizon - quotas.sum()
    pulls = run(naive(shares, horizon=horizon), Environment(Bernoulli([0.0, 1.0, 0.0])), [horizon], lanes).pulls[-1]
    p = shares + np.array([0.0, 0.4, 0.0])
    expected = quotas + p * rest
    assert (np.abs(pulls.mean(axis=0) - expected) < ERRORS * np.sqrt(p * (1 - p) * rest / lanes)).all()


# --- Huang et al. 2020 -----------------------------------------------------------------------------------------------

H1 = Environment(Bernoulli([0.4, 0.5, 0.7]), Independent([0.9, 0.8, 0.7]))
H1_SHARES = [0.5, 0.6, 0.4]
H2 = Environment(Bernoulli([0.52, 0.51, 0.49, 0.48, 0.7, 0.8]), Independent([0.7, 0.6, 0.7, 0.8, 0.7, 0.6]))
H2_SHARES = [0.4, 0.45, 0.3, 0.45, 0.3, 0.4]
PAIR = Environment(Bernoulli([0.9, 0.1]))


def test_theorem_2_and_the_bound_of_lfg_in_the_second_setting() -> None:
    # With 6 arms and 3 plays no policy's regret comes near the bounds in so few rounds; what they exclude is tested
    # with two arms below. Beyond the bounds: regret falls as the rounds go on.
    checkpoints = [100, 1000, 4000]
    eta = 63.55
    for policy, bound in ((tscsf_b, bounds.tscsf_b_regret), (lfg, bounds.lfg_regret)):
        mean, error = mean_and_error(
            run(policy(H2_SHARES, eta=eta, plays=3), H2, checkpoints, 60).curves["time_averaged_regret"]
        )
        assert (mean + ERRORS * error < bound(checkpoints, 6, 3, eta)).all()
        assert (mean[:-1] - mean[1:] > ERRORS * np.hypot(error[:-1], error[1:])).all()


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("build", [tscsf_b, lfg])
@pytest.mark.parametrize(("shares", "eta"), [([0.0, 0.0], 1000.0), ([0.2, 0.3], 50.0)])
def test_theorem_2_and_the_bound_of_lfg_with_two_arms(build: Any, shares: list[float], eta: float) -> None:
    bound = {tscsf_b: bounds.tscsf_b_regret, lfg: bounds.lfg_regret}[build]
    rounds = [100, 1000, 10_000]
    measure = "time_averaged_regret"
    assert (highest(build(shares, eta=eta), PAIR, measure, rounds) < bound(rounds, 2, 1, eta)).all()
    # Whoever always plays the worse arm loses 0.8 a round more than the best, less what is promised.
    careless = Policy(Known((0.0, 1.0)), GuaranteedShares(np.array(shares)), Categorical())
    assert lowest(careless, PAIR, measure, rounds)[-1] > bound(10_000, 2, 1, eta)


@pytest.mark.covering
@pytest.mark.parametrize("queue", ["exact", "recursive"])
@pytest.mark.parametrize("build", [tscsf_b, lfg])
@pytest.mark.parametrize(
    ("environment", "shares", "plays", "eta"), [(H1, H1_SHARES, 2, 10.0), (H2, H2_SHARES, 3, 20.0)], ids=["H1", "H2"]
)
def test_theorem_1_the_shares_are_reached(
    environment: Environment, shares: list[float], plays: int, eta: float, build: Any, queue: str
) -> None:
    # The queues are stable: once they have filled up, the shares of the following rounds are kept on average.
    policy = build(shares, eta=eta, queue=queue, plays=plays)
    half, end = run(policy, environment, [3000, 6000], lanes=60).pulls
    mean, error = mean_and_error((end - half).T / 3000)
    assert (mean + ERRORS * error >= shares).all()


def test_without_a_queue_shares_are_not_reached() -> None:
    for policy in (thompson(plays=2), tscsf_b(H1_SHARES, eta=math.inf, plays=2)):
        half, end = run(policy, H1, [1500, 3000], lanes=60).pulls
        mean, error = mean_and_error((end - half).T / 1500)
        assert (mean + ERRORS * error < H1_SHARES).any()


# --- Fang et al. 2022 ------------------------------------------------------------------------------------------------


def allowance(means: list[float], fractions: list[float], penalties: list[float]) -> float:
    """The O(K) of Theorem 4.2 (d), for equal fractions.

    Parts (b) and (c) leave to each suboptimal arm the 1 + π²/3 plays that Auer et al.'s proof cannot exclude, at the
    price of its gap. Part (a): once the bounds are settled an optimal or critical arm is less than a play behind, as in
    Patil et al.'s Theorem 4, but for an event of probability 2K/T, in which it misses at most its τ T.
    """
    top, arms = max(means), len(means)
    excess = sum(top - mean for mean in means) * (1.0 + math.pi**2 / 3.0)
    kept = [(tau, price) for mean, tau, price in zip(means, fractions, penalties, strict=True) if price >= top - mean]
    return excess + sum(price * (1.0 + 2.0 * arms * tau) for tau, price in kept)


PENALISED: list[tuple[list[float], list[float], list[float]]] = [
    # Optimal, critical (Δ = 0.1 < A) and non-critical (Δ = 0.49, A = 0.4: within (i) and (ii) from T = 20 000 on).
    ([0.9, 0.8, 0.41], [0.2] * 3, [0.5, 0.5, 0.4]),
    # Critical arms only.
    ([0.9, 0.8, 0.7], [0.2] * 3, [0.5] * 3),
    # Without penalties: Auer et al.'s bound.
    ([0.9, 0.5, 0.3], [0.2] * 3, [0.0] * 3),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("means", "fractions", "penalties"),
    [PENALISED[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in PENALISED[1:])],
)
def test_theorem_4_2_bounds_the_penalised_regret(
    means: list[float], fractions: list[float], penalties: list[float]
) -> None:
    environment = Environment(Bernoulli(means))
    policy = hard_threshold_ucb(fractions, penalties=penalties)
    rounds = [2000, 20_000]
    bound = bounds.hard_threshold_regret(rounds, means, fractions, penalties, printed=False)
    bound += allowance(means, fractions, penalties)
    assert (highest(policy, environment, "penalized_regret", rounds) < bound).all()
    # A policy that learns nothing breaks it.
    judged = Environment(Bernoulli(means), fractions=fractions, penalties=penalties)
    assert lowest(fair_random([0.0] * 3), judged, "penalized_regret", rounds)[-1] > bound[-1]


def test_the_last_term_of_theorem_4_2_as_printed_does_not_hold() -> None:
    # One optimal and one critical arm, Δ = 0.1, T = 20 000: 8 ln T/Δ = 792 is less than τ T = 800, so that nothing but
    # O(K) is left of the printed bound, while part (b) allows 8 ln T/Δ² = 7922 plays.
    means, fractions, penalties = [0.9, 0.8], [0.04, 0.04], [0.5, 0.5]
    policy, environment = hard_threshold_ucb(fractions, penalties=penalties), Environment(Bernoulli(means))
    found = lowest(policy, environment, "penalized_regret", [20_000])[0]
    allowed = allowance(means, fractions, penalties)
    printed, mended = (
        bounds.hard_threshold_regret(20_000, means, fractions, penalties, printed=printed) for printed in (True, False)
    )
    assert printed == 0.0
    assert printed + allowed < found < mended + allowed


DOUBLINGS = [200 * 2**k for k in range(7)]


def growth(policy: Policy, means: list[float]) -> tuple[Array, Array]:
    """By how much the largest violation grows with each doubling of the rounds: mean and standard error."""
    worst = run(policy, Environment(Bernoulli(means)), DOUBLINGS, lanes=100).curves["max_violation"]
    return mean_and_error(np.diff(worst, axis=0))


@pytest.mark.parametrize(
    ("means", "fractions", "price"),
    [([0.9, 0.75, 0.6], [0.25] * 3, 0.5), ([0.9, 0.8, 0.7, 0.6], [0.24] * 4, 0.4), ([0.9, 0.6], [0.3, 0.45], 0.4)],
)
def test_theorem_4_3_the_largest_violation_grows_no_faster_than_the_logarithm(
    means: list[float], fractions: list[float], price: float
) -> None:
    # The slopes of eq. (13) are in the hundreds and thousands, far above anything seen, so the inequality itself says
    # little; its order says that a doubling of the rounds adds no more late than early. All arms are critical here.
    slopes = bounds.max_violation_slopes(means, price)
    assert np.isfinite(slopes).all()
    mean, error = growth(hard_threshold_ucb(fractions, penalties=price), means)
    assert (mean[1:] <= mean[0] + ERRORS * np.hypot(error[1:], error[0])).all()
    assert (mean < slopes.max() * math.log(2.0)).all()


def test_theorem_4_3_is_about_hard_thresholds_and_arms_worth_their_price() -> None:
    # What grows in proportion to the rounds doubles with every doubling: four more of them make it 16 times as much.
    means, fractions = [0.9, 0.75, 0.6], [0.25] * 3
    for policy in (
        soft_threshold_ucb(fractions, penalties=0.5),
        hard_threshold_ucb(fractions, penalties=[0.5, 0.5, 0.1]),
    ):
        mean, error = growth(policy, means)
        assert mean[-1] - ERRORS * error[-1] > 8.0 * mean[-5]


# --- Shares under anonymous sums: ours -------------------------------------------------------------------------------
# Let D_i = r_i t − N_i, M_j the largest mean of j of them, R_j the sum of the j largest shares, and H what the longest
# choice so far lasts. Where somebody is owed, the arm c with the largest D plays for L ≤ H steps. If c is one of the j
# arms with the largest mean afterwards, their sum has not grown, as Σ r ≤ 1; if not, their mean before was at most
# M_(j+1), as c was ahead of them all, and it grew by at most H R_j/j. Where nobody is owed (D ≤ α), it grows from α by
# at most as much. And M_K ≤ 0. So at every step r_i t − N_i ≤ α + H Σ_(j=1)^(K−1) R_j/j.

SPREADS: dict[str, AnonymousFeedback] = {
    "random": RandomDelay(0, 60),
    "bounded": Bounded(10, 20),
    "decreasing": Decreasing(50),
    "increasing": Increasing(50),
    "discounted": Discounted(0.9),
    "polynomial": Polynomial(2.0),
    "kernel": Kernel([0.1, 0.0, 0.5, 0.4]),
    "non-oblivious": NonOblivious(10),
}


def behind(
    policy: Policy, shares: Sequence[float], spread: AnonymousFeedback, steps: int = 1000, lanes: int = 5
) -> tuple[Array, Array]:
    """``max_i r_i t − N_i`` and ``H Σ R_j/j`` at every step of every lane; sizes are squares."""
    r, arms = np.array(shares), len(shares)
    environment = Environment(Bernoulli(np.linspace(0.9, 0.1, arms)), feedback=spread)
    world, rng = environment.start(steps, lanes, np.random.SeedSequence(1)), np.random.default_rng(2)
    factor = sum(sorted(shares, reverse=True)[i] / j for j in range(1, arms) for i in range(j))
    state, owed, allowed = policy.start(arms, lanes), [], []
    for t in range(1, steps + 1):
        policy.observe(state, world.step(policy.decide(state, world.observe(), rng)).feedback, rng)
        owed.append((r * t - state.tally.pulls).max(axis=-1))
        allowed.append(state.hold.times.max(axis=-1) ** 2 * factor)
    return np.array(owed), np.array(allowed)


@pytest.mark.covering
@pytest.mark.parametrize("shares", [[0.49, 0.49], [0.3] * 3, [0.5, 0.3, 0.1, 0.05], [0.19] * 5], ids=str)
@pytest.mark.parametrize("spread", SPREADS.values(), ids=list(SPREADS))
def test_nobody_is_further_behind_than_holds_last(spread: AnonymousFeedback, shares: list[float]) -> None:
    for tolerance in (0.0, 5.0):
        owed, allowed = behind(ars_fucb(shares, tolerance=tolerance), shares, spread)
        assert (owed <= tolerance + allowed + 1e-9).all()


def test_what_holds_last_is_reached() -> None:
    # Five equal shares: after four steps the fifth arm is owed 4 · 0.19, with H = 1 and Σ R_j/j = 4 · 0.19.
    owed, allowed = behind(ars_fucb([0.19] * 5), [0.19] * 5, Discounted(0.9))
    assert owed[3] == pytest.approx(allowed[3])
    assert allowed[3] == pytest.approx(0.76)


def test_without_the_promise_arms_fall_further_behind() -> None:
    owed, allowed = behind(ars_ucb(), [0.3] * 3, Discounted(0.9), steps=3000)
    assert (owed[-1] > allowed[-1]).all()


def test_the_promised_share_is_reached_in_the_long_run() -> None:
    # Sizes k² make H of the order t^(2/3), so what is missing of a share goes to 0.
    owed, allowed = behind(ars_fucb([0.3] * 3), [0.3] * 3, RandomDelay(0, 60), steps=8000, lanes=2)
    assert (allowed[-1] / 8000 < 0.6 * allowed[999] / 1000).all()
    assert (np.maximum(owed[-4000:], 0.0).max(axis=0) <= allowed[-1]).all()


# --- Wang et al. 2021, Theorem 1 -------------------------------------------------------------------------------------

SPREAD_MEANS = [0.9, 0.5, 0.3]


def start_of(length: int, means: Sequence[float]) -> float:
    """A start c for Theorem 1: all arms play by turns until a choice outlasts the spread, f(k) = k² ≥ d."""
    turns = math.ceil(math.sqrt(length))
    return sum(k * k for k in range(1, turns + 1)) * sum(max(means) - mean for mean in means)


@pytest.mark.parametrize(
    ("spread", "length"),
    [
        pytest.param(RandomDelay(0, 60), 60, id="random"),
        pytest.param(Bounded(30, 40), 40, id="bounded", marks=pytest.mark.slow),
        pytest.param(Decreasing(50), 50, id="decreasing", marks=pytest.mark.slow),
        pytest.param(Increasing(50), 50, id="increasing"),
    ],
)
def test_theorem_1_bounds_the_regret_of_ars_ucb(spread: AnonymousFeedback, length: int) -> None:
    # α = 4.1, as the theorem asks for more than 4. It holds for all T, not only from some on.
    environment, checkpoints = Environment(Bernoulli(SPREAD_MEANS), feedback=spread), [100, 500, 2000, 6000]
    allowed = bounds.ars_ucb_regret(checkpoints, SPREAD_MEANS, 4.1, start_of(length, SPREAD_MEANS))
    regret = run(ars_ucb(exploration=4.1), environment, checkpoints, lanes=60).curves["composite_regret"]
    mean, error = mean_and_error(regret)
    assert (mean + ERRORS * error <= allowed).all()
    # Playing at random loses 1/3 of a reward a step: more than the bound in the end.
    lost = lowest(fair_random([0.0] * 3), environment, "composite_regret", checkpoints)
    assert lost[-1] > allowed[-1]


def test_the_regret_of_ars_ucb_grows_like_a_logarithm() -> None:
    # A logarithm has the exponent 1/ln t: below 0.15 from t = 1000 on; steps of whole choices come on top. Any power of
    # time that a bound without logarithms could allow, sqrt(t), lies above the interval; playing at random has 1.
    environment, checkpoints = Environment(Bernoulli(SPREAD_MEANS), feedback=Bounded(30, 40)), [1000, 2000, 4000, 8000]
    record = run(ars_ucb(), environment, checkpoints, lanes=40)
    found = growth_exponent(checkpoints, record.curves["composite_regret"])
    assert found.lanes == 40
    assert found.high < 0.5
    random = run(fair_random([0.0] * 3), environment, checkpoints, lanes=40)
    assert growth_exponent(checkpoints, random.curves["composite_regret"]).low > 0.9
    # In the last half of the steps no lane plays a worse arm more often than the best.
    late = record.pulls[-1] - record.pulls[-2]
    assert (late[:, 0] > late[:, 1:].sum(axis=-1)).all()


def test_without_holds_lanes_are_stuck_on_a_worse_arm() -> None:
    # The paper's nine arms: the last 6000 of 12 000 steps. UCB1 credits sums to whoever plays; ARS-UCB's choices
    # outlast the spread. The shares of stuck lanes differ by more than four standard errors sqrt(p (1 − p) 2/lanes).
    means, lanes = np.linspace(0.9, 0.1, 9), 40
    environment = Environment(Bernoulli(means), feedback=Decreasing(100))
    stuck = []
    for policy in (ucb1(), ars_ucb()):
        pulls = run(policy, environment, [6000, 12_000], lanes=lanes, seed=3).pulls
        stuck.append(((pulls[1] - pulls[0]).argmax(axis=-1) != 0).mean())
    p = sum(stuck) / 2.0
    assert stuck[0] - stuck[1] > ERRORS * math.sqrt(p * (1.0 - p) * 2.0 / lanes)


# --- Auer et al. 2002, Corollary 3.2 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [100, 1500])
def test_exp3_keeps_its_bound(horizon: int) -> None:
    # 2 sqrt(e − 1) sqrt(T K ln K), as no arm earns more than T; one arm of seven wins a step, or two arms of their own.
    for rewards, arms in ((Winners([0.3, 0.2, 0.14, 0.12, 0.1, 0.08, 0.06]), 7), (Bernoulli([0.9, 0.1]), 2)):
        environment = Environment(rewards)
        measure = "adversarial_regret" if arms == 7 else "regret"
        allowed = 2.0 * math.sqrt(math.e - 1.0) * math.sqrt(horizon * arms * math.log(arms))
        assert highest(exp3(horizon=horizon), environment, measure, [horizon]) <= allowed
    # The same draws from weights that are not looked at lose 0.4 a step.
    assert lowest(exp3(horizon=horizon, mixing=1.0), environment, measure, [horizon]) > allowed


# --- Chen et al. 2024 ------------------------------------------------------------------------------------------------
# The theorems hide a constant and powers of ln T; here both are 1, which is more than they claim.

C1 = [0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4]
PAPER = Power(2.0, 4.0)
APART = [0.9, 0.1]
EVEN = Linear(1.0, 1.0)  # M/λ = 1, so that the bounds on fairness regret are low enough to be broken
LATE: dict[str, tuple[Delay, Delay]] = {
    "geometric": (Geometric(0.05), Geometric(0.05)),
    "packet loss": (PacketLoss([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.5]), PacketLoss([0.4, 0.8])),
}
UNBIASED = pytest.mark.parametrize("delays", LATE.values(), ids=LATE)


def assert_below(policy: Policy, environment: Environment, rounds: list[int], bound: tuple[Array, Array]) -> None:
    """Both regrets, on average and with four standard errors more."""
    curves = run(policy, environment, rounds, lanes=25).curves
    for name, limit in zip(("reward_regret", "fairness_regret"), bound, strict=True):
        mean, error = mean_and_error(curves[name])
        assert (mean + ERRORS * error < limit).all()


def breaks(policy: Policy, environment: Environment, rounds: list[int], measure: str, limit: Array) -> bool:
    mean, error = mean_and_error(run(policy, environment, rounds, lanes=10).curves[measure])
    return bool(mean[-1] - ERRORS * error[-1] > limit[-1])


@UNBIASED
@pytest.mark.parametrize("build", [fcucb_d, fcts_d])
def test_theorems_6_and_7_bound_the_regrets_in_the_papers_setting(build: Any, delays: tuple[Delay, Delay]) -> None:
    rounds, delay = [100, 400, 1600], delays[0]
    theorem = {fcucb_d: bounds.fcucb_d_regret, fcts_d: bounds.fcts_d_regret}[build]
    more = {"horizon": 1600} if build is fcucb_d else {}
    environment = Environment(Bernoulli(C1), feedback=delay)
    assert_below(build(PAPER, plays=3, **more), environment, rounds, theorem(rounds, C1, 3, PAPER, delay))


@pytest.mark.slow
@UNBIASED
@pytest.mark.parametrize("build", [fcucb_d, fcts_d])
def test_theorems_6_and_7_bound_the_regrets_of_two_arms(build: Any, delays: tuple[Delay, Delay]) -> None:
    rounds, delay = [200, 600, 1600], delays[1]
    theorem = {fcucb_d: bounds.fcucb_d_regret, fcts_d: bounds.fcts_d_regret}[build]
    more = {"horizon": 1600} if build is fcucb_d else {}
    environment, bound = (
        Environment(Bernoulli(APART), feedback=delay, merit=EVEN),
        theorem(rounds, APART, 1, EVEN, delay),
    )
    assert_below(build(EVEN, **more), environment, rounds, bound)
    # Whoever takes the worse arm for the better one breaks both, whoever plays the best arm alone the second.
    mistaken = Policy(Known((0.1, 0.9)), MeritShares(EVEN), Categorical())
    assert breaks(mistaken, environment, rounds, "reward_regret", bound[0])
    assert breaks(mistaken, environment, rounds, "fairness_regret", bound[1])
    for greedy in (cucb_d(), mp_ts_d()):
        assert breaks(greedy, environment, rounds, "fairness_regret", bound[1])


def test_theorem_7_is_about_means_drawn_uniformly() -> None:
    rounds, delay = [200, 600, 1600], Geometric(0.05)
    means = PerLane(np.random.default_rng(8).random((25, 2)))
    bound = bounds.fcts_d_regret(rounds, APART, 1, EVEN, delay)  # the delay does not depend on the means
    assert_below(fcts_d(EVEN), Environment(Bernoulli(means), feedback=delay), rounds, bound)


@pytest.mark.parametrize(
    ("build", "theorem"), [(op_fcucb_d, bounds.op_fcucb_d_regret), (op_fcts_d, bounds.op_fcts_d_regret)]
)
def test_theorems_8_and_9_bound_the_regrets_where_the_delay_depends_on_the_reward(build: Any, theorem: Any) -> None:
    # The good arm's ones and the bad arm's zeros are two rounds late; at q = 1 both bounds are of order d K sqrt(T).
    rounds, delay = [200, 600, 1600], ByReward([[0, 2], [2, 0]])
    environment, bound = (
        Environment(Bernoulli(APART), feedback=delay, merit=EVEN),
        theorem(rounds, APART, 1, EVEN, delay),
    )
    more = {"horizon": 1600} if build is op_fcucb_d else {}
    assert_below(build(EVEN, **more), environment, rounds, bound)
    mistaken = Policy(Known((0.1, 0.9)), MeritShares(EVEN), Categorical())
    for measure, limit in zip(("reward_regret", "fairness_regret"), bound, strict=True):
        assert breaks(mistaken, environment, rounds, measure, limit)


@UNBIASED
def test_shares_by_merit_are_played_in_the_end(delays: tuple[Delay, Delay]) -> None:
    # In the second half. On average an arm's share is off by what its selection vector is, which is at most half of
    # the fairness regret a round, since what some have too much others have too little; and by chance.
    rounds, half = 2400, 1200
    environment = Environment(Bernoulli(C1), feedback=delays[0], merit=PAPER)
    fair = np.asarray(fair_shares(PAPER, np.array(C1), 3, Always()))
    records = {
        policy.name: run(policy, environment, [half, rounds], lanes=100)
        for policy in (fcts_d(PAPER, plays=3), cucb_d(plays=3), mp_ts_d(plays=3))
    }
    shares = {name: (record.pulls[1] - record.pulls[0]) / half for name, record in records.items()}
    off, error = mean_and_error(np.diff(records["fcts_d"].curves["fairness_regret"], axis=0)[0] / half)
    allowed = (off + ERRORS * error) / 2.0
    assert allowed < 0.05
    mean, chance = mean_and_error(shares["fcts_d"].T)
    assert (np.abs(mean - fair) <= allowed + ERRORS * chance).all()
    # It is nearer than that, as errors of both signs cancel: to a hundredth. The others are far away.
    assert np.abs(mean - fair).max() < 0.01
    for name in ("cucb_d", "mp_ts_d"):
        assert np.abs(shares[name].mean(axis=0) - fair).max() > 0.25


def exponents(policy: Policy, environment: Environment) -> dict[str, tuple[float, float]]:
    """Of the powers of t with which the regrets grow, from below and above: lane by lane a straight line through the
    logarithms of the last nine tenths; four standard errors of the mean of the slopes."""
    rounds = np.geomspace(200, 2000, 9).round().astype(int)
    curves = run(policy, environment, rounds.tolist(), lanes=25).curves
    found = {}
    for measure in ("reward_regret", "fairness_regret"):
        slopes = np.polynomial.polynomial.polyfit(np.log(rounds), np.log(curves[measure]), 1)[1]
        mean, error = mean_and_error(slopes)
        found[measure] = float(mean - ERRORS * error), float(mean + ERRORS * error)
    return found


@pytest.mark.slow
@UNBIASED
def test_the_regrets_grow_sublinearly(delays: tuple[Delay, Delay]) -> None:
    environment = Environment(Bernoulli(C1), feedback=delays[0], merit=PAPER)
    for policy in (fcts_d(PAPER, plays=3), fcucb_d(PAPER, horizon=2000, radius="code", plays=3)):
        assert all(most < 0.8 for _, most in exponents(policy, environment).values())
    # The fairness regret of whoever plays the best arms only grows with t itself.
    least, most = exponents(cucb_d(plays=3), environment)["fairness_regret"]
    assert 0.9 < least < most < 1.1


NEVER = math.inf
GOOD = [mean >= 0.7 for mean in C1]


def hiding(delay: float) -> Environment:
    """As in the paper, the ones of the good arms and the zeros of the others are late."""
    late = ByReward([[0.0, delay] if good else [delay, 0.0] for good in GOOD])
    return Environment(Bernoulli(C1), feedback=late)


@pytest.mark.parametrize("plain", [fcucb_d(PAPER, horizon=600, radius="code", plays=3), fcts_d(PAPER, plays=3)])
def test_what_never_comes_biases_whoever_goes_by_what_has_come(plain: Policy) -> None:
    # Good arms only ever show zeros and bad ones only ones: the shares are turned upside down, and the more is known
    # the surer. So the second half adds no less to the fairness regret than the first.
    record = run(plain, hiding(NEVER), [300, 600], lanes=30)
    first, last = record.pulls
    good = (last - first)[:, GOOD].mean() / 300
    bad = (last - first)[:, np.logical_not(GOOD)].mean() / 300
    assert good < 0.5 * bad
    curve = record.curves["fairness_regret"]
    mean, error = mean_and_error(curve[1] - 2.0 * curve[0])
    assert mean > -ERRORS * error
    # A delay that ends leaves no bias: in the last third the right arms are ahead again.
    first, last = run(plain, hiding(50.0), [400, 600], lanes=30).pulls
    assert (last - first)[:, GOOD].mean() > (last - first)[:, np.logical_not(GOOD)].mean()


@pytest.mark.parametrize(
    ("plain", "cautious"),
    [
        (fcucb_d(PAPER, horizon=600, plays=3), op_fcucb_d(PAPER, horizon=600, plays=3)),
        (
            fcucb_d(PAPER, horizon=600, radius="code", plays=3),
            op_fcucb_d(PAPER, horizon=600, radius="code", plays=3),
        ),
        (fcts_d(PAPER, plays=3), op_fcts_d(PAPER, plays=3)),
    ],
    ids=["theorem", "code", "draws"],
)
def test_whoever_reckons_with_what_is_missing_is_misled_less(plain: Policy, cautious: Policy) -> None:
    records = [run(policy, hiding(NEVER), [600], lanes=30) for policy in (plain, cautious)]
    for measure in ("reward_regret", "fairness_regret"):
        worse, other = (mean_and_error(record.curves[measure][-1]) for record in records)
        assert worse[0] - 1.4 * other[0] > ERRORS * math.hypot(worse[1], 1.4 * other[1])


def test_where_nothing_is_known_for_sure_the_shares_stay_even() -> None:
    # Two arms: the box of the good one reaches up to (N − M)/N + c, about 0.9 + c, and that of the bad one to 1: as
    # long as both are cut at 1 each plays in half of the rounds, where 19/30 and 11/30 are fair: 4/15 are missing.
    environment = Environment(Bernoulli(APART), feedback=ByReward([[0.0, NEVER], [NEVER, 0.0]]))
    policy = op_fcucb_d(EVEN, horizon=500)  # c = sqrt(ln(6 · 2 · 500)/N) ≥ 0.18 up to N = 260
    curve = run(policy, environment, [2, 500], lanes=30).curves["fairness_regret"]
    np.testing.assert_allclose(curve[0], 2 * 11 / 30 + 2 * 19 / 30, rtol=1e-12)
    np.testing.assert_allclose(curve[1] - curve[0], 498 * 4 / 15, rtol=1e-9)
    # The plain one goes beyond even shares to the wrong side: of what came, on average more than 14 rewards, the good
    # arm has the mean 0 and c = sqrt(ln 4000/14) = 0.77, which gives it 1.77/3.77; then 0.33 are missing.
    wrong = run(fcucb_d(EVEN, horizon=500), environment, [400, 500], lanes=30).curves["fairness_regret"]
    mean, error = mean_and_error((wrong[1] - wrong[0]) / 100)
    assert mean - ERRORS * error > 0.33
