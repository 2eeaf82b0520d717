"""Groups and caps of a bandit: by name, changed, saved, audited, and replayed from a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit
from evenhand.changes import AddArm, Promise, Retire
from evenhand.core.errors import EvenhandError, InfeasiblePromise
from evenhand.messages.lines import BoundLine
from evenhand.service.store import Change, Decide, ReadAudit, Store
from evenhand.service.store.database import Database
from evenhand.service.store.verify import verify

ARMS = ["espresso", "filter", "decaf", "tea"]
MILD = {"name": "mild", "arms": ["decaf", "tea"], "at_least": 0.4}
CONTROL = {"name": "control", "arms": ["tea"], "exactly": 0.1}
MEANS = dict(zip(ARMS, [0.9, 0.8, 0.7, 0.2], strict=True))


def bandit_of(**options: Any) -> Bandit:
    return Bandit(ARMS, "group_ts", groups=[MILD, CONTROL], caps={"espresso": 0.3}, seed=4, **options)


def play(bandit: Bandit, rounds: int) -> None:
    world = np.random.default_rng(bandit._record.state.round)
    for _ in range(rounds):
        decision = bandit.decide(now=0.0)
        bandit.observe(decision.id, {arm: float(world.random() < MEANS[arm]) for arm in decision.names}, now=1.0)


def line(bandit: Bandit, name: str) -> BoundLine:
    return next(one for one in bandit.audit().bounds if one.name == name)


def test_the_audit_says_what_each_group_was_promised_got_and_is_owed() -> None:
    bandit = bandit_of()
    play(bandit, 500)
    audit = bandit.audit()
    plays = {one.arm: one.plays for one in audit.lines}
    mild, control, espresso = audit.bounds
    assert (mild.kind, mild.arms, mild.at_least, mild.at_most) == ("group", ("decaf", "tea"), 0.4, None)
    assert mild.plays == plays["decaf"] + plays["tea"]
    assert mild.owed == pytest.approx(0.4 * 500 - mild.plays)
    assert mild.share == mild.plays / 500
    assert (control.at_least, control.at_most) == (0.1, 0.1)
    assert control.excess == pytest.approx(plays["tea"] - 50)
    assert (espresso.kind, espresso.at_most) == ("arm", 0.3)
    assert max(mild.owed, control.owed, control.excess or 0.0, espresso.excess or 0.0) <= 2.0
    assert plays["decaf"] > 3 * plays["tea"] - 6  # the group is paid by its better arm
    assert audit.fault == ""
    assert "mild" in str(audit)


def test_a_saved_bandit_goes_on_alike() -> None:
    bandit = bandit_of()
    play(bandit, 40)
    copy = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    play(bandit, 40)
    play(copy, 40)
    assert copy.dump() == bandit.dump()


def test_a_changed_promise_begins_anew_and_an_equal_one_does_not() -> None:
    bandit = bandit_of()
    play(bandit, 30)
    assert bandit.promise(groups={"mild": {"at_least": 0.4}}) == ()
    assert bandit.version == 0
    assert bandit.promise(groups={"mild": {"at_least": 0.2}, "new": {"arms": ["filter"], "at_most": 0.5}}) == (
        "mild",
        "new",
    )
    assert (line(bandit, "mild").since, line(bandit, "mild").plays, line(bandit, "new").since) == (30, 0, 30)
    assert line(bandit, "control").since == 0
    assert bandit.promise(groups={"new": None}, caps={"espresso": 0.4}) == ("espresso", "new")
    assert [one.name for one in bandit.audit().bounds] == ["mild", "control", "espresso"]


def test_what_is_owed_stays_where_only_the_arms_of_a_group_change() -> None:
    bandit = bandit_of()
    play(bandit, 60)
    owed = line(bandit, "mild").owed
    bandit.promise(groups={"mild": {"arms": ["filter", "tea"]}})
    assert line(bandit, "mild").owed == owed
    bandit.add("mate")
    bandit.promise(groups={"mild": {"arms": ["filter", "tea", "mate"]}})
    assert line(bandit, "mild").owed == owed
    play_one = bandit.decide(available=["mate"])
    assert play_one.names == ("mate",)
    assert line(bandit, "mild").owed == pytest.approx(owed + 0.4 - 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": {"mild": {"at_least": 0.95}}}, r"the group 'mild' at least 0.95 .* by 0.05|'mild'.*contradict"),
        ({"groups": {"mlid": None}}, "there is no group 'mlid'; did you mean 'mild'"),
        ({"groups": {"mild": {"arms": ["te"]}}}, "groups has an unknown arm 'te'; did you mean 'tea'"),
        ({"groups": {"other": {"at_least": 0.1}}}, "the group 'other' needs arms"),
        ({"caps": {"espresso": 1.5}}, r"caps\['espresso'\] must be a number in \[0, 1\]"),
        ({}, "a promise must have at least one of fractions, caps and groups"),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(change: dict[str, Any], message: str) -> None:
    bandit = Bandit(ARMS, "group_ucb", groups=[MILD], caps={"decaf": 0.5, "tea": 0.4}, seed=4)
    before = bandit.dump()
    with pytest.raises(EvenhandError, match=message):
        bandit.promise(**change)
    assert bandit.dump() == before


def test_a_group_whose_arms_all_retire_cannot_be_kept() -> None:
    bandit = Bandit(ARMS, "group_ucb", groups=[MILD])
    bandit.retire("decaf")
    with pytest.raises(InfeasiblePromise, match="the group 'mild' at least"):
        bandit.retire("tea")
    with pytest.raises(InfeasiblePromise, match="the group 'mild' at least"):
        Bandit(ARMS, "group_ucb", groups=[MILD | {"at_least": 1.2}])


def test_the_fault_names_the_group_that_sleeps_too_much() -> None:
    bandit = bandit_of()
    for _ in range(20):
        bandit.decide(available=["espresso", "filter"])
    assert "the group 'mild' at least 0.4" in bandit.audit().fault


def test_a_store_replays_groups_and_their_changes(tmp_path: Path) -> None:
    path = str(tmp_path / "drinks.db")
    store = Store.open(path)
    parameters = {"groups": [MILD, CONTROL], "caps": {"espresso": 0.3}}
    store.create("drinks", ARMS, "group_ts", parameters=parameters, seed=4)
    for _ in range(30):
        store.run("drinks", Decide())
    groups = {"mild": {"arms": ["filter", "tea"], "at_least": 0.3}, "control": None}
    assert store.run("drinks", Change(Promise(caps={"filter": 0.9}, groups=groups))).changed
    assert not store.run("drinks", Change(Promise(groups={"mild": {"at_least": 0.3}}))).changed
    store.run("drinks", Change(AddArm("mate", cap=0.2)))
    store.run("drinks", Change(Retire("decaf")))
    for _ in range(30):
        store.run("drinks", Decide())
    before = store.run("drinks", ReadAudit()).bounds
    store.close()
    assert [one.name for one in before] == ["mild", "espresso", "filter", "mate"]
    assert before[0].since == 30
    database = Database(path)
    found = verify(database)
    assert found.faults == ()
    database.close()
    store = Store.open(path)
    assert store.run("drinks", ReadAudit()).bounds == before
    store.close()
