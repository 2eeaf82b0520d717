"""Segments of the rounds of a simulation: who plays in which, and what is owed there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array, Decision, Observation, State
from evenhand.environment.world import Environment
from evenhand.features.partition import Partition
from evenhand.policy.composition import Policy
from evenhand.policy.segments import SegmentAccounts

#: What is kept of a run by lane, segment and arm: rounds of the segment and plays in it; the same since the promise to
#: the arm began, and the plays that are missing, negative where there are more.
COUNTS = ("rounds", "plays", "since", "made", "missing")


class Within:
    """The segments of a block of lanes, and the decisions that keep what is promised there."""

    segment: NDArray[np.intp]  # (lanes,), of the present round

    def __init__(self, partition: Partition, lanes: int, arms: int) -> None:
        """Nothing has happened yet."""
        self._partition = partition
        self.accounts = SegmentAccounts(partition.names, (lanes, arms))

    def decide(self, policy: Policy, state: State, observation: Observation, rng: np.random.Generator) -> Decision:
        """Decide a round as `Policy.decide` does, with the promises of each lane's segment if the policy keeps any."""
        assert observation.situation is not None
        self.segment = self._partition.of(observation.situation)
        deciding, known = policy, state
        if policy.fairness.traits.segmented:
            deciding, known = self.accounts.seen(self.segment, policy, state)
        decision = deciding.choose(known, observation, rng, propensities=False)
        policy.apply(state, decision)
        self.accounts.count(self.segment, decision.played)
        return decision

    @property
    def missing(self) -> Array:
        """(lanes, segments, arms), the plays behind what is promised."""
        return self.accounts.owed(...)

    def counts(self) -> Array:
        """(lanes, 5, segments, arms), those of `COUNTS`."""
        own, begun = self.accounts, self.accounts.accounts
        rounds = np.broadcast_to(own.rounds[..., np.newaxis], own.plays.shape)
        return np.stack([rounds, own.plays, rounds - begun.rounds, own.plays - begun.plays, self.missing], axis=1)


def started(environment: Environment, lanes: int) -> Within | None:
    """The segments before the first round; None where an environment has none."""
    partition = environment.partition
    return None if partition is None else Within(partition, lanes, environment.arms)
