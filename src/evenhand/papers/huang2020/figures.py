"""The figures of Huang et al. 2020, in the paper's form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.state import Array
from evenhand.datasets import movielens
from evenhand.papers.experiment import CompletedRun, ExperimentTable, Runs, of_runs
from evenhand.papers.huang2020 import claims
from evenhand.papers.panels import curves, finish, lanes_of, name_arms
from evenhand.papers.verdicts import at, shares
from evenhand.simulation.figures.panel import bars, grid, mean_and_reach, shade, whiskers
from evenhand.simulation.figures.style import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"1": "η = 1", "10": "η = 10", "1000": "η = 1000", "63.55": "η = √(KT/(m ln T)) = 63.55", "inf": "η = ∞"}
#: The policies whose final ratings are shown.
RATED = ("TSCSF-B", "LFG", "LFG c=2")
#: What a policy is called in the figures, by the first part of its label.
NAMES = {
    "TSCSF-B": "TSCSF-B (exact queue)",
    "LFG": "LFG (recursive queue)",
    "LFG c=2": "LFG with c = 2 (ours)",
    "TSCSF-B recursive": "TSCSF-B, recursive queue (ours)",
    "LFG exact": "LFG, exact queue (ours)",
}


#: What the final ratings are, in words.
KINDS = {"score": "index in the end (TSCSF-B: draw, LFG: bound)", "estimate": "mean of the ratings received"}


@of_runs
def over_etas(runs: Runs, part: str, etas: Sequence[str]) -> Figure:
    """Time-averaged regret, one panel per η: figures 1 and 2."""

    def panel(axes: Axes, eta: str) -> None:
        _regret_panel(axes, runs[part], f" eta={eta}", TITLES[eta])

    return grid(etas, panel, columns=2, note=lanes_of(runs[part]))


@of_runs
def final_shares(runs: Runs, part: str, eta: str) -> Figure:
    """Shares of the rounds in the end: figures 3 and 4."""

    def panel(axes: Axes, end: str) -> None:
        _shares_panel(axes, runs[part], end, TITLES[eta])

    return grid([f" eta={eta}"], panel, note=lanes_of(runs[part], "whiskers"))


def against_bounds(runs: Runs) -> Figure:
    """Regrets and their bounds over T: figure 5, and with η anew for every T."""
    run = runs[claims.BOUNDS]
    panels = {TITLES[claims.ETA]: _fixed_eta, "η = √(KT/(m ln T)) anew for every T (ours)": _eta_by_horizon}

    def panel(axes: Axes, title: str) -> None:
        for name in claims.PAIR:
            panels[title](axes, run, name)
        finish(axes, "T (rounds)", "ln(time-averaged regret)", title=title)

    note = f"{lanes_of(run)}; no logarithm, and so no line, where the mean is not above 0"
    return grid(panels, panel, columns=2, note=note)


def final_ratings(runs: Runs) -> Figure:
    """Final ratings in both readings, and the true ones: figure 6 (a)."""
    run = runs[claims.FILMS]

    def panel(axes: Axes, attribute: str) -> None:
        _ratings_panel(axes, run, attribute)
        name_arms(axes, run, "rating (stars)", KINDS[attribute])
        axes.set_xlabel("film")

    return grid(KINDS, panel, columns=2, note=lanes_of(run, "whiskers"))


def rating_tables(runs: Runs) -> list[ExperimentTable]:
    """Final ratings in both readings beside the true ones: the numbers of `final_ratings`."""
    run = runs[claims.FILMS]
    truth = run.setup.environment.means * movielens.STARS
    kinds = {"mean rating received (stars)": "estimate", "index at the end (stars)": "score"}
    labels = [name + end for end in (claims.BALANCED, claims.FREE) for name in RATED]
    tables = []
    for title, attribute in kinds.items():
        columns = [(truth, np.full(len(truth), math.nan))]
        columns += [_over_lanes(claims.excess_stars(run, label, attribute) + truth) for label in labels]
        rows = {
            film: tuple((float(mean[arm]), float(error[arm])) for mean, error in columns)
            for arm, film in enumerate(run.results.names)
        }
        tables.append(ExperimentTable(title, ("true", *labels), rows))
    return tables


def _over_lanes(stars: Array) -> tuple[Array, Array]:
    """Mean and standard error over the lanes that have a rating, (films,) each; NaN for a film that no lane rated."""
    known = ~np.isnan(stars)
    lanes = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, stars, 0.0).sum(axis=0) / lanes
        squares = np.where(known, stars - mean, 0.0) ** 2
        return mean, np.sqrt(squares.sum(axis=0) / (lanes - 1) / lanes)


def films(runs: Runs) -> Figure:
    """Regret for both η, and shares: figures 7 and 6 (b)."""
    run = runs[claims.FILMS]
    fairness: Any = run.setup.policies["TSCSF-B" + claims.BALANCED].fairness
    eta = f"η = √(KT/(m ln T)) = {fairness.eta:.2f}"

    def panel(axes: Axes, end: str) -> None:
        if end:
            _regret_panel(axes, run, end, eta if end == claims.BALANCED else "η = ∞")
        else:
            _shares_panel(axes, run, claims.BALANCED, eta)
            axes.set_xlabel("film")

    return grid((claims.BALANCED, claims.FREE, ""), panel, note=f"{lanes_of(run)}; whiskers likewise")


def _labels(run: CompletedRun, end: str) -> dict[str, str]:
    """The labels of the policies with an ending, and what the legend calls them."""
    return {name + end: label for name, label in NAMES.items() if name + end in run.results.policies}


def _regret_panel(axes: Axes, run: CompletedRun, end: str, title: str) -> None:
    """Time-averaged regret, with Opt-F and Opt-NF, and the first rounds enlarged."""
    labels, free = _labels(run, end), claims.opt_nf(run)
    curves(axes, run, claims.REGRET, labels, title=title, order=NAMES.values())
    inset = axes.inset_axes((0.47, 0.5, 0.5, 0.46))
    early = run.results.rounds <= claims.ZOOM
    for label, one in zip(labels, axes.get_lines(), strict=True):
        mean = run.results.policies[label].curves[claims.REGRET][early].mean(axis=1)
        inset.plot(run.results.rounds[early], mean, linewidth=1.0, color=one.get_color(), linestyle=one.get_linestyle())
    for plot, named in ((axes, True), (inset, False)):
        plot.axhline(0.0, color="black", linewidth=0.9, label="Opt-F" if named else None)
        plot.axhline(free, color="black", linewidth=0.9, linestyle=":", label="Opt-NF" if named else None)
    inset.set_xlim(0, claims.ZOOM)
    inset.tick_params(labelsize=7)
    inset.set_title(f"first {claims.ZOOM} rounds", fontsize=7.5, pad=2)
    _make_room(axes, run, labels, free)


def _make_room(axes: Axes, run: CompletedRun, labels: Mapping[str, str], least: float) -> None:
    """The rounds after the inset's fill the lower half on the right, which leaves the upper one to the inset."""
    rounds = run.results.rounds
    means = [run.results.policies[label].curves[claims.REGRET].mean(axis=1) for label in labels]
    late = np.concatenate([mean[rounds >= 0.3 * rounds[-1]] for mean in means] + [np.array([0.0])])
    start = max(float(mean[rounds >= claims.ZOOM][0]) for mean in means)
    low = min(least, *(float(mean[rounds >= claims.ZOOM].min()) for mean in means))
    high = max(start, low + 2.9 * (float(late.max()) - low))
    margin = 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)


def _shares_panel(axes: Axes, run: CompletedRun, end: str, title: str) -> None:
    """Final shares of the rounds, one bar per policy, and what was promised."""
    labels, arms, names = _labels(run, end), np.arange(len(run.results.names)), list(NAMES.values())
    for place, (label, name) in enumerate(labels.items()):
        found = mean_and_reach(shares(run, label).T)
        bars(axes, place, len(labels), *found, label=name, color=COLOURS[names.index(name)])
    promised = np.broadcast_to(np.asarray(run.results.promised[next(iter(labels))]), len(arms))
    axes.hlines(promised, arms - 0.45, arms + 0.45, color="black", linewidth=1.6, label="promised", zorder=3)
    name_arms(axes, run, title=title)


def _fixed_eta(axes: Axes, run: CompletedRun, name: str) -> None:
    rounds, shape = claims.bounded_rounds(run), _look(name) | {"markevery": (0.0, 0.14)}
    mean, error = mean_and_reach(run.results.policies[f"{name} eta={claims.ETA}"].curves[claims.REGRET][-len(rounds) :])
    axes.plot(rounds, _logarithm(mean), linewidth=1.5, label=f"{name}: regret", **shape)
    shade(axes, rounds, _logarithm(mean - error), _logarithm(mean + error), shape["color"])
    bounds = np.log(claims.bound(run, name, rounds))
    axes.plot(rounds, bounds, linestyle="--", label=f"{name}: bound", fillstyle="none", **shape)


def _eta_by_horizon(axes: Axes, run: CompletedRun, name: str) -> None:
    etas = claims.horizons(run)
    means = [float(at(run, f"{name} eta={eta}", claims.REGRET, end).mean()) for end, eta in etas.items()]
    bounds = [float(claims.bound(run, name, end, eta)) for end, eta in etas.items()]
    axes.plot(list(etas), _logarithm(np.array(means)), label=f"{name}: regret", **_look(name))
    axes.plot(list(etas), np.log(bounds), linestyle="--", label=f"{name}: bound", fillstyle="none", **_look(name))


def _look(name: str) -> dict[str, Any]:
    place = claims.PAIR.index(name)
    return {"color": COLOURS[place], "marker": MARKERS[place], "markersize": 4}


def _logarithm(values: Array) -> Array:
    """NaN where there is none."""
    return np.log(np.where(values > 0.0, values, np.nan))


def _ratings_panel(axes: Axes, run: CompletedRun, attribute: str) -> None:
    """The films side by side: the true ratings, and one marker with whiskers per policy and η."""
    places = np.arange(len(run.results.names))
    truth = run.setup.environment.means * movielens.STARS
    axes.hlines(truth, places - 0.45, places + 0.45, color="black", linewidth=1.4, label="true mean rating")
    labels = [name + end for end in (claims.BALANCED, claims.FREE) for name in RATED]
    for place, label in enumerate(labels):
        found = mean_and_reach(claims.excess_stars(run, label, attribute).T + truth[:, np.newaxis])
        where, colour = places - 0.35 + 0.7 * place / (len(labels) - 1), COLOURS[place % len(RATED)]
        filled = colour if claims.BALANCED in label else "none"
        whiskers(axes, place, label, where, *found, linestyle="", color=colour, markerfacecolor=filled)
