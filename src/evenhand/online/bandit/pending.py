"""Pending rewards: which decisions lack rewards, which have them all, and which are closed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, StateError

#: Decisions without pending rewards that are remembered, so that a repeated reward is recognised.
REMEMBERED = 10_000


class RewardError(EvenhandError):
    """A reward that cannot be taken.

    Attributes:
        status: ``"unknown"`` where there is no such decision, or the arm did not play in it; ``"conflict"`` where
            another reward is known; ``"refused"`` where the bandit does not take such a reward, or not now.

    Example:
        >>> RewardError("there is no decision '7'", "unknown").status
        'unknown'
    """

    def __init__(self, message: str, status: str = "refused") -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class DecisionRewards:
    """The rewards of one decision."""

    time: float  # of the decision, in seconds
    rewards: dict[str, float | None]  # by the arms that played; None where missing
    closed: bool = False  # whether its window has passed


@dataclass(slots=True)
class PendingRewards:
    """The rewards of decisions: those with rewards that can still arrive, and the last of the others.

    Attributes:
        window: seconds after which a missing reward is lost; None for never.
        waiting: decisions with pending rewards, the oldest first.
        settled: the last 10,000 decisions without pending rewards: they have all, or their window has passed.

    Example:
        >>> pending = PendingRewards(window=60.0)
        >>> pending.enter("1", ["tea", "coffee"], time=0.0)
        >>> pending.write("1", "tea", 0.5)
        0.0
        >>> pending.counts(), pending.overdue(now=60.0)
        ({'coffee': 1}, {'1': ['coffee']})
    """

    window: float | None = None
    # Finding the oldest key takes constant time in an OrderedDict, not in a dict.
    waiting: OrderedDict[str, DecisionRewards] = field(default_factory=OrderedDict)
    settled: OrderedDict[str, DecisionRewards] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        if self.window is not None:
            self.window = validate.number("window", self.window, low=0.0)
            if self.window == 0.0:
                raise EvenhandError("window must be above 0 seconds, got 0; None means that rewards never expire")

    def enter(self, id: str, arms: Iterable[str], time: float) -> None:
        """Add a decision; where the clock has jumped back, its time is that of the decision before."""
        if self.waiting:
            time = max(time, self.waiting[next(reversed(self.waiting))].time)
        self.waiting[id] = DecisionRewards(time, dict.fromkeys(arms))

    def find(self, id: str) -> DecisionRewards | None:
        """The rewards of a decision; None where there is none, or it is no longer remembered."""
        return self.waiting.get(id) or self.settled.get(id)

    def write(self, id: str, arm: str, reward: float) -> float:
        """Record a reward that is accepted or late; returns when the decision was made, in seconds."""
        entry = self.waiting.get(id) or self.settled[id]
        entry.rewards[arm] = reward
        if not entry.closed and None not in entry.rewards.values():
            self._settle(id)
        return entry.time

    def due(self, now: float) -> bool:
        """Whether the window of the oldest waiting decision has passed."""
        if self.window is None or not self.waiting:
            return False
        return self.waiting[next(iter(self.waiting))].time + self.window <= now

    def overdue(self, now: float) -> dict[str, list[str]]:
        """The decisions whose window has passed, each with the arms whose rewards are missing."""
        overdue: dict[str, list[str]] = {}
        for id, entry in self.waiting.items():
            if self.window is None or entry.time + self.window > now:
                break
            overdue[id] = [arm for arm, reward in entry.rewards.items() if reward is None]
        return overdue

    def close(self, ids: Iterable[str]) -> None:
        """Close these decisions: a reward of theirs is late from now on."""
        for id in ids:
            self.waiting[id].closed = True
            self._settle(id)

    def counts(self) -> dict[str, int]:
        """The number of pending rewards of each arm that has any."""
        counts: dict[str, int] = {}
        for entry in self.waiting.values():
            for arm, reward in entry.rewards.items():
                if reward is None:
                    counts[arm] = counts.get(arm, 0) + 1
        return counts

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            part: {id: [e.time, dict(e.rewards), e.closed] for id, e in getattr(self, part).items()}
            for part in ("waiting", "settled")
        }

    @classmethod
    def restored(cls, window: float | None, plain: Mapping[str, Any], arms: Container[str]) -> PendingRewards:
        """The pending rewards that `dump` described, of a bandit with these arms.

        Raises:
            StateError: it is damaged.
        """
        pending = cls(window)
        try:
            for part in ("waiting", "settled"):
                for id, (time, rewards, closed) in plain[part].items():
                    getattr(pending, part)[id] = DecisionRewards(float(time), _rewards(rewards, arms), bool(closed))
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"the saved pending rewards are damaged: {error}") from None
        return pending

    def _settle(self, id: str) -> None:
        self.settled[id] = self.waiting.pop(id)
        if len(self.settled) > REMEMBERED:
            self.settled.popitem(last=False)


def _rewards(plain: Mapping[str, Any], arms: Container[str]) -> dict[str, float | None]:
    rewards = {arm: None if reward is None else validate.number("a reward", reward) for arm, reward in plain.items()}
    for arm in rewards:
        if arm not in arms:
            raise StateError(f"the saved pending rewards name an unknown arm {arm!r}")
    return rewards
