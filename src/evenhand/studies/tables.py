"""What the finished units of a sweep have: tidy tables, paired differences, and files that others read as one table."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand.algorithms.build import short
from evenhand.core.errors import EvenhandError, nearest, number_of
from evenhand.core.files import write_whole
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_error, student
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.metrics import Measure
from evenhand.simulation.results import Results
from evenhand.simulation.setup import run_information
from evenhand.simulation.verdicts import cases_of
from evenhand.studies.packed import UnitResult
from evenhand.studies.store import Store
from evenhand.studies.study import Setting, Study
from evenhand.studies.units import Builder, Unit, units_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class SweepTables:
    """The tables of the finished units of a study."""

    study: Study  # that was run
    units: list[Unit]  # every unit of every setting; equal ones have one result
    by_key: dict[str, UnitResult]  # results of the finished units
    failures: dict[str, dict[str, str]] = field(default_factory=dict)  # error by key

    @classmethod
    def of(cls, study: Study, store: Store) -> Self:
        """The results in a store.

        Args:
            study: whose units are read.
            store: with their results.

        Raises:
            DataError: a result is damaged.
        """
        units = list(units_of(study))
        keys = {unit.key for unit in units}
        found = store.results(keys)
        failed = {key: facts for key, facts in store.failures().items() if key in keys - found.keys()}
        return cls(study, units, found, failed)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """The results that `evenhand.sweep` kept in a folder, of what is finished.

        Args:
            folder: ``out`` of the sweep.

        Raises:
            DataError: it is not the folder of a sweep, or a file is damaged.
        """
        store = Store(Path(folder))
        return cls.of(store.study(), store)

    def __repr__(self) -> str:
        """Size, on one line."""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        units = number_of(len(self.by_key), "unit")
        return f"<Results of {number_of(len(self.study), 'setting')}: {units} finished{failed}>"

    @property
    def axes(self) -> list[str]:
        """Names of the axes, which are columns of every table."""
        return self.study.names

    @cached_property
    def finished(self) -> list[tuple[Unit, UnitResult]]:
        """The units that are finished, in the order of the study, with their results."""
        return [(unit, self.by_key[unit.key]) for unit in self.units if unit.key in self.by_key]

    @cached_property
    def measures(self) -> list[str]:
        """The measures that any unit has, in the order in which they are shown."""
        found = {name for _, result in self.finished for name in result.policy.curves}
        known = [name for name in MEASURES if name in found]
        return known + sorted(found - set(known))

    def settings(self) -> pd.DataFrame:
        """A row for each setting: its number and the values of the axes.

        Returns:
            Column ``setting``, its number, and one column per axis; lists and tables as text.
        """
        import pandas as pd

        return pd.DataFrame([{"setting": one.number, **_row(one)} for one in self.study.settings()])

    def summary(self, *measures: str) -> pd.DataFrame:
        """A row for each setting, policy, checkpoint and measure: mean and standard error over the lanes.

        Args:
            *measures: names; none for all.

        Returns:
            ``setting``, a column for each axis, ``policy``, ``round``, ``measure``, ``n`` lanes, ``mean``, ``stderr``.

        Raises:
            EvenhandError: there is no such measure.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        asked = self._asked(measures)
        for unit, result in self.finished:
            for name in asked:
                if name not in result.policy.curves:
                    continue
                curve = result.policy.curves[name]
                means, errors = mean_and_error(curve)
                of = _start(unit) | {"measure": name, "n": curve.shape[1]}
                for round, mean, error in zip(result.results.rounds, means, errors, strict=True):
                    rows.append(of | {"round": int(round), "mean": float(mean), "stderr": float(error)})
        columns = ["setting", *self.axes, "policy", "round", "measure", "n", "mean", "stderr"]
        return pd.DataFrame(rows, columns=columns)

    def last(self, *measures: str) -> pd.DataFrame:
        """The summary of measures at the last checkpoint of each setting.

        Args:
            *measures: names; none for all.

        Returns:
            Rows of `summary`.
        """
        rows = self.summary(*measures)
        return rows[rows["round"] == rows.groupby(["setting", "policy"])["round"].transform("max")]

    def lanes(self, *measures: str) -> pd.DataFrame:
        """A row for each setting, policy, checkpoint and lane, a column for each measure.

        Args:
            *measures: names; none for all.

        Returns:
            ``setting``, a column for each axis, ``policy``, ``round``, ``lane`` and the measures.

        Raises:
            EvenhandError: there is no such measure.
        """
        import pandas as pd

        asked = self._asked(measures)
        policies = [result.policy for _, result in self.finished]
        sizes = [policy.pulls.shape[:2] for policy in policies]  # checkpoints, lanes
        starts = pd.DataFrame([_start(unit) for unit, _ in self.finished], columns=["setting", *self.axes, "policy"])
        table = starts.loc[starts.index.repeat([checkpoints * lanes for checkpoints, lanes in sizes])]
        table = table.reset_index(drop=True)
        rounds = [result.results.rounds for _, result in self.finished]
        table["round"] = _joined([np.repeat(one, lanes) for one, (_, lanes) in zip(rounds, sizes, strict=True)])
        table["lane"] = _joined([np.tile(np.arange(lanes, dtype=np.int32), times) for times, lanes in sizes])
        for name in asked:
            empty = (np.full(size, np.nan) for size in sizes)
            curves = [policy.curves.get(name, gap) for policy, gap in zip(policies, empty, strict=True)]
            table[name] = _joined([curve.ravel() for curve in curves])
        return table

    def differences(self, against: str, *measures: str) -> pd.DataFrame:
        """Paired differences of the other policies to one in the same setting, which faced the same rewards.

        Args:
            against: label of the policy to which the differences are.
            *measures: names; none for all.

        Returns:
            ``setting``, a column for each axis, ``policy``, ``round``, ``measure``, ``n`` (lanes), ``mean``,
            ``stderr`` and the 95% interval ``low`` and ``high``, at the last checkpoint.

        Raises:
            EvenhandError: there is no such policy or measure.
        """
        import pandas as pd

        labels = list(dict.fromkeys(unit.label for unit in self.units))
        if against not in labels:
            raise EvenhandError(f"there is no policy {against!r}{nearest(against, labels)}")
        base = {unit.setting.number: result.policy for unit, result in self.finished if unit.label == against}
        rows = []
        asked = self._asked(measures)
        for unit, result in self.finished:
            one, other = result.policy, base.get(unit.setting.number)
            if unit.label == against or other is None:
                continue
            for name in asked:
                if name in one.curves and name in other.curves:
                    difference = one.curves[name][-1] - other.curves[name][-1]
                    last = int(result.results.rounds[-1])
                    rows.append({**_start(unit), "round": last, "measure": name, **_interval(difference)})
        columns = ["setting", *self.axes, "policy", "round", "measure", "n", "mean", "stderr", "low", "high"]
        return pd.DataFrame(rows, columns=columns)

    def promises(self) -> pd.DataFrame:
        """A row for each promise of each policy in each setting: what became of it, at the last checkpoint.

        Returns:
            ``setting``, a column for each axis, ``policy``, ``to`` (an arm or a group), ``share``, ``cap`` (whether it
            is the largest share), ``reward`` (whether a reward per round), ``segment`` (of whose rounds alone it is),
            ``verdict`` (kept, missed or undecided), ``behind``, ``low``, ``high``, ``tolerance`` and ``allowed`` in
            plays, ``parameter``, ``rounds_needed`` and ``lanes_needed``.
        """
        import pandas as pd

        return pd.DataFrame([_start(unit) | one for unit, _ in self.finished for one in self._judged[unit.key]])

    @cached_property
    def _judged(self) -> dict[str, list[dict[str, Any]]]:
        """The judgements of every different unit; those of a run are set up together."""
        builder, found = Builder(self.study.folder), dict[str, list[dict[str, Any]]]()
        different = {unit.key: (unit, result) for unit, result in self.finished}.values()
        for _, group in groupby(sorted(different, key=lambda one: one[0].run), key=lambda one: one[0].run):
            by_key = {unit.key: (unit, result) for unit, result in group}
            run = _run(builder, by_key)
            found |= {key: [one.to_json() for one in cases_of(run, key)] for key in by_key}
        return found

    @cached_property
    def verdicts(self) -> dict[tuple[int, str], str]:
        """What became of all promises together, by the number of the setting and the label of the policy.

        Returns:
            ``"kept"``, ``"missed"`` (any), ``"undecided"``, or an empty string where nothing is promised.
        """
        found = {}
        for unit, _ in self.finished:
            judged = {one["verdict"] for one in self._judged[unit.key]}
            worst = (one for one in ("missed", "undecided", "kept") if one in judged)
            found[unit.setting.number, unit.label] = next(worst, "")
        return found

    def measure(self, name: str) -> Measure:
        """The label and the unit of a measure.

        Args:
            name: of the measure.
        """
        own = {key: one for _, result in self.finished for key, one in result.results.own.items()}
        return MEASURES[name].measure if name in MEASURES else own[name]

    def results(self, setting: int) -> Results:
        """The results of one setting, as `evenhand.compare` returns them, with its plays, figures and verdicts.

        Args:
            setting: its number.

        Raises:
            EvenhandError: there is no such setting, or nothing of it is finished.
        """
        found = {unit.label: (unit, result) for unit, result in self.finished if unit.setting.number == setting}
        if not found:
            raise EvenhandError(f"setting {setting} has no results; there are settings 0 to {len(self.study) - 1}")
        return _run(Builder(self.study.folder), found)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``summary.parquet``, and the values of every lane as ``lanes/``, a folder of Parquet files by policy.

        Readers of many files (pandas, Polars, DuckDB, Spark) open ``lanes/`` as one table.

        Args:
            folder: that exists.
        """
        import pyarrow as pa
        import pyarrow.dataset as dataset

        folder = Path(folder)
        table = _storable(self.summary())
        write_whole(folder / "summary.parquet", lambda path: table.to_parquet(path, index=False))
        with tempfile.TemporaryDirectory(dir=folder, prefix=".lanes-") as temporary:
            lanes = pa.Table.from_pandas(_storable(self.lanes()), preserve_index=False)
            dataset.write_dataset(
                lanes,
                temporary,
                format="parquet",
                partitioning=["policy"],
                partitioning_flavor="hive",
                basename_template="part-{i}.parquet",
            )
            shutil.rmtree(folder / "lanes", ignore_errors=True)
            shutil.move(temporary, folder / "lanes")
            Path(temporary).mkdir()  # which is removed at the end of the block

    def _asked(self, measures: Sequence[str]) -> list[str]:
        known = self.measures
        for name in measures:
            if name not in known:
                hint = nearest(name, known) if known else ", as no unit is finished; `evenhand sweep status` shows why"
                raise EvenhandError(f"there is no measure {name!r}{hint}")
        return list(measures) or known


def _run(builder: Builder, found: Mapping[str, tuple[Unit, UnitResult]]) -> Results:
    """The results of units that face the same, by label."""
    units, kept = zip(*found.values(), strict=True)
    setup, first = builder.setup(*units), next(iter(found.values()))[1].results
    policies = dict(zip(found, setup.policies.values(), strict=True))
    about = setup.environment, setup.lanes, setup.seed, first.rounds, setup.metrics, setup.promises
    return replace(
        first,
        policies={label: one.policy for label, one in zip(found, kept, strict=True)},
        promised={label: next(iter(one.results.promised.values())) for label, one in zip(found, kept, strict=True)},
        omitted={label: next(iter(one.results.omitted.values())) for label, one in zip(found, kept, strict=True)},
        information=run_information(policies, *about),
    )


def _row(setting: Setting) -> dict[str, Any]:
    """The values of the axes; lists and tables as text."""
    return {n: v if isinstance(v, str | int | float) else short(v) for n, v in setting.values.items()}


def _start(unit: Unit) -> dict[str, Any]:
    return {"setting": unit.setting.number, **_row(unit.setting), "policy": unit.label}


def _interval(values: Array) -> dict[str, Any]:
    """Number, mean, standard error and 95% interval of the mean by Student's t."""
    mean, error = (float(one) for one in mean_and_error(values))
    width = student(len(values)) * error
    return {"n": len(values), "mean": mean, "stderr": error, "low": mean - width, "high": mean + width}


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)


def _storable(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose columns have one type each: an axis of numbers and texts becomes texts."""
    mixed = [name for name in table.columns if table[name].dtype == object and table[name].map(type).nunique() > 1]
    return table.astype(dict.fromkeys(mixed, str)) if mixed else table
