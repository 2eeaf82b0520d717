"""The page follows the service: new figures, a server that goes and comes back, and the alarm."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.service.browsing import visit
from tests.service.page.reading import (
    Serving,
    Visiting,
    audit,
    cell,
    change,
    decide,
    make,
    overview,
    reward,
)
from tests.service.running import Server


def test_new_figures_come_without_a_reload(server: Server, visiting: Visiting) -> None:
    make(server, "live", ["tea", "coffee"], {"coffee": 0.5})
    with visiting() as seen:
        page = seen.open("live")
        page.evaluate("window.marked = true")
        decisions = decide(server, "live", 4)
        expect(cell(page, "coffee", "plays")).to_have_text("2")
        expect(cell(page, "coffee", "pending")).to_have_text("2")
        reward(server, "live", decisions)
        expect(cell(page, "coffee", "received")).to_have_text("2")
        expect(cell(page, "coffee", "pending")).to_have_text("0")
        assert server.http.put("/v1/allocations/live/arms/mate", json={"fraction": 0.25}).status_code == 201
        expect(cell(page, "mate", "promised")).to_have_text("25.0%")
        change(server, "live", "close")
        expect(page.get_by_text("closed", exact=True)).to_be_visible()
        assert page.evaluate("window.marked"), "it was never reloaded"


def test_what_has_not_changed_is_not_sent_again(server: Server, visiting: Visiting) -> None:
    make(server, "still", ["tea", "coffee"])
    with visiting() as seen:
        page = seen.open("still")
        with page.expect_response(lambda answer: "/audit" in answer.url and answer.status == 304):
            pass
        expect(cell(page, "tea", "plays")).to_have_text("0")


def test_a_page_in_the_background_asks_for_nothing(browser: Browser, server: Server) -> None:
    make(server, "hidden", ["tea", "coffee"])
    turn = """hidden => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    with visit(browser, server.url) as seen:
        seen.page.clock.install()
        page = seen.open("hidden")
        page.evaluate(turn, True)
        before = len(seen.requests)
        page.clock.run_for(3_600_000)
        assert len(seen.requests) == before
        with page.expect_request(lambda request: "/audit" in request.url):
            page.evaluate(turn, False)


def test_the_server_goes_and_comes_back(browser: Browser, sqlite: str, serve: Serving) -> None:
    server = serve(sqlite)
    make(server, "kept", ["tea", "coffee"], {"coffee": 0.5})
    decide(server, "kept", 4)
    with visit(browser, server.url) as seen:
        seen.pardoned += ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]
        page = seen.open("kept")
        server.stop()
        expect(page.get_by_role("status").get_by_text("The server cannot be reached")).to_be_visible()
        expect(page.get_by_text("Live", exact=True)).to_have_count(0)
        expect(cell(page, "coffee", "plays")).to_have_text("2")
        server.start()
        decide(server, "kept", 2)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_text("The server cannot be reached")).to_have_count(0)
        expect(cell(page, "coffee", "plays")).to_have_text("3")


def test_the_alarm(server: Server, visiting: Visiting) -> None:
    make(server, "broken", ["tea", "coffee"], {"coffee": 0.5})
    with visiting() as seen:
        page = seen.open("broken")
        expect(page.get_by_role("alert")).to_have_text("")
        decide(server, "broken", 10, ["tea"])
        expect(page.get_by_role("alert")).to_have_text("A promise cannot be kept")
        fault = audit(server, "broken")["fault"]
        assert "coffee" in fault
        expect(page.locator(".alarm")).to_contain_text(fault, ignore_case=True)  # the page begins it as a sentence
        assert page.title().startswith("⚠ ")
        expect(overview(page, "coffee")).to_contain_text("5 plays behind")
        expect(page.locator(".verdict")).to_have_text(
            "The promise is missed; coffee is 5 plays behind the 50% that it was promised."
        )
        expect(page.locator(".because")).to_contain_text("It is 5 plays behind the 50% that it was promised.")
        expect(overview(page, "tea")).to_contain_text("no promise")
        expect(page.locator(".missed")).to_contain_text(
            "1 promise was missed, and not kept since"
        )  # when it was judged
        expect(page.locator(".missed")).to_contain_text("coffee is 5 plays behind the 50% that it was promised.")
        expect(overview(page, "coffee")).to_contain_text("alarm")
        decide(server, "broken", 20)
        expect(page.locator(".missed")).to_have_count(0)
        expect(overview(page, "coffee")).to_contain_text("kept")
