"""Bounds of theorems on regret and fairness: functions of rounds and parameters, and `Bound`, which knows when one
holds.

``rounds`` is T, a number or an array of rounds; bounds have its shape. Logarithms are natural.
"""

from evenhand.theory.bounds.bound import FUCB, HARD_THRESHOLD_UCB, LFG, T_FUCB, TSCSF_B, UCB1, Bound
from evenhand.theory.bounds.chen2024 import fcts_d_regret, fcucb_d_regret, op_fcts_d_regret, op_fcucb_d_regret
from evenhand.theory.bounds.fang2022 import (
    hard_threshold_regret,
    hard_threshold_regret_gap_free,
    max_violation_slopes,
    penalized_regret_lower,
)
from evenhand.theory.bounds.huang2020 import balancing_eta, lfg_regret, tscsf_b_regret
from evenhand.theory.bounds.patil2019 import (
    any_fair_regret,
    fucb_regret,
    naive_regret,
    t_fucb_regret,
    ucb1_regret,
)
from evenhand.theory.bounds.wang2021 import ars_clw_regret, ars_exp3_regret, ars_ucb_regret

__all__ = [
    "FUCB",
    "HARD_THRESHOLD_UCB",
    "LFG",
    "TSCSF_B",
    "T_FUCB",
    "UCB1",
    "Bound",
    "any_fair_regret",
    "ars_clw_regret",
    "ars_exp3_regret",
    "ars_ucb_regret",
    "balancing_eta",
    "fcts_d_regret",
    "fcucb_d_regret",
    "fucb_regret",
    "hard_threshold_regret",
    "hard_threshold_regret_gap_free",
    "lfg_regret",
    "max_violation_slopes",
    "naive_regret",
    "op_fcts_d_regret",
    "op_fcucb_d_regret",
    "penalized_regret_lower",
    "t_fucb_regret",
    "tscsf_b_regret",
    "ucb1_regret",
]
