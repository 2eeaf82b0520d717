"""What can happen to an allocation, as events; and how a bandit goes through them again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson

from evenhand.errors import EvenhandError, StateError
from evenhand.online.bandit import DAMAGE, Bandit, Choice
from evenhand.online.given import as_plain, from_plain

KINDS = ("create", "decide", "report", "total", "expire", "change")
strictly = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # made once, as events are many


def quickly(value: Any) -> str:
    """JSON of what holds only texts and finite numbers of 64 bits, as decisions, reports and their answers do.

    Example:
        >>> quickly({"arms": ["tea"], "propensities": [1.0]})
        '{"arms":["tea"],"propensities":[1.0]}'
    """
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()


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
            "body": quickly(self.body) if self.kind in ("decide", "report") else strictly(self.body),
        }


def event_of(row: Any) -> Event:
    """The event in a row of its table.

    Raises:
        StateError: its body is no JSON object.
    """
    try:
        body = json.loads(row.body)
    except (RecursionError, ValueError) as error:
        raise StateError(f"event {row.sequence} ({row.kind}) is damaged: {error}") from None
    if not isinstance(body, dict):
        raise StateError(f"event {row.sequence} ({row.kind}) is damaged: its body is no JSON object")
    return Event(row.sequence, row.time, row.kind, row.round, body)


@contextmanager
def telling_damage() -> Iterator[None]:
    """Whatever damaged events lead to is told as such."""
    try:
        yield
    except EvenhandError:
        raise
    except DAMAGE as error:
        raise StateError(f"the events are damaged: {error!r}") from None


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
    if event.kind != "create":
        raise StateError(f"event {event.sequence} ({event.kind}) does not make an allocation")
    options = dict(event.body)
    try:
        parameters = {name: from_plain(value) for name, value in options.pop("parameters").items()}
        return Bandit(options.pop("arms"), options.pop("algorithm"), **options, **parameters)
    except DAMAGE as error:
        raise StateError(f"event {event.sequence} ({event.kind}) does not make an allocation: {error}") from None


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
    except DAMAGE as error:
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
            choice = bandit.decide(body.get("available"), event.time)
            _check_round(event, choice.round)
            _check_chances(choice, body.get("propensities"))
            return list(choice.arms)
        case "report" if "forgotten" in body:
            for arm in body["rewards"]:
                bandit.count_late(arm)
            return list(body["rewards"])
        case "report":
            found = bandit.observe(str(event.round), body["rewards"], event.time)
            return [arm for arm, status in found.items() if status == "late"]
        case "total":
            _check_round(event, bandit.state.round)
            return bandit.observe_total(body["value"])
        case "expire":
            return bandit.expire(event.time)
        case "change":
            _check_round(event, bandit.state.round)
            return change(bandit, body)
    raise StateError("there is no such kind of event")


def _check_round(event: Event, round: int) -> None:
    if event.round != round:
        raise StateError(f"it is of round {event.round}, which should be {round}")


def _check_chances(choice: Choice, told: Sequence[float] | None) -> None:
    """Exact propensities must come out again, but for the last digits, in which computers differ."""
    if choice.sure is None:
        return
    if told is None or len(told) != len(choice.sure) or not all(map(_near, told, choice.sure)):
        raise StateError(f"it says that the chances were {told}, but they are {list(choice.sure)}")


def _near(told: float, chance: float) -> bool:
    return math.isclose(told, chance, rel_tol=1e-6, abs_tol=1e-9)


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
