"""``evenhand price``: what a promise would cost, from a log, a configuration or a running allocation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from evenhand.cli import options
from evenhand.cli.output import note, print_json
from evenhand.cli.requests import LOCAL, Url, connected
from evenhand.core.errors import ConfigurationError
from evenhand.core.numbers import shares_of

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.log import Log
    from evenhand.messages.prices import Price

SEGMENTS, ARMS = 100, 50  # rows of their tables, at most
INTERVAL = "95% interval"
WIDTH = 78  # characters in a line of a sentence


def price(
    # A .csv or .parquet log of decisions, a .toml configuration, the .json file of a bandit that `Bandit.save` wrote,
    # or the name of a running allocation
    source: Annotated[str, Argument(metavar="LOG|CONFIG|ALLOCATION")],
    promise: options.Promises = None,
    algorithm: str | None = None,  # Algorithm to simulate with and without the promise. Default: the recommended one
    # Rounds to simulate. Default: as many as the log has, up to 20,000
    rounds: Annotated[int | None, Option(min=1)] = None,
    column: options.Columns = None,
    features: options.LogFeatures = None,
    missing: options.Missing = None,
    window: options.Window = None,
    rewards: options.LogRewards = None,
    unit: options.Unit = None,
    segments: options.Segments = None,
    out: Annotated[Path | None, Option(metavar="FILE")] = None,  # write the figure there, as .png, .svg or .pdf
    # create an allocation with the promise, which starts from the log
    start: Annotated[str | None, Option(metavar="NAME")] = None,
    url: Url = LOCAL,
    seed: options.Seed = None,
    own: options.Import = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate what a promised share would cost per round, in the long run and while a policy learns.

    Examples:
        evenhand price sales.csv --promise 0.05,0.1,0.15 --column reward=euros --rewards 0,80 --unit €
        evenhand price sales.csv --promise 0.1 --start drinks
        evenhand price sales.csv --promise 0.1 --features country --segments country
        evenhand price world.toml --promise 0.1 --algorithm f_ts --rounds 10000
        evenhand price drinks --promise 10%,20% --json
        evenhand price bandit.json
    """
    shares = promised(promise)
    if start is not None and (shares is None or len(shares) != 1):
        raise ConfigurationError("--start needs one promise, such as --promise 0.1")
    kind, log = Path(source).suffix, None
    read: Any = {"column": column, "features": features, "window": window, "missing": missing, "rewards": rewards}
    run: dict[str, Any] = {"algorithm": algorithm, "rounds": rounds, "seed": seed}
    if kind in options.LOGS:
        with options.logs_read([Path(source)], unit=unit, **read) as (log,):  # kept before a closed pipe ends all
            if start is not None and log.known is not None:
                raise ConfigurationError(
                    "--start begins with counts, which have no features: make a bandit that learns"
                )
            found = _of(log, shares, **run, segments=options.segments_of(segments))
    else:
        used = "a configuration" if kind == ".toml" else "an allocation"
        options.refuse({**read, "unit": unit, "start": start, "segments": segments}, "a log", used)
        found = _of_configuration(source, shares, run) if kind == ".toml" else _of_allocation(source, shares, run, url)
    if as_json:
        print_json(found.to_json())
    else:
        _show(found, log)
    if out is not None:
        found.figure().savefig(out, dpi=150)
        note(f"wrote {out}")
    if start is not None and shares is not None and log is not None:
        _start(start, log, found, shares[0], url)


def _of_configuration(path: str, shares: list[float] | None, run: Mapping[str, Any]) -> Price:
    """The price in the environment of a configuration."""
    from evenhand.studies.configuration import load

    setup = load(path)
    return _of(setup.environment, shares, **run, plays=max(policy.plays for policy in setup.policies.values()))


def _of_allocation(name: str, shares: list[float] | None, run: Mapping[str, Any], url: str) -> Price:
    """The price by what an allocation of a service has learned so far, or a bandit that was saved."""
    options.refuse(run, "a log or a configuration, of which rounds are simulated", "an allocation")
    if name.endswith(".json"):
        from evenhand.bandit import Bandit

        return _of(Bandit.load(name), shares)
    with connected(url, 30.0, False, name) as client:
        return client.price(name, shares)


def promised(text: str | None) -> list[float] | None:
    """The shares that the option lists; None where it was not given."""
    return None if text is None else shares_of(text, "--promise")


def _of(
    source: Any, shares: list[float] | None, algorithm: str | None = None, seed: int | None = None, **given: Any
) -> Price:
    from evenhand.bandit.evaluation.price import PROMISES, price

    policy = options.policy(algorithm)[0] if algorithm else None
    return price(source, PROMISES if shares is None else shares, policy=policy, seed=seed or 0, **given)


def _show(found: Price, log: Log | None) -> None:
    """The sentences, the curve, the arms and the assumptions, in 80 columns."""
    from textwrap import fill

    from evenhand.cli.rendering import show, table_of
    from evenhand.core.numbers import amount, percent, ranged

    print(*(fill(text, WIDTH) for text in found.sentences), sep="\n")
    unit, most = found.unit and f", {found.unit}", max(found.curve, key=lambda one: one.steady)
    rows = [
        [one.promise, amount(one.steady), ranged(one.low, one.high), ranged(one.run_low, one.run_high, 2)]
        for one in found.curve
    ]
    run = [f"in {found.rounds:,} rounds"] if found.rounds else []
    columns = ["promise", f"cost per round{unit}", INTERVAL, *run]
    show(table_of(*columns, right=True, rows=[row[: len(columns)] for row in rows]))
    if found.by_segment:
        rows = [
            [one.segment, f"{one.part:.1%}", one.promise, amount(one.steady), ranged(one.low, one.high)]
            for one in found.by_segment[:SEGMENTS]
        ]
        columns = ["segment", "of the rounds", "promise", f"cost per round of it{unit}", INTERVAL]
        show(table_of(*columns, right=True, rows=rows))
    known = ((one, amount(one.mean), ranged(one.low, one.high)) for one in found.by_arm[:ARMS])
    rows = [[one.arm, *mean, percent(most.shares[one.arm]), amount(one.dual / 100.0)] for one, *mean in known]
    columns = ["arm", f"likely mean{unit}", INTERVAL, f"share at {most.promise}", "one point costs"]
    show(table_of(*columns, right=True, rows=rows))
    for text in filter(None, (found.holds, *found.unknown)):
        print(fill(text, WIDTH))
    print("Assumed:")
    for text in (*(log.notes if log is not None else ()), *found.assumptions):
        print(fill(text, WIDTH, initial_indent="- ", subsequent_indent="  "))


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
