"""Whether the compiled draws are NumPy's, tried in every process that wants them.

NumPy may change how it draws, and mathematical libraries differ in the last bit of a logarithm. Then NumPy plays.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import numpy as np

from evenhand.core.source import Root
from evenhand.core.state import Array
from evenhand.simulation.compiled.generator import Words, beta, constants, lasting, shuffle, words_of
from evenhand.simulation.compiled.kept import version_of

#: Shapes of Beta distributions, each of another branch: below, at and above 1, large, and as small as a prior can be.
SHAPES = ((1.0, 1.0), (0.5, 0.3), (0.01, 0.02), (1.0, 2.0), (0.5, 3.0), (2.0, 5.0), (3000.0, 12.0))
DRAWS = 10_000  # of each
ARMS = 7  # in each random order


def made(version: str) -> tuple[Any, Any]:
    """Compiled functions that draw; kept while no code that they use has changed: what is tried is what plays."""

    def draw(won, lost, words, drawn):  # type: ignore[no-untyped-def]
        version  # noqa: B018
        high, low = words[0], words[1]
        won_b, won_c = constants(won)
        lost_b, lost_c = constants(lost)
        for place in range(len(drawn)):
            drawn[place], high, low = beta(won_b, won_c, lost_b, lost_c, high, low, words[2], words[3])

    def shuffle_all(words, orders):  # type: ignore[no-untyped-def]
        version  # noqa: B018
        high, low, spare = words[0], words[1], words[4]
        for lane in range(orders.shape[1]):
            high, low, spare = shuffle(orders, lane, high, low, words[2], words[3], spare)

    return lasting(draw), lasting(shuffle_all)


draw, shuffle_all = made(version_of(Root(__name__, "made")))


@cache
def trusted() -> bool:
    """Whether all draws are the same."""
    for number, (won, lost) in enumerate(SHAPES):
        generator = np.random.default_rng(number)
        words: Words = words_of(generator)
        drawn: Array = np.empty(DRAWS)
        draw(won, lost, words, drawn)
        if not np.array_equal(drawn, generator.beta(won, lost, DRAWS)):
            return _refused(f"draws from Beta({won:g}, {lost:g})")
    orders, numbers = np.zeros((ARMS, DRAWS), dtype=np.int64), np.broadcast_to(np.arange(ARMS), (DRAWS, ARMS))
    shuffle_all(words_of(np.random.default_rng(1)), orders)
    alike = np.array_equal(orders.T, np.random.default_rng(1).permuted(numbers, axis=1))
    return alike or _refused("random orders")


def _refused(what: str) -> bool:
    logging.getLogger("evenhand.engine").warning("NumPy plays: its %s are not those of the compiled engine", what)
    return False
