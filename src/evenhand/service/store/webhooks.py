"""Webhooks: addresses to which the events of an allocation are sent, and how far each of them is."""

from __future__ import annotations

import base64
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from evenhand.client.webhooks import PREFIX, key_of
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Delivery, Webhook, Webhooks, moment
from evenhand.service.store import tables
from evenhand.service.store.allocation import row_of
from evenhand.service.store.database import Database
from evenhand.service.store.errors import TooMuchWork, UnknownWebhook
from evenhand.service.store.events import KINDS

MAX_WEBHOOKS = 10  # of an allocation
MAX_DELIVERIES = 20  # tries of each that are listed
MIN_SECRET = 24  # bytes, as Standard Webhooks has it
CLAIM = 60.0  # seconds for which one server delivers to an address
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 3600.0  # seconds before the next try, doubled with each
PATIENCE = 5 * 86_400.0  # seconds without a success after which a webhook is disabled


class WebhookStore:
    """The webhooks in a database. Their secrets are stored as they are, as each message is signed with them."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self.database, self.now = database, clock

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
        if (size := len(key_of(secret))) < MIN_SECRET:
            raise EvenhandError(f"secret must have at least {MIN_SECRET} bytes in its base64, got {size}")
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
                "created": self.now(),
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
            found = [replace(_webhook(row), deliveries=_deliveries(connection, row.id)) for row in rows]
        return Webhooks(tuple(found))

    def remove(self, name: str, id: str) -> Webhook:
        """Remove a webhook: nothing is sent to its address any more."""
        table = tables.webhooks
        with self.database.transaction(writes=True) as connection:
            where = (table.c.allocation == row_of(connection, name).id, table.c.id == id)
            row = connection.execute(select(table).where(*where)).one_or_none()
            if row is None:
                raise UnknownWebhook(f"allocation {name!r} has no webhook {id!r}")
            connection.execute(delete(table).where(*where))
            _forget_deliveries(connection, id, 0)
        return _webhook(row)

    # --- deliveries ---------------------------------------------------------------------------------------------------

    def due(self) -> list[tuple[str, str]]:
        """The webhooks that have something to send now, to which no server is delivering: id and allocation's name."""
        hooks, allocations, now = tables.webhooks.c, tables.allocations.c, self.now()
        query = select(hooks.id, allocations.name).join_from(
            tables.webhooks, tables.allocations, hooks.allocation == allocations.id
        )
        where = (hooks.disabled.is_(None), allocations.sequence > hooks.sequence, *_free(now))
        with self.database.transaction(writes=False) as connection:
            return [(row.id, row.name) for row in connection.execute(query.where(*where))]

    def claim(self, id: str) -> Row[Any] | None:
        """Be the one server that delivers to a webhook for a minute; None where another one is."""
        table, now = tables.webhooks, self.now()
        taken = update(table).where(table.c.id == id, table.c.disabled.is_(None), *_free(now))
        with self.database.transaction(writes=True) as connection:
            if connection.execute(taken.values(claimed=now + CLAIM)).rowcount == 0:
                return None
            return connection.execute(select(table).where(table.c.id == id)).one()

    def give_back(self, claim: Row[Any], sequence: int, tries: Sequence[Mapping[str, object]] = ()) -> None:
        """End a claim before its time: events up to one were delivered, and nothing is said of the others."""
        self._end(claim, {"sequence": sequence, "claimed": None}, tries)

    def release(
        self,
        claim: Row[Any],
        sequence: int,
        error: str | None,
        gone: bool = False,
        tries: Sequence[Mapping[str, object]] = (),
    ) -> bool:
        """End a claim: events up to one were delivered or are of other kinds."""
        now = self.now()
        values: dict[str, Any] = {"sequence": sequence, "claimed": None}
        if error is None:
            values |= {"tries": 0, "failing": None, "next": None, "error": None}
        else:
            fresh = sequence > claim.sequence or claim.failing is None  # there was a success before this failure
            failing, before = (now, 0) if fresh else (claim.failing, claim.tries)
            pause = min(FIRST_PAUSE * 2.0 ** min(before, 20), LONGEST_PAUSE) * random.uniform(1.0, 1.2)
            values |= {"tries": before + 1, "failing": failing, "next": now + pause, "error": error[:500]}
            if gone or now - failing >= PATIENCE:
                values["disabled"] = now
        self._end(claim, values, tries)
        return "disabled" in values

    def _end(self, claim: Row[Any], values: Mapping[str, object], tries: Sequence[Mapping[str, object]]) -> None:
        """Write down what became of a claim, unless another server has the webhook by now, and the last tries."""
        table, of = tables.webhooks, {"allocation": claim.allocation, "webhook": claim.id}
        with self.database.transaction(writes=True) as connection:
            own = (table.c.id == claim.id, table.c.claimed == claim.claimed)
            if connection.execute(update(table).where(*own).values(**values)).rowcount and tries:
                connection.execute(insert(tables.deliveries), [of | dict(one) for one in tries[-MAX_DELIVERIES:]])
                _forget_deliveries(connection, claim.id, MAX_DELIVERIES)


def _free(now: float) -> tuple[Any, Any]:
    table = tables.webhooks.c
    return or_(table.claimed.is_(None), table.claimed <= now), or_(table.next.is_(None), table.next <= now)


def _deliveries(connection: Connection, webhook: str) -> tuple[Delivery, ...]:
    """The last tries to deliver to a webhook, the last one first."""
    table = tables.deliveries.c
    query = select(table.sequence, table.attempt, table.sent, table.seconds, table.status, table.error)
    rows = connection.execute(query.where(table.webhook == webhook).order_by(table.id.desc()).limit(MAX_DELIVERIES))
    return tuple([Delivery(*row[:2], moment(row.sent), *row[3:]) for row in rows])


def _forget_deliveries(connection: Connection, webhook: str, keep: int) -> None:
    """Delete the tries to deliver to a webhook but for the last ones."""
    table = tables.deliveries
    old = select(table.c.id).where(table.c.webhook == webhook).order_by(table.c.id.desc()).offset(keep).limit(1)
    last = connection.execute(old).scalar()
    if last is not None:
        connection.execute(delete(table).where(table.c.webhook == webhook, table.c.id <= last))


def _webhook(row: Row[Any]) -> Webhook:
    kinds = None if row.kinds is None else tuple(row.kinds.split())
    failing, disabled = (None if time is None else moment(time) for time in (row.failing, row.disabled))
    return Webhook(row.id, row.url, kinds, row.sequence, moment(row.created), failing, disabled, row.error)
