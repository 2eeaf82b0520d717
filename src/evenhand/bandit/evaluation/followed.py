"""What a target would have played in each round of a log, with the weights and a model of the rewards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.evaluation.known import Known
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.targets import CELLS, Target
from evenhand.core.errors import DataError, EvenhandError, shown
from evenhand.core.state import Array

LOGGED = "the log's policy"
LARGEST = 50_000_000  # numbers of the sums of a model by features
NEAR = 1e-6  # by which rounding may take a sum of propensities beyond the number of plays
FRESH = 50  # the model is computed again whenever the log has grown by a fiftieth


@dataclass(frozen=True, eq=False)
class Model:
    """The mean reward of every item before a round: that of all items where it was not played yet, 0 before all.

    It is computed anew in every round of the beginning, and then for blocks of rounds that are a fiftieth of those
    before, so that it depends on earlier rounds only.
    """

    block: NDArray[np.intp]  # (rounds,), the block of each round
    means: Array  # (blocks, items)

    def expected(self, first: int, stop: int) -> Array:
        """(some rounds, items), the mean reward of every item in these rounds."""
        return self.means[self.block[first:stop]]

    @classmethod
    def of(cls, log: Log) -> Model:
        """The model of a log; by features where it has some."""
        if log.known is not None:
            return ByFeatures.fitted(log, log.known)
        items, starts = len(log.items), [0]
        parts = max(2, min(FRESH, CELLS // (12 * items)))
        while starts[-1] < log.rounds:
            starts.append(starts[-1] + max(1, starts[-1] // parts))
        block = np.searchsorted(starts, np.arange(log.rounds), side="right") - 1
        places, size = block[log.round] * items + log.item, len(starts) * items
        plays, sums = (
            np.bincount(places + items, one, size + items)[:size].reshape(-1, items).cumsum(axis=0)
            for one in (None, log.reward)
        )
        overall = sums.sum(axis=1, keepdims=True) / np.maximum(plays.sum(axis=1, keepdims=True), 1.0)
        return cls(block, np.where(plays > 0.0, sums / np.maximum(plays, 1.0), overall))


@dataclass(frozen=True, eq=False)
class ByFeatures(Model):
    """The mean reward of every item by ridge regression on the features, one for each item.

    It is fitted anew whenever the log has grown by half, so that it depends on earlier rounds only; what is regressed
    is the difference from the mean of all rewards until then.
    """

    known: Known
    weights: Array  # (blocks, items, columns)

    def expected(self, first: int, stop: int) -> Array:
        """(some rounds, items), the mean reward of every item in these rounds."""
        block, known = self.block[first:stop], self.known.take(slice(first, stop))
        found = super().expected(first, stop)
        for one in np.unique(block):
            found[block == one] += known.take(block == one).applied(self.weights[one])
        return found

    @classmethod
    def fitted(cls, log: Log, known: Known) -> ByFeatures:
        """The model of a log with features."""
        items, columns, starts = len(log.items), sum(known.features.widths), [0, 1]
        if items * columns**2 > LARGEST:
            size = f"{items:,} items with {columns:,} columns"
            raise DataError(f"{log.source}: a model of {size} is too large; read the log with fewer features")
        while starts[-1] < log.rounds:
            starts.append(starts[-1] + max(1, starts[-1] // 2))
        block = np.searchsorted(starts, np.arange(log.rounds), side="right") - 1
        ridge, weights, means = Ridge(items, columns), [], []
        for first, stop in pairwise([0, *starts]):
            ridge.add(log, known, slice(*np.searchsorted(log.round, (first, stop))))
            means.append(np.full(items, ridge.mean))
            weights.append(ridge.weights())
        return cls(block, np.array(means), known, np.array(weights))


class Ridge:
    """A ridge regression for each item, with λ = 1, of the difference of rewards from their mean."""

    def __init__(self, items: int, columns: int) -> None:
        """Of no rows."""
        self.gram, self.rewards = np.tile(np.eye(columns), (items, 1, 1)), np.zeros((items, columns))
        self.features, self.total, self.rows = np.zeros((items, columns)), 0.0, 0

    @property
    def mean(self) -> float:
        """The mean reward."""
        return self.total / max(self.rows, 1)

    def add(self, log: Log, known: Known, rows: slice) -> None:
        """Add some rows of a log."""
        item, reward = log.item[rows], log.reward[rows]
        own, arms = known.of_plays(log.round[rows], item)
        features = own if arms is None else np.hstack([own, arms])
        for one in np.unique(item):
            mine = features[item == one]
            self.gram[one] += mine.T @ mine
            self.rewards[one] += reward[item == one] @ mine
            self.features[one] += mine.sum(axis=0)
        self.total, self.rows = self.total + float(reward.sum()), self.rows + len(item)

    def weights(self) -> Array:
        """(items, columns)."""
        off = self.rewards - self.mean * self.features
        return np.asarray(np.linalg.solve(self.gram, off[..., np.newaxis])[..., 0])


@dataclass(frozen=True, eq=False)
class Followed:
    """A target on a log: the weight of every play, and what the model expects of it and of the target."""

    name: str
    log: Log
    propensity: Array  # (rows,), of the play under the target
    weight: Array  # (rows,), the propensity under the target over that in the log
    guess: Array  # (rows,), the model's mean reward of the play
    model: Array  # (rounds,), the model's mean reward of the target
    shares: Array  # (items,), the target's share of the rounds

    def sums(self, values: Array) -> Array:
        """Sums over the plays of each round."""
        return np.asarray(np.bincount(self.log.round, weights=values, minlength=self.log.rounds), dtype=float)

    @cached_property
    def weights(self) -> Array:
        """(rounds,), the sum of the weights of each round."""
        return self.sums(self.weight)

    @property
    def effective(self) -> float:
        """The effective sample size ``(Σw)²/Σw²``, in plays."""
        squares = float(self.weight @ self.weight)
        return float(self.weight.sum()) ** 2 / squares if squares > 0.0 else 0.0

    def rounds(self, first: int, end: int) -> Followed:
        """Some rounds of it."""
        rows = slice(*np.searchsorted(self.log.round, (first, end)))
        propensity, weight, guess = (values[rows] for values in (self.propensity, self.weight, self.guess))
        return Followed(self.name, self.log._only(rows), propensity, weight, guess, self.model[first:end], self.shares)


def followed(log: Log, name: str, target: Target, model: Model) -> Followed:
    """What a target would have played in each round of a log."""
    propensity, guess, expected = np.zeros(log.rows), np.zeros(log.rows), np.zeros(log.rounds)
    shares, start = np.zeros(len(log.items)), 0
    for given in target.propensities(log):
        propensities = _checked(name, given, log, start)
        stop = start + len(propensities)
        rows = slice(*np.searchsorted(log.round, (start, stop)))
        round, item = log.round[rows], log.item[rows]
        means = model.expected(start, stop)
        expected[start:stop] = np.einsum("ri,ri->r", propensities, means)
        propensity[rows], guess[rows] = propensities[round - start, item], means[round - start, item]
        shares += propensities.sum(axis=0)
        start = stop
    if start < log.rounds:
        raise EvenhandError(f"the target {name!r} gives the propensities of {start:,} of {log.rounds:,} rounds")
    return Followed(name, log, propensity, propensity / log.propensity, guess, expected, shares / log.rounds)


def _checked(name: str, given: object, log: Log, start: int) -> Array:
    """The propensities of some rounds, which a target of one's own may have wrong."""
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise EvenhandError(f"the propensities of the target {name!r} must be numbers, got {shown(given)}") from None
    if found.ndim != 2 or found.shape[1] != len(log.items) or start + len(found) > log.rounds:
        raise EvenhandError(
            f"the propensities of the target {name!r} must have a column for each of {shown(list(log.items))} and "
            f"{log.rounds:,} rows in all, got an array of shape {found.shape} from row {start} on"
        )
    wrong = ~((found >= -NEAR) & (found <= 1.0 + NEAR)).all(axis=1)
    if wrong.any():
        raise EvenhandError(
            f"the propensities of the target {name!r} must be in [0, 1], got {found[wrong.argmax()].tolist()} in round "
            f"{start + wrong.argmax() + 1}"
        )
    sums, most = found.sum(axis=1), np.bincount(log.round).max()
    if (sums > most + NEAR).any():
        where = f"in round {start + sums.argmax() + 1}, and at most {most} can play"
        raise EvenhandError(f"the propensities of the target {name!r} sum to {sums.max():g} {where}")
    return found


def as_logged(log: Log) -> Followed:
    """The policy of the log itself, whose weights are 1."""
    played, ones = np.bincount(log.item, minlength=len(log.items)) / log.rows, np.ones(log.rows)
    return Followed(LOGGED, log, log.propensity, ones, np.zeros(log.rows), np.zeros(log.rounds), played)
