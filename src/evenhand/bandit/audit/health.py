"""The health of an allocation: whether something needs attention, and what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.alarms import standing
from evenhand.bandit.audit.judged import Judged, verdict, waiting
from evenhand.core.errors import number_of
from evenhand.messages.answers import AllocationHealth, moment
from evenhand.messages.words import in_segment

SILENT = 5.0  # times the delay of 95% of the rewards after which a reward is overdue
SPARSE = 10.0  # times the mean time between two rewards after which the next one is overdue
HOUR = 3600.0  # seconds, before which no reward is overdue
DAY = 86_400.0  # seconds, taken for the usual delay before the first reward


def health_of(account: Account, judged: Judged, fault: str, doubts: int, closed: bool, now: float) -> AllocationHealth:
    """The health of an allocation."""
    _, missed, _ = judged.tally()
    worst, silence = judged.worst(), _silence(account, now)
    status, text = "good", verdict(account, judged)
    if closed:
        status, text = "closed", f"Closed after {number_of(account.rounds, 'round')}."
    elif fault:
        status, text = "bad", _whole(fault)
    elif missed:
        status = "bad"
    elif account.fault_within:  # by frequencies that may change
        status, text = "attention", _whole(account.fault_within)
    elif (
        (worst is not None and worst.by_rule)
        or waiting(account).size
        or account.waiting_within
        or standing(account, judged)
    ):
        status = "attention"
    elif doubts:
        status = "attention"
        text = f"{doubts:,} estimates cannot be trusted." if doubts > 1 else "An estimate cannot be trusted."
    elif silence:
        status, text = "attention", silence
    owing = furthest(account)
    return AllocationHealth(
        status=status,  # type: ignore[arg-type]
        text=account.say(text),
        behind=owing.plays,
        arm=None if owing.grouped else owing.name,
        warnings=doubts,
        last_decision=None if account.decided is None else moment(account.decided),
        last_reward=None if account.rewarded is None else moment(account.rewarded),
    )


def _whole(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[0].upper()}{clause[1:]}."


class Owing(NamedTuple):
    """The arm or group that is furthest behind, perhaps in a segment."""

    plays: float | None  # that it is owed; None where no share of the rounds is promised
    name: str | None = None  # None where nothing is owed
    grouped: bool = False


def furthest(account: Account) -> Owing:
    """The arm or group that is owed the most plays, also where they wait for its next promise."""
    bounds = (line for line in account.bounds if line.kind != "arm" and line.at_least > 0.0)
    owed = [
        Owing(line.owed, in_segment(line.name, line.segment) if line.segment else line.name, True) for line in bounds
    ]
    owed += [Owing(plays, in_segment(*of), True) for of, plays in account.waiting_within.items()]
    if account.merit is None and account.fractions is not None:
        counted = account.active & ((account.fractions > 0.0) | (account.deficits > 0.0))
        behind = np.where(counted, account.deficits, -np.inf)
        owed.append(Owing(float(behind.max()), account.names[int(behind.argmax())]))
    most = max(owed, key=lambda one: (one.plays, not one.grouped), default=Owing(None))
    if most.plays is None or not np.isfinite(most.plays):
        return Owing(None)
    return most if most.plays > 0.0 else Owing(0.0)


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
        return f"No reward has arrived yet, though {number_of(account.rounds, 'round was', 'rounds were')} decided."
    return "No reward has arrived for much longer than usual, though rounds were decided."
