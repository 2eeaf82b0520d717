"""What a bandit hands over to be audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.core.state import Array, Mask
from evenhand.messages.lines import ChangeMade, DeficitExcerpt, History
from evenhand.policy.claim import Group
from evenhand.policy.merit import Merit


@dataclass(frozen=True)
class Account:
    """A plain record of what a bandit promised and what happened; rewards are in the user's unit.

    Attributes:
        algorithm: that decided.
        round: rounds decided.
        version: changes of arms and promises so far.
        plays: arms that play per round.
        missing: what a missing reward counts as, ``"lost"`` or ``"zero"``.
        limits: the smallest and the largest reward.
        names: (arms,), of the arms.
        active: (arms,), False where an arm is retired.
        fractions: (arms,), promised share of the rounds; None where no share is promised.
        merit: the function of an arm's mean reward, scaled to [0, 1], to which its share is proportional; None where no
            such share is promised.
        since: (arms,), rounds before each arm's promise began.
        plays_before: (arms,), plays before it began.
        pulls: (arms,), plays so far.
        deficits: (arms,), plays behind the promises since the first one; −inf where no share of the rounds is promised.
        worst: (arms,), the largest deficits so far; −inf for none.
        resets: (arms,), promises that have ended.
        lapsed: (arms,), the part of the deficits from these; negative where ahead.
        received: (arms,), rewards received in time.
        known: (arms,), these and, where missing rewards count as zero, the missing ones.
        sums: (arms,), of the known rewards.
        pending: (arms,), rewards that can still arrive.
        lost: (arms,), rewards missing when their window had passed.
        late: (arms,), rewards received afterwards.
        missed: (arms,), rounds in which the arm was not available.
        delays: (n,), of the last rewards received in time, in seconds.
        sets: the different sets of available arms of the last rounds, as packed bits.
        frequencies: (sets,), how often each occurred, as parts of 1.
        learned_plays: (arms,), plays elsewhere whose rewards the policy learned from, which no other count has.
        learned_sums: (arms,), of these rewards.
        sources: where these are from.
        counted: (arms,), rewards that the policy's estimates rest on, where it forgets others; None for all.
        changes: (arms,), changes of the mean that the policy found; None where it looks for none.
        deficit_history: the deficits over time; None where no share of the rounds was ever promised.
        caps: (arms,), largest shares of the rounds; None where there are none.
        groups: of arms that are promised shares together.
        groups_since: (groups,), the rounds after which these promises began; None without groups.
        groups_before: (groups,), plays of their arms before; None without groups.
        scores: (arms,), by which the policy compares arms; None where it draws them at random.
        history: plays and rewards over time; None before the first round.
        changes_made: the last changes of arms and promises.
        pace: seconds per round lately; None before the second round.
        first: when the first round was decided, in seconds; None before.
        decided: when the last round was decided, in seconds; None before the first.
        rewarded: when the last reward was received, in seconds; None before the first.
    """

    algorithm: str
    round: int
    version: int
    plays: int
    missing: str
    limits: tuple[float, float]
    names: Sequence[str]
    active: Mask
    fractions: Array | None
    merit: Merit | None
    since: Array
    plays_before: Array
    pulls: Array
    deficits: Array
    worst: Array
    resets: Array
    lapsed: Array
    received: Array
    known: Array
    sums: Array
    pending: Array
    lost: Array
    late: Array
    missed: Array
    delays: Array
    sets: Sequence[bytes]
    frequencies: Array
    learned_plays: Array
    learned_sums: Array
    sources: Sequence[str]
    deficit_history: DeficitExcerpt | None
    counted: Array | None = None
    changes: Array | None = None
    caps: Array | None = None
    groups: Sequence[Group] = ()
    groups_since: Array | None = None
    groups_before: Array | None = None
    scores: Array | None = None
    history: History | None = None
    changes_made: tuple[ChangeMade, ...] = ()
    pace: float | None = None
    first: float | None = None
    decided: float | None = None
    rewarded: float | None = None

    @property
    def certain(self) -> Array:
        """(arms,), the known rewards without the zeros of rewards that arrived late."""
        certain: Array = self.known - np.minimum(self.late, self.known - self.received)
        return certain
