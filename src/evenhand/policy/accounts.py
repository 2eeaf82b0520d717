"""What is owed under each promise, counted exactly, and what becomes of it when the promise changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array, Mask, Shape

BILLION = 1e9  # what is due is counted in billionths of a play
BILLIONS = np.array(BILLION)  # for arrays, as a number would be made one in every round


def owed(fractions: Any, rounds: Any, pulls: Any, carried: Any = None, whole: bool = False) -> Any:
    """The plays still owed to each arm: ``C + r_i n − N_i``; negative where an arm is ahead.

    Worked out afresh from n, never by adding r up, and in whole billionths of a play. So 0.07 · 100 − 7 is 0, and equal
    deficits of different arms compare equal (up to some million rounds, where double precision ends).

    Args:
        fractions: (…, arms), promised share of the rounds of each arm; one number beside numbers for a single arm.
        rounds: n, the rounds over which the share is due; a number, or (…, arms).
        pulls: (…, arms), plays so far.
        carried: C, what was owed when the promise began, in whole billionths of a play; None for nothing.
        whole: whether to return billionths of a play, in which equal deficits compare equal.

    Returns:
        Plays, in the shape of ``pulls``.

    Example:
        >>> import numpy as np
        >>> 0.07 * 100 - 7 == 0, bool(owed(np.array([0.07]), 100, np.array([7.0]))[0] == 0)
        (False, True)
        >>> owed(0.07, 100, 6.0), owed(0.07, 100, 6.0, whole=True)
        (1.0, 1000000000.0)
    """
    nearest, unit = (round, BILLION) if isinstance(pulls, float) else (np.rint, BILLIONS)
    due = nearest(fractions * rounds * unit)
    behind = (due if carried is None else due + carried) - pulls * unit
    return behind if whole else behind / unit


@dataclass(slots=True)
class Accounts:
    """When promises began, and what was owed then: an account is behind by ``D = C + r (n − n₀) − (N − N₀)`` plays.

    An account whose promise is 0, or whose arm is retired, *rests*: nothing becomes due, plays count for nothing, and
    what is owed waits for the next promise.
    """

    rounds: Array  # (…, accounts) n₀, rounds decided before
    plays: Array  # (…, accounts) N₀, plays before
    carried: Array  # (…, accounts) C, in whole billionths of a play; 0 where it rests
    waiting: Array  # (…, accounts) what is owed where it rests (of a cap: the excess); 0 elsewhere

    @classmethod
    def opened(cls, shape: Shape) -> Accounts:
        """Accounts that begin with round 1 and nothing owed."""
        nothing = np.zeros(shape)
        nothing.setflags(write=False)  # all fields are this array, by which `owed` knows them
        return cls(nothing, nothing, nothing, nothing)

    def owed(self, shares: Any, rounds: Any, plays: Array, whole: bool = False) -> Array:
        """(…, accounts), the plays behind these promises after so many rounds, in which there were these plays."""
        if self.rounds is self.plays is self.carried:
            return owed(shares, 1.0 * rounds, plays, whole=whole)  # type: ignore[no-any-return]
        return owed(shares, 1.0 * rounds - self.rounds, plays - self.plays, self.carried, whole)  # type: ignore[no-any-return]

    def owed_exactly(self, shares: Array, rounds: Array | int, plays: Array) -> Array:
        """As `owed`, in whole billionths of a play; a share that is NaN counts as 0."""
        return np.asarray(np.rint(self.owed(np.nan_to_num(shares), rounds, plays) * BILLION))

    def places(self, places: Sequence[int]) -> Accounts:
        """Some of the accounts, (…, len(places))."""
        at = list(places)
        return Accounts(self.rounds[..., at], self.plays[..., at], self.carried[..., at], self.waiting[..., at])


@dataclass(frozen=True, slots=True)
class Terms:
    """What becomes of what is owed where a promise changes."""

    debt: str = "carry"
    limit: float | None = None
    limit_rounds: float | None = None


CARRIED = Terms()


@dataclass(slots=True)
class Settled:
    """What became of what was owed where promises changed: ``owed + lapsed = carried + ended``.

    All are in whole billionths of a play, and 0 where no promise changed. For a cap, what is owed is the excess.
    """

    changed: Mask  # (…, accounts), whether the promise is another
    since: Array  # the round after which the promise before began
    plays: Array  # since then
    owed: Array  # before; negative where ahead
    carried: Array  # from now on
    ended: Array  # forgiven, or beyond the limit
    lapsed: Array  # advances that do not count any more


def settled(
    accounts: Accounts,
    before: Array,
    after: Array,
    rounds: Array | int,
    plays: Array,
    most: Array | float,
    terms: Terms = CARRIED,
    sign: float = 1.0,
    moved: Mask | bool = False,
    ahead: Array | float = 0.0,
) -> tuple[Accounts, Settled]:
    """The accounts when promises change after some rounds, and what became of what was owed.

    ``C ← max(D, −A)``, A being what one decision can give. Arrears are never lost by a change. Larger advances lapse:
    an arm with 9,000 of 10,000 plays whose share rises from 5% to 20% would otherwise wait 42,500 rounds. Not all may
    lapse: ten arms at 3%, changed a little every five rounds, would have 600 of 6,000 plays each, not 180.
    """
    rests = np.isnan(after)
    changed = np.broadcast_to(moved | ~((before == after) | (np.isnan(before) & rests)), plays.shape)
    running = sign * accounts.owed_exactly(before, rounds, plays)
    behind = np.where(np.isnan(before), accounts.waiting, running)
    least = np.asarray(ahead) + (0.0 if terms.debt == "forgive" else most)
    kept = np.maximum(behind, -np.rint(least * BILLION))
    carried = np.minimum(kept, _limit(terms, after))
    flows = (np.where(changed, one, 0.0) for one in (behind, carried, kept - carried, kept - behind))
    found = Settled(changed, accounts.rounds, plays - accounts.plays, *flows)
    new = Accounts(
        np.where(changed, 1.0 * rounds, accounts.rounds),
        np.where(changed, plays, accounts.plays),
        np.where(changed, np.where(rests, 0.0, sign * found.carried), accounts.carried),
        np.where(changed, np.where(rests, found.carried, 0.0), accounts.waiting),
    )
    return new, found


def _limit(terms: Terms, after: Array) -> Array:
    """(accounts,), the largest arrears carried, in billionths; a limit in rounds is none where an account rests."""
    if terms.debt != "cap":
        return np.full(after.shape, np.inf if terms.debt == "carry" else 0.0)
    if terms.limit is not None:
        return np.rint(np.full(after.shape, terms.limit) * BILLION)
    return np.where(np.isnan(after), np.inf, np.rint((terms.limit_rounds or 0.0) * np.nan_to_num(after) * BILLION))
