"""The random numbers of a bandit: a stream of its own for every round, and for every time that it learns."""

from __future__ import annotations

import numpy as np

DECIDING, LEARNING = 0, 1


class Chance:
    """Independent random streams, each found by its number alone.

    A bandit that reads from a log what happened need not draw what was drawn then, and goes on with the same numbers.

    Args:
        seed: of all streams.

    Example:
        >>> chance = Chance(seed=7)
        >>> first = chance.deciding(round=1).random()
        >>> chance.deciding(round=2).random() == first, chance.deciding(round=1).random() == first
        (False, True)
    """

    def __init__(self, seed: int) -> None:
        key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        self._bits = np.random.Philox(key=key)
        self._generator = np.random.Generator(self._bits)
        self._state = self._bits.state

    def deciding(self, round: int) -> np.random.Generator:
        """The stream of a round's decision; valid until the next one is asked for.

        Args:
            round: number of the round, from 1.

        Returns:
            A generator that gives the same numbers for the same seed and round.
        """
        return self._at(DECIDING, round)

    def learning(self, time: int) -> np.random.Generator:
        """The stream of the time-th feedback; valid until the next one is asked for.

        Args:
            time: which feedback it is, in the order in which they were taken.

        Returns:
            A generator that gives the same numbers for the same seed and time.
        """
        return self._at(LEARNING, time)

    def _at(self, purpose: int, number: int) -> np.random.Generator:
        counter = self._state["state"]["counter"]
        counter[:] = 0, 0, purpose, number
        self._bits.state = self._state
        return self._generator
