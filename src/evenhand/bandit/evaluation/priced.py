"""What a price is computed from: means with intervals that hold together, who is available, and a world to simulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.algorithms.recommendation import which
from evenhand.bandit.audit.account import Account
from evenhand.bandit.bandit import Bandit
from evenhand.bandit.evaluation.intervals import FIXED
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.world import Fit
from evenhand.core.errors import DataError, EvenhandError, nearest
from evenhand.core.intervals import Claim
from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability
from evenhand.environment.rewards import UNIT
from evenhand.environment.world import Environment
from evenhand.inference.means import CONFIDENCE, shrunk
from evenhand.inference.sequences import mean_rewards
from evenhand.inference.sums import simultaneous
from evenhand.judgement.merits import allowed_shares
from evenhand.messages.answers import Recommendation
from evenhand.policy.custom_merit import as_merit
from evenhand.policy.groups import with_places
from evenhand.policy.merit import Merit
from evenhand.policy.shares import proportional
from evenhand.theory.bounded import Bounds, best_bounded, bounds_of
from evenhand.theory.prices import cost_of_shares


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of the arms; rewards in the user's unit."""

    source: str
    names: tuple[str, ...]
    means: Array  # (arms,), likely ones
    low: Array  # (arms,), ends of the intervals, which hold for all arms together
    high: Array
    limits: tuple[float, float]  # the smallest and the largest reward
    plays: int = 1
    availability: Availability = field(default_factory=Always)
    unit: str = ""
    rounds: int | None = None  # decisions of the log
    world: Environment | None = None  # that is simulated
    fit: Fit | None = None  # by which it is drawn anew
    estimated: bool = True  # whether the means are
    claim: Claim = "holds_if"
    premises: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def best(self) -> float:
        """Reward per round in the long run without a promise."""
        return float(self.best_in(self.means[np.newaxis])[0])

    def bounds(self, table: Mapping[str, Any]) -> Bounds:
        """The bounds of a promise."""
        given = table.get("fractions"), table.get("caps"), table.get("groups", [])
        return bounds_of(len(self.names), *given, self.names)

    def plain(self, table: Mapping[str, Any]) -> bool:
        """Whether a promise is of shares alone, and all arms are always available, so that no program is needed."""
        return set(table) == {"fractions"} and not self.availability.traits.sleeping

    def worlds(self, lanes: int, seed: int) -> Environment:
        """The world to simulate; drawn anew for every lane where it was fitted."""
        assert self.world is not None
        return self.world if self.fit is None else self.fit.environment(lanes, seed)

    def best_in(self, means: Array) -> Array:
        """(lanes,), reward per round in the long run without a promise in each of several worlds."""
        if not self.availability.traits.sleeping:
            return np.asarray(np.sort(means, axis=1)[:, -self.plays :].sum(axis=1))
        none = self.bounds({})
        return np.array([best_bounded(row, none, self.plays, self.availability)[0] for row in means])

    def long_run(self, means: Array, table: Mapping[str, Any]) -> Array:
        """(lanes,), what a promise costs in the long run in each of several worlds."""
        if self.plain(table):
            return cost_of_shares(means, np.asarray(table["fractions"]), self.plays)
        kept = self.bounds(table)
        fair = [best_bounded(row, kept, self.plays, self.availability)[0] for row in means]
        return np.asarray(self.best_in(means) - np.array(fair))

    def deserved(self, merit: Merit) -> tuple[Array, float, float]:
        """(arms,), shares by merit, and the range of what they cost, from those that arms may deserve."""
        if self.availability.traits.sleeping:
            raise EvenhandError("the price of shares by merit is not computed where arms are sometimes not available")
        smallest, span = self.limits[0], self.limits[1] - self.limits[0]
        ends = np.array([self.means, self.low, self.high])
        means, low, high = np.clip((ends - smallest) / span, 0.0, 1.0)
        least, most = allowed_shares(merit, low, high, self.plays)
        free = [float(np.sort(end)[-self.plays :].sum()) for end in (low, high)]
        ends = span * np.maximum([free[0] - most @ high, free[1] - least @ low], 0.0)
        return np.asarray(proportional(merit(means), self.plays)), float(ends[0]), float(ends[1])

    def promise(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a promise, in the order of the arms."""
        found: dict[str, Any] = {}
        for name, value in table.items():
            if name not in ("fractions", "caps", "groups", "merit") or (name == "merit" and len(table) > 1):
                raise EvenhandError(f"unknown key {name!r}; a promise has fractions, caps and groups, or merit")
            if name == "merit":
                return {"merit": as_merit(value)}
            if isinstance(value, Mapping):
                for arm in value:
                    if arm not in self.names:
                        raise EvenhandError(f"{name} has an unknown arm {arm!r}{nearest(str(arm), self.names)}")
                value = [float(value.get(arm, 0.0 if name == "fractions" else 1.0)) for arm in self.names]
            found[name] = with_places(value, self.names) if name == "groups" else value
        return found

    def words(self, table: Mapping[str, Any]) -> str:
        """A promise in words."""
        if "merit" in table:
            return "shares by merit"
        parts = [
            f"{name} {', '.join(f'{arm} {share:.4g}' for arm, share in value.items())}"
            for name, value in table.items()
            if isinstance(value, Mapping)
        ]
        return "; ".join(parts) or "groups" if "groups" in table or parts else ", ".join(table)

    def say(self, amount: float) -> str:
        """An amount of reward, with its unit."""
        return f"{amount:.3g}{self.unit and ' ' + self.unit}"

    def recommended(self) -> Recommendation:
        """The algorithm to take, and why."""
        late = self.fit is not None and self.fit.late.dependent
        found = which("share", "dependent" if late else "late", several=self.plays > 1) or which("share")
        return found[0]


def facts_of(source: Log | Environment | Bandit) -> Facts:
    """What is known from a log, an environment or a bandit."""
    if isinstance(source, Log):
        return _of_log(source)
    return of_account(Account(source._record)) if isinstance(source, Bandit) else _of_environment(source)


def _of_log(log: Log) -> Facts:
    if log.plays is None:
        raise DataError(f"{log.source} is a part of a log, which has no price; take the whole")
    fit = Fit(log.plays)
    world = fit.environment()
    seen, known, low, high = fit.means(CONFIDENCE)
    even = len(np.unique(fit.weight)) == 1 or all(
        len(np.unique(fit.weight[fit.item == arm])) == 1 for arm in range(len(log.items))
    )
    premises: tuple[str, ...] = ("what an arm earns does not change",)
    if even:  # else the log's policy may have learned
        *ends, serves = fit.one_look(CONFIDENCE)
        low, high = (np.where(serves, new, old) for new, old in zip(ends, (low, high), strict=True))
        premises += (FIXED,)
    else:
        premises += ("plays with unequal propensities count as fewer of equal ones",)
    if log.reading.rewards is None and fit.limits != (0.0, 1.0):
        premises += ("no reward lies beyond those in the log",)
    means = _likely(seen, known, low, high, fit.limits)
    per_round = max(1, round(log.rows / log.rounds))
    return Facts(
        log.source, log.items, means, low, high, fit.limits, per_round, world.availability, log.reading.unit,
        log.rounds, world, fit, premises=premises, assumptions=world.assumptions,
    )  # fmt: skip


def _of_environment(world: Environment) -> Facts:
    means = np.asarray(world.means)
    if means.ndim > 1:
        raise EvenhandError("an environment whose means differ between lanes has no single price")
    return Facts(
        "the environment", world.names, means, means, means, world.range or UNIT, 1, world.availability, world=world,
        estimated=False, claim="holds", assumptions=("The means of the environment are known.",),
    )  # fmt: skip


def of_account(account: Account) -> Facts:
    """What is known of the active arms of a bandit."""
    active = account.active
    plays, known = account.pulls + account.learned_plays, account.certain + account.learned_plays
    sums = account.sums + account.learned_sums
    plays, known, sums = plays[active], known[active], sums[active]
    low, high = mean_rewards(plays, known, sums, account.limits, simultaneous(CONFIDENCE, len(plays)))
    low, high = np.nan_to_num(low, nan=account.limits[0]), np.nan_to_num(high, nan=account.limits[1])
    means = _likely(sums / np.maximum(known, 1.0), known, low, high, account.limits)
    names = tuple(name for name, there in zip(account.names, active, strict=True) if there)
    return Facts(
        "the allocation", names, means, low, high, account.limits, account.plays, Always(), account.words.unit,
        premises=("every arm is always available",),
        assumptions=("Every arm is always available.", "What was learned beforehand is like today's plays."),
    )  # fmt: skip


def _likely(seen: Array, known: Array, low: Array, high: Array, limits: tuple[float, float]) -> Array:
    """(arms,), likely means, within their intervals; an unknown one is like the others."""
    smallest, largest = limits
    some, likely = known > 0.0, np.full(len(known), 0.5)
    if some.any():
        likely[some] = shrunk((seen[some] - smallest) / (largest - smallest), known[some])
        likely[~some] = likely[some].mean()
    return np.clip(smallest + (largest - smallest) * likely, low, high)
