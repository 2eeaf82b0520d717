"""Plays and rewards over time, and the changes of arms and promises, as an audit shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..api.answers import Answer


@dataclass(frozen=True)
class History(Answer):
    """Counts since the first round, at up to 256 times; the last one is the time of the last decision or reward.

    The difference of two columns says what happened between two times: plays divided by rounds are shares, and
    `rewards` divided by `known` are mean rewards. With more than 200 arms there are fewer times: 128 with 400 arms.
    """

    rounds: tuple[int, ...]
    """rounds decided, at each time"""
    times: tuple[datetime, ...]
    """never decreasing, even where the clock was set back"""
    arms: tuple[str, ...]
    """of the counts below: all, or of more than 200 the hundred with the most plays and the hundred furthest behind"""
    plays: tuple[tuple[int, ...], ...]
    """for each of `arms`, its plays so far at each time"""
    known: tuple[tuple[int, ...], ...]
    """for each of `arms`, its known rewards: those received in time, and zeros for missing rewards where these count as
    zero"""
    rewards: tuple[tuple[float, ...], ...]
    """for each of `arms`, the sum of its known rewards"""


@dataclass(frozen=True)
class ChangeMade(Answer):
    """A change of arms or promises."""

    time: datetime
    """when it was made"""
    round: int
    """the round after which it took effect"""
    text: str
    """what was changed, in a sentence"""
