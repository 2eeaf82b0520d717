"""Every number of an audit against one worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.arms import available_sets
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.faults import leading
from evenhand.bandit.audit.figure import audit_figure, audit_table
from evenhand.core.errors import EvenhandError, StateError
from evenhand.inference.sequences import mean_interval
from evenhand.messages.answers import moment
from evenhand.messages.audit import Audit
from evenhand.messages.lines import DeficitExcerpt, Line
from tests.bandit.test_calls import calls_of


def line_of(bandit: Bandit, arm: str, now: float | None = None) -> Line:
    return next(line for line in bandit.audit(now=now).lines if line.arm == arm)


def interval(least: float, most: float, count: int) -> tuple[float, float]:
    """The means that none of the sixteen supermartingales refutes, each at 0.05/16, found by bisection."""
    return _first_mean(least, count), 1.0 - _first_mean(count - most, count)


def _first_mean(total: float, count: int) -> float:
    low, high = 0.0, total / count
    for _ in range(60):
        mean = (low + high) / 2.0
        logarithms = [3.0**k * total - count * math.log1p(mean * (math.exp(3.0**k) - 1.0)) for k in range(-6, 2)]
        refuted = max(logarithms) >= math.log(16.0 / 0.05)
        low, high = (mean, high) if refuted else (low, mean)
    return low


def test_an_empty_audit() -> None:
    audit = Bandit(["a", "b"], "fucb", fractions=[0.25, 0.0]).audit(now=5.0)
    assert audit.lines[0] == Line(
        arm="a",
        retired=False,
        promised=0.25,
        verdict=None,
        standing=None,
        since=0,
        rounds=0,
        plays=0,
        share=None,
        low_share=None,
        high_share=None,
        deficit=0.0,
        worst=None,
        promises=0,
        due=0.0,
        paid=0,
        forgiven=0.0,
        capped=0.0,
        lapsed=0.0,
        all_plays=0,
        available=None,
        received=0,
        estimate=None,
        trusted=True,
        low=None,
        high=None,
        pending=0,
        lost=0,
        late=0,
        learned_plays=0,
        learned_mean=None,
        counted=None,
        changes=None,
        score=None,
        reason="Its promise of 25% begins with the next round.",
        catch_up_rounds=None,
        catch_up_seconds=None,
    )
    assert (audit.verdict, audit.cost, audit.history) == ("Nothing has been decided yet.", None, None)
    assert (audit.algorithm, audit.round, audit.version, audit.fault) == ("fucb", 0, 0, "")
    assert (audit.lines[1].promised, audit.lines[1].deficit) == (0.0, None)
    assert (audit.arms, audit.time, audit.delays) == (2, moment(5.0), None)
    assert audit.deficit_history == DeficitExcerpt((), (), (), (), ())


def test_every_number_by_hand() -> None:
    """Arm a is promised a quarter, sleeps in rounds 1 to 6, and plays alone from then on."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.25, 0.0], window=10.0, missing="lost")
    for second in range(6):
        bandit.decide(available=["b"], now=float(second))
    line = line_of(bandit, "a", now=5.0)
    assert (line.deficit, line.worst, line.available, line.share) == (1.5, 1.5, 0.0, 0.0)
    for second in (6, 7):
        assert bandit.decide(available=["a"], now=float(second)).names == ("a",)
    bandit.observe("7", {"a": 1.0}, now=8.0)
    bandit.observe("1", {"b": 1.0}, now=8.0)
    bandit.observe("2", {"b": 0.0}, now=8.0)
    bandit.expire(now=13.5)  # rounds 3 and 4, made at 2 and 3
    bandit.observe("3", {"b": 1.0}, now=13.5)
    audit = bandit.audit(now=13.5)
    a, b = audit.lines
    assert (a.plays, a.all_plays, a.rounds, a.since, a.share, a.available) == (2, 2, 8, 0, 0.25, 0.25)
    assert (a.low_share, a.high_share) == pytest.approx(interval(2.0, 2.0, 8))
    assert (b.low_share, b.high_share) == pytest.approx(interval(6.0, 6.0, 8))
    assert (a.deficit, a.worst) == (0.0, 1.5)  # 0.25 · 8 − 2; before its first play 0.25 · 6
    assert (a.received, a.pending, a.lost, a.late) == (1, 1, 0, 0)
    assert (b.promised, b.deficit, b.worst, b.plays, b.available) == (0.0, None, None, 6, 0.75)
    assert (b.received, b.pending, b.lost, b.late, b.estimate) == (2, 2, 2, 1, 0.5)
    assert (a.low, a.high) == pytest.approx(interval(1.0, 2.0, 2))  # one of two is pending
    assert (b.low, b.high) == pytest.approx(interval(1.0, 5.0, 6))  # two are pending, two lost, one of these late
    assert a.high == 1.0


def test_deficits_count_from_the_first_promise() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    for _ in range(4):
        bandit.decide(available=["b"])
    assert line_of(bandit, "a").worst == 2.0
    for _ in range(8):
        bandit.decide(available=["a"])
    assert (line_of(bandit, "a").deficit, line_of(bandit, "a").worst) == (-2.0, 2.0)
    bandit.promise({"a": 0.25})
    assert (line_of(bandit, "a").deficit, line_of(bandit, "a").worst) == (-1.0, 2.0)
    line = line_of(bandit, "a")
    assert (line.promises, line.due, line.paid, line.lapsed) == (1, 6.0, 8, 1.0)
    bandit.decide(available=["a"])
    assert (line_of(bandit, "a").deficit, line_of(bandit, "a").worst) == (-1.75, 2.0)
    bandit.decide(available=["b"])
    assert (line_of(bandit, "a").deficit, line_of(bandit, "a").worst) == (-1.5, 2.0)


def test_the_interval_of_a_share_counts_from_when_its_promise_began() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    for _ in range(6):
        bandit.decide(available=["a"])
    bandit.promise({"a": 0.25})
    line = line_of(bandit, "a")
    assert (line.share, line.low_share, line.high_share) == (None, None, None)
    for available in ("a", "b", "b", "b", "b"):
        bandit.decide(available=[available])
    line = line_of(bandit, "a")
    assert (line.low_share, line.high_share) == pytest.approx(interval(1.0, 1.0, 5))
    assert (line_of(bandit, "b").low_share, line_of(bandit, "b").high_share) == pytest.approx(interval(4.0, 4.0, 11))


def test_it_says_from_when_on_plays_and_shares_count() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.0])
    for _ in range(6):
        bandit.decide()
    assert not any("count since" in note for note in bandit.audit().notes())
    bandit.promise({"a": 0.25})
    bandit.add("c")
    for _ in range(4):
        bandit.decide()
    bandit.add("d", fraction=0.1)
    start = "plays and shares count since a promise changed or an arm came: "
    assert bandit.audit().notes()[0] == f"{start}a, c from round 7 on; d from round 11 on"
    assert sum(line.share or 0.0 for line in bandit.audit().lines) > 1.0, "which is why it must be said"
    for arm in "abcd":
        bandit.promise({arm: 0.2})
    assert bandit.audit().notes()[0] == f"{start}all from round 11 on"
    assert start in " ".join(str(bandit.audit()).split())


def test_a_larger_mean_and_a_surer_one_do_not_contradict_each_other() -> None:
    """The larger mean has more rewards, and more that are missing."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.5])
    for arm, known in (("a", 9), ("b", 8)):
        for place in range({"a": 69, "b": 46}[arm]):
            decision = bandit.decide(available=[arm])
            if place < known:
                bandit.observe(decision.id, {arm: float(place % 3 != 0)})
    first, second = bandit.audit().lines
    assert first.estimate is not None
    assert second.estimate is not None
    assert first.low is not None
    assert second.low is not None
    assert (first.estimate > second.estimate, first.received > second.received, first.low < second.low) == (True,) * 3
    assert "is above that of b, 0.625, but its interval begins lower." in first.reason
    assert "0.625, is not the largest, but its interval begins highest." in second.reason


def test_intervals_at_the_ends() -> None:
    sums = np.array([0.0, 7.0, 0.0])
    low, high = mean_interval(sums, sums, np.array([7.0, 7.0, 0.0]))
    assert (low[0], high[1]) == (0.0, 1.0)
    assert (high[0], low[1]) == pytest.approx((interval(0.0, 0.0, 7)[1], interval(7.0, 7.0, 7)[0]))
    assert np.isnan([low[2], high[2]]).all()


@pytest.mark.parametrize("mean", [0.0, 0.003, 0.05, 0.5, 1.0])
def test_intervals_shrink_as_they_should(mean: float) -> None:
    """At most twice as wide as 1.96 standard errors each side, and a little more while there are few values."""
    count = 10.0 ** np.arange(1.0, 8.0)
    low, high = mean_interval(mean * count, mean * count, count)
    assert (low <= mean).all()
    assert (high >= mean).all()
    assert (high - low <= 2.0 * (2.0 * 1.96 * np.sqrt(mean * (1.0 - mean) / count) + 10.0 / count)).all()


# --- With a limit -----------------------------------------------------------------------------------------------------


def test_those_furthest_behind_come_first() -> None:
    """Everybody plays in turn; b and e are promised more than that, c nothing, d less."""
    bandit = Bandit(list("abcdef"), "fucb", fractions=[0.0, 0.3, 0.0, 0.1, 0.5, 0.0])
    for place in range(62):
        bandit.decide(available=["abcdef"[place % 6]])
    # After 62 rounds a and b have 11 plays, the others 10: 0.3 · 62 − 11, 0.1 · 62 − 10, 0.5 · 62 − 10.
    deficits = {"b": 7.6, "d": -3.8, "e": 21.0}
    lines = bandit.audit(limit=6).lines
    assert [line.arm for line in lines] == ["e", "b", "d", "a", "c", "f"]
    assert {line.arm: line.deficit for line in lines if line.deficit is not None} == deficits
    everybody = {line.arm: line for line in bandit.audit().lines}
    for limit in range(1, 8):
        audit = bandit.audit(limit=limit)
        assert audit.lines == tuple(everybody[line.arm] for line in lines[:limit])
        assert audit.arms == 6
    odd: list[Any] = [0, -1, 1.5, True, "2"]
    for limit in odd:
        with pytest.raises(EvenhandError, match="limit must be"):
            bandit.audit(limit=limit)


@pytest.mark.parametrize("limit", [1, 2, 7, 29, 30, 31])
def test_the_first_places_are_those_of_a_full_sort(limit: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        keys = [rng.integers(0, top, 30).astype(float) for top in rng.integers(1, 9, 2)]
        keys[0][rng.random(30) < 0.3] = math.inf
        slow = sorted(range(30), key=lambda place: (keys[0][place], keys[1][place], place))
        assert leading(keys, limit).tolist() == slow[:limit]


@pytest.mark.parametrize("limits", [(0.0, 1.0), (-2.0, 3.0)])
def test_intervals_of_bounded_rewards(limits: tuple[float, float]) -> None:
    """Stretched over the range; never a point, and never outside."""
    low, high = limits
    bandit = Bandit(["a"], "ucb1", rewards=limits)
    for place, part in enumerate([1.0, 1.0, 0.5, 0.0, 1.0], start=1):
        bandit.decide()
        bandit.observe(str(place), {"a": low + (high - low) * part})
    line, (first, last) = line_of(bandit, "a"), interval(3.5, 3.5, 5)
    assert line.estimate == pytest.approx(low + (high - low) * 0.7)
    assert (line.low, line.high) == pytest.approx((low + (high - low) * first, low + (high - low) * last))


def test_what_is_missing_widens_the_interval() -> None:
    """Of ten plays, each of which earned 2 in [−1, 2], four rewards are known, three are pending and three lost."""
    bandit = Bandit(["a"], "ucb1", rewards=(-1.0, 2.0), window=10.0, missing="lost")
    for second in range(3):
        bandit.decide(now=float(second))
    for place in range(4, 11):
        bandit.decide(now=12.5)
        if place < 8:
            bandit.observe(str(place), {"a": 2.0}, now=12.5)
    line = line_of(bandit, "a", now=12.5)
    assert (line.received, line.pending, line.lost, line.estimate) == (4, 3, 3, 2.0)
    low, _ = interval(4.0, 10.0, 10)
    assert (line.low, line.high) == pytest.approx((-1.0 + 3.0 * low, 2.0))
    for place in range(8, 11):
        bandit.observe(str(place), {"a": -1.0}, now=13.0)
    line, (low, high) = line_of(bandit, "a", now=13.0), interval(4.0, 7.0, 10)
    assert (line.low, line.high) == pytest.approx((-1.0 + 3.0 * low, -1.0 + 3.0 * high))


def test_where_only_successes_are_reported_the_interval_has_the_truth() -> None:
    """The estimate is 1, and the interval does not hide that nothing is known of the other rewards."""
    bandit, rng = Bandit(["a"], "ucb1"), np.random.default_rng(1)
    for _ in range(400):
        choice = bandit.decide()
        if rng.random() < 0.2:
            bandit.observe(choice.id, {"a": 1.0})
    line = line_of(bandit, "a")
    assert (line.estimate, line.high) == (1.0, 1.0)
    assert line.low is not None
    assert 0.1 < line.low < 0.2


def test_zeros_count_in_the_estimate_where_they_count_as_zero() -> None:
    """Only clicks are sent: one in four plays."""
    bandit = Bandit(["a"], "ucb1", window=5.0, missing="zero")
    for second in range(4):
        bandit.decide(now=float(second))
    bandit.observe("3", {"a": 1.0}, now=4.0)
    bandit.expire(now=100.0)
    line = line_of(bandit, "a")
    assert (line.received, line.lost, line.estimate) == (1, 3, 0.25)
    assert (line.low, line.high) == pytest.approx(interval(1.0, 1.0, 4))
    bandit.observe("1", {"a": 1.0}, now=101.0)  # one zero was none
    line = line_of(bandit, "a")
    assert (line.late, line.estimate) == (1, 0.25)
    assert (line.low, line.high) == pytest.approx(interval(1.0, 2.0, 4))


def test_what_is_deserved_by_merit() -> None:
    """Merits 1 + μ of means 1, 0 and an unknown one, taken for a half: 2, 1 and 1.5 of 4.5."""
    bandit = Bandit(["a", "b", "c"], "fcts_d", merit={"kind": "linear"})
    for arm, reward in (("a", 1.0), ("b", 0.0)):
        choice = bandit.decide(available=[arm])
        bandit.observe(choice.id, {arm: reward})
    lines = bandit.audit().lines
    assert [line.promised for line in lines] == pytest.approx([2.0 / 4.5, 1.0 / 4.5, 1.5 / 4.5])
    assert [line.deficit for line in lines] == [None, None, None]
    bandit.retire("c")
    assert [line.promised for line in bandit.audit().lines] == pytest.approx([2.0 / 3.0, 1.0 / 3.0, 0.0])


def test_a_promise_that_availability_breaks() -> None:
    """Arm a is there in one round of four, and promised a half."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.1])
    for _ in range(25):
        for available in (["a", "b"], ["b"], ["b"], ["b"]):
            bandit.decide(available=available)
    assert "arm 'a' is promised 0.5 of the rounds but can play in at most 0.25" in bandit.audit().fault
    bandit.promise({"a": 0.25})
    assert bandit.audit().fault == ""


def test_promises_that_availability_breaks_together() -> None:
    """Each is there half of the time, and so is somebody."""
    bandit = Bandit(["a", "b", "c"], "fucb", fractions=[0.4, 0.2, 0.0])
    for _ in range(10):
        bandit.decide(available=["a", "b"])
        bandit.decide(available=["c"])
    assert "arms 'a', 'b' together are promised 0.6 of the rounds but can play in at most 0.5" in bandit.audit().fault


def test_promises_that_need_a_closer_look() -> None:
    """An even pace asks for too much of the round that both could have, and yet it can be done: b leaves it to a."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.5, 0.5])
    for _ in range(10):
        bandit.decide(available=["a", "b"])
        bandit.decide(available=["b"])
    assert bandit.audit().fault == ""


@pytest.mark.parametrize("come", ["add", "bring_back"])
def test_an_arm_that_comes_later_is_no_fault(come: str) -> None:
    """Nobody knows how often it would have been there."""
    bandit = Bandit(["a", "b", "c"], "fucb", fractions=[0.2, 0.0, 0.0])
    bandit.retire("c")
    for _ in range(50):
        bandit.decide()
    if come == "add":
        bandit.add("d", fraction=0.5)
    else:
        bandit.bring_back("c", fraction=0.5)
    assert bandit.audit().fault == ""
    for _ in range(10):
        bandit.decide()
    assert bandit.audit().fault == ""


def test_availability_counts_distinct_sets() -> None:
    bandit = Bandit([f"arm {place}" for place in range(10)], "ucb1")
    for place in range(8):
        bandit.decide(available=None if place % 4 else ["arm 8", "arm 1"])
    record = Account(bandit._record)
    sets, parts = available_sets(record.sets, 10), record.frequencies
    assert dict(zip(map(tuple, sets.astype(int).tolist()), parts.tolist(), strict=True)) == {
        (1,) * 10: 0.75,
        (0, 1, 0, 0, 0, 0, 0, 0, 1, 0): 0.25,
    }


def test_a_few_of_many_arms_are_audited_at_once() -> None:
    """Beyond arrays, an arm that is not shown takes a small part of the work of one that is."""
    arms = [f"arm {place}" for place in range(20_000)]
    bandit = Bandit(arms, "fucb", fractions=dict.fromkeys(arms[::2], 1e-5))
    for place in range(3):
        bandit.decide(now=float(place))
    _, few = calls_of(lambda: bandit.audit(limit=200))
    _, all_of_them = calls_of(bandit.audit)
    assert few < 0.2 * all_of_them  # counted: a tenth, for the promises of each arm
    assert [line.arm for line in bandit.audit(limit=2).lines] == ["arm 6", "arm 8"]  # 0, 2 and 4 have played


@pytest.mark.slow
def test_many_arms_are_audited_without_a_program_over_all_of_them() -> None:
    """Twenty thousand promises, some of which are broken; a linear program over all of them would take hours."""
    arms = [f"arm {place}" for place in range(20_000)]
    bandit = Bandit(arms, "fucb", fractions=[0.5, *[1e-5] * 19_999])
    for place in range(10):
        bandit.decide(available=arms[place % 5 :: 5])
    audit = bandit.audit()
    json.dumps(audit.to_json(), allow_nan=False)
    assert "arms 'arm 0', 'arm 5'" in audit.fault  # the fifth of the arms that was there when arm 0 was
    assert "can play in at most 0.2 (" in audit.fault


# --- Ways to show it --------------------------------------------------------------------------------------------------

HOSTILE = ["$x$\n<b>", "$\\frac{$", "_^{}%&#\\", "\x00\x1b[31m", "a" * 300, "名前 ☕ Ünïcødé", "' OR 1=1;--", "🎉"]


LINE = (
    "arm retired promised verdict standing since rounds plays share low_share high_share deficit worst "
    "promises due paid forgiven capped lapsed all_plays "
    "available received estimate trusted low high pending lost late learned_plays learned_mean "
    "counted changes score reason catch_up_rounds catch_up_seconds"
)


def lived(arms: list[str], **options: Any) -> Bandit:
    bandit = Bandit(arms, "fucb", fractions=[0.5 / len(arms)] * len(arms), **options)
    world = np.random.default_rng(3)
    for _ in range(300):
        choice = bandit.decide()
        if world.random() < 0.8:
            bandit.observe(choice.id, {choice.names[0]: float(world.random() < 0.4)})
    return bandit


@pytest.mark.parametrize("rewards", [(0.0, 1.0), (-3.0, 200.0)])
def test_json_is_valid_and_the_table_has_a_row_an_arm(rewards: tuple[float, float]) -> None:
    bandit = lived(HOSTILE, rewards=rewards)
    bandit.retire("🎉")
    bandit.add("new")
    audit = bandit.audit()
    plain = json.loads(json.dumps(audit.to_json(), allow_nan=False))
    assert plain == audit.to_json()
    assert (
        " ".join(plain)
        == "algorithm round rounds version time arms verdict fault warnings lines bounds delays deficit_history "
        "behind furthest cost "
        "history changes_made ledger alarms sources name sequence checksum closed segmented segments authors "
        "words rewards window missing"
    )
    assert [line["arm"] for line in plain["lines"]] == [*HOSTILE, "new"]
    assert " ".join(plain["lines"][0]) == LINE
    assert plain["fault"] == ""
    assert list(plain["delays"]) == ["count", "quantiles", "edges", "counts"]
    assert list(plain["delays"]["quantiles"]) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    assert list(plain["deficit_history"]) == ["rounds", "times", "arms", "deficits", "largest", "note"]
    table = audit_table(audit)
    assert table["arm"].tolist() == [*HOSTILE, "new"]
    assert table["plays"].tolist() == [line.plays for line in audit.lines]


@pytest.mark.filterwarnings("ignore:Glyph")  # whether a font has every letter is not ours
@pytest.mark.parametrize("arms", [["only"], HOSTILE, [f"arm {place}" for place in range(70)]])
def test_the_figure_can_be_drawn(arms: list[str], tmp_path: Path) -> None:
    """A bar and a promise an arm, and no name that is taken for a formula; sixty arms at most."""
    audit = lived(arms).audit()
    figure = audit_figure(audit)
    figure.savefig(tmp_path / "audit.png")
    figure.savefig(tmp_path / "audit.svg")
    shares, rewards = figure.axes
    assert len(shares.patches) == min(len(arms), 60)
    assert len(rewards.lines) == sum(line.estimate is not None for line in audit.lines[:60]) or len(arms) > 60
    labels = shares.get_yticklabels()
    assert len(labels) == min(len(arms), 60)
    assert not any(label.get_parse_math() for label in labels)
    assert all(label.get_text().isprintable() and len(label.get_text()) < 50 for label in labels)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # as far as such sums go
def test_json_is_valid_whatever_the_rewards_and_times() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.1, 0.1], rewards=(-8e307, 8e307))
    for now in (-1e15, 1e15, 0.0, 1e15):
        for reward in (8e307, -8e307, 7e307):
            choice = bandit.decide(now=now)
            bandit.observe(choice.id, {choice.names[0]: reward}, now=-now)
    json.dumps(bandit.audit(now=1e15).to_json(), allow_nan=False)
    json.dumps(bandit.dump(), allow_nan=False)


def test_the_figure_of_nothing() -> None:
    audit = Bandit(["a", "b"], "thompson").audit()
    assert isinstance(audit, Audit)
    shares, _ = audit_figure(audit).axes
    assert shares.get_xlim() == (0.0, 1.0)


def test_the_figure_names_the_fault() -> None:
    bandit = Bandit(["a", "$x$"], "fucb", fractions=[0.5, 0.0])
    for available in ("a", "$x$", "$x$", "$x$"):
        bandit.decide(available=[available])
    audit = bandit.audit()
    shares, _ = audit_figure(audit).axes
    title = shares.get_title(loc="left")
    assert title.replace("\n", " ") == audit.fault != ""


def test_the_figure_shows_shares_promises_and_intervals() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.25, 0.0])
    for available in "abbb":
        bandit.decide(available=[available])
    shares, _ = audit_figure(bandit.audit()).axes
    assert [bar.get_width() for bar in shares.patches] == [0.25, 0.75]  # type: ignore[attr-defined]
    drawn = [line.tolist() for marks in shares.collections for line in marks.get_segments()]  # type: ignore[attr-defined]
    a, b = interval(1.0, 1.0, 4), interval(3.0, 3.0, 4)
    expected = [[[a[0], 0.0], [a[1], 0.0]], [[b[0], 1.0], [b[1], 1.0]], [[0.25, -0.42], [0.25, 0.42]]]
    assert np.array(drawn) == pytest.approx(np.array(expected))


def test_a_printed_audit_fits_80_columns_and_cuts_no_number() -> None:
    bandit = Bandit(["a long name of an arm, in words", "b"], "fucb", fractions=[0.125, 0.25], seed=1)
    for _ in range(1200):
        bandit.observe(bandit.decide(available=["b"]).id, {"b": 1.0})
    bandit.decide(available=["b"])
    audit = bandit.audit()
    above, below = str(audit).split("\narm ")
    head, *said = above.splitlines()
    titles, *rows = f"arm {below}".splitlines()
    assert head == "2 arms, 1,201 rounds, fucb"
    assert " ".join(said) == audit.verdict
    assert titles.split() == ["arm", "promised", "share", "plays", "deficit", "worst", "estimate", "pending"]
    assert max(map(len, rows)) <= 80
    assert f"cannot be kept: {audit.fault}" in " ".join(rows)
    assert audit.fault
    # Behind by 0.25 − 1 at first, and 1201 times that now.
    low, _ = interval(1200.0, 1201.0, 1201)
    (row,) = [row.split() for row in rows if row.startswith("b ")]
    assert row == ["b", "0.25", "1", "1,201", f"{-0.75 * 1201:.3g}", "-0.75", "1", f"({low:.3g}", "to", "1)", "1"]


def test_a_printed_audit_says_how_many_arms_there_are() -> None:
    bandit = Bandit([f"arm {place}" for place in range(150)], "ucb1")
    shown = str(bandit.audit()).splitlines()
    assert (shown[0], len(shown), shown[-1]) == ("150 arms, 0 rounds, ucb1", 1 + 1 + 1 + 100 + 1, "and 50 more")
    assert shown[1] == "Nothing has been decided yet."
    assert str(bandit.audit(limit=3)).splitlines()[-1] == "and 147 more"
    assert str(Bandit(["a", "b"], "ucb1").audit()).splitlines()[-1].split() == ["b", "0", "0"]


def test_a_bandit_is_not_saved_to_a_missing_folder(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "bandit.json"
    with pytest.raises(StateError) as caught:
        Bandit(["a", "b"], "ucb1").save(path)
    assert str(caught.value) == f"the bandit could not be saved to {path}: there is no folder {path.parent}"
