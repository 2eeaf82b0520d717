"""Who may do what: keys with scopes, or, without any key, everything from this very computer."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from evenhand.online.service.faults import Refused
from evenhand.online.service.settings import is_loopback
from evenhand.online.store.errors import StoreUnavailable

if TYPE_CHECKING:
    from evenhand.online.store.keys import Key

Answer = TypeVar("Answer")
SCOPES = ("administer", "decide", "report", "read")
REMEMBERED = 1.0  # seconds after which a key that was revoked is refused at the latest
MOST = 1000  # keys that are remembered at a time
SECRET = re.compile(r"evh_[A-Za-z0-9_-]{43}", flags=re.ASCII)
HOST = re.compile(r"(\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(:[0-9]*)?", flags=re.ASCII)
CHALLENGE = {"www-authenticate": 'Bearer realm="evenhand"'}
#: What only a proxy adds; where one passes requests on, these do not come from this computer.
PASSED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


class Keys(Protocol):
    """Where keys are kept, as `evenhand.online.store` does."""

    def find(self, secret: str) -> Key | None:
        """The key with this secret, unless it was revoked."""

    def any(self) -> bool:
        """Whether a key was ever made."""


@dataclass(frozen=True)
class Caller:
    """Who asks.

    Attributes:
        name: of the key; None where there are no keys.
        scopes: what it may do.
    """

    name: str | None
    scopes: frozenset[str]


EVERYBODY = Caller(None, frozenset(SCOPES))


class Remembering(Generic[Answer]):
    """Asks a slow question once a second at most, however many wait for the answer.

    Args:
        clock: in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[Hashable, tuple[float, asyncio.Task[Answer]]] = {}

    async def __call__(self, question: Hashable, ask: Callable[[], Answer]) -> Answer:
        """The answer, which ``ask`` finds in a thread; what it raises is remembered, too."""
        now = self._clock()
        until, task = self._known.get(question, (-math.inf, None))
        if task is None or until <= now:
            if len(self._known) >= MOST:
                self._known = {one: known for one, known in self._known.items() if known[0] > now}
            task = asyncio.ensure_future(run_in_threadpool(ask))
            if len(self._known) < MOST:
                self._known[question] = now + REMEMBERED, task
        return await asyncio.shield(task)


class Access:
    """Lets in who has a key; or, as long as no key was ever made, all from this computer.

    Args:
        keys: where they are kept.
        local: whether only this computer can reach the server. Where others can, nobody is let in without a key.
        clock: in seconds.
    """

    def __init__(self, keys: Keys, local: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys, self._local = keys, local
        self._found: Remembering[Key | None] = Remembering(clock)
        self._any: Remembering[bool] = Remembering(clock)

    async def caller(self, headers: Headers) -> Caller:
        """Who asks.

        Raises:
            Refused: there are keys, and this is none of them; or there are none, and the request is not for here.
            StoreUnavailable: nobody knows.
        """
        given = headers.getlist("authorization")
        if given:
            key = await self._key(given)
            if key is not None:
                return Caller(key.name, key.scopes)
        if await self._needs_key():
            raise Refused("unauthenticated", _told(given), headers=CHALLENGE)
        _check_here(headers)
        return EVERYBODY

    async def check(self, headers: Headers, scope: str | None) -> Caller:
        """Who asks, if that is allowed; any key is enough where the scope is None.

        Raises:
            Refused: it is not allowed.
            StoreUnavailable: nobody knows.
        """
        caller = await self.caller(headers)
        if scope is not None and scope not in caller.scopes:
            has = ", ".join(sorted(caller.scopes))
            raise Refused("forbidden", f"this needs the scope {scope!r}; the key {caller.name!r} has {has}")
        return caller

    async def check_public(self, headers: Headers) -> None:
        """Let a request for a public page pass, except one that another page has sent here under a false name.

        Raises:
            Refused: there are no keys, and the request is not for here.
        """
        try:
            if not await self._needs_key():
                _check_here(headers)
        except StoreUnavailable:
            pass  # there are no data on public pages

    async def _needs_key(self) -> bool:
        return not self._local or await self._any(None, self._keys.any)

    async def _key(self, given: list[str]) -> Key | None:
        kind, _, secret = given[0].partition(" ")
        secret = secret.strip()
        if len(given) > 1 or kind.lower() != "bearer" or not SECRET.fullmatch(secret):
            return None
        # By their hashes, so that the time that the look-up takes tells nothing of a secret.
        digest = hashlib.sha256(secret.encode()).digest()
        return await self._found(digest, partial(self._keys.find, secret))


def _told(given: list[str]) -> str:
    if not given:
        return "a key is needed: send the header `Authorization: Bearer evh_…`"
    return "there is no such key, or it was revoked"


def _check_here(headers: Headers) -> None:
    """Refuse what was not sent to this computer by its own name: a web page may lead a browser here under another."""
    remedy = "make one (`evenhand keys make NAME --scope read`) or ask for http://localhost"
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not is_loopback(host_name(hosts[0])):
        told = repr(hosts[0][:100]) if hosts else "nobody"
        raise Refused(
            "forbidden", f"without a key only requests for this computer are answered, not for {told}; {remedy}"
        )
    passed = next((name for name in PASSED_ON if name in headers), None)
    if passed is not None:
        raise Refused(
            "forbidden",
            f"without a key only requests from this computer are answered, and a proxy has sent this one ({passed}); "
            f"{remedy}",
        )


def host_name(host: str) -> str:
    """The name in a Host header, without the port; empty if it is none.

    Example:
        >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("a@b:1:2")
        ('localhost', '::1', '')
    """
    found = HOST.fullmatch(host)
    return (found["six"] or found["name"]) if found else ""
