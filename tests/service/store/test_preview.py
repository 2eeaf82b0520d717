"""A preview writes nothing to a database of either kind, and says what the change then does."""

from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import select

from evenhand.core.errors import InfeasiblePromise
from evenhand.service.store import AddArm, Decide, PreviewChange, RenameArm, Store, UpdateAllocation, UpdateArm
from evenhand.service.store.database import Database
from evenhand.service.store.tables import metadata
from tests.service.store.kit import Clock

Change = AddArm | RenameArm | UpdateAllocation | UpdateArm
#: Changes in the order in which they are made, with the arms whose promise begins.
CHANGES: list[tuple[Change, tuple[str, ...]]] = [
    (UpdateAllocation({"coffee": 0.3}), ("coffee",)),
    (AddArm("mate", {"fraction": 0.1}), ("mate",)),
    (UpdateArm("coffee", retired=True), ()),
    (UpdateArm("coffee", retired=False, fraction=0.2), ("coffee",)),
    (RenameArm("mate", "maté"), ()),
]


def written(database: Database) -> list[list[tuple[object, ...]]]:
    """All rows of all tables."""
    with database.engine.connect() as connection:
        rows = [connection.execute(select(table)).all() for table in metadata.sorted_tables]
    return [sorted(map(tuple, found), key=repr) for found in rows]


def test_previews_write_nothing_and_come_true(either: Database) -> None:
    with closing(Store(either, Clock())) as store:
        store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": {"coffee": 0.2}}, seed=1)
        store.run("drinks", Decide(count=7))
        for change, begins in CHANGES:
            before = written(either)
            preview = store.run("drinks", PreviewChange(change))
            with pytest.raises(InfeasiblePromise):
                store.run("drinks", PreviewChange(UpdateAllocation({"tea": 1.0})))
            assert written(either) == before
            assert (preview.changed, preview.begins) == (True, begins)
            assert store.run("drinks", change).changed
            assert written(either) != before
            again = store.run("drinks", PreviewChange(UpdateAllocation(closed=False)))
            assert (again.changed, again.arms) == (False, preview.arms)
