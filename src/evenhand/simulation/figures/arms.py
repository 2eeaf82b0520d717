"""Arms over time: their shares against what they were promised, and a map of who played when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.simulation.figures.lines import limits
from evenhand.simulation.figures.style import LONGEST, apart, finish, look, mean_of, new_figure, plain, style_for
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 8  # arms that have a curve each


def shares_over_time(results: Results, label: str | None = None, *, title: str = "", width: str = "") -> Figure:
    """The share of the rounds so far of each arm of one policy, ``N_i(t)/t``, and its promise, a thin line.

    Of more than eight arms those are drawn that are furthest below their promise, and then those that play most.

    Args:
        results: of a simulation.
        label: of the policy; None for the first.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib; bands are 95% intervals of the mean over lanes.

    Raises:
        EvenhandError: there is no such policy or width.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(fucb([0.2, 0.2]), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> shares_over_time(results).axes[0].get_ylabel()
        'share of the rounds so far'
    """
    label = policy_in(results, label)
    so_far = results.policies[label].pulls / results.rounds[:, None, None]
    promised = promised_by(results, label)
    drawn = _of_interest(so_far[-1].mean(axis=0), promised)
    figure, (axes,) = new_figure([results.names[arm] for arm in drawn], width=width)
    names = apart([results.names[arm] for arm in drawn], LONGEST[width])
    for place, arm in enumerate(drawn):
        style: dict[str, Any] = look(place, len(results.rounds)) | {"label": names[place], "clip_on": False}
        axes.plot(results.rounds, so_far[:, :, arm].mean(axis=1), linewidth=1.6, **style)
        low, high = limits(so_far[:, :, arm], "95%")
        axes.fill_between(results.rounds, low, high, color=style["color"], alpha=0.2, linewidth=0)
        if promised is not None and promised[arm] > 0.0:
            axes.axhline(promised[arm], color=style["color"], linewidth=0.9, linestyle=":")
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("round")
    axes.set_ylabel("share of the rounds so far")
    finish(figure, [axes], title, _caption(results, label, len(drawn), promised is not None), width)
    return figure


def arms_over_time(results: Results, label: str | None = None, *, title: str = "", width: str = "") -> Figure:
    """Who played when: the share of the rounds between two checkpoints that each arm of a policy had, as a map.

    Args:
        results: of a simulation.
        label: of the policy; None for the first.
        title: above the figure.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.

    Returns:
        An ordinary figure of matplotlib, a row for each arm; above 60 arms only some have their names.

    Raises:
        EvenhandError: there is no such policy or width.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> arms_over_time(results).axes[0].get_xlabel()
        'round'
    """
    import matplotlib as mpl

    label = policy_in(results, label)
    pulls = results.policies[label].pulls.mean(axis=1)
    edges = np.concatenate([[0], results.rounds])
    between = np.diff(np.concatenate([np.zeros((1, pulls.shape[1])), pulls]), axis=0) / np.diff(edges)[:, None]
    arms = len(results.names)
    figure, (axes,) = new_figure([], width=width)
    with mpl.rc_context(style_for(width)):
        figure.set_figheight(max(2.4, min(7.5, 1.3 + 0.16 * arms) if width else min(12.0, 1.3 + 0.24 * arms)))
        mesh = axes.pcolormesh(edges, np.arange(arms + 1) - 0.5, between.T, cmap="cividis", vmin=0.0, rasterized=True)
        figure.colorbar(mesh, ax=axes, aspect=8.0 * figure.get_figheight(), label="share of the rounds")
    step = max(1, -(-arms // 40))
    axes.set_yticks(np.arange(0, arms, step), apart(results.names[::step], LONGEST[width] * 2 // 3))
    axes.set_ylim(arms - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_xlabel("round")
    some = f"; every {step}th arm is named" if step > 1 else ""
    finish(figure, [axes], title, f"{plain(label)}, {mean_of(results.information['lanes'])}{some}", width)
    return figure


def policy_in(results: Results, label: str | None) -> str:
    """The label of a policy of the results; None stands for the first.

    Args:
        results: of a simulation.
        label: of the policy, or None.

    Returns:
        The label.

    Raises:
        EvenhandError: there is no such policy.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> policy_in(simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=5), None)
        'ucb1'
    """
    if label is None:
        return next(iter(results.policies))
    if label not in results.policies:
        raise EvenhandError(f"there is no policy {label!r}{nearest(label, results.policies)}")
    return label


def promised_by(results: Results, label: str) -> Array | None:
    """The shares that a policy is judged by, (arms,), on average over lanes; None where nothing is promised.

    Args:
        results: of a simulation.
        label: of the policy.

    Returns:
        Shares of the rounds, or None.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> promised_by(simulate(fucb(0.1), Environment(Bernoulli([0.8, 0.2])), horizon=5), "fucb")
        array([0.1, 0.1])
    """
    promised = results.promised[label]
    if promised is None:
        return None
    return np.array(np.broadcast_to(np.mean(np.atleast_2d(promised), axis=0), len(results.names)))


def _of_interest(shares: Array, promised: Array | None) -> list[int]:
    """The arms that are drawn: all of few, else those furthest below their promise and those that play most."""
    if len(shares) <= SHOWN:
        return list(range(len(shares)))
    missing = np.zeros_like(shares) if promised is None else np.maximum(promised - shares, 0.0)
    behind = [int(arm) for arm in np.argsort(-missing, kind="stable")[: SHOWN // 2] if missing[arm] > 0.0]
    most = [int(arm) for arm in np.argsort(-shares, kind="stable") if int(arm) not in behind]
    return sorted([*behind, *most[: SHOWN - len(behind)]])


def _caption(results: Results, label: str, drawn: int, promised: bool) -> str:
    parts = [f"{plain(label)}, {mean_of(results.information['lanes'], 'band: 95% confidence interval')}"]
    if promised:
        parts.append("dotted: promised")
    if drawn < len(results.names):
        parts.append(f"{drawn} of {len(results.names)} arms: furthest behind, then most played")
    return "; ".join(parts)
