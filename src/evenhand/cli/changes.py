"""``evenhand client change …``: the commands that make changes, each from its record."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import MISSING, Field, fields
from functools import cache
from inspect import Parameter
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer import Argument, Option

from evenhand.cli.help import App, Group
from evenhand.cli.options import Name, numbers, parameters, table
from evenhand.cli.requests import Answer, DryRun, IdempotencyKey, keywords, planned, request, signed
from evenhand.core.descriptions import texts
from evenhand.messages.changes import CHANGES, ChangeRecord, summary

if TYPE_CHECKING:
    from evenhand.client import Client

Version = Annotated[
    int | None, Option(min=0, help="Version that the allocation must have, so that no other change came between.")
]
EXAMPLES = {  # of each change, after the name of the command
    "add": ["drinks mate --fraction 0.1"],
    "retire": ['drinks cocoa --reason "out of stock"'],
    "bring_back": ["drinks cocoa --fraction 0.2"],
    "rename": ['drinks tea "green tea"'],
    "erase": ['people "Ann Smith"'],
    "promise": [
        "drinks --fraction coffee=0.1 --fraction mate=0.3",
        "drinks --fraction coffee=0.4 --cap coffee=0.5 --dry-run",
        "drinks --group \"hot={arms=['tea', 'coffee'], at_least=0.4}\"",
    ],
    "redeclare": ["drinks \"{situation={age={kind='number', low=0, high=120}}}\""],
    "reword": ["films --unit € --round-name visitors --arm-name films"],
    "close": ["drinks"],
    "reopen": ["drinks"],
}
TABLES = ("features", "arm_features")  # fields that are tables, written as in a configuration


def _field(one: Field[Any], hint: Any) -> Parameter:
    """The argument or option for a field of a change, by its type and its limits."""
    limits: dict[str, Any] = {}
    while get_origin(hint) in (Annotated, Union, UnionType):
        for limit in getattr(hint, "__metadata__", ()):
            limits |= {name: getattr(limit, key) for name, key in (("min", "ge"), ("max", "le")) if hasattr(limit, key)}
        hint = get_args(hint)[0]
    if one.name in TABLES:
        hint = str
    if one.default is MISSING:
        argument = Annotated[hint, Argument(metavar=one.name.upper())]
        return Parameter(f"field_{one.name}", Parameter.KEYWORD_ONLY, annotation=argument)
    option, default = one.name, one.default
    if one.name in TABLES:
        limits, hint, default = {"metavar": "TABLE"}, str | None, None
    elif get_origin(hint) is Mapping:
        option, default = option.removesuffix("s"), None
        limits, hint = {"metavar": "NAME=TABLE" if one.name == "groups" else "ARM=SHARE"}, list[str] | None
    elif hint is str or isinstance(default, str):
        limits = {"metavar": "NAME" if option in ("debt", "segment") else option.upper()} | limits
        hint = hint if isinstance(default, str) else hint | None
    elif default is None:
        hint = hint | None
    annotation = Annotated[hint, Option(f"--{option.replace('_', '-')}", **limits)]
    return Parameter(f"field_{one.name}", Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def value_of(field: str, given: Any) -> Any:
    """The value of a field of a change, of what was given on the command line."""
    if field in TABLES and given is not None:
        return table(given, field.replace("_", " "), "features, such as { price = 9.9 }")
    if field == "groups" and given is not None:
        tables = parameters(given, "--group", "NAME=TABLE", "hot={at_least=0.2}")
        return {label: None if table == "null" else table for label, table in tables.items()} or None
    if isinstance(given, list):
        return numbers(f"--{field.removesuffix('s')}", "ARM=SHARE", "coffee=0.1", given) or None
    return given


@cache
def _commands() -> dict[str, Any]:
    """The commands that make changes, by name."""
    group = App("")
    for name, record in CHANGES.items():
        _command(group, name, record)
    return dict(vars(typer.main.get_command(group))["commands"])


def _command(group: App, name: str, record: type[ChangeRecord]) -> None:
    """Add the command that makes a change to a group."""

    def command(
        client: Client, name: str, version: int | None, dry_run: bool, again: str | None, **given: Any
    ) -> Answer:
        values = {key.removeprefix("field_"): value for key, value in given.items()}
        made = record(**{key: value_of(key, value) for key, value in values.items()})
        if dry_run:
            return planned(client.plan(name, made, version=version))
        done = client.change(name, made, version=version, idempotency_key=again)
        where = f"version {done.version}, from round {done.round + 1} on"
        text = f"changed: {where}" if done.changed else f"nothing changed, version {done.version}"
        return Answer(done.to_json(), lambda: print(text))

    hints = get_type_hints(record, include_extras=True)
    own = [_field(one, hints[one.name]) for one in fields(record) if one.name != "change"]
    own.sort(key=lambda one: (one.default is not Parameter.empty, one.name == "field_reason"))
    first = keywords(client=(object, Parameter.empty), name=(Name, Parameter.empty))
    last = keywords(version=(Version, None), dry_run=(DryRun, False), again=(IdempotencyKey, None))
    signed(command, [*first, *own, *last])
    vars(command)["meanings"] = lambda: {f"field_{name}": text for name, text in texts(record).items()}
    called = name.replace("_", "-")
    examples = "".join(f"\n    evenhand client change {called} {one}" for one in EXAMPLES.get(name, ()))
    command.__name__, command.__doc__ = name, f"{summary(record)}\n\nExamples:{examples}"
    request(group)(command)


class Changes(Group):
    """The commands that make changes, each from its record; made when one of them is asked for, as that takes long."""

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """The commands by name."""
        return _commands()

    @commands.setter
    def commands(self, found: MutableMapping[str, Any]) -> None:
        """Typer finds none."""


app = App("Change the arms or the promises of an allocation, or close it.", Changes)
