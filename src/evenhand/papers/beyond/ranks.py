"""Rank within one's group: Fair-Greedy on candidates whose groups earn differently (Grazzi et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.state import Array
from evenhand.environment.contexts import Context, Contexts
from evenhand.judgement.claims import Finding
from evenhand.papers.beyond.linear_late import SEEN
from evenhand.papers.claims import each, less
from evenhand.papers.experiment import Experiment, ExperimentTable, PaperClaim, QuickSize, Runs, ours
from evenhand.papers.panels import THIN, averages, finish, lanes_of, name_arms
from evenhand.papers.verdicts import NEARER, at, at_most_power, linear, shares, within
from evenhand.simulation.figures.panel import bars, grid, line, mean_and_reach
from evenhand.simulation.metrics import Metric, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@frozen(eq=False)
class Candidates(Contexts):
    """A new candidate of each group in every round: numbers in [0, 1] in the group's own columns, 0 in the others.

    The last column is what sets the group apart, the same for all of its candidates; the situation is an intercept.
    """

    own: int = field(converter=validate.count)  # columns of each group
    offsets: Array = field(converter=validate.nonnegatives)  # (groups,)

    @property
    def widths(self) -> tuple[int, int]:
        """The intercept, and the columns of all groups with the last one."""
        return 1, self.own * len(self.offsets) + 1

    @property
    def arms(self) -> int:
        """One for each group."""
        return len(self.offsets)

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int, arms: int) -> Context:
        """Candidates of some rounds, (rounds, lanes, groups, columns)."""
        shape, groups = (len(rows), lanes), np.arange(arms)
        features = np.zeros((*shape, arms, arms, self.own))
        features[:, :, groups, groups] = rng.random((*shape, arms, self.own))
        offsets = np.broadcast_to(self.offsets[:, np.newaxis], (*shape, arms, 1))
        return Context(np.ones((*shape, 1)), np.concatenate([features.reshape(*shape, arms, -1), offsets], axis=-1))


@frozen
class FairPseudoRegret(Metric):
    """How far the ranks of those chosen, each in its own group, are below the highest rank of the round."""

    name, label, unit = "fair_pseudo_regret", "fair pseudo-regret", "ranks"
    formula = "``Σ_s (max_a F_a(μ_a(s)) − F_a(s)(μ_a(s)(s)))``, F_a the distribution of an arm's means"
    source = "Grazzi et al. 2022, section 2"

    def start(self, run: Run) -> tuple[Array, Array]:
        """The means of each arm in contexts that stand for all, sorted, and the sum so far, (lanes,)."""
        known = run.baseline.in_context
        assert known is not None
        return np.sort(known.means, axis=0), np.zeros(run.lanes)

    def see(self, memory: tuple[Array, Array], run: Run) -> None:
        """Add the ranks that are missing in the round."""
        means, total = memory
        present = np.asarray(run.outcome.means)
        ranks = np.stack(
            [np.searchsorted(column, one, side="right") for column, one in zip(means.T, present.T, strict=True)], -1
        )
        total += (ranks.max(axis=-1) - (ranks * run.decision.played).sum(axis=-1)) / len(means)

    def value(self, memory: tuple[Array, Array], run: Run) -> Array:
        """The sum so far."""
        return memory[1]


PART, MEASURE = "ranks", FairPseudoRegret.name
FAIR, OTHERS = "Fair-Greedy", ("OFUL", "greedy", "uniform")


def alike(runs: Runs) -> Iterator[Finding]:
    """Every group has the same share of the plays."""
    found = shares(runs[PART], FAIR)
    even = 1.0 / found.shape[1]
    for place, group in enumerate(runs[PART].results.names):
        yield within(f"share of group {group}: {FAIR}", found[:, place], even - 0.01, even + 0.01)


def of_ranks(runs: Runs) -> Figure:
    """The fair pseudo-regret over the rounds, and the share of every group."""
    run = runs[PART]

    def panel(axes: Axes, shown: str) -> None:
        for place, (label, result) in enumerate(run.results.policies.items()):
            if shown == "shares":
                bars(axes, place, len(OTHERS) + 1, *mean_and_reach(shares(run, label).T), label=label)
            else:
                line(axes, place, label, run.results.rounds, result.curves[MEASURE], log="xy", **THIN)
        if shown == "shares":
            name_arms(axes, run)
            axes.set_ylim(0.0, 1.0)
        else:
            finish(axes, "round", FairPseudoRegret().measure.axis, "xy")

    return grid([MEASURE, "shares"], panel, columns=2, note=lanes_of(run, "bands and whiskers"))


def numbers(runs: Runs) -> list[ExperimentTable]:
    """What every policy lost in ranks and in reward."""
    run = runs[PART]
    columns = {"fair pseudo-regret (ranks)": MEASURE, "regret (reward)": "regret"}
    cells = {title: partial(at, run, measure=measure) for title, measure in columns.items()}
    return [averages("at the end", run.results.policies, cells)]


EXPERIMENTS = (
    Experiment(
        id="X-R",
        title="The best of one's group: rank in place of reward",
        figure="figure of the simulation of Grazzi et al. 2022",
        setting="Four groups send a candidate each in every round, with four features of the group's own, uniform on "
        "[0, 1]. The reward is linear in them and differs by group in its spread, and by up to 16 in what is added to "
        "all of a group. Regret is counted in ranks: how far the rank of the chosen candidate in its own group is "
        "below the highest. Fair-Greedy beside OFUL, ridge regression without exploration (greedy) and an even choice "
        "(uniform). 5,000 rounds, 40 lanes.",
        parts=(PART,),
        claims=(
            PaperClaim(
                "The fair pseudo-regret of Fair-Greedy is at most of order √T, up to logarithms.",
                "Grazzi et al. 2022, abstract",
                each(at_most_power, PART, (FAIR,), MEASURE, 0.5),
                NEARER,
            ),
            PaperClaim(
                "Fair-Greedy satisfies demographic parity: every group is chosen as often.",
                "Grazzi et al. 2022, abstract",
                alike,
                "as often: its share lies within a percentage point of a quarter",
            ),
            ours(
                "Fair-Greedy has less fair pseudo-regret than OFUL, greedy and uniform choices.",
                less(PART, (FAIR,), OTHERS, (MEASURE,)),
            ),
            ours("The fair pseudo-regret of the others grows linearly.", each(linear, PART, OTHERS, MEASURE)),
        ),
        draw=of_ranks,
        quick=QuickSize(lanes=4, horizon=1_000),
        tables=numbers,
        choices=(
            "Coefficients, offsets, noise and the ridge are those of the authors' code for four groups and features "
            "uniform on [0, 1]; 5,000 rounds and 40 lanes are ours.",
            "The authors' rewards have no limits and normal noise. Ours have uniform noise with the same deviation "
            "and lie between −4 and 28, and an intercept beside the features takes up that policies get them on the "
            "scale [0, 1].",
            "Fair-Greedy keeps the scores of the last 1,000 candidates as of their round; the paper scores candidates "
            "of the last half of the rounds anew, with an estimate from the first half.",
            "OFUL has the radius of the theorem of Abbasi-Yadkori et al. 2011; the authors' code multiplies by √ln t.",
            SEEN,
            "The paper's experiments on the US census are not run: the data do not ship.",
        ),
    ),
)
