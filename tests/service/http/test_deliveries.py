"""Webhooks are delivered in order, at least once, by one server, signed, and never to private networks."""

from __future__ import annotations

import base64
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenhand.client import InvalidSignature, verify_webhook
from evenhand.client.webhooks import signature
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import moment
from evenhand.service.http.deliveries import OF_ONE, Deliveries, check_address, check_registered, is_public, resolved
from evenhand.service.store import Decide, Store
from evenhand.service.store.webhooks import CLAIM, PATIENCE, WebhookStore
from tests.service.databases import until
from tests.service.store.kit import START, Clock, count

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


def test_alarms_are_sent_by_their_names(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver
) -> None:
    store.create("films", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.25}}, seed=1)
    hooks.add("films", receiver.url, ["alarm"], SECRET)
    for rounds, available in ((30, ["tea"]), (60, None)):
        store.run("films", Decide(count=rounds, available=available))
        store.judge()
        deliveries.deliver()
    assert [one["type"] for one in receiver.messages] == ["promise.behind", "promise.kept_again"]
    (promise,) = receiver.messages[0]["data"]["data"]["promises"]
    assert promise["text"] == "coffee is 7.5 plays behind the 25% that it was promised"


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
        "https://192.0.0.8/",
        "https://[64:ff9b:1::1]/",
        "https://[::127.0.0.1]/",
        "https://[::ffff:0:127.0.0.1]/",
        "https://[::ffff:0:8.8.8.8]/",
        "https://[2001:0:a00:1::]/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[3fff::1]/",
        "https://[ff02::1]/",
    ],
)
@pytest.mark.parametrize("ask", [resolved, check_registered])
def test_private_networks_are_refused(url: str, ask: Callable[..., object]) -> None:
    with pytest.raises(EvenhandError, match="is in a private network"):
        ask(url, private=False)


@pytest.mark.parametrize("ip", ["8.8.8.8", "192.31.196.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_public_addresses_are_not(ip: str) -> None:
    assert is_public(ipaddress.ip_address(ip))


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "http://example.org/", "https://a:b@example.org/", "x", "https://"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(EvenhandError, match="url must"):
        check_address(url, private=False)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://xn--/", "url is invalid: Malformed A-label"),
        ("https://example.org:65536/", "the port of url must be from 1 to 65,535, got 65,536"),
        ("https://example.org:0/", "the port of url must be from 1 to 65,535, got 0"),
    ],
)
def test_addresses_that_nobody_can_send_to_are_refused(url: str, fault: str) -> None:
    with pytest.raises(EvenhandError, match=fault):
        check_registered(url, private=False)


@pytest.mark.parametrize(
    ("url", "certified"),
    [
        ("https://[2606:4700::1111]:8443/", "2606:4700::1111"),
        ("https://8.8.8.8/", "8.8.8.8"),
        ("https://hooks.example.org:8443/", "hooks.example.org"),
    ],
)
def test_the_certificate_must_be_of_the_host(
    hooks: WebhookStore, deliveries: Deliveries, store: Store, monkeypatch: pytest.MonkeyPatch, url: str, certified: str
) -> None:
    asked: list[str] = []

    async def answered(client: httpx.AsyncClient, request: httpx.Request, **_: object) -> httpx.Response:
        asked.append(request.extensions["sni_hostname"])
        return httpx.Response(200, request=request)

    monkeypatch.setattr(httpx.AsyncClient, "send", answered)
    monkeypatch.setattr("evenhand.service.http.deliveries._public", lambda *_: "8.8.8.8")
    hooks.add("drinks", url, None, SECRET)
    store.run("drinks", Decide())
    deliveries.deliver()
    assert asked == [certified]


def test_a_name_that_is_not_known_yet_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    check_registered("https://hooks.example.org/", private=False)
    with pytest.raises(EvenhandError, match=r"the host hooks\.example\.org is unknown"):
        resolved("https://hooks.example.org/", private=False)


@pytest.mark.parametrize("size", [0, 1, 23])
def test_short_secrets_are_refused(hooks: WebhookStore, size: int) -> None:
    secret = "whsec_" + base64.b64encode(b"s" * size).decode()
    with pytest.raises(EvenhandError, match=r"secret must have at least 24 bytes|must be whsec_ and base64"):
        hooks.add("drinks", "https://example.org/", secret=secret)
    assert hooks.listed("drinks").webhooks == ()


@pytest.fixture
def drip() -> Iterator[str]:
    """The address of a receiver whose answers never end: a line of the header every 50 ms."""
    stop = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not stop.wait(0.05):
                connection.sendall(b"x-drop: 1\r\n")

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],)).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        stop.set()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_receivers_that_drip_stop_neither_others_nor_the_server(
    store: Store, hooks: WebhookStore, receiver: Receiver, drip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.service.http.deliveries.POLL", 0.02)
    store.create("slow", ["tea", "coffee"], "ucb1", seed=1)
    store.create("cups", ["tea", "coffee"], "ucb1", seed=1)
    for name in ("slow", "cups"):
        for _ in range(10):
            hooks.add(name, drip, None, SECRET)
        store.run(name, Decide())
    deliveries = Deliveries(store, private=True, hooks=hooks)
    deliveries.start()
    until(lambda: len(deliveries._running) == 2 * OF_ONE, lambda: "not all of their turns are taken")
    hooks.add("drinks", receiver.url, None, SECRET)
    store.run("drinks", Decide())
    until(lambda: hooks.listed("drinks").webhooks[0].sequence == 2, lambda: "the others are stopped")
    assert receiver.sequences() == [2]
    deliveries.close()
    assert deliveries._thread is not None
    assert not deliveries._thread.is_alive()
    for hook in (*hooks.listed("slow").webhooks, *hooks.listed("cups").webhooks):
        assert (hook.sequence, hook.error) == (1, None)  # given back: the next start goes on at once
    assert len(hooks.due()) == 20


def test_an_answer_that_drips_has_a_deadline_and_is_listed_with_its_times(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, drip: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.service.http.deliveries.TIMEOUT", 0.3)
    hooks.add("drinks", drip, None, SECRET)
    store.run("drinks", Decide())
    for _ in range(2):
        deliveries.deliver()
        clock.now += 10.0
    (hook,) = hooks.listed("drinks").webhooks
    assert hook.error == "no whole answer within 0.3 seconds"
    assert [(one.sequence, one.attempt, one.status, one.error) for one in hook.deliveries] == [
        (2, 2, None, hook.error),
        (2, 1, None, hook.error),
    ]
    assert all(one.seconds >= 0.3 for one in hook.deliveries)
    assert [one.sent for one in hook.deliveries] == [moment(START + 10.0), moment(START)]


def test_the_last_deliveries_are_listed(
    store: Store, hooks: WebhookStore, deliveries: Deliveries, receiver: Receiver
) -> None:
    hook = hooks.add("drinks", receiver.url, None, SECRET)
    store.run("drinks", Decide(count=30))
    deliveries.deliver()
    (listed,) = hooks.listed("drinks").webhooks
    assert [(one.sequence, one.attempt, one.status) for one in listed.deliveries] == [
        (sequence, 1, 200) for sequence in range(31, 11, -1)
    ]
    hooks.remove("drinks", hook.id)
    assert count(store.database, "deliveries") == 0


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
