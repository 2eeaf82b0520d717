"""What needs attention: the health of an allocation, and alarms, that a promise was found missed or kept again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.judged import Judged, judged, verdict, waiting
from evenhand.bandit.ledger import BEHIND, ENDED, KEPT_AGAIN, Promised, called, facts_of, segment_of
from evenhand.core.errors import number_of
from evenhand.judgement.judge import Judgement, Verdict
from evenhand.judgement.sentences import Case, sentence
from evenhand.messages.answers import AllocationHealth, moment
from evenhand.messages.audit_text import as_sentence, plain
from evenhand.messages.lines import StandingAlarm
from evenhand.messages.words import in_segment

SILENT = 5.0  # times the delay of 95% of the rewards after which a reward is overdue
SPARSE = 10.0  # times the mean time between two rewards after which the next one is overdue
HOUR = 3600.0  # seconds, before which no reward is overdue
DAY = 86_400.0  # seconds, taken for the usual delay before the first reward
FIGURES = ("behind", "low", "high", "tolerance")  # of a judgement, in an event


def health_of(account: Account, judged: Judged, fault: str, doubts: int, closed: bool, now: float) -> AllocationHealth:
    """The health of an allocation."""
    _, missed, _ = judged.tally()
    worst, silence = judged.worst(), _silence(account, now)
    status, text = "good", verdict(account, judged)
    if closed:
        status, text = "closed", f"Closed after {number_of(account.rounds, 'round')}."
    elif fault:
        status, text = "bad", as_sentence(fault)
    elif missed:
        status = "bad"
    elif account.fault_within:  # by frequencies that may change
        status, text = "attention", as_sentence(account.fault_within)
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


def due(account: Account) -> dict[str, list[dict[str, Any]]]:
    """The alarms that are yet to be stated, each with its promises as an event has them."""
    found = judged(account)
    cases = {promise: found.of(promise) for promise in account.alarms}
    alarms = {
        BEHIND: [promise for promise in found.missed() if promise not in account.alarms],
        KEPT_AGAIN: [promise for promise, case in cases.items() if case and case.judgement.verdict == "kept"],
        ENDED: [promise for promise, case in cases.items() if case is None and not account.held(promise)],
    }
    return {
        name: [_facts(one, account, found.of(one)) for one in promises] for name, promises in alarms.items() if promises
    }


def _facts(promise: Promised, account: Account, case: Case | None) -> dict[str, Any]:
    """A promise as an event has it, and how it was judged."""
    kind, holder = promise
    about = {"promise": kind, **facts_of(holder, account.names)}
    if case is None:
        return about
    figures = {name: getattr(case.judgement, name) for name in FIGURES}
    return {**about, "share": case.share, **({"reward": True} if case.reward else {}), **figures}


def stated(alarm: str, facts: Mapping[str, Any]) -> str:
    """What an event says of a promise, in a sentence without the full stop."""
    name = f"the group {plain(facts['group'])}" if "group" in facts else plain(facts["arm"])
    if "segment" in facts:
        name = in_segment(name, plain(facts["segment"]))
    if alarm == ENDED:
        return f"the promise to {name} that was missed is in force no more"
    behind, low, high, tolerance = (float(facts[one]) for one in FIGURES)
    verdict: Verdict = "missed" if alarm == BEHIND else "kept"
    found = Judgement(verdict, behind, low, high, tolerance, 0.0, "", None, None)
    return sentence(Case(name, facts["share"], found, facts["promise"] in ("cap", "group_cap"), "reward" in facts))


def standing(account: Account, found: Judged) -> tuple[StandingAlarm, ...]:
    """The promises that are stated to be behind and are not kept by now, the oldest first."""
    alarms = []
    for promise, stated in account.alarms.items():
        case = found.of(promise)
        if case is not None and case.judgement.verdict != "kept":
            (kind, holder), now = promise, account.say(f"{sentence(case)}.")
            name, segment = called(holder, account.names), segment_of(holder)
            alarms.append(StandingAlarm(name, kind, moment(stated.time), stated.round, now, segment))
    return tuple(alarms)
