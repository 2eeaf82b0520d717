"""What an audit says in sentences, and what it calls healthy."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.computation import catch_up, health
from evenhand.bandit.ledger import Stated
from evenhand.messages.answers import AllocationHealth


def played(
    bandit: Bandit, *available: str, rounds: int = 100, reward: float | None = 0.5, start: float = 0.0
) -> Bandit:
    """Rounds a second each, in which these arms were available, with a reward half a second later."""
    for round in range(rounds):
        decision = bandit.decide(available=available or None, now=start + round)
        if reward is not None:
            bandit.observe(decision.id, dict.fromkeys(decision.names, reward), now=start + round + 0.5)
    return bandit


def drinks(**options: object) -> Bandit:
    return Bandit(["tea", "coffee", "mate"], "fucb", fractions=[0.1, 0.2, 0.0], **options)  # type: ignore[arg-type]


def test_verdicts() -> None:
    assert played(drinks()).audit().verdict == "Both promises are kept."
    behind = played(drinks(), "tea", "mate").audit().verdict
    assert behind == "1 of 2 promises is kept and 1 is missed; coffee is 20 plays behind the 20% that it was promised."
    one = Bandit(["tea", "coffee"], "fucb", fractions={"tea": 0.5})
    assert played(one).audit().verdict == "The promise is kept."
    assert (
        played(one, "coffee").audit().verdict
        == "The promise is missed; tea is 50 plays behind the 50% that it was promised."
    )
    assert played(Bandit(["a", "b"], "ucb1")).audit().verdict == "No share is promised to any arm."
    merit = Bandit(["a", "b"], "fcts_d", merit={"kind": "linear"})
    assert "follow the merit" in played(merit).audit().verdict
    groups = Bandit(["a", "b"], "group_ucb", groups=[{"name": "g", "arms": ["a"], "at_least": 0.5}])
    assert groups.audit().verdict == "Nothing has been decided yet."
    assert played(groups).audit().verdict == "The promise is kept."
    assert (
        played(groups, "b").audit().verdict
        == "The promise is missed; the group g is 50 plays behind the 50% that it was promised."
    )
    groups.promise(groups={"g": {"at_least": 0.25}})
    assert groups.audit().verdict == "The promises begin with the next round."
    assert "\x1b" not in played(Bandit(["\x1b[2J", "b"], "fucb", fractions=[0.5, 0.0]), "b").audit().verdict


def grouped(**more: object) -> Bandit:
    groups = [{"name": "g", "arms": ["a", "b"], "at_least": 0.4}, {"name": "h", "arms": ["b", "c"], "at_most": 0.8}]
    return Bandit(["a", "b", "c", "d"], "group_ucb", groups=groups, caps={"d": 0.3}, **more)  # type: ignore[arg-type]


def test_promises_to_groups_and_caps_are_counted_with_those_to_arms() -> None:
    assert played(grouped()).audit().verdict == "All 3 promises are kept."
    assert played(grouped(fractions={"a": 0.1})).audit().verdict == "All 4 promises are kept."
    behind = played(grouped(fractions={"a": 0.1}), "c", "d").audit()
    lines = {line.name: line for line in behind.bounds}
    assert behind.verdict == (
        "2 of 4 promises are kept, 1 is missed and 1 is undecided; the group g is 40 plays behind the 40% that it was "
        "promised."
    )
    assert lines["h"].plays <= 81  # that group and d are not above their largest shares, by more than a play
    assert lines["d"].plays <= 31
    alone = played(Bandit(["a", "b"], "group_ucb", caps={"a": 0.25}), "a").audit()
    assert alone.verdict == "The promise is missed; a is 75 plays above its largest share of 25%."
    both = played(Bandit(["a", "b"], "group_ucb", groups=[{"name": "g", "arms": ["a", "b"], "exactly": 1.0}]))
    assert both.audit().verdict == "Both promises are kept."


def test_a_group_behind_needs_attention() -> None:
    """Beyond 1% of what is due; and beyond what its eta allows, it is missed."""
    bandit = Bandit(["a", "b"], "group_ucb", groups=[{"name": "g", "arms": ["a"], "at_least": 0.5}])
    for plays, expected in (("ab" * 42, "good"), ("b" * 16, "attention"), ("b" * 24, "bad")):
        for arm in plays:
            bandit.decide(available=[arm], now=0.0)
        bandit._record.availability.clear()
        assert bandit.health(now=0.0).status == expected, plays
    health = bandit.health(now=0.0)
    assert (health.text, health.behind, health.arm) == (
        "The promise is missed; the group g is 20 plays behind the 50% that it was promised.",
        20.0,
        None,
    )
    capped = Bandit(["a", "b"], "group_ucb", caps={"a": 0.2})
    for _ in range(60):
        capped.decide(available=["a"], now=0.0)
    capped._record.availability.clear()
    assert (capped.health(now=0.0).status, capped.health(now=0.0).text) == (
        "bad",
        "The promise is missed; a is 48 plays above its largest share of 20%.",
    )


def test_reasons_name_caps_and_groups() -> None:
    a, b, c, d = played(grouped(fractions={"a": 0.1})).audit().lines
    assert "the 10% that it was promised. It is in the group g." in a.reason
    assert b.reason.startswith("Nothing is promised to it alone. It is in the groups g, h.")
    assert c.reason.startswith("Nothing is promised to it alone. It is in the group h.")
    assert d.reason.startswith("Nothing is promised to it. It may have at most 30%.")


def test_a_promise_that_has_asked_for_nothing_yet_is_not_kept() -> None:
    bandit = played(drinks())
    bandit.add("cocoa", fraction=0.1)
    assert bandit.audit().verdict == "2 promises are kept, 1 has not been due more than a play."
    played(bandit, "tea", "coffee", "mate", rounds=5, start=100.0)
    audit = bandit.audit()
    assert audit.verdict == "2 promises are kept, 1 has not been due more than a play."
    assert audit.lines[-1].verdict is None
    assert audit.lines[-1].reason.startswith("It has not been due more than a play of the 10% that it is promised.")
    played(bandit, "tea", "coffee", "mate", rounds=15, start=105.0)
    assert bandit.audit().verdict.startswith("2 of 3 promises are kept and 1 is missed; cocoa is 2 plays behind")
    played(bandit, rounds=40, start=120.0)
    assert bandit.audit().verdict == "All 3 promises are kept."
    asleep = played(drinks(), "tea", "mate", rounds=4)
    assert asleep.audit().verdict == "1 promise is kept, 1 has not been due more than a play."
    alone = Bandit(["a", "b"], "fucb", fractions=[0.1, 0.0])
    assert played(alone, "b", rounds=4).audit().verdict == "No promise has been due more than a play yet."


def test_what_is_undecided_is_healthy_because_nothing_is_known_to_be_missed() -> None:
    bandit = Bandit(["a", "b"], PLAN)
    played(bandit, "a", rounds=34)
    played(bandit, "b", rounds=66, start=34.0)
    bandit._record.availability.clear()
    health = bandit.health()
    assert health.status == "good"
    assert health.text.startswith(
        "No promise is known to be missed; it is undecided whether the promise is kept; a is "
    )


def test_reasons() -> None:
    bandit = played(drinks(), "tea", "mate")
    tea, coffee, mate = bandit.audit().lines
    assert tea.reason.startswith("It has the 10% that it was promised. Its mean reward, 0.5, is the largest")
    owed = "It is 20 plays behind the 20% that it was promised. It could play in 0% of the rounds only."
    assert coffee.reason.startswith(f"{owed} None of its rewards is known yet.")
    assert mate.reason.startswith("Nothing is promised to it.")
    assert "The policy scores" in mate.reason or "The policy gives it" in mate.reason
    for _ in range(50):
        bandit.decide(available=["mate"])
    assert "The rewards of 50 of its 100 plays are missing." in bandit.audit().lines[2].reason
    bandit.retire("mate")
    assert bandit.audit().lines[2].reason == "It is retired, so it plays no more."


def test_reasons_rank_the_scores() -> None:
    bandit = Bandit(["a", "b", "c"], "ucb1")
    for round, (arm, reward) in enumerate([("a", 1.0), ("b", 0.5), ("c", 0.0)] * 5):
        decision = bandit.decide(available=[arm], now=float(round))
        bandit.observe(decision.id, {arm: reward}, now=float(round))
    endings = ["The policy gives it the highest score.", "1 of the other 2 arms higher.", "every other arm higher."]
    for line, ending in zip(bandit.audit().lines, endings, strict=True):
        assert line.reason.endswith(ending)


def test_scores_are_those_by_which_the_policy_compares() -> None:
    bandit = played(Bandit(["a", "b"], "ucb1"), rounds=20)
    scores = [line.score for line in bandit.audit().lines]
    assert None not in scores
    assert bandit.decide().names == (("a", "b")[scores.index(max(scores, key=lambda one: one or 0.0))],)
    drawn = played(Bandit(["a", "b"], "thompson"), rounds=20).audit()
    assert [line.score for line in drawn.lines] == [None, None]
    assert "score" not in drawn.lines[0].reason


def test_catching_up() -> None:
    """Coffee is owed 20 plays, 19 too many; every round it gains its availability less its promise."""
    bandit = played(drinks(), "tea", "mate")
    line = bandit.audit().lines[1]
    assert (line.catch_up_rounds, line.catch_up_seconds) == (None, None)  # it could never play
    for available, rounds in ((1.0, 24.0), (0.3, 190.0), (0.2, np.inf)):
        found = catch_up(Account(bandit._record), np.array([1.0, available, 1.0]))
        assert (np.isnan(found).tolist(), found[1]) == ([True, False, True], pytest.approx(rounds))
    bandit._record.availability.clear()
    line = bandit.audit().lines[1]
    assert line.catch_up_rounds == 24
    assert line.catch_up_seconds == pytest.approx(24.0)  # a round a second


def test_the_promised_catch_up_is_reached_when_nothing_else_is_owed() -> None:
    bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.2, 0.0])
    played(bandit, "coffee", rounds=100)
    bandit._record.availability.clear()  # as if tea could always play from now on
    (rounds,) = [line.catch_up_rounds for line in bandit.audit().lines if line.arm == "tea"]
    assert rounds == 24  # (20 − 1)/(1 − 0.2), rounded up
    for _ in range(rounds):
        assert bandit.health().status != "good"
        bandit.decide()
    assert bandit.audit().verdict == "The promise is kept."


def test_health() -> None:
    assert drinks().health().status == "good"
    good = played(drinks()).health()
    assert good == AllocationHealth(
        "good", "Both promises are kept.", 0.0, None, 0, *(datetime.fromtimestamp(at, UTC) for at in (99.0, 99.5))
    )
    bad = played(drinks(), "tea", "mate").health()
    assert (bad.status, bad.arm) == ("bad", "coffee")
    assert bad.behind == pytest.approx(20.0)
    assert bad.text.startswith("With the recent availability, the promised shares cannot be kept: arm 'coffee'")
    closed = health(Account(played(drinks())._record), closed=True, now=0.0)
    assert (closed.status, closed.text) == ("closed", "Closed after 100 rounds.")
    merit = played(Bandit(["a", "b"], "fcts_d", merit={"kind": "linear"})).health()
    assert (merit.status, merit.behind) == ("good", None)


PLAN = {
    "fairness": {"kind": "guaranteed_shares", "fractions": [0.5, 0.0]},
    "selection": {"kind": "dependent_rounding"},
}


def test_chance_is_no_alarm_but_a_real_shortfall_is() -> None:
    """A share that is drawn varies; an arm that never plays although it could is below its promise beyond doubt."""
    bandit = Bandit(["a", "b"], PLAN)
    stages = (("a" * 34 + "b" * 56, 0, "good"), ("b" * 10, 90, "good"), ("b" * 60, 100, "bad"))
    for rounds, start, expected in stages:
        for at, arm in enumerate(rounds):
            bandit.decide(available=[arm], now=float(start + at))
        bandit._record.availability.clear()
        assert (bandit.health().status, bandit.audit().lines[0].plays) == (expected, 34)
    assert bandit.health().text.startswith(
        "The promise is missed; a is 46 plays behind the 50% that it was promised, and at least"
    )
    bandit._record.alarms["share", 0] = Stated(160.0, 160)
    for played, expected in ((60, "attention"), (60, "good")):
        for at in range(played):
            bandit.decide(available=["a"], now=float(200 + at))
        bandit._record.availability.clear()
        if expected == "good":
            bandit._record.alarms.clear()
        assert (bandit.health().status, len(bandit.audit().alarms)) == (expected, len(bandit._record.alarms))


def test_doubts_and_silence_need_attention() -> None:
    doubtful = Bandit(["a", "b"], "ucb1")
    for _ in range(200):
        decision = doubtful.decide(now=0.0)
        if int(decision.id) % 3 == 0:
            doubtful.observe(decision.id, dict.fromkeys(decision.names, 1.0), now=0.0)
    assert (doubtful.health(now=0.0).status, doubtful.health(now=0.0).warnings) == ("attention", 2)
    silent = played(drinks(missing="lost", window=60.0))
    for hour in range(3):
        silent.decide(now=100.0 + 3600.0 * hour)
    assert (
        silent.health(now=8000.0).text
        == "No reward has arrived for much longer than usual, though rounds were decided."
    )
    assert played(drinks()).health(now=1e9).status == "good"  # nobody asked for decisions either
    never = drinks()
    for day in range(3):
        never.decide(now=86_400.0 * 3 * day)
    assert never.health(now=1e6).status in ("good", "attention")
    played(never, rounds=1, reward=None, start=86_400.0 * 20)
    assert never.health(now=86_400.0 * 21).text.startswith("No reward has arrived yet")


def test_an_arm_within_the_tolerance_of_its_policy_has_no_forecast() -> None:
    """Arms go first only where they are more than five plays behind, so that nothing brings this one nearer."""
    bandit = Bandit(["tea", "milk"], "fair_learn", fractions=[0.5, 0.0], tolerance=5.0)
    for _ in range(8):
        bandit.decide(available=["milk"])
    line = bandit.audit().lines[0]
    assert (line.deficit, line.catch_up_rounds) == (4.0, None)
