"""Shares of the rounds against promises, in the end and over time, and a map of who played when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.state import Array
from evenhand.simulation.figures.lines import policy_in
from evenhand.simulation.figures.panel import Sheet, bars, line, mean_and_reach, mean_of, whiskers
from evenhand.simulation.figures.style import LETTER, LONGEST, apart, extent, look, plain, styled
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 12  # arms at most that are drawn as bars
ROWS = 60  # arms at most that have a row each
FEW = 30  # bars in a small panel
LONG = 12  # letters of a name that fits below a bar
SHOWN = 8  # arms that have a curve each


@styled
def fractions(results: Results, *, title: str = "", width: str = "") -> Figure:
    """The share of the rounds that each arm had with each policy, and the share it was promised, a black mark.

    A bar for each of few arms; where names are long or arms many, a row for each arm, its name at the left; above 60
    arms the shares by rank.

    Returns:
        An ordinary figure of matplotlib; whiskers are 95% intervals of the mean over lanes.

    Raises:
        EvenhandError: there is no such width.

    Example:
        >>> import evenhand as eh
        >>> world = eh.Environment(eh.rewards.Bernoulli([0.8, 0.2]))
        >>> results = eh.simulate(eh.algorithms.fucb([0.2, 0.2]), world, horizon=50, lanes=4)
        >>> fractions(results).axes[0].get_ylabel()
        'share of the rounds'
    """
    arms, policies = len(results.names), len(results.policies)
    most = 24 if width == "column" else 60  # bars
    draw, inches, high = _ranks, 6.4, 0.0
    if arms <= min(BARS, most / policies) and max(map(extent, results.names)) <= LONG:
        draw, inches = _bars, min(14.0, max(6.4, 1.2 + 0.16 * arms * (policies + 1)))
    elif arms <= ROWS:
        draw, inches = _rows, 5.0 + LETTER * max(extent(plain(name, LONGEST[width])) for name in results.names)
        high = 1.6 + arms * max(0.19 if width else 0.26, 0.085 * policies) + (0.0 if width else 0.1 * policies)
    sheet = Sheet([*results.policies, "promised"], title=title, width=width, inches=inches)
    sheet.figure.set_figheight(high or sheet.figure.get_figheight())
    draw(sheet.panels[0], results, width)
    whisker = "whisker: 95% confidence interval" if arms <= ROWS else ""
    return sheet.finish(f"after {results.rounds[-1]:,} rounds, {mean_of(results.information['lanes'], whisker)}")


def draw_shares(results: Results, axes: Axes, width: str) -> None:
    """The shares in a small panel: bars of few arms with short names, rows of a few more, ranks of many."""
    arms = len(results.names)
    few = arms * len(results.policies) <= FEW and max(map(extent, results.names)) <= LONG * 3 / max(arms, 3)
    draw = _bars if few else _rows if arms * len(results.policies) <= 2 * FEW else _ranks
    draw(axes, results, width)


def promised_by(results: Results, label: str) -> Array | None:
    """The shares that a policy is judged by, (arms,), on average over lanes; None where nothing is promised."""
    promised = results.promised[label]
    if promised is None:
        return None
    return np.array(np.broadcast_to(np.mean(np.atleast_2d(promised), axis=0), len(results.names)))


def _shares(results: Results, label: str) -> tuple[Array, Array, Array | None]:
    """Mean shares, half widths of their intervals, and promised shares of a policy, (arms,) each."""
    return *mean_and_reach((results.policies[label].pulls[-1] / results.rounds[-1]).T), promised_by(results, label)


def _bars(axes: Axes, results: Results, width: str) -> None:
    arms, policies = len(results.names), len(results.policies)
    for place, label in enumerate(results.policies):
        mean, reach, promised = _shares(results, label)
        middle, half = bars(axes, place, policies, mean, reach, label=plain(label, LONGEST[width])), 0.42 / policies
        if promised is not None:
            axes.hlines(promised, middle - half, middle + half, **_mark(axes))
    axes.set_xticks(np.arange(arms), apart(results.names, LONGEST[width]))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("arm")
    axes.set_ylabel("share of the rounds")


def _rows(axes: Axes, results: Results, width: str) -> None:
    arms, gap = len(results.names), 0.7 / len(results.policies)
    for place, label in enumerate(results.policies):
        mean, reach, promised = _shares(results, label)
        height = np.arange(arms) - 0.35 + (place + 0.5) * gap
        # Not clipped, so that markers at 0 are whole.
        whiskers(axes, place, plain(label, LONGEST[width]), mean, height, xerr=reach, linestyle="", clip_on=False)
        if promised is not None:  # below the markers
            axes.vlines(promised, height - gap / 2, height + gap / 2, **_mark(axes) | {"zorder": 1.5})
    axes.set_yticks(np.arange(arms), apart(results.names, LONGEST[width]))
    axes.set_ylim(arms - 0.4, -0.6)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("share of the rounds")


def _ranks(axes: Axes, results: Results, width: str) -> None:
    arms = len(results.names)
    ranks = np.arange(1, arms + 1)
    for place, label in enumerate(results.policies):
        mean, _, promised = _shares(results, label)
        order = np.argsort(-mean, kind="stable")
        axes.plot(
            ranks, mean[order], label=plain(label, LONGEST[width]), linewidth=1.6, clip_on=False, **look(place, arms)
        )
        if promised is not None:
            axes.step(ranks, promised[order], where="mid", **_mark(axes) | {"linewidth": 0.9})
    axes.set_yscale("symlog", linthresh=1.0 / arms)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"rank of the {arms} arms by their share, for each policy")
    axes.set_ylabel("share of the rounds")


def _mark(axes: Axes) -> dict[str, Any]:
    label = "_" if "promised" in axes.get_legend_handles_labels()[1] else "promised"
    return {"color": "black", "linewidth": 1.8, "label": label, "zorder": 3}


@styled
def shares_over_time(results: Results, label: str | None = None, *, title: str = "", width: str = "") -> Figure:
    """The share of the rounds so far of each arm of one policy, ``N_i(t)/t``, and its promise, a thin line.

    Of more than eight arms those are drawn that are furthest below their promise, and then those that play most.

    Returns:
        An ordinary figure of matplotlib; bands are 95% intervals of the mean over lanes.

    Raises:
        EvenhandError: there is no such policy or width.

    Example:
        >>> import evenhand as eh
        >>> world = eh.Environment(eh.rewards.Bernoulli([0.8, 0.2]))
        >>> results = eh.simulate(eh.algorithms.fucb([0.2, 0.2]), world, horizon=50, lanes=4)
        >>> shares_over_time(results).axes[0].get_ylabel()
        'share of the rounds so far'
    """
    label = policy_in(results, label)
    so_far = results.policies[label].pulls / results.rounds[:, None, None]
    promised = promised_by(results, label)
    drawn = _of_interest(so_far[-1].mean(axis=0), promised)
    names = [results.names[arm] for arm in drawn]
    sheet = Sheet(names, title=title, width=width)
    (axes,) = sheet.panels
    for place, (arm, name) in enumerate(zip(drawn, apart(names, LONGEST[width]), strict=True)):
        line(axes, place, name, results.rounds, so_far[:, :, arm], clip_on=False)
        if promised is not None and promised[arm] > 0.0:
            axes.axhline(promised[arm], color=look(place, 1)["color"], linewidth=0.9, linestyle=":")
    axes.set_ylim(bottom=0.0)
    sheet.label("round", "share of the rounds so far")
    caption = f"{plain(label)}, {mean_of(results.information['lanes'], 'band: 95% confidence interval')}"
    caption += "; dotted: promised" * (promised is not None)
    if len(drawn) < len(results.names):
        caption += f"; {len(drawn)} of {len(results.names)} arms: furthest behind, then most played"
    return sheet.finish(caption)


def _of_interest(shares: Array, promised: Array | None) -> list[int]:
    """The arms that are drawn: all of few, else those furthest below their promise and those that play most."""
    if len(shares) <= SHOWN:
        return list(range(len(shares)))
    missing = np.zeros_like(shares) if promised is None else np.maximum(promised - shares, 0.0)
    behind = [int(arm) for arm in np.argsort(-missing, kind="stable")[: SHOWN // 2] if missing[arm] > 0.0]
    most = [int(arm) for arm in np.argsort(-shares, kind="stable") if int(arm) not in behind]
    return sorted([*behind, *most[: SHOWN - len(behind)]])


@styled
def arms_over_time(results: Results, label: str | None = None, *, title: str = "", width: str = "") -> Figure:
    """Who played when: the share of the rounds between two checkpoints that each arm of a policy had, as a map.

    Returns:
        An ordinary figure of matplotlib, a row for each arm; above 60 arms only some have their names.

    Raises:
        EvenhandError: there is no such policy or width.

    Example:
        >>> import evenhand as eh
        >>> results = eh.simulate("ucb1", eh.Environment(eh.rewards.Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> arms_over_time(results).axes[0].get_xlabel()
        'round'
    """
    from matplotlib.colors import PowerNorm

    label = policy_in(results, label)
    pulls, arms = results.policies[label].pulls.mean(axis=1), len(results.names)
    edges = np.concatenate([[0], results.rounds])
    between = np.diff(pulls, axis=0, prepend=0.0) / np.diff(edges)[:, None]
    sheet = Sheet(title=title, width=width)
    (axes,), figure = sheet.panels, sheet.figure
    figure.set_figheight(max(2.4, min(7.5, 1.3 + 0.16 * arms) if width else min(12.0, 1.3 + 0.24 * arms)))
    most = float(np.quantile(between, 0.999)) or 1.0  # so that a start in which each arm plays in turn hides nothing
    colours: Any = {"cmap": "cividis", "norm": PowerNorm(0.5, 0.0, most), "rasterized": True}
    mesh = axes.pcolormesh(edges, np.arange(arms + 1) - 0.5, between.T, **colours)
    figure.colorbar(mesh, ax=axes, aspect=8.0 * figure.get_figheight(), label="share of the rounds")
    step = max(1, -(-arms // 40))
    axes.set_yticks(np.arange(0, arms, step), apart(results.names[::step], LONGEST[width] * 2 // 3))
    axes.set_ylim(arms - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_xlabel("round")
    some = f"; every {step}th arm is named" if step > 1 else ""
    return sheet.finish(f"{plain(label)}, {mean_of(results.information['lanes'])}{some}")
