"""The view of alarms and webhooks, in a real browser."""

from __future__ import annotations

from contextlib import closing

from playwright.sync_api import Browser, expect

from evenhand.service.store import Store
from tests.service.browsing import visit
from tests.service.databases import until
from tests.service.page.reading import PHONE, Serving, Visiting, audit, decide, make, overflow
from tests.service.running import Server


def standing(server: Server, name: str) -> int:
    return len(audit(server, name)["alarms"])


def test_alarms_are_stated_and_end(server: Server, visiting: Visiting) -> None:
    make(server, "sirens", ["1", "coffee"], {"1": 0.5}, words={"arm_name": "films"})
    decide(server, "sirens", 40, ["coffee"])
    until(lambda: standing(server, "sirens") == 1, lambda: "no alarm was stated")
    with visiting(viewport=PHONE) as seen:
        page = seen.open("sirens")
        page.get_by_role("link", name="Alarms and webhooks").click()
        expect(page.get_by_role("heading", level=1, name="Alarms of sirens")).to_be_focused()
        stands = page.get_by_role("region", name="Alarms that stand")
        expect(stands.get_by_role("listitem")).to_contain_text(audit(server, "sirens")["alarms"][0]["text"])
        stated = page.get_by_role("region", name="What was stated lately").locator(".stated > li")
        expect(stated).to_have_count(1)
        expect(stated).to_contain_text("missed film 1 is 20 plays behind the 50% that it was promised")
        decide(server, "sirens", 60)
        until(lambda: standing(server, "sirens") == 0, lambda: "the alarm did not end")
        expect(stands).to_contain_text("None. An alarm is stated where a promise is missed")
        expect(stated).to_have_count(2)
        expect(stated.first).to_contain_text("kept again")
        page.get_by_role("link", name="sirens", exact=True).click()
        expect(page.get_by_text("1 alarm, resolved at")).to_be_visible()
        page.get_by_role("link", name="1 alarm", exact=True).click()
        expect(page.get_by_role("heading", level=1, name="Alarms of sirens")).to_be_focused()
        assert overflow(page) == 0


def test_webhooks_are_added_and_removed(server: Server, visiting: Visiting) -> None:
    make(server, "hooks", ["tea", "coffee"])
    path = "/v1/allocations/hooks/webhooks"
    with visiting() as seen:
        page = seen.open("hooks")
        page.get_by_role("link", name="Alarms and webhooks").click()
        expect(page.get_by_text("There is none: only who looks at this page")).to_be_visible()
        field = page.get_by_label("Address to which alarms are sent")
        field.fill("https://10.0.0.1/hook")
        seen.pardoned.append("422")
        page.get_by_role("button", name="Add the webhook").click()
        expect(page.get_by_role("alert")).to_be_visible()
        assert server.http.get(path).json()["webhooks"] == []
        field.fill("https://hooks.invalid/alarm")
        page.get_by_role("button", name="Add the webhook").click()
        expect(page.get_by_text("shown only now: whsec_")).to_be_visible()
        (hook,) = server.http.get(path).json()["webhooks"]
        assert (hook["url"], hook["kinds"]) == ("https://hooks.invalid/alarm", ["alarm"])
        listed = page.get_by_role("region", name="Webhooks").get_by_role("listitem")
        expect(listed).to_contain_text("Events of the kind alarm, up to event 1")
        page.get_by_role("button", name="Remove https://hooks.invalid/alarm").click()
        page.get_by_role("button", name="Remove https://hooks.invalid/alarm").click()
        expect(listed).to_have_count(0)
        assert server.http.get(path).json()["webhooks"] == []


def test_without_the_scope_nothing_can_be_changed(browser: Browser, sqlite: str, serve: Serving) -> None:
    server = serve(sqlite)
    make(server, "secret", ["tea", "coffee"])
    with closing(Store.open(sqlite)) as store:
        reading = store.keys.create("reader", ["read"])[1]
    with visit(browser, server.url) as seen:
        seen.pardoned += ["401", "403"]
        page = seen.page
        page.goto(f"{server.url}/#/allocations/secret/alarms")
        page.get_by_label("Key", exact=True).fill(reading)
        page.get_by_role("button", name="Show the allocations").click()
        expect(page.get_by_role("heading", level=1, name="Alarms of secret")).to_be_visible()
        expect(page.get_by_text("They can be seen with a key that may administer")).to_be_visible()
        expect(page.get_by_role("button", name="Add the webhook")).to_have_count(0)
