"""The experiments of Fang et al. 2022, section 6: a penalty for every missing play, one play a round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.datasets import popular
from evenhand.papers import panels
from evenhand.papers.claims import above, at, below, within
from evenhand.papers.experiment import Claim, Data, Experiment, Finding, Run, Runs, Size
from evenhand.papers.fang2022 import gaps
from evenhand.papers.fang2022.frontier import FAIR_LEARN, HARD, LFG, POLICIES, Frontier, earns_more, grid
from evenhand.papers.fang2022.paths import FINE, STEP, UNFAIR, fair_down_to, missing, promised, worse
from evenhand.records import Array
from evenhand.results import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RIVALS = (FAIR_LEARN, LFG)

DRAWN = (
    "The paper does not say whether every run has new means; here every lane has its own, the same for all policies."
)
RUNS = "The paper tells its number of runs (50) for setting 1 only; it is used in all settings."
LFG_CHOICE = (
    "LFG is as section 3 restates it: index min(S/N + √(2 ln n / N), 1), the queue starts at 0, and ties are broken at "
    "random."
)
SCALES = (
    "Text and formulas contradict each other about the direction of η: the text has η → 1 pay less attention to "
    "fairness, but A = η and α = (1 − η) τ₁ T make η = 1 the fairest, as the section on results has it. The formulas "
    "are followed."
)

# F-1

SETTINGS = {f"f1-k{arms}-tau{tau:.1f}".replace(".", ""): (arms, tau) for arms in (5, 20) for tau in (0.2, 0.4, 0.8)}


def _regret(run: Run, name: str, rounds: float) -> Array:
    """The penalised regret of a policy at T; LFG's parameter is √T, so that every T has an LFG of its own."""
    own = grid(run, LFG) if name == LFG else [name]
    label = min(own, key=lambda one: abs(float(one.partition("=")[2] or 0.0) - math.sqrt(rounds)))
    return at(run, label, "penalized_regret", rounds)


def _lowest(rival: str) -> Callable[[Runs], Sequence[Finding]]:
    def test(runs: Runs) -> list[Finding]:
        return [
            below(
                f"penalised regret, K = {arms}, τ = {tau}, T = {rounds:,}: {HARD} less {rival}",
                _regret(runs[part], HARD, rounds) - _regret(runs[part], rival, rounds),
                0.0,
            )
            for part, (arms, tau) in SETTINGS.items()
            for rounds in runs[part].results.rounds.tolist()
        ]

    return test


def _regret_over_time(runs: Runs) -> Figure:
    def panel(number: int, axes: Axes) -> None:
        part, (arms, tau) = list(SETTINGS.items())[number]
        rounds = runs[part].results.rounds
        for place, name in enumerate(POLICIES):
            mean, error = mean_and_error(np.array([_regret(runs[part], name, one) for one in rounds.tolist()]))
            _points(axes, rounds, mean, error, name, place)
        panels.finish(axes, "T (rounds)", "penalised regret (reward)", title=f"K = {arms}, τ = {tau}")

    return panels.grid(len(SETTINGS), panel, note=_bars(runs))


# F-2

CASES = {1: "f2-case1", 2: "f2-case2"}


def _one_by_one(runs: Runs) -> list[Finding]:
    findings = []
    for case, part in CASES.items():
        run = runs[part]
        length = fair_down_to(run, HARD, FINE)
        order = np.argsort(-run.setup.environment.means, kind="stable")[1:]
        for nearer, farther in pairwise(order.tolist()):
            text = f"case {case}: length of η over which arm {nearer + 1} stays fair, less that of arm {farther + 1}"
            findings.append(above(text, length[:, nearer] - length[:, farther], 0.0))
    return findings


def _all_at_once(name: str) -> Callable[[Runs], Sequence[Finding]]:
    def test(runs: Runs) -> list[Finding]:
        findings = []
        for case, part in CASES.items():
            path = missing(runs[part], name)
            above_one, next_to_one = path[1.0].max(axis=1), path[round(1.0 - STEP, 4)][:, worse(runs[part])].min(axis=1)
            text = f"case {case}: part of the promised plays missing to the arm with the"
            findings += [
                below(f"{text} most missing, at η = 1", above_one, UNFAIR),
                above(f"{text} least missing but the best, at η = {1.0 - STEP:g}", next_to_one, UNFAIR),
            ]
        return findings

    return test


def _wider(runs: Runs) -> list[Finding]:
    findings = []
    for case, part in CASES.items():
        mine = fair_down_to(runs[part], HARD, STEP)
        for rival in RIVALS:
            gain = (mine - fair_down_to(runs[part], rival, STEP))[:, worse(runs[part])].min(axis=1)
            text = (
                f"case {case}: length of η over which an arm stays fair, {HARD} less {rival}, arm with the least gain"
            )
            findings.append(above(text, gain, 0.0))
    return findings


def _paths(runs: Runs) -> Figure:
    def panel(number: int, axes: Axes) -> None:
        case, part = list(CASES.items())[number // len(POLICIES)]
        name = POLICIES[number % len(POLICIES)]
        path = {eta: plays * promised(runs[part]) for eta, plays in missing(runs[part], name).items()}
        mean, error = mean_and_error(np.moveaxis(np.array(list(path.values())), 1, -1))
        for arm in range(mean.shape[-1]):
            look = panels.line(arm)
            axes.plot(
                list(path), mean[:, arm], label=f"arm {arm + 1}", marker=panels.MARKERS[arm], markersize=3, **look
            )
            band = {"color": look["color"], "alpha": 0.2, "linewidth": 0}
            axes.fill_between(list(path), mean[:, arm] - error[:, arm], mean[:, arm] + error[:, arm], **band)
        axes.set_xlim(-0.05, 1.05)
        panels.finish(axes, "scale η", "plays missing (plays)", title=f"case {case}, {name}")

    return panels.grid(len(CASES) * len(POLICIES), panel, note=f"{_note(runs)}; arms in the order of their means")


# F-3 and F-5

FILMS = {13: 2500, 31: 2000, 118: 1250}  # films in MovieLens 1M with more ratings than that
FILM_PARTS = {films: f"f3-{films}" for films in FILMS}
SHARE = 0.8  # τ of setting 3, shared by all films: ours
SPREADS = ("gaussian", "beta", "bernoulli")
SETTING_5 = {
    f"f5-k{arms}-tau{tau:.1f}-{kind}".replace(".", ""): f"K = {arms}, τ = {tau}, {kind.capitalize()}"
    for arms in (5, 20)
    for tau in (0.2, 0.5)
    for kind in SPREADS
}


def _earns_most(parts: dict[str, str], rival: str) -> Callable[[Runs], Sequence[Finding]]:
    return lambda runs: [
        finding for part, where in parts.items() for finding in earns_more(runs[part], HARD, rival, where)
    ]


def _frontiers(parts: dict[str, str]) -> Callable[[Runs], Figure]:
    def draw(runs: Runs) -> Figure:
        def panel(number: int, axes: Axes) -> None:
            part, where = list(parts.items())[number]
            for place, name in enumerate(POLICIES):
                front = Frontier.everywhere(runs[part], name)
                reward, _ = mean_and_error(front.reward)
                missing, _ = mean_and_error(front.unfairness)
                _points(axes, missing, reward, None, name, place)
            drawn = [Frontier.everywhere(runs[part], name).reward.mean(axis=1) for name in POLICIES]
            rest = np.concatenate([*drawn[:-1], drawn[-1][:-1]])  # without LFG at η = 1
            axes.set_ylim(rest.min() - 0.06 * np.ptp(rest), rest.max() + 0.06 * np.ptp(rest))
            panels.finish(axes, "unfairness (plays missing)", "total expected reward", title=_title(where, runs[part]))

        lanes = next(iter(runs.values())).results.information["lanes"]
        note = f"means of {lanes} lanes; a marker is a value of the parameter; LFG at η = 1 may lie below what is drawn"
        return panels.grid(len(parts), panel, note=note)

    return draw


def _title(where: str, run: Run) -> str:
    films = len(run.results.names)
    return f"{films} films" if where.endswith("films") else where


def film_grids(config: dict[str, Any], films: int) -> dict[str, Any]:
    """A configuration of setting 3 with the fractions and the grids that belong to a number of films."""
    share = round(SHARE / films, 10)
    etas = config["policies"][0]["grid"]["penalties"]
    tails = [round((1.0 - eta) * SHARE / films * config["horizon"], 6) for eta in etas]
    grids: list[dict[str, Any]] = [{"penalties": etas}, {"tolerance": tails}, {"eta": tails}]
    policies = [policy | {"grid": grid} for policy, grid in zip(config["policies"], grids, strict=True)]
    environment = config["environment"] | {"fractions": [share] * films}
    return config | {"environment": environment, "policies": policies}


def on_films(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A configuration of setting 3 on a copy of MovieLens.

    The paper's number of ratings counts where it leaves as many films as in the paper, which it does in MovieLens 1M;
    elsewhere the number that leaves as near to it as ties allow.
    """
    found = popular.count(folder)
    films = len(config["environment"]["fractions"])
    more_than = FILMS[films] if found.above(FILMS[films]) == films else found.threshold(films)
    dataset = {"kind": "popular", "path": str(folder), "more_than": more_than}
    changed = film_grids(config, found.above(more_than))
    return changed | {"environment": changed["environment"] | {"dataset": dataset}}


# F-4

STRAIGHT = 0.95  # part of the variance that a straight line explains
PROPORTIONAL = (0.9, 1.1)  # the power of the inverse gap that counts as the first
CONSTANT = 8.0  # between the upper and the lower bounds, Theorems 4.2 and 4.6


def _on_lines(
    kind: str, measure: Callable[[Array, Array], Array], text: str, ends: tuple[float, float]
) -> Callable[[Runs], Sequence[Finding]]:
    def test(runs: Runs) -> list[Finding]:
        findings, most = [], 0
        for part, (of, case) in gaps.CASES.items():
            inverse, plays = gaps.off_the_level(part, runs[part])
            if of != kind:
                continue
            most = max(most, len(inverse))
            if len(inverse) >= gaps.LEAST:
                where = f"case {case}, {len(inverse)} {kind} arms: {text} {gaps.INVERSE[kind]}"
                findings.append(within(where, measure(inverse, plays), *ends))
        lanes = next(iter(runs.values())).results.information["lanes"]
        few = f"{kind} arms off the fairness level in the case with the most"
        return findings or [Finding(few, most, most, most, lanes, f"at least {gaps.LEAST}", False)]

    return test


def _at_the_level(runs: Runs) -> list[Finding]:
    findings = []
    for part, (kind, case) in gaps.CASES.items():
        places, _ = gaps.arms_of(part, runs[part])
        over = gaps.plays_of(runs[part], places) - gaps.level_of(runs[part], places)
        worst = (-over if kind == "critical" else over).max(axis=1)
        what = "missing to" if kind == "critical" else "beyond the fairness level of"
        findings.append(within(f"case {case}: most plays {what} any {kind} arm", np.maximum(worst, 0.0), 0.0, 1.0))
    return findings


def _tight(runs: Runs) -> list[Finding]:
    findings = []
    for part, (kind, case) in gaps.CASES.items():
        plays = gaps.plays_of(runs[part], gaps.arms_of(part, runs[part])[0])
        bounds = gaps.bounds_of(part, runs[part])
        where = f"case {case}, {kind} arms: plays in parts of their bound"
        findings += [
            within(f"{where}, the largest", ((plays - 1.0) / bounds).max(axis=1), 0.0, 1.0),
            above(f"{where}, the smallest", (plays / bounds).min(axis=1), 1.0 / CONSTANT),
        ]
    return findings


def _plays_over_gaps(runs: Runs) -> Figure:
    def panel(number: int, axes: Axes) -> None:
        part, (kind, case) = list(gaps.CASES.items())[number]
        run = runs[part]
        places, inverse = gaps.arms_of(part, run)
        mean, error = mean_and_error(gaps.plays_of(run, places).T)
        axes.errorbar(inverse, mean, error, label="arms", linestyle="none", marker="o", markersize=5, color="#000000")
        level = gaps.level_of(run, places)[0]
        axes.axhline(level, label="fairness level τT", color=panels.line(0)["color"], linewidth=1.2)
        off, plays = gaps.off_the_level(part, run)
        if len(off) >= gaps.LEAST:
            slope, foot = np.polyfit(off, plays.mean(axis=0), 1)
            ends = np.array([off.min(), off.max()])
            label = "straight line through the arms off the level"
            axes.plot(ends, foot + slope * ends, label=label, linewidth=1.2, **panels.line(9))
        axes.set_xlim(0.0, 1.06 * inverse.max())
        axes.set_ylim(0.0, 1.1 * max(mean.max(), level))
        panels.finish(axes, gaps.INVERSE[kind], "plays of an arm", title=f"{kind} arms, case {case}")

    return panels.grid(len(gaps.CASES), panel, note=_bars(runs))


def _points(axes: Axes, x: Any, y: Array, error: Array | None, name: str, place: int) -> None:
    look = panels.line(place)
    axes.errorbar(x, y, error, label=name, marker=panels.MARKERS[place], markersize=4.5, linewidth=1.4, **look)


def _bars(runs: Runs) -> str:
    return _note(runs).replace("bands", "bars")


def _note(runs: Runs) -> str:
    return panels.lanes_of(next(iter(runs.values())))


SAME_UNFAIRNESS = (
    "at the same unfairness: values of a policy's parameter with less mean reward than another that misses no more "
    "plays do not count, and between the others the mean reward is a straight line; two policies are compared at "
    "10, 30, 50, 70 and 90 % of the way through the unfairness that both reach, and the place where the lead is "
    "least sure is told; where they share less than a play an arm, nothing can be confirmed"
)

EXPERIMENTS = (
    Experiment(
        id="F-1",
        title="Penalised regret over the horizon",
        figure="figure 1",
        setting=(
            "5 or 20 Gaussian arms with standard deviation 1/K and means uniform on [0, 1]; every arm is promised "
            "τ/K of the rounds and each missing play costs A, half the distance between the best and the worst "
            "mean; T from 500 to 16,000, 50 lanes."
        ),
        parts=tuple(SETTINGS),
        claims=(
            Claim(
                "Hard-threshold UCB has a lower penalised regret than Fair-Learn, for every K, τ and T.",
                "section 6.2, figure 1",
                _lowest(FAIR_LEARN),
            ),
            Claim(
                "Hard-threshold UCB has a lower penalised regret than LFG, for every K, τ and T.",
                "section 6.2, figure 1",
                _lowest(LFG),
            ),
        ),
        draw=_regret_over_time,
        quick=Size(lanes=10, horizon=4_000),
        choices=(
            DRAWN,
            "The paper names the ends of its horizons only; 500, 1,000, 2,000, …, 16,000 are ours.",
            "LFG's η is √T, so that each T has an LFG of its own, read at that T only.",
            LFG_CHOICE,
        ),
    ),
    Experiment(
        id="F-2",
        title="Plays missing to each arm over the scale η",
        figure="figure 2",
        setting=(
            "8 Gaussian arms with standard deviation 1/8, 10,000 rounds, 50 lanes, in two cases; A = η, α = (1 − η) "
            "τ₁ T and η₀ = (1 − η) T, for η from 0 to 1."
        ),
        parts=tuple(CASES.values()),
        claims=(
            Claim(
                "With the hard threshold, arms become unfair one by one as the scale falls, those with a larger gap "
                "first.",
                "section 6.2, figure 2",
                _one_by_one,
                "an arm is unfair when more than 5 % of its promised plays are missing; one by one: of two arms "
                "that follow each other in the order of their means, the better one stays fair over a longer piece "
                "of η from 1 down, in steps of 0.05",
            ),
            *(
                Claim(
                    f"With {name}, all arms suddenly become unfair once the scale falls from 1.",
                    "section 6.2, figure 2",
                    _all_at_once(name),
                    "at η = 1 no arm misses 5 % of its promised plays; at 0.9 every arm but the best misses more",
                )
                for name in RIVALS
            ),
            Claim(
                "For every arm but the best, the hard threshold keeps it fair over a wider range of the scale than "
                "Fair-Learn and LFG do.",
                "figure 2, caption",
                _wider,
                "range: from 1 down to the first η, in steps of 0.1, at which more than 5 % of the promised plays "
                "are missing",
            ),
        ),
        draw=_paths,
        quick=Size(lanes=8, horizon=4_000),
        choices=(
            SCALES,
            "The paper does not list its values of η; steps of 0.1, and of 0.05 for the hard threshold, are ours. A "
            "quick run keeps the tolerances of the full one.",
            RUNS,
            LFG_CHOICE,
        ),
    ),
    Experiment(
        id="F-3",
        title="Reward against unfairness, films",
        figure="figure 3",
        setting=(
            "Arms are the films with many ratings, 13, 31 or 118 of them, and a play earns a rating drawn from the "
            "film's histogram, divided by 5; 50,000 rounds, 20 lanes; every film is promised 0.8/K of the rounds; A "
            "= η, and α = η₀ = (1 − η) T 0.8/K."
        ),
        parts=tuple(FILM_PARTS.values()),
        claims=tuple(
            Claim(
                f"At the same unfairness, hard-threshold UCB always has a higher reward than {rival}, for each "
                "number of films.",
                "section 6.2, figure 3",
                _earns_most({part: f"{films} films" for films, part in FILM_PARTS.items()}, rival),
                SAME_UNFAIRNESS,
            )
            for rival in RIVALS
        ),
        draw=_frontiers({part: f"{films} films" for films, part in FILM_PARTS.items()}),
        quick=Size(lanes=4, horizon=8_000),
        choices=(
            "The paper gives neither T nor τ nor the values of the parameters here; all are ours: T = 50,000 and τ "
            "= 0.8, as films' means lie so close together that exploration alone keeps most smaller promises, and η "
            "from 0.1 to 1 as in setting 5, with 0.02, 0.05 and 0.2 besides.",
            "Ratings are divided by 5, so that rewards lie in [0, 1] as the indices assume; the paper does not say.",
            "The figures that ship have half stars, ten ratings in all, where MovieLens 1M has five.",
            "Where the paper's 2,500, 2,000 and 1,250 ratings leave other numbers of films than its 13, 31 and 118, "
            "the numbers of ratings are taken that come nearest to these.",
            "20 lanes are ours.",
            LFG_CHOICE,
        ),
        data=(Data("movielens", on_films, "rating histograms of 118 films, counted in MovieLens latest-small"),),
    ),
    Experiment(
        id="F-4",
        title="Plays against inverse gaps",
        figure="figure 4",
        setting=(
            "9 arms, 20,000 rounds, 50 lanes; every arm is promised 1/20 of the rounds, and a missing play costs "
            "0.45, or 0.41 in case 2 of the non-critical arms. An arm is critical if its gap Δ to the best mean is "
            "at most A."
        ),
        parts=tuple(gaps.CASES),
        claims=(
            *(
                Claim(
                    f"The plays of {kind} arms are proportional to {inverse} where they {state} the fairness level.",
                    "section 6.2, figure 4",
                    _on_lines(kind, gaps.power, "power of growth in", PROPORTIONAL),
                    f"proportional: plays grow like a power of {inverse} from 0.9 to 1.1; {state}: by more than 1 "
                    "% in the mean; cases with fewer than three such arms say nothing",
                )
                for (kind, inverse), state in zip(gaps.INVERSE.items(), ("do not reach", "exceed"), strict=True)
            ),
            *(
                Claim(
                    f"The plays of {kind} arms lie on a straight line over {inverse}, off the fairness level.",
                    "figure 4; a weaker reading of ours",
                    _on_lines(kind, gaps.straightness, "variance of plays explained by a line in", (STRAIGHT, 1.0)),
                    "at least 95 % of the variance between the arms; the line need not go through 0",
                )
                for kind, inverse in gaps.INVERSE.items()
            ),
            Claim(
                "At the fairness level the plays of non-critical arms stop to grow, and critical arms reach it.",
                "figure 4, Theorem 4.2 (a) and (c)",
                _at_the_level,
                "up to one play",
            ),
            Claim(
                "The plays match the bounds of Theorem 4.2, which are tight.",
                "section 6.2",
                _tight,
                "between an eighth of the bound (the constant between Theorems 4.2 and 4.6) and the bound; O(1) is "
                "one play",
            ),
        ),
        draw=_plays_over_gaps,
        quick=Size(lanes=10),
        choices=(
            "The paper names no reward distribution and no number of runs here; Gaussian with standard deviation "
            "1/K and 50, as in its setting 1.",
        ),
    ),
    Experiment(
        id="F-5",
        title="Reward against unfairness, three reward distributions",
        figure="figure 5",
        setting=(
            "5 or 20 arms with means uniform on [0, 1]; Gaussian rewards with standard deviation 1/K, Beta(μ, 1 − "
            "μ) or Bernoulli ones; every arm is promised τ/K of the rounds; 10,000 rounds, 50 lanes; A = η, α = η₀ "
            "= (1 − η) τ T / K."
        ),
        parts=tuple(SETTING_5),
        claims=tuple(
            Claim(
                f"At the same unfairness, hard-threshold UCB has a larger total reward than {rival}, in all settings.",
                "section 6.2, figure 5, caption",
                _earns_most(SETTING_5, rival),
                SAME_UNFAIRNESS,
            )
            for rival in RIVALS
        ),
        draw=_frontiers(SETTING_5),
        quick=Size(lanes=6, horizon=4_000),
        choices=(
            "The paper gives no T and no values of the parameters here; T = 10,000 and η = 0.1, 0.3, 0.5, 0.7, 0.9, "
            "1 are ours, with the formulas of setting 2 for α and, for η₀, (1 − η) τ T / K.",
            "τ is printed as {0, 20.5}; figure 5 has 0.2 and 0.5.",
            DRAWN,
            RUNS,
            LFG_CHOICE,
        ),
    ),
)
