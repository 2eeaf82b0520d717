"""The experiments of Patil et al. 2019, section 6: minimum shares of the rounds, one play a round."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from evenhand.papers import panels
from evenhand.papers.claims import Test, alike, at, below, kept, logarithmic, lower, within
from evenhand.papers.experiment import Experiment, Finding, PaperClaim, QuickSize, Run, Runs
from evenhand.results import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTING = "Ten Bernoulli arms with means 0.80, 0.79, …, 0.71, one play a round; every policy faces the same rewards."
HORIZON = "The paper gives no horizon; 100,000 rounds are ours."
ETA = "The paper gives no η for η-FUCB in its first two plots; 0.001 is ours."
SURPLUS = (
    "As printed, η-FUCB also counts plays beyond the promise against an arm, the best one's above all. The variant "
    "“surplus ignored” counts missing plays only; both are shown."
)
LIKE = 0.1  # "follows closely" and "similar": within a tenth
ETAS = ("0", "0.0001", "0.001", "0.01", "0.1", "1")


def _near_ucb1(runs: Runs) -> list[Finding]:
    run = runs["p2a"]
    return [alike(run, "regret", label, "UCB1", LIKE) for label in ("FUCB", "η-FUCB", "LFG")]


def _ignored_near_ucb1(runs: Runs) -> list[Finding]:
    return [alike(runs["p2a"], "regret", "η-FUCB, surplus ignored", "UCB1", LIKE)]


def _r_regret_like_regret(runs: Runs) -> list[Finding]:
    run = runs["p2b"]
    regret = at(run, "UCB1", "regret")
    gap = (at(run, "FUCB", "r_regret") - regret) / regret.mean()
    return [within("r-regret of FUCB less regret of UCB1, as a part of the latter", gap, -LIKE, LIKE)]


def _lfg_lowest(runs: Runs) -> list[Finding]:
    return [lower(runs["p2b"], "r_regret", "LFG", other) for other in ("FUCB", "F-TS", "η-FUCB")]


def _logarithmic(runs: Runs) -> list[Finding]:
    return [logarithmic(runs["p2b"], label, "r_regret") for label in ("FUCB", "LFG")]


def _never_behind(runs: Runs) -> list[Finding]:
    run = runs["p2b"]
    return [
        below(f"most plays that any arm was ever behind: {label}", at(run, label, "max_violation"), 1.0, " play")
        for label in ("FUCB", "F-TS")
    ]


def _rises_with_eta(surplus: str) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run = runs["p2c"]
        return [lower(run, "r_regret", _label(surplus, one), _label(surplus, next)) for one, next in pairwise(ETAS)]

    return test


def _satisfied(surplus: str) -> Test:
    return lambda runs: [kept(runs["p2c"], _label(surplus, ETAS[-1]))]


def _still_logarithmic(surplus: str) -> Test:
    return lambda runs: [logarithmic(runs["p2c"], _label(surplus, ETAS[-1]), "r_regret")]


def _label(surplus: str, eta: str) -> str:
    return f"η-FUCB surplus={surplus} eta={eta}"


def _figure(part: str, measures: tuple[str, ...]) -> Callable[[Runs], Figure]:
    def draw(runs: Runs) -> Figure:
        run = runs[part]

        def panel(number: int, axes: Axes) -> None:
            panels.curves(axes, run, measures[number])

        return panels.grid(len(measures), panel, columns=2, note=panels.lanes_of(run))

    return draw


def _over_eta(runs: Runs) -> Figure:
    run = runs["p2c"]
    titles = {"counted": "as printed: surpluses counted", "ignored": "surpluses ignored"}

    def panel(number: int, axes: Axes) -> None:
        surplus = list(titles)[number]
        for place, (measure, name) in enumerate({"regret": "regret", "r_regret": "r-regret"}.items()):
            _eta_line(axes, run, surplus, measure, name, place)
        axes.axhline(0.0, color="#999999", linewidth=0.8)
        panels.finish(axes, "η", "a round, after all rounds (reward)", title=titles[surplus])
        axes.set_xscale("symlog", linthresh=1e-4)
        axes.set_xticks([float(eta) for eta in ETAS], ["0", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"])
        axes.minorticks_off()

    return panels.grid(2, panel, columns=2, note=f"{panels.lanes_of(run)}, smaller than the markers")


def _eta_line(axes: Axes, run: Run, surplus: str, measure: str, name: str, place: int) -> None:
    found = [mean_and_error(at(run, _label(surplus, eta), measure) / run.setup.horizon) for eta in ETAS]
    means, errors = [float(mean) for mean, _ in found], [float(error) for _, error in found]
    panels.points(axes, [float(eta) for eta in ETAS], means, errors, name, place)


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
                _near_ucb1,
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
                _ignored_near_ucb1,
                "closely: within 10 %",
            ),
        ),
        draw=_figure("p2a", ("regret",)),
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
                _r_regret_like_regret,
                "similar: within 10 % in the end",
            ),
            PaperClaim("LFG has a lower r-regret than the proposed algorithms.", "section 6", _lfg_lowest),
            PaperClaim("The r-regret of FUCB and of LFG is logarithmic.", "section 6", _logarithmic),
            PaperClaim("FUCB and F-TS leave no arm a whole play behind, at no time.", "Theorem 4", _never_behind),
        ),
        draw=_figure("p2b", ("regret", "r_regret")),
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
            PaperClaim("As η grows, the r-regret a round grows.", "section 6", _rises_with_eta("counted")),
            PaperClaim("For large η the promises are kept.", "section 6", _satisfied("counted"), "at η = 1"),
            PaperClaim(
                "Even for large η the r-regret is logarithmic.", "section 6", _still_logarithmic("counted"), "at η = 1"
            ),
            PaperClaim(
                "With surpluses ignored: as η grows, the r-regret a round grows.", "ours", _rises_with_eta("ignored")
            ),
            PaperClaim(
                "With surpluses ignored: for large η the promises are kept.", "ours", _satisfied("ignored"), "at η = 1"
            ),
            PaperClaim(
                "With surpluses ignored: even for large η the r-regret is logarithmic.",
                "ours",
                _still_logarithmic("ignored"),
                "at η = 1",
            ),
        ),
        draw=_over_eta,
        quick=QuickSize(lanes=20, horizon=20_000),
        choices=(HORIZON, "The paper does not list its values of η; 0, 10⁻⁴, …, 1 are ours.", SURPLUS),
    ),
)
