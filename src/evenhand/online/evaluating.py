"""``evenhand evaluate``: from options to estimates, and how these are shown."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from evenhand import listing, validate
from evenhand.errors import ConfigurationError, DataError, EvenhandError
from evenhand.online.evaluate import ESTIMATORS, Estimate, Evaluation, evaluate
from evenhand.online.logfile import Log
from evenhand.online.targets import LANES, FixedShares, Learner, Target

MOST = 50  # items that a table has


def chosen(shares: str | None, algorithm: str | None, settings: Sequence[str], seed: int, lanes: int | None) -> Target:
    """The target that the options describe.

    Raises:
        ConfigurationError: not exactly one of shares and algorithm is given, or an option has no sense for it.

    Example:
        >>> chosen(None, "fucb", ["fractions={tea=0.2}", "evidence=optimistic"], seed=0, lanes=None).parameters
        {'fractions': {'tea': 0.2}, 'evidence': 'optimistic'}
    """
    if (shares is None) == (algorithm is None):
        raise ConfigurationError("say which policy to evaluate: either --shares or --algorithm")
    if algorithm is None:
        if settings:
            raise ConfigurationError("--set is for the parameters of an --algorithm")
        assert shares is not None
        return FixedShares(None if shares == "uniform" else _shares(shares))
    return Learner(algorithm, parameters(settings), seed, LANES if lanes is None else lanes)


def parameters(given: Sequence[str]) -> dict[str, Any]:
    """Parameters of an algorithm, from ``exploration=2.0`` as in a configuration file; what is no value is a text.

    Raises:
        ConfigurationError: there is no equals sign.

    Example:
        >>> parameters(["exploration=2.0", "evidence=optimistic"])
        {'exploration': 2.0, 'evidence': 'optimistic'}
    """
    return dict(map(_parameter, given))


def columns(given: Sequence[str]) -> dict[str, str]:
    """Names of columns, from ``reward=bought``.

    Raises:
        ConfigurationError: there is no equals sign.

    Example:
        >>> columns(["reward=bought"])
        {'reward': 'bought'}
    """
    return dict(_halves("--column", "reward=bought", one) for one in given)


def estimated(log: Log, target: Target, clip: float | None, by_position: bool) -> dict[str, Evaluation]:
    """The evaluation of the whole log, under the empty name, and those of the positions."""
    logs = {"": log} | (log.by_position() if by_position else {})
    return {place: evaluate(one, target, clip) for place, one in logs.items()}


def as_plain(source: str, found: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Evaluations as plain JSON values."""
    positions = {place: one.to_json() for place, one in found.items() if place}
    return {"log": source, **found[""].to_json()} | ({"positions": positions} if positions else {})


def show(source: str, found: Mapping[str, Evaluation]) -> None:
    """Evaluations as tables."""
    console = listing.console_for_tables()
    for place, one in found.items():
        title = f"position {place}" if place else source
        size = f"{one.rounds:,} rounds, {one.rows:,} plays" if one.rows > one.rounds else f"{one.rounds:,} rounds"
        console.print(f"[bold]{escape(title)}[/bold]  {size}, {len(one.items):,} items", highlight=False)
        table = listing.table_of("reward a round", "estimate", "95 % interval", "how", right=True)
        table.columns[3].justify = "left"
        table.add_row("the log's policy", *_told(one.logged), "mean of the log")
        for name, estimate in one.estimates.items():
            table.add_row(f"{escape(one.target)}, {name.upper()}", *_told(estimate), ESTIMATORS[name])
        console.print(table)
        if not place:
            console.print(_shares_table(one))
        console.print(
            f"effective sample size {one.effective:,.0f}, largest weight {one.largest:.3g}, "
            f"mean weight {one.mean_weight:.3g}",
            highlight=False,
        )
        for note in one.notes:
            console.print(f"[dim]{escape(note)}[/dim]", highlight=False)
        for warning in one.warnings:
            console.print(f"[yellow]warning:[/yellow] {escape(warning)}", highlight=False)


def _shares_table(one: Evaluation) -> Any:
    """Who plays how often, the target's favourites first where there are many items."""
    table = listing.table_of("item", one.target, "the log's policy", right=True)
    order = list(range(len(one.items)))
    if len(order) > MOST:
        order = sorted(order, key=lambda place: -one.shares[place])[:MOST]
    for place in order:
        table.add_row(escape(one.items[place]), f"{one.shares[place]:.4f}", f"{one.logged_shares[place]:.4f}")
    if len(order) < len(one.items):
        table.add_row(f"and {len(one.items) - len(order):,} more", "", "")
    return table


def _told(estimate: Estimate) -> tuple[str, str]:
    if not math.isfinite(estimate.value):
        return "unknown", ""
    interval = "" if math.isnan(estimate.stderr) else f"{estimate.low:.3g} to {estimate.high:.3g}"
    return listing.plus_minus(estimate.value, estimate.stderr), interval


def _shares(text: str) -> dict[str, float]:
    """Shares by item, from ``a=0.2,b=0.8`` or the name of a JSON file."""
    if text.endswith(".json"):
        return _shares_file(Path(text))
    pairs = [_halves("--shares", "a=0.2,b=0.8", part) for part in text.split(",")]
    if len({name for name, _ in pairs}) < len(pairs):
        raise ConfigurationError("--shares names an item twice")
    try:
        return {name: float(share) for name, share in pairs}
    except ValueError:
        raise ConfigurationError(f"--shares must be such as a=0.2,b=0.8, got {text!r}") from None


def _shares_file(path: Path) -> dict[str, float]:
    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(given, dict):
        raise DataError(f'{path} must hold an object with the share of every item, such as {{"a": 0.2, "b": 0.8}}')
    try:
        return {name: validate.number(f"the share of {name!r}", share, 0.0, 1.0) for name, share in given.items()}
    except EvenhandError as error:
        raise DataError(f"{path}: {error}") from None


def _parameter(text: str) -> tuple[str, Any]:
    name, value = _halves("--set", "exploration=2.0", text)
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def _halves(option: str, example: str, text: str) -> tuple[str, str]:
    halves = text.rpartition("=") if option == "--shares" else text.partition("=")
    name, found, value = (part.strip() for part in halves)
    if not (name and found and value):
        raise ConfigurationError(f"{option} must be such as {example}, got {text!r}")
    return name, value
