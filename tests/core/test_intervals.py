"""Records of intervals are plain JSON values."""

from __future__ import annotations

import json

from evenhand.core.intervals import Difference, Interval


def test_records_are_plain() -> None:
    found = Difference("a", "b", 0.1, Interval(0.0, 0.2, 0.9, "holds_if", ("it rains",)), "undecided")
    assert json.loads(json.dumps(found.to_json())) == found.to_json()
    assert found.to_json()["interval"]["premises"] == ["it rains"]
