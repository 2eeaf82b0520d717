"""What an allocation calls its rewards, rounds and arms, from its creation or a change on, and after a restart."""

from __future__ import annotations

import pytest

from evenhand.changes import Promise, Reword
from evenhand.core.errors import EvenhandError
from evenhand.messages.requests import Round
from evenhand.messages.words import Words
from evenhand.service.store import Change, Decide, Describe, ReadAudit, ReadHealth, Store
from evenhand.service.store.database import Database
from evenhand.service.store.errors import Conflict
from evenhand.service.store.verify import verify
from tests.service.store.kit import Clock, events_of

WORDS = {"unit": "€", "round_name": "visitors", "arm_name": "films"}
SETTINGS = {"parameters": {"fractions": {"Ida": 0.2}}, "missing": "never", "seed": 1}


def made(store: Store, words: dict[str, str] | None = WORDS) -> bool:
    return store.create("films", ["Ida", "Alien"], "fucb", **SETTINGS, words=words)  # type: ignore[arg-type]


def test_words_are_there_after_every_restart(either: Database, clock: Clock) -> None:
    store = Store(either, clock)
    assert made(store)
    store.run("films", Decide(count=10))
    store = Store(either, clock)  # from events alone
    assert store.run("films", Describe()).words == Words(**WORDS)
    assert store.run("films", ReadAudit()).words == Words(**WORDS)
    result = store.run("films", Change(Reword("$", "people", reason="moved")))
    assert (result.version, result.changed) == (0, True)
    assert store.run("films", Change(Reword("$", "people"))).changed is False
    for name in ("films",):
        store.run(name, Decide(count=5))
    again = Store(either, clock)
    assert again.run("films", ReadAudit()).words == Words("$", "people")
    assert [event.body for event in events_of(either, "films") if event.kind == "change"] == [
        {"change": "reword", "reason": "moved", "unit": "$", "round_name": "people", "arm_name": ""}
    ]
    assert verify(either, ["films"]).faults == ()


def test_created_twice(either: Database, clock: Clock) -> None:
    store = Store(either, clock)
    assert made(store) is True
    assert made(store) is False
    with pytest.raises(Conflict, match=r"with other words$"):
        made(store, {"unit": "$"})
    store.run("films", Change(Reword("$")))
    assert made(store) is False, "as it was created"
    assert store.run("films", Describe()).words == Words("$")


def test_sentences_have_the_words(lite: Database, clock: Clock) -> None:
    store = Store(lite, clock)
    made(store)
    store.run("films", Decide(rounds=[Round(available=["Alien"])] * 20))
    store.run("films", Change(Reword(**WORDS)))
    lines = store.run("films", ReadAudit()).lines
    assert "could play in 0% of the visitors only" in lines[0].reason
    plan = store.run("films", Change(Promise({"Ida": 0.4}), dry_run=True)).effect
    assert not any("round" in text or "arm" in text.split() for text in plan.text)
    store.run("films", Decide(count=1))
    assert "arm" not in store.run("films", ReadHealth()).text.split()


def test_words_are_checked_before_anything_is_written(store: Store) -> None:
    for words, message in (
        ({"unit": " €"}, "unit must be printable"),
        ({"rounds": "x"}, "words: unknown key 'rounds'"),
    ):
        with pytest.raises(EvenhandError, match=message):
            made(store, words)
    assert store.allocations().allocations == ()
