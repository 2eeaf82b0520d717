"""How the claims of Huang et al. 2020 are measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand.core.state import Array
from evenhand.datasets import movielens
from evenhand.judgement.claims import Finding, computed, judged, picked, ratio
from evenhand.judgement.judge import tolerated
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.verdicts import (
    NEARLY,
    above,
    at,
    below,
    lower,
    plays_due,
    plays_missing,
    ratio_within,
    sublinear,
    within,
)
from evenhand.theory.baseline import baseline_of
from evenhand.theory.bounds import lfg_regret, tscsf_b_regret

REGRET = "time_averaged_regret"
#: The two policies that every claim is about; labels go on with η.
PAIR = ("TSCSF-B", "LFG")
#: The configurations.
FIRST, SECOND, BOUNDS, FILMS = "h1-h3", "h2-h4", "h5", "h6-h7"
#: How the labels of the films end.
BALANCED, FREE = ", balanced η", ", η = ∞"
ZOOM = 100  # rounds that the paper's insets show
SEEN = 0.01  # a share of the rounds that is missed noticeably
POSITIVE = ("above 0", (0.0, np.inf))
#: The η of a horizon, T → η = sqrt(K T/(m ln T)), as in the labels.
HORIZONS = {
    200: "8.69",
    500: "12.69",
    1000: "17.02",
    2000: "22.94",
    5000: "34.27",
    10_000: "46.6",
    20_000: "63.55",
}
ETA = HORIZONS[20_000]
BOUND_OF = {"TSCSF-B": tscsf_b_regret, "LFG": lfg_regret}


# References


def opt_nf(run: CompletedRun) -> float:
    """Time-averaged regret of Opt-NF, which is negative: it earns more than Opt-F."""
    baseline = baseline_of(next(iter(run.setup.policies.values())), run.setup.environment)
    assert baseline.best_fair is not None
    assert baseline.best is not None
    return float(baseline.best_fair - baseline.best)


def bound(run: CompletedRun, name: str, rounds: Any, eta: str = ETA) -> Array:
    """The bound on a policy's time-averaged regret at some rounds."""
    policy = run.setup.policies[f"{name} eta={eta}"]
    return BOUND_OF[name](rounds, run.setup.environment.arms, policy.plays, float(eta))


def bounded_rounds(run: CompletedRun) -> Array:
    """The checkpoints from round 2 on: at T = 1 the logarithm is 0."""
    return np.asarray(run.results.rounds[run.results.rounds >= 2], dtype=float)


def horizons(run: CompletedRun) -> dict[int, str]:
    """The horizons that the run reaches, and their η."""
    return {horizon: eta for horizon, eta in HORIZONS.items() if horizon <= run.results.rounds[-1]}


def excess_stars(run: CompletedRun, label: str, attribute: str) -> Array:
    """The final ratings less the true ones, in stars, (lanes, films); NaN for films never rated."""
    rating = getattr(run.results.policies[label], attribute)
    return np.asarray((rating - run.setup.environment.means) * movielens.STARS)


def distance_in_stars(run: CompletedRun, label: str, attribute: str) -> Array:
    """Mean distance of the final ratings from the true ones, (lanes,); films never rated are left out."""
    return np.asarray(np.nanmean(np.abs(excess_stars(run, label, attribute)), axis=1))


# Regret


@of_runs
def below_lfg(runs: Runs, part: str, ends: Sequence[str], policy: str = "TSCSF-B", other: str = "LFG") -> list[Finding]:
    """Lower regret in the end, for every ending of the labels, which says η."""
    return [lower(runs[part], REGRET, policy + end, other + end) for end in ends]


@of_runs
def faster(runs: Runs, part: str, ends: Sequence[str]) -> list[Finding]:
    """Lower regret than LFG's after the rounds of the insets and after a tenth of all rounds."""
    run = runs[part]
    rounds = (float(ZOOM), float(run.results.rounds[-1]) / 10.0)
    return [lower(run, REGRET, PAIR[0] + end, PAIR[1] + end, round) for end in ends for round in rounds]


@of_runs
def falls_with_eta(runs: Runs, part: str, etas: Sequence[str]) -> list[Finding]:
    """Lower regret in the end with every step of η."""
    steps = [(f"{name} eta={larger}", f"{name} eta={less}") for name in PAIR for less, larger in pairwise(etas)]
    return [lower(runs[part], REGRET, larger, less) for larger, less in steps]


def about_three_hundredths(runs: Runs) -> Iterator[Finding]:
    """The lowest regret with η = 1, where the mean curve is lowest, is about 0.03."""
    run = runs[FIRST]
    for name in PAIR:
        curve = run.results.policies[f"{name} eta=1"].curves[REGRET][run.results.rounds >= ZOOM]
        lowest = curve[curve.mean(axis=1).argmin()]
        one = within(f"lowest time-averaged regret: {name} eta=1", lowest, 0.025, 0.035)
        yield picked(one, len(curve))


def much_closer(runs: Runs) -> Iterator[Finding]:
    """With η = 10 the regret is at most half as far from 0 as with η = 1."""
    for name in PAIR:
        near, far = (at(runs[FIRST], f"{name} eta={eta}", REGRET) for eta in ("10", "1"))
        text = f"time-averaged regret: {name} eta=10, as a fraction of that with eta=1"
        yield ratio_within(text, near, far, -0.5, 0.5)


def negative_then_positive(runs: Runs) -> Iterator[Finding]:
    """With η = 1000 the regret is negative at round 2,000 and positive in the end."""
    run = runs[FIRST]
    for name in PAIR:
        label = f"{name} eta=1000"
        yield below(f"time-averaged regret at round 2,000: {label}", at(run, label, REGRET, 2000), 0.0)
        yield above(f"time-averaged regret in the end: {label}", at(run, label, REGRET), 0.0)


@of_runs
def converges_to_opt_nf(runs: Runs, part: str) -> Iterator[Finding]:
    """With η = ∞ the regret against Opt-NF grows sublinearly, and little of it is left in the end."""
    run = runs[part]
    for name in PAIR:
        label = f"{name} eta=inf"
        distance = at(run, label, "regret") / run.results.rounds[-1] / -opt_nf(run)
        text = f"distance from Opt-NF in the end, as a fraction of that between Opt-F and Opt-NF: {label}"
        yield from [sublinear(run, label, "regret"), below(text, distance, 0.1)]


@of_runs
def opt_nf_below_opt_f(runs: Runs, part: str) -> list[Finding]:
    """Opt-NF has a negative regret even where it is highest."""
    run = runs[part]
    curves = next(iter(run.results.policies.values())).curves
    paths = (curves["r_regret"] - curves["regret"]) / run.results.rounds[:, np.newaxis]
    highest = int(paths.mean(axis=1).argmax())
    when = run.results.rounds[highest]
    text = f"time-averaged regret of Opt-NF where it is highest, at round {when:,}"
    return [picked(below(text, paths[highest], 0.0), len(paths))]


def wider_than_first(runs: Runs) -> Iterator[Finding]:
    """LFG is further above TSCSF-B in the second setting than with the nearest η of the first."""
    for eta, other in (("63.55", "10"), ("inf", "inf")):
        wide, narrow = (
            at(runs[part], f"LFG eta={value}", REGRET) - at(runs[part], f"TSCSF-B eta={value}", REGRET)
            for part, value in ((SECOND, eta), (FIRST, other))
        )
        text = "time-averaged regret of LFG minus TSCSF-B"
        yield above(f"{text}: second setting, eta={eta}, minus first, eta={other}", wide - narrow, 0.0)


@of_runs
def queue_matters_more(runs: Runs, part: str, ends: Sequence[str]) -> Iterator[Finding]:
    """The queue changes the regret more than the index does."""
    run = runs[part]
    for end in ends:
        names = ("TSCSF-B", "TSCSF-B recursive", "LFG exact", "LFG")
        effect = queue_over_index(*(at(run, name + end, REGRET) for name in names))
        text = "time-averaged regret: effect of the queue minus effect of the index"
        yield above(f"{text},{end.removeprefix(',')}", effect, 0.0)


def queue_over_index(exact: Array, recursive: Array, other_exact: Array, other_recursive: Array) -> Array:
    """By how much more the queue changes a measure than the index does, (lanes,).

    The effect of the queue is the mean difference between recursive and exact over the two indices, the effect of the
    index that between the two indices over the queues; both without their sign.
    """
    queue = (recursive + other_recursive - exact - other_exact) / 2.0
    index = (other_exact + other_recursive - exact - recursive) / 2.0
    return np.asarray(queue * np.sign(queue.mean()) - index * np.sign(index.mean()))


# Constraints


@of_runs
def ignored(runs: Runs, part: str) -> Iterator[Finding]:
    """With η = ∞ some arm misses more plays on average in the end than is tolerated for any."""
    run = runs[part]
    for name in PAIR:
        label = f"{name} eta=inf"
        missing, arm = furthest_behind(run, label)
        most = float(tolerated(plays_due(run, label)).max())
        yield above(f"missing plays of {arm}, the furthest behind: {label}", missing, most, " plays")


@of_runs
def satisfied(runs: Runs, part: str, end: str) -> list[Finding]:
    """No arm misses a whole play on average or in the limit."""
    run = runs[part]
    return [picked(none_missing_in_the_limit(run, name + end), len(run.results.names)) for name in PAIR]


def none_missing_in_the_limit(run: CompletedRun, label: str) -> Finding:
    """The arm furthest behind misses less than a play, or what it misses grows more slowly than the rounds."""
    missing, arm = furthest_behind(run, label)
    text = f"missing plays of {arm}, the furthest behind"
    found = below(f"{text}: {label}", missing, 1.0, " play")
    before = furthest_behind(run, label, run.results.rounds[-1] // 2)[0]
    if found.holds or before.mean() <= 0.0:
        return replace(found, limit=True)
    text += f" ({missing.mean():,.0f} at the end), relative to half of the rounds: {label}"
    most = 2.0**NEARLY
    expected = f"below {most:.2f}, where 2 is a share that stays missing"
    return judged(text, ratio(missing, before), missing.size, expected, (-np.inf, most), touching=False, limit=True)


@of_runs
def hardest(runs: Runs, part: str, end: str, hard: Sequence[int]) -> Iterator[Finding]:
    """Each of the hard arms, counted from 0, misses more than any other."""
    for name in PAIR:
        missing = plays_missing(runs[part], name + end)
        others = [arm for arm in range(missing.shape[1]) if arm not in hard]
        means = missing.mean(axis=0)
        least, most = min(hard, key=lambda arm: means[arm]), max(others, key=lambda arm: means[arm])
        pair = " minus ".join(_arm(runs[part], arm) for arm in (least, most))
        text = f"plays missing: {pair}, {name}{end}"
        yield above(text, missing[:, least] - missing[:, most], 0.0, " plays")


def later_with_eta(runs: Runs) -> Iterator[Finding]:
    """The last round with more than 1% missing comes later with every step of η."""
    run = runs[FIRST]
    for name in PAIR:
        for less, larger in pairwise(("1", "10", "1000", "inf")):
            gap = settled(run, f"{name} eta={less}") - settled(run, f"{name} eta={larger}")
            text = f"last round with more than 1% missing: {name}, eta={less} minus eta={larger}"
            yield below(text, gap, 0.0, " rounds")


def furthest_behind(run: CompletedRun, label: str, round: float | None = None) -> tuple[Array, str]:
    """Plays missing, in the end or after a round, to the arm that misses most in the end on average, and its name."""
    arm = int(plays_missing(run, label).mean(axis=0).argmax())
    return plays_missing(run, label, round)[:, arm], _arm(run, arm)


def settled(run: CompletedRun, label: str, slack: float = SEEN) -> Array:
    """The last checkpoint at which some arm misses more than a part of the rounds so far, (lanes,); 0 for none."""
    late = run.results.policies[label].curves["violation"] > slack * run.results.rounds[:, np.newaxis]
    return np.asarray((late * run.results.rounds[:, np.newaxis]).max(axis=0), dtype=float)


def _arm(run: CompletedRun, arm: int) -> str:
    name = run.results.names[arm]
    return f"arm {name}" if name.isdecimal() else name


# Bounds


def bounds_in_order(runs: Runs) -> Iterator[Finding]:
    """LFG's bound is above TSCSF-B's at every T."""
    run = runs[BOUNDS]
    rounds = bounded_rounds(run)
    fixed = bound(run, "LFG", rounds) - bound(run, "TSCSF-B", rounds)
    by_horizon = [bound(run, "LFG", end, eta) - bound(run, "TSCSF-B", end, eta) for end, eta in horizons(run).items()]
    yield computed("least distance of LFG's bound from TSCSF-B's over T, η = 63.55", float(fixed.min()), *POSITIVE)
    yield computed("least distance of LFG's bound from TSCSF-B's over T, η by T", float(np.min(by_horizon)), *POSITIVE)


def far_below_its_bound(runs: Runs) -> list[Finding]:
    """TSCSF-B's regret is at most a tenth of its bound in the end."""
    run = runs[BOUNDS]
    end = float(run.results.rounds[-1])
    part = at(run, f"TSCSF-B eta={ETA}", REGRET) / bound(run, "TSCSF-B", end)
    return [below("time-averaged regret of TSCSF-B in the end, as a fraction of its bound", part, 0.1)]


def bounds_hold(runs: Runs) -> Iterator[Finding]:
    """Regrets stay below their bounds: at all checkpoints with one η, and at every T with its own."""
    run = runs[BOUNDS]
    rounds = bounded_rounds(run)
    for name in PAIR:
        curve = run.results.policies[f"{name} eta={ETA}"].curves[REGRET][-len(rounds) :]
        part = curve / bound(run, name, rounds)[:, np.newaxis]
        worst = int(part.mean(axis=1).argmax())
        text = f"time-averaged regret as a fraction of the bound, where it is largest, at round {rounds[worst]:,.0f}"
        yield picked(below(f"{text}: {name}, η = 63.55", part[worst], 1.0), len(part))
        for end, eta in horizons(run).items():
            part_at = at(run, f"{name} eta={eta}", REGRET, end) / bound(run, name, end, eta)
            yield below(f"time-averaged regret as a fraction of the bound: {name}, T = {end:,}", part_at, 1.0)


# Films


@of_runs
def nearer(runs: Runs, attribute: str, most: float = 1.0, other: str = "LFG") -> Iterator[Finding]:
    """TSCSF-B's final ratings are nearer to the true ones than another policy's: at most a part of the distance."""
    for end in (BALANCED, FREE):
        label, rival = PAIR[0] + end, other + end
        near, far = (distance_in_stars(runs[FILMS], one, attribute) for one in (label, rival))
        text = f"mean distance from the true ratings: {label}, as a fraction of that of {rival}"
        yield ratio_within(text, near, far, -np.inf, most)


def too_high(runs: Runs) -> Iterator[Finding]:
    """LFG's final rating is above the true one even for the film where it is so least."""
    run = runs[FILMS]
    for end in (BALANCED, FREE):
        excess = excess_stars(run, f"LFG{end}", "score")
        film = int(excess.mean(axis=0).argmin())
        text = f"rating above the true one, least of all for {run.results.names[film]}: LFG{end}"
        yield picked(above(text, excess[:, film], 0.0, " stars"), excess.shape[1])


def much_faster(runs: Runs) -> Iterator[Finding]:
    """TSCSF-B's regret is at most half of LFG's early on: against Opt-F with balanced η, else against Opt-NF."""
    run = runs[FILMS]
    for end, measure, rival in ((BALANCED, "r_regret", "Opt-F"), (FREE, "regret", "Opt-NF")):
        for round in (float(ZOOM), float(run.results.rounds[-1]) / 10.0):
            ours, theirs = (at(run, name + end, measure, round) / round for name in PAIR)
            text = f"regret per round against {rival} at round {round:,.0f}: TSCSF-B minus half of LFG{end}"
            yield below(text, ours - theirs / 2.0, 0.0)


def below_opt_f(runs: Runs) -> list[Finding]:
    """Both regrets are negative in the end, with balanced η."""
    labels = [name + BALANCED for name in PAIR]
    return [below(f"time-averaged regret in the end: {one}", at(runs[FILMS], one, REGRET), 0.0) for one in labels]
