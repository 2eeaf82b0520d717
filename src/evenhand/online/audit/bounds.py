"""The line of an audit for a group of arms, or for the cap of an arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..api.answers import Answer


@dataclass(frozen=True)
class BoundLine(Answer):
    """What a group of arms was promised and got, or an arm that has a cap."""

    name: str
    """of the group or arm"""
    kind: Literal["group", "arm"]
    """which of the two"""
    arms: tuple[str, ...]
    """the arms of the group, or the arm itself"""
    at_least: float
    """promised plays of these arms per round"""
    at_most: float | None
    """largest number of plays per round; null for no limit"""
    since: int
    """the round after which that promise began"""
    rounds: int
    """rounds since then"""
    plays: int
    """plays of these arms since then"""
    share: float | None
    """plays per round since then; null before the first"""
    owed: float
    """plays behind the promise; negative where ahead"""
    excess: float | None
    """plays above the limit; negative below it; null for no limit"""
