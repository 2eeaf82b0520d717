"""The figures of Huang et al. 2020, in the paper's form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.state import Array
from evenhand.datasets import movielens
from evenhand.papers import panels
from evenhand.papers.experiment import CompletedRun, ExperimentTable, Runs
from evenhand.papers.huang2020.claims import (
    BALANCED,
    BOUNDS,
    ETA,
    FILMS,
    FREE,
    PAIR,
    REGRET,
    ZOOM,
    bound,
    bounded_rounds,
    excess_stars,
    horizons,
    opt_nf,
)
from evenhand.papers.verdicts import at, shares

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


def over_etas(part: str, etas: Sequence[str]) -> Callable[[Runs], Figure]:
    """Time-averaged regret, one panel per η: figures 1 and 2."""

    def draw(runs: Runs) -> Figure:
        run = runs[part]

        def panel(number: int, axes: Axes) -> None:
            _regret_panel(axes, run, f" eta={etas[number]}", TITLES[etas[number]])

        return panels.grid(len(etas), panel, columns=2, note=panels.lanes_of(run))

    return draw


def final_shares(part: str, eta: str) -> Callable[[Runs], Figure]:
    """Shares of the rounds in the end: figures 3 and 4."""

    def draw(runs: Runs) -> Figure:
        run = runs[part]
        note = panels.lanes_of(run, "whiskers")
        return panels.grid(1, lambda _, axes: _shares_panel(axes, run, f" eta={eta}", TITLES[eta]), note=note)

    return draw


def against_bounds(runs: Runs) -> Figure:
    """Regrets and their bounds over T: figure 5, and with η anew for every T."""
    run = runs[BOUNDS]

    def panel(number: int, axes: Axes) -> None:
        for place, name in enumerate(PAIR):
            (_fixed_eta, _eta_by_horizon)[number](axes, run, name, panels.line(place)["color"])
        title = (TITLES[ETA], "η = √(KT/(m ln T)) anew for every T (ours)")[number]
        panels.finish(axes, "T (rounds)", "ln(time-averaged regret)", title=title)

    note = f"{panels.lanes_of(run)}; no logarithm, and so no line, where the mean is not above 0"
    return panels.grid(2, panel, columns=2, note=note)


def final_ratings(runs: Runs) -> Figure:
    """Final ratings in both readings, and the true ones: figure 6 (a)."""
    run = runs[FILMS]
    kinds = {"score": "index in the end (TSCSF-B: draw, LFG: bound)", "estimate": "mean of the ratings received"}

    def panel(number: int, axes: Axes) -> None:
        attribute = list(kinds)[number]
        _ratings_panel(axes, run, attribute)
        panels.finish(axes, "film", "rating (stars)", title=kinds[attribute])
        panels.name_arms(axes, run)

    return panels.grid(2, panel, columns=2, note=panels.lanes_of(run, "whiskers"))


def rating_tables(runs: Runs) -> list[ExperimentTable]:
    """Final ratings in both readings beside the true ones: the numbers of `final_ratings`."""
    run = runs[FILMS]
    truth = run.setup.environment.means * movielens.STARS
    kinds = {"mean rating received (stars)": "estimate", "index at the end (stars)": "score"}
    labels = [name + end for end in (BALANCED, FREE) for name in RATED]
    tables = []
    for title, attribute in kinds.items():
        columns = [(truth, np.full(len(truth), math.nan))]
        columns += [_over_lanes(excess_stars(run, label, attribute) + truth) for label in labels]
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
    run = runs[FILMS]
    fairness: Any = run.setup.policies["TSCSF-B" + BALANCED].fairness
    eta = f"η = √(KT/(m ln T)) = {fairness.eta:.2f}"

    def panel(number: int, axes: Axes) -> None:
        if number == 2:
            _shares_panel(axes, run, BALANCED, eta)
            axes.set_xlabel("film")
        else:
            _regret_panel(axes, run, (BALANCED, FREE)[number], (eta, "η = ∞")[number])

    return panels.grid(3, panel, note=f"{panels.lanes_of(run)}; whiskers likewise")


def _labels(run: CompletedRun, end: str) -> dict[str, str]:
    """The labels of the policies with an ending, and what the legend calls them."""
    return {name + end: label for name, label in NAMES.items() if name + end in run.results.policies}


def _look(name: str) -> dict[str, Any]:
    """The line of a policy, by its name in the legend."""
    return panels.line(list(NAMES.values()).index(name))


def _regret_panel(axes: Axes, run: CompletedRun, end: str, title: str) -> None:
    """Time-averaged regret, with Opt-F and Opt-NF, and the first rounds enlarged."""
    labels, free = _labels(run, end), opt_nf(run)
    panels.curves(axes, run, REGRET, labels, title=title, order=NAMES.values())
    inset = axes.inset_axes((0.47, 0.5, 0.5, 0.46))
    early = run.results.rounds <= ZOOM
    for label, name in labels.items():
        mean, _ = panels.mean_and_reach(run.results.policies[label].curves[REGRET][early])
        inset.plot(run.results.rounds[early], mean, linewidth=1.0, **_look(name))
    for plot, named in ((axes, True), (inset, False)):
        plot.axhline(0.0, color="black", linewidth=0.9, label="Opt-F" if named else None)
        plot.axhline(free, color="black", linewidth=0.9, linestyle=":", label="Opt-NF" if named else None)
    inset.set_xlim(0, ZOOM)
    inset.tick_params(labelsize=7)
    inset.set_title(f"first {ZOOM} rounds", fontsize=7.5, pad=2)
    _make_room(axes, run, labels, free)


def _make_room(axes: Axes, run: CompletedRun, labels: Mapping[str, str], least: float) -> None:
    """The rounds after the inset's fill the lower half on the right, which leaves the upper one to the inset."""
    rounds = run.results.rounds
    means = [run.results.policies[label].curves[REGRET].mean(axis=1) for label in labels]
    late = np.concatenate([mean[rounds >= 0.3 * rounds[-1]] for mean in means] + [np.array([0.0])])
    start = max(float(mean[rounds >= ZOOM][0]) for mean in means)
    low = min(least, *(float(mean[rounds >= ZOOM].min()) for mean in means))
    high = max(start, low + 2.9 * (float(late.max()) - low))
    margin = 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)


def _shares_panel(axes: Axes, run: CompletedRun, end: str, title: str) -> None:
    """Final shares of the rounds, one bar per policy, and what was promised."""
    labels, arms = _labels(run, end), len(run.results.names)
    for place, (label, name) in enumerate(labels.items()):
        mean, error = panels.mean_and_reach(shares(run, label).T)
        look = {"label": name, "color": _look(name)["color"]}
        panels.bars(axes, place, len(labels), mean, error, group=0.84, fill=0.92, **look)
    promised = np.broadcast_to(np.asarray(run.results.promised[next(iter(labels))]), arms)
    ends = np.arange(arms) - 0.45, np.arange(arms) + 0.45
    axes.hlines(promised, *ends, color="black", linewidth=1.6, label="promised", zorder=3)
    panels.finish(axes, "arm", "share of the rounds", title=title)
    panels.name_arms(axes, run)


def _fixed_eta(axes: Axes, run: CompletedRun, name: str, colour: str) -> None:
    rounds = bounded_rounds(run)
    mean, error = panels.mean_and_reach(run.results.policies[f"{name} eta={ETA}"].curves[REGRET][-len(rounds) :])
    low, middle, high = (_logarithm(values) for values in (mean - error, mean, mean + error))
    look: dict[str, Any] = {"color": colour, "marker": panels.MARKERS[PAIR.index(name)], "markersize": 4}
    look["markevery"] = (0.0, 0.14)
    axes.plot(rounds, middle, linewidth=1.5, label=f"{name}: regret", **look)
    panels.band(axes, rounds, low, high, colour)
    bounds = np.log(bound(run, name, rounds))
    axes.plot(rounds, bounds, linestyle="--", label=f"{name}: bound", fillstyle="none", **look)


def _eta_by_horizon(axes: Axes, run: CompletedRun, name: str, colour: str) -> None:
    etas = horizons(run)
    means = [float(at(run, f"{name} eta={eta}", REGRET, end).mean()) for end, eta in etas.items()]
    bounds = [float(bound(run, name, end, eta)) for end, eta in etas.items()]
    look: dict[str, Any] = {"color": colour, "marker": panels.MARKERS[PAIR.index(name)], "markersize": 4}
    axes.plot(list(etas), _logarithm(np.array(means)), label=f"{name}: regret", **look)
    axes.plot(list(etas), np.log(bounds), linestyle="--", label=f"{name}: bound", fillstyle="none", **look)


def _logarithm(values: Array) -> Array:
    """NaN where there is none."""
    return np.log(np.where(values > 0.0, values, np.nan))


def _ratings_panel(axes: Axes, run: CompletedRun, attribute: str) -> None:
    """The films side by side: the true ratings, and one marker with whiskers per policy and η."""
    places = np.arange(len(run.results.names))
    truth = run.setup.environment.means * movielens.STARS
    axes.hlines(truth, places - 0.45, places + 0.45, color="black", linewidth=1.4, label="true mean rating")
    labels = [name + end for end in (BALANCED, FREE) for name in RATED]
    for place, label in enumerate(labels):
        found = excess_stars(run, label, attribute).T + truth[:, np.newaxis]
        mean, error = panels.mean_and_reach(found)
        look = {"color": panels.line(place % len(RATED))["color"], "marker": panels.MARKERS[place]}
        look |= {"linestyle": "", "fillstyle": "full" if BALANCED in label else "none"}
        where = places - 0.35 + 0.7 * place / (len(labels) - 1)
        axes.errorbar(where, mean, error, label=label, markersize=4.5, elinewidth=0.8, **look)
