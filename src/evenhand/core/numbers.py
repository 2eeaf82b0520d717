"""Numbers as people read and write them."""

from __future__ import annotations

from .errors import ConfigurationError, number_hint


def amount(value: float, digits: int = 3) -> str:
    """A number of plays or reward with some digits, a large one whole, as 0.123, 12.3 and 1,234."""
    return f"{value:.{digits}g}" if abs(value) < 10**digits - 0.5 else f"{value:,.0f}"


def percent(share: float, digits: int = 3) -> str:
    """A share as a percentage, as 0.1 is 10%."""
    return f"{100.0 * share:.{digits}g}%"


def ranged(low: float | None, high: float | None, digits: int = 3) -> str:
    """The ends of an interval or of a range of runs; nothing where there is none."""
    return "" if low is None or high is None else f"{amount(low, digits)} to {amount(high, digits)}"


def shares_of(text: str, name: str) -> list[float]:
    """Shares as they are written, with commas between them: 0.1 or 10%."""
    return [_share(part.strip(), name) for part in text.split(",")]


def _share(text: str, name: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        hint = "" if text.endswith("%") else number_hint(text, share=True)
        raise ConfigurationError(f"{name} must be a share from 0 to 1, such as 0.1 or 10%, got {text!r}{hint}")
    return share
