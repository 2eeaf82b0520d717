"""An allocation with little, much, or strange in it, on the page."""

from __future__ import annotations

import math
import re
import shlex
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from typer.testing import CliRunner

from evenhand.cli.main import app
from tests.service.browsing import visit
from tests.service.databases import until
from tests.service.page.reading import (
    BOUND_PERCENT,
    HOSTILE,
    Serving,
    Visiting,
    address,
    assert_shows,
    assert_shows_line,
    audit,
    cell,
    change,
    decide,
    make,
    numbers,
    overview,
    reward,
)
from tests.service.running import Server


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
        expect(cell(page, "coffee", "promised")).to_have_text("20.0%")
        expect(cell(page, "coffee", "share")).to_have_text("–")
        expect(page.get_by_text("This command requests the first decision")).to_be_visible()
        expect(page.get_by_text("No reward has been received yet")).to_be_visible()
        run(page.locator("pre").inner_text())
        expect(page.get_by_text("This command requests the first decision")).to_have_count(0)
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
        expect(page.get_by_text("deserved by merit")).to_be_visible()
        expect(page.get_by_role("columnheader", name="Deserved now")).to_be_visible()
        settings = page.get_by_role("region", name="Settings", exact=True)
        expect(settings.locator("div", has_text="merit").locator("dd")).to_have_text("linear")
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
        link = address(page)
        assert "order=fewest" in link
        why = page.get_by_role("button", name="Why: cocoa")
        why.click()
        expect(why).to_have_attribute("aria-expanded", "true")
        because = page.locator(f"#{why.get_attribute('aria-controls')}")
        expect(because).to_contain_text(line["reason"])
        assert "It has the 30% that it was promised. Its mean reward" in line["reason"]
        facts = page.locator(".facts")
        for head, value in (("Could play in", 100.0 * line["available"]), ("Mean reward", line["estimate"])):
            text = facts.locator("div", has_text=head).locator("dd").inner_text()
            assert_shows(text.removesuffix(" of all rounds"), [value])
        other = page.context.new_page()
        other.goto(link)
        expect(other.get_by_label("Arms whose name contains")).to_have_value("co")
        plays = {line["arm"]: line["all_plays"] for line in drinks["lines"] if "co" in line["arm"]}
        expect(other.locator("th .name").first).to_be_visible()
        assert names_in_sight(other) == sorted(plays, key=plays.__getitem__)


def test_the_arm_with_the_smallest_share_says_why_at_once(drinks: dict[str, Any], visiting: Visiting) -> None:
    least = min((line for line in drinks["lines"] if not line["retired"]), key=lambda line: line["share"])
    with visiting() as seen:
        page = seen.open("drinks")
        expect(page.locator(".because")).to_have_count(1)
        expect(page.locator(".because")).to_contain_text(least["reason"])


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
    furthest = max(line["owed"] for line in bounds if line["kind"] == "group")
    with visiting() as seen:
        page = seen.open("grouped")
        tile = page.locator(".tiles > div", has_text="Furthest behind, in plays")
        assert_shows(tile.locator("dd").first.inner_text(), [max(0.0, furthest)])
        for arm, said in (
            ("tea", "at most 50.0%, in hot"),
            ("coffee", "in hot, sweet"),
            ("cocoa", "in sweet"),
            ("water", "no promise"),
        ):
            expect(overview(page, arm)).to_contain_text(said)
        rows = page.get_by_role("table", name="Overview of the groups", exact=True).locator("tr.arm")
        expect(rows).to_have_count(2)
        for row, line in zip(rows.all(), bounds, strict=False):
            expect(row.get_by_role("rowheader")).to_have_text(f"{line['name']} 2 arms")
            assert_shows(row.locator(".received strong").inner_text(), [100.0 * line["share"]])
            expect(row.locator(".received .promise")).to_have_count(1)
            expect(row.locator(".received .limit")).to_have_count(int(line["name"] == "sweet"))
        [(end, _)] = numbers(page.locator(".key-got").inner_text().partition("bars: 0 to")[2])
        drawn = [*zip(rows.all(), bounds[:2], strict=True)]
        drawn += [(overview(page, line["arm"]), line) for line in audit(server, "grouped")["lines"]]
        for row, line in drawn:  # groups and arms are on one scale
            width = row.locator("rect.got").get_attribute("width") or ""
            assert float(width.removesuffix("%")) == pytest.approx(1e4 * line["share"] / end)
        page.get_by_role("button", name="Why: hot").click()
        expect(page.get_by_text("any of them can play for it. They are tea, coffee")).to_be_visible()
        page.get_by_text("All figures of groups, caps and segments").click()
        settings = page.get_by_role("region", name="Settings", exact=True)
        expect(settings.get_by_text("groups", exact=True)).to_have_count(0)
        table = page.get_by_role("table", name="Groups, caps and segments", exact=True)
        expect(table.locator("tbody tr")).to_have_count(len(bounds))
        for line, shown in zip(bounds, table.locator("tbody tr").all(), strict=True):
            expect(shown.get_by_role("rowheader")).to_have_text(line["name"])
            behind = max(line["owed"], line["excess"] if line["excess"] is not None else -math.inf)
            kept = shown.locator('[data-field="state"]').get_by_text("kept", exact=True)
            expect(kept).to_have_count(int(behind <= 1.0))
            for field in ("at_least", "at_most", "since", "rounds", "plays", "share", "owed", "excess"):
                nothing = field in ("at_least", "owed") and line["at_least"] == 0.0  # is promised, so none is owed
                value = line[field] * (100.0 if field in BOUND_PERCENT else 1.0) if line[field] is not None else None
                value = None if nothing else value
                assert_shows(shown.locator(f'[data-field="{field}"]').inner_text(), [value])


def test_a_retired_arm_of_a_group_has_had_rounds(server: Server, visiting: Visiting) -> None:
    parameters = {"groups": [{"name": "east", "arms": ["tea", "coffee"], "at_least": 0.25}]}
    make(server, "left", ["tea", "coffee", "cocoa"], algorithm="group_ucb", parameters=parameters)
    decide(server, "left", 30)
    change(server, "left", "retire", arm="tea")
    with visiting() as seen:
        page = seen.open("left")
        rows = page.get_by_role("table", name="Overview of the groups", exact=True).locator("tr.arm")
        expect(rows.get_by_role("rowheader")).to_have_text("east 1 arm and 1 retired")
        expect(overview(page, "tea")).to_contain_text("no round since it was retired")


def test_the_most_urgent_arm_is_first(server: Server, visiting: Visiting) -> None:
    make(server, "pots", ["tea", "coffee", "cocoa"], {"coffee": 0.1, "cocoa": 0.3})
    decide(server, "pots", 20)
    decide(server, "pots", 40, ["tea", "coffee"])
    change(server, "pots", "add", arm="water")
    change(server, "pots", "retire", arm="tea")
    with visiting() as seen:
        page = seen.open("pots")
        assert names_in_sight(page) == ["cocoa", "coffee", "water", "tea"]
        page.get_by_label("Order").select_option("As given")
        assert names_in_sight(page) == ["tea", "coffee", "cocoa", "water"]


def test_one_arm(server: Server, visiting: Visiting) -> None:
    make(server, "one", ["tea"], {"tea": 0.5})
    reward(server, "one", decide(server, "one", 1))
    with visiting() as seen:
        page = seen.open("one")
        assert_shows_line(page, audit(server, "one")["lines"][0])
        expect(overview(page, "tea")).to_contain_text("kept")
        expect(page.get_by_text("more than one play behind")).to_be_visible()


def test_every_promise_that_an_arm_had(drinks: dict[str, Any], visiting: Visiting) -> None:
    lines = [line for line in drinks["ledger"] if line["name"] == "coffee"]
    assert [line["share"] for line in lines] == [0.2, 0.25]
    with visiting() as seen:
        page = seen.open("drinks")
        page.get_by_role("button", name="Why: coffee").click()
        rows = page.get_by_role("region", name="Promises so far, table").locator("tbody tr")
        expect(rows).to_have_count(2)
        for line, shown, rounds in zip(lines, rows.all(), ("1–60", "61–now"), strict=True):
            cells = shown.locator("td").all_inner_texts()
            assert cells[:2] == [rounds, f"{100 * line['share']:.1f}%"]
            assert_shows(cells[2], [line["plays"]])
            assert_shows(cells[3], [line["owed"]])
            assert cells[9] == ("ended: more milk" if line["until"] else "more milk")


def test_an_arm_is_compared_with_another_one(server: Server, visiting: Visiting) -> None:
    make(server, "compared", ["tea", "<b>coffee</b>"], {"tea": 0.1, "<b>coffee</b>": 0.3})
    decided = decide(server, "compared", 300)
    rewards = [
        {"decision": one["id"], "rewards": {arm["arm"]: float(arm["arm"] == "tea") for arm in one["arms"]}}
        for one in decided
    ]
    assert server.post("/v1/allocations/compared/rewards", {"rewards": rewards}).status_code == 200
    with visiting() as seen:
        page = seen.open("compared")
        page.get_by_role("button", name="Why: tea").click()
        choice = page.get_by_label("Compare its mean reward with that of")
        expect(choice.locator("option")).to_have_text(["choose an arm", "<b>coffee</b>"])
        choice.select_option("<b>coffee</b>")
        found = page.locator(".compare")
        expect(found).to_contain_text("Holds under premises")
        expect(found).to_contain_text("Tea earns more than <b>coffee</b>: ")
        expect(found).to_contain_text("if nothing common changed over time")
        answer = server.http.get("/v1/allocations/compared/differences", params={"control": "<b>coffee</b>"}).json()
        assert_shows(found.locator(".gap strong").inner_text(), [answer["differences"][0]["value"]])
        choice.select_option("")
        expect(found).not_to_contain_text("earns more")


def names_in_sight(page: Page) -> list[str]:
    return page.get_by_role("table", name="Overview of the arms", exact=True).locator("th .name").all_text_contents()


@pytest.mark.slow
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
            if turn in (0, 9):
                assert_shows_line(page, lines[names[-1]])
        expect(page.get_by_role("button", name="Next").first).to_be_disabled()
        assert names == arms, "all are kept, so they stay in their order"
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
        assert names_in_sight(page)[:2] == ["item 249", "item 0"]


def test_hostile_names(browser: Browser, server: Server) -> None:
    make(server, "hostile", HOSTILE, dict.fromkeys(HOSTILE, 0.05))
    decide(server, "hostile", 60, [name for name in HOSTILE if name != HOSTILE[0]])
    reward(server, "hostile", decide(server, "hostile", 50))
    with visit(browser, server.url) as seen:
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


def test_a_group_that_is_behind_and_a_cap_that_is_exceeded(server: Server, visiting: Visiting) -> None:
    parameters = {"groups": [{"name": "hot", "arms": ["tea"], "at_least": 0.5}], "caps": {"cocoa": 0.2}}
    make(server, "breached", ["tea", "cocoa"], algorithm="group_ucb", parameters=parameters)
    decide(server, "breached", 40, ["cocoa"])
    decide(server, "breached", 1)
    with visiting() as seen:
        page = seen.open("breached")
        verdict = "Both promises are missed; cocoa is 31.8 plays above its largest share of 20%."
        expect(page.locator(".verdict")).to_have_text(verdict)
        expect(overview(page, "cocoa")).to_contain_text("31.8 plays above its largest share")
        tile = page.locator(".tiles > div", has_text="Furthest behind, in plays")
        expect(tile).to_contain_text("19.50")
        expect(tile).to_contain_text("hot")
