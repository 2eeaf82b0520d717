"""What tests of the service share: a store, and clients of its service."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.service.store import Store
from tests.service.http.asking import DRINKS, Asking


@pytest.fixture
def store(empty: Path, tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store.open(str(shutil.copy(empty, tmp_path)))
    yield opened
    opened.close()


@pytest.fixture
def ask(store: Store) -> Iterator[Asking]:
    """A client of a service without keys and without allocations."""
    with Asking(store) as asking:
        yield asking


@pytest.fixture
def drinks(ask: Asking) -> Asking:
    """A client of a service without keys, which has one allocation."""
    assert ask.post("/v1/allocations", DRINKS).status_code == 201
    return ask
