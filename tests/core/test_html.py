"""HTML for pages and notebooks."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

from evenhand.core.html import MOST, Bar, chart, notebook, page, report, table
from evenhand.core.numbers import percent


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg[: svg.index("</svg>") + 6])


def test_texts_are_escaped_everywhere() -> None:
    evil = "<script>x</script>"
    svg = chart([Bar(evil, 1.0, mark=0.5, low=0.5, high=1.5)], [evil], evil)
    whole = report(evil, evil, [evil], {evil: table([evil, evil], [[evil, evil]])}, [f"{evil}.png"])
    assert "<script>" not in svg + whole + notebook(svg)
    assert whole.startswith("<!doctype html>")


def test_a_chart_writes_numbers_as_tables_do() -> None:
    assert ">31,765<" in chart([Bar("a", 31765.0)])
    assert ">20%<" in chart([Bar("a", 0.2)], written=percent)


def test_a_chart_has_a_bar_for_each_value_that_is_known() -> None:
    bars = [Bar("a", 1.0), Bar("b", math.nan), Bar("c", -0.5, mark=0.25, low=-1.0, high=math.nan)]
    found = drawn(chart(bars))
    rects = found.findall("{*}rect")
    assert [round(float(one.attrib["width"])) for one in rects] == [200, 100]
    assert len(found.findall("{*}line")) == 1  # the mark; an interval without an end is left out
    assert chart([Bar("b", math.nan)]) == ""
    many = chart([Bar(str(place), 1.0) for place in range(100)], caption="x")
    assert len(drawn(many).findall("{*}rect")) == MOST
    assert f"x; {MOST} of 100 bars" in many


def test_a_whisker_spans_its_interval() -> None:
    (line,) = drawn(chart([Bar("a", 1.0, low=0.5, high=2.0)])).findall("{*}line")
    zero = float(drawn(chart([Bar("a", 1.0, low=0.5, high=2.0)])).findall("{*}rect")[0].attrib["x"])
    assert [round(float(line.attrib[end]) - zero) for end in ("x1", "x2")] == [75, 300]


def test_a_page_without_an_index_loads_nothing_and_runs_nothing() -> None:
    plain, with_index = page("A & B", "<p>x</p>"), page("A", "<p>x</p>", "<nav></nav>", "run()")
    assert "<title>A &amp; B</title>" in plain
    assert not re.search(r"<script|<aside|https?://|<link", plain)
    assert "<aside>" in with_index
    assert "<script>\nrun()</script>" in with_index
