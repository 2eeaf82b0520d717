"""Alarms: that a promise was found missed, and that it was found kept again. What is undecided changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.judged import Judged, judged
from evenhand.bandit.ledger import BEHIND, ENDED, KEPT_AGAIN, Promised, called, facts_of, segment_of
from evenhand.judgement.judge import Judgement, Verdict
from evenhand.judgement.sentences import Case, sentence
from evenhand.messages.answers import moment
from evenhand.messages.audit_text import plain
from evenhand.messages.lines import StandingAlarm
from evenhand.messages.words import in_segment

FIGURES = ("behind", "low", "high", "tolerance")  # of a judgement


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


def text(alarm: str, facts: Mapping[str, Any]) -> str:
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
