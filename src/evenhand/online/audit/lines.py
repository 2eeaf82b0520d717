"""One arm's line of an audit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any


@dataclass(slots=True)  # frozen, they would take three times as long to make, and there may be many
class Line:
    """What one arm was promised, what it got, and what its rewards were.

    Attributes:
        arm: its name.
        retired: whether it is retired.
        promised: share of the rounds that it is promised now; by merit: the share that its estimate deserves; None for
            no promise.
        since: the round after which that promise began.
        rounds: rounds since then.
        plays: plays since then.
        share: plays per round since then; None before the first.
        low_share: lower end of the 95 % interval of its mean propensity in these rounds, which holds at all times at
            once; None before the first.
        high_share: upper end.
        deficit: plays behind all promises since the first one; negative where ahead; None where no share of the rounds
            is promised.
        worst: the largest deficit so far; None for none.
        resets: promises to it that have ended: the share was changed, or the arm retired. The last one ended with round
            ``since``, where there is a promise.
        lapsed: the part of the deficit from these, which the policy does not make up for; negative where ahead.
        all_plays: plays from the first round on.
        available: share of all rounds in which it was available; None before the first.
        received: rewards received before their window had passed.
        estimate: mean of the known rewards: those received in time, and zeros for missing rewards where these count as
            zero; None without any.
        trusted: whether the estimate can be trusted; the audit's ``warnings`` say why not.
        low: lower end of the 95 % interval of the mean reward of all its plays, which holds at all times at once and
            whatever the pending, lost and late rewards are; None where no reward is certain.
        high: upper end.
        pending: rewards that can still arrive.
        lost: rewards that were missing when their window had passed.
        late: of these, the ones that arrived afterwards.
    """

    arm: str
    retired: bool
    promised: float | None
    since: int
    rounds: int
    plays: int
    share: float | None
    low_share: float | None
    high_share: float | None
    deficit: float | None
    worst: float | None
    resets: int
    lapsed: float
    all_plays: int
    available: float | None
    received: int
    estimate: float | None
    trusted: bool
    low: float | None
    high: float | None
    pending: int
    lost: int
    late: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(zip(COLUMNS, VALUES(self), strict=True))


COLUMNS = tuple(column.name for column in fields(Line))
VALUES = attrgetter(*COLUMNS)
