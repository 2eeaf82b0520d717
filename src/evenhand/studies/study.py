"""Studies: a configuration, and the axes along which its values vary."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.algorithms.build import each_policy, grid_points, short
from evenhand.core import validate
from evenhand.core.errors import ConfigurationError, EvenhandError, StateError, nearest
from evenhand.core.parts import plain
from evenhand.messages.changes import From
from evenhand.studies.faults import toml
from evenhand.studies.paths import put, steps

MODES = ("full", "paired", "random")
KEYS = ("mode", "points", "seed", "axes", "settings")
#: Parameters whose letters readers know from the papers.
SYMBOLS = {"eta": "η", "alpha": "α", "gamma": "γ", "delta": "δ", "epsilon": "ε", "tau": "τ"}
AXIS = ("path", "values", "low", "high", "spacing", "points")


@dataclass(frozen=True)
class Axis:
    """A value of a configuration that varies."""

    name: str  # of its column in the results
    paths: tuple[str, ...]  # of the values that are set, such as ``policies[0].eta``
    values: tuple[Any, ...] = ()  # that it takes; empty if it is drawn between ``low`` and ``high``
    low: float = math.nan  # smallest value that is drawn
    high: float = math.nan  # largest value that is drawn
    spacing: str = "even"  # ``"even"`` or ``"log"``, of values that are drawn
    key: str = ""  # in the table of axes, for messages, where it is not the name

    def put(self, config: object, value: object) -> Any:
        """A configuration with a value of this axis."""
        for path in self.paths:
            config = put(config, steps(path), value)
        return config

    def draw(self, rng: np.random.Generator) -> Any:
        """One of its values, or a number between its limits."""
        if self.values:
            return self.values[int(rng.integers(len(self.values)))]
        if self.spacing == "log":
            return float(np.exp(rng.uniform(np.log(self.low), np.log(self.high))))
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class Setting:
    """One configuration of a study."""

    number: int  # from 0, in the order of the study
    values: dict[str, Any]  # of the axes, by name
    config: dict[str, Any]  # with these values

    def __str__(self) -> str:
        """The values in one line."""
        return ", ".join(f"{name} = {short(value)}" for name, value in self.values.items()) or "the configuration"


@dataclass(frozen=True)
class Study:
    """A configuration and the settings that are made of it.

    Args:
        config: as in a TOML file; see the configuration reference.
        axes: that vary.
        mode: ``"full"`` for every combination of values, ``"paired"`` for the first values of all axes, the second
            values and so on, ``"random"`` for values drawn independently.
        points: settings that are drawn; of the mode ``"random"`` only.
        seed: of the draw.
        settings: a list of settings in place of axes, each with values by their path.
        folder: that paths of files in the configuration are relative to.

    Raises:
        ConfigurationError: an axis does not fit the configuration or the mode.

    Example:
        >>> config = {"horizon": 100, "environment": {}, "policies": [{"algorithm": "eta_fucb", "eta": 1}]}
        >>> study = Study.of(config, {"policies[0].eta": [1, 10], "horizon": [100, 200]})
        >>> [setting.values for setting in study.settings()]  # doctest: +NORMALIZE_WHITESPACE
        [{'eta': 1, 'horizon': 100}, {'eta': 1, 'horizon': 200},
         {'eta': 10, 'horizon': 100}, {'eta': 10, 'horizon': 200}]
    """

    config: dict[str, Any]
    axes: tuple[Axis, ...] = ()
    mode: str = "full"
    points: int = 0
    seed: int = 0
    listed: tuple[dict[str, Any], ...] = ()
    folder: Path = field(default=Path())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study: a configuration file with a section ``[sweep]``.

        Args:
            path: of a TOML file.

        Raises:
            ConfigurationError: the file is missing or is no study; faults have their places in the file.
        """
        path = Path(path)
        with toml(path) as data:
            return cls.parse(data, path.parent)

    @classmethod
    def parse(cls, data: Mapping[str, object], folder: str | os.PathLike[str] = ".") -> Study:
        """The study that nested dictionaries describe, as in a TOML file.

        Args:
            data: a configuration with a table ``sweep``.
            folder: that paths of files are relative to.

        Raises:
            ConfigurationError: something is missing or wrong.
        """
        sweep = data.get("sweep")
        if sweep is None:
            raise ConfigurationError(
                "is missing: a study has a section [sweep] with axes; `evenhand simulate` runs a single setting",
                "sweep",
            )
        if not isinstance(sweep, Mapping):
            raise ConfigurationError(f"must be a table, got {sweep!r}", "sweep")
        for key in sweep:
            if key not in KEYS:
                raise ConfigurationError(f"unknown key {key!r}{nearest(key, KEYS)}", "sweep", key=key)
        config = {key: value for key, value in data.items() if key != "sweep"}
        options = {key: sweep[key] for key in ("mode", "points", "seed", "settings") if key in sweep}
        try:
            return cls.of(config, sweep.get("axes"), folder=folder, **options)
        except EvenhandError as error:
            raise error.at("sweep") from None

    @classmethod
    def of(
        cls,
        config: Mapping[str, object],
        axes: Mapping[str, object] | None = None,
        *,
        settings: Sequence[Mapping[str, object]] | None = None,
        mode: str = "full",
        points: int | None = None,
        seed: int = 0,
        folder: str | os.PathLike[str] = ".",
    ) -> Study:
        """A study of a configuration.

        Args:
            config: nested dictionaries, as in a TOML file.
            axes: values by path (``{"policies[0].eta": [1, 10]}``), or by name a table with ``path`` (one, or a list of
                paths that take the same value) and ``values``, or ``low``, ``high``, ``points`` and ``spacing``.
            settings: a list of settings in place of axes, each a dictionary of values by path.
            mode: ``"full"``, ``"paired"`` or ``"random"``.
            points: settings that are drawn, of the mode ``"random"``.
            seed: of the draw.
            folder: that paths of files in the configuration are relative to.

        Raises:
            ConfigurationError: an axis does not fit the configuration or the mode.
        """
        validate.one_of("mode", mode, MODES)
        if (axes is None) == (settings is None):
            raise ConfigurationError("must have either axes or a list of settings")
        if (mode == "random") != (points is not None):
            raise ConfigurationError(
                "is the number of settings that mode 'random' draws; give both or neither", "points"
            )
        number = 0 if points is None else validate.whole("points", points)
        made = _axes(axes, mode) if axes is not None else ()
        kept = _kept(config)
        if kept.get("policies") and (pairs := each_policy(kept["policies"]))[0][0] == 0:  # else by label
            kept["policies"] = [one for _, one in pairs]
        study = cls(kept, made, mode, number, validate.whole("seed", seed, low=0), _listed(settings), Path(folder))
        study._check()
        return study

    @property
    def names(self) -> list[str]:
        """Names of the axes, which are columns of the results."""
        if self.listed:
            return list(_named(list(dict.fromkeys(key for one in self.listed for key in one))).values())
        return [axis.name for axis in self.axes]

    @cached_property
    def concerned(self) -> dict[str, set[str]]:
        """By axis the labels of the policies whose tables it changes; none for an axis of the world or the run."""
        labels: dict[str, set[str]] = {name: set() for name in self.names}
        base = _tables(self.config)
        for axis, value in self._alternatives():
            if axis.paths[0].startswith("policies"):
                other = _tables(axis.put(self.config, value))
                labels[axis.name] |= {label for label in other if other[label] != base.get(label)}
        return labels

    def title(self, name: str) -> str:
        """An axis as readers know it.

        Args:
            name: of the axis.

        Returns:
            Such as ``"η of TSCSF-B"`` or ``"success of the feedback"``.
        """
        path = next((axis.paths[0] for axis, _ in self._alternatives() if axis.name == name), name)
        place, which, *inner = [*map(str, steps(path)), "", ""]
        labels = self.concerned[name]
        symbol = self.symbol(name)
        if name != str(steps(path)[-1]):  # of the user's own
            return symbol
        if place == "policies" and 0 < len(labels) < len(_tables(self.config)):
            return f"{symbol} of {' and '.join(sorted(labels))}"
        return f"{symbol} of the {which}" if place == "environment" and inner[0] and name != "arms" else symbol

    @staticmethod
    def symbol(name: str) -> str:
        """A parameter as it is written in formulas, or in words.

        Args:
            name: of the parameter.

        Returns:
            Such as ``"η"``; the name without underscores where it has no letter.
        """
        return SYMBOLS.get(name, name.replace("_", " "))

    def __len__(self) -> int:
        """Number of settings."""
        if self.listed:
            return len(self.listed)
        if self.mode == "random":
            return self.points
        counts = [len(axis.values) for axis in self.axes]
        return math.prod(counts) if self.mode == "full" else counts[0]

    def settings(self) -> Iterator[Setting]:
        """Every setting, in order: the last axis varies fastest."""
        for number, chosen in enumerate(self._chosen()):
            config = self.config
            for axis, value in chosen:
                config = axis.put(config, value)
            yield Setting(number, {axis.name: value for axis, value in chosen}, config)

    def to_json(self) -> dict[str, Any]:
        """The study as plain values; `parse` reads them.

        Returns:
            The configuration's tables, and the study's own under ``sweep``.
        """
        sweep: dict[str, Any] = {"mode": self.mode, "seed": self.seed}
        if self.mode == "random":
            sweep["points"] = self.points
        if self.listed:
            sweep["settings"] = list(self.listed)
        else:
            sweep["axes"] = {}
            for axis in self.axes:
                drawn = {"low": axis.low, "high": axis.high, "spacing": axis.spacing}
                values = {"values": list(axis.values)} if axis.values else drawn
                sweep["axes"][axis.name] = {"path": list(axis.paths)} | values
        return {**self.config, "sweep": sweep}

    def _chosen(self) -> Iterator[list[tuple[Axis, Any]]]:
        """The axes of each setting with their values."""
        if self.listed:
            names = _named(list(dict.fromkeys(key for one in self.listed for key in one)))
            known = {key: Axis(name, (key,)) for key, name in names.items()}
            for one in self.listed:
                yield [(known[key], value) for key, value in one.items()]
            return
        if self.mode == "random":
            rng = np.random.default_rng(self.seed)
            for _ in range(self.points):
                yield [(axis, axis.draw(rng)) for axis in self.axes]
            return
        values = [axis.values for axis in self.axes]
        combined = itertools.product(*values) if self.mode == "full" else zip(*values, strict=True)
        for chosen in combined:
            yield list(zip(self.axes, chosen, strict=True))

    def _alternatives(self) -> Iterator[tuple[Axis, Any]]:
        """Each axis with each of its values, or with the ends of what is drawn."""
        if self.listed:
            for one in self._chosen():
                yield from one
        for axis in self.axes:
            for value in axis.values or (axis.low, axis.high):
                yield axis, value

    def _check(self) -> None:
        """Refuse axes that do not fit each other or lead nowhere."""
        if self.mode == "paired" and len({len(axis.values) for axis in self.axes}) > 1:
            counts = ", ".join(f"{axis.name} has {len(axis.values)}" for axis in self.axes)
            raise ConfigurationError(f"mode 'paired' needs axes with equally many values: {counts}")
        for place, chosen in enumerate(self._chosen()):
            for axis, value in chosen:
                try:
                    axis.put(self.config, value)
                except EvenhandError as error:
                    raise error.at(*(("settings", place) if self.listed else ("axes", axis.key or axis.name))) from None
            if not self.listed:
                break


def _tables(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of the policies by label."""
    pairs = each_policy(config["policies"]) if config.get("policies") else []
    return dict(point for key, one in pairs for point in grid_points(one, key))


def _kept(value: object, *path: str | int) -> Any:
    """A value as a study keeps it in a file: parts by their plain form."""
    if isinstance(value, Mapping):
        return {key: _kept(one, *path, key) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_kept(one, *path, place) for place, one in enumerate(value)]
    if isinstance(value, From):
        return value.to_json()
    try:
        return plain(value)
    except StateError as error:
        raise ConfigurationError(f"must be what a file can keep: {error}", *path) from None


def _axes(axes: object, mode: str) -> tuple[Axis, ...]:
    if not isinstance(axes, Mapping) or not axes:
        raise ConfigurationError(f"must be a table with at least one axis, got {axes!r}", "axes")
    names = _named([key for key, value in axes.items() if not isinstance(value, Mapping)])
    made = []
    for key, value in axes.items():
        try:
            made.append(_axis(key, value, names, mode))
        except EvenhandError as error:
            raise error.at("axes", key) from None
    taken = [axis.name for axis in made]
    for name in taken:
        if taken.count(name) > 1:
            raise ConfigurationError(f"two axes are called {name!r}; name them: {{ path = …, values = … }}", "axes")
        if name in ("setting", "policy", "round", "lane", "measure", "n", "mean", "stderr", "low", "high"):
            raise ConfigurationError("the results have a column of this name; use another", "axes", name)
    return tuple(made)


def _axis(key: str, given: object, names: Mapping[str, str], mode: str) -> Axis:
    if not isinstance(given, Mapping):
        return Axis(names[key], (key,), _values(given), key=key)
    for one in given:
        if one not in AXIS:
            raise ConfigurationError(f"unknown key {one!r}{nearest(one, AXIS)}", key=one)
    paths = given.get("path", key)
    paths = paths if isinstance(paths, list) else [paths]
    if not all(isinstance(path, str) for path in paths) or not paths:
        raise ConfigurationError(f"must be a path or a list of paths, got {given.get('path')!r}", "path")
    path = tuple(paths)
    for one in path:
        steps(one)
    if "values" in given:
        if {"low", "high", "points", "spacing"} & set(given):
            raise ConfigurationError("give either values, or low and high")
        return Axis(key, path, _values(given["values"], "values"))
    return _between(key, path, given, mode)


def _between(name: str, path: tuple[str, ...], given: Mapping[str, Any], mode: str) -> Axis:
    """An axis with numbers between two limits: equally spaced, or to be drawn."""
    low, high = (validate.number(end, given.get(end)) for end in ("low", "high"))
    spacing = given.get("spacing", "even")
    validate.one_of("spacing", spacing, ("even", "log"))
    if not low < high or (spacing == "log" and low <= 0):
        raise ConfigurationError(
            f"low must be less than high{', and above 0' * (spacing == 'log')}, got {low:g} and {high:g}"
        )
    if mode == "random":
        if "points" in given:
            raise ConfigurationError("mode 'random' draws as many settings as sweep.points, remove points")
        return Axis(name, path, (), low, high, spacing)
    points = validate.whole("points", given.get("points"), low=2)
    values = np.linspace(low, high, points) if spacing == "even" else np.geomspace(low, high, points)
    whole = all(isinstance(given[end], int) for end in ("low", "high"))
    rounded = np.round(values)
    exact = whole and (spacing == "log" or np.allclose(values, rounded, rtol=0, atol=1e-9))
    return Axis(name, path, tuple(dict.fromkeys((rounded.astype(int) if exact else values).tolist())))


def _values(values: object, *path: str) -> tuple[Any, ...]:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise ConfigurationError(f"must be a list with at least one value, got {values!r}", *path)
    return tuple(_kept(value, *path, place) for place, value in enumerate(values))


def _listed(settings: object) -> tuple[dict[str, Any], ...]:
    if settings is None:
        return ()
    if not isinstance(settings, Sequence) or isinstance(settings, str) or not settings:
        raise ConfigurationError(f"must be a list with at least one table, got {settings!r}", "settings")
    for place, one in enumerate(settings):
        if not isinstance(one, Mapping) or not one:
            raise ConfigurationError(f"must be a table of values by path, got {one!r}", "settings", place)
    return tuple(_kept(settings, "settings"))


def _named(paths: Sequence[str]) -> dict[str, str]:
    """Short names by path: the last key, with as much before it as is needed to tell them apart."""
    keys = {path: [str(step) for step in steps(path)] for path in paths}
    names = {}
    for path, parts in keys.items():
        others = [other for one, other in keys.items() if one != path]
        length = next(
            (n for n in range(1, len(parts)) if not parts[-n].isdigit() and all(parts[-n:] != o[-n:] for o in others)),
            len(parts),
        )
        names[path] = ".".join(parts[-length:])
    return names
