"""A bandit that goes by features learns from logs with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import Bandit, EvenhandError, Features
from evenhand.core.errors import DataError
from evenhand.evaluation import Log
from evenhand.features import Category, Number

FEATURES = Features({"country": Category(["DE", "FR"], unknown="error")}, {"price": Number(0, 10)})
ROWS = pd.DataFrame(
    {
        "time": range(40),
        "arm": ["tea", "mate"] * 20,
        "reward": [1, 0, 0, 1] * 10,
        "propensity": 0.5,
        "country": ["DE", "DE", "FR", "FR"] * 10,
        "price": [2.5, 5.0] * 20,
    }
)


def bandit(model: str = "disjoint", **more: Any) -> Bandit:
    table = {"index": {"kind": "lin_ucb", "model": model, "radius": 0.1, **more}}
    prices = {"tea": {"price": 2.5}, "mate": {"price": 5.0}}
    return Bandit(["mate", "tea", "juice"], table, features=FEATURES, arm_features=prices)


def sums_of(one: Bandit) -> Any:
    return one._record.state.index


@pytest.mark.parametrize(
    "more", [{}, {"evidence": "pessimistic", "cutoff": 5}, {"evidence": {"kind": "forgetting", "discount": 0.9}}]
)
def test_the_sums_are_those_of_the_log(more: dict[str, Any]) -> None:
    log = Log.of(ROWS, features=FEATURES)
    one = bandit(**more)
    learned = one.learn(log)
    assert str(learned) == "learned from 40 plays of the log: mate 20, tea 20; without plays in the log: juice"
    own, rewards = np.zeros((3, 4, 4)), np.zeros((3, 4))
    rows: list[Any] = list(ROWS.itertuples())
    for row in rows:
        features = np.array([1.0, row.country == "DE", row.country == "FR", row.price / 10.0])
        place = ["mate", "tea", "juice"].index(row.arm)
        own[place] += np.outer(features, features)
        rewards[place] += row.reward * features
    assert np.allclose(sums_of(one).own, own, rtol=1e-13)
    assert np.allclose(sums_of(one).own_rewards, rewards, rtol=1e-13)
    line = next(line for line in one.audit().lines if line.arm == "tea")
    assert (line.plays, line.learned_plays) == (0, 20)


def test_it_plays_what_fits_at_once_and_after_it_was_saved(tmp_path: Path) -> None:
    one = bandit("disjoint")
    path = tmp_path / "log.csv"
    ROWS.to_csv(path, index=False)
    one.learn(path)
    one.save(tmp_path / "bandit.json")
    for each in (one, Bandit.load(tmp_path / "bandit.json")):
        chosen = {
            country: each.decide({"country": country}, available=["tea", "mate"]).names[0] for country in ("DE", "FR")
        }
        assert chosen == {"DE": "tea", "FR": "mate"}


def test_a_log_without_the_features_teaches_nothing() -> None:
    with pytest.raises(
        DataError, match=r"the log was not read with the features of this bandit: read_log\(path, features"
    ):
        bandit().learn(Log.of(ROWS))
    other = Features({"country": Category(["DE", "FR"])}, {"price": Number(0, 10)})
    with pytest.raises(DataError, match="was not read with the features of this bandit"):
        bandit().learn(Log.of(ROWS, features=other))
    with pytest.raises(EvenhandError, match="learns from the features of each play, which counts do not have"):
        Bandit(["tea"], {"index": "lin_ucb"}, features={"situation": {"age": {"kind": "number", "low": 0, "high": 1}}},
               start_from={"tea": (1, 1)})  # fmt: skip


def test_a_bandit_without_features_learns_from_a_log_that_has_them() -> None:
    one = Bandit(["mate", "tea"], "fucb", fractions=0.1)
    one.learn(Log.of(ROWS, features=FEATURES))
    assert [line.learned_plays for line in one.audit().lines] == [20, 20]
