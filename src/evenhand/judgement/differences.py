"""What is said of differences: the verdict, and one sentence with what is claimed and under which premises."""

from __future__ import annotations

import math
from typing import Literal

from evenhand.core.errors import number_of
from evenhand.core.intervals import Difference, Interval
from evenhand.judgement.sentences import listed
from evenhand.messages.words import Words

#: The premise of a difference of two sequences, as a clause after "if".
STEADY = "nothing common changed over time"


def verdict(low: float, high: float) -> Literal["larger", "smaller", "undecided"]:
    """What an interval of a difference says of the first."""
    return "larger" if low > 0.0 else "smaller" if high < 0.0 else "undecided"


def compared(first: str, second: str, value: float, interval: Interval, remarks: tuple[str, ...] = ()) -> Difference:
    """A difference with its verdict; nothing is decided where nothing is claimed, and the value is in the interval."""
    found = "undecided" if interval.claim == "not_claimed" else verdict(interval.low, interval.high)
    return Difference(first, second, min(max(value, interval.low), interval.high), interval, found, remarks)


def sentence(found: Difference, words: Words = Words()) -> str:  # noqa: B008
    """A difference in plain words and the unit of rewards, with its claim and remarks, without the full stop."""
    interval = found.interval
    says = {
        "larger": f"{found.first} earns more than {found.second}",
        "smaller": f"{found.first} earns less than {found.second}",
        "undecided": f"whether {found.first} or {found.second} earns more is undecided",
    }[found.verdict]
    if math.isnan(found.value):
        return says + _premises(interval)
    sure = "for which no interval is claimed"
    if interval.claim != "not_claimed":
        watched = " however often one looks" if interval.claim == "holds" else ""
        ends = f"{interval.low:.3g} and {words.amount(f'{interval.high:.3g}')}"
        sure = f"between {ends}{watched} ({100.0 * interval.confidence:.4g}%)"
    amount = f"{words.amount(f'{found.value:.3g}')} per play"
    return "; ".join([f"{says}: {amount}, {sure}{_premises(interval)}", *found.remarks])


def worst(unknown: int, assume: str) -> str:
    """That unknown rewards count as the worst, and what would change that, as a clause."""
    count = number_of(unknown, "reward that is not known in time counts", "rewards that are not known in time count")
    return f"{count} as the worst, unless one assumes {assume!r} (assume, --assume)"


def claimed(interval: Interval) -> str:
    """What is claimed of an interval, for a table."""
    return ("not claimed" if interval.claim == "not_claimed" else "yes") + _premises(interval)


def _premises(interval: Interval) -> str:
    """Under which premises it holds, or why nothing is claimed."""
    word = "since" if interval.claim == "not_claimed" else "if"
    return f", {word} {listed(interval.premises)}" if interval.premises else ""
