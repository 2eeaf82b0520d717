"""When arms that are behind their promise can have caught up."""

from __future__ import annotations

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.sentences import WITHIN, owed_now
from evenhand.core.state import Array


def catch_up(account: Account, available: Array) -> Array:
    """Rounds after which each arm can be at most one play behind its promise, at the earliest.

    ``⌈(owed − 1)/(a − r)⌉``: an arm that plays whenever it can gains ``a − r`` plays per round, with its availability a
    and its promised share r.

    Args:
        account: what the bandit recorded.
        available: (arms,), the share of the recent rounds in which each arm was available.

    Returns:
        (arms,), NaN for an arm that is not behind, infinity where it cannot catch up with this availability.
    """
    if account.fractions is None or account.merit is not None:
        return np.full(len(account.names), np.nan)
    behind, gain = owed_now(account), available - account.fractions
    late = account.active & (account.fractions > 0.0) & (behind > WITHIN)
    rounds = np.full(len(behind), np.inf)
    np.divide(behind - 1.0, gain, out=rounds, where=late & (gain > 0.0))
    return np.where(late, np.ceil(rounds - 1e-6), np.nan)  # sums of shares are not exact
