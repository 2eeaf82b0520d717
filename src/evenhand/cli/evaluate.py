"""``evenhand evaluate``: estimates from a log what another policy would earn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import options
from evenhand.cli.output import print_json
from evenhand.core.errors import ConfigurationError, DataError, EvenhandError

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.targets import Target


def evaluate(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="CSV or Parquet file with one row per play.")],
    shares: Annotated[
        str | None,
        typer.Option(
            metavar="SHARES",
            help="Evaluate fixed shares: 'uniform', 'a=0.2,b=0.8', or a .json file with the share of each item.",
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="ALGORITHM",
            help="Evaluate an algorithm that learns from the log: a name, your own as 'module:function', a table of "
            "parts, or a .toml or .json file with such a table.",
        ),
    ] = None,
    set_: options.Settings = None,
    rewards: options.Rewards = "0,1",
    clip: Annotated[float | None, typer.Option(help="Largest weight. Default: no limit.")] = None,
    missing: options.Missing = None,
    window: options.Window = None,
    by_position: Annotated[bool, typer.Option("--by-position", help="Also evaluate each position separately.")] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Treat every row as a round, even if a decision has several rows.")
    ] = False,
    column: options.Columns = None,
    seed: options.Seed = 0,
    lanes: Annotated[
        int | None,
        typer.Option(min=1, help="Number of draws to estimate propensities without a closed form. Default: 100."),
    ] = None,
    own: options.Import = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate from a log what another policy would earn per round, and how often it would play each item.

    Uses inverse propensity scores (IPS), self-normalised (SNIPS) and doubly robust (DR), with 95% intervals.

    Examples:
        evenhand evaluate log.csv --shares uniform
        evenhand evaluate log.parquet --shares tea=0.2,coffee=0.8 --missing zero
        evenhand evaluate log.csv --algorithm fucb --set fractions=0.01 --json
        evenhand evaluate sales.csv --column reward=euros --algorithm ucb1 --rewards 0,250
        evenhand evaluate log.csv --algorithm "{ index = 'mine:KLUCB' }"
    """
    from evenhand.bandit.evaluation.estimators import evaluate as estimate
    from evenhand.bandit.evaluation.log import read_log

    names, each = options.columns(column), "row" if rows else None
    with options.in_place_of_arguments():
        target = target_of(shares, algorithm, set_ or [], seed or 0, lanes, rewards)
        whole = read_log(log, names, window=window, missing=missing, rounds=each)
        parts = whole.by_position() if by_position else {}
        evaluation = estimate(whole, target, clip)
        positions = {position: estimate(part, target, clip) for position, part in parts.items()}
    if as_json:
        by_name = {position: one.to_json() for position, one in positions.items()}
        print_json({"log": str(log), **evaluation.to_json()} | ({"positions": by_name} if by_name else {}))
    else:
        from evenhand.cli.rendering import show_evaluation

        show_evaluation(str(log), evaluation, with_shares=True)
        for position, one in positions.items():
            show_evaluation(f"position {position}", one, with_shares=False)


def target_of(
    shares: str | None,
    algorithm: str | None,
    settings: Sequence[str],
    seed: int,
    lanes: int | None,
    rewards: str = "0,1",
) -> Target:
    """The policy to evaluate that the options describe."""
    from evenhand.algorithms.build import importing_from
    from evenhand.bandit.evaluation.targets import LANES, FixedShares, Learner

    if algorithm is not None and shares is None:
        table, folder = options.policy(algorithm)
        draws = LANES if lanes is None else lanes
        limits, importing = options.reward_range(rewards), importing_from(folder)
        return Learner(table, options.parameters(settings), seed, draws, limits, importing)
    if shares is None or algorithm is not None:
        raise ConfigurationError("give the policy to evaluate by either --shares or --algorithm")
    if settings:
        raise ConfigurationError("--set needs --algorithm, because --shares has no parameters")
    return FixedShares(None if shares == "uniform" else _shares(shares))


def _shares(text: str) -> dict[str, float]:
    """Shares by item, from ``a=0.2,b=0.8`` or the name of a JSON file."""
    if text.endswith(".json"):
        return _shares_file(Path(text))
    return options.numbers("--shares", "ITEM=SHARE,…", "a=0.2,b=0.8", text.split(","))


def _shares_file(path: Path) -> dict[str, float]:
    from evenhand.core import validate

    try:
        shares = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(shares, dict):
        raise DataError(f'{path} must contain an object with the share of every item, such as {{"a": 0.2, "b": 0.8}}')
    try:
        return {name: validate.number(f"the share of {name!r}", share, 0.0, 1.0) for name, share in shares.items()}
    except EvenhandError as error:
        raise DataError(f"{path}: {error}") from None
