"""The list of allocations on the page, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.service.page.reading import PHONE, Visiting, address, overflow

COUNT = 1000
STATES = {"good": "Healthy", "attention": "Attention", "bad": "Alarm", "closed": "Closed"}


def listed(place: int) -> dict[str, Any]:
    status = "bad" if place % 100 == 7 else "attention" if place % 50 == 3 else "closed" if place % 10 == 9 else "good"
    last = None if place % 5 == 4 else f"2026-01-{1 + place % 28:02}T00:00:00.000000Z"
    return {
        "name": f"shop-{place}",
        "algorithm": "f_ts" if place % 2 else "fucb",
        "arms": 1 + place % 13,
        "round": 17 * place % 1009,
        "closed": status == "closed",
        "created": "2026-01-01T00:00:00.000000Z",
        "health": {
            "status": status,
            "text": f"the state of <i>shop {place}</i>",
            "behind": None if place % 3 else float(place % 31),
            "arm": "tea",
            "warnings": 0,
            "last_decision": last,
            "last_reward": last,
        },
    }


@pytest.fixture(scope="module")
def many() -> list[dict[str, Any]]:
    return [listed(place) for place in range(COUNT)]


def opened(page: Page, many: list[dict[str, Any]], url: str) -> Locator:
    """The table of the allocations, on a page that says it has these."""
    answer = json.dumps({"allocations": many, "next": None})
    page.route("**/v1/allocations?*", lambda route: _fulfilled(route, answer))
    page.goto(url)
    table = page.get_by_role("table", name="Allocations")
    expect(table.locator("tbody tr").first).to_be_visible()
    return table


def _fulfilled(route: Route, answer: str) -> None:
    route.fulfill(status=200, content_type="application/json", body=answer)


def names(table: Locator) -> list[str]:
    return table.locator("tbody th").all_inner_texts()


def test_health_is_an_icon_a_word_and_a_sentence(many: list[dict[str, Any]], visiting: Visiting) -> None:
    with visiting() as seen:
        table = opened(seen.page, many, seen.url + "/")
        shown = table.locator("tbody tr").all()
        assert len(shown) == 50, "a thousand rows are not drawn at once"
        by_name = {one["name"]: one for one in many}
        order = [by_name[name]["health"]["status"] for name in names(table)]
        assert order == ["bad"] * 10 + ["attention"] * 20 + ["good"] * 20
        for row in shown[9:12]:
            one = by_name[row.locator("th").inner_text()]
            cell = row.locator('[data-field="health"]')
            assert cell.inner_text().split("\n")[0].strip().startswith(STATES[one["health"]["status"]])
            expect(cell).to_contain_text(one["health"]["text"])
            assert cell.locator("svg path").count() == 1


def test_order_filter_and_the_link_to_them(many: list[dict[str, Any]], visiting: Visiting) -> None:
    orders: dict[str, Callable[[dict[str, Any]], Any]] = {
        "Rounds": lambda one: -one["round"],
        "Arms": lambda one: -one["arms"],
        "Behind, in plays": lambda one: -(-1.0 if one["health"]["behind"] is None else one["health"]["behind"]),
        "Algorithm": lambda one: one["algorithm"],
    }
    with visiting() as seen:
        table = opened(seen.page, many, seen.url + "/")
        page = seen.page
        number = {one["name"]: place for place, one in enumerate(many)}
        for head, order in orders.items():
            table.get_by_role("button", name=head).click()
            head_cell = table.get_by_role("columnheader", name=head)
            expect(head_cell).to_have_attribute("aria-sort", "ascending")
            wanted = sorted(many, key=lambda one: (order(one), number[one["name"]]))
            assert names(table) == [one["name"] for one in wanted[:50]], head
        table.get_by_role("button", name="Algorithm").focus()
        page.keyboard.press("Enter")
        expect(head_cell).to_have_attribute("aria-sort", "descending")
        page.get_by_role("combobox", name="Health", exact=True).select_option("attention")
        page.get_by_label("Name or algorithm contains").fill("F_TS")
        expect(page.get_by_text("Allocations 1 to 20 of 20")).to_be_visible()
        other = opened(page.context.new_page(), many, address(page))
        assert names(other) == names(table)
        page.get_by_label("Name or algorithm contains").fill("nobody")
        expect(page.get_by_text("No allocation matches")).to_be_visible()


def test_on_a_phone(many: list[dict[str, Any]], visiting: Visiting) -> None:
    with visiting(viewport=PHONE) as seen:
        table = opened(seen.page, many, seen.url + "/")
        assert overflow(seen.page) == 0
        assert len(names(table)) == 25
        seen.page.get_by_label("Order").select_option("Most rounds first")
        wanted = sorted(many, key=lambda one: -one["round"])
        assert [one["round"] for one in wanted[:3]] == [
            int(text.replace(",", "")) for text in table.locator('[data-field="rounds"]').all_inner_texts()[:3]
        ]
        box = table.locator("tbody tr").nth(1).bounding_box()
        assert box is not None
        assert box["height"] < 150.0
