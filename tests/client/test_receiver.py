"""The example of a receiver keeps what the service has signed, once, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenhand.client.webhooks import signature

FILE = Path(__file__).parents[2] / "examples/webhook/receiver.py"
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def receiver() -> Any:
    spec = importlib.util.spec_from_file_location("receiver", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.receiver


def body_of(sequence: int) -> bytes:
    return json.dumps({"type": "decide", "data": {"allocation": "drinks", "sequence": sequence}}).encode()


def signed(id: str, body: bytes, late: int = 0) -> dict[str, str]:
    sent = int(time.time()) - late
    return {
        "webhook-id": id,
        "webhook-timestamp": str(sent),
        "webhook-signature": signature(SECRET, id, sent, body),
    }


def test_the_receiver_of_the_guide(receiver: Any, tmp_path: Path) -> None:
    database = str(tmp_path / "events.db")
    with receiver(SECRET, database, port=0) as server, httpx.Client() as http:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:

            def status(content: bytes, headers: dict[str, str]) -> int:
                url = f"http://127.0.0.1:{server.server_port}/hook"
                return http.post(url, content=content, headers=headers).status_code

            one, two = body_of(1), body_of(2)
            assert status(one, signed("m1", one)) == 204
            assert status(one, signed("m1", one)) == 204
            assert status(two, signed("m2", one)) == 400
            assert status(two, signed("m2", two, late=600)) == 400
            assert status(two, {}) == 400
            with closing(HTTPConnection("127.0.0.1", server.server_port)) as large:
                large.putrequest("POST", "/hook")
                large.putheader("Content-Length", "1000001")
                large.endheaders()
                assert large.getresponse().status == 413
            assert status(two, signed("m3", two)) == 204
        finally:
            server.shutdown()
            thread.join()
    with closing(sqlite3.connect(database)) as connection:
        kept = connection.execute("SELECT id, allocation, event FROM events ORDER BY id").fetchall()
    assert [(id, name, json.loads(event)["sequence"]) for id, name, event in kept] == [
        ("m1", "drinks", 1),
        ("m3", "drinks", 2),
    ]
