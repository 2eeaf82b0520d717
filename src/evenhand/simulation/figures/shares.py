"""Shares of the rounds against promises: bars for few arms, a row for each of many, ranks for hundreds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.state import Array
from evenhand.simulation.figures.lines import limits
from evenhand.simulation.figures.style import (
    COLOURS,
    HATCHES,
    LETTER,
    LONGEST,
    MARKERS,
    apart,
    extent,
    finish,
    look,
    mean_of,
    new_figure,
    plain,
)
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 12  # arms at most that are drawn as bars
ROWS = 60  # arms at most that have a row each
LONG = 12  # letters of a name that fits below a bar


def fractions(results: Results, *, title: str = "", width: str = "") -> Figure:
    """The share of the rounds that each arm had with each policy, and the share it was promised, a black mark.

    A bar for each of few arms; where names are long or arms many, a row for each arm, its name at the left; above 60
    arms the shares by rank.

    Args:
        results: of a simulation.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib; whiskers are 95% intervals of the mean over lanes.

    Raises:
        EvenhandError: there is no such width.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(fucb([0.2, 0.2]), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> fractions(results).axes[0].get_ylabel()
        'share of the rounds'
    """
    arms, policies = len(results.names), len(results.policies)
    labels = [*results.policies, "promised"]
    short = max(map(extent, results.names)) <= LONG
    if arms > ROWS:
        figure, panels = new_figure(labels, width=width)
        _ranks(panels[0], results, LONGEST[width])
    elif short and arms <= BARS and arms * policies <= (24 if width == "column" else 60):
        inches = min(14.0, max(6.4, 1.2 + 0.16 * arms * (policies + 1)))
        figure, panels = new_figure(labels, width=width, inches=inches)
        _bars(panels[0], results, LONGEST[width])
    else:
        names = max(extent(plain(name, LONGEST[width])) for name in results.names)
        figure, panels = new_figure(labels, width=width, inches=5.0 + LETTER * names)
        figure.set_figheight(
            1.6 + (0.0 if width else 0.1 * policies) + arms * max(0.26 if not width else 0.19, 0.085 * policies)
        )
        _rows(panels[0], results, LONGEST[width])
    lanes = results.information["lanes"]
    whisker = "whisker: 95% confidence interval" if arms <= ROWS else ""
    caption = f"after {results.rounds[-1]:,} rounds, {mean_of(lanes, whisker)}"
    finish(figure, panels, title, caption, width)
    return figure


def _shares(results: Results, label: str) -> tuple[Array, Array, Array | None]:
    """Mean shares, half widths of their intervals, and promised shares of a policy, (arms,) each."""
    lanes = results.policies[label].pulls[-1] / results.rounds[-1]
    mean = lanes.mean(axis=0)
    reach = mean - limits(lanes.T, "95%")[0]
    promised = results.promised[label]
    if promised is not None:
        promised = np.broadcast_to(np.mean(np.atleast_2d(promised), axis=0), mean.shape)
    return mean, np.nan_to_num(reach), promised


def _bars(axes: Axes, results: Results, longest: int) -> None:
    arms, width = len(results.names), 0.84 / len(results.policies)
    for place, label in enumerate(results.policies):
        mean, reach, promised = _shares(results, label)
        left = np.arange(arms) - 0.42 + (place + 0.5) * width
        axes.bar(
            left,
            mean,
            width * 0.92,
            yerr=reach,
            color=COLOURS[place % len(COLOURS)],
            hatch=HATCHES[(place + place // len(COLOURS)) % len(HATCHES)],
            edgecolor="white",
            linewidth=0.0,
            label=plain(label, longest),
            error_kw={"linewidth": 0.8},
        )
        if promised is not None:
            axes.hlines(promised, left - width / 2, left + width / 2, **_mark(axes))
    axes.set_xticks(np.arange(arms), apart(results.names, longest))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("arm")
    axes.set_ylabel("share of the rounds")


def _rows(axes: Axes, results: Results, longest: int) -> None:
    arms, gap = len(results.names), 0.7 / len(results.policies)
    for place, label in enumerate(results.policies):
        mean, reach, promised = _shares(results, label)
        height = np.arange(arms) - 0.35 + (place + 0.5) * gap
        axes.errorbar(
            mean,
            height,
            xerr=reach,
            fmt=MARKERS[place % len(MARKERS)],
            color=COLOURS[place % len(COLOURS)],
            markersize=4.5,
            elinewidth=1.0,
            label=plain(label, longest),
            clip_on=False,  # markers at 0 are whole
        )
        if promised is not None:
            axes.vlines(
                promised, height - gap / 2, height + gap / 2, **_mark(axes) | {"zorder": 1.5}
            )  # below the markers
    axes.set_yticks(np.arange(arms), apart(results.names, longest))
    axes.set_ylim(arms - 0.4, -0.6)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("share of the rounds")


def _ranks(axes: Axes, results: Results, longest: int) -> None:
    arms = len(results.names)
    ranks = np.arange(1, arms + 1)
    for place, label in enumerate(results.policies):
        mean, _, promised = _shares(results, label)
        order = np.argsort(-mean, kind="stable")
        axes.plot(ranks, mean[order], label=plain(label, longest), linewidth=1.6, clip_on=False, **look(place, arms))
        if promised is not None:
            axes.step(ranks, promised[order], where="mid", **_mark(axes) | {"linewidth": 0.9})
    axes.set_yscale("symlog", linthresh=1.0 / arms)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"rank of the {arms} arms by their share, for each policy")
    axes.set_ylabel("share of the rounds")


def _mark(axes: Axes) -> dict[str, Any]:
    label = "_" if "promised" in axes.get_legend_handles_labels()[1] else "promised"
    return {"color": "black", "linewidth": 1.8, "label": label, "zorder": 3}
