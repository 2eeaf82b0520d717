"""How commands send requests to a running service: their options for it, the connection, and what they print."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, update_wrapper
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer import Option

from evenhand.cli.options import AsJson
from evenhand.cli.output import note, print_json
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.client import Client, ServiceError
    from evenhand.messages.answers import Plan

LOCAL = "http://127.0.0.1:8000"
Url = Annotated[
    str,
    Option(
        envvar="EVENHAND_URL",
        metavar="URL",
        help="Address of the service; EVENHAND_KEY holds the API key if it requires one.",
    ),
]
Timeout = Annotated[float, Option(metavar="SECONDS", help="Seconds to wait for an answer, including retries.")]
Wait = Annotated[
    bool, Option("--wait", help="Retry until --timeout if the service is not running, for example during a restart.")
]
IdempotencyKey = Annotated[
    str | None,
    Option(
        "--idempotency-key",
        metavar="KEY",
        help="Idempotency key; a call with the key of an earlier one is not carried out again.",
    ),
]
DryRun = Annotated[
    bool, Option("--dry-run", help="Write nothing; show what each arm would be promised, or what is wrong.")
]


@dataclass
class Answer:
    """What a command prints."""

    json: object  # the value that ``--json`` prints
    show: Callable[[], object]  # prints the same for people
    status: int = 0  # exit status


def records(found: Any, show: str, under: str = "", status: int = 0) -> Answer:
    """A record, or several under a name in JSON; for people as ``show_…`` of `evenhand.cli.answers` prints them."""

    def printed() -> None:
        from evenhand.cli import answers

        getattr(answers, f"show_{show}")(found)

    return Answer({under: [one.to_json() for one in found]} if under else found.to_json(), printed, status)


def keywords(**options: tuple[Any, Any]) -> list[Parameter]:
    """Parameters of a command by name, each of its annotation and its default."""
    kind = Parameter.KEYWORD_ONLY
    return [Parameter(name, kind, annotation=one, default=default) for name, (one, default) in options.items()]


def signed(command: Callable[..., Any], parameters: list[Parameter]) -> None:
    """Give a command these parameters: Typer reads its options from its signature and annotations."""
    vars(command)["__signature__"] = Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}


#: What all requests have: the options for the connection and the form of the output.
COMMON = keywords(url=(Url, LOCAL), timeout=(Timeout, 30.0), wait=(Wait, False), as_json=(AsJson, False))
Request = TypeVar("Request", bound=Callable[..., Answer])


def request(group: typer.Typer, name: str | None = None) -> Callable[[Request], Request]:
    """Make a command of a function that sends requests by a client.

    The first parameter of the function is the client, the others are options of the command, to which COMMON is added.
    """

    def add(function: Request) -> Request:
        def command(url: str, timeout: float, wait: bool, as_json: bool, **arguments: Any) -> None:
            with connected(url, timeout, wait, arguments.get("name")) as client:
                answer = function(client, **arguments)
            if as_json:
                print_json(answer.json)
            else:
                answer.show()
            raise typer.Exit(answer.status)

        hints = get_type_hints(function, localns={"Client": object}, include_extras=True)
        own = [one.replace(annotation=hints[one.name]) for one in signature(function).parameters.values()][1:]
        update_wrapper(command, function)
        signed(command, own + COMMON)
        group.command(name)(command)
        return function

    return add


def planned(plan: Plan) -> Answer:
    """What a change would do, which was not made."""
    from evenhand.cli.answers import show_arms

    def show() -> None:
        print(f"nothing was written; from round {plan.round + 1} on:" if plan.changed else "nothing would change:")
        show_arms(plan.arms)
        for line in plan.effect.text if plan.effect else ():
            print(line)

    return Answer(plan.to_json(), show)


@contextmanager
def connected(url: str, timeout: float, wait: bool, name: str | None = None) -> Iterator[Client]:
    """A client with the API key of the environment; a refusal of the service names the remedy."""
    from evenhand.client import Client, ServiceError

    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # which pydantic would look for among all packages
    key = os.environ.get("EVENHAND_KEY") or None

    @cache  # once per command
    def notice() -> None:
        note(f"evenhand: no answer from {url} yet; waiting for up to {timeout:g} s")

    tries = 10_000 if wait else 10  # who waits tries until the time is over
    with Client(
        url, key, timeout=min(timeout, 10.0), retries=tries, patience=timeout, wait=wait, notice=notice
    ) as client:
        try:
            yield client
        except ServiceError as error:
            remedy = _remedy(error, client, key is not None, name)
            if not remedy:
                raise
            raise EvenhandError(f"{error}; {remedy}") from None


def _remedy(error: ServiceError, client: Client, has_key: bool, name: str | None) -> str:
    """What to do about a refusal; empty where its message says all."""
    if error.code in ("unauthenticated", "forbidden"):
        key = "another API key" if has_key else "an API key"
        return f"set EVENHAND_KEY to {key} that allows this; `evenhand keys create` creates one"
    if error.code == "unknown_allocation" and name is not None:
        try:
            known = [one.name for one in client.allocations()]
        except EvenhandError:
            return ""
        near = difflib.get_close_matches(name, known, n=1)
        return f"did you mean {near[0]!r}?" if near else ""
    return ""
