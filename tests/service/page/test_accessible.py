"""The page by keyboard, on phones, in both colour schemes, and for screen readers."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.service.browsing import visit
from tests.service.page.reading import (
    HOSTILE,
    PHONE,
    Visiting,
    cell,
    decide,
    make,
    overflow,
    reward,
    row,
)
from tests.service.running import Server

#: Whether one sees where the focus is, and whether an element has it.
FOCUS = """node => {
    const style = getComputedStyle(document.activeElement);
    return [style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, node === document.activeElement];
}"""


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the focus is there; it is seen all the way."""
    for _ in range(40):
        page.keyboard.press("Tab")
        outlined, there = target.evaluate(FOCUS)
        assert outlined
        if there:
            return
    raise AssertionError("the keyboard does not lead there")


def test_by_keyboard_alone(server: Server, visiting: Visiting) -> None:
    arms = [f"tea {place}" for place in range(45)]
    make(server, "keyboard", arms, {"tea 3": 0.1})
    decide(server, "keyboard", 50, [arm for arm in arms if arm != "tea 3"])
    with visiting() as seen:
        page = seen.open()
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the content")
        expect(skip).to_be_focused()
        expect(skip).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.get_by_role("main")).to_be_focused()
        tab_to(page, page.get_by_role("link", name="keyboard", exact=True))
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1, name="keyboard")).to_be_focused()
        tab_to(page, page.get_by_label("Arms whose name contains"))
        page.keyboard.type("tea 4")
        expect(page.get_by_text("Arms 1 to 6 of 6")).to_be_visible()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.press("Delete")
        tab_to(page, page.get_by_label("Order"))
        page.keyboard.type("Furthest")
        expect(page.locator("tbody .name").first).to_have_text("tea 3")
        tab_to(page, page.get_by_role("button", name="Next").first)
        page.keyboard.press("Enter")
        page.keyboard.press("Space")
        expect(page.get_by_text("Arms 41 to 45 of 45")).to_be_visible()
        expect(page.get_by_role("button", name="Next").first).to_be_focused()
        course = page.get_by_role("region", name="Behind the promises over time", exact=True)
        box = course.get_by_role("checkbox", name="tea 3", exact=True)
        tab_to(page, box)
        page.keyboard.press("Space")
        expect(box).not_to_be_checked()
        tab_to(page, course.locator("summary"))
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Deficits over time, table")).to_be_visible()
        page.keyboard.press("Shift+Tab")
        assert page.locator("body").evaluate(FOCUS)[0]


@pytest.mark.parametrize(
    "window",
    [pytest.param(PHONE, id="phone"), pytest.param({"width": 800, "height": 600}, id="tablet", marks=pytest.mark.slow)],
)
def test_nothing_sticks_out(server: Server, browser: Browser, window: dict[str, int]) -> None:
    name = f"narrow-{window['width']}"
    make(server, name, HOSTILE, dict.fromkeys(HOSTILE, 0.05))
    decide(server, name, 60, HOSTILE[:1])  # the promises to the others cannot be kept: the alarm names them
    reward(server, name, decide(server, name, 2))
    with visit(browser, server.url, viewport=window, has_touch=True) as seen:
        page = seen.open()
        expect(page.get_by_role("link", name=name)).to_be_visible()
        assert overflow(page) == 0
        page = seen.open(name)
        expect(page.locator(".alarm")).to_contain_text("x" * 200)
        page.get_by_label("Order").select_option("As given")
        arms = page.get_by_role("region", name="Who gets what").bounding_box()
        assert arms is not None
        if window is PHONE:  # eleven arms with names of up to 200 letters, and whole reasons
            assert arms["height"] < 2500.0
        for details in page.locator("section details").all():
            details.evaluate("node => node.open = true")
        expect(page.get_by_role("table", name="All figures of the arms", exact=True)).to_be_visible()
        assert overflow(page) == 0
        if window is PHONE:  # every figure is within the width, without scrolling sideways
            for arm in HOSTILE[:3]:
                box = cell(page, arm, "late").bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= window["width"]
        chart = page.get_by_role("region", name="Behind the promises over time", exact=True).locator(".chart")
        chart.tap(position={"x": 200, "y": 100})
        expect(chart.locator(".tip")).to_be_visible()
        assert overflow(page) == 0


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Of two colours, by WCAG 2."""

    def light(colour: tuple[float, ...]) -> float:
        parts = [c / 255.0 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(visiting: Visiting, scheme: str) -> None:
    with visiting(color_scheme=scheme) as seen:
        page = seen.open()

        @cache
        def colour(name: str) -> tuple[float, ...]:
            text: str = page.evaluate(
                "name => getComputedStyle(document.documentElement).getPropertyValue(name)", f"--{name}"
            )
            return tuple(int(text.strip()[at : at + 2], 16) for at in (1, 3, 5))

        shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert tuple(float(part) for part in re.findall(r"\d+", shown)) == colour("page")
        for back in ("page", "card"):
            for front in ("ink", "soft", "link", "live"):
                assert contrast(colour(front), colour(back)) >= 4.5, (front, back)
        for kind in ("alarm", "warn"):
            assert contrast(colour(kind), colour(f"{kind}-back")) >= 4.5, kind
            assert contrast(colour("ink"), colour(f"{kind}-back")) >= 4.5, kind
        for front in ("got", "promise", "reward", *(f"tone{place}" for place in range(8))):  # lines and dots
            assert contrast(colour(front), colour("card")) >= 3.0, front
        # The scheme of the system is followed, and is another one than the other.
        assert (contrast(colour("page"), (255, 255, 255)) < 2.0) == (scheme == "light")


def test_tables_have_heads_and_pictures_have_names(drinks: dict[str, Any], visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open(drinks["name"])
        expect(row(page, "tea")).to_be_visible()
        table = page.get_by_role("table", name="All figures of the arms", exact=True)
        assert table.get_by_role("columnheader").count() == 1 + 8 + 24
        assert table.get_by_role("rowheader").count() == len(drinks["lines"])
        names = [picture.get_attribute("aria-label") for picture in page.get_by_role("img").all()]
        assert len(names) == 4
        assert all(names)
        assert page.locator("html").get_attribute("lang") == "en-GB"
        assert page.title() == "drinks · Evenhand"


def test_the_libraries_say_where_they_are_from() -> None:
    """Their versions and the integrity of their packages are pinned, and their licences are there."""
    vendor = Path(__file__).parents[3] / "src/evenhand/service/page/vendor"
    wanted = json.loads((vendor / "package.json").read_text())["dependencies"]
    locked = json.loads((vendor / "package-lock.json").read_text())["packages"]
    for name, version in wanted.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    for name, package in locked.items():
        if name:
            assert package["integrity"].startswith("sha512-")
            assert "resolved" not in package
            assert (vendor / "licences" / f"{name.removeprefix('node_modules/')}.txt").stat().st_size > 500
