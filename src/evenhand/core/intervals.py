"""Intervals and differences, with what is claimed of them: records that hold plain numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from .dataclasses import dataclass

#: Whether an interval covers what it is of with its confidence: it does; it does under premises that nobody has
#: checked; or a premise is known to be false, or there is no theorem.
Claim: TypeAlias = Literal["holds", "holds_if", "not_claimed"]


@dataclass(frozen=True)
class Interval:
    """An interval, and what is claimed of it.

    Example:
        >>> Interval(-0.02, 0.05, claim="holds_if", premises=("nothing common changed over time",)).to_json()
        {'low': -0.02, 'high': 0.05, 'confidence': 0.95, 'claim': 'holds_if',
         'premises': ['nothing common changed over time']}
    """

    low: float  # lower end
    high: float  # upper end, at least the lower one
    confidence: float = 0.95  # probability with which it covers, in (0, 1)
    claim: Claim = "holds"
    premises: tuple[str, ...] = ()  # under which it holds, or why nothing is claimed: clauses without a full stop

    def to_json(self) -> dict[str, Any]:
        """The interval or difference as plain values.

        Returns:
            Plain JSON values, by the names of the fields.
        """
        return asdict(self) | {"premises": list(self.premises)}


@dataclass(frozen=True)
class Difference:
    """By how much the mean of the first is above that of the second, with its interval.

    Example:
        >>> Difference("tea", "coffee", 0.03, Interval(0.01, 0.05), "larger").to_json()["interval"]["low"]
        0.01
    """

    first: str  # name of what is compared, such as an arm
    second: str  # name of what it is compared with
    value: float  # the estimate; within the interval
    interval: Interval
    verdict: Literal["larger", "smaller", "undecided"]  # of the first
    remarks: tuple[str, ...] = ()  # what else is to be known: clauses without a full stop

    def to_json(self) -> dict[str, Any]:
        """The interval or difference as plain values.

        Returns:
            Plain JSON values, by the names of the fields.
        """
        return asdict(self) | {"interval": self.interval.to_json(), "remarks": list(self.remarks)}
