"""``evenhand evaluate``: estimates from a log what other policies would earn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from evenhand.cli import options
from evenhand.cli.output import print_json
from evenhand.core.errors import ConfigurationError, DataError, EvenhandError

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.evaluation import Evaluation
    from evenhand.bandit.evaluation.log import Log
    from evenhand.bandit.evaluation.replay import Replay
    from evenhand.bandit.evaluation.targets import Target


def evaluate(
    # CSV or Parquet file with one row per play; several of policies that did not learn
    logs: Annotated[list[Path], Argument(metavar="LOG")],
    shares: options.Targets = None,
    # replay an algorithm that learns: a name, your own as 'module:function', a table of parts, or a .toml or .json file
    # with such a table
    algorithm: str | None = None,
    set_: options.Settings = None,
    segments: options.Segments = None,
    # with --segments, what the algorithm promises in one, such as '{segment="FR", fractions={tea=0.1}}'; can be
    # repeated
    promise: Annotated[list[str] | None, Option(metavar="TABLE")] = None,
    rewards: options.LogRewards = None,
    # compare with this target, such as "the log's policy"
    against: Annotated[str | None, Option(metavar="TARGET")] = None,
    estimator: Annotated[str, Option(metavar="NAME")] = "dr",  # one of ips, snips, dr, sndr, switch
    # Largest weight, or 'slope', which chooses it. Default: no limit
    clip: Annotated[str | None, Option(metavar="WEIGHT")] = None,
    # 'normal'; 'sequence' or 'one look' for policies that learn. Default: sequence where chances changed
    interval: Annotated[str | None, Option(metavar="KIND")] = None,
    estimate: bool = False,  # estimate propensities, where the log has none, from how often items played
    strict: bool = False,  # exit with 1 where the log cannot answer
    missing: options.Missing = None,
    window: options.Window = None,
    by_position: bool = False,  # also evaluate each position separately
    # Treat every row as a round, even if a decision has several rows. Kept beside the file
    rows: Annotated[bool | None, Option("--rows/--no-rows")] = None,
    column: options.Columns = None,
    features: options.LogFeatures = None,
    seed: options.Seed = 0,
    own: options.Import = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate from a log what other policies would earn per round, and by how much they differ.

    It says first whether the log can answer. Fixed shares are estimated with intervals, and differences are paired by
    round. An algorithm that learns decides anew, in the rounds of the log that agree with it.

    Examples:
        evenhand evaluate log.csv --shares uniform
        evenhand evaluate log.csv --shares tea=0.5,coffee=0.5 --shares tea=0.2,coffee=0.8
        evenhand evaluate before.csv after.csv --shares uniform
        evenhand evaluate foreign.csv --estimate --shares uniform
        evenhand evaluate log.parquet --shares tea=0.2,coffee=0.8 --missing zero --estimator snips --strict
        evenhand evaluate log.csv --algorithm fucb --set fractions=0.01 --json
        evenhand evaluate log.csv --features country,age --algorithm lin_ucb
        evenhand evaluate sales.csv --column reward=euros --algorithm ucb1 --rewards 0,250
        evenhand evaluate log.csv --algorithm "{ index = 'mine:KLUCB' }"
    """
    from evenhand.bandit.evaluation.evaluation import evaluate as judge
    from evenhand.bandit.evaluation.propensities import balanced, estimated
    from evenhand.bandit.evaluation.replay import FEW

    targets, within = targets_of(shares or [], algorithm, set_ or []), _within(algorithm, segments, promise or [])
    chosen: dict[str, Any] = {"against": against, "estimator": estimator, "clip": _clip(clip), "interval": interval}
    said = {"missing": missing, "window": window, "rounds": None if rows is None else "row" if rows else "decision"}
    with options.logs_read(logs, column, features, rewards, **said) as read:
        read = [estimated(log) if estimate and not log.has_propensities else log for log in read]
        whole, title = read[0] if len(read) == 1 else balanced(read), ", ".join(map(str, logs))
        parts = {title: whole}
        if by_position:
            parts |= {f"position {position}": part for position, part in whole.by_position().items()}
        found = {name: judge(part, targets, **chosen) for name, part in parts.items()} if targets else {}
        replayed = None if algorithm is None else _replayed(whole, algorithm, set_ or [], seed=seed or 0, **within)
    _show(title, found, replayed, as_json)
    short = replayed is not None and replayed.rounds < FEW
    if strict and (short or any(one.grade.answer == "no" for one in found.values())):
        raise typer.Exit(1)


def _within(algorithm: str | None, segments: str | None, promises: Sequence[str]) -> dict[str, Any]:
    """The segments of the rounds, and what is promised in them."""
    if algorithm is None and (segments or promises):
        raise ConfigurationError("--segments and --promise are for an algorithm that is replayed: --algorithm")
    example = "a promise, such as { segment = 'FR', fractions = { tea = 0.1 } }"
    tables = [options.table(text, "--promise", example) for text in promises]
    return {"segments": options.segments_of(segments), "promises": tables}


def _replayed(log: Log, algorithm: str, settings: Sequence[str], **given: Any) -> Replay:
    """What an algorithm that learns does in the rounds of a log."""
    from evenhand.algorithms.build import importing_from
    from evenhand.bandit.evaluation.replay import replay

    policy, folder = options.policy(algorithm)
    return replay(log, policy, options.parameters(settings), importing=importing_from(folder), **given)


def _show(title: str, found: Mapping[str, Evaluation], replayed: Replay | None, as_json: bool) -> None:
    """Print the evaluations of a log and of its positions, and the replay."""
    if as_json:
        evaluations = {name: one.to_json() for name, one in found.items()}
        printed = {"log": title, **evaluations.pop(title, {})}
        printed |= {} if replayed is None else {"replay": replayed.to_json()}
        print_json(printed | ({"positions": evaluations} if evaluations else {}))
        return
    from evenhand.cli.evaluations import show_evaluation, show_replay

    for place, (name, one) in enumerate(found.items()):
        show_evaluation(name, one, with_shares=not place)
    if replayed is not None:
        show_replay(title, replayed)


def targets_of(shares: Sequence[str], algorithm: str | None, settings: Sequence[str]) -> dict[str, Target]:
    """The fixed shares to evaluate that the options describe, by name."""
    from evenhand.bandit.evaluation.evaluation import named_targets
    from evenhand.bandit.evaluation.targets import FixedShares

    if not shares and algorithm is None:
        raise ConfigurationError("give what to evaluate by --shares, --algorithm, or both")
    if settings and algorithm is None:
        raise ConfigurationError("--set needs --algorithm, because --shares has no parameters")
    several = [FixedShares(None if text == "uniform" else _shares(text)) for text in shares]
    return named_targets(several) if several else {}


def _clip(text: str | None) -> float | str | None:
    """The largest weight, or how it is chosen."""
    try:
        return None if text is None else float(text)
    except ValueError:
        if text == "slope":
            return text
        raise ConfigurationError(f"--clip must be a weight such as 10, or 'slope'; got {text!r}") from None


def _shares(text: str) -> dict[str, float]:
    """Shares by item, from ``a=0.2,b=0.8`` or the name of a JSON file."""
    from evenhand.core import validate

    if not text.endswith(".json"):
        return options.numbers("--shares", "ITEM=SHARE,…", "a=0.2,b=0.8", text.split(","))
    path = Path(text)
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
