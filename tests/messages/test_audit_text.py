"""Numbers in tables and sentences of an audit."""

from __future__ import annotations

import pytest

from evenhand.messages.audit_text import amount, bounds_table
from evenhand.messages.lines import BoundLine


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.1234, "0.123"), (-999.4, "-999"), (999.6, "1,000"), (-4234.5, "-4,234"), (1.2e6, "1,200,000")],
)
def test_amounts_have_no_powers_of_ten(value: float, text: str) -> None:
    assert amount(value) == text


def test_plays_of_groups_have_no_powers_of_ten() -> None:
    line = BoundLine("east", "group", ("tea",), 0.1, 0.5, 0, 20_000, 6_200, 0.31, -4200.0, -3800.0)
    assert bounds_table([line]).split()[-4:] == ["0.31", "6,200", "-4,200", "-3,800"]
