"""Can the promised shares be kept at all? Checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.errors import InfeasiblePromise
from evenhand.core.state import Array
from evenhand.environment.availability import Always, Availability
from evenhand.theory.achievable import TOLERANCE, UnknownDistribution, cutting_planes, inclusion_of
from evenhand.theory.independent import by_ratio, tightest


def largest_excess(fractions: Array, plays: int, availability: Availability) -> tuple[list[int], float, float]:
    """The arms whose promise exceeds what they can have by the most, with both sums.

    ``max_A Σ_{i∈A} r_i − E[min(m, |A ∩ Z|)]``; the promise can be kept exactly where this is at most 0.

    By linear programming duality it is the smallest total share that must be missed, found by cutting planes; the
    best set is one of the level sets of the prices, since the achievable shares form a polymatroid. Where arms are
    available independently it begins the order of r/p (`evenhand.theory.independent`). Where the distribution of the
    available sets is not known, all arms count as available: a promise that cannot be kept then cannot be kept at all.

    Args:
        fractions: (arms,), promised shares of the rounds.
        plays: m ≥ 1, arms played per round.
        availability: who can play.

    Returns:
        Indices of the arms, the sum of their fractions, and the largest sum of shares that they can have.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Independent
        >>> arms, promised, possible = largest_excess(np.array([0.4, 0.5, 0.1]), 1, Independent([0.5, 0.5, 1.0]))
        >>> arms, round(promised, 3), round(possible, 3)
        ([0, 1], 0.9, 0.75)
    """
    arms = len(fractions)
    try:
        inclusion = inclusion_of(plays, availability, arms)
    except UnknownDistribution:
        return largest_excess(fractions, plays, Always())
    if not availability.traits.sleeping:
        # Up to m arms exceed it by what each alone is promised beyond 1: the one with the most; more arms by Σr − m.
        groups = [np.arange(arms) == np.argmax(fractions), fractions > 0.0]
    elif availability.independent is not None:
        none, every = np.zeros((1, arms), dtype=bool), np.ones((1, arms), dtype=bool)
        _, (length,) = tightest(fractions, plays, availability.independent, none, every)
        groups = [np.isin(np.arange(arms), by_ratio(fractions, availability.independent)[: max(length, 1)])]
    else:
        prices = cutting_planes(np.zeros(arms), fractions, inclusion, np.ones(arms)).prices
        levels = np.unique(prices[prices > TOLERANCE])
        groups = [prices >= level - TOLERANCE for level in levels] or [np.ones(arms, dtype=bool)]
    promised = [float(fractions[group].sum()) for group in groups]
    possible = [float(inclusion(group.astype(float)).sum()) for group in groups]
    worst = int(np.argmax(np.subtract(promised, possible)))
    return np.flatnonzero(groups[worst]).tolist(), promised[worst], possible[worst]


def check_shares(
    fractions: Array, plays: int, availability: Availability, names: Sequence[str] = (), whose: str = ""
) -> None:
    """Refuse promised shares that no policy can keep.

    Args:
        fractions: (arms,), or (lanes, arms), promised shares of the rounds.
        plays: m ≥ 1, arms played per round.
        availability: who can play.
        names: names of the arms for the message; by default their numbers, counted from 1.
        whose: name of the policy that promises, for the message.

    Raises:
        InfeasiblePromise: names the arms and by how much their promise exceeds what they can have.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Always
        >>> check_shares(np.array([0.7, 0.5]), plays=1, availability=Always(), names=["tea", "coffee"])
        Traceback (most recent call last):
        ...
        evenhand.core.errors.InfeasiblePromise: the promised shares cannot be kept: arms 'tea', 'coffee' together are
        promised 1.2 of the rounds but can play in at most 1 (plays = 1); that is 0.2 too much
    """
    for row in np.atleast_2d(fractions):
        arms, promised, possible = largest_excess(row, plays, availability)
        if promised - possible <= TOLERANCE * max(1.0, possible):
            continue
        quoted = ", ".join(repr(names[arm]) if names else str(arm + 1) for arm in arms[:20])
        quoted += f" and {len(arms) - 20} more" if len(arms) > 20 else ""
        subject = f"arms {quoted} together are" if len(arms) > 1 else f"arm {quoted} is"
        condition = " and the given availability" if availability.traits.sleeping else ""
        raise InfeasiblePromise(
            f"the promised shares{whose and ' of ' + whose} cannot be kept: {subject} promised {promised:.6g} of the "
            f"rounds but can play in at most {possible:.6g} (plays = {plays}{condition}); that is "
            f"{promised - possible:.6g} too much"
        )
