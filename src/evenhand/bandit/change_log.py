"""The last changes of arms and promises, for audits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import StateError
from evenhand.core.numbers import percent
from evenhand.core.state import Array
from evenhand.messages.answers import moment
from evenhand.messages.changes import ChangeRecord
from evenhand.policy.composition import Policy

if TYPE_CHECKING:
    from evenhand.messages.lines import ChangeMade

KEPT = 100  # changes, the last ones
NAMED = 5  # arms and groups that a change names

Moved = tuple[int, float, float]  # the place of an arm, its share before and after


@dataclass(frozen=True, slots=True)
class Change:
    """A change; arms are given by their places, so that their present names are shown."""

    time: float
    round: int
    kind: str
    arm: int | None = None
    shares: tuple[Moved, ...] = ()
    caps: tuple[Moved, ...] = ()
    more: int = 0
    groups: tuple[str, ...] = ()
    reason: str = ""
    key: str = ""  # id of the API key with which it was made
    segment: str = ""  # in which shares are promised; empty for all rounds

    def text(self, names: Sequence[str]) -> str:
        """What was changed, as a sentence without a full stop."""
        arm = "" if self.arm is None else names[self.arm]
        match self.kind:
            case "add" | "bring_back":
                promised = [f", with a promised share of {percent(after, 4)}" for _, _, after in self.shares]
                return f"{arm} was {'added' if self.kind == 'add' else 'brought back'}{''.join(promised)}"
            case "retire":
                return f"{arm} was retired"
            case "rename" | "erase":
                return f"the arm {arm} received this name"
            case "redeclare":
                return "other features were declared"
            case "close" | "reopen":
                return "the allocation was closed" if self.kind == "close" else "the allocation was reopened"
        within = f" in the segment {self.segment}" if self.segment else ""
        parts = [f"the promised share of {_moved(one, names)}{within}" for one in self.shares]
        parts += [f"the largest share of {_moved(one, names)}" for one in self.caps]
        parts += [f"the promise to the group {name} changed" for name in self.groups]
        return "; ".join(parts) + (f"; {self.more:,} more changed" if self.more else "")


class ChangeLog(deque[Change]):
    """The last changes, at most 100, the oldest first."""

    def __init__(self) -> None:
        super().__init__(maxlen=KEPT)

    def excerpt(self, names: Sequence[str], say: Callable[[str], str]) -> tuple[ChangeMade, ...]:
        """The changes as an audit shows them, in the words of the allocation."""
        from evenhand.messages.lines import ChangeMade

        return tuple(ChangeMade(moment(one.time), one.round, say(one.text(names)), one.reason, one.key) for one in self)

    def dump(self) -> list[dict[str, Any]]:
        """Plain JSON values."""
        found = []
        for one in self:
            moved = {name: list(map(list, getattr(one, name))) for name in ("shares", "caps")}
            values = asdict(one) | moved | {"groups": list(one.groups)}
            found.append({name: value for name, value in values.items() if value or name not in ("key", "segment")})
        return found

    @classmethod
    def restored(cls, plain: Sequence[Mapping[str, object]], arms: int) -> ChangeLog:
        """The changes that `dump` described, of a bandit with so many arms."""
        log = cls()
        try:
            for one in plain:
                log.append(_restored(one, arms))
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise StateError(f"the saved changes are damaged: {error}") from None
        return log


def change_in(
    segment: str, before: Array, after: Array, now: float, round: int, change: ChangeRecord, key: str
) -> Change:
    """A change of the shares that are promised in a segment, (arms,)."""
    return _change(change, now, round, None, (_difference(before, after, len(after)), [], []), key, segment)


def change_between(
    before: Policy, after: Policy, arms: int, now: float, round: int, change: ChangeRecord, arm: int | None, key: str
) -> Change:
    """The change from one policy to another, for so many arms."""
    shares, caps = _difference(before.fractions, after.fractions, arms), _difference(before.caps, after.caps, arms)
    old, new = ({group["name"]: group for group in policy.groups} for policy in (before, after))
    other = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return _change(change, now, round, arm, (shares, caps, other), key)


def _change(
    change: ChangeRecord,
    now: float,
    round: int,
    arm: int | None,
    moved: tuple[list[Moved], list[Moved], list[str]],
    key: str,
    segment: str = "",
) -> Change:
    """A change, with the first of the shares, caps and groups that are others, and how many more there are."""
    shares, caps, groups = moved
    more, named = sum(max(len(one) - NAMED, 0) for one in moved), tuple(groups[:NAMED])
    first = tuple(shares[:NAMED]), tuple(caps[:NAMED])
    return Change(now, round, change.change, arm, *first, more, named, change.reason, key, segment)


def _difference(old: Array | None, new: Array | None, arms: int) -> list[Moved]:
    """The arms whose value is another."""
    if new is None or old is None:
        return []
    before, after = np.zeros(arms), np.broadcast_to(np.asarray(new, dtype=float), arms)
    before[: np.size(old)] = old
    if np.size(old) == 1:
        before[:] = old
    return [(place, before.item(place), after.item(place)) for place in np.flatnonzero(before != after).tolist()]


def _moved(moved: Moved, names: Sequence[str]) -> str:
    place, before, after = moved
    digits = next((number for number in (4, 8, 12) if percent(before, number) != percent(after, number)), 17)
    return f"{names[place]} changed from {percent(before, digits)} to {percent(after, digits)}"


def _restored(plain: Mapping[str, Any], arms: int) -> Change:
    def place(value: Any) -> int:
        if validate.whole("a place", value, low=0) >= arms:
            raise ValueError(f"there is no arm at place {value}")
        return int(value)

    def moved(rows: Sequence[Sequence[object]]) -> tuple[Moved, ...]:
        share = "a share"
        return tuple((place(at), validate.number(share, old), validate.number(share, new)) for at, old, new in rows)

    return Change(
        validate.number("a time", plain["time"]),
        validate.whole("a round", plain["round"], low=0),
        str(plain["kind"]),
        None if plain["arm"] is None else place(plain["arm"]),
        moved(plain["shares"]),
        moved(plain["caps"]),
        validate.whole("more", plain["more"], low=0),
        tuple(map(str, plain["groups"])),
        str(plain["reason"]),
        str(plain.get("key", "")),  # none was kept before
        str(plain.get("segment", "")),
    )
