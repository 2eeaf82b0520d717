"""Random lives with promises in segments, held against a second model; saved and replayed copies say the same."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from evenhand import Bandit, Features, InfeasiblePromise
from evenhand.bandit.decisions import decide
from evenhand.bandit.ledger import Entry, InSegment
from evenhand.bandit.replay import (
    Recorder,
    replay_change,
    replay_decision,
    replay_expiry,
    replay_memory,
    replay_rewards,
)
from evenhand.bandit.segments import Segments
from evenhand.changes import AddArm, BringBack, Promise, Redeclare, Retire
from evenhand.features import Category, Number
from evenhand.messages.changes import ChangeRecord
from evenhand.messages.lines import Line
from tests.bandit.accounts import BILLION, Account, billionths
from tests.bandit.audit.contradictions import contradictions
from tests.thinned import thinned

COUNTRIES = ("DE", "FR", "other")
PEOPLE = Features({"country": Category(["DE", "FR"]), "age": Number(0, 100, missing=40)})
WIDER = Features({"country": Category(["DE", "FR"]), "age": Number(0, 120, missing=40)})
FLOOR = {"selection": {"kind": "exploration_floor", "floor": 0.05}}
#: Index, fairness without its shares, and other parts.
POLICIES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "first": ({"kind": "lin_ucb", "radius": 0.3}, {"kind": "deficit_first"}, {}),
    "plain": ("ucb", {"kind": "deficit_first"}, {}),
    "queue": ("lin_ts", {"kind": "virtual_queue", "eta": "auto"}, {}),
    "slow": ("beta_sample", {"kind": "virtual_queue", "eta": 2.0}, {}),
    "floor": ("lin_ts", {"kind": "deficit_first"}, FLOOR),
    "chance": ("beta_sample", {"kind": "guaranteed_shares"}, {"selection": "categorical"}),
    "best": ("best_chance", {"kind": "floor_shares"}, {"selection": "categorical"}),
}
BY_CHANCE = ("chance", "best")  # of which no advance lapses


@dataclass
class Life:
    """A life of a bandit with segments, the same from its events, and what a second model says of it."""

    seed: int
    now: float = 0.0
    rounds: Counter[str] = field(default_factory=Counter)  # by segment, and all of them under ""
    plays: Counter[tuple[str, str]] = field(default_factory=Counter)  # by segment and arm
    missed: Counter[tuple[str, str]] = field(default_factory=Counter)
    before: dict[tuple[str, str], int] = field(default_factory=dict)  # rounds before an arm was added
    accounts: dict[tuple[str, str], Account] = field(default_factory=dict)  # by segment and arm
    waiting: dict[str, tuple[str, float]] = field(default_factory=dict)  # decisions without a reward
    tallies: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # rewards by arm

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.name = list(POLICIES)[self.seed % len(POLICIES)]
        arms = [f"arm {place}" for place in range(int(self.rng.integers(2, 6)))]
        shares = np.round(self.rng.random(len(arms)) * (self.rng.random(len(arms)) < 0.4) / 8.0, 6).tolist()
        self.window, self.missing = [(None, None), (30.0, "zero"), (30.0, "lost")][self.seed % 3]
        index, fairness, parts = POLICIES[self.name]
        policy = {"index": index, "fairness": {**fairness, "fractions": shares}, **parts}
        options: dict[str, Any] = {"window": self.window, "missing": self.missing, "seed": self.seed}
        self.bandit, self.copy = (
            Bandit(arms, policy, features=PEOPLE, segments="country", **options) for _ in range(2)
        )
        self.recorder = Recorder(self.bandit._record)
        for arm, share in zip(arms, shares, strict=True):
            self.open(arm, share)

    def open(self, arm: str, share: float) -> None:
        lasting = 10**6 if self.name in BY_CHANCE else 1
        for segment in ("", *COUNTRIES):
            self.before[segment, arm] = self.rounds[segment]
            self.accounts[segment, arm] = Account(since=self.rounds[segment], lasting=lasting)
        self.accounts["", arm].share = Fraction(share)

    @property
    def able(self) -> list[str]:
        return [arm for arm in self.bandit.names if arm not in self.bandit.retired]

    def remember(self) -> None:
        replay_memory(self.copy._record, self.recorder.changes())

    # --- what happens -------------------------------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        acts = ("decide", "promise", "overall", "add", "retire", "back", "redeclare", "pause")
        for _ in range(steps):
            getattr(self, self.rng.choice(acts, p=[0.45, 0.2, 0.1, 0.05, 0.05, 0.05, 0.03, 0.07]))()

    def pause(self) -> None:
        self.now += float(self.rng.choice([5.0, 40.0]))

    def decide(self) -> None:
        asleep = {(country, arm) for country in COUNTRIES for arm in self.able if self.rng.random() < 0.15}
        for _ in range(int(self.rng.choice([1, 5, 40]))):
            self.now += 1.0
            self.expire()
            country = str(self.rng.choice(["DE", "FR", "IT"], p=[0.2, 0.3, 0.5]))
            segment = "other" if country == "IT" else country
            able = [arm for arm in self.able if (segment, arm) not in asleep] or self.able
            facts: dict[str, Any] = {}
            features = {"country": country, "age": float(self.rng.random() * 150.0 - 20.0)}
            decision = decide(self.bandit._record, able, self.now, False, facts, features)
            replay_decision(self.copy._record, decision.round, facts.pop("arms"), self.now, **facts)
            self.remember()
            (arm,) = decision.names
            self.count(segment, arm, able)
            self.waiting[decision.id] = arm, self.now
            if self.rng.random() < 0.6:
                self.reward(decision.id)
            elif self.rng.random() < 0.5 and len(self.waiting) > 3:
                self.reward(list(self.waiting)[int(self.rng.integers(len(self.waiting)))])

    def count(self, segment: str, played: str, able: list[str]) -> None:
        for within in ("", segment):
            self.rounds[within] += 1
            self.plays[within, played] += 1
            self.accounts[within, played].plays += 1
            self.missed.update((within, arm) for arm in self.bandit.names if arm not in able)

    def reward(self, id: str) -> None:
        arm, decided = self.waiting.pop(id)
        reward = {arm: float(self.rng.random() < 0.5)}
        late = self.window is not None and decided + self.window <= self.now
        assert self.bandit.observe(id, reward, now=self.now) == {arm: "late" if late else "accepted"}
        replay_rewards(self.copy._record, id, reward, [arm] * late, self.now)
        self.remember()
        self.tallies[arm].update(["late"] if late else ["received"])

    def expire(self) -> None:
        closed = self.bandit._record.pending.overdue(self.now)
        assert self.bandit.expire(self.now) == closed
        if closed:
            replay_expiry(self.copy._record, closed)
            self.remember()

    def change(self, change: ChangeRecord) -> bool:
        """Whether anything has changed; what cannot be kept is refused, and changes nothing."""
        self.expire()
        before = self.bandit.version
        try:
            self.bandit.change(change, now=self.now)
        except InfeasiblePromise:
            assert self.bandit.version == before
            return False
        replay_change(self.copy._record, change, self.now)
        self.remember()
        return self.bandit.version != before

    def terms(self) -> dict[str, Any]:
        debt = str(self.rng.choice(["carry", "cap", "forgive"], p=[0.6, 0.2, 0.2]))
        return {"debt": debt, "reason": "as agreed"} | ({"limit": 2.0} if debt == "cap" else {})

    def promise(self, segment: str | None = None) -> None:
        """Another share for an arm, in a segment unless it is given as that of all rounds."""
        where = str(self.rng.choice(COUNTRIES)) if segment is None else segment
        arm, terms = str(self.rng.choice(self.able)), self.terms()
        account = self.accounts[where, arm]
        share = round(float(self.rng.choice([0.0, 0.05, 0.3, 0.45, float(account.share) + 1e-6])), 6)
        if self.change(Promise({arm: share}, segment=where or None, **terms)):
            account.change(share, self.rounds[where], terms["debt"], 2.0)

    def overall(self) -> None:
        self.promise("")

    def add(self) -> None:
        arm, share = f"new {len(self.bandit.names)}", float(self.rng.choice([0.0, 0.02]))
        if self.change(AddArm(arm, fraction=share)):
            self.open(arm, share)

    def retire(self) -> None:
        if len(self.able) > 1:
            arm = str(self.rng.choice(self.able))
            assert self.change(Retire(arm))
            for segment in ("", *COUNTRIES):
                if self.accounts[segment, arm].share:
                    self.accounts[segment, arm].change(0.0, self.rounds[segment])

    def back(self) -> None:
        for arm in sorted(self.bandit.retired)[:1]:
            assert self.change(BringBack(arm))

    def redeclare(self) -> None:
        self.change(Redeclare(WIDER))

    # --- what must be true --------------------------------------------------------------------------------------------

    def check(self) -> None:
        self.expire()
        audit, health = self.bandit.audit(now=self.now), self.bandit.health(now=self.now)
        assert list(contradictions(audit, health)) == []
        self.check_copies()
        segments = self.bandit._record.segments
        assert segments is not None
        for line in audit.bounds:
            key = line.segment, line.name
            account, seen = self.accounts[key], self.rounds[line.segment] - self.before[key]
            assert (line.at_least, line.rounds, line.plays) == (
                float(account.share),
                self.rounds[line.segment] - account.since,
                account.plays,
            )
            assert line.owed == float(account.behind(self.rounds[line.segment]))
            assert line.available == (pytest.approx(1.0 - self.missed[key] / seen) if seen else None)
        assert {(one.segment, one.name) for one in audit.bounds} == {
            key for key, account in self.accounts.items() if key[0] and account.share
        }
        for of_arm in audit.lines:
            self.check_line(of_arm)
        for place, arm in enumerate(self.bandit.names):
            for segment in COUNTRIES:
                self.check_account(segments, segment, place, arm)

    def check_copies(self) -> None:
        """A copy that was saved, and one that was made from what has happened, are the same, and say the same."""
        again = Bandit.restored(json.loads(json.dumps(self.bandit.dump())))
        assert self.copy.dump() == self.bandit.dump()
        said = self.said_by(self.bandit)
        assert self.said_by(again) == said
        assert self.said_by(self.copy) == said
        assert again.dump() == self.bandit.dump()

    def said_by(self, bandit: Bandit) -> tuple[Any, ...]:
        now, several = self.now, len(self.able) > 1
        differences = bandit.differences(now=now) if several else ()
        return bandit.audit(now=now), bandit.health(now=now), bandit.stopping(now=now), differences

    def check_line(self, line: Line) -> None:
        """Plays, rewards and the promise for all rounds."""
        account, rounds = self.accounts["", line.arm], self.rounds[""]
        due, behind = account.due + account.running(rounds), account.behind(rounds)
        paid = account.paid + account.plays * bool(account.share)
        assert (line.all_plays, line.due, line.paid) == (self.plays["", line.arm], float(due), paid)
        assert (line.deficit or 0.0) == float(behind)
        assert due == paid + behind + account.forgiven + account.capped - account.lapsed
        pending = [decided for arm, decided in self.waiting.values() if arm == line.arm]
        lost = [decided for decided in pending if self.window is not None and decided + self.window <= self.now]
        tally = self.tallies[line.arm]
        assert (line.received, line.late) == (tally["received"], tally["late"])
        assert (line.pending, line.lost) == (len(pending) - len(lost), len(lost) + tally["late"])

    def check_account(self, segments: Segments, segment: str, place: int, arm: str) -> None:
        """All promises to an arm in a segment, to the last billionth."""
        account, rounds = self.accounts[segment, arm], self.rounds[segment]
        paid = account.paid + account.plays * bool(account.share)
        due, behind = account.due + account.running(rounds), account.behind(rounds)
        entries = list(self.entries(segments, InSegment(segment, place)))
        shares = [one for one in entries if one.share]
        assert sum(one.plays for one in shares) == paid
        assert sum(one.due for one in shares) == billionths(due)
        for part in ("forgiven", "capped", "lapsed"):
            assert sum(getattr(one, part) for one in entries) == billionths(getattr(account, part))
        assert due == paid + behind + account.forgiven + account.capped - account.lapsed
        assert round(segments.owed(segments.place(segment)).item(place) * BILLION) == billionths(behind)
        for one, after in pairwise(entries):
            assert one.owed + one.lapsed == one.carried + one.forgiven + one.capped
            assert after.brought == one.carried

    def entries(self, segments: Segments, holder: InSegment) -> Iterator[Entry]:
        ledger = self.bandit._record.ledger
        yield from (one for one in [*ledger.entries, *segments.entries(ledger)] if one.holder == holder)


def live(seed: int, checks: int) -> None:
    life = Life(seed)
    life.check()
    for _ in range(checks):
        life.live(10)
        life.check()


@pytest.mark.parametrize("seed", thinned(range(len(POLICIES)), lambda seed: seed % 2 == 0))
def test_accounts_in_segments_are_those_of_a_second_model(seed: int) -> None:
    live(seed, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(POLICIES), 500))
def test_accounts_in_segments_are_those_of_a_second_model_in_many_lives(seed: int) -> None:
    live(seed, 6)
