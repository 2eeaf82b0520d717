"""Arms by their rank among the candidates of their own group."""

from __future__ import annotations

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Shape, State
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.part import Traits


@dataclass(slots=True)
class Past:
    """The scores of the last rounds in which each arm could play, a ring."""

    scores: Array  # (…, window, arms)
    seen: Array  # (…, arms) how many were written


@part("fairness", "group_rank")
@frozen
class GroupRank(Fairness):
    """The arm plays whose score is highest among the past scores of the same arm: ``argmax F̂_a(score_a)``.

    Each arm stands for a group, and in every round for its candidate of that round, whose features it has. F̂_a is the
    part of the arm's scores in the last half of its rounds, at most ``window``, that are no larger. So a candidate is
    compared with its own group, and a group whose scores are low altogether, for whatever reason, plays as often as the
    others: where scores are independent over rounds and without ties, every arm has the same chance. An arm without a
    past has rank 1.

    Grazzi et al. score the candidates of the last half of the rounds anew, with the estimate from the first half. Here
    every score is as of its round, from what was known before it, which needs no features of the past.

    Args:
        window: most rounds that are remembered, at least 1.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(fairness=GroupRank(window=4))
        >>> state = policy.start(arms=2)
        >>> state.fairness.scores[:] = [[0.1, 0.7], [0.2, 0.8], [0.3, 0.9], [0.4, 1.0]]
        >>> state.fairness.seen[:] = 8
        >>> policy.fairness.claim(np.array([0.3, 0.75]), state).score
        array([0.75, 0.25])

    Source: Grazzi et al. 2022, Algorithm 1 (Fair-Greedy).
    """

    window: int = field(default=1000, converter=validate.count)
    traits = Traits(scored=True)

    def start(self, shape: Shape) -> Past:
        """No scores yet."""
        return Past(np.zeros((*shape[:-1], self.window, shape[-1])), np.zeros(tuple(shape)))

    def claim(self, score: Array, state: State) -> Ranking:
        """The rank of each score among those of its arm."""
        past: Past = state.fairness
        number = np.minimum(np.ceil(past.seen / 2.0), self.window)
        age = (past.seen[..., np.newaxis, :] - 1.0 - np.arange(self.window)[:, np.newaxis]) % self.window
        below = ((past.scores <= score[..., np.newaxis, :]) & (age < number[..., np.newaxis, :])).sum(axis=-2)
        return Ranking(np.where(number > 0.0, below / np.maximum(number, 1.0), 1.0))

    def after_decision(self, state: State, decision: Decision) -> None:
        """Write down the scores of the arms that could play."""
        if decision.scores is None:  # read from a log
            return
        past: Past = state.fairness
        place = (past.seen % self.window).astype(np.intp)[..., np.newaxis, :]
        able = np.ones(past.seen.shape, dtype=bool) if decision.available is None else decision.available
        new = np.where(able, decision.scores, np.take_along_axis(past.scores, place, axis=-2)[..., 0, :])
        np.put_along_axis(past.scores, place, new[..., np.newaxis, :], axis=-2)
        past.seen += able
