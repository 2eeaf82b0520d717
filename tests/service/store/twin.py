"""A bandit in memory that gets the same calls directly, and a naive account of what an allocation should answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.bandit import Bandit
from evenhand.changes import AddArm, Close, Reopen, Retire
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Decision, plain
from evenhand.messages.changes import ChangeRecord
from evenhand.messages.requests import Round
from evenhand.service.store import Change, Decide, ReadAudit, Reward, Total
from evenhand.service.store.commands import Command
from evenhand.service.store.errors import Closed, Conflict, KeyReused
from tests.service.store.kit import Outcome

ORDERED = ("exp3",)  # those of the tested that learn from the round just decided only


@dataclass
class Twin:
    """What an allocation should do.

    Attributes:
        name: of the allocation.
        bandit: that gets the calls.
        closed: whether it decides no more.
        rewards: of each decision the arms that played, with their rewards; None for none yet.
        lost: decisions whose window has passed.
        totals: by round.
        answers: by key the command without it, its answer, and when that was given.
    """

    name: str
    bandit: Bandit
    closed: bool = False
    rewards: dict[str, dict[str, float | None]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    totals: dict[int, float] = field(default_factory=dict)
    answers: dict[str, tuple[Command[Any], dict[str, Any]]] = field(default_factory=dict)

    def copy(self) -> Twin:
        """Another one that is the same."""
        return Twin(
            self.name,
            Bandit.restored(json.loads(json.dumps(self.bandit.dump()))),
            self.closed,
            {name: dict(rewards) for name, rewards in self.rewards.items()},
            set(self.lost),
            dict(self.totals),
            dict(self.answers),
        )

    def group(self, commands: Sequence[Command[Any]], now: float) -> list[Outcome]:
        """What should come of commands that are carried out together."""
        self.lost |= set(self.bandit.expire(now))
        return [self.outcome(command, now) for command in commands]

    def outcome(self, command: Command[Any], now: float) -> Outcome:
        key, bare = command.key, replace(command, key=None)
        if key in self.answers:
            known, then = self.answers[key]
            if known != bare:
                return KeyReused(f"the idempotency key {key!r} was used for another request; use a new one")
            return then
        try:
            answer: dict[str, Any] = json.loads(json.dumps(self.answer(command, now)))
        except EvenhandError as error:
            return error
        if key is not None:
            self.answers[key] = bare, answer
        return answer

    def answer(self, command: Command[Any], now: float) -> Any:
        match command:
            case Decide():
                return self.decide(command, now)
            case Reward():
                results = [line for one in command.rewards for line in self.rewarded(*one, now)]
                return {"results": results}
            case Total():
                return self.total(command)
            case Change():
                return self.change(command.change, now)
            case ReadAudit():
                return self.bandit.audit(command.limit, now).to_json()
        raise AssertionError(command)

    def decide(self, command: Decide, now: float) -> Any:
        if self.closed:
            raise Closed(f"allocation {self.name!r} is closed and decides no more; reopen it first")
        known: Any = command.features, command.arms, command.available
        rounds = [Round(*known)] * command.count if command.rounds is None else command.rounds
        before, choices = self.bandit.dump(), []
        try:
            choices = [
                self.bandit.decide(
                    one.features, arms=one.arms, available=one.available, now=now, propensities=command.propensities
                )
                for one in rounds
            ]
            return {"decisions": [self.answer_of(choice) for choice in choices]}
        except EvenhandError:
            self.bandit = Bandit.restored(json.loads(json.dumps(before)))
            raise

    def answer_of(self, choice: Decision) -> Any:
        self.rewards[choice.id] = dict.fromkeys(choice.names)
        return plain(choice)

    def rewarded(self, decision: str, rewards: Mapping[str, float], now: float) -> list[Any]:
        """Together where all can be taken in, else one by one."""
        judged = {arm: self.judged(decision, arm, reward) for arm, reward in rewards.items()}
        if set(judged.values()) <= {"accepted", "late", "duplicate"} and self.bandit._record.pending.find(decision):
            assert self.bandit.observe(decision, rewards, now) == judged
            self.rewards[decision].update({arm: float(reward) for arm, reward in rewards.items()})
        else:
            judged = {arm: self.alone(decision, arm, reward, now) for arm, reward in rewards.items()}
        return [{"decision": decision, "arm": arm, "status": status} for arm, status in judged.items()]

    def alone(self, decision: str, arm: str, reward: float, now: float) -> str:
        status = self.judged(decision, arm, reward)
        if status in ("accepted", "late"):
            if self.bandit._record.pending.find(decision) is None:
                self.bandit._record.count_late(arm)
            else:
                assert self.bandit.observe(decision, {arm: reward}, now) == {arm: status}
            self.rewards[decision][arm] = float(reward)
        return status

    def judged(self, decision: str, arm: str, reward: float) -> str:
        if not 0.0 <= reward <= 1.0:
            return "invalid"
        if arm not in self.rewards.get(decision, {}):
            return "unknown"
        known, remembered = self.rewards[decision][arm], self.bandit._record.pending.find(decision) is not None
        if self.totals and not remembered:
            return "invalid"
        if known is not None:
            return "duplicate" if known == reward else "conflict"
        if not remembered or decision in self.lost:
            return "late"
        last = decision == str(self.bandit._record.state.round)
        return "invalid" if self.totals or (self.bandit._record.algorithm in ORDERED and not last) else "accepted"

    def total(self, command: Total) -> Any:
        last = self.bandit._record.state.round
        round = last if command.round is None else command.round
        if round in self.totals:
            if self.totals[round] == command.value:
                return {"round": round, "status": "duplicate"}
            was = f"{self.totals[round]:g} before, now {command.value:g}"
            raise Conflict(f"round {round}: received a total of {was}")
        if round != last:
            raise Conflict(f"a total must be of the round just decided, which is {last}, got {round}")
        self.bandit.observe_total(command.value)
        self.totals[round] = command.value
        return {"round": round, "status": "accepted"}

    def change(self, change: ChangeRecord, now: float) -> Any:
        bandit, before, was = self.bandit, self.bandit.version, self.closed
        match change:
            case AddArm(arm=arm) if arm in bandit.retired:
                raise Conflict(f"arm {arm!r} is there and retired; bring it back")
            case AddArm(arm=arm, fraction=wanted) if arm in bandit.names:
                has = bandit.parameters["fractions"][bandit.names.index(arm)] if wanted is not None else None
                if has != wanted:
                    raise Conflict(f"arm {arm!r} is there with fraction {has}, not {wanted}; change that instead")
            case Close() | Reopen():
                if isinstance(change, Close) != was:
                    bandit.change(change, now=now)
                self.closed = isinstance(change, Close)
            case Retire(arm=arm) if arm in bandit.retired:
                pass
            case _:
                bandit.change(change, now=now)
        changed = bandit.version != before or self.closed != was
        return {"version": bandit.version, "round": bandit._record.state.round, "changed": changed}
