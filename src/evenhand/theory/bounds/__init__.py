"""Bounds of theorems on regret and fairness: functions of rounds and parameters, and `Bound`, which knows when one
holds.

``rounds`` is T, a number or an array of rounds; bounds have its shape. Logarithms are natural.
"""

from __future__ import annotations

from evenhand.theory.bounds.bound import ARS_UCB as ARS_UCB
from evenhand.theory.bounds.bound import FUCB as FUCB
from evenhand.theory.bounds.bound import HARD_THRESHOLD_UCB as HARD_THRESHOLD_UCB
from evenhand.theory.bounds.bound import LFG as LFG
from evenhand.theory.bounds.bound import NAIVE as NAIVE
from evenhand.theory.bounds.bound import T_FUCB as T_FUCB
from evenhand.theory.bounds.bound import TSCSF_B as TSCSF_B
from evenhand.theory.bounds.bound import UCB1 as UCB1
from evenhand.theory.bounds.bound import Bound as Bound
from evenhand.theory.bounds.chen2024 import fcts_d_regret as fcts_d_regret
from evenhand.theory.bounds.chen2024 import fcucb_d_regret as fcucb_d_regret
from evenhand.theory.bounds.chen2024 import linear_fairness_instances as linear_fairness_instances
from evenhand.theory.bounds.chen2024 import op_fcts_d_regret as op_fcts_d_regret
from evenhand.theory.bounds.chen2024 import op_fcucb_d_regret as op_fcucb_d_regret
from evenhand.theory.bounds.fang2022 import fairness_margin as fairness_margin
from evenhand.theory.bounds.fang2022 import hard_threshold_regret as hard_threshold_regret
from evenhand.theory.bounds.fang2022 import hard_threshold_regret_gap_free as hard_threshold_regret_gap_free
from evenhand.theory.bounds.fang2022 import max_violation_slopes as max_violation_slopes
from evenhand.theory.bounds.fang2022 import missing_plays as missing_plays
from evenhand.theory.bounds.fang2022 import penalized_regret_lower as penalized_regret_lower
from evenhand.theory.bounds.fang2022 import penalty_for_arms as penalty_for_arms
from evenhand.theory.bounds.fang2022 import penalty_for_unfairness as penalty_for_unfairness
from evenhand.theory.bounds.fang2022_tightness import HardProblem as HardProblem
from evenhand.theory.bounds.fang2022_tightness import critical_problem as critical_problem
from evenhand.theory.bounds.fang2022_tightness import critical_regret_lower as critical_regret_lower
from evenhand.theory.bounds.fang2022_tightness import noncritical_problem as noncritical_problem
from evenhand.theory.bounds.fang2022_tightness import noncritical_regret_lower as noncritical_regret_lower
from evenhand.theory.bounds.huang2020 import balancing_eta as balancing_eta
from evenhand.theory.bounds.huang2020 import lfg_regret as lfg_regret
from evenhand.theory.bounds.huang2020 import tscsf_b_regret as tscsf_b_regret
from evenhand.theory.bounds.patil2019 import any_fair_regret as any_fair_regret
from evenhand.theory.bounds.patil2019 import fucb_alpha as fucb_alpha
from evenhand.theory.bounds.patil2019 import fucb_regret as fucb_regret
from evenhand.theory.bounds.patil2019 import naive_epsilon as naive_epsilon
from evenhand.theory.bounds.patil2019 import naive_regret as naive_regret
from evenhand.theory.bounds.patil2019 import t_fucb_regret as t_fucb_regret
from evenhand.theory.bounds.patil2019 import ucb1_regret as ucb1_regret
from evenhand.theory.bounds.wang2021 import ars_clw_regret as ars_clw_regret
from evenhand.theory.bounds.wang2021 import ars_exp3_doubling_regret as ars_exp3_doubling_regret
from evenhand.theory.bounds.wang2021 import ars_exp3_regret as ars_exp3_regret
from evenhand.theory.bounds.wang2021 import ars_ucb_constant as ars_ucb_constant
from evenhand.theory.bounds.wang2021 import ars_ucb_regret as ars_ucb_regret
from evenhand.theory.bounds.wang2021 import first_hold as first_hold
