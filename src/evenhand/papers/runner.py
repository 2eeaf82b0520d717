"""Runs experiments and keeps their results, so that nothing is run twice."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.files import write_whole
from evenhand.papers import origin
from evenhand.papers.experiment import CompletedRun, Experiment, QuickSize, Runs
from evenhand.simulation.code_version import code_version
from evenhand.simulation.parallel import metered
from evenhand.simulation.results import Results
from evenhand.simulation.setup import Setup, run_information
from evenhand.simulation.simulate import checkpoint_rounds, compare, run_setup
from evenhand.simulation.tables import PolicyResult
from evenhand.studies.configuration import parse

TIMINGS = 5  # of each policy, where the experiment is about time
UNFINISHED = "unfinished"  # the folder with the policies that are finished, of a run that is not


@dataclass(frozen=True, eq=False)
class Store:
    """The folder with the results of one size."""

    folder: Path  # with a folder for every configuration
    quick: bool = False  # whether the reduced sizes are run
    data: Mapping[str, Path] = field(default_factory=dict)  # the user's files by kind
    jobs: int = 1  # processes
    again: bool = False  # whether what is there is run once more

    def run(self, experiment: Experiment, report: Callable[[str], None] = lambda line: None) -> Runs:
        """The runs of an experiment: those that are there as they are, the others now."""
        runs = {}
        for number, part in enumerate(experiment.parts, start=1):
            setup = self.setup(experiment, part)
            run = None if self.again else self._kept(experiment, part, setup)
            if run is None:
                report(f"{part}, {number} of {len(experiment.parts)}")
                run = self._made(experiment, part, setup)
            runs[part] = run
        return runs

    def setup(self, experiment: Experiment, part: str) -> Setup:
        """What a configuration of an experiment describes, at the size of this store and on the user's data."""
        folder = files("evenhand.papers") / experiment.paper
        config = tomllib.loads((folder / f"{part}.toml").read_text(encoding="utf-8"))
        for need in experiment.data:
            if need.kind in self.data:
                config = need.put(config, self.data[need.kind])
        if self.quick:
            config = _reduced(config, experiment.quick)
        try:
            return parse(config)
        except EvenhandError as error:
            raise type(error)(f"{experiment.id}, {part}: {error}") from None

    def reduces(self, experiment: Experiment) -> bool:
        """Whether an experiment is run in a reduced size, which can contradict nothing."""
        return self.quick and experiment.quick is not None

    def code(self, experiment: Experiment) -> str:
        """The version of the code that an experiment runs."""
        return code_of(*(self.setup(experiment, part) for part in experiment.parts))

    def place(self, part: str) -> Path:
        """The folder of a configuration's results."""
        return self.folder / "results" / part

    def data_of(self, experiment: Experiment) -> str:
        """What an experiment about real data ran on, in words."""
        return " ".join(
            f"The user's {need.kind} data." if need.kind in self.data else need.instead for need in experiment.data
        )

    def stamp(self, part: str) -> dict[str, Any]:
        """What is recorded of a configuration's results: their key, the code and its commit, the date, the seed, the
        machine and its load before the run, how long it took, and its processor time.
        """
        path = self.place(part) / "run.json"
        try:
            stamp: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise DataError(f"{path} is damaged; remove {path.parent}, and it is run again") from None
        return stamp

    def is_there(self, experiment: Experiment) -> bool:
        """Whether all of its configurations have been run, by whatever version."""
        return all((self.place(part) / "run.json").is_file() for part in experiment.parts)

    def _kept(self, experiment: Experiment, part: str, setup: Setup) -> CompletedRun | None:
        place = self.place(part)
        if not (place / "run.json").is_file():
            return None
        stamp = self.stamp(part)
        if stamp.get("code") != (code := code_of(setup)):
            raise EvenhandError(
                f"{place} holds results of another version ({stamp.get('code', 'unknown')}), this is {code}: "
                "give another folder with --out, or --again to run everything anew"
            )
        if stamp["key"] != key(setup) or (experiment.timed and not stamp["seconds"]):
            return None
        return CompletedRun(Results.load(place), setup, stamp["seconds"])

    def _made(self, experiment: Experiment, part: str, setup: Setup) -> CompletedRun:
        began, load = time.perf_counter(), origin.load()
        place = self.place(part)
        if self.again:
            shutil.rmtree(place / UNFINISHED, ignore_errors=True)
        with metered() as processor:
            finished = _Finished(place / UNFINISHED / f"{key(setup)}-{code_of(setup)}", list(setup.policies))
            results = run_setup(setup, jobs=self.jobs, kept=finished)
            seconds = _times(setup) if experiment.timed else {}
        stamp = {
            "key": key(setup),
            "code": code_of(setup),
            "seconds": seconds,
            "took": round(time.perf_counter() - began, 1),
            "processor": round(sum(processor), 1),
            "date": datetime.now(UTC).date().isoformat(),
            "seed": setup.seed,
            "commit": origin.commit(),
            "machine": origin.machine(),
            "load": load,
        }
        shutil.rmtree(place, ignore_errors=True)
        results.save(place)
        # Written last and at once: it marks the results as complete.
        text = json.dumps(stamp, indent=2)
        write_whole(place / "run.json", lambda path: path.write_text(text, "utf-8"))
        return CompletedRun(results, setup, seconds)


class _Finished(MutableMapping[str, PolicyResult]):
    """Policies of a run under way that are finished, each in a file: an interrupted run goes on after them."""

    def __init__(self, folder: Path, labels: list[str]) -> None:
        self._folder, self._labels = folder, labels

    def _path(self, label: str) -> Path:
        return self._folder / f"{self._labels.index(label)}.npz"

    def __getitem__(self, label: str) -> PolicyResult:
        path = self._path(label)
        if not path.is_file():
            raise KeyError(label)
        try:
            with np.load(path, allow_pickle=False) as file:
                return PolicyResult.of_arrays(file)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            raise DataError(f"{path} is damaged; remove it, and it is run again") from None

    def __setitem__(self, label: str, result: PolicyResult) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = result.arrays
        write_whole(self._path(label), lambda path: np.savez(path, **arrays))

    def __delitem__(self, label: str) -> None:
        self._path(label).unlink()

    def __iter__(self) -> Iterator[str]:
        return (label for label in self._labels if self._path(label).is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, label: object) -> bool:
        return label in self._labels and self._path(str(label)).is_file()


def key(setup: Setup) -> str:
    """What a result depends on besides the code: policies, environment, size, seed and checkpoints, as one digest."""
    rounds = checkpoint_rounds(setup.horizon, setup.checkpoints, setup.spacing)
    information = run_information(setup.policies, setup.environment, setup.lanes, setup.seed, rounds)
    del information["versions"]
    return hashlib.sha256(json.dumps(information, sort_keys=True).encode()).hexdigest()[:16]


def code_of(*setups: Setup) -> str:
    """The version of the code that configurations run."""
    return code_version([(setup.policies, setup.environment, setup.metrics) for setup in setups])


def timed_rounds(setup: Setup) -> int:
    """How many rounds are timed."""
    return max(50, setup.horizon // 10)


def _times(setup: Setup) -> dict[str, list[float]]:
    """The processor times that every policy took on its own in this process, in turn with the others."""
    seconds: dict[str, list[float]] = {label: [] for label in setup.policies}
    for _ in range(TIMINGS + 1):
        for label, policy in setup.policies.items():
            began = time.process_time()
            compare({label: policy}, setup.environment, timed_rounds(setup), setup.lanes, setup.seed, progress=False)
            seconds[label].append(round(time.process_time() - began, 3))
    # The first time pays for what is loaded and compiled on first use.
    return {label: times[1:] for label, times in seconds.items()}


def _reduced(config: dict[str, Any], size: QuickSize | None) -> dict[str, Any]:
    if size is None:
        return config
    horizon = config["horizon"] if size.horizon is None else min(size.horizon, config["horizon"])
    reduced = config | {"horizon": horizon, "lanes": min(size.lanes, config.get("lanes", size.lanes))}
    checkpoints = config.get("checkpoints")
    if isinstance(checkpoints, Sequence):
        reduced["checkpoints"] = [round for round in checkpoints if round < horizon] + [horizon]
    return reduced
