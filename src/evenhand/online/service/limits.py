"""How much may be asked at once."""

from __future__ import annotations

from evenhand.online.service.faults import Refused
from evenhand.online.service.settings import Settings


def check_batch(settings: Settings, what: str, number: int) -> None:
    """Refuse more decisions or reports in a request than a server takes.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_batch(Settings(max_batch=2), "reports", 3)
        Traceback (most recent call last):
        ...
        evenhand.online.service.faults.Refused: a request may have 2 reports at most, not 3
    """
    if number > settings.max_batch:
        told = f"a request may have {settings.max_batch:,} {what} at most, not {number:,}"
        raise Refused("too_large", told)


def check_arms(settings: Settings, number: int) -> None:
    """Refuse more arms than a server takes.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_arms(Settings(), 10)
    """
    if number > settings.max_arms:
        raise Refused("too_large", f"an allocation may have {settings.max_arms:,} arms at most, not {number:,}")


def check_chances(settings: Settings, decisions: int, arms: int) -> None:
    """Refuse to tell more chances than there may be arms: each takes place in the answer, and time to estimate.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_chances(Settings(), decisions=1, arms=100_000)
    """
    if decisions * arms > settings.max_arms:
        told = f"{decisions:,} decisions among {arms:,} arms have {decisions * arms:,} chances"
        raise Refused("too_large", f"{told}; a request may ask for {settings.max_arms:,} at most")
