"""The measures of reward, regret and fairness that every simulation takes where they are meaningful.

With one play and all arms available the regrets are the papers' ``Σ Δ_i N_i``, ``Σ Δ_i (N_i − r_i t)`` and eq. (10) of
Fang et al. Expected rewards μ stand in for the rewards drawn, and Opt-F's reward is taken given the very arms that were
available: the same means with far less noise. Where the availability sets are too many to list, or means or promises
differ between lanes, Opt-F's mean stands in.

p is the selection vector of the round, given also the score that was drawn in it; p* is that of the fair policy that
knows the means, among the arms available in the round.

Where promises change within a run, the plays that an arm is behind are those of its whole ledger, ``C + r_i (t − t₀) −
(N_i − N_i(t₀))`` with what was carried when its promise last changed, and optima are those of the promises in force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import frozen

from evenhand.core.errors import Faults
from evenhand.core.parts import build, part, several
from evenhand.core.state import Array
from evenhand.core.streams import over_arms
from evenhand.environment.drift import best_dynamic
from evenhand.policy.accounts import owed
from evenhand.simulation.metrics import Metric, MetricLike, Run, check_metric
from evenhand.theory.baseline import Baseline

#: A lane is stuck by what it plays after this part of the rounds so far.
LATE = 0.9
#: The measures by name, in the order in which they are shown.
MEASURES: dict[str, Metric] = {}

M = TypeVar("M", bound=Metric)


def measure(cls: type[M]) -> type[M]:
    """Registers a metric under its own name and enters it into `MEASURES`."""
    cls = part("metric", cls.name)(frozen(cls))
    MEASURES[cls.name] = cls()
    return cls


def by_sums(metric: Metric) -> bool:
    """Whether a metric is one of `MEASURES` and takes its values from sums, without a look at single rounds."""
    return MEASURES.get(metric.name) is metric and type(metric).see is Metric.see


def metrics_of(
    metrics: MetricLike | Sequence[MetricLike], faults: Faults, importing: Callable[[str], object] | None = None
) -> tuple[Metric, ...]:
    """The user's own metrics, each given as one, by the name of its kind, or by a table; one alone is a list of one.

    Those that every run takes are left out.
    """
    own: list[Metric] = []
    for place, form in enumerate(several(metrics)):
        with faults.at("metrics", place):
            metric = build("metric", form, importing)
            if metric not in MEASURES.values():
                own.append(check_metric(metric, {*MEASURES, *(one.name for one in own)}))
    return tuple(own)


class AgainstOptimum(Metric):
    """A metric that compares with the best possible reward."""

    def obstacle(self, baseline: Baseline) -> str:
        """The optimum may be unknown."""
        return baseline.unknown


class OfPromises(Metric):
    """A metric of promised fractions."""

    def applies(self, baseline: Baseline) -> bool:
        """Where fractions are promised."""
        return baseline.fractions is not None


class _OfAnyPromises(Metric):
    """A metric of promised fractions, of all rounds or of a segment."""

    def applies(self, baseline: Baseline) -> bool:
        """Where shares of all rounds or of a segment are promised."""
        return baseline.fractions is not None or baseline.within is not None


@measure
class Reward(Metric):
    """Rewards earned so far."""

    name, label, unit = "reward", "reward earned so far", "reward"
    formula = "``Σ_s Σ_i w_i X_i(s)`` over the plays"

    def value(self, memory: None, run: Run) -> Array:
        """Weighted rewards so far."""
        return run.reward


@measure
class Regret(AgainstOptimum):
    """Regret against the best arms."""

    name, label, unit = "regret", "regret", "reward"
    formula = "``Σ_s (Opt-NF given Z(s)) − Σ_i w_i μ_i N_i``"
    source = "Patil et al. 2019, eq. (2); Fang et al. 2022, eq. (1)"

    def value(self, memory: None, run: Run) -> Array:
        """Opt-NF's expected reward less the policy's."""
        return run.best - run.expected


@measure
class RRegret(AgainstOptimum, _OfAnyPromises):
    """Regret against the best policy that keeps the promises."""

    name, label, unit = "r_regret", "r-regret", "reward"
    formula = "``Σ_s (Opt-F given Z(s)) − Σ_i w_i μ_i N_i``"
    source = "Patil et al. 2019, eq. (3)"

    def value(self, memory: None, run: Run) -> Array:
        """Opt-F's expected reward less the policy's."""
        return run.best_fair - run.expected


@measure
class TimeAveragedRegret(AgainstOptimum):
    """Regret per round, against the best policy that keeps the promises where there are any."""

    name, label, unit = "time_averaged_regret", "time-averaged regret", "reward per round"
    formula = "``r_regret / t``"
    source = "Huang et al. 2020, eq. (3)"

    def value(self, memory: None, run: Run) -> Array:
        """r-regret per round."""
        return np.asarray((run.best_fair - run.expected) / run.round)


@measure
class PenalizedRegret(AgainstOptimum):
    """Regret with penalties for missing plays."""

    name, label, unit = "penalized_regret", "penalised regret", "reward"
    formula = "``t V − Σ_i (w_i μ_i N_i − A_i (r_i t − N_i)_+)``, V the penalised optimum"
    source = "Fang et al. 2022, eq. (10)"

    def applies(self, baseline: Baseline) -> bool:
        """Where there are fractions and penalties."""
        return baseline.fractions is not None and baseline.penalties is not None

    def value(self, memory: None, run: Run) -> Array:
        """The penalised optimum less expected reward and penalties."""
        penalties: Array = over_arms(np.maximum(run.deficits, 0.0), np.asarray(run.baseline.penalties))
        return run.best_penalized - run.expected + penalties


@measure
class Unfairness(OfPromises):
    """Missing plays of all arms together."""

    name, label, unit = "unfairness", "missing plays, all arms", "plays"
    formula = "``Σ_i (r_i t − N_i)_+``"
    source = "Fang et al. 2022, section 6"

    def value(self, memory: None, run: Run) -> Array:
        """Sum of the positive deficits."""
        return over_arms(np.maximum(run.deficits, 0.0))


@measure
class SegmentUnfairness(Metric):
    """Missing plays of all arms in all segments together."""

    name, label, unit = "segment_unfairness", "missing plays, all segments", "plays"
    formula = "``Σ_s Σ_i (r_{s,i} t_s − N_{s,i})_+``, over the rounds of each segment s"

    def applies(self, baseline: Baseline) -> bool:
        """Where shares are promised by segment."""
        return baseline.within is not None

    def value(self, memory: None, run: Run) -> Array:
        """Sum of the positive deficits."""
        assert run.within is not None
        missing = np.maximum(run.within.missing, 0.0)
        return over_arms(missing.reshape(run.lanes, -1))


@measure
class Violation(OfPromises):
    """Missing plays of the arm furthest behind its promise; negative where every arm is ahead."""

    name, label, unit = "violation", "missing plays, arm furthest behind", "plays"
    formula = "``max_i (r_i t − N_i)``"
    source = "Patil et al. 2019, Definition 3"

    def value(self, memory: None, run: Run) -> Array:
        """Largest deficit."""
        return _largest(run.deficits)


@measure
class MaxViolation(OfPromises):
    """The largest violation so far."""

    name, label, unit = "max_violation", "most missing plays so far", "plays"
    formula = "the largest violation up to t"
    source = "Fang et al. 2022, Theorem 4.3"

    def start(self, run: Run) -> Array:
        """The largest deficit of each arm, (lanes, arms)."""
        return np.full((run.lanes, run.arms), -np.inf)

    def see(self, memory: Array, run: Run) -> None:
        """Larger deficits replace smaller ones."""
        # The arm furthest behind is looked for at the checkpoints only, and rounding errors are cut off there.
        fractions: Any = run.baseline.fractions
        behind = fractions * run.round - run.pulls if run.books is None else run.deficits
        np.maximum(memory, behind, out=memory)

    def value(self, memory: Array, run: Run) -> Array:
        """Largest deficit so far."""
        return np.round(_largest(memory), 9)


@measure
class BoundViolation(Metric):
    """Plays by which the floor or cap of an arm or group is missed most; negative where all are kept with room."""

    name, label, unit = "bound_violation", "plays off, floor or cap missed most", "plays"
    formula = "``max_g max(L_g t − N_g, N_g − U_g t)``"

    def applies(self, baseline: Baseline) -> bool:
        """Where the policy promises caps or has groups."""
        return bool(baseline.bounds)

    def value(self, memory: None, run: Run) -> Array:
        """Largest miss."""
        if run.books is not None:
            return _largest(np.concatenate([line.missing for line in run.books.lines()], axis=-1))
        bounds = run.baseline.bounds
        plays = np.asarray(run.pulls @ bounds[0].members)
        floors, caps = np.array([one.floors for one in bounds]), np.array([one.caps for one in bounds])
        rounds = np.asarray(run.round)[..., np.newaxis]
        return _largest(np.maximum(owed(floors, rounds, plays), -owed(caps, rounds, plays)))


class _Sum(Metric):
    """A sum over the rounds."""

    def start(self, run: Run) -> Array:
        """The sum so far, (lanes,)."""
        return np.zeros(run.lanes)

    def value(self, memory: Array, run: Run) -> Array:
        """The sum so far."""
        return memory


class _ByMerit(_Sum):
    """A sum compared with the fair shares by merit."""

    def applies(self, baseline: Baseline) -> bool:
        """Where there is a merit."""
        return baseline.merits is not None


@measure
class RewardRegret(_ByMerit):
    """Reward lost against the fair shares by merit; rounds with a gain count as 0."""

    name, label, unit = "reward_regret", "reward regret", "reward"
    formula = "``Σ_s (Σ_i (p*_i(s) − p_i(s)) w_i μ_i)_+``"
    source = "Chen et al. 2024, eq. (5)"

    def see(self, memory: Array, run: Run) -> None:
        """Adds the loss of the round, if it is one."""
        memory += np.maximum(over_arms(run.missing_shares, run.present_gains), 0.0)


@measure
class FairnessRegret(_ByMerit):
    """Distance of the selection vector from the fair shares by merit, summed over rounds and arms."""

    name, label, unit = "fairness_regret", "fairness regret", "plays"
    formula = "``Σ_s Σ_i |p*_i(s) − p_i(s)|``"
    source = "Chen et al. 2024, eq. (6)"

    def see(self, memory: Array, run: Run) -> None:
        """Adds the distance of the round."""
        memory += over_arms(np.abs(run.missing_shares))


@measure
class CompositeRegret(Regret):
    """The regret, where rewards come back as anonymous sums."""

    name, label = "composite_regret", "composite regret"
    formula = "``t max_i μ_i − Σ_i μ_i N_i``"
    source = "Wang et al. 2021, section 2.1"

    def applies(self, baseline: Baseline) -> bool:
        """Where feedback is anonymous."""
        return baseline.anonymous


@measure
class AdversarialRegret(Metric):
    """Reward lost against the arms that earned most in hindsight."""

    name, label, unit = "adversarial_regret", "regret against the best arm in hindsight", "reward"
    formula = "``max_i Σ_s w_i X_i(s) − Σ_s Σ_i w_i X_i(s)``, the second sum over the plays"
    source = "Wang et al. 2021, section 3.1"

    def applies(self, baseline: Baseline) -> bool:
        """Where rewards come from a log or an adversary."""
        return baseline.in_hindsight

    def start(self, run: Run) -> Array:
        """What each arm would have earned so far, (lanes, arms)."""
        return np.zeros((run.lanes, run.arms))

    def see(self, memory: Array, run: Run) -> None:
        """Adds what each available arm would have earned."""
        potential, available = run.outcome.potential_rewards, run.decision.available
        if potential is not None:
            memory += potential if available is None else potential * available

    def value(self, memory: Array, run: Run) -> Array:
        """The best m arms' reward less the policy's."""
        best = -np.sort(-memory * run.baseline.weights, axis=-1)[..., : run.baseline.plays]
        return np.asarray(best.sum(axis=-1) - run.reward)


@measure
class DynamicRegret(_Sum):
    """Regret against the best arms of every round, where means change."""

    name, label, unit = "dynamic_regret", "dynamic regret", "reward"
    formula = "``Σ_s (max_i w_i μ_i(s) − Σ_i w_i μ_i(s) 1(i plays))``, the m largest of the available arms"
    source = "Garivier & Moulines 2011, section 2"

    def applies(self, baseline: Baseline) -> bool:
        """Where means change."""
        return baseline.drifting is not None

    def see(self, memory: Array, run: Run) -> None:
        """Adds the expected loss of the round."""
        gains = run.present_gains
        best = best_dynamic(gains, run.baseline.plays, available=run.decision.available)
        memory += best - over_arms(run.decision.played.astype(float), gains)


@measure
class DynamicRRegret(_Sum):
    """Regret against the best policy that gives every arm its share in every round, where means change."""

    name, label, unit = "dynamic_r_regret", "dynamic r-regret", "reward"
    formula = "``Σ_s (max_{p ≥ r} Σ_i p_i w_i μ_i(s) − Σ_i w_i μ_i(s) 1(i plays))``, ``Σ_i p_i = m``"

    def applies(self, baseline: Baseline) -> bool:
        """Where means change, shares are promised and no arm sleeps."""
        return baseline.drifting is not None and baseline.fractions is not None and not baseline.sleeping

    def see(self, memory: Array, run: Run) -> None:
        """Adds the expected loss of the round."""
        gains = run.present_gains
        best = best_dynamic(gains, run.baseline.plays, run.baseline.fractions)
        memory += best - over_arms(run.decision.played.astype(float), gains)


@measure
class Stuck(Metric):
    """Whether the m arms played most in the last tenth of the rounds are not the best."""

    name, label, unit = "stuck", "lanes stuck on a worse arm", "share of lanes"
    formula = "1 if the m arms played most since ``9/10 t`` are not the best, else 0"

    def applies(self, baseline: Baseline) -> bool:
        """Where feedback is anonymous and no arm sleeps."""
        return baseline.anonymous and not baseline.sleeping

    def value(self, memory: None, run: Run) -> Array:
        """1 or 0; the last tenth begins at the last checkpoint up to nine tenths."""
        rounds, recorded = np.asarray(run.round), np.asarray(run.recorded_pulls)
        past = np.searchsorted(run.checkpoints, LATE * rounds.reshape(-1), side="right")
        before = np.concatenate([np.zeros((1, *recorded.shape[1:])), recorded])[past]
        late = run.pulls - before.reshape(np.shape(run.pulls))
        plays, gains = run.baseline.plays, np.broadcast_to(run.baseline.gains, run.pulls.shape)
        most = np.argsort(-late, axis=-1, kind="stable")[..., :plays]
        chosen = np.take_along_axis(gains, most, axis=-1).sum(axis=-1)
        best = np.sort(gains, axis=-1)[..., -plays:].sum(axis=-1)
        return np.asarray(chosen < best - 1e-12, dtype=float)


def _largest(values: Any) -> Array:
    """Maxima over the arms; with the arms first, where a maximum runs over whole rows of lanes."""
    return np.asarray(np.ascontiguousarray(np.moveaxis(values, -1, 0)).max(axis=0))
