"""What a simulation found: tidy tables, summaries, and files from which it can be run again."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.describe import describe
from evenhand.errors import DataError, EvenhandError
from evenhand.metrics import MEASURES
from evenhand.records import Array

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.environment import Environment
    from evenhand.policy import Policy

FORMAT = 1
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class Record:
    """What one policy did."""

    pulls: NDArray[np.int32]  # (checkpoints, lanes, arms) plays up to each checkpoint
    curves: dict[str, Array]  # measure → (checkpoints, lanes)
    estimate: Array  # (lanes, arms) mean of the rewards that arrived, at the end; NaN for none
    worth: Array  # (lanes, arms) index of the arms for the round after the last

    @classmethod
    def joined(cls, blocks: Sequence[Record]) -> Record:
        """The blocks of lanes, side by side."""
        if len(blocks) == 1:
            return blocks[0]
        curves = {name: np.concatenate([block.curves[name] for block in blocks], axis=1) for name in blocks[0].curves}
        pulls = np.concatenate([block.pulls for block in blocks], axis=1)
        estimate, worth = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("estimate", "worth"))
        return cls(pulls, curves, estimate, worth)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What a simulation found, for every policy by its label.

    Example:
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=100, lanes=5, checkpoints=2)
        >>> results.curves().columns.tolist()
        ['policy', 'lane', 'round', 'reward', 'regret', 'time_averaged_regret']
        >>> results.arms().columns.tolist()
        ['policy', 'lane', 'round', 'arm', 'pulls', 'fraction', 'promised']
    """

    records: dict[str, Record]
    rounds: NDArray[np.int64]  # (checkpoints,)
    names: tuple[str, ...]  # of the arms
    promised: dict[str, Array | None]  # label → (arms,) or (lanes, arms), the shares that a policy is judged by
    information: dict[str, Any]  # configuration, seed and versions, as plain JSON values

    def __repr__(self) -> str:
        """What was run, in a line."""
        run = self.information
        size = f"{run['horizon']} rounds, {run['lanes']} lanes, {len(self.names)} arms"
        return f"<Results of {', '.join(self.records)}: {size}>"

    def curves(self) -> pd.DataFrame:
        """A row for each policy, lane and checkpoint, a column for each measure (missing where it has no sense)."""
        import pandas as pd

        frames = []
        for label, record in self.records.items():
            lanes = record.pulls.shape[1]
            columns: dict[str, Any] = {
                "policy": label,
                "lane": np.tile(np.arange(lanes, dtype=np.int32), len(self.rounds)),
                "round": np.repeat(self.rounds, lanes),
            }
            frames.append(pd.DataFrame(columns | {name: curve.ravel() for name, curve in record.curves.items()}))
        table = pd.concat(frames, ignore_index=True)
        measures = [name for name in MEASURES if name in table]
        return table.astype({"policy": "category"})[["policy", "lane", "round", *measures]]

    def arms(self) -> pd.DataFrame:
        """A row for each policy, lane, checkpoint and arm: plays, share of the rounds, and the share promised."""
        import pandas as pd

        frames = []
        for label, record in self.records.items():
            _, lanes, arms = record.pulls.shape
            shares = self.promised[label]
            promised = np.nan if shares is None else np.broadcast_to(shares, record.pulls.shape).ravel()
            round = np.repeat(self.rounds, lanes * arms)
            columns = {
                "policy": label,
                "lane": np.tile(np.repeat(np.arange(lanes, dtype=np.int32), arms), len(self.rounds)),
                "round": round,
                "arm": _categories(np.tile(np.arange(arms), len(self.rounds) * lanes), self.names),
                "pulls": record.pulls.ravel(),
                "fraction": record.pulls.ravel() / round,
                "promised": promised,
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True).astype({"policy": "category"})

    def estimates(self) -> pd.DataFrame:
        """A row for each policy, lane and arm: the mean of its rewards and its index, at the end."""
        import pandas as pd

        frames = []
        for label, record in self.records.items():
            lanes, arms = record.estimate.shape
            columns = {
                "policy": label,
                "lane": np.repeat(np.arange(lanes, dtype=np.int32), arms),
                "arm": _categories(np.tile(np.arange(arms), lanes), self.names),
                "estimate": record.estimate.ravel(),
                "worth": record.worth.ravel(),
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True).astype({"policy": "category"})

    def summary(self, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
        """Mean, standard error and quantiles over the lanes, for each policy, checkpoint and measure."""
        import pandas as pd

        frames = []
        for label, record in self.records.items():
            for name, curve in record.curves.items():
                mean, stderr = mean_and_error(curve)
                columns = {
                    "policy": label,
                    "measure": name,
                    "round": self.rounds,
                    "mean": mean,
                    "stderr": stderr,
                }
                cuts = dict(zip((f"q{q:g}" for q in quantiles), np.quantile(curve, quantiles, axis=1), strict=True))
                frames.append(pd.DataFrame(columns | cuts))
        return pd.concat(frames, ignore_index=True)

    def final(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Mean and standard error of every measure, and the selection fractions, at the horizon, by label."""
        table: dict[str, dict[str, dict[str, Any]]] = {}
        for label, record in self.records.items():
            table[label] = {}
            for name in MEASURES:
                if name in record.curves:
                    mean, stderr = mean_and_error(record.curves[name][-1:])
                    table[label][name] = {"mean": float(mean[0]), "stderr": float(stderr[0])}
            mean, stderr = mean_and_error(record.pulls[-1].T / self.rounds[-1])
            table[label]["selection_fractions"] = {"mean": mean.tolist(), "stderr": stderr.tolist()}
        return table

    def to_json(self) -> dict[str, Any]:
        """What ``evenhand simulate --json`` prints: `final`, with the arms and the size of the run; null for no
        standard error."""
        run = {name: self.information[name] for name in ("horizon", "lanes", "seed")}
        return {**run, "arms": list(self.names), "policies": _without_nan(self.final())}

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``curves``, ``arms`` and ``estimates.parquet``, each with all that is needed to run it again.

        Each file appears whole or not at all.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        promised = {label: describe(shares) for label, shares in self.promised.items()}
        stamp = self.information | {"names": list(self.names), "promised": promised}
        for name, table in (
            ("curves", self.curves()),
            ("arms", self.arms()),
            ("estimates", self.estimates()),
        ):
            write_whole(folder / f"{name}.parquet", partial(_write_table, table, stamp))
        return folder

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """What `save` wrote.

        Raises:
            DataError: a file is missing, damaged or not Evenhand's.
        """
        from evenhand.describe import rebuild

        folder = Path(folder)
        information, curves = read_table(folder / "curves.parquet")
        others = {}
        for name in ("arms", "estimates"):
            told, others[name] = read_table(folder / f"{name}.parquet")
            if told != information:
                raise DataError(f"{folder / name}.parquet is of another run than curves.parquet beside it")
        arms, estimates = others["arms"], others["estimates"]
        rounds = np.array(information["rounds"], dtype=np.int64)
        shape = (len(rounds), information["lanes"])
        records = {}
        for label in information["policies"]:
            rows = curves[curves["policy"] == label]
            measures = {name: rows[name].to_numpy().reshape(shape) for name in MEASURES if name in rows}
            measures = {name: curve for name, curve in measures.items() if not np.isnan(curve).all()}
            pulls = arms.loc[arms["policy"] == label, "pulls"].to_numpy(dtype=np.int32).reshape(*shape, -1)
            last = estimates[estimates["policy"] == label]
            estimate, worth = (last[name].to_numpy().reshape(shape[1], -1) for name in ("estimate", "worth"))
            records[label] = Record(pulls, measures, estimate, worth)
        promised = {label: rebuild(shares) for label, shares in information.pop("promised").items()}
        return cls(records, rounds, tuple(information.pop("names")), promised, information)


def mean_and_error(values: NDArray[Any]) -> tuple[Array, Array]:
    """Mean and standard error over the last axis; the error is NaN for a single lane."""
    lanes = values.shape[-1]
    spread = np.full(values.shape[:-1], np.nan) if lanes < 2 else values.std(axis=-1, ddof=1) / np.sqrt(lanes)
    return values.mean(axis=-1), spread


def run_information(
    policies: Mapping[str, Policy], environment: Environment, lanes: int, seed: int, rounds: NDArray[np.int64]
) -> dict[str, Any]:
    """All that is needed to run a simulation again, as plain JSON values."""
    import pandas
    import scipy

    from evenhand import __version__

    return {
        "format": FORMAT,
        "horizon": int(rounds[-1]),
        "lanes": lanes,
        "seed": seed,
        "rounds": rounds.tolist(),
        "environment": describe(environment),
        "policies": {label: describe(policy) for label, policy in policies.items()},
        "versions": {
            "evenhand": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "pandas": pandas.__version__,
        },
    }


def read_table(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """A table that `Results.save` wrote, with its information.

    Raises:
        DataError: the file is missing, damaged or not Evenhand's.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # What a damaged file makes the reader raise; the checksums of the pages find what would be read as other numbers.
    damage = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        stamp = (table.schema.metadata or {}).get(b"evenhand")
        information = None if stamp is None else json.loads(stamp)
        frame = table.to_pandas()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except damage as error:
        raise DataError(f"{path} is damaged or not a Parquet file: {error}") from None
    if not isinstance(information, dict):
        raise DataError(f"{path} is a Parquet file, but not one that Evenhand wrote")
    if information.get("format") != FORMAT:
        raise DataError(f"{path} has format {information.get('format')!r}, this version reads format {FORMAT}")
    return information, frame


def check_folder(folder: Path) -> None:
    """Make the folder, and complain before any work if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".evenhand-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise EvenhandError(
            f"cannot write to the folder {folder}: {error.strerror or error}; choose another with --out"
        ) from None


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write(temporary path)`` write a file, and put it in its place only when it is whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _categories(codes: NDArray[Any], names: tuple[str, ...]) -> Any:
    import pandas as pd

    make: Any = pd.Categorical.from_codes  # the stubs know no arrays of codes
    return make(codes, list(names))


def _write_table(table: pd.DataFrame, information: dict[str, Any], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    stamp = {**(arrow.schema.metadata or {}), b"evenhand": json.dumps(information, allow_nan=False).encode()}
    pq.write_table(arrow.replace_schema_metadata(stamp), path, write_page_checksum=True)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
