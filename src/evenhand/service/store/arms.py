"""The names of arms, which stand in a table of their own: events and snapshots have the numbers of arms, from 0 on.

So an arm is renamed in one row, and no event that was written changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, or_, select, update

from evenhand.core.errors import StateError
from evenhand.service.store import seals, tables
from evenhand.service.store.database import delete_rows, insert_rows

Arm = Callable[[Any], Any]  # the number of a name, or the name of a number
Form = Callable[[Any, Arm, Arm], Any]  # of a value with arms in it: the same with other arms; the last for keys of JSON


def _one(value: object, arm: Arm, key: Arm) -> Any:
    return arm(value)


def _each(value: Any, arm: Arm, key: Arm) -> Any:
    return [arm(one) for one in value]


def _all(value: Any, arm: Arm, key: Arm) -> Any:
    """All arms in their order, of which events have the count."""
    return len(value) if isinstance(value, list) else [arm(number) for number in range(value)]


def _keys(value: Any, arm: Arm, key: Arm) -> Any:
    return {key(one): item for one, item in value.items()}


def _lists(value: Any, arm: Arm, key: Arm) -> Any:
    return {name: [arm(one) for one in item] for name, item in value.items()}


def _members(value: Any, arm: Arm, key: Arm) -> Any:
    """Tables of groups by name, with arms in each; None for one that ends."""
    return {name: table and _fields({"arms": _each}, table, arm, key) for name, table in value.items()}


def _tables(value: Any, arm: Arm, key: Arm) -> Any:
    """Tables with an arm in each, but for those of groups."""
    return [_fields({"arm": _one}, table, arm, key) for table in value]


def _fields(forms: Mapping[str, Form], value: Any, arm: Arm, key: Arm) -> Any:
    """A table with arms in the fields that have a form."""
    return {name: forms[name](item, arm, key) if name in forms else item for name, item in value.items()}


CREATED: Form = partial(_fields, {"arms": _all, "learned": _keys, "arm_features": _keys})
BANDIT: Form = partial(_fields, {"arms": _all, "retired": _each})  # as `Bandit.dump` describes it
#: Where the arms are in the bodies of events, by kind; other kinds have none.
FORMS: dict[str, Form] = {
    "create": CREATED,
    "decide": partial(_fields, {"arms": _each, "available": _each}),
    "lease": partial(_fields, {"arms": _each, "available": _each}),
    "report": partial(_fields, {"rewards": _keys, "late": _keys}),
    "reward": partial(_fields, {"rewards": _keys, "late": _each}),
    "expire": partial(_fields, {"closed": _lists}),
    "change": partial(_fields, {"arm": _one, "new_name": _one, "fractions": _keys, "caps": _keys, "groups": _members}),
    "alarm": partial(_fields, {"promises": _tables}),
    "state": partial(_fields, {"create": CREATED, "bandit": BANDIT}),
}


def numbered(form: Form, value: object, place: Mapping[str, int]) -> Any:
    """A value with the numbers of arms in place of their names."""
    return form(value, place.__getitem__, lambda name: str(place[name]))


def named(form: Form, value: Any, names: Sequence[str]) -> Any:
    """A value with the names of arms in place of their numbers."""

    def name(number: Any) -> str:
        place = int(number)  # a key of JSON is a string
        if place < 0:
            raise IndexError
        return names[place]

    try:
        return form(value, name, name)
    except IndexError:
        raise StateError(f"it refers to an arm beyond the {len(names):,} arms that have a name") from None


def read_names(connection: Connection, allocation: int) -> tuple[str, ...]:
    """The names of the arms of an allocation, by its id, in their order."""
    table = tables.arms.c
    query = select(table.number, table.name).where(table.allocation == allocation).order_by(table.number)
    rows = connection.execute(query).all()
    for place, row in enumerate(rows):
        if row.number != place:
            raise StateError(f"arm {place} has no name")
    try:
        return tuple([str(orjson.loads(row.name)) for row in rows])
    except ValueError as error:
        raise StateError(f"the name of an arm is damaged: {error}") from None


def write_names(connection: Connection, allocation: int, first: int, names: Sequence[str]) -> None:
    """Write the names of arms, the first of which has the number ``first``."""
    numbers = range(first, first + len(names))
    rows = [
        {"allocation": allocation, "number": number, "name": stored_name(name)}
        for number, name in zip(numbers, names, strict=True)
    ]
    insert_rows(connection, tables.arms, rows)
    seals.change(connection, "named", {allocation: seals.of_arms(rows)})


def rename(connection: Connection, allocation: int, number: int, old: str, new: str) -> None:
    """Write another name of an arm in place of the one that it has; the health that is kept may have that, too."""
    before, after = ({"number": number, "name": stored_name(name)} for name in (old, new))
    arm = (tables.arms.c.allocation == allocation, tables.arms.c.number == number)
    connection.execute(update(tables.arms).where(*arm).values(name=after["name"]))
    delete_rows(connection, tables.summaries, allocation)
    seals.change(connection, "named", {allocation: seals.of_arms([after]) - seals.of_arms([before])})
    rename_in_answers(connection, allocation, old, new)


def rename_in_answers(connection: Connection, allocation: int, old: str, new: str) -> None:
    """Write another name of an arm in place of an old one, in the answers to idempotency keys."""
    table = tables.answers
    named = or_(*(table.c.body.contains(before, autoescape=True) for before, _ in _replacements(old, new)))
    rows = connection.execute(select(*seals.ANSWER).where(table.c.allocation == allocation, named)).mappings().all()
    if rows:
        again = [{**row, "body": replaced(row["body"], old, new)} for row in rows]
        one = (table.c.allocation == allocation, table.c.key == bindparam("of"))
        bodies = [{"of": row["key"], "now": row["body"]} for row in again]
        connection.execute(update(table).where(*one).values(body=bindparam("now")), bodies)
        seals.change(connection, "answered", {allocation: seals.of_answers(again) - seals.of_answers(rows)})


def replaced(body: str, old: str, new: str) -> str:
    """The JSON of an answer with another name of an arm, as a value and in a message."""
    for before, after in _replacements(old, new):
        body = body.replace(before, after)
    return body


def _replacements(old: str, new: str) -> list[tuple[str, str]]:
    values = [f'"arm":{stored_name(name)}' for name in (old, new)]  # not within a string, where quotes are escaped
    quoted = [stored_name(repr(name))[1:-1] for name in (old, new)]
    return [(values[0], values[1]), (quoted[0], quoted[1])]


def stored_name(name: str) -> str:
    """A name as it is stored: as JSON, as PostgreSQL has no strings with a zero byte."""
    return orjson.dumps(name).decode()
