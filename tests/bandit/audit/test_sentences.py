"""Every sentence of an audit against a record of what happened, and against the other sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.messages.audit import Audit
from evenhand.messages.lines import Line
from tests.bandit.accounts import BILLION, Account, billionths

POLICIES: dict[str, dict[str, Any]] = {
    "fucb": {},
    "eta_fucb": {"eta": 0.2},
    "tscsf_b": {"eta": 5.0},
    "lfg": {"eta": 5.0},
    "f_ts": {},
    "group_ucb": {"eta": 2.0},
    "floor_ts": {},
    "ucb1": {},
}
LEASED = ("fucb", "tscsf_b", "ucb1")
COUNTS = ("fucb", "tscsf_b", "lfg", "group_ucb")
BY_CHANCE = ("floor_ts",)  # of which no advance lapses


@dataclass
class Life:
    """A random life of a bandit, and what happened in it."""

    seed: int
    arms: list[str] = field(default_factory=list)
    accounts: dict[str, Account] = field(default_factory=dict)
    plays: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    asleep: dict[str, int] = field(default_factory=dict)
    round: int = 0  # by the bandit's clock
    returned: int = 0
    now: float = 0.0
    open: dict[str, Fraction] = field(default_factory=dict)  # what an open lease may give back
    lasting: int = 1  # as in the accounts

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.name = list(POLICIES)[self.seed % len(POLICIES)]
        self.lasting = 10**6 if self.name in BY_CHANCE else 1
        count = int(self.rng.choice([1, 2, 3, 5, 12, 40], p=[0.05, 0.2, 0.35, 0.2, 0.15, 0.05]))
        self.arms = [f"arm {number}" for number in range(count)]
        shares = self.rng.random(count) * (self.rng.random(count) < 0.7) if self.name != "ucb1" else np.zeros(count)
        shares *= self.rng.uniform(0.2, 0.95) / max(shares.sum(), 1e-9)
        given = {} if self.name == "ucb1" else {"fractions": np.round(np.minimum(shares, 1.0), 6).tolist()}
        self.bandit = Bandit(self.arms, self.name, seed=self.seed, **POLICIES[self.name], **given)
        for arm, share in zip(self.arms, given.get("fractions", [0.0] * count), strict=True):
            self.accounts[arm], self.plays[arm] = Account(Fraction(share), lasting=self.lasting), 0
            self.added[arm] = self.asleep[arm] = 0
        self.means = {arm: float(self.rng.random()) for arm in self.arms}

    def live(self, steps: int) -> None:
        for _ in range(steps):
            act = self.rng.choice(["decide", "sleep", "lease", "promise", "add", "retire", "back"], p=self.odds())
            getattr(self, act)()

    def odds(self) -> list[float]:
        leases = 0.1 * (self.name in LEASED)
        return [0.45 - leases, 0.2, leases, 0.2, 0.05, 0.05, 0.05]

    def able(self) -> list[str]:
        return [arm for arm in self.bandit.names if arm not in self.bandit.retired]

    def decide(self, available: list[str] | None = None) -> None:
        for _ in range(int(self.rng.choice([1, 5, 30, 200]))):
            self.now += 1.0
            decision = self.bandit.decide(available=available, now=self.now)
            self.count(dict.fromkeys(decision.names, 1), 1, self.able() if available is None else available)
            for arm in decision.names:
                if self.rng.random() < 0.9:
                    reward = float(self.rng.random() < self.means[arm])
                    self.bandit.observe(decision.id, {arm: reward}, now=self.now)

    def sleep(self) -> None:
        able = self.able()
        self.decide([arm for arm in able if self.rng.random() < 0.6] or able[:1])

    def count(self, plays: dict[str, int], rounds: int, available: list[str]) -> None:
        self.round += rounds
        for arm in self.bandit.names:
            self.plays[arm] += plays.get(arm, 0)
            self.accounts[arm].plays += plays.get(arm, 0)
            self.asleep[arm] += rounds * (arm not in available)

    def lease(self) -> None:
        """All rounds count when they are granted; those that come back are taken out again, at the same shares."""
        size = int(self.rng.integers(5, 200))
        lease = self.bandit.lease(size, 60.0, now=self.now)
        able, round = self.able(), self.round
        counts = {one.arm: one.count for one in lease.arms}
        self.count(counts, size, able)
        shares = {arm: account.share for arm, account in self.accounts.items()}
        since = {arm: account.since for arm, account in self.accounts.items()}
        if self.rng.random() < 0.5:
            self.open = {arm: counts.get(arm, 0) - share * size for arm, share in shares.items() if share}
            self.promise()
            self.open = {}
        played = int(self.rng.integers(0, size + 1))
        self.bandit.report(lease.id, played, finished=True, now=self.now)
        columns = [(lease.start + position * lease.step) % size for position in range(played)]
        row = [arm for arm, number in counts.items() for _ in range(number)]
        made = {arm: sum(row[column] == arm for column in columns) for arm in counts}
        back = size - played
        for arm in self.bandit.names:
            missing = counts.get(arm, 0) - made.get(arm, 0)
            self.plays[arm] -= missing
            self.asleep[arm] -= back * (arm not in able)
            account = self.accounts[arm]
            if account.since == since[arm] and account.share == shares[arm]:
                account.plays -= missing
                account.since += back
            elif shares[arm]:
                due = Fraction(billionths(shares[arm] * back), BILLION)
                account.owed += missing - due
                account.due -= due
                account.paid -= missing
        self.returned += back
        assert round + size == self.bandit.round

    def promise(self) -> None:
        if self.name == "ucb1":
            return
        arm = str(self.rng.choice(self.able()))
        share = float(np.round(self.rng.choice([0.0, 0.05, 0.3, float(self.accounts[arm].share) + 1e-6]), 6))
        debt = str(self.rng.choice(["carry", "cap", "forgive"], p=[0.7, 0.15, 0.15]))
        terms: dict[str, Any] = {"debt": debt, "reason": "as agreed"} | ({"limit": 2.0} if debt == "cap" else {})
        total = sum((one.share for name, one in self.accounts.items() if name != arm), Fraction(0)) + Fraction(share)
        if total > 1:
            return
        changed = self.bandit.promise({arm: share}, now=self.now, **terms)
        if changed:
            self.accounts[arm].change(share, self.round, debt, 2.0, max(Fraction(0), self.open.get(arm, Fraction(0))))

    def add(self) -> None:
        arm = f"new {len(self.bandit.names)}"
        self.bandit.add(arm, now=self.now)
        self.means[arm], self.accounts[arm], self.plays[arm] = 0.5, Account(since=self.round, lasting=self.lasting), 0
        self.added[arm], self.asleep[arm] = self.round - self.returned, 0

    def retire(self) -> None:
        able = self.able()
        if len(able) > 1:
            arm = str(self.rng.choice(able))
            self.bandit.retire(arm, now=self.now)
            self.accounts[arm].change(0.0, self.round)

    def back(self) -> None:
        for arm in sorted(self.bandit.retired)[:1]:
            self.bandit.bring_back(arm, now=self.now)
            self.accounts[arm].change(0.0, self.round)

    # --- what must be true ---------------------------------------------------------------------------------------

    def check(self) -> int:
        audit, health = self.bandit.audit(now=self.now), self.bandit.health(now=self.now)
        assert audit.round == self.round
        assert audit.rounds == self.round - self.returned
        sentences = sum(self.check_line(line) for line in audit.lines) + check_verdict(audit)
        words = [line.verdict for line in audit.lines if not line.retired] + [line.verdict for line in audit.bounds]
        if health.status == "good":
            assert "missed" not in words
            assert health.text == audit.verdict
        if health.status == "bad":
            assert "missed" in words or health.text.startswith("With the recent availability")
        if "missed" in words:
            assert health.status == "bad"
        if audit.cost is not None:
            slept = any(self.asleep[arm] > 0.005 * (audit.rounds - self.added[arm]) for arm in self.able())
            assert ("some were not" in audit.cost.note) <= slept
        return sentences + 2

    def check_line(self, line: Line) -> int:
        account, seen = self.accounts[line.arm], self.round - self.returned - self.added[line.arm]
        assert line.all_plays == self.plays[line.arm]
        assert line.available == (pytest.approx(1.0 - self.asleep[line.arm] / seen) if seen else None)
        assert ("It could play in" in line.reason) == (
            not line.retired and line.available is not None and line.available < 0.995
        )
        if self.name in COUNTS or self.name in ("f_ts", "floor_ts"):
            behind = account.behind(self.round)
            assert (line.deficit or 0.0) == float(behind)
            due, paid = account.due + account.running(self.round), account.paid + account.plays * bool(account.share)
            assert (line.due, line.paid) == (float(due), paid)
            assert (line.forgiven, line.capped, line.lapsed) == tuple(
                map(float, (account.forgiven, account.capped, account.lapsed))
            )
            assert due == paid + behind + account.forgiven + account.capped - account.lapsed  # to the last billionth
            if self.name in COUNTS and line.verdict is not None:
                tolerance = max(Fraction(1), (paid + behind) / 100)
                assert (line.verdict == "kept") == (behind <= tolerance + Fraction(2, BILLION))
        if line.verdict == "kept":
            assert "It has the" in line.reason or "no more than 1% of what is due" in line.reason
        if "It has the" in line.reason:
            assert line.verdict == "kept"
            assert line.deficit is not None
            assert line.deficit <= 1.0 + 1e-8
        owed = re.search(r"It is ([\d.,e+]+) plays? behind", line.reason)
        if owed:
            assert float(owed[1].replace(",", "")) == pytest.approx(line.deficit, rel=0.01)
        if "Nothing is promised to it" in line.reason or "retired" in line.reason:
            assert line.verdict is None
        return line.reason.count(".")


def check_verdict(audit: Audit) -> int:
    """The numbers in the sentence are those of the lines."""
    words = [line.verdict for line in audit.lines if line.verdict] + [
        one.verdict for one in audit.bounds if one.verdict
    ]
    kept, missed, undecided = (words.count(word) for word in ("kept", "missed", "undecided"))
    text = audit.verdict
    found = re.match(r"(?:All|Both|The|(?:It|No promise is known to be missed; it) is undecided whether) ", text)
    waits = re.match(r"(?:No promise is known to be missed; )?[\d,]+ promises? .* not been due more than a play", text)
    assert "No promise is known to be missed" not in text or not missed
    some = re.match(r"([\d,]+) of ([\d,]+) promises? (?:is|are) kept", text)
    if waits:
        for number, word in ((kept, "kept"), (missed, "missed"), (undecided, "undecided")):
            said = re.search(rf"([\d,]+) (?:promises? )?(?:is|are) {word}", text)
            assert (int(said[1].replace(",", "")) if said else 0) == number
    elif some:
        assert (int(some[1].replace(",", "")), int(some[2].replace(",", ""))) == (kept, len(words))
        for number, word in ((missed, "missed"), (undecided, "undecided")):
            said = re.search(rf"([\d,]+) (?:is|are) {word}", text)
            assert (int(said[1].replace(",", "")) if said else 0) == number
    elif text.startswith(("No share", "The promises begin", "No promise has been due", "Nothing has been")):
        assert not words
    else:
        assert found, text
        of = {"kept": kept, "missed": missed, "undecided": undecided}
        word = next(word for word in ("undecided", "missed", "kept") if word in text)
        assert of[word] == len(words), text
    return text.count(".")


@pytest.mark.parametrize("seed", range(8))
def test_no_sentence_contradicts_what_happened_or_another_one(seed: int) -> None:
    life = Life(seed)
    sentences = life.check()
    for _ in range(3):
        life.live(6)
        sentences += life.check()
    assert sentences > 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 2064))
def test_no_sentence_contradicts_another_one_in_many_lives(seed: int) -> None:
    life = Life(seed)
    for _ in range(8):
        life.live(8)
        life.check()


def drawn(bandit: Bandit, rounds: int, means: dict[str, float]) -> Bandit:
    rng = np.random.default_rng(0)
    for round in range(rounds):
        decision = bandit.decide(now=float(round))
        rewards = {arm: float(rng.random() < means[arm]) for arm in decision.names}
        bandit.observe(decision.id, rewards, now=float(round))
    return bandit


def test_guaranteed_rewards_are_judged_and_spoken_of() -> None:
    """Arms b and c earn far less than the tenth of a reward per round that each was promised."""
    bandit = Bandit(["a", "b", "c"], "bandit_q", rates=[0.02, 0.1, 0.1], horizon=2000)
    assert bandit.audit().verdict == "Nothing has been decided yet."
    audit = drawn(bandit, 600, {"a": 0.8, "b": 0.3, "c": 0.2}).audit()
    assert [line.verdict for line in audit.lines] == ["kept", "missed", "missed"]
    b = audit.lines[1]
    behind = 60.0 - b.received * (b.estimate or 0.0)
    words = f"is {behind:.3g} of reward behind the reward of 0.1 per round that it was promised"
    assert audit.verdict.startswith(f"1 of 3 promises is kept and 2 are missed; b {words}")
    assert b.reason.startswith(f"It {words}")
    assert bandit.health().status == "bad"
    assert audit.lines[0].reason.startswith("It has the reward of 0.02 per round that it was promised.")


def test_shares_by_merit_are_judged_by_those_that_the_intervals_allow() -> None:
    merit = {"kind": "power", "exponent": 2.0}
    means = {"a": 0.8, "b": 0.5, "c": 0.3}
    bandit = drawn(Bandit(list(means), "fcts_d", merit=merit), 4000, means)
    audit = bandit.audit()
    assert {line.verdict for line in audit.lines} <= {"kept", "undecided"}
    assert "The shares follow the merit of the arms" in audit.verdict
    bandit.decide(available=["a", "b"], now=5000.0)
    assert {line.verdict for line in bandit.audit().lines} == {None}  # by merit of those that were available
