"""Health, history and cost on the page, as the service sends them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.service.page.reading import Visiting, assert_shows, audit, change, decide, make, reward
from tests.service.running import Server


def test_the_list_shows_the_health_that_the_service_sends(server: Server, visiting: Visiting) -> None:
    make(server, "sound", ["tea", "coffee"], {"coffee": 0.5})
    reward(server, "sound", decide(server, "sound", 10))
    make(server, "short", ["tea", "coffee"], {"coffee": 0.5})
    decide(server, "short", 20, ["tea"])
    listed = server.http.get("/v1/allocations?health=true").json()["allocations"]
    healths = {one["name"]: one["health"] for one in listed}
    assert (healths["sound"]["status"], healths["short"]["status"]) == ("good", "bad")
    with visiting() as seen:
        table = seen.open().get_by_role("table", name="Allocations")
        for name, word in (("sound", "Healthy"), ("short", "Alarm")):
            shown = table.locator("tr", has_text=name).locator('[data-field="health"]')
            expect(shown).to_contain_text(word)
            expect(shown).to_contain_text(healths[name]["text"])


def test_what_promises_cost_and_what_happened_over_time(server: Server, visiting: Visiting) -> None:
    make(server, "costly", ["tea", "coffee"], {"coffee": 0.25}, rewards=[0, 10])
    for one in decide(server, "costly", 40):
        value = {arm["arm"]: 8.0 if arm["arm"] == "tea" else 4.0 for arm in one["arms"]}
        server.post("/v1/allocations/costly/rewards", {"rewards": [{"decision": one["id"], "rewards": value}]})
    change(server, "costly", "promise", fractions={"coffee": 0.5})
    told = audit(server, "costly")
    assert told["cost"]["per_round"] == pytest.approx(2.0, rel=0.25)  # of 40 rewards
    with visiting() as seen:
        page = seen.open("costly")
        cost = page.get_by_role("region", name="What the promises cost")
        for field in ("per_round", "low", "high", "incurred", "incurred_low", "incurred_high"):
            assert_shows(cost.locator(f'[data-field="{field}"]').inner_text(), [told["cost"][field]])
        past = page.get_by_role("region", name="Over time", exact=True)
        expect(past.locator(".changes")).to_have_text(
            re.compile("after round 40: the promised share of coffee changed from 25% to 50%")
        )
        rows = past.get_by_role("table", name="Arms in this range").locator("tbody tr")
        expect(rows).to_have_count(2)
        for shown, line in zip(rows.all(), told["lines"], strict=True):
            cells = shown.locator("td").all_inner_texts()
            assert_shows(cells[0], [line["all_plays"]])
            assert_shows(cells[3], [line["estimate"]])
