"""The figures of what goes beyond the papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evenhand.papers import panels
from evenhand.papers.beyond.claims import SHARES, delays
from evenhand.papers.experiment import Runs
from evenhand.simulation.results import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def dynamic(part: str) -> Callable[[Runs], Figure]:
    """The dynamic regret, and the dynamic r-regret of the same with shares."""

    def draw(runs: Runs) -> Figure:
        order = [*runs[part].results.policies, *runs[f"{part}-shares"].results.policies]

        def panel(number: int, axes: Axes) -> None:
            name, measure = ((part, "dynamic_regret"), (f"{part}-shares", "dynamic_r_regret"))[number]
            panels.curves(axes, runs[name], measure, title=("nothing promised", "r = 0.05 each")[number], order=order)

        return panels.grid(2, panel, columns=2, note=panels.lanes_of(runs[part]))

    return draw


def over_shares(runs: Runs) -> Figure:
    """The delay until a change is followed, over the share that is kept."""
    run = runs["d3"]

    def panel(number: int, axes: Axes) -> None:
        found = [mean_and_error(delays(run, f"r = {share}")) for share in SHARES]
        means, errors = [float(mean) for mean, _ in found], [float(error) for _, error in found]
        panels.points(axes, list(SHARES), means, errors, "fair GLR", 0)
        panels.finish(axes, "promised share r", "rounds until most plays are the new best arm's", log="xy")

    return panels.grid(1, panel, note=panels.lanes_of(run, "bars"))
