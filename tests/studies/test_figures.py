"""Figures of sweeps show the numbers of their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import sweep
from evenhand.core.errors import EvenhandError
from evenhand.figures import save
from evenhand.studies.figures import frontier, heatmap, lines
from evenhand.studies.results import SweepResults


@pytest.fixture
def results(config: dict[str, Any]) -> SweepResults:
    config["policies"][0]["label"] = "η-FUCB"
    return sweep(config, {"policies[0].eta": [100, 1, 10], "horizon": [40, 60]})


def test_lines_are_means_over_the_other_axes_with_their_interval(results: SweepResults) -> None:
    (axes,) = lines(results, "regret").axes
    (line,) = (one for one in axes.lines if one.get_label() == "η-FUCB")
    table = results.summary("regret")
    means = table[table["policy"] == "η-FUCB"].groupby("eta")["mean"].mean()
    np.testing.assert_array_equal(line.get_xdata(), [1, 10, 100])
    np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), means)
    assert axes.get_xscale() == "log"
    assert axes.get_title(loc="left").startswith("at the horizon, mean of 4 lanes and over horizon;")


def test_values_that_are_no_numbers_lie_beside_each_other(config: dict[str, Any]) -> None:
    results = sweep(config, {"policies[0].eta": [1, 10, float("inf")]})
    (axes,) = lines(results, "reward").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "10", "inf"]


def test_a_heat_map_has_every_cell(results: SweepResults) -> None:
    figure = heatmap(results, "regret")
    first, second, _ = figure.axes
    assert (first.get_title(loc="right"), second.get_title(loc="right")) == ("η-FUCB", "UCB")
    table = results.summary("regret").set_index(["policy", "eta", "horizon"])["mean"]
    grid = first.images[0].get_array()
    assert grid is not None
    for column, eta in enumerate([1, 10, 100]):
        for row, horizon in enumerate([40, 60]):
            assert grid[row, column] == pytest.approx(table["η-FUCB", eta, horizon])
    assert first.images[0].get_clim() == second.images[0].get_clim()
    assert not any(text.get_text().startswith("-0") and float(text.get_text()) == 0 for text in first.texts)


def test_the_frontier_goes_along_an_axis(config: dict[str, Any]) -> None:
    config["policies"][0] = {"label": "LFG", "algorithm": "lfg"}
    results = sweep(config, {"policies[0].eta": [1, 10, 100]})
    (axes,) = frontier(results, "eta", unfairness="regret").axes
    table = results.summary("regret")
    means = table[table["policy"] == "LFG"].groupby("eta")["mean"].mean()
    bars = axes.containers[0]
    np.testing.assert_allclose(bars.lines[0].get_xdata().astype(float), means)  # type: ignore[attr-defined]
    assert {text.get_text() for text in axes.texts} == {"1", "100"}


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda results: lines(results, axis="etas"), "there is no axis 'etas'; did you mean 'eta'"),
        (lambda results: lines(results, "regrets"), "there is no measure 'regrets'"),
        (lambda results: lines(results, width="wide"), "width must be 'column', 'text' or ''"),
        (lambda results: heatmap(results, x="eta", y="eta"), "two different axes, got 'eta' twice"),
        (lambda results: frontier(results, reward="r"), "there is no measure 'r'"),
    ],
)
def test_faults_are_named(results: SweepResults, draw: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        draw(results)


def test_a_heat_map_needs_two_axes(config: dict[str, Any]) -> None:
    with pytest.raises(EvenhandError, match="needs a study with 2 axes; it has eta"):
        heatmap(sweep(config, {"policies[0].eta": [1, 2]}))


@pytest.mark.parametrize("width", ["", "column", "text"])
def test_hard_input_can_be_drawn(config: dict[str, Any], tmp_path: Path, width: str) -> None:
    name = "長い名前 — سياسة — " + "x" * 60
    config["policies"] = [{"label": name, "algorithm": "eta_fucb"}, {"label": "$b_1$", "algorithm": "ucb1"}]
    config |= {"lanes": 1, "horizon": 12}
    axes = {"policies[0].eta": list(range(1, 16)), "environment.feedback": ["immediate", {"kind": "fixed", "delay": 3}]}
    results = sweep(config, axes)
    for number, figure in enumerate((lines(results, width=width), heatmap(results, width=width))):
        save(figure, tmp_path / f"{number}.png", ["png"])
        assert (tmp_path / f"{number}.png").stat().st_size > 5000
