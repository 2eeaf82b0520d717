"""A partition of the rounds by one feature of the situation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.features.declaration import Features
from evenhand.features.kinds import Number


class Partition:
    """Segments: the values of a category or flag of the situation, or the ranges of a number between stated cuts."""

    def __init__(self, given: Any, features: Features) -> None:
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
        if isinstance(self._kind, Number) and not self.cuts:
            middle = {"feature": self.feature, "cuts": [(self._kind.low + self._kind.high) / 2.0]}
            fault = f"{self.feature!r} is a number, whose segments lie between cuts: give a table such as"
            raise EvenhandError(f"{fault} {json.dumps(middle)}", "segments")
        try:
            self.names = self._kind.segments(self.feature, self.cuts)
        except EvenhandError as error:
            raise error.at("segments") from None

    @property
    def plain(self) -> str | dict[str, Any]:
        """The argument of which it was made."""
        return {"feature": self.feature, "cuts": list(self.cuts)} if self.cuts else self.feature

    def place(self, name: str) -> int:
        """The place of a segment."""
        if name not in self.names:
            raise EvenhandError(f"there is no segment {name!r}{nearest(name, self.names)}", "segment")
        return self.names.index(name)

    def of(self, situation: Array) -> Any:
        """The segment of a situation, (d,), or of each of many, (…, d)."""
        return self._kind.segment(situation[..., self._at.start : self._at.stop], self.cuts)
