"""Whatever is asked, and however often the process is killed: answers and state are those of a bandit in memory."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenhand.bandit import Bandit, pending
from evenhand.changes import AddArm, BringBack, Close, Promise, Reopen, Retire
from evenhand.messages.answers import plain
from evenhand.messages.requests import Round
from evenhand.service.store import Change, Decide, ReadAudit, Reward, Store, Total
from evenhand.service.store.commands import Command
from evenhand.service.store.database import Database
from evenhand.service.store.errors import StoreUnavailable
from tests.service.store.kit import Clock, Driven, Outcome, failing, verified
from tests.service.store.twin import Twin
from tests.thinned import thinned

ARMS = ["tea", "coffee", "cocoa"]
SHARES = [0.0, 0.25, 0.125]
#: Algorithms with a closed form and without, of merit, with promises, with several plays, in the order of rounds.
CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "ucb1": (2, {}),
    "fucb": (1, {"fractions": SHARES}),
    "thompson": (1, {"evidence": "both"}),
    "lfg": (2, {"fractions": SHARES, "eta": 5.0}),
    "fcts_d": (2, {"merit": {"kind": "power"}, "cap": True}),
    "exp3": (1, {"horizon": 500}),
    "ars_ucb": (1, {}),
}
TOTALS = "by totals"
NUMBER = count(1)  # of the allocations in a database
NEW = ["mate", "cola"]
COMMANDS = ["decide"] * 6 + ["rounds", "wild", "audit", *["reward"] * 8, *["change"] * 3]
FATES = [*["well"] * 6, "killed", "killed", "closed", "lost", "unheard"]
JUMPS = [0.0, 0.0, 0.5, 20.0, 20.0, 61.0, -40.0, 8_000.0]  # the window is a minute; answers are kept for days
REWARDS = [0.0, 1.0, 0.5, 0.25, 1.0, 7.0]
KEYS = [*[None] * 8, "one", "two"]
SHARE = st.sampled_from([0.0, 0.125, 0.25, 0.9])
#: Without shrinking, which takes minutes for such long examples.
FAST = settings(
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


def drawn(data: st.DataObject, twin: Twin, totals: bool) -> Command[Any]:
    """A command that mostly makes sense."""

    def one(values: list[Any]) -> Any:
        return data.draw(st.sampled_from(values))

    names, key, kind = list(twin.bandit.names), one(KEYS), one(COMMANDS)
    arms = [*names, *NEW] if kind == "wild" else [name for name in names if name not in twin.bandit.retired]
    some = st.none() | st.lists(st.sampled_from(arms), min_size=kind != "wild", max_size=3, unique=True)
    if kind in ("decide", "wild"):
        return Decide(data.draw(st.integers(1, 3)), data.draw(some), propensities=data.draw(st.booleans()), key=key)
    if kind == "rounds":
        return Decide(
            rounds=data.draw(st.lists(some.map(lambda arms: Round(available=arms)), min_size=1, max_size=3)), key=key
        )
    if kind == "audit":
        return ReadAudit(data.draw(st.none() | st.integers(1, 4)))
    if kind == "change":
        return changed(data, twin, key)
    last = max(int(twin.bandit._record.state.round), 1)
    if totals and data.draw(st.integers(0, 29)):
        return Total(one([0.0, 0.5, 1.5]), one([None, last, last, max(last - 1, 1), last + 1]), key=key)
    known = sorted(twin.rewards, key=int)
    rewards = []
    for _ in range(data.draw(st.integers(1, 4))):
        decision = one([*known, *known[-4:], *known[-4:], "99"] if known else ["1"])
        played = list(twin.rewards.get(decision, ARMS))
        rewarded = one([played, played[:1], played[::-1], played, [*played, one(ARMS)]])
        rewards.append((decision, {arm: one(REWARDS) for arm in rewarded}))
    return Reward(rewards, key=key)


def changed(data: st.DataObject, twin: Twin, key: str | None) -> Command[Any]:
    names, retired = list(twin.bandit.names), sorted(twin.bandit.retired)
    share = data.draw(SHARE)
    promises = twin.bandit._record.fractions is not None
    match data.draw(st.sampled_from(["add", "add", "retire", "retire", "back", "back", "promise", "close"])):
        case "add":
            arm = data.draw(st.sampled_from([*NEW, "tea"]))
            return Change(AddArm(arm, fraction=share if promises else None), key=key)
        case "retire":
            return Change(Retire(data.draw(st.sampled_from(names))), key=key)
        case "back" if retired:
            return Change(BringBack(data.draw(st.sampled_from(retired)), share if promises else None), key=key)
        case "back" | "promise":
            return Change(Promise(data.draw(st.dictionaries(st.sampled_from(names), SHARE))), key=key)
        case _:
            return Change(Close() if data.draw(st.booleans()) else Reopen(), key=key)


def same(outcome: Outcome, wanted: Outcome) -> bool:
    """Whether an outcome is the one that was wanted; the messages of rewards have tests of their own."""
    if isinstance(outcome, BaseException) or isinstance(wanted, BaseException):
        return type(outcome) is type(wanted) and str(outcome) == str(wanted)
    got = plain(outcome)
    for line in got.get("results", ()):
        assert (line.pop("message") == "") == (line["status"] in ("accepted", "duplicate", "late"))
    for name in ("name", "sequence", "closed", "checksum") if "lines" in got else ():
        del got[name], wanted[name]
    return bool(got == wanted)


def first_difference(found: Any, wanted: Any, where: str = "state") -> str:
    """Where two plain values differ first; empty if they are equal. pytest's own explanation takes hours for states."""
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        return next(
            filter(None, (first_difference(found[name], wanted[name], f"{where}.{name}") for name in found)), ""
        )
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        pairs = enumerate(zip(found, wanted, strict=True))
        return next(filter(None, (first_difference(*pair, f"{where}[{place}]") for place, pair in pairs)), "")
    return "" if found == wanted else f"{where}: {found!r:.200} instead of {wanted!r:.200}"


def check(data: st.DataObject, database: Database, case: str) -> None:
    """A life of an allocation, command by command."""
    algorithm, _, kind = case.partition(" ")
    plays, parameters = CASES[algorithm]
    options: dict[str, Any] = {"plays": plays, "seed": data.draw(st.integers(0, 3))}
    options |= data.draw(
        st.sampled_from([{}, {"window": 60.0, "missing": "lost"}, {"window": 60.0, "missing": "zero"}])
    )
    name, clock, every = f"drinks-{next(NUMBER)}", Clock(), data.draw(st.sampled_from([3, 12, 20_000]))
    store = Store(database, clock)
    assert store.create(name, ARMS, algorithm, parameters=parameters, **options)
    twin = Twin(name, Bandit(ARMS, algorithm, **options, **parameters))
    driven = Driven(database, name, clock, snapshot=every)
    for _ in range(data.draw(st.integers(6, 16))):
        clock.now += data.draw(st.sampled_from(JUMPS))
        commands = [drawn(data, twin, kind == TOTALS) for _ in range(data.draw(st.integers(1, 3)))]
        match data.draw(st.sampled_from(FATES)):
            case "lost" | "unheard" as fate:  # the commit fails, before or after it has taken effect
                after = twin.copy()
                after.group(commands, clock.now)
                with failing(database, after=fate == "unheard") as failed:
                    outcomes = driven.group(commands)
                if failed:  # unless nothing was to be written
                    for command, outcome in zip(commands, outcomes, strict=True):
                        assert isinstance(outcome, StoreUnavailable) or command.reads  # in a transaction of its own
                if fate == "unheard" or not failed:
                    twin = after
            case fate:
                wanted = twin.group(commands, clock.now)
                outcomes = driven.group(commands)
                for command, outcome, want in zip(commands, outcomes, wanted, strict=True):
                    assert same(outcome, want), (command, outcome, want)
                if fate == "closed":
                    driven.writer.write_snapshot()
                if fate != "well":
                    driven = Driven(database, name, clock, snapshot=every)
        bandit, closed = driven.rebuilt()
        difference = first_difference(bandit.dump(), twin.bandit.dump())
        assert not difference, difference
        assert closed == twin.closed
    events = driven.events()
    (summary,) = [one for one in store.allocations().allocations if one.name == name]
    present = len(twin.bandit.names) - len(twin.bandit.retired)
    assert (summary.round, summary.arms, summary.closed) == (twin.bandit._record.state.round, present, twin.closed)
    assert verified(store.database, name) == len(events) == events[-1].sequence


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Books that know the last three settled decisions."""
    monkeypatch.setattr(pending, "REMEMBERED", 3)


#: Those of the main run: by what is owed, by weights, by merit, and by totals.
FEW = ("fucb", "lfg", "fcts_d", f"exp3 {TOTALS}")


@settings(FAST, max_examples=2)
@given(data=st.data())
@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("case", thinned([*CASES, f"exp3 {TOTALS}", f"ars_ucb {TOTALS}"], lambda case: case in FEW))
def test_on_sqlite_it_does_what_the_bandit_does(data: st.DataObject, lite: Database, case: str) -> None:
    check(data, lite, case)


@pytest.mark.slow
@settings(FAST, max_examples=20)
@given(data=st.data())
@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("case", [*CASES, f"exp3 {TOTALS}", f"ars_ucb {TOTALS}"])
def test_in_many_lives_on_sqlite_it_does_what_the_bandit_does(data: st.DataObject, lite: Database, case: str) -> None:
    check(data, lite, case)


@settings(FAST, max_examples=1)
@given(data=st.data())
@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("case", ["lfg", f"ars_ucb {TOTALS}"])
def test_on_postgresql_it_does_what_the_bandit_does(data: st.DataObject, postgresql: str, case: str) -> None:
    database = Database(postgresql)
    try:
        database.migrate()
        check(data, database, case)
    finally:
        database.close()
