"""Which arms were available in the last rounds."""

from __future__ import annotations

import base64
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.core.state import Array

RECENT = 1000  # rounds that are remembered


class RecentAvailability:
    """The sets of available arms of the last 1000 rounds, as packed bits.

    Example:
        >>> recent = RecentAvailability()
        >>> for packed in (b"\\x80", b"\\xc0", b"\\x80", b"\\x80"):
        ...     recent.add(packed)
        >>> recent.frequencies()
        ([b'\\x80', b'\\xc0'], array([0.75, 0.25]))
    """

    def __init__(self) -> None:
        self.rounds: deque[bytes] = deque(maxlen=RECENT)
        self.add = self.rounds.append
        self.clear = self.rounds.clear

    def frequencies(self) -> tuple[list[bytes], Array]:
        """The different sets, and how often each occurred, as parts of 1.

        Returns:
            The sets, each as the packed bits of a mask, and (sets,), the frequency of each in [0, 1].
        """
        counts = Counter(self.rounds)
        return list(counts), np.array(list(counts.values()), dtype=float) / max(len(self.rounds), 1)

    def dump(self) -> dict[str, Any]:
        """Plain JSON values: every set once, and the number of the set of each round.

        Returns:
            ``sets``, each in base64, and ``rounds``, for each round the number of its set.
        """
        numbers = {packed: number for number, packed in enumerate(dict.fromkeys(self.rounds))}
        return {
            "sets": [base64.b64encode(packed).decode() for packed in numbers],
            "rounds": [numbers[packed] for packed in self.rounds],
        }

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` wrote.

        Args:
            plain: what `dump` returned.
        """
        sets = [base64.b64decode(packed, validate=True) for packed in plain["sets"]]
        self.rounds.clear()
        self.rounds.extend(sets[number] for number in plain["rounds"])
