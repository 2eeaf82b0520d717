"""The ledger of promises: all that were ever made, what was paid under each, and what became of what was owed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import StateError
from evenhand.core.state import Array, Mask
from evenhand.messages.answers import SettledPromise
from evenhand.messages.words import in_segment
from evenhand.policy.accounts import BILLION, Accounts, Terms

if TYPE_CHECKING:
    from evenhand.policy.settlement import Settlement


class InSegment(NamedTuple):
    """An arm in a segment of the rounds."""

    segment: str
    place: int


Holder = int | str | InSegment  # the place of an arm, also in a segment, or the name of a group
Whole = NDArray[np.int64]
Kind = Literal["share", "cap", "group", "group_cap", "segment"]
Promised = tuple[Kind, Holder]  # a promise of a kind to an arm or group; a reward per round counts as a share
#: What can be promised: shares of arms, largest shares of arms, the same of groups, and shares of arms in a segment.
KINDS: tuple[Kind, ...] = get_args(Kind)
PLAY = int(BILLION)
BEFORE = "before the ledger"
#: Alarms: a promise was found missed; it was found kept again, or is in force no more.
BEHIND, KEPT_AGAIN, ENDED = "promise.behind", "promise.kept_again", "promise.ended"


class Stated(NamedTuple):
    """When it was stated that a promise is behind."""

    time: float  # seconds since the epoch
    round: int


class Opening(NamedTuple):
    """How the present promise of an account, or its rest, began by a change."""

    time: float | None = None  # seconds since the epoch; None for the start
    carried: int = 0  # owed then, in billionths of a play
    returned: int = 0  # plays that leases of earlier promises gave back since
    reason: str = ""
    key: str = ""  # of the API key by which it was made
    round: int | None = 0  # after which it began; None where an earlier save does not say


class Entry(NamedTuple):
    """A promise that has ended, or a rest in which something was owed: its share is 0.

    In billionths of a play ``brought + due − plays = owed`` and ``owed + lapsed = carried + forgiven + capped``. Of a
    largest share, what is owed is the excess.
    """

    kind: Kind
    holder: Holder
    share: float
    since: int  # rounds that do not count: those before it, and those that leases gave back
    until: int  # its last round
    began: float | None  # seconds since the epoch; None for the start
    ended: float
    plays: int
    brought: int  # owed when it began
    owed: int  # when it ended
    carried: int
    forgiven: int
    capped: int
    lapsed: int
    reason: str  # of the change that began it
    key: str
    round: int | None = None  # after which it began; None where that is `since`

    @property
    def due(self) -> int:
        """What became due, in billionths of a play; of a largest share, less than nothing."""
        return self.owed - self.brought + self.plays * (-PLAY if self.kind in ("cap", "group_cap") else PLAY)


class Balance(NamedTuple):
    """Of all promised shares of the arms so far, (arms,) each: ``due = paid + owed + forgiven + capped − lapsed``.

    In billionths of a play, but for the numbers of promises and of plays.
    """

    promises: Whole  # that have ended
    due: Whole
    paid: Whole  # plays while a share was promised
    forgiven: Whole
    capped: Whole
    lapsed: Whole


class Flow(NamedTuple):
    """What became of what was owed under a promise that has changed, in billionths of a play."""

    kind: Kind
    holder: Holder
    place: int  # in the arrays of its kind
    owed: int
    carried: int
    forgiven: int
    capped: int
    lapsed: int


def flows(found: Settlement, terms: Terms) -> Iterator[Flow]:
    """What became of what was owed, promise by promise."""
    for kind, settled in zip(KINDS[:4], (found.shares, found.caps, found.group_shares, found.group_caps), strict=True):
        for place in [] if settled is None else np.flatnonzero(settled.changed).tolist():
            assert settled is not None
            parts = (settled.owed, settled.carried, settled.ended, settled.lapsed)
            owed, carried, ended, lapsed = (int(part[place]) for part in parts)
            holder = found.groups[place] if kind in ("group", "group_cap") else place
            both = (ended, 0) if terms.debt == "forgive" else (0, ended)
            yield Flow(kind, holder, place, owed, carried, *both, lapsed)


@dataclass
class Ledger:
    """The promises that have ended, in their order, and how the present ones began."""

    closed: Whole  # (6, arms), the `Balance` of those shares that have ended
    entries: list[Entry] = field(default_factory=list)
    openings: dict[tuple[str, Holder], Opening] = field(default_factory=dict)
    waiting: dict[str, tuple[Array, Array]] = field(default_factory=dict)  # of groups that there are no more

    @classmethod
    def of(cls, arms: int) -> Ledger:
        """Nothing has ended."""
        return cls(np.zeros((len(Balance._fields), arms), dtype=np.int64))

    def opening(self, kind: str, holder: Holder) -> Opening:
        """How the present promise began."""
        return self.openings.get((kind, holder), Opening())

    def grow(self, arms: int) -> None:
        """Count more arms."""
        self.closed = np.pad(self.closed, [(0, 0), (0, arms - self.closed.shape[1])])

    def settle(
        self,
        found: Settlement,
        shares: Mapping[Kind, Mapping[Holder, float]],
        terms: Terms,
        round: int,
        opening: Opening,
    ) -> None:
        """Write down what became of promises that have changed; ``shares`` are those until now."""
        for flow in flows(found, terms):
            settled = {"share": found.shares, "cap": found.caps, "group": found.group_shares}.get(
                flow.kind, found.group_caps
            )
            assert settled is not None
            share, since = shares[flow.kind].get(flow.holder), int(settled.since[flow.place])
            made = 0 if share is None else int(settled.plays[flow.place])
            entry = self.write(flow, share, since, round, made, opening)
            if flow.kind == "share" and entry is not None:
                ended = (share is not None, entry.due, entry.plays, *flow[5:])
                self.closed[:, flow.place] += ended

    def write(
        self, flow: Flow, share: float | None, since: int, until: int, plays: int, opening: Opening
    ) -> Entry | None:
        """Write down a promise that has ended, and how the next one begins; None where there is nothing to be said."""
        began = self.opening(flow.kind, flow.holder)
        times, made = (since, until, began.time, opening.time or 0.0), plays - began.returned
        why = (began.reason, began.key, began.round)
        entry = Entry(flow.kind, flow.holder, share or 0.0, *times, made, began.carried, *flow[3:], *why)
        self.openings[flow.kind, flow.holder] = opening._replace(carried=flow.carried)
        if share is None and not entry.owed and not entry.plays:
            return None
        self.entries.append(entry)
        return entry

    def rounds_of_shares(self) -> Whole:
        """(arms,), the rounds of the promised shares of arms that have ended."""
        rounds = np.zeros(self.closed.shape[1], dtype=np.int64)
        for entry in self.entries:
            if entry.kind == "share" and entry.share and isinstance(entry.holder, int):
                rounds[entry.holder] += entry.until - entry.since
        return rounds

    def opened(self, rounds: Array) -> Array:
        """(arms,), the round after which the present promise of each arm began; ``rounds`` where that is not known."""
        opened = np.zeros(len(rounds))
        for (kind, place), opening in self.openings.items():
            if kind == "share" and isinstance(place, int):
                opened[place] = rounds[place] if opening.round is None else opening.round
        return opened

    def give_back(self, place: int, plays: int) -> None:
        """Plays of an arm that a lease of an earlier promise gives back."""
        opening = self.opening("share", place)
        self.openings["share", place] = opening._replace(returned=opening.returned + plays)

    def balance(self, promised: Mask, accounts: Accounts, owed: Whole, plays: Array) -> Balance:
        """The balance of the arms, with what is owed to them now and their plays so far."""
        totals = self.closed.copy()
        brought, returned = np.zeros((2, self.closed.shape[1]), dtype=np.int64)
        for (kind, place), opening in self.openings.items():
            if kind == "share" and isinstance(place, int):
                brought[place], returned[place] = opening.carried, opening.returned
        paid = np.where(promised, plays - accounts.plays, 0.0).astype(np.int64) - returned
        totals[1] += owed - brought + paid * PLAY
        totals[2] += paid
        return Balance(*totals)

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "closed": self.closed.tolist(),
            "entries": [[_listed(one) for one in entry] for entry in self.entries],
            "openings": [[kind, _listed(holder), *opening] for (kind, holder), opening in self.openings.items()],
            "waiting": {name: [one.item() for one in both] for name, both in self.waiting.items()},
        }

    @classmethod
    def restored(cls, plain: Mapping[str, Any], arms: int) -> Ledger:
        """The ledger that `dump` described, of a bandit with so many arms."""
        closed = np.array(plain["closed"], dtype=np.int64)
        if closed.shape != (len(Balance._fields), arms):
            raise StateError(f"the saved ledger is damaged: its totals have the shape {closed.shape}")
        entries = [Entry(kind, _holder(holder), *rest) for kind, holder, *rest in plain["entries"]]
        for entry in entries:
            if entry.kind not in KINDS or entry.owed + entry.lapsed != entry.carried + entry.forgiven + entry.capped:
                raise StateError(f"the saved ledger is damaged: {entry}")
        openings = {(kind, _holder(holder)): Opening(*rest) for kind, holder, *rest in plain["openings"]}
        waiting = {name: (np.array(one), np.array(two)) for name, (one, two) in plain["waiting"].items()}
        return cls(closed, entries, openings, waiting)


def _listed(value: object) -> Any:
    """A value as JSON has it."""
    return list(value) if isinstance(value, InSegment) else value


def _holder(value: Any) -> Holder:
    """The holder that `_listed` described."""
    return InSegment(*value) if isinstance(value, list) else value


def listed_alarms(alarms: Mapping[Promised, Stated]) -> list[list[Any]]:
    """The promises that are stated to be behind, as they are saved."""
    return [[kind, _listed(holder), *stated] for (kind, holder), stated in alarms.items()]


def alarms_of(rows: Sequence[Sequence[object]], arms: int) -> dict[Promised, Stated]:
    """The promises that are stated to be behind, as they were saved, of a bandit with so many arms."""
    found: dict[Promised, Stated] = {}
    for kind, holder, time, round in rows:
        named = _holder(holder)
        place = named.place if isinstance(named, InSegment) else named
        at = 0 if isinstance(place, str) else validate.whole("a place", place, low=0)
        if kind not in KINDS or at >= arms:
            raise StateError(f"the saved alarms are damaged: there is no {kind} of {holder}")
        found[kind, named] = Stated(validate.number("a time", time), validate.whole("a round", round, low=0))
    return found


def whole(plays: Array) -> Whole:
    """Plays in billionths."""
    exact: Whole = np.rint(plays * BILLION).astype(np.int64)
    return exact


def called(holder: Holder, names: Sequence[str]) -> str:
    """What the arm or group is called that holds a promise."""
    place = holder.place if isinstance(holder, InSegment) else holder
    return place if isinstance(place, str) else names[place]


def segment_of(holder: Holder) -> str:
    """The segment of whose rounds alone a promise is; empty for all rounds."""
    return holder.segment if isinstance(holder, InSegment) else ""


def named(holder: Holder, names: Sequence[str]) -> str:
    """What the holder of a promise is called, with its segment."""
    name, segment = called(holder, names), segment_of(holder)
    return in_segment(name, segment) if segment else name


def facts_of(holder: Holder, names: Sequence[str]) -> dict[str, str]:
    """The holder of a promise as an event has it."""
    if isinstance(holder, InSegment):
        return {"segment": holder.segment, "arm": names[holder.place]}
    return {"group": holder} if isinstance(holder, str) else {"arm": names[holder]}


def holder_of(facts: Mapping[str, Any], place: Mapping[str, int]) -> Holder:
    """The holder that `facts_of` described."""
    if "segment" in facts:
        return InSegment(facts["segment"], place[facts["arm"]])
    return str(facts["group"]) if "group" in facts else place[facts["arm"]]


def flow_of(flow: Flow, names: Sequence[str]) -> SettledPromise:
    """A flow as it is answered, in plays."""
    return SettledPromise(named(flow.holder, names), flow.kind, *(one / PLAY for one in flow[3:]))
