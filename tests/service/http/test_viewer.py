"""The description of the routes in Chromium: it is shown, can be tried, and asks nobody else."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from playwright.sync_api import expect, sync_playwright

from tests.service.browsing import chromium, visit
from tests.service.databases import PATIENCE
from tests.service.http.asking import DRINKS
from tests.service.running import Server


def test_the_viewer_shows_the_routes_and_tries_them(serve: Callable[..., Server], sqlite: str) -> None:
    server = serve(sqlite)
    assert server.post("/v1/allocations", DRINKS).status_code == 201
    described = sum(map(len, httpx.get(f"{server.url}/openapi.json").json()["paths"].values()))
    expect.set_options(timeout=1000.0 * PATIENCE)  # the machine may have much else to do
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(playwright), args=["--no-sandbox"])
        with visit(browser, server.url) as viewer:
            page = viewer.page
            page.goto(server.url + "/docs")
            expect(page.locator(".opblock")).to_have_count(described)
            route = page.locator("#operations-rounds-decide")
            route.locator(".opblock-summary-control").click()
            route.get_by_placeholder("name").fill("drinks")
            route.get_by_role("button", name="Execute").click()
            answer = route.locator(".live-responses-table .highlight-code").first
            expect(answer).to_contain_text('"tea"')
        browser.close()
    assert server.http.get("/v1/allocations/drinks").json()["round"] == 1
