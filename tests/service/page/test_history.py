"""Shares and rewards over time on the page, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.service.page.reading import Visiting, address, assert_shows, audit, decide, make, options, reward
from tests.service.running import Server

DAYS = 40  # of the history, with a mark every six hours
MARKS = 4 * DAYS
NAMES = ["tea", "coffee"]


def history(now: datetime) -> dict[str, Any]:
    """Ten rounds per mark; coffee gets one of them before the middle, and four after it."""
    coffee = [mark + 1 if mark < MARKS // 2 else 4 * (mark + 1) - 3 * MARKS // 2 for mark in range(MARKS)]
    plays = [[10 * (mark + 1) - coffee[mark] for mark in range(MARKS)], coffee]
    return {
        "rounds": [10 * (mark + 1) for mark in range(MARKS)],
        "times": [(now - timedelta(hours=6 * (MARKS - 1 - mark))).isoformat() for mark in range(MARKS)],
        "arms": NAMES,
        "plays": plays,
        "known": plays,
        "rewards": [[0.25 * one for one in plays[0]], [0.5 * one for one in plays[1]]],
    }


def between(past: dict[str, Any], low: int, high: int) -> list[tuple[float, ...]]:
    """Per arm its plays, its share and its mean reward after the mark `low`, up to the mark `high`."""
    grown = {name: [one[high] - (one[low] if low >= 0 else 0) for one in past[name]] for name in ("plays", "rewards")}
    rounds = past["rounds"][high] - (past["rounds"][low] if low >= 0 else 0)
    return [(p, 100.0 * p / rounds, r / p) for p, r in zip(grown["plays"], grown["rewards"], strict=True)]


@contextmanager
def weeks(server: Server, visiting: Visiting) -> Iterator[tuple[Page, dict[str, Any]]]:
    """The page of an allocation whose audit says that weeks have passed."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    past = history(now)
    text = "the promise to <b>coffee</b> was raised"
    made = [{"time": past["times"][MARKS // 2], "round": past["rounds"][MARKS // 2], "text": text}]

    def answer(route: Route) -> None:
        given = route.fetch()
        body = given.json() if given.status == 200 else {}
        route.fulfill(response=given, body=json.dumps(body | {"history": past, "changes_made": made}))

    if server.http.get("/v1/allocations/weeks").status_code == 404:
        make(server, "weeks", NAMES, {"coffee": 0.1})
    with visiting() as seen:
        seen.page.route("**/audit*", answer)
        yield seen.open("weeks"), past


def assert_table(region: Locator, values: list[tuple[float, ...]]) -> None:
    rows = region.get_by_role("table", name="Arms in this range").locator("tbody tr")
    expect(rows).to_have_count(len(values))
    for shown, (plays, share, mean) in zip(rows.all(), values, strict=True):
        cells = shown.locator("td").all_inner_texts()
        assert_shows(cells[0], [plays])
        assert_shows(cells[1], [share])
        assert_shows(cells[3], [mean])


@pytest.fixture
def course(server: Server, visiting: Visiting) -> Iterator[tuple[Page, Locator, dict[str, Any]]]:
    with weeks(server, visiting) as (page, past):
        yield page, page.get_by_role("region", name="Over time", exact=True), past


def test_ranges(course: tuple[Page, Locator, dict[str, Any]]) -> None:
    page, region, past = course
    assert_table(region, between(past, -1, MARKS - 1))
    expect(region.locator(".changes")).to_have_text(
        re.compile("after round 810: the promise to <b>coffee</b> was raised")
    )
    region.get_by_role("button", name="7 days").click()
    expect(region).to_contain_text("280 rounds")
    assert_table(region, between(past, MARKS - 1 - 28, MARKS - 1))
    expect(region).to_contain_text("None in this range; 1 change in all.")
    assert address(page).endswith("#/allocations/weeks?range=7d")
    page.reload()
    expect(region.get_by_role("button", name="7 days")).to_have_attribute("aria-pressed", "true")
    expect(region).to_contain_text("280 rounds")


def test_what_is_drawn(course: tuple[Page, Locator, dict[str, Any]]) -> None:
    """Every point is the share in its part of the time; together the parts are the whole."""
    _, region, past = course
    shares = options(region.locator(".chart").first)
    times = [datetime.fromisoformat(time).timestamp() * 1000.0 for time in past["times"]]
    for place in range(len(NAMES)):
        points = shares["series"][place]["data"]
        assert 20 <= len(points) <= 41
        for at, share in points[1:-1]:  # well within a half all parts are alike
            if abs(at - times[MARKS // 2]) > 3 * 86_400_000.0:
                coffee = 0.1 if at < times[MARKS // 2] else 0.4
                assert share == pytest.approx(coffee if place else 1.0 - coffee)
    marked = shares["series"][-1]["markLine"]["data"]
    assert [one["xAxis"] for one in marked] == [pytest.approx(times[MARKS // 2], abs=1.0)]
    region.get_by_label("tea").uncheck()
    expect(region.get_by_role("img").first).to_have_attribute("aria-label", re.compile("1 line"))
    assert [series["name"] for series in options(region.locator(".chart").first)["series"][:-1]] == ["coffee"]


def test_a_range_is_dragged_or_typed(course: tuple[Page, Locator, dict[str, Any]]) -> None:
    page, region, _ = course
    chart = region.locator(".chart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 80.0)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 90.0, steps=4)
    page.mouse.up()
    expect(region.get_by_role("button", name="From – to")).to_have_attribute("aria-pressed", "true")
    low, high = (int(one) for one in re.findall(r"(?:from|to)=(\d+)", address(page)))
    assert 0.15 * DAYS < (high - low) / 86400.0 < 0.3 * DAYS
    region.get_by_label("From", exact=True).fill("2020-01-01T00:00")
    region.get_by_label("To", exact=True).fill("2020-02-01T00:00")
    expect(region).to_contain_text("No round was decided in this range.")
    region.get_by_role("button", name="All").click()
    expect(region).to_contain_text(f"{10 * MARKS:,} rounds")


def test_many_arms_show_those_furthest_behind_beside_those_with_the_most_plays(
    server: Server, visiting: Visiting
) -> None:
    """300 arms, each with a promise that 40 rounds cannot keep: the page draws five of 200, two of them far behind."""
    names = [f"arm {place}" for place in range(300)]
    make(server, "crowd", names, dict.fromkeys(names, 0.003))
    decide(server, "crowd", 40, names[:3])
    said = audit(server, "crowd")
    assert len(said["history"]["arms"]) == 200
    with visiting() as seen:
        page = seen.open("crowd")
        region = page.get_by_role("region", name="Over time", exact=True)
        expect(region).to_contain_text("Of 300 arms, the 200 with the most plays and furthest behind can be chosen.")
        expect(region.get_by_role("checkbox", checked=True)).to_have_count(5)
        drawn = {series["name"] for series in options(region.locator(".chart").first)["series"][:-1]}
        assert {"arm 0", "arm 1", "arm 2"} < drawn  # all that have played
        assert drawn - {"arm 0", "arm 1", "arm 2"} <= {line["arm"] for line in said["lines"] if line["deficit"] > 0.1}


def test_mean_rewards_wait_for_the_zeros_of_their_rounds(server: Server, visiting: Visiting) -> None:
    """Half of the plays succeed, at once; while the windows of the last rounds are open, only successes are known."""
    make(server, "sold", ["tea", "coffee"], {"tea": 0.5}, missing="zero", window=3600.0)
    reward(server, "sold", decide(server, "sold", 8)[:4])
    begin, counts = datetime.now(UTC) - timedelta(hours=40), [1000 * (hour + 1) for hour in range(40)]
    past: dict[str, Any] = {
        "rounds": counts,
        "times": [(begin + timedelta(hours=hour)).isoformat() for hour in range(40)],
        "arms": ["tea", "coffee"],
        "plays": [counts, [0] * 40],
        "known": [[*counts[:-1], 39_500], [0] * 40],
        "rewards": [[500 * (hour + 1) for hour in range(40)], [0] * 40],
    }

    def answer(route: Route) -> None:
        given = route.fetch()
        body = given.json() if given.status == 200 else {}
        route.fulfill(response=given, body=json.dumps(body | {"history": past, "time": past["times"][-1]}))

    with visiting() as seen:
        seen.page.route("**/audit*", answer)
        region = seen.open("sold").get_by_role("region", name="Over time", exact=True)
        expect(region).to_contain_text("later rounds would show only the rewards that arrived")
        means = [mean for _, mean in options(region.locator(".chart").last)["series"][0]["data"]]
        assert len(means) > 10
        assert set(means) == {0.5}
        [cells] = [one.locator("td").all_inner_texts() for one in region.locator(".in-range tbody tr").all()[:1]]
        assert_shows(cells[3], [0.5])


def test_groups_are_lines(server: Server, visiting: Visiting) -> None:
    """A group's line is the sum of its arms, and is drawn before single arms, whose name it may have."""
    groups = [{"name": "tea", "arms": ["tea", "coffee"], "at_least": 0.5}]
    make(server, "lines", ["tea", "coffee", "cocoa"], algorithm="group_ucb", parameters={"groups": groups})
    reward(server, "lines", decide(server, "lines", 60))
    lines = {line["arm"]: line for line in audit(server, "lines")["lines"]}
    plays = [lines[arm]["all_plays"] for arm in ("tea", "coffee")]
    means = [lines[arm]["estimate"] or 0.0 for arm in ("tea", "coffee")]
    with visiting() as seen:
        region = seen.open("lines").get_by_role("region", name="Over time", exact=True)
        first = region.get_by_role("table", name="Arms in this range").locator("tbody tr").first
        expect(first).to_contain_text("tea group")
        cells = first.locator("td").all_inner_texts()
        mean = sum(count * mean for count, mean in zip(plays, means, strict=True)) / sum(plays)
        for text, value in zip(cells, (sum(plays), 100.0 * sum(plays) / 60, 50.0, mean), strict=True):
            assert_shows(text, [value])
        drawn = options(region.locator(".chart").first)["series"]
        assert sorted(one["name"] for one in drawn if one.get("name", "").isalpha()) == [
            "cocoa",
            "coffee",
            "tea",
            "tea",
        ]


@pytest.mark.slow
def test_two_hundred_lines_have_looks_of_their_own(server: Server, visiting: Visiting) -> None:
    """The first 24 by colour alone, all by colour and dash; in both themes each stands out against the page."""
    for scheme in ("light", "dark"):
        with visiting(color_scheme=scheme) as seen:
            page = seen.open()
            looks = page.evaluate(
                "import('./assets/looks.js').then(({ lookOf }) => [...Array(200).keys()].map((at) => lookOf(at)))"
            )
            colours = [tuple(int(one["color"][at : at + 2], 16) for at in (1, 3, 5)) for one in looks]
            assert len(set(colours[:24])) == 24
            assert len({(colour, one["type"]) for colour, one in zip(colours, looks, strict=True)}) == 200
            ground = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--card').trim()")
            back = tuple(int(ground[at : at + 2], 16) for at in (1, 3, 5))
            assert min(contrast(colour, back) for colour in colours) >= 3.0


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """As WCAG 2 defines it."""

    def light(colour: tuple[int, ...]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_line_keeps_its_colour_in_every_chart(server: Server, visiting: Visiting) -> None:
    arms = [f"arm {place}" for place in range(12)]
    make(server, "tones", arms, dict.fromkeys(arms[6:], 0.05))
    reward(server, "tones", decide(server, "tones", 80))
    with visiting() as seen:
        page = seen.open("tones")
        page.get_by_role("region", name="Over time", exact=True).get_by_text("All 12 lines").click()
        for box in page.locator(".in-range input").all():
            box.set_checked(True)
        page.get_by_text("Show it over time").click()
        charts = [options(chart)["series"] for chart in page.locator(".chart").all()[:3]]
        found: dict[str, set[str]] = {}
        for series in charts:
            for one in series:
                if one.get("name", "").startswith("arm"):
                    found.setdefault(one["name"], set()).add(one["lineStyle"]["color"])
        assert len(found) == 12
        assert all(len(colours) == 1 for colours in found.values()), "the same in all charts"
        assert len(set.union(*found.values())) == 12
