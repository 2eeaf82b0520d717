"""Reward at the same unfairness: policies compared whose tuning parameters mean different things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.papers.claims import above, at, count_lanes, interval
from evenhand.papers.experiment import Finding, Run
from evenhand.records import Array

#: The names of the policies in every configuration; each is a grid of its parameter but in settings 1 and 4.
HARD, FAIR_LEARN, LFG = "hard threshold", "Fair-Learn", "LFG"
RIVALS = (FAIR_LEARN, LFG)
POLICIES = (HARD, *RIVALS)
#: Where two policies are compared: parts of the way through the unfairness that both of them reach.
PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, eq=False)
class Frontier:
    """What a policy earns and misses in the end, over the values of its parameter.

    Only values of which no other has as much mean reward at as little mean unfairness; between neighbours the mean
    reward is taken to be a straight line.

    Attributes:
        unfairness: (values, lanes), plays missing to all arms.
        reward: (values, lanes), expected reward of the plays.
    """

    unfairness: Array
    reward: Array

    @classmethod
    def of(cls, run: Run, name: str) -> Frontier:
        """That of the policies of a grid, by their common name."""
        every = cls.everywhere(run, name)
        missing, earned = every.unfairness.mean(axis=1), every.reward.mean(axis=1)
        order = np.lexsort((-earned, missing))  # more reward first, where unfairness is the same
        best = np.maximum.accumulate(earned[order])
        kept = order[np.append(True, earned[order][1:] > best[:-1])]
        return cls(every.unfairness[kept], every.reward[kept])

    @classmethod
    def everywhere(cls, run: Run, name: str) -> Frontier:
        """All values of the grid, in the order of the configuration."""
        labels = grid(run, name)
        means = run.setup.environment.means
        reward = [(run.results.records[label].pulls[-1] * means).sum(axis=-1) for label in labels]
        unfairness = np.array([at(run, label, "unfairness") for label in labels])
        return cls(unfairness, np.array(reward))

    def at(self, level: float) -> Array:
        """The mean reward at an unfairness within reach, as numbers with this mean, (lanes,).

        Their standard error is that of the mean reward: what a lane adds to both mean points on either side moves the
        line between them, to first order.
        """
        missing, earned = self.unfairness.mean(axis=1), self.reward.mean(axis=1)
        right = int(np.clip(np.searchsorted(missing, level, side="right"), 1, len(missing) - 1))
        left = right - 1
        slope = (earned[right] - earned[left]) / (missing[right] - missing[left])
        part = (level - missing[left]) / (missing[right] - missing[left])
        # A lane with more unfairness than the mean moves the line to the right: less reward at this level.
        values = self.reward - slope * (self.unfairness - missing[:, np.newaxis])
        return np.asarray((1.0 - part) * values[left] + part * values[right])


def grid(run: Run, name: str) -> list[str]:
    """The labels of the policies of a grid, in the order of the configuration."""
    return [label for label in run.results.records if label.startswith(f"{name} ")]


def common(one: Frontier, other: Frontier) -> tuple[float, float]:
    """The least and the most unfairness that both reach in the mean."""
    ends = [(front.unfairness.mean(axis=1).min(), front.unfairness.mean(axis=1).max()) for front in (one, other)]
    return float(max(low for low, _ in ends)), float(min(high for _, high in ends))


def earns_more(run: Run, name: str, other: str, where: str) -> list[Finding]:
    """A policy earns more than another at the same unfairness, at each of `PLACES`; tells where that is least sure.

    Where both reach less than a play an arm in common, there is nothing to compare, which is told in its place.
    """
    mine, theirs = Frontier.of(run, name), Frontier.of(run, other)
    low, high = common(mine, theirs)
    lanes, arms = count_lanes(run), len(run.results.names)
    if high - low < arms:
        text = f"{where}: from the least to the most unfairness that both {name} and {other} reach, in plays"
        return [Finding(text, high - low, high - low, high - low, lanes, f"at least {arms}", False)]
    levels = [low + place * (high - low) for place in PLACES]
    leads = [mine.at(level) - theirs.at(level) for level in levels]
    place = int(np.argmin([interval(lead)[1] for lead in leads]))
    text = f"{where}: expected reward of {name} less that of {other}, both with {levels[place]:,.0f} plays missing"
    return [above(text, leads[place], 0.0)]
