"""Measures against slow sums over single decisions and rewards, and against the papers' own forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, InfeasiblePromise, PerLane, Policy, compare
from evenhand.algorithms import (
    eta_fucb,
    fairx_ts,
    fcts_d,
    fcucb_d,
    fgreedy_d,
    fucb,
    hard_threshold_ucb,
    lfg,
    op_fcucb_d,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.core.state import Array, Decision, Feedback, Outcome, for_lanes
from evenhand.core.streams import STRAND
from evenhand.environment.availability import Always, Independent, Joint, Logged
from evenhand.environment.delays import Fixed, Geometric
from evenhand.environment.rewards import Bernoulli, Gaussian, Table, Winners
from evenhand.feedback import Decreasing, NonOblivious, RandomDelay
from evenhand.policy.merit import Linear, Merit, Power
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.metrics import MetricRecorder, chosen
from evenhand.theory.baseline import Baseline, baseline_of
from evenhand.theory.oracle import fair_shares, optimal_fair, optimal_penalized

HORIZON, LANES, SEED = 40, 5, 21
CHECKPOINTS = [1, 7, 20, HORIZON]
PARTS = 4 * 2.0**-30  # plays owed are counted in parts of this size, for each of four arms; prices are below 1


def recorder_of(baseline: Baseline, checkpoints: int, lanes: int, arms: int) -> MetricRecorder:
    """A recorder of every measure that is meaningful."""
    return MetricRecorder(baseline, chosen(list(MEASURES.values()), baseline)[0], checkpoints, lanes, arms)


def see(recorder: MetricRecorder, round: int, pulls: Array) -> None:
    """A round in which nothing is earned."""
    nothing, everybody = np.zeros_like(pulls), np.ones(pulls.shape, dtype=bool)
    decision = Decision(round, everybody, None, None, everybody)
    recorder.see(pulls, decision, Outcome(nothing, Feedback(nothing, nothing)))


@dataclass
class Story:
    """What happened in one lane, round by round."""

    available: list[Any]  # the arms awake, as a tuple of arms
    played: list[list[int]]
    earned: list[list[float]]  # of the arms played, in their order


def tell(policy: Policy, environment: Environment, block: int = STRAND) -> list[Story]:
    """Runs the lanes as `compare` does, a stream for the environment and one for the policy in each block, and writes
    every decision and reward down."""
    blocks = [slice(start, min(start + block, LANES)) for start in range(0, LANES, block)]
    stories: list[Story] = []
    for lanes, seed in zip(blocks, np.random.SeedSequence(SEED).spawn(len(blocks)), strict=True):
        outside, inside = seed.spawn(2)
        count = lanes.stop - lanes.start
        world = for_lanes(environment, lanes).start(HORIZON, count, outside)
        own, rng = for_lanes(policy, lanes), np.random.default_rng(inside)
        state = own.start(environment.arms, count)
        told = [Story([], [], []) for _ in range(count)]
        for _ in range(HORIZON):
            decision = own.decide(state, world.observe(), rng)
            outcome = world.step(decision)
            own.observe(state, outcome.feedback, rng)
            for lane, story in enumerate(told):
                awake = range(environment.arms)
                if decision.available is not None:
                    awake = [arm for arm in awake if decision.available[lane, arm]]  # type: ignore[assignment]
                arms = [arm for arm in range(environment.arms) if decision.played[lane, arm]]
                story.available.append(tuple(awake))
                story.played.append(arms)
                story.earned.append([float(outcome.earned[lane, arm]) for arm in arms])
        stories += told
    return stories


def hindsight(story: Story, offered: list[list[float]], plays: int, until: int) -> float:
    """``max Σ_s X_i(s)`` over the best arms (an unknown reward counts nothing), less what was earned."""
    sums = [sum(x for x in column if x == x) for column in zip(*offered[:until], strict=True)]
    best: float = sum(sorted(sums, reverse=True)[:plays])
    return best - sum(sum(earned) for earned in story.earned[:until])


def row(values: Any, lane: int, arms: int) -> list[float] | None:
    """One value an arm of one lane."""
    if values is None:
        return None
    array = np.asarray(values, dtype=float)
    array = array[lane] if array.ndim == 2 else array
    return [float(x) for x in np.broadcast_to(array, arms)]


def measures_of(story: Story, lane: int, policy: Policy, environment: Environment, until: int) -> dict[str, float]:
    """Every measure at round ``until`` from sums over single rounds."""
    arms, plays = environment.arms, policy.plays
    own = policy.fairness
    fractions = row(environment.fractions if policy.fractions is None else policy.fractions, lane, arms)
    penalties = row(environment.penalties if own.penalties is None else own.penalties, lane, arms)
    weights = row(environment.weights if own.weights is None else own.weights, lane, arms) or [1.0] * arms
    means = row(environment.means, lane, arms)
    assert means is not None
    score = [w * mean for w, mean in zip(weights, means, strict=True)]
    listed = environment.availability.distribution(arms)
    fair = None
    if fractions is not None:
        fair = optimal_fair(np.array(score), np.array(fractions), plays, environment.availability)
    known: dict[tuple[int, ...], float] = {}
    if fair is not None and fair.by_set is not None and listed is not None:
        known = {tuple(np.flatnonzero(z).tolist()): float(v) for z, v in zip(listed[0], fair.by_set, strict=True)}
    pulls = [0] * arms
    reward = free = best_fair = expected = 0.0
    most_missing = [-np.inf] * arms
    for round in range(until):
        awake = story.available[round]
        top = sum(sorted((max(score[arm], 0.0) for arm in awake), reverse=True)[:plays])
        free += top
        best_fair += known[awake] if fair is not None else top
        for arm, earned in zip(story.played[round], story.earned[round], strict=True):
            pulls[arm] += 1
            reward += weights[arm] * earned
            expected += score[arm]
        if fractions is not None:
            for arm in range(arms):
                most_missing[arm] = max(most_missing[arm], fractions[arm] * (round + 1) - pulls[arm])
    found = {
        "reward": reward,
        "regret": free - expected,
        "time_averaged_regret": (best_fair - expected) / until,
    }
    if isinstance(environment.rewards, Table):
        found["adversarial_regret"] = hindsight(story, environment.rewards.values.tolist(), plays, until)
    if fractions is None:
        return found
    missing = [max(share * until - n, 0.0) for share, n in zip(fractions, pulls, strict=True)]
    found["r_regret"] = best_fair - expected
    found["unfairness"] = sum(missing)
    found["violation"] = max(share * until - n for share, n in zip(fractions, pulls, strict=True))
    found["max_violation"] = max(most_missing)
    if penalties is not None:
        prophet = optimal_penalized(
            np.array(score), np.array(fractions), np.array(penalties), plays, environment.availability
        )
        paid = sum(price * short for price, short in zip(penalties, missing, strict=True))
        found["penalized_regret"] = prophet.value * until - expected + paid
    return found


MEANS = [0.3, 0.9, 0.5, 0.7]
SHARES = [0.1, 0.2, 0.25, 0.15]
LANE_MEANS = PerLane(np.random.default_rng(1).random((LANES, 4)))
LANE_HALVES = PerLane((np.asarray(LANE_MEANS).max(axis=1) - np.asarray(LANE_MEANS).min(axis=1))[:, np.newaxis] / 2)
TABLE = np.random.default_rng(2).random((HORIZON, 4)).round(2)
AWAKE = np.random.default_rng(3).random((HORIZON, 4)) < 0.7

CASES: dict[str, tuple[Policy, Environment]] = {
    "nothing promised": (ucb1(), Environment(Bernoulli(MEANS))),
    "nothing promised, asleep": (thompson(plays=2), Environment(Bernoulli(MEANS), Independent([0.9, 0.2, 1.0, 0.5]))),
    "promises of the environment": (ucb1(), Environment(Bernoulli(MEANS), fractions=SHARES, penalties=0.4)),
    "promises of the policy": (fucb(SHARES), Environment(Gaussian(MEANS, 0.5), fractions=[0.0] * 4)),
    "several plays": (
        fucb([0.5, 0.2, 0.7, 0.1], plays=2),
        Environment(Bernoulli(MEANS), penalties=[0.1, 0.2, 0.3, 0.4]),
    ),
    "asleep, weighed by the policy": (
        lfg([0.3, 0.1, 0.4, 0.2], eta=5.0, weights=[1.0, 2.0, 0.5, 1.5], plays=2),
        Environment(Bernoulli(MEANS), Independent([0.9, 0.6, 0.8, 0.5]), weights=7.0),
    ),
    "asleep, weighed by the environment": (
        hard_threshold_ucb(SHARES, penalties=[0.5, 0.1, 0.3, 0.9]),
        Environment(
            Gaussian(MEANS, 0.2),
            Joint([[1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 1, 0]], [0.6, 0.3, 0.1]),
            weights=[2.0, 1.0, 0.0, 1.0],
        ),
    ),
    "negative means": (eta_fucb(SHARES, eta=0.5), Environment(Gaussian([-0.5, 0.1, -0.2, 0.3], 0.2), penalties=0.1)),
    "a log": (fucb([0.1, 0.1, 0.1, 0.1]), Environment(Table(np.where(AWAKE, TABLE, np.nan)), Logged(AWAKE))),
}
LANE_CASES: dict[str, tuple[Policy, Environment]] = {
    "means by lane": (ucb1(), Environment(Bernoulli(LANE_MEANS))),
    "means and penalties by lane": (
        hard_threshold_ucb(SHARES, penalties=LANE_HALVES),
        Environment(Bernoulli(LANE_MEANS)),
    ),
    "penalties of the environment by lane": (
        tscsf_b(SHARES, eta=3.0),
        Environment(Bernoulli(LANE_MEANS), penalties=LANE_HALVES),
    ),
    "promises by lane": (
        fucb(PerLane(np.random.default_rng(4).dirichlet(np.ones(5), LANES)[:, :4])),
        Environment(Bernoulli(MEANS), penalties=PerLane(np.random.default_rng(5).random((LANES, 4)))),
    ),
}


@pytest.mark.parametrize(("policy", "environment"), (CASES | LANE_CASES).values(), ids=CASES | LANE_CASES)
def test_measures_are_sums_over_single_rounds(policy: Policy, environment: Environment) -> None:
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    curves = results.policies["it"].curves
    for lane, story in enumerate(tell(policy, environment)):
        for place, until in enumerate(CHECKPOINTS):
            expected = measures_of(story, lane, policy, environment, until)
            assert set(curves) == set(expected)
            for name, value in expected.items():
                # The same terms in another order: nothing but rounding.
                assert curves[name][place, lane] == pytest.approx(value, abs=PARTS), name


@pytest.mark.parametrize(("policy", "environment"), LANE_CASES.values(), ids=LANE_CASES)
def test_every_block_is_judged_by_its_own_lanes(
    policy: Policy, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.core.streams.STRAND", 2)
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    for lane, story in enumerate(tell(policy, environment, block=2)):
        for name, value in measures_of(story, lane, policy, environment, HORIZON).items():
            assert results.policies["it"].curves[name][-1, lane] == pytest.approx(value, abs=PARTS), name


def test_pulls_are_the_decisions_counted() -> None:
    for policy, environment in CASES.values():
        results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
        for lane, story in enumerate(tell(policy, environment)):
            for place, until in enumerate(CHECKPOINTS):
                counted = np.bincount([arm for arms in story.played[:until] for arm in arms], minlength=4)
                assert results.policies["it"].pulls[place, lane].tolist() == counted.tolist()


@pytest.mark.parametrize("kind", ["means", "weights"])
def test_weights_may_differ_between_lanes(kind: str) -> None:
    weights = PerLane(np.random.default_rng(6).random((LANES, 4)))
    policy, environment = ucb1(), Environment(Bernoulli(LANE_MEANS if kind == "means" else MEANS), weights=weights)
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    for lane, story in enumerate(tell(policy, environment)):
        for name, value in measures_of(story, lane, policy, environment, HORIZON).items():
            assert results.policies["it"].curves[name][-1, lane] == pytest.approx(value, abs=PARTS), name


# --- the papers' forms ------------------------------------------------------------------------------------------------

GAPS = np.array([0.9 - mean for mean in MEANS])


def pulls_and_curves(policy: Policy, **stakes: Any) -> tuple[Array, Array, dict[str, Array]]:
    world = Environment(Bernoulli(MEANS), **stakes)
    results = compare({"it": policy}, world, 500, 8, 3, checkpoints=5, progress=False)
    record = results.policies["it"]
    return record.pulls.astype(float), results.rounds.astype(float)[:, np.newaxis], record.curves


def test_regret_is_the_sum_of_gaps() -> None:
    pulls, _, curves = pulls_and_curves(ucb1())
    np.testing.assert_allclose(curves["regret"], (GAPS * pulls).sum(axis=-1), atol=1e-9)


@pytest.mark.parametrize("policy", [ucb1(), fucb(SHARES)])
def test_r_regret_is_the_sum_of_gaps_over_the_promise(policy: Policy) -> None:
    pulls, rounds, curves = pulls_and_curves(policy, fractions=SHARES)
    owed = np.array(SHARES) * rounds[..., np.newaxis]
    expected = (GAPS * (pulls - owed)).sum(axis=-1)
    np.testing.assert_allclose(curves["r_regret"], expected, atol=1e-9)
    np.testing.assert_allclose(curves["time_averaged_regret"], curves["r_regret"] / rounds, rtol=1e-12)


@pytest.mark.parametrize("penalties", [[0.0] * 4, [0.3, 0.3, 0.3, 0.3], [0.6, 0.2, 0.1, 0.9], [1.0] * 4])
def test_penalised_regret_is_equation_ten(penalties: list[float]) -> None:
    # Fang et al. 2022, eq. (10): a sum over optimal, critical and non-critical arms.
    for policy in (ucb1(), hard_threshold_ucb(SHARES, penalties=penalties)):
        pulls, rounds, curves = pulls_and_curves(policy, fractions=SHARES, penalties=penalties)
        expected = np.zeros_like(curves["regret"])
        for arm, (gap, price, share) in enumerate(zip(GAPS, penalties, SHARES, strict=True)):
            due, n = share * rounds, pulls[..., arm]
            paid = price * np.maximum(due - n, 0.0)
            if gap == 0.0:
                expected += paid
            elif price >= gap:
                expected += gap * (n - due) + paid
            else:
                expected += gap * n + paid - price * due
        np.testing.assert_allclose(curves["penalized_regret"], expected, atol=PARTS)


def test_violation_is_largest_over_time_and_arms() -> None:
    pulls, rounds, curves = pulls_and_curves(ucb1(), fractions=SHARES)
    np.testing.assert_allclose(
        curves["violation"], (np.array(SHARES) * rounds[..., np.newaxis] - pulls).max(axis=-1), atol=1e-9
    )
    assert (curves["max_violation"] >= curves["violation"]).all()
    assert (np.diff(curves["max_violation"], axis=0) >= 0.0).all()
    # In the first round one arm plays, and the arm with the largest other promise misses it whole.
    assert (curves["max_violation"] >= 0.25 - 1e-12).all()


def test_a_promise_kept_to_the_play_is_no_violation() -> None:
    # 0.07 · 100 is a hair above 7 in floats.
    recorder = recorder_of(baseline_of(fucb([0.07, 0.0]), Environment(Bernoulli([0.9, 0.5]))), 1, 1, 2)
    see(recorder, 100, np.array([[7.0, 93.0]]))
    recorder.record()
    assert recorder.curves["violation"].tolist() == [[0.0]]
    assert recorder.curves["max_violation"].tolist() == [[0.0]]
    assert recorder.curves["unfairness"].tolist() == [[0.0]]


# --- given who was awake ----------------------------------------------------------------------------------------------


def test_regret_given_who_was_awake_has_the_mean_of_the_plain_one() -> None:
    availability = Independent([0.9, 0.3, 0.6])
    world = Environment(Bernoulli([0.4, 0.9, 0.6]), availability, fractions=[0.3, 0.1, 0.2])
    lanes, rounds = 400, 50
    results = compare([ucb1()], world, rounds, lanes, 4, checkpoints=1, progress=False)
    record = results.policies["ucb1"]
    expected = record.pulls[-1] @ np.array([0.4, 0.9, 0.6])
    baseline = baseline_of(ucb1(), world)
    for name, best in (("regret", baseline.best), ("r_regret", baseline.best_fair)):
        earned_by_the_prophet = record.curves[name][-1] + expected
        error = earned_by_the_prophet.std(ddof=1) / np.sqrt(lanes)
        # The lanes are independent: within five standard errors of the mean.
        assert best is not None
        assert error > 0.0
        assert abs(earned_by_the_prophet.mean() - rounds * float(best)) <= 5.0 * error


@pytest.mark.parametrize(
    "availability",
    [
        Independent([0.9, 0.8, 0.7]),
        Joint([[1, 1, 1], [1, 0, 0], [0, 1, 1]], [0.5, 0.2, 0.3]),
        Joint([[1, 1, 1], [1, 1, 1], [0, 1, 1]], [0.4, 0.3, 0.3]),  # the same set twice
        Logged([[1, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]),
    ],
)
def test_what_is_given_averages_to_the_optimum(availability: Any) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        world = Environment(Bernoulli(rng.random(3)), availability)
        baseline = baseline_of(fucb(0.3 * rng.random(3)), world)
        listed = availability.distribution(3)
        codes = listed[0] @ np.array([1, 2, 4])
        assert baseline.by_set is not None
        assert listed[1] @ baseline.by_set[0, codes] == pytest.approx(float(np.asarray(baseline.best)), abs=1e-8)
        # To HiGHS's tolerance of 1e-7 times prices below 1.
        assert listed[1] @ baseline.by_set[1, codes] == pytest.approx(float(np.asarray(baseline.best_fair)), abs=1e-6)


def test_where_sets_are_too_many_the_mean_stands_in() -> None:
    world = Environment(Bernoulli(np.linspace(0.2, 0.8, 16)), Independent(np.full(16, 0.5)))
    baseline = baseline_of(ucb1(), world)
    assert baseline.by_set is None
    results = compare([ucb1()], world, 30, 3, checkpoints=1, progress=False)
    record = results.policies["ucb1"]
    expected = 30 * float(np.asarray(baseline.best)) - record.pulls[-1] @ world.means
    np.testing.assert_allclose(record.curves["regret"][-1], expected, atol=1e-10)


# --- anonymous sums and adversaries -----------------------------------------------------------------------------------


def offers(environment: Environment) -> list[list[list[float]]]:
    """What every arm that is awake would have earned, for each lane and round: a world of the same seed."""
    (seed,) = np.random.SeedSequence(SEED).spawn(1)
    world = environment.start(HORIZON, LANES, seed.spawn(2)[0])
    everybody = np.ones((LANES, environment.arms), dtype=bool)
    rounds = []
    for round in range(HORIZON):
        available = world.observe().available
        earned = world.step(Decision(round + 1, everybody, None, available, everybody)).earned
        rounds.append((np.asarray(earned, dtype=float) * (True if available is None else available)).tolist())
    return [[offered[lane] for offered in rounds] for lane in range(LANES)]


CHANCES = [0.4, 0.1, 0.3, 0.2]
ADVERSARIAL: dict[str, tuple[Policy, Environment]] = {
    "winners": (ucb1(), Environment(Winners(CHANCES))),
    "winners, several plays": (thompson(plays=2), Environment(Winners(CHANCES))),
    "winners, asleep": (ucb1(), Environment(Winners(CHANCES), Independent([0.9, 0.6, 0.8, 0.5]))),
    "winners, late": (ucb1(), Environment(Winners(CHANCES), feedback=NonOblivious(2, best=0))),
    "a table": (ucb1(), Environment(Table(TABLE))),
    "a table, several plays": (thompson(plays=3), Environment(Table(TABLE))),
    "a table, shuffled": (ucb1(plays=2), Environment(Table(TABLE, "shuffled"))),
    "a table below 0": (ucb1(plays=2), Environment(Table(TABLE - 0.6))),
    "a table, spread": (ucb1(plays=2), Environment(Table(TABLE), feedback=Decreasing(4))),
    "a table, promised": (fucb(SHARES), Environment(Table(TABLE), penalties=0.3)),
}


@pytest.mark.parametrize(("policy", "environment"), ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_adversarial_regret_is_a_plain_sum(policy: Policy, environment: Environment) -> None:
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    curve = results.policies["it"].curves["adversarial_regret"]
    for lane, (story, offered) in enumerate(zip(tell(policy, environment), offers(environment), strict=True)):
        for place, until in enumerate(CHECKPOINTS):
            expected = hindsight(story, offered, policy.plays, until)
            assert curve[place, lane] == pytest.approx(expected, abs=1e-12)


def test_adversarial_regret_by_hand() -> None:
    # UCB1 plays arm 1, arm 2, then arm 2 again, whose mean is larger: it earns 0.5, 1 and 0.25. Arm 1 would have
    # earned 1.5 in all, arm 2 1.25. A policy may do better than any single arm.
    table = Table([[0.5, 0.0], [0.0, 1.0], [1.0, 0.25]])
    results = compare([ucb1()], Environment(table), 3, 1, checkpoints=[1, 2, 3], progress=False)
    record = results.policies["ucb1"]
    assert record.pulls[:, 0].tolist() == [[1, 0], [1, 1], [1, 2]]
    assert record.curves["adversarial_regret"][:, 0].tolist() == [0.0, 1.0 - 1.5, 1.5 - 1.75]


ANONYMOUS: dict[str, tuple[Policy, Environment]] = {
    "one play": (ucb1(), Environment(Bernoulli(MEANS), feedback=Decreasing(5))),
    "several plays": (thompson(plays=3), Environment(Bernoulli(MEANS), feedback=RandomDelay(0, 9))),
    "winners": (ucb1(plays=2), Environment(Winners(CHANCES), feedback=NonOblivious(1))),
    "means by lane": (ucb1(), Environment(Bernoulli(LANE_MEANS), feedback=RandomDelay(2, 3))),
    "promised": (fucb(SHARES), Environment(Bernoulli(MEANS), feedback=Decreasing(5))),
}


@pytest.mark.parametrize(("policy", "environment"), ANONYMOUS.values(), ids=ANONYMOUS)
def test_composite_regret_is_a_plain_sum(policy: Policy, environment: Environment) -> None:
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    curve = results.policies["it"].curves["composite_regret"]
    for lane, story in enumerate(tell(policy, environment)):
        means = row(environment.means, lane, environment.arms)
        assert means is not None
        for place, until in enumerate(CHECKPOINTS):
            best = until * sum(sorted(means, reverse=True)[: policy.plays])
            lost = best - sum(means[arm] for arms in story.played[:until] for arm in arms)
            assert curve[place, lane] == pytest.approx(lost, abs=1e-12)


@pytest.mark.parametrize(("policy", "environment"), ANONYMOUS.values(), ids=ANONYMOUS)
def test_who_is_stuck_is_told_by_the_last_tenth(policy: Policy, environment: Environment) -> None:
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    curve = results.policies["it"].curves["stuck"]
    for lane, story in enumerate(tell(policy, environment)):
        means = row(environment.means, lane, environment.arms)
        assert means is not None
        for place, until in enumerate(CHECKPOINTS):
            since = max((earlier for earlier in CHECKPOINTS if earlier <= 0.9 * until), default=0)
            plays = [sum(arm in arms for arms in story.played[since:until]) for arm in range(environment.arms)]
            most = sorted(range(environment.arms), key=lambda arm: (-plays[arm], arm))[: policy.plays]
            best = sorted(means, reverse=True)[: policy.plays]
            assert curve[place, lane] == (sum(means[arm] for arm in most) < sum(best) - 1e-12)


def test_lanes_get_stuck_and_free_again() -> None:
    baseline = baseline_of(ucb1(), Environment(Bernoulli([0.9, 0.4]), feedback=Decreasing(2)))
    recorder = recorder_of(baseline, checkpoints=4, lanes=2, arms=2)
    for round, plays in ((5, [5, 0]), (10, [7, 3]), (100, [9, 91]), (110, [19, 91])):
        # Since round 5 of 10 (the last up to 9), 10 of 100, and 10 of 110: 100 comes after 99.
        see(recorder, round, np.array([plays, [round, 0]], dtype=float))
        recorder.record()
    assert recorder.curves["stuck"].T.tolist() == [[0.0, 1.0, 1.0, 1.0], [0.0] * 4]


def test_measures_of_anonymous_and_adversarial_rewards_are_left_out_elsewhere() -> None:
    for environment, expected in (
        (Environment(Bernoulli(MEANS)), set()),
        (Environment(Bernoulli(MEANS), feedback=Geometric(0.5)), set()),
        (Environment(Bernoulli(MEANS), feedback=Decreasing(2)), {"composite_regret", "stuck"}),
        (Environment(Winners(CHANCES)), {"adversarial_regret"}),
        (Environment(Table(TABLE), feedback=Fixed(1)), {"adversarial_regret"}),
        (Environment(Winners(CHANCES), feedback=Decreasing(2)), {"composite_regret", "stuck", "adversarial_regret"}),
    ):
        results = compare([ucb1()], environment, 10, 2, progress=False)
        found = set(results.policies["ucb1"].curves)
        assert found == {"reward", "regret", "time_averaged_regret"} | expected


# --- the baseline ----------------------------------------------------------------------------------------------------


def test_a_policys_own_promises_come_first() -> None:
    world = Environment(Bernoulli([0.9, 0.5]), fractions=[0.5, 0.5], penalties=0.7, weights=3.0)
    baseline = baseline_of(fucb([0.1, 0.2]), world)
    assert baseline.fractions is not None
    assert baseline.penalties is not None
    assert baseline.fractions.tolist() == [0.1, 0.2]
    assert baseline.penalties.tolist() == [0.7, 0.7]
    assert baseline.weights.tolist() == [3.0, 3.0]
    np.testing.assert_allclose(baseline.gains, [2.7, 1.5])
    other = baseline_of(tscsf_b([0.1, 0.2], eta=1.0, weights=[1.0, 2.0]), world)
    assert other.weights.tolist() == [1.0, 2.0]
    third = baseline_of(hard_threshold_ucb([0.1, 0.2], penalties=0.3), world)
    assert third.penalties is not None
    assert third.penalties.tolist() == [0.3, 0.3]


def test_optima_by_hand() -> None:
    # One play, all awake: 0.9 alone; 0.8 · 0.9 + 0.2 · 0.4; and under a penalty of 0.3 the gap of 0.5 is not paid.
    baseline = baseline_of(fucb([0.0, 0.2]), Environment(Bernoulli([0.9, 0.4]), penalties=0.3))
    assert float(np.asarray(baseline.best)) == pytest.approx(0.9, abs=1e-12)
    assert float(np.asarray(baseline.best_fair)) == pytest.approx(0.8, abs=1e-12)
    assert float(np.asarray(baseline.best_penalized)) == pytest.approx(0.9 - 0.3 * 0.2, abs=1e-12)
    assert baseline.by_set is None


def test_optima_by_lane() -> None:
    world = Environment(Bernoulli(PerLane(np.array([[0.9, 0.4], [0.2, 0.6]]))))
    baseline = baseline_of(fucb([0.0, 0.5]), world)
    assert np.asarray(baseline.best).tolist() == [0.9, 0.6]
    assert baseline.best_fair is not None
    np.testing.assert_allclose(baseline.best_fair, [0.65, 0.6], atol=1e-12)
    second = baseline.for_lanes(slice(1, 2))
    assert second.gains.tolist() == [[0.2, 0.6]]
    assert np.asarray(second.best).tolist() == [0.6]


def test_without_promises_there_is_little_to_measure() -> None:
    results = compare([ucb1()], Environment(Bernoulli([0.9, 0.4])), 10, 2, progress=False)
    assert set(results.policies["ucb1"].curves) == {"reward", "regret", "time_averaged_regret"}
    promised = compare([ucb1()], Environment(Bernoulli([0.9, 0.4]), fractions=[0.1, 0.1]), 10, 2, progress=False)
    by_merit = {"reward_regret", "fairness_regret"}
    others = {"penalized_regret", "bound_violation", "segment_unfairness"}
    by_world = {"composite_regret", "adversarial_regret", "stuck", "dynamic_regret", "dynamic_r_regret"}
    assert set(promised.policies["ucb1"].curves) == set(MEASURES) - others - by_merit - by_world
    deserved = compare([ucb1()], Environment(Bernoulli([0.9, 0.4]), merit=Power()), 10, 2, progress=False)
    assert set(deserved.policies["ucb1"].curves) == {"reward", "regret", "time_averaged_regret"} | by_merit


def test_what_cannot_be_kept_is_refused_in_the_policys_name() -> None:
    world = Environment(Bernoulli([0.9, 0.4]), names=("tea", "coffee"))
    with pytest.raises(InfeasiblePromise, match="promised shares of 'mine' cannot be kept: arms 'tea', 'coffee'"):
        baseline_of(fucb([0.6, 0.6]), world, "mine")


def test_a_recorder_keeps_sums_only() -> None:
    baseline = baseline_of(ucb1(), Environment(Bernoulli([0.9, 0.4]), Always()))
    recorder = recorder_of(baseline, checkpoints=3, lanes=2, arms=2)
    for round in range(1, 10):
        see(recorder, round, np.zeros((2, 2)))
    arrays = [
        value for part in (recorder, recorder.run) for value in vars(part).values() if isinstance(value, np.ndarray)
    ]
    assert max(array.size for array in arrays) == 3 * 2 * 2  # the pulls at the checkpoints


# --- shares by merit --------------------------------------------------------------------------------------------------


@dataclass
class Vectors:
    """One lane, round by round: the arms awake, and the selection vector."""

    awake: list[list[int]]
    chance: list[list[float]]


def vectors(policy: Policy, environment: Environment, block: int = STRAND) -> list[Vectors]:
    """Runs the lanes as `compare` does and writes every selection vector down."""
    blocks = [slice(start, min(start + block, LANES)) for start in range(0, LANES, block)]
    told: list[Vectors] = []
    for lanes, seed in zip(blocks, np.random.SeedSequence(SEED).spawn(len(blocks)), strict=True):
        outside, inside = seed.spawn(2)
        count = lanes.stop - lanes.start
        world = for_lanes(environment, lanes).start(HORIZON, count, outside)
        own, rng = for_lanes(policy, lanes), np.random.default_rng(inside)
        state = own.start(environment.arms, count)
        here = [Vectors([], []) for _ in range(count)]
        if own.schedule.traits.free:
            state.tally.pulls += 1.0
            own.observe(state, world.free_pull(), rng)
        for _ in range(HORIZON):
            decision = own.decide(state, world.observe(), rng)
            own.observe(state, world.step(decision).feedback, rng)
            awake = np.ones_like(decision.played) if decision.available is None else decision.available
            for lane, one in enumerate(here):
                one.awake.append(np.flatnonzero(awake[lane]).tolist())
                one.chance.append([float(p) for p in decision.inclusion[lane]])
        told += here
    return told


def deserved_by(merits: list[float], awake: list[int], plays: int) -> list[float]:
    """m f/Σ f over those awake; whoever would exceed one has one, and the others share the rest."""
    shares, full = [0.0] * len(merits), [arm for arm in awake if len(awake) <= plays]
    while True:
        rest = [arm for arm in awake if arm not in full]
        for arm in rest:
            shares[arm] = (plays - len(full)) * merits[arm] / sum(merits[other] for other in rest)
        over = [arm for arm in rest if shares[arm] > 1.0]
        if not over:
            return [1.0 if arm in full else share for arm, share in enumerate(shares)]
        full += over


def regrets_of(
    one: Vectors, lane: int, plays: int, environment: Environment, merit: Merit
) -> list[tuple[float, float]]:
    """Equations (5) and (6) after every round."""
    means = row(environment.means, lane, environment.arms)
    weights = row(environment.weights, lane, environment.arms) or [1.0] * environment.arms
    assert means is not None
    merits = [float(merit(np.array([mean]))[0]) for mean in means]
    reward = fairness = 0.0
    found = []
    for awake, chance in zip(one.awake, one.chance, strict=True):
        fair = deserved_by(merits, awake, plays)
        missing = [p - q for p, q in zip(fair, chance, strict=True)]
        lost = sum(d * mean * weight for d, mean, weight in zip(missing, means, weights, strict=True))
        reward += max(lost, 0.0)
        fairness += sum(abs(d) for d in missing)
        found.append((reward, fairness))
    return found


FLAT = Linear(1.0, 1.0)  # largest over smallest is 2: within the limit of 4 arms and 2 plays
STEEP = Power(50.0, 4.0)
LANE_AWAKE = Independent([0.9, 0.6, 0.8, 0.5])
MERITED: dict[str, tuple[Policy, Environment, Merit]] = {
    "bounds": (fcucb_d(FLAT, horizon=HORIZON, plays=2), Environment(Bernoulli(MEANS), feedback=Geometric(0.2)), FLAT),
    "draws": (fcts_d(FLAT, plays=2), Environment(Bernoulli(MEANS), feedback=Geometric(0.2)), FLAT),
    "steep, one play": (fairx_ts(STEEP), Environment(Bernoulli(MEANS)), STEEP),
    "steep, capped": (fcts_d(STEEP, cap=True, plays=3), Environment(Bernoulli(MEANS)), STEEP),
    "asleep": (fcts_d(FLAT, plays=2), Environment(Bernoulli(MEANS), LANE_AWAKE, Fixed(2)), FLAT),
    "asleep, bounds": (
        op_fcucb_d(FLAT, horizon=HORIZON, radius="code", plays=3, cap=True),
        Environment(Bernoulli(MEANS), Joint([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], [0.5, 0.3, 0.2])),
        FLAT,
    ),
    "means by lane": (fcts_d(FLAT, plays=2), Environment(Bernoulli(LANE_MEANS)), FLAT),
    "means by lane, asleep": (fgreedy_d(FLAT, plays=2), Environment(Bernoulli(LANE_MEANS), LANE_AWAKE), FLAT),
    "merit of the environment": (ucb1(plays=2), Environment(Bernoulli(MEANS), merit=FLAT), FLAT),
    "merit of the environment, ties at random": (
        lfg(SHARES, eta=5.0, plays=2),
        Environment(Bernoulli(MEANS), LANE_AWAKE, merit=FLAT),
        FLAT,
    ),
    "merit of the environment, over the limit": (
        thompson(plays=3),
        Environment(Bernoulli(MEANS), merit=STEEP),
        STEEP,
    ),
    "the policy's merit comes first": (fcts_d(FLAT, plays=2), Environment(Bernoulli(MEANS), merit=STEEP), FLAT),
    "weights": (fcts_d(FLAT, plays=2), Environment(Bernoulli(MEANS), weights=[2.0, 0.5, 1.0, 3.0]), FLAT),
    "a free start": (
        fcucb_d(FLAT, horizon=HORIZON, free_start=True, plays=2),
        Environment(Bernoulli(MEANS), feedback=Fixed(3)),
        FLAT,
    ),
}


@pytest.mark.parametrize("block", [STRAND, 2])
@pytest.mark.parametrize(("policy", "environment", "merit"), MERITED.values(), ids=MERITED)
def test_regrets_by_merit_are_sums_over_the_selection_vectors(
    policy: Policy, environment: Environment, merit: Merit, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.core.streams.STRAND", block)
    results = compare({"it": policy}, environment, HORIZON, LANES, SEED, checkpoints=CHECKPOINTS, progress=False)
    curves = results.policies["it"].curves
    for lane, one in enumerate(vectors(policy, environment, block)):
        expected = regrets_of(one, lane, policy.plays, environment, merit)
        for place, until in enumerate(CHECKPOINTS):
            reward, fairness = expected[until - 1]
            assert curves["reward_regret"][place, lane] == pytest.approx(reward, abs=1e-12)
            assert curves["fairness_regret"][place, lane] == pytest.approx(fairness, abs=1e-12)


def test_regrets_by_merit_by_hand() -> None:
    # Means 1 and 0, f = 1 + μ: p* = (2/3, 1/3). The first two rounds play arm 1, then arm 2: the one is better than
    # fair by 1/3, which does not count, the other loses 2/3; 2/3 and 4/3 are missing or too much.
    policy = fcucb_d(FLAT, horizon=2)
    results = compare([policy], Environment(Bernoulli([1.0, 0.0])), 2, 3, checkpoints=[1, 2], progress=False)
    curves = results.policies["fcucb_d"].curves
    np.testing.assert_allclose(curves["reward_regret"], [[0.0] * 3, [2 / 3] * 3], atol=1e-15)
    np.testing.assert_allclose(curves["fairness_regret"], [[2 / 3] * 3, [2.0] * 3], rtol=1e-14)


def test_no_regret_where_the_shares_are_deserved() -> None:
    # Thompson sampling at a flat merit: whatever is drawn, p = m/K = p*.
    results = compare([fcts_d(Linear(0.0, 1.0), plays=2)], Environment(Bernoulli(MEANS)), 50, 4, progress=False)
    for name in ("reward_regret", "fairness_regret"):
        assert (results.policies["fcts_d"].curves[name] < 1e-12).all()


def test_the_baseline_knows_what_is_deserved() -> None:
    world = Environment(Bernoulli(MEANS), LANE_AWAKE, merit=STEEP)
    for policy, merit in ((ucb1(plays=2), STEEP), (fcts_d(FLAT, plays=2), FLAT)):
        baseline = baseline_of(policy, world)
        assert baseline.plays == 2
        assert np.asarray(baseline.merits).tolist() == merit(np.array(MEANS)).tolist()
        fair = fair_shares(merit, np.array(MEANS), 2, LANE_AWAKE)
        assert np.asarray(baseline.deserved).tolist() == np.asarray(fair).tolist()
    plain = baseline_of(ucb1(), Environment(Bernoulli(MEANS)))
    assert (plain.merits, plain.deserved) == (None, None)
    lanes = baseline_of(ucb1(), Environment(Bernoulli(LANE_MEANS), merit=FLAT))
    second = lanes.for_lanes(slice(1, 3))
    assert np.asarray(second.merits).tolist() == (1.0 + np.asarray(LANE_MEANS)[1:3]).tolist()
    assert np.asarray(second.deserved).shape == (2, 4)


def test_merit_is_refused_where_means_leave_the_unit_interval() -> None:
    world = Environment(Gaussian([0.5, 1.2, 0.1], 0.1))
    message = r"^merit is a function of mean rewards in \[0, 1\], but that of arm 2 is 1\.2$"
    with pytest.raises(EvenhandError, match=message):
        baseline_of(fcts_d(FLAT), world)
    with pytest.raises(EvenhandError, match=message):
        baseline_of(ucb1(), Environment(Gaussian([0.5, 1.2, 0.1], 0.1), merit=FLAT))
    assert baseline_of(ucb1(), world).merits is None
