"""``evenhand price``: what a promise would cost, from a log, a configuration or a running allocation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import options
from evenhand.cli.client import Url, connected
from evenhand.cli.output import note, print_json
from evenhand.core.errors import ConfigurationError

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.log import Log
    from evenhand.messages.prices import Price

WIDTH = 78  # characters in a line of a sentence


def price(
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG|CONFIG|ALLOCATION",
            help="A .csv or .parquet log of decisions, a .toml configuration, or the name of a running allocation.",
        ),
    ],
    promise: options.Promises = None,
    algorithm: Annotated[
        str, typer.Option(metavar="ALGORITHM", help="Algorithm to simulate with and without the promise.")
    ] = "fucb",
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Rounds to simulate. Default: as many as the log has, up to 20,000.")
    ] = None,
    column: options.Columns = None,
    missing: options.Missing = None,
    window: options.Window = None,
    rewards: options.LogRewards = None,
    unit: options.Unit = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the figure there, as .png, .svg or .pdf.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Create an allocation with the promise, which starts from the log."),
    ] = None,
    url: Url = "http://127.0.0.1:8000",
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Estimate what a promised share would cost per round, in the long run and while a policy learns.

    Examples:
        evenhand price sales.csv --promise 0.05,0.1,0.15 --column reward=euros --rewards 0,80 --unit €
        evenhand price sales.csv --promise 0.1 --start drinks
        evenhand price world.toml --promise 0.1 --algorithm f_ts --rounds 10000
        evenhand price drinks --promise 0.1,0.2 --json
    """
    shares = promised(promise)
    if start is not None and (shares is None or len(shares) != 1):
        raise ConfigurationError("--start needs one promise, such as --promise 0.1")
    limits = None if rewards is None else options.reward_range(rewards)
    said = {"window": window, "missing": missing, "rewards": limits, "unit": unit}
    log: Log | None = None
    with options.in_place_of_arguments():
        if Path(source).suffix in (".csv", ".parquet"):
            from evenhand.bandit.evaluation.log import read_log

            log = read_log(source, options.columns(column), **said)  # type: ignore[arg-type]
            found = _of(log, shares, algorithm, rounds, seed)
        elif Path(source).suffix == ".toml":
            from evenhand.studies.configuration import load

            setup = load(source)
            plays = max(policy.plays for policy in setup.policies.values())
            found = _of(setup.environment, shares, algorithm, rounds, seed, plays)
        else:
            with connected(url, 30.0, False, source) as client:
                found = client.price(source, shares)
    if as_json:
        print_json(found.to_json())
    else:
        _show(found, log)
    if out is not None:
        found.figure().savefig(out, dpi=150)
        note(f"wrote {out}")
    if start is not None and shares is not None:
        if log is None:
            raise ConfigurationError("--start needs a log")
        _start(start, log, found, shares[0], url)


def promised(text: str | None) -> list[float] | None:
    """The shares that the option lists; None where it was not given."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        form = "--promise must be shares such as 0.05,0.1"
        raise ConfigurationError(f"{form}, got {text!r}") from None


def _of(
    source: Any,
    shares: list[float] | None,
    algorithm: str,
    rounds: int | None,
    seed: int | None,
    plays: int | None = None,
) -> Price:
    from evenhand.bandit.evaluation.price import PROMISES
    from evenhand.bandit.evaluation.price import price as price_of

    promises = PROMISES if shares is None else shares
    return price_of(source, promises, policy=algorithm, rounds=rounds, seed=seed or 0, plays=plays)


def _show(found: Price, log: Log | None) -> None:
    """The sentences, the curve, the arms and the assumptions, in 80 columns."""
    from textwrap import fill

    from evenhand.cli.rendering import interval, show, table_of
    from evenhand.judgement.sentences import listed

    print(*(fill(text, WIDTH) for text in found.sentences), sep="\n")
    unit = found.unit and f", {found.unit}"
    rows = [
        [one.promise, f"{one.steady:.3g}", interval(one.low, one.high), _range(one.run_low, one.run_high)]
        for one in found.curve
    ]
    run = [f"in {found.rounds:,} rounds"] if found.rounds else []
    columns = ["promise", f"cost per round{unit}", "95% interval", *run]
    show(table_of(*columns, right=True, rows=[row[: len(columns)] for row in rows]))
    most = max(found.curve, key=lambda one: one.steady)
    arms = [
        [
            one.arm,
            f"{one.mean:.3g}",
            interval(one.low, one.high),
            f"{most.shares[one.arm]:.1%}",
            f"{one.dual / 100:.3g}",
        ]
        for one in found.by_arm[:50]
    ]
    show(
        table_of(
            "arm", f"mean{unit}", "95% interval", f"share at {most.promise}", "one point costs", right=True, rows=arms
        )
    )
    holds = [f"The intervals hold if {listed(found.premises)}."] if found.claim == "holds_if" else []
    for text in (*holds, *found.unknown):
        print(fill(text, WIDTH))
    print("Assumed:")
    for text in (*(log.notes if log is not None else ()), *found.assumptions):
        print(fill(text, WIDTH, initial_indent="- ", subsequent_indent="  "))


def _range(low: float | None, high: float | None) -> str:
    """The range of simulated runs."""
    return "" if low is None or high is None else f"{low:.2g} to {high:.2g}"


def _start(name: str, log: Log, found: Price, share: float, url: str) -> None:
    """Create an allocation that starts from what is known of the log."""
    from evenhand.bandit.evaluation.learning import counts_of

    reading = log.reading
    window = None if reading.missing in (None, "never") else reading.window
    options_: dict[str, Any] = {
        "parameters": {"fractions": share, **found.parameters},
        "window": window,
        "missing": "never" if window is None else reading.missing,
        "rewards": reading.rewards or (min(0.0, float(log.reward.min())), max(1.0, float(log.reward.max()))),
        "start_from": counts_of(log),
        "words": {"unit": reading.unit, "round_name": "", "arm_name": ""},
    }
    with connected(url, 30.0, False, name) as client:
        new = client.create(name, list(log.items), found.recommended, **options_)
    text = f"created allocation {name}: {found.recommended} with {share:g} for each of {len(log.items)} arms"
    note(text if new else f"allocation {name} already exists with the same settings")
