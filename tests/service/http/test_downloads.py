"""The audit as a table and as a figure."""

from __future__ import annotations

import csv
import io
from typing import Any
from xml.etree import ElementTree

import pytest

from evenhand.messages.lines import COLUMNS
from evenhand.service.store import Decide
from tests.service.http.asking import DRINKS, Asking, refused
from tests.service.page.reading import HOSTILE

ONE = "/v1/allocations/drinks"
FORMULAS = [
    "=1+1",
    "+tea",
    "-2+3",
    "@SUM(A1)",
    "'=quoted",
    "plain 'quotes'",
    'a,b "c"',
    "a\r\nb",
]


def rows(ask: Asking) -> list[list[str]]:
    answer = ask.get(f"{ONE}/audit.csv")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="drinks-audit.csv"'
    return list(csv.reader(io.StringIO(answer.content.decode(), newline="")))


def shown(value: Any) -> str:
    return "" if value is None else str(value)


def test_the_table_has_the_numbers_of_the_audit(drinks: Asking) -> None:
    drinks.store.run("drinks", Decide(count=50, available=["tea", "cocoa"]))
    drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "tea"})
    head, *table = rows(drinks)
    assert head == list(COLUMNS)
    lines = drinks.get(f"{ONE}/audit").json()["lines"]
    assert table == [[shown(line[column]) for column in COLUMNS] for line in lines]


def test_no_name_is_a_formula_or_breaks_the_table(ask: Asking) -> None:
    names = [*FORMULAS, *HOSTILE]
    assert ask.post("/v1/allocations", {**DRINKS, "arms": names, "parameters": {}, "algorithm": "ucb1"}).is_success
    cells = [row[0] for row in rows(ask)[1:]]
    assert not [cell for cell in cells if cell[0] in "=+-@"]
    assert [
        cell[1:] if name.lstrip("'")[0] in "=+-@" else cell for name, cell in zip(names, cells, strict=True)
    ] == names


def test_the_figure_shows_names_as_text_and_is_the_same_again(ask: Asking) -> None:
    names = ["tea", *HOSTILE, "お茶", "-->", "]]>", "&amp;"]
    assert ask.post("/v1/allocations", {**DRINKS, "arms": names, "parameters": {"fractions": {"tea": 0.5}}}).is_success
    ask.store.run("drinks", Decide(count=20))
    answer = ask.get(f"{ONE}/audit.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-disposition"] == 'attachment; filename="drinks-audit.svg"'
    tree = ElementTree.fromstring(answer.content)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert not tags & {"script", "img", "image", "foreignObject", "a"}
    assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")]
    texts = {element.text for element in tree.iter() if element.tag.endswith("}text")}
    assert {"tea", "お茶", "-->", "]]>", "&amp;", "<script>window.hacked =…"} <= texts
    assert any(text and text.startswith("drinks: fucb after 20 rounds") for text in texts)
    assert ask.get(f"{ONE}/audit.svg").content == answer.content


def test_figures_that_are_asked_for_at_the_same_time_are_right(drinks: Asking) -> None:
    drinks.store.run("drinks", Decide(count=20))
    answers = drinks.together([lambda http: http.get(f"{ONE}/audit.svg")] * 3)
    assert {answer.content for answer in answers} == {drinks.get(f"{ONE}/audit.svg").content}


@pytest.mark.parametrize("file", ["audit.csv", "audit.svg"])
def test_what_there_is_not(drinks: Asking, file: str) -> None:
    refused(drinks.get(f"/v1/allocations/films/{file}"), 404, "unknown_allocation")
    assert "query.limit" in refused(drinks.get(f"{ONE}/{file}?limit=3"), 422, "invalid")["detail"]


# --- the report -------------------------------------------------------------------------------------------------------


def test_the_report_is_a_page_of_the_last_event(drinks: Asking) -> None:
    drinks.store.run("drinks", Decide(count=50))
    drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "tea", "reason": "out of stock"})
    answer = drinks.get(f"{ONE}/report")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="drinks-report.html"'
    audit = drinks.get(f"{ONE}/audit").json()
    assert f"event {audit['sequence']}, whose checksum is {audit['checksum']}" in answer.text
    assert "out of stock" in answer.text
    assert "Report on drinks" in answer.text


def test_the_name_of_an_erased_arm_is_in_no_report(drinks: Asking) -> None:
    drinks.store.run("drinks", Decide(count=50))
    drinks.post(f"{ONE}/changes", {"change": "rename", "arm": "tea", "new_name": "Ann Smith"})
    assert "Ann Smith" in drinks.get(f"{ONE}/report").text
    drinks.post(f"{ONE}/changes", {"change": "erase", "arm": "Ann Smith"})
    text = drinks.get(f"{ONE}/report").text
    assert "Ann Smith" not in text
    assert "erased-" in text
