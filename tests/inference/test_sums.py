"""Sequences from sums, against what their derivation says of them."""

from __future__ import annotations

import numpy as np

from evenhand.inference import Scores
from evenhand.inference.mixtures import TILTS, linear, psi


def scores_of(played: np.ndarray, rewards: np.ndarray, chances: np.ndarray, arm: int) -> Scores:
    """The sums of one arm, from rounds."""
    mine = played == arm
    once, twice = mine / chances, mine / chances**2
    a, b, c, d, e = (one.sum() for one in (once, once * rewards, twice, twice * rewards, twice * rewards**2))
    return Scores(a, b, c, d, e, least=chances[mine].min())


def test_the_inequality_behind_all_of_it() -> None:
    xi = np.concatenate([np.linspace(-1.0, 3.0, 500), np.geomspace(3.0, 1e6, 200)])
    for tilt in TILTS:
        assert (np.exp(tilt * xi - psi(tilt) * xi**2) <= (1.0 + tilt * xi) * (1 + 1e-12)).all()


def test_a_step_never_passes_the_root() -> None:
    rng = np.random.default_rng(0)
    intercepts, slopes = rng.normal(size=(5, 40)) * 10.0, np.exp(rng.normal(size=(5, 40)))
    found = linear(intercepts, slopes, 3.0)
    left = np.log(np.exp(intercepts - slopes * found).sum(axis=0))
    assert (left >= 3.0 - 1e-9).all()
    assert (left <= 3.001).mean() > 0.8
    assert (found >= ((intercepts - 3.0) / slopes).max(axis=0)).all()
