"""``evenhand client …``: asks a service that is running; nothing but Typer is loaded before a command runs."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.errors import ConfigurationError, EvenhandError

if TYPE_CHECKING:
    from evenhand.online.client import Client, ServiceError
    from evenhand.online.client.answers import Changed

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Ask a service that is running: decide, report, audit, change.\n\n"
    "EVENHAND_URL holds its address, and EVENHAND_KEY your API key, where the service has keys.",
)
changes = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Change the arms or the promises of an allocation, or close it."
)
app.add_typer(changes, name="change")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the allocation.")]
Arm = Annotated[str, typer.Argument(metavar="ARM", help="Name of the arm.")]
Url = Annotated[
    str,
    typer.Option(envvar="EVENHAND_URL", help="Address of the service; EVENHAND_KEY holds the API key, if it has keys."),
]
Timeout = Annotated[float, typer.Option(help="Seconds after which a service that does not answer is given up.")]
Again = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key", metavar="KEY", help="That of an earlier call: what it has done is not done again."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output on standard output.")]
LOCAL = "http://127.0.0.1:8000"


@app.command()
def create(
    name: Name,
    algorithm: Annotated[str, typer.Argument(metavar="ALGORITHM", help="One that `evenhand algorithms` lists.")],
    arm: Annotated[list[str], typer.Option(help="Name of an arm; repeat for more.")],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Parameter of the algorithm, as in a configuration; repeat for more."
        ),
    ] = None,
    plays: Annotated[int, typer.Option(min=1, help="Arms that play a round.")] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all randomness. Left out: drawn.")] = None,
    window: Annotated[
        float | None, typer.Option(help="Seconds for which a report is waited for. Left out: for ever.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="What a report that never came counts as: 'lost' (never known) or 'zero'.")
    ] = "lost",
    rewards: Annotated[
        str, typer.Option(metavar="LOW,HIGH", help="The smallest and the largest reward, or 'any'.")
    ] = "0,1",
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Make an allocation; one that is there already, made in the very same way, is no error.

    Examples:

      evenhand client create drinks fucb --arm tea --arm coffee --set fractions={coffee=0.2}

      evenhand client create ads ucb1 --arm red --arm blue --window 86400 --missing zero
    """
    from evenhand.online.evaluating import parameters

    with _client(url, timeout) as client:
        new = client.create(
            name,
            arm,
            algorithm,
            parameters=parameters(set_ or []),
            plays=plays,
            seed=seed,
            window=window,
            missing=missing,
            rewards=_range(rewards),
        )
    if as_json:
        _print_json({"name": name, "new": new})
    else:
        print(f"made the allocation {name}" if new else f"the allocation {name} is there already, the very same")


@app.command("list")
def list_(url: Url = LOCAL, timeout: Timeout = 30.0, as_json: AsJson = False) -> None:
    """List the allocations.

    Examples:

      evenhand client list

      evenhand client list --url http://decisions.example.org --json
    """
    with _client(url, timeout) as client:
        found = client.allocations()
    if as_json:
        _print_json({"allocations": [asdict(one) for one in found]})
    else:
        from evenhand.online.client.showing import show_allocations

        show_allocations(found)


@app.command()
def show(name: Name, url: Url = LOCAL, timeout: Timeout = 30.0, as_json: AsJson = False) -> None:
    """Tell how an allocation was made, and where it stands.

    Examples:

      evenhand client show drinks

      evenhand client show drinks --json
    """
    with _client(url, timeout, name) as client:
        found = client.describe(name)
    if as_json:
        _print_json(asdict(found))
    else:
        from evenhand.online.client.showing import show_description

        show_description(found)


@app.command()
def decide(
    name: Name,
    count: Annotated[int, typer.Option(min=1, help="Rounds to decide.")] = 1,
    available: Annotated[
        list[str] | None, typer.Option(metavar="ARM", help="An arm that can play; repeat for more. Left out: all.")
    ] = None,
    propensities: Annotated[
        bool, typer.Option("--propensities", help="Tell the chance of every available arm; may take time.")
    ] = False,
    again: Again = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Decide who plays the next round, or the next few.

    Examples:

      evenhand client decide drinks

      evenhand client decide drinks --available tea --available mate

      evenhand client decide drinks --count 100 --json
    """
    with _client(url, timeout, name) as client:
        found = client.decide_many(name, count, available, propensities=propensities, idempotency_key=again)
    if as_json:
        _print_json({"decisions": [asdict(one) for one in found]})
    else:
        from evenhand.online.client.showing import show_decisions

        show_decisions(found)


@app.command()
def report(
    name: Name,
    decision: Annotated[str, typer.Argument(metavar="DECISION", help="Id of the decision.")],
    rewards: Annotated[list[str], typer.Argument(metavar="ARM=REWARD", help="What each arm earned.")],
    again: Again = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Report what arms earned; the exit status is 1 if one was neither accepted nor known.

    Examples:

      evenhand client report drinks 1 tea=1

      evenhand client report ads 17 red=0 blue=0.25 --json
    """
    given = _numbers(rewards, "ARM=REWARD", "tea=1")
    with _client(url, timeout, name) as client:
        found = client.report(name, decision, given, idempotency_key=again)
    if as_json:
        _print_json({"answers": [asdict(one) for one in found]})
    else:
        from evenhand.online.client.showing import show_reports

        show_reports(found)
    if not all(one.taken for one in found):
        raise typer.Exit(1)


@app.command()
def total(
    name: Name,
    value: Annotated[float, typer.Argument(metavar="VALUE", help="The sum.")],
    round: Annotated[
        int | None, typer.Option(min=1, help="The round that it is of. Left out: the one just decided.")
    ] = None,
    again: Again = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Report the anonymous sum of the round just decided.

    Examples:

      evenhand client total drinks 3.5

      evenhand client total drinks 3.5 --round 12
    """
    with _client(url, timeout, name) as client:
        found = client.total(name, value, round, idempotency_key=again)
    if as_json:
        _print_json(asdict(found))
    else:
        print(f"round {found.round}: {found.status}")


@app.command()
def audit(
    name: Name,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many arms, those furthest behind first. Left out: all.")
    ] = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Show what each arm was promised, and what it got.

    Examples:

      evenhand client audit drinks

      evenhand client audit drinks --limit 20 --json
    """
    with _client(url, timeout, name) as client:
        found = client.audit(name, limit)
    if as_json:
        _print_json({"name": name, **found.to_json()})
    else:
        from evenhand.online.client.showing import show_audit

        show_audit(name, found)


@app.command()
def log(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to: a .csv or .parquet file.")],
    since: Annotated[int, typer.Option(min=1, help="First round.")] = 1,
    until: Annotated[int | None, typer.Option(min=1, help="Last round. Left out: the last one decided.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate the chances that have no closed form; takes time.")
    ] = False,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Download the log of an allocation, a row for every play; the file is written whole or not at all.

    Examples:

      evenhand client log drinks drinks.parquet

      evenhand client log drinks drinks.csv --since 1000 --until 2000
    """
    with _client(url, timeout, name) as client:
        client.log(name, file, since=since, until=until, estimate=estimate)
    if _empty(file):
        print(f"{name} has no decision in these rounds: {file} has no rows", file=sys.stderr)
    if as_json:
        _print_json({"file": str(file), "bytes": file.stat().st_size})
    else:
        print(f"wrote {file}, {file.stat().st_size:,} bytes")


# --- changes ----------------------------------------------------------------------------------------------------------

Fraction = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="Share of the rounds that the arm is promised. Left out: none.")
]


@changes.command()
def add(
    name: Name,
    arm: Arm,
    fraction: Fraction = None,
    penalty: Annotated[
        float | None, typer.Option(min=0.0, help="Its penalty, where the algorithm has penalties.")
    ] = None,
    weight: Annotated[float | None, typer.Option(min=0.0, help="Its weight, where the algorithm has weights.")] = None,
    again: Again = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Add an arm; what it is owed counts from the next round.

    Examples:

      evenhand client change add drinks mate --fraction 0.1
    """
    with _client(url, timeout, name) as client:
        found = client.add(name, arm, fraction=fraction, penalty=penalty, weight=weight, idempotency_key=again)
    _print_change(found, as_json)


@changes.command()
def retire(
    name: Name, arm: Arm, again: Again = None, url: Url = LOCAL, timeout: Timeout = 30.0, as_json: AsJson = False
) -> None:
    """Retire an arm: it plays no more and its promise ends; reports of it are still welcome.

    Examples:

      evenhand client change retire drinks cocoa
    """
    with _client(url, timeout, name) as client:
        found = client.retire(name, arm, idempotency_key=again)
    _print_change(found, as_json)


@changes.command()
def bring_back(
    name: Name,
    arm: Arm,
    fraction: Fraction = None,
    again: Again = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Bring a retired arm back, with all that is known of it and a promise that begins now.

    Examples:

      evenhand client change bring-back drinks cocoa --fraction 0.2
    """
    with _client(url, timeout, name) as client:
        found = client.bring_back(name, arm, fraction=fraction, idempotency_key=again)
    _print_change(found, as_json)


@changes.command()
def promise(
    name: Name,
    fractions: Annotated[list[str], typer.Argument(metavar="ARM=SHARE", help="The new share of each arm.")],
    again: Again = None,
    url: Url = LOCAL,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Promise arms other shares of the rounds from now on; the promises of the others stay.

    Examples:

      evenhand client change promise drinks coffee=0.1 mate=0.3
    """
    given = _numbers(fractions, "ARM=SHARE", "coffee=0.1")
    with _client(url, timeout, name) as client:
        found = client.promise(name, given, idempotency_key=again)
    _print_change(found, as_json)


@changes.command()
def close(name: Name, again: Again = None, url: Url = LOCAL, timeout: Timeout = 30.0, as_json: AsJson = False) -> None:
    """Close an allocation: it decides no more; reports are still welcome.

    Examples:

      evenhand client change close drinks
    """
    with _client(url, timeout, name) as client:
        found = client.close_allocation(name, idempotency_key=again)
    _print_change(found, as_json)


@changes.command()
def reopen(name: Name, again: Again = None, url: Url = LOCAL, timeout: Timeout = 30.0, as_json: AsJson = False) -> None:
    """Open a closed allocation again.

    Examples:

      evenhand client change reopen drinks
    """
    with _client(url, timeout, name) as client:
        found = client.reopen_allocation(name, idempotency_key=again)
    _print_change(found, as_json)


# ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def _client(url: str, timeout: float, name: str | None = None) -> Iterator[Client]:
    """A client with the key of the environment; what the service refuses is told with what to do about it."""
    from evenhand.online.client import Client, ServiceError

    key = os.environ.get("EVENHAND_KEY") or None
    told: list[str] = []

    def notice() -> None:
        if not told:
            told.append(f"evenhand: no answer from {url} yet; trying again")
            print(told[0], file=sys.stderr, flush=True)

    with Client(url, key, timeout=min(timeout, 10.0), patience=timeout, notice=notice) as client:
        try:
            yield client
        except ServiceError as error:
            advice = _advice(error, client, key is not None, name)
            if not advice:
                raise
            raise EvenhandError(f"{error}{advice}") from None


def _advice(error: ServiceError, client: Client, has_key: bool, name: str | None) -> str:
    """What to do about a refusal; nothing where its message says all."""
    if error.code in ("unauthenticated", "forbidden"):
        what = "another API key" if has_key else "an API key"
        return f"\nset EVENHAND_KEY to {what} that may do this; `evenhand keys make` makes one"
    if error.code == "unknown_allocation" and name is not None:
        return _meant(client, name)
    return ""


def _meant(client: Client, name: str) -> str:
    """The allocation that may have been meant; nothing where none is near, or they cannot be listed."""
    try:
        known = [one.name for one in client.allocations()]
    except EvenhandError:
        return ""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _empty(file: Path) -> bool:
    """Whether a log has no rows."""
    if file.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        return int(pq.read_metadata(file).num_rows) == 0
    with file.open(encoding="utf-8") as lines:
        return not (next(lines, "") and next(lines, ""))


def _print_change(found: Changed, as_json: bool) -> None:
    if as_json:
        _print_json(asdict(found))
    else:
        print(f"done: version {found.version}, from round {found.round + 1} on")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _numbers(given: Sequence[str], form: str, example: str) -> dict[str, float]:
    """Numbers by name, from ``tea=1``; a name may have equals signs, too."""
    told: dict[str, float] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        if name in told:
            raise ConfigurationError(f"{form} names {name!r} twice")
        try:
            told[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ConfigurationError(f"{form} must be such as {example}, got {text!r}")
    return told


def _range(text: str) -> tuple[float, float] | None:
    if text == "any":
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ConfigurationError(f"--rewards must be such as 0,1, or any; got {text!r}") from None
    return low, high
