"""How well did it go? Measures of reward, regret and fairness.

A `Yardstick` holds what a policy is judged by; a `Ledger` watches one block of lanes through time and keeps only
running sums, from which it takes every measure at the checkpoints.

===================== =================================================== ==================================
measure               formula at round t                                  source
===================== =================================================== ==================================
reward                ``Σ_s Σ_i w_i X_i(s)`` over the plays               —
regret                ``Σ_s (Opt-NF given Z(s)) − Σ_i w_i μ_i N_i``       Patil et al. (2), Fang et al. (1)
r_regret              ``Σ_s (Opt-F given Z(s)) − Σ_i w_i μ_i N_i``        Patil et al. (3)
time_averaged_regret  ``r_regret / t``                                    Huang et al. (3)
penalized_regret      ``t V − Σ_i (w_i μ_i N_i − A_i (τ_i t − N_i)_+)``   Fang et al. (10)
unfairness            ``Σ_i (r_i t − N_i)_+``                             Fang et al. section 6
violation             ``max_i (r_i t − N_i)``                             Patil et al. Definition 3
max_violation         the largest violation up to t                       Fang et al. Theorem 4.3
reward_regret         ``Σ_s max(Σ_i (p*_i − p_i) w_i μ_i, 0)``            Chen et al. (5)
fairness_regret       ``Σ_s Σ_i |p*_i − p_i|``                            Chen et al. (6)
composite_regret      ``t max_i s_i − Σ_i s_i N_i``                       Wang et al. section 2.1
adversarial_regret    ``max_i Σ_s w_i X_i(s) − reward``                    Wang et al. section 3.1
stuck                 1 if the arms played most of late are not the best  —
===================== =================================================== ==================================

With one play and all arms available these are the papers' ``Σ Δ_i N_i``, ``Σ Δ_i (N_i − r_i t)`` and eq. (10). Expected
rewards μ stand in for the rewards drawn, and Opt-F's reward is taken given the very arms that were available: the
same means with far less noise. Where the availability sets are too many to list, or means or promises differ between
lanes, Opt-F's mean stands in.

A lane is stuck at round t if the arms that it played most since 9/10 t (the last checkpoint up to there) are worse than
the best; it is told where rewards come back as anonymous sums and all arms are available.

p is the selection vector of the round, given also the worth that was drawn in it; p* is that of the fair policy that
knows the means, among the arms available in the round.
"""

from __future__ import annotations

import bisect
import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.availability import MAX_ENUMERATED, Always
from evenhand.environment import Environment
from evenhand.fairness import owed
from evenhand.feasibility import check_shares
from evenhand.oracle import Optimum, fair_shares, merits_of, optimal, optimal_fair, optimal_penalized
from evenhand.policy import Policy
from evenhand.records import Array, Decision, Outcome
from evenhand.rewards import Table, Winners
from evenhand.shares import proportional
from evenhand.spread import Spread

#: The measures, in the order in which they are shown.
MEASURES = (
    "reward",
    "regret",
    "r_regret",
    "time_averaged_regret",
    "penalized_regret",
    "unfairness",
    "violation",
    "max_violation",
    "reward_regret",
    "fairness_regret",
    "composite_regret",
    "adversarial_regret",
    "stuck",
)
#: A lane is stuck by what it plays after this part of the rounds so far.
LATE = 0.9


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What a policy is judged by: its promises, or else the environment's, and what a prophet would do.

    The optima and the (…, arms) arrays have one row a lane where the environment's means or the promises differ between
    lanes. ``given`` is indexed by the code of an availability set, ``Σ_{i∈Z} 2^i``.
    """

    plays: int  # arms played a round
    worth: Array  # (…, arms) expected reward w_i μ_i of a play
    weights: Array  # (…, arms) what a unit of reward counts
    fractions: Array | None  # (…, arms) promised shares
    penalties: Array | None  # (…, arms) price of a missing play
    best: Array  # () or (lanes,) Opt-NF a round
    best_fair: Array | None  # () or (lanes,) Opt-F a round
    best_penalized: Array | None  # () or (lanes,) penalised optimum a round
    sleeping: bool  # whether arms may be unavailable
    given: Array | None  # (2, codes) Opt-NF and Opt-F given the available set; None: not known or not needed
    merits: Array | None  # (…, arms) merit f(μ_i) of each arm; None where shares are not judged by merit
    deserved: Array | None  # (…, arms) shares p* of the fair policy, on average over the available sets; None: unknown
    anonymous: bool  # whether rewards come back as anonymous sums
    hindsight: bool  # whether the best arm in hindsight is a yardstick: for logs and adversaries
    by_merit: bool  # whether the shares promised are those by merit, and not the fractions

    @property
    def promised(self) -> Array | None:
        """What the policy promises by fractions or merit of its own, or else the environment, (…, arms)."""
        return self.deserved if self.by_merit else self.fractions

    def for_lanes(self, lanes: slice) -> Yardstick:
        """The rows of the given lanes."""
        rows = {
            name: getattr(self, name) for name in ("worth", "weights", "fractions", "penalties", "merits", "deserved")
        }
        optima = {name: getattr(self, name) for name in ("best", "best_fair", "best_penalized")}
        cut = {name: value[lanes] for name, value in rows.items() if np.ndim(value) == 2}
        return dataclasses.replace(self, **cut, **{n: v[lanes] for n, v in optima.items() if np.ndim(v) == 1})


def yardstick(policy: Policy, environment: Environment, label: str = "") -> Yardstick:
    """What ``policy`` is judged by in ``environment``.

    Args:
        policy: its own fractions, penalties, weights and merit come before the environment's.
        environment: rewards and availability, and promises for policies without their own.
        label: the policy's name in messages.

    Raises:
        InfeasiblePromise: the promised shares cannot be kept.
        EvenhandError: shares are judged by merit, but a mean is not in [0, 1].

    Example:
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.environment import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> round(float(yardstick(fucb([0.1, 0.2]), Environment(Bernoulli([0.9, 0.4]))).best_fair), 3)
        0.8
    """
    arms, availability, plays = environment.arms, environment.availability, policy.plays
    own = {
        "fractions": policy.fractions,
        "penalties": policy.fairness.penalties,
        "weights": policy.fairness.weights,
    }
    stakes = {name: getattr(environment, name) if value is None else value for name, value in own.items()}
    fractions, penalties, weights = (_filled(stakes[name], arms) for name in ("fractions", "penalties", "weights"))
    weights = np.ones(arms) if weights is None else weights
    worth = environment.means * weights
    if fractions is not None:
        owner = "[environment]" if policy.fractions is None else repr(label) if label else ""
        check_shares(fractions, plays, availability, environment.names, owner)
    free = [optimal(row, plays, availability) for row in np.atleast_2d(worth)]
    fair = penalized = None
    if fractions is not None:
        rows = zip(*_rows(worth, fractions), strict=True)
        fair = [optimal_fair(value, share, plays, availability) for value, share in rows]
        if penalties is not None:
            penalized = [
                optimal_penalized(value, share, price, plays, availability)
                for value, share, price in zip(*_rows(worth, fractions, penalties), strict=True)
            ]
    merit = environment.merit if policy.merit is None else policy.merit
    return Yardstick(
        plays=plays,
        worth=worth,
        weights=weights,
        fractions=fractions,
        penalties=penalties,
        best=_values(free),
        best_fair=None if fair is None else _values(fair),
        best_penalized=None if penalized is None else _values(penalized),
        sleeping=not isinstance(availability, Always),
        given=_given(environment, free, free if fair is None else fair),
        anonymous=isinstance(environment.feedback, Spread),
        hindsight=isinstance(environment.rewards, Table | Winners),
        merits=None if merit is None else merits_of(merit, environment.means),
        deserved=None if merit is None else fair_shares(merit, environment.means, plays, availability),
        by_merit=policy.fractions is None and merit is not None and (policy.merit is not None or fractions is None),
    )


def _filled(values: Any, arms: int) -> Array | None:
    """One value an arm, whether one was given for all or one for each; rows of `PerLane` are opened."""
    if values is None:
        return None
    array = np.asarray(getattr(values, "values", values), dtype=float)
    return np.broadcast_to(array, (*array.shape[:-1], arms))


def _rows(*arrays: Array) -> list[Array]:
    """The arrays with one row a lane, where any has."""
    lanes = max(len(array) if array.ndim == 2 else 1 for array in arrays)
    return [np.broadcast_to(array, (lanes, array.shape[-1])) for array in arrays]


def _values(optima: list[Optimum]) -> Array:
    values = np.array([optimum.value for optimum in optima])
    return values[0] if len(values) == 1 else values


def _given(environment: Environment, free: list[Optimum], fair: list[Optimum]) -> Array | None:
    arms, availability = environment.arms, environment.availability
    if isinstance(availability, Always) or arms > MAX_ENUMERATED or len(free) > 1 or len(fair) > 1:
        return None
    listed = availability.distribution(arms)
    if listed is None or free[0].given is None or fair[0].given is None:
        return None
    given = np.zeros((2, 2**arms))
    codes = listed[0] @ (1 << np.arange(arms))
    # A set may stand in the list more than once.
    total = np.bincount(codes, listed[1], minlength=2**arms)
    for place, optimum in enumerate((free[0], fair[0])):
        assert optimum.given is not None
        sums = np.bincount(codes, listed[1] * optimum.given, minlength=2**arms)
        given[place] = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    return given


class Ledger:
    """Running sums over one block of lanes, and the measures at the checkpoints."""

    def __init__(self, yardstick: Yardstick, checkpoints: int, lanes: int, arms: int) -> None:
        """Nothing has happened yet."""
        self.pulls = np.zeros((checkpoints, lanes, arms), dtype=np.int32)
        self.curves: dict[str, Array] = {}  # measure → (checkpoints, lanes)
        self._yardstick = yardstick
        self._codes = 2.0 ** np.arange(arms)
        self._earned = np.zeros((lanes, arms))
        self._worst = np.full((lanes, arms), -np.inf)
        self._best = np.zeros((2, lanes))
        self._below = np.zeros((2, lanes))  # reward regret and fairness regret
        self._offered = np.zeros((lanes, arms))
        self._kept: list[int] = []  # the checkpoints so far

    def see(self, pulls: Array, decision: Decision, outcome: Outcome) -> None:
        """Take in one round; ``pulls`` (lanes, arms) are the plays up to and including it."""
        yardstick = self._yardstick
        self._earned += outcome.earned
        if yardstick.fractions is not None:
            # Which arm is furthest behind is asked at the checkpoints only, and there rounding errors are cut off.
            deficit = yardstick.fractions * decision.round - pulls
            np.maximum(self._worst, deficit, out=self._worst)
        if yardstick.given is not None and decision.available is not None:
            code = (decision.available.astype(float) @ self._codes).astype(np.intp)
            self._best += yardstick.given[:, code]
        if yardstick.merits is not None:
            self._judge(yardstick, decision)
        if yardstick.hindsight and outcome.offered is not None:
            awake = decision.available
            self._offered += outcome.offered if awake is None else outcome.offered * awake

    def _judge(self, yardstick: Yardstick, decision: Decision) -> None:
        """The regrets of one round against the fair policy among the available arms."""
        fair = yardstick.deserved
        if fair is None or decision.available is not None:
            fair = proportional(np.asarray(yardstick.merits), yardstick.plays, decision.available)
        missing = fair - decision.vector
        short = missing @ yardstick.worth if yardstick.worth.ndim == 1 else _totals(missing * yardstick.worth)
        self._below[0] += np.maximum(short, 0.0)
        self._below[1] += _totals(np.abs(missing, out=missing))

    def keep(self, round: int, pulls: Array) -> None:
        """Write down the measures at a checkpoint."""
        place = len(self._kept)
        self.pulls[place] = pulls
        for name, values in self._measures(round, pulls).items():
            self.curves.setdefault(name, np.zeros(self.pulls.shape[:2]))[place] = values
        self._kept.append(round)

    def _stuck(self, round: int, pulls: Array) -> Array:
        """1 where the m arms played most in the last tenth of the rounds are not the best, (lanes,)."""
        past = bisect.bisect_right(self._kept, LATE * round)
        late = pulls - self.pulls[past - 1] if past else pulls
        plays, worth = self._yardstick.plays, np.broadcast_to(self._yardstick.worth, pulls.shape)
        most = np.argsort(-late, axis=-1, kind="stable")[:, :plays]
        reached = np.take_along_axis(worth, most, axis=-1).sum(axis=-1)
        best = np.sort(worth, axis=-1)[:, -plays:].sum(axis=-1)
        return np.asarray(reached < best - 1e-12, dtype=float)

    def _measures(self, round: int, pulls: Array) -> dict[str, Array]:
        """Every measure that the yardstick gives a sense to, (lanes,)."""
        yardstick = self._yardstick
        expected = pulls @ yardstick.worth if yardstick.worth.ndim == 1 else _totals(pulls * yardstick.worth)
        if yardstick.given is not None:
            best, best_fair = self._best
        else:
            best = yardstick.best * round
            best_fair = best if yardstick.best_fair is None else yardstick.best_fair * round
        found = {
            "reward": _totals(self._earned * yardstick.weights),
            "regret": best - expected,
            "time_averaged_regret": (best_fair - expected) / round,
        }
        if yardstick.anonymous:
            found["composite_regret"] = found["regret"]
            if not yardstick.sleeping:
                found["stuck"] = self._stuck(round, pulls)
        if yardstick.hindsight:
            best_arms = -np.sort(-self._offered * yardstick.weights, axis=-1)[:, : yardstick.plays]
            found["adversarial_regret"] = best_arms.sum(axis=-1) - found["reward"]
        if yardstick.merits is not None:
            found |= {"reward_regret": self._below[0].copy(), "fairness_regret": self._below[1].copy()}
        if yardstick.fractions is None:
            return found
        deficit = owed(yardstick.fractions, round, pulls)
        missing = np.maximum(deficit, 0.0)
        if yardstick.best_penalized is not None:
            penalty = _totals(yardstick.penalties * missing)
            found["penalized_regret"] = yardstick.best_penalized * round - expected + penalty
        return found | {
            "r_regret": best_fair - expected,
            "unfairness": _totals(missing),
            "violation": _largest(deficit),
            "max_violation": np.round(_largest(self._worst), 9),
        }


def _totals(values: Array) -> Array:
    """Sums over the arms; a product is faster than a sum over a short last axis."""
    return np.asarray(values @ np.ones(values.shape[-1]))


def _largest(values: Array) -> Array:
    """Maxima over the arms; with the arms first, where a maximum runs over whole rows of lanes."""
    return np.asarray(np.ascontiguousarray(values.T).max(axis=0))
