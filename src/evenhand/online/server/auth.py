"""Authentication: API keys with scopes; without any key, every scope for requests from this computer."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from evenhand.online.api.problems import Refused
from evenhand.online.server.settings import is_loopback
from evenhand.online.store.api_keys import SCOPES, Key
from evenhand.online.store.errors import StoreUnavailable

Value = TypeVar("Value")
CACHED = 1.0  # seconds; a revoked key is refused after this time at the latest
MAX_CACHED = 1000  # keys that are cached at a time
SECRET = re.compile(r"evh_[A-Za-z0-9_-]{43}", flags=re.ASCII)
HOST = re.compile(r"(\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(:[0-9]*)?", flags=re.ASCII)
CHALLENGE = {"www-authenticate": 'Bearer realm="evenhand"'}
#: Headers that only a proxy adds; a request with one of them does not come from this computer.
PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class KeyStore(Protocol):
    """Where keys are stored, such as `evenhand.online.store.api_keys.Keys`."""

    def find(self, secret: str) -> Key | None:
        """The key with this secret; None if there is none, or it was revoked."""

    def any(self) -> bool:
        """Whether a key was ever created."""


@dataclass(frozen=True)
class Caller:
    """The sender of a request.

    Attributes:
        name: of the key; None where there are no keys.
        scopes: what it may do.
    """

    name: str | None
    scopes: frozenset[str]


LOCAL_CALLER = Caller(None, frozenset(SCOPES))


class Cached(Generic[Value]):
    """Values that are slow to compute, each computed at most once per second, however many requests need it.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tasks: dict[Hashable, tuple[float, asyncio.Task[Value]]] = {}

    async def __call__(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value of a key, which ``compute`` returns in a thread; an exception is cached, too."""
        now = self._clock()
        until, task = self._tasks.get(key, (-math.inf, None))
        if task is None or until <= now:
            if len(self._tasks) >= MAX_CACHED:
                self._tasks = {name: entry for name, entry in self._tasks.items() if entry[0] > now}
            task = asyncio.ensure_future(run_in_threadpool(compute))
            if len(self._tasks) < MAX_CACHED:
                self._tasks[key] = now + CACHED, task
        return await asyncio.shield(task)


class Authenticator:
    """Accepts requests with a key; or, as long as no key was ever created, all requests from this computer.

    Args:
        keys: where they are stored.
        local: whether only this computer can reach the server; otherwise every request needs a key.
        clock: returns the time in seconds.
    """

    def __init__(self, keys: KeyStore, local: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys, self._local = keys, local
        self._found: Cached[Key | None] = Cached(clock)
        self._any: Cached[bool] = Cached(clock)

    async def caller(self, headers: Headers) -> Caller:
        """The sender of a request.

        Raises:
            Refused: there are keys, and the request has none of them; or there are none, and it is not from this
                computer.
            StoreUnavailable: the keys cannot be read.
        """
        authorization = headers.getlist("authorization")
        if authorization:
            key = await self._key(authorization)
            if key is not None:
                return Caller(key.name, key.scopes)
        if await self._needs_key():
            reason = (
                "there is no such key, or it was revoked"
                if authorization
                else "a key is required: send the header `Authorization: Bearer evh_…`"
            )
            raise Refused("unauthenticated", reason, headers=CHALLENGE)
        _check_local(headers)
        return LOCAL_CALLER

    async def check(self, headers: Headers, scope: str | None) -> Caller:
        """The sender of a request that needs a scope; any key is sufficient if the scope is None.

        Raises:
            Refused: the sender does not have it.
            StoreUnavailable: the keys cannot be read.
        """
        caller = await self.caller(headers)
        if scope is not None and scope not in caller.scopes:
            has = ", ".join(sorted(caller.scopes))
            raise Refused("forbidden", f"this requires the scope {scope!r}; the key {caller.name!r} has {has}")
        return caller

    async def check_public(self, headers: Headers) -> None:
        """Accept a request for a public page, unless another website has directed it here under its own name.

        Raises:
            Refused: there are no keys, and the request is not for this computer.
        """
        try:
            if not await self._needs_key():
                _check_local(headers)
        except StoreUnavailable:
            pass  # public pages have no data

    async def _needs_key(self) -> bool:
        return not self._local or await self._any(None, self._keys.any)

    async def _key(self, authorization: list[str]) -> Key | None:
        kind, _, secret = authorization[0].partition(" ")
        secret = secret.strip()
        if len(authorization) > 1 or kind.lower() != "bearer" or not SECRET.fullmatch(secret):
            return None
        # By its hash, so that the time of the look-up reveals nothing about the secret.
        digest = hashlib.sha256(secret.encode()).digest()
        return await self._found(digest, partial(self._keys.find, secret))


def _check_local(headers: Headers) -> None:
    """Refuse a request that was not sent to this computer by its own name: a website may direct a browser here."""
    remedy = "create a key (`evenhand keys make NAME --scope read`) or use http://localhost"
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not is_loopback(host_name(hosts[0])):
        host = repr(hosts[0][:100]) if hosts else "no host"
        raise Refused(
            "forbidden", f"without a key only requests to this computer are accepted, not to {host}; {remedy}"
        )
    proxy_header = next((name for name in PROXY_HEADERS if name in headers), None)
    if proxy_header is not None:
        raise Refused(
            "forbidden",
            f"without a key only requests from this computer are accepted; a proxy has forwarded this one "
            f"({proxy_header}); {remedy}",
        )


def host_name(host: str) -> str:
    """The name in a Host header, without the port; empty if the header is not valid.

    Example:
        >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("a@b:1:2")
        ('localhost', '::1', '')
    """
    match = HOST.fullmatch(host)
    return (match["ipv6"] or match["name"]) if match else ""
