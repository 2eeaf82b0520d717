"""What is experimental warns where it is used, and stands on the page about stability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.core.experimental import EXPERIMENTAL, experimental
from evenhand.studies.pool import Pool
from evenhand.studies.units import Builder

PAGE = Path(__file__).parents[2] / "docs/stability.md"


@pytest.mark.parametrize("name", EXPERIMENTAL)
def test_the_warning_says_what_and_why_and_the_page_too(name: str) -> None:
    def used() -> None:
        experimental(name)

    with pytest.warns(
        eh.errors.ExperimentalWarning, match=f"^{name} are experimental, as {EXPERIMENTAL[name]}"
    ) as found:
        used()
    assert Path(found[0].filename).name == Path(__file__).name
    assert name in PAGE.read_text(encoding="utf-8")


def test_a_sweep_on_a_cluster_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody: Any = lambda self, tasks, builder: iter(())  # noqa: E731
    monkeypatch.setattr(Pool, "_elsewhere", nobody)
    with pytest.warns(eh.errors.ExperimentalWarning, match="Dask and Ray"):
        assert list(Pool(2, "dask").run([], Builder(Path()))) == [[]]
    assert list(Pool(2).run([], Builder(Path()))) == [[]]
