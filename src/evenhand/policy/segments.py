"""Promises by segment of the rounds: each segment has a clock, plays and accounts of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import evolve
from evenhand.core.state import Array, Mask, PerLane, Shape, State
from evenhand.policy.accounts import BILLION, Accounts, Settled, Terms, settled
from evenhand.policy.composition import Policy

COLUMNS = tuple(one.name for one in dataclasses.fields(Accounts))


class SegmentAccounts:
    """What is counted and owed in each segment, of one lane or of many.

    A round is in one segment, given by its number; for many lanes by a number each, (lanes,).
    """

    def __init__(self, names: tuple[str, ...], shape: Shape) -> None:
        """Nothing has happened; the shape is (arms,) or (lanes, arms)."""
        lanes, arms = tuple(shape[:-1]), shape[-1]
        self.names = names
        self.rounds = np.zeros((*lanes, len(names)))  # decided
        self.plays = np.zeros((*lanes, len(names), arms))
        self.shares = np.zeros((len(names), arms))  # that are promised, the same in all lanes
        self.accounts = Accounts(*np.zeros((4, *lanes, len(names), arms)))
        self._policies: tuple[Policy, dict[int, Policy]] | None = None

    def seen(self, segment: Any, policy: Policy, state: State) -> tuple[Policy, State]:
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
        rounds, nothing = np.full(both.shape, float(state.round)), np.zeros(both.shape)
        begun = Accounts(rounds, state.tally.pulls, np.rint(both * BILLION), nothing)
        return policy, dataclasses.replace(state, begun=begun)

    def _with_floors(self, policy: Policy, segment: Any) -> Policy:
        """The policy that keeps the floors of the segment, too."""
        if self._policies is None or self._policies[0] is not policy:
            self._policies = (policy, {})
        kept = self._policies[1]
        if np.ndim(segment):  # so many combinations are not kept
            return _with_floors(policy, PerLane(self.shares[segment]))
        if segment not in kept:
            kept[segment] = _with_floors(policy, self.shares[segment])
        return kept[segment]

    def owed(self, segment: Any) -> Array:
        """(…, arms), the plays behind the promises of a segment, also those that wait; negative where ahead."""
        at, shares = self._at(segment), self.shares[segment]
        accounts = Accounts(*(getattr(self.accounts, name)[at] for name in COLUMNS))
        running = accounts.owed(shares, self.rounds[at][..., np.newaxis], self.plays[at])
        return np.where(shares > 0.0, running, accounts.waiting / BILLION)

    def count(self, segment: Any, played: Mask) -> None:
        """Count a round in which these arms play, (…, arms)."""
        at = self._at(segment)
        self.rounds[at] += 1.0
        self.plays[at] += played

    def settled(
        self, shares: Array, active: tuple[Mask, Mask], terms: Terms, most: float
    ) -> list[tuple[Accounts, Settled]]:
        """The accounts of each segment with these shares, and what became of what was owed; nothing changes."""
        found = []
        for segment in range(len(self.names)):
            before, after = (
                np.where((rows[segment] > 0.0) & able, rows[segment], np.nan)
                for rows, able in zip((self.shares, shares), active, strict=True)
            )
            accounts = Accounts(*(getattr(self.accounts, name)[..., segment, :] for name in COLUMNS))
            rounds, plays = self.rounds[..., [segment]], self.plays[..., segment, :]
            found.append(settled(accounts, before, after, rounds, plays, most, terms))
        return found

    def begin(self, shares: Array, found: Sequence[tuple[Accounts, Settled]]) -> None:
        """Promise these shares from now on, with the accounts that were settled."""
        for segment, (accounts, _) in enumerate(found):
            for name in COLUMNS:
                getattr(self.accounts, name)[..., segment, :] = getattr(accounts, name)
        self.shares, self._policies = shares, None

    @staticmethod
    def _at(segment: Any) -> Any:
        """The place of a segment in arrays, or those of the segments of many lanes."""
        return (np.arange(len(segment)), segment) if np.ndim(segment) else segment


def _with_floors(policy: Policy, shares: Array) -> Policy:
    """The policy that keeps these floors, too."""
    floors = np.maximum(shares, 0.0 if policy.fractions is None else policy.fractions)
    fairness = evolve(policy.fairness, fractions=PerLane(floors) if floors.ndim > 1 else floors)
    return evolve(policy, fairness=fairness)


def check_segmented(policy: Policy) -> None:
    """Refuse a policy that cannot promise by segment."""
    if not policy.fairness.traits.segmented:
        raise EvenhandError(
            f"{type(policy.fairness).__name__} promises nothing by segment: use VirtualQueue(fractions, eta), "
            "DeficitFirst(fractions), GuaranteedShares(fractions) or FloorShares(fractions); fractions may be 0",
            "segment",
        )
    if not (policy.hold.traits.idle and policy.schedule.traits.idle):
        raise EvenhandError("promises by segment need hold=EveryRound() and no schedule", "segment")


def overall_of(policy: Policy, active: Mask) -> Array:
    """(arms,), the shares of all rounds that are promised beside those of segments."""
    fractions = 0.0 if policy.fractions is None else policy.fractions
    return np.where(active, np.broadcast_to(np.asarray(fractions, dtype=float), active.shape), 0.0)


def infeasible(
    shares: Array,
    overall: Array,
    most: float,
    frequencies: Array | None,
    names: Sequence[str],
    repays: bool = True,
    when: str = " so far",
) -> str:
    """Why shares by segment and overall ones cannot be kept together; empty if they can.

    Shares of one segment need no frequencies. Together with shares of all rounds the known frequencies are used, unless
    the larger of both shares fits into every segment.
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
    if fits(shares, overall, most, np.arange(len(names)), np.ones(shares.shape, dtype=bool), known):
        return ""
    seen = ", ".join(f"{name} {part:.1%}" for name, part in zip(names, known, strict=True))
    return (
        "the shares promised by segment and those of all rounds cannot be kept together at the frequencies of the "
        f"segments{when if frequencies is not None else ' that are taken to be equal'}: {seen}"
    )


def needs_frequencies(shares: Array, overall: Array, most: float) -> bool:
    """Whether it depends on how often the segments occur that all promises can be kept together."""
    return bool(shares.any() and (np.maximum(shares, overall).sum(axis=-1) > most + 1e-9).any())


def fits(shares: Array, overall: Array, most: float, segments: NDArray[Any], able: Mask, frequencies: Array) -> bool:
    """Whether shares in every segment can be large enough, also in the mean over all rounds.

    Each sort of rounds has a segment, arms that can play (sorts, arms) and a frequency. A segment is as frequent as
    its sorts together; one without sorts asks for nothing.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    sorts, arms = able.shape
    there = np.unique(segments)
    of = np.vstack([(segments == there[:, np.newaxis]) * frequencies, frequencies])  # and of all rounds
    promised = (np.vstack([shares[there], overall]) * of.sum(axis=1, keepdims=True)).ravel()
    asked = np.flatnonzero(promised)
    plays = sparse.kron(sparse.eye(sorts), np.ones(arms))
    rows: Any = sparse.vstack([plays, -sparse.kron(of, sparse.eye(arms), "csr")[asked]])
    limits = np.concatenate([np.full(sorts, most), -promised[asked]]) + 1e-9
    found = linprog(np.zeros(sorts * arms), rows, limits, bounds=[(0.0, float(one)) for one in able.ravel()])
    return bool(found.status == 0)
