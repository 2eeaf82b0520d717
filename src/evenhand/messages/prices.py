"""What promises would cost: the answer of `evenhand.price`, of the service and of its clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from ..core import html
from ..core.dataclasses import dataclass
from ..core.html import Bar
from ..core.intervals import Claim
from .answers import Answer
from .rules import Len

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ArmPrice(Answer):
    """What is known of an arm, and what a promise to it costs; in rewards per play of it."""

    arm: str  # name of the arm
    mean: float  # reward of a play
    low: float  # lower end of the 95% interval of the mean; those of all arms hold together
    high: float  # upper end
    dual: float  # what one more promised play of it costs, under the largest promise


@dataclass(frozen=True)
class PricePoint(Answer):
    """What one promise costs, in rewards per round."""

    promise: str  # in words
    steady: float  # in the long run, when the best arms are known
    low: float  # lower end of the 95% interval of `steady`, which holds for all promises together
    high: float  # upper end
    run: float | None  # in the simulated rounds, in which the policy still learns, on average; null: not simulated
    run_low: float | None  # lower end of the range of 95 of 100 simulated runs
    run_high: float | None  # upper end
    learning: float | None  # what learning adds: `run` less the price in the long run in the same worlds
    shares: Mapping[str, float]  # best shares of the rounds in the long run, by arm


@dataclass(frozen=True)
class SegmentPrice(Answer):
    """What a promise costs in the rounds of one segment, in which it is made; in rewards per round of these."""

    segment: str  # its name
    part: float  # of all rounds, in [0, 1]
    promise: str  # in words, as in the curve
    steady: float  # in the long run
    low: float  # lower end of the 95% interval of `steady`, which holds for all promises and segments together
    high: float  # upper end
    shares: Mapping[str, float]  # best shares of these rounds, by arm


@dataclass(frozen=True)
class Price(Answer):
    """What promises would cost; printed, it is a few sentences."""

    source: str  # where the numbers are from
    unit: str  # of the rewards; empty for none
    best: float  # reward per round in the long run without a promise
    policy: str  # name of the algorithm that was simulated
    rounds: int  # that were simulated; 0 for none
    missed: float | None  # what that policy misses of `best` per round in these rounds without a promise
    curve: tuple[PricePoint, ...]  # by promise
    by_arm: tuple[ArmPrice, ...]  # by arm
    recommended: str  # name of the algorithm to take; of an allocation its own
    parameters: Mapping[str, Any]  # of it, besides the promise
    claim: Claim  # of the intervals: `holds_if` the premises are true; `holds` where means are known
    premises: tuple[str, ...]  # of the intervals: clauses without a full stop
    sentences: tuple[str, ...]  # the answer in words
    assumptions: tuple[str, ...]  # what it rests on, in sentences
    unknown: tuple[str, ...]  # what it cannot say, in sentences
    by_segment: tuple[SegmentPrice, ...] = ()  # by promise and segment, where promises are by segment

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *self.unknown])

    @property
    def holds(self) -> str:
        """Of what the intervals hold, in a sentence; empty where all is known."""
        premises = " and ".join(self.premises)
        return f"The 95% intervals hold for all promises and all arms together if {premises}." if premises else ""

    def _repr_html_(self) -> str:
        """The sentences and the curve, for a notebook."""
        bars = [Bar(one.promise, one.steady, low=one.low, high=one.high) for one in self.curve]
        chart = html.chart(bars, caption=f"cost per round{self._in}; line: 95% interval")
        first, *others = map(html.paragraph, (*self.sentences, *self.unknown))
        return html.notebook(first, *others, chart)

    def figure(self) -> Figure:
        """The cost over the promise: in the long run with its interval, and in the simulated rounds.

        Returns:
            A figure of matplotlib, which can be shown or saved.
        """
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes, places = figure.subplots(), list(range(len(self.curve)))
        reach = [one.steady - one.low for one in self.curve], [one.high - one.steady for one in self.curve]
        steady = [one.steady for one in self.curve]
        axes.errorbar(places, steady, reach, fmt="o", capsize=4, label="in the long run, 95% interval")
        if self.rounds:
            beside = [place + 0.12 for place in places]
            nan = float("nan")
            runs = [(nan, nan, nan) if one.run is None else (one.run_low, one.run, one.run_high) for one in self.curve]
            low, run, high = zip(*runs, strict=True)
            axes.vlines(beside, low, high, color="C1", alpha=0.5)
            label = f"in the first {self.rounds:,} rounds of {self.policy}, 95 of 100 runs"
            axes.plot(beside, run, "s", mfc="none", color="C1", label=label)
        axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
        figure.legend(frameon=False, loc="outside upper left")
        axes.set_xticks(places, [one.promise for one in self.curve])
        axes.set_xlim(-0.5, len(self.curve) - 0.5)
        axes.set_xlabel("promise to each arm")
        axes.set_ylabel(f"cost per round{self._in}")
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    @property
    def _in(self) -> str:
        return f" ({self.unit})" if self.unit else ""


@dataclass(frozen=True)
class LogPrice(Answer):
    """What promises would cost by a log that was sent, and what an allocation that starts from it knows."""

    price: Price  # in the long run; nothing is simulated
    rewards: Annotated[tuple[float, ...], Len(2, 2)]  # the smallest and the largest reward, as said or as in the log
    # by arm `plays`, the number of plays whose rewards are known, and `sum`, of these; as `start_from` takes it
    start_from: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...]  # how the rows were changed when they were read
