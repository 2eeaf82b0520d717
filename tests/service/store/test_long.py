"""Commands that take long: they are computed before the transaction that writes them, so that others can write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenhand.service.store import Decide, Describe, Reward, Store
from evenhand.service.store.commands import CommandContext
from tests.service.databases import PATIENCE
from tests.service.store.kit import verified

MANY = 300  # decisions, which take long as estimated


@pytest.fixture
def store(sqlite: str) -> Iterator[Store]:
    opened = Store.open(sqlite)
    for name in ("drinks", "films"):
        opened.create(name, ["tea", "coffee"], "thompson", seed=1)
        opened.run(name, Describe())
    yield opened
    opened.close()


def meanwhile(monkeypatch: pytest.MonkeyPatch, does: Callable[[], object]) -> list[object]:
    """Do something once, in the midst of the first decision of many; what came of it."""
    real, found = Decide._decide, list[object]()

    def decide(self: Decide, context: CommandContext, round: Any, seen: Any) -> Any:
        if self.count == MANY and not found:
            found.append(None)
            found[0] = does()
        return real(self, context, round, seen)

    monkeypatch.setattr(Decide, "_decide", decide)
    return found


def test_others_write_while_many_decisions_are_computed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = meanwhile(monkeypatch, lambda: store.submit("films", Decide()).result(PATIENCE).decisions[0].round)
    assert [one.round for one in store.run("drinks", Decide(MANY)).decisions] == list(range(1, MANY + 1))
    assert found == [1]
    assert verified(store.database, "drinks") == 1 + MANY


def test_what_another_process_has_written_meanwhile_comes_first(
    store: Store, sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Store.open(sqlite)
    found = meanwhile(monkeypatch, lambda: other.run("drinks", Decide()).decisions[0].round)
    assert [one.round for one in store.run("drinks", Decide(MANY)).decisions] == list(range(2, MANY + 2))
    assert found == [1]
    other.close()
    assert verified(store.database, "drinks") == 2 + MANY


def test_a_repeated_long_request_has_its_answer(store: Store) -> None:
    first = store.run("drinks", Decide(MANY, key="a"))
    assert store.run("drinks", Decide(MANY, key="a")) == first
    assert store.run("drinks", Describe()).round == MANY


def test_many_rewards_of_which_some_are_forgotten_or_unknown(store: Store) -> None:
    decided = store.run("drinks", Decide(MANY)).decisions
    rewards = [(one.id, {one.names[0]: 1.0}) for one in decided] * 2 + [("9999", {"tea": 1.0})]
    results = store.run("drinks", Reward(rewards)).results
    assert [one.status for one in results] == ["accepted"] * MANY + ["duplicate"] * MANY + ["unknown"]
    assert verified(store.database, "drinks") == 1 + 2 * MANY
