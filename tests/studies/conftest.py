"""A small study."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def config() -> dict[str, Any]:
    return {
        "horizon": 60,
        "lanes": 4,
        "environment": {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}, "fractions": 0.2},
        "policies": [{"algorithm": "eta_fucb", "eta": 1}, {"label": "UCB", "algorithm": "ucb1"}],
    }
