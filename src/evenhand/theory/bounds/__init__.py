"""Bounds of theorems on regret and fairness: functions of rounds and parameters, and `Bound`, which knows when one
holds.

``rounds`` is T, a number or an array of rounds; bounds have its shape. Logarithms are natural.
"""

from evenhand.theory.bounds.bound import (
    ARS_UCB,
    FUCB,
    HARD_THRESHOLD_UCB,
    LFG,
    NAIVE,
    T_FUCB,
    TSCSF_B,
    UCB1,
    Bound,
)
from evenhand.theory.bounds.chen2024 import (
    fcts_d_regret,
    fcucb_d_regret,
    linear_fairness_instances,
    op_fcts_d_regret,
    op_fcucb_d_regret,
)
from evenhand.theory.bounds.fang2022 import (
    fairness_margin,
    hard_threshold_regret,
    hard_threshold_regret_gap_free,
    max_violation_slopes,
    missing_plays,
    penalized_regret_lower,
    penalty_for_arms,
    penalty_for_unfairness,
)
from evenhand.theory.bounds.fang2022_tightness import (
    HardProblem,
    critical_problem,
    critical_regret_lower,
    noncritical_problem,
    noncritical_regret_lower,
)
from evenhand.theory.bounds.huang2020 import balancing_eta, lfg_regret, tscsf_b_regret
from evenhand.theory.bounds.patil2019 import (
    any_fair_regret,
    fucb_alpha,
    fucb_regret,
    naive_epsilon,
    naive_regret,
    t_fucb_regret,
    ucb1_regret,
)
from evenhand.theory.bounds.wang2021 import (
    ars_clw_regret,
    ars_exp3_doubling_regret,
    ars_exp3_regret,
    ars_ucb_constant,
    ars_ucb_regret,
    first_hold,
)

__all__ = [
    "ARS_UCB",
    "FUCB",
    "HARD_THRESHOLD_UCB",
    "LFG",
    "NAIVE",
    "TSCSF_B",
    "T_FUCB",
    "UCB1",
    "Bound",
    "HardProblem",
    "any_fair_regret",
    "ars_clw_regret",
    "ars_exp3_doubling_regret",
    "ars_exp3_regret",
    "ars_ucb_constant",
    "ars_ucb_regret",
    "balancing_eta",
    "critical_problem",
    "critical_regret_lower",
    "fairness_margin",
    "fcts_d_regret",
    "fcucb_d_regret",
    "first_hold",
    "fucb_alpha",
    "fucb_regret",
    "hard_threshold_regret",
    "hard_threshold_regret_gap_free",
    "lfg_regret",
    "linear_fairness_instances",
    "max_violation_slopes",
    "missing_plays",
    "naive_epsilon",
    "naive_regret",
    "noncritical_problem",
    "noncritical_regret_lower",
    "op_fcts_d_regret",
    "op_fcucb_d_regret",
    "penalized_regret_lower",
    "penalty_for_arms",
    "penalty_for_unfairness",
    "t_fucb_regret",
    "tscsf_b_regret",
    "ucb1_regret",
]
