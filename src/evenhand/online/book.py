"""The book of reports: which decisions still wait for theirs, which have them, and which are too late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand import validate
from evenhand.errors import EvenhandError, StateError

#: Decisions whose reports are all in, or lost, that are remembered, so that a repeated report is known as one.
REMEMBERED = 10_000
STATUSES = ("accepted", "duplicate", "conflict", "unknown", "late")


class ReportError(EvenhandError):
    """A report that cannot be taken: of an unknown decision, or one that contradicts an earlier report."""


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
    waiting: dict[str, Entry] = field(default_factory=dict)
    settled: dict[str, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.window is not None and validate.number("window", self.window, low=0.0) == 0.0:
            raise EvenhandError("window must be above 0 seconds, got 0")

    def enter(self, name: str, arms: list[str], time: float) -> None:
        """A new decision."""
        self.waiting[name] = Entry(time, dict.fromkeys(arms))

    def judge(self, name: str, arm: str, reward: float) -> str:
        """What a report would be: one of `STATUSES`."""
        entry = self.waiting.get(name) or self.settled.get(name)
        if entry is None or arm not in entry.rewards:
            return "unknown"
        known = entry.rewards[arm]
        if known is not None:
            return "duplicate" if known == reward else "conflict"
        return "late" if entry.gone else "accepted"

    def write(self, name: str, arm: str, reward: float) -> float:
        """Take in a report that is accepted or late; returns when its decision was made."""
        entry = self.waiting.get(name) or self.settled[name]
        entry.rewards[arm] = reward
        if not entry.gone and None not in entry.rewards.values():
            self._settle(name)
        return entry.time

    def expire(self, now: float) -> list[tuple[str, list[str]]]:
        """Close the decisions whose window has passed; returns each with the arms whose reports are missing."""
        if self.window is None:
            return []
        closed = []
        for name, entry in list(self.waiting.items()):
            if entry.time + self.window > now:
                break  # the others are younger
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
            part: {name: [e.time, e.rewards, e.gone] for name, e in getattr(self, part).items()}
            for part in ("waiting", "settled")
        }

    @classmethod
    def restored(cls, window: float | None, plain: Mapping[str, Any]) -> Book:
        """The book that `dump` wrote.

        Raises:
            StateError: it is damaged.
        """
        try:
            parts = {
                part: {str(name): Entry(float(t), dict(r), bool(g)) for name, (t, r, g) in plain[part].items()}
                for part in ("waiting", "settled")
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"the saved book of reports is damaged: {error}") from None
        return cls(window, **parts)

    def _settle(self, name: str) -> None:
        self.settled[name] = self.waiting.pop(name)
        if len(self.settled) > REMEMBERED:
            del self.settled[next(iter(self.settled))]
