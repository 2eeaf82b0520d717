"""The health of an allocation: what needs attention, in a word and a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.sentences import WITHIN, below, breaches, owed_now, percent, plays, verdict
from evenhand.core.errors import number_of
from evenhand.core.state import Array
from evenhand.messages.answers import AllocationHealth, moment
from evenhand.messages.audit_text import plain
from evenhand.messages.lines import BoundLine

CHANCE = 3.0  # standard deviations of a share from which on an arm is further behind than chance explains
SILENT = 5.0  # times the delay of 95% of the rewards after which a reward is overdue
SPARSE = 10.0  # times the mean time between two rewards after which the next one is overdue
HOUR = 3600.0  # seconds, before which no reward is overdue
DAY = 86_400.0  # seconds, taken for the usual delay before the first reward


def health_of(
    account: Account,
    promised: Array | None,
    bounds: Sequence[BoundLine],
    high_share: Array,
    fault: str,
    doubts: int,
    closed: bool,
    now: float,
) -> AllocationHealth:
    """The health of an allocation.

    Args:
        account: what the bandit recorded.
        promised: (arms,), promised shares; None where none are promised.
        bounds: of groups, and of arms with a cap.
        high_share: (arms,), upper ends of the intervals of the shares; NaN before the first round.
        fault: why the promises cannot be kept; empty if they can.
        doubts: number of arms whose estimate cannot be trusted.
        closed: whether the allocation decides no more.
        now: seconds since the epoch.
    """
    shares = None if account.merit is not None else promised
    worst = None if shares is None else _furthest(account, shares)
    status, text = "good", verdict(account, promised, bounds)
    beyond = _beyond(account, bounds)
    silence = _silence(account, now)
    if closed:
        status, text = "closed", f"Closed after {number_of(account.round, 'round')}."
    elif fault:
        status, text = "bad", f"With the recent availability, {fault}"
    elif worst is not None and shares is not None and below(account, shares, high_share)[worst[0]]:
        status, text = "bad", _behind(account, shares, *worst)
    elif worst is not None and shares is not None and worst[1] > _tolerated(account, shares, worst[0]):
        status, text = "attention", _behind(account, shares, *worst)
    elif beyond:
        status, text = "attention", f"{beyond}."
    elif doubts:
        status = "attention"
        text = f"{doubts:,} estimates cannot be trusted." if doubts > 1 else "An estimate cannot be trusted."
    elif silence:
        status, text = "attention", silence
    by_group = max((line.owed for line in bounds if line.kind == "group" and line.at_least > 0.0), default=-np.inf)
    by_arm = -np.inf if worst is None else worst[1]
    most = max(by_arm, by_group)
    return AllocationHealth(
        status=status,  # type: ignore[arg-type]
        text=text,
        behind=max(0.0, most) if np.isfinite(most) else None,
        arm=account.names[worst[0]] if worst is not None and by_arm > 0.0 and by_arm >= by_group else None,
        warnings=doubts,
        last_decision=None if account.decided is None else moment(account.decided),
        last_reward=None if account.rewarded is None else moment(account.rewarded),
    )


def _furthest(account: Account, shares: Array) -> tuple[int, float] | None:
    """The place of the arm that is furthest behind, and the plays that it is owed; None where nothing is promised."""
    counted = account.active & (shares > 0.0)
    if not counted.any():
        return None
    behind = np.where(counted, owed_now(account), -np.inf)
    return int(behind.argmax()), float(behind.max())


def _tolerated(account: Account, shares: Array, place: int) -> float:
    """Plays that an arm may be behind by chance, where a policy draws it with its promised share."""
    return _by_chance(float(shares[place]), account.round - float(account.since[place]), 1)


def _by_chance(share: float, rounds: float, plays: int) -> float:
    """Plays that a share of some rounds may miss by chance, of at most so many per round."""
    return max(WITHIN, CHANCE * float(np.sqrt(rounds * share * max(0.0, 1.0 - share / plays))))


def _beyond(account: Account, bounds: Sequence[BoundLine]) -> str:
    """Which group is further behind, or which cap further exceeded, than chance explains; empty for none."""
    found = [
        breach for breach in breaches(bounds) if breach.plays > _by_chance(breach.share, breach.rounds, account.plays)
    ]
    sentence = max(found, key=lambda breach: breach.plays).sentence if found else ""
    return re.sub("^the group ", "The group ", sentence)


def _behind(account: Account, shares: Array, place: int, owed: float) -> str:
    return f"{plain(account.names[place])} is {plays(owed)} plays behind its {percent(float(shares[place]))}."


def _silence(account: Account, now: float) -> str:
    """That no reward has arrived for long, while some are pending; empty where one is not overdue."""
    received = float(account.received.sum())
    if account.decided is None or account.first is None or (account.rewarded is not None and not received):
        return ""  # totals say nothing of the single rewards
    since = account.first if account.rewarded is None else account.rewarded
    usual = float(np.quantile(account.delays, 0.95)) if len(account.delays) else DAY
    gap = (account.rewarded - account.first) / received if account.rewarded is not None else 0.0
    if min(now, account.decided) - since <= max(SILENT * usual, SPARSE * gap, HOUR):
        return ""
    if account.rewarded is None:
        return f"No reward has arrived yet, though {number_of(account.round, 'round was', 'rounds were')} decided."
    return "No reward has arrived for much longer than usual, though rounds were decided."
