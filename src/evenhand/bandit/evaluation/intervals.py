"""Intervals of a target's value, or of a difference of two, from the log of a policy that may have learned."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from evenhand.bandit.arguments import RewardRange
from evenhand.bandit.evaluation.estimators import Scores
from evenhand.bandit.evaluation.followed import Followed
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.propensities import UNSEEN, chances_change, mend, without_chance
from evenhand.core import validate
from evenhand.core.intervals import Interval
from evenhand.core.state import Array
from evenhand.inference.offpolicy import adaptive, offpolicy, offpolicy_difference
from evenhand.inference.sums import simultaneous

RIGHT = "the propensities are right"
MANY = "there are many rounds"
FIXED = "the log's policy did not learn"
ALL_CHANCES = "one look needs all chances in every round, which only logs of two items say; use a sequence"
CONTRADICTED = "no value agrees with the log: its propensities are wrong, or rows are missing"
ALONE = "a single round does not show how rewards vary"
PLANNED = "the number of rounds was fixed beforehand"
SLOWLY = "no chance fell faster than 1/t"

Pair: TypeAlias = tuple[Followed, Followed | None]  # a target, and what it is compared with


class Wanted(NamedTuple):
    """How sure an interval is to be, and by what it is computed."""

    kind: str
    confidence: float
    limits: RewardRange | None  # the range of rewards, where it was said or is needed

    @classmethod
    def of(cls, log: Log, kind: str | None, confidence: float, limits: RewardRange | None) -> Wanted:
        """Of the kind that suits the log where none is named; refuses rewards beyond the limits."""
        if kind is None:
            kind = "sequence" if chances_change(log) else "normal"
        validate.one_of("interval", kind, tuple(INTERVALS))
        limits = limits if kind == "normal" else limits or RewardRange(0.0, 1.0)
        if limits is not None:
            limits.check_log(log.source, log.reward)
        return cls(kind, confidence, limits)


def normal(of: Pair, scores: Scores, bias: Scores | None, wanted: Wanted) -> Interval:
    """``V ± z s``; where weights are limited, the ends are those of V minus and plus the bound on the bias."""
    from scipy.special import ndtri

    confidence = wanted.confidence
    below, above = (scores, scores) if bias is None else (scores - bias, scores + bias)
    z = float(ndtri(0.5 + confidence / 2.0))
    low, high = below.value - z * below.stderr, above.value + z * above.stderr
    if math.isnan(high - low):
        return _unclaimed(confidence, ALONE)
    return Interval(low, high, confidence, "holds_if", (RIGHT, MANY, FIXED))


def _unclaimed(confidence: float, why: str) -> Interval:
    return Interval(math.nan, math.nan, confidence, "not_claimed", (why,))


def sequence(of: Pair, scores: Scores, bias: Scores | None, wanted: Wanted) -> Interval:
    """The anytime-valid sequence from weighted rewards with all their weights, whatever the estimate is."""
    (target, other), confidence, limits = of, wanted.confidence, wanted.limits or RewardRange(0.0, 1.0)
    low, width = limits.low, limits.high - limits.low
    rewards, weights = _by_round(target, limits)
    if other is None:
        least, most = (float(low + width * end) for end in offpolicy(rewards, weights, _largest(target), confidence))
    elif target.log.rows == target.log.rounds:
        largest = max(_largest(target), _largest(other))
        found = offpolicy_difference(rewards, weights, other.weights, largest, confidence)
        least, most = (float(width * end) for end in found)
    else:  # the two have other weighted means of the rewards of a round
        half = simultaneous(confidence, 2)
        above = offpolicy(rewards, weights, confidence=half)
        below = offpolicy(*_by_round(other, limits), confidence=half)
        least, most = float(width * (above[0] - below[1])), float(width * (above[1] - below[0]))
    if least > most:
        return _unclaimed(confidence, CONTRADICTED)
    return Interval(least, most, confidence, "holds_if", (RIGHT, f"all rewards lie in [{low:g}, {limits.high:g}]"))


def _two_items(log: Log) -> bool:
    """Whether the chance of the played item says that of the other, as one of at most two plays in every round."""
    return log.rows == log.rounds and bool((log.sets[np.unique(log.available)].sum(axis=1) <= 2).all())


def _largest(target: Followed) -> float:
    """The largest weight that any item could have had, played or not; infinite where the log does not say it."""
    if not _two_items(target.log):
        return math.inf
    other, rest = 1.0 - target.propensity, 1.0 - target.log.propensity
    unplayed = np.divide(other, rest, out=np.where(other > 1e-9, np.inf, 0.0), where=rest > 0.0)
    return float(max(unplayed.max(), target.weight.max()))


def _by_round(target: Followed, limits: RewardRange) -> tuple[Array, Array]:
    """(rounds,), the weighted mean of the rewards of each round on the scale [0, 1], and its weight."""
    scaled = (target.log.reward - limits.low) / (limits.high - limits.low)
    if target.log.rows == target.log.rounds:
        return scaled, target.weight
    weights, sums = target.weights, target.sums(target.weight * scaled)
    return np.clip(np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0.0), 0.0, 1.0), weights


def one_look(of: Pair, scores: Scores, bias: Scores | None, wanted: Wanted) -> Interval:
    """For policies that learn, at a number of rounds that was fixed beforehand, by `adaptive`."""
    confidence = wanted.confidence
    if not _two_items(of[0].log):
        return _unclaimed(confidence, ALL_CHANCES)
    value, square = 0.0, 0.0
    for sign, one in zip((1.0, -1.0), of, strict=True):
        if one is not None:
            middle, reach = _adaptive(one, confidence)
            value, square = value + sign * middle, square + reach**2
    reach = math.sqrt(square)
    return Interval(value - reach, value + reach, confidence, "holds_if", (RIGHT, PLANNED, SLOWLY))


def _adaptive(target: Followed, confidence: float) -> tuple[float, float]:
    """The value of a target on a log of two items, and half the length of its interval."""
    first, rest = target.log.propensity, 1.0 - target.log.propensity
    other = 1.0 - target.propensity  # the target's chance of the item that did not play
    needed = target.propensity**2 / first + np.divide(other**2, rest, out=np.zeros_like(rest), where=other > 0.0)
    scores = target.model + target.weight * (target.log.reward - target.guess)
    value, reach = adaptive(scores, 1.0 / needed, confidence)
    return float(value), float(reach)


INTERVALS = {"normal": normal, "sequence": sequence, "one look": one_look}


def interval_of(of: Pair, scores: Scores, bias: Scores | None, wanted: Wanted) -> Interval:
    """An interval of some kind; none where a target has none, or plays an item that had no chance."""
    for one in of:
        if one is not None and not one.weight.any():
            return _unclaimed(wanted.confidence, UNSEEN)
        if one is not None and (rounds := without_chance(one) > 0.0).any():
            return _unclaimed(wanted.confidence, mend(one, rounds))
    return INTERVALS[wanted.kind](of, scores, bias, wanted)
