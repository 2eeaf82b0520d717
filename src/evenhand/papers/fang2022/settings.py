"""The experiments of Fang et al. 2022, section 6: a penalty for every missing play, one play per round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.datasets import popular
from evenhand.papers.experiment import Data, Experiment, PaperClaim, QuickSize
from evenhand.papers.fang2022 import claims, figures
from evenhand.papers.fang2022.claims import FAIR_LEARN, LFG, RIVALS, SETTINGS

DRAWN = (
    "The paper does not say whether every run has new means; here every lane has its own, the same for all policies."
)
RUNS = "The paper gives its number of runs (50) for setting 1 only; it is used in all settings."
LFG_CHOICE = (
    "LFG is as section 3 restates it, with the index min(S/N + √(2 ln n / N), 1). The paper does not say how the queue "
    "starts and how ties are broken: at 0 and at random are ours."
)
SCALES = (
    "The paper's text and formulas contradict each other about the direction of η: by the text, fairness counts less "
    "as η → 1, but A = η and α = (1 − η) τ₁ T make η = 1 the fairest, as in its section on results. The formulas are "
    "followed."
)
SAME_UNFAIRNESS = (
    "at the same unfairness: a policy's frontier consists of the values of its parameter that no other value beats in "
    "both mean reward and missing plays, joined by straight lines; two policies are compared at 10, 30, 50, 70 and "
    "90% of the range of unfairness that both reach, and the point where the lead is least certain is shown; if that "
    "range is less than one play per arm, nothing can be confirmed"
)

FILMS = {13: 2500, 31: 2000, 118: 1250}  # films in MovieLens 1M with more ratings than that
SHARE = 0.8  # τ of setting 3, shared by all films: ours
#: What a configuration is about.
FILM_PARTS = {f"f3-{films}": f"{films} films" for films in FILMS}
SPREADS = ("gaussian", "beta", "bernoulli")
SETTING_5 = {
    f"f5-k{arms}-tau{tau:.1f}-{kind}".replace(".", ""): f"K = {arms}, τ = {tau}, {kind.capitalize()}"
    for arms in (5, 20)
    for tau in (0.2, 0.5)
    for kind in SPREADS
}


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


EXPERIMENTS = (
    Experiment(
        id="F-1",
        title="Penalised regret over the horizon",
        figure="figure 1",
        setting="5 or 20 Gaussian arms with standard deviation 1/K and means uniform on [0, 1]; every arm is promised "
        "τ/K of the rounds and each missing play costs A, half the distance between the best and the worst "
        "mean; T from 500 to 16,000, 50 lanes.",
        parts=tuple(SETTINGS),
        claims=(
            PaperClaim(
                "Hard-threshold UCB has a lower penalised regret than Fair-Learn, for every K, τ and T.",
                "section 6.2, figure 1",
                claims.lowest(FAIR_LEARN),
            ),
            PaperClaim(
                "Hard-threshold UCB has a lower penalised regret than LFG, for every K, τ and T.",
                "section 6.2, figure 1",
                claims.lowest(LFG),
            ),
        ),
        draw=figures.over_horizons,
        choices=(
            DRAWN,
            "The paper names the ends of its horizons only; 500, 1,000, 2,000, …, 16,000 are ours.",
            "LFG's η is √T, so that LFG is run anew for each T and evaluated at that T only.",
            LFG_CHOICE,
        ),
    ),
    Experiment(
        id="F-2",
        title="Missing plays of each arm over the scale η",
        figure="figure 2",
        setting="8 Gaussian arms with standard deviation 1/8, 10,000 rounds, 50 lanes, in two cases; A = η, α = (1 − "
        "η) τ₁ T and η₀ = (1 − η) T, for η from 0 to 1.",
        parts=tuple(claims.SCALE_CASES.values()),
        claims=(
            PaperClaim(
                "With the hard threshold, arms become unfair one by one as η falls, those with a larger gap first.",
                "section 6.2, figure 2",
                claims.one_by_one,
                "an arm is unfair if more than 5% of its promised plays are missing; one by one: of two arms next to "
                "each other in the order of their means, the better one stays fair down to a lower η, as η falls from "
                "1 in steps of 0.05",
            ),
            *(
                PaperClaim(
                    f"With {name}, all arms suddenly become unfair once the scale falls from 1.",
                    "section 6.2, figure 2",
                    claims.all_at_once(name),
                    "at η = 1 no arm misses 5% of its promised plays; at 0.9 every arm but the best misses more",
                )
                for name in RIVALS
            ),
            PaperClaim(
                "The hard threshold keeps every arm but the best fair over a wider range of η than Fair-Learn and LFG "
                "do.",
                "figure 2, caption",
                claims.wider,
                "range: from η = 1 down to the first η, in steps of 0.1, at which more than 5% of the arm's promised "
                "plays are missing",
            ),
        ),
        draw=figures.over_scale,
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
        setting="Arms are the films with many ratings, 13, 31 or 118 of them, and a play earns a rating drawn from the "
        "film's histogram, divided by 5; 50,000 rounds, 20 lanes; every film is promised 0.8/K of the rounds; A "
        "= η, and α = η₀ = (1 − η) T 0.8/K.",
        parts=tuple(FILM_PARTS),
        claims=tuple(
            PaperClaim(
                f"At the same unfairness, hard-threshold UCB always has a higher reward than {rival}, for each "
                "number of films.",
                "section 6.2, figure 3",
                claims.earns_most(FILM_PARTS, rival),
                SAME_UNFAIRNESS,
            )
            for rival in RIVALS
        ),
        draw=figures.frontiers(FILM_PARTS),
        quick=QuickSize(lanes=4, horizon=8_000),
        choices=(
            "The paper gives neither T nor τ nor the values of the parameters here; all are ours: T = 50,000 and τ "
            "= 0.8, as films' means lie so close together that exploration alone keeps most smaller promises, and η "
            "from 0.1 to 1 as in setting 5, with 0.02, 0.05 and 0.2 besides.",
            "Ratings are divided by 5, so that rewards lie in [0, 1] as the indices assume; the paper does not say.",
            "The ratings included in Evenhand have half stars, ten ratings in all, where MovieLens 1M has five.",
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
        setting="9 arms, 20,000 rounds, 50 lanes; every arm is promised 1/20 of the rounds, and a missing play costs "
        "0.45, or 0.41 in case 2 of the non-critical arms. An arm is critical if its gap Δ to the best mean is "
        "at most A.",
        parts=tuple(claims.GAP_CASES),
        claims=(
            *(
                PaperClaim(
                    f"The plays of {kind} arms are proportional to {inverse} where they {state} the fairness level.",
                    "section 6.2, figure 4",
                    claims.on_lines(kind, claims.power, "power of growth in", claims.PROPORTIONAL),
                    f"proportional: plays grow like a power of {inverse} from 0.9 to 1.1; {state}: by more than "
                    "1% in the mean; cases with fewer than three such arms say nothing",
                )
                for (kind, inverse), state in zip(claims.INVERSE.items(), ("do not reach", "exceed"), strict=True)
            ),
            *(
                PaperClaim(
                    f"The plays of {kind} arms lie on a straight line over {inverse}, off the fairness level.",
                    "figure 4; a weaker reading of ours",
                    claims.on_lines(
                        kind, claims.straightness, "variance of plays explained by a line in", (claims.STRAIGHT, 1.0)
                    ),
                    "a line explains at least 95% of the variance between the arms; it need not go through 0",
                )
                for kind, inverse in claims.INVERSE.items()
            ),
            PaperClaim(
                "At the fairness level the plays of non-critical arms stop growing, and critical arms reach it.",
                "figure 4, Theorem 4.2 (a) and (c)",
                claims.at_the_level,
                "both up to one play",
            ),
            PaperClaim(
                "The plays match the bounds of Theorem 4.2, which are tight.",
                "section 6.2",
                claims.tight,
                "match: the plays are between an eighth of the bound (the factor between Theorems 4.2 and 4.6) and "
                "the bound, with one play for its O(1)",
            ),
        ),
        draw=figures.over_gaps,
        choices=(
            "The paper names no reward distribution and no number of runs here; Gaussian with standard deviation "
            "1/K and 50, as in its setting 1.",
        ),
    ),
    Experiment(
        id="F-5",
        title="Reward against unfairness, three reward distributions",
        figure="figure 5",
        setting="5 or 20 arms with means uniform on [0, 1]; Gaussian rewards with standard deviation 1/K, Beta(μ, 1 − "
        "μ) or Bernoulli ones; every arm is promised τ/K of the rounds; 10,000 rounds, 50 lanes; A = η, α = η₀ "
        "= (1 − η) τ T / K.",
        parts=tuple(SETTING_5),
        claims=tuple(
            PaperClaim(
                f"At the same unfairness, hard-threshold UCB has a larger total reward than {rival}, in all settings.",
                "section 6.2, figure 5, caption",
                claims.earns_most(SETTING_5, rival),
                SAME_UNFAIRNESS,
            )
            for rival in RIVALS
        ),
        draw=figures.frontiers(SETTING_5),
        choices=(
            "The paper gives no T and no values of the parameters here; T = 10,000 and η = 0.1, 0.3, 0.5, 0.7, 0.9, "
            "1 are ours, with the formulas of setting 2 for α and, for η₀, (1 − η) τ T / K.",
            "τ is printed as {0, 20.5}; figure 5 has 0.2 and 0.5.",
            DRAWN,
            RUNS,
            LFG_CHOICE,
        ),
    ),
    Experiment(
        id="F-6",
        title="What section 5 rules out: a soft threshold, explore then commit",
        figure="section 5, which has none",
        setting="Five Bernoulli arms with means 0.9, 0.8, …, 0.5, each promised a tenth of the rounds, and a missing "
        "play costs 0.7: the premise of Theorem 4.1 holds for all of them; 40,000 rounds, 50 lanes. Explore then "
        "commit runs in setting 1, with K = 5, τ = 0.2, T up to 16,000 and a missing play at 1, above every gap.",
        parts=("f6-promises", "f6-commit"),
        claims=(
            PaperClaim(
                "Where penalties exceed the gaps by the margin of Theorem 4.1, the hard threshold gives every arm its "
                "share.",
                "Theorem 4.1",
                claims.promises_kept(claims.HARD),
                "its share: at least ⌊τT⌋ plays, for every arm, in more than 95% of the lanes; in the paper the "
                "probability goes to 1",
            ),
            PaperClaim(
                "A soft threshold fails to guarantee asymptotic fairness.",
                "section 5",
                claims.soft_falls_short,
                "in the same problem; fails: an arm misses more than 5% of its promised plays, and the missing plays "
                "grow linearly over the last half of the rounds",
            ),
            PaperClaim(
                "A soft threshold fails to have nearly optimal penalised regret.",
                "section 5",
                claims.soft_loses_more,
                "fails: its regret is larger than that of the hard threshold and grows faster than the square root of "
                "the rounds, which the paper calls nearly optimal for any gaps",
            ),
            PaperClaim(
                "Explore then commit has a higher penalised regret than the hard threshold.",
                "section 5",
                claims.commits_worse,
                "at T = 1,000, 4,000 and 16,000, on average over means drawn at random; the paper argues with the "
                "worst means, T^(2/3) against T^(1/2)",
            ),
        ),
        draw=figures.beside_the_others,
        choices=(
            "The paper argues in section 5 and runs nothing; the problem, the horizons and the lanes are ours.",
            "Explore then commit with promises is NAIVE of Patil et al. 2019, which explores for (T² ln T)^(1/3) "
            "rounds; without promises it would pay for every one of them.",
            DRAWN,
        ),
    ),
    Experiment(
        id="F-7",
        title="Promised shares that vanish with the horizon",
        figure="section 5, which has none",
        setting="The five arms of F-6, each promised 1/T^b of the rounds, with b = 1/4, 1/2, 3/4 and T = 4,000, "
        "16,000, 64,000; a missing play costs 1.5, at least 1.1 more than any gap; 100 lanes.",
        parts=claims.VANISHING,
        claims=(
            PaperClaim(
                "The hard threshold gives every arm its share also where τ = 1/T^b.",
                "section 5, of Theorem 4.1",
                claims.vanishing_kept,
                "its share: at least ⌊τT⌋ plays, for every arm, in more than 95% of the lanes, for every b and T",
            ),
            PaperClaim(
                "Nobody is ever further behind than of order ln T, also where τ = 1/T^b.",
                "section 5, of Theorem 4.3",
                claims.vanishing_on_time,
                "more than that: on average nobody has ever been a whole play behind, for every b and T",
            ),
            PaperClaim(
                "The penalised regret is of order ln T, also where τ = 1/T^b.",
                "section 5, of Theorem 4.2",
                claims.vanishing_logarithmic,
                "from T = 16,000 to T = 64,000 it grows by less than a square root would, for every b; ln T grows by "
                "the factor 1.14, a square root by 2",
            ),
        ),
        draw=figures.vanishing,
        choices=(
            "The paper says in a sentence that its results extend to such shares, and runs nothing; all is ours.",
        ),
    ),
)
