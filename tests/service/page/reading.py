"""What tests of the page do with the service, and what they read off the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.service.browsing import Visit
from tests.service.running import Server

Visiting = Callable[..., AbstractContextManager[Visit]]
Serving = Callable[..., Server]

PHONE = {"width": 390, "height": 844}
#: Fields of a line whose shown figures are that many times as large.
PERCENT = dict.fromkeys(("promised", "share", "low_share", "high_share", "available"), 100.0)
BOUND_PERCENT = ("at_least", "at_most", "share")
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"quotes\" & 'apostrophes' &lt;b&gt;",
    "\u202etxet desrever",
    "مرحبا بالعالم",
    "🍵🫖👨‍👩‍👧‍👦",
    "x" * 200,
    "{a|rich} ${text} %s",
    "two\nlines",
    "__proto__",
    "constructor",
]


# --- what tests do with the service -----------------------------------------------------------------------------------


def address(page: Page) -> str:
    """The page's address as the page has it; ``page.url`` learns of a change a little later."""
    text: str = page.evaluate("location.href")
    return text


def make(server: Server, name: str, arms: list[str], fractions: dict[str, float] | None = None, **more: Any) -> None:
    body = {
        "name": name,
        "arms": arms,
        "missing": "never",
        "algorithm": "fucb",
        "parameters": {"fractions": fractions or {}},
    } | more
    answer = server.post("/v1/allocations", body)
    assert answer.status_code == 201, answer.text


def decide(server: Server, name: str, count: int, available: list[str] | None = None) -> list[dict[str, Any]]:
    body = {"count": count} if available is None else {"rounds": [{"available": available}] * count}
    answer = server.post(f"/v1/allocations/{name}/decisions", body)
    assert answer.status_code == 200, answer.text
    decisions: list[dict[str, Any]] = answer.json()["decisions"]
    return decisions


def reward(server: Server, name: str, decisions: list[dict[str, Any]]) -> list[str]:
    """Rewards of 1 and 0 in turn; the status of each."""
    rewards = [
        {"decision": one["id"], "rewards": {arm["arm"]: float(place % 2) for arm in one["arms"]}}
        for place, one in enumerate(decisions)
    ]
    answer = server.post(f"/v1/allocations/{name}/rewards", {"rewards": rewards})
    assert answer.status_code == 200, answer.text
    return [one["status"] for one in answer.json()["results"]]


def change(server: Server, name: str, change: str, **what: Any) -> None:
    answer = server.http.post(f"/v1/allocations/{name}/changes", json={"change": change, **what})
    assert answer.status_code == 200, answer.text


def audit(server: Server, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = server.http.get(f"/v1/allocations/{name}/audit").json()
    return answer


# --- what tests read off the page -------------------------------------------------------------------------------------


def overview(page: Page, arm: str) -> Locator:
    """The row of an arm in the overview."""
    table = page.get_by_role("table", name="Overview of the arms", exact=True)
    return table.locator("tr.arm").filter(has=page.get_by_role("rowheader").get_by_text(arm, exact=True))


def row(page: Page, arm: str) -> Locator:
    """The row of an arm in the table of all figures, which is opened if it is not."""
    table = page.get_by_role("table", name="All figures of the arms", exact=True)
    if not table.is_visible():
        page.get_by_text("All figures of these arms").click()
    return table.get_by_role("row").filter(has=page.get_by_role("rowheader").get_by_text(arm, exact=True))


def cell(page: Page, arm: str, field: str) -> Locator:
    return row(page, arm).locator(f'[data-field="{field}"]')


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers in a text, each with half a unit of its last digit; an en dash only parts them."""
    matches = re.findall(r"−?\d[\d,]*(?:\.\d+)?", text)
    plain = [one.replace("−", "-").replace(",", "") for one in matches]
    return [(float(one), 0.5 * 10.0 ** -len(one.partition(".")[2])) for one in plain]


def assert_shows(text: str, values: list[float | None]) -> None:
    """The text has these values, each as exactly as its digits say; a dash where there are none."""
    if None in values:
        assert text == "–", (text, values)
        return
    shown = numbers(text)
    assert len(shown) == len(values), (text, values)
    for (number, half), value in zip(shown, values, strict=True):
        assert value is not None
        assert abs(number - value) <= half * (1.0 + 1e-9), (text, values)


def assert_shows_line(page: Page, line: dict[str, Any]) -> None:
    in_sentences = {
        "learned_plays",
        "learned_mean",
        "counted",
        "changes",
        "reason",
        "catch_up_seconds",
        "verdict",
        "standing",
    }
    fields_shown = {"arm", "retired", "trusted"} | in_sentences
    expect(row(page, line["arm"])).to_be_visible()
    cells = row(page, line["arm"]).locator("[data-field]")
    for shown, text in cells.evaluate_all("nodes => nodes.map((node) => [node.dataset.field, node.innerText])"):
        fields = shown.split()
        values = [None if line[name] is None else line[name] * PERCENT.get(name, 1.0) for name in fields]
        assert_shows(text, values)
        assert ("%" in text) == (fields[0] in PERCENT and None not in values), text
        fields_shown |= set(fields)
    assert fields_shown == set(line), "every figure of the audit has its place in the table"
    assert (row(page, line["arm"]).get_by_text("retired").count() == 1) == line["retired"]
    distrusted = overview(page, line["arm"]).get_by_text("not to be trusted")
    assert (distrusted.count() == 0) == line["trusted"]


def options(chart: Locator) -> dict[str, Any]:
    """What a chart draws."""
    drawn: dict[str, Any] = chart.evaluate("node => echarts.getInstanceByDom(node).getOption()")
    return drawn


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider
