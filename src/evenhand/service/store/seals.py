"""Sums of hashes in the row of each allocation: of its name and those of its arms, and of its answers to requests.

None of these is in the hashes of the events, as they change or are deleted later. Each change adds to a sum and
subtracts from it, so that what was edited, removed or added by anybody else is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Literal

from sqlalchemy import BigInteger, Connection, bindparam, delete, literal_column, select, update

from evenhand.service.store import tables

LIMIT = 2**62  # so that the sum of two fits into the integers of a database
_ALL = tables.allocations.c
_ONE = update(tables.allocations).where(_ALL.id == bindparam("of"))
#: Adds ``by`` to a sum of the allocation ``of``; with further values, these are written, too.
ADDED = {
    which: _ONE.values({which: (_ALL[which] + bindparam("by", type_=BigInteger)) % literal_column(str(LIMIT))})
    for which in ("named", "answered")
}
ANSWER = (tables.answers.c.key, tables.answers.c.digest, tables.answers.c.time, tables.answers.c.body)


def of_name(name: str) -> int:
    """Of the name of an allocation."""
    return _hash("name", name)


def of_arms(rows: Iterable[Mapping[Any, object]]) -> int:
    """Of the numbers and the stored names of arms."""
    return sum(_hash("arm", row["number"], row["name"]) for row in rows)


def of_answers(rows: Iterable[Mapping[Any, Any]]) -> int:
    """Of answers to idempotency keys."""
    return sum(_hash("answer", row["key"], row["digest"], float(row["time"]), row["body"]) for row in rows)


def named(connection: Connection, id: int, name: str) -> int:
    """What the sum of the names of an allocation must be."""
    arms = tables.arms.c
    rows = connection.execute(select(arms.number, arms.name).where(arms.allocation == id)).mappings()
    return (of_name(name) + of_arms(rows)) % LIMIT


def answered(connection: Connection, id: int) -> int:
    """What the sum of the answers of an allocation must be."""
    rows = connection.execute(select(*ANSWER).where(tables.answers.c.allocation == id)).mappings()
    return of_answers(rows) % LIMIT


def forget_answers(connection: Connection, id: int, before: float) -> None:
    """Remove the answers that an allocation gave before a time."""
    old = (tables.answers.c.allocation == id, tables.answers.c.time < before)
    removed = connection.execute(delete(tables.answers).where(*old).returning(*ANSWER)).mappings().all()
    if removed:
        change(connection, "answered", {id: -of_answers(removed)})


def change(connection: Connection, which: Literal["named", "answered"], by: Mapping[int, int]) -> None:
    """Add to the sums of allocations, by id."""
    connection.execute(ADDED[which], [{"of": id, "by": one % LIMIT} for id, one in by.items()])


def _hash(*values: object) -> int:
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest()) % LIMIT
