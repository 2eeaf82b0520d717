"""What the routes of a server work with."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from evenhand.online.service.access import Access, Remembering
from evenhand.online.service.settings import Settings
from evenhand.online.service.telemetry import Telemetry
from evenhand.online.store import Store
from evenhand.online.store.commands import Answer, Command


class Service:
    """What the routes of a server work with.

    Attributes:
        store: the allocations.
        settings: the limits.
        access: who may do what.
        telemetry: counts.
    """

    def __init__(self, store: Store, settings: Settings, telemetry: Telemetry) -> None:
        self.store, self.settings, self.telemetry = store, settings, telemetry
        self.access = Access(store.keys, settings.local)
        self._ready: Remembering[None] = Remembering()

    async def ask(self, name: str, command: Command) -> Answer:
        """The answer of an allocation, once all that it did is committed."""
        return await asyncio.wrap_future(self.store.submit(name, command))

    async def ready(self) -> None:
        """Return if the database can be reached; it is asked once a second at most.

        Raises:
            StoreUnavailable: it cannot.
        """
        await self._ready(None, self.store.ready)


def service_of(request: Request) -> Service:
    """The service that a request is for."""
    found: Service = request.app.state.service
    return found
