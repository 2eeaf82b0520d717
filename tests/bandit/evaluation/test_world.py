"""The world that is fitted to a log: laws of rewards, delays, the test whether they depend on rewards, availability."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.bandit.evaluation.lateness import dependence, product_limit, quantiles
from evenhand.bandit.evaluation.plays import Plays
from evenhand.bandit.evaluation.world import VALUES, Fit
from evenhand.core.errors import DataError
from evenhand.evaluation import Log
from tests.bandit.evaluation.synthetic import sales


def plays_of(log: Log) -> Plays:
    assert log.plays is not None
    return log.plays


def test_the_product_limit_is_right_where_late_answers_are_cut_off() -> None:
    rng = np.random.default_rng(1)
    delay, age = rng.geometric(0.05, 40_000) - 1.0, rng.integers(0, 60, 40_000).astype(float)
    share = product_limit(np.where(delay <= age, delay, np.inf), age, delay <= age)
    truth = 1.0 - 0.95 ** np.arange(1.0, 41.0)
    assert np.abs(share[:40] - truth).max() < 0.02
    answered = delay <= age
    assert (delay[answered] <= 20).mean() > truth[20] + 0.1  # what counting answers alone would say
    assert quantiles(share)[499] == pytest.approx(13.0, abs=1.0)


def test_classes_add_up_and_each_is_right() -> None:
    rng = np.random.default_rng(2)
    late = rng.random(40_000) < 0.3
    delay = np.where(late, rng.geometric(0.02, 40_000), rng.geometric(0.2, 40_000)) - 1.0
    age = rng.integers(0, 120, 40_000).astype(float)
    answered = delay <= age
    delay = np.where(answered, delay, np.inf)
    rare, often, both = (product_limit(delay, age, answered & one) for one in (late, ~late, late | ~late))
    assert rare + often == pytest.approx(both)
    assert rare[100] == pytest.approx(0.3 * (1.0 - 0.98**101), abs=0.02)


@pytest.mark.parametrize("kind", ["none", "later", "middle"])
def test_delays_that_depend_on_rewards_are_noticed(kind: str) -> None:
    """In none of 400 logs of both kinds of delays more often than chance allows."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(100):
        item = rng.integers(0, 3, 3000)
        reward = (rng.random(3000) < np.array([0.1, 0.5, 0.8])[item]).astype(float)
        delay = rng.exponential(1.0 + item)
        if kind == "later":
            delay *= 1.0 + 0.5 * reward
        if kind == "middle":
            delay = np.where(reward == 1.0, 0.7 * (1.0 + item) + 0.1 * delay, delay)
        found += abs(dependence(delay, reward, item)) > 3.0
    assert found <= 4 if kind == "none" else found >= 96


@pytest.mark.parametrize("missing", ["zero", "lost", "never"])
@pytest.mark.parametrize("dependent", [True, False])
def test_means_and_delays_are_those_of_the_law(missing: str, dependent: bool) -> None:
    made = sales(1, 40_000, missing, dependent=dependent)
    world = made.log.environment()
    _, _, low, high = Fit(plays_of(made.log)).means(0.95)
    assert ((low <= made.means) & (made.means <= high)).all()
    assert world.means == pytest.approx(made.means, rel=0.15)
    assert Fit(plays_of(made.log)).late.dependent == (dependent or missing == "zero")
    place, level = np.zeros(2, dtype=np.intp), np.array([0.5, 0.5])
    early, late = world.feedback.quantile(level, place, np.array([0.0, 40.0]))  # type: ignore[attr-defined]
    if missing == "never":
        expected = (60.0, 600.0) if dependent else (300.0, 300.0)
        assert (early, late) == pytest.approx(tuple(np.log(2.0) * one for one in expected), rel=0.15)
    if missing == "zero":
        assert early > 1900 > late  # a zero is known when its window is over
    if missing == "lost" and not dependent:
        assert world.feedback.quantile(np.array([0.68, 0.72]), place, np.zeros(2)).tolist()[1] == np.inf  # type: ignore[attr-defined]


def test_many_different_rewards_keep_their_means() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"time": range(5000), "arm": rng.integers(0, 3, 5000), "euros": rng.exponential(9.0, 5000)})
    log = Log.of(frame, {"reward": "euros"})
    world = log.environment()
    assert world.means == pytest.approx(frame.groupby("arm")["euros"].mean().to_numpy(), rel=1e-12)
    assert len(Fit(plays_of(log)).values) == VALUES


def test_inverse_propensities_undo_whom_an_arm_was_shown_to() -> None:
    """Regulars buy more, and were shown tea more often."""
    rng = np.random.default_rng(6)
    regular = rng.random(40_000) < 0.5
    chance = np.where(regular, 0.9, 0.3)
    tea = rng.random(40_000) < chance
    sold = rng.random(40_000) < np.where(regular, 0.6, 0.2)
    rows = {"time": range(40_000), "arm": np.where(tea, "tea", "mate"), "click": sold.astype(int)}
    log = Log.of(pd.DataFrame(rows | {"propensity": np.where(tea, chance, 1.0 - chance)}))
    assert log.environment().means == pytest.approx([0.4, 0.4], abs=0.02)
    assert Log.of(pd.DataFrame(rows)).environment().means[1] > 0.45
    assert any("has no propensities" in one for one in Log.of(pd.DataFrame(rows)).environment().assumptions)


def test_lanes_are_refits_that_vary_as_means_do() -> None:
    made = sales(7, 8000)
    means = np.asarray(Fit(plays_of(made.log)).environment(lanes=200, seed=1).means)
    plays = np.bincount(made.log.item)
    sd = np.array([made.log.reward[made.log.item == arm].std() for arm in range(4)])
    assert means.std(axis=0) == pytest.approx(sd / np.sqrt(plays), rel=0.2)
    drawn = Fit(plays_of(made.log)).environment(lanes=100, seed=1)
    assert drawn.rewards.draw(np.random.default_rng(1), np.zeros((300, 1), dtype=np.intp), 100).mean(
        axis=(0, 1)
    ) == pytest.approx(np.asarray(drawn.means).mean(axis=0), rel=0.15)


def test_arms_are_available_as_in_the_log_and_need_a_reward() -> None:
    rows = {"time": range(4), "arm": ["a", "b", "a", "a"], "click": 1, "available": ["a|b", "b|c", "a", "a|b"]}
    with pytest.raises(DataError, match="has no known reward of c"):
        Log.of(pd.DataFrame(rows)).environment()
    rows["available"] = ["a|b", "b", "a", "a|b"]
    listed = Log.of(pd.DataFrame(rows)).environment().availability.distribution(2)
    assert listed is not None
    assert dict(zip(map(tuple, listed[0].tolist()), listed[1].tolist(), strict=True)) == {
        (True, True): 0.5,
        (False, True): 0.25,
        (True, False): 0.25,
    }


def slots(effect: float, *, fixed: bool) -> list[str]:
    """What is assumed of a log of 2,000 decisions of two plays, in which the second place earns less."""
    rng, rows = np.random.default_rng(3), []
    for decision in range(2000):
        first, second = ("ab"[rng.integers(2)], "x") if fixed else rng.permutation(["a", "b", "x"])[:2]
        for place, arm in enumerate((first, second)):
            click = rng.random() < 0.3 - effect * place
            rows.append((decision, decision, place + 1, arm, int(click)))
    frame = pd.DataFrame(rows, columns=["decision_id", "time", "position", "item", "click"])
    return [one for one in Fit(plays_of(Log.of(frame))).environment().assumptions if "place" in one]


def test_places_are_assumed_not_to_matter_with_a_warning_where_they_do_or_none_can_say() -> None:
    assumed = "The place in which an arm was shown does not matter."
    assert slots(0.0, fixed=False) == [assumed]
    differ = slots(0.2, fixed=False)
    assert differ[0] == assumed
    assert differ[1].startswith("Warning: rewards of the same arm differ between places (")
    confounded = "Warning: a, b, x were not shown in every place: their rewards may be those of the place."
    assert slots(0.2, fixed=True) == [assumed, confounded]


def test_rewards_that_all_come_in_the_end_are_not_called_lost() -> None:
    frame = pd.DataFrame({"time": range(40), "item": ["a", "b"] * 20, "click": [0, 1, 1, 0] * 9 + [None] * 4})
    frame["rewarded"] = frame["time"].where(frame["click"].notna()) + 0.5
    frame.loc[:3, ["click", "rewarded"]] = None
    says = {
        missing: " ".join(Fit(plays_of(Log.of(frame, missing=missing))).environment().assumptions)
        for missing in ("never", "lost")
    }
    assert "of the rewards come later than the log is long" in says["never"]
    assert "lost" not in says["never"]
    assert "of the rewards are lost, or come later" in says["lost"]
