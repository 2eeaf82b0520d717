"""The folder of a sweep: the results of units, each in a file of its own, which appears whole or not at all."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.files import alone_in, check_folder, write_whole
from evenhand.core.parts import plain
from evenhand.simulation.code_version import code_version, named
from evenhand.simulation.metrics import Measure
from evenhand.simulation.results import Results
from evenhand.simulation.tables import PolicyResult
from evenhand.studies.configuration import parse
from evenhand.studies.study import Study
from evenhand.studies.units import Failure, Unit, UnitResult, strings_in

FORMAT = 1
RUN = ("horizon", "lanes", "seed", "rounds", "versions")  # that is kept of the information on a run


@dataclass(frozen=True)
class Store:
    """The folder of a sweep: ``study.json``, ``units/`` with results and ``failed/`` with errors."""

    folder: Path

    @property
    def units(self) -> Path:
        """The folder of the results."""
        return self.folder / "units"

    @property
    def failed(self) -> Path:
        """The folder of the errors."""
        return self.folder / "failed"

    @contextmanager
    def writing(self, study: Study, again: bool = False, shared: bool = False) -> Iterator[None]:
        """Hold the folder for a run of a study."""
        check_folder(self.folder)
        with alone_in(self.folder, shared):
            for folder in (self.units, self.failed):
                folder.mkdir(exist_ok=True)
            code, before = code_of(study), self._description()
            if before is not None and before["code"] != code and not again and self.finished():
                raise EvenhandError(
                    f"{self.folder} holds results of another version ({before['code']}), this is {code}: "
                    "give another folder with --out, or --again to run everything anew"
                )
            if not shared:
                self._clean(again)
            description = {"format": FORMAT, "code": code, "folder": str(study.folder.resolve())}
            write_whole(self.folder / "study.json", partial(_write_json, {**description, "study": study.to_json()}))
            yield

    def study(self) -> Study:
        """The study that was run last."""
        description = self._description()
        if description is None:
            raise DataError(f"{self.folder} is not the folder of a sweep: it has no study.json")
        return Study.parse(description["study"], description["folder"])

    def finished(self) -> set[str]:
        """Keys of the units whose results are there."""
        return {path.stem for path in self.units.glob("[!.]*.npz")} if self.units.is_dir() else set()

    def failures(self) -> dict[str, dict[str, str]]:
        """What failed, by key: ``error``, ``setting``, ``policy`` and ``trace``."""
        if not self.failed.is_dir():
            return {}
        return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(self.failed.glob("[!.]*.json"))}

    def save(self, unit: Unit, result: UnitResult | Failure) -> None:
        """Keep what became of a unit."""
        error = self.failed / f"{unit.key}.json"
        if isinstance(result, Failure):
            facts = {"error": result.error, "setting": str(unit.setting), "policy": unit.label, "trace": result.trace}
            write_whole(error, partial(_write_json, facts))
        else:
            write_whole(self.units / f"{unit.key}.npz", partial(_write, result))
            error.unlink(missing_ok=True)

    def load(self, key: str) -> UnitResult:
        """The result of a unit."""
        path = self.units / f"{key}.npz"
        try:
            return _read(path)
        except FileNotFoundError:
            raise DataError(f"there is no file {path}") from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is damaged ({error}); remove it, and the sweep runs it again") from None

    def take(self, other: Store) -> int:
        """Copy the results of another folder that are not here."""
        code, theirs = code_of(other.study()), (other._description() or {})["code"]
        if theirs != code:
            raise DataError(f"{other.folder} holds results of another version ({theirs}), not {code}")
        new = sorted(other.finished() - self.finished())
        for key in new:
            write_whole(self.units / f"{key}.npz", partial(shutil.copyfile, other.units / f"{key}.npz"))
            (self.failed / f"{key}.json").unlink(missing_ok=True)
        known = self.finished()
        for key, facts in other.failures().items():
            if key not in known:
                write_whole(self.failed / f"{key}.json", partial(_write_json, facts))
        return len(new)

    def _description(self) -> dict[str, Any] | None:
        path = self.folder / "study.json"
        try:
            description: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is damaged: {error}") from None
        if description.get("format") != FORMAT:
            raise DataError(f"{path} has format {description.get('format')!r}, but this version reads format {FORMAT}")
        return description

    def _clean(self, again: bool) -> None:
        """Remove what a run that was killed left unfinished; all results where everything is run anew."""
        for folder in (self.folder, self.units, self.failed):
            for path in folder.glob(".*"):
                if path.suffix in (".npz", ".json", ".parquet") and path.is_file():
                    path.unlink(missing_ok=True)
        if again:
            for path in (*self.units.glob("*.npz"), *self.failed.glob("*.json")):
                path.unlink(missing_ok=True)


def code_of(study: Study) -> str:
    """The version of the code that runs what a study names."""
    return code_version(parse, named(strings_in(study.to_json())))


def _write_json(value: object, path: Path) -> None:
    path.write_text(json.dumps(value, indent=1, default=plain), "utf-8")


def _write(result: UnitResult, path: Path) -> None:
    results, policy = result.results, result.policy
    (label,) = results.policies
    promised = results.promised[label]
    about = {
        "label": label,
        "names": results.names,
        "own": {name: [measure.label, measure.unit] for name, measure in results.own.items()},
        "omitted": results.omitted[label],
        "seconds": result.seconds,
        "run": {name: results.information[name] for name in RUN},
    }
    arrays: dict[str, Any] = {"rounds": results.rounds, **policy.arrays}
    if promised is not None:
        arrays["promised"] = promised
    with path.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about, default=plain)), **arrays)


def _read(path: Path) -> UnitResult:
    with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        policy = PolicyResult.of_arrays(file)
        promised = file["promised"] if "promised" in file.files else None
        rounds = file["rounds"]
    label = about["label"]
    results = Results(
        {label: policy},
        rounds,
        tuple(about["names"]),
        {label: promised},
        about["run"],
        {name: Measure(name, *described) for name, described in about["own"].items()},
        {label: about["omitted"]},
    )
    return UnitResult(results, about["seconds"])
