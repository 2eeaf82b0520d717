"""What the routes of a server use: its store, its limits, its keys and its metrics."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from evenhand.core.version import __version__
from evenhand.messages.answers import AllocationHealth, AllocationSummary
from evenhand.messages.audit import Audit
from evenhand.service.http.auth import Authenticator, Cached
from evenhand.service.http.limits import Quotas
from evenhand.service.http.metrics import Metrics
from evenhand.service.http.settings import Settings
from evenhand.service.store import Describe, ReadHealth, Store, summaries
from evenhand.service.store.commands import Command
from evenhand.service.store.errors import DamagedAllocation, MissingPart
from evenhand.service.store.webhooks import WebhookStore

Answer = TypeVar("Answer")
PARSERS = 2


class Service:
    """What the routes of a server use."""

    def __init__(self, store: Store, settings: Settings, metrics: Metrics) -> None:
        self.store, self.settings, self.metrics = store, settings, metrics
        self.authenticator = Authenticator(store.keys, settings.open)
        self.quotas = Quotas(settings)
        self.webhooks = WebhookStore(store.database)
        self.parsers = ThreadPoolExecutor(PARSERS, thread_name_prefix="evenhand-parser")
        self.ready = Cached(lambda: store.database.ready())  # at most twice a second

    def run(self, name: str, command: Command[Answer]) -> asyncio.Future[Answer]:
        """The answer to a command of an allocation, after its events have been committed."""
        return asyncio.wrap_future(self.store.submit(name, command))

    async def with_health(self, listed: Sequence[AllocationSummary]) -> tuple[AllocationSummary, ...]:
        """Allocations with their health, which is computed only where something has happened since it was."""
        database, now = self.store.database, self.store.clock()
        kept = await run_in_threadpool(summaries.read, database, [one.name for one in listed], now)
        new: dict[int, tuple[str, AllocationHealth]] = {}

        async def with_own(one: AllocationSummary) -> AllocationSummary:
            summary = kept.get(one.name)
            if summary is not None and summary.health is not None:
                return replace(one, health=summary.health)
            try:
                health = await self.run(one.name, ReadHealth())
            except (DamagedAllocation, MissingPart) as error:
                unread = AllocationHealth("bad", str(error), None, None, 0, None, None)
                damage = str(error) if isinstance(error, DamagedAllocation) else None
                return replace(one, health=unread, damaged=damage)
            if summary is not None and summary.mark is not None:
                new[summary.id] = summary.mark, health
            return replace(one, health=health)

        found = tuple(await asyncio.gather(*map(with_own, listed)))
        if new:
            await run_in_threadpool(summaries.keep, database, new)
        return found

    async def with_authors(self, audit: Audit) -> Audit:
        """An audit with the names of the keys that made its changes."""
        made = ({one.key for one in audit.ledger} | {one.key for one in audit.changes_made}) - {""}
        return replace(audit, authors=await self.authenticator.names(made)) if made else audit

    async def etag(self, name: str, limit: int | None) -> str | None:
        """The ETag of an audit, before it is computed and without loading the allocation."""
        marked = partial(summaries.mark, self.store.database, name)
        mark = await run_in_threadpool(marked, self.store.clock())
        if mark is None:  # an event is due, which any command writes first
            await self.run(name, Describe())
            mark = await run_in_threadpool(marked, self.store.clock())
        if mark is None:
            return None
        return f'W/"{hashlib.sha256(repr((mark, limit, __version__)).encode()).hexdigest()[:32]}"'
