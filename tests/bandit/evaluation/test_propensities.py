"""Propensities that were estimated, and those of several policies together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand.bandit.evaluation.evaluation import evaluate, grade
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.propensities import balanced, estimated
from evenhand.core.errors import DataError, EvenhandError
from tests.bandit.evaluation.logs import AWAKE, MEANS, USED, WANTED, drawn, fixed, log_of, simulated


def without(log: Log) -> Log:
    """The log without propensities."""
    return replace(log, propensity=np.full(log.rows, np.nan))


def bare(items: Any, rewards: Any, **columns: Any) -> Log:
    """A log in memory that has no propensities."""
    return Log.of(pd.DataFrame({"timestamp": range(len(items)), "item_id": items, "reward": rewards} | columns))


def test_estimated_propensities_are_near_those_of_the_policy() -> None:
    log = simulated(np.random.default_rng(1), 20_000, MEANS, USED, AWAKE)
    found = estimated(without(log))
    assert np.abs(found.propensity - log.propensity).max() < 0.03
    assert "in 1 stretch of time" in found.notes[-1]
    with pytest.raises(EvenhandError, match=r"estimate it by estimated\(log\), or name it with columns="):
        evaluate(without(log), "uniform")


def test_a_policy_that_changed_over_time_is_followed() -> None:
    rng, shares = np.random.default_rng(2), np.linspace([0.8, 0.1, 0.1], [0.1, 0.1, 0.8], 8000)
    item = drawn(rng, shares)
    log = bare(item.astype(str), MEANS[item])
    found = estimated(log)
    assert np.abs(found.propensity - shares[np.arange(8000), item]).mean() < 0.03
    assert "in 16 stretches" in found.notes[-1]


def test_no_row_knows_its_own_item() -> None:
    """An item that played once has no share but the least, since its row is left out."""
    log = estimated(bare(["a"] * 99 + ["b"], [0.0] * 100))
    assert log.propensity[-1] < 0.01


def test_estimated_values_are_near_the_truth_and_graded_with_care() -> None:
    rng, values = np.random.default_rng(3), []
    for _ in range(100):
        log = estimated(without(simulated(rng, 500, MEANS, USED)))
        values.append(evaluate(log, fixed(WANTED)).estimates["fixed shares"].value)
    assert abs(np.mean(values) - WANTED @ MEANS) < 0.01 + 4 * np.std(values) / 10
    found = grade(log, fixed(WANTED))
    assert found.answer == "with care"
    assert "the propensities were estimated" in found.reasons[0]


def test_several_rows_a_round_are_refused() -> None:
    with pytest.raises(DataError, match="cannot be estimated"):
        estimated(bare(["a", "b"], [0, 1], decision_id="x"))


# --- several policies -------------------------------------------------------------------------------------------------


def pair(rng: np.random.Generator) -> list[Log]:
    """Logs of two policies, each of which seldom plays what the other often does."""
    return [simulated(rng, 300, MEANS, np.array(shares)) for shares in ([0.9, 0.08, 0.02], [0.02, 0.08, 0.9])]


def test_balanced_by_hand() -> None:
    one = log_of(["a", "a", "b"], [1, 0, 1], [0.75, 0.75, 0.25])
    two = log_of(["c"], [1], [1.0])
    log = balanced([one, two])
    assert log.items == ("a", "b", "c")
    assert log.propensity.tolist() == [0.5625, 0.5625, 0.1875, 0.25]


def test_balanced_is_right_on_average_and_much_narrower() -> None:
    rng, together, apart = np.random.default_rng(4), [], []
    for _ in range(300):
        logs = pair(rng)
        together.append(evaluate(balanced(logs), fixed(WANTED), estimator="ips").estimates["fixed shares"].value)
        each = [evaluate(log, fixed(WANTED), estimator="ips").estimates["fixed shares"].value for log in logs]
        apart.append(np.mean(each))
    assert abs(np.mean(together) - WANTED @ MEANS) < 4 * np.std(together) / 300**0.5
    assert np.std(together) < 0.4 * np.std(apart)


def test_an_item_that_one_policy_never_plays_has_what_is_left() -> None:
    one, two = log_of(["a"] * 4, [1] * 4, 0.5), log_of(["a", "b"], [1, 0], [0.5, 0.5])
    assert balanced([one, two]).propensity.tolist() == [0.5] * 6


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (log_of(["a", "a"], [0, 1], [0.5, 0.4]), "chances change in the log: only logs of policies that did not learn"),
        (log_of(["a"], [0], [0.5], available=["a|b"]), "has sets of available items"),
        (log_of(["a"], [0], [0.5]), r"sum to 0\.5, and it never plays 'b', 'c': how are the others shared\?"),
    ],
)
def test_what_cannot_be_balanced(other: Log, message: str) -> None:
    with pytest.raises(DataError, match=message):
        balanced([log_of(["a", "b", "c"], [0, 1, 1], 1 / 3), other])


def test_estimated_chances_that_changed_have_sequences() -> None:
    rng = np.random.default_rng(1)
    for later in (0.5, 0.9):
        chance = np.where(np.arange(4000) < 2000, 0.5, later)
        rows = {"timestamp": range(4000), "item_id": np.where(rng.random(4000) < chance, "a", "b")}
        log = estimated(Log.of(pd.DataFrame(rows | {"reward": rng.integers(2, size=4000)})))
        changed = "in 1 stretch of time" not in log.notes[-1]
        assert changed == (later == 0.9)
        premise = "all rewards lie in [0, 1]" if changed else "the log's policy did not learn"
        assert premise in evaluate(log, "uniform").estimates["uniform"].interval.premises


def test_positions_are_estimated_one_by_one() -> None:
    rows = {"timestamp": [1, 1, 2, 2], "decision_id": [1, 1, 2, 2], "item_id": list("abba"), "position": [1, 2, 1, 2]}
    with pytest.raises(DataError, match="estimate each position by itself: rounds='row'"):
        estimated(Log.of(pd.DataFrame(rows | {"reward": 1.0})))
