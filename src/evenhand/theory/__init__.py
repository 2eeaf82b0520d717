"""Oracles, achievable shares, infeasible promises, and the bounds of theorems (`evenhand.theory.bounds`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.theory import bounds as bounds
    from evenhand.theory.achievable import UnknownDistribution as UnknownDistribution
    from evenhand.theory.baseline import Baseline as Baseline
    from evenhand.theory.baseline import baseline_of as baseline_of
    from evenhand.theory.bounded import best_bounded as best_bounded
    from evenhand.theory.fairness import ExpectedFairness as ExpectedFairness
    from evenhand.theory.fairness import expected_fairness as expected_fairness
    from evenhand.theory.feasibility import check_shares as check_shares
    from evenhand.theory.feasibility import largest_excess as largest_excess
    from evenhand.theory.growth import Exponent as Exponent
    from evenhand.theory.growth import growth_exponent as growth_exponent
    from evenhand.theory.identification import characteristic_rounds as characteristic_rounds
    from evenhand.theory.identification import rounds_until_known as rounds_until_known
    from evenhand.theory.oracle import Optimum as Optimum
    from evenhand.theory.oracle import fair_shares as fair_shares
    from evenhand.theory.oracle import optimal as optimal
    from evenhand.theory.oracle import optimal_fair as optimal_fair
    from evenhand.theory.oracle import optimal_penalized as optimal_penalized
else:
    __getattr__, __dir__ = lazy(__name__)
