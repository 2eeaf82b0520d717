"""The log of a server and the ids of requests."""

from __future__ import annotations

import json
import logging
import re
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from evenhand.service.http.logs import JsonFormatter, RequestFilter, TextFormatter
from evenhand.service.store import Store
from tests.service.databases import PATIENCE, until
from tests.service.http.asking import Asking
from tests.service.running import Server

SECRET = "evh_" + "s3cret-_" * 5 + "abc"


@pytest.mark.parametrize("given", ["order-17", "!" * 100, "~"])
def test_the_id_of_a_request_is_echoed(ask: Asking, given: str) -> None:
    for path in ("/healthz", "/v1/allocations", "/nowhere", "/v1/allocations/none"):
        assert ask.get(path, headers={"X-Request-ID": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a b", "é".encode(), "x" * 101, "a\tb"])
def test_an_id_that_is_not_well_formed_is_replaced(ask: Asking, given: str | bytes) -> None:
    ids = [ask.get("/healthz", headers={"X-Request-ID": given}).headers["x-request-id"] for _ in range(2)]
    assert ids[0] != ids[1]
    assert all(re.fullmatch("[0-9a-f]{32}", id) for id in ids)


def test_refusals_and_unexpected_errors_have_an_id(
    ask: Asking, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask.post("/v1/allocations", {"name": 1}, headers={"X-Request-ID": "bad"}).headers["x-request-id"] == "bad"

    def fail(*_: object) -> None:
        raise RuntimeError("the tea is cold")

    caplog.handler.addFilter(RequestFilter())
    caplog.handler.setFormatter(JsonFormatter())
    monkeypatch.setattr(ask.store, "allocations", fail)
    answer = ask.get("/v1/allocations", headers={"X-Request-ID": "order-18"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "order-18")
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    line = json.loads(caplog.handler.format(record))
    assert (line["request_id"], line["message"]) == ("order-18", "RuntimeError: the tea is cold")
    assert line["traceback"].startswith("Traceback")


def test_a_line_cannot_be_forged_and_shows_no_secret() -> None:
    message = f"no\nevenhand: \x1b[31mall is well\r\u202e\x85 {SECRET}"
    try:
        raise ValueError(message)
    except ValueError:
        record = logging.makeLogRecord(
            {"name": "evenhand", "msg": "%s", "args": (message,), "exc_info": sys.exc_info()}
        )
    path = "/\n\x7f"
    vars(record).update(path=path, key='a "b" \n')
    plain = JsonFormatter().format(record)
    assert plain.isascii()
    assert plain.isprintable()
    assert json.loads(plain)["message"] == message.replace(SECRET, "evh_(hidden)")
    assert json.loads(plain)["path"] == path
    first, *rest = TextFormatter().format(record).splitlines()
    assert all(line.startswith("  ") and line.isprintable() for line in rest)
    assert first.isprintable()
    assert r"no\nevenhand: \x1b[31mall is well\r\u202e\x85 evh_(hidden)" in first
    assert SECRET not in plain + first + "".join(rest)


def test_requests_are_logged_as_json(serve: Callable[..., Server], sqlite: str) -> None:
    store = Store.open(sqlite)
    _, secret = store.keys.create("shop", ["read"])
    store.close()
    server = serve(sqlite, "--log-level", "info", "--log-format", "json")
    began = datetime.now(UTC)
    headers = {"Authorization": f"Bearer {secret}", "X-Request-ID": "order-17"}
    server.http.get("/v1/allocations", headers=headers)
    server.http.delete("/v1/allocations/drinks/arms/tea", headers=headers | {"X-Request-ID": "order-18"})
    server.http.get("/nowhere?taste=sweet")
    server.http.get("/v1/%0Aallocations")
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(b"TEA\r\n\r\n")
        (id,) = re.findall(rb"x-request-id: (\w+)\r\n", line.makefile("rb").read())
    until(lambda: id.decode() in server.log(), server.log)
    assert secret not in server.log()
    assert "sweet" not in server.log()
    lines = {line.get("request_id", line["message"]): line for line in map(json.loads, server.log().splitlines())}
    assert any("Evenhand serves" in line["message"] for line in lines.values())
    one = lines["order-17"]
    assert began <= datetime.fromisoformat(one.pop("time")) <= datetime.now(UTC)
    assert 0 < one.pop("seconds") < PATIENCE
    assert one == {
        "level": "info",
        "logger": "evenhand.access",
        "message": "GET /v1/allocations 200",
        "request_id": "order-17",
        "method": "GET",
        "path": "/v1/allocations",
        "status": 200,
        "key": "shop",
        "client": "127.0.0.1",
    }
    refused = lines["order-18"]
    assert (refused["status"], refused["key"]) == (403, "shop")
    assert "/v1/\nallocations" in [line.get("path") for line in lines.values()]
    assert lines[id.decode()]["status"] == 400
