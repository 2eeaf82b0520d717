"""What a change of promises would cost, who pays, and how long arrears last, before it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.computation import catch_up, recent
from evenhand.bandit.audit.costing import best_shares, cost_of
from evenhand.bandit.changes import Plan as After
from evenhand.bandit.changes import answer, plan_of
from evenhand.bandit.ledger import Balance
from evenhand.bandit.record import Record
from evenhand.judgement.sentences import WHOLE
from evenhand.messages import audit_text
from evenhand.messages.answers import CatchUp, Cost, Effect, MovedShare, Plan, SettledPromise
from evenhand.messages.changes import ChangeRecord, Close, Rename, Reopen, Reword
from evenhand.messages.words import in_segment

LISTED = 100  # arms
COUNTS = ("pulls", "known", "certain", "sums", "learned_plays", "learned_sums", "seen", "missed", "deficits")
SAME = 1e-6  # difference of two shares below which they are one


def planned_with_effect(record: Record, change: ChangeRecord | None) -> Plan:
    """What a change would do, and what that would cost; nothing changes."""
    after = None if change is None else plan_of(record, change)
    plan = answer(record, change, after)
    if after is None or not plan.changed or isinstance(change, Close | Rename | Reopen | Reword):
        return plan
    return replace(plan, effect=_effect(record, after, plan.settlement))


def _effect(record: Record, after: After, settlement: Sequence[SettledPromise]) -> Effect | None:
    """The effect of a change; None where nothing is promised before or after it."""
    now, then = Account(record), _afterwards(record, after, settlement)
    costs = _price(now), _price(then)
    if costs == (None, None):
        return None
    shares, late = _moved(now, then), _late(then)
    within = [(name, owed) for name, owed in then.owed_within.items() if owed > WHOLE]
    text = audit_text.effect(costs[1], costs[0], shares, late, within, then.owed_first, then.words)
    return Effect(costs[1], costs[0], shares, late, tuple(map(then.say, text)))


def _afterwards(record: Record, plan: After, settlement: Sequence[SettledPromise]) -> Account:
    """The account as it would be after a change, with what is owed then; nothing is known of a new arm."""
    policy, arms, then = plan.policy(record), len(plan.arms), copy(Account(record))
    more = (0, arms - len(record.names))
    for name in COUNTS:
        setattr(then, name, np.pad(getattr(then, name), more))
    then.balance = Balance(*(np.pad(part, more) for part in then.balance))
    then.names, then.active, then.groups = plan.arms.names, plan.arms.active, policy.groups
    for name in ("fractions", "caps"):
        value = getattr(policy, name)
        setattr(then, name, None if value is None else np.broadcast_to(np.asarray(value, dtype=float), arms))
    for one in settlement:
        if one.kind == "share":
            then.deficits[plan.arms.place[one.name]] = one.carried
    then.owed_within = _within(record, plan, then.owed_within | {one.name: one.carried for one in settlement})
    return then


def _within(record: Record, plan: After, owed: Mapping[str, float]) -> dict[str, float]:
    """The plays owed after a change under each promise in a segment."""
    if record.segments is None:
        return {}
    segments, names = record.segments, plan.arms.names
    shares = segments.shares if plan.shares is None else plan.shares
    promised = np.argwhere(shares * plan.arms.active[: shares.shape[1]] > 0.0)
    held = [in_segment(names[arm], segments.names[row]) for row, arm in promised]
    return {name: owed.get(name, 0.0) for name in held}


def _price(account: Account) -> Cost | None:
    """What keeping the promises costs from now on."""
    cost = cost_of(account)
    if cost is None:
        return None
    return replace(cost, incurred=None, incurred_low=None, incurred_high=None, incurred_relative=None)


def _moved(now: Account, then: Account) -> tuple[MovedShare, ...]:
    before, after = best_shares(now), best_shares(then)
    if before is None or after is None:
        return ()
    before, names = np.pad(before, (0, len(after) - len(before))), (*now.names, *then.names[len(now.names) :])
    places = np.flatnonzero(np.abs(after - before) > SAME)
    places = places[np.argsort((after - before)[places], kind="stable")]
    if len(places) > LISTED:  # both those that lose and those that gain most
        places = np.concatenate([places[: LISTED // 2], places[-LISTED // 2 :]])
    return tuple(MovedShare(names[at], before.item(at), after.item(at)) for at in places.tolist())


def _late(then: Account) -> tuple[CatchUp, ...]:
    slowly = catch_up(then, recent(then))
    promised = np.zeros(len(then.names)) if then.fractions is None else then.fractions
    late = np.flatnonzero(then.active & (promised > 0.0) & (then.deficits > WHOLE))
    late = late[np.argsort(-np.nan_to_num(slowly[late], nan=math.inf), kind="stable")][:LISTED]
    found = []
    for place in late.tolist():
        rounds = int(slowly[place]) if math.isfinite(slowly[place]) else None
        seconds = None if rounds is None or then.pace is None else rounds * then.pace
        found.append(CatchUp(then.names[place], then.deficits.item(place), rounds, seconds))
    return tuple(found)
