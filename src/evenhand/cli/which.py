"""``evenhand which``: an algorithm to start with."""

from __future__ import annotations

import sys
import textwrap
from typing import Annotated, Any

import typer

from evenhand.cli.options import AsJson
from evenhand.cli.output import note, print_json
from evenhand.messages.questions import QUESTIONS


def _help(name: str) -> str:
    """A question with what can be answered, from the table."""
    asked = next(one for one in QUESTIONS if one.name == name)
    return f"{asked.text} " + "; ".join(f"{value}: {text}" for value, text in asked.options.items()) + "."


def which(
    promise: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("promise"))] = None,
    rewards: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("rewards"))] = None,
    means: Annotated[str | None, typer.Option(metavar="ANSWER", help=_help("means"))] = None,
    several: Annotated[
        bool, typer.Option("--several", help="Several arms play per round, or arms are absent.")
    ] = False,
    explainable: Annotated[
        bool, typer.Option("--explainable", help="Decisions must follow from numbers, without draws.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recommend an algorithm for what is promised and how rewards come; without options a terminal is asked.

    Examples:
        evenhand which
        evenhand which --promise share --rewards dependent --explainable
        evenhand which --promise none --json
    """
    from evenhand.algorithms.recommendation import command, start
    from evenhand.algorithms.recommendation import which as recommended

    options = {"promise": promise, "rewards": rewards, "means": means}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    flags: dict[str, Any] = {"several": several, "explainable": explainable}
    if not given and not any(flags.values()) and sys.stdin.isatty() and not as_json:
        answers = {one.name: _ask(one.text, list(one.options.items())) for one in QUESTIONS}
        flags = {name: answers.pop(name) == "yes" for name in flags}
        given = answers
    found = recommended(**given, **flags)
    if as_json:
        print_json([{**one.to_json(), "python": start(one), "command": command(one)} for one in found])
    for one in () if as_json else found:
        print(textwrap.fill(str(one), 80))
        print(f"  {start(one)}\n  {command(one)}\n  evenhand algorithms {one.algorithm}")
    if not found:
        note("no published policy is made for all of this; give up one of the answers (`evenhand which --help`)")


def _ask(text: str, options: list[tuple[str, str]]) -> str:
    """The answer to a question, chosen by its number."""
    print(text)
    for place, (_, meaning) in enumerate(options, 1):
        print(f"  {place}  {meaning}")
    chosen: int = typer.prompt("Number", default="1", value_proc=lambda typed: _number(typed, len(options)))
    return options[chosen - 1][0]


def _number(typed: str, most: int) -> int:
    """A number from 1 to ``most``."""
    if not typed.strip().isdecimal() or not 1 <= int(typed) <= most:
        raise typer.BadParameter(f"must be a number from 1 to {most}, got {typed!r}")
    return int(typed)
