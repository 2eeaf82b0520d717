"""The world from which a log seems to be: what arms earn, when rewards come, and who is available."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from evenhand.bandit.evaluation.lateness import DOUBT, dependence, lateness
from evenhand.bandit.evaluation.plays import FEW, FEWEST, Plays
from evenhand.bandit.evaluation.table import Index, in_order
from evenhand.core.errors import DataError
from evenhand.core.state import Array, Mask, PerLane
from evenhand.environment.availability import Always, Availability, Independent, Joint
from evenhand.environment.rewards import Bernoulli, Categorical, RewardRules, Rewards
from evenhand.environment.world import Environment
from evenhand.inference.means import shrunk
from evenhand.inference.sums import Sums, mean, simultaneous

VALUES = 256  # different rewards of the fitted laws, at most; of more, each is shared between its two neighbours
OLD = 0.99  # quantile of delays from which age on plays count, where delays depend on rewards and have no window
SETS = 1000  # sets of available arms that are drawn as they are


@frozen(eq=False)
class FittedEnvironment(Environment):
    """An environment that was fitted to a log."""

    assumptions: tuple[str, ...] = field(default=(), kw_only=True)  # what was assumed, in sentences


@frozen(eq=False)
class Laws(Rewards):
    """Rewards drawn from a list of values, with probabilities that differ between lanes."""

    values: Array  # (values,), in rising order
    steps: Array  # (lanes, arms · values), cumulated probabilities of each arm's values
    means: Array  # (lanes, arms)

    def rules(self) -> RewardRules:
        """They are drawn in NumPy."""
        return RewardRules()

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return float(self.values[0]), float(self.values[-1])

    def draw(self, rng: np.random.Generator, rows: NDArray[np.intp], lanes: int) -> NDArray[Any]:
        """Rewards by inversion, (rounds, lanes, arms)."""
        arms = np.shape(self.means)[-1]
        steps = np.asarray(self.steps).reshape(lanes * arms, -1)
        shift = np.arange(lanes * arms)  # all laws one after the other, so that one search serves them
        uniform = rng.random((len(rows), lanes * arms)) * (1.0 - 1e-9)
        place = np.searchsorted((steps + shift[:, np.newaxis]).ravel(), uniform + shift, side="right")
        return np.asarray(self.values[place - shift * len(self.values)].reshape(len(rows), lanes, arms))


class Fit:
    """What a log says of rewards: the plays that count, their weights, and the laws of the arms."""

    def __init__(self, plays: Plays) -> None:
        self.plays, self.late = plays, lateness(plays)
        self.used, self.open = _used(plays, self.late.dependent)
        self.item, self.reward = self.plays.item[self.used], self.plays.reward[self.used]
        self.weight = 1.0 / self.plays.propensity[self.used] if plays.has_propensities else np.ones(len(self.item))
        self.round = self.plays.round[self.used]
        self.values, self.cells = _grid(self.reward)
        unknown = np.bincount(self.item, minlength=len(plays.items)) == 0
        if unknown.any():
            names = ", ".join(plays.items[arm] for arm in np.flatnonzero(unknown)[:10])
            raise DataError(f"{plays.source} has no known reward of {names}: nothing can be said of what they earn")

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest reward that can occur: as declared, or as they are in the log."""
        if self.plays.reading.rewards is not None:
            return self.plays.reading.rewards
        low, high = float(self.reward.min()), float(self.reward.max())
        return (
            (min(low, 0.0), max(high, 1.0)) if low >= 0.0 and high <= 1.0 else (low, high if high > low else low + 1.0)
        )

    def laws(self, weight: Array) -> Array:
        """(arms, values), the probabilities of each arm's rewards, for some weights of the plays."""
        shape = len(self.plays.items), len(self.values)
        probabilities = np.zeros(shape)
        for cell, part in self.cells:
            place = self.item * shape[1] + cell
            probabilities += np.bincount(place, weights=weight * part, minlength=shape[0] * shape[1]).reshape(shape)
        return np.asarray(probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), 1e-300))

    def means(self, confidence: float) -> tuple[Array, Array, Array, Array]:
        """(arms,), means, effective plays, and the ends of intervals of the means that hold for all arms together.

        Where propensities differ, plays count as fewer of equal ones, ``(Σ w)²/Σ w²``.
        """
        arms, (smallest, largest) = len(self.plays.items), self.limits
        number = np.bincount(self.item, minlength=arms)
        total = np.bincount(self.item, weights=self.weight, minlength=arms)
        known = total**2 / np.bincount(self.item, weights=self.weight**2, minlength=arms)
        means = np.bincount(self.item, weights=self.weight * self.reward, minlength=arms) / total
        scaled = np.clip((self.reward - smallest) / (largest - smallest), 0.0, 1.0)
        part = np.clip((means - smallest) / (largest - smallest), 0.0, 1.0)
        open = np.bincount(self.plays.item[self.open], minlength=arms) * known / number
        spread = _spread(self.item, scaled, number) * known / number
        low, high = mean(Sums(known, part * known, spread), simultaneous(confidence, arms), open)
        return means, known, smallest + (largest - smallest) * low, smallest + (largest - smallest) * high

    def one_look(self, confidence: float) -> tuple[Array, Array, Mask]:
        """(arms,), ends of intervals as `means` has them, for one look at plays of equal weight; and where they serve.

        ``X̄ ± z s/√n`` with the worst of open plays. They serve where there are many rewards: 30 plays or more, of which
        none has more than 10% of the squared error.
        """
        from scipy.special import ndtri  # slow to import

        arms, opened = len(self.plays.items), self.plays.item[self.open]
        items, level = np.concatenate([self.item, opened]), simultaneous(confidence, arms)
        number, ends, serves = np.bincount(items, minlength=arms), [], np.ones(arms, dtype=bool)
        for value, z in zip(self.limits, np.array([-1.0, 1.0]) * ndtri(0.5 + level / 2.0), strict=True):
            reward = np.concatenate([self.reward, np.full(len(opened), value)])
            middle = np.bincount(items, reward, arms) / number
            squares, largest = (reward - middle[items]) ** 2, np.zeros(arms)
            total = np.bincount(items, squares, arms)
            np.maximum.at(largest, items, squares)
            serves &= (number >= FEWEST) & (largest < FEW * total)
            ends.append(middle + z * np.sqrt(total) / number)
        low, high = np.clip(ends, *self.limits)
        return low, high, serves

    def rewards(self, laws: Array, lanes: bool = False) -> Rewards:
        """The reward model of some laws, (arms, values), or (lanes, arms, values)."""
        if set(self.values.tolist()) <= {0.0, 1.0}:
            ones = laws[..., -1] if self.values[-1] == 1.0 else np.zeros(laws.shape[:-1])
            return Bernoulli(PerLane(np.clip(ones, 0.0, 1.0)) if lanes else np.clip(ones, 0.0, 1.0))
        if not lanes:
            return Categorical(self.values, laws)
        steps = np.cumsum(laws, axis=-1)
        steps[..., -1] = 1.0
        return Laws(self.values, PerLane(steps.reshape(len(laws), -1)), PerLane(laws @ self.values))

    def environment(self, lanes: int = 0, seed: int = 0) -> FittedEnvironment:
        """The fitted world; with lanes, one for each, refitted to decisions drawn anew from the log."""
        laws = self.laws(self.weight)
        if lanes:
            rng, drawn = np.random.default_rng(seed), []
            for _ in range(lanes):
                again = self.laws(self.weight * rng.poisson(1.0, self.round[-1] + 1)[self.round])
                drawn.append(np.where(again.sum(axis=1, keepdims=True) > 0.5, again, laws))  # an arm that was not drawn
            laws = self._likely(np.array(drawn))
        available, says = _availability(self.plays)
        rewards = self.rewards(laws, bool(lanes))
        given = self.plays.reading.rewards
        return FittedEnvironment(
            rewards, available, self.late.feedback, self.plays.items, reward_range=given,
            assumptions=(*self._sentences(), *self.late.sentences, *says),
        )  # fmt: skip

    def _likely(self, laws: Array) -> Array:
        """Laws (lanes, arms, values) with likely means: else the best of many arms would be too good in each lane."""
        (smallest, largest), means = self.limits, laws @ self.values
        number = np.bincount(self.item, minlength=laws.shape[1]).astype(float)
        # Means of decisions drawn anew vary as those of half as many: once as in the log, and once by the drawing.
        common = np.einsum("a,lav->lv", number / number.sum(), laws)[:, np.newaxis]
        scaled = np.clip((means - smallest) / (largest - smallest), 0.0, 1.0)
        likely = smallest + (largest - smallest) * np.array([shrunk(row, number / 2.0) for row in scaled])
        gap, wanted = means - common @ self.values, likely - common @ self.values
        part = np.clip(np.divide(wanted, gap, out=np.ones_like(gap), where=np.abs(gap) > 1e-12), 0.0, 1.0)
        return np.asarray(common + part[..., np.newaxis] * (laws - common))

    def _sentences(self) -> list[str]:
        """What is assumed of rewards."""
        low, high = self.limits
        says = ["What an arm earns does not change over time, and does not depend on what else is shown."]
        if self.plays.has_propensities:
            says.append("Plays are weighted by inverse propensities, so whom an arm was shown to does not matter.")
        else:
            says.append(
                "The log has no propensities: every arm is taken to have been shown to the same kind of people."
            )
        says += self._places()
        if self.plays.reading.rewards is None and (low, high) != (0.0, 1.0):
            says.append(f"Rewards lie between {low:g} and {high:g}, the smallest and the largest in the log.")
        if self.open.any():
            says.append(
                f"{int(self.open.sum()):,} plays are still open: at the ends of the interval they earn the worst."
            )
        if self.plays.reading.missing == "lost":
            says.append("Rewards that are missing were lost independently of what they were.")
        return says

    def _places(self) -> list[str]:
        """What is assumed of the places in which arms were shown, and what speaks against it."""
        if self.plays.position is None:
            return []
        says = ["The place in which an arm was shown does not matter."]
        names = {name: place for place, name in enumerate(in_order(self.plays.position.tolist()))}
        place = np.array([names[name] for name in self.plays.position[self.used].tolist()])
        shown = np.zeros((len(self.plays.items), len(names)), dtype=bool)
        shown[self.item, place] = True
        some = [self.plays.items[arm] for arm in np.flatnonzero(~shown.all(axis=1))]
        if some:
            listed = ", ".join(some[:10]) + ("" if len(some) <= 10 else f" and {len(some) - 10:,} more")
            says.append(f"Warning: {listed} were not shown in every place: their rewards may be those of the place.")
        score = dependence(place.astype(float), self.reward, self.item)
        if abs(score) > DOUBT:
            says.append(
                f"Warning: rewards of the same arm differ between places ({abs(score):.1f} standard deviations), so "
                "means and prices also say where arms were shown."
            )
        return says


def _used(plays: Plays, dependent: bool) -> tuple[Mask, Mask]:
    """The plays whose rewards are known and count, and those that count although they are open."""
    known, final = ~np.isnan(plays.reward), ~plays.open
    waiting, none = plays.open & ~known, np.zeros(len(known), dtype=bool)
    if not dependent or not waiting.any() or (final & ~known).any() or (known & plays.open).any():
        return known & (final if (known & final).any() else True), none
    came = (plays.rewarded - plays.decided)[~np.isnan(plays.rewarded)]
    old = plays.end - plays.decided >= np.quantile(came, OLD)
    return (known & old, waiting & old) if (known & old).any() else (known, waiting)


def _spread(item: Index, scaled: Array, number: Index) -> Array:
    """(arms,), the squares of rewards less the mean of those of the arm before, in the order of decisions."""
    order = np.argsort(item, kind="stable")
    values, place = scaled[order], item[order]
    first = np.cumsum(number) - number
    sums = np.cumsum(values) - values
    before = np.arange(len(values)) - first[place]
    guess = (sums - sums[np.minimum(first, len(values) - 1)][place] + 0.5) / (before + 1.0)
    return np.asarray(np.bincount(place, weights=(values - guess) ** 2, minlength=len(number)), dtype=float)


def _grid(reward: Array) -> tuple[Array, list[tuple[Index, Array | float]]]:
    """The values of the laws, and how each reward is shared between them, so that its mean stays the same."""
    values, cell = np.unique(reward, return_inverse=True)
    if len(values) <= VALUES:
        return values, [(cell, 1.0)]
    grid = np.unique(np.quantile(values, np.linspace(0.0, 1.0, VALUES)))
    left = np.clip(np.searchsorted(grid, reward, side="right") - 1, 0, len(grid) - 2)
    part = (reward - grid[left]) / (grid[left + 1] - grid[left])
    return grid, [(left, 1.0 - part), (left + 1, part)]


def _availability(plays: Plays) -> tuple[Availability, list[str]]:
    """Who is available, as often as in the log."""
    share = np.bincount(plays.available, minlength=len(plays.sets)) / len(plays.available)
    sets, share = plays.sets[share > 0.0], share[share > 0.0]
    if not plays.has_available or sets.all():
        return Always(), []
    if len(sets) > SETS:
        return Independent(share @ sets), ["Each arm is available as often as in the log, independently of the others."]
    return Joint(sets.astype(float), share / share.sum()), ["Arms are available together as often as in the log."]
