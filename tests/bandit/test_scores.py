"""The sums that differences rest on, against a count of everything that happened."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit, scores
from evenhand.bandit.scores import LOST, OPEN, OPEN2, Scores, Table
from tests.bandit.test_counts import before_intervals

DAY, START = 86_400.0, 1_763_000_000.0  # 13 November 2025
LOW, HIGH = -1.0, 3.0


def live(missing: str, rounds: int = 250) -> tuple[Bandit, dict[Any, list[Any]]]:
    """A bandit over three months whose rewards are late or missing, and by table and arm what became of its plays."""
    bandit = Bandit(
        ["a", "b", "c"], "fair_random", fractions=0.2, seed=4, window=2 * DAY, missing=missing, rewards=(LOW, HIGH)
    )
    rng, plays, later = np.random.default_rng(7), list[dict[str, Any]](), list[tuple[float, int, float]]()
    earned: dict[Any, list[float]] = defaultdict(list)  # by arm, month and the arms that could play

    def expire(at: float) -> None:
        for closed in bandit.expire(at):
            if missing == "zero":
                play = next(one for one in plays if one["id"] == closed)
                play["known"] = (0.0 - LOW) / (HIGH - LOW)
                earned[play["table"]].append(play["known"])

    for round in range(rounds):
        now = START + round * DAY / 3
        for at, number, value in sorted(one for one in later if one[0] <= now):
            play = plays[number]
            expire(at)
            status = bandit.observe(play["id"], {play["arm"]: value}, now=at)[play["arm"]]
            play["known"] = (value - LOW) / (HIGH - LOW) if status == "accepted" else None
            if status == "accepted":
                earned[play["table"]].append(play["known"])
            elif missing == "zero":
                earned[play["table"]].remove((0.0 - LOW) / (HIGH - LOW))
        later = [one for one in later if one[0] > now]
        expire(now)
        available = ["a", "c"] if round % 4 == 0 else None
        decision = bandit.decide(available=available, now=now)
        (arm,) = decision.arms
        month = np.datetime64(int(now), "s").astype("datetime64[M]")
        table = arm.arm, month, None if arm.propensity == 1.0 else available is None
        guess = (sum(earned[table]) + 0.5) / (len(earned[table]) + 1.0)
        play = {
            "id": decision.id,
            "arm": arm.arm,
            "p": arm.propensity,
            "guess": guess,
            "month": str(month),
            "table": table,
        }
        plays.append(play | {"able": available, "known": None})
        later.append((now + rng.choice([0.1, 1.0, 3.0, 400.0]) * DAY, round, float(rng.integers(-1, 4))))
    found = defaultdict(list)
    for play in plays:
        able = ["a", "c"] if play["able"] else ["a", "b", "c"]
        assert play["p"] > 0.0
        found[play["month"], tuple(able), play["arm"]].append(play)
    return bandit, found


@pytest.mark.parametrize("missing", ["zero", "lost"])
def test_the_sums_are_those_of_everything_that_happened(missing: str) -> None:
    bandit, found = live(missing)
    record = bandit._record
    tables, arms, weights = record.pending.unknown()
    seen = set()
    for number, table in enumerate(record.scores.tables):
        if table.able is None:  # rounds in which some arm had no chance, as shares that are promised were owed
            continue
        bits = np.unpackbits(np.frombuffer(table.able, np.uint8), count=3)
        able = tuple(arm for arm, bit in zip(bandit.names, bits, strict=True) if bit)
        for place, row in table.rows.items():
            plays = found[table.month, able, bandit.names[place]]
            seen.add((table.month, able, bandit.names[place]))
            plays = [one for one in plays if one["p"] < 1.0]
            known = [one for one in plays if one["known"] is not None]
            x, w = np.array([one["known"] for one in known]), np.array([1.0 / one["p"] for one in known])
            off = x - np.array([one["guess"] for one in known])
            sums = [len(x), x.sum(), (off**2).sum(), w.sum(), (w * x).sum(), (w**2).sum(), (w**2 * x).sum()]
            assert row[:8] == pytest.approx([*sums, (w**2 * x**2).sum()])
            mine = (tables == number) & (arms == place)
            open = np.array([1.0 / one["p"] for one in plays if one["known"] is None])
            assert row[LOST] + mine.sum() == len(open)
            assert row[OPEN] + weights[mine].sum() == pytest.approx(open.sum())
            assert row[OPEN2] + (weights[mine] ** 2).sum() == pytest.approx((open**2).sum())
        assert table.least <= min(one["p"] for arm in able for one in found[table.month, able, arm])
        assert table.rounds == sum(len(found[table.month, able, arm]) for arm in able)
    assert len(seen) > 15
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    assert again.dump() == bandit.dump()


def test_leased_rounds_count_by_position() -> None:
    """Rounds count as so many that no arm has more plays than its chance, the rest as plays that are not known."""
    bandit = Bandit(["a", "b"], "fair_random", fractions=0.2, seed=2)
    lease = bandit.lease(100, now=START)
    kept = bandit._record.leases.named(lease.id)
    assert kept is not None
    counts = {one.arm: one.count for one in lease.arms}
    arms = kept.arms_of(np.arange(100))[:, 0]
    values = {place: np.random.default_rng(place).random(100) for place in (0, 1)}
    known = {bandit.names[place]: np.flatnonzero((arms[:37] == place) & (np.arange(37) % 3 > 0)) for place in (0, 1)}
    late = {bandit.names[place]: np.flatnonzero((arms[:37] == place) & (np.arange(37) % 3 == 0)) for place in (0, 1)}
    for some in (known, late):
        rewards = {arm: (at.tolist(), values[bandit._record.arms.place[arm]][at].tolist()) for arm, at in some.items()}
        bandit.report(lease.id, 37, rewards, now=START + 1)
    (table,) = bandit._record.scores.tables
    plays = {arm: int((arms[:37] == place).sum()) for place, arm in enumerate(bandit.names)}
    assert (table.kind, table.rounds) == ("leased", max(plays[arm] * 100 / counts[arm] for arm in counts))
    for place, arm in enumerate(bandit.names):
        weight, row, seen, total, spread = 100 / counts[arm], table.rows[place], 0, 0.0, 0.0
        guesses = {}
        for position in np.flatnonzero(arms[:37] == place):
            guesses[position] = (total + 0.5) / (seen + 1.0)
            if position in known[arm]:
                seen, total = seen + 1, total + values[place][position]
        spread = sum((values[place][position] - guess) ** 2 for position, guess in guesses.items())
        assert row[:4] == pytest.approx([plays[arm], values[place][list(guesses)].sum(), spread, plays[arm] * weight])
        assert row[OPEN] + plays[arm] * weight == pytest.approx(table.rounds)
        assert row[LOST] == pytest.approx(0.0)
        assert table.least == min(counts.values()) / 100
    bandit.report(lease.id, 100, now=START + 2)
    assert table.rounds == pytest.approx(100.0)
    assert Bandit.restored(json.loads(json.dumps(bandit.dump()))).dump() == bandit.dump()


def test_only_the_last_months_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MONTHS", 3)
    bandit = Bandit(["a", "b"], "fair_random", fractions=0.2, seed=2)
    waiting = bandit.decide(now=START)
    rounds = [bandit.decide(now=START + day * DAY) for day in range(1, 200)]
    months = [table.month for table in bandit._record.scores.tables]
    assert months == ["", "2026-03", "2026-04", "2026-05"]
    bandit.observe(waiting.id, {waiting.names[0]: 1.0}, now=START + 200 * DAY)
    bandit.observe(rounds[-1].id, {rounds[-1].names[0]: 1.0}, now=START + 200 * DAY)
    known = [sum(row[0] for row in table.rows.values()) for table in bandit._record.scores.tables]
    assert known == [1.0, 0.0, 0.0, 1.0]
    assert sum(table.rounds for table in bandit._record.scores.tables) == 200.0
    again = Bandit.restored(bandit.dump())
    again.decide(now=START + 201 * DAY)
    bandit.decide(now=START + 201 * DAY)
    assert again.dump() == bandit.dump()


def test_rounds_with_too_many_sets_of_arms_have_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "SETS", 2)
    bandit = Bandit(["a", "b", "c", "d"], "fair_random", fractions=0.1, seed=2)
    for arms in ("ab", "bc", "cd", "da", "ab", "da"):
        bandit.decide(available=list(arms), now=START)
    found = [(table.able is None, table.rounds) for table in bandit._record.scores.tables]
    assert found == [(False, 2.0), (False, 1.0), (True, 0.0)]


def test_the_clock_may_go_back_by_a_month() -> None:
    bandit = Bandit(["a", "b"], "fair_random", fractions=0.2, seed=2)
    for now in (START, START + 40 * DAY, START, 1e15, -1e15):
        bandit.decide(now=now)
    found = [(table.month, table.rounds) for table in bandit._record.scores.tables]
    assert found[:2] == [("2025-11", 2.0), ("2025-12", 1.0)]
    assert len(found) == 4


def test_rounds_of_an_earlier_save_do_not_count() -> None:
    bandit = Bandit(["a", "b"], "fair_random", fractions=0.2, seed=2)
    earlier = [bandit.decide(now=START) for _ in range(5)]
    old = before_intervals(bandit.dump())
    plain = {name: part for name, part in old.items() if name != "scores"} | {"format": 3}
    plain["pending"] = {name: part for name, part in plain["pending"].items() if name not in ("tables", "counting")}
    opened = Bandit.restored(json.loads(json.dumps(plain)))
    since: list[float | None] = [opened._record.scores.since]
    for one in earlier:
        opened.observe(one.id, {one.names[0]: 1.0}, now=START + 1)
    later = opened.decide(now=START + DAY)
    opened.observe(later.id, {later.names[0]: 1.0}, now=START + DAY)
    (table,) = opened._record.scores.tables
    assert ([*since, opened._record.scores.since], table.rounds) == ([None, START + DAY], 1.0)
    assert sum(row[0] for row in table.rows.values()) == 1.0


def test_tables_add_up() -> None:
    one, two = Table("", "decided", None, 2.0, 0.5), Table("", "decided", None, 3.0, 0.1)
    one.rows[0][:], two.rows[0][:], two.rows[1][LOST] = [1.0] * 11 + [0.5], [2.0] * 11 + [0.5], 4.0
    one.add(two)
    assert (one.rounds, one.least, one.rows[0], one.rows[1][LOST]) == (5.0, 0.1, [3.0] * 11 + [3.5 / 4.0], 4.0)
    assert Table.restored(*one.dump()) == one


def test_the_smallest_chance_is_also_that_of_arms_that_did_not_play() -> None:
    bandit, smallest = Bandit(["a", "b", "c"], "exp3", horizon=100, seed=2), 1.0
    for round in range(100):
        decision = bandit.decide(now=START + round, propensities=True)
        assert decision.propensities is not None
        smallest = min(smallest, *(one.propensity for one in decision.propensities if one.propensity is not None))
        bandit.observe(decision.id, {decision.names[0]: float("a" in decision.names)}, now=START + round)
    (table,) = bandit._record.scores.tables
    assert table.least == smallest < 0.25


def test_damaged_sums_are_refused() -> None:
    plain = Bandit(["a", "b"], "ucb1").dump()["scores"]
    with pytest.raises(ValueError, match="has 1 numbers"):
        Scores.restored(plain | {"tables": [["2025-11", "decided", None, 1.0, 1.0, [[0, 1.0]]]]})
