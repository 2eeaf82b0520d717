"""The figures of Patil et al. 2019, in the paper's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.papers.experiment import Runs, of_runs
from evenhand.papers.panels import curves, finish, lanes_of
from evenhand.papers.patil2019.claims import ETAS, label_of
from evenhand.papers.verdicts import at
from evenhand.simulation.figures.panel import grid, mean_and_reach, whiskers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@of_runs
def over_rounds(runs: Runs, part: str, measures: tuple[str, ...]) -> Figure:
    """Measures over the rounds, a panel each: the first two plots."""
    run = runs[part]
    return grid(measures, lambda axes, measure: curves(axes, run, measure), columns=2, note=lanes_of(run))


def over_a_million(runs: Runs) -> Figure:
    """Regret of UCB1 and FUCB's r-regret over the rounds on a logarithmic axis, where ln t is a straight line."""
    run = runs["p2d"]

    def panel(axes: Axes, lines: dict[str, str]) -> None:
        for place, (label, measure) in enumerate(lines.items()):
            found = mean_and_reach(run.results.policies[label].curves[measure])
            whiskers(axes, place, f"{measure.replace('_', '-')} of {label}", run.results.rounds, *found)
        finish(axes, "round", "regret (reward)", log="x")

    return grid([{"UCB1": "regret", "FUCB": "r_regret"}], panel, note=lanes_of(run, "bars"))


def over_eta(runs: Runs) -> Figure:
    """Regret and r-regret per round over η, as printed and with surpluses ignored: the last plot."""
    run = runs["p2c"]
    titles = {"counted": "as printed: surpluses counted", "ignored": "surpluses ignored"}
    etas = [float(eta) for eta in ETAS]

    def panel(axes: Axes, surplus: str) -> None:
        for place, measure in enumerate(("regret", "r_regret")):
            found = [mean_and_reach(at(run, label_of(surplus, eta), measure) / run.setup.horizon) for eta in ETAS]
            means, errors = zip(*found, strict=True)
            whiskers(axes, place, measure.replace("_", "-"), etas, means, errors)
        axes.axhline(0.0, color="#999999", linewidth=0.8)
        finish(axes, "η", "per round, after all rounds (reward)", title=titles[surplus])
        axes.set_xscale("symlog", linthresh=1e-4)
        axes.set_xticks(etas, ["0", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"])
        axes.minorticks_off()

    return grid(titles, panel, columns=2, note=f"{lanes_of(run)}, smaller than the markers")
