"""What is said of promises, in one and in many."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.numbers import percent
from evenhand.judgement.judge import Judgement, Verdict, judge
from evenhand.judgement.keeping import Keeping
from evenhand.judgement.sentences import (
    Case,
    about,
    counted,
    deed,
    forecast,
    of_all,
    resting,
    sentence,
    tally,
)


def said(keeping: Keeping, plays: float, *, due: float = 1000.0, cap: bool = False) -> str:
    return sentence(
        Case("tea", due / 10_000, judge(keeping, np.array([due]), np.array([plays]), 10_000, cap=cap)[0], cap)
    )


def test_counts() -> None:
    count = Keeping("count", "eta = 5", allowance=lambda rounds: 30.0)
    assert said(count, 999.5) == "tea has the 10% that it was promised"
    assert said(count, 992.0) == (
        "tea is 8 plays behind the 10% that it was promised, which is no more than 1% of what is due"
    )
    assert said(count, 975.0) == (
        "tea is 25 plays behind the 10% that it was promised, as eta = 5 allows; from about round 30,000 on that is "
        "less than 1% of what is due"
    )
    assert said(count, 960.0) == "tea is 40 plays behind the 10% that it was promised"
    assert said(count, 1040.0, cap=True) == "tea is 40 plays above its largest share of 10%"


def test_chance() -> None:
    assert said(Keeping("chance"), 990.0) == (
        "tea is between 40.5 plays ahead and 58.8 behind the 10% that it was promised, so it is undecided "
        "whether that is kept; it would not be decided within ten times the rounds so far"
    )
    assert said(Keeping("chance"), 970.0).endswith("kept; about 61,000 rounds or 7 lanes would decide")
    assert said(Keeping("chance"), 1030.0, cap=True).startswith(
        "tea is between 19.6 plays below and 81.4 above its largest share of 10%,"
    )


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((1, 0, 0), "The promise is kept"),
        ((2, 0, 0), "Both promises are kept"),
        ((0, 3, 0), "All 3 promises are missed"),
        ((0, 0, 1), "It is undecided whether the promise is kept"),
        ((0, 0, 3), "It is undecided whether all three promises are kept"),
        ((1, 0, 2), "1 of 3 promises is kept and 2 are undecided"),
        ((2, 1, 0), "2 of 3 promises are kept and 1 is missed"),
        ((2, 0, 0, 1), "2 promises are kept, 1 has not been due more than a play"),
        ((1, 2, 0, 2), "1 promise is kept, 2 are missed, 2 have not been due more than a play"),
    ],
)
def test_all_promises(counts: tuple[int, ...], text: str) -> None:
    assert of_all(*counts) == text


def cases(*judgements: Judgement) -> list[Case]:
    return [Case(name, 0.1, one) for name, one in zip(("tea", "2", "milk", "mate", "rum"), judgements, strict=False)]


def made(verdict: Verdict, behind: float, lanes: int | None = None) -> Judgement:
    return Judgement(verdict, behind, behind - 1.0, behind + 1.0, 10.0, 0.0, "", None, lanes)


def test_the_deeds_of_a_policy() -> None:
    kept, open_now = made("kept", 0.0), made("undecided", 9.0, lanes=93)
    missed = [made("missed", behind) for behind in (12.0, 40.0, 20.0, 30.0, 15.0)]
    assert deed(cases(kept, kept)) == "kept both promises"
    assert deed(cases(open_now)) == "may have kept its promise (1 undecided; about 93 lanes would decide)"
    assert deed(cases(kept, open_now)) == "kept 1 of 2 promises (1 undecided; about 93 lanes would decide)"
    assert deed(cases(missed[0], kept, open_now), "share by merit") == (
        "left tea short by 12 plays (1 of 3 shares by merit kept, 1 undecided; about 93 lanes would decide)"
    )
    assert deed(cases(*missed)) == (
        "left arm 2 short by 40 plays, mate by 30, milk by 20 and 2 more arms by up to 15 (0 of 5 promises kept)"
    )
    assert deed([Case("tea", 0.1, missed[0], cap=True)]) == "let tea exceed its largest share by 12 plays"


def test_a_numbered_arm_does_not_run_into_its_plays() -> None:
    assert sentence(Case("2", 0.1, made("missed", 12.0))).startswith("arm 2 is 12 plays behind")
    within = Case("2", 0.1, made("missed", 12.0), segment="FR")
    assert sentence(within).startswith("arm 2 in the segment FR is 12 plays behind")
    assert (within.to_json()["to"], within.to_json()["segment"]) == ("2", "FR")


def test_the_rule_of_a_policy_is_named() -> None:
    allowed = Judgement("undecided", 25.0, 25.0, 25.0, 10.0, 30.0, "eta = 5", 30_000, None)
    assert deed(cases(allowed)) == "is behind with tea by 25 plays, as eta = 5 allows"
    assert deed(cases(made("missed", 40.0), allowed, made("kept", 0.0))) == (
        "left tea short by 40 plays and is behind with arm 2 by 25 plays, as eta = 5 allows (1 of 3 promises kept)"
    )


def test_tallies_add_up() -> None:
    found = judge(Keeping("price"), np.array([10.0, 10.0]), np.array([10.0, 0.0]), 100)
    assert tally([found, found]) == (2, 2, 0)


def test_numbers_in_sentences() -> None:
    assert [percent(share) for share in (0.2, 1 / 3, 0.00012)] == ["20%", "33.3%", "0.012%"]
    assert [counted(plays) for plays in (1.0, 1.5, 12345.6)] == ["1 play", "1.5 plays", "12,346 plays"]
    assert [about(rounds) for rounds in (15_100, 8, 99.5)] == ["16,000", "8", "100"]


def test_what_an_allowance_forecasts_and_what_waits_for_the_next_promise() -> None:
    assert forecast(Judgement("undecided", 60.0, 60.0, 60.0, 4.0, 60.0, "eta = 5", 15_100, None), 1000) == (
        "up to 60 plays may be missing after 1,000 rounds, as eta = 5 allows; from about round 16,000 on that is less "
        "than 1% of what is due"
    )
    assert resting([]) == ""
    assert resting([("tea", 5.0)]) == "tea is owed 5 plays, which wait for its next promise"
    assert resting([("tea", 5.0), ("mate", 2.0)]) == (
        "2 arms are owed plays, which wait for their next promises; tea is owed 5 plays"
    )
