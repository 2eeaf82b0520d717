"""The named arms of a bandit: which there are, which are retired, and which were available."""

from __future__ import annotations

import base64
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import HINTED, EvenhandError, nearest
from evenhand.core.state import ALL_AVAILABLE, Array, Mask, Observation
from evenhand.policy.part import Places

LISTINGS, FEW = 20, 100  # of so many lists of at most so many names it is remembered which arms they are


class Available(NamedTuple):
    """The arms that can play in a round."""

    arms: Mask  # (arms,) True where the arm can play
    mask: Mask | None  # the same for a policy: None where all arms can play
    packed: bytes  # the same as packed bits
    size: int  # how many they are
    observation: Observation  # what a policy without features knows of the round

    @classmethod
    def of(cls, arms: Mask) -> Available:
        """From a mask, (arms,)."""
        packed, size = np.packbits(arms).tobytes(), int(np.count_nonzero(arms))
        mask = None if size == len(arms) else arms
        return cls(arms, mask, packed, size, ALL_AVAILABLE if mask is None else Observation(mask))

    def listed(self, names: Sequence[str]) -> list[str]:
        """Their names."""
        return [names[place] for place in np.flatnonzero(self.arms).tolist()]


def available_sets(packed: Sequence[bytes], arms: int, places: Places | slice = slice(None)) -> Mask:
    """(sets, places), which of some of so many arms are in each set of packed bits."""
    sets = np.zeros((len(packed), np.arange(arms)[places].size), dtype=bool)
    for row, one in enumerate(packed):
        sets[row] = np.unpackbits(np.frombuffer(one, dtype=np.uint8), count=arms)[places]
    return sets


class Arms:
    """The arms of a bandit, in their order."""

    def __init__(self, names: tuple[str, ...], retired: Collection[str] = ()) -> None:
        self.names = names
        self.retired = frozenset(retired)
        self.place = {name: place for place, name in enumerate(names)}
        self.active = np.ones(len(names), dtype=bool)  # (arms,) False where an arm is retired
        self.active[[self.place[arm] for arm in self.retired]] = False
        self.all = Available.of(self.active)
        self._listed: dict[tuple[Any, ...], Available] = {}

    def __len__(self) -> int:
        """Number of arms, retired ones included."""
        return len(self.names)

    def check(self, arm: object) -> None:
        """Refuse what is not the name of an arm."""
        if not isinstance(arm, str):
            raise EvenhandError(f"the name of an arm must be a string, got {arm!r}")
        if arm not in self.place:
            raise EvenhandError(f"there is no arm {arm!r}{nearest(arm, self.names) * (len(self) <= HINTED)}")

    def check_active(self, arm: object, remedy: str) -> None:
        """Refuse a name that is unknown or of a retired arm, with a remedy for the latter."""
        self.check(arm)
        if arm in self.retired:
            raise EvenhandError(f"arm {arm!r} is retired; {remedy}")

    def available(self, names: Iterable[str] | None) -> Available:
        """The arms that can play, by name; None for all that are not retired."""
        if names is None:
            return self.all
        if isinstance(names, str) or not np.iterable(names):
            raise EvenhandError(f"available must be a list of names of arms, got {names!r}")
        listed = tuple(names)
        if len(listed) > FEW:
            return self._available(listed)
        try:
            known = self._listed.get(listed)
        except TypeError:  # no names
            known = None
        if known is None:
            known = self._available(listed)
            if len(self._listed) == LISTINGS:
                self._listed.clear()
            self._listed[tuple(self.names[self.place[arm]] for arm in listed)] = known  # texts that are there anyway
        return known

    def _available(self, listed: tuple[Any, ...]) -> Available:
        """The arms that can play, by names that are not known yet to be right."""
        mask = np.zeros(len(self), dtype=bool)
        if not listed:
            raise EvenhandError("available is empty; name at least one arm, or leave it out for all")
        try:
            places = [self.place[arm] for arm in listed]
        except (KeyError, TypeError):
            for arm in listed:
                self.check(arm)
            raise
        mask[places] = True
        if np.count_nonzero(mask) < len(listed):
            (arm, _), *_ = Counter(listed).most_common(1)
            raise EvenhandError(f"available names arm {arm!r} twice")
        if self.retired and not self.active[places].all():
            for arm in listed:
                self.check_active(arm, "bring it back before it can be available")
        mask.setflags(write=False)  # as others are given it, too
        return Available.of(mask)


def checked_names(arms: Sequence[str]) -> tuple[str, ...]:
    """Names of arms."""
    if isinstance(arms, str) or not np.iterable(arms):
        raise EvenhandError(f"arms must be a list of names, got {arms!r}")
    names = tuple(arms)
    if not names:
        raise EvenhandError("there must be at least one arm")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise EvenhandError(f"the name of an arm must be a string that is not blank, got {name!r}")
        if name != name.strip():  # other programs strip the space and confuse the names
            raise EvenhandError(f"the name of an arm must not begin or end with white space, got {name!r}")
        if name in (".", ".."):
            raise EvenhandError(f"the name of an arm must not be {name!r}, which web addresses leave out; give another")
        if not name.isascii() and name.encode(errors="ignore").decode() != name:
            raise EvenhandError(f"the name of an arm must be encodable as UTF-8, got {name!r}")
    for name, times in Counter(names).items():
        if times > 1:
            raise EvenhandError(f"{times} arms have the name {name!r}; give each its own")
    return tuple(map(str, names))


RECENT = 1000  # rounds that are remembered


class RecentAvailability:
    """The sets of available arms of the last 1000 rounds, as packed bits."""

    def __init__(self) -> None:
        self.rounds: deque[bytes] = deque(maxlen=RECENT)
        self.add = self.rounds.append
        self.clear = self.rounds.clear

    def frequencies(self) -> tuple[list[bytes], Array]:
        """The different sets, and how often each occurred, as parts of 1."""
        counts = Counter(self.rounds)
        return list(counts), np.array(list(counts.values()), dtype=float) / max(len(self.rounds), 1)

    def dump(self) -> dict[str, Any]:
        """Plain JSON values: every set once, and the number of the set of each round."""
        numbers = {packed: number for number, packed in enumerate(dict.fromkeys(self.rounds))}
        return {
            "sets": [base64.b64encode(packed).decode() for packed in numbers],
            "rounds": [numbers[packed] for packed in self.rounds],
        }

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` wrote."""
        sets = [base64.b64decode(packed, validate=True) for packed in plain["sets"]]
        self.rounds.clear()
        self.rounds.extend(sets[number] for number in plain["rounds"])
