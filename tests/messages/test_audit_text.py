"""Numbers in tables and sentences of an audit."""

from __future__ import annotations

from evenhand.messages.answers import Cost
from evenhand.messages.audit_text import bounds_table, cost
from evenhand.messages.lines import BoundLine
from evenhand.messages.words import Words


def test_the_ends_of_an_interval_are_told_from_thousands() -> None:
    found = cost(Cost(12_500.0, 0.0, 31_765.0, 0.2, 752.4, 0.0, 8_000.0, 0.051, ""), Words(unit="€"))
    assert "have cost 752 € (0 to 8,000), 5.1% of what could have been earned" in found
    assert "per round, 12,500 € (0 to 31,765), 20% of" in found


def test_plays_of_groups_have_no_powers_of_ten() -> None:
    line = BoundLine("east", "group", ("tea",), 0.1, 0.5, 0, 20_000, 6_200, 0.31, -4200.0, -3800.0)
    assert bounds_table([line]).split()[-4:] == ["0.31", "6,200", "-4,200", "-3,800"]
