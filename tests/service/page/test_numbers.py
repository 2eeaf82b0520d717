"""The page shows the numbers of the service, in its tables and in its pictures."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.service.page.reading import (
    SECONDS,
    Visiting,
    assert_shows,
    assert_shows_line,
    audit,
    decide,
    make,
    numbers,
    options,
    reward,
)
from tests.service.running import Server


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
        assert late.locator("dd").all_inner_texts() == ["9", "received after the window"]
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


def test_may_we_stop_has_the_sentences_of_the_service(
    drinks: dict[str, Any], visiting: Visiting, server: Server
) -> None:
    answer = server.http.get("/v1/allocations/drinks/stopping").json()
    with visiting() as seen:
        section = seen.open("drinks").get_by_role("region", name="May we stop?")
        expect(section.locator("p")).to_have_text(answer["sentences"], use_inner_text=True)  # it is asked for by itself


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
        [(end, _)] = numbers(page.locator(".key-got").inner_text().partition("bars: 0 to")[2])
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
        order = page.get_by_role("table", name="Overview of the arms", exact=True).locator("th .name").all_inner_texts()
    lines = sorted(lines, key=lambda line: order.index(line["arm"]))
    largest = 100.0 * max(max(line["high_share"], line["promised"]) for line in lines)
    assert largest <= end <= 1.5 * largest
    scale = 1e4 / end
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


def test_who_gets_what_in_which_segment(visiting: Visiting, server: Server) -> None:
    body = {
        "name": "shop",
        "arms": ["tea", "coffee"],
        "algorithm": {"index": "lin_ts", "fairness": {"kind": "virtual_queue", "fractions": 0.1, "eta": "auto"}},
        "features": {"situation": {"country": {"kind": "category", "levels": ["DE", "FR"]}}},
        "segments": "country",
        "missing": "never",
        "seed": 1,
    }
    assert server.http.post("/v1/allocations", json=body).status_code == 201
    promise = {"change": "promise", "fractions": {"coffee": 0.4}, "segment": "DE"}
    assert server.http.post("/v1/allocations/shop/changes", json=promise).status_code == 200
    rounds = [{"features": {"country": "DE" if number % 3 else "FR"}} for number in range(90)]
    assert server.http.post("/v1/allocations/shop/decisions", json={"rounds": rounds}).status_code == 200
    answer = audit(server, "shop")
    with visiting() as seen:
        table = seen.open("shop").get_by_role("table", name="Shares of the arms by segment")
        for one in answer["segments"]:
            row = table.get_by_role("row").filter(has=table.page.get_by_role("rowheader", name=one["segment"]))
            expect(row.get_by_role("rowheader")).to_contain_text(f"{one['rounds']} round")
            for line, plays, promised in zip(answer["lines"], one["plays"], one["promised"], strict=True):
                cell = row.locator(f'[data-label="{line["arm"]}"]')
                if one["rounds"]:
                    expect(cell).to_contain_text(f"{100 * plays / one['rounds']:.3g}"[:4].rstrip("."))
                assert (f"of {100 * promised:.1f}%" in cell.inner_text()) == (promised > 0)
        arms = table.page.get_by_role("table", name="Overview of the arms")
        expect(arms.get_by_role("row").filter(has_text="coffee").first).to_contain_text(
            "promised\u00a0in\u00a0segments"
        )
        arms.page.get_by_role("button", name="Why: coffee").click()
        expect(arms).to_contain_text("40.0% in DE")
    assert [one["promised"] for one in answer["segments"]] == [[0.0, 0.4], [0.0, 0.0], [0.0, 0.0]]
