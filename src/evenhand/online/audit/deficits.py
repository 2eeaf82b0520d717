"""The deficits over time, as an audit shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeficitExcerpt:
    """The largest deficits between evenly spaced rounds, of the arms that were furthest behind.

    Attributes:
        rounds: the last round of each interval.
        times: when those rounds were decided, in seconds since the epoch.
        arms: those with the largest worst deficit, at most 20; none where there are more than 200 arms in all.
        deficits: for each of ``arms``, its largest deficit at the end of any round of each interval, in plays; None
            where it had no promise.
        largest: the same over all arms; None where no arm had a promise.

    Example:
        >>> excerpt = DeficitExcerpt((1, 2), (0.0, 60.0), ("tea",), ((0.5, 0.0),), (0.5, 0.0))
        >>> excerpt.to_json()["deficits"]
        [[0.5, 0.0]]
    """

    rounds: tuple[int, ...]
    times: tuple[float, ...]
    arms: tuple[str, ...]
    deficits: tuple[tuple[float | None, ...], ...]
    largest: tuple[float | None, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        lists = {name: list(values) for name, values in vars(self).items()}
        return lists | {"deficits": [list(course) for course in self.deficits]}
