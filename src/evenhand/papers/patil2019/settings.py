"""The experiments of Patil et al. 2019, section 6: minimum shares of the rounds, one play per round."""

from __future__ import annotations

from evenhand.papers.claims import each, less, near, never_behind
from evenhand.papers.experiment import Experiment, PaperClaim, ours
from evenhand.papers.patil2019 import claims, figures
from evenhand.papers.patil2019.claims import KNOWING, LIKE, MOST_COUNTED, MOST_IGNORED
from evenhand.papers.verdicts import AT_MOST_LOGARITHMIC, KEPT, arms_kept, logarithmic

SETTING = "Ten Bernoulli arms with means 0.80, 0.79, …, 0.71, one play per round; every policy faces the same rewards."
HORIZON = "The paper gives no horizon; 100,000 rounds are ours."
ETA = "The paper gives no η for η-FUCB in its first two plots; 0.001 is ours."
EPSILON = "The paper gives no ε for NAIVE; 0.1 is ours, and the ε of Theorem 1's proof, 0.83, is run as well."
ALPHA = "for the plays averaged over the lanes, at all recorded rounds and for all arms together"
SIMILAR = "similar: within 10%"
SURPLUS = (
    "As printed, η-FUCB subtracts a term from the index of an arm that has more plays than promised, above all from "
    "the best arm's. The variant “surplus ignored” counts missing plays only; both are shown."
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
                near("p2a", ("FUCB", "η-FUCB", "LFG"), "UCB1", "regret", LIKE),
                "closely: within 10% of UCB1's regret at the end",
            ),
            PaperClaim("F-TS has a lower regret than UCB1.", "section 6", less("p2a", ["F-TS"], ["UCB1"], ["regret"])),
            PaperClaim(
                "With r = 0 the regret of T-FUCB follows that of UCB1 closely.",
                "sections 4 and 6",
                near("p2a", ["T-FUCB"], "UCB1", "regret", LIKE),
                "closely: within 10%; the paper does not say whether its plot shows this policy",
            ),
            PaperClaim(
                "With r = 0 the regret of NAIVE follows that of UCB1 closely.",
                "sections 4 and 6",
                near("p2a", ("NAIVE", "NAIVE, ε = 0.83"), "UCB1", "regret", LIKE),
                "closely: within 10%, with ε = 0.1 and with the ε of Theorem 1; the paper does not say whether its "
                "plot shows this policy",
            ),
            PaperClaim(
                "If surpluses are ignored, the regret of η-FUCB follows that of UCB1 closely (our second reading of "
                "its rule).",
                "section 5, Algorithm 4",
                near("p2a", ["η-FUCB, surplus ignored"], "UCB1", "regret", LIKE),
                "closely: within 10%",
            ),
        ),
        draw=figures.over_rounds("p2a", ("regret",)),
        choices=(HORIZON, ETA, EPSILON, SURPLUS),
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
                claims.r_regret_like_regret("p2b", 100_000),
                "similar: within 10% at 100,000 rounds; P-2d has other horizons",
            ),
            PaperClaim(
                "LFG has a lower r-regret than FUCB, F-TS and η-FUCB.",
                "section 6",
                less("p2b", ["LFG"], ("FUCB", "F-TS", "η-FUCB"), ["r_regret"]),
            ),
            PaperClaim(
                "The r-regret of FUCB and of LFG is at most logarithmic.",
                "section 6",
                each(logarithmic, "p2b", ("FUCB", "LFG"), "r_regret"),
                AT_MOST_LOGARITHMIC,
            ),
            PaperClaim(
                "FUCB and F-TS never leave an arm a whole play behind.",
                "Theorem 4",
                never_behind("p2b", ("FUCB", "F-TS")),
            ),
            PaperClaim(
                "NAIVE and T-FUCB are fair.",
                "section 4",
                each(arms_kept, "p2b", KNOWING),
                f"fair: at the horizon, which they know; {KEPT}",
            ),
            PaperClaim(
                "NAIVE and T-FUCB are α-fair with α = 1, as FUCB is.",
                "Definition 3; ours",
                each(claims.fair_with, "p2b", KNOWING, 1.0),
                ALPHA,
            ),
            PaperClaim(
                "FUCB is α-fair with α = 1, and with a tolerance of 50 plays with α = 0.433.",
                "Theorem 4; with a tolerance ours",
                claims.as_fair_as_its_tolerance,
                ALPHA,
            ),
            PaperClaim(
                "NAIVE has a lower r-regret with the ε of Theorem 1's proof than with ε = 0.1.",
                "Theorem 1; ours",
                less("p2b", ["NAIVE, ε = 0.83"], ["NAIVE"], ["r_regret"]),
                "the ε that minimises the bound in the proof: 0.83 for these means and 100,000 rounds",
            ),
        ),
        draw=figures.over_rounds("p2b", ("regret", "r_regret")),
        choices=(HORIZON, "The paper does not give its second value of r; 0.05 is ours.", ETA, EPSILON, SURPLUS),
    ),
    Experiment(
        id="P-2c",
        title="η-FUCB over η",
        figure="section 6, last plot",
        setting=f"{SETTING} Every arm is promised a share r = 0.05; η-FUCB runs with η from 0 to 1.",
        parts=("p2c",),
        claims=(
            PaperClaim("As η grows, the r-regret per round grows.", "section 6", claims.rises_with_eta("counted")),
            PaperClaim(
                "For large η the promises are kept.",
                "section 6",
                each(arms_kept, "p2c", MOST_COUNTED),
                f"at η = 1; {KEPT}",
            ),
            PaperClaim(
                "Even for large η the r-regret is at most logarithmic.",
                "section 6",
                each(logarithmic, "p2c", MOST_COUNTED, "r_regret"),
                f"at η = 1; {AT_MOST_LOGARITHMIC}",
            ),
            ours(
                "If surpluses are ignored, the r-regret per round grows as η grows.", claims.rises_with_eta("ignored")
            ),
            ours(
                "If surpluses are ignored, the promises are kept for large η.",
                each(arms_kept, "p2c", MOST_IGNORED),
                f"at η = 1; {KEPT}",
            ),
            ours(
                "If surpluses are ignored, the r-regret is at most logarithmic even for large η.",
                each(logarithmic, "p2c", MOST_IGNORED, "r_regret"),
                f"at η = 1; {AT_MOST_LOGARITHMIC}",
            ),
        ),
        draw=figures.over_eta,
        choices=(HORIZON, "The paper does not list its values of η; 0, 10⁻⁴, …, 1 are ours.", SURPLUS),
    ),
    Experiment(
        id="P-2d",
        title="Every arm promised a share: how far the verdicts depend on the horizon",
        figure="section 6, second plot, over more rounds",
        setting=f"{SETTING} Every arm is promised a share r = 0.05; UCB1 and FUCB over 1,000,000 rounds.",
        parts=("p2d",),
        claims=(
            *(
                PaperClaim(
                    f"The r-regret of FUCB is similar to the regret of UCB1 at {rounds:,} rounds.",
                    "section 6",
                    claims.r_regret_like_regret("p2d", rounds),
                    SIMILAR,
                )
                for rounds in (10_000, 100_000, 1_000_000)
            ),
            *(
                PaperClaim(
                    f"The r-regret of FUCB is at most logarithmic by {rounds:,} rounds.",
                    "section 6, Theorem 3",
                    claims.logarithmic_by(rounds),
                    AT_MOST_LOGARITHMIC,
                )
                for rounds in (10_000, 100_000, 1_000_000)
            ),
            *(
                PaperClaim(
                    f"The r-regret of FUCB is similar to the r-regret of UCB1 at {rounds:,} rounds.",
                    "ours: our second reading of section 6",
                    claims.r_regret_like_regret("p2d", rounds, "r_regret"),
                    f"{SIMILAR}; UCB1 promises nothing, and from some round on its r-regret is negative",
                )
                for rounds in (10_000, 100_000, 1_000_000)
            ),
        ),
        draw=figures.over_a_million,
        choices=("The paper gives no horizon; three are ours.", "20 lanes are ours."),
    ),
)
