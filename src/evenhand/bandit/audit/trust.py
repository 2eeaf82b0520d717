"""Which estimated rewards cannot be trusted, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.core.state import Mask

FEW = 10  # unknown rewards of an arm up to which nothing is suspected
SMALL = 0.1  # part of an arm's rewards up to which unknown ones are not suspected, where the others are all the largest
LARGE = 0.5  # part from which on unknown rewards are always suspected
NAMED = 5  # arms that a warning names


def trusted(account: Account) -> tuple[Mask, tuple[str, ...]]:
    """Whether each arm's estimate can be trusted, and warnings that say why not.

    An estimate is the mean of the rewards that are known. It is wrong where those that are unknown (pending, or lost
    and not counted as zero) are others: failures that are never reported, or results that take longer the worse they
    are.

    Args:
        account: what the bandit recorded.

    Returns:
        (arms,), False where the estimate cannot be trusted; True where there is none. And one sentence per reason.
    """
    low, high = account.limits
    known, unknown = account.known, account.pulls - account.known
    suspected = (known > 0.0) & (unknown > FEW)
    largest = account.sums >= known * (high - 1e-9 * (high - low))
    successes = suspected & largest & (unknown > SMALL * account.pulls)
    partial = suspected & ~successes & (unknown > LARGE * account.pulls)
    warnings = []
    if successes.any():
        if account.missing == "zero":
            remedy = "a missing reward counts as 0 only when its window has passed"
        else:
            remedy = "if only successes are reported, create it anew with a window and missing='zero'"
        count = int(unknown[successes].sum())
        warnings.append(
            f"the estimates of {_names(account.names, successes)} are too high if failures are not reported: every "
            f"known reward is the largest, {high:g}, and {count:,} are unknown; {remedy}"
        )
    if partial.any():
        part = unknown[partial].sum() / account.pulls[partial].sum()
        warnings.append(
            f"the estimates of {_names(account.names, partial)} are from a small part of the rewards: {part:.0%} are "
            "unknown, and the estimates are wrong if these are better or worse than the others"
        )
    return ~(successes | partial), tuple(warnings)


def _names(names: Sequence[str], chosen: Mask) -> str:
    places = np.flatnonzero(chosen).tolist()
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return ", ".join(repr(names[place]) for place in places[:NAMED]) + more
