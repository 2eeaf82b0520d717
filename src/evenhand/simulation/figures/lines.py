"""Measures over the rounds: a curve for each policy with its band and its bound, and differences of policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.simulation.figures.panel import BANDS, Sheet, line, mean_of, scale, visible
from evenhand.simulation.figures.style import plain, styled
from evenhand.simulation.results import Results
from evenhand.theory.baseline import baseline_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from evenhand.environment.world import Environment
    from evenhand.policy.composition import Policy


@styled
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
        bounds: theorem's bounds by label, (checkpoints,), drawn thin in the policy's colour; NaN where there is none.
        log: ``""``, ``"x"``, ``"y"`` or ``"xy"``, the axes with a logarithmic scale; y is symmetric around 0 where
            values are negative.
        band: ``"95%"`` (Student's interval of the mean), ``"standard error"``, ``"lanes"`` (10% to 90% of them) or
            ``"none"``; the caption names it.
        split: whether curves that reach 6 times as high as all others are left out in a second panel.

    Raises:
        EvenhandError: the results have no such measure, or there is no such band or width.

    Example:
        >>> import evenhand as eh
        >>> results = eh.simulate("ucb1", eh.Environment(eh.rewards.Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> curves(results, "regret").axes[0].get_xlabel()
        'round'
    """
    shown = having(results, measure)
    if band not in BANDS:
        raise EvenhandError(f"there is no band {band!r}{nearest(band, BANDS)}")
    bounds = bounds or {}
    parts = visible(shown) if split and "y" not in log else [shown]
    labels = [*shown, *(f"{label}: bound" for label in bounds)]
    sheet = Sheet(labels, title=title, width=width, parts=parts)
    for axes, part in sheet.parts:
        for label, values in part.items():
            place = list(results.policies).index(label)
            line(axes, place, sheet.name(label), results.rounds, values, band, log)
            if label in bounds:
                thin: Any = {"color": axes.lines[-1].get_color(), "linestyle": ":", "linewidth": 1.0}
                marker = "x" if np.isfinite(bounds[label]).sum() == 1 else None
                axes.plot(results.rounds, bounds[label], marker=marker, label=f"{sheet.name(label)}: bound", **thin)
        scale(axes, log)
    sheet.label("round", results.measures[measure].axis)
    if len(parts) > 1:  # so that a constant is not magnified
        sheet.panels[1].update_datalim([(float(results.rounds[0]), 0.0)])
        sheet.panels[1].autoscale_view()
    return sheet.finish(mean_of(results.information["lanes"], f"band: {BANDS[band]}" if BANDS[band] else ""))


@styled
def paired_differences(
    results: Results, measure: str, against: str | None = None, *, title: str = "", width: str = ""
) -> Figure:
    """The difference of each policy to one of them over the rounds, lane by lane.

    All policies meet the same random numbers in a lane, so the differences vary less than the measure itself.

    Args:
        against: label of the policy to compare with; None for the first.

    Returns:
        An ordinary figure of matplotlib; bands are 95% intervals of the mean difference.

    Raises:
        EvenhandError: there is no such measure, policy or width.

    Example:
        >>> import evenhand as eh
        >>> world = eh.Environment(eh.rewards.Bernoulli([0.9, 0.5]))
        >>> results = eh.compare(["ucb1", "thompson"], world, horizon=50, lanes=4)
        >>> [line.get_label() for line in paired_differences(results, "regret").axes[0].get_lines()][1:]
        ['thompson']
    """
    base, known = policy_in(results, against), having(results, measure)
    if base not in known:
        raise EvenhandError(f"{base!r} has no measure {measure!r}")
    if len(known) == 1:
        raise EvenhandError(f"only {base!r} has the measure {measure!r}; a difference needs a second policy")
    shown = {label: curve - known[base] for label, curve in known.items() if label != base}
    sheet = Sheet(shown, title=title, width=width, parts=visible(shown))
    for axes, part in sheet.parts:
        axes.axhline(0.0, color="black", linewidth=0.8, label="_")
        for label, values in part.items():
            line(axes, list(results.policies).index(label), sheet.name(label), results.rounds, values)
    sheet.panels[-1].set_xlabel("round")
    sheet.panels[-1].set_ylabel(f"{results.measures[measure].axis}, less that of {plain(base, 20)}")
    return sheet.finish(f"paired differences, {mean_of(results.information['lanes'], 'band: 95% confidence interval')}")


def policy_in(results: Results, label: str | None) -> str:
    """The label of a policy of the results; None stands for the first."""
    if label is None:
        return next(iter(results.policies))
    if label not in results.policies:
        raise EvenhandError(f"there is no policy {label!r}{nearest(label, results.policies)}")
    return label


def having(results: Results, measure: str) -> dict[str, Array]:
    """A measure of all policies that have it, (checkpoints, lanes) by label."""
    shown = {label: one.curves[measure] for label, one in results.policies.items() if measure in one.curves}
    if not shown:
        raise EvenhandError(f"these results have no measure {measure!r}{nearest(measure, results.measures)}")
    return shown


def bounds_of(
    policies: Mapping[str, Policy], environment: Environment, rounds: NDArray[Any]
) -> dict[str, dict[str, Array]]:
    """The bounds of the policies' algorithms whose premises hold, by measure and label, for `draw_all`.

    Args:
        policies: by label.
        environment: what they face.
        rounds: (checkpoints,), the last one the horizon.

    Returns:
        For each measure and label an array (checkpoints,), in the unit of the measure; NaN where a bound holds at the
        horizon only.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
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
