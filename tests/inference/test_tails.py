"""The tail index of positive values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.inference.tails import pareto_k


@pytest.mark.parametrize("k", [0.2, 0.5, 1.0])
def test_tail_index_is_that_of_the_draws(k: float) -> None:
    draws = stats.genpareto.rvs(k, size=20_000, random_state=1)
    assert pareto_k(draws) == pytest.approx(k, abs=0.15)


def test_an_exponential_tail_has_the_index_0() -> None:
    draws = np.random.default_rng(1).exponential(size=20_000)
    assert pareto_k(draws) == pytest.approx(0.0, abs=0.1)


def test_bounded_weights_have_no_tail() -> None:
    assert pareto_k(np.repeat([1.0, 2.0, 5.0], 100)) == -np.inf
    assert pareto_k(np.random.default_rng(0).random(5000)) < 0.0


def test_a_rate_of_exactly_0_is_an_exponential_tail() -> None:
    """Of the rates that are tried for the hundred largest values here, the third is 1/2 + (1 − √(40/2.5))/6 = 0."""
    assert np.isfinite(pareto_k(np.repeat([1.0, 2.0, 3.0], [1000, 10, 90])))
