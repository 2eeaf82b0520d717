"""The book of reports: which decisions still wait for theirs, which have them, and which are too late."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand import validate
from evenhand.errors import EvenhandError, StateError

#: Decisions whose reports are all in, or lost, that are remembered, so that a repeated report is known as one.
REMEMBERED = 10_000


class ReportError(EvenhandError):
    """A report that cannot be taken.

    Attributes:
        status: ``"unknown"`` where there is no such decision, or the arm did not play in it; ``"conflict"`` where
            something else was reported before; ``"refused"`` where the bandit does not take such a report, or not now.

    Example:
        >>> ReportError("there is no decision '7'", "unknown").status
        'unknown'
    """

    def __init__(self, message: str, status: str = "refused") -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Entry:
    """A decision and what has been reported of it."""

    time: float  # seconds, when it was made
    rewards: dict[str, float | None]  # arm played → its reward, None while it is waited for
    gone: bool = False  # whether its window has passed


@dataclass(slots=True)
class Book:
    """What has been reported of which decision.

    Attributes:
        window: seconds after which a missing report is not waited for any more; None for never.
        waiting: decisions that lack a report, oldest first.
        settled: the last decisions that lack none, or whose window has passed.
    """

    window: float | None = None
    waiting: OrderedDict[str, Entry] = field(default_factory=OrderedDict)  # finds its oldest at once, a dict does not
    settled: OrderedDict[str, Entry] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        if self.window is not None:
            self.window = validate.number("window", self.window, low=0.0)
            if self.window == 0.0:
                raise EvenhandError("window must be above 0 seconds, got 0")

    def enter(self, name: str, arms: Iterable[str], time: float) -> None:
        """A new decision; where the clock has jumped back, it is as old as the one before."""
        if self.waiting:
            time = max(time, self.waiting[next(reversed(self.waiting))].time)
        self.waiting[name] = Entry(time, dict.fromkeys(arms))

    def find(self, name: str) -> Entry | None:
        """The entry of a decision; None where there is none, or it was settled long ago."""
        return self.waiting.get(name) or self.settled.get(name)

    def write(self, name: str, arm: str, reward: float) -> None:
        """Take in a report that is accepted or late."""
        entry = self.waiting.get(name) or self.settled[name]
        entry.rewards[arm] = reward
        if not entry.gone and None not in entry.rewards.values():
            self._settle(name)

    def due(self, now: float) -> bool:
        """Whether the window of a waiting decision has passed: of the oldest, if of any."""
        if self.window is None or not self.waiting:
            return False
        return self.waiting[next(iter(self.waiting))].time + self.window <= now

    def expire(self, now: float) -> list[tuple[str, list[str]]]:
        """Close the decisions whose window has passed; returns each with the arms whose reports are missing."""
        closed = []
        while self.due(now):
            name, entry = next(iter(self.waiting.items()))
            entry.gone = True
            closed.append((name, [arm for arm, reward in entry.rewards.items() if reward is None]))
            self._settle(name)
        return closed

    def pending(self) -> dict[str, int]:
        """How many reports each arm waits for."""
        counts: dict[str, int] = {}
        for entry in self.waiting.values():
            for arm, reward in entry.rewards.items():
                if reward is None:
                    counts[arm] = counts.get(arm, 0) + 1
        return counts

    def dump(self) -> dict[str, Any]:
        """The book as plain JSON values."""
        return {
            part: {name: [e.time, dict(e.rewards), e.gone] for name, e in getattr(self, part).items()}
            for part in ("waiting", "settled")
        }

    @classmethod
    def restored(cls, window: float | None, plain: Mapping[str, Any], arms: Container[str]) -> Book:
        """The book that `dump` wrote, of a bandit with these arms.

        Raises:
            StateError: it is damaged.
        """
        book = cls(window)
        try:
            for part in ("waiting", "settled"):
                for name, (time, rewards, gone) in plain[part].items():
                    getattr(book, part)[name] = Entry(float(time), _rewards(rewards, arms), bool(gone))
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"the saved book of reports is damaged: {error}") from None
        return book

    def _settle(self, name: str) -> None:
        self.settled[name] = self.waiting.pop(name)
        if len(self.settled) > REMEMBERED:
            self.settled.popitem(last=False)


def _rewards(plain: Mapping[str, Any], arms: Container[str]) -> dict[str, float | None]:
    rewards = {arm: None if reward is None else validate.number("a reward", reward) for arm, reward in plain.items()}
    for arm in rewards:
        if arm not in arms:
            raise StateError(f"the saved book of reports names an unknown arm {arm!r}")
    return rewards
