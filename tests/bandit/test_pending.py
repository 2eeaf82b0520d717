"""Reports: in any order, twice, contradicting, unknown, late or never."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit, Decision, pending
from evenhand.bandit.arms import Arms
from evenhand.bandit.pending import PendingRewards, RewardError, RewardRecord
from evenhand.core.errors import EvenhandError, StateError

AB = Arms(("a", "b"))


def four(**options: Any) -> tuple[Bandit, list[Decision]]:
    """Two arms per round, four rounds, one second apart."""
    bandit = Bandit(["a", "b", "c"], "ucb1", plays=2, **options)
    return bandit, [bandit.decide(now=float(second)) for second in range(4)]


def test_rewards_in_any_order_teach_the_same() -> None:
    bandit, choices = four()
    plays = [(choice.id, arm) for choice in choices for arm in choice.names]
    score = {play: place / 10.0 for place, play in enumerate(plays)}
    taught = set()
    for order in itertools.islice(itertools.permutations(plays), 0, 40_000, 1_999):
        bandit, _ = four()
        for decision, arm in order:
            assert bandit.observe(decision, {arm: score[decision, arm]}, now=9.0) == {arm: "accepted"}
        assert not bandit._record.pending.waiting
        taught.add(tuple(bandit._record.state.tally.rewards.round(12).tolist()))
    assert len(taught) == 1
    assert sum(taught.pop()) == pytest.approx(2.8)  # 0.0 + 0.1 + … + 0.7


def test_together_is_as_arm_by_arm() -> None:
    one, choices = four()
    other, _ = four()
    first, second = choices[2].names
    assert one.observe("3", {first: 1.0, second: 0.5}, now=4.0) == {first: "accepted", second: "accepted"}
    other.observe("3", {second: 0.5}, now=4.0)
    other.observe("3", {first: 1.0}, now=4.0)
    assert (one._record.state.tally.rewards == other._record.state.tally.rewards).all()
    assert one._record.pending.dump() == other._record.pending.dump()


def test_a_duplicate_changes_nothing() -> None:
    bandit, choices = four()
    first, second = choices[0].names
    bandit.observe("1", {first: 1.0}, now=4.0)
    before = bandit.dump()
    assert bandit.observe("1", {first: 1.0}, now=5.0) == {first: "duplicate"}
    assert bandit.dump() == before
    assert bandit.observe("1", {first: 1.0, second: 0.0}, now=5.0) == {first: "duplicate", second: "accepted"}
    before = bandit.dump()
    assert bandit.observe("1", {second: np.float64(0.0), first: 1}, now=5.0) == {
        second: "duplicate",
        first: "duplicate",
    }
    assert bandit.dump() == before


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("1", {"a": 0.0}, "decision 1, arm 'a': its reward is 1 and cannot change to 0"),
    ("1", {"b": 0.5, "a": 0.0}, "decision 1, arm 'a'"),
    ("1", {"b": 0.5, "c": 0.0}, "arm 'c' did not play in decision 1; 'a', 'b' did"),
    ("1", {"b": 0.5, "zzz": 0.0}, "arm 'zzz' did not play"),
    ("5", {"a": 0.5}, "there is no decision '5'"),
    ("5", {}, "there is no decision '5'"),
    ("01", {"b": 0.5}, "there is no decision '01'"),
    ("1", {"b": 0.5, "a": math.nan}, "the reward of 'a' must be a finite number, got nan"),
    ("1", {"b": 0.5, "a": math.inf}, "finite number"),
    ("1", {"b": 0.5, "a": 1.5}, "the reward of 'a' must be in \\[0, 1\\], got 1.5"),
    ("1", {"b": 0.5, "a": -0.5}, "in \\[0, 1\\]"),
    ("1", {"b": "1"}, "finite number, got '1'"),
    ("1", {"b": None}, "finite number, got None"),
    ("1", {"b": True}, "finite number, got True"),
    ("1", {"b": np.True_}, "finite number"),
    ("1", {"b": [1.0]}, "finite number"),
    ("1", {"b": 10**400}, "finite number"),
    ("1", {None: 1.0}, "arm None did not play"),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("decision", "rewards", "words"), WRONG)
def test_a_wrong_reward_is_named_and_nothing_is_half_done(decision: str, rewards: dict[str, Any], words: str) -> None:
    bandit, choices = four()
    assert choices[0].names == ("a", "b")
    bandit.observe("1", {"a": 1.0}, now=4.0)
    before = bandit.dump()
    with pytest.raises(EvenhandError, match=words):
        bandit.observe(decision, rewards, now=4.0)
    assert bandit.dump() == before
    assert bandit.observe("1", {"b": 0.25}, now=4.0) == {"b": "accepted"}


STATUSES: list[tuple[str, dict[str, float], str]] = [
    ("5", {"a": 1.0}, "unknown"),
    ("1", {"c": 1.0}, "unknown"),
    ("1", {"zzz": 1.0}, "unknown"),
    ("1", {"a": 0.0}, "conflict"),
    ("1", {"b": 0.5, "a": 0.0}, "conflict"),
]


@pytest.mark.parametrize(("decision", "rewards", "status"), STATUSES)
def test_a_refusal_says_of_what_kind_it_is(decision: str, rewards: dict[str, float], status: str) -> None:
    bandit, _ = four()
    bandit.observe("1", {"a": 1.0}, now=4.0)
    with pytest.raises(RewardError) as refused:
        bandit.observe(decision, rewards, now=4.0)
    assert refused.value.status == status


def test_what_was_forgotten_counts_as_late_and_nothing_else() -> None:
    bandit, _ = four()
    before = bandit.dump()
    bandit._record.count_late("c")
    bandit._record.count_late("c")
    after = bandit.dump()
    assert [line.late for line in bandit.audit().lines] == [0, 0, 2]
    after["statistics"]["late"]["values"][2] -= 2.0
    assert after == before
    with pytest.raises(EvenhandError, match="there is no arm 'zzz'"):
        bandit._record.count_late("zzz")


@pytest.mark.parametrize("decision", [1, None, ["1"], 1.0])
def test_a_decision_is_named_by_its_id(decision: Any) -> None:
    bandit, _ = four()
    with pytest.raises(EvenhandError, match="identified by its id"):
        bandit.observe(decision, {"a": 1.0})


def test_of_a_decision_itself_the_message_has_the_id() -> None:
    bandit, _ = four()
    decision: Any = bandit.decide()
    with pytest.raises(EvenhandError, match=f"; give its id, '{decision.id}'$"):
        bandit.observe(decision, {"a": 1.0})


@pytest.mark.parametrize("rewards", [None, [1.0], 1.0, "a"])
def test_rewards_go_by_arm(rewards: Any) -> None:
    bandit, _ = four()
    with pytest.raises(EvenhandError, match=r"must be a mapping from arms to numbers, such as \{'a': 1\.0\}, got"):
        bandit.observe("1", rewards)


@pytest.mark.parametrize("reward", [1, np.float32(0.5), np.int64(1), Decimal("0.5"), np.array(0.5)])
def test_any_number_is_a_reward(reward: Any) -> None:
    bandit, _ = four()
    assert bandit.observe("1", {"a": reward}) == {"a": "accepted"}
    assert json.dumps(bandit.dump(), allow_nan=False)


def test_the_policy_learns_from_scaled_rewards_and_the_audit_shows_the_unit() -> None:
    bandit, _ = four(rewards=(-10.0, 30.0))
    bandit.observe("1", {"a": -10.0, "b": 20.0})
    assert bandit._record.state.tally.rewards.tolist() == [0.0, 0.75, 0.0]
    assert [line.estimate for line in bandit.audit().lines] == [-10.0, 20.0, None]


# --- The window -------------------------------------------------------------------------------------------------------


def test_what_comes_after_the_window_is_written_down_and_not_learned_from() -> None:
    """The first decision, made at 0, is waited for until 10: at 9.5 a reward is in time, at 10 it is late."""
    bandit, choices = four(window=10.0, missing="lost")
    first, second = choices[0].names
    assert bandit.observe("1", {first: 1.0}, now=9.5) == {first: "accepted"}
    learned = bandit._record.state.tally.received.copy(), bandit._record.state.tally.rewards.copy()
    assert bandit.observe("1", {second: 1.0}, now=10.0) == {second: "late"}
    assert bandit._record.pending.find("1") == RewardRecord(1, 0.0, {first: 1.0, second: 1.0}, closed=True)
    assert (bandit._record.state.tally.received == learned[0]).all()
    assert (bandit._record.state.tally.rewards == learned[1]).all()
    before = bandit.dump()
    assert bandit.observe("1", {second: 1.0, first: 1.0}, now=10.5) == {second: "duplicate", first: "duplicate"}
    with pytest.raises(RewardError, match="its reward is 1 and cannot change to 0"):
        bandit.observe("1", {second: 0.0}, now=10.5)
    assert bandit.dump() == before


def test_late_and_in_time_in_one_call() -> None:
    bandit, choices = four(window=10.0, missing="lost")
    with pytest.raises(RewardError, match="did not play"):
        bandit.observe("1", {"zzz": 1.0}, now=12.5)
    assert sorted(bandit._record.pending.settled) == ["1", "2", "3"]  # a refused reward closes what is due all the same
    assert set(bandit.observe("4", dict.fromkeys(choices[3].names, 1.0), now=12.5).values()) == {"accepted"}


@pytest.mark.parametrize(("missing", "received"), [("lost", 1.0), ("zero", 4.0)])
def test_lost_is_unknown_and_zero_is_nought(missing: str, received: float) -> None:
    """Arm a plays in four rounds; one reward comes, of a half, and three never do."""
    bandit = Bandit(["a"], "ucb1", window=10.0, missing=missing)
    for second in range(4):
        bandit.decide(now=float(second))
    bandit.observe("2", {"a": 0.5}, now=4.0)
    assert bandit.expire(now=11.5) == {"1": ["a"]}
    assert bandit.expire(now=11.5) == {}
    assert bandit.expire(now=20.0) == {"3": ["a"], "4": ["a"]}
    assert bandit._record.state.tally.received.tolist() == [received]
    assert bandit._record.state.tally.rewards.tolist() == [0.5]
    assert bandit._record.state.tally.pulls.tolist() == [4.0]
    line = bandit.audit().lines[0]
    assert (line.received, line.lost, line.pending, line.late) == (1, 3, 0, 0)
    assert line.estimate == 0.5 / received


def test_a_window_is_due_as_soon_as_expiry_would_close_something() -> None:
    bandit, choices = four(window=10.0, missing="lost")
    for arm in choices[0].names:
        bandit.observe("1", {arm: 1.0}, now=4.0)
    before = bandit.dump()
    assert [bandit.due(now) for now in (4.0, 10.9, 11.0, 99.0)] == [False, False, True, True]  # the second: 1 + 10
    assert bandit.dump() == before
    bandit.expire(now=11.5)
    assert [bandit.due(now) for now in (11.9, 12.0)] == [False, True]
    bandit.expire(now=99.0)
    assert not bandit.due(now=1e9)  # nothing waits
    assert not four()[0].due(now=1e9)  # nothing is ever due


def test_only_what_is_missing_is_lost() -> None:
    bandit, choices = four(window=10.0, missing="lost")
    first, second = choices[0].names
    bandit.observe("1", {first: 1.0}, now=4.0)
    assert bandit.expire(now=10.0) == {"1": [second]}


def test_without_a_window_rewards_are_waited_for_for_ever() -> None:
    bandit, choices = four()
    assert bandit.expire(now=1e12) == {}
    assert bandit.observe("1", {choices[0].names[0]: 1.0}, now=1e12) == {choices[0].names[0]: "accepted"}


def test_a_decision_closes_what_is_due() -> None:
    bandit, _ = four(window=2.0, missing="lost")
    assert list(bandit._record.pending.waiting) == ["3", "4"]  # those of seconds 0 and 1 were closed at 2 and 3
    bandit.decide(now=4.5)
    assert list(bandit._record.pending.waiting) == ["4", "5"]


def test_a_clock_that_jumps_back_keeps_the_order() -> None:
    """The decision made at 3 after one made at 100 counts as made at 100: none waits behind it for long."""
    pending = PendingRewards(AB, plays=1, window=10.0)
    for round, second in ((1, 100.0), (2, 3.0), (3, 104.0)):
        pending.enter(round, [0], second)
    assert [entry.time for entry in pending.waiting.values()] == [100.0, 100.0, 104.0]
    assert pending.overdue(50.0) == {}
    assert list(pending.overdue(110.0)) == ["1", "2"]


def test_settled_decisions_are_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "REMEMBERED", 2)
    bandit = Bandit(["a"], "ucb1")
    for _ in range(4):
        bandit.decide()
        bandit.observe(str(bandit._record.state.round), {"a": 1.0})
    assert list(bandit._record.pending.settled) == ["3", "4"]
    assert bandit.observe("3", {"a": 1.0}) == {"a": "duplicate"}
    with pytest.raises(RewardError, match="no decision '2' among those that are remembered"):
        bandit.observe("2", {"a": 1.0})


def test_pending_counts_arms() -> None:
    pending = PendingRewards(AB, plays=2)
    pending.enter(1, [0, 1], 0.0)
    pending.enter(2, [0], 1.0)
    pending.write(1, 1, 1.0)
    assert pending.counts().tolist() == [2.0, 0.0]


def book() -> PendingRewards:
    """A decision that is closed with one of two rewards, one that is closed without, and one that waits."""
    pending = PendingRewards(AB, plays=2, window=5.0)
    pending.enter(1, [0, 1], 0.0)
    pending.enter(2, [0], 1.0, 1, [2.0, 0.25])
    pending.enter(3, [1], 8.0)
    pending.write(1, 1, 1.0)
    pending.close(pending.overdue(6.0))
    return pending


def test_a_book_is_restored() -> None:
    pending = book()
    plain = json.loads(json.dumps(pending.dump()))
    assert plain == {
        "rounds": [1, 2, 3],
        "times": [0.0, 1.0, 8.0],
        "places": [0, 1, 0, -1, 1, -1],
        "known": [1],
        "rewards": [1.0],
        "tables": [-1, 1, -1],
        "counting": [[0.0, 0.0], [2.0, 0.25], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
        "settled": [1, 2],
        "closed": [1, 2],
        "latest": 8.0,
    }
    again = PendingRewards.restored(AB, 2, 5.0, plain)
    assert again.dump() == plain
    assert (again.counting(1, 1), again.counting(2, 0)) == ((-1, 0.0, 0.0), (1, 2.0, 0.25))
    assert again.waiting == {"3": RewardRecord(3, 8.0, {"b": None})}
    assert again.settled == {
        "1": RewardRecord(1, 0.0, {"a": None, "b": 1.0}, closed=True),
        "2": RewardRecord(2, 1.0, {"a": None}, closed=True),
    }
    assert again.count == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", None),
        ("rounds", [1, 3, 2]),
        ("rounds", [1, 2]),
        ("times", [0.0, 1.0, "x"]),
        ("times", [0.0, 1.0]),
        ("times", [0.0, 1.0, 10**400]),
        ("places", [0, 1, 0, -1, 2, -1]),
        ("places", [0, 1, 0, -1, 1]),
        ("known", [7]),
        ("rewards", ["x"]),
        ("tables", [-1, 1]),
        ("tables", [-2, -1, -1]),
        ("counting", [[0.0, 0.0]]),
        ("settled", [1, 9]),
        ("closed", [0]),
        ("latest", None),
    ],
)
def test_a_damaged_book_is_refused(name: str, value: Any) -> None:
    with pytest.raises(StateError, match="saved pending rewards"):
        PendingRewards.restored(AB, 2, 5.0, book().dump() | {name: value})


def test_what_is_forgotten_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the first decision, which waits, and of the last two that are settled stay, and are found."""
    monkeypatch.setattr(pending, "REMEMBERED", 2)
    monkeypatch.setattr(pending, "SPARE", 4)
    book = PendingRewards(AB, plays=1)
    for round in range(1, 51):
        book.enter(round, [round % 2], float(round))
        if round > 1:
            book.write(round, round % 2, 0.5)
        assert len(book._rounds) <= 2 * 3 + 4
    assert (list(book.waiting), list(book.settled), book.count) == (["1"], ["49", "50"], 1)
    assert [id for id in ("1", "01", "48", "49", "51", "x", "") if book.find(id) is not None] == ["1", "49"]
    book.write(1, 1, 1.0)
    assert book.settled["1"] == RewardRecord(1, 1.0, {"b": 1.0})
    assert book.count == 0
