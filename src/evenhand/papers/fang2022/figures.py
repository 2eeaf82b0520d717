"""The figures of Fang et al. 2022, in the paper's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.papers import panels
from evenhand.papers.experiment import CompletedRun, Runs
from evenhand.papers.fang2022 import claims
from evenhand.papers.fang2022.claims import POLICIES, SETTINGS, Frontier, penalised_regret
from evenhand.papers.verdicts import at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_points = partial(panels.points, markersize=4.5, linewidth=1.4)


def over_horizons(runs: Runs) -> Figure:
    """Penalised regret over T, one panel per setting: figure 1."""

    def panel(number: int, axes: Axes) -> None:
        part, (arms, tau) = list(SETTINGS.items())[number]
        rounds = runs[part].results.rounds
        for place, name in enumerate(POLICIES):
            regrets = [penalised_regret(runs[part], name, one) for one in rounds.tolist()]
            _points(axes, rounds, *panels.mean_and_reach(np.array(regrets)), name, place)
        panels.finish(axes, "T (rounds)", "penalised regret (reward)", title=f"K = {arms}, τ = {tau}")

    return panels.grid(len(SETTINGS), panel, note=panels.lanes_of(_any(runs), "bars"))


def over_scale(runs: Runs) -> Figure:
    """Plays missing to each arm over η, one row per case and one column per policy: figure 2."""
    cells = [(case, part, name) for case, part in claims.SCALE_CASES.items() for name in POLICIES]

    def panel(number: int, axes: Axes) -> None:
        case, part, name = cells[number]
        path = {eta: plays * claims.promised(runs[part]) for eta, plays in claims.missing(runs[part], name).items()}
        mean, error = panels.mean_and_reach(np.moveaxis(np.array(list(path.values())), 1, -1))
        for arm, (middle, reach) in enumerate(zip(mean.T, error.T, strict=True)):
            look: dict[str, Any] = panels.line(arm) | {
                "marker": panels.MARKERS[arm % len(panels.MARKERS)],
                "markersize": 3,
            }
            axes.plot(list(path), middle, label=f"arm {arm + 1}", **look)
            panels.band(axes, list(path), middle - reach, middle + reach, look["color"])
        axes.set_xlim(-0.05, 1.05)
        panels.finish(axes, "scale η", "plays missing (plays)", title=f"case {case}, {name}")

    note = f"{panels.lanes_of(_any(runs))}; arms in the order of their means"
    return panels.grid(len(cells), panel, note=note)


def frontiers(parts: Mapping[str, str]) -> Callable[[Runs], Figure]:
    """Reward against unfairness, one panel per configuration: figures 3 and 5."""

    def draw(runs: Runs) -> Figure:
        def panel(number: int, axes: Axes) -> None:
            part, where = list(parts.items())[number]
            fronts = {name: Frontier.everywhere(runs[part], name) for name in POLICIES}
            for place, (name, front) in enumerate(fronts.items()):
                missing, across = panels.mean_and_reach(front.unfairness)
                _points(axes, missing, *panels.mean_and_reach(front.reward), name, place, xerr=across)
            ends = [panels.mean_and_reach(front.reward) for front in fronts.values()]
            ends[-1] = (ends[-1][0][:-1], ends[-1][1][:-1])  # without LFG at η = 1
            low = min(float((mean - reach).min()) for mean, reach in ends)
            high = max(float((mean + reach).max()) for mean, reach in ends)
            axes.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
            panels.finish(axes, "unfairness (plays missing)", "total expected reward", title=_title(where, runs[part]))

        what = "a marker is a value of the parameter; LFG at η = 1 may lie below what is drawn"
        note = f"{panels.lanes_of(_any(runs), 'whiskers')}; {what}"
        return panels.grid(len(parts), panel, note=note)

    return draw


def over_gaps(runs: Runs) -> Figure:
    """Plays of an arm over its inverse gap, one row per kind of arms and one column per case: figure 4."""

    def panel(number: int, axes: Axes) -> None:
        part, (kind, case) = list(claims.GAP_CASES.items())[number]
        run = runs[part]
        places, inverse = claims.arms_of(part, run)
        mean, error = panels.mean_and_reach(claims.plays_of(run, places).T)
        axes.errorbar(inverse, mean, error, label="arms", linestyle="none", marker="o", markersize=5, color="#000000")
        level = claims.level_of(run, places)[0]
        axes.axhline(level, label="fairness level τT", color=panels.line(0)["color"], linewidth=1.2)
        _fitted(axes, part, run)
        axes.set_xlim(0.0, 1.06 * inverse.max())
        axes.set_ylim(0.0, 1.1 * max(mean.max(), level))
        panels.finish(axes, claims.INVERSE[kind], "plays of an arm", title=f"{kind} arms, case {case}")

    return panels.grid(len(claims.GAP_CASES), panel, note=panels.lanes_of(_any(runs), "bars"))


def beside_the_others(runs: Runs) -> Figure:
    """Missing plays and penalised regret of the soft threshold, and penalised regret of explore then commit."""
    promises, commit = runs["f6-promises"], runs["f6-commit"]
    names = (claims.HARD, claims.SOFT, claims.COMMIT)

    def panel(number: int, axes: Axes) -> None:
        if number < 2:
            measure = ("unfairness", "penalized_regret")[number]
            panels.curves(
                axes, promises, measure, names[:2], order=names, title="five arms, all promises worth keeping"
            )
            return
        rounds = claims.commits(commit)
        for place, name in ((0, claims.HARD), (2, claims.COMMIT)):
            labels = [name if place == 0 else f"{name} T={one}" for one in rounds]
            found = [at(commit, label, "penalized_regret", one) for label, one in zip(labels, rounds, strict=True)]
            panels.points(axes, rounds, *panels.mean_and_reach(np.array(found)), name, place)
        panels.finish(axes, "T (rounds)", "penalised regret (reward)", log="x", title="setting 1, K = 5, τ = 0.2")

    return panels.grid(3, panel, note=panels.lanes_of(promises, "bands and bars"))


def _fitted(axes: Axes, part: str, run: CompletedRun) -> None:
    """The straight line through the arms off the fairness level, if they are enough."""
    off, plays = claims.off_the_level(part, run)
    if len(off) < claims.LEAST:
        return
    slope, foot = np.polyfit(off, plays.mean(axis=0), 1)
    ends = np.array([off.min(), off.max()])
    label = "straight line through the arms off the level"
    axes.plot(ends, foot + slope * ends, label=label, linewidth=1.2, **panels.line(9))


def _title(where: str, run: CompletedRun) -> str:
    """As many films as there are: a user's copy may have others."""
    films = len(run.results.names)
    return f"{films} films" if where.endswith("films") else where


def _any(runs: Runs) -> CompletedRun:
    """One of the runs, for what they have in common."""
    return next(iter(runs.values()))
