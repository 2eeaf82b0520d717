"""Replays: a policy that learns decides anew, in the rounds of the log that it accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import Feedback, Observation, Policy
from evenhand.bandit.evaluation.columns import Reading
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.replay import _times, policy_of, replay
from evenhand.core.errors import DataError, EvenhandError, InfeasiblePromise
from tests.bandit.evaluation.logs import AWAKE, MEANS, USED, even, log_of, simulated

EVEN = np.ones(3) / 3


def test_by_hand() -> None:
    """UCB1 plays a, then b, then what earned more; every second round of a log that alternates agrees."""
    log = log_of(["a", "b"] * 4, [0, 1] * 4, 0.5)
    found = replay(log, "ucb1")
    # a and b first; after that b has the larger bound, and round 3 of the log (a) is skipped, and so on.
    assert (found.rounds, found.of, found.chance) == (5, 8, 0.5)
    assert found.shares.tolist() == [0.2, 0.8]
    assert found.reward == 0.8
    assert found.interval.low <= 0.8 <= found.interval.high


def alone(rng: np.random.Generator, policy: Policy, rounds: int, means: Any) -> Any:
    """The shares and the mean reward of a policy that decides by itself."""
    state, total = policy.start(len(means)), 0.0
    for _ in range(rounds):
        decision = policy.decide(state, Observation(), rng)
        rewards = decision.played * (rng.random() < means)
        total += rewards.sum()
        policy.observe(state, Feedback(decision.played, rewards), rng)
    return np.append(state.tally.pulls, total) / rounds


@pytest.mark.parametrize(
    ("algorithm", "shares"),
    [
        *(("exp3", EVEN), ("fucb", USED)),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (("ucb1", EVEN), ("thompson", USED), ("ucb1", USED))),
    ],
)
def test_what_is_accepted_has_the_law_of_the_policy_alone(shares: Any, algorithm: str) -> None:
    known: dict[str, dict[str, Any]] = {"exp3": {"mixing": 0.2}, "fucb": {"fractions": [0.4, 0, 0]}}
    parameters = known.get(algorithm, {})
    rng, times, length = np.random.default_rng(3), 100, round(40 / shares.min())
    found, truth = [], []
    for seed in range(times):
        log = simulated(rng, length, MEANS, shares)
        one = replay(log, algorithm, parameters, seed=seed, chance=float(shares.min()))
        found.append([*one.shares, one.reward])
        policy = policy_of(log, algorithm, parameters, 40)[1]
        truth.append(alone(rng, policy, rng.binomial(length, shares.min()), MEANS))
    error = np.hypot(np.std(found, axis=0), np.std(truth, axis=0)) / times**0.5
    assert (np.abs(np.mean(found, axis=0) - np.mean(truth, axis=0)) < 4 * error + 1e-9).all()


def test_fucb_no_longer_looks_as_good_as_ucb1() -> None:
    """Half of the rounds are promised to the worst item: one step ahead of this log, which played it often, it never
    played it, and looked as good as UCB1."""
    log = simulated(np.random.default_rng(1), 6000, MEANS, np.array([0.54, 0.23, 0.23]))
    ucb1, fucb = replay(log, "ucb1"), replay(log, "fucb", {"fractions": [0.5, 0, 0]})
    assert fucb.shares[0] == pytest.approx(0.5, abs=0.001)
    assert fucb.reward < 0.55 * MEANS.max() + 0.5 * MEANS.min() + 0.05
    assert ucb1.interval.low > fucb.interval.high


def test_the_interval_covers_the_mean_of_what_was_played() -> None:
    missed = 0
    for seed in range(100):
        log = simulated(np.random.default_rng(seed), 900, MEANS, EVEN)
        found = replay(log, "ucb1", seed=seed)
        missed += not found.interval.low <= float(found.shares @ MEANS) <= found.interval.high
    assert missed <= 5


def test_the_seed_decides_all() -> None:
    log = simulated(np.random.default_rng(1), 500, MEANS, EVEN)
    one, again, other = (replay(log, "thompson", seed=seed).to_json() for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert json.dumps(one, allow_nan=False)


def test_sleeping_items_are_never_played_and_promises_among_them_kept() -> None:
    log = simulated(np.random.default_rng(1), 3000, MEANS, EVEN, AWAKE)
    found = replay(log, "fucb", {"fractions": {"0": 0.3}})
    assert found.shares[0] == pytest.approx(0.3, abs=0.01)
    assert log.sets[log.available, :].all(axis=1).mean() < 0.5


def test_rewards_are_scaled_for_the_policy_and_reported_in_their_unit() -> None:
    log = simulated(np.random.default_rng(1), 500, MEANS, EVEN)
    euros = replace(log, reward=8.0 + 4.0 * log.reward)
    one, other = replay(log, "ucb1"), replay(euros, "ucb1", rewards=(8.0, 12.0))
    assert (one.shares == other.shares).all()
    assert other.reward == pytest.approx(8 + 4 * one.reward)
    assert other.interval.high == pytest.approx(8 + 4 * one.interval.high)


def test_a_larger_chance_accepts_more_and_says_what_it_misses() -> None:
    log = simulated(np.random.default_rng(1), 3000, MEANS, np.array([0.01, 0.49, 0.5]))
    exact, rough = replay(log, "ucb1"), replay(log, "ucb1", chance=0.49)
    assert "they say little of what learns" in exact.notes[0]
    assert exact.rounds < 60 < 300 < rough.rounds
    assert "their items are accepted too seldom" in rough.notes[0]


def test_a_policy_and_a_table_are_replayed_alike() -> None:
    log = simulated(np.random.default_rng(1), 300, MEANS, EVEN)
    assert (replay(log, Policy()).shares == replay(log, {"index": "ucb"}).shares).all()
    assert replay(log, {"index": "ucb", "label": "mine"}).policy == "mine"


def test_what_holds_a_choice_is_replayed_too() -> None:
    log = simulated(np.random.default_rng(1), 900, MEANS, EVEN)
    assert replay(log, "ars_ucb").rounds > 200


def test_a_horizon_left_out_is_the_expected_number_of_rounds() -> None:
    log = simulated(np.random.default_rng(1), 600, MEANS, EVEN)
    left_out, said = replay(log, "naive", {"fractions": 0.1}), replay(log, "naive", {"fractions": 0.1, "horizon": 200})
    assert (left_out.shares == said.shares).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda log: replay(log, "ucb2"), "there is no algorithm 'ucb2'; did you mean 'ucb'"),
        (lambda log: replay(log, "ucb1", {"explore": 1.0}), "unknown parameter 'explore'"),
        (lambda log: replay(log, "fucb"), "fractions is missing: fucb needs it"),
        (lambda log: replay(log, "fucb", {"fractions": {"7": 0.1}}), "unknown arm '7'"),
        (lambda log: replay(log, {"index": "ucb", "selection": {"kind": "top_m", "plays": 2}}), "plays 2 items per"),
        (lambda log: replay(log, "mine:own"), "there is no algorithm 'mine:own'"),
        (lambda log: replay(log, "ucb1", rewards=(0, 0.5)), r"not within 0 to 0\.5: set rewards=\(0, 1\)"),
        (lambda log: replay(log, "ucb1", chance=2.0), "chance must be"),
    ],
)
def test_what_is_refused(make: Callable[[Log], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make(simulated(np.random.default_rng(1), 60, MEANS, EVEN))


def test_infeasible_promises_and_several_rows_a_round_are_refused() -> None:
    with pytest.raises(InfeasiblePromise):
        replay(simulated(np.random.default_rng(1), 60, MEANS, EVEN), "fucb", {"fractions": 0.5})
    with pytest.raises(DataError, match="decisions with several rows"):
        replay(log_of(["a", "b"], [0, 1], 0.5, decision_id="x"), "ucb1")


# --- late rewards -----------------------------------------------------------------------------------------------------


def delayed(rng: np.random.Generator, rounds: int, delay: float, **said: Any) -> Log:
    """A uniform log of three items, whose rewards come after a delay."""
    item = rng.integers(3, size=rounds)
    reward = (rng.random(rounds) < MEANS[item]).astype(float)
    seconds = np.arange(rounds, dtype=float)
    rows = {"timestamp": seconds, "item_id": item.astype(str), "reward": reward, "propensity_score": 1 / 3}
    return Log.of(pd.DataFrame(rows | {"rewarded": seconds + delay}), **said)


def test_rewards_reach_the_policy_when_they_did_in_the_log() -> None:
    """UCB1 knows nothing for 600 seconds, in which it plays the first item; then it knows what it would have known."""
    log = delayed(np.random.default_rng(1), 900, 600.0)
    found = replay(log, "ucb1")
    blind = replay(part(log, 600), "ucb1")
    assert blind.shares[0] > 0.95  # without any reward the first item looks best
    assert found.shares[0] < 0.75  # 200 of its first rounds, and then it learns that others are better
    assert replay(delayed(np.random.default_rng(1), 900, 0.0), "ucb1").reward > found.reward


def part(log: Log, end: int) -> Log:
    """The first decisions of a log."""
    plays = log.plays
    assert plays is not None
    names = ("item", "reward", "propensity", "round", "decided", "rewarded", "open", "available")
    first = replace(plays, **{name: getattr(plays, name)[:end] for name in names})
    return replace(log, plays=first)


def test_a_reward_is_known_to_be_missing_when_its_window_has_passed() -> None:
    rows = {"timestamp": [0.0, 1.0, 2.0, 3.0], "item_id": ["a", "b", "b", "a"], "reward": [np.nan, 1.0, np.nan, np.nan]}
    rows |= {"rewarded": [np.nan, 1.5, np.nan, np.nan], "propensity_score": [0.5] * 4}
    log = Log.of(pd.DataFrame(rows), window=2.5, missing="zero")
    assert log.plays is not None
    assert _times(log)[1].tolist() == [2.5, 1.5, 4.5, 5.5]
    assert np.isnan(log.plays.reward).tolist() == [False, False, True, True]  # the last two are younger than the window


def test_what_was_lost_counts_as_a_round_and_widens_the_interval() -> None:
    log = delayed(np.random.default_rng(1), 900, 1.0)
    assert log.plays is not None
    some = np.where(np.arange(900) % 2, np.nan, log.plays.reward)
    blank = replace(log, plays=replace(log.plays, reward=some))
    whole, half = replay(log, "ucb1"), replay(blank, "ucb1")
    assert half.rounds == pytest.approx(whole.rounds, abs=60)
    assert half.interval.high - half.interval.low > 0.4 + whole.interval.high - whole.interval.low


def test_what_learns_from_the_last_round_only_is_refused_with_late_rewards() -> None:
    with pytest.raises(EvenhandError, match="exp3 learns from the round just decided only; the log has rewards that"):
        replay(delayed(np.random.default_rng(1), 90, 5.0), "exp3", {"mixing": 0.1})


def test_parameters_as_keywords_and_the_unit() -> None:
    log = replace(even(), reading=Reading(unit="€"))
    assert replay(log, "fucb", fractions=0.1).to_json() == replay(log, "fucb", {"fractions": 0.1}).to_json()
    assert " € per round" in str(replay(log, "fucb", fractions=0.1))
    with pytest.raises(EvenhandError, match="fraction"):
        replay(log, "fucb", fraction=0.1)


def test_what_no_part_of_a_table_takes_is_refused() -> None:
    with pytest.raises(
        EvenhandError, match=r"^fractions is taken by no part of ucb; its parts take none: with fairness = "
    ):
        replay(log_of(["a", "b"] * 4, [0, 1] * 4, 0.5), {"index": "ucb"}, fractions=0.3)
