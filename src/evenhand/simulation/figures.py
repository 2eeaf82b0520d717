"""Figures of results: curves with their bands and bounds, and shares of the rounds against promises."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.files import write_whole
from evenhand.core.state import Array
from evenhand.simulation.results import Results, mean_and_error
from evenhand.theory.baseline import baseline_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.environment.environment import Environment
    from evenhand.policy.policy import Policy

# Okabe & Ito: colour-blind readers can distinguish them; dashes and hatches repeat the distinction without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5C5C5C", "#8C6D31")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
HATCHES = ("", "///", "...", "xxx")  # for more policies than colours

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "evenhand",
    "svg.fonttype": "none",
}


def curves(
    results: Results,
    measure: str,
    *,
    bounds: Mapping[str, Array] | None = None,
    log: str = "",
    title: str = "",
) -> Figure:
    """A measure over the rounds: the mean over lanes with a band of one standard error, one line per policy.

    Args:
        results: of a simulation.
        measure: name of a measure of the results, such as ``"regret"``.
        bounds: theorem's bounds by label, (checkpoints,), drawn thin in the policy's colour; NaN where there is none.
        log: ``""``, ``"x"``, ``"y"`` or ``"xy"``, the axes with a logarithmic scale; y is symmetric around 0 where
            values are negative.
        title: above the figure.

    Raises:
        EvenhandError: the results have no such measure.

    Example:
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> curves(results, "regret").axes[0].get_xlabel()
        'round'
    """
    shown = {label: record.curves[measure] for label, record in results.policies.items() if measure in record.curves}
    if not shown:
        raise EvenhandError(f"these results have no measure {measure!r}{nearest(measure, results.measures)}")
    figure, axes = _figure(rows_in_legend=len(shown) + len(bounds or {}))
    for place, label in enumerate(results.policies):
        if label not in shown:
            continue
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]
        mean, error = mean_and_error(shown[label])
        axes.plot(results.rounds, mean, color=colour, linestyle=dash, label=label, linewidth=1.6)
        axes.fill_between(results.rounds, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
        if bounds and label in bounds:
            axes.plot(
                results.rounds,
                bounds[label],
                color=colour,
                linestyle=":",
                linewidth=1.2,
                marker="x" if np.isfinite(bounds[label]).sum() == 1 else None,
                label=f"{label}: bound",
            )
    _scale(axes, log, np.concatenate([curve.mean(axis=1) for curve in shown.values()]))
    axes.set_xlabel("round")
    axes.set_ylabel(results.measures[measure].axis)
    lanes = results.information["lanes"]
    band = "; band: ± 1 standard error" if lanes > 1 else ""
    _finish(figure, axes, title, f"mean of {lanes} lane{'s' if lanes > 1 else ''}{band}")
    return figure


def fractions(results: Results, *, title: str = "") -> Figure:
    """The share of the rounds that each arm had, one bar per policy, and the share it was promised, a black mark.

    Example:
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(fucb([0.2, 0.2]), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> fractions(results).axes[0].get_ylabel()
        'share of the rounds'
    """
    arms, policies = len(results.names), len(results.policies)
    width = 0.84 / policies
    figure, axes = _figure(rows_in_legend=policies + 1, width=min(14.0, max(6.4, 1.2 + 0.16 * arms * (policies + 1))))
    for place, (label, record) in enumerate(results.policies.items()):
        mean, error = mean_and_error(record.pulls[-1].T / results.rounds[-1])
        left = np.arange(arms) - 0.42 + (place + 0.5) * width
        colour = COLOURS[place % len(COLOURS)]
        axes.bar(
            left,
            mean,
            width * 0.92,
            yerr=np.nan_to_num(error),
            color=colour,
            hatch=HATCHES[place // len(COLOURS) % len(HATCHES)],
            edgecolor="white",
            linewidth=0.0,
            label=label,
            error_kw={"linewidth": 0.8},
        )
        shares = results.promised[label]
        if shares is not None:
            promised = np.broadcast_to(np.mean(np.atleast_2d(shares), axis=0), arms)
            mark = "_" if "promised" in axes.get_legend_handles_labels()[1] else "promised"
            ends = left - width / 2, left + width / 2
            axes.hlines(promised, *ends, color="black", linewidth=1.8, label=mark, zorder=3)
    long = max(map(len, results.names)) * arms > 90
    axes.set_xticks(np.arange(arms), results.names, rotation=35 if long else 0, ha="right" if long else "center")
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("arm")
    axes.set_ylabel("share of the rounds")
    lanes = results.information["lanes"]
    whisker = "; whisker: ± 1 standard error" if lanes > 1 else ""
    _finish(
        figure,
        axes,
        title,
        f"after {results.rounds[-1]:,} rounds, mean of {lanes} lane{'s' if lanes > 1 else ''}{whisker}",
    )
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write ``path`` with the endings ``.png`` and ``.svg``; each file appears whole or not at all.

    Example:
        >>> import pathlib, tempfile
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> save(fractions(results), folder / "shares")
        >>> sorted(path.name for path in folder.iterdir())
        ['shares.png', 'shares.svg']
    """
    import matplotlib as mpl

    path = Path(path)
    endings: dict[str, dict[str, Any]] = {".png": {"dpi": 160}, ".svg": {"metadata": {"Date": None}}}
    stem = path.stem if path.suffix in endings else path.name
    for ending, options in endings.items():
        with mpl.rc_context(STYLE):
            write_whole(path.with_name(stem + ending), partial(figure.savefig, **options))


def draw_all(
    results: Results,
    folder: Path,
    bounds: Mapping[str, Mapping[str, Array]] | None = None,
    log: str = "",
    title: str = "",
) -> list[str]:
    """Every figure of the results, into ``folder``; returns their names.

    Args:
        results: of a simulation.
        folder: must exist.
        bounds: by measure, then by label.
        log: axes with a logarithmic scale.
        title: above each figure.

    Example:
        >>> import pathlib, tempfile
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> draw_all(results, pathlib.Path(tempfile.mkdtemp()))
        ['regret', 'time_averaged_regret', 'selection_fractions']
    """
    names = [name for name in results.measures if name != "reward"]
    for name in names:
        save(curves(results, name, bounds=(bounds or {}).get(name), log=log, title=title), folder / name)
    save(fractions(results, title=title), folder / "selection_fractions")
    return [*names, "selection_fractions"]


def bounds_of(
    policies: Mapping[str, Policy], environment: Environment, rounds: NDArray[Any]
) -> dict[str, dict[str, Array]]:
    """The bounds of the policies' algorithms whose premises hold, by measure and label, for `draw_all`.

    Args:
        policies: by label.
        environment: what they face.
        rounds: (checkpoints,), the last one the horizon.

    Example:
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> world = Environment(Bernoulli([0.8, 0.2]))
        >>> bounds = bounds_of({"FUCB": fucb(0.1), "other": fucb(0.1, exploration=1.0)}, world, np.array([100, 1000]))
        >>> {measure: list(by_label) for measure, by_label in bounds.items()}
        {'r_regret': ['FUCB']}
    """
    from evenhand.algorithms.registry import algorithms

    bounds: dict[str, dict[str, Array]] = {}
    known = algorithms()
    for label, policy in policies.items():
        bound = known[policy.name].bound if policy.name in known else None
        if bound is not None:
            values = bound.evaluate(policy, environment, baseline_of(policy, environment, label), rounds)
            if values is not None:
                bounds.setdefault(bound.measure, {})[label] = values
    return bounds


def _figure(rows_in_legend: int, width: float = 6.4) -> tuple[Figure, Axes]:
    """A figure with room for a legend beside the axes, so that it hides nothing."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width + 2.2, max(4.0, 0.9 + 0.24 * rows_in_legend)), layout="constrained")
        return figure, figure.add_subplot()


def _scale(axes: Axes, log: str, means: Array) -> None:
    """Logarithmic axes; where means fall below 0, y is linear within a hundredth of the largest of them."""
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log and means.min() > 0:
        axes.set_yscale("log")
    elif "y" in log:
        axes.set_yscale("symlog", linthresh=max(float(np.abs(means).max()) / 100.0, np.finfo(float).tiny))


def _finish(figure: Figure, axes: Axes, title: str, note: str) -> None:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        if axes.get_xscale() == "linear" and axes.get_xlabel() == "round":
            axes.xaxis.set_major_formatter(_thousands)
        if axes.get_yscale() == "linear" and max(map(abs, axes.get_ylim())) >= 1000:
            axes.yaxis.set_major_formatter(_thousands)
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside right upper", frameon=False)
        figure.suptitle(title, fontsize=11) if title else None
        axes.set_title(note, fontsize=8, color="#555555", loc="left")


def _thousands(value: float, position: Any = None) -> str:
    return f"{value:,.0f}"
