"""`evenhand serve` and `evenhand keys`, as their users meet them."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
import uvicorn
from sqlalchemy import create_engine, text

from evenhand.cli import main as cli
from evenhand.service.http import logs
from evenhand.service.http import run as running
from evenhand.service.http.metrics import Metrics
from evenhand.service.store import Decide, Store
from evenhand.service.store.errors import StoreUnavailable
from tests.service.databases import PATIENCE, free_port, until
from tests.service.http.asking import DRINKS, refused
from tests.service.running import Server
from tests.service.store.kit import found

Run = Callable[..., "Done"]
ONE = "/v1/allocations/drinks"


@dataclass
class Done:
    """What a command has come to."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``evenhand`` in an empty folder; where it would serve, it fails."""

    def serving(*_: Any) -> NoReturn:
        raise AssertionError("it serves")

    monkeypatch.setattr(uvicorn.Server, "run", serving)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_DATABASE", raising=False)

    def call(*words: str, **environment: str) -> Done:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["evenhand", *words])
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        code = ended.value.code
        assert isinstance(code, int)
        return Done(code, *capsys.readouterr())

    return call


def fails(done: Done, message: str) -> None:
    """The command says in a line what is wrong."""
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("evenhand: ")
    assert message in done.err


# --- keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_made_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    fails(run("keys", "list"), "there is no database evenhand.db")
    assert not (tmp_path / "evenhand.db").exists()
    created = run("keys", "create", "shop [1]", "--scope", "decide", "--scope", "reward")
    assert created.out.startswith("evh_")
    assert len(created.out) == len("evh_\n") + 43
    assert "decide, reward" in created.err
    (one,) = json.loads(run("keys", "list", "--json").out)
    assert (one["name"], one["scopes"], one["revoked"]) == ("shop [1]", ["decide", "reward"], None)
    assert created.out.strip() not in run("keys", "list").out
    assert "shop [1]" in run("keys", "list").out
    assert json.loads(run("keys", "revoke", one["id"], "--json").out)["revoked"] is not None
    fails(run("keys", "revoke", one["id"]), "already revoked")
    fails(run("keys", "revoke", "nothing"), "no key")


def test_a_key_as_json_has_its_secret(run: Run, tmp_path: Path) -> None:
    created = json.loads(run("keys", "create", "page", "--scope", "read", "--json").out)
    store = Store.open(str(tmp_path / "evenhand.db"))
    key = found(store.keys, created["secret"])
    store.close()
    assert key is not None
    assert key.id == created["id"]


def test_keys_expire_and_are_rolled(run: Run) -> None:
    fails(run("keys", "roll", "shop"), "there is no database")
    made = ("keys", "create", "shop", "--scope", "read", "--allocation", "drinks", "--json")
    first = json.loads(run(*made, "--expires", "2d").out)
    assert first["expires"] == pytest.approx(time.time() + 2 * 86_400, abs=60)
    assert first["allocations"] == ["drinks"]
    second = json.loads(run("keys", "roll", "shop", "--overlap", "1h", "--json").out)
    assert second["secret"] != first["secret"]
    old, new = json.loads(run("keys", "list", "--json").out)
    assert old["expires"] == pytest.approx(time.time() + 3600, abs=60)
    assert (new["name"], new["scopes"], new["allocations"]) == ("shop", ["read"], ["drinks"])
    fails(run("keys", "roll", "shop"), "several valid keys")
    fails(run(*made, "--expires", "tomorrow"), "--expires must be a time such as 90d")
    fails(run(*made, "--expires", "2001-01-01"), "must expire in the future")
    fails(run("keys", "roll", new["id"], "--overlap", "1.5h"), "a time must be")


def test_keys_that_cannot_be(run: Run) -> None:
    fails(run("keys", "create", "page", "--scope", "reed"), "read")
    fails(run("keys", "create", " ", "--scope", "read"), "name")
    assert run("keys", "create", "page").code == 2


def test_the_database_can_be_named_in_the_environment(run: Run, tmp_path: Path) -> None:
    run("keys", "create", "page", "--scope", "read", EVENHAND_DATABASE="other.db")
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "evenhand.db").exists()


# --- what keeps it from starting --------------------------------------------------------------------------------------


def test_others_are_not_served_without_keys(run: Run, tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        fails(run("serve", "--host", host), "evenhand keys create")
    assert not (tmp_path / "evenhand.db").exists()
    Store.open(str(tmp_path / "evenhand.db")).close()  # there, and without keys
    fails(run("serve", "--host", "0.0.0.0"), "evenhand keys create")


@pytest.mark.parametrize("host", ["nope.invalid", "a..b", "x" * 64 + ".invalid"])
def test_a_host_that_does_not_exist(run: Run, tmp_path: Path, host: str) -> None:
    fails(run("serve", "--host", host), f"the host '{host}'")
    assert not (tmp_path / "evenhand.db").exists()


def test_a_port_that_is_taken(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fails(run("serve", "--no-keys", "--port", str(port)), f"port {port}")


def test_a_host_that_is_not_here(run: Run) -> None:
    run("keys", "create", "page", "--scope", "read")
    fails(run("serve", "--host", "192.0.2.1", "--port", str(free_port())), "192.0.2.1")


def test_a_database_that_is_not_there(run: Run) -> None:
    away = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    fails(run("serve", "--no-keys", "--wait", "0", "--database", away), f"the database {away} cannot be used")
    fails(run("serve", "--no-keys", "--database", "folder/that/is/not/there.db"), "cannot be used")
    fails(run("serve", "--no-keys", "--database", "mysql://localhost/x"), "mysql")


def test_a_database_of_a_newer_version(run: Run, tmp_path: Path) -> None:
    Store.open(str(tmp_path / "evenhand.db")).close()
    engine = create_engine(f"sqlite:///{tmp_path / 'evenhand.db'}")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999_later'"))
    engine.dispose()
    fails(run("serve"), "version 9999_later, which is later than 0005 of this Evenhand: use a later version")


def test_a_database_that_is_starting_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The third attempt succeeds; without time to wait there is one attempt."""
    attempts: list[str] = []

    def opened(database: str, **_: object) -> Any:
        attempts.append(database)
        if len(attempts) % 3:
            raise StoreUnavailable("the database system is starting up")
        return "store"

    monkeypatch.setattr(running, "WAIT_STEP", 0.0)
    monkeypatch.setattr(Store, "open", opened)
    store: Any = running._opened("here", running.Upkeep(wait=60.0), Metrics())
    assert store == "store"
    assert attempts == ["here"] * 3
    waits = "the database system is starting up; Evenhand waits for it, at most 60 seconds"
    assert [record.getMessage() for record in caplog.records] == [waits]
    with pytest.raises(StoreUnavailable, match="starting up"):
        running._opened("here", running.Upkeep(), Metrics())
    assert len(attempts) == 4


@pytest.mark.parametrize(
    ("database", "words", "seconds"),
    [
        ("postgresql://nobody@127.0.0.1:1/none", (), 60.0),
        ("postgresql://nobody@127.0.0.1:1/none", ("--wait", "7"), 7.0),
        ("evenhand.db", (), 0.0),
    ],
)
def test_postgresql_is_waited_for_by_default(
    run: Run, monkeypatch: pytest.MonkeyPatch, database: str, words: tuple[str, ...], seconds: float
) -> None:
    asked: list[float | None] = []

    def opened(database: str, upkeep: running.Upkeep, metrics: Metrics) -> NoReturn:
        asked.append(upkeep.wait)
        raise StoreUnavailable("the database system is starting up")

    monkeypatch.setattr(running, "_opened", opened)
    monkeypatch.setattr("evenhand.service.http.logs.configure", lambda *_: None)
    run("keys", "create", "page", "--scope", "read")
    assert run("serve", "--database", database, *words).code == 2
    assert asked == [seconds]


def test_a_file_that_is_no_database(run: Run, tmp_path: Path) -> None:
    (tmp_path / "evenhand.db").write_text("tea" * 1000)
    fails(run("serve"), "cannot be used")


def test_options_that_cannot_be(run: Run) -> None:
    fails(run("serve", "--log-level", "loud"), "log-level")
    assert run("serve", "--port", "65536").code == 2
    assert run("serve", "--max-batch", "0").code == 2


# --- a server ---------------------------------------------------------------------------------------------------------


def test_it_serves_and_stops_in_good_order(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    assert f"at {server.url}, to this computer only" in server.log()
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    assert server.post(f"{ONE}/decisions", {"count": 5}).status_code == 200
    audit = server.http.get(f"{ONE}/audit").json()
    assert server.stop() == 0
    assert server.log().count("\n") == 1  # the line that it starts with
    server.start()
    again = server.http.get(f"{ONE}/audit").json()
    assert again | {"time": 0} == audit | {"time": 0}


def test_requests_under_way_are_answered_before_it_stops(serve: Callable[..., Server], sqlite: str) -> None:
    """The second half of a request comes only after the signal; it is carried out and answered all the same."""
    server = serve(sqlite)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        head = f"POST {ONE}/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        line.sendall((head + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n").encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 100")  # it has begun
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        while not refuses(server.port):  # which it does from the signal on
            pass
        line.sendall(b"{}")
        answer = line.makefile("rb").read()
    stopping.join()
    assert answer.startswith(b"HTTP/1.1 200")
    (decision,) = json.loads(answer.rpartition(b"\r\n\r\n")[2])["decisions"]
    server.start()
    assert server.http.get(ONE).json()["round"] == decision["round"] == 1


def refuses(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_the_first_key_closes_a_running_server(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    assert server.http.get("/v1/allocations").status_code == 200
    store = Store.open(sqlite)
    _, secret = store.keys.create("page", ["read"])
    store.close()
    until(lambda: server.http.get("/v1/allocations").status_code == 401, lambda: "it is still open")
    server.http.headers["Authorization"] = f"Bearer {secret}"
    assert server.http.get("/v1/allocations").status_code == 200
    assert secret not in server.log()


def test_with_a_key_others_can_be_served(serve: Callable[..., Server], sqlite: str) -> None:
    store = Store.open(sqlite)
    _, secret = store.keys.create("page", ["read"])
    store.close()
    server = serve(sqlite, "--host", "0.0.0.0")
    refused(server.http.get("/v1/allocations"), 401, "unauthenticated")
    key = {"Authorization": f"Bearer {secret}", "Host": "evenhand.example"}
    assert server.http.get("/v1/allocations", headers=key).json()["allocations"] == []


def test_limits_are_those_of_the_command_line(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite, "--max-body", "300", "--max-batch", "2", "--max-arms", "3")
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    refused(server.post(f"{ONE}/decisions", {"count": 3}), 413, "too_large")
    refused(server.http.put(f"{ONE}/arms/mate", json={}), 413, "too_large")
    refused(server.http.post(f"{ONE}/decisions", content=b" " * 301), 413, "too_large")


def test_a_body_that_is_too_long_is_not_waited_for(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(b"POST /v1/allocations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
        answer = line.makefile("rb").read()  # until the server closes the connection
    assert answer.startswith(b"HTTP/1.1 413")
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["code"] == "too_large"


@pytest.mark.parametrize("sent", [b"TEA\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_http_is_answered_in_the_shape_of_errors(
    serve: Callable[..., Server], sqlite: str, sent: bytes
) -> None:
    server = serve(sqlite)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(sent)
        answer = line.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["code"] == "malformed"


def test_requests_are_logged_where_asked(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite, "--log-level", "info")
    server.http.get("/v1/allocations")
    until(lambda: "GET /v1/allocations" in server.log(), server.log)


def test_an_interrupt_stops_it_in_good_order(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    assert server._end(signal.SIGINT) == 0
    assert server.log().count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_it_listens_for_signals_stops_it(
    number: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[uvicorn.Server] = []

    def early(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        signal.raise_signal(number)
        kept.append(server)
        for one in sockets:
            one.close()

    monkeypatch.setattr(uvicorn.Server, "run", early)
    monkeypatch.setattr(logs, "configure", lambda *_: None)  # handlers of this process would outlive the test
    assert run("serve", "--no-keys", "--port", "0").code == 0
    assert kept[0].should_exit  # it looks at this once it has started


def test_a_store_that_others_write_to_is_shown_as_it_is(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    assert server.post(f"{ONE}/decisions", {}).json()["decisions"][0]["round"] == 1
    store = Store.open(sqlite)
    assert store.run("drinks", Decide()).decisions[0].round == 2
    store.close()
    assert server.post(f"{ONE}/decisions", {}).json()["decisions"][0]["round"] == 3
    assert httpx.get(f"{server.url}{ONE}/audit", trust_env=False).json()["round"] == 3
