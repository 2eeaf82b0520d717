"""What must not be lost: the service is killed, its database goes away or fills up, clocks jump, clients repeat.

In each test clients keep the answers received; the events in the database must say the same, once, and a bandit that
goes through the events must come to what the service says that it has.
"""

from __future__ import annotations

import csv
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from evenhand.bandit import Bandit
from evenhand.cli.main import run
from evenhand.messages.answers import moment
from evenhand.service.store import Decide, ReadAudit, Reward, Store
from tests.service.crowd import (
    Crowd,
    Received,
    audit_of,
    check_events,
    check_kept,
    check_unavailable,
    read_events,
    replayed,
)
from tests.service.databases import Postgres, make_database, until
from tests.service.running import Server
from tests.thinned import thinned

Serve = Callable[..., Server]
#: Draws at random, so that a replay must repeat every draw; and rewards come late now and then.
DRINKS: dict[str, Any] = {
    "name": "drinks",
    "arms": ["tea", "coffee", "cocoa"],
    "algorithm": "f_ts",
    "parameters": {"fractions": {"coffee": 0.2}},
    "plays": 1,
    "seed": 7,
    "window": 0.5,
    "missing": "zero",
}
PAGE = "/v1/allocations/drinks"
#: Writes bandits down whole much more often than usual, and waits less long for a lock.
HASTY = """
from functools import partialmethod
from evenhand.service.store import Store, database
database.LOCK_TIMEOUT = 0.5
Store.__init__ = partialmethod(Store.__init__, snapshot=40)
"""


def check(database: str, server: Server, received: Received) -> None:
    """All that clients received is in the database, in the log, and in the service, once."""
    audit, events = {"sequence": 0}, read_events(database, "drinks")
    while audit["sequence"] != len(events):  # reading may find that windows have passed, which is an event
        audit, events = server.http.get(f"{PAGE}/audit").json(), read_events(database, "drinks")
    check_events(events, received)
    assert audit_of(audit) == audit_of(plain(replayed(events)))
    log = list(csv.DictReader(io.StringIO(server.http.get(f"{PAGE}/log?format=csv").text)))
    assert [(row["decision_id"], row["item_id"]) for row in log] == [
        (str(event.round), arm) for event in events if event.kind == "decide" for arm in event.body["arms"]
    ]
    assert received.rewards == {(r["decision_id"], r["item_id"]): float(r["reward"]) for r in log if r["reward"]}
    check_kept(database, "drinks", server)


def plain(bandit: Bandit) -> dict[str, Any]:
    return bandit.audit(now=0.0).to_json()  # nothing is over that no event has ended


# --- The service is killed --------------------------------------------------------------------------------------------


def test_killed_again_and_again_on_sqlite(sqlite: str, serve: Serve) -> None:
    server = serve(sqlite, first=HASTY)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url], "drinks", seed=1) as crowd:
        for answers in (30, 70, 45):
            crowd.reach(answers)
            server.kill()
            server.start()
        crowd.reach(10)
    check(sqlite, server, crowd.received)


@pytest.mark.slow
def test_killed_again_and_again_on_postgresql(own_postgres: Postgres, serve: Serve) -> None:
    """With PostgreSQL itself, the last time, as when the power fails."""
    database = make_database(own_postgres.url())
    server = serve(database, first=HASTY)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url], "drinks", seed=2) as crowd:
        for answers in (30, 70):
            crowd.reach(answers)
            server.kill()
            server.start()
        crowd.reach(45)
        own_postgres.crash()
        server.kill()
        own_postgres.start()
        server.start()
        crowd.reach(10)
    check(database, server, crowd.received)


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True], ids=["service", "database too"])
def test_twenty_kills_under_eight_writers_on_postgresql(own_postgres: Postgres, serve: Serve, both: bool) -> None:
    """At moments that nobody chooses; every fourth time PostgreSQL goes as well, or only the service."""
    database, moments = make_database(own_postgres.url()), random.Random(11)
    server = serve(database, first=HASTY)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url], "drinks", clients=8, seed=8) as crowd:
        for kill in range(20):
            crowd.reach(1)
            time.sleep(moments.uniform(0.0, 0.5))
            crash = both and kill % 4 == 3
            if crash:
                own_postgres.crash()
            server.kill()
            if crash:
                own_postgres.start()
            server.start()
        crowd.reach(50)
    received = crowd.received
    print(f"{received.answered} answers, {len(received.arms)} decisions and {len(received.rewards)} rewards of them")
    check(database, server, received)
    assert run(["verify", "--database", database]) == 0


def test_a_polite_stop_answers_what_was_asked(database: str, serve: Serve) -> None:
    server = serve(database)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url], "drinks", seed=3) as crowd:
        crowd.reach(40)
        assert server.stop() == 0
        server.start()
        crowd.reach(40)
    assert "Traceback" not in server.log()
    check(database, server, crowd.received)


# --- The database goes away -------------------------------------------------------------------------------------------


def test_postgresql_goes_away_and_comes_back(own_postgres: Postgres, serve: Serve) -> None:
    database = make_database(own_postgres.url())
    server = serve(database)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url], "drinks", seed=4) as crowd:
        for leave in (own_postgres.stop, own_postgres.crash):
            crowd.reach(40)
            leave()
            crowd.reach(refused=20)
            until(lambda: not server.ready(), server.log)  # it asks the database once a second at most
            for page in ("/readyz", f"{PAGE}/audit", f"{PAGE}/log?format=csv", "/v1/allocations"):
                check_unavailable(server.http.get(page))
            check_unavailable(server.post("/v1/allocations", DRINKS))
            assert server.http.get("/healthz").status_code == 200
            own_postgres.start()
            until(server.ready, server.log)
        crowd.reach(40)
    check(database, server, crowd.received)


@contextmanager
def locked(database: str) -> Iterator[None]:
    """Another process holds the file's write lock."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]).execute('BEGIN IMMEDIATE'); print(flush=True); input()"
    )
    path = str(make_url(database).database)
    holder = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"\n"
        yield
    finally:
        holder.communicate(b"\n")
    assert holder.returncode == 0


@contextmanager
def moved(database: str) -> Iterator[None]:
    """The folder is not where it was."""
    folder = Path(str(make_url(database).database)).parent
    away = folder.with_name("away")
    folder.rename(away)
    try:
        yield
    finally:
        away.rename(folder)


def test_another_program_locks_the_file(sqlite: str, serve: Serve) -> None:
    """Longer than the service waits for it. Reading goes on."""
    server = serve(sqlite, first=HASTY)
    assert server.post("/v1/allocations", DRINKS | {"window": None, "missing": "never"}).status_code == 201
    with Crowd([server.url], "drinks", seed=5) as crowd:
        crowd.reach(40)
        with locked(sqlite):
            crowd.reach(refused=6)
            check_unavailable(server.post(f"{PAGE}/decisions", {}))
            check_unavailable(server.post("/v1/allocations", DRINKS))
            assert server.http.get("/v1/allocations").status_code == 200
        crowd.reach(40)
    check(sqlite, server, crowd.received)


def test_the_folder_is_away_for_a_while(tmp_path: Path, serve: Serve) -> None:
    """What is open stays open, what is not cannot be opened; either way nothing is lost."""
    (tmp_path / "folder").mkdir()
    database = f"sqlite:///{tmp_path}/folder/evenhand.db"
    server = serve(database)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with Crowd([server.url], "drinks", seed=6) as crowd:
        crowd.reach(40)
        with moved(database):
            crowd.reach(either=30)
        crowd.reach(40)
    check(database, server, crowd.received)


# --- The disk is full -------------------------------------------------------------------------------------------------


#: A process whose files cannot grow beyond 400 kB until that limit is lifted; as good as a full disk, for anybody.
LIMITED = """
import resource, signal
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
signal.signal(signal.SIGUSR1, lambda *_: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, most))
"""


def mounts() -> bool:
    """Whether we may make a small disk of our own."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    try:
        with disk(1):
            return True
    except subprocess.CalledProcessError:
        return False


@contextmanager
def disk(megabytes: int) -> Iterator[Path]:
    """A disk of that size, at some folder that every user can enter."""
    with tempfile.TemporaryDirectory(prefix="evenhand-disk-") as folder:
        Path(folder).chmod(0o755)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder]
        subprocess.run(mount, check=True, capture_output=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> None:
    """Fill the disk of that folder up with one file."""
    with (folder / "filler").open("wb", buffering=0) as file, suppress(OSError):  # no space left
        while True:
            file.write(bytes(4096))


#: Starts a service and gives it, its database, and how its disk fills up and has space again.
Filling = AbstractContextManager[tuple[Server, str, Callable[[], object], Callable[[], object]]]


@contextmanager
def limited(serve: Serve, sqlite: str) -> Iterator[Any]:
    """SQLite in a process whose files cannot grow any more."""
    server = serve(sqlite, first=LIMITED)
    yield server, sqlite, lambda: None, lambda: server.send(signal.SIGUSR1)


@contextmanager
def on_small_disk(serve: Serve, _: str) -> Iterator[Any]:
    """SQLite on a disk of 2 MB, which another program fills."""
    with disk(2) as folder:
        database = f"sqlite:///{folder}/evenhand.db"
        yield serve(database), database, lambda: fill(folder), lambda: (folder / "filler").unlink()


@contextmanager
def refusing(serve: Serve, _: str) -> Iterator[Any]:
    """PostgreSQL that says what it does when its disk is full."""
    with Postgres() as postgres:
        database = make_database(postgres.url())
        server = serve(database)
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute(
                "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE 'No space left on device' USING ERRCODE = 'disk_full'; END $$"
            )
            trigger = "CREATE TRIGGER disk_full AFTER INSERT ON events EXECUTE FUNCTION fail()"
            yield (
                server,
                database,
                lambda: admin.execute(trigger),
                lambda: admin.execute("DROP TRIGGER disk_full ON events"),
            )


@contextmanager
def postgres_on_small_disk(serve: Serve, _: str) -> Iterator[Any]:
    """PostgreSQL on a disk of 100 MB, which another program fills."""
    with disk(100) as folder, Postgres(data=folder / "data") as postgres:
        database = make_database(postgres.url())
        yield serve(database), database, lambda: fill(folder), lambda: (folder / "filler").unlink()


WAYS: list[Callable[[Serve, str], Filling]] = [limited, refusing]
if mounts():
    WAYS += [on_small_disk, postgres_on_small_disk]


@pytest.mark.parametrize("way", thinned(WAYS, WAYS[:1].__contains__, lambda way: way.__name__))
def test_the_disk_is_full_for_a_while(way: Callable[[Serve, str], Filling], serve: Serve, sqlite: str) -> None:
    """Clear errors, and all goes on as soon as there is space."""
    with way(serve, sqlite) as (server, database, fill_up, free):
        assert server.post("/v1/allocations", DRINKS).status_code == 201
        with Crowd([server.url], "drinks", seed=7) as crowd:
            crowd.reach(20)
            fill_up()
            crowd.reach(refused=20)
            assert server.http.get("/healthz").status_code == 200
            free()
            crowd.reach(40)
        assert re.search("cannot be used: .*(disk|space)", server.log()), server.log()
        assert "can be used again" in server.log()
        check(database, server, crowd.received)


# --- Clocks jump ------------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back(database: str) -> None:
    """A window of 10 s. The second decision is made when the clock is 50 s behind: it is as old as the first.

    Rewards that were sent are learned from; the others are lost when the clock is 10 s beyond the first, not before and
    not because it jumped; and the bandit that is made from the events is the same.
    """
    clock = [100.0]
    store = Store.open(database, clock=lambda: clock[0])
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1, window=10.0, missing="lost")

    def decide(now: float) -> str:
        clock[0] = now
        (decision,) = store.run("drinks", Decide()).decisions
        assert decision.time == moment(now)
        played.append(decision.names[0])
        return str(decision.id)

    def reward(now: float, decision: str) -> str:
        clock[0] = now
        (answer,) = store.run("drinks", Reward([(decision, {played[int(decision) - 1]: 1.0})])).results
        return str(answer.status)

    played: list[str] = []
    assert [decide(100.0), decide(50.0), decide(50.0), decide(101.0)] == ["1", "2", "3", "4"]
    assert reward(40.0, "1") == "accepted"  # before it was made, by this clock
    assert reward(40.0, "1") == "duplicate"
    assert reward(109.9, "2") == "accepted"
    assert reward(110.0, "3") == "late"
    assert reward(30.0, "4") == "accepted"
    assert reward(30.0, "3") == "duplicate"
    clock[0] = 111.0
    audit = store.run("drinks", ReadAudit())
    assert [sum(getattr(line, name) for line in audit.lines) for name in ("received", "lost", "late", "pending")] == [
        3,
        1,
        1,
        0,
    ]
    store.close()
    clock[0] = 20.0
    again = Store.open(database, clock=lambda: clock[0])
    assert audit_of(again.run("drinks", ReadAudit()).to_json()) == audit_of(audit.to_json())
    again.close()
    assert audit_of(plain(replayed(read_events(database, "drinks")))) == audit_of(audit.to_json())


def test_answers_are_kept_when_the_clock_jumps_back(database: str) -> None:
    clock = [1e9]
    store = Store.open(database, clock=lambda: clock[0])
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    answer = store.run("drinks", Decide(count=3, key="a"))
    clock[0] = 0.0
    assert store.run("drinks", Decide(count=3, key="a")) == answer
    assert [decision.round for decision in store.run("drinks", Decide(key="b")).decisions] == [4]
    store.close()


# --- A client repeats itself ------------------------------------------------------------------------------------------


def test_a_client_that_says_everything_twice(database: str, serve: Serve) -> None:
    """And even after the service was killed; the result is that of a bandit to which everything is said once."""
    server = serve(database, first=HASTY)
    bandit = Bandit(DRINKS["arms"], "f_ts", fractions=DRINKS["parameters"]["fractions"], seed=7)
    create = DRINKS | {"window": None, "missing": "never"}
    assert [server.post("/v1/allocations", create).status_code for _ in range(2)] == [201, 200]

    def twice(page: str, body: Any, key: str | None = None) -> list[Any]:
        answers = [server.post(f"{PAGE}/{page}", body, key) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200], answers[1].text
        return [answer.json() for answer in answers]

    answers = []
    for turn in range(12):
        first, again = twice("decisions", {"count": 2}, f"decide-{turn}")
        assert first == again
        answers.append(first)
        for decision in first["decisions"]:
            assert [one["arm"] for one in decision["arms"]] == list(bandit.decide().names)
        rewards = {one["id"]: {one["arms"][0]["arm"]: turn % 3 / 2} for one in first["decisions"]}
        body = {"rewards": [{"decision": name, "rewards": reward} for name, reward in rewards.items()]}
        first, again = twice("rewards", body, f"reward-{turn}" if turn % 2 else None)
        assert [answer["status"] for answer in first["results"]] == ["accepted"] * 2
        assert [answer["status"] for answer in again["results"]] == (["accepted"] if turn % 2 else ["duplicate"]) * 2
        for name, reward in rewards.items():
            bandit.observe(name, reward)

    def promise() -> Any:
        headers, change = {"Idempotency-Key": "promise"}, {"change": "promise", "fractions": {"tea": 0.3}}
        return server.http.post(f"{PAGE}/changes", json=change, headers=headers).json()

    assert [promise(), promise()] == [{"version": 1, "round": 24, "changed": True}] * 2
    bandit.promise({"tea": 0.3})
    server.kill()
    server.start()
    for turn, answer in enumerate(answers):
        assert server.post(f"{PAGE}/decisions", {"count": 2}, f"decide-{turn}").json() == answer
    reused = server.post(f"{PAGE}/decisions", {"count": 3}, "decide-0")
    assert (reused.status_code, reused.json()["code"]) == (422, "key_reused")
    assert promise() == {"version": 1, "round": 24, "changed": True}
    lines = server.http.get(f"{PAGE}/audit").json()["lines"]
    assert lines == plain(bandit)["lines"]


def test_a_total_that_is_sent_twice(database: str, serve: Serve) -> None:
    server = serve(database)
    create = {"name": "drinks", "arms": ["tea", "coffee"], "missing": "never", "algorithm": "ucb1", "seed": 1}
    assert server.post("/v1/allocations", create).status_code == 201
    for round in (1, 2, 3):
        server.post(f"{PAGE}/decisions", {})
        total = {"value": 0.5, "round": round}
        key = f"total-{round}" if round > 1 else None
        results = [server.post(f"{PAGE}/totals", total, key).json() for _ in range(2)]
        assert [one["status"] for one in results] == ["accepted", "duplicate" if key is None else "accepted"]
    assert [event.body for event in read_events(database, "drinks") if event.kind == "total"] == [{"value": 0.5}] * 3
