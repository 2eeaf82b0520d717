"""What can happen to an allocation, as events; and how a bandit goes through them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from evenhand.errors import EvenhandError, StateError
from evenhand.online.bandit import Bandit
from evenhand.online.given import as_plain, from_plain

KINDS = ("create", "decide", "report", "total", "expire", "change")
as_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # made once, as events are many


class Event(NamedTuple):
    """Something that happened to an allocation.

    Attributes:
        sequence: 1, 2, … in each allocation.
        time: seconds since the epoch, by the clock of the server that wrote it.
        kind: ``create``, ``decide``, ``report``, ``total``, ``expire`` or ``change``.
        round: that a decision made, that a report or a total is about, or after which a change came; else None.
        body: what happened, as plain JSON values.
    """

    sequence: int
    time: float
    kind: str
    round: int | None
    body: Mapping[str, Any]

    def row(self, allocation: int) -> dict[str, Any]:
        """The event as a row of its table."""
        return {
            "allocation": allocation,
            "sequence": self.sequence,
            "time": self.time,
            "kind": self.kind,
            "round": self.round,
            "body": as_json(self.body),
        }


def creation(bandit: Bandit) -> dict[str, Any]:
    """The body of the event that makes an allocation with this bandit."""
    return {
        "algorithm": bandit.algorithm,
        "arms": list(bandit.names),
        "plays": bandit.plays,
        "seed": bandit.seed,
        "window": bandit.book.window,
        "missing": bandit.missing,
        "rewards": None if bandit.range is None else list(bandit.range),
        "parameters": {name: as_plain(name, value) for name, value in bandit.parameters.items()},
    }


def begun(event: Event) -> Bandit:
    """The bandit that a first event made.

    Raises:
        StateError: it is no first event.
    """
    options = dict(event.body)
    try:
        parameters = {name: from_plain(value) for name, value in options.pop("parameters").items()}
        return Bandit(options.pop("arms"), options.pop("algorithm"), **options, **parameters)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"event {event.sequence} does not make an allocation: {error}") from None


def replay(bandit: Bandit, event: Event, closed: bool) -> bool:
    """Let a bandit go through an event again, and see that the same comes of it.

    Args:
        bandit: after the event before.
        event: what happened next.
        closed: whether the allocation was closed before it.

    Returns:
        Whether it is closed after it.

    Raises:
        StateError: something else comes of it, or the event is damaged.
    """
    try:
        came = _again(bandit, event)
        wanted = event.body.get(_TELLING.get(event.kind, ""))
    except (AttributeError, EvenhandError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"event {event.sequence} ({event.kind}) cannot be replayed: {error}") from None
    if came != wanted:
        raise StateError(f"event {event.sequence} ({event.kind}) says {wanted}, but replayed it comes to {came}")
    if event.kind == "change":
        return {"close": True, "reopen": False}.get(event.body["change"], closed)
    return closed


#: The part of an event's body that must come out again.
_TELLING = {"decide": "arms", "report": "late", "expire": "closed"}


def _again(bandit: Bandit, event: Event) -> Any:
    body = event.body
    match event.kind:
        case "decide":
            return list(bandit.decide(body.get("available"), event.time).arms)
        case "report" if "forgotten" in body:
            for arm in body["rewards"]:
                bandit.count_late(arm)
            return list(body["rewards"])
        case "report":
            found = bandit.observe(str(event.round), body["rewards"], event.time)
            return [arm for arm, status in found.items() if status == "late"]
        case "total":
            return bandit.observe_total(body["value"])
        case "expire":
            return bandit.expire(event.time)
        case "change":
            return change(bandit, body)
    raise StateError("there is no such kind of event")


def change(bandit: Bandit, values: Mapping[str, Any]) -> None:
    """Carry out a change of arms or promises; closing and opening do not concern the bandit."""
    given = {name: value for name, value in values.items() if name != "change"}
    match values["change"]:
        case "add":
            bandit.add(**given)
        case "retire":
            bandit.retire(**given)
        case "bring_back":
            bandit.bring_back(**given)
        case "promise":
            bandit.promise(**given)
        case "close" | "reopen" if not given:
            pass
        case unknown:
            raise EvenhandError(f"there is no change {unknown!r} with {', '.join(given) or 'no values'}")
