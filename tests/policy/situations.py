"""Lanes that play a policy with features, in a world of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from evenhand import Feedback, Observation, Policy, State
from evenhand.core.cohorts import Answers
from evenhand.core.state import Array, Mask
from evenhand.typing import Decision

Drawn = Callable[[np.random.Generator], tuple[Array, Array, Array]]


def rounds_of(
    policy: Policy, drawn: Drawn, rounds: int, seed: int = 0, available: Mask | None = None
) -> Iterator[tuple[State, Decision, Array]]:
    """Each round's state, decision and expected rewards (lanes, arms); ``drawn`` gives the features of the situation
    (lanes, d), those of the arms (lanes, arms, d_arm), and the expected rewards."""
    rng, world = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    situation, arms, means = drawn(np.random.default_rng(9))
    state = policy.start(arms.shape[1], len(arms), columns=(situation.shape[-1], arms.shape[-1]))
    for _ in range(rounds):
        situation, arms, means = drawn(world)
        decision = policy.decide(state, Observation(available, situation, arms), rng)
        yield state, decision, means
        lanes, places = decision.played.nonzero()
        rewards = (world.random(len(lanes)) < means[lanes, places]).astype(float)
        flat = np.flatnonzero(decision.played)
        told = Answers(flat, np.zeros(len(flat), int), rewards, situation[lanes], arms[lanes, places])
        sums = np.zeros(decision.played.shape)
        sums[lanes, places] = rewards
        policy.observe(state, Feedback(decision.played * 1.0, sums, told), rng)
