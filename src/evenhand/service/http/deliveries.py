"""Delivers events to webhooks: in order, at least once, by one server at a time, and beside the decisions.

One thread waits for all receivers. No delivery may take longer than its deadline, however slowly an answer drips in;
each allocation has its share of the deliveries at a time, and a stop ends them all at once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import Thread
from typing import Any, TypeVar

import httpx
from sqlalchemy import Row

from evenhand.client.webhooks import signature
from evenhand.core.errors import EvenhandError
from evenhand.core.version import __version__
from evenhand.messages.answers import Event, rfc3339
from evenhand.service.json import encode
from evenhand.service.store import Store
from evenhand.service.store.errors import DamagedAllocation, MissingPart
from evenhand.service.store.export import read_event_page
from evenhand.service.store.webhooks import WebhookStore

LOG = logging.getLogger("evenhand.webhooks")
POLL = 1.0  # seconds between looks for events to be sent
TIMEOUT = 10.0  # seconds for a delivery in all: the name, the connection, the request and the answer
TURN = 10.0  # seconds after which others have a turn, if events are left
PAGE = 100  # events per turn
AT_ONCE, OF_ONE = 64, 4  # addresses that are delivered to at the same time, in all and of one allocation
STOP = 4.0  # seconds that a stop waits for deliveries to end

Found = TypeVar("Found")


@dataclass
class Turn:
    """A turn of a webhook: how far it is, its tries, and how the last of them ended."""

    claim: Row[Any]
    sequence: int
    tries: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None
    gone: bool = False


class Deliveries:
    """Delivers the events of all allocations to their webhooks."""

    def __init__(self, store: Store, private: bool = False, hooks: WebhookStore | None = None) -> None:
        self._store, self._private = store, private
        self._hooks = hooks or WebhookStore(store.database)
        self._running: dict[str, str] = {}  # the webhooks that have a turn, with their allocations
        self._served: dict[str, int] = {}  # when webhooks and allocations had their last one
        self._number = count(1)
        self._thread: Thread | None = None
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Deliver what comes, in a thread of its own, until it is closed."""
        self._thread = Thread(target=self._run, name="evenhand-webhooks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Deliver no more; what is not delivered yet is delivered after the next start."""
        if self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
            self._thread.join(STOP)
        elif not self._loop.is_closed():
            self._loop.close()

    def deliver(self) -> None:
        """Deliver what is due now, and wait for it."""

        async def once() -> None:
            async with _client() as client:
                for id, name in self._hooks.due():
                    await self._deliver(client, id, name)

        asyncio.run(once())

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            self._task = self._loop.create_task(self._watch())
            self._loop.run_until_complete(self._task)
        self._loop.close()

    async def _watch(self) -> None:
        async with _client() as client, asyncio.TaskGroup() as turns:
            while True:
                await asyncio.sleep(POLL)
                with suppress(EvenhandError, RuntimeError):  # the database cannot be used now, or the server is closing
                    for id, name in chosen(await _in_thread(self._hooks.due), self._running, self._served):
                        self._running[id] = name
                        self._served[id] = self._served[name] = next(self._number)
                        turns.create_task(self._deliver(client, id, name))

    async def _deliver(self, client: httpx.AsyncClient, id: str, name: str) -> None:
        try:
            claim = await _in_thread(partial(self._hooks.claim, id))
            if claim is not None:
                await self._deliver_claimed(client, Turn(claim, claim.sequence), name)
        except Exception as error:
            LOG.warning("the events of %s could not be delivered: %s", name, error)
        finally:
            self._running.pop(id, None)

    async def _deliver_claimed(self, client: httpx.AsyncClient, turn: Turn, name: str) -> None:
        """Deliver a page of events, as far as the time of the turn goes."""
        claim = turn.claim
        kinds = None if claim.kinds is None else claim.kinds.split()
        end = self._hooks.now() + TURN
        try:
            page = await _in_thread(partial(read_event_page, self._store.database, name, turn.sequence, PAGE))
            for event in page.events:
                if kinds is None or event.kind in kinds:
                    turn.error, turn.gone = await self._try(client, turn, name, event)
                if turn.error is not None:
                    break
                turn.sequence = event.sequence
                if self._hooks.now() > end:
                    break
        except (DamagedAllocation, MissingPart) as damage:
            turn.error = str(damage)
        except asyncio.CancelledError:
            self._hooks.give_back(claim, turn.sequence, turn.tries)
            raise
        release = partial(self._hooks.release, claim, turn.sequence, turn.error, turn.gone, turn.tries)
        if await _in_thread(release):
            LOG.error("the webhook %s of %s is disabled, as nothing could be delivered: %s", claim.id, name, turn.error)

    async def _try(self, client: httpx.AsyncClient, turn: Turn, name: str, event: Event) -> tuple[str | None, bool]:
        """Send an event, and note when, how long it took, and what came of it; see `_send`."""
        sent, begun = self._hooks.now(), time.perf_counter()
        status, error = None, None
        try:
            async with asyncio.timeout(TIMEOUT):
                status = await self._send(client, turn.claim, name, event)
        except TimeoutError:
            error = f"no whole answer within {TIMEOUT:g} seconds"
        except (EvenhandError, httpx.HTTPError, httpx.InvalidURL) as problem:
            error = str(problem) or type(problem).__name__
        if status is not None and not 200 <= status < 300:
            error = f"the answer had status {status}"
        attempt = turn.claim.tries + 1 if turn.sequence == turn.claim.sequence else 1
        tried = {"sequence": event.sequence, "attempt": attempt, "sent": sent, "seconds": time.perf_counter() - begun}
        turn.tries.append(tried | {"status": status, "error": error and error[:500]})
        return error, status == 410

    async def _send(self, client: httpx.AsyncClient, claim: Row[Any], name: str, event: Event) -> int:
        """Send an event; the status of the answer."""
        body = message(name, event)
        id, timestamp = f"{claim.id}-{event.sequence}", int(self._hooks.now())
        url, host = await _in_thread(partial(resolved, claim.url, self._private))
        headers = {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(claim.secret, id, timestamp, body),
            "host": host,
        }
        certified = httpx.URL(claim.url).raw_host.decode("ascii")
        options: Any = {"extensions": {"sni_hostname": certified}} if url.scheme == "https" else {}
        async with client.stream("POST", url, content=body, headers=headers, **options) as answer:
            return answer.status_code


def chosen(
    due: Sequence[tuple[str, str]], running: Mapping[str, str], served: Mapping[str, int]
) -> list[tuple[str, str]]:
    """The webhooks that have a turn now: of the allocation first that had one longest ago, and few of each."""
    of_one = Counter(running.values())
    turns: list[tuple[str, str]] = []
    waiting = [one for one in due if one[0] not in running]
    for id, name in sorted(waiting, key=lambda one: (served.get(one[1], 0), served.get(one[0], 0))):
        if len(running) + len(turns) < AT_ONCE and of_one[name] < OF_ONE:
            turns.append((id, name))
            of_one[name] += 1
    return turns


def message(name: str, event: Event) -> bytes:
    """The body of a message."""
    data = {"allocation": name, **event.to_json()}
    return encode({"type": data["data"].get("alarm", event.kind), "timestamp": rfc3339(event.time), "data": data})


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=TIMEOUT, trust_env=False, headers={"user-agent": f"evenhand/{__version__}"})


async def _in_thread(work: Callable[[], Found]) -> Found:
    """What a function returns that may wait long; at a stop nobody waits for its thread."""
    future: Future[Found] = Future()
    future.set_running_or_notify_cancel()  # so that a stop does not take it away from the thread

    def run() -> None:
        try:
            found = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(found)

    Thread(target=run, name="evenhand-webhook", daemon=True).start()
    return await asyncio.wrap_future(future)


IP = ipaddress.IPv4Address | ipaddress.IPv6Address
#: Not for the public, by the registries of special addresses (RFC 6890) as of 2026. Written down here, as Python's
#: ``is_global`` differs: 3.11.7 takes 192.0.0.8 and 64:ff9b:1::1 for public, and each version ::127.0.0.1.
PRIVATE_4 = [
    ipaddress.IPv4Network(one)
    for one in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
        *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
    )
]
PUBLIC_6 = ipaddress.IPv6Network("2000::/3")  # all others are private, local, multicast or not given to anybody
#: In it, but for protocols (Teredo among them), documentation, and IPv4 through others' relays (6to4).
PRIVATE_6 = [ipaddress.IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # public addresses of IPv4, as networks without IPv4 write them


def is_public(ip: IP) -> bool:
    """Whether an address is one of the public internet."""
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in PRIVATE_4)
    if ip.ipv4_mapped is not None:
        return is_public(ip.ipv4_mapped)
    if ip in NAT64:
        return is_public(ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF))
    return ip in PUBLIC_6 and not any(ip in network for network in PRIVATE_6)


def check_address(url: str, private: bool) -> httpx.URL:
    """The address of a webhook, which need not be reachable yet."""
    try:
        address = httpx.URL(url)
        host = address.host
    except (httpx.InvalidURL, UnicodeError) as error:  # the latter for names that cannot be written in ASCII
        raise EvenhandError(f"url is invalid: {error}") from None
    if address.scheme not in ("https", "http") or not host or address.userinfo or address.fragment:
        raise EvenhandError("url must be an address such as https://example.org/hook, without a user name")
    if address.port is not None and not 0 < address.port < 2**16:
        raise EvenhandError(f"the port of url must be from 1 to 65,535, got {address.port:,}")
    if address.scheme == "http" and not private:
        raise EvenhandError("url must begin with https://, unless the server runs with --private-webhooks")
    return address


def check_registered(url: str, private: bool) -> None:
    """Refuse an address that is private or has a name of a private one; a name need not be known yet."""
    address = check_address(url, private)
    with suppress(OSError):
        _public(address, private)


def resolved(url: str, private: bool) -> tuple[httpx.URL, str]:
    """The address of a webhook with the IP address that was checked in place of its host, and the header ``host``."""
    address = check_address(url, private)
    try:
        ip = _public(address, private)
    except OSError as error:
        raise EvenhandError(f"the host {address.host} is unknown: {error}") from None
    return address.copy_with(host=ip), address.netloc.decode("ascii")


def _public(address: httpx.URL, private: bool) -> str:
    """The first IP address of a host, if all that it has may be sent to."""
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(address.host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a part of the name is too long
        raise OSError(str(error)) from None
    ips = [str(ip) for _, _, _, _, (ip, *_) in found]
    if not private and not all(is_public(ipaddress.ip_address(ip)) for ip in ips):
        raise EvenhandError(
            f"the host {address.host} is in a private network; --private-webhooks of `evenhand serve` allows it"
        )
    return ips[0]
