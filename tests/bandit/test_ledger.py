"""Random histories of bandits, beside a second account of all promises in fractions; and what audits say of them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.changes import Promise
from evenhand.core.errors import EvenhandError
from evenhand.messages.audit import Audit
from evenhand.messages.lines import PromiseLine
from tests.bandit.audit.contradictions import contradictions
from tests.bandit.test_counts import before_intervals
from tests.thinned import thinned

PLAY = 10**9
SHARES = [0.0, 0.05, 0.1, 1 / 3, 0.07, 0.2, 0.090000001, 0.09, 0.123456789]
PARAMETERS: dict[str, dict[str, float]] = {
    "fucb": {},
    "f_ts": {},
    "tscsf_b": {"eta": 5.0},
    "lfg": {"eta": 5.0},
    "ldf": {},
    "fair_learn": {"tolerance": 2.0},
    "fair_random": {},
    "floor_ts": {},
    "group_ucb": {"eta": 1.5},
    "group_ts": {"eta": 3.0},
    "eta_fucb": {"eta": 0.3},
}
LEASED = ("fucb", "tscsf_b", "fair_learn", "fair_random")
GROUPS = ("group_ucb", "group_ts")
ONE_PLAY = ("fair_learn", "fair_random", "floor_ts", "eta_fucb")
PRICED = ("eta_fucb",)
BY_CHANCE = ("fair_random", "floor_ts")  # of which no advance lapses


def billionths(number: Fraction) -> int:
    return round(number * PLAY)


@dataclass
class Account:
    """``D = C + r (n − n₀) − (N − N₀)`` of a share, and ``(N − N₀) − U (n − n₀) + C`` of a largest share."""

    sign: int = 1
    share: float | None = None  # None where it rests
    owed: int = 0  # C
    since: int = 0  # n₀
    plays: int = 0  # N − N₀
    changes: int = 0
    due: int = 0  # of the promises that have ended, as the following
    paid: int = 0
    forgiven: int = 0
    capped: int = 0
    lapsed: int = 0

    def running(self, round: int) -> int:
        return 0 if self.share is None else billionths(Fraction(self.share) * (round - self.since))

    def behind(self, round: int) -> int:
        plays = 0 if self.share is None else self.plays * PLAY
        return self.owed + self.sign * (self.running(round) - plays)

    def change(
        self,
        share: float | None,
        round: int,
        at_once: int,
        terms: dict[str, Any],
        anew: bool = False,
        ahead: Fraction = Fraction(0),
    ) -> None:
        """What is owed goes on; an equal share is no change."""
        if share == self.share and not anew:
            return
        behind, debt = self.behind(round), terms.get("debt", "carry")
        self.due += self.running(round)
        self.paid += 0 if self.share is None else self.plays
        kept = max(behind, -billionths(ahead + (0 if debt == "forgive" else at_once)))
        carried = min(0, kept) if debt == "forgive" else kept
        if debt == "cap" and "limit" in terms:
            carried = min(kept, billionths(Fraction(terms["limit"])))
        elif debt == "cap" and share is not None:
            carried = min(kept, billionths(Fraction(terms["limit_rounds"]) * Fraction(share)))
        self.forgiven += (kept - carried) * (debt == "forgive")
        self.capped += (kept - carried) * (debt == "cap")
        self.lapsed += kept - behind
        self.owed, self.share, self.since, self.plays = carried, share, round, 0
        self.changes += 1

    def totals(self, round: int) -> tuple[int, int, int, int, int]:
        paid = self.paid + (0 if self.share is None else self.plays)
        return self.due + self.running(round), paid, self.forgiven, self.capped, self.lapsed


@dataclass
class Granted:
    """A lease as the history knows it."""

    counts: dict[str, int]
    size: int
    start: int
    step: int
    shares: dict[str, float | None]
    changes: dict[str, int]
    played: int = 0

    @property
    def made(self) -> list[str]:
        row = [arm for arm, number in self.counts.items() for _ in range(number)]
        columns = [(self.start + position * self.step) % self.size for position in range(self.played)]
        return [row[column + line * self.size] for column in columns for line in range(len(row) // self.size)]


@dataclass
class Life:
    """A random history of a bandit."""

    seed: int
    round: int = 0
    now: float = 0.0
    shares: dict[str, Account] = field(default_factory=dict)
    caps: dict[str, Account] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    floors: dict[str, Account] = field(default_factory=dict)
    ceilings: dict[str, Account] = field(default_factory=dict)
    plays: dict[str, int] = field(default_factory=dict)
    leases: dict[str, Granted] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.name = list(PARAMETERS)[self.seed % len(PARAMETERS)]
        count = int(self.rng.choice([1, 2, 3, 5, 10, 25]))
        self.per_round = 1 if self.name in ONE_PLAY else int(self.rng.integers(1, min(3, count) + 1))
        given, left = list[float](), 0.9 * self.per_round
        for _ in range(count):
            share = float(self.rng.choice(SHARES))
            given.append(share if share <= left else 0.0)
            left -= given[-1]
        names = [f"arm {number}" for number in range(count)]
        options: dict[str, Any] = dict(PARAMETERS[self.name])
        self.bandit = Bandit(names, self.name, plays=self.per_round, seed=self.seed, fractions=given, **options)
        for arm, share in zip(names, given, strict=True):
            self.open(arm, share or None)

    def open(self, arm: str, share: float | None) -> None:
        self.shares[arm], self.caps[arm] = Account(share=share, since=self.round), Account(-1)
        self.plays[arm] = 0

    @property
    def advance(self) -> int:
        return 10**6 if self.name in BY_CHANCE else 1

    @property
    def able(self) -> list[str]:
        return [arm for arm in self.bandit.names if arm not in self.bandit.retired]

    def live(self) -> None:
        acts = ["decide", "sleep", "lease", "report", "promise", "add", "retire", "back", "reload"]
        getattr(self, str(self.rng.choice(acts, p=[0.25, 0.1, 0.12, 0.13, 0.24, 0.04, 0.05, 0.05, 0.02])))()

    def count(self, plays: dict[str, int], rounds: int) -> None:
        self.round += rounds
        for arm, number in plays.items():
            self.plays[arm] += number
            of_groups = [of for name, group in self.groups.items() if arm in group["arms"] for of in self.of(name)]
            for account in (self.shares[arm], self.caps[arm], *of_groups):
                account.plays += number

    def of(self, group: str) -> tuple[Account, Account]:
        return self.floors.setdefault(group, Account()), self.ceilings.setdefault(group, Account(-1))

    def decide(self, available: list[str] | None = None) -> None:
        for _ in range(int(self.rng.choice([1, 4, 20, 60]))):
            self.now += 1.0
            decision = self.bandit.decide(available=available, now=self.now)
            self.count(dict.fromkeys(decision.names, 1), 1)
            for arm in decision.names:
                if self.rng.random() < 0.8:
                    self.bandit.observe(decision.id, {arm: float(self.rng.random() < 0.5)}, now=self.now)

    def sleep(self) -> None:
        self.decide([arm for arm in self.able if self.rng.random() < 0.6] or self.able[:1])

    def lease(self) -> None:
        """Its plays count when it is granted."""
        if self.name not in LEASED:
            return self.decide()
        some = [arm for arm in self.able if self.rng.random() < 0.7] or None
        size, available = int(self.rng.integers(1, 150)), some if self.rng.random() < 0.3 else None
        lease = self.bandit.lease(size, 86_400.0, available, now=self.now)
        counts = {one.arm: one.count for one in lease.arms}
        self.count(counts, size)
        shares = {arm: account.share for arm, account in self.shares.items()}
        changes = {arm: account.changes for arm, account in self.shares.items()}
        self.leases[lease.id] = Granted(counts, size, lease.start, lease.step, shares, changes)
        return None

    def report(self) -> None:
        """``D ← D + p − r u`` for p plays fewer in u rounds that return, r being the share when it was granted."""
        if not self.leases:
            return
        name = str(self.rng.choice(list(self.leases)))
        lease = self.leases[name]
        lease.played, finished = int(self.rng.integers(lease.played, lease.size + 1)), bool(self.rng.random() < 0.6)
        self.bandit.report(name, lease.played, finished=finished, now=self.now)
        if not finished and lease.played < lease.size:
            return
        del self.leases[name]
        made, back = lease.made, lease.size - lease.played
        for arm, account in self.shares.items():
            fewer = lease.counts.get(arm, 0) - made.count(arm)
            self.plays[arm] -= fewer
            if account.changes == lease.changes.get(arm):
                account.plays -= fewer
                account.since += back
            elif lease.shares.get(arm) is not None:
                due = billionths(Fraction(lease.shares[arm] or 0.0) * back)
                account.owed += fewer * PLAY - due
                account.due -= due
                account.paid -= fewer

    def ahead(self, arm: str) -> Fraction:
        """What open leases may give back: their plays less what was due for them."""
        ahead = Fraction(0)
        for lease in self.leases.values():
            if share := lease.shares.get(arm):
                open_plays = lease.counts.get(arm, 0) - lease.made.count(arm)
                ahead += open_plays - Fraction(share) * (lease.size - lease.played)
        return max(Fraction(0), ahead)

    def terms(self) -> dict[str, Any]:
        draw = self.rng.random()
        if draw < 0.6:
            return {"reason": "as agreed"}
        if draw < 0.72:
            return {"debt": "cap", "limit": float(self.rng.choice([0.0, 1.5, 4.0]))}
        if draw < 0.84:
            return {"debt": "cap", "limit_rounds": float(self.rng.choice([0.0, 10.0, 50.0]))}
        return {"debt": "forgive", "reason": "as agreed"}

    def promise(self) -> None:
        able, terms = self.able, self.terms()
        some = self.rng.choice(able, size=min(len(able), int(self.rng.choice([1, 2, len(able)]))), replace=False)
        now = {arm: account.share or 0.0 for arm, account in self.shares.items()}
        fractions = {
            str(arm): float(self.rng.choice([*SHARES, now[str(arm)], min(1.0, now[str(arm)] + 1e-9)])) for arm in some
        }
        caps, groups = self.bounds(able) if self.name in GROUPS else ({}, {})
        change = Promise(fractions, caps or None, groups or None, **terms)
        before = self.bandit.dump()
        try:
            plan = self.bandit.plan(change, now=self.now)
            assert self.bandit.dump() == before
            self.bandit.change(change, now=self.now)
        except EvenhandError:
            assert self.bandit.dump() == before
            return
        for flow in plan.settlement:
            assert flow.owed + flow.lapsed == pytest.approx(flow.carried + flow.forgiven + flow.capped, abs=1e-6)
        for arm, share in fractions.items():
            self.shares[arm].change(share or None, self.round, self.advance, terms, ahead=self.ahead(arm))
        for arm, cap in caps.items():
            self.caps[arm].change(cap if cap < 1.0 else None, self.round, 1, terms)
        for name, table in groups.items():
            arms = (table or {}).get("arms") or self.groups[name]["arms"]
            new = {**self.groups.get(name, {"at_least": 0.0, "at_most": None}), **(table or {}), "arms": arms}
            floor, ceiling = self.of(name)
            at_once = min(self.per_round, len(arms))
            floor.change(new["at_least"] or None if table else None, self.round, at_once, terms)
            ceiling.change(new["at_most"] if table else None, self.round, at_once, terms)
            self.groups[name] = new
            if table is None:
                del self.groups[name]

    def bounds(self, able: list[str]) -> tuple[dict[str, float], dict[str, dict[str, Any] | None]]:
        """Largest shares, and promises to groups, whose arms change as well."""
        caps = {str(self.rng.choice(able)): float(self.rng.choice([1.0, 0.5, 0.3]))} if self.rng.random() < 0.6 else {}
        if self.rng.random() < 0.4:
            return caps, {}
        name = str(self.rng.choice(["north", "south"]))
        if name in self.groups and self.rng.random() < 0.25:
            return caps, {name: None}
        table: dict[str, Any] = {"at_least": float(self.rng.choice([0.0, 0.1, 0.25, 1 / 7]))}
        if self.rng.random() < 0.5:
            table["at_most"] = float(self.rng.choice([0.3, 0.6, 0.9]))
        if name not in self.groups or self.rng.random() < 0.5:
            count = int(self.rng.integers(1, len(able) + 1))
            table["arms"] = [str(arm) for arm in self.rng.choice(able, size=count, replace=False)]
        return caps, {name: table}

    def add(self) -> None:
        arm, share = f"new {len(self.bandit.names)}", float(self.rng.choice([0.0, 0.05]))
        try:
            self.bandit.add(arm, fraction=share, now=self.now)
        except EvenhandError:
            return
        self.open(arm, share or None)
        self.shares[arm].changes = 1

    def retire(self) -> None:
        arm = str(self.rng.choice(self.able))
        try:
            self.bandit.retire(arm, now=self.now)
        except EvenhandError:
            return
        for account in (self.shares[arm], self.caps[arm]):
            account.change(None, self.round, self.advance, {}, anew=True, ahead=self.ahead(arm))

    def back(self) -> None:
        if not self.bandit.retired:
            return
        arm, terms = str(self.rng.choice(sorted(self.bandit.retired))), self.terms()
        share, caps = float(self.rng.choice([0.0, 0.05, 0.1])), self.bandit.parameters.get("caps")
        try:
            self.bandit.bring_back(arm, share, now=self.now, **terms)
        except EvenhandError:
            return
        cap = 1.0 if caps is None else caps[self.bandit.names.index(arm)]
        self.shares[arm].change(share or None, self.round, self.advance, terms, anew=True, ahead=self.ahead(arm))
        self.caps[arm].change(cap if cap < 1.0 else None, self.round, 1, terms, anew=True)

    def reload(self) -> None:
        self.bandit = Bandit.restored(json.loads(json.dumps(self.bandit.dump())))

    # --- what must be true ---------------------------------------------------------------------------------------

    def check(self) -> None:
        audit = self.bandit.audit(now=self.now)
        assert list(contradictions(audit, self.bandit.health(now=self.now))) == []
        for line in audit.lines:
            assert line.all_plays == self.plays[line.arm]
            found = tuple(round(PLAY * one) for one in (line.due, line.forgiven, line.capped, line.lapsed))
            if self.name in PRICED:  # which has no account
                assert (*found, line.paid) == (0, 0, 0, 0, 0)
                continue
            account = self.shares[line.arm]
            behind, (due, paid, forgiven, capped, lapsed) = account.behind(self.round), account.totals(self.round)
            assert round(PLAY * (line.deficit or 0.0)) == behind
            assert (*found, line.paid) == (due, forgiven, capped, lapsed, paid)
            assert due == PLAY * paid + behind + forgiven + capped - lapsed
        for bound in audit.bounds:
            if bound.kind == "arm":
                assert round(PLAY * (bound.excess or 0.0)) == self.caps[bound.name].behind(self.round)
                continue
            floor, ceiling = self.of(bound.name)
            assert round(PLAY * bound.owed) == (0 if floor.share is None else floor.behind(self.round))
            if bound.excess is not None:
                assert round(PLAY * bound.excess) == ceiling.behind(self.round)
        self.check_ledger(audit)

    def check_ledger(self, audit: Audit) -> None:
        """Its lines are whole, follow one another, and sum to the accounts."""
        at_work = ((self.shares, "share"), (self.caps, "cap"), (self.floors, "group"), (self.ceilings, "group_cap"))
        by_holder: dict[tuple[str, str], list[PromiseLine]] = {}
        for line in audit.ledger:
            by_holder.setdefault((line.kind, line.name), []).append(line)
            assert line.owed + line.lapsed == pytest.approx(line.carried + line.forgiven + line.capped, abs=1e-6)
        for accounts, kind in at_work:
            for name, account in accounts.items():
                lines = [] if self.name in PRICED else by_holder.get((kind, name), [])
                assert [line.until for line in lines if line.until is None] == [None] * (
                    account.share is not None and self.name not in PRICED
                )
                for line, other in itertools.pairwise(lines):
                    assert line.until is not None
                    assert line.until <= other.since
                if lines and lines[-1].until is None:
                    assert lines[-1].share == account.share
                    assert round(PLAY * lines[-1].owed) == account.behind(self.round)
                    assert round(PLAY * sum(line.lapsed for line in lines)) == account.lapsed
                    assert round(PLAY * sum(line.forgiven for line in lines)) == account.forgiven


@pytest.mark.parametrize("seed", thinned(range(11), range(5).__contains__))
def test_a_random_history_has_the_accounts_of_a_second_model(seed: int) -> None:
    life = Life(seed)
    life.check()
    for _ in range(12):
        life.live()
        life.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000))
def test_a_thousand_random_histories_have_the_accounts_of_a_second_model(seed: int) -> None:
    life = Life(seed)
    for _ in range(40):
        life.live()
        life.check()


def decided(bandit: Bandit, rounds: int, means: dict[str, float], available: list[str] | None = None) -> Bandit:
    for _ in range(rounds):
        decision = bandit.decide(available=available, now=1.0)
        bandit.observe(decision.id, {arm: means[arm] for arm in decision.names}, now=2.0)
    return bandit


def test_a_hair_of_change_is_told_apart_and_loses_nothing() -> None:
    """Ten arms, changed from 9% to 9.0000001% and back every five rounds."""
    names, share = [f"arm {number}" for number in range(10)], [0.09, 0.090000001]
    bandit = Bandit(names, "fucb", fractions=[0.09] * 10, seed=1)
    for time in range(18):
        decided(bandit, 5, dict.fromkeys(names, 0.5))
        bandit.promise(dict.fromkeys(names, share[(time + 1) % 2]), reason="a daily job", now=float(time))
    audit = bandit.audit()
    assert min(line.all_plays for line in audit.lines) >= 8
    assert max(line.deficit or 0.0 for line in audit.lines) < 1.0
    assert "from 9.0000001% to 9%" in audit.changes_made[-1].text
    assert {line.reason for line in audit.ledger if line.until is not None and line.since} == {"a daily job"}


def test_the_ledger_says_when_a_promise_began_though_rounds_were_returned() -> None:
    bandit = decided(Bandit(["tea", "milk"], "fucb", fractions=[0.1, 0.2]), 20, {"tea": 1.0, "milk": 1.0})
    lease = bandit.lease(200, now=3.0)
    bandit.report(lease.id, 31, finished=True, now=4.0)
    line = bandit.audit().lines[0]
    assert (line.since, line.rounds) == (0, 51)
    assert str(bandit.audit()).startswith("2 arms, 51 rounds")
    bandit.promise({"tea": 0.2}, now=5.0, reason="more tea")
    ended, *_ = bandit.audit().ledger
    assert (ended.name, ended.since, ended.until, ended.rounds) == ("tea", 0, 220, 51)
    assert bandit.audit().lines[0].since == 220


def test_what_waits_is_said_of_all_and_needs_attention() -> None:
    bandit = decided(Bandit(["tea", "milk"], "fucb", fractions=[0.5, 0.2]), 10, {"milk": 1.0}, ["milk"])
    bandit.promise({"tea": 0.0}, now=3.0)
    audit, health = bandit.audit(), bandit.health()
    assert audit.verdict == "The promise is kept. tea is owed 5 plays, which wait for its next promise."
    assert (health.status, health.behind, health.arm, health.text) == ("attention", 5.0, "tea", audit.verdict)
    bandit.promise({"tea": 0.3}, debt="forgive", reason="as agreed", now=4.0)
    assert "wait" not in bandit.audit().verdict


def test_what_chance_does_not_repay_does_not_wait() -> None:
    bandit = decided(Bandit(["tea", "milk"], "fair_random", fractions=[0.5, 0.2]), 10, {"milk": 1.0}, ["milk"])
    bandit.promise({"tea": 0.0}, now=3.0)
    assert bandit.audit().lines[0].deficit == 5.0
    assert "wait" not in bandit.audit().verdict + bandit.audit().lines[0].reason


def test_a_largest_share_of_a_retired_arm_rests() -> None:
    bandit = Bandit(["tea", "milk", "mate"], "group_ucb", fractions=0.0, caps={"tea": 0.3, "milk": 1.0, "mate": 1.0})
    decided(bandit, 20, {"tea": 1.0, "milk": 0.1, "mate": 0.1})
    assert [line.name for line in bandit.audit().bounds] == ["tea"]
    bandit.retire("tea", now=3.0)
    decided(bandit, 20, {"tea": 1.0, "milk": 0.1, "mate": 0.1})
    assert bandit.audit().bounds == ()
    assert bandit.audit().verdict == "No share is promised to any arm."
    bandit.bring_back("tea", now=4.0)
    (line,) = bandit.audit().bounds
    assert line.rounds == 0


def test_a_bandit_from_before_the_ledger_has_a_line_for_each_arm() -> None:
    bandit = decided(Bandit(["tea", "milk"], "fucb", fractions=[0.1, 0.2]), 30, {"tea": 1.0, "milk": 0.1})
    old = before_intervals(bandit.dump())
    old = {name: part for name, part in old.items() if name not in ("ledger", "returned")} | {"format": 1}
    begun, statistics = old["state"]["begun"], dict(old["statistics"])
    none = {"dtype": "float64", "values": [0.0, 0.0]}
    statistics |= {
        "resets": {"dtype": "float64", "values": [0.0, 2.0]},
        "lapsed": {"dtype": "float64", "values": [0.0, 1.5]},
    }
    del statistics["added"]
    milk = bandit.audit().lines[1].all_plays
    rounds, pulls = none | {"values": [0.0, 20.0]}, none | {"values": [0.0, milk - 3.0]}
    old["state"] = dict(old["state"]) | {"begun": {"rounds": rounds, "pulls": pulls}}
    old["statistics"] = statistics
    old["count_history"] = {name: part for name, part in old["count_history"].items() if name != "played"}
    assert set(begun) == {"rounds", "plays", "carried", "waiting"}
    audit = Bandit.restored(old).audit()
    before = [(line.name, line.until, line.forgiven) for line in audit.ledger if line.reason == "before the ledger"]
    assert before == [("milk", 20, 1.5), ("tea", None, 0.0)]
    assert [line.due for line in audit.lines] == [
        pytest.approx(line.paid + (line.deficit or 0.0) + line.forgiven) for line in audit.lines
    ]
    decided(Bandit.restored(old), 5, {"tea": 1.0, "milk": 0.1})


def test_no_deficit_over_time_is_above_the_largest_so_far() -> None:
    """Units that are reported play other arms than those that were charged when their lease was granted."""
    bandit = Bandit(["tea", "milk"], "fair_random", fractions=[0.5, 0.2], seed=2)
    lease = bandit.lease(40, units=True, now=1.0)
    bandit.lease(200, available=["milk"], now=2.0)
    tea = next(one.count for one in lease.arms if one.arm == "tea")
    first = 0 if lease.arms[0].arm == "tea" else lease.decisions - tea
    bandit.report(lease.id, 40, columns=[first] * 40, now=6.0)
    audit = bandit.audit()
    assert audit.deficit_history is not None
    for arm, course in zip(audit.deficit_history.arms, audit.deficit_history.deficits, strict=True):
        (line,) = [line for line in audit.lines if line.arm == arm]
        assert max(one for one in course if one is not None) <= (line.worst or 0.0)


def test_the_largest_deficit_of_a_share_with_a_price_outlives_a_change() -> None:
    bandit = decided(Bandit(["tea", "milk"], "eta_fucb", fractions=[0.5, 0.2], eta=0.3), 10, {"milk": 1.0}, ["milk"])
    bandit.promise({"tea": 0.4}, now=3.0)
    assert bandit.audit().lines[0].worst == 5.0


@pytest.mark.parametrize("arms", [1, 2, 200])
@pytest.mark.parametrize("rounds", [0, 1, 100_000])
def test_few_and_many_arms_and_rounds_have_the_same_sentences(arms: int, rounds: int) -> None:
    """Leases make many rounds quickly; every tenth of them returns half of its rounds."""
    bandit = Bandit([f"arm {number}" for number in range(arms)], "fucb", fractions=[0.5 / arms] * arms, seed=arms)
    for number in range(min(rounds, 20)):
        lease = bandit.lease(rounds // min(rounds, 20), now=float(number))
        played = lease.decisions // 2 if number % 10 == 5 else lease.decisions
        bandit.report(lease.id, played, finished=True, now=float(number))
        bandit.promise({"arm 0": (0.4 + 0.1 * (number % 2)) / arms}, now=float(number))
        assert list(contradictions(bandit.audit(), bandit.health())) == []
    assert list(contradictions(bandit.audit(), bandit.health())) == []
    assert bandit.round == rounds


def test_changes_while_leases_are_open_pay_nothing_twice() -> None:
    """Tea has 180 of 200 plays. Ten leases return unplayed, and its share changes a little in each."""
    bandit = decided(Bandit(["tea", "milk"], "fucb", fractions=[0.1, 0.1], seed=1), 200, {"tea": 1.0, "milk": 0.0})
    assert bandit.audit().lines[0].all_plays == 180
    for number in range(10):
        lease = bandit.lease(100, now=3.0)
        bandit.promise({"tea": 0.1 + 1e-9 * (1 - number % 2)}, now=4.0)
        bandit.report(lease.id, 0, finished=True, now=5.0)
    line = bandit.audit().lines[0]
    assert line.deficit == pytest.approx(-1.0, abs=1e-6)
    assert line.lapsed == pytest.approx(159.0, abs=1e-6)


def test_a_ledger_without_the_rounds_after_which_promises_began_is_read() -> None:
    bandit = decided(Bandit(["tea", "milk"], "fucb", fractions=[0.1, 0.2]), 30, {"tea": 1.0, "milk": 0.1})
    bandit.promise({"tea": 0.2}, now=3.0)
    old = before_intervals(bandit.dump()) | {"format": 2}
    rows = {name: [row[:-1] for row in old["ledger"][name]] for name in ("entries", "openings")}
    read = Bandit.restored(old | {"ledger": old["ledger"] | rows})
    assert [(line.name, line.since, line.until) for line in read.audit().ledger] == [
        ("tea", 0, 30),
        ("tea", 30, None),
        ("milk", 0, None),
    ]
