"""The folder of a sweep: the results of units, in files that appear whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.files import alone_in, check_folder, write_whole
from evenhand.core.parts import plain
from evenhand.simulation.code_version import code_version, named
from evenhand.studies.configuration import parse
from evenhand.studies.packed import UnitResult, unpacked
from evenhand.studies.study import Study
from evenhand.studies.units import Failure, Result, Unit, strings_in

R = TypeVar("R")
FORMAT = 2
DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError)  # what reading a damaged file raises


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
        return {key for path in self._files() for key in _reading(path, lambda file: _heading(file)["units"])}

    def failures(self) -> dict[str, dict[str, str]]:
        """What failed, by key: ``error``, ``setting``, ``policy`` and ``trace``."""
        if not self.failed.is_dir():
            return {}
        return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(self.failed.glob("[!.]*.json"))}

    def save(self, done: Iterable[tuple[Unit, Result]]) -> None:
        """Keep what became of units that are finished together, the results in one file."""
        kept = dict[str, bytes]()
        for unit, result in done:
            if isinstance(result, Failure):
                facts = {"error": result.error, "setting": str(unit.setting), "policy": unit.label}
                write_whole(self._error(unit.key), partial(_write_json, facts | {"trace": result.trace}))
            else:
                kept[unit.key] = result
        if kept:
            name = hashlib.sha256("".join(kept).encode()).hexdigest()[:24]
            write_whole(self.units / f"{name}.results", partial(_write, kept))
        for key in kept:
            self._error(key).unlink(missing_ok=True)

    def results(self, keys: Set[str]) -> dict[str, UnitResult]:
        """The results of units that are there."""
        found = dict[str, UnitResult]()
        for path in self._files():
            found |= _reading(path, partial(_results, keys=keys))
        return found

    def take(self, other: Store) -> None:
        """Copy the results of another folder that are not here."""
        code, theirs = code_of(other.study()), (other._description() or {})["code"]
        if theirs != code:
            raise DataError(f"{other.folder} holds results of another version ({theirs}), not {code}")
        here = {path.name for path in self._files()}  # which is by what is in it
        for path in other._files():
            if path.name not in here:
                write_whole(self.units / path.name, partial(shutil.copyfile, path))
        known = self.finished()
        for key in known:
            self._error(key).unlink(missing_ok=True)
        for key, facts in other.failures().items():
            if key not in known:
                write_whole(self._error(key), partial(_write_json, facts))

    def _files(self) -> list[Path]:
        return sorted(self.units.glob("[!.]*.results")) if self.units.is_dir() else []

    def _error(self, key: str) -> Path:
        return self.failed / f"{key}.json"

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
                if path.suffix in (".results", ".json", ".parquet") and path.is_file():
                    path.unlink(missing_ok=True)
        if again:
            for path in (*self._files(), *self.failed.glob("*.json")):
                path.unlink(missing_ok=True)


def code_of(study: Study) -> str:
    """The version of the code that runs what a study names."""
    return code_version(parse, named(strings_in(study.to_json())))


def _write_json(value: object, path: Path) -> None:
    path.write_text(json.dumps(value, indent=1, default=plain), "utf-8")


def _write(kept: Mapping[str, bytes], path: Path) -> None:
    """A line that says which results follow, and the results."""
    content = b"".join(kept.values())
    heading = {"units": {key: len(result) for key, result in kept.items()}, "crc": zlib.crc32(content)}
    path.write_bytes(json.dumps(heading).encode() + b"\n" + content)


def _reading(path: Path, read: Callable[[BinaryIO], R]) -> R:
    """What is read of a file of results, which may be damaged."""
    try:
        with path.open("rb") as file:
            return read(file)
    except DAMAGE as error:
        raise DataError(f"{path} is damaged ({error}); remove it, and the sweep runs its units again") from None


def _heading(file: BinaryIO) -> dict[str, Any]:
    heading: dict[str, Any] = json.loads(file.readline())
    return heading


def _results(file: BinaryIO, keys: Set[str]) -> dict[str, UnitResult]:
    heading, content, at = _heading(file), file.read(), 0
    if zlib.crc32(content) != heading["crc"]:
        raise ValueError("its check sum is another")
    found = {}
    for key, length in heading["units"].items():
        if key in keys:
            found[key] = unpacked(content[at : at + length])
        at += length
    return found
