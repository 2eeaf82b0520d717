"""Segments of the rounds by one feature: each has a clock, counts, and promises of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from evenhand.bandit.ledger import Entry, Flow, Holder, InSegment, Ledger, Opening
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, InfeasiblePromise, StateError, nearest
from evenhand.core.state import Array, Mask, State, dump, restore
from evenhand.features import Features
from evenhand.policy.accounts import BILLION, Accounts, Settled, Terms, settled
from evenhand.policy.composition import Policy

ARRAYS = ("rounds", "plays", "known", "sums", "worst", "shares")


class Segments:
    """The values of one feature of the situation, or the ranges of a number between stated cuts: a partition."""

    def __init__(self, given: Any, features: Features, arms: int) -> None:
        table = {"feature": given} if isinstance(given, str) else given
        known = isinstance(table, Mapping) and {"feature"} <= set(table) <= {"feature", "cuts"}
        if not known or not isinstance(table["feature"], str) or not isinstance(table.get("cuts", ()), Iterable):
            example = 'must be the name of a feature, or a table such as {"feature": "age", "cuts": [18, 65]}'
            raise EvenhandError(f"{example}, got {given!r}", "segments")
        self.feature, self.cuts = table["feature"], tuple(table.get("cuts", ()))
        if self.feature not in features.situation:
            hint = nearest(self.feature, features.situation)
            raise EvenhandError(f"there is no feature {self.feature!r} of the situation{hint}", "segments")
        self._kind, self._at = features.situation[self.feature], features.places(self.feature)
        try:
            self.names = self._kind.segments(self.feature, self.cuts)
        except EvenhandError as error:
            raise error.at("segments") from None
        shape = (len(self.names), arms)
        self.rounds = np.zeros(len(self.names))  # (segments,) decided
        self.plays, self.known, self.sums, self.shares = np.zeros((4, *shape))  # (segments, arms); sums in the unit
        self.worst = np.full(shape, -np.inf)  # (segments, arms), the most plays behind so far
        self.accounts = Accounts.opened(shape)
        self._policies: tuple[Policy, dict[int, Policy]] | None = None

    @property
    def plain(self) -> str | dict[str, Any]:
        """The argument of which they were made."""
        return {"feature": self.feature, "cuts": list(self.cuts)} if self.cuts else self.feature

    @property
    def promised(self) -> bool:
        """Whether anything is promised by segment."""
        return bool(self.shares.any())

    def place(self, name: str) -> int:
        """The place of a segment."""
        if name not in self.names:
            raise EvenhandError(f"there is no segment {name!r}{nearest(name, self.names)}", "segment")
        return self.names.index(name)

    def of(self, situation: Array) -> int:
        """The segment of a situation, (d,)."""
        return self._kind.segment(situation[self._at.start : self._at.stop], self.cuts)

    # --- decisions ----------------------------------------------------------------------------------------------------

    def seen(self, segment: int, policy: Policy, state: State) -> tuple[Policy, State]:
        """The policy and the state by which a round of this segment is decided.

        Where promises are kept by what is owed, that of the segment is added to that of all rounds; where they are kept
        by chance, the larger of both is kept in every round.
        """
        shares = self.shares[segment]
        if not shares.any():
            return policy, state
        if not policy.repays:
            return self._with_floors(policy, segment), state
        owed = self.owed(segment)
        overall = state.begun.owed(policy.fractions, state.round, state.tally.pulls)
        owed[shares == 0.0] = -np.inf
        both = np.where((owed > 0.0) & (overall > 0.0), owed + overall, np.maximum(owed, overall))
        rounds, nothing = np.full(len(both), float(state.round)), np.zeros(len(both))
        begun = Accounts(rounds, state.tally.pulls, np.rint(both * BILLION), nothing)
        return policy, dataclasses.replace(state, begun=begun)

    def _with_floors(self, policy: Policy, segment: int) -> Policy:
        """The policy that keeps the floors of the segment, too."""
        if self._policies is None or self._policies[0] is not policy:
            self._policies = (policy, {})
        kept = self._policies[1]
        if segment not in kept:
            floors = np.maximum(self.shares[segment], 0.0 if policy.fractions is None else policy.fractions)
            fairness = attrs.evolve(policy.fairness, fractions=floors)  # type: ignore[misc]
            kept[segment] = attrs.evolve(policy, fairness=fairness)
        return kept[segment]

    def owed(self, segment: int) -> Array:
        """(arms,), the plays behind the promises of a segment, also those that wait; negative where ahead."""
        row, shares = self._account(segment), self.shares[segment]
        running = row.owed(shares, self.rounds[segment], self.plays[segment])
        return np.where(shares > 0.0, running, row.waiting / BILLION)

    def decided(self, segment: int, places: Sequence[int]) -> None:
        """Count a round; a deficit is largest right before a play."""
        if self.shares[segment].any():
            held = (self.shares[segment] > 0.0) & (self.rounds[segment] > self.accounts.rounds[segment])
            worst = self.worst[segment]
            np.maximum(worst, np.where(held, self.owed(segment), -np.inf), out=worst)
        self.rounds[segment] += 1.0
        for place in places:
            self.plays[segment, place] += 1.0

    def learn(self, segment: int, place: int, reward: float) -> None:
        """Count a reward that is known, in the user's unit."""
        self.known[segment, place] += 1.0
        self.sums[segment, place] += reward

    # --- promises -----------------------------------------------------------------------------------------------------

    def grow(self, arms: int) -> None:
        """Count more arms."""
        more = [(0, 0), (0, arms - self.plays.shape[1])]
        for name in ARRAYS[1:]:
            filling = -np.inf if name == "worst" else 0.0
            setattr(self, name, np.pad(getattr(self, name), more, constant_values=filling))
        columns = dataclasses.fields(Accounts)
        self.accounts = Accounts(*[np.pad(getattr(self.accounts, one.name), more) for one in columns])

    def with_shares(self, segment: int, given: Mapping[str, float], places: Mapping[str, int]) -> Array:
        """(segments, arms), the shares with some of a segment changed."""
        shares = self.shares.copy()
        for arm, share in given.items():
            shares[segment, places[arm]] = validate.number(f"fractions[{arm!r}]", share, 0.0, 1.0)
        return shares

    def check(self, shares: Array, policy: Policy, active: Mask) -> None:
        """Refuse shares that the policy cannot promise by segment, or that cannot be kept."""
        if not policy.fairness.traits.segmented:
            raise EvenhandError(
                f"{type(policy.fairness).__name__} promises nothing by segment: use VirtualQueue(fractions, eta), "
                "DeficitFirst(fractions), GuaranteedShares(fractions) or FloorShares(fractions); fractions may be 0",
                "segment",
            )
        if not (policy.hold.traits.idle and policy.schedule.traits.idle):
            raise EvenhandError("promises by segment need hold=EveryRound() and no schedule", "segment")
        if fault := self.fault(shares, policy, active):
            raise InfeasiblePromise(fault)

    def check_beside(self, policy: Policy, active: Mask) -> None:
        """Refuse promises for all rounds that cannot be kept beside those by segment, of arms that do not retire."""
        if fault := self.fault(np.where(active[: self.shares.shape[1]], self.shares, 0.0), policy, active):
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

    def settled(self, shares: Array, active: Mask, terms: Terms, most: float) -> list[Flow]:
        """What would become of what is owed with these shares; nothing changes."""
        found = enumerate(self._settled(shares, (active, active), terms, most))
        return [flow for segment, (_, one) in found for flow in self.flows(segment, one, terms)]

    def _settled(
        self, shares: Array, active: tuple[Mask, Mask], terms: Terms, most: float
    ) -> Iterator[tuple[Accounts, Settled]]:
        for segment, rounds in enumerate(self.rounds.tolist()):
            before, after = (
                np.where((rows[segment] > 0.0) & able, rows[segment], np.nan)
                for rows, able in zip((self.shares, shares), active, strict=True)
            )
            yield settled(self._account(segment), before, after, int(rounds), self.plays[segment], most, terms)

    def adopt(
        self, shares: Array, active: tuple[Mask, Mask], terms: Terms, most: float, ledger: Ledger, opening: Opening
    ) -> None:
        """Promise these shares from now on, and write down in the ledger what becomes of those that have changed."""
        for segment, (accounts, found) in enumerate(list(self._settled(shares, active, terms, most))):
            for flow in self.flows(segment, found, terms):
                share = self.shares.item(segment, flow.place) or None
                since, until = int(found.since[flow.place]), int(self.rounds[segment])
                made = 0 if share is None else int(found.plays[flow.place])
                ledger.write(flow, share, since, until, made, opening)
            for one in dataclasses.fields(Accounts):
                getattr(self.accounts, one.name)[segment] = getattr(accounts, one.name)
        self.shares, self._policies = np.where(active[1], shares, 0.0), None

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

    def _account(self, segment: int) -> Accounts:
        return Accounts(*(getattr(self.accounts, one.name)[segment] for one in dataclasses.fields(Accounts)))

    def moved_to(self, features: Features) -> Segments:
        """The same under another declaration, of which all segments must be there still."""
        arms = self.plays.shape[1]
        other = Segments(self.plain, features, arms)
        if lost := [name for name in self.names if name not in other.names]:
            raise EvenhandError(f"must keep the segment {lost[0]!r}, whose rounds are counted", "features")
        at = [other.names.index(name) for name in self.names]
        for name in ARRAYS:
            getattr(other, name)[at] = getattr(self, name)
        for one in dataclasses.fields(Accounts):
            getattr(other.accounts, one.name)[at] = getattr(self.accounts, one.name)
        return other

    # --- saving -------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        arrays = {name: dump(getattr(self, name)) for name in ARRAYS}
        return {"of": self.plain, **arrays, "accounts": dump(self.accounts)}

    @classmethod
    def restored(cls, described: Mapping[str, Any], features: Features, arms: int) -> Segments:
        """What `dump` described, of a bandit with so many arms."""
        segments = cls(described["of"], features, arms)
        for name in ARRAYS:
            setattr(segments, name, restore(getattr(segments, name), described[name]))
        segments.accounts = restore(segments.accounts, described["accounts"])
        if (segments.plays.sum(axis=0) < 0.0).any() or (segments.shares < 0.0).any() or (segments.shares > 1.0).any():
            raise StateError("the saved segments are damaged")
        return segments


def overall_of(policy: Policy, active: Mask) -> Array:
    """(arms,), the shares of all rounds that are promised beside those of segments."""
    fractions = 0.0 if policy.fractions is None else policy.fractions
    return np.where(active, np.broadcast_to(np.asarray(fractions, dtype=float), active.shape), 0.0)


def infeasible(
    shares: Array, overall: Array, most: float, frequencies: Array | None, names: Sequence[str], repays: bool = True
) -> str:
    """Why shares by segment and overall ones cannot be kept together; empty if they can.

    Within a segment that needs no frequencies; together with overall promises those seen so far are used, unless the
    larger of both fits into every segment.
    """
    for name, row in zip(names, shares, strict=True):
        if row.sum() > most + 1e-9:
            return f"the shares promised in the segment {name!r} sum to {row.sum():.6g}, above {most:g} plays per round"
    if not needs_frequencies(shares, overall, most):
        return ""
    if not repays:
        sums = np.maximum(shares, overall).sum(axis=-1)
        name = names[int(sums.argmax())]
        return (
            f"in the segment {name!r} the larger of its shares and the overall ones sum to {sums.max():.6g}, and what "
            "is drawn by chance must fit into every round: lower the shares, or use VirtualQueue"
        )
    known = np.full(len(names), 1.0 / len(names)) if frequencies is None else frequencies
    if _fits(shares, overall, most, known):
        return ""
    seen = ", ".join(f"{name} {part:.1%}" for name, part in zip(names, known, strict=True))
    return (
        "the shares promised by segment and those of all rounds cannot be kept together at the frequencies of the "
        f"segments {'so far' if frequencies is not None else 'that are taken to be equal'}: {seen}"
    )


def needs_frequencies(shares: Array, overall: Array, most: float) -> bool:
    """Whether it depends on how often the segments occur that all promises can be kept together."""
    return bool(shares.any() and (np.maximum(shares, overall).sum(axis=-1) > most + 1e-9).any())


def _fits(shares: Array, overall: Array, most: float, frequencies: Array) -> bool:
    """Whether there are shares of every segment that are large enough, also in the mean over the segments."""
    from scipy.optimize import linprog

    segments, arms = shares.shape
    within = np.kron(np.eye(segments), np.ones(arms))
    over = np.kron(frequencies, np.eye(arms))
    limits = np.concatenate([np.full(segments, most), -overall + 1e-9])
    bounds = [(low, 1.0) for low in shares.ravel().tolist()]
    found = linprog(np.zeros(segments * arms), np.vstack([within, -over]), limits, bounds=bounds)
    return bool(found.status == 0)
