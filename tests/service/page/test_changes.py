"""Changes, downloads and keys on the page, in a real browser."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evenhand.service.store import Store
from tests.service.browsing import visit
from tests.service.page.reading import Serving, Visiting, address, audit, cell, decide, make, reward
from tests.service.running import Server

# --- changes ----------------------------------------------------------------------------------------------------------


def test_an_allocation_starts_from_a_log(server: Server, visiting: Visiting, tmp_path: Path) -> None:
    """Upload, what the promise costs, create; a question of the reader is shown, and nothing is created by asking."""
    rows = [f"{second},{('tea', 'mate <b>')[second % 2]},{(8, '')[second % 3 == 0]}" for second in range(400)]
    (tmp_path / "sales.csv").write_text("\n".join(["time,product,euros", *rows]))
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open()
        page.get_by_role("link", name="New allocation").click()
        page.get_by_label("CSV file with a row per decision").set_input_files(tmp_path / "sales.csv")
        ask = page.get_by_role("button", name="What would it cost?")
        ask.click()
        expect(page.get_by_role("alert")).to_contain_text("has no column 'reward', but 'euros'")
        page.get_by_role("combobox", name="Reward", exact=True).select_option("euros")
        ask.click()
        expect(page.get_by_role("alert")).to_contain_text("the reward is missing, as in 134 of 400 rows")
        page.get_by_role("combobox", name="A blank reward means").select_option("zero")
        ask.click()
        expect(page.locator(".upload")).to_contain_text("A promise of 10% to each of 2 arms would cost")
        expect(page.get_by_label("Arm 1", exact=True)).to_have_value("mate <b>")
        expect(page.get_by_label("Largest reward")).to_have_value("8")
        expect(page.get_by_label("Promised, %").nth(1)).to_have_value("10")
        page.get_by_label("Name of the allocation").fill("uploaded")
        expect(page.locator(".preview")).to_contain_text("Can be kept")
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name="uploaded")).to_be_visible()
    lines = {line["arm"]: line for line in audit(server, "uploaded")["lines"]}
    assert (lines["tea"]["learned_plays"], lines["tea"]["promised"]) == (200, 0.1)


def test_create_change_and_close(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open()
        page.get_by_role("link", name="New allocation").click()
        page.get_by_label("Name of the allocation").fill("posters")
        page.get_by_label("Arm 1", exact=True).fill("jazz")
        page.get_by_label("Arm 2", exact=True).fill("choir <b>")
        promises = page.get_by_label("Promised, %")
        promises.nth(0).fill("80")
        promises.nth(1).fill("30")
        said = page.get_by_role("status").filter(has_text="Promised in all")
        expect(said).to_contain_text("Promised in all: 110% of the rounds; more than there are.")
        expect(said).to_contain_text("Cannot be kept arms 'jazz', 'choir <b>' together are promised 1.1")
        assert server.http.get("/v1/allocations/posters").status_code == 404, "a preview creates nothing"
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("alert")).to_contain_text("together are promised 1.1 of the rounds")
        promises.nth(0).fill("12.5")
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(said).to_contain_text("Promised in all: 42.5% of the rounds; 57.5% stay for the arms with the largest")
        expect(said).to_contain_text("Can be kept")
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name="posters")).to_be_visible()
        described = server.http.get("/v1/allocations/posters").json()
        assert described["arms"] == ["jazz", "choir <b>"]
        assert described["window"] == 86400.0
        assert described["missing"] == "zero"
        page.get_by_role("link", name="Change arms and promises").click()
        page.get_by_label("Promised to jazz, per cent").fill("80")
        expect(said).to_contain_text("Cannot be kept arms")
        page.get_by_label("Promised to jazz, per cent").fill("20")
        expect(said).to_contain_text("50% stay for the arms with the largest rewards")
        expect(said).to_contain_text("Can be kept From the next round on: jazz 20.0%.")
        assert audit(server, "posters")["version"] == 0
        page.get_by_role("button", name="Save the promises").click()
        expect(page.get_by_text("1 promise changed")).to_be_visible()
        adding = page.get_by_role("region", name="New arm")
        adding.get_by_label("Name").fill("a/b")
        expect(adding.get_by_role("status").first).to_contain_text("From the next round on: a/b 0%.")
        adding.get_by_role("button", name="Add the arm").click()
        page.get_by_role("button", name="Retire a/b").click()
        retiring = page.get_by_role("region", name="Retire arms")
        expect(retiring.locator(".preview")).to_contain_text("Possible")
        retiring.get_by_label("Reason, for the audit").fill("moved away")
        page.keyboard.press("Enter")
        retiring.get_by_role("button", name="Cancel").click()
        assert audit(server, "posters")["version"] == 2, "neither a first click nor the enter key retires an arm"
        page.get_by_role("button", name="Retire a/b").click()
        retiring.get_by_label("Reason, for the audit").fill("moved away")
        retiring.get_by_role("button", name="Retire a/b").click()
        expect(page.get_by_role("button", name="Bring back a/b")).to_be_visible()
        lines = {line["arm"]: line for line in audit(server, "posters")["lines"]}
        assert {arm: line["promised"] for arm, line in lines.items()} == {"jazz": 0.2, "choir <b>": 0.3, "a/b": 0.0}
        assert [arm for arm, line in lines.items() if line["retired"]] == ["a/b"]
        page.get_by_role("link", name="posters", exact=True).click()
        page.get_by_role("button", name="Close allocation", exact=True).click()
        page.get_by_role("button", name="Close posters").click()
        expect(page.get_by_role("button", name="Reopen")).to_be_visible()
        assert audit(server, "posters")["closed"]


def test_what_if_before_it_is_saved(server: Server, visiting: Visiting) -> None:
    """The page says what the service says of the cost, who pays and when arrears are made up, and writes nothing."""
    make(server, "whatif", ["jazz", "choir", "opera"], {"jazz": 0.2})
    reward(server, "whatif", decide(server, "whatif", 15))
    decide(server, "whatif", 200, ["choir", "opera"])
    body = {"change": "promise", "fractions": {"jazz": 0.4}}
    planned = server.post("/v1/allocations/whatif/changes?dry_run=true", body).json()["effect"]
    with visiting() as seen:
        page = seen.open("whatif")
        page.get_by_role("link", name="Change arms and promises").click()
        expect(page.get_by_text(re.compile(r"received [\d.]+% in 215 rounds"))).to_have_count(3)
        page.get_by_label("Promised to jazz, per cent").fill("40")
        page.keyboard.press("Enter")
        expect(page.locator(".effect li")).to_have_text(planned["text"])
        assert planned["text"][0].startswith("Keeping the promises would cost, per round, ")
        assert "jazz 20% → 40%" in " ".join(planned["text"])
        assert planned["catch_up"][0]["arm"] == "jazz"
        assert audit(server, "whatif")["version"] == 0
        page.get_by_role("button", name="Save the promises").click()
        expect(page.get_by_text("no round yet since its promise began")).to_have_count(1)
        decide(server, "whatif", 3, ["jazz", "choir"])
        expect(page.get_by_text("received 100.0% since round 215 (3 rounds)")).to_be_visible()


def offered(page: Page) -> list[str]:
    """The algorithms that can be chosen, whatever is promised."""
    found: set[str] = set()
    for promise in page.get_by_role("group", name="What is promised?").get_by_role("radio").all():
        promise.check()
        found.update(page.get_by_label("Algorithm").evaluate("select => [...select.options].map(one => one.value)"))
    return sorted(found)


@pytest.mark.slow
def test_every_algorithm_can_be_chosen_with_its_parameters(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open()
        page.get_by_role("link", name="New allocation").click()
        algorithm = page.get_by_label("Algorithm")
        expect(algorithm.locator("option:checked")).to_have_text("F-TS (f_ts)")
        listed = server.http.get("/v1/algorithms").json()["algorithms"]
        assert offered(page) == [one["name"] for one in listed if not one["by_features"]]
        page.get_by_role("button", name="Add a feature of the situation").click()
        composed = [one for one in offered(page) if " + " in one]  # policies of parts, as they are recommended
        assert sorted({*offered(page)} - {*composed}) == [one["name"] for one in listed]
        assert composed
        page.get_by_role("button", name="Remove feature 1").click()
        page.get_by_label("Name of the allocation").fill("quotas")
        page.get_by_label("Arm 1", exact=True).fill("a")
        page.get_by_label("Arm 2", exact=True).fill("b")
        page.get_by_label("A reward per round for each arm").check()
        page.get_by_label("rates").fill("0.7")
        page.get_by_label("horizon").fill("1000")
        said = page.locator(".preview")
        expect(said).to_have_text("Possible ")
        page.get_by_label("rates").fill("-1")
        expect(said).to_contain_text("Not possible rates")
        page.get_by_label("Shares for groups of arms").check()
        page.get_by_role("button", name="Add a group").click()
        page.get_by_label("Name of group 1").fill("both")
        for arm in "ab":
            page.get_by_role("group", name="Arms of group 1").get_by_label(arm).check()
        page.get_by_label("At least, per cent, group 1").fill("25")
        page.get_by_text("More parameters").click()
        page.get_by_role("textbox", name="eta", exact=True).fill("2,5")
        expect(said).to_contain_text("Can be kept Groups and caps: both at least 25.0%.")
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name="quotas")).to_be_visible()
        described = server.http.get("/v1/allocations/quotas").json()
        assert described["algorithm"] == "group_ts"
        assert described["parameters"]["eta"] == 2.5
        assert described["parameters"]["groups"][0]["at_least"] == 0.25
        assert "horizon" not in described["parameters"]


def test_download(drinks: dict[str, Any], visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open("drinks")
        page.get_by_text("Download", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Log, as CSV").click()
        assert download.value.suggested_filename == "drinks.csv"
        rounds = Path(download.value.path()).read_text().splitlines()
        assert len(rounds) == drinks["round"] + 1
        for button, name, begin in (
            ("Report", "drinks-report.html", "<!doctype html>"),
            ("Audit, as CSV", "drinks-audit.csv", "arm,retired,promised,"),
            ("Figure, as SVG", "drinks-audit.svg", "<?xml"),
        ):
            with page.expect_download() as download:
                page.get_by_role("button", name=button).click()
            assert download.value.suggested_filename == name
            assert Path(download.value.path()).read_text().startswith(begin)


# --- keys -------------------------------------------------------------------------------------------------------------


def key(database: str, *scopes: str) -> str:
    """The secret of a new key."""
    with closing(Store.open(database)) as store:
        return store.keys.create("-".join(scopes), scopes)[1]


def test_keys(browser: Browser, sqlite: str, serve: Serving) -> None:
    server = serve(sqlite)
    make(server, "secret", ["tea", "coffee"])
    with visit(browser, server.url) as seen:
        seen.pardoned += ["401", "403"]
        page = seen.open("secret")
        writing, reading = key(sqlite, "decide", "reward"), key(sqlite, "read")
        field, enter = page.get_by_label("Key", exact=True), page.get_by_role("button", name="Show the allocations")
        expect(field).to_be_focused()
        expect(page.get_by_role("alert")).to_contain_text("the scope “read”")
        assert page.get_by_text("tea").count() == 0, "no figure stays without a key"
        for wrong, message in (
            ("evh_" + "x" * 43, "no such key"),
            ("not a key ☂", "this is not one"),
            (writing, "allows decide, reward"),
        ):
            field.fill(wrong)
            enter.click()
            expect(page.get_by_role("alert")).to_contain_text(message)
        field.fill(f" {reading} ")
        with page.expect_request(lambda request: "/audit" in request.url) as request:
            field.press("Enter")
        assert request.value.headers["authorization"] == f"Bearer {reading}"
        expect(cell(page, "tea", "plays")).to_have_text("0")
        page.reload()
        expect(cell(page, "tea", "plays")).to_have_text("0")
        expect(page.get_by_text("can only read")).to_be_visible()
        expect(page.get_by_role("link", name="Change arms and promises")).to_have_count(0)
        expect(page.get_by_role("button", name="Close allocation", exact=True)).to_have_count(0)
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        assert reading not in address(page)
        page.get_by_role("button", name="Forget the key").click()
        expect(field).to_be_focused()
        assert page.evaluate("sessionStorage.length") == 0


def test_another_tab_knows_no_key(browser: Browser, sqlite: str, serve: Serving) -> None:
    reading = key(sqlite, "read")
    server = serve(sqlite)
    with visit(browser, server.url) as seen:
        seen.pardoned.append("401")
        seen.page.goto(server.url)
        seen.page.get_by_label("Key", exact=True).fill(reading)
        seen.page.keyboard.press("Enter")
        expect(seen.page.get_by_text("There are none yet")).to_be_visible()
        other = seen.page.context.new_page()
        other.goto(server.url)
        expect(other.get_by_label("Key", exact=True)).to_be_visible()
