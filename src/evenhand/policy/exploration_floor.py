"""An exploration floor: every available arm plays with at least a given probability, whatever the other parts say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Observation, Shape, State
from evenhand.policy.claim import Claim
from evenhand.policy.part import Around, Composition, Traits, built
from evenhand.policy.selection import Selected, Selection, TopM


def as_selection(value: Selection | str | Mapping[str, object]) -> Selection:
    """A selection, given as one, by its kind, or by its plain form."""
    return built("selection", value, Selection, "TopM()")


@part("selection", "exploration_floor")
@frozen
class ExplorationFloor(Around, Selection):
    """With probability ``ε = f K/m`` the m arms are drawn evenly among the available ones, otherwise by a selection.

    ``p_i = (1 − ε) q_i + ε min(m, |Z|)/|Z|``, q being the inner selection's, so that no available arm has less than f,
    and every logged round can be weighed by inverse propensities, with weights of at most 1/f. Where scores are drawn
    at random, as by Thompson sampling, p is the exact chance given the scores of the round: as every arm has one,
    weights 1/p are unbiased, though their variance is larger than with the chance before scores are drawn, which only
    `evenhand.algorithms.floor_ts` computes. Rounds that a schedule forces are not drawn.

    The price is at most ``f Σ_i (μ* − μ_i)`` of reward per round for one play: the part ε of the rounds earns the mean
    over the arms. Shares by merit become ``(1 − ε) p* + ε m/K``. Arms with a promised share are served in the other
    rounds: the deficit is no longer less than one play, but stays about as it is where ``Σ_i max(r_i, f) < m``, and a
    promise beyond m is refused.

    Args:
        floor: f in [0, m/K], the least probability of an available arm.
        selection: who plays in the other rounds.

    Example:
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(selection=ExplorationFloor(0.05))
        >>> policy.decide(policy.start(arms=4), Observation(), np.random.default_rng(0)).propensities
        array([0.85, 0.05, 0.05, 0.05])
    """

    inside = "selection"
    floor: float = field(converter=validate.unit)
    selection: Selection = field(default=TopM(), converter=as_selection, metadata={"slot": "selection"})

    def __attrs_post_init__(self) -> None:
        if isinstance(self.selection, ExplorationFloor):
            raise EvenhandError(f"is an exploration floor itself, {self.selection!r}: give one floor", "selection")

    @property
    def traits(self) -> Traits:
        """Those of the inner selection."""
        return self.selection.traits

    @property
    def plays(self) -> int:
        """Those of the inner selection."""
        return self.selection.plays

    def exploring(self, arms: int) -> float:
        """``ε = K · floor/m``; refused where that is above 1."""
        epsilon = self.floor * arms / self.plays
        if epsilon > 1.0 + 1e-9:
            raise EvenhandError(
                f"floor = {self.floor:g} for {arms} arms is more than all rounds: at most {self.plays / arms:g} each"
            )
        return min(epsilon, 1.0)

    def in_place(self, other: str) -> str:
        """How another selection within the floor is written, for messages."""
        return f"ExplorationFloor({self.floor:g}, {self.selection.in_place(other)})"

    def start(self, shape: Shape) -> Any:
        """What the inner selection remembers."""
        self.exploring(shape[-1])
        return self.selection.start(shape)

    def select(self, claim: Claim, state: State, observation: Observation, rng: np.random.Generator) -> Selected:
        """The inner selection, or m arms drawn evenly."""
        played, chance = self.selection.select(claim, state, observation, rng)
        epsilon = self.exploring(state.arms)
        able = np.ones(played.shape, dtype=bool) if observation.available is None else observation.available
        number = able.sum(axis=-1, keepdims=True)
        keys = np.where(able, rng.random(played.shape), 2.0)
        drawn = (np.argsort(np.argsort(keys, axis=-1), axis=-1) < self.plays) & able
        explores = rng.random((*played.shape[:-1], 1)) < epsilon
        even = able * (np.minimum(self.plays, number) / np.maximum(number, 1))
        return np.where(explores, drawn, played), (1.0 - epsilon) * chance + epsilon * even

    def refuses(self, policy: Composition) -> str | None:
        """Choices that last, and what the inner selection refuses."""
        if not policy.hold.traits.idle:
            own, hold = type(self).__name__, type(policy.hold).__name__
            return f"{own} draws in every round, but {hold} holds choices for several rounds: use hold=EveryRound()"
        return Selection.refuses(self, policy) or super().refuses(policy)
