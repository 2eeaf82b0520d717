"""What Thompson sampling believes of an arm's mean reward before any reward: a Beta distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from evenhand.core.errors import HINTED, EvenhandError, nearest, number_of, shown, there_are
from evenhand.core.state import Array
from evenhand.core.validate import NO_NUMBER

Pair: TypeAlias = tuple[float, float]
#: a and b of ``Beta(a, b)``, for all arms or for each.
Prior: TypeAlias = Pair | tuple[Pair, ...]
PriorLike: TypeAlias = Sequence[float] | Sequence[Sequence[float]]

UNIFORM: Pair = (1.0, 1.0)


def as_prior(value: PriorLike) -> Prior:
    """A pair of positive numbers a and b, or one such pair per arm."""
    form = "must be two numbers above 0, a and b of Beta(a, b), or such a pair per arm"
    try:
        if any(isinstance(one, NO_NUMBER) for one in np.asarray(value, dtype=object).flat):
            raise TypeError
        array = np.asarray(value, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(f"{form}, got {shown(value)}") from None
    if array.shape[-1:] != (2,) or array.ndim > 2 or not array.size or not _positive(array):
        raise EvenhandError(f"{form}, got {shown(value)}")
    pairs = tuple((float(a), float(b)) for a, b in array.reshape(-1, 2))
    return pairs[0] if array.ndim == 1 else pairs


def by_name(pairs: Mapping[str, Sequence[float]], names: Sequence[str]) -> list[Sequence[float]]:
    """Pairs in the order of the arms, from pairs by their names; the others are uniform."""
    for name in pairs:
        if name not in names:
            raise EvenhandError(
                f"has an unknown arm {name!r}{nearest(str(name), names) * (len(names) <= HINTED)}", "prior"
            )
    return [pairs.get(name, UNIFORM) for name in names]


def _positive(array: Array) -> bool:
    return bool((np.isfinite(array) & (array > 0.0)).all())


def shapes(prior: Prior) -> tuple[float | Array, float | Array]:
    """a and b, for all arms or (arms,)."""
    first, second = prior[0], prior[1] if len(prior) == 2 else None
    if isinstance(first, float) and isinstance(second, float):
        return first, second
    a, b = np.array(prior).T
    return a, b


def check_arms(prior: Prior, arms: int) -> None:
    """Refuse pairs for another number of arms."""
    if not isinstance(prior[0], float) and arms not in (1, len(prior)):  # 1: only the kind of a memory is asked for
        raise EvenhandError(f"has {number_of(len(prior), 'pair')}, but {there_are(arms, 'arm')}", "prior")
