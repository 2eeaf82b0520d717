"""What a promise costs where arms differ from situation to situation: of a linear model of the rewards, from a log.

The price is what the model earns in the contexts of the log without the promise, less what it earns with it, where each
context plays the arms for which that costs least.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.evaluation.followed import LARGEST, Ridge
from evenhand.bandit.evaluation.known import Known
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.priced import Facts
from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.state import Array, Mask
from evenhand.inference.means import CONFIDENCE
from evenhand.messages.prices import PricePoint
from evenhand.theory.bounded import best_shares_in, check_bounds

CONTEXTS = 2000  # that stand for all, where there are more
SEGMENTS = 20  # that a sentence lists
STEPS = 30  # most of them towards the upper end of an interval
SORTED = 20_000_000  # numbers, up to which equal contexts are found
PREMISES = ("rewards are linear in the features with noise of one size", "contexts come as in the log")


@dataclass(frozen=True, eq=False, kw_only=True)
class FactsByFeatures(Facts):
    """What is known of the arms in the contexts of a log."""

    known: Known  # features of the contexts that stand for all
    chances: Array  # (contexts,)
    able: Mask  # (contexts, arms)
    gains: Array  # (contexts, arms), what the model expects
    cover: Array  # (arms, columns, columns), of the errors of each arm's weights
    radius: float  # in standard errors, for everything at once

    @property
    def best(self) -> float:
        """Reward per round without a promise."""
        return float(self.chances @ (self.gains * self.free()).sum(axis=1))

    def free(self, more: Array | float = 0.0) -> Array:
        """(contexts, arms), what plays without a promise where the model expects more, (contexts, arms)."""
        worth = np.where(self.able, self.gains + more, -np.inf)
        best = np.argsort(np.argsort(-worth, axis=1, kind="stable"), axis=1, kind="stable") < self.plays
        return np.asarray(best & self.able, dtype=float)

    def played(self, table: Mapping[str, Any]) -> tuple[Array, Array]:
        """(contexts, arms), what plays under a promise, and (arms,) what one more promised play of each arm costs."""
        bounds = self.bounds(table)
        if not bounds.names:
            return self.free(), np.zeros(len(self.names))
        check_bounds(bounds, self.plays, self.availability)
        shares, prices = best_shares_in(self.gains, self.chances, bounds, self.plays, self.able)
        by_name = dict(zip(bounds.names, prices[: len(bounds.names)].tolist(), strict=True))
        return shares, np.array([by_name.get(f"arm {name!r}", 0.0) for name in self.names])

    def earned(self, given: Array) -> tuple[float, float, Array]:
        """What a difference of plays (contexts, arms) earns, its standard error, and gains that raise it by one such.

        The last are (contexts, arms).
        """
        shares = self.chances[:, np.newaxis] * given
        features = np.array([mean_features(self.known, shares, arm) for arm in range(len(self.names))])
        weights = np.einsum("kij,kj->ki", self.cover, features)
        error = math.sqrt(max(float((features * weights).sum()), 0.0))
        return float((shares * self.gains).sum()), error, self.known.applied(weights) / max(error, 1e-300)

    def most(self, kept: Array) -> float:
        """The most that it can cost to play so, (contexts, arms), with weights in the ellipsoid of their errors.

        By steps to the weights at which the present difference costs most, and to what is then the best: from the best
        by the model, and from each arm, since there the difference is not 0.
        """
        highest = 0.0
        for start in (np.zeros(len(self.names)), *1e9 * np.eye(len(self.names))):
            given, value = self.free(start) - kept, -math.inf
            for _ in range(STEPS):
                cost, error, more = self.earned(given)
                if cost + self.radius * error <= value:
                    break
                value, given = cost + self.radius * error, self.free(self.radius * more) - kept
            highest = max(highest, value)
        return highest

    def steady(self, words: str, table: Mapping[str, Any]) -> tuple[PricePoint, Array]:
        """What a promise costs in the long run, and (arms,), what one more promised play of each arm costs."""
        if "merit" in table:
            raise EvenhandError("shares by merit have no price where rewards go by features: promise shares of rounds")
        kept, duals = self.played(table)
        cost, error, _ = self.earned(self.free() - kept)
        low, high = max(cost - self.radius * error, 0.0), max(self.most(kept), cost)
        shares = dict(zip(self.names, (self.chances @ kept).tolist(), strict=True))
        return PricePoint(words, max(cost, 0.0), low, high, None, None, None, None, shares), duals

    def paid(self, words: str, table: Mapping[str, Any]) -> list[str]:
        """What part of the cost is paid in each segment of the categories and flags of the situation."""
        cost = self.chances * (self.gains * (self.free() - self.played(table)[0])).sum(axis=1)
        if not cost.sum() > 0.0:
            return []
        says = []
        for name, feature in self.known.features.situation.items():
            columns = self.known.situation[:, list(self.known.features.places(name))]
            try:
                segments = feature.segments(name)
            except EvenhandError:  # a number or a vector
                continue
            place = feature.segment(columns)
            parts = np.bincount(place, cost, len(segments)) / cost.sum()
            rounds = np.bincount(place, self.chances, len(segments))
            places = np.sort(np.argsort(-parts, kind="stable")[:SEGMENTS])  # of very many only those that pay most
            known = [f"{segments[one]} {parts[one]:.0%}" for one in places if rounds[one] > 0.0]
            known += [f"all others {1.0 - parts[places].sum():.0%}"] if len(parts) > SEGMENTS else []
            says.append(f"The cost of {words} by {name}: {', '.join(known)}.")
        return says


def mean_features(known: Known, played: Array, arm: int) -> Array:
    """(columns,), the features with which an arm plays, on average, from its plays by context (contexts, arms)."""
    own = played[:, arm] @ known.situation
    return np.asarray(own if known.arms is None else np.append(own, played[:, arm] @ known.arms[:, arm]))


def contexts_of(log: Log, known: Known) -> tuple[NDArray[np.intp], Array]:
    """Rounds with the contexts of a log, each once, and how often they are; some of them where there are too many."""
    parts = [known.situation, log.available[:, np.newaxis]]
    parts += [] if known.arms is None else [known.arms.reshape(log.rounds, -1)]
    places = np.unique(np.linspace(0, log.rounds - 1, CONTEXTS).astype(np.intp))
    counts = np.ones_like(places)
    if sum(part.size for part in parts) <= SORTED:
        _, each, times = np.unique(np.hstack(parts), axis=0, return_index=True, return_counts=True)
        places, counts = (each, times) if len(each) <= CONTEXTS else (places, counts)
    return places, counts / counts.sum()


def of_log(log: Log, known: Known) -> FactsByFeatures:
    """What is known from a log with features."""
    from scipy.stats import chi2

    columns, items = sum(known.features.widths), len(log.items)
    if items * columns**2 > LARGEST:
        raise DataError(f"{log.source}: a model of {items:,} items with {columns:,} columns is too large for a price")
    ridge = Ridge(items, columns)
    ridge.add(log, known, slice(None))
    weights = ridge.weights()
    places, chances = contexts_of(log, known)
    some, able = known.take(places), log.sets[log.available[places]]
    off = log.reward - ridge.mean - known.of_rows(weights, log.round, log.item)
    noise = float(off @ off) / max(log.rows - columns * items, 1)
    cover = np.asarray(noise * np.linalg.inv(ridge.gram), dtype=float)
    limits = log.reading.rewards or (min(0.0, float(log.reward.min())), max(1.0, float(log.reward.max())))
    gains = np.clip(ridge.mean + some.applied(weights), *limits)
    radius = math.sqrt(float(chi2.ppf(CONFIDENCE, columns * items)))
    likely = chances @ gains
    rests = f"The model is a ridge regression for each arm; {len(places):,} contexts were weighed."
    every = [mean_features(some, np.broadcast_to(chances[:, np.newaxis], gains.shape), arm) for arm in range(items)]
    widths = radius * np.sqrt([one @ cover[arm] @ one for arm, one in enumerate(every)])
    return FactsByFeatures(
        log.source, log.items, likely, likely - widths, likely + widths, limits, max(1, round(log.rows / log.rounds)),
        log.environment().availability, log.reading.unit, log.rounds, premises=PREMISES, runs="lin_ts",
        assumptions=(rests,),
        known=some, chances=chances, able=able, gains=gains, cover=cover, radius=radius,
    )  # fmt: skip
