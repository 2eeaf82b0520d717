"""The figures of Patil et al. 2019, in the paper's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evenhand.papers import panels
from evenhand.papers.experiment import CompletedRun, Runs
from evenhand.papers.patil2019.claims import ETAS, label_of
from evenhand.papers.verdicts import at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def over_rounds(part: str, measures: tuple[str, ...]) -> Callable[[Runs], Figure]:
    """Measures over the rounds, a panel each: the first two plots."""

    def draw(runs: Runs) -> Figure:
        run = runs[part]

        def panel(number: int, axes: Axes) -> None:
            panels.curves(axes, run, measures[number])

        return panels.grid(len(measures), panel, columns=2, note=panels.lanes_of(run))

    return draw


def over_a_million(runs: Runs) -> Figure:
    """Regret of UCB1 and FUCB's r-regret over the rounds on a logarithmic axis, where ln t is a straight line."""
    run = runs["p2d"]

    def panel(number: int, axes: Axes) -> None:
        for place, (label, measure) in enumerate((("UCB1", "regret"), ("FUCB", "r_regret"))):
            mean, error = panels.mean_and_reach(run.results.policies[label].curves[measure])
            name = f"{'regret' if measure == 'regret' else 'r-regret'} of {label}"
            panels.points(axes, run.results.rounds, mean, error, name, place)
        panels.finish(axes, "round", "regret (reward)", log="x")

    return panels.grid(1, panel, note=panels.lanes_of(run, "bars"))


def over_eta(runs: Runs) -> Figure:
    """Regret and r-regret per round over η, as printed and with surpluses ignored: the last plot."""
    run = runs["p2c"]
    titles = {"counted": "as printed: surpluses counted", "ignored": "surpluses ignored"}

    def panel(number: int, axes: Axes) -> None:
        surplus = list(titles)[number]
        for place, (measure, name) in enumerate({"regret": "regret", "r_regret": "r-regret"}.items()):
            _eta_line(axes, run, surplus, measure, name, place)
        axes.axhline(0.0, color="#999999", linewidth=0.8)
        panels.finish(axes, "η", "per round, after all rounds (reward)", title=titles[surplus])
        axes.set_xscale("symlog", linthresh=1e-4)
        axes.set_xticks([float(eta) for eta in ETAS], ["0", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"])
        axes.minorticks_off()

    return panels.grid(2, panel, columns=2, note=f"{panels.lanes_of(run)}, smaller than the markers")


def _eta_line(axes: Axes, run: CompletedRun, surplus: str, measure: str, name: str, place: int) -> None:
    found = [panels.mean_and_reach(at(run, label_of(surplus, eta), measure) / run.setup.horizon) for eta in ETAS]
    means, errors = [float(mean) for mean, _ in found], [float(error) for _, error in found]
    panels.points(axes, [float(eta) for eta in ETAS], means, errors, name, place)
