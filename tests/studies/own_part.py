"""Policies of one's own: one ends the process that runs it, if that is a worker, another raises."""

from __future__ import annotations

import os
import sys

import numpy as np
from attrs import frozen

from evenhand.core.state import Array, Observation, State
from evenhand.policy.composition import Policy
from evenhand.policy.index import Index

STARTED = os.getpid()  # of the process that read this file; it travels with the part


@frozen
class Deadly(Index):
    """Ends its worker in the tenth round."""

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """Zeros."""
        if state.tally.pulls.sum() > 40 and os.getpid() != STARTED:
            os._exit(9)
        return 0.0 * state.tally.pulls


def deadly(plays: int = 1) -> Policy:
    """A policy with that index."""
    return Policy(Deadly())


@frozen
class Raising(Index):
    """Raises after some rounds, or asks the process to end."""

    after: int

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """Zeros."""
        if state.round >= self.after == 11:
            sys.exit()
        if state.round >= self.after:
            raise RuntimeError(f"it raises after round {self.after}")
        return 0.0 * state.tally.pulls


def raising(after: int, plays: int = 1) -> Policy:
    """A policy with that index."""
    return Policy(Raising(after))
