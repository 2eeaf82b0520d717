"""What an evaluation says, in lines: the command prints them around its tables, and `print` all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from evenhand.bandit.evaluation.estimators import ESTIMATORS
from evenhand.bandit.evaluation.followed import LOGGED
from evenhand.bandit.evaluation.grade import ANSWERS, Grade
from evenhand.core.errors import number_of
from evenhand.core.intervals import Interval
from evenhand.judgement.differences import sentence
from evenhand.messages.words import Words

Evaluation: TypeAlias = Any  # that of `evaluation`, which imports this file
ASKED, WARNING = "Can this log answer?", "warning:"


def answered(grades: Mapping[str, Grade]) -> tuple[tuple[str, str], ...]:
    """The worst answer with its sentence, and the grade with each reason."""
    worst = max(grades.values(), key=lambda one: ANSWERS.index(one.answer))
    head = worst.sentence if len(grades) == 1 else f"{worst.answer.capitalize()}."
    reasons = {reason: grade.answer for grade in grades.values() for reason in grade.reasons}
    return ((worst.answer, head), *((answer, reason) for reason, answer in reasons.items()))


def size_of(found: Evaluation) -> str:
    """How much was judged."""
    plays = f", {found.rows:,} plays" if found.rows > found.rounds else ""
    return f"{number_of(found.rounds, 'round')}{plays}, {number_of(len(found.items), 'item')}"


def measured(found: Evaluation) -> str:
    """What is estimated: of rounds of several plays, the reward of one of them."""
    return f"reward per {per(found)}" + (found.unit and f", {found.unit}")


def per(found: Evaluation) -> str:
    """Of what the reward is."""
    return "play" if found.rows > found.rounds else "round"


def claim(found: Evaluation) -> str:
    """By what it was estimated, and what is claimed of the intervals."""
    known: list[Interval] = [estimate.interval for estimate in found.estimates.values()]
    premises = next((one.premises for one in known if one.claim != "not_claimed"), None)
    refused = dict.fromkeys(why for one in known if one.claim == "not_claimed" for why in one.premises)
    said = ["the intervals hold if " + ", ".join(premises)] if premises else []
    more = [one for one in refused if not any(one in grade.reasons for grade in found.grades.values())]
    why = ": " + "; ".join(more) if more else ", as the warnings say"
    return "; ".join([ESTIMATORS[found.estimator][1], *said, *([f"no interval is claimed{why}"] if refused else [])])


def lines(found: Evaluation) -> Iterator[str]:
    """All of it."""
    yield size_of(found)
    for place, (_, text) in enumerate(answered(found.grades)):
        yield f"{WARNING if place else ASKED} {text}"
    for name, one in {LOGGED: found.logged, **found.estimates}.items():
        low, high, sure = one.interval.low, one.interval.high, f"({100.0 * one.interval.confidence:.4g}%)"
        ends = f", between {low:.3g} and {high:.3g} {sure}" if math.isfinite(high - low) else ""
        value = Words(found.unit).amount(f"{one.value:.4g}") if math.isfinite(one.value) else "unknown"
        yield f"{name}: {value}" + f" per {per(found)}" * (value != "unknown") + ends
    yield from (sentence(one, Words(found.unit)) for one in found.differences)
    yield claim(found)
    yield from found.notes
