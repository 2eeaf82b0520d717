"""API keys: what is kept of them, and what is not."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from evenhand.core.errors import EvenhandError
from evenhand.service.store import Store, tables
from evenhand.service.store.api_keys import SCOPES, Keys
from evenhand.service.store.database import Database
from tests.service.store.kit import START, Clock, count, found


@pytest.fixture
def keys(either: Database) -> Keys:
    return Keys(either)


def test_a_key_is_found_by_its_secret(keys: Keys) -> None:
    begun = time.time()
    key, secret = keys.create("shop", ["reward", "decide"])
    assert (key.name, key.scopes, key.revoked) == ("shop", frozenset({"decide", "reward"}), None)
    assert begun <= key.created <= time.time()
    assert found(keys, secret) == key
    assert keys.list() == [key]
    assert len(secret) == len("evh_") + 43
    assert secret.startswith("evh_")


def test_every_key_is_another(keys: Keys) -> None:
    created = [keys.create("shop", ["read"]) for _ in range(20)]
    assert len({key.id for key, _ in created}) == len({secret for _, secret in created}) == 20
    for key, secret in created:
        assert found(keys, secret) == key
    assert keys.list() == sorted((key for key, _ in created), key=lambda key: (key.created, key.id))


def test_only_a_digest_of_the_secret_is_kept(keys: Keys, either: Database) -> None:
    key, secret = keys.create("shop", ["read"])
    with either.transaction(writes=False) as connection:
        row = connection.execute(select(tables.keys)).one()
    assert row.hash == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in str(row)
    assert secret.removeprefix("evh_") not in str(row)
    assert secret not in repr(key)


def test_no_file_of_the_database_has_the_secret(sqlite: str, tmp_path: Path) -> None:
    store = Store.open(sqlite)
    _, secret = store.keys.create("shop", ["read"])
    kept = [file.read_bytes() for file in tmp_path.iterdir()]
    store.close()
    kept += [file.read_bytes() for file in tmp_path.iterdir()]
    assert any(b"shop" in content for content in kept)
    assert not any(secret.removeprefix("evh_").encode() in content for content in kept)


def test_nothing_else_opens(keys: Keys) -> None:
    keys.create("shop", ["read"])
    for secret in ["", "evh_", "evh_" + "x" * 43, "' OR 1=1 --", "\x00", "\ud800", "é" * 10_000]:
        assert found(keys, secret) is None


def test_the_digest_is_no_secret(keys: Keys) -> None:
    _, secret = keys.create("shop", ["read"])
    assert found(keys, hashlib.sha256(secret.encode()).hexdigest()) is None
    assert found(keys, secret.upper()) is None
    assert found(keys, secret + "\n") is None


def test_a_revoked_key_opens_no_more(keys: Keys) -> None:
    (key, secret), (other, kept) = keys.create("shop", ["read"]), keys.create("till", SCOPES)
    begun = time.time()
    ended = keys.revoke(key.id)
    assert ended.revoked is not None
    assert begun <= ended.revoked <= time.time()
    assert (ended.id, ended.name, ended.scopes, ended.created) == (key.id, key.name, key.scopes, key.created)
    assert found(keys, secret) is None
    assert found(keys, kept) == other
    assert keys.list() == [ended, other]
    with pytest.raises(EvenhandError, match=rf"the key {key.id} \(shop\) is already revoked"):
        keys.revoke(key.id)
    with pytest.raises(EvenhandError, match="there is no key with the id 'shop'"):
        keys.revoke("shop")


def test_a_server_that_had_keys_once_is_never_open_again(keys: Keys) -> None:
    assert not keys.any()
    key, _ = keys.create("shop", ["read"])
    assert keys.any()
    keys.revoke(key.id)
    assert keys.any()


def test_odd_names_are_kept_as_they_are(keys: Keys) -> None:
    names = ["é — 中文 🫖", "'; DROP TABLE keys; --", "%s {0} \\", "x" * 100, " shop ", "shop", "shop"]
    for name in names:
        key, secret = keys.create(name, ["read"])
        assert key.name == name
        assert found(keys, secret) == key
    assert [key.name for key in keys.list()] == names


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "a\x00b", "\ud800", "\x1b[2J", "\u202eshop"])
def test_names_that_cannot_be_shown_are_refused(lite: Database, name: str) -> None:
    keys = Keys(lite)
    with pytest.raises(EvenhandError, match="1 to 100 printable characters"):
        keys.create(name, ["read"])
    assert keys.list() == []


def test_unknown_scopes_are_refused(lite: Database) -> None:
    keys = Keys(lite)
    with pytest.raises(EvenhandError, match="there is no scope 'reed'; did you mean 'read'"):
        keys.create("shop", ["decide", "reed"])
    with pytest.raises(EvenhandError, match="there is no scope"):
        keys.create("shop", "read")
    with pytest.raises(EvenhandError, match="needs at least one scope: administer, decide, reward, read"):
        keys.create("shop", [])
    assert not keys.any()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(str(tmp_path_factory.mktemp("keys") / "evenhand.db"))
    database.migrate()
    yield database
    database.close()


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(name=st.text(max_size=110), scopes=st.sets(st.sampled_from(SCOPES)))
def test_a_key_is_made_as_asked_or_refused(shared: Database, name: str, scopes: set[str]) -> None:
    keys, before = Keys(shared), count(shared, "keys")
    try:
        key, secret = keys.create(name, scopes)
    except EvenhandError:
        assert not scopes or not name.strip() or len(name) > 100 or not name.isprintable()
        assert count(shared, "keys") == before
    else:
        assert found(keys, secret) == key
        assert (key.name, key.scopes) == (name, frozenset(scopes))


# --- expiry, rolling, allocations -------------------------------------------------------------------------------------


def test_a_key_expires(either: Database) -> None:
    clock = Clock()
    keys = Keys(either, clock)
    key, secret = keys.create("shop", ["read"], expires=START + 60.0)
    clock.now = START + 59.9
    assert found(keys, secret) == key
    clock.now = START + 60.0
    assert found(keys, secret) is None
    assert keys.list() == [key]
    for expires in (START, START + 60.0, math.nan, math.inf):
        with pytest.raises(EvenhandError, match="must expire in the future"):
            keys.create("shop", ["read"], expires=expires)


def test_a_key_is_rolled_without_a_gap(either: Database) -> None:
    clock = Clock()
    keys = Keys(either, clock)
    first, one = keys.create("shop", ["read", "decide"], allocations=["drinks"], expires=START + 1000.0)
    clock.now = START + 100.0
    old, new, two = keys.roll("shop", overlap=60.0)
    assert old == replace(first, expires=START + 160.0)
    assert new == replace(first, id=new.id, created=START + 100.0, expires=START + 1100.0)
    assert (found(keys, one), found(keys, two)) == (old, new)
    with pytest.raises(EvenhandError, match=f"several valid keys have the name 'shop'.*{first.id}"):
        keys.roll("shop")
    clock.now = START + 160.0
    assert (found(keys, one), found(keys, two)) == (None, new)
    assert keys.roll(new.id)[0] == replace(new, expires=clock.now)
    assert found(keys, two) is None


def test_rolling_makes_no_key_live_longer(either: Database) -> None:
    keys = Keys(either, Clock())
    key, _ = keys.create("shop", ["read"], expires=START + 10.0)
    old, new, _ = keys.roll(key.id, overlap=1000.0, expires=START + 20.0)
    assert (old.expires, new.expires) == (START + 10.0, START + 20.0)
    with pytest.raises(EvenhandError, match="overlap must be at least 0"):
        keys.roll(new.id, overlap=-1.0)


def test_what_is_not_valid_cannot_be_rolled(either: Database) -> None:
    clock = Clock()
    keys = Keys(either, clock)
    revoked, _ = keys.create("till", ["read"])
    keys.revoke(revoked.id)
    keys.create("shop", ["read"], expires=START + 1.0)
    clock.now += 1.0
    for which in ("till", revoked.id, "shop", "nobody"):
        with pytest.raises(EvenhandError, match="no valid key"):
            keys.roll(which)
    assert len(keys.list()) == 2


def test_allocations_that_are_not_there_are_named(store: Store) -> None:
    keys = store.keys
    owner, _ = keys.create("owner", ["administer"], allocations=["drinks"])
    assert keys.not_there(owner) == ["there is no allocation 'drinks' yet"]
    store.create("drinks", ["tea", "coffee"], "ucb1", missing="never")
    assert keys.not_there(owner) == keys.not_there(keys.create("all", ["read"])[0]) == []
    shop, _ = keys.create("shop", ["read"], allocations=["drnks", "drinks", "films"])
    assert keys.not_there(shop) == [
        "there is no allocation 'drnks' yet; did you mean 'drinks'?",
        "there is no allocation 'films' yet; known: drinks",
    ]


def test_names_of_allocations_are_checked(keys: Keys) -> None:
    assert keys.create("shop", ["read"], allocations=["films", "drinks"])[0] == keys.list()[0]
    for names in (["a b"], [""], ["drinks", "é"], ["drinks\n"]):
        with pytest.raises(EvenhandError, match="cannot be the name of an allocation"):
            keys.create("shop", ["read"], allocations=names)
    with pytest.raises(EvenhandError, match="at least one allocation"):
        keys.create("shop", ["read"], allocations=[])
