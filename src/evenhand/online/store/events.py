"""The events of an allocation, and how a bandit replays them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from evenhand.core.errors import EvenhandError, StateError
from evenhand.online.bandit.arguments import as_plain, from_plain
from evenhand.online.bandit.bandit import Bandit
from evenhand.online.bandit.choice import Choice
from evenhand.online.bandit.saving import DAMAGE
from evenhand.online.store import tables

KINDS = ("create", "decide", "reward", "total", "expire", "change")
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # made once, as events are many
#: The part of an event's body that its replay must reproduce.
REPRODUCED = {"decide": "arms", "reward": "late", "expire": "closed"}


def encode_fast(value: Any) -> str:
    """JSON of strings and finite numbers of 64 bits, as decisions, rewards and their answers have.

    Example:
        >>> encode_fast({"arms": ["tea"], "propensity": [1.0]})
        '{"arms":["tea"],"propensity":[1.0]}'
    """
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()


class Event(NamedTuple):
    """Something that happened to an allocation.

    Attributes:
        sequence: 1, 2, … per allocation.
        time: seconds since the epoch, by the clock of the process that wrote it.
        kind: ``create``, ``decide``, ``reward``, ``total``, ``expire`` or ``change``.
        round: of a decision, reward or total; the round after which a change took effect; else None.
        body: what happened, as plain JSON values.
    """

    sequence: int
    time: float
    kind: str
    round: int | None
    body: Mapping[str, Any]

    def row(self, allocation: int) -> dict[str, Any]:
        """The event as a row of its table."""
        body = encode_fast(self.body) if self.kind in ("decide", "reward") else encode(self.body)
        return {"allocation": allocation, **self._asdict(), "body": body}


#: The query of the events of all allocations, whose rows `event_of` reads.
EVENTS = select(*(tables.events.c[name] for name in Event._fields))


def event_of(row: Any) -> Event:
    """The event of a row of its table.

    Raises:
        StateError: its body is not a JSON object.
    """
    try:
        body = json.loads(row.body)
    except (RecursionError, ValueError) as error:
        raise StateError(f"event {row.sequence} ({row.kind}) is damaged: {error}") from None
    if not isinstance(body, dict):
        raise StateError(f"event {row.sequence} ({row.kind}) is damaged: its body is not a JSON object")
    return Event(row.sequence, row.time, row.kind, row.round, body)


@contextmanager
def damage_as_state_error() -> Iterator[None]:
    """Raise a `StateError` for any error that damaged events cause."""
    try:
        yield
    except EvenhandError:
        raise
    except DAMAGE as error:
        raise StateError(f"the events are damaged: {error!r}") from None


def settings_of(bandit: Bandit) -> dict[str, Any]:
    """The settings of a bandit: the body of the event that creates its allocation."""
    return {
        "algorithm": as_plain("algorithm", bandit.algorithm),
        "arms": list(bandit.names),
        "plays": bandit.plays,
        "seed": bandit.seed,
        "window": bandit.pending.window,
        "missing": bandit.missing,
        "rewards": list(bandit.reward_range),
        "parameters": {name: as_plain(name, value) for name, value in bandit.parameters.items()},
    }


def bandit_from(event: Event) -> Bandit:
    """The bandit that a first event creates.

    Raises:
        StateError: the event does not create one.
    """
    if event.kind != "create":
        raise StateError(f"event {event.sequence} ({event.kind}) does not create an allocation")
    settings = dict(event.body)
    try:
        parameters = {name: from_plain(value) for name, value in settings.pop("parameters").items()}
        return Bandit(settings.pop("arms"), from_plain(settings.pop("algorithm")), **settings, **parameters)
    except DAMAGE as error:
        raise StateError(f"event {event.sequence} ({event.kind}) does not create an allocation: {error}") from None


def replay(bandit: Bandit, event: Event, closed: bool) -> bool:
    """Apply an event to a bandit again, and check that the result is the recorded one.

    Args:
        bandit: after the previous event.
        event: the next one.
        closed: whether the allocation was closed before it.

    Returns:
        Whether it is closed after it.

    Raises:
        StateError: the result differs, or the event is damaged.
    """
    try:
        result = _apply(bandit, event)
        recorded = event.body.get(REPRODUCED.get(event.kind, ""))
    except DAMAGE as error:
        raise StateError(f"event {event.sequence} ({event.kind}) cannot be replayed: {error}") from None
    if result != recorded:
        raise StateError(
            f"event {event.sequence} ({event.kind}) records {recorded}, but its replay results in {result}"
        )
    if event.kind == "change":
        return closed_after(event.body["change"], closed)
    return closed


def _apply(bandit: Bandit, event: Event) -> Any:
    body = event.body
    match event.kind:
        case "decide":
            choice = bandit.decide(body.get("available"), event.time)
            _check_round(event, choice.round)
            _check_propensity(choice, body.get("propensity"))
            return list(choice.arms)
        case "reward" if "forgotten" in body:
            for arm in body["rewards"]:
                bandit.count_late(arm)
            return list(body["rewards"])
        case "reward":
            statuses = bandit.observe(str(event.round), body["rewards"], event.time)
            return [arm for arm, status in statuses.items() if status == "late"]
        case "total":
            _check_round(event, bandit.state.round)
            return bandit.observe_total(body["value"])
        case "expire":
            return bandit.expire(event.time)
        case "change":
            _check_round(event, bandit.state.round)
            return apply_change(bandit, body)
    raise StateError(f"there is no kind of event {event.kind!r}")


def _check_round(event: Event, round: int) -> None:
    if event.round != round:
        raise StateError(f"it is of round {event.round}, which should be {round}")


def _check_propensity(choice: Choice, recorded: Sequence[float] | None) -> None:
    """Exact propensities must be reproduced, except for the last digits, in which computers differ."""
    exact = choice.propensity
    if exact is None:
        return
    if recorded is None or len(recorded) != len(exact) or not all(map(_close, recorded, exact)):
        raise StateError(f"it records the propensities {recorded}, but they are {list(exact)}")


def _close(recorded: float, exact: float) -> bool:
    return math.isclose(recorded, exact, rel_tol=1e-6, abs_tol=1e-9)


def closed_after(change: str, closed: bool) -> bool:
    """Whether an allocation is closed after a change, given whether it was closed before."""
    return {"close": True, "reopen": False}.get(change, closed)


def apply_change(bandit: Bandit, values: Mapping[str, Any]) -> None:
    """Apply a change of arms or promises to a bandit; closing and reopening do not concern it."""
    arguments = {name: value for name, value in values.items() if name != "change"}
    match values["change"]:
        case "add":
            bandit.add(**arguments)
        case "retire":
            bandit.retire(**arguments)
        case "bring_back":
            bandit.bring_back(**arguments)
        case "promise":
            bandit.promise(**arguments)
        case "close" | "reopen" if not arguments:
            pass
        case unknown:
            raise EvenhandError(f"there is no change {unknown!r} with {', '.join(arguments) or 'no values'}")
