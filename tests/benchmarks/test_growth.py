"""The benchmark of growth fits exponents and shows every simulation."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("growth")


def test_an_exponent_is_that_of_the_largest_sizes(growth: Any) -> None:
    # 3 n^1.5 from 100 on, and anything before.
    assert growth.exponent([1, 10, 100, 1000, 10_000], [7.0, 5.0, 3e3, 3e3 * 10**1.5, 3e6]) == pytest.approx(1.5)
    # Three points off a line: least squares of log₁₀ 0, 0, 1.5 over 0, 1, 2 have a slope of 0.75.
    assert growth.exponent([1, 10, 100], [1.0, 1.0, 10**1.5]) == pytest.approx(0.75)


def test_the_table_has_a_row_for_each_size_and_a_pair_of_columns_for_each_policy(growth: Any) -> None:
    rows = [
        growth.Row("delays", size, policy, seconds * (size + 1), 0.2 if size < 100 else size / 10)
        for size in (0, 10, 100, 1000)
        for policy, seconds in (("fucb", 1.0), ("clw", 2.0))
    ]
    table = growth.table_of("growth-delays", "delay", rows)
    assert table.columns == ["delay", "`fucb`, s", "`fucb`, MB", "`clw`, s", "`clw`, MB"]
    assert table.rows[0] == ["none", "1.00", "< 1", "2.00", "< 1"]
    assert table.rows[3] == ["1,000", "1,001.00", "100", "2,002.00", "100"]
    # 1, 10 and 100 MB at 10, 100 and 1000: less than 1 MB counts as 1.
    assert table.rows[4] == ["exponent", "0.98", "1.00", "0.98", "1.00"]


def test_a_simulation_takes_time_and_memory(growth: Any) -> None:
    setting = growth.Setting(arms=2, lanes=3, rounds=20, delay=4)
    for policy in growth.POLICIES:
        seconds, megabytes = growth.measured(policy, setting)
        assert seconds > 0.0
        assert megabytes >= 0.0
