"""The propensities of a decision by arm, as tests compare them."""

from __future__ import annotations

from evenhand.bandit import Decision


def propensities(decision: Decision) -> dict[str, float]:
    """Of every available arm."""
    return {one.arm: one.propensity or 0.0 for one in decision.propensities or ()}


def errors(decision: Decision) -> dict[str, float]:
    """The standard errors of these."""
    return {one.arm: one.stderr or 0.0 for one in decision.propensities or ()}
