"""What a promise costs where arms differ from situation to situation: of a linear model of the rewards, from a log.

The price is what the choices of the model earn in the contexts of the log without the promise, less what they earn with
it, where each context plays the arms for which that costs least. A model that is not exactly right expects too much or
too little of its choices, so that, with propensities, they are judged by rewards from which it did not learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.evaluation.estimators import Scores, mean
from evenhand.bandit.evaluation.followed import LARGEST, Ridge
from evenhand.bandit.evaluation.intervals import FIXED, MANY, RIGHT
from evenhand.bandit.evaluation.known import Known
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.priced import Facts
from evenhand.core.errors import DataError, EvenhandError, InfeasiblePromise, number_of
from evenhand.core.numbers import amount
from evenhand.core.state import Array, Mask
from evenhand.features.partition import Partition
from evenhand.inference.means import CONFIDENCE
from evenhand.inference.sums import simultaneous
from evenhand.messages.prices import PricePoint, SegmentPrice
from evenhand.theory.bounded import best_shares_in, check_bounds

CONTEXTS = 2000  # that stand for all, where there are more
SEGMENTS = 20  # that a sentence lists
SPOKEN = 3  # segments that have a sentence each
STEPS = 30  # most of them towards the upper end of an interval
SORTED = 20_000_000  # numbers, up to which equal contexts are found
SLACK = (0.0, 0.02, 0.05, 0.1, 0.2)  # parts of a promise that some rounds may leave out, if they cannot keep it
PARTS = (4, 10)  # fewest and most, into which the rounds are divided that are judged
PREMISES = ("rewards are linear in the features with noise of one size", "contexts come as in the log")
JUDGED = (RIGHT, MANY, FIXED, "contexts come as in the log")
RESTS = "The model is a ridge regression for each arm; {:,} contexts were weighed."
CHECKED = (
    "What its choices earn is estimated with a model of the other rounds, doubly robustly; the interval of a price "
    "also covers what the model expects if rewards are linear in the features."
)
UNCHECKED = "The log has no propensities, by which the choices of the model could be judged: all rests on the model."


@dataclass(frozen=True, eq=False, kw_only=True)
class FactsByFeatures(Facts):
    """What is known of the arms in the contexts of a log."""

    known: Known  # features of the contexts that stand for all
    chances: Array  # (contexts,)
    able: Mask  # (contexts, arms)
    gains: Array  # (contexts, arms), what the model expects
    cover: Array  # (arms, columns, columns), of the errors of each arm's weights
    radius: float  # in standard errors, for everything at once
    parts: tuple[Part, ...] = ()  # of the rounds of the log, judged by models of the others; none without propensities
    z: float = math.nan  # standard errors, for all judgements at once
    partition: Partition | None = None  # the segments in each of which promises are made; None: over all rounds

    @property
    def expected(self) -> float:
        """Reward per round without a promise, by the model."""
        return float(self.chances @ (self.gains * self.free()).sum(axis=1))

    @cached_property
    def freely(self) -> Scores:
        """What the choices of the model earn without a promise."""
        return self.judged(lambda part: part.free())

    @property
    def best(self) -> float:
        """Reward per round without a promise."""
        return self.freely.value if self.parts else self.expected

    def judged(self, given: Callable[[FactsByFeatures], Array]) -> Scores:
        """What plays (contexts, arms) of each part earn."""
        return mean(np.concatenate([(given(part.facts) * part.scores).sum(axis=1) for part in self.parts]))

    def without(self) -> str:
        """What is earned without a promise, in a sentence."""
        if not self.parts:
            return super().without()
        error, ends = self.z * self.freely.stderr, self.plays * np.array(self.limits)
        low, high = (float(end) for end in np.clip([self.best - error, self.best + error], *ends))
        said = f"Without a promise the choices of a linear model would earn {self.say(self.best)} per round"
        said = f"{said} (95% interval {amount(low)} to {self.say(high)})."
        if low <= self.expected <= high:
            return said
        return f"{said} The model itself expects {self.say(self.expected)}: it does not fit well, or has few rewards."

    def free(self, more: Array | float = 0.0) -> Array:
        """(contexts, arms), what plays without a promise where the model expects more, (contexts, arms)."""
        worth = np.where(self.able, self.gains + more, -np.inf)
        best = np.argsort(np.argsort(-worth, axis=1, kind="stable"), axis=1, kind="stable") < self.plays
        return np.asarray(best & self.able, dtype=float)

    def promise(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a promise, and the segment in which it is made, if it is in one."""
        if "segment" not in table:
            return super().promise(table)
        if self.partition is None:
            raise EvenhandError("needs segments, the feature by whose values promises are made", "segment")
        self.partition.place(table["segment"])
        return super().promise(_anywhere(table)) | {"segment": table["segment"]}

    def words(self, table: Mapping[str, object]) -> str:
        """A promise in words."""
        return super().words(_anywhere(table)) + (f" in {table['segment']}" if "segment" in table else "")

    def some(self, rows: NDArray[np.intp]) -> FactsByFeatures:
        """The same of some contexts alone."""
        known, chances = self.known.take(rows), self.chances[rows] / self.chances[rows].sum()
        able, gains = self.able[rows], self.gains[rows]
        return replace(self, partition=None, known=known, chances=chances, able=able, gains=gains)

    def segments(self, table: Mapping[str, object]) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """The segments in which a promise is made, each with its contexts."""
        assert self.partition is not None
        place = self.partition.of(self.known.situation)
        for number, name in enumerate(self.partition.names):
            rows = np.flatnonzero(place == number)
            if rows.size and table.get("segment", name) == name:
                yield name, rows

    def by_segment(self, words: str, table: Mapping[str, object]) -> list[SegmentPrice]:
        """What a promise costs in each segment in which it is made."""
        if self.partition is None:
            return []
        found = []
        for name, rows in self.segments(table):
            judged = [(one, dict(one.facts.segments({})).get(name, rows[:0])) for one in self.parts]
            parts = tuple(Part(one.facts.some(own), one.scores[own]) for one, own in judged if own.size)
            point, _ = replace(self.some(rows), parts=parts).steady(words, _anywhere(table))
            often = float(self.chances[rows].sum())
            found.append(SegmentPrice(name, often, words, point.steady, point.low, point.high, point.shares))
        return found

    def in_segments(self, words: str, table: Mapping[str, object], found: Sequence[SegmentPrice]) -> list[str]:
        """The same in sentences, those first that add most, and what it would cost to promise it over all rounds."""
        own = sorted((one for one in found if one.promise == words), key=lambda one: -one.part * one.steady)
        says = [
            f"In the segment {one.segment}, {one.part:.1%} of the rounds, {words} costs {self.say(one.steady)} per "
            f"round of it (95% interval {amount(one.low)} to {self.say(one.high)})."
            for one in own[:SPOKEN]
        ]
        if (more := len(own) - SPOKEN) > 0:
            says.append(f"{number_of(more, 'more segment adds', 'more segments add')} less; all are listed by segment.")
        if own and "segment" not in table:
            parts = tuple(replace(one, facts=replace(one.facts, partition=None)) for one in self.parts)
            one = replace(self, partition=None, parts=parts).steady(words, table)[0]
            says.append(
                f"Promised over all rounds and paid where it costs least, {words} would cost {self.say(one.steady)} "
                f"per round (95% interval {amount(one.low)} to {self.say(one.high)})."
            )
        return says

    def kept(self, table: Mapping[str, object]) -> Array:
        """(contexts, arms), what plays under a promise; under less of it where chance has made that impossible here."""
        for less in SLACK:
            with suppress(InfeasiblePromise):
                return self.played(table, less)[0]
        return self.played(table)[0]

    def played(self, table: Mapping[str, object], less: float = 0.0) -> tuple[Array, Array]:
        """(contexts, arms), what plays under a promise, and (arms,) what one more promised play of each arm costs."""
        if self.partition is not None:
            kept, duals = self.free(), np.zeros(len(self.names))
            for _, rows in self.segments(table):
                kept[rows], own = self.some(rows).played(_anywhere(table), less)
                duals += float(self.chances[rows].sum()) * own
            return kept, duals
        bounds = self.bounds(table)
        if not bounds.names:
            return self.free(), np.zeros(len(self.names))
        check_bounds(bounds, self.plays, self.availability)
        bounds = replace(bounds, floors=bounds.floors * (1.0 - less), caps=bounds.caps * (1.0 + less))
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

    def steady(self, words: str, table: Mapping[str, object]) -> tuple[PricePoint, Array]:
        """What a promise costs in the long run, and (arms,), what one more promised play of each arm costs."""
        if "merit" in table:
            raise EvenhandError("shares by merit have no price where rewards go by features: promise shares of rounds")
        kept, duals = self.played(table)
        cost, error, _ = self.earned(self.free() - kept)
        low, high, cost = max(cost - self.radius * error, 0.0), max(self.most(kept), cost), max(cost, 0.0)
        if self.parts:
            found = self.freely - self.judged(lambda part: part.kept(table))
            cost, error = found.value, self.z * found.stderr
            low, high = min(low, cost - error), max(high, cost + error)
        shares = dict(zip(self.names, (self.chances @ kept).tolist(), strict=True))
        return PricePoint(words, cost, low, high, None, None, None, None, shares), duals

    def paid(self, words: str, table: Mapping[str, object]) -> list[str]:
        """What part of the cost is paid in each segment of the categories and flags of the situation."""
        if self.partition is not None:  # it is said of each segment what it costs there
            return []
        parts = self.parts or (Part(self, self.chances[:, np.newaxis] * self.gains),)
        given = [one.facts.free() - one.facts.kept(table) for one in parts]
        cost = np.concatenate([(lost * one.scores).sum(axis=1) for lost, one in zip(given, parts, strict=True)])
        situation = np.concatenate([one.facts.known.situation for one in parts])
        chances = np.concatenate([one.facts.chances for one in parts])
        if not cost.sum() > 0.0:
            return []
        says = []
        for name, feature in self.known.features.situation.items():
            columns = situation[:, list(self.known.features.places(name))]
            try:
                segments = feature.segments(name)
            except EvenhandError:  # a number or a vector
                continue
            place = feature.segment(columns)
            paid = np.bincount(place, cost, len(segments)) / cost.sum() + 0.0
            rounds = np.bincount(place, chances, len(segments))
            places = np.sort(np.argsort(-paid, kind="stable")[:SEGMENTS])  # of very many only those that pay most
            known = [f"{segments[one]} {paid[one]:.0%}" for one in places if rounds[one] > 0.0]
            known += [f"all others {1.0 - paid[places].sum():.0%}"] if len(paid) > SEGMENTS else []
            says.append(f"The cost of {words} by {name}: {', '.join(known)}.")
        return says


def _anywhere(table: Mapping[str, object]) -> dict[str, Any]:
    """A promise without the segment in which it is made."""
    return {name: one for name, one in table.items() if name != "segment"}


@dataclass(frozen=True, eq=False)
class Part:
    """Some rounds of a log, judged with a model of the others."""

    facts: FactsByFeatures  # with these rounds as contexts, and what the model expects in them
    scores: Array  # (rounds, arms), the doubly robust estimate of what each arm would have earned


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


def of_log(log: Log, known: Known, promises: int = 1, segments: object = None) -> FactsByFeatures:
    """What is known from a log with features, of so many promises at once, made in each of the segments if any."""
    from scipy.stats import chi2

    partition = None if segments is None else Partition(segments, known.features)
    promises *= 1 if partition is None else 1 + len(partition.names)
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
    every = [mean_features(some, np.broadcast_to(chances[:, np.newaxis], gains.shape), arm) for arm in range(items)]
    widths = radius * np.sqrt([one @ cover[arm] @ one for arm, one in enumerate(every)])
    facts = FactsByFeatures(
        log.source, log.items, likely, likely - widths, likely + widths, limits, max(1, round(log.rows / log.rounds)),
        log.environment().availability, log.reading.unit, log.rounds, premises=PREMISES, runs="lin_ts",
        assumptions=(RESTS.format(len(places)), UNCHECKED),
        known=some, chances=chances, able=able, gains=gains, cover=cover, radius=radius, partition=partition,
        within="" if partition is None else f" in each segment by {partition.feature}",
    )  # fmt: skip
    return judged(facts, log, known, promises) if log.has_propensities and log.rounds >= 2 * PARTS[0] else facts


def judged(facts: FactsByFeatures, log: Log, known: Known, promises: int) -> FactsByFeatures:
    """The same where what arms and choices earn is estimated from rewards that their model does not know."""
    from scipy.special import ndtri

    count = int(np.clip(math.ceil(log.rounds / CONTEXTS), *PARTS))
    part_of = np.random.default_rng(0).permutation(log.rounds) % count
    parts = tuple(_part(facts, log, known, part_of == one) for one in range(count))
    arms = [mean(np.concatenate([part.scores[:, arm] for part in parts])) for arm in range(len(log.items))]
    z = -float(ndtri((1.0 - simultaneous(CONFIDENCE, len(arms) + promises + 1)) / 2.0))
    means, errors = np.array([one.value for one in arms]), z * np.array([one.stderr for one in arms])
    rests = (facts.assumptions[0], CHECKED)
    low, high = (np.clip(means + sign * errors, *facts.limits) for sign in (-1.0, 1.0))
    return replace(facts, means=means, low=low, high=high, parts=parts, z=z, premises=JUDGED, assumptions=rests)


def _part(facts: FactsByFeatures, log: Log, known: Known, mine: Mask) -> Part:
    """Some of the rounds, judged with a model of all others."""
    ridge, others = Ridge(len(log.items), sum(known.features.widths)), log._only(~mine[log.round])
    assert others.known is not None
    ridge.add(others, others.known, slice(None))
    rounds = np.flatnonzero(mine)
    rounds = rounds[np.unique(np.linspace(0, len(rounds) - 1, CONTEXTS).astype(np.intp))]
    some, place = known.take(rounds), np.full(log.rounds, -1)
    place[rounds] = np.arange(len(rounds))
    gains = np.clip(ridge.mean + some.applied(ridge.weights()), *facts.limits)
    rows = np.flatnonzero(place[log.round] >= 0)
    round, item, scores = place[log.round[rows]], log.item[rows], gains.copy()
    np.add.at(scores, (round, item), (log.reward[rows] - gains[round, item]) / log.propensity[rows])
    chances, able = np.full(len(rounds), 1.0 / len(rounds)), log.sets[log.available[rounds]]
    return Part(replace(facts, known=some, chances=chances, able=able, gains=gains), scores)
