"""Late rewards of which the pull is known: counts by age, and trust until it is disproved."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from evenhand.judgement.claims import Finding
from evenhand.papers.claims import at_most_times, together
from evenhand.papers.experiment import Experiment, QuickSize, Runs, of_runs, ours
from evenhand.papers.panels import curves, lanes_of
from evenhand.papers.verdicts import above, at, ratio_below
from evenhand.simulation.figures.panel import grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGRETS = ("reward_regret", "fairness_regret")
RULES = ("FCUCB-D", "FCTS-D")
GROWN = 20_000  # rounds by which all pulls counted at the longest delay are old enough
SETTING = (
    "Seven Bernoulli arms, three plays per round, shares by merit 1 + 2 μ⁴, 20 lanes; every reward that arrives names "
    "its pull. Policies of Chen et al. that do not use it stand beside M-FCUCB-D and M-FCTS-D, which count pulls by "
    "age, and Q-FCUCB-D and Q-FCTS-D, which trust what arrived until it is disproved."
)
SEEN = "Smaller runs of prototypes had been seen when the claims were written; the bounds in them are older."


@of_runs
def flat(runs: Runs, part: str, policy: str, measure: str, most: float) -> list[Finding]:
    """Little of a measure is added after the round by which the first pulls are old enough."""
    run = runs[part]
    since = min(GROWN, run.setup.horizon // 2)
    text = f"{measure.replace('_', ' ')} of {policy} in the end, relative to that at round {since:,}"
    return [ratio_below(text, at(run, policy, measure), at(run, policy, measure, since), most)]


@of_runs
def at_least_times(runs: Runs, part: str, policy: str, other: str, bound: float) -> list[Finding]:
    """More than a multiple of another policy's reward regret."""
    one, two = (at(runs[part], label, REGRETS[0]) for label in (policy, other))
    return [above(f"reward regret of {policy}, minus {bound:g} times that of {other}", one - bound * two, 0.0)]


@of_runs
def regrets(runs: Runs, parts: dict[str, str]) -> Figure:
    """Both regrets over the rounds, a row for each part."""

    def panel(axes: Axes, cell: tuple[str, str]) -> None:
        part, measure = cell
        curves(axes, runs[part], measure, log="xy", title=parts[part])

    return grid(list(product(parts, REGRETS)), panel, columns=2, note=lanes_of(next(iter(runs.values()))))


EXPERIMENTS = (
    Experiment(
        id="X-M1",
        title="Delays that depend on the reward, if rewards name their pulls",
        figure="figure 2(d) of Chen et al. 2024",
        setting=f"{SETTING} A reward of 1 from a good arm (3, 4, 5) and a reward of 0 from a bad one take 6,000 "
        "rounds, all others none; 100,000 rounds.",
        parts=("m1",),
        claims=(
            *(
                ours(
                    f"M-{rule} has at most two thirds of OP-{rule}'s {measure.replace('_', ' ')}.",
                    at_most_times("m1", f"M-{rule}", f"OP-{rule}", (measure,), 2 / 3),
                )
                for rule, measure in product(RULES, REGRETS)
            ),
            *(
                ours(
                    f"The {measure.replace('_', ' ')} of M-FCUCB-D and M-FCTS-D is flat once the first pulls are old "
                    "enough.",
                    together(*(flat("m1", f"M-{rule}", measure, 1.1) for rule in RULES)),
                    "flat: from round 20,000 to the end less than a tenth is added",
                )
                for measure in REGRETS
            ),
            ours(
                "Q-FCUCB-D and Q-FCTS-D have at most half of the regrets of FCUCB-D and FCTS-D.",
                together(*(at_most_times("m1", f"Q-{rule}", rule, REGRETS, 0.5) for rule in RULES)),
            ),
        ),
        draw=regrets({"m1": ""}),
        quick=QuickSize(lanes=20, horizon=16_000),
        choices=(SEEN,),
    ),
    Experiment(
        id="X-M2",
        title="What caution costs where delays do not depend on rewards",
        figure="figures 1 and 2(c) of Chen et al. 2024",
        setting=f"{SETTING} Geometric delays with success 0.05, or rewards that are lost with fixed chances; 20,000 "
        "rounds.",
        parts=("m2-geometric", "m2-loss"),
        claims=(
            ours(
                "Under geometric delays both regrets of M-FCUCB-D are at most 10% larger than those of FCUCB-D.",
                at_most_times("m2-geometric", "M-FCUCB-D", "FCUCB-D", REGRETS, 1.1),
            ),
            ours(
                "Under geometric delays neither regret of M-FCTS-D is larger than that of FCTS-D.",
                at_most_times("m2-geometric", "M-FCTS-D", "FCTS-D", REGRETS, 1.05),
                "not larger: surely less than 5% larger",
            ),
            ours(
                "Under geometric delays both regrets of Q-FCUCB-D and Q-FCTS-D, set to trust or to doubt, are at most "
                "10% larger than those of FCUCB-D and FCTS-D.",
                together(
                    *(
                        at_most_times("m2-geometric", f"Q-{rule}, {way}", rule, REGRETS, 1.1)
                        for rule, way in product(RULES, ("trust", "doubt"))
                    )
                ),
            ),
            ours(
                "Where rewards are lost, M-FCUCB-D and M-FCTS-D have more than twice the reward regret of FCUCB-D and "
                "FCTS-D.",
                together(*(at_least_times("m2-loss", f"M-{rule}", rule, 2.0) for rule in RULES)),
            ),
            ours(
                "Where rewards are lost, both regrets of Q-FCUCB-D and Q-FCTS-D, set to trust, are at most 10% larger "
                "than those of FCUCB-D and FCTS-D.",
                together(*(at_most_times("m2-loss", f"Q-{rule}, trust", rule, REGRETS, 1.1) for rule in RULES)),
            ),
            ours(
                "Where rewards are lost, Q-FCUCB-D and Q-FCTS-D, set to doubt, are as bad as M-FCUCB-D and M-FCTS-D.",
                together(*(at_least_times("m2-loss", f"Q-{rule}, doubt", rule, 2.0) for rule in RULES)),
                "as bad: more than twice the reward regret of FCUCB-D and FCTS-D",
            ),
        ),
        draw=regrets({"m2-geometric": "geometric delays", "m2-loss": "lost rewards"}),
        quick=QuickSize(lanes=20, horizon=8_000),
        choices=(SEEN,),
    ),
)
