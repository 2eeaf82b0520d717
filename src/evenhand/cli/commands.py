"""The commands of ``evenhand``: where each is, and what it does in a line. A command is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, cast

import typer

from evenhand.cli.help import App, Group
from evenhand.core.errors import ConfigurationError

STUDY, USE, PROVE = "Study policies", "Use a policy", "Evaluate logs and verify events"
#: The commands under their headings, and what each does in a line.
COMMANDS: dict[str, dict[str, str]] = {
    STUDY: {
        "algorithms": "List the algorithms by promise, or show one: equation, promise, parameters, citation and BibTeX",
        "which": "Recommend an algorithm for what is promised and how rewards come, and print the lines that start it",
        "kinds": "List the kinds of parts that a configuration can name, with their parameters",
        "check": "Validate a configuration or a study and report whether its promises can be kept, without running it",
        "simulate": "Run a simulation, report which policies kept their promises, and write results and figures",
        "sweep": "Run a study: a configuration, of which some values vary. `evenhand sweep STUDY.toml` runs it",
        "table": "Print a table of results at the horizon as Markdown, LaTeX or CSV",
        "figure": "Draw one figure of the results of a simulation",
        "reproduce": "Reproduce the papers' experiments, with a report of the figures and a verdict on every claim",
        "glossary": "Explain a word that commands, pages and errors use, or list all of them",
    },
    USE: {
        "serve": "Run the HTTP service, with decisions, rewards and audits for programs, and a web page",
        "demo": "Serve three allocations with live traffic, and open the page that shows them",
        "keys": "Create, roll, list and revoke the API keys of the service",
        "client": "Send requests to a running service: decide, reward, audit, change",
        "db": "Maintain the database of the service",
    },
    PROVE: {
        "evaluate": "Estimate from a log what other policies would earn per round, and by how much they differ",
        "report": "Write a report on an allocation or a log to hand on: one HTML page that loads nothing and "
        "prints well",
        "price": "Estimate what a promised share would cost per round, in the long run and while a policy learns",
        "export": "Write the log of an allocation to a file for `evenhand evaluate`, with one row per play",
        "verify": "Replay the events of allocations, and compare the result with the stored state; read-only",
    },
}
LINES = {name: line for lines in COMMANDS.values() for name, line in lines.items()}
#: Where a command is, if not under its own name in a module of `evenhand.cli` that is called like it.
HOMES = {
    "check": "simulate:check",
    "sweep": "sweep:app",
    "demo": "serve:demo",
    "keys": "keys:app",
    "client": "client:app",
    "db": "store:db",
    "export": "store:export",
    "verify": "store:verify",
}


@cache
def loaded(name: str) -> Any:
    """A command or a group of commands, with what it imports."""
    module, _, attribute = HOMES.get(name, f"{name}:{name}").partition(":")
    found = getattr(import_module(f"evenhand.cli.{module}"), attribute)
    alone = App("")
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
        return vars(typer.main.get_command(alone))["commands"][name]
    alone.command(name)(found)
    return typer.main.get_command(alone)


class Loading(Mapping[str, Any]):
    """The commands by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in LINES:
            raise KeyError(name)
        return loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(LINES)

    def __len__(self) -> int:
        return len(LINES)


class Commands(Group):
    """All commands; the help of the whole reads the table alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("dict[str, Any]", Loading())

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command; for one that is an option of another, where it is."""
        if args[:1] == ["replay"]:
            raise ConfigurationError(
                "there is no command 'replay'; `evenhand evaluate LOG --algorithm NAME` replays a log"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their lines, under their headings."""
        for heading, lines in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl(list(lines.items()))
