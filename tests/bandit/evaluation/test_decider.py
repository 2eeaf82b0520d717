"""A bandit as a target of an evaluation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand import Bandit, EvenhandError, Features
from evenhand.core.errors import DataError
from evenhand.evaluation import Log, evaluate
from evenhand.features import Category, Number

FEATURES = Features({"country": Category(["DE", "FR"], unknown="error")}, {"price": Number(0, 1)})
PRICES = {"mate": {"price": 0.25}, "tea": {"price": 0.5}}
TS = {"kind": "lin_ts", "scale": 0.1}


def crossed(rounds: int, seed: int, source: str) -> Log:
    """A log by uniform chances, in which mate pays in DE and tea in FR: 0.8 where an item fits, else 0.2."""
    rng = np.random.default_rng(seed)
    french, tea = rng.random((2, rounds)) < 0.5
    frame = pd.DataFrame({"time": range(rounds), "item": np.where(tea, "tea", "mate"), "propensity": 0.5})
    frame["reward"] = (rng.random(rounds) < np.where(tea == french, 0.8, 0.2)).astype(int)
    frame["country"], frame["price"] = np.where(french, "FR", "DE"), np.where(tea, 0.5, 0.25)
    return Log.of(frame, features=FEATURES, source=source)


def learned(policy: Any, **more: Any) -> Bandit:
    """A bandit whose arms are not in the order of the items."""
    bandit = Bandit(["tea", "mate"], policy, features=FEATURES, arm_features=PRICES, seed=1, **more)
    bandit.learn(crossed(2000, 1, "before"))
    return bandit


@pytest.mark.parametrize(
    ("policy", "earns", "tea"),
    [
        ({"index": {"kind": "lin_ucb", "radius": 0.1}}, 0.8, 0.5),
        ({"index": TS, "fairness": {"kind": "deficit_first", "fractions": {"tea": 0.7}}}, 0.8 - 0.2 * 0.6, 0.7),
        (
            {"index": TS, "fairness": {"kind": "virtual_queue", "fractions": {"tea": 0.7}, "eta": "auto"}},
            0.8 - 0.2 * 0.6,
            0.7,
        ),
        ({"index": TS, "selection": {"kind": "exploration_floor", "floor": 0.1}}, 0.9 * 0.8 + 0.1 * 0.2, 0.5),
    ],
    ids=["alone", "at once", "where it costs least", "floor"],
)
def test_a_bandit_is_judged_with_its_promises(policy: Any, earns: float, tea: float) -> None:
    bandit, log = learned(policy), crossed(4000, 2, "after")
    before = bandit.dump()
    found = evaluate(log, {"mine": bandit})
    interval = found.estimates["mine"].interval
    slack = 0.25 * (interval.high - interval.low)
    assert interval.low - slack < earns < interval.high + slack
    assert interval.high - interval.low < 0.06
    assert found.shares["mine"][log.items.index("tea")] == pytest.approx(tea, abs=0.03)
    assert found.notes == ()
    assert bandit.dump() == before


def test_a_promise_in_a_segment_is_kept_there() -> None:
    bandit = learned({"index": TS, "fairness": {"kind": "deficit_first", "fractions": 0.0}}, segments="country")
    bandit.promise({"tea": 0.4}, segment="DE")
    log = crossed(2000, 3, "after")
    assert log.known is not None
    (chances,) = list(evaluated(log, bandit))
    german, tea = log.known.situation[:, 1] == 1.0, log.items.index("tea")
    assert chances[german, tea].mean() == pytest.approx(0.4, abs=0.01)
    assert chances[~german, tea].mean() > 0.9


def evaluated(log: Log, bandit: Bandit) -> Any:
    """The chances of a bandit in the rounds of a log."""
    from evenhand.bandit.evaluation.targets import as_target

    return as_target(bandit).propensities(log)


def test_items_that_are_not_there_are_not_played() -> None:
    frame = pd.DataFrame({"time": range(4), "item": ["tea", "mate"] * 2, "reward": 1, "propensity": 0.5})
    frame["available"] = ["tea|mate", "mate|water", "tea|mate", "mate|tea"]
    bandit = Bandit(["mate", "tea"], "fair_random", fractions=[0.0, 0.0])
    (chances,) = list(evaluated(Log.of(frame), bandit))
    items = Log.of(frame).items
    assert chances[1, items.index("mate")] == 1.0
    assert chances[:, items.index("water")].tolist() == [0.0] * 4
    assert chances.sum(axis=1).tolist() == [1.0] * 4


def test_what_cannot_be_judged_is_refused() -> None:
    log = crossed(100, 2, "after")
    with pytest.raises(DataError, match="after was not read with the features of this bandit"):
        evaluate(replace(log, known=None), learned({"index": TS}))
    with pytest.raises(EvenhandError, match="fucb plays 2 items per round; a target plays one"):
        evaluate(replace(log, known=None), Bandit(["tea", "mate", "water"], "fucb", fractions=0.1, plays=2))
    frame = pd.DataFrame({"time": [1], "item": ["tea"], "reward": 1, "propensity": 1.0, "available": "tea"})
    with pytest.raises(DataError, match="has rounds in which no arm of ucb1 is available"):
        evaluate(Log.of(frame), Bandit(["mate", "water"], "ucb1"))


def test_it_is_noted_that_a_bandit_may_know_the_rewards() -> None:
    (note,) = evaluate(crossed(2000, 1, "before"), {"mine": learned({"index": TS})}).notes
    assert note.startswith("mine learned from before: if that was these rows, it knows their rewards")
