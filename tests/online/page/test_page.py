"""The page in a real browser, against the real service."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from typer.testing import CliRunner

from evenhand.cli.main import app
from tests.online.browsing import visit
from tests.online.databases import until
from tests.online.page.reading import (
    BOUND_PERCENT,
    HOSTILE,
    PHONE,
    SECONDS,
    Serving,
    Visiting,
    assert_shows,
    assert_shows_line,
    audit,
    cell,
    change,
    decide,
    make,
    options,
    overflow,
    overview,
    reward,
    row,
)
from tests.online.running import Server

# --- the right numbers ------------------------------------------------------------------------------------------------


def test_every_figure_of_every_arm(drinks: dict[str, Any], visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open("drinks")
        for line in drinks["lines"]:
            assert_shows_line(page, line)
    lines = drinks["lines"]
    assert any(line["late"] for line in lines), "or this would show less than it could"
    assert {line["retired"] for line in lines} == {True, False}
    assert any(line["since"] for line in lines)


def test_arms_are_counted_alike_on_both_pages(drinks: dict[str, Any], visiting: Visiting) -> None:
    """Of the four arms one is retired."""
    with visiting() as seen:
        page = seen.open("drinks")
        tile = page.locator(".tiles > div").filter(has=page.get_by_text("Arms", exact=True))
        assert tile.locator("dd").all_inner_texts() == ["3", "and 1 retired"]
        late = page.locator(".tiles > div").filter(has=page.get_by_text("Late rewards", exact=True))
        assert late.locator("dd").all_inner_texts() == ["9", "lost, then received after the window"]
        page.get_by_role("link", name="Allocations", exact=True).click()
        table = page.get_by_role("table", name="Allocations")
        row = table.get_by_role("row").filter(has=page.get_by_role("link", name="drinks", exact=True))
        expect(row.locator('[data-label="Arms"]')).to_have_text("3")
        width = page.locator("main").evaluate(
            "node => node.clientWidth - 2 * parseFloat(getComputedStyle(node).paddingLeft)"
        )
        box = table.bounding_box()
        assert box is not None
        assert abs(box["width"] - width) <= 1.0  # pixels, of rounding


def test_pending_rewards(server: Server, visiting: Visiting) -> None:
    make(server, "waiting", ["tea", "coffee"], {"coffee": 0.4})
    reward(server, "waiting", decide(server, "waiting", 30)[:12])
    answer = audit(server, "waiting")
    assert sum(line["pending"] for line in answer["lines"]) == 18
    with visiting() as seen:
        page = seen.open("waiting")
        for line in answer["lines"]:
            assert_shows_line(page, line)
        tile = page.locator("div", has=page.get_by_text("Pending rewards", exact=True)).last
        expect(tile).to_contain_text("18")


def test_delays_and_deficits_as_text(drinks: dict[str, Any], visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open("drinks")
        for part, delay in drinks["delays"]["quantiles"].items():
            amount, unit = page.locator(f'[data-quantile="{part}"]').inner_text().split("\u00a0")
            assert_shows(amount, [delay / SECONDS[unit]])
        delays = page.get_by_role("region", name="Delay of the rewards")
        delays.get_by_text("As a table").click()
        shown = delays.locator("td").all_inner_texts()
        assert [int(text.replace(",", "")) for text in shown] == drinks["delays"]["counts"]
        course = page.get_by_role("region", name="Behind the promises over time", exact=True)
        course.get_by_text("As a table").click()
        history = drinks["deficit_history"]
        expect(course.locator("tbody tr")).to_have_count(len(history["rounds"]))
        rows, heads = course.locator("tbody tr").all(), course.locator("thead th").all_inner_texts()
        courses = dict(zip(history["arms"], history["deficits"], strict=True))
        courses["the largest of all arms"] = history["largest"]
        assert sorted(heads[2:]) == sorted(courses)
        for at in (0, len(rows) // 2, len(rows) - 1):
            assert_shows(rows[at].locator("th").inner_text(), [history["rounds"][at]])
            for head, text in zip(heads[2:], rows[at].locator("td").all_inner_texts()[1:], strict=True):
                assert_shows(text, [courses[head][at]])


def parts(marks: Locator, name: str) -> list[float]:
    """An attribute of drawn marks, in per cent of the width."""
    return [float((mark.get_attribute(name) or "").removesuffix("%")) for mark in marks.all()]


def test_the_pictures_draw_the_same(drinks: dict[str, Any], visiting: Visiting) -> None:
    """Bars and marks are in proportion to the figures, all on one scale; the charts draw what the tables say."""
    lines = drinks["lines"]
    with visiting() as seen:
        page = seen.open("drinks")
        bars = page.locator(".overview .received svg")
        got = parts(bars.locator("rect.got"), "width")
        promised = parts(bars.locator("line.promise"), "x1")
        ends = parts(bars.locator(".whisker line:first-child"), "x2")
        dots = parts(page.locator(".overview .earned circle"), "cx")
        course, delays = (
            page.get_by_role("region", name="Behind the promises over time", exact=True),
            "Delay of the rewards",
        )
        drawn_course = options(course.locator(".chart"))
        drawn_delays = options(page.get_by_role("region", name=delays).locator(".chart"))
    scale = 100.0 / max(max(line["high_share"], line["promised"]) for line in lines)
    assert got == pytest.approx([line["share"] * scale for line in lines])
    assert promised == pytest.approx([line["promised"] * scale for line in lines if line["promised"]])
    assert ends == pytest.approx([line["high_share"] * scale for line in lines])
    known = [line["estimate"] for line in lines if line["estimate"] is not None]
    steps = [(dot - dots[0]) / (one - known[0]) for dot, one in zip(dots, known, strict=True) if one != known[0]]
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert steps[0] > 0.0
    drawn = {tuple(value for _, value in series["data"]) for series in drawn_course["series"]}
    history = drinks["deficit_history"]
    assert drawn == {tuple(values) for values in (*history["deficits"], history["largest"])}
    assert drawn_delays["series"][0]["data"] == drinks["delays"]["counts"]


# --- live -------------------------------------------------------------------------------------------------------------


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
        expect(cell(page, "mate", "promised")).to_have_text("25.0\u00a0%")
        change(server, "live", closed=True)
        expect(page.get_by_text("closed", exact=True)).to_be_visible()
        assert page.evaluate("window.marked"), "it was never reloaded"


def test_what_has_not_changed_is_not_sent_again(server: Server, visiting: Visiting) -> None:
    make(server, "still", ["tea", "coffee"])
    with visiting() as seen:
        page = seen.open("still")
        with page.expect_response(lambda answer: "/audit" in answer.url and answer.status == 304):
            pass
        expect(cell(page, "tea", "plays")).to_have_text("0")


def test_a_page_in_the_background_asks_for_nothing(server: Server, visiting: Visiting) -> None:
    make(server, "hidden", ["tea", "coffee"])
    turn = """hidden => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    with visiting() as seen:
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
        expect(page.locator(".alarm")).to_contain_text(fault)
        assert page.title().startswith("⚠ ")
        expect(overview(page, "coffee")).to_contain_text("below its promise")
        expect(page.locator(".verdict")).to_have_text(
            "The promise is not kept; coffee is 5.00 plays behind its 50.0\u00a0%."
        )
        expect(page.locator(".because")).to_contain_text("It is owed 5.00 plays")
        expect(overview(page, "tea")).to_contain_text("no promise")


# --- little, much, and strange ----------------------------------------------------------------------------------------


def run(command: str) -> None:
    """Run a command of the command line, as somebody would who copies it off the page."""
    program, *words = shlex.split(command)
    assert program == "evenhand"
    done = CliRunner(env={"EVENHAND_URL": None, "EVENHAND_KEY": None}).invoke(app, words)
    assert done.exit_code == 0, done.output


def test_from_nothing_to_the_first_decision(browser: Browser, sqlite: str, serve: Serving) -> None:
    with visit(browser, serve(sqlite).url) as seen:
        page = seen.open()
        expect(page.get_by_text("There are none yet")).to_be_visible()
        run(page.locator("pre").inner_text())
        page.get_by_role("link", name="drinks").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("drinks")
        expect(cell(page, "coffee", "promised")).to_have_text("20.0\u00a0%")
        expect(cell(page, "coffee", "share")).to_have_text("–")
        expect(page.get_by_text("No decision has been made yet")).to_be_visible()
        expect(page.get_by_text("No reward has been received yet")).to_be_visible()
        run(page.locator("pre").inner_text())
        expect(page.get_by_text("No decision has been made yet")).to_have_count(0)
        plays = [cell(page, arm, "plays") for arm in ("tea", "coffee")]
        until(lambda: sum(int(one.inner_text()) for one in plays) == 1, lambda: "the decision is not shown")


def test_nobody_is_promised_anything(server: Server, visiting: Visiting) -> None:
    make(server, "free", ["tea", "coffee"], algorithm="ucb1", parameters={}, rewards=[-5, 5])
    decisions = decide(server, "free", 6)
    body = {
        "rewards": [{"decision": one["id"], "rewards": {arm["arm"]: -2.5 for arm in one["arms"]}} for one in decisions]
    }
    server.post("/v1/allocations/free/rewards", body)
    with visiting() as seen:
        page = seen.open("free")
        for line in audit(server, "free")["lines"]:
            assert_shows_line(page, line)
        expect(page.locator(".verdict")).to_have_text("No share is promised to any arm.")
        expect(page.get_by_text("so none can be behind")).to_be_visible()
        expect(cell(page, "tea", "estimate")).to_have_text("−2.500")


def test_shares_by_merit_owe_nothing(server: Server, visiting: Visiting) -> None:
    """A share is promised, but it is estimated anew in each round: the past is not held against it."""
    make(server, "merit", ["tea", "coffee", "mate"], algorithm="fcts_d", parameters={"merit": {"kind": "linear"}})
    reward(server, "merit", decide(server, "merit", 60))
    lines = audit(server, "merit")["lines"]
    assert all(line["promised"] > 0.0 for line in lines)
    with visiting() as seen:
        page = seen.open("merit")
        for line in lines:
            expect(overview(page, line["arm"])).to_contain_text("by merit")
            assert_shows_line(page, line)
        expect(page.locator(".verdict")).to_contain_text("shares follow the merit of the arms")
        expect(page.get_by_text("No number of plays is promised, so none is owed.")).to_be_visible()
        assert (
            page.locator("main").get_by_text(re.compile("below its promise|No share is promised|behind its")).count()
            == 0
        )


def test_totals_are_no_missing_rewards(server: Server, visiting: Visiting) -> None:
    parameters = {"fractions": {"coffee": 0.25}}
    make(server, "totals", ["tea", "coffee"], algorithm="ars_fucb", parameters=parameters, rewards=[0, 3])
    for _ in range(12):
        [decision] = decide(server, "totals", 1)
        body = {"value": 1.5, "round": decision["round"]}
        assert server.post("/v1/allocations/totals/totals", body).status_code == 200
    with visiting() as seen:
        page = seen.open("totals")
        expect(page.get_by_text("Rewards arrive as totals of rounds")).to_be_visible()
        expect(overview(page, "tea")).to_contain_text("learned from totals")
        assert page.get_by_text("No reward has been received").count() == 0
        assert page.get_by_text("Pending rewards").count() == 0
        for line in audit(server, "totals")["lines"]:
            assert_shows_line(page, line)


def test_why_and_a_link_to_this_view(drinks: dict[str, Any], visiting: Visiting) -> None:
    line = next(line for line in drinks["lines"] if line["arm"] == "cocoa")
    with visiting() as seen:
        page = seen.open("drinks")
        page.get_by_label("Order").select_option("Fewest plays first")
        page.get_by_label("Arms whose name contains").fill("co")
        address = page.url
        assert "order=fewest" in address
        why = page.get_by_role("button", name="Why: cocoa")
        why.click()
        expect(why).to_have_attribute("aria-expanded", "true")
        because = page.locator(f"#{why.get_attribute('aria-controls')}")
        expect(because).to_contain_text("more than the 30.0\u00a0% that it was promised. Its mean reward")
        facts = page.locator(".facts")
        for head, value in (("Could play in", 100.0 * line["available"]), ("Its score: mean reward", line["estimate"])):
            text = facts.locator("div", has_text=head).locator("dd").inner_text()
            assert_shows(text.removesuffix(" of all rounds"), [value])
        other = page.context.new_page()
        other.goto(address)
        expect(other.get_by_label("Arms whose name contains")).to_have_value("co")
        plays = {line["arm"]: line["all_plays"] for line in drinks["lines"] if "co" in line["arm"]}
        expect(other.locator("th .name").first).to_be_visible()
        assert names_in_sight(other) == sorted(plays, key=plays.__getitem__)


def test_evidence_to_start_from_is_a_sentence(server: Server, visiting: Visiting) -> None:
    make(server, "older", ["tea", "coffee"], {"coffee": 0.3})
    reward(server, "older", decide(server, "older", 20))
    make(server, "newer", ["tea", "coffee", "mate"], {"mate": 0.2}, start_from="older")
    tea, coffee, mate = audit(server, "newer")["lines"]
    assert tea["learned_plays"] + coffee["learned_plays"] == 20
    assert mate["learned_plays"] == 0
    with visiting() as seen:
        page = seen.open("newer")
        sentence = page.get_by_text("Learned beforehand")
        expect(sentence).to_contain_text("from allocation older: tea ")
        expect(sentence).not_to_contain_text("mate")
        figures = [tea["learned_plays"], tea["learned_mean"], coffee["learned_plays"], coffee["learned_mean"]]
        assert_shows(sentence.inner_text(), figures)
        for line in (tea, coffee, mate):
            assert_shows_line(page, line)
        page = seen.open("older")
        expect(page.get_by_text("Learned beforehand")).to_have_count(0)


def test_what_a_policy_has_not_forgotten_is_a_sentence(server: Server, visiting: Visiting) -> None:
    parameters = {"fractions": {"tea": 0.2}, "evidence": {"kind": "forgetting", "window": 8}}
    make(server, "forgetful", ["tea", "coffee"], parameters=parameters)
    for _ in range(3):
        reward(server, "forgetful", decide(server, "forgetful", 10))
    lines = audit(server, "forgetful")["lines"]
    assert all(line["counted"] < line["received"] for line in lines)
    with visiting() as seen:
        sentence = seen.open("forgetful").get_by_text("The policy goes by")
        assert_shows(sentence.inner_text(), [line[name] for line in lines for name in ("counted", "received")])


def test_groups_and_caps(server: Server, visiting: Visiting) -> None:
    groups = [
        {"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.25},
        {"name": "sweet", "arms": ["coffee", "cocoa"], "at_least": 0.125, "at_most": 0.75},
    ]
    parameters = {"groups": groups, "caps": {"tea": 0.5}}
    make(server, "grouped", ["tea", "coffee", "cocoa", "water"], algorithm="group_ucb", parameters=parameters)
    reward(server, "grouped", decide(server, "grouped", 50))
    bounds = audit(server, "grouped")["bounds"]
    assert [line["name"] for line in bounds] == ["hot", "sweet", "tea"]
    with visiting() as seen:
        page = seen.open("grouped")
        table = page.get_by_role("table", name="Groups and caps", exact=True)
        expect(table.locator("tbody tr")).to_have_count(len(bounds))
        for line, shown in zip(bounds, table.locator("tbody tr").all(), strict=True):
            expect(shown.get_by_role("rowheader")).to_have_text(line["name"])
            expect(shown.locator('[data-field="arms"]')).to_have_text(", ".join(line["arms"]))
            for field in ("at_least", "at_most", "since", "plays", "share", "owed", "excess"):
                value = None if line[field] is None else line[field] * (100.0 if field in BOUND_PERCENT else 1.0)
                assert_shows(shown.locator(f'[data-field="{field}"]').inner_text(), [value])


def test_one_arm(server: Server, visiting: Visiting) -> None:
    make(server, "one", ["tea"], {"tea": 0.5})
    reward(server, "one", decide(server, "one", 1))
    with visiting() as seen:
        page = seen.open("one")
        assert_shows_line(page, audit(server, "one")["lines"][0])
        expect(overview(page, "tea")).to_contain_text("kept")
        expect(page.get_by_text("more than one play behind")).to_be_visible()


def names_in_sight(page: Page) -> list[str]:
    return page.get_by_role("table", name="Overview of the arms", exact=True).locator("th .name").all_text_contents()


def test_two_hundred_arms(server: Server, visiting: Visiting) -> None:
    arms = [f"advert {place}" for place in range(200)]
    make(server, "adverts", arms, dict.fromkeys(arms, 0.004))
    decide(server, "adverts", 500)
    lines = {line["arm"]: line for line in audit(server, "adverts")["lines"]}
    with visiting() as seen:
        page = seen.open("adverts")
        names: list[str] = []
        for turn in range(10):
            if turn:
                page.get_by_role("button", name="Next").first.click()
            names += names_in_sight(page)
            assert_shows_line(page, lines[names[-1]])
        expect(page.get_by_role("button", name="Next").first).to_be_disabled()
        assert names == arms, "in the order of the arms"
        page.get_by_label("Order").select_option("Most plays first")
        expect(page.get_by_text("Arms 1 to 20 of 200")).to_be_visible()
        shown = [lines[name]["all_plays"] for name in names_in_sight(page)]
        assert shown == sorted((line["all_plays"] for line in lines.values()), reverse=True)[:20]
        page.get_by_label("Arms whose name contains").fill("T 19")
        expect(page.get_by_text("Arms 1 to 11 of 11")).to_be_visible()
        assert sorted(names_in_sight(page)) == sorted(["advert 19", *(f"advert 19{digit}" for digit in range(10))])
        page.get_by_label("Arms whose name contains").fill("nobody")
        expect(page.get_by_text("No arm has a matching name")).to_be_visible()


def test_more_arms_than_are_loaded_at_first(server: Server, visiting: Visiting) -> None:
    arms = [f"item {place}" for place in range(250)]
    make(server, "items", arms, {"item 249": 0.5})
    decide(server, "items", 10, arms[:249])
    with visiting() as seen:
        page = seen.open("items")
        expect(page.get_by_text("200 of 250 arms are loaded")).to_be_visible()
        assert names_in_sight(page)[0] == "item 249", "who is behind is never left out"
        page.get_by_role("button", name="Load all 250").click()
        expect(page.get_by_text("Arms 1 to 20 of 250")).to_be_visible()
        expect(page.get_by_text("are loaded")).to_have_count(0)
        assert names_in_sight(page)[0] == "item 0"


def test_hostile_names(server: Server, visiting: Visiting) -> None:
    make(server, "hostile", HOSTILE, dict.fromkeys(HOSTILE, 0.05))
    decide(server, "hostile", 60, [name for name in HOSTILE if name != HOSTILE[0]])
    reward(server, "hostile", decide(server, "hostile", 50))
    with visiting() as seen:
        dialogs: list[str] = []
        seen.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page = seen.open("hostile")
        shown = [name.replace("\u202e", "\\u202e") for name in HOSTILE]  # as it turns the direction of what follows
        assert names_in_sight(page) == shown
        course = page.get_by_role("region", name="Behind the promises over time", exact=True)
        legend = course.get_by_role("group", name="Lines").locator(".name").all_text_contents()
        assert sorted(legend) == sorted(shown)
        course.locator(".chart").hover(position={"x": 400, "y": 100})  # in the tips of a picture, too
        expect(course.locator(".tip")).to_contain_text(HOSTILE[0])
        page.get_by_label("Arms whose name contains").fill("<script>")
        expect(page.get_by_text("Arms 1 to 1 of 1")).to_be_visible()
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script").count() == 0
        assert dialogs == []


def test_an_allocation_that_is_not_there_yet(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        seen.pardoned.append("404")
        page = seen.open("tomorrow")
        expect(page.get_by_role("alert")).to_contain_text("no allocation of this name")
        make(server, "tomorrow", ["tea", "coffee"])
        expect(cell(page, "tea", "plays")).to_have_text("0")


# --- for everybody ----------------------------------------------------------------------------------------------------


def outlined(page: Page) -> bool:
    """Whether one sees where the focus is."""
    seen: bool = page.evaluate("""() => {
        const style = getComputedStyle(document.activeElement);
        return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    }""")
    return seen


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the focus is there; it is seen all the way."""
    for _ in range(40):
        page.keyboard.press("Tab")
        assert outlined(page)
        if target.evaluate("node => node === document.activeElement"):
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
        assert outlined(page)


@pytest.mark.parametrize("window", [PHONE, {"width": 800, "height": 600}], ids=["phone", "tablet"])
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
        arms = page.get_by_role("region", name="Who gets what").bounding_box()
        assert arms is not None
        if window is PHONE:  # eleven arms with names of up to 200 letters
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
def test_contrast(server: Server, browser: Browser, scheme: str) -> None:
    with visit(browser, server.url, color_scheme=scheme) as seen:
        page = seen.open()

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
        assert table.get_by_role("columnheader").count() == 1 + 6 + 18
        assert table.get_by_role("rowheader").count() == len(drinks["lines"])
        names = [picture.get_attribute("aria-label") for picture in page.get_by_role("img").all()]
        assert len(names) == 2
        assert all(names)
        assert page.locator("html").get_attribute("lang") == "en-GB"
        assert page.title() == "drinks · Evenhand"


def test_the_libraries_say_where_they_are_from() -> None:
    """Their versions and the integrity of their packages are pinned, and their licences are there."""
    vendor = Path(__file__).parents[3] / "src/evenhand/online/page/vendor"
    wanted = json.loads((vendor / "package.json").read_text())["dependencies"]
    locked = json.loads((vendor / "package-lock.json").read_text())["packages"]
    for name, version in wanted.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    for name, package in locked.items():
        if name:
            assert package["integrity"].startswith("sha512-")
            assert "resolved" not in package
            assert (vendor / "licences" / f"{name.removeprefix('node_modules/')}.txt").stat().st_size > 500
