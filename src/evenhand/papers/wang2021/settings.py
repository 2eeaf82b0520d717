"""The experiments of Wang et al. 2021, section 4: rewards that spread over time and come back as one anonymous sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evenhand.papers.claims import each
from evenhand.papers.experiment import Data, Experiment, PaperClaim, QuickSize, ours
from evenhand.papers.verdicts import AT_MOST_LOGARITHMIC, NEARER, at_most_power, logarithmic
from evenhand.papers.wang2021 import claims, figures, together
from evenhand.papers.wang2021.claims import called

SETTING = (
    "Nine Bernoulli arms with means 0.9, 0.8, …, 0.1, one play per step, 100,000 steps, 100 lanes; every policy faces "
    "the same rewards and sees only the sum of what arrives in a step."
)
HORIZON = (
    "The paper gives no horizon; 100,000 steps are ours. So is the logarithmic time axis: ln t is a straight line."
)
VALUES = (
    "The paper lists neither its values of α nor its functions f(k); besides its choice, α = 4 and f(k) = k², we "
    "chose α = 1, 2, 8 and f(k) = k, k³, 2^k. The paper says, but does not show, that f(k) has the same effect with "
    "other values of α."
)
BOTH = "The paper varies α for some spreads and f(k) for the others; here both are varied for every spread."
GIVEN = (
    "Each variant of ODAAF is given exactly what it needs to know about the delays: the mean; the mean and the bound; "
    "the mean and the variance; for “composite”, how long rewards take. The lengths of its phases have the form that "
    "its authors give; for rewards in parts they follow from Hoeffding's inequality (ours). Other constants would "
    "change its regret."
)
RATIOS = (
    "A lane that is stuck on a worse arm has many times the regret of the others, so that a few such lanes dominate "
    "the mean. Where lanes are stuck, the ratio of two regrets has a bootstrap interval and is shown with the shares "
    "of stuck lanes."
)
STUCK = (
    "Ours: two policies that choose anew in every step, UCB with ARS-UCB's index and UCB1, and the share of lanes "
    "stuck on a worse arm: lanes in which the arm played most over the last tenth of the steps is not the best. ODAAF "
    "also counts as stuck where the horizon ends while it plays a worse arm that it would drop later."
)


def _against_odaaf(parts: Sequence[str], informed: Sequence[str]) -> tuple[PaperClaim, ...]:
    """What the paper says about all of its benchmarks that are given the delays."""
    return (
        PaperClaim(
            "ARS-UCB with f(k) = k² and α = 4 significantly outperforms ODAAF, which knows the delays.",
            "section 4.1, conclusion",
            together.outperforms(parts, (claims.CHOICE,), informed),
            "significantly: at least a tenth less regret at the end, in every spread",
        ),
        PaperClaim(
            "ARS-UCB significantly outperforms ODAAF whatever its α and f(k).",
            "section 4.1, conclusion (“in all our experiments”)",
            together.outperforms(parts, claims.OTHERS, informed),
            "significantly: at least a tenth less regret at the end, in every spread, for every α and f(k) that was "
            "run",
        ),
        PaperClaim(
            "ODAAF plays the worse arms more than ARS-UCB does.",
            "section 4.1, conclusion",
            claims.plays_worse_arms_less(parts, informed),
            "worse arms: all but the best, together; ARS-UCB with f(k) = k² and α = 4",
        ),
    )


def _of_rounds(parts: Sequence[str]) -> tuple[PaperClaim, ...]:
    """What choosing for whole rounds costs, and what it is good for."""
    return (
        PaperClaim(
            "Keeping an arm for many steps at a time causes no excessive regret compared to UCB.",
            "section 2.2 (“validated in our simulation results”)",
            together.outperforms(parts, (claims.CHOICE,), (claims.UCB,), claims.EXCESSIVE),
            "not excessive: less than 1.5 times the regret of the same index, computed anew in every step",
        ),
        ours(
            "ARS-UCB with f(k) = k² and α = 4 hardly ever gets stuck on a worse arm.",
            each(claims.stuck_below, called(parts), (claims.CHOICE,), claims.HARDLY),
            "hardly ever: in fewer than a tenth of the lanes, in every spread",
        ),
        *(
            ours(
                f"Fewer lanes get stuck with ARS-UCB, which keeps an arm for many steps, than with {words}.",
                each(claims.stuck_less, called(parts), (other,)),
                "in every spread",
            )
            for words, other in (("the same index computed anew in every step", claims.UCB), ("UCB1", claims.UCB1))
        ),
    )


def _against_others(parts: Sequence[str], others: Sequence[str]) -> tuple[PaperClaim, ...]:
    """What is claimed of rules of ODAAF that the paper does not run there."""
    return (
        ours(
            "ARS-UCB with f(k) = k² and α = 4 significantly outperforms ODAAF's other variants, which know the mean "
            "time that a reward takes, and its variance or its bound.",
            together.outperforms(parts, (claims.CHOICE,), others),
            "significantly: at least a tenth less regret at the end, in every spread in which what the variant needs "
            "to know is finite",
        ),
    )


def _spread_claims(parts: Sequence[str], informed: Sequence[str], others: Sequence[str] = ()) -> tuple[PaperClaim, ...]:
    """What the paper says about each of figures 2 to 4."""
    return (
        PaperClaim(
            "The regret of ARS-UCB with f(k) = k² and α = 4 is at most logarithmic.",
            "section 4.1, conclusion",
            each(logarithmic, called(parts), (claims.CHOICE,), claims.REGRET),
            f"{AT_MOST_LOGARITHMIC}, in every spread",
        ),
        PaperClaim(
            "The regret of ARS-UCB is always at most logarithmic.",
            "section 4.1, conclusion",
            each(logarithmic, called(parts), claims.OTHERS, claims.REGRET),
            "always: in every spread, for every α and f(k) that was run; each interval has 95% by itself",
        ),
        *(_against_odaaf(parts, informed) if informed else ()),
        *(_against_others(parts, others) if others else ()),
        *_of_rounds(parts),
    )


def _on_log(kind: str, feedback: str, **options: Any) -> Callable[[dict[str, Any], Path], dict[str, Any]]:
    """Puts a log in place of seven fixed chances, where the feedback is of the given kind."""

    def put(config: dict[str, Any], path: Path) -> dict[str, Any]:
        world = config["environment"]
        chances = world.get("rewards", {}).get("probabilities", ())
        if world["feedback"]["kind"] != feedback or len(chances) != 7:
            return config
        kept = {name: table for name, table in world.items() if name != "rewards"}
        return config | {"environment": kept | {"dataset": {"kind": kind, "path": str(path), **options}}}

    return put


EXPERIMENTS = (
    Experiment(
        id="W-2",
        title="One random delay",
        figure="figure 2",
        setting=f"{SETTING} The whole reward of a play arrives after a delay drawn evenly from 10 to 30, or from 0 to "
        "60, steps.",
        parts=claims.W2,
        claims=_spread_claims(claims.W2, claims.RULES),
        draw=figures.spreads(claims.W2, claims.RULES),
        choices=(HORIZON, VALUES, BOTH, f"{GIVEN} The paper does not say which it ran; all four are.", RATIOS, STUCK),
    ),
    Experiment(
        id="W-3",
        title="Rewards in parts, over a bounded time",
        figure="figure 3",
        setting=f"{SETTING} The reward of a play arrives in parts: equal ones 30 to 40 or 10 to 20 steps later, or "
        "parts that fall or rise in a line over 100 or 50 steps.",
        parts=claims.W3,
        claims=_spread_claims(claims.W3, (claims.COMPOSITE,), claims.RULES[:-1]),
        draw=figures.spreads(claims.W3, claims.RULES),
        choices=(
            HORIZON,
            VALUES,
            BOTH,
            f"{GIVEN} The paper's is “composite”; the others treat the time that a part takes as a delay (ours).",
            RATIOS,
            STUCK,
        ),
    ),
    Experiment(
        id="W-4",
        title="Rewards in parts, for ever",
        figure="figure 4",
        setting=f"{SETTING} The reward of a play arrives in parts that never end: they shrink by a factor of 0.8 or "
        "0.9 per step, or as the power 3 or 2 of time. The paper has no benchmark, as none could be given a bound.",
        parts=claims.W4,
        claims=_spread_claims(claims.W4, (), claims.RULES[:-1]),
        draw=figures.spreads(claims.W4, claims.RULES[:-1]),
        quick=QuickSize(lanes=100, horizon=30_000),
        choices=(
            HORIZON,
            VALUES,
            BOTH,
            "With the power 2 the mean time that a reward takes is infinite, so Theorem 1 does not cover that spread.",
            "ODAAF with the mean, and with the mean and the variance, is ours; it is run where these are finite.",
            RATIOS,
            STUCK,
        ),
    ),
    Experiment(
        id="W-2-4",
        title="All spreads together",
        figure="figures 2 to 4",
        setting=f"{SETTING} The twelve spreads of W-2, W-3 and W-4, of whose runs this is another view.",
        parts=tuple(claims.SPREADS),
        claims=(
            PaperClaim(
                "The combination of α = 4 and f(k) = k² behaves better than the others in most instances.",
                "section 4.1, conclusion",
                claims.better_in_most(tuple(claims.SPREADS)),
                "better: less regret than every other combination that was run; in most: surely so (the interval of "
                "the difference is below 0) in more than half of the twelve spreads",
            ),
            PaperClaim(
                "α = 4 and f(k) = k² lead to small regrets and small variances.",
                "section 4.1, conclusion",
                claims.good_choice(tuple(claims.SPREADS)),
                "small: surely smaller than with at least half of the other combinations, in more than half of the "
                "spreads",
            ),
            PaperClaim(
                "A faster growing f avoids a large constant in the regret: f(k) = k² is better than f(k) = k.",
                "Remark 1",
                together.faster_sizes(tuple(claims.SPREADS), (claims.SIZES[0], claims.CHOICE)),
                "less regret at the end with α = 4, in every spread",
            ),
            PaperClaim(
                "Where rewards take long and the horizon is short, a larger α can reduce the regret.",
                "Remark 1",
                together.larger_alpha_first(tuple(claims.SPREADS)),
                "α = 8 is compared with α = 1 after 3,000 steps, in every spread whose d1, the mean time that a "
                "reward takes times the largest mean reward, is finite and at least 25 steps",
            ),
            PaperClaim(
                "Where rewards come soon and the horizon is long, a smaller α behaves better.",
                "Remark 1",
                together.smaller_alpha_late(tuple(claims.SPREADS)),
                "α = 1 is compared with α = 8 at the end, in every spread whose d1 is at most 10 steps",
            ),
            PaperClaim(
                "Theorem 1 bounds the regret in none of the spreads: its constant exceeds the number of steps even at "
                "α = 8, and it does not cover the paper's α = 4.",
                "ours, after appendix A",
                together.theorem_says_nothing(tuple(claims.SPREADS)),
                "computed, not simulated: the number of steps T divided by the theorem's constant c* is below 1",
            ),
        ),
        draw=figures.combinations(tuple(claims.SPREADS)),
        quick=QuickSize(lanes=30, horizon=10_000),
        choices=(HORIZON, VALUES, STUCK),
    ),
    Experiment(
        id="W-5",
        title="Clicks, and delays that an adversary chooses",
        figure="figure 5",
        setting="In every step exactly one arm pays 1; one play per step, 100,000 steps, 100 lanes. Non-oblivious: the "
        "best arm's rewards come d = 10 or 20 steps late once it has been played for 3d steps in a row, all others "
        "after one. Oblivious: delays drawn evenly from 5 to 10, or from 10 to 20, steps.",
        parts=(*claims.CASES, *claims.MADE_UP),
        claims=(
            PaperClaim(
                "Under non-oblivious delays the regret of CLW is linear.",
                "section 4.2",
                each(claims.bend, called(claims.KEPT_BACK), (claims.CLW,), True),
                "linear: a growth exponent above 0.95, in every case",
            ),
            PaperClaim(
                "Under non-oblivious delays the regret of ARS-EXP3 is sublinear.",
                "section 4.2",
                each(claims.bend, called(claims.KEPT_BACK), (claims.ARS,), False),
            ),
            PaperClaim(
                "Under non-oblivious delays ARS-EXP3 outperforms CLW.",
                "abstract and section 5 (“outperform existing benchmarks”)",
                claims.less(claims.KEPT_BACK, (claims.ARS,), (claims.CLW,)),
                "less regret at the end, in every case",
            ),
            PaperClaim(
                "Under non-oblivious delays ARS-EXP3 is the only efficient policy.",
                "section 4.2",
                each(claims.bend, called(claims.KEPT_BACK), (claims.CLW, claims.EXP3), True),
                "efficient: its regret is sublinear, and those of the others, CLW and EXP3, are linear",
            ),
            PaperClaim(
                "Under oblivious delays CLW with the right d is only slightly better than ARS-EXP3.",
                "section 4.2",
                claims.slightly_better(claims.OBLIVIOUS),
                "slightly better: less regret at the end, but at most a fifth less, in every case",
            ),
            PaperClaim(
                "If its d is 10% too small or too large, CLW can perform worse than ARS-EXP3.",
                "section 4.2",
                claims.can_be_worse(claims.OBLIVIOUS),
                "can: in at least one of the cases; their intervals share the error of 5%",
            ),
            PaperClaim(
                "Under oblivious delays ARS-EXP3 is more robust than CLW without an accurate d.",
                "section 4.2, end",
                claims.less(claims.OBLIVIOUS, (claims.ARS,), claims.WRONG),
                "less regret than CLW with a d that is 10% too small or too large, in every case",
            ),
            PaperClaim(
                "ARS-EXP3 that doubles its guess of an unknown horizon has at most 2.7 times the regret of ARS-EXP3 "
                "that knows it.",
                "ours, after section 3.1",
                together.no_more_than_doubling_costs(tuple(claims.CASES), 2.7),
                "in every case; doubling multiplies the bound of Theorem 2 by 2.7",
            ),
            ours(
                "Under non-oblivious delays the regret of CLW in its form for gains is linear.",
                each(claims.bend, called(claims.KEPT_BACK), (claims.GAINS,), True),
            ),
            ours(
                "On the made-up log too, ARS-EXP3 outperforms CLW under non-oblivious delays.",
                claims.less(tuple(claims.MADE_UP)[:1], (claims.ARS,), (claims.CLW,)),
            ),
            ours(
                "On the made-up log too, CLW with the right d is only slightly better than ARS-EXP3 under oblivious "
                "delays.",
                claims.slightly_better(tuple(claims.MADE_UP)[1:]),
                "slightly better: less regret at the end, but at most a fifth less",
            ),
            ours(
                "On the made-up log too, CLW can perform worse than ARS-EXP3 if its d is 10% too small or too large.",
                claims.can_be_worse(tuple(claims.MADE_UP)[1:]),
                "can: in at least one of the two cases",
            ),
        ),
        draw=figures.clicks,
        choices=(
            "The paper gives no horizon; 100,000 steps are ours.",
            "The paper does not say how many categories of advertisements it uses; seven, and two as a harder case, "
            "are ours.",
            "With fixed chances, regret is computed from expected rewards, which has far less noise than the paper's "
            "regret and grows like it; on a log it is the paper's, against the best arm in hindsight.",
            "All lanes replay the same log, so there the intervals show the policies' own randomness only.",
            "The made-up log is synthetic, and ours: bursts of 20 steps on average, and chances that drift.",
            "The paper's “at least 3d times in succession” is taken to include the present step; the best arm is that "
            "of the whole log.",
            "CLW is run as published, for losses; its form for gains, as Wang et al. restate it, has a curve of its "
            "own. EXP3, ARS-CLW and ARS-EXP3 without the horizon are additions of ours.",
        ),
        data=(
            Data(
                "outbrain",
                _on_log("outbrain", "nonoblivious", rows=500_000),
                "Outbrain's log does not ship; one winner per step with fixed chances stands in for it.",
            ),
            Data(
                "coupons",
                _on_log("coupons", "spread"),
                "The coupon log does not ship; one winner per step with fixed chances stands in for it.",
            ),
        ),
    ),
    Experiment(
        id="W-6",
        title="How fast rounds grow against an adversary",
        figure="Remark 2, which has none",
        setting="Seven arms of which exactly one pays 1 in every step, 100,000 steps, 100 lanes, and the delays of "
        "W-5. ARS-EXP3 holds its k-th choice for g(k) = k^β steps, with β = 1/4, 1/2, 1, 2.",
        parts=tuple(claims.GROWTHS),
        claims=(
            PaperClaim(
                "In the adversarial case rounds must grow more slowly than in the stochastic one, and g(k) = √k is a "
                "good choice.",
                "Remark 2",
                claims.less(tuple(claims.GROWTHS), (claims.ROOT,), claims.FASTER),
                "good: less regret at the end than with g(k) = k and k², in every case; k² is the choice of ARS-UCB",
            ),
            PaperClaim(
                "The regret is linear in the largest round, so it is larger with g(k) = k² than with g(k) = k.",
                "Remark 2",
                claims.less(tuple(claims.GROWTHS), claims.FASTER[:1], claims.FASTER[1:]),
                "larger: at the end, in every case",
            ),
            ours(
                "With rounds that grow more slowly still, g(k) = k^(1/4), the regret is larger than with √k.",
                claims.less(tuple(claims.GROWTHS), (claims.ROOT,), (claims.SLOWER,)),
                "at the end, in every case; short rounds hear much of what other arms have earned, but the adversary "
                "holds nothing back before an arm has played for 3d steps in a row",
            ),
            PaperClaim(
                "With g(k) = √k the regret is of order T^(2/3).",
                "Theorem 2",
                each(at_most_power, claims.GROWTHS, (claims.ROOT,), claims.REGRET, 2.0 / 3.0),
                f"{NEARER}, in every case",
            ),
        ),
        draw=figures.regrets(tuple(claims.GROWTHS), (claims.SLOWER, claims.ROOT, *claims.FASTER)),
        choices=(
            "The paper argues in Remark 2 and runs nothing; the exponents other than 1/2 are ours.",
            "The mixing γ is that of the paper for each exponent.",
            "Regret is computed from expected rewards.",
        ),
    ),
    Experiment(
        id="W-7",
        title="ARS-CLW where it has the time to learn",
        figure="Theorem 3, which has none",
        setting="Two Bernoulli arms with means 0.9 and 0.1, one play per step, 8,192,000 steps, 50 lanes; the whole "
        "reward of a play arrives after a delay drawn evenly from 0 to 20 steps. ARS-CLW doubles its phases from "
        "1,000 steps, and its guess of the delay is the cube root of their ends; CLW is given d = 20.",
        parts=tuple(claims.LEARNS),
        claims=(
            PaperClaim(
                "The regret of ARS-CLW is of order √(T h(2T) N ln N), here T^(2/3).",
                "Theorem 3",
                each(at_most_power, claims.LEARNS, (claims.ARS_CLW,), claims.REGRET, 2.0 / 3.0),
                f"{NEARER}, at the ends of the phases",
            ),
            ours(
                "ARS-CLW learns which arm is better.",
                claims.learns,
                "in its last phase it plays the better arm in more than three steps of four, and more than in the "
                "middle one of its phases",
            ),
            ours(
                "CLW, which knows the delay and the horizon, has less regret than ARS-CLW.",
                claims.less(tuple(claims.LEARNS), (claims.CLW,), (claims.ARS_CLW,)),
                "at the end",
            ),
        ),
        draw=figures.regrets(tuple(claims.LEARNS), (claims.ARS_CLW, claims.CLW), "xy"),
        quick=QuickSize(lanes=10, horizon=256_000),
        choices=(
            "The paper runs ARS-CLW nowhere. In 100,000 steps of W-5 it hardly learns, since a phase of T steps has "
            "some T^(2/3)/5 updates; two arms far apart and 8 million steps are ours.",
            "T^(1) = 1,000 and h(T) = ⌊T^(1/3)⌋ are ours.",
        ),
    ),
)
