"""Metrics: what is measured in a run, as parts, and the recorder that runs them over a block of lanes.

A metric keeps only running sums, from which it takes its value at the checkpoints. `evenhand.simulation.measures` has
the metrics of the papers; a metric of your own goes into ``compare(…, metrics=[…])``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, shown
from evenhand.core.parts import Part
from evenhand.core.state import Array, Decision, Outcome
from evenhand.core.streams import over_arms
from evenhand.policy.accounts import owed
from evenhand.policy.shares import proportional
from evenhand.simulation.books import Books, Page
from evenhand.simulation.segments import Within
from evenhand.theory.baseline import Baseline

#: Columns of the result tables that are no measures.
COLUMNS = ("policy", "lane", "round", "arm", "measure", "selection_fractions")


@frozen
class Measure:
    """Name, label and unit of what a metric measures."""

    name: str
    label: str
    unit: str

    @property
    def axis(self) -> str:
        """Label with unit, for the axis of a figure."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


class Run:
    """A block of lanes up to and including the present round: what metrics read.

    All sums over the rounds are computed once for all metrics.

    Attributes:
        baseline: what the policy is measured against.
        lanes: number of lanes in the block.
        arms: number of arms.
        round: the present round, counted from 1; or (checkpoints, 1), see `for_lanes`.
        pulls: (lanes, arms), plays so far.
        decision: of this round.
        outcome: of this round.
        earned: (lanes, arms), rewards earned so far.
        checkpoints: the rounds recorded so far.
        recorded_pulls: (checkpoints, lanes, arms), plays at the checkpoints so far.
        optima: (2, lanes), expected rewards of Opt-NF and Opt-F since the present promises began, where they depend on
            who is available; with contexts (3, lanes), with that under penalties.
    """

    decision: Decision
    outcome: Outcome

    def __init__(self, baseline: Baseline, checkpoints: int, lanes: int, arms: int) -> None:
        """Nothing has happened yet."""
        self.baseline, self.lanes, self.arms = baseline, lanes, arms
        self.round: Any = 0
        self.pulls = np.zeros((lanes, arms))
        self.earned = np.zeros((lanes, arms))
        self.checkpoints: list[int] = []
        self.recorded_pulls = np.zeros((checkpoints, lanes, arms), dtype=np.int32)
        self._by_set = baseline.by_set
        self._codes = None if baseline.by_set is None else 2.0 ** np.arange(arms)
        self.optima = np.zeros((2 if baseline.in_context is None else 3, lanes))
        self._expected = np.zeros(lanes)  # of the plays so far, where that depends on contexts
        self.books: Books | None = None  # where promises change within the run
        self.within: Within | None = None  # where rounds are counted by segment
        self._since, self._earlier = 0, np.zeros((3, lanes))
        self._cache: dict[str, Array] = {}

    def see(self, pulls: Array, decision: Decision, outcome: Outcome) -> None:
        """Take in one round; ``pulls`` (lanes, arms) are the plays up to and including it.

        Args:
            pulls: plays so far.
            decision: of the round.
            outcome: of the round.
        """
        self.decision, self.outcome = decision, outcome
        self._take(decision.round, pulls)
        earned = self.earned
        np.add(earned, outcome.earned, earned)
        if self._by_set is not None and decision.available is not None:
            self.optima += self._by_set[:, (over_arms(decision.available.astype(float), self._codes)).astype(np.intp)]
        if self.baseline.in_context is not None:
            gains = self.present_gains
            segments = None if self.within is None else self.within.segment
            self.optima += self.baseline.in_context.best(gains, decision.available, segments)
            self._expected += over_arms(decision.played.astype(float), gains)

    def for_lanes(self, lanes: slice, rounds: NDArray[np.int64], first: int) -> Run:
        """Some lanes at several checkpoints at once: with their axis before that of the lanes, and rounds (…, 1).

        Args:
            lanes: of a strand.
            rounds: (checkpoints,), all up to now.
            first: the first of those at which it is.
        """
        run = Run(self.baseline.for_lanes(lanes), 0, lanes.stop - lanes.start, self.arms)
        run.checkpoints, run.round = rounds.tolist(), rounds[first:, np.newaxis]
        run.recorded_pulls = self.recorded_pulls[: len(rounds), lanes]
        return run

    def jump(self, round: int, pulls: Array) -> None:
        """Take in several rounds, whose sums ``earned`` and ``optima`` have already.

        Args:
            round: the last of them.
            pulls: plays so far.
        """
        self._take(round, pulls)

    def _take(self, round: int, pulls: Array) -> None:
        self.round, self.pulls = round, pulls
        if self._cache:
            self._cache.clear()
        if self.books is not None:
            self.books.see(round, pulls)

    def open(self, page: Page) -> None:
        """Keep books of what is owed, as promises will change; before the first round.

        Args:
            page: what is promised first.
        """
        self.books = Books(page, self.lanes, self.arms)

    def begin(self, page: Page, baseline: Baseline) -> None:
        """Begin other promises with the next round.

        Args:
            page: what is promised then.
            baseline: what the policy is measured against then.
        """
        assert self.books is not None
        self._earlier = np.array([self.best, self.best_fair, self.best_penalized])
        self._since, self.optima = self.round, np.zeros_like(self.optima)
        self.baseline, self._by_set = baseline, baseline.by_set
        self._codes = None if baseline.by_set is None else 2.0 ** np.arange(self.arms)
        self._cache.clear()
        self.books.begin(page)

    @property
    def reward(self) -> Array:
        """(lanes,), weighted rewards earned so far."""
        return self._once("reward", lambda: over_arms(self.earned * self.baseline.weights))

    @property
    def expected(self) -> Array:
        """(lanes,), expected weighted reward ``Σ_i w_i μ_i N_i`` of the plays so far, each in its own context."""
        if self.baseline.in_context is not None:
            return self._expected.copy()
        return self._once("expected", lambda: over_arms(self.pulls, self.baseline.gains))

    @property
    def present_gains(self) -> Array:
        """(arms,) or (lanes, arms), expected reward ``w_i μ_i(t)`` of a play in this round and context."""

        def present() -> Array:
            if self.baseline.in_context is not None:
                return np.asarray(self.outcome.means) * self.baseline.weights
            if self.baseline.drifting is None:
                return self.baseline.gains
            means = self.baseline.drifting.means_at(np.array([self.round - 1]))[0]
            return np.asarray(means * self.baseline.weights)

        return self._once("present_gains", present)

    @property
    def best(self) -> Array:
        """(lanes,), expected reward of Opt-NF so far, given the arms that were available."""
        return self._optimum(0, self.baseline.best)

    @property
    def best_fair(self) -> Array:
        """(lanes,), expected reward of Opt-F so far, given the arms that were available; of Opt-NF without promises."""
        return self._optimum(1, self.baseline.best if self.baseline.best_fair is None else self.baseline.best_fair)

    @property
    def best_penalized(self) -> Array:
        """(lanes,), expected reward of the penalised optimum so far."""
        return self._optimum(2, self.baseline.best_penalized)

    def _optimum(self, place: int, per_round: Array | None) -> Array:
        """The sum of an optimum so far, of each promise in its own rounds."""
        summed = self.baseline.by_set is not None or self.baseline.in_context is not None
        if summed and place < len(self.optima):
            return np.asarray(self._earlier[place] + self.optima[place])
        rounds = self.round - self._since
        return np.asarray(self._earlier[place] + (0.0 if per_round is None else per_round * rounds))

    @property
    def deficits(self) -> Array:
        """(lanes, arms), plays that each arm is behind its promise, ``r_i t − N_i``; negative where it is ahead."""
        if self.books is not None:
            return self._once("deficits", self.books.missing)
        rounds = np.asarray(self.round)[..., np.newaxis]
        return self._once("deficits", lambda: np.asarray(owed(self.baseline.fractions, rounds, self.pulls)))

    @property
    def missing_shares(self) -> Array:
        """(lanes, arms), fair shares by merit less the selection vector of this round, ``p* − p``."""
        return self._once("missing_shares", self._missing_shares)

    def _missing_shares(self) -> Array:
        baseline, decision = self.baseline, self.decision
        if baseline.in_context is not None:
            deserved = baseline.in_context.fair_shares(np.asarray(self.outcome.means), decision.available)
            return np.asarray(deserved - decision.inclusion)
        fair = baseline.deserved
        if fair is None or decision.available is not None:
            fair = proportional(np.asarray(baseline.merits), baseline.plays, decision.available)
        return np.asarray(fair - decision.inclusion)

    def _once(self, name: str, value: Callable[[], Array]) -> Array:
        """The value, computed at most once per round."""
        known = self._cache.get(name)
        if known is None:
            known = self._cache[name] = value()
        return known


class Metric(Part, ABC):
    """Something to measure in every lane. A class of your own needs a name, a label, a unit and `value`.

    Metrics hold parameters only; what one remembers from round to round is the record that `start` returns, which `see`
    changes in place.

    Attributes:
        name: column in tables and key in JSON, such as ``"regret"``.
        label: in words, for figures.
        unit: of the values, for figures; empty for none.
        formula: at round t, for the documentation.
        source: paper and equation.

    Example:
        >>> import numpy as np
        >>> from evenhand import Environment, Metric, compare
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> class Changes(Metric):
        ...     name, label, unit = "changes", "rounds in which the played arms changed", "rounds"
        ...     def start(self, run):
        ...         return {"last": np.zeros((run.lanes, run.arms), dtype=bool), "count": np.zeros(run.lanes)}
        ...     def see(self, memory, run):
        ...         memory["count"] += (run.decision.played != memory["last"]).any(axis=-1)
        ...         memory["last"] = run.decision.played
        ...     def value(self, memory, run):
        ...         return memory["count"]
        >>> results = compare([ucb1()], Environment(Bernoulli([0.9, 0.5])), horizon=100, lanes=4, metrics=[Changes()])
        >>> bool(results.final()["ucb1"]["changes"]["mean"] > 1)
        True
    """

    name: str
    label: str
    unit: str
    formula: str = ""
    source: str = ""

    @property
    def measure(self) -> Measure:
        """Name, label and unit."""
        return Measure(self.name, self.label, self.unit)

    def applies(self, baseline: Baseline) -> bool:
        """Whether the metric is meaningful for a policy with this baseline; where not, it is left out.

        Args:
            baseline: what the policy is measured against.
        """
        return True

    def obstacle(self, baseline: Baseline) -> str:
        """Why a metric that applies cannot be computed; empty where it can.

        Args:
            baseline: what the policy is measured against.
        """
        return ""

    def start(self, run: Run) -> Any:
        """What the metric remembers, before the first round; None for nothing.

        Args:
            run: before its first round.

        Returns:
            The metric's memory.
        """
        return None

    def see(self, memory: Any, run: Run) -> None:
        """Take in a round; updates ``memory`` in place.

        Args:
            memory: that `start` made.
            run: at the end of the round.
        """

    @abstractmethod
    def value(self, memory: Any, run: Run) -> Array:
        """The value at a checkpoint, (lanes,).

        Args:
            memory: that `start` made.
            run: at the end of the round.

        Returns:
            The values, in the metric's unit.
        """


class MetricRecorder:
    """Runs metrics over one block of lanes."""

    def __init__(self, baseline: Baseline, metrics: Sequence[Metric], checkpoints: int, lanes: int, arms: int) -> None:
        """Nothing has happened yet."""
        self.run = Run(baseline, checkpoints, lanes, arms)
        self.metrics = [(metric, metric.start(self.run)) for metric in metrics]
        # Calls that do nothing would cost as much as the sums: one per metric and round.
        self._watching = [(one.see, memory) for one, memory in self.metrics if type(one).see is not Metric.see]
        self.pulls: NDArray[np.int32] = self.run.recorded_pulls
        self.curves: dict[str, Array] = {metric.name: np.zeros((checkpoints, lanes)) for metric in metrics}

    def see(self, pulls: Array, decision: Decision, outcome: Outcome) -> None:
        """Take in one round; ``pulls`` (lanes, arms) are the plays up to and including it."""
        run = self.run
        run.see(pulls, decision, outcome)
        for see, memory in self._watching:
            see(memory, run)

    def record(self) -> None:
        """Write down the value of every metric at a checkpoint."""
        run = self.run
        place = len(run.checkpoints)
        self.pulls[place] = run.pulls
        for metric, memory in self.metrics:
            values = np.asarray(metric.value(memory, run))
            if values.shape != (run.lanes,):
                raise EvenhandError(
                    f"metric {metric.name!r} must return one number per lane, shape ({run.lanes},), "
                    f"got shape {values.shape}"
                )
            self.curves[metric.name][place] = values
        run.checkpoints.append(run.round)

    def record_strand(
        self,
        lanes: slice,
        rounds: NDArray[np.int64],
        first: int,
        pulls: NDArray[np.int32],
        earned: Array,
        optima: Array,
        memories: Mapping[str, Array],
    ) -> None:
        """Write down some checkpoints of some lanes, of a run whose metrics need these sums and memories only."""
        last = first + len(pulls)
        self.pulls[first:last, lanes] = pulls
        run = self.run.for_lanes(lanes, rounds[:last], first)
        run.pulls, run.earned, run.optima = pulls.astype(float), earned, optima
        for metric, _ in self.metrics:
            self.curves[metric.name][first:last, lanes] = metric.value(memories.get(metric.name), run)


def chosen(metrics: Sequence[Metric], baseline: Baseline) -> tuple[list[Metric], dict[str, str]]:
    """The metrics that can be measured, and the reasons for those that apply but cannot."""
    meaningful = [metric for metric in metrics if metric.applies(baseline)]
    obstacles = {metric.name: metric.obstacle(baseline) for metric in meaningful}
    return (
        [metric for metric in meaningful if not obstacles[metric.name]],
        {name: obstacle for name, obstacle in obstacles.items() if obstacle},
    )


MetricLike: TypeAlias = Metric | str | Mapping[str, object]


def check_metric(metric: object, taken: Collection[str]) -> Metric:
    """Refuse what is not a metric, and names that are taken."""
    if not isinstance(metric, Metric):
        made = f": make an object of it, {metric.__name__}(…)" if isinstance(metric, type) else ""
        raise EvenhandError(f"must be a Metric, or the name of a kind or its table, got {shown(metric)}{made}")
    for part in ("name", "label", "unit"):
        if not isinstance(getattr(metric, part, None), str):
            raise EvenhandError(f"{type(metric).__name__} needs a {part}, a string")
    if metric.name in {*taken, *COLUMNS} or not metric.name:
        raise EvenhandError(f"the name {metric.name!r} of {type(metric).__name__} is taken; give it another one")
    return metric
