"""Several targets at once: paired differences, clips and intervals, also from logs of policies that learn."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evenhand import Feedback, Observation, Policy
from evenhand.bandit.evaluation.estimators import slope
from evenhand.bandit.evaluation.evaluation import evaluate
from evenhand.bandit.evaluation.followed import Model, followed
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.targets import FixedShares, as_target
from evenhand.core.errors import EvenhandError
from evenhand.inference.offpolicy import offpolicy_difference
from evenhand.policy import BetaSample, ExplorationFloor
from tests.bandit.evaluation.logs import MEANS, TINY, USED, WANTED, adaptive, drawn, even, fixed, log_of, simulated


def test_differences_are_paired() -> None:
    """Two targets that differ little: their intervals overlap widely, that of the difference excludes 0."""
    log = simulated(np.random.default_rng(1), 4000, MEANS, USED)
    found = evaluate(log, {"now": fixed(WANTED), "floor": fixed(0.9 * WANTED + 0.1 / 3)}, estimator="snips")
    now, floor = found.estimates.values()
    assert now.interval.low < floor.value < now.interval.high
    (difference,) = found.differences
    assert (difference.first, difference.second, difference.verdict) == ("floor", "now", "smaller")
    assert difference.value == pytest.approx(floor.value - now.value)
    weights = [shares[log.item] / log.propensity for shares in (0.9 * WANTED + 0.1 / 3, WANTED)]
    parts = [w * (log.reward - one.value) / w.mean() for w, one in zip(weights, (floor, now), strict=True)]
    error = np.std(parts[0] - parts[1], ddof=1) / 4000**0.5
    assert difference.interval.high - difference.value == pytest.approx(1.959964 * error, rel=1e-4)


def test_several_differences_cover_together() -> None:
    log = simulated(np.random.default_rng(1), 500, MEANS, USED)
    targets = {"a": fixed(WANTED), "b": "uniform", "c": {"0": 1}, "d": {"1": 1}}
    assert {one.interval.confidence for one in evaluate(log, targets).differences} == {1 - 0.05 / 3}
    found = evaluate(log, targets, against="the log's policy", confidence=0.9).differences
    assert [(one.first, one.second) for one in found] == [(name, "the log's policy") for name in targets]
    assert {one.interval.confidence for one in found} == {0.975}
    assert {one.second for one in evaluate(log, targets, against="c").differences} == {"c"}


def test_a_single_target_is_compared_with_the_policy_of_the_log() -> None:
    log = even()
    found = evaluate(log, fixed(WANTED), estimator="ips")
    assert found.differences[0].value == pytest.approx(found.estimates["fixed shares"].value - log.reward.mean())
    same = evaluate(log, "uniform", estimator="ips").differences[0]
    assert (same.value, same.interval.high) == pytest.approx((0.0, 0.0))


def test_targets_in_a_list_are_counted() -> None:
    found = evaluate(even(), ["uniform", fixed(WANTED), FixedShares(fixed(USED))])
    assert list(found.estimates) == ["uniform", "fixed shares 1", "fixed shares 2"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda log: evaluate(log, {"0": 0.5, "1": 0.4}), r"shares must sum to 1, they sum to 0\.9"),
        (lambda log: evaluate(log, {"0": 1.5, "1": -0.5}), r"the share of '0' must be a number in \[0, 1\]"),
        (lambda log: evaluate(log, "even"), "target must be 'uniform'"),
        (lambda log: evaluate(log, []), "targets is empty"),
        (lambda log: evaluate(log, "uniform", clip=0.0), "clip must be above 0"),
        (lambda log: evaluate(log, "uniform", clip="best"), "clip must be 'slope'"),
        (lambda log: evaluate(log_of(*TINY), "uniform", clip="slope"), "clip='slope' needs at least 10 rounds, got 3"),
        (lambda log: evaluate(log, {"the log's policy": "uniform"}), "is the name of the policy that made the log"),
        (lambda log: evaluate(log, "uniform", estimator="mrdr"), "estimator must be 'ips' or"),
        (lambda log: evaluate(log, "uniform", estimator="switch"), "switch needs the weight above which"),
        (lambda log: evaluate(log, "uniform", interval="bootstrap"), "interval must be 'normal' or"),
        (lambda log: evaluate(log, "uniform", confidence=1.0), "confidence must be"),
        (lambda log: evaluate(log, "uniform", against="unifrom"), "did you mean 'uniform'"),
        (lambda log: evaluate(log, "uniform", rewards=(1, 0)), "a smaller and a larger number"),
        (lambda log: evaluate(log, "uniform", rewards=(0, 0.5)), r"not within 0 to 0\.5: set rewards=\(0, 1\)"),
    ],
)
def test_arguments_that_make_no_sense(make: Callable[[Log], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make(even())


# --- clips ------------------------------------------------------------------------------------------------------------

RARE = np.array([0.9, 0.08, 0.02])


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr", "sndr", "switch"])
def test_clipped_estimates_are_within_their_bias_bound(estimator: str) -> None:
    """The mean of many, against the truth: off by at most the mean bound, and the wider intervals cover."""
    rng, values, bounds, covered = np.random.default_rng(7), [], [], 0
    truth = float(WANTED @ MEANS)
    for _ in range(200):
        log = simulated(rng, 400, MEANS, RARE)
        one = evaluate(log, fixed(WANTED), estimator=estimator, clip=5.0).estimates["fixed shares"]
        values.append(one.value)
        bounds.append(one.bias)
        covered += one.interval.low <= truth <= one.interval.high
    assert 0.03 < abs(np.mean(values) - truth) <= np.mean(bounds) + 4 * np.std(values) / 200**0.5
    assert covered >= 185  # of 200; 95 % would be 190, and fewer than 185 have a chance of 0.4 %


def test_slope_chooses_on_other_rounds_than_those_it_judges() -> None:
    log = simulated(np.random.default_rng(2), 1000, MEANS, RARE)
    found = evaluate(log, {"w": fixed(WANTED)}, clip="slope", estimator="ips")
    changed = replace(log, reward=np.where(np.arange(1000) < 200, log.reward, 1.0 - log.reward))
    assert evaluate(changed, {"w": fixed(WANTED)}, clip="slope", estimator="ips").clips == found.clips
    assert found.rounds == 800
    assert "the first fifth of the rounds chose the clip" in found.notes[-1]
    whole = evaluate(log, {"w": fixed(WANTED)}, clip=found.clips["w"], estimator="ips")
    assert whole.estimates != found.estimates


def test_slope_clips_where_it_helps_and_not_where_it_harms() -> None:
    rng, clips = np.random.default_rng(5), []
    for means in (np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.0, 1.0])):
        log = simulated(rng, 20_000, means, np.array([0.6, 0.39, 0.01]))
        target = followed(log, "t", as_target({"0": 0.3, "1": 0.3, "2": 0.4}), Model.of(log))
        clips.append(slope(target, "snips"))
    assert clips[0] is not None
    assert clips[0] < 5.0
    assert clips[1] is None


# --- logs of policies that learn --------------------------------------------------------------------------------------


def test_a_log_of_a_policy_that_learns_gets_a_sequence() -> None:
    log = next(adaptive(np.random.default_rng(1), 300, 1))
    claims = [evaluate(log, fixed(WANTED), interval=kind).estimates["fixed shares"] for kind in (None, "normal")]
    assert "all rewards lie in [0, 1]" in claims[0].interval.premises
    assert "the log's policy did not learn" in claims[1].interval.premises
    assert claims[0].value == claims[1].value
    assert evaluate(even(), "uniform").logged.interval.premises == claims[1].interval.premises


def greedy(rng: np.random.Generator, rounds: int, lanes: int, means: Any) -> Any:
    """Items, rewards and propensities of a policy that plays the best mean so far with chance 1 − 1/√t, (lanes, T)."""
    counts, sums, rows = np.zeros((lanes, 2)), np.zeros((lanes, 2)), np.arange(lanes)
    found = []
    for time in range(1, rounds + 1):
        least = 0.5 * time**-0.5
        propensity = np.full((lanes, 2), least)
        propensity[rows, (sums / np.maximum(counts, 1) + (counts == 0)).argmax(axis=1)] = 1.0 - least
        item = drawn(rng, propensity)
        reward = (rng.random(lanes) < np.asarray(means)[item]).astype(float)
        found.append((item, reward, propensity[rows, item]))
        counts[rows, item] += 1
        sums[rows, item] += reward
    return (np.array(column).T for column in zip(*found, strict=True))


def stepped(rng: np.random.Generator, rounds: int, lanes: int) -> Any:
    """The same of Thompson sampling with floors of 10%, for two items whose means both rise from 0.3 to 0.6."""
    policy = Policy(index=BetaSample(), selection=ExplorationFloor(0.1))
    state, rows, found = policy.start(2, lanes), np.arange(lanes), []
    for time in range(rounds):
        decision = policy.decide(state, Observation(), rng)
        rewards = decision.played * (rng.random((lanes, 2)) < (0.3 if 2 * time < rounds else 0.6))
        policy.observe(state, Feedback(decision.played, rewards), rng)
        item = decision.played.argmax(axis=1)
        found.append((item, rewards.sum(axis=1).astype(float), decision.inclusion[rows, item]))
    return (np.array(column).T for column in zip(*found, strict=True))


def test_unweighted_intervals_fail_where_the_sequence_holds() -> None:
    """Two items that are alike at every time: the one that plays more later looks better."""
    rounds, arms = 400, {"0": {"0": 1}, "1": {"1": 1}}
    failed = {"unweighted": 0, "sequence": 0}
    one = np.ones((1, 2), dtype=bool)
    for item, reward, propensity in zip(*stepped(np.random.default_rng(1), rounds, 200), strict=True):
        played = [reward[item == place] for place in (0, 1)]
        gap = played[1].mean() - played[0].mean()
        error = np.hypot(*(one.std() / len(one) ** 0.5 for one in played))
        failed["unweighted"] += abs(gap) > 1.96 * error
        log = Log("", ("0", "1"), item, reward, propensity, np.arange(rounds), one, np.zeros(rounds, dtype=np.intp))
        (difference,) = evaluate(log, arms).differences
        failed["sequence"] += difference.verdict != "undecided"
    assert failed["unweighted"] > 100  # of 200, where 10 would be right
    assert failed["sequence"] <= 10


def test_differences_of_targets_on_a_log_that_learned() -> None:
    rng, rounds, missed = np.random.default_rng(4), 300, 0
    one = np.ones((1, 2), dtype=bool)
    for item, reward, propensity in zip(*greedy(rng, rounds, 100, [0.3, 0.6]), strict=True):
        log = Log("", ("0", "1"), item, reward, propensity, np.arange(rounds), one, np.zeros(rounds, dtype=np.intp))
        (difference,) = evaluate(log, {"0": {"0": 1}, "1": {"1": 1}}).differences
        missed += not difference.interval.low <= 0.3 <= difference.interval.high
    assert missed <= 5
    one, zero = ((item == place) / propensity for place in (1, 0))
    largest = 1.0 / np.minimum(propensity, 1.0 - propensity).min()
    expected = [float(end) for end in offpolicy_difference(reward, one, zero, largest)]
    assert [difference.interval.low, difference.interval.high] == pytest.approx(expected)


def test_one_look_covers_and_is_narrower_than_the_sequence() -> None:
    rng, rounds, missed = np.random.default_rng(4), 400, 0
    one = np.ones((1, 2), dtype=bool)
    for item, reward, propensity in zip(*greedy(rng, rounds, 300, [0.5, 0.5]), strict=True):
        log = Log("", ("0", "1"), item, reward, propensity, np.arange(rounds), one, np.zeros(rounds, dtype=np.intp))
        ends = evaluate(log, {"0": 1}, interval="one look").estimates["fixed shares"].interval
        missed += not ends.low <= 0.5 <= ends.high
    assert missed <= 27  # of 300, binomial with 0.05: more in one of a thousand
    assert "the number of rounds was fixed beforehand" in ends.premises
    look, always = (evaluate(log, [{"0": 1}, {"1": 1}], interval=kind) for kind in ("one look", "sequence"))
    first, second = (estimate.interval for estimate in look.estimates.values())
    wide, difference = always.estimates["fixed shares 1"].interval, look.differences[0].interval
    assert first.high - first.low < 0.6 * (wide.high - wide.low)
    assert difference.high - difference.low == pytest.approx(np.hypot(first.high - first.low, second.high - second.low))


def test_one_look_needs_all_chances() -> None:
    log = next(adaptive(np.random.default_rng(1), 300, 1))
    ends = evaluate(log, fixed(WANTED), interval="one look").estimates["fixed shares"].interval
    assert (ends.claim, np.isnan(ends.low)) == ("not_claimed", True)
    assert "which only logs of two items say; use a sequence" in ends.premises[0]


def test_sequences_are_in_the_unit_of_the_rewards() -> None:
    log = next(adaptive(np.random.default_rng(1), 300, 1))
    euros = replace(log, reward=8.0 + 4.0 * log.reward)
    found, scaled = (evaluate(one, fixed(WANTED), rewards=limits) for one, limits in ((log, (0, 1)), (euros, (8, 12))))
    for before, after, shift in (
        (found.estimates["fixed shares"].interval, scaled.estimates["fixed shares"].interval, 8.0),
        (found.differences[0].interval, scaled.differences[0].interval, 0.0),
    ):
        assert (after.low, after.high) == pytest.approx((shift + 4 * before.low, shift + 4 * before.high))
    with pytest.raises(EvenhandError, match=r"has rewards from 8 to 12, not within 0 to 1: set rewards=\(0, 12\)"):
        evaluate(euros, fixed(WANTED))


def test_several_plays_a_round_have_sequences_too() -> None:
    rng, missed = np.random.default_rng(3), 0
    for _ in range(60):  # two of three items in each round, the third left out with chances 0.2, 0.3 and 0.5
        out = drawn(rng, np.broadcast_to([0.2, 0.3, 0.5], (300, 3)))
        item = np.array([[place for place in range(3) if place != one] for one in out]).ravel()
        reward = (rng.random(600) < MEANS[item]).astype(float)
        rows, zeros = np.arange(600) // 2, np.zeros(300, dtype=np.intp)
        log = Log("", tuple("012"), item, reward, np.array([0.8, 0.7, 0.5])[item], rows, np.ones((1, 3), bool), zeros)
        found = evaluate(log, {"w": fixed(WANTED), "2": {"2": 1.0}}, interval="sequence")
        ends = [one.interval for one in found.estimates.values()] + [one.interval for one in found.differences]
        truths = (WANTED @ MEANS, MEANS[2], MEANS[2] - WANTED @ MEANS)
        missed += any(not one.low <= truth <= one.high for one, truth in zip(ends, truths, strict=True))
    assert missed <= 4


def test_nothing_is_claimed_where_the_propensities_contradict_the_log() -> None:
    log = log_of(["a", "b"] * 200, [1, 0] * 200, [0.2, 0.3] * 200)
    found = evaluate(log, "uniform", interval="sequence")
    interval = found.estimates["uniform"].interval
    assert (interval.claim, np.isnan(interval.low)) == ("not_claimed", True)
    assert "no value agrees with the log" in interval.premises[0]
    assert found.grade.answer == "no"


@pytest.mark.parametrize("kind", ["normal", "sequence", "one look"])
def test_nothing_is_claimed_of_a_deterministic_policy(kind: str) -> None:
    log = log_of(["a", "b"] * 100, [1, 0] * 100, 1.0)
    found = evaluate(log, "uniform", interval=kind)
    assert found.estimates["uniform"].interval.claim == found.differences[0].interval.claim == "not_claimed"
    assert found.logged.interval.claim == "holds_if"


def test_nothing_is_claimed_where_an_item_had_no_chance() -> None:
    log = next(adaptive(np.random.default_rng(1), 300, 1))
    log.propensity[[9, 10, 40]] = 1.0
    found = evaluate(log, fixed(WANTED))
    interval = found.estimates["fixed shares"].interval
    assert interval.claim == found.differences[0].interval.claim == "not_claimed"
    assert np.isnan(interval.low)
    assert "in 3 of 300 rounds (10 to 11, 41)" in interval.premises[0]
    assert json.dumps(found.to_json(), allow_nan=False)
    assert found.logged.interval.claim == "holds_if"
