"""The figures of Fang et al. 2022, in the paper's form."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.fang2022 import claims
from evenhand.papers.fang2022.claims import POLICIES, SETTINGS, Frontier, penalised_regret
from evenhand.papers.panels import curves, finish, lanes_of
from evenhand.papers.verdicts import at
from evenhand.simulation.figures.panel import grid, line, mean_and_reach, whiskers
from evenhand.simulation.figures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def over_horizons(runs: Runs) -> Figure:
    """Penalised regret over T, one panel per setting: figure 1."""

    def panel(axes: Axes, part: str) -> None:
        arms, tau = SETTINGS[part]
        rounds = runs[part].results.rounds
        for place, name in enumerate(POLICIES):
            regrets = [penalised_regret(runs[part], name, one) for one in rounds.tolist()]
            whiskers(axes, place, name, rounds, *mean_and_reach(np.array(regrets)))
        finish(axes, "T (rounds)", "penalised regret (reward)", title=f"K = {arms}, τ = {tau}")

    return grid(SETTINGS, panel, note=lanes_of(_any(runs), "bars"))


def over_scale(runs: Runs) -> Figure:
    """Plays missing to each arm over η, one row per case and one column per policy: figure 2."""

    def panel(axes: Axes, cell: tuple[tuple[int, str], str]) -> None:
        (case, part), name = cell
        path = {eta: plays * claims.promised(runs[part]) for eta, plays in claims.missing(runs[part], name).items()}
        for arm, plays in enumerate(np.moveaxis(np.array(list(path.values())), -1, 0)):
            line(axes, arm, f"arm {arm + 1}", list(path), plays, linewidth=1.2, markersize=3, markevery=None)
        axes.set_xlim(-0.05, 1.05)
        finish(axes, "scale η", "plays missing (plays)", title=f"case {case}, {name}")

    note = f"{lanes_of(_any(runs))}; arms in the order of their means"
    return grid(list(product(claims.SCALE_CASES.items(), POLICIES)), panel, note=note)


@of_runs
def frontiers(runs: Runs, parts: Mapping[str, str]) -> Figure:
    """Reward against unfairness, one panel per configuration: figures 3 and 5."""

    def panel(axes: Axes, part: str) -> None:
        ends = []
        for place, name in enumerate(POLICIES):
            front = Frontier.everywhere(runs[part], name)
            (missing, across), (mean, reach) = mean_and_reach(front.unfairness), mean_and_reach(front.reward)
            whiskers(axes, place, name, missing, mean, reach, xerr=across)
            last = len(mean) - (place == len(POLICIES) - 1)  # without LFG at η = 1
            ends += [(mean - reach)[:last].min(), (mean + reach)[:last].max()]
        margin = 0.04 * (max(ends) - min(ends))
        axes.set_ylim(min(ends) - margin, max(ends) + margin)
        where, names = parts[part], runs[part].results.names
        title = f"{len(names)} films" if where.endswith("films") else where  # a user's copy may have others
        finish(axes, "unfairness (plays missing)", "total expected reward", title=title)

    what = "a marker is a value of the parameter; LFG at η = 1 may lie below what is drawn"
    return grid(parts, panel, note=f"{lanes_of(_any(runs), 'whiskers')}; {what}")


def over_gaps(runs: Runs) -> Figure:
    """Plays of an arm over its inverse gap, one row per kind of arms and one column per case: figure 4."""

    def panel(axes: Axes, part: str) -> None:
        kind, case = claims.GAP_CASES[part]
        run = runs[part]
        places, inverse = claims.arms_of(part, run)
        mean, error = mean_and_reach(claims.plays_of(run, places).T)
        axes.errorbar(inverse, mean, error, label="arms", linestyle="none", marker="o", markersize=5, color="#000000")
        level = claims.level_of(run, places)[0]
        axes.axhline(level, label="fairness level τT", color=COLOURS[0], linewidth=1.2)
        _fitted(axes, part, run)
        axes.set_xlim(0.0, 1.06 * inverse.max())
        axes.set_ylim(0.0, 1.1 * max(mean.max(), level))
        finish(axes, claims.INVERSE[kind], "plays of an arm", title=f"{kind} arms, case {case}")

    return grid(claims.GAP_CASES, panel, note=lanes_of(_any(runs), "bars"))


def beside_the_others(runs: Runs) -> Figure:
    """Missing plays and penalised regret of the soft threshold, and penalised regret of explore then commit."""
    promises, commit = runs["f6-promises"], runs["f6-commit"]
    names = (claims.HARD, claims.SOFT, claims.COMMIT)

    def panel(axes: Axes, measure: str) -> None:
        if measure:
            title = "five arms, all promises worth keeping"
            curves(axes, promises, measure, names[:2], order=names, title=title)
            return
        rounds = claims.commits(commit)
        for place, name in ((0, claims.HARD), (2, claims.COMMIT)):
            labels = [name if place == 0 else f"{name} T={one}" for one in rounds]
            found = [at(commit, label, "penalized_regret", one) for label, one in zip(labels, rounds, strict=True)]
            whiskers(axes, place, name, rounds, *mean_and_reach(np.array(found)))
        finish(axes, "T (rounds)", "penalised regret (reward)", log="x", title="setting 1, K = 5, τ = 0.2")

    return grid(("unfairness", "penalized_regret", ""), panel, note=lanes_of(promises, "bands and bars"))


def vanishing(runs: Runs) -> Figure:
    """The penalised regret over the rounds, a panel a T."""

    def panel(axes: Axes, part: str) -> None:
        curves(axes, runs[part], "penalized_regret", claims.POWERS, title=f"T = {runs[part].setup.horizon:,}")

    return grid(claims.VANISHING, panel, note=lanes_of(runs[claims.VANISHING[0]]))


def _fitted(axes: Axes, part: str, run: CompletedRun) -> None:
    """The straight line through the arms off the fairness level, if they are enough."""
    off, plays = claims.off_the_level(part, run)
    if len(off) < claims.LEAST:
        return
    slope, foot = np.polyfit(off, plays.mean(axis=0), 1)
    ends = np.array([off.min(), off.max()])
    label = "straight line through the arms off the level"
    axes.plot(ends, foot + slope * ends, label=label, linewidth=1.2, linestyle="--", color=COLOURS[9])


def _any(runs: Runs) -> CompletedRun:
    """One of the runs, for what they have in common."""
    return next(iter(runs.values()))
