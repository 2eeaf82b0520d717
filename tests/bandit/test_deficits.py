"""How far behind arms were in the course of time, against deficits worked out by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.counts import FOLLOWED, MOST, SHOWN, DeficitHistory
from evenhand.core.errors import StateError
from evenhand.judgement.sentences import CLOSE
from evenhand.messages.answers import moment
from evenhand.messages.lines import DeficitExcerpt


def history_of(bandit: Bandit) -> DeficitExcerpt:
    history = bandit.audit().deficit_history
    assert history is not None
    return history


def column(bandit: Bandit, arm: str) -> tuple[float | None, ...]:
    history = history_of(bandit)
    return history.deficits[history.arms.index(arm)]


def test_every_round_at_first() -> None:
    """Promised a half and a quarter; the first round is a's, the next three are b's."""
    bandit = Bandit(["a", "b", "c"], "fucb", fractions={"a": 0.5, "b": 0.25})
    for second, arm in enumerate("abbb"):
        bandit.decide(available=[arm], now=10.0 * second)
    assert history_of(bandit) == DeficitExcerpt(
        rounds=(1, 2, 3, 4),
        times=tuple(map(moment, (0.0, 10.0, 20.0, 30.0))),
        arms=("a", "b"),  # the worst of a is 1, of b 0.25
        deficits=((-0.5, 0.0, 0.5, 1.0), (0.25, -0.5, -1.25, -2.0)),
        largest=(0.25, 0.0, 0.5, 1.0),
        note=CLOSE,
    )


@pytest.mark.parametrize("rounds", [255, 256, 257, 300, 511, 512, 1000, 5000])
def test_points_are_spaced_evenly_and_few(rounds: int) -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    for place in range(rounds):
        bandit.decide(available=["b"], now=float(place))
    history = history_of(bandit)
    stride = history.rounds[0]
    assert history.rounds == tuple(range(stride, rounds + 1, stride))
    assert len(history.rounds) < MOST
    assert len(history.rounds) >= min(rounds, MOST // 2 - 1)
    assert history.times == tuple(moment(round - 1.0) for round in history.rounds)
    assert history.largest == tuple(0.5 * round for round in history.rounds)
    assert history.deficits == (history.largest,)


def test_no_deficit_between_points_is_missed() -> None:
    """Against the deficits at the end of every round; halfway a promise changes, and another arm comes."""
    bandit = Bandit(["a", "b", "c"], "fucb", fractions=[0.35, 0.2, 0.0])
    rng, seen = np.random.default_rng(5), dict[int, dict[str, float]]()
    for round in range(1, 1201):
        if round == 705:  # the first round of a stretch
            bandit.promise({"a": 0.1})
            bandit.add("d", fraction=0.3)
        asleep = bandit.names[int(rng.integers(2))]
        bandit.decide(available=[arm for arm in bandit.names if arm != asleep], now=float(round))
        seen[round] = dict(zip(bandit.names, bandit._record.owed().tolist(), strict=True))
    history = history_of(bandit)
    assert history.rounds == tuple(range(8, 1201, 8))
    for arm, deficits in zip(history.arms, history.deficits, strict=True):
        for end, deficit in zip(history.rounds, deficits, strict=True):
            stretch = [seen[round][arm] for round in range(end - 7, end + 1) if arm in seen[round]]
            assert deficit == pytest.approx(max(stretch), abs=1e-9) if stretch else deficit is None
    assert set(history.arms) == {"a", "b", "d"}


def test_arms_and_promises_that_change() -> None:
    """Rounds 1 and 2, then c comes with a promise, then b goes, then a is promised less, then b comes back."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.25, 0.125])

    def asleep(rounds: int) -> None:
        for _ in range(rounds):
            bandit.decide(available=["rest"])

    bandit.add("rest")
    asleep(2)
    bandit.add("c", fraction=0.5)
    asleep(2)
    bandit.retire("b")
    asleep(1)
    bandit.promise({"a": 0.125})
    asleep(1)
    bandit.bring_back("b", fraction=0.25)
    asleep(1)
    nothing = None
    assert column(bandit, "a") == (0.25, 0.5, 0.75, 1.0, 1.25, 1.375, 1.5)
    assert column(bandit, "b") == (0.125, 0.25, 0.375, 0.5, nothing, nothing, 0.75)
    assert column(bandit, "c") == (nothing, nothing, 0.5, 1.0, 1.5, 2.0, 2.5)
    assert history_of(bandit).arms == ("c", "a", "b")
    assert history_of(bandit).largest == (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5)
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    for one in (bandit, again):
        for place in range(600):
            one.decide(now=2e9 + place)
    assert again.dump() == bandit.dump()
    assert history_of(again) == history_of(bandit)


def test_without_promises() -> None:
    assert Bandit(["a", "b"], "ucb1").audit().deficit_history is None
    assert Bandit(["a", "b"], "fcts_d", merit={"kind": "linear"}).audit().deficit_history is None
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.0, 0.0])
    bandit.decide()
    assert bandit.audit().deficit_history is None
    bandit.promise({"b": 0.5})
    bandit.decide(available=["a"])
    history = history_of(bandit)
    assert (history.arms, history.deficits, history.largest) == (("b",), ((None, 0.5),), (None, 0.5))
    bandit.promise({"b": 0.0})
    assert history_of(bandit) == history  # what is owed to it waits


def test_times_never_fall() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    for now in (100.0, 3.0, 104.0):
        bandit.decide(now=now)
    assert history_of(bandit).times == (moment(100.0), moment(100.0), moment(104.0))


def test_the_worst_twenty_are_shown() -> None:
    """Arm k is promised k/1000 and never plays."""
    arms = [f"arm {place}" for place in range(30)]
    bandit = Bandit([*arms, "rest"], "fucb", fractions=[*(place / 1000.0 for place in range(30)), 0.0])
    for _ in range(5):
        bandit.decide(available=["rest"])
    history = history_of(bandit)
    assert history.arms == tuple(reversed(arms[30 - SHOWN :]))
    assert history.deficits[1][-1] == pytest.approx(0.028 * 5)


def test_of_very_many_arms_only_the_largest_is_kept() -> None:
    """Up to the limit one number per arm and point, beyond it one per point; also when arms come to be too many."""
    arms = [f"arm {place}" for place in range(FOLLOWED)]
    bandit = Bandit(arms, "fucb", fractions={"arm 0": 0.5})
    bandit.decide(available=["arm 1"])
    assert [len(row) for row in bandit._record.deficit_history.deficits] == [FOLLOWED]
    bandit.add("one more")
    bandit.decide(available=["arm 1"])
    assert bandit._record.deficit_history.deficits == []
    history = history_of(bandit)
    assert (history.arms, history.deficits, history.largest) == ((), (), (0.5, 1.0))
    big = Bandit([f"arm {place}" for place in range(100_000)], "fucb", fractions={"arm 0": 0.5})
    for _ in range(MOST // 4):
        big.decide(available=["arm 1"])
    assert len(json.dumps(big._record.deficit_history.dump())) < 60 * MOST


def test_most_rounds_ask_for_one_number() -> None:
    """Of 10,000 rounds a point is made in at most 256 for the first stride, and 128 for each of six more."""
    marked = []

    class Counting(DeficitHistory):
        def mark(self, *args: Any) -> None:
            marked.append(args[0])
            super().mark(*args)

    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    bandit._record.deficit_history = Counting()
    for _ in range(10_000):
        bandit.decide()
    assert MOST < len(marked) <= 256 + 128 * 6
    assert len(bandit._record.deficit_history.rounds) < MOST


GOOD: dict[str, Any] = {
    "stride": 2,
    "rounds": [2, 4],
    "times": [0.0, 1.5],
    "largest": [None, 0.5],
    "deficits": [[None], [0.5, None]],
    "peaks": [[1, 0.25]],
}


def test_a_history_is_restored() -> None:
    history = DeficitHistory.restored(GOOD)
    assert history.dump() == GOOD
    assert history.next == 6
    assert math.isnan(history.largest[0])
    assert history.deficits[1].tolist() == pytest.approx([0.5, math.nan], nan_ok=True)
    assert DeficitHistory.restored(DeficitHistory().dump()) == DeficitHistory()


@pytest.mark.parametrize(
    "wrong",
    [
        {"stride": 0},
        {"stride": 1.5},
        {"rounds": [2]},
        {"rounds": [2, "4"]},
        {"rounds": None},
        {"times": [0.0, None]},
        {"times": [0.0, 10**400]},
        {"largest": [None, "x"]},
        {"deficits": [[None]]},
        {"deficits": 5},
        {"deficits": [[None], "x"]},
        {"peaks": [[0]]},
        {"peaks": [[-1, 0.5]]},
        {"peaks": [["x", 0.5]]},
    ],
)
def test_a_damaged_history_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(StateError, match="saved deficit history is damaged"):
        DeficitHistory.restored(GOOD | wrong)
    with pytest.raises(StateError, match="saved deficit history is damaged"):
        DeficitHistory.restored({name: value for name, value in GOOD.items() if name not in wrong})


def test_a_point_of_many_arms() -> None:
    history = DeficitHistory()
    deficits = np.arange(1000.0)
    history.mark(1, 0.0, np.where(deficits % 2 == 0, deficits, np.nan))
    assert (history.largest, history.deficits) == ([998.0], [])
