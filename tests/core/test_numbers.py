"""Numbers as people read and write them."""

from __future__ import annotations

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.core.numbers import amount, percent, ranged, shares_of


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.1234, "0.123"), (-999.4, "-999"), (999.6, "1,000"), (-4234.5, "-4,234"), (1.2e6, "1,200,000")],
)
def test_amounts_have_no_powers_of_ten(value: float, text: str) -> None:
    assert amount(value) == text


def test_a_range_and_a_percentage() -> None:
    assert (ranged(0.0, 31_765.0), ranged(None, 1.0), percent(0.0631), percent(1 / 3, 4)) == (
        "0 to 31,765", "", "6.31%", "33.33%",
    )  # fmt: skip


def test_shares_are_written_as_numbers_or_percentages() -> None:
    assert shares_of("0.1, 5%,.25", "--promise") == [0.1, 0.05, 0.25]


@pytest.mark.parametrize(("text", "hint"), [("20", " (write 0.2)"), ("0.1,abc", ""), ("101%", "")])
def test_a_share_is_at_most_one(text: str, hint: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        shares_of(text, "--promise")
    said = text.rpartition(",")[2]
    assert str(caught.value) == f"--promise must be a share from 0 to 1, such as 0.1 or 10%, got {said!r}{hint}"
