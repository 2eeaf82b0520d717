"""What is carried when the promises of a policy change: of arms and of groups, at least and at most."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import HINTED, EvenhandError, nearest
from evenhand.core.state import Array, Mask, PerLane, State, changed_at, grown
from evenhand.policy.accounts import BILLION, Accounts, Settled, Terms, settled
from evenhand.policy.claim import Group
from evenhand.policy.composition import Policy
from evenhand.policy.groups import BoundedShares, Bounds, membership
from evenhand.policy.memories import keep, memories
from evenhand.policy.part import PolicyPart

#: What makes promises: a policy, or the floors and caps that one is measured by in a simulated run.
Promising: TypeAlias = Policy | BoundedShares
Waiting = MutableMapping[str, tuple[Array, Array]]  # what is owed to groups that there are no more, and their excess


@dataclass(slots=True)
class Settlement:
    """What became of what was owed, for each kind of promise; None for one that the policy does not make."""

    shares: Settled | None  # of arms
    caps: Settled | None
    group_shares: Settled | None  # of `groups`
    group_caps: Settled | None
    groups: tuple[str, ...]  # those before and after, by name
    began: Mask  # (…, arms), the arms whose promise is another, or measured against another share
    accounts: Accounts  # of shares from now on


def with_shares(name: str, known: Array | None, given: Mapping[str, float], arms: Sequence[str]) -> Array:
    """(…, arms), the shares of all arms with some changed, in every lane."""
    old = np.asarray(0.0 if known is None else known)
    shares = np.array(np.broadcast_to(old, (*old.shape[:-1], len(arms))))
    place = {arm: at for at, arm in enumerate(arms)}
    for arm, share in given.items():
        if arm not in place:
            raise EvenhandError(f"has an unknown arm {arm!r}{nearest(str(arm), arms) * (len(arms) <= HINTED)}", name)
        try:
            shares[..., place[arm]] = validate.number(arm, share, 0.0, 1.0)
        except EvenhandError as error:
            raise error.at(name) from None
    return PerLane(shares) if isinstance(known, PerLane) else shares


def check_changeable(policy: Policy, label: str) -> None:
    """Refuse a policy whose promises cannot change."""
    if not policy.schedule.traits.flexible:
        raise EvenhandError(
            f"{label} follows a schedule that is fixed at the start; its arms and promises cannot change"
        )


def lasting(policy: Policy, rounds: int) -> float:
    """A, the largest advance of an arm, in plays, that outlasts a change of its promise after so many rounds.

    That is what one decision can give, so that an arm with a larger promise does not wait long. Where promises are kept
    by chance no arm waits for being ahead, so all of it lasts.
    """
    return policy.hold.longest(rounds + 1) if policy.repays else np.inf


def settle(
    before: Promising,
    after: Promising,
    state: State,
    active: tuple[Mask, Mask],
    terms: Terms,
    waiting: Waiting,
    most: float,
    moved: Sequence[int] = (),
    ahead: Array | float = 0.0,
) -> Settlement:
    """What is carried of what was owed where promises have changed, to begin them with the next round; see `begin`.

    Accounts of groups and caps, which the parts of a policy do not keep, begin here, in place.
    """
    arms = state.arms
    anew = np.zeros(arms, dtype=bool)
    anew[list(moved)] = True
    found = Settlement(None, None, None, None, (), anew, state.begun)
    bounds, now = state.fairness if isinstance(state.fairness, Bounds) else None, (state.round, state.tally.pulls)
    if bounds is not None:
        shares = (_caps(before, arms, active[0]), _caps(after, arms, active[1]))
        caps, found.caps = settled(bounds.caps, *shares, *now, most, terms, -1.0, anew)
        bounds = Bounds(caps, *_settle_groups(before.groups, after.groups, state, most, terms, waiting, found))
    shares = (_shares(before, arms, active[0]), _shares(after, arms, active[1]))
    promises = isinstance(after, BoundedShares) or after.promises_shares
    terms = terms if promises else Terms("forgive")
    found.accounts, of_arms = settled(state.begun, *shares, *now, most, terms, 1.0, anew, ahead)
    found.shares, found.began = of_arms if promises else None, of_arms.changed
    if bounds is not None:
        state.fairness = bounds
    return found


def begin(policy: Policy, state: State, changed: Mask, accounts: Accounts) -> None:
    """Begin the promises to the arms that have changed, (…, arms), with the next round and these accounts; in place."""
    at = np.flatnonzero(changed.reshape(-1, state.arms).any(axis=0))
    carried = np.where(changed, accounts.carried / BILLION, 0.0)

    def begun(slot: str, one: PolicyPart, memory: Any) -> Any:
        promises = slot == "fairness" or one.promises
        return changed_at(changed, one.begin(memory, at, carried), memory) if promises else memory

    keep(state, memories(policy, state, begun))
    state.begun = accounts


def _shares(policy: Promising, arms: int, active: Mask) -> Array:
    """(arms,), the promised shares; NaN where an account rests."""
    shares = _filled(policy.fractions, arms, 0.0)
    return np.where((shares > 0.0) & active, shares, np.nan)


def _caps(policy: Promising, arms: int, active: Mask) -> Array:
    """(arms,), the largest shares; NaN where there is no limit."""
    caps = _filled(policy.caps, arms, 1.0)
    return np.where((caps < 1.0) & active, caps, np.nan)


def _filled(values: Array | None, arms: int, new: float) -> Array:
    """(arms,), a value per arm, or one for all; that of arms that were added later, and without values, is ``new``."""
    values = np.array([new]) if values is None else np.asarray(values, dtype=float)
    if values.shape[-1] in (1, arms):
        return np.broadcast_to(values, (*values.shape[:-1], arms))
    return np.concatenate([values, np.full(arms - values.shape[-1], new)])


def _settle_groups(
    before: Sequence[Group],
    after: Sequence[Group],
    state: State,
    most: float,
    terms: Terms,
    waiting: Waiting,
    found: Settlement,
) -> tuple[Accounts, Accounts]:
    """The accounts of the groups from now on; a change of the arms in a group moves no debt."""
    old, new = ([group["name"] for group in groups] for groups in (before, after))
    names = found.groups = (*old, *(name for name in new if name not in old))
    tables = {group["name"]: group for group in (*before, *after)}
    plays = state.tally.pulls @ membership([tables[name] for name in names], state.arms)
    earlier = state.tally.pulls @ membership(before, state.arms)
    largest = np.array([most * min(state.plays, len(tables[name]["arms"])) for name in names])
    kept, flows = list[Accounts](), list[Settled]()
    bounds: Bounds = state.fairness
    for kind, (accounts, sign) in enumerate(((bounds.groups, 1.0), (bounds.group_caps, -1.0))):
        opened = grown(accounts, Accounts.opened(plays.shape))
        opened.plays[..., : len(old)] += plays[..., : len(old)] - earlier
        for place, name in enumerate(names):
            if name in waiting and name not in old:
                opened.waiting[..., place] = waiting[name][kind]
        until, onward = (_bounds_of(groups, names, kind) for groups in (before, after))
        account, flow = settled(opened, until, onward, state.round, plays, largest, terms, sign)
        kept.append(account)
        flows.append(flow)
    found.group_shares, found.group_caps = flows
    for place, name in enumerate(names):
        if name in new:
            waiting.pop(name, None)
        else:
            waiting[name] = (kept[0].waiting[..., place], kept[1].waiting[..., place])
    places = [names.index(name) for name in new]
    return kept[0].places(places), kept[1].places(places)


def _bounds_of(groups: Sequence[Group], names: Sequence[str], kind: int) -> Array:
    """(names,), what groups are promised at least, or at most; NaN where that is nothing, or there is no such group."""
    bounds = {group["name"]: group["at_most"] if kind else group["at_least"] or None for group in groups}
    return np.array([bounds.get(name) for name in names], dtype=float)  # None becomes NaN
