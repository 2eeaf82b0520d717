"""The deficits over time, as an audit shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..api.answers import Answer


@dataclass(frozen=True)
class DeficitExcerpt(Answer):
    """The largest deficits between evenly spaced rounds, of the arms that were furthest behind."""

    rounds: tuple[int, ...]
    """the last round of each interval"""
    times: tuple[datetime, ...]
    """when those rounds were decided"""
    arms: tuple[str, ...]
    """those with the largest worst deficit, at most 20; none where there are more than 200 arms in all"""
    deficits: tuple[tuple[float | None, ...], ...]
    """for each of `arms`, its largest deficit at the end of any round of each interval, in plays; null where it had no
    promise"""
    largest: tuple[float | None, ...]
    """the same over all arms; null where no arm had a promise"""
