"""The experiments of Huang et al. 2020, section 6: minimum shares, several plays per round, sleeping arms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import DataError
from evenhand.datasets import movielens
from evenhand.papers.claims import each
from evenhand.papers.experiment import Data, Experiment, PaperClaim, ours
from evenhand.papers.huang2020 import claims, figures
from evenhand.papers.huang2020.claims import BALANCED, BOUNDS, FILMS, FIRST, FREE, PAIR, SECOND, ZOOM
from evenhand.papers.verdicts import KEPT, arms_kept
from evenhand.theory.bounds import balancing_eta

ETAS_ONE, ETAS_TWO = ("1", "10", "1000", "inf"), ("63.55", "inf")
ENDS_ONE, ENDS_TWO = ([f" eta={eta}" for eta in etas] for etas in (ETAS_ONE, ETAS_TWO))

ONE = (
    "Three Bernoulli arms with means 0.4, 0.5, 0.7, available with probabilities 0.9, 0.8, 0.7 and promised 0.5, 0.6, "
    "0.4 of the rounds; two plays per round, 20,000 rounds, 100 lanes; η = 1, 10, 1000 and ∞."
)
TWO = (
    "Six Bernoulli arms with means 0.52, 0.51, 0.49, 0.48, 0.7, 0.8, available with probabilities 0.7, 0.6, 0.7, 0.8, "
    "0.7, 0.6 and promised 0.4, 0.45, 0.3, 0.45, 0.3, 0.4 of the rounds; three plays per round, 20,000 rounds, "
    "100 lanes."
)
RATED = (
    "Five films, two of them recommended to a user; the films that the user rated are available, the reward is the "
    "rating divided by 5; every film is promised 0.3 of the rounds; a user is a round."
)
AWAKE = "The paper does not say how availability is drawn; independently over arms and rounds is ours."
INDEX = (
    "The paper does not print LFG's index: it is min(mean + sqrt(c ln t/(2 N)), 1) with 3/2 under the root as in Li et "
    "al. 2019, ties going to any tied arm alike; “LFG with c = 2” has the 2 of Fang et al. 2022 in its place (ours)."
)
QUEUES = (
    "TSCSF-B counts owed plays exactly and remembers surpluses, LFG's recursive queue forgets them. Each is also run "
    "with the other's queue (ours), which separates the effect of the queue from that of the index."
)
EXPECTED = (
    "Regret is that of expected rewards against what Opt-F earns on average from the arms available in the round."
)
SATISFIED = (
    "satisfied, as in the paper's definition (1), which is a limit: on average over the lanes no arm misses a whole "
    "play at the end, or over the last doubling of the rounds what it misses has grown clearly less than they have"
)
FASTER = (
    "faster: a lower regret after 100 rounds, where the insets of the paper's figure end, and after a tenth of all "
    "rounds"
)


def _against_lfg(part: str, ends: Sequence[str]) -> tuple[PaperClaim, ...]:
    """What the paper says of TSCSF-B and LFG in each of its two settings."""
    return (
        PaperClaim("TSCSF-B has a lower time-averaged regret than LFG.", "section 6.1.1", claims.below_lfg(part, ends)),
        PaperClaim("TSCSF-B converges faster than LFG.", "section 6.1.1", claims.faster(part, ends), FASTER),
    )


def _falls_with_eta(part: str, etas: Sequence[str]) -> PaperClaim:
    return PaperClaim(
        "The larger η, the lower the time-averaged regret of both.", "section 6.1.1", claims.falls_with_eta(part, etas)
    )


def _without_constraints(part: str) -> tuple[PaperClaim, ...]:
    """What the paper says of η = ∞ and of Opt-NF in each of its two settings."""
    return (
        PaperClaim(
            "With η = ∞ the regrets of both converge to that of Opt-NF.",
            "section 6.1.1",
            claims.converges_to_opt_nf(part),
            "converge: the regret against Opt-NF grows sublinearly, and at the end it has covered nine tenths of the "
            "distance from Opt-F to Opt-NF",
        ),
        PaperClaim(
            "With η = ∞ the constraints are ignored.",
            "section 6.1.1",
            claims.ignored(part),
            "some arm misses more plays on average at the end than Evenhand tolerates, which is 1% of what is due",
        ),
        PaperClaim(
            "The time-averaged regret of Opt-NF is always below that of Opt-F, which is 0.",
            "section 6.1.1",
            claims.opt_nf_below_opt_f(part),
        ),
    )


def _variants(part: str, ends: Sequence[str]) -> tuple[PaperClaim, ...]:
    """Claims of our own: the other constant of LFG, and each index with each queue; the last ending has no queue."""
    finite = ends[:-1]
    return (
        ours(
            "TSCSF-B has a lower time-averaged regret than LFG with c = 2, the index of Fang et al. 2022 (ours).",
            claims.below_lfg(part, ends, other="LFG c=2"),
        ),
        ours(
            "If both use the exact queue, TSCSF-B has a lower time-averaged regret than LFG (ours).",
            claims.below_lfg(part, finite, other="LFG exact"),
        ),
        ours(
            "If both use the recursive queue, TSCSF-B has a lower time-averaged regret than LFG (ours).",
            claims.below_lfg(part, finite, policy="TSCSF-B recursive"),
        ),
        ours(
            "The choice of the queue affects the regret more than the choice of the index (ours).",
            claims.queue_matters_more(part, finite),
            "the difference between the two queues, averaged over the indices, is compared with that between the two "
            "indices, averaged over the queues",
        ),
    )


def _kept(part: str, end: str) -> PaperClaim:
    labels = [name + end for name in PAIR]
    return ours("TSCSF-B and LFG keep the promises to all arms (ours).", each(arms_kept, part, labels), KEPT)


def on_ratings(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The film experiment on a MovieLens copy: every user once, in the order of the file, and η for that many."""
    users, films = movielens.load(folder).stars.shape
    if users < ZOOM:
        raise DataError(f"{folder}: {users} users rated the films, the experiment needs {ZOOM}; give a larger copy")
    eta = balancing_eta(users, films, config["plays"])
    policies = [one if np.isinf(one["eta"]) else one | {"eta": eta} for one in config["policies"]]
    dataset = {"kind": "films", "path": str(folder)}
    environment = config["environment"] | {"dataset": dataset}
    return config | {"horizon": users, "environment": environment, "policies": policies}


RATINGS = (
    Data(
        "movielens", on_ratings, "It runs on ratings and availabilities of these films that are included in Evenhand."
    ),
)

EXPERIMENTS = (
    Experiment(
        id="H-1",
        title="Time-averaged regret in the first setting",
        figure="figure 1",
        setting=ONE,
        parts=(FIRST,),
        claims=(
            *_against_lfg(FIRST, ENDS_ONE),
            _falls_with_eta(FIRST, ETAS_ONE),
            PaperClaim(
                "With η = 1 the lowest regrets that both achieve are around 0.03.",
                "section 6.1.1",
                claims.about_three_hundredths,
                "around: from 0.025 to 0.035, where the mean curve is lowest after the first 100 rounds",
            ),
            PaperClaim(
                "With η = 10 both are much closer to Opt-F than with η = 1.",
                "section 6.1.1",
                claims.much_closer,
                "much closer: at most half as far at the end",
            ),
            PaperClaim(
                "With η = 1000 both have a negative regret around round 2,000 and recover to a positive one.",
                "section 6.1.1",
                claims.negative_then_positive,
                "recover: positive at the end",
            ),
            *_without_constraints(FIRST),
            *_variants(FIRST, ENDS_ONE),
        ),
        draw=figures.over_etas(FIRST, ETAS_ONE),
        choices=(AWAKE, INDEX, QUEUES, EXPECTED),
    ),
    Experiment(
        id="H-2",
        title="Time-averaged regret in the second setting",
        figure="figure 2",
        setting=f"{TWO} η = 63.55 = √(KT/(m ln T)) and ∞. The first setting is run too, to compare with.",
        parts=(SECOND, FIRST),
        claims=(
            *_against_lfg(SECOND, ENDS_TWO),
            PaperClaim(
                "The gap between TSCSF-B and LFG is wider than in the first setting.",
                "section 6.1.1",
                claims.wider_than_first,
                "at the end, each η is compared with the nearest one of the first setting: 63.55 with 10, ∞ with ∞",
            ),
            _falls_with_eta(SECOND, ETAS_TWO),
            *_without_constraints(SECOND),
            *_variants(SECOND, ENDS_TWO),
        ),
        draw=figures.over_etas(SECOND, ETAS_TWO),
        choices=(AWAKE, INDEX, QUEUES, EXPECTED),
    ),
    Experiment(
        id="H-3",
        title="Shares in the first setting",
        figure="figure 3",
        setting=f"{ONE} The figure is about η = 1000.",
        parts=(FIRST,),
        claims=(
            PaperClaim(
                "With η = 1000 TSCSF-B and LFG satisfy the constraints of all arms at the end.",
                "section 6.1.2",
                claims.satisfied(FIRST, " eta=1000"),
                SATISFIED,
            ),
            PaperClaim(
                "The constraint of arm 1 is harder to satisfy than the others.",
                "section 6.1.2",
                claims.hardest(FIRST, " eta=1000", (0,)),
                "harder: it misses more plays at the end",
            ),
            PaperClaim(
                "The larger η, the later the constraints are satisfied.",
                "Remark 1 and section 6.1.1",
                claims.later_with_eta,
                "later: by the last checkpoint at which some arm misses more than 1% of the rounds so far",
            ),
            _kept(FIRST, " eta=1000"),
        ),
        draw=figures.final_shares(FIRST, "1000"),
        choices=(AWAKE, INDEX, QUEUES),
    ),
    Experiment(
        id="H-4",
        title="Shares in the second setting",
        figure="figure 4",
        setting=f"{TWO} η = 63.55.",
        parts=(SECOND,),
        claims=(
            PaperClaim(
                "TSCSF-B and LFG satisfy the constraints of all six arms with η = 63.55.",
                "section 6.1.2",
                claims.satisfied(SECOND, " eta=63.55"),
                SATISFIED,
            ),
            PaperClaim(
                "The constraints of arms 2 and 4 are harder to satisfy than the others.",
                "section 6.1.2",
                claims.hardest(SECOND, " eta=63.55", (1, 3)),
                "harder: each of the two misses more plays at the end than any other arm",
            ),
            _kept(SECOND, " eta=63.55"),
        ),
        draw=figures.final_shares(SECOND, "63.55"),
        choices=(AWAKE, INDEX, QUEUES),
    ),
    Experiment(
        id="H-5",
        title="How tight are the bounds?",
        figure="figure 5",
        setting=f"{TWO} Theorem 2 and the bound of LFG against the measured regret over T.",
        parts=(BOUNDS,),
        claims=(
            PaperClaim("The bound of TSCSF-B is always below that of LFG.", "section 6.2", claims.bounds_in_order),
            PaperClaim(
                "The regret of TSCSF-B stays far below its bound.",
                "section 6.2",
                claims.far_below_its_bound,
                "far below: at most a tenth of the bound at the end, with η = 63.55",
            ),
            PaperClaim(
                "The regrets of TSCSF-B and LFG never exceed their bounds.",
                "Theorem 2, and section 1 for LFG",
                claims.bounds_hold,
                "at any checkpoint with η = 63.55, and at every T with its own η",
            ),
        ),
        draw=figures.against_bounds,
        choices=(
            AWAKE,
            INDEX,
            "The paper does not say which η its figure has while T changes: one run with η = 63.55 throughout is drawn "
            "on the left, and runs with η = √(KT/(m ln T)) for the T in question on the right (ours).",
        ),
    ),
    Experiment(
        id="H-6",
        title="Films: the ratings in the end",
        figure="figure 6 (a)",
        setting=f"{RATED} η = √(KT/(m ln T)), called balanced, and ∞.",
        parts=(FILMS,),
        claims=(
            PaperClaim(
                "The final ratings of TSCSF-B are much closer to the true ones than those of LFG.",
                "section 6.3.2",
                claims.nearer("score", 0.5),
                "rating: the index; much closer: at most half the mean distance over the films",
            ),
            PaperClaim(
                "The final ratings of LFG are higher than the true ones.",
                "section 6.3.2",
                claims.too_high,
                "rating: the index, its upper confidence bound; higher for every film",
            ),
            ours(
                "The final ratings of TSCSF-B are much closer to the true ones than those of LFG with c = 2 (ours).",
                claims.nearer("score", 0.5, "LFG c=2"),
                "rating: the index; much closer: at most half the mean distance over the films",
            ),
            ours(
                "The mean ratings that TSCSF-B received are closer to the true ones than those of LFG (ours).",
                claims.nearer("estimate"),
                "our second reading of the rating: the mean of the ratings received, which has no bonus in it",
            ),
        ),
        draw=figures.final_ratings,
        tables=figures.rating_tables,
        choices=(
            "The paper does not say what a final rating is; since LFG's are said to be too high, it is read as the "
            "index, for TSCSF-B a draw from its posterior. The mean of the ratings received is shown beside it (ours).",
            "The paper does not say how ratings between 0 and 1 update TSCSF-B's Beta distributions: by a Bernoulli "
            "trial each, as in Agrawal & Goyal 2012.",
            INDEX,
        ),
        data=RATINGS,
    ),
    Experiment(
        id="H-7",
        title="Films: shares and regret",
        figure="figures 6 (b) and 7",
        setting=f"{RATED} η = √(KT/(m ln T)), called balanced, and ∞.",
        parts=(FILMS,),
        claims=(
            PaperClaim(
                "TSCSF-B and LFG satisfy the constraints of all five films with balanced η.",
                "section 6.3.2",
                claims.satisfied(FILMS, BALANCED),
                SATISFIED,
            ),
            PaperClaim(
                "TSCSF-B has a lower time-averaged regret than LFG.",
                "section 6.3.2",
                claims.below_lfg(FILMS, (BALANCED, FREE)),
                "at the end, for both values of η, since the paper does not say which one its figure has",
            ),
            PaperClaim(
                "TSCSF-B converges much faster than LFG.",
                "section 6.3.2",
                claims.faster(FILMS, (BALANCED, FREE)),
                f"the paper infers it from a curve below LFG's and gives no factor; {FASTER}",
            ),
            ours(
                "Early on TSCSF-B has at most half of LFG's regret (ours).",
                claims.much_faster,
                "after 100 rounds and after a tenth of all rounds: with balanced η the regret against Opt-F, with "
                "η = ∞ the one against Opt-NF",
            ),
            PaperClaim(
                "Both earn more than the paper's Opt-F: their time-averaged regrets are negative.",
                "section 6.3.2",
                claims.below_opt_f,
                missing="The paper's Opt-F takes for a film's availability how often its genre occurs among the "
                "ratings of five genres. The ratings included in Evenhand name no genres, so this Opt-F cannot be "
                "computed.",
            ),
            ours(
                "Both earn more than an Opt-F that knows which sets of films are rated, and how often: their "
                "time-averaged regrets are negative.",
                claims.below_opt_f,
                "at the end, with balanced η",
            ),
            _kept(FILMS, BALANCED),
            *_variants(FILMS, (BALANCED, FREE)),
        ),
        draw=figures.films,
        choices=(
            "The paper gives its Opt-F estimated availabilities, and explains with them that both algorithms earn more "
            "than it. Here Opt-F knows which sets of films are rated, and how often.",
            "Users come in the order of the file, once each, so that lanes differ in the algorithms' own draws only.",
            INDEX,
            QUEUES,
            EXPECTED,
        ),
        data=RATINGS,
    ),
)
