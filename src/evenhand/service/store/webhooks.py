"""Webhooks: addresses to which the events of an allocation are sent, and how far each of them is."""

from __future__ import annotations

import base64
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, delete, insert, or_, select, update

from evenhand.client.webhooks import PREFIX, signature
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Webhook, Webhooks, moment
from evenhand.service.store import tables
from evenhand.service.store.allocation import row_of
from evenhand.service.store.database import Database
from evenhand.service.store.errors import TooMuchWork, UnknownWebhook
from evenhand.service.store.events import KINDS

MAX_WEBHOOKS = 10  # of an allocation
CLAIM = 60.0  # seconds for which one server delivers to an address
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3600.0  # seconds before the next try, doubled with each
PATIENCE = 5 * 86_400.0  # seconds without a success after which a webhook is disabled


class WebhookStore:
    """The webhooks in a database. Their secrets are stored as they are, as each message is signed with them."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self.database, self._clock = database, clock

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock()

    def add(
        self,
        name: str,
        url: str,
        kinds: Sequence[str] | None = None,
        secret: str | None = None,
        after: int | None = None,
    ) -> Webhook:
        """Register an address."""
        for kind in kinds or ():
            if kind not in KINDS:
                raise EvenhandError(f"unknown kind of event {kind!r}; known are {', '.join(KINDS)}")
        secret = secret or PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        signature(secret, "", 0, b"")  # which refuses an invalid one
        table = tables.webhooks
        with self.database.transaction(writes=True) as connection:
            allocation = row_of(connection, name, lock=True)
            where = table.c.allocation == allocation.id
            if len(connection.execute(select(table.c.id).where(where)).all()) >= MAX_WEBHOOKS:
                raise TooMuchWork(f"an allocation may have at most {MAX_WEBHOOKS} webhooks; remove one first")
            row = {
                "id": secrets.token_hex(8),
                "allocation": allocation.id,
                "url": url,
                "secret": secret,
                "kinds": None if kinds is None else " ".join(dict.fromkeys(kinds)),
                "created": self._clock(),
                "sequence": allocation.sequence if after is None else after,
                "tries": 0,
            }
            connection.execute(insert(table), row)
            stored = connection.execute(select(table).where(table.c.id == row["id"])).one()
        return replace(_webhook(stored), secret=secret)

    def listed(self, name: str) -> Webhooks:
        """The webhooks of an allocation, without their secrets."""
        table = tables.webhooks
        with self.database.transaction(writes=False) as connection:
            where = table.c.allocation == row_of(connection, name).id
            rows = connection.execute(select(table).where(where).order_by(table.c.created, table.c.id)).all()
        return Webhooks(tuple([_webhook(row) for row in rows]))

    def remove(self, name: str, id: str) -> Webhook:
        """Remove a webhook: nothing is sent to its address any more."""
        table = tables.webhooks
        with self.database.transaction(writes=True) as connection:
            where = (table.c.allocation == row_of(connection, name).id, table.c.id == id)
            row = connection.execute(select(table).where(*where)).one_or_none()
            if row is None:
                raise UnknownWebhook(f"allocation {name!r} has no webhook {id!r}")
            connection.execute(delete(table).where(*where))
        return _webhook(row)

    # --- deliveries ---------------------------------------------------------------------------------------------------

    def due(self) -> list[tuple[str, str]]:
        """The webhooks that have something to send now, to which no server is delivering: id and allocation's name."""
        hooks, allocations, now = tables.webhooks.c, tables.allocations.c, self._clock()
        query = select(hooks.id, allocations.name).join_from(
            tables.webhooks, tables.allocations, hooks.allocation == allocations.id
        )
        where = (hooks.disabled.is_(None), allocations.sequence > hooks.sequence, *_free(now))
        with self.database.transaction(writes=False) as connection:
            return [(row.id, row.name) for row in connection.execute(query.where(*where))]

    def claim(self, id: str) -> Row[Any] | None:
        """Be the one server that delivers to a webhook for a minute; None where another one is."""
        table, now = tables.webhooks, self._clock()
        taken = update(table).where(table.c.id == id, table.c.disabled.is_(None), *_free(now))
        with self.database.transaction(writes=True) as connection:
            if connection.execute(taken.values(claimed=now + CLAIM)).rowcount == 0:
                return None
            return connection.execute(select(table).where(table.c.id == id)).one()

    def release(self, claim: Row[Any], sequence: int, error: str | None, gone: bool = False) -> bool:
        """End a claim: events up to one were delivered or are of other kinds."""
        now = self._clock()
        values: dict[str, Any] = {"sequence": sequence, "claimed": None}
        if error is None:
            values |= {"tries": 0, "failing": None, "next": None, "error": None}
        else:
            fresh = sequence > claim.sequence or claim.failing is None  # there was a success before this failure
            failing, tries = (now, 0) if fresh else (claim.failing, claim.tries)
            pause = min(FIRST_PAUSE * 2.0 ** min(tries, 20), LONGEST_PAUSE) * random.uniform(1.0, 1.2)
            values |= {"tries": tries + 1, "failing": failing, "next": now + pause, "error": error[:500]}
            if gone or now - failing >= PATIENCE:
                values["disabled"] = now
        table = tables.webhooks
        with self.database.transaction(writes=True) as connection:
            own = (table.c.id == claim.id, table.c.claimed == claim.claimed)
            connection.execute(update(table).where(*own).values(**values))
        return "disabled" in values


def _free(now: float) -> tuple[Any, Any]:
    table = tables.webhooks.c
    return or_(table.claimed.is_(None), table.claimed <= now), or_(table.next.is_(None), table.next <= now)


def _webhook(row: Row[Any]) -> Webhook:
    kinds = None if row.kinds is None else tuple(row.kinds.split())
    failing, disabled = (None if time is None else moment(time) for time in (row.failing, row.disabled))
    return Webhook(row.id, row.url, kinds, row.sequence, moment(row.created), failing, disabled, row.error)
