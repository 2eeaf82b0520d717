"""Why promises cannot be kept with the recent availability: those for all rounds, and those in segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.bandit.arms import available_sets
from evenhand.bandit.audit.account import Account
from evenhand.bandit.segments import Segments
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.messages.audit_text import plain
from evenhand.policy.part import Places
from evenhand.policy.segments import fits
from evenhand.theory.bounded import bounds_of, check_bounds
from evenhand.theory.feasibility import check_shares

SIZE = 20_000  # arms times sets of available arms up to which floors, caps of groups, and segments are checked together
EXAMINED = 100  # arms, those with the largest promise for their availability, whose promises are checked together


def fault_of(account: Account) -> str:
    """Why promises cannot be kept with the recent availability, as a clause; empty if they can."""
    fault = _of_all_rounds(account) or _of_segments(account)
    return f"with the recent availability, {fault}" if fault else ""


def leading(keys: Sequence[Array], limit: int) -> Places:
    """The first places in the lexicographic order of some keys, the smallest first; ties keep their order."""
    chosen: list[Places] = []
    tied, left = np.arange(len(keys[0])), limit
    for key in keys:
        if len(tied) <= left:
            break
        values = key[tied]
        last = np.sort(values)[left - 1]  # quicker than a partition where many are equal
        chosen.append(tied[values < last])
        left -= len(chosen[-1])
        tied = tied[values == last]
    places = np.sort(np.concatenate([*chosen, tied[:left]]))
    return places[np.lexsort([key[places] for key in reversed(keys)])]


def _of_all_rounds(account: Account) -> str:
    """Why promises for all rounds cannot be kept; empty if they can."""
    if account.fractions is None or not account.sets:
        return ""
    if account.groups or (account.caps is not None and (account.caps < 1.0).any()):
        return _of_bounds(account)
    return _of_shares(account, account.fractions, account.sets, account.frequencies)


def _of_segments(account: Account) -> str:
    """The same of shares in each segment, and of those together with the shares of all rounds."""
    segments = account.segments
    if segments is None:
        return ""
    numbers, sets, frequencies = segments.recently()
    of = np.array(numbers, dtype=int)
    for row in np.unique(of).tolist():
        mine, whose = np.flatnonzero(of == row), f"the segment {plain(segments.names[row])}"
        parts = frequencies[mine] / frequencies[mine].sum()
        if fault := _of_shares(account, segments.shares[row], [sets[at] for at in mine.tolist()], parts, whose):
            return fault
    return _together(account, segments, of, sets, frequencies) if numbers else ""


def _of_shares(account: Account, promised: Array, packed: Sequence[bytes], frequencies: Array, whose: str = "") -> str:
    """Why shares, (arms,), cannot be kept with these sets of available arms; empty if they can."""
    from evenhand.environment.availability import Joint

    places = np.flatnonzero(promised > 0.0)
    sets, shares = available_sets(packed, len(account.names), places), promised[places]
    if not sets.size:
        return ""
    available = sum((part * row for row, part in zip(sets, frequencies, strict=True)), np.zeros(len(shares)))
    pace = np.divide(shares, available, out=np.full(len(shares), np.inf), where=available > 0.0)
    # Usually every arm can play in an equal part of the rounds in which it is available, and this settles the question.
    if pace.max() <= 1.0 and (pace.sum() <= account.plays or all(row @ pace <= account.plays for row in sets)):
        return ""
    pressing = np.sort(leading([-pace], EXAMINED))
    names = [account.names[place] for place in places[pressing].tolist()]
    try:
        check_shares(shares[pressing], account.plays, Joint(sets[:, pressing].astype(int), frequencies), names, whose)
    except EvenhandError as error:
        return str(error)
    return ""


def _of_bounds(account: Account) -> str:
    """Why floors and caps of arms and groups cannot be kept; empty if they can."""
    from evenhand.environment.availability import Joint

    arms = len(account.names)
    sets = available_sets(account.sets, arms) & account.active
    if sets.size > SIZE or not sets.size:  # a program of that size would take seconds
        return ""
    bounds = bounds_of(arms, account.fractions, account.caps, account.groups, account.names)
    try:
        check_bounds(bounds, account.plays, Joint(sets.astype(int), account.frequencies))
    except EvenhandError as error:
        return str(error)
    return ""


def _together(account: Account, segments: Segments, of: Array, packed: Sequence[bytes], frequencies: Array) -> str:
    """Why shares in segments and those for all rounds cannot be kept together; empty if they can."""
    overall = np.zeros(len(account.names)) if account.fractions is None else account.fractions * account.active
    places = np.flatnonzero((overall > 0.0) | segments.shares.any(axis=0))
    sets = available_sets(packed, len(account.names), places)
    if not overall.any() or sets.all() or sets.size > SIZE:  # where all can play, their frequencies alone decide
        return ""
    if fits(segments.shares[:, places], overall[places], account.plays, of, sets, frequencies):
        return ""
    return "the shares promised by segment and those of all rounds cannot be kept together"
