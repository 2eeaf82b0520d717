"""API keys: what is kept of them, and what is not."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from evenhand.core.errors import EvenhandError
from evenhand.online.store import Store, tables
from evenhand.online.store.api_keys import SCOPES, Keys
from evenhand.online.store.database import Database
from tests.online.store.kit import count


@pytest.fixture
def keys(either: Database) -> Keys:
    return Keys(either)


def test_a_key_is_found_by_its_secret(keys: Keys) -> None:
    begun = time.time()
    key, secret = keys.create("shop", ["reward", "decide"])
    assert (key.name, key.scopes, key.revoked) == ("shop", frozenset({"decide", "reward"}), None)
    assert begun <= key.created <= time.time()
    assert keys.find(secret) == key
    assert keys.list() == [key]
    assert len(secret) == len("evh_") + 43
    assert secret.startswith("evh_")


def test_every_key_is_another(keys: Keys) -> None:
    created = [keys.create("shop", ["read"]) for _ in range(20)]
    assert len({key.id for key, _ in created}) == len({secret for _, secret in created}) == 20
    for key, secret in created:
        assert keys.find(secret) == key
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
        assert keys.find(secret) is None


def test_the_digest_is_no_secret(keys: Keys) -> None:
    _, secret = keys.create("shop", ["read"])
    assert keys.find(hashlib.sha256(secret.encode()).hexdigest()) is None
    assert keys.find(secret.upper()) is None
    assert keys.find(secret + "\n") is None


def test_a_revoked_key_opens_no_more(keys: Keys) -> None:
    (key, secret), (other, kept) = keys.create("shop", ["read"]), keys.create("till", SCOPES)
    begun = time.time()
    ended = keys.revoke(key.id)
    assert ended.revoked is not None
    assert begun <= ended.revoked <= time.time()
    assert (ended.id, ended.name, ended.scopes, ended.created) == (key.id, key.name, key.scopes, key.created)
    assert keys.find(secret) is None
    assert keys.find(kept) == other
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
        assert keys.find(secret) == key
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
        assert keys.find(secret) == key
        assert (key.name, key.scopes) == (name, frozenset(scopes))
