"""Experiments beyond the papers: means that change. All claims are ours unless they say otherwise."""

from __future__ import annotations

from evenhand.papers.beyond import claims, figures
from evenhand.papers.experiment import Experiment, PaperClaim, QuickSize

SOURCE = "Garivier & Moulines 2011, section 4"
RECALLED = (
    "Garivier & Moulines are not among the five papers, and their numbers are recalled: ξ = 1/2 of UCB1, 0.6 of D-UCB "
    "and SW-UCB, γ = 1 − 1/(4 sqrt(T)), τ = 4 sqrt(T ln T)."
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
            PaperClaim(
                "D-UCB and SW-UCB have less dynamic regret than UCB1.",
                SOURCE,
                claims.follows("d1", ("D-UCB", "SW-UCB"), "UCB1", "dynamic_regret"),
            ),
            PaperClaim(
                "GLR-klUCB has less dynamic regret than SW-UCB.",
                "ours",
                claims.follows("d1", ("GLR-klUCB",), "SW-UCB", "dynamic_regret"),
            ),
            PaperClaim(
                "With shares: FUCB and F-TS that forget have less dynamic r-regret than those that do not.",
                "ours",
                lambda runs: [
                    *claims.follows("d1-shares", ("FUCB, window",), "FUCB", "dynamic_r_regret")(runs),
                    *claims.follows("d1-shares", ("F-TS, discounted",), "F-TS", "dynamic_r_regret")(runs),
                ],
            ),
            PaperClaim(
                "With shares: fair GLR has less dynamic r-regret than FUCB with a window.",
                "ours",
                claims.follows("d1-shares", ("fair GLR",), "FUCB, window", "dynamic_r_regret"),
            ),
            PaperClaim(
                "Promises never fade: no arm is ever a whole play behind.", "ours", claims.never_behind("d1-shares")
            ),
        ),
        draw=figures.dynamic("d1"),
        quick=QuickSize(lanes=10),
        choices=(RECALLED,),
    ),
    Experiment(
        id="X-D2",
        title="One mean swings about the other",
        figure="figure 2 of Garivier & Moulines 2011",
        setting="Two Bernoulli arms: one mean is 0.5 + 0.4 cos(2π t/3333), the other 0.5. Once with nothing promised, "
        "once with a share of 0.05 for either arm.",
        parts=("d2", "d2-shares"),
        claims=(
            PaperClaim(
                "D-UCB and SW-UCB have less dynamic regret than UCB1.",
                SOURCE,
                claims.follows("d2", ("D-UCB", "SW-UCB"), "UCB1", "dynamic_regret"),
            ),
            PaperClaim(
                "With shares: FUCB and F-TS that forget have less dynamic r-regret than those that do not.",
                "ours",
                lambda runs: [
                    *claims.follows("d2-shares", ("FUCB, window",), "FUCB", "dynamic_r_regret")(runs),
                    *claims.follows("d2-shares", ("F-TS, discounted",), "F-TS", "dynamic_r_regret")(runs),
                ],
            ),
            PaperClaim(
                "Promises never fade: no arm is ever a whole play behind.", "ours", claims.never_behind("d2-shares")
            ),
        ),
        draw=figures.dynamic("d2"),
        quick=QuickSize(lanes=10),
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
            PaperClaim(
                "The larger the share, the sooner the change is found.", "ours", claims.sooner_with_larger_shares
            ),
            PaperClaim(
                "The delay is about ln T/(r Δ²).",
                "ours",
                claims.as_the_theory_says,
                "found: the arm has most of the plays in ten rounds; about: between half of it and twice as much",
            ),
        ),
        draw=figures.over_shares,
        quick=QuickSize(lanes=10),
    ),
)
