"""What is compiled is found again while no code that it uses has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.core.source import Root, digest_of
from evenhand.simulation.compiled import kept
from evenhand.simulation.compiled.kept import folder, is_kept, version_of

LOOP = Root("evenhand.simulation.compiled.kernel", "loop")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for what is compiled."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    return tmp_path


def test_the_version_is_read_once_while_no_file_changes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "package").mkdir()
    module = place / "package" / "module.py"
    module.write_text("a = 1\n")
    monkeypatch.setattr(kept, "PACKAGE", place / "package")
    digests = iter(["digest 1", "digest 2", "digest 3"])
    monkeypatch.setattr(kept, "digest_of", lambda roots: next(digests))
    assert [version_of(LOOP), version_of(LOOP)] == ["digest 1", "digest 1"]
    module.write_text("a = 22\n")
    assert version_of(LOOP) == "digest 2"
    (folder() / "loop.version").write_text("[")
    assert version_of(LOOP) == "digest 3"
    assert version_of(LOOP) == "digest 3"


def test_the_version_is_that_of_the_code(place: Path) -> None:
    assert version_of(LOOP) == version_of(LOOP) == digest_of(frozenset({LOOP}))


def test_without_a_folder_that_can_be_written_it_is_read_anew(place: Path) -> None:
    (place / "numba").write_text("a file, and no folder")
    assert version_of(LOOP) == digest_of(frozenset({LOOP}))


@pytest.mark.parametrize("given", ["", "elsewhere"])
def test_it_looks_for_what_was_compiled_where_numba_keeps_it(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core import caching

    from evenhand.simulation.compiled import engine, kernel

    chosen = str(tmp_path / given) if given else ""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", chosen)
    monkeypatch.setenv("NUMBA_CACHE_DIR", chosen)
    implementation: Any = caching.CompileResultCacheImpl
    place = implementation(kernel.play_by_bounds.py_func)
    assert str(folder()) == place.locator.get_cache_path()
    if given:
        is_kept.cache_clear()
        assert not is_kept(engine.BOUNDS)
        (folder() / f"{place.filename_base}.nbi").touch()
        is_kept.cache_clear()
        assert is_kept(engine.BOUNDS)
        assert not is_kept(engine.PLAIN)
    is_kept.cache_clear()
