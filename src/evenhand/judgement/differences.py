"""What is said of differences: the verdict, and one sentence with what is claimed and under which premises."""

from __future__ import annotations

from typing import Literal

from evenhand.core.intervals import Difference, Interval
from evenhand.judgement.sentences import listed

#: The premise of a difference of two sequences, as a clause after "if".
STEADY = "nothing common changed over time"


def verdict(low: float, high: float) -> Literal["larger", "smaller", "undecided"]:
    """What an interval of a difference says of the first.

    Example:
        >>> verdict(0.01, 0.2), verdict(-0.2, 0.1)
        ('larger', 'undecided')
    """
    return "larger" if low > 0.0 else "smaller" if high < 0.0 else "undecided"


def compared(first: str, second: str, value: float, interval: Interval) -> Difference:
    """A difference with its verdict; nothing is decided where nothing is claimed, and the value is in the interval."""
    found = "undecided" if interval.claim == "not_claimed" else verdict(interval.low, interval.high)
    return Difference(first, second, min(max(value, interval.low), interval.high), interval, found)


def sentence(found: Difference) -> str:
    """A difference in plain words, with its claim, without the full stop.

    Example:
        >>> sentence(compared("tea", "coffee", 0.03, Interval(0.01, 0.05)))
        'tea earns more than coffee: 0.03 per play, between 0.01 and 0.05 however often one looks (95%)'
        >>> mended = Interval(-0.01, 0.05, claim="holds_if", premises=("nothing common changed over time",))
        >>> sentence(compared("tea", "coffee", 0.03, mended))
        'whether tea or coffee earns more is undecided: 0.03 per play, between -0.01 and 0.05 (95%), if nothing common
         changed over time'
    """
    interval = found.interval
    says = {
        "larger": f"{found.first} earns more than {found.second}",
        "smaller": f"{found.first} earns less than {found.second}",
        "undecided": f"whether {found.first} or {found.second} earns more is undecided",
    }[found.verdict]
    if interval.claim == "not_claimed":
        return f"{says}: {found.value:.3g} per play, for which no interval is claimed{_premises(interval)}"
    sure = f"between {interval.low:.3g} and {interval.high:.3g}"
    level = f"({100.0 * interval.confidence:.4g}%)"
    watched = " however often one looks" if interval.claim == "holds" else ""
    return f"{says}: {found.value:.3g} per play, {sure}{watched} {level}{_premises(interval)}"


def claimed(interval: Interval) -> str:
    """What is claimed of an interval, for a table.

    Example:
        >>> claimed(Interval(0.0, 0.1, claim="holds_if", premises=("nothing common changed over time",)))
        'yes, if nothing common changed over time'
    """
    return ("not claimed" if interval.claim == "not_claimed" else "yes") + _premises(interval)


def _premises(interval: Interval) -> str:
    """Under which premises it holds, or why nothing is claimed."""
    word = "since" if interval.claim == "not_claimed" else "if"
    return f", {word} {listed(interval.premises)}" if interval.premises else ""
