"""The commands of ``evenhand``: where each is, and what it does in a line. A command is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer

from evenhand.cli.help import App, Group
from evenhand.core.errors import ConfigurationError


class Entry(NamedTuple):
    """A command."""

    home: str  # module of `evenhand.cli` and the name in it
    help: str


STUDY, USE, PROVE = "Study policies", "Use a policy", "Evaluate logs and verify events"
COMMANDS: dict[str, dict[str, Entry]] = {
    STUDY: {
        "algorithms": Entry(
            "algorithms:algorithms",
            "List the algorithms by promise, or show one: equation, promise, parameters, citation and BibTeX",
        ),
        "which": Entry(
            "which:which",
            "Recommend an algorithm for what is promised and how rewards come, and print the lines that start it",
        ),
        "kinds": Entry("kinds:kinds", "List the kinds of parts that a configuration can name, with their parameters"),
        "check": Entry(
            "simulate:check",
            "Validate a configuration or a study and report whether its promises can be kept, without running it",
        ),
        "simulate": Entry(
            "simulate:simulate",
            "Run a simulation, report which policies kept their promises, and write results and figures",
        ),
        "sweep": Entry(
            "sweep:app", "Run a study: a configuration, of which some values vary. `evenhand sweep STUDY.toml` runs it"
        ),
        "table": Entry("table:table", "Print a table of results at the horizon as Markdown, LaTeX or CSV"),
        "figure": Entry("figure:figure", "Draw one figure of the results of a simulation"),
        "reproduce": Entry(
            "reproduce:reproduce",
            "Reproduce the papers' experiments, with a report of the figures and a verdict on every claim",
        ),
        "glossary": Entry(
            "glossary:glossary",
            "Explain a word that commands, pages and errors use, or list all of them",
        ),
    },
    USE: {
        "serve": Entry(
            "serve:serve", "Run the HTTP service, with decisions, rewards and audits for programs, and a web page"
        ),
        "demo": Entry("demo:demo", "Serve three allocations with live traffic, and open the page that shows them"),
        "keys": Entry("keys:app", "Create, roll, list and revoke the API keys of the service"),
        "client": Entry("leases:client", "Send requests to a running service: decide, reward, audit, change"),
        "db": Entry("store:db", "Maintain the database of the service"),
    },
    PROVE: {
        "evaluate": Entry(
            "evaluate:evaluate",
            "Estimate from a log what other policies would earn per round, and by how much they differ",
        ),
        "report": Entry(
            "report:report",
            "Write a report on an allocation or a log to hand on: one HTML page that loads nothing and prints well",
        ),
        "price": Entry(
            "price:price",
            "Estimate what a promised share would cost per round, in the long run and while a policy learns",
        ),
        "export": Entry(
            "store:export",
            "Write the log of an allocation to a file for `evenhand evaluate`, with one row per play",
        ),
        "verify": Entry(
            "store:verify",
            "Replay the events of allocations, and compare the result with the stored state; read-only",
        ),
    },
}
ENTRIES = {name: entry for entries in COMMANDS.values() for name, entry in entries.items()}


@cache
def loaded(name: str) -> Any:
    """A command or a group of commands, with what it imports."""
    module, _, attribute = ENTRIES[name].home.partition(":")
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
        if name not in ENTRIES:
            raise KeyError(name)
        return loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)


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
        for heading, entries in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, entry.help) for name, entry in entries.items()])
