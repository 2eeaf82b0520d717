"""How commands describe themselves: groups, whole summaries, values in words, ``-h``.

What an argument or option means is the comment at the parameter, as with fields of records; it is read when it is asked
for.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from click import HelpFormatter

#: What Typer calls the values of options → what they are for people.
VALUES = {"int range": "N", "int": "N", "float range": "NUMBER", "float": "NUMBER"}
EXAMPLE = 72  # letters of a line of an example, besides its indent
RANGE = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


class App(typer.Typer):
    """A group of commands of the command line."""

    def __init__(self, text: str, group: type[TyperGroup] | None = None, **options: Any) -> None:
        super().__init__(
            cls=group or Group,
            help=text,
            no_args_is_help=True,
            rich_markup_mode=None,
            context_settings={"help_option_names": ["-h", "--help"]},
            **{"add_completion": False, **options},
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """A decorator that makes a command of a function; see Typer."""
        return super().command(name, cls=_Command, **options)


class _Command(TyperCommand):
    def __init__(self, name: str | None, *, help: str | None = None, **options: Any) -> None:
        text, label, examples = (help or "").partition("Examples:\n")
        apart = "\n\n".join(map(_example, examples.splitlines()))  # else they are one paragraph
        super().__init__(name, help=f"{text}{label}\n{apart}" if label else help, **options)
        for one in self.params:
            if one.param_type_name == "argument" and one.metavar is None:
                one.metavar = str(one.name).upper()
            if one.default is False:  # without --no-…
                one.secondary_opts = []

    def explain(self) -> None:
        """Describe the arguments and options that are described by comments, at them or at fields of records."""
        assert self.callback is not None
        function = inspect.unwrap(self.callback)
        known = getattr(function, "meanings", partial(comments, function))()
        for parameter in self.params:
            text = getattr(parameter, "help", None) or known.get(str(parameter.name))
            vars(parameter)["help"] = text and sentence(text)

    def shell_complete(self, ctx: typer.Context, incomplete: str) -> Any:  # type: ignore[override]
        self.explain()
        return super().shell_complete(ctx, incomplete)

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [re.sub(r"^\{(.*)\}(?=\.*$)", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        self.explain()
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                records[kind].append(_in_words(kind, *record))
        for kind, rows in records.items():
            if rows:
                with formatter.section(kind):
                    formatter.write_dl(rows)


class Group(TyperGroup):
    """A group of commands with summaries under headings."""

    def format_options(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write the options and the commands."""
        rows = [record for one in self.get_params(ctx) if (record := one.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl([_in_words("Options", *row) for row in rows])
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Write the commands with their summaries, under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                heading = getattr(command, "rich_help_panel", None) or "Commands"
                sections.setdefault(str(heading), []).append((name, _summary(command.help or "")))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def comments(function: Callable[..., Any]) -> dict[str, str]:
    """What the parameters of a function mean: the comment beside each, or where that is too long those above."""
    found: dict[str, str] = {}
    above: list[str] = []
    try:
        lines = inspect.getsource(function).splitlines()
    except OSError:  # installed without sources
        return {}
    for line in map(str.strip, lines):
        if line.startswith(")"):
            break
        if line.startswith("# "):
            above.append(line.removeprefix("# "))
        elif parameter := re.match(r"(\w+): ", line):
            found[parameter[1]] = line.partition(",  # ")[2] or " ".join(above)
            above = []
    return found


def sentence(text: str) -> str:
    """A text with a capital and a stop."""
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _example(line: str) -> str:
    """A line of a shell as a paragraph that stays as it is, continued as a shell does, so that it can be pasted."""
    lines = [""]
    for word in re.findall(r"""(?:--[\w-]+ (?!-))?(?:[^\s"']|"[^"]*"|'[^']*')+""", line):  # an option with its value
        if lines[-1] and len(lines[-1]) + len(word) > EXAMPLE:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\b\n  " + " \\\n      ".join(lines)


def _in_words(kind: str, name: str, text: str) -> tuple[str, str]:
    """A row of the help with the values as people call them."""
    if kind == "Arguments":
        name = re.sub(r" <[^>]*>$", "", name)
    name = re.sub(r"<([a-z|]*\|[a-z|]*)>", r"\1", name)
    name = re.sub(r"--([a-z-]+) <(?:list\[)?(?:str|path)\]?>", lambda found: f"--{found[1]} {found[1].upper()}", name)
    name = re.sub(r"<(?:list\[)?([A-Za-z ]+)\]?>", lambda found: VALUES.get(found[1].lower(), found[1].upper()), name)
    return name, re.sub(r"\[(.*?)\]$", lambda found: f"[{_range_in_words(found[1])}]", text)


def _range_in_words(text: str) -> str:
    between = re.search(r"(\S+?)<=x<=(\S+)", text)
    if between:
        return text.replace(between[0], f"from {between[1]} to {between[2]}")
    return re.sub(r"\bx(>=|>|<=|<)", lambda found: f"{RANGE[found[1]]} ", text)


def _summary(text: str) -> str:
    """The first paragraph in one line, without its stop."""
    return " ".join(text.partition("\n\n")[0].split()).removesuffix(".")
