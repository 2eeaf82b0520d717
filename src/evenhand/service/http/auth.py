"""Authentication: API keys with scopes; without any key, and if it is allowed, every scope for this computer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Generic, TypeVar

from starlette.datastructures import Headers

from evenhand.service.http.problems import Refused
from evenhand.service.http.settings import is_loopback
from evenhand.service.store.api_keys import SCOPES, Key, Keys, hash_of
from evenhand.service.store.errors import StoreUnavailable

Value = TypeVar("Value")
CACHED = 1.0  # seconds; a revoked key is refused after this time at the latest
SECRET = re.compile(r"evh_[A-Za-z0-9_-]{43}", flags=re.ASCII)
HOST = re.compile(r"(\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(:[0-9]*)?", flags=re.ASCII)
CHALLENGE = {"www-authenticate": 'Bearer realm="evenhand"'}
#: Headers that only a proxy adds; a request with one of them does not come from this computer.
PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


@dataclass(frozen=True)
class Caller:
    """The sender of a request."""

    name: str | None
    scopes: frozenset[str]
    id: str | None = None
    allocations: frozenset[str] | None = None
    expires: float | None = None

    def check(self, scope: str | None, allocation: str | None = None) -> None:
        """Refuse a request that needs a scope, or is for an allocation, that its key does not have; there or not."""
        if scope is not None and scope not in self.scopes:
            has = ", ".join(sorted(self.scopes))
            raise Refused("forbidden", f"this requires the scope {scope!r}; the key {self.name!r} has {has}")
        if allocation is not None and self.allocations is not None and allocation not in self.allocations:
            names = ", ".join(sorted(self.allocations))
            raise Refused("forbidden", f"the key {self.name!r} is for {names}, not for {allocation!r}")

    def check_all(self, what: str) -> None:
        """Refuse a request for something that concerns all allocations."""
        if self.allocations is not None:
            names = ", ".join(sorted(self.allocations))
            raise Refused(
                "forbidden", f"{what} requires a key for all allocations; the key {self.name!r} is for {names}"
            )


LOCAL_CALLER = Caller(None, frozenset(SCOPES))


class Cached(Generic[Value]):
    """A value that is slow to compute: no request has one older than a second, and none waits where many come."""

    def __init__(self, compute: Callable[[], Value], clock: Callable[[], float] = time.monotonic) -> None:
        self._compute, self._clock = compute, clock
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="evenhand-cached")  # that no other work can keep busy
        self._known: list[tuple[float, asyncio.Future[Value]]] = []  # the last one is newer, and may not be done

    async def __call__(self) -> Value:
        """The value; an exception is cached, too."""
        now = self._clock()
        self._known = [one for one in self._known if now - one[0] < CACHED]
        if not self._known or now - self._known[-1][0] >= CACHED / 2:
            task = asyncio.get_running_loop().run_in_executor(self._pool, self._compute)
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may ask for it
            self._known.append((now, task))
        if self._known[-1][1].done():
            del self._known[:-1]
        return await asyncio.shield(self._known[0][1])


class Authenticator:
    """Accepts requests with a key; or, if that is allowed and no key was ever created, all from this computer."""

    def __init__(
        self,
        keys: Keys,
        open: bool,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._open, self._now = open, now
        self._all = Cached(keys.by_hash, clock)  # at once: many wrong secrets need no more look-ups than one

    async def caller(self, headers: Headers) -> Caller:
        """The sender of a request."""
        authorization = headers.getlist("authorization")
        fault = _without_key(authorization)
        key = None if fault else await self._key(authorization[0].strip().partition(" ")[2].strip())
        if key is not None:
            return Caller(key.name, key.scopes, key.id, key.allocations, key.expires)
        if await self._needs_key():
            reason = fault or "there is no such key, or it was revoked"
            raise Refused("unauthenticated", reason, headers=CHALLENGE)
        _check_local(headers)
        return LOCAL_CALLER

    async def names(self, ids: Collection[str]) -> dict[str, str]:
        """The names of some keys, by their ids."""
        return {key.id: key.name for key in (await self._all()).values() if key.id in ids}

    async def check_public(self, headers: Headers) -> None:
        """Accept a request for a public page, unless another website has directed it here under its own name."""
        with suppress(StoreUnavailable):  # public pages have no data
            if not await self._needs_key():
                _check_local(headers)

    async def _needs_key(self) -> bool:
        return not self._open or bool(await self._all())

    async def _key(self, secret: str) -> Key | None:
        # By its hash, so that the time of the look-up reveals nothing about the secret.
        key = (await self._all()).get(hash_of(secret))
        if key is None or key.revoked is not None:
            return None
        if not key.valid(self._now()):
            ended = datetime.fromtimestamp(key.expires or 0.0, UTC).isoformat(timespec="seconds")
            reason = f"the key {key.name!r} ({key.id}) expired at {ended.replace('+00:00', 'Z')}; use a new one"
            raise Refused("unauthenticated", reason, headers=CHALLENGE)
        return key


def _without_key(authorization: list[str]) -> str:
    """What is wrong with the headers ``Authorization`` of a request; empty where they have a key."""
    form = "send the header `Authorization: Bearer evh_…`"
    if not authorization:
        return f"a key is required: {form}"
    if len(authorization) > 1:
        return f"there are {len(authorization)} headers `Authorization`: send one, `Authorization: Bearer evh_…`"
    kind, _, secret = authorization[0].strip().partition(" ")
    if kind.lower() != "bearer":
        return f"the header `Authorization` lacks the word Bearer before the key: {form}"
    if not SECRET.fullmatch(secret.strip()):
        return "the header `Authorization` has no whole key: one is evh_ and 43 letters, digits, - and _"
    return ""


def _check_local(headers: Headers) -> None:
    """Refuse a request that was not sent to this computer by its own name: a website may direct a browser here."""
    hosts, fault = headers.getlist("host"), ""
    if len(hosts) != 1 or not _is_local(hosts[0]):
        fault = f"to this computer are accepted, not to {repr(hosts[0][:100]) if hosts else 'no host'}"
    elif proxy_header := next((name for name in PROXY_HEADERS if name in headers), None):
        fault = f"from this computer are accepted; a proxy has forwarded this one ({proxy_header})"
    if fault:
        remedy = "create a key (`evenhand keys create NAME --scope read`) or use http://localhost"
        raise Refused("forbidden", f"without a key only requests {fault}; {remedy}")


@lru_cache(100)
def _is_local(host: str) -> bool:
    """Whether a header ``Host`` names this computer."""
    return is_loopback(host_name(host))


def host_name(host: str) -> str:
    """The name in a Host header, without the port; empty if the header is not valid."""
    match = HOST.fullmatch(host)
    return (match["ipv6"] or match["name"]) if match else ""
