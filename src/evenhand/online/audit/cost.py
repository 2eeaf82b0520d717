"""What the promises cost, as an audit shows it."""

from __future__ import annotations

from dataclasses import dataclass

from ..api.answers import Answer


@dataclass(frozen=True)
class Cost(Answer):
    """The reward that the promises cost: the largest expected reward without them, less the largest with them.

    Both are computed from the estimates, for the arms and promises of today, as if every arm were always available.
    """

    per_round: float | None
    """expected reward per round, in the unit of the rewards; null where it is not known"""
    low: float | None
    """lower end of the 95% interval of `per_round`, which holds at all times at once and whatever the missing rewards
    are; null where no interval is known"""
    high: float | None
    """upper end"""
    total: float | None
    """`per_round` times the rounds since the promises last changed"""
    note: str
    """what the numbers rest on, or why there are none; can be empty"""
