"""The figures of Chen et al. 2024, in the paper's form: a policy has the same colour in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenhand.papers import panels
from evenhand.papers.chen2024.claims import CODE, MEASURES, POLICIES, TS
from evenhand.papers.experiment import CompletedRun, Runs
from evenhand.papers.verdicts import at, shares
from evenhand.simulation import measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RADII = {"": "radius of the theorem", CODE: "radius of the paper's code"}


def both_radii(part: str, with_shares: bool = False) -> Callable[[Runs], Figure]:
    """The regrets, and before them the shares if asked for; a row a radius, policies without one stand in both."""

    def draw(runs: Runs) -> Figure:
        run = runs[part]
        row = [_shares, *_regrets()] if with_shares else _regrets()
        rows = [partial(one, run, names_of(run, radius), title) for radius, title in RADII.items() for one in row]
        return panels.grid(len(rows), lambda number, axes: rows[number](axes), len(row), panels.lanes_of(run))

    return draw


def over_exponents(parts: Sequence[str]) -> Callable[[Runs], Figure]:
    """The regrets, a row a measure and a column an exponent of the merit."""

    def draw(runs: Runs) -> Figure:
        every = [runs[part] for part in parts]
        cells = [
            partial(one, run, names_of(run), f"c = {part.rpartition('-')[2]}")
            for one in _regrets()
            for part, run in zip(parts, every, strict=True)
        ]
        return panels.grid(len(cells), lambda number, axes: cells[number](axes), len(parts), panels.lanes_of(every[0]))

    return draw


def over_delays(parts: Sequence[str]) -> Callable[[Runs], Figure]:
    """The regrets in the end over the fixed delay."""

    def draw(runs: Runs) -> Figure:
        first = runs[parts[0]]
        delays = [int(part.rpartition("-")[2]) for part in parts]

        def panel(number: int, axes: Axes) -> None:
            for place, label in enumerate(first.results.policies):
                ends = [panels.mean_and_reach(at(runs[part], label, MEASURES[number])) for part in parts]
                means, errors = zip(*ends, strict=True)
                colour = _colour(label.removesuffix(CODE))
                panels.points(axes, delays, means, errors, label, place, color=colour, markersize=5)
            axes.set_ylim(bottom=0.0)
            panels.finish(axes, "fixed delay (rounds)", measures.MEASURES[MEASURES[number]].measure.axis)
            axes.set_xticks(delays)

        note = f"after {first.setup.horizon:,} rounds; means of {first.setup.lanes} lanes with their 95% intervals"
        return panels.grid(2, panel, columns=2, note=note)

    return draw


def times(parts: dict[str, str]) -> Callable[[Runs], Figure]:
    """The processor time of every policy, a panel a merit."""

    def draw(runs: Runs) -> Figure:
        def panel(number: int, axes: Axes) -> None:
            part, title = list(parts.items())[number]
            seconds = runs[part].seconds
            bars = axes.bar(list(seconds), list(seconds.values()), 0.6, color=[_colour(name) for name in seconds])
            axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=9)
            axes.grid(axis="x", visible=False)
            axes.set_ylabel("processor time (s)")
            axes.set_title(title, fontsize=9.5)
            axes.tick_params(axis="x", labelrotation=20)

        setup = next(iter(runs.values())).setup
        note = f"{setup.horizon:,} rounds in {setup.lanes} lanes side by side; one measurement"
        return panels.grid(len(parts), panel, columns=2, note=note)

    return draw


def names_of(run: CompletedRun, radius: str = "") -> dict[str, str]:
    """The policies of a run with this radius and those that have none, and what the legend calls them."""
    labels = run.results.policies
    return {name + radius if name + radius in labels else name: name for name in POLICIES if name in labels}


def _regrets() -> list[Callable[[CompletedRun, dict[str, str], str, Axes], None]]:
    return [partial(_regret, measure) for measure in MEASURES]


def _regret(measure: str, run: CompletedRun, names: dict[str, str], title: str, axes: Axes) -> None:
    panels.curves(axes, run, measure, names, log="xy", title=title, order=POLICIES)


def _shares(run: CompletedRun, names: dict[str, str], title: str, axes: Axes) -> None:
    """Bars of the shares, and last in each group those of the optimal fair policy."""
    of = len(names) + 1
    bars = partial(panels.bars, axes, of=of, group=0.86, fill=0.95)
    for place, (label, name) in enumerate(names.items()):
        mean, _ = panels.mean_and_reach(shares(run, label).T)
        bars(place, heights=mean, color=_colour(name))
    bars(len(names), heights=np.asarray(run.results.promised[TS]), color="#111111", label="optimal fair policy")
    panels.name_arms(axes, run)
    axes.set_xlabel("arm")
    axes.set_ylabel("share of the rounds")
    axes.set_title(title, fontsize=9.5)


def _colour(name: str) -> str:
    return str(panels.line(POLICIES.index(name))["color"])
