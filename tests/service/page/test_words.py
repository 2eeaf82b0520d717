"""The page speaks in the words of the allocation, and names stay as they are."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.service.page.reading import Visiting, audit, decide, make, overview, reward
from tests.service.running import Server

WORDS = {"unit": "€", "round_name": "visitors", "arm_name": "films"}
NAMES = ["arm 1", "the last round", "Ida", "Alien"]
USUAL = re.compile(r"\b(round|arm)s?\b|of reward\b", re.IGNORECASE)


def test_every_text_has_the_words(server: Server, visiting: Visiting) -> None:
    groups = [{"name": "new arms", "arms": NAMES[:2], "at_least": 0.25}]
    parameters = {"groups": groups, "fractions": {"Ida": 0.2}, "caps": {"Alien": 0.5}}
    make(server, "cinema", NAMES, algorithm="group_ucb", parameters=parameters, words=WORDS)
    reward(server, "cinema", decide(server, "cinema", 80))
    decide(server, "cinema", 40, NAMES[3:])
    with visiting() as seen:
        page = seen.open("cinema")
        for summary in page.locator("section summary").all():
            summary.click()
        for why in page.get_by_role("button", name="Why").all():
            why.click()
        expect(page.get_by_text("Visitors", exact=True).first).to_be_visible()
        expect(overview(page, "Ida")).to_contain_text("€")
        text = page.locator("main").inner_text()
        for name in (*NAMES, "new arms"):
            text = text.replace(name, "")
        assert [line for line in text.splitlines() if USUAL.search(line)] == []
        page.get_by_role("link", name="Allocations").click()
        expect(page.get_by_role("button", name="Rounds")).to_be_visible()


def test_words_are_given_and_changed(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open()
        page.get_by_role("link", name="New allocation").click()
        page.get_by_label("Name of the allocation").fill("theatre")
        page.get_by_label("Arm 1", exact=True).fill("Hamlet")
        page.get_by_label("Arm 2", exact=True).fill("Faust")
        page.get_by_label("Unit of rewards").fill("€")
        page.get_by_label("Word for arms").fill("plays")
        expect(page.get_by_text("Can be kept")).to_be_visible()
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name="theatre")).to_be_visible()
        assert audit(server, "theatre")["words"] == {"unit": "€", "round_name": "", "arm_name": "plays"}
        page.get_by_role("link", name="Change plays and promises").click()
        expect(page.get_by_label("Unit of rewards")).to_have_value("€")
        page.get_by_label("Word for rounds").fill("person/people")
        page.get_by_role("button", name="Save the words").click()
        expect(page.get_by_text("begins with the next person")).to_be_visible()
        page.get_by_label("Word for rounds").fill("a/b/c")
        seen.pardoned.append("422")
        page.get_by_role("button", name="Save the words").click()
        expect(page.get_by_role("alert")).to_contain_text("round_name must be a plural such as")
        assert audit(server, "theatre")["words"] == {"unit": "€", "round_name": "person/people", "arm_name": "plays"}
