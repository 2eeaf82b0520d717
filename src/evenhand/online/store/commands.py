"""What can be asked of an allocation; each command is carried out on its live bandit, and leaves events."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlalchemy import Connection, select

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.online.bandit import Choice
from evenhand.online.book import ReportError
from evenhand.online.store import tables
from evenhand.online.store.errors import Closed, Conflict
from evenhand.online.store.events import change, creation, event_of, strictly, telling_damage
from evenhand.online.store.live import Live

Answer = dict[str, Any]
Rounds = Sequence[Sequence[str] | None]


@dataclass(frozen=True)
class Desk:
    """What the commands of a group work on: an allocation, at a time, in a transaction.

    Attributes:
        live: the allocation.
        now: seconds since the epoch.
        connection: in the transaction.
        keyed: rows of answers that have a key, to be written with the events.
    """

    live: Live
    now: float
    connection: Connection
    keyed: list[dict[str, Any]] = field(default_factory=list)

    def earlier(self, kind: str, round: int) -> list[Mapping[str, Any]]:
        """The bodies of all events of a kind about a round, in order."""
        self.live.flush(self.connection)
        table = tables.events.c
        columns = select(table.sequence, table.time, table.kind, table.round, table.body)
        where = (table.allocation == self.live.id, table.round == round, table.kind == kind)
        return [event_of(row).body for row in self.connection.execute(columns.where(*where).order_by(table.sequence))]


@dataclass(frozen=True)
class Command(ABC):
    """Something asked of an allocation.

    Attributes:
        key: idempotency key: asked again with the same, the answer is the same and nothing is done twice.
    """

    reads: ClassVar[bool] = False  # whether it changes nothing
    key: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.key is not None and not (0 < len(self.key) <= 200 and self.key.isprintable()):
            raise EvenhandError(f"an idempotency key must be 1 to 200 printable characters, got {self.key!r}")

    @abstractmethod
    def run(self, desk: Desk) -> Answer:
        """Do it; nothing has changed where it raises."""

    def digest(self) -> str:
        """What tells this command from others."""
        told = [type(self).__name__, {name: value for name, value in vars(self).items() if name != "key"}]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class Decide(Command):
    """Decide one round or several.

    Args:
        count: how many rounds.
        available: names of the arms that can play in them; None for all that are not retired.
        rounds: in place of both, who can play in each round.
        propensities: whether to tell the chance of every available arm, estimated where there is no closed form.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Decide, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> [one["arms"] for one in store.ask("drinks", Decide(count=2))["decisions"]]
        [['tea'], ['coffee']]
        >>> told = store.ask("drinks", Decide(available=["coffee"], propensities=True))["decisions"][0]
        >>> told["id"], told["chances"]
        ('3', {'coffee': {'probability': 1.0, 'error': 0.0}})
        >>> store.close()
    """

    count: int = 1
    available: Sequence[str] | None = None
    rounds: Rounds | None = None
    propensities: bool = False

    def run(self, desk: Desk) -> Answer:
        """Decide."""
        if desk.live.closed:
            raise Closed(f"allocation {desk.live.name!r} is closed and decides no more; reopen it first")
        asked = self._asked()
        for available in self.rounds or () if len(asked) > 1 else ():  # none is decided if one cannot be
            desk.live.bandit.check_available(available)
        return {"decisions": [self._decided(desk, available) for available in asked]}

    def _asked(self) -> Rounds:
        if self.rounds is None:
            return [self.available] * validate.whole("count", self.count)
        if self.count != 1 or self.available is not None:
            raise EvenhandError("name either the rounds, or their count and who is available in all of them")
        if not self.rounds:
            raise EvenhandError("rounds is empty; name who is available in each, or null for everybody")
        return self.rounds

    def _decided(self, desk: Desk, available: Sequence[str] | None) -> Answer:
        choice = desk.live.bandit.decide(available, desk.now)
        body: Answer = {"arms": list(choice.arms)}
        if available is not None:
            body["available"] = choice.available
        told = _chances(choice) if self.propensities else None
        if choice.sure is not None:
            body["propensities"] = list(choice.sure)
        elif told:
            body["propensities"] = [told[arm]["probability"] for arm in choice.arms]
            body["errors"] = [told[arm]["error"] for arm in choice.arms]
        desk.live.happened("decide", desk.now, choice.round, body)
        return {
            "id": choice.id,
            "round": choice.round,
            "time": desk.now,
            "arms": body["arms"],
            "version": choice.version,
            "propensities": body.get("propensities"),
            "chances": told,
        }


def _chances(choice: Choice) -> dict[str, dict[str, float]]:
    found = choice.propensities
    return {arm: {"probability": chance, "error": found.errors[arm]} for arm, chance in found.chances.items()}


@dataclass(frozen=True)
class Report(Command):
    """Tell what arms earned; each reward has its own answer.

    Args:
        reports: ids of decisions, and the rewards of arms that played in them.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Decide, Report, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Decide())
        >>> for answer in store.ask("drinks", Report([("1", {"tea": 1.0}), ("1", {"coffee": 0.5})]))["answers"]:
        ...     print(answer["arm"], answer["status"], answer["message"])
        tea accepted
        coffee unknown arm 'coffee' did not play in decision 1
        >>> store.close()
    """

    reports: Sequence[tuple[str, Mapping[str, float]]] = ()

    def run(self, desk: Desk) -> Answer:
        """Take the reports in."""
        answers = []
        for decision, rewards in self.reports:
            try:
                found = [(arm, status, "") for arm, status in _observed(desk, decision, rewards).items()]
            except EvenhandError:  # one of them is wrong; the others stand
                found = [_alone(desk, decision, arm, reward) for arm, reward in rewards.items()]
            answers += [
                {"decision": decision, "arm": arm, "status": status, "message": message}
                for arm, status, message in found
            ]
        return {"answers": answers}


def _alone(desk: Desk, decision: str, arm: str, reward: float) -> tuple[str, str, str]:
    """One arm's report: what became of it, and why."""
    try:
        return arm, _observed(desk, decision, {arm: reward})[arm], ""
    except ReportError as error:
        if error.status == "unknown":
            with telling_damage():
                return arm, *_remembered(desk, decision, arm, reward, str(error))
        return arm, "conflict" if error.status == "conflict" else "invalid", str(error)
    except EvenhandError as error:
        return arm, "invalid", str(error)


def _observed(desk: Desk, decision: str, rewards: Mapping[str, float]) -> dict[str, str]:
    """What the bandit says to a report."""
    found = desk.live.bandit.observe(decision, rewards, desk.now)
    fresh = {arm: float(rewards[arm]) for arm, status in found.items() if status != "duplicate"}
    if fresh:
        late = [arm for arm in fresh if found[arm] == "late"]
        desk.live.happened("report", desk.now, int(decision), {"rewards": fresh, "late": late})
    return found


def _remembered(desk: Desk, decision: str, arm: str, reward: float, unknown: str) -> tuple[str, str]:
    """What becomes of a report whose decision the bandit has forgotten: the events know it still."""
    round = int(decision) if decision.isascii() and decision.isdigit() and len(decision) < 19 else 0
    if not 0 < round <= desk.live.bandit.state.round or str(round) != decision:
        return "unknown", unknown
    if arm not in desk.earlier("decide", round)[0]["arms"]:
        return "unknown", f"arm {arm!r} did not play in decision {decision}"
    if desk.live.bandit.by_totals:
        return "invalid", "this allocation learns from totals; it cannot take reports by decision, too"
    for body in desk.earlier("report", round):
        if arm in body["rewards"]:
            known = body["rewards"][arm]
            if known == float(reward):
                return "duplicate", ""
            said = f"decision {decision}, arm {arm!r}: a reward of {known:g} was reported before, now {reward:g}"
            return "conflict", said
    desk.live.bandit.count_late(arm)
    desk.live.happened("report", desk.now, round, {"rewards": {arm: float(reward)}, "late": [arm], "forgotten": True})
    return "late", ""


@dataclass(frozen=True)
class Total(Command):
    """Tell the anonymous sum of the round just decided.

    Args:
        value: the sum.
        round: which round that is, so that a total cannot go to a wrong one; None trusts that it is the last.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Decide, Total, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Decide())
        >>> store.ask("drinks", Total(3.5, round=1))
        {'round': 1, 'status': 'accepted'}
        >>> store.ask("drinks", Total(3.5, round=1))
        {'round': 1, 'status': 'duplicate'}
        >>> store.close()
    """

    value: float
    round: int | None = None

    def run(self, desk: Desk) -> Answer:
        """Take the total in."""
        bandit = desk.live.bandit
        value, last = validate.number("value", self.value), int(bandit.state.round)
        round = last if self.round is None else validate.whole("round", self.round)
        with telling_damage():
            for body in desk.earlier("total", round) if 0 < round <= last else ():
                if body["value"] != value:
                    raise Conflict(f"the total of round {round} was told before: {body['value']:g}, now {value:g}")
                return {"round": round, "status": "duplicate"}
        if round != last:
            raise Conflict(f"a total is of the round just decided, which is {last}, not {round}")
        bandit.observe_total(value)
        desk.live.happened("total", desk.now, round, {"value": value})
        return {"round": round, "status": "accepted"}


@dataclass(frozen=True)
class Change(Command):
    """Change arms or promises, or close the allocation.

    Args:
        change: ``add``, ``retire``, ``bring_back``, ``promise``, ``close`` or ``reopen``.
        values: those of `Bandit.add` and the others, by name.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Change, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> store.ask("drinks", Change("add", {"arm": "mate"}))
        {'version': 1, 'round': 0}
        >>> store.ask("drinks", Change("close"))
        {'version': 1, 'round': 0}
        >>> store.close()
    """

    change: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def run(self, desk: Desk) -> Answer:
        """Change it."""
        live, body = desk.live, _plain({**self.values, "change": self.change})
        if self.change in ("close", "reopen") and live.closed == (self.change == "close"):
            raise Conflict(f"allocation {live.name!r} is {'closed' if live.closed else 'open'} already")
        try:
            change(live.bandit, body)
        except TypeError as error:
            raise EvenhandError(f"{self.change}: {error}") from None
        live.closed = {"close": True, "reopen": False}.get(self.change, live.closed)
        round = int(live.bandit.state.round)
        live.happened("change", desk.now, round, body)
        return {"version": live.bandit.version, "round": round}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they will be read from the event again."""
    try:
        return json.loads(strictly(values))  # type: ignore[no-any-return]
    except (RecursionError, TypeError, ValueError) as error:
        raise EvenhandError(f"the values of a change must be plain JSON values: {error}") from None


@dataclass(frozen=True)
class Audited(Command):
    """What each arm was promised and got.

    Args:
        limit: of the lines; None for all.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Audited, Decide, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Decide(count=3))
        >>> [(line["arm"], line["plays"]) for line in store.ask("drinks", Audited())["lines"]]
        [('tea', 2), ('coffee', 1)]
        >>> store.close()
    """

    reads: ClassVar[bool] = True
    limit: int | None = None

    def run(self, desk: Desk) -> Answer:
        """The audit, as plain JSON values, with the name of the allocation and the sequence of its last event."""
        audit = desk.live.bandit.audit(limit=self.limit, now=desk.now).to_json()
        return {"name": desk.live.name, "sequence": desk.live.sequence, "closed": desk.live.closed} | audit


@dataclass(frozen=True)
class Pulse(Command):
    """How an allocation does, in three numbers: for monitoring.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Decide, Pulse, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Decide(count=3))
        >>> store.ask("drinks", Pulse())
        {'waiting': 3, 'behind': None, 'round': 3}
        >>> store.close()
    """

    reads: ClassVar[bool] = True

    def run(self, desk: Desk) -> Answer:
        """Decisions that wait for a report, the largest deficit (None where nothing is promised), the last round."""
        bandit = desk.live.bandit
        behind = None if bandit.fractions is None else float(bandit.deficits().max())
        return {"waiting": len(bandit.book.waiting), "behind": behind, "round": int(bandit.state.round)}


@dataclass(frozen=True)
class Described(Command):
    """How an allocation is set up.

    Example:
        >>> import tempfile
        >>> from evenhand.online.store import Described, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> told = store.ask("drinks", Described())
        >>> told["algorithm"], told["arms"], told["seed"], told["closed"]
        ('ucb1', ['tea', 'coffee'], 1, False)
        >>> store.close()
    """

    reads: ClassVar[bool] = True

    def run(self, desk: Desk) -> Answer:
        """The set-up, as plain JSON values."""
        live = desk.live
        created = select(tables.allocations.c.created).where(tables.allocations.c.id == live.id)
        return creation(live.bandit) | {
            "name": live.name,
            "retired": sorted(live.bandit.retired),
            "round": int(live.bandit.state.round),
            "version": live.bandit.version,
            "closed": live.closed,
            "created": desk.connection.execute(created).scalar_one(),
        }
