"""The limits of a request: looked at before any work is done for it."""

from __future__ import annotations

from typing import Any

from evenhand.service.http.problems import Refused
from evenhand.service.http.settings import Settings

MAX_UNKNOWN = 20  # unknown fields that are described; more are refused without looking at them
REPORTED = 100  # rewards in a report of a lease for each that another request may have
SMALL = 2**15  # bytes of a body that cannot have too many values, and is read at once


def few(settings: Settings) -> int:
    """The largest number of values of most messages."""
    return 100


def values_of_arms(settings: Settings) -> int:
    """The largest number of values where all arms are named, with up to four parameters by name."""
    return 5 * settings.max_arms + 100


def values_of_rounds(settings: Settings) -> int:
    """The largest number of values where the available arms of rounds are listed."""
    return settings.max_arms + 2 * settings.max_batch + 100


def values_of_rewards(settings: Settings) -> int:
    """The largest number of values of rewards, each of its own decision."""
    return 5 * settings.max_batch + 100


def values_of_reports(settings: Settings) -> int:
    """The largest number of values of a report of a lease, with a position and a value for each reward."""
    return 3 * REPORTED * settings.max_batch + 100


def unchecked(settings: Settings, body: Any) -> None:
    """Refuse nothing."""


def check_values(limit: int, body: bytes) -> None:
    """Refuse a body with more values than its message can need; it is not parsed then.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_values(100, b"[" + b"{}," * 1000 + b"{}]")
        Traceback (most recent call last):
        ...
        evenhand.service.http.problems.Refused: this body may have at most 100 values, got about 2,002
    """
    number = sum(map(body.count, (b",", b"[", b"{")))
    if number > limit:
        raise Refused("too_large", f"this body may have at most {limit:,} values, got about {number:,}")


def check_fields(body: Any, place: str = "body") -> None:
    """Refuse an object with so many fields that most are unknown, without describing each.

    Raises:
        Refused: there are too many.
    """
    if isinstance(body, dict) and len(body) > MAX_UNKNOWN:
        message = f"has {len(body):,} fields; no message has more than {MAX_UNKNOWN}, see /docs"
        raise Refused("invalid", f"{place}: {message}", [(place, message)])


def check_rewards(settings: Settings, body: Any) -> None:
    """Refuse more rewards per request than the server's limit, by whatever number of decisions.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_rewards(Settings(max_batch=2), {"rewards": [{"decision": "1", "rewards": {"a": 1, "b": 0, "c": 1}}]})
        Traceback (most recent call last):
        ...
        evenhand.service.http.problems.Refused: a request may have at most 2 rewards, got 3
    """
    entries = _list(body, "rewards")
    check_batch(settings, "rewards", len(entries))
    objects = [entry for entry in entries if isinstance(entry, dict)]
    check_batch(settings, "rewards", sum(max(1, _size(entry.get("rewards"))) for entry in objects))
    for place, entry in enumerate(objects):
        check_fields(entry, f"body.rewards[{place}]")


def check_report(settings: Settings, body: Any) -> None:
    """Refuse a report of a lease with more rewards or columns than the server's limit.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_report(Settings(max_batch=1), {"played": 3, "columns": [1] * 101})
        Traceback (most recent call last):
        ...
        evenhand.service.http.problems.Refused: a report may have at most 100 columns, got 101
    """
    rewards = body.get("rewards") if isinstance(body, dict) else None
    entries = rewards.values() if isinstance(rewards, dict) else ()
    for what, number in (
        ("rewards", sum(len(_list(entry, "positions")) for entry in entries)),
        ("columns", len(_list(body, "columns"))),
    ):
        if number > REPORTED * settings.max_batch:
            limit = REPORTED * settings.max_batch
            raise Refused("too_large", f"a report may have at most {limit:,} {what}, got {number:,}")


def check_rounds(settings: Settings, body: Any) -> None:
    """Refuse more rounds or available arms per request than the server's limits.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_rounds(Settings(), {"rounds": [None, ["tea"]]})
    """
    check_batch(settings, "decisions", len(_list(body, "rounds")))
    check_arms(settings, len(_list(body, "available")))


def check_new(settings: Settings, body: Any) -> None:
    """Refuse a new allocation with more arms than the server's limit.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_new(Settings(), {"arms": ["tea"]})
    """
    check_arms(settings, len(_list(body, "arms")))


def check_batch(settings: Settings, what: str, number: int) -> None:
    """Refuse more decisions or rewards per request than the server's limit.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_batch(Settings(max_batch=2), "rewards", 3)
        Traceback (most recent call last):
        ...
        evenhand.service.http.problems.Refused: a request may have at most 2 rewards, got 3
    """
    if number > settings.max_batch:
        raise Refused("too_large", f"a request may have at most {settings.max_batch:,} {what}, got {number:,}")


def check_arms(settings: Settings, number: int) -> None:
    """Refuse more arms per allocation than the server's limit.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_arms(Settings(), 10)
    """
    if number > settings.max_arms:
        raise Refused("too_large", f"an allocation may have at most {settings.max_arms:,} arms, got {number:,}")


def check_propensities(settings: Settings, decisions: int, arms: int) -> None:
    """Refuse more propensities per request than an allocation may have arms: each takes space in the answer.

    Raises:
        Refused: there are too many.

    Example:
        >>> check_propensities(Settings(), decisions=1, arms=100_000)
    """
    if decisions * arms > settings.max_arms:
        raise Refused(
            "too_large",
            f"{decisions:,} decisions among {arms:,} arms have {decisions * arms:,} propensities; "
            f"a request may have at most {settings.max_arms:,}",
        )


def _list(body: Any, field: str) -> list[Any]:
    value = body.get(field) if isinstance(body, dict) else None
    return value if isinstance(value, list) else []


def _size(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 1
