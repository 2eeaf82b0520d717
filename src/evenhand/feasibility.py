"""Can the promises be kept at all? Asked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.availability import Always, Availability
from evenhand.errors import InfeasiblePromise
from evenhand.reach import TOLERANCE, cutting_planes, inclusion_of
from evenhand.records import Array


def most_overasking(fractions: Array, plays: int, availability: Availability) -> tuple[list[int], float, float]:
    """The arms that together overask the most, what they are promised, and what they can reach.

    ``max_A Σ_{i∈A} r_i − E[min(m, |A ∩ Z|)]``; the promise can be kept exactly where this is at most 0.

    By linear programming duality it is the smallest total share that must be missed, found by cutting planes; the
    best set is one of the level sets of the prices, since the shares within reach form a polymatroid.

    Args:
        fractions: (arms,), promised shares of the rounds.
        plays: m ≥ 1, arms played a round.
        availability: who can play.

    Returns:
        Indices of the arms, the sum of their fractions, and the largest sum of shares they can reach.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Independent
        >>> arms, asked, reach = most_overasking(np.array([0.4, 0.5, 0.1]), 1, Independent([0.5, 0.5, 1.0]))
        >>> arms, round(asked, 3), round(reach, 3)
        ([0, 1], 0.9, 0.75)
    """
    arms = len(fractions)
    inclusion = inclusion_of(plays, availability, arms)
    if isinstance(availability, Always):
        # Up to m arms overask by what each alone is promised beyond 1: the one with the most; more arms by Σr − m.
        groups = [np.arange(arms) == np.argmax(fractions), fractions > 0.0]
    else:
        prices = cutting_planes(np.zeros(arms), fractions, inclusion, np.ones(arms)).prices
        levels = np.unique(prices[prices > TOLERANCE])
        groups = [prices >= level - TOLERANCE for level in levels] or [np.ones(arms, dtype=bool)]
    asked = [float(fractions[group].sum()) for group in groups]
    reach = [float(inclusion(group.astype(float)).sum()) for group in groups]
    worst = int(np.argmax(np.subtract(asked, reach)))
    return np.flatnonzero(groups[worst]).tolist(), asked[worst], reach[worst]


def check_shares(
    fractions: Array, plays: int, availability: Availability, names: Sequence[str] = (), whose: str = ""
) -> None:
    """Refuse promised shares that no policy can keep.

    Args:
        fractions: (arms,), or (lanes, arms), promised shares of the rounds.
        plays: m ≥ 1, arms played a round.
        availability: who can play.
        names: names of the arms for the message; by default their numbers, counted from 1.
        whose: who promises, for the message.

    Raises:
        InfeasiblePromise: names the arms and the amount by which they overask.

    Example:
        >>> import numpy as np
        >>> from evenhand.availability import Always
        >>> check_shares(np.array([0.7, 0.5]), plays=1, availability=Always(), names=["tea", "coffee"])
        Traceback (most recent call last):
        ...
        evenhand.errors.InfeasiblePromise: the promised shares cannot be kept: arms 'tea', 'coffee' together are
        promised 1.2 of the rounds but can play in at most 1 (plays = 1); that is 0.2 too much
    """
    for row in np.atleast_2d(fractions):
        arms, asked, reach = most_overasking(row, plays, availability)
        if asked - reach <= TOLERANCE * max(1.0, reach):
            continue
        quoted = ", ".join(repr(names[arm]) if names else str(arm + 1) for arm in arms[:20])
        quoted += f" and {len(arms) - 20} more" if len(arms) > 20 else ""
        subject = f"arms {quoted} together are" if len(arms) > 1 else f"arm {quoted} is"
        given = "" if isinstance(availability, Always) else " and the given availability"
        raise InfeasiblePromise(
            f"the promised shares{whose and ' of ' + whose} cannot be kept: {subject} promised {asked:.6g} of the "
            f"rounds but can play in at most {reach:.6g} (plays = {plays}{given}); that is {asked - reach:.6g} too much"
        )
