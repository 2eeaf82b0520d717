"""Tables of the benchmarks stand between their markers, and say where they come from."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from evenhand.core.source import Root, Source

FOLDER = Path(__file__).parents[2] / "benchmarks"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_report", FOLDER / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


REPORT = loaded()
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
TABLE = REPORT.Table("speed", "microseconds", ("policy", "lanes"), [("`fucb`", "1"), ("`ucb1`", "1")])


def test_every_table_of_a_script_has_markers_on_the_page() -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    names = set(re.findall(r'(?:Table|aims_table|table_of)\(\s*"([\w-]+)"', scripts))
    names |= {f"growth-{axis}" for axis in re.findall(r'^    "(\w+)": Axis\(', scripts, re.MULTILINE)}
    assert set(re.findall(r"<!-- begin: ([\w-]+) -->", PAGE)) == names
    for name in names:
        assert REPORT.between(PAGE, name, "").count(f"<!-- end: {name} -->") == 1


def test_no_table_stands_outside_the_markers() -> None:
    rest = re.sub(r"<!-- begin: ([\w-]+) -->.*?<!-- end: \1 -->", "", PAGE, flags=re.DOTALL)
    assert "\n|" not in rest


def test_only_what_is_between_the_markers_is_replaced() -> None:
    page = "before\n<!-- begin: speed -->\n| old |\n<!-- end: speed -->\nafter\n"
    assert REPORT.between(page, "speed", TABLE.markdown()) == (
        "before\n<!-- begin: speed -->\n| policy | lanes |\n| --- | ---: |\n| `fucb` | 1 |\n| `ucb1` | 1 |\n"
        "<!-- end: speed -->\nafter\n"
    )


@pytest.mark.parametrize("page", ["", "<!-- begin: speed -->", 2 * "<!-- begin: speed -->\n<!-- end: speed -->\n"])
def test_a_page_without_the_markers_is_refused(page: str) -> None:
    with pytest.raises(SystemExit, match="must contain <!-- begin: speed --> and <!-- end: speed --> once each"):
        REPORT.between(page, "speed", "")


def test_the_caption_says_when_where_and_with_what_it_was_measured() -> None:
    text = REPORT.caption(REPORT.surroundings(("numpy",)), "medians of 3 turns")
    assert re.search(
        r"Measured on \d{4}-\d\d-\d\d at commit \w{7,}.*, load \d+\.\d before.*Python 3.*numpy \d.*3 turns", text
    )


def test_tables_are_marked_whose_code_has_changed_since() -> None:
    assert REPORT.marked(PAGE) == PAGE, "python benchmarks/report.py marks them"


def test_all_that_was_measured_is_there() -> None:
    """Of a name that is not there no change would be noticed."""
    listed = {*REPORT.SIMULATION, *REPORT.BANDIT, *REPORT.SERVICE}
    listed |= {name for names in re.findall(r"<!-- code: (.*) = \w+ -->", PAGE) for name in names.split()}
    source = Source()
    for module, _, name in (one.partition(":") for one in sorted(listed)):
        assert source.statements(Root(module, name)), f"{module}:{name}"


def test_an_aim_beside_old_figures_is_neither_met_nor_missed() -> None:
    own = ("evenhand.core.streams:over_arms",)
    both = [REPORT.Aim("fast", 1.0, met=True), REPORT.Aim("small", 2.0, met=False)]
    aims = REPORT.aims_table("speed", both).markdown()
    page = "<!-- begin: speed -->\n{}\n\nMeasured.\n\n{}\n<!-- end: speed -->\n"
    now, seal = page.format(aims, REPORT.seal(own)), REPORT.seal(own)
    assert REPORT.marked(now) == now
    old = REPORT.marked(now.replace(seal, seal.replace(" = ", " = 0")))
    assert REPORT.STALE in old
    assert "| met |" not in old
    assert "| missed |" not in old
    assert old.count("| not measured <!-- ") == 2
    assert REPORT.marked(old) == old
    again = REPORT.marked(old.replace(" = 0", " = "))
    assert again == now, "where the change is taken back, so is the mark"
