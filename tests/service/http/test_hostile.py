"""Requests that would keep others waiting, or that try what is not theirs; `tools/hostile.py` has the long run."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.bandit.evaluation.log import read_log
from evenhand.core.errors import EvenhandError
from evenhand.service.http.auth import Caller
from evenhand.service.http.limits import THREADS, Quotas
from evenhand.service.http.problems import Refused
from evenhand.service.http.protocol import MAX_HEAD, connection_limit
from evenhand.service.http.run import check_keys
from evenhand.service.http.settings import Settings
from evenhand.service.store import Decide, Reward, Store
from evenhand.service.store.api_keys import Key
from evenhand.service.store.errors import TooMuchWork
from evenhand.service.store.export import LogLimits, log, write_log
from tests.service.databases import PATIENCE
from tests.service.http.asking import DRINKS, Asking, refused
from tests.service.running import Server

ALL = "/v1/allocations"
ONE = f"{ALL}/drinks"


# --- limits before work -----------------------------------------------------------------------------------------------


def test_rewards_are_counted_not_decisions(drinks: Asking) -> None:
    rewards = {f"arm {number}": 1.0 for number in range(2_000)}
    answer = drinks.post(f"{ONE}/rewards", {"rewards": [{"decision": "1", "rewards": rewards}]})
    assert refused(answer, 413, "too_large")["detail"] == "a request may have at most 1,000 rewards, got 2,000"


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/rewards", b'{"rewards":[' + b",".join([b"{}"] * 100_000) + b"]}"),
        ("/decisions", b'{"available":[' + b",".join([b"1"] * 300_000) + b"]}"),
        ("/decisions", json.dumps({f"field {number}": 1 for number in range(150_000)}).encode()),
        ("/totals", b"[" + b"[" * 40_000),
    ],
)
def test_a_body_with_too_many_values_is_not_parsed(
    drinks: Asking, monkeypatch: pytest.MonkeyPatch, route: str, body: bytes
) -> None:
    monkeypatch.setattr("evenhand.service.http.dependencies.parse_json", lambda _: pytest.fail("it is parsed"))
    assert "values, got at least" in refused(drinks.send(ONE + route, body), 413, "too_large")["detail"]


def test_many_unknown_fields_are_not_described(drinks: Asking) -> None:
    told = refused(drinks.post(f"{ONE}/decisions", dict.fromkeys(map(str, range(1_000)), 1)), 422, "invalid")
    assert told["detail"] == "body: has 1,000 fields; no message has more than 20, see /docs"
    entry = {"decision": "1", "rewards": {"tea": 1}} | dict.fromkeys(map(str, range(1_000)), 1)
    told = refused(drinks.post(f"{ONE}/rewards", {"rewards": [entry]}), 422, "invalid")
    assert told["errors"][0]["where"] == "body.rewards[0]"


def test_more_names_than_arms_can_have_are_not_parsed(drinks: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three arms in 1,000 rounds there are 3,000 names; without an allocation in memory nobody knows."""
    drinks.post(f"{ONE}/decisions", {})
    monkeypatch.setattr("evenhand.service.http.dependencies.parse_json", lambda _: pytest.fail("it is parsed"))
    body = json.dumps({"available": [f"arm {number}" for number in range(10_000)]}).encode()
    told = refused(drinks.send(f"{ONE}/decisions", body), 413, "too_large")
    assert told["detail"] == "this body may have at most 5,100 values, got at least 10,001"


@pytest.mark.parametrize("text", ["a" * 600_000, '\\"' * 300_000, " " * 600_000])
def test_a_long_string_is_not_parsed(drinks: Asking, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("evenhand.service.http.dependencies.parse_json", lambda _: pytest.fail("it is parsed"))
    body = f'{{"available":["{text}"]}}' if text.strip() else f'{{"available":[{text}]}}'
    told = refused(drinks.send(f"{ONE}/decisions", body.encode()), 413, "too_large")
    assert told["detail"] == "262,144 bytes of this body have 2 values, which may have 4,096 bytes each"


def test_long_lists_of_numbers_and_long_texts_in_pieces_are_parsed(drinks: Asking) -> None:
    """200 bytes of space around each number, and names of 200 letters that end with a backslash."""
    numbers = b'{"played":[' + b",".join([b" " * 200 + b"1"] * 4_000) + b"]}"
    assert drinks.send(f"{ONE}/leases/1/reports", numbers).status_code != 413
    names = b'{"available":[' + b",".join([b'"' + b"a" * 190 + b'\\\\"'] * 3_000) + b"]}"
    refused(drinks.send(f"{ONE}/decisions", names), 422, "invalid")


def test_the_first_wrong_name_of_many_is_described(drinks: Asking) -> None:
    told = refused(drinks.post(f"{ONE}/decisions", {"available": [1] * 5_000}), 422, "invalid")
    assert told["errors"] == [{"where": "body.available[0]", "message": "must be a string"}]


def test_decisions_times_arms_are_limited(store: Store) -> None:
    with Asking(store, Settings(max_work=10)) as ask:
        assert ask.post(ALL, DRINKS).status_code == 201
        assert ask.post(f"{ONE}/decisions", {"count": 3}).status_code == 200
        message = refused(ask.post(f"{ONE}/decisions", {"count": 4}), 413, "too_large")["detail"]
        assert message == (
            "4 decisions among 3 arms are 12 scores; a request may have at most 10; request at most 3 at a time"
        )
        assert ask.get(ONE).json()["round"] == 3


def test_lanes_of_propensities_count_as_work(store: Store) -> None:
    store.create("random", ["tea", "coffee"], "thompson", seed=1)
    with Asking(store, Settings(max_work=3_000)) as ask:
        assert ask.post(f"{ALL}/random/decisions", {"propensities": True}).status_code == 200
        told = refused(ask.post(f"{ALL}/random/decisions", {"propensities": True, "count": 2}), 413, "too_large")
        assert "request at most 1 at a time" in told["detail"]


def test_a_limit_is_no_part_of_a_repeated_request(store: Store) -> None:
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    first = store.run("drinks", Decide(2, max_work=100, key="a"))
    assert store.run("drinks", Decide(2, max_work=3, key="a")) == first


def test_unknown_arms_of_a_remembered_decision_read_no_events(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    store.run("drinks", Decide())
    monkeypatch.setattr("evenhand.service.store.commands.CommandContext.earlier", lambda *_: pytest.fail("it reads"))
    (result,) = store.run("drinks", Reward([("1", {"mate": 1.0})])).results
    assert (result.status, result.message) == ("unknown", "arm 'mate' did not play in decision 1")


# --- limits per key ---------------------------------------------------------------------------------------------------


def test_requests_per_second_and_key(store: Store) -> None:
    keys = [store.keys.create(name, ["read"])[1] for name in ("one", "other")]
    with Asking(store, Settings(max_rate=2.0)) as ask:
        ask.app.state.service.quotas = Quotas(ask.settings, clock=lambda: ask.now)
        ask.key = keys[0]
        assert [ask.get(ALL).status_code for _ in range(3)] == [200, 200, 429]
        answer = ask.get(ALL)
        assert refused(answer, 429, "too_many_requests")["detail"] == (
            "a key may send 2 requests per second; retry after 1 s"
        )
        assert answer.headers["retry-after"] == "1"
        ask.key = keys[1]
        assert ask.get(ALL).status_code == 200
        ask.key, ask.now = keys[0], 0.5
        assert [ask.get(ALL).status_code for _ in range(2)] == [200, 429]


def test_requests_at_a_time_per_key() -> None:
    quotas, one = Quotas(Settings(max_concurrent=1)), Caller("one", frozenset(), "1")
    with quotas.request(one):
        with pytest.raises(Refused, match="a key may have 1 requests at a time"), quotas.request(one):
            pass
        with quotas.request(Caller("other", frozenset(), "2")):
            pass
    with quotas.request(one):
        pass


def test_logs_at_a_time_per_key_and_in_all() -> None:
    quotas, keys = Quotas(Settings()), [Caller(name, frozenset(), name) for name in "abc"]
    first = quotas.log(keys[0], estimate=True)
    with pytest.raises(Refused, match="a key may download 1 log with estimates at a time"):
        quotas.log(keys[0], estimate=True)
    quotas.log(keys[1], estimate=True)
    with pytest.raises(Refused) as busy:
        quotas.log(keys[2], estimate=True)
    assert busy.value.code == "unavailable"
    first.end()
    quotas.log(keys[2], estimate=True)
    assert THREADS[True] == 2


def test_a_log_stops_when_its_time_is_over(store: Store) -> None:
    store.create("random", ["tea", "coffee"], "thompson", seed=1)
    store.run("random", Decide(500))
    with Asking(store, Settings(max_seconds=0.01)) as ask:
        told = refused(ask.get(f"{ALL}/random/log?estimate=true"), 413, "too_large")
        assert "takes more than 0.01 seconds; request fewer rounds with since and until" in told["detail"]
    with Asking(store, Settings(max_work=900)) as ask:
        told = refused(ask.get(f"{ALL}/random/log?estimate=true"), 413, "too_large")
        assert "500 rounds among 2 arms have 1,000 propensities; a request may estimate at most 900" in told["detail"]
        assert ask.get(f"{ALL}/random/log?estimate=true&since=450").status_code == 200


def test_a_log_that_repeats_many_names_is_refused(store: Store) -> None:
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    store.run("drinks", Decide(10))
    with pytest.raises(TooMuchWork, match="10 rounds repeats the names of 2 arms, 170 characters in all"):
        log(store.database, "drinks", limits=LogLimits(characters=100))


# --- connections ------------------------------------------------------------------------------------------------------


def test_an_endless_header_is_refused(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (MAX_HEAD + 1))
        answer = line.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 431")
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["code"] == "headers_too_large"


def test_a_large_body_is_no_large_header(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    for _ in range(3):  # on one connection
        refused(server.http.post(ALL, content=b"{" + b" " * 4 * MAX_HEAD + b"}"), 415, "unsupported_media_type")


def test_half_requests_are_refused_in_time(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite, first="import evenhand.service.http.protocol as p; p.HEAD_TIMEOUT = p.BODY_TIMEOUT = 0.3")
    for sent in (b"GET / HT", b"POST /v1/allocations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
            line.sendall(sent)
            assert line.makefile("rb").read().startswith(b"HTTP/1.1 4")
    assert server.http.get("/healthz").status_code == 200


def test_half_requests_make_room_for_whole_ones(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite, "--max-connections", "5")
    lines = []
    for _ in range(20):
        lines.append(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        lines[-1].sendall(b"GET /healthz HTTP/1.1\r\n")
        time.sleep(0.01)
    assert server.http.get("/healthz").status_code == 200
    for line in lines:
        line.close()
    assert server.log().count("those without a complete request are closed") == 1


def test_connections_leave_files_for_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    limits = [(256, 512)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    assert connection_limit(1_000) == (192, 192)
    assert limits[-1] == (512, 512)


# --- access -----------------------------------------------------------------------------------------------------------


def test_no_server_without_keys_unless_it_is_asked_for() -> None:
    """A proxy that says nothing of itself makes requests of others look like those of this computer."""
    with pytest.raises(EvenhandError, match="--no-keys"):
        check_keys(Settings(), has_keys=False)
    check_keys(Settings(), has_keys=True)
    check_keys(Settings(no_keys=True), has_keys=False)
    with pytest.raises(EvenhandError, match="other computers"):
        check_keys(Settings("0.0.0.0", no_keys=True), has_keys=False)


def test_a_server_without_keys_answers_nobody_unless_it_is_asked_for(store: Store) -> None:
    with Asking(store) as ask:
        ask.app.state.service.authenticator._open = Settings().open
        refused(ask.get(ALL), 401, "unauthenticated")
        assert ask.get("/healthz").status_code == 200


def test_many_wrong_keys_need_one_look_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keys.create("one", ["read"])
    looks = []
    real = store.keys.by_hash

    def by_hash() -> dict[str, Key]:
        looks.append(1)
        return real()

    monkeypatch.setattr(store.keys, "by_hash", by_hash)
    with Asking(store) as ask:
        for number in range(20):
            ask.key = f"evh_{number:043d}"
            refused(ask.get(ALL), 401, "unauthenticated")
    assert len(looks) == 1


def test_a_database_is_private_to_its_owner(tmp_path: Path) -> None:
    before = os.umask(0o000)
    try:
        store = Store.open(str(tmp_path / "evenhand.db"))
        store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("evenhand.db", "evenhand.db-wal", "evenhand.db-shm"), 0o600)


# --- names ------------------------------------------------------------------------------------------------------------

NAMES = ["=HYPERLINK(1)", "+1", "-5 %", "@sum", "'=1", "''", "tea"]


@pytest.fixture
def named(store: Store) -> Store:
    """A store with an allocation of names that a spreadsheet would compute."""
    store.create("names", NAMES, "ucb1", seed=1)
    store.run("names", Decide(len(NAMES)))
    store.run("names", Reward([(str(number + 1), {name: 1.0}) for number, name in enumerate(NAMES)]))
    return store


def test_no_cell_of_an_exported_log_is_a_formula(named: Store, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    write_log(named.database, "names", file)
    cells: list[Any] = [line.split(",")[2] for line in file.read_text().splitlines()[1:]]
    assert sorted(cells) == sorted(["'=HYPERLINK(1)", "'+1", "'-5 %", "'@sum", "''=1", "''", "tea"])
    assert sorted(read_log(file).items) == sorted(NAMES)
