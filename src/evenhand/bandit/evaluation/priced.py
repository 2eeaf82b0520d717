"""What a price is computed from: means with intervals that hold together, who is available, and a world to simulate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.algorithms.recommendation import which
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.costing import BY_ROUND, NOTHING, Prices, cost_of, notes
from evenhand.bandit.bandit import Bandit
from evenhand.bandit.evaluation.intervals import FIXED
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.world import Fit
from evenhand.core import validate
from evenhand.core.errors import DataError, EvenhandError, nearest
from evenhand.core.intervals import Claim
from evenhand.core.numbers import amount, percent
from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability
from evenhand.environment.rewards import UNIT
from evenhand.environment.world import Environment, EnvironmentLike, as_environment
from evenhand.inference.means import CONFIDENCE, shrunk
from evenhand.judgement.merits import allowed_shares
from evenhand.messages.answers import Recommendation
from evenhand.messages.prices import PricePoint, SegmentPrice
from evenhand.policy.custom_merit import as_merit
from evenhand.policy.groups import with_places
from evenhand.policy.merit import Merit
from evenhand.policy.shares import proportional
from evenhand.theory.bounded import Bounds, best_bounded, bounds_of
from evenhand.theory.prices import cost_of_shares

TODAY = "the promise in force"


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
    open: Array | float = 0.0  # (arms,), part of the plays whose rewards are not known
    runs: str = ""  # the algorithm of the allocation
    today: PricePoint | None = None  # what the promise in force costs
    claim: Claim = "holds_if"
    premises: tuple[str, ...] = ()
    within: str = ""  # in which rounds promises are made, in words; empty for all
    assumptions: tuple[str, ...] = ()

    @property
    def best(self) -> float:
        """Reward per round in the long run without a promise."""
        return float(self.best_in(self.means[np.newaxis])[0])

    def without(self) -> str:
        """What is earned without a promise, in a sentence."""
        return f"Without a promise the best would earn {self.say(self.best)} per round in the long run."

    def bounds(self, table: Mapping[str, Any]) -> Bounds:
        """The bounds of a promise."""
        given = table.get("fractions"), table.get("caps"), table.get("groups", [])
        return bounds_of(len(self.names), *given, self.names)

    def plain(self, table: Mapping[str, object]) -> bool:
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

    def long_run(self, means: Array, table: Mapping[str, object]) -> Array:
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

    def steady(self, words: str, table: Mapping[str, object]) -> tuple[PricePoint, Array] | None:
        """What a promise costs in the long run, and (arms,), what one more promised play costs; None: by the means."""
        return None

    def paid(self, words: str, table: Mapping[str, object]) -> list[str]:
        """In which situations a promise is paid, in sentences; none where there are no features."""
        return []

    def by_segment(self, words: str, table: Mapping[str, object]) -> list[SegmentPrice]:
        """What a promise costs in each segment in which it is made; none where there are no segments."""
        return []

    def in_segments(self, words: str, table: Mapping[str, object], found: Sequence[SegmentPrice]) -> list[str]:
        """The same in sentences."""
        return []

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
                other = 0.0 if name == "fractions" else 1.0
                value = [validate.number(f"{name}.{arm}", value.get(arm, other), 0.0, 1.0) for arm in self.names]
            elif name != "groups" and isinstance(value, float | int):
                value = [validate.number(name, value, 0.0, 1.0)] * len(self.names)
            found[name] = with_places(value, self.names) if name == "groups" else value
        return found

    def words(self, table: Mapping[str, object]) -> str:
        """A promise in words."""
        if "merit" in table:
            return "shares by merit"
        parts = [
            f"{name} {', '.join(f'{arm} {share:.4g}' for arm, share in value.items())}"
            if isinstance(value, Mapping)
            else f"{name} {value:.4g}"
            for name, value in table.items()
            if isinstance(value, Mapping | float | int)
        ]
        return "; ".join(parts) or "groups" if "groups" in table or parts else ", ".join(table)

    def say(self, reward: float, digits: int = 3) -> str:
        """An amount of reward, with its unit."""
        return f"{amount(reward, digits)}{self.unit and ' ' + self.unit}"

    def recommended(self, tables: Sequence[Mapping[str, object]]) -> Recommendation:
        """The algorithm to take for promises, and why."""
        keys, late = {key for table in tables for key in table}, self.fit is not None and self.fit.late.dependent
        promise = "merit" if keys == {"merit"} else "group" if keys & {"caps", "groups"} else "share"
        several = self.plays > 1 or self.availability.traits.sleeping
        return (which(promise, "dependent" if late else "late", several=several) or which(promise))[0]


def facts_of(source: Log | EnvironmentLike | Bandit) -> Facts:
    """What is known from a log, an environment or a bandit."""
    if isinstance(source, Log):
        return _of_log(source)
    return (
        of_account(Account(source._record)) if isinstance(source, Bandit) else _of_environment(as_environment(source))
    )


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
    if even and not log.plays.unsaid:  # else the log's policy may have learned
        *ends, serves = fit.one_look(CONFIDENCE)
        low, high = (np.where(serves, new, old) for new, old in zip(ends, (low, high), strict=True))
        premises += (FIXED,)
    elif not even:
        premises += ("a mean of weighted plays is as sure as one of fewer plays with equal weights",)
    if log.reading.rewards is None and fit.limits != (0.0, 1.0):
        premises += ("no reward lies beyond those in the log",)
    smallest, span = fit.limits[0], fit.limits[1] - fit.limits[0]
    means = np.clip(smallest + span * shrunk((seen - smallest) / span, known), low, high)
    open = np.bincount(fit.plays.item[fit.open], minlength=len(means))
    per_round = max(1, round(log.rows / log.rounds))
    return Facts(
        log.source, log.items, means, low, high, fit.limits, per_round, world.availability, log.reading.unit,
        log.rounds, world, fit, premises=premises, assumptions=world.assumptions,
        open=open / (open + np.bincount(fit.item, minlength=len(means))),
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
    """What is known of the active arms of a bandit: means, intervals and costs as in its audit."""
    if account.contextual:
        raise EvenhandError(BY_ROUND)
    if not (account.known + account.learned_plays).any():
        raise EvenhandError(NOTHING)
    prices, active, (smallest, largest) = Prices(account), account.active, account.limits
    low, means, high = (
        smallest + (largest - smallest) * ends[prices.active] for ends in (prices.low, prices.likely, prices.high)
    )
    plays, known = ((one + account.learned_plays)[active] for one in (account.pulls, account.certain))
    unknown, says = int((plays - known).sum()), notes(account)
    if unknown:
        says.append(f"{unknown:,} of {int(plays.sum()):,} plays have no known reward: at the ends of the intervals "
                    "they earn the least or the most that is possible.")  # fmt: skip
    if account.owed_within:
        says.append("What is promised in segments is left out: these are prices of shares of all rounds alone.")
    names = tuple(name for name, there in zip(account.names, active, strict=True) if there)
    return Facts(
        "the allocation", names, means, low, high, account.limits, account.plays, Always(), account.words.unit,
        premises=("every arm is always available",), assumptions=tuple(says), runs=account.algorithm,
        open=(plays - known) / np.maximum(plays, 1.0), today=_today(account, prices, names),
    )  # fmt: skip


def _today(account: Account, prices: Prices, names: tuple[str, ...]) -> PricePoint | None:
    """What the promise in force costs, as the audit says; None where that is nothing or not known."""
    cost = cost_of(account)
    if cost is None or cost.per_round is None or cost.low is None or cost.high is None:
        return None
    floors = None if account.fractions is None else np.unique(account.fractions[account.active])
    equal = floors is not None and len(floors) == 1 and account.merit is None and not prices.bounded
    words = percent(floors[0], 4) if floors is not None and equal else TODAY
    shares = dict(zip(names, prices.shares(prices.likely).tolist(), strict=True))
    return PricePoint(words, cost.per_round, cost.low, cost.high, None, None, None, None, shares)
