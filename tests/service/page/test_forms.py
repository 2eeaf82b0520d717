"""The fields of merit, of groups and of caps on the page, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.service.page.reading import HOSTILE, PHONE, Visiting, audit, make, overflow
from tests.service.running import Server


def begin(page: Page, name: str, arms: list[str], promise: str) -> Locator:
    """The form for a new allocation, with its name, its arms and what is promised; the preview."""
    page.get_by_role("link", name="New allocation").click()
    page.get_by_label("Name of the allocation").fill(name)
    for place, arm in enumerate(arms, 1):
        if place > 2:
            page.get_by_role("button", name="Add an arm").click()
        page.get_by_label(f"Arm {place}", exact=True).fill(arm)
    page.get_by_label(promise).check()
    expect(page.get_by_label("Algorithm").locator("option:checked")).to_have_count(1)  # asked for by themselves
    return page.locator(".preview")


def described(server: Server, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = server.http.get(f"/v1/allocations/{name}").json()
    return answer


def says(field: Locator, text: str) -> None:
    """The field is marked as wrong, and described by the text."""
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(text)


#: Of each kind of merit: what is typed, and what is stored.
MERITS: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("power", {"beta": "3,5", "exponent": ""}, {"beta": 3.5}),
    ("linear", {"slope": "2"}, {"slope": 2.0}),
    ("softmax", {"temperature": "0.5"}, {"temperature": 0.5}),
    ("threshold", {"at": "0.4", "above": "3"}, {"at": 0.4, "above": 3.0}),
    ("table", {"means": "0, 0.5, 1", "merits": "[1 2 4]"}, {"means": [0, 0.5, 1], "merits": [1, 2, 4]}),
]


@pytest.mark.slow
def test_merit_is_a_kind_with_fields_of_its_own(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open()
        said = begin(page, "deserved", ["tea", "coffee"], "Shares in proportion to the merit")
        kind = page.get_by_role("combobox", name="merit")
        expect(kind.locator("option:checked")).to_have_text("linear: f(μ) = a + b μ")
        expect(kind.locator("option")).to_have_count(len(MERITS))
        assert kind.evaluate("select => [...select.options].map(({ value }) => value)") == [one for one, _, _ in MERITS]
        expect(kind).to_have_accessible_description("f, a positive function of the mean reward.")
        for name, typed, _ in MERITS:
            kind.select_option(name)
            for field, text in typed.items():
                page.get_by_role("textbox", name=field, exact=True).fill(text)
            expect(said).to_have_text("Possible ")
        kind.select_option("linear")
        page.get_by_role("textbox", name="slope").fill("steep")
        says(page.get_by_role("textbox", name="slope"), "Must be a number, got 'steep'. b, of either sign.")
        page.get_by_role("textbox", name="slope").fill("-2")
        wrong = "A linear merit must be positive for every mean in [0, 1], its smallest value is -1."
        says(kind, f"{wrong} f, a positive function of the mean reward.")
        expect(said).to_contain_text("Not possible merit: a linear merit must be positive")
        page.get_by_role("textbox", name="slope").fill("2")
        expect(kind).to_have_attribute("aria-invalid", "false")


@pytest.mark.parametrize(
    ("kind", "typed", "stored"),
    [pytest.param(*one, id=one[0], marks=() if one[0] in ("power", "table") else pytest.mark.slow) for one in MERITS],
)
def test_a_merit_is_created(
    server: Server, visiting: Visiting, kind: str, typed: dict[str, str], stored: dict[str, Any]
) -> None:
    with visiting() as seen:
        page = seen.open()
        begin(page, f"by-{kind}", ["tea", "coffee"], "Shares in proportion to the merit")
        page.get_by_role("combobox", name="merit").select_option(kind)
        for field, text in typed.items():
            page.get_by_role("textbox", name=field, exact=True).fill(text)
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name=f"by-{kind}")).to_be_visible()
        assert described(server, f"by-{kind}")["parameters"]["merit"] == {"kind": kind, **stored}
        page.get_by_role("link", name="Change arms and promises").click()
        expect(page.get_by_text("The shares follow the merit of the arms")).to_be_visible()


def test_groups_and_caps_are_created(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open()
        said = begin(page, "hall", ["jazz", "choir <b>", "rock"], "Shares for groups of arms")
        most, promised = page.get_by_label("At most, %", exact=True), page.get_by_label("Promised, %")
        promised.nth(0).fill("30")
        most.nth(0).fill("20")
        says(most.nth(0), "Must not be below the promised share.")
        expect(said).to_contain_text("The largest share of an arm is below its promised one.")
        most.nth(0).fill("50")
        page.get_by_role("button", name="Add a group").click()
        group = page.get_by_role("group", name="Group 1", exact=True)
        expect(group.get_by_text("Still needed: a name, an arm, a share.")).to_be_visible()
        page.get_by_role("button", name="Create the allocation").click()
        name = group.get_by_label("Name of group 1")
        expect(name).to_be_focused()
        expect(name).to_have_attribute("aria-invalid", "true")
        assert server.http.get("/v1/allocations/hall").status_code == 404
        name.fill("soft")
        group.get_by_label("jazz").check()
        group.get_by_label("choir <b>").check()
        group.get_by_label("At least, per cent, group 1").fill("60")
        expect(group.get_by_text("Still needed")).to_have_count(0)
        expect(said).to_contain_text("Promised to single arms: 30% of the rounds.")
        expect(said).to_contain_text("Can be kept Groups and caps: soft at least 60.0%, jazz at most 50.0%.")
        group.get_by_label("At most, per cent, group 1").fill("50")
        expect(group.locator(".fault")).to_contain_text(
            "at least 0.6 and at most 0.5; at_least must not exceed at_most"
        )
        group.get_by_label("At most, per cent, group 1").fill("90")
        page.get_by_role("button", name="Add a group").click()
        loud = page.get_by_role("group", name="Group 2", exact=True)
        loud.get_by_label("Name of group 2").fill("loud")
        loud.get_by_label("rock").check()
        loud.get_by_label("At least, per cent, group 2").fill("45")
        expect(said).to_contain_text("Cannot be kept the group 'soft' at least 0.6 and the group 'loud' at least 0.45")
        loud.get_by_label("At least, per cent, group 2").fill("12.5")
        group.get_by_label("At least, per cent, group 1").fill("45")
        page.get_by_role("button", name="Remove arm 2").click()  # it leaves its group, too
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name="hall")).to_be_visible()
        bounds = {one["name"]: one for one in audit(server, "hall")["bounds"]}
        assert {name: one["arms"] for name, one in bounds.items()} == {
            "soft": ["jazz"],
            "loud": ["rock"],
            "jazz": ["jazz"],
        }
        assert [(one["at_least"], one["at_most"]) for one in bounds.values()] == [
            (0.45, 0.9),
            (0.125, None),
            (0.3, 0.5),
        ]


@pytest.mark.slow
def test_several_arms_per_round_have_larger_shares_of_groups(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open()
        said = begin(page, "pairs", ["tea", "coffee", "mate"], "Shares for groups of arms")
        page.get_by_role("button", name="Add a group").click()
        group = page.get_by_role("group", name="Group 1", exact=True)
        group.get_by_label("Name of group 1").fill("hot")
        group.get_by_label("tea").check()
        group.get_by_label("coffee").check()
        group.get_by_label("At least, per cent, group 1").fill("150")
        expect(group.get_by_text("Shares are numbers from 0 to 100.")).to_be_visible()
        page.get_by_label("Arms per round").fill("2")
        expect(page.get_by_text("With 2 arms per round, shares go up to 200%.")).to_be_visible()
        expect(said).to_contain_text("hot at least 150.0%")
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1, name="pairs")).to_be_visible()
        assert audit(server, "pairs")["bounds"][0]["at_least"] == 1.5


@pytest.mark.slow
def test_groups_and_caps_are_changed(server: Server, visiting: Visiting) -> None:
    groups = [
        {"name": "soft", "arms": ["jazz", "choir"], "at_least": 0.4, "at_most": 0.8},
        {"name": "loud", "arms": ["rock"], "at_least": 0.1},
    ]
    parameters = {"groups": groups, "caps": {"jazz": 0.5}}
    make(server, "club", ["jazz", "choir", "rock", *HOSTILE[-2:]], algorithm="group_ucb", parameters=parameters)
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open("club")
        page.get_by_role("link", name="Change arms and promises").click()
        promises = page.get_by_role("region", name="Promises", exact=True)
        said = promises.locator(".preview")
        expect(page.get_by_label("At most for jazz, per cent")).to_have_value("50")
        expect(page.get_by_label("At least, per cent, soft")).to_have_value("40")
        page.get_by_label("At least, per cent, soft").fill("95")
        expect(promises.locator(".fault")).to_contain_text("at_least must not exceed at_most")
        page.get_by_label("At least, per cent, soft").fill("30")
        page.get_by_label("At most, per cent, soft").fill("")
        page.get_by_label("At most for jazz, per cent").fill("")
        page.get_by_label(f"At most for {HOSTILE[-1]}, per cent").fill("20")
        page.get_by_label(f"Promised to {HOSTILE[-2]}, per cent").fill("5")
        page.get_by_role("button", name="Remove loud").click()
        page.get_by_role("button", name="Add a group").click()
        page.get_by_label("Name of group 2").fill("new")
        page.get_by_role("group", name="Arms of group 2").get_by_label("rock").check()
        page.get_by_label("At most, per cent, group 2").fill("70")
        expect(said).to_contain_text("Can be kept From the next round on: soft at least 30.0%")
        expect(said).to_contain_text("new at most 70.0%")
        assert audit(server, "club")["version"] == 0
        page.get_by_role("button", name="Save the promises").click()
        expect(page.get_by_text("6 promises changed")).to_be_visible()
        bounds = {one["name"]: (one["at_least"], one["at_most"]) for one in audit(server, "club")["bounds"]}
        assert bounds == {"soft": (0.3, 1.0), "new": (0.0, 0.7), "constructor": (0.0, 0.2)}
        expect(page.get_by_label("At most, per cent, soft")).to_have_value("")
        adding = page.get_by_role("region", name="New arm")
        adding.get_by_label("Name").fill("folk")
        adding.get_by_label("At most, %").fill("25")
        expect(adding.get_by_role("status").first).to_contain_text("From the next round on: folk at most 25.0%.")
        adding.get_by_role("button", name="Add the arm").click()
        expect(page.get_by_role("button", name="Retire folk")).to_be_visible()
        arms = server.http.get("/v1/allocations/club/arms").json()["arms"]
        assert {one["arm"]: one["cap"] for one in arms} == {
            "jazz": 1.0,
            "choir": 1.0,
            "rock": 1.0,
            "__proto__": 1.0,
            "constructor": 0.2,
            "folk": 0.25,
        }


def test_an_arm_with_the_values_that_every_arm_has(server: Server, visiting: Visiting) -> None:
    parameters = {"fractions": {"tea": 0.2}, "penalties": [0.3, 0.2]}
    make(server, "penalised", ["tea", "coffee"], algorithm="hard_threshold_ucb", parameters=parameters)
    with visiting() as seen:
        page = seen.open("penalised")
        page.get_by_role("link", name="Change arms and promises").click()
        adding = page.get_by_role("region", name="New arm")
        expect(adding.get_by_label("At most, %")).to_have_count(0)
        adding.get_by_label("Name").fill("mate")
        adding.get_by_label("Penalty of a missing play").fill("0,5")
        adding.get_by_role("button", name="Add the arm").click()
        expect(page.get_by_role("button", name="Retire mate")).to_be_visible()
        assert described(server, "penalised")["parameters"]["penalties"] == [0.3, 0.2, 0.5]


@pytest.mark.slow
def test_the_form_of_groups_fits_a_phone(server: Server, visiting: Visiting) -> None:
    arms = [f"concert {place}" for place in range(20)]
    groups = [{"name": "x" * 60, "arms": arms[:7], "at_least": 0.3}]
    make(server, "season", arms, algorithm="group_ts", parameters={"groups": groups})
    with visiting(viewport=PHONE, has_touch=True) as seen:
        page = seen.open("season")
        page.get_by_role("link", name="Change arms and promises").click()
        expect(page.get_by_label(f"At least, per cent, {'x' * 60}")).to_be_visible()
        page.get_by_role("button", name="Add a group").click()
        assert overflow(page) == 0
        page = seen.open()
        begin(page, "phone", ["tea", "coffee"], "Shares for groups of arms")
        page.get_by_role("button", name="Add a group").click()
        assert overflow(page) == 0


def test_the_form_asks_the_questions_of_the_table_and_takes_what_it_recommends(
    server: Server, visiting: Visiting
) -> None:
    table = server.http.get("/v1/algorithms").json()

    def recommended(**answers: str) -> list[str]:
        suits = [one for one in table["recommendations"] if all(answers[key] in one["when"][key] for key in answers)]
        return [one["algorithm"] for one in suits[:2]]

    with visiting() as seen:
        page = seen.open()
        begin(page, "advised", ["tea", "coffee"], "A minimum share of the rounds for some arms")
        chosen, shown = page.get_by_label("Algorithm").locator("option:checked"), page.locator(".advice strong")
        assert recommended(promise="share", rewards="late", means="fixed") == ["f_ts", "fucb"]
        expect(shown).to_have_text(["f_ts", "fucb"])
        page.get_by_role("button", name="Use fucb").click()
        expect(chosen).to_have_attribute("value", "fucb")
        page.get_by_label("When do rewards come?").select_option("dependent")
        expect(chosen).to_have_attribute("value", "f_ts")
        page.get_by_label("Must every decision follow").select_option("yes")
        expect(chosen).to_have_attribute("value", "fucb")
        page.get_by_label("Promised, %").first.fill("20")
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("advised")
        made = described(server, "advised")
        assert (made["algorithm"], made["parameters"]["evidence"]) == ("fucb", "optimistic")


def test_the_form_says_where_nothing_is_made_for_the_answers(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open()
        begin(page, "none", ["tea", "coffee"], "Shares in proportion to the merit")
        expect(page.get_by_label("How is it kept?")).to_have_count(0)
        page.get_by_label("When do rewards come?").select_option("sums")
        expect(page.get_by_text("No published policy is made for all of this")).to_be_visible()
        page.get_by_label("A minimum share of the rounds for some arms").check()
        page.get_by_label("When do rewards come?").select_option("late")
        page.get_by_label("How is it kept?").select_option("price")
        chosen = page.get_by_label("Algorithm").locator("option:checked")
        expect(chosen).to_have_attribute("value", "hard_threshold_ucb")
        page.get_by_label("Do the arms' mean rewards change?").select_option("jump")
        page.get_by_label("How is it kept?").select_option("share")
        expect(chosen).to_have_attribute("value", "fair_glr")


# --- features and segments --------------------------------------------------------------------------------------------


def feature(page: Page, number: int, name: str, kind: str, of: str = "situation") -> Locator:
    """Another feature, with its name and kind; its fields."""
    page.get_by_role("button", name=f"Add a feature of the {of}").click()
    page.get_by_label(f"Name of feature {number}").fill(name)
    page.get_by_label(f"Kind of feature {number}").select_option(kind)
    return page.get_by_role("group", name=f"Feature {number},")


def test_features_and_segments_are_declared(server: Server, visiting: Visiting) -> None:
    with visiting() as seen:
        page = seen.open()
        said = begin(page, "gateway", ["small", "large"], "A minimum share of the rounds for some arms")
        levels = [f"level, or number {place}" for place in range(50)]
        feature(page, 1, "language", "category").get_by_role("textbox", name="levels").fill("\n".join(levels))
        feature(page, 2, "new", "flag")
        words = feature(page, 3, "words", "number")
        words.get_by_role("textbox", name="low").fill("0")
        words.get_by_role("textbox", name="high").fill("2000,5")
        feature(page, 4, "x" * 100, "vector", "arms").get_by_role("textbox", name="length").fill("3")
        page.get_by_label("Count rounds").select_option(label="words")
        page.get_by_label("Cuts").fill("100; 500")
        assert overflow(page) == 0
        page.get_by_label("Promised, %").first.fill("20")
        expect(said).to_contain_text("Can be kept")
        expect(page.locator(".advice strong")).to_have_text(["lin_ucb + deficit_first"])
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("gateway")
        made = described(server, "gateway")
        situation = made["features"]["situation"]
        assert situation["language"] == {"kind": "category", "levels": levels, "unknown": "other"}
        assert situation["new"] == {"kind": "flag"}
        assert situation["words"] == {"kind": "number", "low": 0.0, "high": 2000.5, "missing": None}
        assert made["features"]["arms"] == {"x" * 100: {"kind": "vector", "length": 3}}
        assert made["segments"] == {"feature": "words", "cuts": [100, 500]}
        assert made["algorithm"]["fairness"] == {"kind": "deficit_first"}
        assert made["parameters"] == {"fractions": [0.2, 0.0]}


@pytest.mark.slow
def test_faults_of_features_stand_at_their_fields(visiting: Visiting) -> None:
    with visiting() as seen:
        seen.pardoned.append("422")
        page = seen.open()
        begin(page, "faulty", ["small", "large"], "Nothing: the best arms get all")
        country = feature(page, 1, "Länge & Co.", "category").get_by_role("textbox", name="levels")
        country.fill("DE, DE")
        age = feature(page, 2, "age", "number")
        age.get_by_role("textbox", name="low").fill("5")
        age.get_by_role("textbox", name="high").fill("1")
        says(country, "Number 2 is 'DE' again; name each level once. the names; whole numbers are taken as names.")
        high = age.get_by_role("textbox", name="high")
        says(high, "Must be above low (5), by a finite number, got 1. what becomes 1; above low.")
        expect(age.get_by_role("textbox", name="low")).to_have_attribute("aria-invalid", "false")
        high.fill("90")
        country.fill("DE, FR")
        page.get_by_label("Count rounds").select_option(label="age")
        says(page.get_by_label("Cuts"), "Must be numbers with which segments begin, such as 18, 65.")
        page.get_by_label("Cuts").fill("30")
        expect(page.get_by_label("Cuts")).to_have_attribute("aria-invalid", "false")
        feature(page, 3, "age", "flag")
        says(page.get_by_label("Name of feature 3"), "Another feature has this name.")
        page.get_by_role("button", name="Create the allocation").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("New allocation")
        page.get_by_label("Name of feature 3").fill("<b>new</b>")
        expect(page.get_by_label("Name of feature 2")).to_have_attribute("aria-invalid", "false")
        assert overflow(page) == 0


def test_features_decide_what_is_recommended_and_can_be_chosen(visiting: Visiting) -> None:
    with visiting(viewport=PHONE) as seen:
        page = seen.open()
        begin(page, "wide", ["tea", "coffee"], "Nothing: the best arms get all")
        shown, algorithm = page.locator(".advice strong"), page.get_by_label("Algorithm")
        options = "select => [...select.options].map(({ value }) => value)"
        expect(shown).to_have_text(["thompson", "ucb1"])
        assert "lin_ts" not in algorithm.evaluate(options)
        feature(page, 1, "new", "flag")
        expect(shown.first).to_have_text("lin_ts")
        expect(algorithm).to_have_value("lin_ts")
        assert {"lin_ucb", "logistic_ts", "ucb1"} <= set(algorithm.evaluate(options))
        assert overflow(page) == 0
        page.get_by_role("button", name="Remove feature 1").click()
        expect(algorithm).to_have_value("thompson")
