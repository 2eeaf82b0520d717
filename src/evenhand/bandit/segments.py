"""Segments of the rounds by one feature: each has a clock, counts, and promises of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.bandit.arms import Available, RecentAvailability
from evenhand.bandit.ledger import Entry, Flow, Holder, InSegment, Ledger, Opening
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, InfeasiblePromise, StateError
from evenhand.core.state import Array, Mask, dump, restore
from evenhand.features import Features
from evenhand.features.partition import Partition
from evenhand.policy.accounts import BILLION, Accounts, Settled, Terms
from evenhand.policy.composition import Policy
from evenhand.policy.segments import (
    COLUMNS,
    SegmentAccounts,
    check_segmented,
    infeasible,
    needs_frequencies,
    overall_of,
)

ARRAYS = ("rounds", "plays", "known", "sums", "worst", "shares", "missed", "added")
PLACE = 4  # bytes of the number of a segment


class Segments(SegmentAccounts):
    """The segments of a bandit's rounds, with what is known of rewards in them."""

    def __init__(self, given: object, features: Features, arms: int) -> None:
        self._partition = Partition(given, features)
        super().__init__(self._partition.names, (arms,))
        shape = (len(self.names), arms)
        self.known, self.sums = np.zeros((2, *shape))  # (segments, arms), rewards, and their sums in the unit
        self.worst = np.full(shape, -np.inf)  # (segments, arms), the most plays behind so far
        self.missed, self.added = np.zeros((2, *shape))  # rounds in which an arm could not play; before it was added
        self.recent = RecentAvailability()  # as packed bits, with the number of the segment behind them
        self.feature, self.plain = self._partition.feature, self._partition.plain
        self.place = self._partition.place

    @property
    def promised(self) -> bool:
        """Whether anything is promised by segment."""
        return bool(self.shares.any())

    def of(self, situation: Array) -> int:
        """The segment of a situation, (d,)."""
        return int(self._partition.of(situation))

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decided(self, segment: int, places: Sequence[int], available: Available) -> None:
        """Count a round; a deficit is largest right before a play."""
        self.recent.add(available.packed + segment.to_bytes(PLACE))
        if available.mask is not None:
            self.missed[segment] += np.logical_not(available.mask)
        if self.shares[segment].any():
            held = (self.shares[segment] > 0.0) & (self.rounds[segment] > self.accounts.rounds[segment])
            worst = self.worst[segment]
            np.maximum(worst, np.where(held, self.owed(segment), -np.inf), out=worst)
        self.rounds[segment] += 1.0
        for place in places:
            self.plays[segment, place] += 1.0

    def available(self, segment: int, place: int) -> float | None:
        """The part of the rounds of a segment in which an arm could play; None before the first since it was added."""
        seen = self.rounds.item(segment) - self.added.item(segment, place)
        return 1.0 - self.missed.item(segment, place) / seen if seen else None

    def recently(self) -> tuple[list[int], list[bytes], Array]:
        """The segments and sets of available arms of the last rounds, and how often each pair occurred."""
        pairs, frequencies = self.recent.frequencies()
        return [int.from_bytes(one[-PLACE:]) for one in pairs], [one[:-PLACE] for one in pairs], frequencies

    def learn(self, segment: int, place: int, reward: float) -> None:
        """Count a reward that is known, in the user's unit."""
        self.known[segment, place] += 1.0
        self.sums[segment, place] += reward

    # --- promises -----------------------------------------------------------------------------------------------------

    def grow(self, arms: int) -> None:
        """Count more arms."""
        fresh = arms - self.plays.shape[1]
        more = [(0, 0), (0, fresh)]
        for name in ARRAYS[1:]:
            filling = -np.inf if name == "worst" else 0.0
            setattr(self, name, np.pad(getattr(self, name), more, constant_values=filling))
        self.added[:, arms - fresh :] = self.rounds[:, np.newaxis]
        self.accounts = Accounts(*[np.pad(getattr(self.accounts, name), more) for name in COLUMNS])

    def with_shares(self, segment: int, given: Mapping[str, float], places: Mapping[str, int]) -> Array:
        """(segments, arms), the shares with some of a segment changed."""
        shares = self.shares.copy()
        for arm, share in given.items():
            shares[segment, places[arm]] = validate.number(f"fractions[{arm!r}]", share, 0.0, 1.0)
        return shares

    def check(self, shares: Array, policy: Policy, active: Mask) -> None:
        """Refuse shares that the policy cannot promise by segment, or that cannot be kept."""
        check_segmented(policy)
        if fault := self.fault(shares, policy, active):
            raise InfeasiblePromise(fault)

    def fault(self, shares: Array, policy: Policy, active: Mask) -> str:
        """Why these shares cannot be kept beside those for all rounds; empty if they can."""
        more = np.pad(shares, [(0, 0), (0, len(active) - shares.shape[1])])
        most = float(policy.plays) if policy.repays else 1.0
        return infeasible(more, overall_of(policy, active), most, self.frequencies, self.names, policy.repays)

    def premise(self, policy: Policy, active: Mask) -> str:
        """What promises by segment and for all rounds rest on, where these can be kept together only so; or empty."""
        if self.frequencies is None or not needs_frequencies(self.shares, overall_of(policy, active), policy.plays):
            return ""
        seen = ", ".join(f"{name} {part:.1%}" for name, part in zip(self.names, self.frequencies, strict=True))
        return (
            f"the promises by segment and those for all rounds can be kept together at the frequencies so far: {seen}"
        )

    @property
    def frequencies(self) -> Array | None:
        """(segments,), the part of the rounds that each has had; None before the first."""
        total = self.rounds.sum()
        return None if total == 0.0 else self.rounds / total

    def changed(self, shares: Array, active: Mask, terms: Terms, most: float) -> list[Flow]:
        """What would become of what is owed with these shares; nothing changes."""
        found = enumerate(self.settled(shares, (active, active), terms, most))
        return [flow for segment, (_, one) in found for flow in self.flows(segment, one, terms)]

    def adopt(
        self, shares: Array, active: tuple[Mask, Mask], terms: Terms, most: float, ledger: Ledger, opening: Opening
    ) -> None:
        """Promise these shares from now on, and write down in the ledger what becomes of those that have changed."""
        every = self.settled(shares, active, terms, most)
        for segment, (_, found) in enumerate(every):
            for flow in self.flows(segment, found, terms):
                share = self.shares.item(segment, flow.place) or None
                since, until = int(found.since[flow.place]), int(self.rounds[segment])
                made = 0 if share is None else int(found.plays[flow.place])
                ledger.write(flow, share, since, until, made, opening)
        self.begin(np.where(active[1], shares, 0.0), every)

    def flows(self, segment: int, found: Settled, terms: Terms) -> Iterator[Flow]:
        """What became of what was owed in a segment, arm by arm."""
        for place in np.flatnonzero(found.changed).tolist():
            parts = (found.owed, found.carried, found.ended, found.lapsed)
            owed, carried, ended, lapsed = (int(part[place]) for part in parts)
            both = (ended, 0) if terms.debt == "forgive" else (0, ended)
            yield Flow("segment", InSegment(self.names[segment], place), place, owed, carried, *both, lapsed)

    def held(self) -> dict[Holder, float]:
        """The shares that are promised now."""
        places = zip(*(axis.tolist() for axis in self.shares.nonzero()), strict=True)
        return {InSegment(self.names[row], arm): self.shares.item(row, arm) for row, arm in places}

    def entries(self, ledger: Ledger) -> Iterator[Entry]:
        """The promises of today, as they would be written down if they ended now."""
        for holder, share in self.held().items():
            assert isinstance(holder, InSegment)
            row, place = self.place(holder.segment), holder.place
            began, owed = ledger.opening("segment", holder), round(self.owed(row).item(place) * BILLION)
            since, until = int(self.accounts.rounds[row, place]), int(self.rounds[row])
            made = int(self.plays[row, place] - self.accounts.plays[row, place])
            flow = (owed, owed, 0, 0, 0)
            times = (since, until, began.time, 0.0)
            yield Entry("segment", holder, share, *times, made, began.carried, *flow, began.reason, began.key)

    def moved_to(self, features: Features) -> Segments:
        """The same under another declaration, of which all segments must be there still."""
        arms = self.plays.shape[1]
        other = Segments(self.plain, features, arms)
        if lost := [name for name in self.names if name not in other.names]:
            raise EvenhandError(f"must keep the segment {lost[0]!r}, whose rounds are counted", "features")
        at = [other.names.index(name) for name in self.names]
        for name in ARRAYS:
            getattr(other, name)[at] = getattr(self, name)
        for name in COLUMNS:
            getattr(other.accounts, name)[at] = getattr(self.accounts, name)
        for one in self.recent.rounds:
            other.recent.add(one[:-PLACE] + at[int.from_bytes(one[-PLACE:])].to_bytes(PLACE))
        return other

    # --- saving -------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        arrays = {name: dump(getattr(self, name)) for name in ARRAYS}
        return {"of": self.plain, **arrays, "accounts": dump(self.accounts), "recent": self.recent.dump()}

    @classmethod
    def restored(cls, described: Mapping[str, Any], features: Features, arms: int) -> Segments:
        """What `dump` described, of a bandit with so many arms."""
        segments = cls(described["of"], features, arms)
        for name in ARRAYS:
            setattr(segments, name, restore(getattr(segments, name), described[name]))
        segments.accounts = restore(segments.accounts, described["accounts"])
        segments.recent.restore(described["recent"])
        if (segments.plays.sum(axis=0) < 0.0).any() or (segments.shares < 0.0).any() or (segments.shares > 1.0).any():
            raise StateError("the saved segments are damaged")
        return segments
