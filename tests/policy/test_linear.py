"""Linear indexes against loops of their own: in fractions, and by fresh solves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from numpy.random import Generator

from evenhand import EvenhandError, Feedback, Observation, Policy, dump, restore
from evenhand.bandit.saved import changed, difference
from evenhand.core.cohorts import Answers
from evenhand.core.state import Array, State, rows
from evenhand.policy import (
    Committed,
    Forgetting,
    LinTS,
    LinUCB,
    LogisticTS,
    Mature,
    MatureBeta,
    Mean,
    Pessimistic,
    TopM,
    UntilDisproved,
    linear_sums,
)
from evenhand.policy.factors import RENEWAL, Roots, exact_norm
from evenhand.policy.memories import learn

Log: TypeAlias = list[tuple[Any, int, float]]  # features, played arm, reward
Kind: TypeAlias = type[LinUCB] | type[LinTS]
MODELS = ("disjoint", "shared", "hybrid")
ARMS, SITUATION, ARM = 4, 3, 2


def features(
    rng: Generator, lead: tuple[int, ...] = (), arms: int = ARMS, columns: tuple[int, int] = (SITUATION, ARM)
) -> Any:
    """Features of a decision."""
    situation = rng.random((*lead, columns[0]))
    return Observation(situation=situation, arms=rng.random((*lead, arms, columns[1])) if columns[1] else None)


def answered(seen: Any, place: int, reward: float, delay: int = 0, arms: int = ARMS) -> Feedback:
    """The feedback of one reward, of a single lane."""
    received, rewards = np.zeros(arms), np.zeros(arms)
    received[place], rewards[place] = 1.0, reward
    situation = None if seen.situation is None else seen.situation[np.newaxis]
    arm = None if seen.arms is None else seen.arms[place][np.newaxis]
    answers = Answers(np.array([place]), np.array([delay]), np.array([reward]), situation, arm)
    return Feedback(received, rewards, answers)


def block(model: str, arm: int, seen: Any, arms: int = ARMS) -> Array:
    """φ of an arm as one long vector, with a block for each arm where the model has them."""
    z = np.zeros(0) if seen.arms is None else seen.arms[arm]
    own: Array = {"disjoint": np.concatenate((seen.situation, z)), "shared": np.zeros(0), "hybrid": seen.situation}[
        model
    ]
    common: Array = {"disjoint": np.zeros(0), "shared": np.concatenate((seen.situation, z)), "hybrid": z}[model]
    vector = np.zeros(arms * len(own) + len(common))
    vector[arm * len(own) : (arm + 1) * len(own)] = own
    vector[arms * len(own) :] = common
    return vector


def solved_afresh(model: str, ridge: float, log: Log, seen: Any, arms: int = ARMS) -> tuple[Array, Array, float]:
    """Means and widths of all arms from a list of (seen, arm, reward), by one dense matrix."""
    phi = np.array([block(model, arm, seen, arms) for arm in range(arms)])
    matrix, right = ridge * np.eye(phi.shape[1]), np.zeros(phi.shape[1])
    for earlier, arm, reward in log:
        vector = block(model, arm, earlier, arms)
        matrix += np.outer(vector, vector)
        right += reward * vector
    inverse = np.linalg.inv(matrix)
    return phi @ inverse @ right, np.sqrt(np.einsum("ad,de,ae->a", phi, inverse, phi)), np.linalg.slogdet(matrix)[1]


def played(
    policy: Policy, rounds: int, rng: Generator, columns: tuple[int, int] = (SITUATION, ARM)
) -> tuple[State, Log]:
    """A state after some rounds, and what happened in them."""
    state, log = policy.start(ARMS, columns=columns), []
    for _ in range(rounds):
        seen = features(rng, columns=columns)
        decision = policy.decide(state, seen, rng)
        place, reward = int(decision.played.argmax()), float(rng.random())
        policy.observe(state, answered(seen, place, reward), rng)
        log.append((seen, place, reward))
    return state, log


@pytest.mark.parametrize("model", MODELS)
def test_lin_ucb_is_the_mean_plus_radius_times_width(model: str) -> None:
    rng = np.random.default_rng(1)
    policy = Policy(LinUCB(model, ridge=0.7, radius=1.3))
    state, log = played(policy, 60, rng)
    seen = features(rng)
    mean, width, _ = solved_afresh(model, 0.7, log, seen)
    np.testing.assert_allclose(policy.index.score(state, seen, rng), mean + 1.3 * width, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_radius_of_the_theorem(model: str) -> None:
    rng = np.random.default_rng(2)
    policy = Policy(LinUCB(model, ridge=2.0, radius="theorem", delta=0.05, norm=1.5))
    state, log = played(policy, 40, rng)
    seen = features(rng)
    mean, width, lndet = solved_afresh(model, 2.0, log, seen)
    size = len(block(model, 0, seen))
    growth = np.full(ARMS, lndet - size * np.log(2.0))
    delta = 0.05
    if model == "disjoint":
        each = [[one for one in log if one[1] == arm] for arm in range(ARMS)]
        growth = np.array([solved_afresh(model, 2.0, one, seen)[2] for one in each]) - size * np.log(2.0)
        delta /= ARMS
    radius = 0.5 * np.sqrt(2 * np.log(1 / delta) + growth) + np.sqrt(2.0) * 1.5
    np.testing.assert_allclose(policy.index.score(state, seen, rng), mean + radius * width, atol=1e-10)


def test_sums_and_scores_in_fractions() -> None:
    rng = np.random.default_rng(3)
    policy = Policy(LinUCB("disjoint", ridge=1.0, radius=0.0))
    state, sums = policy.start(2, columns=(2, 0)), [[[Fraction(0)] * 2 for _ in range(2)] for _ in range(2)]
    right = [[Fraction(0)] * 2 for _ in range(2)]
    for number in range(25):
        seen = Observation(situation=rng.integers(0, 8, 2) / 8.0)
        place, reward = number % 2, float(rng.integers(0, 3) / 2)
        policy.observe(state, answered(seen, place, reward, arms=2), rng)
        x = [Fraction(value) for value in np.asarray(seen.situation)]
        for i in range(2):
            right[place][i] += x[i] * Fraction(reward)
            for j in range(2):
                sums[place][i][j] += x[i] * x[j]
    assert state.index.own.tolist() == [[[float(one) for one in row] for row in matrix] for matrix in sums]
    assert state.index.own_rewards.tolist() == [[float(one) for one in row] for row in right]
    seen, index = Observation(situation=np.array([0.25, 0.75])), cast(Any, policy.index)
    score, squares = index.score(state, seen, rng), index._parts(state, seen).squares()  # those of LinTS, too
    for place in range(2):
        (a, b), (_, d) = sums[place]
        a, d = a + 1, d + 1
        first, second = right[place]
        det = a * d - b * b
        mean = (Fraction(1, 4) * (d * first - b * second) + Fraction(3, 4) * (a * second - b * first)) / det
        assert score[place] == pytest.approx(float(mean), abs=1e-15)
        square = (Fraction(1, 16) * d - Fraction(6, 16) * b + Fraction(9, 16) * a) / det
        assert squares[place] == pytest.approx(float(square), rel=1e-15)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("index", [LinUCB, LinTS])
def test_lanes_do_as_each_lane_alone(model: str, index: Kind) -> None:
    rng, lanes = np.random.default_rng(4), 5
    policy = Policy(index(model), selection=TopM(2))
    state = policy.start(ARMS, lanes=lanes, columns=(SITUATION, ARM))
    alone = [policy.start(ARMS, columns=(SITUATION, ARM)) for _ in range(lanes)]
    for _ in range(30):
        seen = features(rng, (lanes,))
        number = int(rng.integers(1, 9))  # several of a lane, and of one arm, at a time
        places = np.sort(rng.integers(0, lanes * ARMS, number))
        rewards = rng.random(number)
        where, arm = np.divmod(places, ARMS)
        x, z = rng.random((number, SITUATION)), rng.random((number, ARM))
        received = np.bincount(places, minlength=lanes * ARMS).reshape(lanes, ARMS).astype(float)
        answers = Answers(places, np.zeros(number, dtype=int), rewards, x, z)
        policy.index.score(state, seen, np.random.default_rng(0))
        policy.observe(state, Feedback(received, received * 0, answers), rng)
        for lane, one in enumerate(alone):
            policy.index.score(one, rows(seen, np.array(lane)), np.random.default_rng(0))
            of = where == lane
            answers = Answers(arm[of], np.zeros(of.sum(), dtype=int), rewards[of], x[of], z[of])
            policy.observe(one, Feedback(received[lane], received[lane] * 0, answers), rng)
    for lane, one in enumerate(alone):
        for name in ("own", "own_rewards", "cross", "common", "common_rewards"):
            whole, single = getattr(state.index, name), getattr(one.index, name)
            assert whole is single is None or (whole[lane] == single).all()
    if index is LinUCB:
        seen = features(rng, (lanes,))
        scores = policy.index.score(state, seen, rng)
        for lane, one in enumerate(alone):
            np.testing.assert_allclose(
                policy.index.score(one, rows(seen, np.array(lane)), rng), scores[lane], atol=1e-13
            )


@pytest.mark.parametrize("model", MODELS)
def test_many_rewards_at_once_are_added_in_their_order(model: str) -> None:
    rng, number = np.random.default_rng(5), 300
    policy = Policy(LinUCB(model))
    places, rewards = rng.integers(0, ARMS, number), rng.random(number)
    x, z = rng.random((number, SITUATION)), rng.random((number, ARM))
    received = np.bincount(places, minlength=ARMS).astype(float)
    together, single = (policy.start(ARMS, columns=(SITUATION, ARM)) for _ in range(2))
    answers = Answers(places, np.zeros(number, dtype=int), rewards, x, z)
    policy.observe(together, Feedback(received, received * 0, answers), rng)
    for i in range(number):
        seen = Observation(situation=x[i], arms=np.broadcast_to(z[i], (ARMS, ARM)))
        policy.observe(single, answered(seen, places[i], rewards[i]), rng)
    assert dump(together.index) == dump(single.index)


@pytest.mark.parametrize("keeps", [True, False], ids=["einsum", "products written down"])
@pytest.mark.parametrize(("height", "width", "rows"), [(1, 1, 50), (1, 9, 50), (3, 1, 7), (11, 13, 900), (50, 50, 60)])
def test_sums_over_rows_are_those_of_a_loop(
    height: int, width: int, rows: int, keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not keeps:  # as where a processor fuses product and sum
        monkeypatch.setattr(linear_sums, "einsum_keeps_order", lambda *_: False)
    rng = np.random.default_rng(0)
    target, left, right = (rng.normal(size=shape) for shape in ((4, height, width), (rows, height), (rows, width)))
    places, expected = rng.integers(0, 4, rows), target.copy()
    for place, v, w in zip(places, left, right, strict=True):
        expected[place] += np.multiply.outer(v, w)
    linear_sums.increase(target, linear_sums.Runs(places), left, right)
    assert np.array_equal(target, expected)


def test_einsum_is_asked_whether_it_keeps_the_order() -> None:
    assert not linear_sums.einsum_keeps_order(1, 1)  # it goes along the rows, of which it adds several at once
    found = {linear_sums.einsum_keeps_order(width, width) for width in range(2, 70)}
    assert len(found) == 1  # the same for all widths: whether this build fuses products and sums


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_state_has_the_same_sums_and_scores_and_no_cache(model: str) -> None:
    rng = np.random.default_rng(6)
    policy = Policy(LinUCB(model, radius="theorem"))
    state, _ = played(policy, 1000, rng)
    seen = features(rng)
    before = policy.index.score(state, seen, rng)
    text = json.dumps(dump(state))
    assert "solved" not in text
    again = restore(policy.start(ARMS, columns=(SITUATION, ARM)), json.loads(text))
    assert json.dumps(dump(again)) == text
    assert again.index.solved is None
    np.testing.assert_allclose(policy.index.score(again, seen, rng), before, rtol=0, atol=1e-12)


def test_a_state_that_is_changed_by_a_log_has_no_cache() -> None:
    rng = np.random.default_rng(6)
    policy = Policy(LinUCB())
    state, _ = played(policy, 5, rng)
    later = restore(state, dump(state))
    for _ in range(3):
        policy.observe(later, answered(features(rng), 1, 1.0), rng)
    seen = features(rng)
    policy.index.score(state, seen, rng)
    changed(state.index, difference(state.index, later.index))
    assert (policy.index.score(state, seen, rng) == policy.index.score(restore(later, dump(later)), seen, rng)).all()


@pytest.mark.parametrize("model", MODELS)
def test_a_new_arm_starts_with_nothing(model: str) -> None:
    rng = np.random.default_rng(7)
    policy = Policy(LinUCB(model, ridge=4.0))
    state, log = played(policy, 50, rng)
    grown = policy.grow(state, ARMS + 1)
    seen = features(rng, arms=ARMS + 1)
    mean, width, _ = solved_afresh(model, 4.0, log, seen, ARMS + 1)
    np.testing.assert_allclose(policy.index.score(grown, seen, rng), mean + width, atol=1e-12)
    if model == "disjoint":
        phi = block(model, ARMS, seen, ARMS + 1)
        assert policy.index.score(grown, seen, rng)[-1] == pytest.approx(np.linalg.norm(phi) / 2.0)
    policy.observe(grown, answered(seen, ARMS, 1.0, arms=ARMS + 1), rng)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("columns", [(SITUATION, ARM), (0, ARM)])
def test_draws_have_the_mean_and_the_covariance_of_the_posterior(model: str, columns: tuple[int, int]) -> None:
    rng = np.random.default_rng(8)
    policy = Policy(LinTS(model, ridge=0.5, scale=0.8))
    state, log = played(policy, 40, rng, columns)
    seen = features(rng, columns=columns)
    draws = np.array([policy.index.score(state, seen, rng) for _ in range(8_000)])
    phi = np.array([block(model, arm, seen) for arm in range(ARMS)])
    matrix, right = 0.5 * np.eye(phi.shape[1]), np.zeros(phi.shape[1])
    for earlier, arm, reward in log:
        vector = block(model, arm, earlier)
        matrix += np.outer(vector, vector)
        right += reward * vector
    inverse = np.linalg.inv(matrix)
    covariance = 0.64 * phi @ inverse @ phi.T
    error = np.sqrt(np.diag(covariance) / len(draws))
    assert (np.abs(draws.mean(axis=0) - phi @ inverse @ right) < 4.5 * error).all()
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=4.5 * covariance.max() * np.sqrt(2 / len(draws)))


def test_the_scale_of_the_theorem() -> None:
    rng = np.random.default_rng(9)
    policy = Policy(LinTS(scale="theorem", delta=0.1))
    state = policy.start(1, columns=(4, 0))
    seen = Observation(situation=np.array([1.0, 0.0, 0.0, 0.0]))
    draws = [policy.index.score(state, seen, rng)[0] for _ in range(5000)]
    assert np.std(draws) == pytest.approx(0.5 * np.sqrt(9 * 4 * np.log(1 / 0.1)), rel=0.05)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
@pytest.mark.parametrize("index", [LinUCB, LinTS])
def test_forgetting_weighs_plays_by_the_discount_and_widths_by_its_square(model: str, index: Kind) -> None:
    rng, discount = np.random.default_rng(10), 0.9
    policy = Policy(index(model, ridge=0.5, evidence=Forgetting(discount=discount)))
    state, log = played(policy, 30, rng)
    seen = features(rng)
    phi = np.array([block(model, arm, seen) for arm in range(ARMS)])
    matrix, squares, right = 0.5 * np.eye(phi.shape[1]), 0.5 * np.eye(phi.shape[1]), np.zeros(phi.shape[1])
    for age, (earlier, arm, reward) in enumerate(reversed(log)):
        vector = block(model, arm, earlier)
        matrix += discount**age * np.outer(vector, vector)
        squares += discount ** (2 * age) * np.outer(vector, vector)
        right += discount**age * reward * vector
    inverse = np.linalg.inv(matrix)
    mean, covariance = phi @ inverse @ right, phi @ inverse @ squares @ inverse @ phi.T
    if index is LinUCB:
        expected = mean + np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(policy.index.score(state, seen, rng), expected, atol=1e-12)
    else:
        draws = np.array([policy.index.score(state, seen, rng) for _ in range(8_000)])
        np.testing.assert_allclose(np.cov(draws.T), covariance, atol=5 * covariance.max() * np.sqrt(2 / len(draws)))
        assert np.abs(draws.mean(axis=0) - mean).max() < 5 * np.sqrt(covariance.max() / len(draws))


def test_otf_lin_ucb_by_hand() -> None:
    """One column, two arms that share θ, m = 2, β = 1; λ = 1."""
    policy, rng = Policy(LinUCB("shared", radius=1.0, evidence="pessimistic", cutoff=2)), np.random.default_rng(0)
    state = policy.start(2, columns=(0, 1))
    seen = Observation(arms=np.array([[1.0], [2.0]]))
    assert policy.decide(state, seen, rng).played.tolist() == [False, True]  # 1 · 2: V = 1 + 4
    assert policy.decide(state, seen, rng).played.tolist() == [False, True]  # V = 9
    lengths = [2 / 5**0.5, 2 / 9**0.5]  # of the two plays, each in the V that holds it
    expected = (1 + sum(lengths)) * np.array([1.0, 2.0]) / 3.0
    np.testing.assert_allclose(policy.index.score(state, seen, rng), expected, rtol=1e-15)
    policy.observe(state, answered(seen, 1, 1.0, delay=2, arms=2), rng)  # in time: b = 2
    policy.observe(state, answered(seen, 1, 1.0, delay=3, arms=2), rng)  # too late
    mean = np.array([1.0, 2.0]) * 2.0 / 9.0
    np.testing.assert_allclose(policy.index.score(state, seen, rng), mean + expected, rtol=1e-15)
    policy.decide(state, seen, rng)  # the first play leaves the window: V = 13
    lengths = [lengths[1], 2 / 13**0.5]
    mean = np.array([1.0, 2.0]) * 2.0 / 13.0
    expected = mean + (1 + sum(lengths)) * np.array([1.0, 2.0]) / 13**0.5
    np.testing.assert_allclose(policy.index.score(state, seen, rng), expected, rtol=1e-15)


def test_otf_lin_ucb_has_a_window_for_every_arm_of_its_own_and_twice_the_radius_of_the_theorem() -> None:
    rng, lanes = np.random.default_rng(11), 3
    policy = Policy(LinUCB("disjoint", radius="theorem", evidence="pessimistic", cutoff=5), selection=TopM(2))
    state = policy.start(ARMS, lanes=lanes, columns=(SITUATION, 0))
    plays: list[tuple[Any, Any]] = []
    for _ in range(12):
        seen = features(rng, (lanes,), columns=(SITUATION, 0))
        plays.append((seen.situation, policy.decide(state, seen, rng).played))
    x = features(rng, (lanes,), columns=(SITUATION, 0))
    score = policy.index.score(state, x, rng)
    for lane in range(lanes):
        for arm in range(ARMS):
            matrix, lengths = np.eye(SITUATION, dtype=float), []
            for situation, who in plays:
                if who[lane, arm]:
                    matrix += np.outer(situation[lane], situation[lane])
                inside = np.linalg.solve(matrix, situation[lane])
                lengths.append(np.sqrt(situation[lane] @ inside) if who[lane, arm] else 0.0)
            radius = 2 * (0.5 * np.sqrt(2 * np.log(ARMS / 0.01) + np.linalg.slogdet(matrix)[1]) + 1)
            width = np.sqrt(x.situation[lane] @ np.linalg.solve(matrix, x.situation[lane]))
            assert score[lane, arm] == pytest.approx((radius + sum(lengths[-5:])) * width, abs=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_roots_stay_right_over_many_updates(scale: float) -> None:
    rng, width = np.random.default_rng(12), 6
    sums = np.zeros((2, width, width))
    roots = Roots.of(sums, 1.0)
    scales = np.where(np.arange(width) % 2, scale, 1.0)
    for number in range(3 * RENEWAL):
        vector = rng.random(width) * scales
        sums[number % 2] += np.outer(vector, vector)
        roots.add(number % 2, vector, sums, 1.0)
    for place in range(2):
        vector = rng.random(width) * scales
        exact = vector @ np.linalg.solve(sums[place] + np.eye(width), vector)
        found = np.sum((roots.root[place] @ vector) ** 2)
        assert found == pytest.approx(exact, rel=1e-11)
        assert exact_norm(sums[place][None], 1.0, vector[None])[0] == pytest.approx(exact**0.5, rel=1e-9)
        assert roots.growth[place] == pytest.approx(np.linalg.slogdet(sums[place] + np.eye(width))[1], abs=1e-9)


def test_a_root_that_is_wrong_is_noticed_and_renewed() -> None:
    rng = np.random.default_rng(13)
    sums = np.zeros((1, 3, 3))
    roots = Roots.of(sums, 1.0)
    roots.root[0, 1, 1] *= 1.0 + 1e-6
    vector = rng.random(3)
    sums[0] += np.outer(vector, vector)
    roots.add(0, vector, sums, 1.0)
    assert roots.age[0] == 0
    np.testing.assert_allclose(roots.root[0].T @ roots.root[0], np.linalg.inv(sums[0] + np.eye(3)), atol=1e-15)


def test_a_sum_that_rounding_has_made_singular_still_has_widths() -> None:
    vector = np.array([1.0, 1.0, 1e-3])
    sums = 1e12 * np.outer(vector, vector)[np.newaxis] - 1e-4 * np.eye(3)
    root = Roots.of(sums, 1e-6).root
    assert np.isfinite(root).all()


def test_duplicated_and_constant_columns_and_more_columns_than_rounds() -> None:
    rng = np.random.default_rng(14)
    policy = Policy(LinUCB(ridge=1e-5))
    state, log = policy.start(2, columns=(40, 0)), []
    for number in range(600):
        half = np.append(rng.random(19), 1.0)
        seen = Observation(situation=np.concatenate((half, half)))
        policy.observe(state, answered(seen, number % 2, float(rng.random()), arms=2), rng)
        log.append((seen, number % 2, 0.0))
        score = policy.index.score(state, seen, rng)
        assert np.isfinite(score).all()
    index: Any = policy.index
    parts = index._parts(state, seen)
    _, width, _ = solved_afresh("disjoint", 1e-5, log, seen, 2)
    np.testing.assert_allclose(np.sqrt(parts.squares()), width, rtol=1e-6)


@pytest.mark.parametrize("value", [1.7e9, 1e200, np.inf, np.nan])
def test_a_ridge_that_is_too_small_for_the_features_is_refused(value: float) -> None:
    policy, rng = Policy(LinUCB()), np.random.default_rng(0)
    state = policy.start(2, columns=(2, 0))
    with np.errstate(over="ignore"), pytest.raises(EvenhandError, match=r"ridge.*Number\(low, high\)"):
        policy.decide(state, Observation(situation=np.array([1.0, value])), rng)
    seen = Observation(situation=np.array([1.0, value]))
    with np.errstate(over="ignore"), pytest.raises(EvenhandError, match="ridge"):
        policy.observe(state, answered(seen, 0, 1.0, arms=2), rng)
    assert not state.index.own.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinUCB(evidence=Mature()), "goes by counts"),
        (lambda: LinTS(evidence="optimistic"), "goes by counts"),
        (lambda: LinUCB(evidence="pessimistic"), "give both or neither"),
        (lambda: LinUCB(cutoff=3), "give both or neither"),
        (lambda: LinUCB(evidence=Forgetting(window=10)), "discount=0.99"),
        (lambda: LinUCB(evidence=Forgetting(Pessimistic(), discount=0.9)), "goes by counts"),
        (lambda: LinUCB("hybrid", evidence="pessimistic", cutoff=3), "model='shared' or 'disjoint'"),
        (lambda: LinTS("hybrid", evidence=Forgetting(discount=0.9)), "model='shared' or 'disjoint'"),
        (lambda: LinTS(evidence="pessimistic"), "use LinUCB"),
        (lambda: LinUCB(ridge=0.0), "ridge must be above 0"),
        (lambda: LinUCB("own"), "model must be"),
        (lambda: LinUCB(radius="wide"), "radius must be a number of at least 0 or 'theorem'"),
        (lambda: LinUCB(delta=0.0), "delta must be in"),
        (lambda: Policy(LinUCB("shared")).start(3, columns=(5, 0)), "same score"),
        (lambda: Policy(LinUCB("hybrid")).start(3, columns=(5, 0)), "model='disjoint'"),
        (lambda: Policy(LinUCB()).start(10_000, columns=(400, 0)), "model='shared' or 'hybrid', or fewer features"),
        (lambda: Policy(LinUCB()).start(3), "features"),
        (lambda: Mean(LinUCB(), LinUCB(ridge=2.0)), "share one memory"),
        (lambda: Committed(LinUCB(), 5), "index of counts"),
        (lambda: UntilDisproved(LinUCB(), MatureBeta()), "index of counts"),
    ],
)
def test_refusals_name_the_remedy(make: Callable[[], object], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()


@pytest.mark.parametrize("index", [LinUCB("shared"), LogisticTS("shared")])
def test_features_of_another_length_are_refused_and_change_nothing(index: Any) -> None:
    policy, rng = Policy(index), np.random.default_rng(0)
    state = policy.start(ARMS, columns=(SITUATION, ARM))
    before = dump(state.index)
    for columns in ((SITUATION + 1, ARM), (SITUATION, ARM + 1), (SITUATION, 0)):
        seen = features(rng, columns=columns)
        with pytest.raises(EvenhandError, match=r"have shapes? .*, this policy needs"):
            policy.index.score(state, seen, rng)
        with pytest.raises(EvenhandError, match=r"have shape .*, this policy needs"):
            policy.index.after_feedback(state, answered(seen, 0, 1.0), rng)
    assert dump(state.index) == before


def test_counts_without_features_are_refused() -> None:
    policy = Policy(LinUCB())
    state = policy.start(2, columns=(1, 0))
    with pytest.raises(EvenhandError, match="learns from features"):
        learn(policy, state, np.ones(2), np.ones(2))


def test_an_unavailable_arm_does_not_play_and_a_floor_gives_exact_chances() -> None:
    rng = np.random.default_rng(15)
    policy = Policy(LinTS("shared"), selection=TopM())
    state = policy.start(ARMS, columns=(SITUATION, ARM))
    seen = replace(features(rng), available=np.array([False, True, True, True]))
    assert not any(policy.decide(state, seen, rng).played[0] for _ in range(50))


def test_large_shared_models_are_quick_to_start_and_within_the_limit() -> None:
    policy, rng = Policy(LinUCB("shared")), np.random.default_rng(0)
    state = policy.start(2_000, columns=(390, 10))
    seen = features(rng, arms=2_000, columns=(390, 10))
    assert policy.decide(state, seen, rng).played.sum() == 1


@pytest.mark.parametrize("columns", [1, 3, 10, 17, 33])
@pytest.mark.parametrize("arms", [2, 5, 7, 33])
def test_arms_with_the_same_history_have_equal_scores(columns: int, arms: int) -> None:
    rng = np.random.default_rng(16)
    policy = Policy(LinUCB())
    state = policy.start(arms, columns=(columns, 0))
    for _ in range(3):
        seen, reward = Observation(situation=rng.random(columns)), float(rng.random())
        for place in range(arms):
            policy.observe(state, answered(seen, place, reward, arms=arms), rng)
    score = policy.index.score(state, Observation(situation=rng.random(columns)), rng)
    assert (score == score[0]).all()


SUMS = """
import hashlib, json, sys
import numpy as np
sys.path.insert(0, {root!r})
from evenhand import Feedback, Observation, Policy, dump
from evenhand.core.cohorts import Answers
from evenhand.policy import LinUCB
from tests.policy.test_linear import answered, features
digest = hashlib.sha256()
for kind in ({{}}, {{"evidence": "pessimistic", "cutoff": 9, "radius": 0.0}}):
    for model in ("disjoint", "shared"):
        policy, rng = Policy(LinUCB(model, **kind)), np.random.default_rng(0)
        state = policy.start(4, columns=(11, 2))
        for number in range(40):
            seen = features(rng, columns=(11, 2))
            mask = np.arange(4) == number % 4  # who plays must not depend on the scores
            policy.decide(state, Observation(mask, seen.situation, seen.arms), rng)
            policy.observe(state, answered(seen, number % 4, float(rng.random())), rng)
        answers = Answers(rng.integers(0, 4, 500), np.zeros(500, int), *map(rng.random, (500, (500, 11), (500, 2))))
        received = np.bincount(answers.places, minlength=4)
        policy.observe(state, Feedback(received, received * 0.5, answers), rng)
        digest.update(json.dumps(dump(state.index)).encode())
print(digest.hexdigest())
"""


def test_sums_and_lengths_have_the_same_bits_with_other_kernels() -> None:
    code = SUMS.format(root=str(Path(__file__).parents[2]))
    kernels: list[dict[str, str]] = [{}, {"OPENBLAS_CORETYPE": "Prescott"}, {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}]
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | kernel, capture_output=True, text=True, check=True
        ).stdout
        for kernel in kernels
    }
    assert len(found) == 1
