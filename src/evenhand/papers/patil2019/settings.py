"""The experiments of Patil et al. 2019, section 6: minimum shares of the rounds, one play per round."""

from __future__ import annotations

from evenhand.papers.experiment import Experiment, PaperClaim, QuickSize
from evenhand.papers.patil2019 import claims, figures
from evenhand.papers.verdicts import lower

SETTING = "Ten Bernoulli arms with means 0.80, 0.79, …, 0.71, one play per round; every policy faces the same rewards."
HORIZON = "The paper gives no horizon; 100,000 rounds are ours."
ETA = "The paper gives no η for η-FUCB in its first two plots; 0.001 is ours."
SURPLUS = (
    "As printed, η-FUCB also counts plays beyond the promise against an arm, the best one's above all. The variant "
    "“surplus ignored” counts missing plays only; both are shown."
)

EXPERIMENTS = (
    Experiment(
        id="P-2a",
        title="Nothing promised: what does fairness cost?",
        figure="section 6, first plot",
        setting=f"{SETTING} No arm is promised anything (r = 0).",
        parts=("p2a",),
        claims=(
            PaperClaim(
                "With r = 0 the regret of FUCB, η-FUCB and LFG follows that of UCB1 closely.",
                "section 6",
                claims.near_ucb1,
                "closely: within 10 % of UCB1's regret in the end",
            ),
            PaperClaim(
                "F-TS has a lower regret than UCB1.",
                "section 6",
                lambda runs: [lower(runs["p2a"], "regret", "F-TS", "UCB1")],
            ),
            PaperClaim(
                "Where surpluses are ignored, η-FUCB follows UCB1 closely (our second reading of its rule).",
                "section 5, Algorithm 4",
                claims.ignored_near_ucb1,
                "closely: within 10 %",
            ),
        ),
        draw=figures.over_rounds("p2a", ("regret",)),
        quick=QuickSize(lanes=20, horizon=20_000),
        choices=(HORIZON, ETA, SURPLUS),
    ),
    Experiment(
        id="P-2b",
        title="Every arm promised a share",
        figure="section 6, second plot",
        setting=f"{SETTING} Every arm is promised a share r = 0.05.",
        parts=("p2b",),
        claims=(
            PaperClaim(
                "The r-regret of FUCB is similar to the regret of UCB1.",
                "section 6",
                claims.r_regret_like_regret,
                "similar: within 10 % in the end",
            ),
            PaperClaim("LFG has a lower r-regret than the proposed algorithms.", "section 6", claims.lfg_lowest),
            PaperClaim("The r-regret of FUCB and of LFG is logarithmic.", "section 6", claims.logarithmic_with_shares),
            PaperClaim("FUCB and F-TS leave no arm a whole play behind, at no time.", "Theorem 4", claims.never_behind),
        ),
        draw=figures.over_rounds("p2b", ("regret", "r_regret")),
        quick=QuickSize(lanes=20, horizon=20_000),
        choices=(HORIZON, "The paper does not say its second value of r; 0.05 is ours.", ETA, SURPLUS),
    ),
    Experiment(
        id="P-2c",
        title="η-FUCB over η",
        figure="section 6, last plot",
        setting=f"{SETTING} Every arm is promised a share r = 0.05; η-FUCB runs with η from 0 to 1.",
        parts=("p2c",),
        claims=(
            PaperClaim("As η grows, the r-regret per round grows.", "section 6", claims.rises_with_eta("counted")),
            PaperClaim("For large η the promises are kept.", "section 6", claims.satisfied("counted"), "at η = 1"),
            PaperClaim(
                "Even for large η the r-regret is logarithmic.",
                "section 6",
                claims.still_logarithmic("counted"),
                "at η = 1",
            ),
            PaperClaim(
                "With surpluses ignored: as η grows, the r-regret per round grows.",
                "ours",
                claims.rises_with_eta("ignored"),
            ),
            PaperClaim(
                "With surpluses ignored: for large η the promises are kept.",
                "ours",
                claims.satisfied("ignored"),
                "at η = 1",
            ),
            PaperClaim(
                "With surpluses ignored: even for large η the r-regret is logarithmic.",
                "ours",
                claims.still_logarithmic("ignored"),
                "at η = 1",
            ),
        ),
        draw=figures.over_eta,
        quick=QuickSize(lanes=20, horizon=20_000),
        choices=(HORIZON, "The paper does not list its values of η; 0, 10⁻⁴, …, 1 are ours.", SURPLUS),
    ),
)
