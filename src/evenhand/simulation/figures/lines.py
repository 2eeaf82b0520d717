"""Measures over the rounds: a curve for each policy, with its band and its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.simulation.figures.style import LONGEST, finish, look, mean_of, new_figure, plain
from evenhand.simulation.results import Results, mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Bands around a curve → their names in captions.
BANDS = {
    "95%": "95% confidence interval of the mean",
    "standard error": "± 1 standard error",
    "lanes": "10% to 90% of the lanes",
    "none": "",
}
#: One curve hides the others where it reaches so many times as high.
HIDES = 6.0


def curves(
    results: Results,
    measure: str,
    *,
    bounds: Mapping[str, Array] | None = None,
    log: str = "",
    title: str = "",
    band: str = "95%",
    split: bool = True,
    width: str = "",
) -> Figure:
    """A measure over the rounds: the mean over lanes with a band, one line per policy.

    Args:
        results: of a simulation.
        measure: name of a measure of the results, such as ``"regret"``.
        bounds: theorem's bounds by label, (checkpoints,), drawn thin in the policy's colour; NaN where there is none.
        log: ``""``, ``"x"``, ``"y"`` or ``"xy"``, the axes with a logarithmic scale; y is symmetric around 0 where
            values are negative.
        title: above the figure.
        band: ``"95%"`` (Student's interval of the mean), ``"standard error"``, ``"lanes"`` (10% to 90% of them) or
            ``"none"``; the caption names it.
        split: whether curves that reach 6 times as high as all others are left out in a second panel.
        width: ``"column"`` or ``"text"`` of a paper, with its size of text; empty for a screen.

    Returns:
        An ordinary figure of matplotlib.

    Raises:
        EvenhandError: the results have no such measure, or there is no such band or width.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> curves(results, "regret").axes[0].get_xlabel()
        'round'
    """
    shown = {label: record.curves[measure] for label, record in results.policies.items() if measure in record.curves}
    if not shown:
        raise EvenhandError(f"these results have no measure {measure!r}{nearest(measure, results.measures)}")
    if band not in BANDS:
        raise EvenhandError(f"there is no band {band!r}{nearest(band, BANDS)}")
    low = not_hiding(shown) if split and "y" not in log else shown
    two = len(low) < len(shown)
    figure, panels = new_figure(_labels(shown, bounds), width=width, panels=(1.0, 1.4) if two else (1.0,))
    for axes, part in zip(panels, (shown, low), strict=False):
        for place, label in enumerate(results.policies):
            if label in part:
                bound = (bounds or {}).get(label)
                _draw(axes, results, part[label], plain(label, LONGEST[width]), place, band, bound)
        _scale(axes, log, np.concatenate([curve.mean(axis=1) for curve in part.values()]))
    if two:
        figure.supylabel(results.measures[measure].axis, fontsize=panels[0].yaxis.label.get_fontsize())
        panels[1].update_datalim([(float(results.rounds[0]), 0.0)])
        panels[1].autoscale_view()
    else:
        panels[0].set_ylabel(results.measures[measure].axis)
    panels[-1].set_xlabel("round")
    lanes = results.information["lanes"]
    finish(figure, panels, title, mean_of(lanes, f"band: {BANDS[band]}" if BANDS[band] else ""), width)
    name_left_out(panels, shown, low, width)
    return figure


def _labels(shown: Mapping[str, Array], bounds: Mapping[str, Array] | None) -> list[str]:
    return [*shown, *(f"{label}: bound" for label in bounds or {})]


def limits(values: Array, band: str) -> tuple[Array, Array]:
    """The lower and the upper edge of the band around the mean over lanes, (checkpoints,) each.

    Args:
        values: (checkpoints, lanes).
        band: a key of `BANDS`.

    Example:
        >>> low, high = limits(np.array([[1.0, 3.0]]), "standard error")
        >>> float(low[0]), float(high[0])
        (1.0, 3.0)
    """
    if band == "lanes":
        low, high = np.quantile(values, [0.1, 0.9], axis=1)
        return low, high
    mean, error = mean_and_error(values)
    reach = {"95%": _student(values.shape[1]), "standard error": 1.0, "none": 0.0}[band]
    return mean - reach * error, mean + reach * error


def _student(lanes: int) -> float:
    from scipy import stats

    return float(stats.t.ppf(0.975, lanes - 1)) if lanes > 1 else 0.0


def _draw(axes: Axes, results: Results, values: Array, label: str, place: int, band: str, bound: Array | None) -> None:
    style: dict[str, Any] = look(place, len(results.rounds))
    axes.plot(results.rounds, values.mean(axis=1), label=label, linewidth=1.6, **style)
    if band != "none" and values.shape[1] > 1:
        axes.fill_between(results.rounds, *limits(values, band), color=style["color"], alpha=0.2, linewidth=0)
    if bound is not None:
        one = np.isfinite(bound).sum() == 1
        axes.plot(
            results.rounds,
            bound,
            color=style["color"],
            linestyle=":",
            linewidth=1.0,
            marker="x" if one else None,
            label=f"{label}: bound",
        )


def name_left_out(panels: Sequence[Axes], shown: Mapping[str, Array], low: Mapping[str, Array], width: str) -> None:
    """Say above the second panel, if there is one, what it leaves out.

    Args:
        panels: from the top.
        shown: what the first panel shows, by label.
        low: what the second panel shows.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Example:
        >>> from evenhand.simulation.figures.style import new_figure
        >>> _, panels = new_figure([], panels=(1.0, 1.0))
        >>> name_left_out(panels, {"UCB1": np.ones(1), "FUCB": np.zeros(1)}, {"FUCB": np.zeros(1)}, "")
        >>> panels[1].get_title(loc="left")
        'without UCB1'
    """
    if len(low) < len(shown):
        without = ", ".join(plain(label, LONGEST[width]) for label in shown if label not in low)
        panels[1].set_title(f"without {without}", fontsize=8 if not width else 6, color="#555555", loc="left")


def not_hiding(shown: Mapping[str, Array]) -> dict[str, Array]:
    """The curves that remain to be seen without those that reach many times as high; all where none does.

    Args:
        shown: (checkpoints, lanes), by label.

    Returns:
        The same arrays, by label, in the order of ``shown``.

    Example:
        >>> list(not_hiding({"a": np.ones((1, 1)), "b": 7.0 * np.ones((1, 1)), "c": 2.0 * np.ones((1, 1))}))
        ['a', 'b', 'c']
        >>> list(not_hiding({"a": np.ones((1, 1)), "b": 70.0 * np.ones((1, 1))}))
        ['a']
    """
    heights = {label: float(np.nanmax(np.abs(curve.mean(axis=1)))) for label, curve in shown.items()}
    ordered = sorted(heights, key=lambda label: heights[label])
    for place in range(len(ordered) - 1, 0, -1):
        if heights[ordered[place]] > HIDES * heights[ordered[place - 1]] > 0.0:
            return {label: curve for label, curve in shown.items() if label in ordered[:place]}
    return dict(shown)


def _scale(axes: Axes, log: str, means: Array) -> None:
    """Logarithmic axes; where means fall below 0, y is linear within a hundredth of the largest of them."""
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log and means.min() > 0:
        axes.set_yscale("log")
    elif "y" in log:
        axes.set_yscale("symlog", linthresh=max(float(np.abs(means).max()) / 100.0, np.finfo(float).tiny))
