"""What becomes of a claim of a paper, by the numbers that it stands on.

A number is an estimate with its 95% interval and the range that the claim gives it. It agrees if its whole interval
lies within the range, and contradicts if the whole interval surely lies outside. There is one range for both, so that
no number can do both. What is claimed of T → ∞ is supported by a horizon where it can be seen, and never contradicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE, mean_and_reach, ratio_and_reach, student

CONFIRMED, PARTLY, CONTRADICTED, UNDECIDED = "confirmed", "holds in part", "contradicted", "undecided"
UNSEEN, TOO_SMALL, NOT_RUN = "not visible at this horizon", "too small to decide", "not runnable here"
#: Verdicts, in the order in which they are counted.
STATUSES = (CONFIRMED, PARTLY, CONTRADICTED, UNDECIDED, UNSEEN, TOO_SMALL, NOT_RUN)
#: What a number says of its claim.
AGREES, CONTRADICTS, OPEN, HIDDEN = "agrees", "contradicts", "undecided", "not visible"
ERROR = 0.05  # chance that a true claim is contradicted

Interval = tuple[float, float, float]  # an estimate, the lower and the upper end


@dataclass(frozen=True)
class Finding:
    """A number that a claim stands or falls with."""

    text: str  # what was measured
    effect: float  # its estimate
    low: float  # lower end of the 95% confidence interval over the lanes
    high: float  # upper end
    lanes: int  # independent replications behind it
    expected: str  # what the claim says about the number, in words
    claimed: tuple[float, float]  # the same as a range
    touching: bool = True  # whether the ends of the range are in it
    limit: bool = False  # whether it is claimed of T → ∞, so that no horizon contradicts it
    # In [0, 1], the chance of an estimate as far from what is claimed, or farther, were the claim true; 1 where the
    # estimate itself agrees.
    p_value: float = 1.0
    # About how many lanes would decide it, were the estimate the truth; None where it is decided, or lanes do not
    # decide it.
    lanes_needed: int | None = None

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Finding:
        """A number that was written as JSON, where null stands for what has no end."""
        known = {field.name: kept[field.name] for field in fields(cls)}
        least, most = kept["claimed"]
        ends = {"low": -math.inf, "high": math.inf, "effect": math.nan}
        known |= {name: value for name, value in ends.items() if kept[name] is None}
        return cls(**known | {"claimed": (-math.inf if least is None else least, math.inf if most is None else most)})

    @property
    def holds(self) -> bool:
        """Whether the whole interval agrees with what is claimed."""
        least, most = self.claimed
        inside = least <= self.low and self.high <= most
        ends = {end for end in self.claimed if math.isfinite(end)}
        return inside and (self.touching or not ends & {self.low, self.high})

    def mark(self, p_value: float) -> str:
        """What it says of its claim, with a p-value that is corrected for the numbers beside it."""
        if self.holds:
            return AGREES
        return OPEN if p_value > ERROR else HIDDEN if self.limit else CONTRADICTS


@dataclass(frozen=True)
class ClaimVerdict:
    """What became of a claim.

    It is confirmed if every number agrees. If some number surely does not, it is contradicted, or holds in part where
    others agree. The more numbers a claim stands on, the more probably one of them is off by chance; so p-values are
    corrected by Holm's method, and a true claim is contradicted with a chance of at most 5% however many they are. To
    be confirmed all of its numbers must agree, which needs no correction.
    """

    sentence: str  # what was to be shown
    source: str  # where it is claimed
    reading: str  # how words that leave room are read
    findings: tuple[Finding, ...]  # the numbers; none if it could not be run
    missing: str = ""  # why it could not be run; empty if it could
    quick: bool = False  # whether it was run in a reduced size, which contradicts nothing

    @classmethod
    def of(cls, kept: Mapping[str, Any], quick: bool = False) -> ClaimVerdict:
        """The verdict that `as_dict` wrote, judged again."""
        findings = tuple(map(Finding.of, kept["findings"]))
        return cls(kept["sentence"], kept["source"], kept["reading"], findings, kept["missing"], quick)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """What each number says: `AGREES`, `CONTRADICTS`, `OPEN` or `HIDDEN`."""
        corrected = holm([finding.p_value for finding in self.findings])
        return tuple(finding.mark(p_value) for finding, p_value in zip(self.findings, corrected, strict=True))

    @property
    def status(self) -> str:
        """One of `STATUSES`."""
        if self.missing:
            return NOT_RUN
        if set(self.marks) == {AGREES}:
            return CONFIRMED
        if self.quick:
            return TOO_SMALL
        if CONTRADICTS in self.marks:
            return PARTLY if AGREES in self.marks else CONTRADICTED
        return UNSEEN if HIDDEN in self.marks else UNDECIDED

    @property
    def words(self) -> str:
        """The status; where the claim holds in part, with how many of its numbers agree."""
        part = f" ({self.marks.count(AGREES)} of {len(self.marks)} numbers)" if self.status == PARTLY else ""
        return self.status + part

    @property
    def lanes_needed(self) -> int | None:
        """About how many lanes would decide an undecided claim; None where it is decided, or lanes do not decide it."""
        needed = [finding.lanes_needed for finding, mark in zip(self.findings, self.marks, strict=True) if mark == OPEN]
        known = [lanes for lanes in needed if lanes is not None]
        return max(known) if self.status == UNDECIDED and len(known) == len(needed) else None

    @property
    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        marked = zip(self.findings, self.marks, strict=True)
        names = ("sentence", "source", "reading", "status", "words", "missing", "lanes_needed")
        return {name: getattr(self, name) for name in names} | {
            "findings": [asdict(finding) | {"holds": finding.holds, "mark": mark} for finding, mark in marked]
        }


def judged(
    text: str,
    measured: Interval,
    lanes: int,
    expected: str,
    claimed: tuple[float, float],
    *,
    touching: bool = True,
    limit: bool = False,
) -> Finding:
    """A number, its estimate and the ends of its interval, held against the range that is claimed for it."""
    found = Finding(text, *measured, lanes, expected, claimed, touching, limit)
    if found.holds:
        return found
    p_value = 0.0 if found.low == found.high else outside(measured, lanes, claimed)
    needed = lanes_to_decide(measured, lanes, claimed) if p_value > ERROR else None
    return replace(found, p_value=p_value, lanes_needed=needed)


def computed(text: str, value: float, expected: str, claimed: tuple[float, float], lanes: int = 0) -> Finding:
    """A number without chance in it, which is to lie within a range, its ends excluded."""
    return judged(text, (value, value, value), lanes, expected, claimed, touching=False)


def interval(values: Any, confidence: float = CONFIDENCE) -> Interval:
    """Mean, and the ends of its confidence interval; a single value has none."""
    return _open(*mean_and_reach(np.ravel(np.asarray(values, dtype=float)), confidence))


def ratio(over: Array, under: Array) -> Interval:
    """The ratio of two means over the same lanes, and its confidence interval by linearisation."""
    return _open(*ratio_and_reach(over, under))


def widened(measured: Interval, lanes: int, confidence: float) -> Interval:
    """A Student interval of 95% at another confidence."""
    mean, low, high = measured
    if lanes < 2:
        return measured
    part = student(lanes, confidence) / student(lanes)
    return mean, mean - part * (mean - low), mean + part * (high - mean)


def outside(measured: Interval, lanes: int, claimed: tuple[float, float]) -> float:
    """The p-value of an estimate outside of what is claimed: Student's test, two-sided; 1 where it lies inside."""
    from scipy.special import stdtr

    mean, low, high = measured
    beyond = max(claimed[0] - mean, mean - claimed[1])
    half = (high - low) / 2.0
    if not beyond > 0.0 or not math.isfinite(half) or lanes < 2:
        return 1.0
    if half == 0.0:
        return 0.0
    return round(2.0 * float(stdtr(lanes - 1, -beyond * student(lanes) / half)), 12)


def picked(finding: Finding, number: int) -> Finding:
    """A finding that was picked as the worst of so many: its p-value is multiplied by their number (Bonferroni)."""
    return replace(finding, p_value=min(1.0, number * finding.p_value))


def smallest_level(contradicts: Callable[[float], bool]) -> float:
    """The p-value of what is decided by intervals: the smallest level at which they contradict a claim."""
    low, high = 1e-12, 1.0
    if contradicts(low):
        return low
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if contradicts(middle) else (middle, high)
    return high


def lanes_to_decide(measured: Interval, lanes: int, limits: Sequence[float]) -> int | None:
    """About how many lanes make an interval so narrow that it reaches none of the limits, were the estimate the truth.

    ``n (h/δ)²`` for half its width h and the distance δ of the estimate from the nearest limit.
    """
    mean, low, high = measured
    half = (high - low) / 2.0
    distance = min(abs(mean - limit) for limit in limits)
    if not math.isfinite(half) or not 0.0 < distance < math.inf:
        return None
    return math.ceil(lanes * (half / distance) ** 2)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method.

    Sorted, the k-th of n is multiplied by ``n + 1 − k``, and is at least the one before and at most 1.

    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def _open(mean: Any, reach: Any) -> Interval:
    """An interval; without ends where they are unknown, as a single lane proves nothing."""
    if not math.isfinite(reach):
        return float(mean), -math.inf, math.inf
    return float(mean), float(mean - reach), float(mean + reach)
