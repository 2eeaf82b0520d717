"""Options and arguments that several commands share; each is described here once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from evenhand.core.errors import ConfigurationError, EvenhandError, nearest, number_hint, shown

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.log import Log
    from evenhand.features.declaration import Features


def import_own(sources: list[str] | None) -> list[str] | None:
    """Import the user's own parts and algorithms, so that configurations and the service can name them."""
    if sources:
        from evenhand.core.imports import import_source

        for source in sources:
            import_source(source)
    return sources


def algorithm_names() -> list[str]:
    """The names of the algorithms, for the completion of a shell."""
    from evenhand.algorithms.registry import algorithms

    return list(algorithms())


Import = Annotated[
    list[str] | None,
    Option(
        "--import",
        metavar="FILE_OR_MODULE",
        callback=import_own,
        help="Python file or module with your own parts and algorithms; can be repeated.",
    ),
]
ConfigPath = Annotated[
    Path, Argument(metavar="CONFIG.toml", help="Configuration file, or a .parquet file of earlier results.")
]
Seed = Annotated[int | None, Option(min=0, help="Random seed.")]
Lanes = Annotated[int | None, Option(min=1, help="Independent replications.")]
Horizon = Annotated[int | None, Option(min=1, help="Rounds.")]
Jobs = Annotated[int, Option(help="Number of processes; -1 uses every core. The results do not depend on it.")]
Out = Annotated[Path, Option(metavar="FOLDER", help="Folder for results and figures; created if it does not exist.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON to standard output, everything else to standard error.")]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="Parameter of the algorithm, as in a configuration; can be repeated."),
]
Rewards = Annotated[str, Option(metavar="LOW,HIGH", help="Smallest and largest possible reward.")]
Columns = Annotated[
    list[str] | None,
    Option(
        "--column",
        metavar="COLUMN=NAME",
        help="What a column is and its name in the file, such as reward=bought; can be repeated. Kept beside the file.",
    ),
]
LogFeatures = Annotated[
    str | None,
    Option(
        "--features",
        metavar="NAME,…",
        help="Columns that are features of the situation, declared by what the file has in them. Kept beside the file.",
    ),
]
Missing = Annotated[
    str | None,
    Option(
        metavar="MEANING",
        help="What a blank reward means: 'zero' (only successes are reported), 'lost' (it says nothing) or 'never' "
        "(it is still open). Kept beside the file. Default: as said before, or an error.",
    ),
]
Window = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="Age from which a blank reward is final, in the unit of the times. Kept beside the file.",
    ),
]
LogRewards = Annotated[
    str | None,
    Option(
        metavar="LOW,HIGH",
        help="Smallest and largest possible reward. Kept beside the file. Default: 0,1; for a price those in the log.",
    ),
]
Unit = Annotated[str | None, Option(metavar="UNIT", help="Unit of rewards, such as '€'. Kept beside the file as well.")]
Promises = Annotated[
    str | None,
    Option(
        metavar="SHARE,…",
        help="Shares of the rounds to promise to every arm. Default: 0.05,0.1,0.15, or less for many arms.",
    ),
]
Segments = Annotated[
    str | None,
    Option(
        metavar="NAME|TABLE",
        help="Feature by whose values rounds are counted, or '{feature=\"age\", cuts=[18, 65]}' of a number.",
    ),
]
Targets = Annotated[
    list[str] | None,
    Option(
        metavar="SHARES",
        help="Evaluate fixed shares: 'uniform', 'a=0.2,b=0.8', or a .json file with the share of each item; can be "
        "repeated, and the others are compared with the first.",
    ),
]
Database = Annotated[
    str,
    Option(
        envvar="EVENHAND_DATABASE",
        metavar="DATABASE",
        help="SQLite file, or a URL such as postgresql://user@host/name.",
    ),
]
LogFile = Annotated[Path, Argument(metavar="FILE", help="File to write; ends in .csv or .parquet.")]
Available = Annotated[
    list[str] | None, Option(metavar="ARM", help="Arm that is available; can be repeated. Default: all.")
]
Port = Annotated[int, Option(min=0, max=65535, metavar="PORT", help="Port to listen on; 0 selects a free one.")]
FigureFile = Annotated[Path, Option(metavar="FILE", help="File to write: .png, .svg or .pdf.")]
Width = Annotated[
    Literal["screen", "column", "text"],
    Option(help="Size of the figure and of its text: for a screen, or for a paper."),
]
Title = Annotated[str, Option(metavar="TITLE", help="Title above the figure.")]
Name = Annotated[str, Argument(metavar="NAME", help="Name of the allocation.")]


LOGS = (".csv", ".parquet")  # the endings of logs of decisions


def format_of(path: Path) -> str:
    """The format of a figure, by the ending of its file."""
    from evenhand.simulation.figures.files import FORMATS

    if path.suffix.removeprefix(".") not in FORMATS:
        raise EvenhandError(f"--out must end with .png, .svg or .pdf, got {path.name!r}")
    return path.suffix.removeprefix(".")


def refuse(given: Mapping[str, object], use: str, kind: str) -> None:
    """Refuse options that do not apply to what a command is about."""
    for name, value in given.items():
        if value not in (None, []):
            raise ConfigurationError(f"--{name} is for {use}; this is {kind}")


def parameters(
    settings: Sequence[str], option: str = "--set", form: str = "NAME=VALUE", example: str = "exploration=2.0"
) -> dict[str, Any]:
    """Parameters of an algorithm from ``--set``, whose values are written as in a configuration; others are strings."""
    pairs = [pair(option, form, example, text) for text in settings]
    return {name: _value(option, name, text) for name, text in pairs}


def segments_of(text: str | None) -> str | dict[str, Any] | None:
    """The feature that makes segments, or its table."""
    return table(text, "--segments") if text and text.startswith("{") else text


def policy(text: str) -> tuple[str | dict[str, Any], Path]:
    """A policy from the command line, as in a configuration, and the folder of its own modules ``module:name``."""
    path = Path(text)
    if text.lstrip().startswith("{"):
        return table(text, text), Path()
    if path.suffix not in (".toml", ".json"):
        return text, Path()
    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    return table(content, str(path)), path.parent


def numbers(option: str, form: str, example: str, settings: Sequence[str]) -> dict[str, float]:
    """Numbers by name; a name may contain equals signs."""
    by_name: dict[str, float] = {}
    for text in settings:
        name, value = pair(option, form, example, text, last=True)
        if name in by_name:
            raise ConfigurationError(f"{option} names {name!r} twice")
        try:
            by_name[name] = float(value)
        except ValueError:
            raise _malformed(option, form, example, text) from None
    return by_name


def reward_range(text: str) -> tuple[float, float]:
    """The smallest and the largest reward, from ``--rewards``."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ConfigurationError(f"--rewards must have the form LOW,HIGH, such as 0,1; got {text!r}") from None
    return low, high


def pair(option: str, form: str, example: str, text: str, *, last: bool = False) -> tuple[str, str]:
    """The two sides of the first equals sign, or of the last one."""
    name, equals, value = (part.strip() for part in (text.rpartition("=") if last else text.partition("=")))
    if not (name and equals and value):
        raise _malformed(option, form, example, text)
    return name, value


def columns(given: Sequence[str] | None) -> dict[str, str]:
    """The names of the columns of a log, by role."""
    return dict(pair("--column", "COLUMN=NAME", "reward=bought", text) for text in given or [])


@contextmanager
def logs_read(
    paths: Sequence[Path], column: Sequence[str] | None, features: str | None, rewards: str | None, **said: Any
) -> Iterator[list[Log]]:
    """The logs in files, read as the options say; what these say is kept once all is done without an error."""
    from evenhand.bandit.evaluation.columns import keep
    from evenhand.bandit.evaluation.log import read_log

    said |= {"columns": columns(column), "rewards": None if rewards is None else reward_range(rewards)}
    with in_place_of_arguments():
        said["features"] = _features(paths[0], features)
        logs = [read_log(path, **said, kept=False) for path in paths]
        yield logs
        for log in logs:
            keep(Path(log.source), log.reading)


def _features(log: Path, given: str | None) -> Features | None:
    """The declaration of columns of a log, by what is in them."""
    if given is None:
        return None
    import pandas as pd

    from evenhand.features.declaration import Features

    names = [name.strip() for name in given.split(",")]
    try:
        frame = pd.read_parquet(log) if log.suffix == ".parquet" else pd.read_csv(log)
    except (OSError, ValueError):
        return None  # what is wrong with the file is said when it is read
    for name in names:
        if name not in frame:
            raise ConfigurationError(f"--features: {log} has no column {name!r}{nearest(name, list(frame))}")
    try:
        return Features.of(frame[names])
    except EvenhandError as error:
        raise error.at("--features") from None


@contextmanager
def in_place_of_arguments() -> Iterator[None]:
    """Errors that advise arguments of `evenhand.evaluation` advise the options of the command instead."""
    try:
        yield
    except EvenhandError as error:
        raise error.having(replace(fault, text=_with_options(fault.text)) for fault in error.faults) from None


def _with_options(text: str) -> str:
    """A message with options for arguments."""

    def options(columns: re.Match[str]) -> str:
        given = [f"{role}={name}" for role, name in ast.literal_eval(columns[1]).items()]
        return " ".join(f"--column {quote(one) if ' ' in one else one}" for one in given)

    text = re.sub(r"columns=(\{.*?\})(?=;|$)", options, text, flags=re.DOTALL)
    text = re.sub(r"\brewards=\((\S+), (\S+)\)", r"--rewards \1,\2", text)
    text = text.replace("by estimated(log)", "with --estimate").replace(
        "with a window from", "with --window SECONDS, from"
    )
    return re.sub(r"\bmissing='(\w+)'", r"--missing \1", text).replace("rounds='row'", "--rows").rstrip()


def _malformed(option: str, form: str, example: str, text: str) -> ConfigurationError:
    hint = number_hint(text.rpartition("=")[2], share=True)
    return ConfigurationError(f"{option} must have the form {form}, such as {example}; got {text!r}{hint}")


def table(text: str, name: str, example: str = "one policy, such as { index = 'ucb' }") -> dict[str, Any]:
    """A table in TOML or JSON, between braces or a whole file."""
    import json
    import tomllib

    try:
        found = json.loads(text)
    except ValueError:
        try:
            inline = text.lstrip().startswith("{")
            found = tomllib.loads(f"value = {text.strip()}")["value"] if inline else tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            if not inline and not name.endswith((".toml", ".json")):
                raise ConfigurationError(f"{name} must be a table between braces, got {shown(text)}") from None
            raise ConfigurationError(f"{name} is neither TOML nor JSON: {error}") from None
    if not isinstance(found, dict) or "policies" in found:
        raise ConfigurationError(f"{name} must be the table of {example}")
    return found


def _value(option: str, name: str, text: str) -> object:
    """A value of TOML, or else a string, unless it looks as if a number, a list or a table was meant."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        if hint := number_hint(text, share=True):
            raise ConfigurationError(f"{option} {name}={text} is not a number as TOML writes it{hint}") from None
        if text[0] in "[{":
            raise ConfigurationError(f"{option} {name}={text} is not valid TOML: {error}") from None
        return text
