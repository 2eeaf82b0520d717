"""Processes that round elementary functions differently, and draw other numbers, share a database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.service.store import Store
from evenhand.service.store.verify import verify
from tests.service.store.lives import LIVES, create, live

FASTER = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"  # instructions that NumPy would use where there are any


def elsewhere(database: Path, first: int, last: int) -> str:
    """What a process prints that goes on as if it were on another processor, and in fact uses fewer instructions."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.service.store.lives", str(database), str(first), str(last)]
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": FASTER}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


@pytest.mark.slow
def test_unlike_processors_share_every_algorithm(tmp_path: Path) -> None:
    database = tmp_path / "evenhand.db"
    store = Store.open(str(database))
    create(store)
    for name in LIVES:
        live(store, name, 1, 25)
    assert elsewhere(database, 26, 60) == ""
    for name in LIVES:  # in memory they stand after round 25, and catch up
        live(store, name, 61, 75)
    assert verify(store.database).faults == ()
    assert [one.round for one in store.allocations().allocations] == [75] * len(LIVES)
    store.close()
    assert elsewhere(database, 76, 77) == ""
