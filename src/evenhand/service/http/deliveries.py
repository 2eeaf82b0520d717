"""Delivers events to webhooks: in order, at least once, by one server at a time, and beside the decisions."""

from __future__ import annotations

import ipaddress
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event as Signal
from threading import Lock, Thread
from typing import Any

import httpx
from sqlalchemy import Row

from evenhand.client.webhooks import signature
from evenhand.core.errors import EvenhandError
from evenhand.core.version import __version__
from evenhand.messages.answers import Event, rfc3339
from evenhand.service.json import encode
from evenhand.service.store import Store
from evenhand.service.store.export import read_event_page
from evenhand.service.store.webhooks import CLAIM, WebhookStore

LOG = logging.getLogger("evenhand.webhooks")
POLL = 1.0  # seconds between looks for events to be sent
TIMEOUT = 10.0  # seconds for a connection, and for an answer
PAGE = 100  # events per claim
WORKERS = 8  # addresses that are delivered to at the same time
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # addresses of IPv4 in IPv6


class Deliveries:
    """Delivers the events of all allocations to their webhooks."""

    def __init__(self, store: Store, private: bool = False, hooks: WebhookStore | None = None) -> None:
        self._store, self._private = store, private
        self._hooks = hooks or WebhookStore(store.database)
        self._client = httpx.Client(timeout=TIMEOUT, trust_env=False, headers={"user-agent": f"evenhand/{__version__}"})
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="evenhand-webhook")
        self._busy: set[str] = set()
        self._lock, self._closing = Lock(), Signal()

    def start(self) -> None:
        """Deliver what comes, in threads of their own, until it is closed."""
        Thread(target=self._watch, name="evenhand-webhooks", daemon=True).start()

    def close(self) -> None:
        """Deliver no more; what is not delivered yet is delivered after the next start."""
        self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._client.close()

    def deliver(self) -> None:
        """Deliver what is due now, and wait for it."""
        for id, name in self._hooks.due():
            self._deliver(id, name)

    def _watch(self) -> None:
        while not self._closing.wait(POLL):
            with suppress(EvenhandError, RuntimeError):  # the database cannot be used now, or the server is closing
                for id, name in self._hooks.due():
                    with self._lock:
                        begins = id not in self._busy
                        self._busy.add(id)
                    if begins:
                        self._pool.submit(self._deliver, id, name)

    def _deliver(self, id: str, name: str) -> None:
        try:
            claim = self._hooks.claim(id)
            if claim is not None:
                self._deliver_claimed(claim, name)
        except Exception as error:
            LOG.warning("the events of %s could not be delivered: %s", name, error)
        finally:
            with self._lock:
                self._busy.discard(id)

    def _deliver_claimed(self, claim: Row[Any], name: str) -> None:
        """Deliver a page of events, as far as the time of the claim goes."""
        sequence, error, gone = claim.sequence, None, False
        kinds = None if claim.kinds is None else claim.kinds.split()
        end = self._hooks.now() + CLAIM - 3 * TIMEOUT
        for event in read_event_page(self._store.database, name, sequence, PAGE).events:
            if self._closing.is_set() or self._hooks.now() > end:
                break
            if kinds is None or event.kind in kinds:
                error, gone = self._send(claim, name, event)
            if error is not None:
                break
            sequence = event.sequence
        if self._hooks.release(claim, sequence, error, gone):
            LOG.error("the webhook %s of %s is disabled, as nothing could be delivered: %s", claim.id, name, error)

    def _send(self, claim: Row[Any], name: str, event: Event) -> tuple[str | None, bool]:
        """Send an event; returns why it was not accepted, if it was not, and whether no more are wanted."""
        body = message(name, event)
        id, timestamp = f"{claim.id}-{event.sequence}", int(self._hooks.now())
        headers = {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(claim.secret, id, timestamp, body),
        }
        try:
            url, host = resolved(claim.url, self._private)
            options: Any = {"extensions": {"sni_hostname": host.partition(":")[0]}} if url.scheme == "https" else {}
            with self._client.stream("POST", url, content=body, headers=headers | {"host": host}, **options) as answer:
                status = answer.status_code
        except (EvenhandError, httpx.HTTPError, httpx.InvalidURL) as problem:
            return str(problem) or type(problem).__name__, False
        return (None, False) if 200 <= status < 300 else (f"the answer had status {status}", status == 410)


def message(name: str, event: Event) -> bytes:
    """The body of a message."""
    data = {"allocation": name, **event.to_json()}
    return encode({"type": event.kind, "timestamp": rfc3339(event.time), "data": data})


def check_address(url: str, private: bool) -> httpx.URL:
    """The address of a webhook, which need not be reachable yet."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise EvenhandError(f"url is invalid: {error}") from None
    if address.scheme not in ("https", "http") or not address.host or address.userinfo or address.fragment:
        raise EvenhandError("url must be an address such as https://example.org/hook, without a user name")
    if address.scheme == "http" and not private:
        raise EvenhandError("url must begin with https://, unless the server runs with --private-webhooks")
    try:
        ip = ipaddress.ip_address(address.host)
    except ValueError:  # the name of a host
        return address
    _check_public(address.host, ip, private)
    return address


def resolved(url: str, private: bool) -> tuple[httpx.URL, str]:
    """The address of a webhook with the IP address in place of the name of its host, and the header ``host``.

    The connection goes to the IP address that was checked, whatever the name resolves to a moment later.
    """
    address = check_address(url, private)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(address.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise EvenhandError(f"the host {address.host} is unknown: {error}") from None
    for _, _, _, _, (ip, *_) in found:
        _check_public(address.host, ipaddress.ip_address(str(ip)), private)
    return address.copy_with(host=str(found[0][4][0])), address.netloc.decode("ascii")


def _check_public(host: str, ip: ipaddress.IPv4Address | ipaddress.IPv6Address, private: bool) -> None:
    inner = ip
    if isinstance(ip, ipaddress.IPv6Address):
        teredo = ip.teredo
        inner = ip.ipv4_mapped or ip.sixtofour or (teredo[1] if teredo else ip)
        if ip in NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    if not private and (not inner.is_global or inner.is_multicast):
        raise EvenhandError(
            f"the host {host} is in a private network; --private-webhooks of `evenhand serve` allows it"
        )
