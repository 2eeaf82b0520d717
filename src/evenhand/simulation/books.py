"""The accounts of promises that change within a run, of every lane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from evenhand.core.parts import build, plain
from evenhand.core.state import Array, Mask, State, Tally
from evenhand.policy.accounts import BILLION, CARRIED, Accounts, Terms
from evenhand.policy.groups import BoundedShares, caps_of, floors_of, membership
from evenhand.policy.settlement import Waiting, settle


@frozen(eq=False)
class Page:
    """What is promised from a round on, and what becomes of what was owed before."""

    after: int  # rounds before it
    promised: BoundedShares
    plays: int  # per round
    terms: Terms = CARRIED
    most: float = 1.0  # plays of an arm's advance that outlast a change; inf for all
    within: Array | None = None  # (segments, arms), shares that are promised in each segment; None for none

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; null for a number without end."""
        whole = {"after": self.after, "promised": plain(self.promised), "plays": self.plays}
        whole |= {} if self.within is None else {"within": plain(self.within)}
        return {**whole, "terms": asdict(self.terms), "most": self.most if np.isfinite(self.most) else None}

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Page:
        """What `to_json` wrote down."""
        promised, terms = build("fairness", values["promised"]), Terms(**values["terms"])
        most = np.inf if values["most"] is None else values["most"]
        within = None if values.get("within") is None else np.array(values["within"])
        return cls(**{**values, "promised": promised, "terms": terms, "most": most, "within": within})


def pages_of(information: Mapping[str, Any], label: str) -> list[Page]:
    """What a policy of a run was judged by from which round on; empty where that did not change."""
    return [Page.of_json(one) for one in information.get("promises", {}).get(label, {}).get("pages", ())]


def in_force(pages: Sequence[Page], rounds: NDArray[np.int64]) -> list[Page]:
    """The page of each of some rounds."""
    return [pages[place - 1] for place in np.searchsorted([page.after for page in pages], rounds)]


class Line(NamedTuple):
    """Promises of one kind since they began; (lanes, promises) each."""

    plays: Array
    missing: Array  # plays missing, or above a cap; negative where there is room; what waits where an account rests
    rounds: Array


class Books:
    """What is owed under all promises that a policy is measured by: ``D(n) = C + r (n − n₀) − (N − N₀)``."""

    def __init__(self, page: Page, lanes: int, arms: int) -> None:
        """Every promise begins with round 1."""
        shape = (lanes, arms)
        self.page = page
        self._state = State(0, Tally.empty(shape), page.plays, fairness=page.promised.start(shape))
        self._state.begun = Accounts.opened(shape)
        self._waiting: Waiting = {}
        #: (lanes, arms), of shares that have ended: the plays and rounds while they held.
        self._paid, self._rounds = np.zeros((2, *shape))

    @classmethod
    def read(cls, pages: Iterable[Page], rounds: NDArray[np.int64], pulls: NDArray[np.int32]) -> Books:
        """The books after the last of some rounds, with the plays up to each of them, (rounds, lanes, arms)."""
        first, *later = pages
        books = cls(first, *pulls.shape[1:])
        for page in later:
            if page.after:
                books.see(page.after, pulls[np.searchsorted(rounds, page.after)].astype(float))
            books.begin(page)
        books.see(int(rounds[-1]), pulls[-1].astype(float))
        return books

    def see(self, round: int, pulls: Array) -> None:
        """Take in all rounds up to this one, in which there were these plays, (lanes, arms)."""
        self._state.round, self._state.tally.pulls = round, pulls

    def begin(self, page: Page) -> None:
        """Settle what is owed where promises are others from the next round on."""
        everyone, running = np.ones(self._state.arms, dtype=bool), self._running
        active = everyone, everyone
        found = settle(self.page.promised, page.promised, self._state, active, page.terms, self._waiting, page.most)
        shares = found.shares
        assert shares is not None
        ended = shares.changed & running
        self._paid += shares.plays * ended
        self._rounds += (self._state.round - shares.since) * ended
        self._state.begun, self.page = found.accounts, page

    def shares(self) -> tuple[Array, Array, Array]:
        """Plays due and plays made, (lanes, arms), and rounds, (arms,), while a share was promised."""
        line, running = self._shares(), self._running
        paid = self._paid + line.plays * running
        due = paid + line.missing * (running | (self._state.begun.rounds > 0.0))
        return due, paid, (self._rounds + line.rounds * running).max(axis=0)

    def bound(self, place: int, arms: Sequence[int], cap: bool) -> tuple[Array, Array, Array]:
        """As `shares`, of a promise to a group, or to an arm after the groups, since it began: (lanes, 1), and (1,)."""
        kind, groups = (1 if cap else 0), len(self.page.promised.groups)
        line, at = (self.lines()[2 + kind], place) if place < groups else (self.lines()[kind], arms[0])
        paid, missing = line.plays[:, [at]], line.missing[:, [at]]
        return paid + (-missing if cap else missing), paid, line.rounds[:, at].max(keepdims=True)

    def lines(self) -> tuple[Line, ...]:
        """What was promised of each kind: shares and caps of arms, then shares and caps of groups."""
        state, caps, groups = self._state, self.page.promised.caps, self.page.promised.groups
        bounds, of_groups = state.fairness, state.tally.pulls @ membership(groups, state.arms)
        floors, ceilings = floors_of(groups), caps_of(groups)
        limited = np.array([group["at_most"] is not None for group in groups], dtype=bool)
        return (
            self._shares(),
            self._line(bounds.caps, caps, caps < 1.0, state.tally.pulls, -1.0),
            self._line(bounds.groups, floors, floors > 0.0, of_groups),
            self._line(bounds.group_caps, ceilings, limited, of_groups, -1.0),
        )

    def missing(self) -> Array:
        """(lanes, arms), the plays that arms are behind their shares; what waits where an account rests."""
        return self._shares().missing

    def _shares(self) -> Line:
        return self._line(self._state.begun, self.page.promised.fractions, self._running, self._state.tally.pulls)

    def _line(self, accounts: Accounts, shares: Array, promised: Mask, plays: Array, sign: float = 1.0) -> Line:
        running = sign * accounts.owed(shares, self._state.round, plays)
        missing = np.where(promised | (accounts.rounds == 0.0), running, accounts.waiting / BILLION)
        return Line(plays - accounts.plays, missing, self._state.round - accounts.rounds)

    @property
    def _running(self) -> Mask:
        return np.broadcast_to(self.page.promised.fractions > 0.0, self._paid.shape)
