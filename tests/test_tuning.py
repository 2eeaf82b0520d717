"""Mixings and guesses of a delay: values by hand, and where phases begin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError
from evenhand.tuning import Doubling, ForChoices, Known, balanced_mixing, mixing_of


def test_the_mixing_for_a_number_of_choices() -> None:
    # K = 3, n = 100: 3 ln 3 = 3.295837, (e − 1) 100 = 171.828183; the root of 0.01918101 is 0.138495.
    assert ForChoices(100).mixing(1, 3) == pytest.approx(0.138495, abs=1e-6)
    # A fourfold number of choices halves it, whatever the round.
    assert ForChoices(400).mixing(77, 3) == pytest.approx(0.138495 / 2.0, abs=1e-6)
    # K = 9, n = 10: 9 ln 9 = 19.775 is more than (e − 1) 10 = 17.18.
    assert ForChoices(10).mixing(1, 9) == 1.0
    assert ForChoices(10).mixing(1, 1) == 0.0  # of one arm there is nothing to learn


def test_the_mixing_of_clw() -> None:
    # d = 5, T = 995, K = 2: sqrt(2 · 5 · 2 ln 2/1000) = sqrt(0.0138629) = 0.117741.
    assert balanced_mixing(5, 995, 2) == pytest.approx(0.117741, abs=1e-6)
    # d = 50, T = 50, K = 3: 100 · 3 ln 3/100 is more than 1.
    assert balanced_mixing(50, 50, 3) == 1.0


def test_what_is_known_does_not_change() -> None:
    known = Known(longest=5, horizon=995)
    assert (known.longest, known.delay(1), known.delay(995)) == (5, 5, 5)
    assert known.mixing(1, 2) == known.mixing(995, 2) == balanced_mixing(5, 995, 2)
    assert [t for t in range(1, 2000) if known.begins(t)] == [1]


def test_phases_double() -> None:
    # T_1 = 64, h = 1/3: phases 1 … 64, 65 … 128, 129 … 256, 257 … 512 with guesses 4, ⌊5.04⌋, ⌊6.35⌋, 8.
    tuning = Doubling(first_horizon=64, exponent=1.0 / 3.0, horizon=512)
    assert [t for t in range(1, 513) if tuning.begins(t)] == [1, 65, 129, 257]
    borders = (1, 64, 65, 128, 129, 256, 257, 512)
    assert [tuning.delay(t) for t in borders] == [4, 4, 5, 5, 6, 6, 8, 8]  # 64^(1/3) is 3.9999… in floats
    assert tuning.longest == 8
    # γ = sqrt(2 d K ln K/(T_k + d)); in the third phase, K = 2: sqrt(2 · 6 · 2 ln 2/262) = sqrt(0.0634944).
    assert tuning.mixing(200, 2) == pytest.approx(0.251981, abs=1e-6)


def test_the_longest_guess_is_that_of_the_horizon() -> None:
    assert Doubling(first_horizon=64, horizon=256).longest == 6
    assert Doubling(first_horizon=64, horizon=257).longest == 8
    assert Doubling(first_horizon=2, exponent=0.1, horizon=2).longest == 1


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3000), st.floats(0.05, 0.95))
def test_phases_are_those_of_a_plain_loop(first: int, round: int, exponent: float) -> None:
    begins, end = 1, first
    while end < round:
        begins, end = end + 1, 2 * end
    tuning = Doubling(first, exponent, 3000)
    assert tuning.begins(round) == (round == begins)
    guess = tuning.delay(round)
    assert 1 <= guess <= max(1.0, end**exponent + 1e-8)
    assert guess > end**exponent - 1.0
    assert guess <= tuning.longest


def test_a_number_is_a_rule_too() -> None:
    assert mixing_of(0.25, 9, 4) == 0.25
    assert mixing_of(ForChoices(100), 9, 3) == ForChoices(100).mixing(9, 3)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no choices": (lambda: ForChoices(0), "^choices must be above 0, got 0$"),
    "choices below 0": (lambda: ForChoices(-1), "^choices must be a number of at least 0, got -1$"),
    "no delay": (lambda: Known(0, 10), "^longest must be at least 1, got 0$"),
    "half a delay": (lambda: Known(1.5, 10), r"^longest must be a whole number, got 1\.5$"),  # type: ignore[arg-type]
    "no rounds": (lambda: Known(1, 0), "^horizon must be at least 1, got 0$"),
    "no phase": (lambda: Doubling(first_horizon=0), "^first_horizon must be at least 1, got 0$"),
    "no time": (lambda: Doubling(horizon=0), "^horizon must be at least 1, got 0$"),
    "a guess of 1": (lambda: Doubling(exponent=0.0), r"^exponent must be between 0 and 1, got 0\.0$"),
    "a guess of T": (lambda: Doubling(exponent=1.0), r"^exponent must be between 0 and 1, got 1\.0$"),
    "a guess above T": (lambda: Doubling(exponent=1.5), r"^exponent must be a number in \[0, 1\], got 1\.5$"),
    "no number": (lambda: Doubling(exponent=math.nan), r"^exponent must be a number in \[0, 1\], got nan$"),
}


@pytest.mark.parametrize(("build", "message"), BAD.values(), ids=list(BAD))
def test_bad_tunings_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build()
