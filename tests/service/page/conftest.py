"""A browser and a service for the tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.service.browsing import chromium, page_of, visit, visit_again
from tests.service.databases import PATIENCE, until
from tests.service.page.reading import Visiting, audit, change, decide, make, reward
from tests.service.running import Launcher, Server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=1000.0 * PATIENCE)  # the machine may have much else to do
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(playwright), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def server(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service without keys, shared by the tests that have allocations of their own."""
    folder = tmp_path_factory.mktemp("page")
    first = "import evenhand.service.http.run as r; r.JUDGE = 0.2"  # alarms are looked for 25 times as often
    with Server(launcher, f"sqlite:///{folder}/evenhand.db", folder / "server.log", first=first) as running:
        yield running


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Iterator[Page]:
    """The page that most tests share, one after the other."""
    with page_of(browser) as page:
        yield page


@pytest.fixture
def visiting(browser: Browser, tab: Page, server: Server) -> Visiting:
    """Visits the service in the page that tests share, or, by touch, in one of its own."""
    return lambda **how: (
        visit(browser, server.url, **how) if "has_touch" in how else visit_again(tab, server.url, **how)
    )


@pytest.fixture(scope="package")
def drinks(server: Server) -> dict[str, Any]:
    """The audit of an allocation in which something of everything has happened; nothing happens to it any more."""
    make(
        server, "drinks", ["tea", "coffee", "cocoa", "water"], {"coffee": 0.2, "cocoa": 0.3}, window=1.0, missing="lost"
    )
    first = decide(server, "drinks", 60)
    assert set(reward(server, "drinks", first[:41])) == {"accepted"}
    change(server, "drinks", "retire", arm="water")
    change(server, "drinks", "promise", fractions={"coffee": 0.25}, reason="more milk")
    decide(server, "drinks", 40, ["tea", "cocoa"])
    # Once the window has passed, what is missing is lost, and what comes is late.
    await_lost(server, 19 + 40)
    assert set(reward(server, "drinks", first[41:50])) == {"late"}
    decide(server, "drinks", 7)
    await_lost(server, 19 + 40 + 7)
    return audit(server, "drinks")


def await_lost(server: Server, count: int) -> None:
    def lost() -> int:
        return sum(line["lost"] for line in audit(server, "drinks")["lines"])

    until(lambda: lost() == count, lambda: f"{lost()} rewards were lost, not {count}")
