"""Promises in segments of the rounds, in a store: events fold to the same accounts, and say nobody's features."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.changes import Promise
from evenhand.service import Change, Decide, ReadAudit, Reward, Store
from evenhand.service.store.commands import Judge
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock

FEATURES = {"situation": {"country": {"kind": "category", "levels": ["DE", "FR"]}}}
PLAIN = {"index": {"kind": "lin_ucb"}, "fairness": {"kind": "deficit_first", "fractions": 0.0}}


@pytest.mark.parametrize("algorithm", [PLAIN, {**PLAIN, "index": "ucb"}], ids=["lin_ucb", "ucb"])
def test_promises_in_segments_survive_a_restart(either: Any, clock: Clock, algorithm: Any) -> None:
    store = Store(either, clock)
    store.create("people", ["tea", "mate"], algorithm, seed=1, features=FEATURES, segments="country")
    store.run("people", Change(Promise({"mate": 0.5}, segment="DE", reason="as agreed")))
    for place in range(30):
        country = ("DE", "FR", "IT")[place % 3]
        (decision,) = store.run("people", Decide(features={"country": country})).decisions
        store.run("people", Reward([(decision.id, {decision.names[0]: float(decision.names[0] == "tea")})]))
    audit = store.run("people", ReadAudit())
    (line,) = audit.bounds
    assert (line.name, line.segment, line.rounds, line.plays, line.verdict) == ("mate", "DE", 10, 5, "kept")
    store.close()
    again = Store(either, clock)
    assert again.run("people", ReadAudit()) == audit
    assert again.run("people", Judge()) == audit.sequence
    again.close()
    assert verify(either, redecide=True).faults == ()
