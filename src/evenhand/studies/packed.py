"""The result of a unit of work as bytes, as a worker returns it and as a sweep keeps it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.parts import plain
from evenhand.simulation.metrics import Measure
from evenhand.simulation.results import Results
from evenhand.simulation.tables import PolicyResult

RUN = ("horizon", "lanes", "seed", "rounds", "versions")  # that is kept of the information on a run


@dataclass(frozen=True, eq=False)
class UnitResult:
    """The result of a unit."""

    results: Results

    @property
    def policy(self) -> PolicyResult:
        """Plays and measures of the policy."""
        (policy,) = self.results.policies.values()
        return policy


def packed(results: Results, key: str, label: str) -> bytes:
    """What was found about one policy, by its key, with its label: a line of JSON, then the bytes of its arrays.

    Arrays in one piece take a tenth of the time of an archive with a file for each, which is as long as a short run.
    """
    promised = results.promised[key]
    arrays = {"rounds": results.rounds, **results.policies[key].arrays}
    arrays |= {} if promised is None else {"promised": promised}
    about = {
        "label": label,
        "names": results.names,
        "own": {name: [measure.label, measure.unit] for name, measure in results.own.items()},
        "omitted": results.omitted[key],
        "run": {name: results.information[name] for name in RUN},
        "arrays": {name: [array.dtype.str, array.shape] for name, array in arrays.items()},
    }
    return b"".join([json.dumps(about, default=plain).encode(), b"\n", *(one.tobytes() for one in arrays.values())])


def unpacked(kept: bytes) -> UnitResult:
    """The result that was packed."""
    at = kept.index(b"\n") + 1
    about, arrays = json.loads(kept[:at]), dict[str, Any]()
    for name, (kind, shape) in about["arrays"].items():
        arrays[name] = np.ndarray(shape, kind, kept, at).copy()  # which can be written to
        at += arrays[name].nbytes
    label = about["label"]
    results = Results(
        {label: PolicyResult.of_arrays(arrays)},
        arrays["rounds"],
        tuple(about["names"]),
        {label: arrays.get("promised")},
        about["run"],
        {name: Measure(name, *described) for name, described in about["own"].items()},
        {label: about["omitted"]},
    )
    return UnitResult(results)
