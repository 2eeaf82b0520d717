"""Webhooks are delivered in order, at least once, by one server, signed, and never to private networks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evenhand.client import InvalidSignature, verify_webhook
from evenhand.client.webhooks import signature
from evenhand.core.errors import EvenhandError
from evenhand.service.http.deliveries import Deliveries, check_address, resolved
from evenhand.service.store import Decide, Store
from evenhand.service.store.webhooks import CLAIM, PATIENCE, WebhookStore
from tests.service.databases import until
from tests.service.store.kit import Clock

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass
class Receiver:
    """A real receiver on this computer."""

    url: str
    clock: Clock
    status: int = 200
    wait: threading.Event | None = None
    arrived: threading.Event = field(default_factory=threading.Event)
    ids: list[str] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def sequences(self) -> list[int]:
        return [message["data"]["sequence"] for message in self.messages]


@pytest.fixture
def receiver(clock: Clock) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            message = verify_webhook(SECRET, dict(self.headers.items()), body, now=clock.now)
            found.arrived.set()
            if found.wait is not None:
                assert found.wait.wait(10)
            found.ids.append(self.headers["webhook-id"])
            if found.status == 200:
                found.messages.append(message)
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Receiver(f"http://127.0.0.1:{server.server_port}/hook?a=b", clock)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    store = Store.open(str(tmp_path / "evenhand.db"), clock=clock)
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
    yield store
    store.close()


@pytest.fixture
def hooks(store: Store, clock: Clock) -> WebhookStore:
    return WebhookStore(store.database, clock)


@pytest.fixture
def deliveries(store: Store, hooks: WebhookStore) -> Iterator[Deliveries]:
    deliveries = Deliveries(store, private=True, hooks=hooks)
    yield deliveries
    deliveries.close()


def test_events_arrive_in_order_and_once(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver
) -> None:
    hook = hooks.add("drinks", receiver.url, ["decide"], SECRET, after=0)
    assert hook.secret == SECRET
    store.run("drinks", Decide(count=3))
    deliveries.deliver()
    deliveries.deliver()
    assert receiver.sequences() == [2, 3, 4]
    assert receiver.messages[0]["type"] == "decide"
    assert receiver.messages[0]["data"]["allocation"] == "drinks"
    assert receiver.messages[0]["data"]["data"] == {"arms": ["tea"], "propensity": [1.0]}
    assert receiver.ids == [f"{hook.id}-{sequence}" for sequence in (2, 3, 4)]
    (listed,) = hooks.listed("drinks").webhooks
    assert (listed.sequence, listed.failing, listed.secret) == (4, None, None)
    hooks.remove("drinks", hook.id)
    store.run("drinks", Decide())
    deliveries.deliver()
    assert len(receiver.messages) == 3


def test_a_receiver_that_is_down_misses_nothing(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver, clock: Clock
) -> None:
    hooks.add("drinks", receiver.url, None, SECRET)
    store.run("drinks", Decide(count=2))
    receiver.status = 500
    deliveries.deliver()
    (listed,) = hooks.listed("drinks").webhooks
    assert (listed.sequence, listed.error) == (1, "the answer had status 500")
    deliveries.deliver()  # it waits first
    assert len(receiver.ids) == 1
    clock.now += 7.0
    deliveries.deliver()
    assert len(receiver.ids) == 2
    clock.now += 7.0  # the second pause is longer
    deliveries.deliver()
    assert len(receiver.ids) == 2
    deliveries.close()  # and after a restart
    receiver.status = 200
    clock.now += 7.0
    again = Deliveries(store, private=True, hooks=hooks)
    again.deliver()
    again.close()
    assert receiver.sequences() == [2, 3]
    assert receiver.ids[:3] == [receiver.ids[0]] * 3
    assert hooks.listed("drinks").webhooks[0].error is None


@pytest.mark.parametrize("gone", [False, True])
def test_it_is_disabled_after_long_failure_or_at_once_where_it_is_gone(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver, clock: Clock, gone: bool
) -> None:
    hooks.add("drinks", receiver.url, None, SECRET)
    store.run("drinks", Decide())
    receiver.status = 410 if gone else 404
    deliveries.deliver()
    assert (hooks.listed("drinks").webhooks[0].disabled is not None) == gone
    clock.now += PATIENCE
    deliveries.deliver()
    assert hooks.listed("drinks").webhooks[0].disabled is not None
    receiver.status = 200
    clock.now += PATIENCE
    deliveries.deliver()
    assert receiver.messages == []


def test_only_one_of_two_servers_delivers_and_decisions_do_not_wait(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver, clock: Clock
) -> None:
    hooks.add("drinks", receiver.url, None, SECRET)
    store.run("drinks", Decide())
    receiver.wait = threading.Event()
    slow = threading.Thread(target=deliveries.deliver)
    slow.start()
    assert receiver.arrived.wait(10)
    other = Deliveries(store, private=True, hooks=hooks)
    other.deliver()
    assert store.run("drinks", Decide(count=2)).decisions[-1].round == 3
    receiver.wait.set()
    slow.join()
    other.deliver()
    other.close()
    assert receiver.sequences() == [2, 3, 4]


def test_another_server_goes_on_after_one_that_died(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver, clock: Clock
) -> None:
    hook = hooks.add("drinks", receiver.url, None, SECRET)
    store.run("drinks", Decide())
    dead = hooks.claim(hook.id)
    assert dead is not None
    deliveries.deliver()
    assert receiver.messages == []
    clock.now += CLAIM
    deliveries.deliver()
    assert receiver.sequences() == [2]
    hooks.release(dead, 1, None)  # it was only slow
    assert hooks.listed("drinks").webhooks[0].sequence == 2


def test_a_server_delivers_by_itself(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver
) -> None:
    hooks.add("drinks", receiver.url, None, SECRET)
    deliveries.start()
    store.run("drinks", Decide())
    until(lambda: len(receiver.messages) == 1, lambda: "nothing was delivered")
    assert receiver.sequences() == [2]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.1/",
        "https://192.168.1.1:8443/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
        "https://0.0.0.0/",
        "https://2130706433/",
        "https://224.0.0.1/",
    ],
)
def test_private_networks_are_refused(url: str) -> None:
    with pytest.raises(EvenhandError, match="is in a private network"):
        resolved(url, private=False)


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "http://example.org/", "https://a:b@example.org/", "x", "https://"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(EvenhandError, match="url must"):
        check_address(url, private=False)


@pytest.mark.parametrize("url", ["https://10.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest"])
def test_addresses_in_private_networks_cannot_be_registered(url: str) -> None:
    with pytest.raises(EvenhandError, match="is in a private network"):
        check_address(url, private=False)


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    url, host = resolved("http://localhost:8080/hook?a=b", private=True)
    assert host == "localhost:8080"
    assert str(url) in ("http://127.0.0.1:8080/hook?a=b", "http://[::1]:8080/hook?a=b")


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of https://www.standardwebhooks.com and of its libraries."""
    signed = signature(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_signatures_that_do_not_fit() -> None:
    body, headers = b"{}", {"Webhook-Id": "m", "Webhook-Timestamp": "1000"}
    headers["Webhook-Signature"] = "v1,AAAA " + signature(SECRET, "m", 1000, body)
    assert verify_webhook(SECRET, headers, body, now=1300.0) == {}
    for changed, sent, now in [
        (headers, b"{ }", 1000.0),
        (headers, body, 1301.0),
        (headers, body, 699.0),
        (headers | {"Webhook-Id": "n"}, body, 1000.0),
        (headers | {"Webhook-Timestamp": "1001"}, body, 1000.0),
        (headers | {"Webhook-Signature": "v1,é"}, body, 1000.0),
        ({}, body, 1000.0),
    ]:
        with pytest.raises(InvalidSignature):
            verify_webhook(SECRET, changed, sent, now=now)
    for secret in ("secret", "whsec_", "whsec_é"):
        with pytest.raises(EvenhandError, match="the secret of a webhook must be whsec_"):
            signature(secret, "m", 1000, body)
