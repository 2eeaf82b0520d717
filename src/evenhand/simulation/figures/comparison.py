"""Policies against each other: paired differences, the spread over lanes, and reward against unfairness."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.simulation.figures.arms import policy_in
from evenhand.simulation.figures.lines import limits
from evenhand.simulation.figures.style import COLOURS, LONGEST, MARKERS, extent, finish, look, new_figure, plain
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAMILY = re.compile(r"\s+\w+=.*$")  # the values of a grid, at the end of a label


def paired_differences(
    results: Results, measure: str, against: str | None = None, *, title: str = "", width: str = ""
) -> Figure:
    """The difference of each policy to one of them over the rounds, lane by lane.

    All policies meet the same random numbers in a lane, so the differences vary less than the measure itself.

    Args:
        results: of a simulation.
        measure: name of a measure, such as ``"regret"``.
        against: label of the policy to compare with; None for the first.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib; bands are 95 % intervals of the mean difference.

    Raises:
        EvenhandError: there is no such measure, policy or width.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import thompson, ucb1
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = compare([ucb1(), thompson()], Environment(Bernoulli([0.9, 0.5])), horizon=50, lanes=4)
        >>> [line.get_label() for line in paired_differences(results, "regret").axes[0].get_lines()][1:]
        ['thompson']
    """
    base = policy_in(results, against)
    shown = {label: curve for label, curve in _with(results, measure).items() if label != base}
    if base not in _with(results, measure):
        raise EvenhandError(f"{base!r} has no measure {measure!r}")
    figure, (axes,) = new_figure(shown, width=width)
    axes.axhline(0.0, color="black", linewidth=0.8, label="_")
    for place, label in enumerate(results.policies):
        if label in shown:
            values = shown[label] - results.policies[base].curves[measure]
            style: dict[str, Any] = look(place, len(results.rounds))
            axes.plot(results.rounds, values.mean(axis=1), label=plain(label, LONGEST[width]), linewidth=1.6, **style)
            axes.fill_between(results.rounds, *limits(values, "95%"), color=style["color"], alpha=0.2, linewidth=0)
    axes.set_xlabel("round")
    axes.set_ylabel(f"{results.measures[measure].axis}, less that of {plain(base, 20)}")
    caption = f"mean over {results.information['lanes']} lanes of paired differences; band: 95 % confidence interval"
    finish(figure, [axes], title, caption, width)
    return figure


def spread_over_lanes(results: Results, measure: str, *, title: str = "", width: str = "") -> Figure:
    """Every lane's value of a measure at the horizon, a row for each policy, with the median as a bar.

    Args:
        results: of a simulation.
        measure: name of a measure, such as ``"regret"``.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib.

    Raises:
        EvenhandError: there is no such measure or width.

    Example:
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> len(spread_over_lanes(results, "regret").axes[0].collections[0].get_offsets())
        4
    """
    shown = _with(results, measure)
    names = [plain(label, LONGEST[width]) for label in shown]
    figure, (axes,) = new_figure([], width=width, inches=4.6 + 0.085 * max(map(extent, names)))
    figure.set_figheight(1.3 + 0.42 * len(shown))
    rng = np.random.default_rng(0)  # so that points of equal value lie beside each other
    for row, (label, curve) in enumerate(shown.items()):
        place = list(results.policies).index(label)
        values, colour = curve[-1], COLOURS[place % len(COLOURS)]
        heights = row + rng.uniform(-0.24, 0.24, len(values))
        axes.scatter(
            values, heights, s=10, color=colour, alpha=0.45, linewidths=0, marker=MARKERS[place % len(MARKERS)]
        )
        axes.vlines(np.median(values), row - 0.34, row + 0.34, color="black", linewidth=1.8)
    axes.set_yticks(np.arange(len(shown)), names)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel(results.measures[measure].axis)
    lanes = results.information["lanes"]
    finish(figure, [axes], title, f"{lanes} lanes after {results.rounds[-1]:,} rounds; bar: median", width)
    return figure


def frontier(
    results: Results | Sequence[Results],
    *,
    unfairness: str = "unfairness",
    reward: str = "reward",
    title: str = "",
    width: str = "",
) -> Figure:
    """What fairness costs: reward against unfairness at the horizon, a point for each policy, with intervals.

    Policies of one grid, whose labels differ in what follows their names (``lfg eta=1``, ``lfg eta=10``), are joined.

    Args:
        results: of one simulation or several of the same world.
        unfairness: measure on the x axis.
        reward: measure on the y axis.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib; whiskers are 95 % intervals of the means over lanes.

    Raises:
        EvenhandError: no policy has both measures, or there is no such width.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import lfg
        >>> from evenhand.environment.rewards import Bernoulli
        >>> policies = {f"LFG eta={eta}": lfg([0.3, 0.3], eta=eta) for eta in (1, 10, 100)}
        >>> results = compare(policies, Environment(Bernoulli([0.9, 0.5])), horizon=50, lanes=4)
        >>> frontier(results).axes[0].get_xlabel()
        'missing plays, all arms (plays)'
    """
    runs = [results] if isinstance(results, Results) else list(results)
    families: dict[str, list[tuple[float, float, float, float]]] = {}
    for run in runs:
        for label, record in run.policies.items():
            if unfairness in record.curves and reward in record.curves:
                point = (*_point(record.curves[unfairness]), *_point(record.curves[reward]))
                families.setdefault(FAMILY.sub("", label), []).append(point)
    if not families:
        raise EvenhandError(
            f"no policy has both {unfairness!r} and {reward!r}; these results have {', '.join(runs[0].measures)}"
        )
    figure, (axes,) = new_figure(families, width=width)
    for place, (family, points) in enumerate(families.items()):
        x, x_reach, y, y_reach = np.array(sorted(points)).T
        style = look(place, len(points)) | {"markevery": None}
        axes.errorbar(
            x,
            y,
            xerr=x_reach,
            yerr=y_reach,
            label=plain(family, LONGEST[width]),
            elinewidth=0.9,
            linewidth=1.2,
            **style,
        )
    axes.set_xlabel(runs[0].measures[unfairness].axis)
    axes.set_ylabel(runs[0].measures[reward].axis)
    lanes = runs[0].information["lanes"]
    caption = f"after {runs[0].rounds[-1]:,} rounds, mean of {lanes} lanes; whiskers: 95 % confidence intervals"
    finish(figure, [axes], title, caption, width)
    return figure


def _with(results: Results, measure: str) -> dict[str, Array]:
    shown = {label: one.curves[measure] for label, one in results.policies.items() if measure in one.curves}
    if not shown:
        raise EvenhandError(f"these results have no measure {measure!r}{nearest(measure, results.measures)}")
    return shown


def _point(values: Array) -> tuple[float, float]:
    """Mean at the horizon, and half the width of its interval."""
    mean = float(values[-1].mean())
    return mean, float(np.nan_to_num(mean - limits(values[-1:], "95%")[0][0]))
