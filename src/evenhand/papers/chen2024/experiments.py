"""The experiments of Chen et al. 2024, section 6 and appendix B: shares by merit when rewards come late."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.index import Exploring
from evenhand.papers.chen2024.figures import CODE, MEASURES, both_radii, over_delays, over_exponents, times
from evenhand.papers.claims import above, alike, at, below, linear, lower, shares, sublinear, within
from evenhand.papers.experiment import Claim, Data, Experiment, Finding, Run, Runs, Size
from evenhand.records import Array

Test = Callable[[Runs], Sequence[Finding]]

REWARD, FAIRNESS = MEASURES
UCB, TS, OP_UCB, OP_TS, GREEDY = "FCUCB-D", "FCTS-D", "OP-FCUCB-D", "OP-FCTS-D", "FGreedy-D"
FAIR = (UCB, TS)
WARY = (OP_UCB, OP_TS)
GREEDIEST = ("CUCB-D", "MP-TS-D")  # all for the reward
OTHERS = (*GREEDIEST, GREEDY)
FAIR_CODE = (UCB + CODE, TS)
WARY_CODE = (OP_UCB + CODE, OP_TS)
CLOSE = 0.1  # "near", "quite close" and "comparable": within a tenth; "significantly": by more than that
MAINLY = 0.9  # "mainly": more than nine in ten plays
GOOD, BAD = (2, 3, 4), (0, 1, 5, 6)
LATE = 6000  # rounds until the first late reward of the biased delays

DELAYS = tuple(f"c2a-{delay:03}" for delay in range(0, 301, 50))
EXPONENTS = (2, 4, 6, 8)

SETTING = (
    "Seven Bernoulli arms with means 0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4, three plays a round, merit 1 + 2 μ⁴, 100 "
    "lanes; every policy faces the same rewards and delays."
)
RADIUS = (
    "The confidence radius in the theorems is wider than that in the code published with the paper, with which its "
    "figures were drawn. The theorems' is what “FCUCB-D” and “OP-FCUCB-D” stand for; “code's radius” (δ = 0.01) has "
    "claims and curves of its own."
)
RADIUS_ONLY = "The radius is the theorems'; the paper's figures were drawn with the narrower one of its code."
START = (
    "The UCB versions play every arm once in their first rounds, as printed, and these rounds count; in the paper's "
    "code every policy is given one pull of every arm for free."
)
GREEDY_RATE = "The paper gives no ε for FGreedy-D; 0.13 is that of its code."
HORIZON = "The paper gives no horizon; 40,000 rounds are ours."
TAILS = "The paper does not print the tail indices; ours are one draw from (0, 1], fixed. One of the seven is 0.01."
LOSSES = "The paper does not print the probabilities; ours are one draw from (0.3, 0.8], fixed."
AXES = "Logarithmic axes are ours."

CODES_SENTENCE = "With the radius of the paper's code: "
EVERY_PAIR = "each of the two against each of the other two, at the end"


# What a test is made of


def closest(findings: Sequence[Finding]) -> list[Finding]:
    """Of findings that must all lie below the same number, the one that comes closest to it or goes furthest beyond."""
    return _told(max(findings, key=lambda one: one.high), len(findings))


def widest(findings: Sequence[Finding]) -> list[Finding]:
    """Of findings that must all lie around 0 within the same margin, the one that goes furthest."""
    return _told(max(findings, key=lambda one: max(-one.low, one.high)), len(findings))


def _told(one: Finding, of: int) -> list[Finding]:
    text = f"{one.text} (the nearest to failing of {of})"
    return [Finding(text, one.effect, one.low, one.high, one.lanes, one.expected, one.holds)]


def _less(part: str, policies: Iterable[str], others: Iterable[str], measures: Iterable[str] = MEASURES) -> Test:
    """Each of the policies has less of each measure than each of the others."""
    order = [(measure, one, other) for measure in measures for one in policies for other in others]
    return lambda runs: [lower(runs[part], measure, one, other) for measure, one, other in order]


def _sublinear(part: str, policies: Iterable[str]) -> Test:
    order = [(label, measure) for measure in MEASURES for label in policies]
    return lambda runs: [sublinear(runs[part], label, measure) for label, measure in order]


def _not_both_sublinear(part: str) -> Test:
    return lambda runs: [linear(runs[part], label, FAIRNESS) for label in OTHERS]


def _never_ends(part: str) -> Test:
    """Over the last half of the rounds the fairness regret of the others grows by what they lose for ever."""

    def test(runs: Runs) -> list[Finding]:
        run = runs[part]
        half = run.setup.horizon / 2.0
        found = []
        for label in OTHERS:
            growth = (at(run, label, FAIRNESS) - at(run, label, FAIRNESS, half)) / half
            text = (
                f"fairness regret a round over the last half, in times of what it is once the means are known: {label}"
            )
            found.append(above(text, growth / lost_for_ever(run, label), 1.0 - CLOSE))
        return found

    return test


def lost_for_ever(run: Run, label: str) -> float:
    """The fairness regret a round of a policy that knows the means."""
    fair, plays = _fair_shares(run), run.setup.policies[label].plays
    index = run.setup.policies[label].index
    if isinstance(index, Exploring):
        return float(index.epsilon * np.abs(fair - plays / len(fair)).sum())
    means = np.asarray(run.setup.environment.means)
    best = np.isin(np.arange(len(means)), np.argsort(-means)[:plays])
    return float(np.abs(fair - best).sum())


# Figure 1


def _unfair(runs: Runs) -> list[Finding]:
    run = runs["c1"]
    return [
        above(f"part of the plays on arms 3, 4 and 5: {label}", part_of_plays(run, label, GOOD), MAINLY)
        for label in GREEDIEST
    ]


def _uniform(runs: Runs) -> list[Finding]:
    run = runs["c1"]
    played = shares(run, GREEDY)
    uniform = run.setup.policies[GREEDY].plays / played.shape[1]
    gap = np.abs(played - uniform).sum(axis=1) - np.abs(played - _fair_shares(run)).sum(axis=1)
    return [below("distance of FGreedy-D's shares from uniform less that from fair", gap, 0.0)]


def _more_uniform(runs: Runs) -> list[Finding]:
    run = runs["c1"]
    away = {label: np.abs(shares(run, label) - 3.0 / 7.0).sum(axis=1) for label in (GREEDY, *FAIR)}
    return [
        below(f"distance from uniform shares: FGreedy-D less {label}", away[GREEDY] - away[label], 0.0)
        for label in FAIR
    ]


def _converged(policies: Iterable[str]) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run = runs["c1"]
        found = []
        for label in policies:
            off = np.abs(shares(run, label) / _fair_shares(run) - 1.0).max(axis=1)
            found.append(below(f"largest error of an arm's share, as a part of its fair share: {label}", off, CLOSE))
        return found

    return test


def _consistently_greedy(runs: Runs) -> list[Finding]:
    run = runs["c1"]
    found = []
    for round in (run.setup.horizon / 10, run.setup.horizon):
        for one in GREEDIEST:
            for other in FAIR:
                found += [lower(run, REWARD, one, other, round), lower(run, FAIRNESS, other, one, round)]
    return found


def _fair_shares(run: Run) -> Array:
    return np.asarray(run.results.promised[TS])


def part_of_plays(run: Run, label: str, arms: Sequence[int], until: float = np.inf) -> Array:
    """The part of all plays that some arms got up to the last checkpoint before a round, (lanes,)."""
    place = int(np.searchsorted(run.results.rounds, until, side="right")) - 1
    pulls = run.results.records[label].pulls[place].astype(float)
    return np.asarray(pulls[:, list(arms)].sum(axis=1) / pulls.sum(axis=1))


# Figure 2


def _flat(policies: Iterable[str]) -> Test:
    """The regret at every fixed delay is near that without delay."""

    def test(runs: Runs) -> list[Finding]:
        found = []
        for measure in MEASURES:
            for label in policies:
                found += widest([_changed(runs, part, measure, label) for part in DELAYS[1:]])
        return found

    return test


def _changed(runs: Runs, part: str, measure: str, label: str) -> Finding:
    none = at(runs[DELAYS[0]], label, measure)
    change = (at(runs[part], label, measure) - none) / none.mean()
    text = (
        f"{measure.replace('_', ' ')} at a delay of {int(part[-3:])} less that at 0, as a part of the latter: {label}"
    )
    return within(text, change, -CLOSE, CLOSE)


def _much_less(part: str, policies: Iterable[str], others: Iterable[str], after: float = 1.0) -> Test:
    """After a part of the rounds each of the policies has less of both regrets than each of the others, by more than
    what counts as close."""
    order = [(measure, one, other) for measure in MEASURES for one in policies for other in others]

    def test(runs: Runs) -> list[Finding]:
        run = runs[part]
        round = after * run.setup.horizon
        found = []
        for measure, one, other in order:
            reference = at(run, other, measure, round)
            gap = (at(run, one, measure, round) - reference) / reference.mean()
            text = f"{measure.replace('_', ' ')} at round {round:,.0f}: {one} less {other}, as a part of the latter"
            found.append(below(text, gap, -CLOSE))
        return found

    return test


def _misled(part: str) -> Test:
    """While the late rewards are out, a bad arm is played more than a good one."""

    def test(runs: Runs) -> list[Finding]:
        found = []
        for label in FAIR:
            bad, good = (part_of_plays(runs[part], label, arms, LATE) / len(arms) for arms in (BAD, GOOD))
            found.append(
                above(f"part of the first plays on a bad arm less that on a good one: {label}", bad - good, 0.0)
            )
        return found

    return test


# Figure 3


def _better_trade(policies: Iterable[str]) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run = runs["c3"]
        found = []
        for label in policies:
            found += closest([lower(run, FAIRNESS, label, other) for other in OTHERS])
            found.append(lower(run, REWARD, label, GREEDY))
        return found

    return test


def on_log(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The user's log in place of the figures that ship."""
    dataset = {"kind": "conversions", "path": str(path), "rates": "scaled_conversions"}
    return config | {"environment": config["environment"] | {"dataset": dataset}}


# Figures 4 to 8


def _parts(figure: int) -> tuple[str, ...]:
    return tuple(f"c{figure}-{exponent}" for exponent in EXPONENTS)


def _fair_and_cheap(figure: int, policies: Sequence[str]) -> Test:
    def test(runs: Runs) -> list[Finding]:
        every = [runs[part] for part in _parts(figure)]
        found = []
        for label in policies:
            for measure in MEASURES:
                found += closest([_with_exponent(run, sublinear(run, label, measure)) for run in every])
            found += closest([_with_exponent(run, lower(run, FAIRNESS, label, one)) for run in every for one in OTHERS])
            found += closest([_with_exponent(run, lower(run, REWARD, label, GREEDY)) for run in every])
        return found

    return test


def _wider(figure: int) -> Test:
    """The distance between the highest and the lowest regret grows with every step of the exponent."""

    def test(runs: Runs) -> list[Finding]:
        found = []
        for measure in MEASURES:
            for less, more in pairwise(_parts(figure)):
                growth = spread(runs[more], measure) - spread(runs[less], measure)
                text = f"{measure.replace('_', ' ')}, highest less lowest: at c = {more[-1]} less at c = {less[-1]}"
                found.append(above(text, growth, 0.0))
        return found

    return test


def _wider_between(figure: int, policies: Sequence[str]) -> Test:
    """Each fair policy is further from each of the others at the largest exponent than at the smallest."""

    def test(runs: Runs) -> list[Finding]:
        flat, steep = runs[_parts(figure)[0]], runs[_parts(figure)[-1]]
        found = []
        for measure in MEASURES:
            for label in policies:
                for other in OTHERS:
                    growth = distance(steep, measure, label, other) - distance(flat, measure, label, other)
                    text = f"{measure.replace('_', ' ')}, {label} and {other} apart: at c = 8 less at c = 2"
                    found.append(above(text, growth, 0.0))
        return found

    return test


def spread(run: Run, measure: str) -> Array:
    """The highest regret less the lowest, by their means, (lanes,)."""
    ends = sorted((at(run, label, measure) for label in run.results.records), key=lambda lanes: float(lanes.mean()))
    return np.asarray(ends[-1] - ends[0])


def distance(run: Run, measure: str, one: str, other: str) -> Array:
    """How far two policies' mean regrets are apart, (lanes,)."""
    gap = at(run, one, measure) - at(run, other, measure)
    return np.asarray(gap * np.sign(gap.mean()))


def _with_exponent(run: Run, found: Finding) -> Finding:
    merit: Any = run.setup.environment.merit
    text = f"{found.text}, c = {merit.exponent:g}"
    return Finding(text, found.effect, found.low, found.high, found.lanes, found.expected, found.holds)


def _wary_better(runs: Runs) -> list[Finding]:
    every = [runs[part] for part in _parts(8)]
    found = []
    for measure in MEASURES:
        for label in WARY:
            found += closest([_with_exponent(run, lower(run, measure, label, one)) for run in every for one in FAIR])
    return found


def _comparable(runs: Runs) -> list[Finding]:
    every = [runs[part] for part in _parts(8)]
    return [
        one
        for measure in MEASURES
        for label in FAIR
        for one in widest([_with_exponent(run, alike(run, measure, GREEDY, label, CLOSE)) for run in every])
    ]


def _less_misled(runs: Runs) -> list[Finding]:
    found = []
    for label in FAIR:
        each = []
        for run in (runs[part] for part in _parts(8)):
            gap = part_of_plays(run, GREEDY, BAD, LATE) - part_of_plays(run, label, BAD, LATE)
            each.append(
                _with_exponent(run, below(f"part of the first plays on bad arms: FGreedy-D less {label}", gap, 0.0))
            )
        found += closest(each)
    return found


# Figure 9


def _faster(part: str) -> Test:
    def test(runs: Runs) -> list[Finding]:
        seconds = runs[part].seconds
        found = []
        for quick, slow in ((TS, UCB), (OP_TS, OP_UCB)):
            times = seconds[quick] / seconds[slow]
            text = f"processor time of {quick}, in times of that of {slow}"
            found.append(Finding(text, times, times, times, 1, "below 1", times < 1.0))
        return found

    return test


def _other_merits(
    figure: int, delays: str, plain: str, choices: tuple[str, ...], policies: Sequence[str], more: Sequence[Claim]
) -> Experiment:
    """Figures 4 to 8: the merit's exponent under one kind of delay."""
    names = " and ".join(policies)
    return Experiment(
        id=f"C-{figure}",
        title=f"Steeper and flatter merits: {delays}",
        figure=f"figure {figure}",
        setting=(f"{SETTING.replace('merit 1 + 2 μ⁴', 'merit 1 + 2 μᶜ with c = 2, 4, 6, 8')} {plain} 40,000 rounds."),
        parts=_parts(figure),
        claims=(
            Claim(
                f"For every merit function {names} are fair, at a low reward regret.",
                "appendix B.1",
                _fair_and_cheap(figure, policies),
                "at every c both regrets grow sublinearly, the fairness regret is below that of CUCB-D, MP-TS-D and "
                "FGreedy-D, and the reward regret below that of FGreedy-D",
            ),
            Claim(
                "As c grows, the gap between the algorithms widens.",
                "section 6, appendix B.1",
                _wider(figure),
                "the gap is the highest regret less the lowest; it widens with every step of c, for both regrets",
            ),
            Claim(
                "As c grows, each fair policy moves away from each of the other algorithms (ours, pair by pair).",
                "ours",
                _wider_between(figure, policies),
                "from c = 2 to c = 8, for both regrets",
            ),
            *more,
        ),
        draw=over_exponents(_parts(figure)),
        quick=Size(lanes=10, horizon=6100 if figure == 8 else 1500),
        choices=(HORIZON, RADIUS_ONLY, *choices, START, GREEDY_RATE, AXES),
    )


EXPERIMENTS = (
    Experiment(
        id="C-1",
        title="Geometric delays: shares and regrets",
        figure="figure 1",
        setting=f"{SETTING} Delays are geometric with success probability 0.05; 40,000 rounds.",
        parts=("c1",),
        claims=(
            Claim(
                "CUCB-D and MP-TS-D are unfair: they mainly play the arms of high reward, 3, 4 and 5.",
                "section 6, figure 1(a)",
                _unfair,
                "mainly: more than 90 % of the plays; the fair part is 56 %",
            ),
            Claim(
                "FGreedy-D tends to play the arms uniformly at random.",
                "section 6, figure 1(a)",
                _uniform,
                "its shares are nearer to uniform than to the optimal fair ones (sum of the differences over the arms)",
            ),
            Claim(
                "FGreedy-D plays the arms more uniformly than FCUCB-D and FCTS-D do.",
                "ours, a weaker reading of the same sentence",
                _more_uniform,
            ),
            Claim(
                "FCUCB-D and FCTS-D converge to the optimal fair policy.",
                "section 6, figure 1(a)",
                _converged(FAIR),
                "every arm's share of the 40,000 rounds is within 10 % of its fair share",
            ),
            Claim(
                "CUCB-D and MP-TS-D have consistently smaller reward regrets and larger fairness regrets than FCUCB-D "
                "and FCTS-D.",
                "section 6, figures 1(b), 1(c)",
                _consistently_greedy,
                "consistently: after a tenth of the rounds and at the end",
            ),
            Claim(
                "Both regrets of FCUCB-D and FCTS-D are smaller than those of FGreedy-D.",
                "section 6, figures 1(b), 1(c)",
                _less("c1", FAIR, [GREEDY]),
            ),
            Claim(
                "Both regrets of FCUCB-D and FCTS-D grow sublinearly.",
                "section 6, figures 1(b), 1(c); Theorems 6, 7",
                _sublinear("c1", FAIR),
                "the exponent of t, fitted over the last nine tenths of the rounds, is below 1",
            ),
            Claim(
                "FCUCB-D has a lower reward regret than FCTS-D.",
                "section 6, figure 1(b)",
                _less("c1", [UCB], [TS], [REWARD]),
            ),
            Claim(
                "FCUCB-D has a higher fairness regret than FCTS-D.",
                "section 6, figure 1(c)",
                _less("c1", [TS], [UCB], [FAIRNESS]),
            ),
            Claim(
                f"{CODES_SENTENCE}FCUCB-D converges to the optimal fair policy.",
                "section 6, figure 1(a); ours",
                _converged(FAIR_CODE[:1]),
                "every arm's share of the 40,000 rounds is within 10 % of its fair share",
            ),
            Claim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D grow sublinearly and are smaller than those of FGreedy-D.",
                "section 6, figures 1(b), 1(c); ours",
                lambda runs: [
                    *_sublinear("c1", FAIR_CODE[:1])(runs),
                    *_less("c1", FAIR_CODE[:1], [GREEDY])(runs),
                ],
            ),
            Claim(
                f"{CODES_SENTENCE}FCUCB-D has a lower reward regret than FCTS-D.",
                "section 6, figure 1(b); ours",
                _less("c1", FAIR_CODE[:1], [TS], [REWARD]),
            ),
            Claim(
                f"{CODES_SENTENCE}FCUCB-D has a higher fairness regret than FCTS-D.",
                "section 6, figure 1(c); ours",
                _less("c1", [TS], FAIR_CODE[:1], [FAIRNESS]),
            ),
        ),
        draw=both_radii("c1", with_shares=True),
        quick=Size(lanes=10, horizon=8000),
        choices=(
            RADIUS,
            "CUCB-D has two radii too, that of Chen et al. 2013, which its claims are about, and that of the paper's "
            "code, in the lower row.",
            START,
            GREEDY_RATE,
            AXES,
        ),
    ),
    Experiment(
        id="C-2a",
        title="Fixed delays",
        figure="figure 2(a)",
        setting=f"{SETTING} Every reward is 0, 50, …, 300 rounds late; 100,000 rounds.",
        parts=DELAYS,
        claims=(
            Claim(
                "Both regrets of FCUCB-D and FCTS-D are quite close under all of the fixed delays: they are not "
                "sensitive to them.",
                "section 6, figure 2(a)",
                _flat(FAIR),
                "quite close: within 10 % of the regret without delay, at every delay",
            ),
            Claim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D are quite close under all of the fixed delays.",
                "section 6, figure 2(a); ours",
                _flat(FAIR_CODE[:1]),
                "quite close: within 10 % of the regret without delay, at every delay",
            ),
        ),
        draw=over_delays(DELAYS),
        quick=Size(lanes=10, horizon=2000),
        choices=("The paper does not list its delays; steps of 50 up to 300 are ours.", RADIUS, START),
    ),
    Experiment(
        id="C-2b",
        title="Delays without a mean: Pareto",
        figure="figure 2(b)",
        setting=f"{SETTING} Delays are Pareto (type I) with a tail index of at most 1 an arm; 40,000 rounds.",
        parts=("c2b",),
        claims=(
            Claim(
                "Both regrets of FCUCB-D and FCTS-D grow sublinearly though delays have no mean.",
                "section 6, figure 2(b)",
                _sublinear("c2b", FAIR),
                "the exponent of t, fitted over the last nine tenths of the rounds, is below 1",
            ),
            Claim(
                "The other algorithms do not have both.",
                "section 6, figure 2(b)",
                _not_both_sublinear("c2b"),
                "by the same fit: an exponent of 1 is not excluded for their fairness regret",
            ),
            Claim(
                "The fairness regrets of the other algorithms go on growing linearly.",
                "ours, a reading of the same sentence that early learning does not blur",
                _never_ends("c2b"),
                "over the last half of the rounds they grow by at least nine tenths of what would be lost if the means "
                "were known",
            ),
            Claim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D grow sublinearly.",
                "section 6, figure 2(b); ours",
                _sublinear("c2b", FAIR_CODE[:1]),
            ),
        ),
        draw=both_radii("c2b"),
        quick=Size(lanes=10, horizon=4000),
        choices=(HORIZON, TAILS, RADIUS, START, GREEDY_RATE, AXES),
    ),
    Experiment(
        id="C-2c",
        title="Rewards that never arrive: packet loss",
        figure="figure 2(c)",
        setting=(
            f"{SETTING} A reward is known at once with a probability of its arm, from 0.3 to 0.8, and else never; "
            "40,000 rounds."
        ),
        parts=("c2c",),
        claims=(
            Claim(
                "Both regrets of FCUCB-D and FCTS-D grow sublinearly though delays have no mean.",
                "section 6, figure 2(c)",
                _sublinear("c2c", FAIR),
                "the exponent of t, fitted over the last nine tenths of the rounds, is below 1",
            ),
            Claim(
                "The other algorithms do not have both.",
                "section 6, figure 2(c)",
                _not_both_sublinear("c2c"),
                "by the same fit: an exponent of 1 is not excluded for their fairness regret",
            ),
            Claim(
                "The fairness regrets of the other algorithms go on growing linearly.",
                "ours, a reading of the same sentence that early learning does not blur",
                _never_ends("c2c"),
                "over the last half of the rounds they grow by at least nine tenths of what would be lost if the means "
                "were known",
            ),
            Claim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D grow sublinearly.",
                "section 6, figure 2(c); ours",
                _sublinear("c2c", FAIR_CODE[:1]),
            ),
        ),
        draw=both_radii("c2c"),
        quick=Size(lanes=10, horizon=4000),
        choices=(HORIZON, LOSSES, RADIUS, START, GREEDY_RATE, AXES),
    ),
    Experiment(
        id="C-2d",
        title="Delays that depend on the reward",
        figure="figure 2(d)",
        setting=(
            f"{SETTING} A reward of 1 from a good arm (3, 4, 5) and a reward of 0 from a bad one take 6,000 rounds, "
            "all others none; 100,000 rounds."
        ),
        parts=("c2d",),
        claims=(
            Claim(
                "OP-FCUCB-D and OP-FCTS-D significantly outperform FCUCB-D and FCTS-D in both regrets.",
                "section 6, figure 2(d)",
                _much_less("c2d", WARY, FAIR),
                f"{EVERY_PAIR}; significantly: lower by more than 10 %",
            ),
            Claim(
                "At the beginning a bad arm looks better than a good one to FCUCB-D and FCTS-D.",
                "section 6",
                _misled("c2d"),
                "in the first 6,000 rounds they play it more",
            ),
            Claim(
                "OP-FCUCB-D and OP-FCTS-D outperform FCUCB-D and FCTS-D by as much after a fifth of the rounds.",
                "section 6, figure 2(d); the horizon is ours",
                _much_less("c2d", WARY, FAIR, 0.2),
                "each of the two against each of the other two; lower by more than 10 %",
            ),
            Claim(
                f"{CODES_SENTENCE}OP-FCUCB-D and OP-FCTS-D significantly outperform FCUCB-D and FCTS-D in both "
                "regrets.",
                "section 6, figure 2(d); ours",
                _much_less("c2d", WARY_CODE, FAIR_CODE),
                f"{EVERY_PAIR}; significantly: lower by more than 10 %",
            ),
        ),
        draw=both_radii("c2d"),
        quick=Size(lanes=10, horizon=8000),
        choices=("The paper gives no horizon; 100,000 rounds are ours.", RADIUS, START, AXES),
    ),
    Experiment(
        id="C-3",
        title="Ten ads and their conversions",
        figure="figure 3",
        setting=(
            "Ten ads, three shown a page visit, 50,000 visits, 100 lanes. A reward is a conversion, drawn with a "
            "probability of its ad: the numbers of conversions scaled to [0, 1]. Delays are drawn from those of the "
            "ad's conversions, whatever the reward; merit 1 + 3.5 μ⁴."
        ),
        parts=("c3",),
        claims=(
            Claim(
                "Both regrets of FCUCB-D, FCTS-D, OP-FCUCB-D and OP-FCTS-D grow sublinearly.",
                "section 6, figure 3",
                _sublinear("c3", (*FAIR, *WARY)),
                "the exponent of t, fitted over the last nine tenths of the rounds, is below 1",
            ),
            Claim(
                "All four trade reward for fairness better than CUCB-D, MP-TS-D and FGreedy-D do.",
                "section 6, figure 3",
                _better_trade((*FAIR, *WARY)),
                "a lower fairness regret than all three, and a lower reward regret than the one that is fair in part, "
                "FGreedy-D",
            ),
            Claim(
                "FCUCB-D and FCTS-D outperform OP-FCUCB-D and OP-FCTS-D in both regrets, for these delays do not "
                "depend on the reward.",
                "section 6, figure 3",
                _less("c3", FAIR, WARY),
                EVERY_PAIR,
            ),
            Claim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D and OP-FCUCB-D grow sublinearly.",
                "section 6, figure 3; ours",
                _sublinear("c3", (UCB + CODE, OP_UCB + CODE)),
            ),
            Claim(
                f"{CODES_SENTENCE}FCUCB-D and OP-FCUCB-D trade reward for fairness better than the others do.",
                "section 6, figure 3; ours",
                _better_trade((UCB + CODE, OP_UCB + CODE)),
                "a lower fairness regret than all three, and a lower reward regret than FGreedy-D",
            ),
            Claim(
                f"{CODES_SENTENCE}FCUCB-D and FCTS-D outperform OP-FCUCB-D and OP-FCTS-D in both regrets.",
                "section 6, figure 3; ours",
                _less("c3", FAIR_CODE, WARY_CODE),
                EVERY_PAIR,
            ),
        ),
        draw=both_radii("c3"),
        quick=Size(lanes=10, horizon=4000),
        choices=(
            "Rates are numbers of conversions scaled to [0, 1], as the text says; the paper's code scales conversions "
            "a click.",
            "The delay of a reward of 0 is drawn like that of a reward of 1, as the text says; in the paper's code "
            "most rewards of 0 are known at once.",
            RADIUS,
            START,
            GREEDY_RATE,
            AXES,
        ),
        data=(
            Data(
                "conversions",
                on_log,
                "Figures of Criteo's Sponsored Search Conversion Log that ship with Evenhand: the numbers of "
                "conversions, and 41 quantiles of the delays of each ad.",
            ),
        ),
    ),
    _other_merits(4, "fixed delays", "Every reward is 200 rounds late;", (), FAIR, ()),
    _other_merits(5, "geometric delays", "Delays are geometric with success probability 0.05;", (), FAIR, ()),
    _other_merits(6, "Pareto delays", "Delays are Pareto with a tail index of at most 1 an arm;", (TAILS,), FAIR, ()),
    _other_merits(
        7,
        "packet loss",
        "A reward is known at once with a probability of its arm, and else never;",
        (LOSSES,),
        FAIR,
        (),
    ),
    _other_merits(
        8,
        "biased delays",
        "A reward of 1 from a good arm (3, 4, 5) and a reward of 0 from a bad one take 6,000 rounds, all others none;",
        (),
        WARY,
        (
            Claim(
                "FGreedy-D performs comparably to FCUCB-D and FCTS-D.",
                "appendix B.1, figure 8",
                _comparable,
                "comparably: within 10 %, in both regrets and at every c",
            ),
            Claim(
                "The reason: at the beginning FGreedy-D favours the bad arms less than FCUCB-D and FCTS-D do.",
                "appendix B.1",
                _less_misled,
                "in the first 6,000 rounds it plays them less, at every c",
            ),
            Claim(
                "At every c, OP-FCUCB-D and OP-FCTS-D have lower regrets than FCUCB-D and FCTS-D.",
                "ours, after figure 2(d)",
                _wary_better,
                "both regrets, each of the two against each of the other two, after 40,000 rounds",
            ),
        ),
    ),
    Experiment(
        id="C-9",
        title="Running time",
        figure="figure 9",
        setting=(
            f"{SETTING} Delays are geometric with success probability 0.05; 40,000 rounds in 100 lanes side by side, "
            "each policy on its own in one process. A second run has the merit 1 + 50 μ⁴."
        ),
        parts=("c9", "c9-steep"),
        claims=(
            Claim(
                "FCTS-D and OP-FCTS-D take less time for the same number of rounds than FCUCB-D and OP-FCUCB-D, as "
                "they solve no optimisation problem.",
                "appendix B.1, figure 9",
                _faster("c9"),
                "with an exact solver, whose answer with this merit is the upper end of every interval; a single "
                "measurement, so there is no interval",
            ),
            Claim(
                "The same where the best point of the box must be searched for, with the merit 1 + 50 μ⁴.",
                "ours",
                _faster("c9-steep"),
                "a single measurement, so there is no interval",
            ),
        ),
        draw=times({"c9": "merit 1 + 2 μ⁴ (the paper's)", "c9-steep": "merit 1 + 50 μ⁴ (ours)"}),
        quick=Size(lanes=100, horizon=500),
        choices=(
            "The paper hands the maximisation to a general solver that starts at random; Evenhand's is exact.",
            "The paper says neither under which delays nor for how many rounds; geometric ones and 40,000 are ours.",
            "Times are those of all lanes together, with the environment and the measures, which are the same for all "
            "policies.",
            "With the merit 1 + 50 μ⁴ the largest share would exceed one; the excess goes to the other arms.",
            RADIUS_ONLY,
        ),
        timed=True,
    ),
)
