"""Runs sweeps: every setting of a study, what is finished is kept and never run twice."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.studies.pool import Pool
from evenhand.studies.progress import Progress
from evenhand.studies.results import SweepResults
from evenhand.studies.store import Store
from evenhand.studies.study import Study
from evenhand.studies.units import Builder, Unit, units_of


def sweep(
    study: str | os.PathLike[str] | Mapping[str, object] | Study,
    axes: Mapping[str, object] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    backend: str = "local",
    address: str = "",
    shard: str | None = None,
    again: bool = False,
    progress: bool | None = None,
) -> SweepResults:
    """Run every setting of a study.

    Every policy in every setting is a unit of work. Its result is kept in ``out`` as soon as it is finished (that of
    short units together, every twentieth of a second), and is never run twice: a command that was interrupted or killed
    continues, and a study that was changed runs only what is new. Units that are equal, such as a policy that does not
    have the parameter that varies, are run once. A unit that fails is reported with its error and stops no other; the
    next run tries it again.

    Results are the same for every backend and number of processes.

    Args:
        study: path of a TOML file with a section ``[sweep]``, a configuration as nested dictionaries, whose values vary
            along ``axes`` or as its table ``sweep`` says, or a `Study`.
        axes: values by path, such as ``{"policies[0].eta": [1, 10]}``; see `Study.of`.
        out: folder of the results; None keeps them in memory.
        jobs: processes; −1 uses every core.
        backend: ``"local"``, ``"dask"`` or ``"ray"``.
        address: of the cluster's scheduler; empty for a cluster that is started on this machine.
        shard: run only one part of the units, such as ``"3/10"``; the parts are joined by `merge`.
        again: whether everything is run anew.
        progress: whether to show progress on standard error; None for only where that is a terminal.

    Raises:
        EvenhandError: the study is wrong, another run is writing to ``out``, or no unit could be run.
        KeyboardInterrupt: interrupted, with a message on how much was done.

    Example:
        >>> from evenhand import sweep
        >>> config = {
        ...     "horizon": 200,
        ...     "lanes": 20,
        ...     "environment": {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.2},
        ...     "policies": [{"algorithm": "fucb"}, {"algorithm": "ucb1"}],
        ... }
        >>> results = sweep(config, {"policies[0].tolerance": [0, 5]})
        >>> table = results.summary("unfairness")
        >>> table[["tolerance", "policy", "mean"]].round(1).to_dict("records")  # doctest: +NORMALIZE_WHITESPACE
        [{'tolerance': 0, 'policy': 'fucb', 'mean': 0.0}, {'tolerance': 0, 'policy': 'ucb1', 'mean': 15.0},
         {'tolerance': 5, 'policy': 'fucb', 'mean': 4.6}, {'tolerance': 5, 'policy': 'ucb1', 'mean': 15.0}]
    """
    if isinstance(study, Mapping):
        study = Study.of(study, axes) if axes else Study.parse(study)
    elif axes:
        raise EvenhandError("axes belong to a configuration as dictionaries; a file has its own [sweep]")
    elif not isinstance(study, Study):
        study = Study.load(study)
    part = _part(shard) if shard else None
    if part is not None and out is None:
        raise EvenhandError("a shard needs a folder for its results: give out")
    pool = Pool(jobs, backend, address)
    holder = nullcontext(out) if out is not None else tempfile.TemporaryDirectory(prefix="evenhand-")
    with holder as folder:
        store = Store(Path(folder))
        with store.writing(study, again, shared=part is not None):
            _run_missing(study, store, pool, part, progress)
            results = SweepResults.of(study, store)
            if part is None and out is not None:
                results.save(store.folder)
        return results


def _part(shard: str) -> slice:
    """The units of a part, such as ``3/10``, for a queue that runs each part as a job of its own."""
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise EvenhandError(f"must have the form 3/10, the third of ten parts, got {shard!r}", "shard")
    return slice(int(match[1]) - 1, None, int(match[2]))


def _run_missing(study: Study, store: Store, pool: Pool, part: slice | None, progress: bool | None) -> None:
    """Run the units of a study, or of a part of it, that are not in a store."""
    units = list({unit.key: unit for unit in units_of(study)}.values())[part or slice(None)]
    missing = _missing(units, store)
    seen = Progress(len(units), len(units) - len(missing), sum(unit.steps for unit in missing))
    builder = Builder(study.folder)
    try:
        with seen.shown(pool, progress):
            for done in pool.run(missing, builder):
                store.save(done)
                seen.see(done)
    except KeyboardInterrupt:
        kept = seen.kept + seen.done - seen.failed
        raise KeyboardInterrupt(f"interrupted: {kept:,} of {seen.total:,} units are done and kept") from None


def _missing(units: list[Unit], store: Store) -> list[Unit]:
    """The units that have no result, those of a run together, the longest first, so that none is left for the end."""
    finished = store.finished()
    return sorted((unit for unit in units if unit.key not in finished), key=lambda unit: (-unit.steps, unit.run))


def merge(out: str | os.PathLike[str], *folders: str | os.PathLike[str]) -> SweepResults:
    """Join the results of the parts of a study and write its tables."""
    target, others = Store(Path(out)), [Store(Path(folder)) for folder in folders]
    study = (others[0] if others else target).study()
    for other in others:
        if other.study().to_json() != study.to_json():
            raise EvenhandError(f"{other.folder} is of another study than {others[0].folder}")
    with target.writing(study):
        for other in others:
            target.take(other)
        results = SweepResults.of(study, target)
        results.save(target.folder)
    return results


@dataclass(frozen=True)
class Status:
    """How far a sweep is."""

    settings: int
    units: int
    finished: int
    failed: dict[str, dict[str, str]]
    other: int
    missing: int


def status(out: str | os.PathLike[str]) -> Status:
    """How far the sweep in a folder is; it may be running."""
    store = Store(Path(out))
    study = store.study()
    keys = {unit.key for unit in units_of(study)}
    finished = store.finished()
    failed = {key: facts for key, facts in store.failures().items() if key in keys - finished}
    missing = len(keys - finished - set(failed))
    return Status(len(study), len(keys), len(keys & finished), failed, len(finished - keys), missing)
