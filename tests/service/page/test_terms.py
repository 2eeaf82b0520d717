"""Words that the page explains, by pointer, keyboard and touch, and for screen readers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from evenhand.core.glossary import terms
from tests.service.browsing import visit
from tests.service.page.reading import PHONE, Visiting, decide, make
from tests.service.running import Server

PAGE = Path(__file__).parents[3] / "src/evenhand/service/page"


def test_every_word_is_in_the_glossary_which_is_served(server: Server) -> None:
    served = server.http.get("/assets/glossary.json").json()
    assert served == {name: term.plain for name, term in terms().items()}
    code = "".join(path.read_text() for path in PAGE.glob("*.js"))
    used = {
        *re.findall(r'<\$\{Term\} word="([^"]+)"', code),
        *re.findall(r'\bword="([^"]+)"', code),
        *re.findall(r"\bterm\('([^']+)'", code),
    }
    assert {"share", "promise", "deficit", "price of the promises", "score"} <= used
    assert used <= set(served)


def test_by_pointer(drinks: dict[str, Any], visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open("drinks")
        tip = page.get_by_role("tooltip")
        expect(tip).to_have_count(0)
        word = page.get_by_role("button", name="Furthest behind, in plays")
        word.hover()
        expect(tip).to_have_text(terms()["deficit"].plain)
        tip.hover()  # one can point at the definition itself
        page.wait_for_timeout(400)
        expect(tip).to_be_visible()
        page.get_by_role("heading", level=1).hover()
        expect(tip).to_have_count(0)


def test_by_keyboard_and_for_screen_readers(drinks: dict[str, Any], visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open("drinks")
        tip = page.get_by_role("tooltip")
        for name, word in (("share", "share"), ("promised", "promise"), ("reward", "reward"), ("Rounds", "round")):
            button = page.get_by_role("button", name=name, exact=True)
            expect(button).to_have_accessible_description(terms()[word].plain)
        page.get_by_role("button", name="share", exact=True).focus()
        expect(tip).to_have_text(terms()["share"].plain)
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="promised", exact=True)).to_be_focused()
        expect(tip).to_have_text(terms()["promise"].plain)
        page.keyboard.press("Escape")
        expect(tip).to_have_count(0)
        expect(page.get_by_role("button", name="promised", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        expect(tip).to_have_text(terms()["promise"].plain)


def test_in_the_form(visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open()
        page.get_by_role("link", name="New allocation").click()
        page.get_by_label("Shares in proportion to the merit").check()
        page.get_by_role("button", name="merit", exact=True).focus()
        expect(page.get_by_role("tooltip")).to_have_text(terms()["merit"].plain)
        expect(page.get_by_role("group", name="merit", exact=True)).to_be_visible()
        expect(page.get_by_role("group", name="What is promised?", exact=True)).to_be_visible()


@pytest.mark.slow
def test_by_touch_a_definition_stays_in_the_window(server: Server, browser: Browser) -> None:
    make(server, "touched", ["tea", "coffee"], {"tea": 0.2})
    decide(server, "touched", 5)
    with visit(browser, server.url, viewport=PHONE, has_touch=True) as seen:
        page = seen.open("touched")
        tip = page.get_by_role("tooltip")
        for word in page.locator(".term").all():
            if not word.is_visible():
                continue
            word.tap()
            box = tip.bounding_box()
            assert box is not None
            assert box["x"] >= 0.0
            assert box["x"] + box["width"] <= PHONE["width"]
            assert box["y"] + box["height"] <= PHONE["height"]
            page.keyboard.press("Escape")  # it would cover the words below
        page.locator(".term", has_text="share").first.tap()
        decide(server, "touched", 5)  # the page is drawn anew, and the definition stays
        expect(page.locator(".tiles")).to_contain_text("10")
        expect(tip).to_be_visible()
        page.get_by_role("heading", level=1).tap()
        expect(tip).to_have_count(0)
