"""``evenhand which``: an algorithm to start with."""

from __future__ import annotations

import sys
import textwrap
from typing import Annotated

import typer

from evenhand.cli.options import AsJson
from evenhand.cli.output import note, print_json
from evenhand.messages.answers import Question
from evenhand.messages.questions import QUESTIONS, REPORTED

ASKED = (*QUESTIONS, REPORTED)


def _help(name: str) -> str:
    """A question with what can be answered, from the table."""
    asked = next(one for one in ASKED if one.name == name)
    return f"{asked.text} " + "; ".join(f"{value}: {text}" for value, text in asked.options.items()) + "."


def which(
    promise: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("promise"))] = None,
    rewards: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("rewards"))] = None,
    means: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("means"))] = None,
    features: bool = False,  # each decision has features, such as who asks
    several: bool = False,  # several arms play per round, or arms are absent
    explainable: bool = False,  # decisions must follow from numbers, without draws
    reported: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("reported"))] = None,
    as_json: AsJson = False,
) -> None:
    """Recommend an algorithm for what is promised and how rewards come, and print the lines that start it.

    Without options the questions are asked. Answers can be piped, a line each, as numbers or words.

    Examples:
        evenhand which
        evenhand which --promise share --rewards dependent --explainable
        evenhand which --promise share --reported successes
        evenhand which --promise long_run --features
        evenhand which --promise none --json
    """
    options = {"promise": promise, "rewards": rewards, "means": means, "reported": reported}
    flags = {"features": features, "several": several, "explainable": explainable}
    given = {name: value for name, value in options.items() if value is not None}
    given |= {name: "yes" for name, flag in flags.items() if flag}
    if not given and not sys.stdin.isatty():  # without blank lines and those after its end
        given = {one.name: _answer(one, line) for one, line in zip(ASKED, sys.stdin, strict=False) if line.strip()}
    elif not given and not as_json:
        given = {one.name: _ask(one) for one in ASKED}
    assumed = {one.name: next(iter(one.options)) for one in ASKED if one.name not in given}
    _show({one.name: (given | assumed)[one.name] for one in ASKED}, assumed, as_json)


def _show(answers: dict[str, str], assumed: dict[str, str], as_json: bool) -> None:
    """Print what was assumed, what suits the answers, and how it is started."""
    from evenhand.algorithms.recommendation import check, command, of_parts, start, which

    way = answers.pop("reported")
    check(REPORTED, way)
    flags = {name: answers[name] == "yes" for name in ("features", "several", "explainable")}
    found = which(answers["promise"], answers["rewards"], answers["means"], **flags)
    if as_json:
        print_json([{**one.to_json(), "python": start(one, way), "command": command(one, way)} for one in found])
    elif assumed:
        print(textwrap.fill(f"Assumed: {', '.join(f'{name} {answer}' for name, answer in assumed.items())}.", 80))
    for one in () if as_json else found:
        print(textwrap.fill(str(one), 80))
        print(f"  {start(one, way)}\n  {command(one, way)}")
        print("" if of_parts(one) else f"  evenhand algorithms {one.algorithm}\n", end="")
    if found and way == "successes":
        note("the window is the time in seconds after which no success is expected: replace it by yours")
    if not found:
        _show_nearest(answers)


def _show_nearest(answers: dict[str, str]) -> None:
    """Print what suits most of the answers, and which ones it gives up."""
    from evenhand.algorithms.recommendation import nearest

    note("no published policy is made for all of this; the nearest, with what it gives up:")
    for other, one in nearest(answers):
        changed = " and ".join(f"{name} {answer} instead of {answers[name]}" for name, answer in other.items())
        note(f"  {changed}: {one.algorithm}")


def _ask(asked: Question) -> str:
    """The answer of a terminal."""
    print(asked.text)
    for place, meaning in enumerate(asked.options.values(), 1):
        print(f"  {place}  {meaning}")
    answer: str = typer.prompt("Number", default="1", value_proc=lambda typed: _answer(asked, typed))
    return answer


def _answer(asked: Question, typed: str) -> str:
    """The answer that a number from 1 on, or its own word, names."""
    options, typed = list(asked.options), typed.strip()
    if typed in options:
        return typed
    if not typed.isdecimal() or not 1 <= int(typed) <= len(options):
        raise typer.BadParameter(f"{asked.name} must be a number from 1 to {len(options)}, got {typed!r}")
    return options[int(typed) - 1]
