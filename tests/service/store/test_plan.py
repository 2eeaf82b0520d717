"""A plan writes nothing to a database of either kind, and says what the change then does."""

from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import select

from evenhand.changes import AddArm, BringBack, Promise, Rename, Reopen, Retire
from evenhand.core.errors import InfeasiblePromise
from evenhand.messages.changes import ChangeRecord
from evenhand.service.store import Change, Decide, Store
from evenhand.service.store.database import Database
from evenhand.service.store.tables import metadata
from tests.service.store.kit import Clock

#: Changes in the order in which they are made, with the arms whose promise begins.
CHANGES: list[tuple[ChangeRecord, tuple[str, ...]]] = [
    (Promise({"coffee": 0.3}), ("coffee",)),
    (AddArm("mate", fraction=0.1), ("mate",)),
    (Retire("coffee"), ()),
    (BringBack("coffee", 0.2), ("coffee",)),
    (Rename("mate", "maté"), ()),
]


def written(database: Database) -> list[list[tuple[object, ...]]]:
    """All rows of all tables."""
    with database.engine.connect() as connection:
        rows = [connection.execute(select(table)).all() for table in metadata.sorted_tables]
    return [sorted(map(tuple, found), key=repr) for found in rows]


def test_plans_write_nothing_and_come_true(either: Database) -> None:
    with closing(Store(either, Clock())) as store:
        store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.2}}, seed=1)
        store.run("drinks", Decide(count=7))
        for change, begins in CHANGES:
            before = written(either)
            plan = store.run("drinks", Change(change, dry_run=True))
            with pytest.raises(InfeasiblePromise):
                store.run("drinks", Change(Promise({"tea": 1.0}), dry_run=True))
            assert written(either) == before
            assert (plan.changed, plan.begins) == (True, begins)
            assert store.run("drinks", Change(change)).changed
            assert written(either) != before
            again = store.run("drinks", Change(Reopen(), dry_run=True))
            assert (again.changed, again.arms) == (False, plan.arms)
