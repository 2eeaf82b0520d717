"""The experiments of Chen et al. 2024, section 6 and appendix B: shares by merit when rewards come late."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.papers.chen2024 import claims, figures
from evenhand.papers.claims import less, together
from evenhand.papers.experiment import Data, Experiment, PaperClaim, QuickSize, ours
from evenhand.papers.verdicts import NEARER

SETTING = (
    "Seven Bernoulli arms with means 0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4, three plays per round, merit 1 + 2 μ⁴, 100 "
    "lanes; every policy faces the same rewards and delays."
)
RADIUS = (
    "“FCUCB-D” and “OP-FCUCB-D” use the confidence radius of the theorems. The code published with the paper, which "
    "drew its figures, uses a narrower one (δ = 0.01); with that one the policies are labelled “code's radius” and "
    "have claims and curves of their own."
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

EARLY, LATER = 4_000, 10_000  # rounds after which C-1 is also looked at
CODES_SENTENCE = "With the narrower confidence radius of the paper's code, "
SUBLINEAR = (
    "sublinear: a power of the number of rounds, fitted over the last nine tenths of them, has an exponent below 0.95"
)
EVERY_PAIR = "each of the first two is compared with each of the other two, at the end"


def on_log(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The user's log in place of the figures that ship."""
    dataset = {"kind": "conversions", "path": str(path), "rates": "scaled_conversions"}
    return config | {"environment": config["environment"] | {"dataset": dataset}}


def _without_a_mean(part: str, figure: str) -> tuple[PaperClaim, ...]:
    """What figures 2(b) and 2(c) show of delays that have no mean."""
    return (
        PaperClaim(
            "Both regrets of FCUCB-D and FCTS-D grow sublinearly even though the delays have no finite mean.",
            f"section 6, {figure}",
            claims.both_sublinear(part, claims.FAIR),
            SUBLINEAR,
        ),
        PaperClaim(
            "CUCB-D, MP-TS-D and FGreedy-D do not have two sublinear regrets.",
            f"section 6, {figure}",
            claims.never_ends(part),
            "their fairness regrets are linear: over the last half of the rounds they grow at least nine tenths as "
            "fast as if the algorithm knew the means, for which it loses the same in every round",
        ),
        PaperClaim(
            f"{CODES_SENTENCE}both regrets of FCUCB-D grow sublinearly.",
            f"section 6, {figure}; ours",
            claims.both_sublinear(part, claims.FAIR_CODE[:1]),
        ),
    )


def _other_merits(
    figure: int, delays: str, plain: str, choices: tuple[str, ...], policies: Sequence[str], more: Sequence[PaperClaim]
) -> Experiment:
    """Figures 4 to 8: the merit's exponent under one kind of delay."""
    names = " and ".join(policies)
    return Experiment(
        id=f"C-{figure}",
        title=f"Steeper and flatter merits: {delays}",
        figure=f"figure {figure}",
        setting=(f"{SETTING.replace('merit 1 + 2 μ⁴', 'merit 1 + 2 μᶜ with c = 2, 4, 6, 8')} {plain} 40,000 rounds."),
        parts=claims.exponent_parts(figure),
        claims=(
            PaperClaim(
                f"For every merit function, {names} are fair and have a low reward regret.",
                "appendix B.1",
                claims.fair_and_cheap(figure, policies),
                "for every exponent c of merit: both regrets grow sublinearly, the fairness regret is below those of "
                "CUCB-D, MP-TS-D and FGreedy-D, and the reward regret is below that of FGreedy-D",
            ),
            PaperClaim(
                "The larger the merit's exponent c, the wider the gap between the algorithms.",
                "section 6, appendix B.1",
                claims.wider(figure),
                "gap: the highest regret minus the lowest; it must widen with every step of c, for both regrets",
            ),
            ours(
                "The larger c, the further apart are the regrets of each fair policy and each of the other algorithms.",
                claims.wider_between(figure, policies),
                "for each pair, between c = 2 and c = 8, for both regrets",
            ),
            *more,
        ),
        draw=figures.side_by_side({part: f"c = {part[-1]}" for part in claims.exponent_parts(figure)}),
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
            PaperClaim(
                "CUCB-D and MP-TS-D are unfair: they mainly play the arms of high reward, 3, 4 and 5.",
                "section 6, figure 1(a)",
                claims.unfair,
                "mainly: in more than 90% of their plays; the fair share of these arms is 56%",
            ),
            PaperClaim(
                "FGreedy-D tends to play the arms uniformly at random.",
                "section 6, figure 1(a)",
                claims.uniform,
                "its shares are nearer to equal shares than to the optimal fair ones, by the sum of the differences "
                "over the arms",
            ),
            PaperClaim(
                "FGreedy-D plays the arms more uniformly than FCUCB-D and FCTS-D do.",
                "ours, a weaker form of the same sentence",
                claims.more_uniform,
            ),
            PaperClaim(
                "FCUCB-D and FCTS-D converge to the optimal fair policy.",
                "section 6, figure 1(a)",
                claims.converged(claims.FAIR),
                "every arm's share of the 40,000 rounds is within 10% of its fair share",
            ),
            PaperClaim(
                "CUCB-D and MP-TS-D have consistently smaller reward regrets and larger fairness regrets than FCUCB-D "
                "and FCTS-D.",
                "section 6, figures 1(b), 1(c)",
                claims.consistently_greedy,
                "consistently: after a tenth of the rounds and at the end",
            ),
            PaperClaim(
                "Both regrets of FCUCB-D and FCTS-D are smaller than those of FGreedy-D.",
                "section 6, figures 1(b), 1(c)",
                less("c1", claims.FAIR, [claims.GREEDY], claims.MEASURES),
            ),
            PaperClaim(
                "Both regrets of FCUCB-D and FCTS-D grow sublinearly.",
                "section 6, figures 1(b), 1(c); Theorems 6, 7",
                claims.both_sublinear("c1", claims.FAIR),
                SUBLINEAR,
            ),
            PaperClaim(
                "FCUCB-D has a lower reward regret than FCTS-D.",
                "section 6, figure 1(b)",
                less("c1", [claims.UCB], [claims.TS], [claims.REWARD]),
            ),
            PaperClaim(
                "After only 4,000 rounds the reward regret of FCUCB-D is below those of FGreedy-D and FCTS-D.",
                "section 6, figure 1(b); the horizon is ours",
                less("c1", [claims.UCB], [claims.GREEDY, claims.TS], [claims.REWARD], [EARLY]),
                "the paper's figure shows whole curves, while the claims above are about the end",
            ),
            PaperClaim(
                "After 10,000 rounds the reward regret of FCUCB-D is below those of FGreedy-D and FCTS-D.",
                "section 6, figure 1(b); the horizon is ours",
                less("c1", [claims.UCB], [claims.GREEDY, claims.TS], [claims.REWARD], [LATER]),
            ),
            PaperClaim(
                "After 4,000 and after 10,000 rounds the fairness regret of FCUCB-D is below that of FGreedy-D.",
                "section 6, figure 1(c); the horizons are ours",
                less("c1", [claims.UCB], [claims.GREEDY], [claims.FAIRNESS], [EARLY, LATER]),
            ),
            PaperClaim(
                "FCUCB-D has a higher fairness regret than FCTS-D.",
                "section 6, figure 1(c)",
                less("c1", [claims.TS], [claims.UCB], [claims.FAIRNESS]),
            ),
            PaperClaim(
                f"{CODES_SENTENCE}FCUCB-D converges to the optimal fair policy.",
                "section 6, figure 1(a); ours",
                claims.converged(claims.FAIR_CODE[:1]),
                "every arm's share of the 40,000 rounds is within 10% of its fair share",
            ),
            PaperClaim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D grow sublinearly and are smaller than those of FGreedy-D.",
                "section 6, figures 1(b), 1(c); ours",
                together(
                    claims.both_sublinear("c1", claims.FAIR_CODE[:1]),
                    less("c1", claims.FAIR_CODE[:1], [claims.GREEDY], claims.MEASURES),
                ),
            ),
            PaperClaim(
                f"{CODES_SENTENCE}FCUCB-D has a lower reward regret than FCTS-D.",
                "section 6, figure 1(b); ours",
                less("c1", claims.FAIR_CODE[:1], [claims.TS], [claims.REWARD]),
            ),
            PaperClaim(
                f"{CODES_SENTENCE}FCUCB-D has a higher fairness regret than FCTS-D.",
                "section 6, figure 1(c); ours",
                less("c1", [claims.TS], claims.FAIR_CODE[:1], [claims.FAIRNESS]),
            ),
        ),
        draw=figures.both_radii("c1", with_shares=True),
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
        parts=claims.DELAYS,
        claims=(
            PaperClaim(
                "FCUCB-D and FCTS-D are not sensitive to fixed delays: for all of them, their regrets are quite close.",
                "section 6, figure 2(a)",
                claims.insensitive(claims.FAIR),
                "quite close: within 10% of the regret without delay, at every delay",
            ),
            PaperClaim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D are quite close under all of the fixed delays.",
                "section 6, figure 2(a); ours",
                claims.insensitive(claims.FAIR_CODE[:1]),
                "quite close: within 10% of the regret without delay, at every delay",
            ),
        ),
        draw=figures.over_delays(claims.DELAYS),
        quick=QuickSize(lanes=100, horizon=20_000),
        choices=("The paper does not list its delays; steps of 50 up to 300 are ours.", RADIUS, START),
    ),
    Experiment(
        id="C-2b",
        title="Delays without a mean: Pareto",
        figure="figure 2(b)",
        setting=f"{SETTING} Delays are Pareto (type I) with a tail index of at most 1 per arm; 40,000 rounds.",
        parts=("c2b",),
        claims=_without_a_mean("c2b", "figure 2(b)"),
        draw=figures.both_radii("c2b"),
        choices=(HORIZON, TAILS, RADIUS, START, GREEDY_RATE, AXES),
    ),
    Experiment(
        id="C-2c",
        title="Rewards that never arrive: packet loss",
        figure="figure 2(c)",
        setting=f"{SETTING} A reward either arrives at once, with a probability from 0.3 to 0.8 that depends on the "
        "arm, or never; 40,000 rounds.",
        parts=("c2c",),
        claims=_without_a_mean("c2c", "figure 2(c)"),
        draw=figures.both_radii("c2c"),
        choices=(HORIZON, LOSSES, RADIUS, START, GREEDY_RATE, AXES),
    ),
    Experiment(
        id="C-2d",
        title="Delays that depend on the reward",
        figure="figure 2(d)",
        setting=f"{SETTING} A reward of 1 from a good arm (3, 4, 5) and a reward of 0 from a bad one take 6,000 "
        "rounds, all others none; 100,000 rounds.",
        parts=("c2d",),
        claims=(
            PaperClaim(
                "OP-FCUCB-D and OP-FCTS-D significantly outperform FCUCB-D and FCTS-D in both regrets.",
                "section 6, figure 2(d)",
                claims.much_less("c2d", claims.WARY, claims.FAIR),
                f"{EVERY_PAIR}; significantly: lower by more than 10%",
            ),
            PaperClaim(
                "At the beginning, bad arms look better than good ones to FCUCB-D and FCTS-D.",
                "section 6",
                claims.misled("c2d"),
                "in the first 6,000 rounds they play a bad arm more than a good one",
            ),
            PaperClaim(
                "After a fifth of the rounds, too, OP-FCUCB-D and OP-FCTS-D significantly outperform FCUCB-D and "
                "FCTS-D in both regrets.",
                "section 6, figure 2(d); the horizon is ours",
                claims.much_less("c2d", claims.WARY, claims.FAIR, 0.2),
                "each of the first two is compared with each of the other two; significantly: lower by more than 10%",
            ),
            PaperClaim(
                f"{CODES_SENTENCE}OP-FCUCB-D and OP-FCTS-D significantly outperform FCUCB-D and FCTS-D in both "
                "regrets.",
                "section 6, figure 2(d); ours",
                claims.much_less("c2d", claims.WARY_CODE, claims.FAIR_CODE),
                f"{EVERY_PAIR}; significantly: lower by more than 10%",
            ),
        ),
        draw=figures.both_radii("c2d"),
        choices=("The paper gives no horizon; 100,000 rounds are ours.", RADIUS, START, AXES),
    ),
    Experiment(
        id="C-3",
        title="Ten ads and their conversions",
        figure="figure 3",
        setting="Ten ads, three shown per page visit, 50,000 visits, 100 lanes. A reward is a conversion; its "
        "probability is the ad's number of conversions, scaled to [0, 1]. Delays are drawn from those of the ad's "
        "conversions, independently of the reward; merit 1 + 3.5 μ⁴.",
        parts=("c3",),
        claims=(
            PaperClaim(
                "Both regrets of FCUCB-D, FCTS-D, OP-FCUCB-D and OP-FCTS-D grow sublinearly.",
                "section 6, figure 3",
                claims.both_sublinear("c3", (*claims.FAIR, *claims.WARY)),
                SUBLINEAR,
            ),
            PaperClaim(
                "FCUCB-D, FCTS-D, OP-FCUCB-D and OP-FCTS-D balance reward and fairness better than CUCB-D, MP-TS-D "
                "and FGreedy-D.",
                "section 6, figure 3",
                claims.better_trade((*claims.FAIR, *claims.WARY)),
                "better: a lower fairness regret than each of the three, and a lower reward regret than FGreedy-D, "
                "the only one of the three that is partly fair",
            ),
            PaperClaim(
                "FCUCB-D and FCTS-D outperform OP-FCUCB-D and OP-FCTS-D in both regrets, because these delays do not "
                "depend on the reward.",
                "section 6, figure 3",
                less("c3", claims.FAIR, claims.WARY, claims.MEASURES),
                EVERY_PAIR,
            ),
            PaperClaim(
                f"{CODES_SENTENCE}both regrets of FCUCB-D and OP-FCUCB-D grow sublinearly.",
                "section 6, figure 3; ours",
                claims.both_sublinear("c3", (claims.UCB + claims.CODE, claims.OP_UCB + claims.CODE)),
            ),
            PaperClaim(
                f"{CODES_SENTENCE}FCUCB-D and OP-FCUCB-D trade reward for fairness better than the others do.",
                "section 6, figure 3; ours",
                claims.better_trade((claims.UCB + claims.CODE, claims.OP_UCB + claims.CODE)),
                "better: a lower fairness regret than CUCB-D, MP-TS-D and FGreedy-D, and a lower reward regret than "
                "FGreedy-D",
            ),
            PaperClaim(
                f"{CODES_SENTENCE}FCUCB-D and FCTS-D outperform OP-FCUCB-D and OP-FCTS-D in both regrets.",
                "section 6, figure 3; ours",
                less("c3", claims.FAIR_CODE, claims.WARY_CODE, claims.MEASURES),
                EVERY_PAIR,
            ),
        ),
        draw=figures.both_radii("c3"),
        choices=(
            "Conversion probabilities are numbers of conversions scaled to [0, 1], as the paper's text says; its code "
            "scales conversions per click.",
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
    _other_merits(4, "fixed delays", "Every reward is 200 rounds late;", (), claims.FAIR, ()),
    _other_merits(
        5,
        "geometric delays",
        "Delays are geometric with success probability 0.05;",
        (),
        claims.FAIR,
        (
            PaperClaim(
                "FCUCB-D has a lower reward regret than FCTS-D with c = 2, too.",
                "ours, after figure 1(b)",
                less("c5-2", [claims.UCB], [claims.TS], [claims.REWARD]),
                "after 40,000 rounds; figure 1, which shows this, has c = 4",
            ),
        ),
    ),
    _other_merits(
        6, "Pareto delays", "Delays are Pareto with a tail index of at most 1 per arm;", (TAILS,), claims.FAIR, ()
    ),
    _other_merits(
        7,
        "packet loss",
        "A reward either arrives at once, with a probability that depends on the arm, or never;",
        (LOSSES,),
        claims.FAIR,
        (),
    ),
    _other_merits(
        8,
        "biased delays",
        "A reward of 1 from a good arm (3, 4, 5) and a reward of 0 from a bad one take 6,000 rounds, all others none;",
        (),
        claims.WARY,
        (
            PaperClaim(
                "FGreedy-D performs comparably to FCUCB-D and FCTS-D.",
                "appendix B.1, figure 8",
                claims.comparable,
                "comparably: within 10%, in both regrets and for every c",
            ),
            PaperClaim(
                "FGreedy-D performs so well because at the beginning it favours the bad arms less than FCUCB-D and "
                "FCTS-D do.",
                "appendix B.1",
                claims.less_misled,
                "in the first 6,000 rounds it plays the bad arms less, for every c",
            ),
            PaperClaim(
                "For every c, OP-FCUCB-D and OP-FCTS-D have lower regrets than FCUCB-D and FCTS-D.",
                "ours, after figure 2(d)",
                claims.wary_better,
                "each of the first two is compared with each of the other two, in both regrets, after 40,000 rounds",
            ),
        ),
    ),
    Experiment(
        id="C-9",
        title="Running time",
        figure="figure 9",
        setting=f"{SETTING} Delays are geometric with success probability 0.05; 40,000 rounds in 100 lanes side by "
        "side. Each policy is also timed on its own in one process, five times in turn, over a tenth of them. A "
        "second run has the merit 1 + 50 μ⁴.",
        parts=("c9", "c9-steep"),
        claims=(
            PaperClaim(
                "FCTS-D and OP-FCTS-D take less time for the same number of rounds than FCUCB-D and OP-FCUCB-D, "
                "because they solve no optimisation problem.",
                "appendix B.1, figure 9",
                claims.faster("c9"),
                "Evenhand solves the problem exactly; with this merit, the solution is the upper end of every "
                "confidence interval",
            ),
            PaperClaim(
                "OP-FCUCB-D and OP-FCTS-D can be used where delays do not depend on the reward, too, but then their "
                "reward and fairness regrets may be larger than those of FCUCB-D and FCTS-D.",
                "Remark 10",
                claims.may_cost("c9"),
                "may: at least one of the two regrets of OP-FCUCB-D or OP-FCTS-D is larger than that of FCUCB-D or "
                "FCTS-D, at the end, under the geometric delays of this run; the intervals share the error of 5%",
            ),
            ours(
                "With the merit 1 + 50 μ⁴, for which the best point of the confidence intervals must be searched for, "
                "FCTS-D and OP-FCTS-D take less time than FCUCB-D and OP-FCUCB-D.",
                claims.faster("c9-steep"),
            ),
        ),
        draw=figures.times({"c9": "merit 1 + 2 μ⁴ (the paper's)", "c9-steep": "merit 1 + 50 μ⁴ (ours)"}),
        quick=QuickSize(lanes=100, horizon=2000),
        choices=(
            "The paper solves the optimisation problem with a general solver that starts at random; Evenhand's "
            "solution is exact.",
            "The paper says neither under which delays nor for how many rounds; geometric ones and 40,000 are ours.",
            "Times are those of all lanes together, with the environment and the measures, which are the same for all "
            "policies.",
            "With the merit 1 + 50 μ⁴ the largest share would exceed one; what is above one goes to the other arms.",
            RADIUS_ONLY,
        ),
        timed=True,
    ),
    Experiment(
        id="C-10",
        title="Means drawn from the prior",
        figure="Theorems 7 and 9, which have none",
        setting="Seven Bernoulli arms with means drawn from the uniform prior, anew in every lane, three plays per "
        "round, merit 1 + 2 μ⁴, 100,000 rounds, 100 lanes. Delays are geometric with success probability 0.05, or "
        "Pareto with tail index 0.5, or biased: of arms 1, 3, 5, 7 a reward of 1 takes 600 rounds and a reward of 0 "
        "none, of the others the reverse.",
        parts=tuple(claims.PRIOR),
        claims=(
            PaperClaim(
                "Where delays do not depend on rewards, both expected regrets of FCTS-D are of order √T, but for "
                "logarithms.",
                "Theorem 7",
                claims.like_a_root(("c10-geometric", "c10-pareto"), claims.TS),
                NEARER,
            ),
            PaperClaim(
                "Where delays depend on rewards, but none is longer than some number of rounds, both expected regrets "
                "of OP-FCTS-D are of order √T, but for logarithms.",
                "Theorem 9",
                claims.like_a_root(("c10-biased",), claims.OP_TS),
                f"{NEARER}; with a longest delay d the theorem's bound is d √T, from q = 1",
            ),
            ours(
                "The same is true of FCTS-D under these biased delays, which its theorem does not cover.",
                claims.like_a_root(("c10-biased",), claims.TS),
                "all rewards are known after 600 rounds, so that they mislead for a while only",
            ),
        ),
        draw=figures.side_by_side(claims.PRIOR),
        quick=QuickSize(lanes=20, horizon=10_000),
        choices=(
            "The paper proves both theorems and runs neither: its experiments have fixed means. The delays, the "
            "rounds and the lanes are ours; the merit and the plays are those of its other experiments.",
            AXES,
        ),
    ),
)
