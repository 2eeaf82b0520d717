"""Arms of which none is known to be worse than the best: chained confidence intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask, Observation, State
from evenhand.policy.contextual import LinUCB
from evenhand.policy.index import AroundIndex, as_index
from evenhand.policy.part import Traits


def _as_bounds(value: Any) -> LinUCB:
    """An index with intervals."""
    index = as_index(value)
    if not isinstance(index, LinUCB):
        raise EvenhandError(f"must have intervals, got {shown(value)}: use LinUCB(…)")
    return index


@part("index", "chain")
@frozen
class Chain(AroundIndex):
    """1 for the arms that are chained to the best, 0 for the others.

    The arm with the highest upper bound is in the chain, and so is each arm whose interval meets that of an arm in it.
    Where all intervals hold, every arm outside is worse than every arm in the chain, so that equal chances in the chain
    never prefer the worse of two arms.

    Args:
        index: `LinUCB`, with its intervals.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> state = Policy(Chain()).start(2, columns=(1, 0))
        >>> Chain().score(state, Observation(situation=np.array([1.0])), np.random.default_rng(1))  # nothing is known
        array([1., 1.])

    Source: Joseph et al. 2016 (chained intervals); Joseph et al. 2018, section 3 (RidgeFair).
    """

    inside = "index"
    index: LinUCB = field(default=LinUCB(radius="theorem"), converter=_as_bounds, metadata={"slot": "index"})

    @property
    def traits(self) -> Traits:
        """Weights; goes by features."""
        return Traits(gives="weights", contextual=True, exact=True, bounded=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """1 in the chain, (…, arms)."""
        low, high = self.index.interval(state, observation)
        if observation.available is not None:
            low, high = (np.where(observation.available, end, -np.inf) for end in (low, high))
        return chained(low, high).astype(float)


def chained(low: Array, high: Array) -> Mask:
    """(…, arms), the arms whose intervals are linked to that with the highest upper end."""
    order = np.argsort(-high, axis=-1, kind="stable")
    ends, lowest = (np.take_along_axis(one, order, axis=-1) for one in (high, low))
    lowest = np.minimum.accumulate(lowest, axis=-1)
    linked = np.ones(order.shape, dtype=bool)
    linked[..., 1:] = ends[..., 1:] >= lowest[..., :-1]
    found = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(found, order, np.logical_and.accumulate(linked, axis=-1), axis=-1)
    return found
