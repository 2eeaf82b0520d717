"""Clients that ask a service at the same time, and what its events must say about all answers that they received."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, Self

import httpx
from sqlalchemy import Row, create_engine, make_url, text

from evenhand.bandit import Bandit
from evenhand.messages.changes import change_of
from evenhand.service.store import Store
from tests.service.databases import PATIENCE, until
from tests.service.running import Server
from tests.service.store.kit import verified

REPEATED = 0.2  # share of the answered requests that are sent again, as if the answer had been lost
KEYLESS = 0.3  # share of the requests for decisions that come without an idempotency key
LOOKS = 0.2  # chance that a client reads the audit, too


@dataclass
class Received:
    """The answers that the clients received.

    Attributes:
        arms: that play in each decision, by its id.
        rewards: that were acknowledged, by decision and arm.
        servers: that returned each decision, by its id.
        open: decisions that were asked for without a key and not answered: made or not, nobody knows.
        refused: what the service said when it was unavailable.
        answered: requests that were answered.
    """

    arms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rewards: dict[tuple[str, str], float] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    open: int = 0
    refused: list[str] = field(default_factory=list)
    answered: int = 0


class Crowd:
    """Clients, a thread each, that request decisions and send rewards until the ``with`` block ends.

    A request that cannot be answered is sent again until it is, with the same idempotency key; but for some that have
    none. Every reward goes to a server picked at random, often not the one that decided. Whatever a service answers but
    what was asked for and 503 in the shape of an error, makes the ``with`` block fail.

    Args:
        servers: URLs.
        allocation: its name.
        clients: how many.
        seed: of what they ask for.
    """

    def __init__(self, servers: Sequence[str], allocation: str, clients: int = 6, seed: int = 0) -> None:
        self.received = Received()
        self._servers, self._allocation = servers, allocation
        self._failures: list[BaseException] = []
        self._lock, self._over, self._hopeless = Lock(), Event(), Event()
        self._clients = [Thread(target=self._live, args=(f"{seed}-{number}",)) for number in range(clients)]

    def __enter__(self) -> Self:
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if kind is not None:
            self._hopeless.set()
        for client in self._clients:
            client.join()
        if self._failures and kind is None:
            raise self._failures[0]

    def reach(self, answered: int = 0, refused: int = 0, either: int = 0) -> None:
        """Wait until so many more requests have been answered, or refused as the service is unavailable."""
        begun = self._counts()

        def reached() -> bool:
            more = [now - then for now, then in zip(self._counts(), begun, strict=True)]
            return bool(self._failures) or (more[0] >= answered and more[1] >= refused and sum(more) >= either)

        until(reached, lambda: f"answered and refused: {begun}, now {self._counts()}")

    def _counts(self) -> tuple[int, int]:
        with self._lock:
            return self.received.answered, len(self.received.refused)

    def _live(self, name: str) -> None:
        rng, pending = random.Random(name), list[tuple[str, str]]()
        try:
            with httpx.Client(timeout=PATIENCE, trust_env=False) as http:
                for turn in count():
                    if self._over.is_set():
                        return
                    self._decide(http, rng, f"{name}-{turn}", pending)
                    self._reward(http, rng, pending)
                    if rng.random() < LOOKS:
                        self._look(http, rng)
        except BaseException as error:  # it must fail the test, not only the thread
            self._failures.append(error)
            self._over.set()

    def _decide(self, http: httpx.Client, rng: random.Random, key: str, pending: list[tuple[str, str]]) -> None:
        keyless, body = rng.random() < KEYLESS, {"count": rng.choice((1, 1, 1, 2, 5))}
        server, answer = self._ask(http, rng, "decisions", body, None if keyless else key, again=not keyless)
        if answer is None:
            return
        if not keyless and rng.random() < REPEATED:
            assert self._ask(http, rng, "decisions", body, key)[1] == answer, f"{key} was answered otherwise before"
        assert len(answer["decisions"]) == body["count"]
        with self._lock:
            for decision in answer["decisions"]:
                assert decision["id"] not in self.received.arms, f"decision {decision['id']} was returned twice"
                self.received.arms[decision["id"]] = tuple(one["arm"] for one in decision["arms"])
                self.received.servers[decision["id"]] = server
        pending += [(decision["id"], one["arm"]) for decision in answer["decisions"] for one in decision["arms"]]

    def _reward(self, http: httpx.Client, rng: random.Random, pending: list[tuple[str, str]]) -> None:
        rng.shuffle(pending)
        known = {pending.pop(): round(rng.random(), 3) for _ in range(min(rng.randrange(4), len(pending)))}
        if not known:
            return
        body = {"rewards": [{"decision": name, "rewards": {arm: reward}} for (name, arm), reward in known.items()]}
        _, answer = self._ask(http, rng, "rewards", body)
        assert [(one["decision"], one["arm"]) for one in answer["results"]] == list(known)
        assert {one["status"] for one in answer["results"]} <= {"accepted", "late", "duplicate"}, answer
        if rng.random() < REPEATED:
            _, answer = self._ask(http, rng, "rewards", body)
            assert {one["status"] for one in answer["results"]} == {"duplicate"}, answer
        with self._lock:
            self.received.rewards |= known

    def _look(self, http: httpx.Client, rng: random.Random) -> None:
        """Read the audit of any server; it has all that any client has received before."""
        with self._lock:
            known = max(map(int, self.received.arms), default=0)
        try:
            answer = http.get(f"{rng.choice(self._servers)}/v1/allocations/{self._allocation}/audit")
        except httpx.TransportError:
            return
        if answer.status_code != 200:
            check_unavailable(answer)
        else:
            assert answer.json()["round"] >= known

    def _ask(
        self,
        http: httpx.Client,
        rng: random.Random,
        path: str,
        body: Mapping[str, Any],
        key: str | None = None,
        again: bool = True,
    ) -> tuple[str, Any]:
        """Who answered, and what; None where nobody did and it is not to be asked again."""
        url, headers = f"/v1/allocations/{self._allocation}/{path}", {} if key is None else {"Idempotency-Key": key}
        end = time.monotonic() + PATIENCE
        while not self._hopeless.is_set():
            server, reached = rng.choice(self._servers), True
            try:
                answer = http.post(server + url, json=body, headers=headers)
            except httpx.TransportError as error:
                why, reached = repr(error), not isinstance(error, httpx.ConnectError)
            else:
                if answer.status_code == 200:
                    with self._lock:
                        self.received.answered += 1
                    return server, answer.json()
                check_unavailable(answer)
                why = answer.json()["detail"]
                with self._lock:
                    self.received.refused.append(why)
            self._over.wait(0.1)
            if not again:
                with self._lock:
                    self.received.open += body["count"] if reached else 0
                return server, None
            assert time.monotonic() < end, f"no answer for {PATIENCE} s; the last: {why}"
        raise AssertionError("the test has failed")


def check_unavailable(answer: httpx.Response) -> None:
    """The service says that the database cannot be used, in the shape that all errors have, and when to come back."""
    assert answer.status_code == 503, f"{answer.status_code}: {answer.text}"
    error = answer.json()
    assert error["code"] == "unavailable"
    assert error["detail"]
    assert "Traceback" not in answer.text
    assert answer.headers["Retry-After"] == "1"


# --- what the database has --------------------------------------------------------------------------------------------


class Happened(NamedTuple):
    """An event, as the database has it."""

    sequence: int
    time: float
    kind: str
    round: int | None
    body: dict[str, Any]


def read(database: str, words: str, allocation: str) -> Sequence[Row[Any]]:
    """What the database has of an allocation, read past the store."""
    url = make_url(database)
    engine = create_engine(url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else url)
    try:
        with engine.connect() as connection:
            return connection.execute(
                text(words + " JOIN allocations a ON a.id = allocation WHERE a.name = :name ORDER BY 1"),
                {"name": allocation},
            ).all()
    finally:
        engine.dispose()


def read_events(database: str, allocation: str) -> list[Happened]:
    """All events of an allocation, in order, with the names of arms in place of their numbers."""
    names = [json.loads(row.name) for row in read(database, "SELECT number, n.name FROM arms n", allocation)]
    rows = read(database, "SELECT e.sequence, time, kind, e.round, body FROM events e", allocation)
    return [
        Happened(row.sequence, row.time, row.kind, row.round, with_names(row.kind, json.loads(row.body), names))
        for row in rows
    ]


def with_names(kind: str, body: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The body of an event with the names of its arms."""
    match kind:
        case "create":
            return body | {"arms": names[: body["arms"]]}
        case "reward":
            rewards = {names[int(arm)]: reward for arm, reward in body["rewards"].items()}
            return body | {"rewards": rewards, "late": [names[arm] for arm in body["late"]]}
        case "expire":
            return body | {"closed": {id: [names[arm] for arm in arms] for id, arms in body["closed"].items()}}
        case "change" if "fractions" in body:
            return body | {"fractions": {names[int(arm)]: share for arm, share in body["fractions"].items()}}
        case "change" if "arm" in body:
            return body | {"arm": names[body["arm"]]}
    lists = {name: [names[arm] for arm in body[name]] for name in ("arms", "available") if name in body}
    return body | lists


def check_events(events: Sequence[Happened], received: Received) -> None:
    """Every answer that the clients received is in the events, once; other events are of answers that were lost."""
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    rounds = [event.round for event in events if event.kind == "decide"]
    assert rounds == list(range(1, len(rounds) + 1))
    decided = {str(event.round): tuple(event.body["arms"]) for event in events if event.kind == "decide"}
    assert received.arms.items() <= decided.items()
    assert len(decided) - len(received.arms) <= received.open
    rewards = [event for event in events if event.kind == "reward"]
    times = Counter((str(event.round), arm) for event in rewards for arm in event.body["rewards"])
    assert set(times.values()) <= {1}
    assert received.rewards == {(str(e.round), arm): value for e in rewards for arm, value in e.body["rewards"].items()}


def replayed(events: Sequence[Happened]) -> Bandit:
    """A bandit that goes through the events, and must decide each time as they say."""
    first, *rest = events
    settings = {name: value for name, value in first.body.items() if name != "evenhand"}
    parameters, algorithm, arms = settings.pop("parameters"), settings.pop("algorithm"), settings.pop("arms")
    bandit = Bandit(arms, algorithm, **settings, **parameters)
    for event in rest:
        body = event.body
        match event.kind:
            case "decide":
                choice = bandit.decide(available=body.get("available"), now=event.time)
                assert (choice.round, choice.names) == (event.round, tuple(body["arms"]))
            case "reward":
                statuses = bandit.observe(str(event.round), body["rewards"], event.time)
                assert [arm for arm, status in statuses.items() if status == "late"] == body["late"]
            case "total":
                bandit.observe_total(body["value"])
            case "expire":
                assert bandit.expire(event.time) == body["closed"]
            case "change":
                bandit.change(change_of({name: value for name, value in body.items() if name != "memory"}))
            case kind:
                raise AssertionError(f"there is no such kind of event: {kind}")
    return bandit


def check_kept(database: str, allocation: str, server: Server) -> None:
    """Stop a server, which writes down what it has in memory: that is what the events come to, to the last bit."""
    assert server.stop() == 0
    last = read(database, "SELECT max(e.sequence) FROM events e", allocation)
    assert read(database, "SELECT s.sequence FROM snapshots s", allocation) == last
    store = Store.open(database)
    assert verified(store.database, allocation) == last[0][0]
    store.close()


def audit_of(audit: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of an audit that do not depend on when and where it is asked for."""
    return {name: audit[name] for name in ("algorithm", "round", "version", "fault", "lines", "deficit_history")}
