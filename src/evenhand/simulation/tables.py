"""What a simulation found: tidy tables, summaries, and files from which it can be run again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.files import path_of, write_whole
from evenhand.core.parts import plain
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_error
from evenhand.simulation.books import in_force, pages_of
from evenhand.simulation.files import read_table, without_infinities, write_table
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.metrics import Measure
from evenhand.simulation.segments import COUNTS
from evenhand.simulation.setup import Setup, setup_of

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.05, 0.5, 0.95)
#: Arrays of a result whose first axis is the lanes; of the others it is the second.
BY_LANE = ("estimate", "score", "segments")
CURVE = "curve "  # in front of the names of measures, among the arrays of a result


@dataclass(frozen=True, eq=False)
class PolicyResult:
    """Plays and measures of one policy."""

    pulls: NDArray[np.int32]  # (checkpoints, lanes, arms) plays up to each checkpoint
    curves: dict[str, Array]  # measure → (checkpoints, lanes)
    estimate: Array  # (lanes, arms) mean of the rewards that arrived, at the end, in the user's unit; NaN for none
    score: Array  # (lanes, arms) score of the arms for the round after the last
    segments: Array | None = None  # (lanes, 5, segments, arms) the `COUNTS` of segments at the end; None without any

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds, by name, for a file; `of_arrays` is the way back."""
        named = {CURVE + name: curve for name, curve in self.curves.items()}
        counts = {} if self.segments is None else {"segments": self.segments}
        return {"pulls": self.pulls, "estimate": self.estimate, "score": self.score, **counts, **named}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PolicyResult:
        """The result that has these arrays.

        Args:
            arrays: as `arrays` gives them; others are left aside.

        Raises:
            KeyError: one is missing.
        """
        curves = {name.removeprefix(CURVE): arrays[name] for name in arrays if name.startswith(CURVE)}
        counts = arrays.get("segments")
        return cls(arrays["pulls"], curves, arrays["estimate"], arrays["score"], counts)


class JoinedResult:
    """The results of blocks of lanes, side by side; each is copied as it comes, and is not needed any more then."""

    def __init__(self, spans: Sequence[slice]) -> None:
        """No block is there yet."""
        self._spans = spans
        self._missing = len(spans)
        self._whole: dict[str, NDArray[Any]] = {}

    def put(self, place: int, block: PolicyResult) -> PolicyResult | None:
        """Take in a block."""
        if len(self._spans) == 1:
            return block
        for name, array in block.arrays.items():
            lanes: tuple[slice, ...] = (self._spans[place],) if name in BY_LANE else (slice(None), self._spans[place])
            if name not in self._whole:
                shape = list(array.shape)
                shape[len(lanes) - 1] = self._spans[-1].stop
                self._whole[name] = np.empty(shape, array.dtype)
            self._whole[name][lanes] = array
        self._missing -= 1
        return None if self._missing else PolicyResult.of_arrays(self._whole)


@dataclass(frozen=True, eq=False, repr=False)
class ResultTables:
    """What a simulation found, for every policy by its label, as arrays and tables."""

    policies: dict[str, PolicyResult]
    rounds: NDArray[np.int64]  # (checkpoints,)
    names: tuple[str, ...]  # of the arms
    promised: dict[str, Array | None]  # label → (arms,) or (lanes, arms), the shares that a policy is judged by
    information: dict[str, Any]  # configuration, seed and versions, as plain JSON values
    own: dict[str, Measure] = field(default_factory=dict)  # measures of the user's own metrics, by name
    omitted: dict[str, dict[str, str]] = field(default_factory=dict)  # label → measure → why it could not be computed

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures that any policy has, in the order in which they are shown."""
        known = {name: metric.measure for name, metric in MEASURES.items()} | self.own
        return {
            name: measure
            for name, measure in known.items()
            if any(name in result.curves for result in self.policies.values())
        }

    def __repr__(self) -> str:
        """Policies and size, on one line."""
        run = self.information
        size = f"{run['horizon']} rounds, {run['lanes']} lanes, {len(self.names)} arms"
        return f"<Results of {', '.join(self.policies)}: {size}>"

    def curves(self) -> pd.DataFrame:
        """A row for each policy, lane and checkpoint, a column for each measure (missing where it is not defined).

        Returns:
            Columns ``policy``, ``lane``, ``round``, and the names of the measures.
        """

        def columns(label: str, result: PolicyResult) -> dict[str, Any]:
            lanes = result.pulls.shape[1]
            lane, round = np.tile(np.arange(lanes, dtype=np.int32), len(self.rounds)), np.repeat(self.rounds, lanes)
            return {"lane": lane, "round": round, **{name: curve.ravel() for name, curve in result.curves.items()}}

        return self._table(columns)[["policy", "lane", "round", *self.measures]]

    def arms(self) -> pd.DataFrame:
        """A row for each policy, lane, checkpoint and arm: plays, share of the rounds, and the share promised.

        Returns:
            Columns ``policy``, ``lane``, ``round``, ``arm``, ``pulls``, ``fraction`` and ``promised``.
        """

        def columns(label: str, result: PolicyResult) -> dict[str, Any]:
            _, lanes, arms = result.pulls.shape
            shares, pages = self.promised[label], pages_of(self.information, label)
            if pages:
                shares = np.array([np.atleast_2d(page.promised.fractions) for page in in_force(pages, self.rounds)])
            promised = np.nan if shares is None else np.broadcast_to(shares, result.pulls.shape).ravel()
            round = np.repeat(self.rounds, lanes * arms)
            return {
                "lane": np.tile(np.repeat(np.arange(lanes, dtype=np.int32), arms), len(self.rounds)),
                "round": round,
                "arm": _categories(np.tile(np.arange(arms), len(self.rounds) * lanes), self.names),
                "pulls": result.pulls.ravel(),
                "fraction": result.pulls.ravel() / round,
                "promised": promised,
            }

        return self._table(columns)

    def estimates(self) -> pd.DataFrame:
        """A row for each policy, lane and arm: the mean of its rewards and its score, at the end.

        Returns:
            Columns ``policy``, ``lane``, ``arm``, ``estimate`` and ``score``.
        """

        def columns(label: str, result: PolicyResult) -> dict[str, Any]:
            lanes, arms = result.estimate.shape
            return {
                "lane": np.repeat(np.arange(lanes, dtype=np.int32), arms),
                "arm": _categories(np.tile(np.arange(arms), lanes), self.names),
                "estimate": result.estimate.ravel(),
                "score": result.score.ravel(),
            }

        return self._table(columns)

    def segments(self) -> pd.DataFrame:
        """A row for each policy, lane, segment of the rounds and arm, at the end; none in an environment without any.

        Returns:
            Columns ``policy``, ``lane``, ``segment`` and ``arm``; the ``share`` that is promised of the rounds of the
            segment, 0 for none; the ``rounds`` of the segment and the ``plays`` in it; of these the rounds ``since``
            the promise began and the plays ``made`` since then; and the plays that are ``missing``, negative where
            there are more.
        """

        def columns(label: str, result: PolicyResult) -> dict[str, Any]:
            if result.segments is None:
                return {name: [] for name in ("lane", "segment", "arm", "share", *COUNTS)}
            promised, (lanes, _, segments, arms) = (
                self.information["promises"][label]["segments"],
                result.segments.shape,
            )
            counts = {name: result.segments[:, place].ravel() for place, name in enumerate(COUNTS)}
            return {
                "lane": np.repeat(np.arange(lanes, dtype=np.int32), segments * arms),
                "segment": _categories(np.tile(np.repeat(np.arange(segments), arms), lanes), promised["names"]),
                "arm": _categories(np.tile(np.arange(arms), lanes * segments), self.names),
                "share": np.tile(np.ravel(promised["shares"]), lanes),
                **counts,
            }

        return self._table(columns)

    @property
    def _tables(self) -> dict[str, Callable[[], pd.DataFrame]]:
        """The tables that are saved, by the names of their files."""
        counted = any(result.segments is not None for result in self.policies.values())
        named = {"curves": self.curves, "arms": self.arms, "estimates": self.estimates}
        return named | ({"segments": self.segments} if counted else {})

    def _table(self, columns: Callable[[str, PolicyResult], dict[str, Any]]) -> pd.DataFrame:
        """The rows of all policies, by what gives the columns of one, with its label in front."""
        import pandas as pd

        frames = [pd.DataFrame({"policy": label} | columns(label, result)) for label, result in self.policies.items()]
        return pd.concat(frames, ignore_index=True).astype({"policy": "category"})

    def summary(self, quantiles: Sequence[float] = QUANTILES) -> pd.DataFrame:
        """Mean, standard error and quantiles over the lanes, for each policy, checkpoint and measure.

        Args:
            quantiles: in [0, 1].

        Returns:
            One row per policy, checkpoint and measure.
        """
        import pandas as pd

        frames = []
        for label, result in self.policies.items():
            for name, curve in result.curves.items():
                mean, stderr = mean_and_error(curve)
                columns = {"policy": label, "measure": name, "round": self.rounds, "mean": mean, "stderr": stderr}
                cuts = dict(zip((f"q{q:g}" for q in quantiles), np.quantile(curve, quantiles, axis=1), strict=True))
                frames.append(pd.DataFrame(columns | cuts))
        return pd.concat(frames, ignore_index=True)

    def tidy(self) -> pd.DataFrame:
        """All results as one long table: a row for each policy, lane, checkpoint and measure, and for each arm's share.

        Returns:
            ``policy``, ``lane``, ``round``, ``measure`` (``share`` for those of the arms), ``arm`` (missing where the
            measure is of all arms) and ``value``.

        Example:
            >>> from evenhand import Environment, simulate
            >>> from evenhand.algorithms import ucb1
            >>> from evenhand.rewards import Bernoulli
            >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=100, lanes=5, checkpoints=2)
            >>> results.tidy().groupby("measure", observed=True).size().to_dict()
            {'regret': 10, 'reward': 10, 'share': 20, 'time_averaged_regret': 10}
        """
        import pandas as pd

        keys = ["policy", "lane", "round"]
        curves = self.curves().melt(id_vars=keys, var_name="measure", value_name="value").dropna(subset="value")
        shares = self.arms()[[*keys, "arm", "fraction"]].rename(columns={"fraction": "value"})
        return pd.concat([curves, shares.assign(measure="share")], ignore_index=True).astype(
            {"policy": "category", "measure": "category"}
        )[[*keys, "measure", "arm", "value"]]

    def final(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Mean and standard error of every measure, and the selection fractions, at the horizon, by label.

        Returns:
            ``mean`` and ``stderr`` by label and measure: numbers in the measure's unit, and for ``selection_fractions``
            lists with one entry per arm. The standard error is NaN for a single lane.
        """
        table: dict[str, dict[str, dict[str, Any]]] = {}
        for label, result in self.policies.items():
            table[label] = {}
            for name in self.measures:
                if name in result.curves:
                    mean, stderr = mean_and_error(result.curves[name][-1:])
                    table[label][name] = {"mean": float(mean[0]), "stderr": float(stderr[0])}
            mean, stderr = mean_and_error(result.pulls[-1].T / self.rounds[-1])
            table[label]["selection_fractions"] = {"mean": mean.tolist(), "stderr": stderr.tolist()}
        return table

    def to_json(self) -> dict[str, Any]:
        """The values that ``evenhand simulate --json`` prints: `final`, with the arms and the size of the run; null
        where there is no standard error.

        Returns:
            ``horizon``, ``lanes``, ``seed``, ``arms``, and ``policies`` with the values of `final`; ``omitted`` where
            measures are not defined.
        """
        run = {name: self.information[name] for name in ("horizon", "lanes", "seed")}
        omitted = {"omitted": self.omitted} if any(self.omitted.values()) else {}
        return {**run, "arms": list(self.names), "policies": without_infinities(self.final()), **omitted}

    def setup(self, **overrides: int | None) -> Setup:
        """The arguments with which `evenhand.compare` gives these results again.

        Args:
            overrides: ``seed``, ``lanes`` or ``horizon`` in place of those of the run.

        Raises:
            ConfigurationError: a part is not registered, or an override does not fit what was run.

        Example:
            >>> from evenhand import Environment, simulate
            >>> from evenhand.algorithms import ucb1
            >>> from evenhand.rewards import Bernoulli
            >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=100, lanes=5, seed=3)
            >>> setup = results.setup(lanes=50)
            >>> setup.seed, setup.lanes, list(setup.policies)
            (3, 50, ['ucb1'])
        """
        return setup_of(self.information, **overrides)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``curves``, ``arms`` and ``estimates.parquet``, each with all that is needed to run it again.

        With segments, also ``segments.parquet``.

        Each file appears whole or not at all.

        Args:
            folder: to write to, which is made if it does not exist.

        Returns:
            The folder.
        """
        folder = path_of(folder, "folder")
        folder.mkdir(parents=True, exist_ok=True)
        stamp = self.information | {
            "names": list(self.names),
            "promised": {label: plain(shares) for label, shares in self.promised.items()},
            "own": {name: [measure.label, measure.unit] for name, measure in self.own.items()},
            "omitted": self.omitted,
        }
        (folder / "segments.parquet").unlink(missing_ok=True)  # of an earlier run
        for name, table in self._tables.items():
            write_whole(folder / f"{name}.parquet", partial(write_table, table(), stamp))
        return folder

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """The results that `save` wrote.

        Args:
            folder: of the files.

        Raises:
            DataError: a file is missing, damaged or not Evenhand's.
        """
        folder = path_of(folder, "folder")
        information, curves = read_table(folder / "curves.parquet")
        others = {}
        counted = any("segments" in one for one in information.get("promises", {}).values())
        for name in ("arms", "estimates", *(("segments",) if counted else ())):
            same, others[name] = read_table(folder / f"{name}.parquet")
            if same != information:
                raise DataError(
                    f"{folder / name}.parquet belongs to a different run than curves.parquet in the same folder"
                )
        try:
            return cls._of_tables(information, curves, **others)
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(f"{folder} does not have the tables of a run: {error!r}") from None

    @classmethod
    def _of_tables(
        cls,
        information: dict[str, Any],
        curves: pd.DataFrame,
        arms: pd.DataFrame,
        estimates: pd.DataFrame,
        segments: pd.DataFrame | None = None,
    ) -> Self:
        own = {name: Measure(name, *described) for name, described in information.pop("own").items()}
        promised = {
            label: None if shares is None else np.array(shares, dtype=float)
            for label, shares in information.pop("promised").items()
        }
        rounds = np.array(information["rounds"], dtype=np.int64)
        shape = (len(rounds), information["lanes"])
        policies = {}
        for label in information["policies"]:
            rows = curves[curves["policy"] == label]
            measures = {name: rows[name].to_numpy().reshape(shape) for name in (*MEASURES, *own) if name in rows}
            measures = {name: curve for name, curve in measures.items() if not np.isnan(curve).all()}
            pulls = arms.loc[arms["policy"] == label, "pulls"].to_numpy(dtype=np.int32).reshape(*shape, -1)
            last = estimates[estimates["policy"] == label]
            estimate, score = (last[name].to_numpy().reshape(shape[1], -1) for name in ("estimate", "score"))
            counts = None
            if segments is not None:
                rows, size = segments[segments["policy"] == label], (shape[1], -1, pulls.shape[-1])
                counts = np.stack([rows[name].to_numpy(dtype=float).reshape(size) for name in COUNTS], axis=1)
            policies[label] = PolicyResult(pulls, measures, estimate, score, counts)
        names, omitted = tuple(information.pop("names")), information.pop("omitted")
        return cls(policies, rounds, names, promised, information, own, omitted)


def _categories(codes: NDArray[Any], names: tuple[str, ...]) -> Any:
    import pandas as pd

    make: Any = pd.Categorical.from_codes  # the stubs know no arrays of codes
    return make(codes, list(names))
