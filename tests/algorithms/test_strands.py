"""No strand of lanes depends on those that run beside it: of every algorithm, in every world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand import compare
from evenhand.simulation.tables import PolicyResult
from evenhand.studies.configuration import parse
from tests.algorithms.test_trace import CASES, IN_TURN, RECORDED, WORLDS
from tests.thinned import thinned

SIZE = 3  # lanes of a strand


def run(key: str, lanes: int) -> PolicyResult:
    """An algorithm in a world."""
    case, world, plays = key.rsplit("/", 2)
    name = case.partition(":")[0]
    policies: list[dict[str, Any]] = [{"algorithm": name, **CASES[case]}]
    setup = parse({"horizon": 80, "plays": int(plays), "environment": WORLDS[world], "policies": policies})
    results = compare(setup.policies, setup.environment, 80, lanes, seed=3, checkpoints=4, progress=False)
    return results.policies[name]


@pytest.mark.parametrize("key", thinned(RECORDED, sorted(IN_TURN)[::3].__contains__))
def test_a_strand_is_the_same_alone_and_beside_others(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.core.streams.STRAND", SIZE)
    alone, beside = run(key, SIZE), run(key, 2 * SIZE + 2)
    np.testing.assert_array_equal(alone.pulls, beside.pulls[:, :SIZE])
    np.testing.assert_array_equal(alone.score, beside.score[:SIZE])
    np.testing.assert_array_equal(alone.estimate, beside.estimate[:SIZE])
    for name, curve in alone.curves.items():
        np.testing.assert_allclose(curve, beside.curves[name][:, :SIZE], rtol=0.0, atol=1e-9, err_msg=name)
