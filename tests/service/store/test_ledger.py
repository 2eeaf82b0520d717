"""The ledger of an allocation: the same from the state that is kept, from all events, and after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.changes import BringBack, Promise, Retire
from evenhand.core.errors import EvenhandError
from evenhand.service.store import Change, Decide, LeaseRounds, ReadAudit, ReportLease, Store
from evenhand.service.store.verify import verify

GROUPS = [{"name": "north", "arms": ["a", "b"], "at_least": 0.3}]
PARAMETERS: dict[str, dict[str, Any]] = {
    "fucb": {},
    "tscsf_b": {"eta": 5.0},
    "lfg": {"eta": 5.0},
    "group_ts": {"groups": GROUPS, "caps": [1.0, 1.0, 0.5, 1.0]},
}


@pytest.mark.parametrize("algorithm", PARAMETERS)
def test_all_events_and_a_restart_give_the_same_ledger(algorithm: str, tmp_path: Path) -> None:
    store, rng = Store.open(str(tmp_path / "shop.db")), np.random.default_rng(len(algorithm))
    parameters: dict[str, Any] = {"fractions": [0.1, 0.2, 0.0, 0.15]} | PARAMETERS[algorithm]
    store.create("shop", ["a", "b", "c", "d"], algorithm, seed=1, parameters=parameters)
    for _ in range(60):
        arm, share = str(rng.choice(list("abcd"))), float(rng.choice([0.0, 0.05, 0.1, 0.15]))
        try:
            match int(rng.integers(0, 6)):
                case 0 | 1:
                    store.run("shop", Decide(count=int(rng.integers(1, 20))))
                case 2 if algorithm in ("fucb", "tscsf_b"):
                    lease = store.run("shop", LeaseRounds(30))
                    store.run("shop", Change(Promise({"a": share}, reason="meanwhile")))
                    store.run("shop", ReportLease(lease.id, int(rng.integers(0, 30)), finished=True))
                case 3:
                    store.run("shop", Change(Retire(arm, reason="sold out")))
                case 4:
                    store.run("shop", Change(BringBack(arm, share, reason="here again")))
                case _:
                    groups = {"north": {"at_least": share}} if algorithm == "group_ts" else None
                    store.run("shop", Change(Promise({arm: share}, groups=groups, debt="cap", limit=2.0)))
        except EvenhandError:
            continue  # such as of an arm that is retired
    audit = store.run("shop", ReadAudit())
    ended = [line for line in audit.ledger if line.until is not None]
    assert len(ended) > 4
    assert len({line.reason for line in audit.ledger}) > 2
    assert verify(store.database).faults == ()
    store.close()
    again = Store.open(str(tmp_path / "shop.db"))
    found = again.run("shop", ReadAudit())
    assert (found.ledger, found.lines) == (audit.ledger, audit.lines)
    again.close()
