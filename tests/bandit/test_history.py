"""A bandit that learns from what happened elsewhere: counts, another bandit, a log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.history import Counts, counts_of
from evenhand.core.errors import EvenhandError

ARMS = ["tea", "coffee", "cocoa"]
COUNTS = {"tea": (100, 30.0), "cocoa": (50, 25.0)}
GROUPS = [{"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.6}]


def played(bandit: Bandit, rounds: int, now: float = 0.0) -> list[str]:
    arms: list[str] = []
    for _ in range(rounds):
        decision = bandit.decide(now=now)
        arms += decision.names
        bandit.observe(decision.id, dict.fromkeys(decision.names, 1.0), now=now)
    return arms


def test_a_policy_that_starts_from_counts_goes_on_as_one_that_has_had_them() -> None:
    """UCB1 with counts scores arms as a policy that played those rounds itself."""
    lived, started = Bandit(["a", "b"], "ucb1"), Bandit(["a", "b"], "ucb1", start_from={"a": (3, 2), "b": (2, 1)})
    for arm, reward in [("a", 1.0), ("b", 0.0), ("a", 1.0), ("a", 0.0), ("b", 1.0)]:
        decision = lived.decide(available=[arm], now=0.0)
        lived.observe(decision.id, {arm: reward}, now=0.0)
    assert played(lived, 40) == played(started, 40)


def test_the_posterior_of_thompson_sampling_has_the_counts() -> None:
    bandit = Bandit(ARMS, "thompson", prior=(2, 3), rewards=(0, 10), start_from={"tea": (100, 250.0)})
    sums, counts = bandit._record.policy.index.successes(bandit._record.state)  # type: ignore[attr-defined]
    assert sums.tolist() == [25.0, 0.0, 0.0]
    assert counts.tolist() == [100.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("fucb", {"fractions": [0.2, 0.3, 0.4]}),
        ("tscsf_b", {"fractions": [0.2, 0.3, 0.4], "eta": 5.0}),
        ("lfg", {"fractions": [0.2, 0.3, 0.4], "eta": 5.0}),
        ("group_ucb", {"fractions": [0.2, 0.3, 0.0], "groups": GROUPS}),
    ],
)
def test_counts_change_no_promise_and_the_audit_shows_them_apart(algorithm: str, parameters: dict[str, Any]) -> None:
    bandit = Bandit(ARMS, algorithm, start_from=COUNTS, **parameters)
    assert bandit._record.owed().tolist() == [0.0, 0.0, 0.0]
    arms = played(bandit, 200)
    audit = bandit.audit(now=0.0)
    for line in audit.lines:
        plays = arms.count(line.arm)
        assert (line.plays, line.all_plays, line.received, line.pending) == (plays, plays, plays, 0)
        assert line.deficit is None or line.deficit == pytest.approx(line.promised * 200 - plays)  # type: ignore[operator]
    assert [(line.learned_plays, line.learned_mean) for line in audit.lines] == [(100, 0.3), (0, None), (50, 0.5)]
    if audit.bounds:
        assert audit.bounds[0].plays == arms.count("tea") + arms.count("coffee")
    assert audit.sources == ("counts",)
    assert "learned beforehand, from counts: tea 100 plays, mean 0.3; cocoa 50 plays" in str(audit)


def test_a_bandit_is_saved_with_what_it_learned_and_a_new_arm_has_none() -> None:
    bandit = Bandit(ARMS, "thompson", seed=4, start_from=COUNTS)
    again = Bandit.restored(bandit.dump())
    assert played(bandit, 50) == played(again, 50)
    again.add("mate")
    assert again.audit(now=0.0).lines[3].learned_plays == 0
    assert again.audit(now=0.0).sources == ("counts",)


def test_a_bandit_starts_from_another_ones_known_rewards_and_from_what_that_learned() -> None:
    first = Bandit(["tea", "mate"], "fucb", fractions=[0.5, 0.5], start_from={"tea": (10, 4)})
    first.decide(now=0.0)  # whose reward is pending, and so not known
    arms = played(first, 8)
    plays = arms.count("tea")
    assert counts_of(first._record)["tea"] == Counts(10.0 + plays, 4.0 + plays)
    second = Bandit(ARMS, "fucb", fractions=[0.0, 0.5, 0.0], start_from=first)
    assert second.audit(now=0.0).lines[0].learned_plays == 10 + plays
    assert second._record.owed().tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(EvenhandError, match=r"another bandit has rewards in \[0, 1\], not in \[0, 5\]"):
        Bandit(ARMS, "fucb", fractions=0.1, rewards=(0, 5), start_from=first)
    with pytest.raises(EvenhandError, match="another bandit has none of these arms; its arms are tea, mate"):
        Bandit(["red"], "ucb1", start_from=first)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"tee": (1, 1)}, r"unknown arm 'tee'; did you mean 'tea'\?"),
        ({"tea": (1, 2)}, r"start_from\['tea'\]: 1 rewards in \[0, 1\] sum to a number in \[0, 1\], got 2"),
        ({"tea": (1.5, 1)}, "plays must be a whole number"),
        ({"tea": (-1, 0)}, "plays must be a number in"),
        ({"tea": 5}, r"must be \(plays, sum of their rewards\), got 5"),
        ([1, 2], "start_from must be counts by arm"),
    ],
)
def test_impossible_counts_are_refused(counts: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Bandit(ARMS, "ucb1", start_from=counts)


@pytest.mark.parametrize(
    ("algorithm", "parameters", "reason"),
    [
        ("ars_ucb", {}, "holds a choice"),
        ("sw_ucb", {}, "goes by the order of its rounds"),
        ("glr_klucb", {}, "goes by the order of its rounds"),
        ("thompson", {"evidence": "mature"}, "counts plays by their age"),
        ("exp3", {"horizon": 100}, "weighs each reward by the propensity"),
        ("explore_then_commit", {"pulls": 3}, "schedule that is fixed at the start"),
    ],
)
def test_policies_that_go_by_more_than_counts_refuse_them(
    algorithm: str, parameters: Mapping[str, Any], reason: str
) -> None:
    table = {"algorithm": "sw_ucb", "window": 10} if algorithm == "sw_ucb" else {"algorithm": algorithm, **parameters}
    with pytest.raises(EvenhandError, match=f"{algorithm} cannot start from counts: it .*{reason}"):
        Bandit(ARMS, table, start_from=COUNTS)


def log(path: Path, rewards: list[float | None], arms: list[str]) -> Path:
    rows = {"timestamp": range(len(arms)), "item_id": arms, "reward": rewards, "propensity_score": 0.5}
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_a_log_teaches_its_rewards_and_no_promise(tmp_path: Path) -> None:
    bandit = Bandit(ARMS, "fucb", fractions=0.2, rewards=(0, 4))
    learned = bandit.learn(log(tmp_path / "log.csv", [4.0, 1.0, 3.0], ["tea", "coffee", "tea"]))
    assert learned.plays == {"coffee": 1, "tea": 2}
    assert "without plays in the log: cocoa" in str(learned)
    assert bandit._record.state.tally.rewards.tolist() == [1.75, 0.25, 0.0]
    assert bandit._record.owed().tolist() == [0.0, 0.0, 0.0]


def test_plays_without_a_reward_count_as_the_bandit_says(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", [1.0, None], ["tea", "tea"])
    means = []
    for missing in ("zero", "lost"):
        bandit = Bandit(ARMS, "ucb1", window=60.0, missing=missing)
        bandit.learn(path)
        means.append(bandit.audit(now=0.0).lines[0].learned_mean)
    assert means == [0.5, 1.0]
    with pytest.raises(EvenhandError, match="the reward is missing"):
        Bandit(ARMS, "ucb1").learn(path)


def test_a_log_with_other_arms_or_rewards_is_refused_and_nothing_is_learned(tmp_path: Path) -> None:
    bandit = Bandit(ARMS, "ucb1")
    with pytest.raises(EvenhandError, match="has arms that this bandit does not: 'mate'"):
        bandit.learn(log(tmp_path / "log.csv", [1.0, 1.0], ["tea", "mate"]))
    with pytest.raises(
        EvenhandError,
        match=r"has rewards from 1 to 2, not within 0 to 1: set rewards=\(0, 2\) when the bandit is made$",
    ):
        bandit.learn(log(tmp_path / "log.csv", [1.0, 2.0], ["coffee", "tea"]))
    assert not np.any(bandit._record.state.tally.pulls)
