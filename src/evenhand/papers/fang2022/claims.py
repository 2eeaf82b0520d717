"""How the claims of Fang et al. 2022 are measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array, Mask
from evenhand.judgement.claims import Finding, interval, judged, picked
from evenhand.papers.claims import never_behind
from evenhand.papers.experiment import CompletedRun, Runs, of_runs
from evenhand.papers.verdicts import (
    above,
    at,
    below,
    count_lanes,
    exponent,
    linear,
    lower,
    plays_due,
    ratio_below,
    within,
)

#: The names of the policies in every configuration; each is a grid of its parameter but in settings 1 and 4.
HARD, FAIR_LEARN, LFG = "hard threshold", "Fair-Learn", "LFG"
RIVALS = (FAIR_LEARN, LFG)
POLICIES = (HARD, *RIVALS)
#: Where two policies are compared: parts of the way through the unfairness that both of them reach.
PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)
#: Number of arms and τ, by the name of the configuration.
SETTINGS = {f"f1-k{arms}-tau{tau:.1f}".replace(".", ""): (arms, tau) for arms in (5, 20) for tau in (0.2, 0.4, 0.8)}
#: The configurations by the number of their case.
SCALE_CASES = {1: "f2-case1", 2: "f2-case2"}
GRID_HORIZON = 10_000  # the rounds that the grids refer to
UNFAIR = 0.05  # part of the promised plays that is missing to an arm which is called unfair
STEP = 0.1  # of η in the grids that all three policies have
FINE = 0.05  # of η in the grid of the hard threshold
#: What plays are compared with, by the kind of the arms.
INVERSE = {"non-critical": "1/(Δ − A)²", "critical": "1/Δ²"}
#: Kind of the arms and number of the case, by the name of the configuration.
GAP_CASES = {f"f4-{kind.replace('-', '')}-{case}": (kind, case) for kind in INVERSE for case in (1, 2, 3)}
OFF = 0.01  # an arm whose plays are this part away from the fairness level is not at it
LEAST = 3  # arms that a line needs
STRAIGHT = 0.95  # part of the variance that a straight line explains
PROPORTIONAL = (0.9, 1.1)  # the power of the inverse gap that counts as the first
SOFT, COMMIT = "soft threshold", "explore then commit"
VANISHING = ("f7-4000", "f7-16000", "f7-64000")
POWERS = ("b = 1/4", "b = 1/2", "b = 3/4")
COMMITS = (1000, 4000, 16_000)  # the rounds of which explore then commit has one of its own each
CONSTANT = 8.0  # between the upper and the lower bounds, Theorems 4.2 and 4.6


# Setting 1: the penalised regret at every horizon


def penalised_regret(run: CompletedRun, name: str, rounds: float) -> Array:
    """The penalised regret of a policy at T, (lanes,); LFG's parameter is √T, so that every T has an LFG of its own."""
    own = grid(run, LFG) if name == LFG else [name]
    label = min(own, key=lambda one: abs(float(one.partition("=")[2] or 0.0) - math.sqrt(rounds)))
    return at(run, label, "penalized_regret", rounds)


# Setting 2: plays missing to each arm over the scale η, from which every policy takes its parameter


def promised(run: CompletedRun) -> Array:
    """The plays that each arm is promised in the end, (arms,); the same by all policies."""
    shares = np.asarray(next(iter(run.results.promised.values())))
    return np.asarray(shares * run.results.rounds[-1])


def missing(run: CompletedRun, name: str) -> dict[float, Array]:
    """The part of its promised plays that is missing to each arm in the end, (lanes, arms), by η, from 1 down."""
    owed = promised(run)
    largest = {
        FAIR_LEARN: owed[0] / run.results.rounds[-1] * GRID_HORIZON,
        LFG: float(GRID_HORIZON),
    }  # α and η_0 at η = 0
    found = {}
    for label in grid(run, name):
        value = float(label.partition("=")[2])
        eta = 1.0 - value / largest[name] if name in largest else value
        found[round(eta, 4)] = np.maximum(owed - run.results.policies[label].pulls[-1], 0.0) / owed
    return dict(sorted(found.items(), reverse=True))


def worse(run: CompletedRun) -> Mask:
    """Every arm but the best, (arms,)."""
    means = run.setup.environment.means
    return np.asarray(means < means.max())


def fair_down_to(run: CompletedRun, name: str, step: float) -> Array:
    """The length of η over which an arm stays fair, from 1 down to the first step that leaves it unfair, (lanes, arms).

    An arm that is fair at 1, 0.9 and 0.8, unfair at 0.7 and fair at 0.6 has 0.3 with steps of 0.1.
    """
    path = missing(run, name).items()
    steps = [part for eta, part in path if eta > 0.0 and abs(eta / step - round(eta / step)) < 1e-3]
    fair = np.array(steps) <= UNFAIR
    return np.asarray(step * np.cumprod(fair, axis=0).sum(axis=0))


# Settings 3 and 5: reward at the same unfairness, as the policies' parameters mean different things


@dataclass(frozen=True, eq=False)
class Frontier:
    """What a policy earns and misses in the end, over the values of its parameter.

    Only values of which no other has as much mean reward at as little mean unfairness; between neighbours the mean
    reward is taken to be a straight line.
    """

    unfairness: Array  # (values, lanes), plays missing to all arms
    reward: Array  # (values, lanes), expected reward of the plays

    @classmethod
    def of(cls, run: CompletedRun, name: str) -> Frontier:
        """The frontier of the policies of a grid, by their common name."""
        every = cls.everywhere(run, name)
        missing, earned = every.unfairness.mean(axis=1), every.reward.mean(axis=1)
        order = np.lexsort((-earned, missing))  # more reward first, where unfairness is the same
        best = np.maximum.accumulate(earned[order])
        kept = order[np.append(True, earned[order][1:] > best[:-1])]
        return cls(every.unfairness[kept], every.reward[kept])

    @classmethod
    def everywhere(cls, run: CompletedRun, name: str) -> Frontier:
        """All values of the grid, in the order of the configuration."""
        labels = grid(run, name)
        means = run.setup.environment.means
        reward = [(run.results.policies[label].pulls[-1] * means).sum(axis=-1) for label in labels]
        unfairness = np.array([at(run, label, "unfairness") for label in labels])
        return cls(unfairness, np.array(reward))

    def at(self, level: float) -> Array:
        """The mean reward at an unfairness within reach, as numbers with this mean, (lanes,).

        Their standard error is that of the mean reward: what a lane adds to both mean points on either side moves the
        line between them, to first order.
        """
        missing, earned = self.unfairness.mean(axis=1), self.reward.mean(axis=1)
        right = int(np.clip(np.searchsorted(missing, level, side="right"), 1, len(missing) - 1))
        left = right - 1
        slope = (earned[right] - earned[left]) / (missing[right] - missing[left])
        part = (level - missing[left]) / (missing[right] - missing[left])
        # A lane with more unfairness than the mean moves the line to the right: less reward at this level.
        values = self.reward - slope * (self.unfairness - missing[:, np.newaxis])
        return np.asarray((1.0 - part) * values[left] + part * values[right])


def grid(run: CompletedRun, name: str) -> list[str]:
    """The labels of the policies of a grid, in the order of the configuration."""
    return [label for label in run.results.policies if label.startswith(f"{name} ")]


def common(one: Frontier, other: Frontier) -> tuple[float, float]:
    """The least and the most unfairness that both reach in the mean."""
    ends = [(front.unfairness.mean(axis=1).min(), front.unfairness.mean(axis=1).max()) for front in (one, other)]
    return float(max(low for low, _ in ends)), float(min(high for _, high in ends))


def earns_more(run: CompletedRun, name: str, other: str, where: str) -> Finding:
    """A policy earns more than another at the same unfairness, at each of `PLACES`; names the least sure place.

    Where both reach less than a play per arm in common, there is nothing to compare, which is stated instead.
    """
    mine, theirs = Frontier.of(run, name), Frontier.of(run, other)
    low, high = common(mine, theirs)
    lanes, arms = count_lanes(run), len(run.results.names)
    if high - low < arms:
        text = f"{where}: from the least to the most unfairness that both {name} and {other} reach, in plays"
        reach = high - low
        return Finding(text, reach, reach, reach, lanes, f"at least {arms}", (arms, math.inf))
    levels = [low + place * (high - low) for place in PLACES]
    leads = [mine.at(level) - theirs.at(level) for level in levels]
    place = int(np.argmin([interval(lead)[1] for lead in leads]))
    text = f"{where}: expected reward of {name} minus that of {other}, both with {levels[place]:,.0f} plays missing"
    return picked(above(text, leads[place], 0.0), len(PLACES))


# Setting 4: the plays of an arm against its inverse gap


def penalty(run: CompletedRun) -> float:
    """A, the same for all arms."""
    fairness: Any = run.setup.policies[HARD].fairness
    return float(np.max(fairness.penalties))


def arms_of(part: str, run: CompletedRun) -> tuple[NDArray[np.intp], Array]:
    """The arms of the kind that a case is about: their places, and their inverse gaps, both (arms,)."""
    gap = run.setup.environment.means.max() - run.setup.environment.means
    if GAP_CASES[part][0] == "critical":
        places = np.flatnonzero((gap > 0.0) & (gap <= penalty(run)))
        return places, np.asarray(gap[places] ** -2.0)
    places = np.flatnonzero(gap > penalty(run))
    return places, np.asarray((gap[places] - penalty(run)) ** -2.0)


def plays_of(run: CompletedRun, places: NDArray[np.intp]) -> Array:
    """Plays in the end, (lanes, arms)."""
    return np.asarray(run.results.policies[HARD].pulls[-1][:, places], dtype=float)


def level_of(run: CompletedRun, places: NDArray[np.intp]) -> Array:
    """The fairness level τ T of some arms, (arms,)."""
    shares = np.asarray(run.results.promised[HARD])
    return np.asarray(shares[places] * run.results.rounds[-1])


def off_the_level(part: str, run: CompletedRun) -> tuple[Array, Array]:
    """Inverse gaps (arms,) and plays (lanes, arms) of the arms of which proportion is claimed.

    They are the non-critical ones short of the fairness level, and the critical ones beyond it.
    """
    places, inverse = arms_of(part, run)
    plays, level = plays_of(run, places), level_of(run, places)
    beyond = plays.mean(axis=0) / level - 1.0
    free = beyond > OFF if GAP_CASES[part][0] == "critical" else beyond < -OFF
    return inverse[free], plays[:, free]


def straightness(inverse: Array, plays: Array) -> Array:
    """The part of the variance over the arms that a straight line explains, (lanes,)."""
    return np.array([np.corrcoef(inverse, lane)[0, 1] ** 2 for lane in plays])


def power(inverse: Array, plays: Array) -> Array:
    """The power of the inverse gap that plays grow like, by least squares on logarithms, (lanes,)."""
    return np.asarray(np.polyfit(np.log(inverse), np.log(plays).T, 1)[0])


def bounds_of(part: str, run: CompletedRun) -> Array:
    """The bounds of Theorem 4.2 (b) and (c) on the plays of the arms that a case is about, without O(1), (arms,)."""
    places, inverse = arms_of(part, run)
    means = run.setup.environment.means
    log = 8.0 * math.log(run.results.rounds[-1])
    level = level_of(run, places)
    most = level if GAP_CASES[part][0] == "critical" else np.minimum(log * inverse, level)
    return np.asarray(np.maximum(log / (means.max() - means[places]) ** 2, most))


# F-1 and F-2


@of_runs
def lowest(runs: Runs, rival: str) -> Iterator[Finding]:
    """The hard threshold has less penalised regret than a rival in every setting and at every T."""
    for part, (arms, tau) in SETTINGS.items():
        for rounds in runs[part].results.rounds.tolist():
            gap = penalised_regret(runs[part], HARD, rounds) - penalised_regret(runs[part], rival, rounds)
            yield below(f"penalised regret, K = {arms}, τ = {tau}, T = {rounds:,}: {HARD} minus {rival}", gap, 0.0)


def one_by_one(runs: Runs) -> Iterator[Finding]:
    """Of two arms next to each other the better one stays fair over more of η under the hard threshold."""
    for case, part in SCALE_CASES.items():
        run = runs[part]
        length = fair_down_to(run, HARD, FINE)
        order = np.argsort(-run.setup.environment.means, kind="stable")[1:]
        for nearer, farther in pairwise(order.tolist()):
            text = f"width of the range of η in which arm {nearer + 1} stays fair, minus that of arm {farther + 1}"
            yield above(f"case {case}: {text}", length[:, nearer] - length[:, farther], 0.0)


@of_runs
def all_at_once(runs: Runs, name: str) -> Iterator[Finding]:
    """With a policy no arm is unfair at η = 1, and all but the best are one step further down."""
    for case, part in SCALE_CASES.items():
        path = missing(runs[part], name)
        at_one, next_to_one = path[1.0].max(axis=1), path[round(1.0 - STEP, 4)][:, worse(runs[part])].min(axis=1)
        text = f"case {case}: missing fraction of the promised plays of the arm with the"
        yield below(f"{text} most missing, at η = 1", at_one, UNFAIR)
        yield above(f"{text} least missing, the best arm excluded, at η = {1.0 - STEP:g}", next_to_one, UNFAIR)


def wider(runs: Runs) -> Iterator[Finding]:
    """The hard threshold keeps every arm but the best fair over more of η than its rivals do."""
    for case, part in SCALE_CASES.items():
        mine = fair_down_to(runs[part], HARD, STEP)
        for rival in RIVALS:
            gain = (mine - fair_down_to(runs[part], rival, STEP))[:, worse(runs[part])].min(axis=1)
            text = f"width of the range of η in which an arm stays fair, {HARD} minus {rival}, arm with the least gain"
            yield above(f"case {case}: {text}", gain, 0.0)


# F-3 and F-5


@of_runs
def earns_most(runs: Runs, parts: Mapping[str, str], rival: str) -> Iterator[Finding]:
    """The hard threshold earns more than a rival at the same unfairness; parts are named after their subjects."""
    for part, where in parts.items():
        yield earns_more(runs[part], HARD, rival, where)


# F-4


@of_runs
def on_lines(
    runs: Runs, kind: str, measure: Callable[[Array, Array], Array], text: str, ends: tuple[float, float]
) -> list[Finding]:
    """A measure of plays against inverse gaps lies between two ends where enough arms are off the fairness level."""
    findings, most = [], 0
    for part, (of, case) in GAP_CASES.items():
        inverse, plays = off_the_level(part, runs[part])
        if of != kind:
            continue
        most = max(most, len(inverse))
        if len(inverse) >= LEAST:
            where = f"case {case}, {len(inverse)} {kind} arms: {text} {INVERSE[kind]}"
            findings.append(within(where, measure(inverse, plays), *ends))
    lanes = count_lanes(next(iter(runs.values())))
    few = f"{kind} arms off the fairness level in the case with the most"
    return findings or [Finding(few, most, most, most, lanes, f"at least {LEAST}", (LEAST, math.inf))]


def at_the_level(runs: Runs) -> Iterator[Finding]:
    """Non-critical arms do not get beyond the fairness level, and critical ones reach it."""
    for part, (kind, case) in GAP_CASES.items():
        places, _ = arms_of(part, runs[part])
        over = plays_of(runs[part], places) - level_of(runs[part], places)
        worst = (-over if kind == "critical" else over).max(axis=1)
        what = "missing to" if kind == "critical" else "beyond the fairness level of"
        yield within(f"case {case}: most plays {what} any {kind} arm", np.maximum(worst, 0.0), 0.0, 1.0)


def tight(runs: Runs) -> Iterator[Finding]:
    """Plays lie between the lower and the upper bounds."""
    for part, (kind, case) in GAP_CASES.items():
        plays = plays_of(runs[part], arms_of(part, runs[part])[0])
        bounds = bounds_of(part, runs[part])
        where = f"case {case}, {kind} arms: plays divided by their bound"
        yield within(f"{where}, the largest", ((plays - 1.0) / bounds).max(axis=1), 0.0, 1.0)
        yield above(f"{where}, the smallest", (plays / bounds).min(axis=1), 1.0 / CONSTANT)


# Section 5: the soft threshold, and explore then commit


@of_runs
def promises_kept(runs: Runs, name: str) -> list[Finding]:
    """Every arm has ⌊τ_k T⌋ plays in the end, in all but a twentieth of the lanes at most."""
    return [_short(runs["f6-promises"], name)]


def _short(run: CompletedRun, name: str, where: str = "") -> Finding:
    """In nearly every lane every arm has the whole plays that it is promised."""
    due = np.floor(plays_due(run, name) + 1e-9)
    short = (run.results.policies[name].pulls[-1] < due).any(axis=-1).astype(float)
    return below(f"fraction of the lanes in which an arm misses a promised play: {name}{where}", short, 0.05)


def vanishing_kept(runs: Runs) -> list[Finding]:
    """Shares that vanish with the horizon are kept in nearly every lane, at every T."""
    return [_short(run, label, f", T = {run.setup.horizon:,}") for run in _vanishing(runs) for label in POWERS]


def vanishing_on_time(runs: Runs) -> list[Finding]:
    """Nobody has ever been a whole play behind."""
    return [found for part in VANISHING for found in never_behind(part)(runs)]


def vanishing_logarithmic(runs: Runs) -> list[Finding]:
    """From the second largest T to the largest the penalised regret grows by less than a square root would."""
    *_, less, more = _vanishing(runs)
    times = f"T = {more.setup.horizon:,}, relative to that at T = {less.setup.horizon:,}"
    root = math.sqrt(more.setup.horizon / less.setup.horizon)
    over, under = ({label: at(run, label, "penalized_regret") for label in POWERS} for run in (more, less))
    return [ratio_below(f"penalised regret at {times}: {one}", over[one], under[one], root) for one in POWERS]


def _vanishing(runs: Runs) -> list[CompletedRun]:
    return [runs[part] for part in VANISHING]


def soft_falls_short(runs: Runs) -> list[Finding]:
    """With the soft threshold an arm misses more than 5% of its plays, and what is missing grows linearly."""
    run = runs["f6-promises"]
    part = (promised(run) - run.results.policies[SOFT].pulls[-1]) / promised(run)
    text = f"missing fraction of the promised plays of the arm furthest behind: {SOFT}"
    return [above(text, part.max(axis=-1), UNFAIR), linear(run, SOFT, "unfairness", since=0.5)]


def soft_loses_more(runs: Runs) -> Iterator[Finding]:
    """The penalised regret of the soft threshold is higher than that of the hard one, and grows faster than a root."""
    run = runs["f6-promises"]
    found = exponent(run, SOFT, "penalized_regret", since=0.5)
    text = f"growth exponent of the penalised regret, last half of the rounds: {SOFT}"
    measured = found.mean, found.low, found.high
    yield lower(run, "penalized_regret", HARD, SOFT)
    yield judged(text, measured, found.lanes, "above 0.5", (0.5, math.inf), touching=False)


def commits_worse(runs: Runs) -> list[Finding]:
    """Explore then commit has a higher penalised regret than the hard threshold, at every T."""
    run = runs["f6-commit"]
    end = int(run.results.rounds[-1])
    return [lower(run, "penalized_regret", HARD, f"{COMMIT} T={one}", min(one, end)) for one in commits(run)]


def commits(run: CompletedRun) -> list[int]:
    """The rounds within a run of which explore then commit has one of its own; the first ones for a shorter run."""
    return [one for one in COMMITS if one <= max(int(run.results.rounds[-1]), COMMITS[0])]
