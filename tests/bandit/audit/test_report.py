"""The report on an allocation: complete, in the allocation's words, and without anything to load or to run."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evenhand.bandit import Bandit
from evenhand.bandit.audit.report import SHOWN, report, reported
from evenhand.core.errors import DataError
from evenhand.features import Features, Number
from evenhand.messages import audit_text
from tests.service.page.reading import HOSTILE

VOID = ("meta", "br", "img")


class Page(HTMLParser):
    """The elements of a page, which must be closed in order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text, self.attributes = "", ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += repr(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def lived(arms: list[str], rounds: int = 60, **options: object) -> Bandit:
    """A bandit of which every second arm is promised a part, with a reward of each round but every fifth."""
    fractions = dict.fromkeys(arms[::2], 0.5 / len(arms))
    settings = {"fractions": fractions, "window": 10.0, "missing": "zero", "seed": 1} | options
    bandit = Bandit(arms, "fucb", **settings)  # type: ignore[arg-type]
    for round in range(rounds):
        decision = bandit.decide(now=float(round))
        if round % 5:
            bandit.observe(decision.id, {decision.names[0]: 1.0}, now=float(round))
    return bandit


def section(text: str, heading: str) -> str:
    """What stands under a heading."""
    parts = re.split(r"<h2>(.*?)</h2>", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[heading]


def test_whatever_names_are_it_runs_nothing_and_loads_nothing() -> None:
    words = {"unit": "<b>€</b>", "round_name": "<i>visits", "arm_name": "a & b"}
    bandit = lived(HOSTILE, words=words)
    bandit.promise({HOSTILE[0]: 0.1}, reason="<script>because</script> of \u202e this", now=100.0)
    made = replace(bandit.audit(now=100.0), name="x", sequence=7, checksum="<c>")
    page = Page(report(made))
    assert not page.tags & {"script", "img", "link", "iframe", "object", "b", "i", "c"}
    assert not re.search(r"\bon\w+'|href|src|url\(", page.attributes)
    assert "\u202e" not in page.text
    for name in HOSTILE:
        assert audit_text.plain(name)[:200] in page.text
    assert "<script>because</script> of \\u202e this" in page.text


def test_every_promise_has_its_verdict_and_every_change_its_reason() -> None:
    bandit = lived(["tea", "coffee", "mate"], words={"unit": "€", "round_name": "visitors", "arm_name": "drinks"})
    bandit.promise({"tea": 0.4}, reason="the supplier pays", now=60.0)
    bandit.retire("mate", reason="out of stock", now=61.0)
    bandit.rename("coffee", "an arm", now=61.5)
    made = bandit.audit(now=62.0)
    page = report(made)
    kept = section(page, "What was promised, and what was kept")
    assert [line.arm for line in made.lines if line.verdict] == ["tea"]
    assert re.search(r'<tr><td>tea</td><td class="n">40%</td>.*<td class="t">kept</td></tr>', kept)
    assert "Promises that have ended" in kept
    assert re.search(r"<td>mate</td><td class=\"n\">0.1667</td>", kept)
    assert "ended: out of stock" in kept
    assert "60 visitors, 3 drinks" in page
    assert made.verdict in Page(page).text
    assert audit_text.cost(made.cost, made.words)[1:] in Page(page).text
    changed = section(page, "What was changed, with which key, and why")
    assert "the drink an arm received this name" in changed
    assert changed.index("out of stock") < changed.index("the supplier pays")
    assert not re.search(r"\barms?\b|\brounds?\b", Page(page).text.replace("an arm", ""))


def test_keys_have_their_names_and_the_checksum_its_command() -> None:
    made = lived(["tea", "coffee"]).audit(now=60.0)
    bandit = lived(["tea", "coffee"])
    bandit.promise({"tea": 0.4}, now=60.0)
    (change,) = bandit.audit(now=60.0).changes_made
    by = replace(made, changes_made=(replace(change, key="k1"),), authors={"k1": "Ann's key"})
    assert "Ann&#x27;s key" in section(report(by), "What was changed, with which key, and why")
    assert "is in no database" in section(report(made), "How to verify this report")
    stored = report(replace(made, name="drinks", sequence=1234, checksum="ab12"))
    assert "event 1,234, whose checksum is ab12" in stored
    assert "<code>evenhand verify drinks --checksum ab12</code>" in stored


def test_before_the_first_round_and_without_a_promise() -> None:
    for bandit in (Bandit(["a", "b"], "fucb", fractions={"a": 0.2}), Bandit(["a", "b"], "ucb1")):
        text = Page(report(bandit.audit(now=1.0))).text
        assert "Nothing has been decided yet." in text
        assert "No arm and no promise was changed." in text
    assert "No cost is stated" in text
    assert "Nothing is promised, or no promise has begun." in text
    assert "No reward of a single play is known." in text
    assert "The intervals hold" not in text


def test_what_is_missing_is_counted_as_the_audit_has_it() -> None:
    bandit = lived(["tea", "coffee"])
    made = bandit.audit(now=60.0)
    lost, pending = (sum(getattr(line, name) for line in made.lines) for name in ("lost", "pending"))
    text = section(report(made), "Late and missing rewards")
    assert lost > 0 < pending
    assert f"Of 60 plays, the rewards of 48 were received in time; {pending} can still arrive; {lost} were mis" in text
    assert "Rewards are between 0 and 1; what has not arrived after 10 s counts as 0." in text
    assert "not reported (0)" in text
    assert "whatever the rewards are that are pending or late; what has not arrived after 10 s counts" in report(made)
    other = report(lived(["tea", "coffee"], missing="lost", rewards=(0.0, 5.0), words={"unit": "€"}).audit(now=60.0))
    assert (
        "Rewards are between 0 and 5 €; what has not arrived after 10 s is lost, and counts for no estimate." in other
    )
    assert ">lost<" in other
    assert "pending, lost or late; what has not arrived after 10 s is lost" in other
    totals = Bandit(["a", "b"], "ars_ucb")
    totals.decide(now=1.0)
    totals.observe_total(1.0)
    assert "totals that name no arm" in report(totals.audit(now=1.0))


def test_many_arms_make_a_page_of_bounded_size_with_the_missed_ones_first() -> None:
    arms = [f"arm {place}" for place in range(2 * SHOWN + 100)]
    made = lived(arms, rounds=800).audit(now=800.0)
    late = replace(made.lines[-2], verdict="missed", standing="9 plays behind")
    page = report(replace(made, lines=(*made.lines[:-2], late, made.lines[-1])))
    kept = section(page, "What was promised, and what was kept")
    assert kept.index(late.arm) < kept.index("<table>") < kept.index("9 plays behind")
    assert "And 50 more." in kept
    assert len(page) < 300_000


def test_where_arms_cannot_be_compared_no_best_one_is_named() -> None:
    arms = [f"arm {place}" for place in range(8)]
    bandit = Bandit(arms, {"index": "lin_ucb"}, features=Features({"age": Number(0, 100)}), seed=1)
    for round in range(40):
        decision = bandit.decide({"age": round}, now=float(round))
        bandit.observe(decision.id, {decision.names[0]: 1.0}, now=float(round))
    page = report(*reported(bandit._record, bandit.audit(now=40.0)))
    assert "All 28 differences hold at once; shown are the first 20." in page


def test_groups_have_their_arms_and_differences_what_they_count_as_the_worst() -> None:
    groups = [{"name": "hot", "arms": ["tea", "coffee"], "at_least": 0.3}]
    words = {"unit": "€", "arm_name": "drinks"}
    bandit = Bandit(["tea", "coffee", "mate"], "group_ucb", groups=groups, seed=1, words=words)
    for round in range(60):
        decision = bandit.decide(now=float(round))
        if round % 7:
            bandit.observe(decision.id, {decision.names[0]: float(decision.names[0] != "tea")}, now=float(round))
    bandit.retire("tea", now=60.0)
    page = report(
        replace(bandit.audit(now=61.0), name="drinks"), bandit.stopping(now=61.0), bandit.differences(now=61.0)
    )
    kept = section(page, "What was promised, and what was kept")
    assert '<td class="t">tea (retired), coffee</td>' in kept
    sure = Page(section(page, "How sure this is, and what it rests on")).text
    assert "difference, €" in sure
    assert re.search(r"\d rewards that are not known in time count as the worst, unless one assumes 'lost ind", sure)
    assert 'evenhand client differences drinks --assume "lost independently"' in sure


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    bandit = lived(["tea", "coffee"])
    bandit.save_report(tmp_path / "report.html", now=60.0)
    text = Page((tmp_path / "report.html").read_text()).text
    assert all(one in text for one in bandit.stopping(now=60.0).sentences)
    (found,) = bandit.differences(now=60.0)
    assert re.search(f"tea less coffee\\s*{found.value:.3g}", text)
    assert "nothing common changed over time" in text
    assert "unless one assumes 'the window is over'" in text
    with pytest.raises(DataError, match=r"the report could not be written to .*nowhere"):
        bandit.save_report(tmp_path / "nowhere" / "report.html")
