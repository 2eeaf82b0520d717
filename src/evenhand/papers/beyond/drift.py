"""Means that change, with promises and without."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.state import Array
from evenhand.judgement.claims import Finding
from evenhand.papers.claims import less, never_behind, together
from evenhand.papers.experiment import CompletedRun, Experiment, PaperClaim, Runs, of_runs, ours
from evenhand.papers.panels import curves, finish, lanes_of
from evenhand.papers.verdicts import below, within
from evenhand.simulation.figures.panel import grid, mean_and_reach, whiskers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOURCE = "Garivier & Moulines 2011, section 4"
RECALLED = (
    "Garivier & Moulines are not among the five papers, and their numbers are recalled: ξ = 1/2 of UCB1, 0.6 of D-UCB "
    "and SW-UCB, γ = 1 − 1/(4 sqrt(T)), τ = 4 sqrt(T ln T)."
)
CHANGE = 2000  # rounds before the change in X-D3
SHARES = (0.025, 0.05, 0.1)
GAP = 0.6  # Δ of the arm that changes


def delays(run: CompletedRun, label: str) -> Array:
    """Rounds from the change to the first checkpoint with most plays of the arm that became best, (lanes,)."""
    rounds = run.results.rounds
    plays = np.diff(run.results.policies[label].pulls[..., 1], axis=0, prepend=0)
    length = np.diff(rounds, prepend=0)
    most = (plays > 0.5 * length[:, np.newaxis]) & (rounds > CHANGE)[:, np.newaxis]
    found = np.where(most.any(axis=0), rounds[most.argmax(axis=0)], rounds[-1])
    return np.asarray(found - CHANGE, dtype=float)


def sooner_with_larger_shares(runs: Runs) -> Iterator[Finding]:
    """Every step to a larger share shortens the delay."""
    run = runs["d3"]
    found = {share: delays(run, f"r = {share}") for share in SHARES}
    for small, large in pairwise(SHARES):
        text = f"delay with r = {large} minus that with r = {small}"
        yield below(text, found[large] - found[small], 0.0, " rounds")


def as_the_theory_says(runs: Runs) -> Iterator[Finding]:
    """The delay in units of ln T/(r Δ²)."""
    run = runs["d3"]
    for share in SHARES:
        units = delays(run, f"r = {share}") * share * GAP**2 / math.log(run.setup.horizon)
        yield within(f"delay with r = {share}, in units of ln T/(r Δ²)", units, 0.5, 2.0)


@of_runs
def dynamic(runs: Runs, part: str) -> Figure:
    """The dynamic regret, and the dynamic r-regret of the same with shares."""
    parts = {part: ("dynamic_regret", "nothing promised"), f"{part}-shares": ("dynamic_r_regret", "r = 0.05 each")}
    order = [label for name in parts for label in runs[name].results.policies]

    def panel(axes: Axes, name: str) -> None:
        measure, title = parts[name]
        curves(axes, runs[name], measure, title=title, order=order)

    return grid(parts, panel, columns=2, note=lanes_of(runs[part]))


def over_shares(runs: Runs) -> Figure:
    """The delay until a change is followed, over the share that is kept."""

    def panel(axes: Axes, run: CompletedRun) -> None:
        found = [mean_and_reach(delays(run, f"r = {share}")) for share in SHARES]
        whiskers(axes, 0, "fair GLR", SHARES, *zip(*found, strict=True))
        finish(axes, "promised share r", "rounds until most plays are the new best arm's", log="xy")

    return grid([runs["d3"]], panel, note=lanes_of(runs["d3"], "bars"))


def _learns_anew(part: str) -> tuple[PaperClaim, ...]:
    """What is claimed of every world that changes."""
    shared = f"{part}-shares"
    return (
        PaperClaim(
            "D-UCB and SW-UCB have less dynamic regret than UCB1.",
            SOURCE,
            less(part, ("D-UCB", "SW-UCB"), ["UCB1"], ["dynamic_regret"]),
        ),
        ours(
            "With promised shares, FUCB and F-TS have less dynamic r-regret if they forget old rewards.",
            together(
                less(shared, ("FUCB, window",), ["FUCB"], ["dynamic_r_regret"]),
                less(shared, ("F-TS, discounted",), ["F-TS"], ["dynamic_r_regret"]),
            ),
        ),
        ours(
            "Promises are kept although rewards are forgotten: no arm is ever a whole play behind.",
            never_behind(shared),
        ),
    )


EXPERIMENTS = (
    Experiment(
        id="X-D1",
        title="Another arm is the best for a while",
        figure="figure 1 of Garivier & Moulines 2011",
        setting="Three Bernoulli arms with means 0.5, 0.3 and 0.4; the third has 0.9 from round 3001 to 5000. Once "
        "with nothing promised, once with a share of 0.05 for every arm.",
        parts=("d1", "d1-shares"),
        claims=(
            *_learns_anew("d1"),
            ours(
                "GLR-klUCB has less dynamic regret than SW-UCB.",
                less("d1", ("GLR-klUCB",), ["SW-UCB"], ["dynamic_regret"]),
            ),
            ours(
                "With promised shares, fair GLR has less dynamic r-regret than FUCB with a window.",
                less("d1-shares", ("fair GLR",), ["FUCB, window"], ["dynamic_r_regret"]),
            ),
        ),
        draw=dynamic("d1"),
        choices=(RECALLED,),
    ),
    Experiment(
        id="X-D2",
        title="One mean swings about the other",
        figure="figure 2 of Garivier & Moulines 2011",
        setting="Two Bernoulli arms: one mean is 0.5 + 0.4 cos(2π t/3333), the other 0.5. Once with nothing promised, "
        "once with a share of 0.05 for either arm.",
        parts=("d2", "d2-shares"),
        claims=_learns_anew("d2"),
        draw=dynamic("d2"),
        choices=(RECALLED,),
    ),
    Experiment(
        id="X-D3",
        title="How soon a change is found, against the share that is kept",
        figure="no figure: no paper has it",
        setting="Two Bernoulli arms with means 0.5 and 0.3; the second has 0.9 from round 2001 on. Fair GLR with a "
        "share of 0.025, 0.05 and 0.1 for either arm.",
        parts=("d3",),
        claims=(
            ours("The larger the promised share r, the sooner the change is found.", sooner_with_larger_shares),
            ours(
                "The delay until a change by Δ is found is about ln T/(r Δ²) rounds.",
                as_the_theory_says,
                "found: the arm has most of the plays in ten rounds; about: between half and twice that number",
            ),
        ),
        draw=over_shares,
    ),
)
