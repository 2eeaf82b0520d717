"""The named arms of a bandit: which there are, which are retired, and which are available in a round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Mask

HINTED = 100  # arms up to which an error about an unknown name suggests the nearest known one


class Available(NamedTuple):
    """The arms that can play in a round."""

    arms: Mask  # (arms,) True where the arm can play
    mask: Mask | None  # the same for a policy: None where all arms can play
    packed: bytes  # the same as packed bits

    @classmethod
    def of(cls, arms: Mask) -> Available:
        """From a mask, (arms,).

        Args:
            arms: (arms,), whether each arm can play.

        Returns:
            The available arms, with the mask that policies take, None where all can play.
        """
        return cls(arms, None if arms.all() else arms, np.packbits(arms).tobytes())


class Arms:
    """The arms of a bandit, in their order.

    Args:
        names: each once.
        retired: names of the arms that do not play any more.

    Example:
        >>> arms = Arms(("tea", "coffee", "mate"), ["mate"])
        >>> arms.place["coffee"], arms.active, arms.available(["tea"]).arms
        (1, array([ True,  True, False]), array([ True, False, False]))
    """

    def __init__(self, names: tuple[str, ...], retired: Collection[str] = ()) -> None:
        self.names = names
        self.retired = frozenset(retired)
        self.place = {name: place for place, name in enumerate(names)}
        self.active = np.ones(len(names), dtype=bool)  # (arms,) False where an arm is retired
        self.active[[self.place[arm] for arm in self.retired]] = False
        self.all = Available.of(self.active)

    def __len__(self) -> int:
        """Number of arms, retired ones included."""
        return len(self.names)

    def check(self, arm: object) -> None:
        """Refuse what is not the name of an arm.

        Args:
            arm: the name.

        Raises:
            EvenhandError: the name is not a string, or unknown.
        """
        if not isinstance(arm, str):
            raise EvenhandError(f"the name of an arm must be a string, got {arm!r}")
        if arm not in self.place:
            raise EvenhandError(f"there is no arm {arm!r}{nearest(arm, self.names) * (len(self) <= HINTED)}")

    def check_active(self, arm: object, remedy: str) -> None:
        """Refuse a name that is unknown or of a retired arm, with a remedy for the latter.

        Args:
            arm: the name.
            remedy: what to do with a retired arm, for the message.

        Raises:
            EvenhandError: the name is not a string, unknown, or that of a retired arm.
        """
        self.check(arm)
        if arm in self.retired:
            raise EvenhandError(f"arm {arm!r} is retired; {remedy}")

    def available(self, names: Iterable[str] | None) -> Available:
        """The arms that can play, by name; None for all that are not retired.

        Args:
            names: of the arms that can play.

        Returns:
            The available arms.

        Raises:
            EvenhandError: an arm is unknown, retired or named twice, or none is named.
        """
        if names is None:
            return self.all
        if isinstance(names, str) or not np.iterable(names):
            raise EvenhandError(f"available must be a list of names of arms, got {names!r}")
        listed, mask = list(names), np.zeros(len(self), dtype=bool)
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
        return Available.of(mask)


def checked_names(arms: Sequence[str]) -> tuple[str, ...]:
    """Names of arms.

    Args:
        arms: the names, each different from the others.

    Returns:
        (arms,), the names in their order.

    Raises:
        EvenhandError: there is none, two are equal, or one is blank, has white space around it, or is ``.`` or ``..``.
    """
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
