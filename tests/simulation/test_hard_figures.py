"""Every kind of figure from input that is hard to draw: no warning, and no text on another one or beyond the page."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from evenhand import Results, figures
from evenhand.core.lazy import exported


def tool() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "hard_figures.py"
    spec = importlib.util.spec_from_file_location("hard_figures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hard = tool()
RESULTS: Results = hard.made(5, 4, checkpoints=5)
KINDS: dict[str, Any] = hard.kinds_of(RESULTS)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_hard_input_is_drawn_without_a_warning_or_an_overlap(kind: str) -> None:
    assert hard.overlaps(KINDS[kind]("column")) == []


def test_every_kind_of_figure_is_drawn() -> None:
    drawn = {kind.removesuffix("-log").replace("-", "_") for case in hard.cases().values() for kind in case}
    others = {"audit_figure", "audit_table", "bounds_of", "draw_all", "save"}
    assert drawn - {"delays_of_arms"} == set(exported("evenhand.figures")) - others


def test_an_overlap_is_found() -> None:
    figure = figures.curves(RESULTS, "regret")
    figure.axes[-1].set_xlabel("a label that is far too long " * 9)
    figure.text(0.5, 0.5, "one")
    figure.text(0.51, 0.5, "other")
    found = hard.overlaps(figure)
    assert ("one", "other") in found
    assert any(second == "(the edge)" for _, second in found)


def test_a_contact_sheet_has_a_cell_for_every_picture(tmp_path: Path) -> None:
    for place in range(7):
        Image.new("RGB", (900, 300), (place, 0, 0)).save(tmp_path / f"{place}.png")
    hard.contact_sheet([tmp_path / f"{place}.png" for place in range(7)], tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        wide, high = hard.CELL
        assert sheet.size == (6 * wide, 2 * high)
        assert sheet.getpixel((20, high + 40)) == (6, 0, 0)
