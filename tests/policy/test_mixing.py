"""Mixings, learning rates and guesses of a delay: values by hand, and where phases begin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError
from evenhand.policy.mixing import Constant, Doubling, ForChoices, OnePhase, Phases, as_mixing, as_phases


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
    assert OnePhase(5, 995).mixing(1, 2) == pytest.approx(0.117741, abs=1e-6)
    # d = 50, T = 50, K = 3: 100 · 3 ln 3/100 is more than 1.
    assert OnePhase(50, 50).mixing(1, 3) == 1.0


def test_the_loss_rate_of_clw() -> None:
    # d = 1, q = 1/2, T = 400: n = 400 · 1/2 · 1/2 = 100 updates, K = 2: sqrt(2 ln 2/(2 · 100)) = 0.0832555.
    assert OnePhase(1, 400).loss_rate(1, 2) == pytest.approx(0.0832555, abs=1e-7)
    # d = 10, q = 1/20, T = 1000: n = 50 · 0.95^19 = 18.867680, K = 3: sqrt(2 ln 3/(3 · 18.867680)) = 0.197024.
    assert OnePhase(10, 1000).loss_rate(77, 3) == pytest.approx(0.197024, abs=1e-6)


def test_what_is_known_does_not_change() -> None:
    known = OnePhase(longest=5, horizon=995)
    assert (known.longest, known.delay(1), known.delay(995), known.delay_after(3)) == (5, 5, 5, 5)
    assert (known.horizon_of(1), known.horizon_of(995)) == (995, 995)
    assert known.mixing(1, 2) == known.mixing(995, 2) == pytest.approx(0.117741, abs=1e-6)
    assert [t for t in range(1, 2000) if known.begins(t)] == [1]


def test_phases_double() -> None:
    # T_1 = 64, h = 1/3: phases 1 … 64, 65 … 128, 129 … 256, 257 … 512 with guesses 4, ⌊5.04⌋, ⌊6.35⌋, 8.
    phases = Doubling(first_horizon=64, exponent=1.0 / 3.0)
    assert [t for t in range(1, 513) if phases.begins(t)] == [1, 65, 129, 257]
    borders = (1, 64, 65, 128, 129, 256, 257, 512)
    assert [phases.delay(t) for t in borders] == [4, 4, 5, 5, 6, 6, 8, 8]  # 64^(1/3) is 3.9999… in floats
    assert [phases.delay_after(t) for t in borders] == [5, 5, 6, 6, 8, 8, 10, 10]  # of 128, 256, 512 and 1024
    assert [phases.horizon_of(t) for t in borders] == [64, 64, 128, 128, 256, 256, 512, 512]
    # γ = sqrt(2 d K ln K/(T_k + d)); in the third phase, K = 2: sqrt(2 · 6 · 2 ln 2/262) = sqrt(0.0634944).
    assert phases.mixing(200, 2) == pytest.approx(0.251981, abs=1e-6)


def test_phases_go_on_for_any_number_of_rounds() -> None:
    phases = Doubling(first_horizon=64)
    round = 64 * 2**40 + 1
    assert phases.begins(round)
    assert (phases.horizon_of(round), phases.delay(round)) == (64 * 2**41, math.floor((64 * 2**41) ** (1 / 3)))
    assert Doubling(first_horizon=2, exponent=0.1).delay(2) == 1


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3000), st.floats(0.05, 0.95))
def test_phases_are_those_of_a_plain_loop(first: int, round: int, exponent: float) -> None:
    begins, end = 1, first
    while end < round:
        begins, end = end + 1, 2 * end
    phases = Doubling(first, exponent)
    assert phases.begins(round) == (round == begins)
    guess = phases.delay(round)
    assert 1 <= guess <= max(1.0, end**exponent + 1e-8)
    assert guess > end**exponent - 1.0
    assert guess <= phases.delay_after(round) == phases.delay(end + 1)
    assert phases.horizon_of(round) == end


def test_a_number_is_a_rule_too() -> None:
    assert as_mixing(0.25) == Constant(0.25)
    assert as_mixing(0.25).mixing(9, 4) == 0.25
    assert as_mixing(ForChoices(100)) == as_mixing({"kind": "for_choices", "choices": 100}) == ForChoices(100)
    assert as_phases({"kind": "doubling", "first_horizon": 8}) == Doubling(8)
    assert isinstance(as_phases(OnePhase(1, 2)), Phases)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no choices": (lambda: ForChoices(0), "^choices must be above 0, got 0$"),
    "choices below 0": (lambda: ForChoices(-1), "^choices must be a number of at least 0, got -1$"),
    "no delay": (lambda: OnePhase(0, 10), "^longest must be at least 1, got 0$"),
    "half a delay": (lambda: OnePhase(1.5, 10), r"^longest must be a whole number, got 1\.5$"),  # type: ignore[arg-type]
    "no rounds": (lambda: OnePhase(1, 0), "^horizon must be at least 1, got 0$"),
    "no phase": (lambda: Doubling(first_horizon=0), "^first_horizon must be at least 1, got 0$"),
    "a constant above 1": (lambda: Constant(1.5), r"^gamma must be a number in \[0, 1\], got 1\.5$"),
    "no rule": (lambda: as_mixing(None), r"^must be a number in \[0, 1\] or a rule such as ForChoices\(1000\)"),  # type: ignore[arg-type]
    "no phases": (lambda: as_phases(Constant(0.1)), r"^must be an object such as OnePhase\("),  # type: ignore[arg-type]
    "two faults": (lambda: OnePhase(0, 0), "^longest must be at least 1, got 0\nhorizon must be at least 1, got 0$"),
    "a guess of 1": (lambda: Doubling(exponent=0.0), r"^exponent must be between 0 and 1, got 0\.0$"),
    "a guess of T": (lambda: Doubling(exponent=1.0), r"^exponent must be between 0 and 1, got 1\.0$"),
    "a guess above T": (lambda: Doubling(exponent=1.5), r"^exponent must be a number in \[0, 1\], got 1\.5$"),
    "no number": (lambda: Doubling(exponent=math.nan), r"^exponent must be a number in \[0, 1\], got nan$"),
}


@pytest.mark.parametrize(("build", "message"), BAD.values(), ids=list(BAD))
def test_bad_rules_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build()
