"""The published algorithms, each a choice of parts; ``evenhand algorithms`` lists them.

Every function takes the algorithm's parameters and returns a `Policy`. ``plays`` is m, the arms played per round;
where it is offered, arms may also be unavailable. Ties go to the lowest index unless said otherwise, and an arm that
was never played goes before all others that go by UCB.
"""

from __future__ import annotations

from evenhand.algorithms.anonymous import (
    ars_clw,
    ars_exp3,
    ars_exp3_doubling,
    ars_fucb,
    ars_ucb,
    clw,
    exp3,
    odaaf,
    ucb,
)
from evenhand.algorithms.baselines import cucb_d, explore_then_commit, mp_ts_d, opse, thompson, ucb1
from evenhand.algorithms.drift import (
    d_ts,
    d_ucb,
    discount_for,
    fair_glr,
    glr_klucb,
    kl_ucb,
    sw_ucb,
    window_for,
)
from evenhand.algorithms.mature import m_fcts_d, m_fcucb_d, q_fcts_d, q_fcucb_d
from evenhand.algorithms.merit import fairx_ts, fairx_ucb, fcts_d, fcucb_d, fgreedy_d, op_fcts_d, op_fcucb_d
from evenhand.algorithms.minimum import (
    eta_fucb,
    f_ts,
    fair_learn,
    fair_random,
    fucb,
    hard_threshold_ucb,
    lfg,
    naive,
    naive_quotas,
    soft_threshold_ucb,
    t_fucb,
    t_fucb_quotas,
    tscsf_b,
)
from evenhand.algorithms.promises import bandit_q, floor_ts, group_ts, group_ucb, ldf
from evenhand.algorithms.registry import algorithm, find

__all__ = [
    "algorithm",
    "ars_clw",
    "ars_exp3",
    "ars_exp3_doubling",
    "ars_fucb",
    "ars_ucb",
    "bandit_q",
    "clw",
    "cucb_d",
    "d_ts",
    "d_ucb",
    "discount_for",
    "eta_fucb",
    "exp3",
    "explore_then_commit",
    "f_ts",
    "fair_glr",
    "fair_learn",
    "fair_random",
    "fairx_ts",
    "fairx_ucb",
    "fcts_d",
    "fcucb_d",
    "fgreedy_d",
    "find",
    "floor_ts",
    "fucb",
    "glr_klucb",
    "group_ts",
    "group_ucb",
    "hard_threshold_ucb",
    "kl_ucb",
    "ldf",
    "lfg",
    "m_fcts_d",
    "m_fcucb_d",
    "mp_ts_d",
    "naive",
    "naive_quotas",
    "odaaf",
    "op_fcts_d",
    "op_fcucb_d",
    "opse",
    "q_fcts_d",
    "q_fcucb_d",
    "soft_threshold_ucb",
    "sw_ucb",
    "t_fucb",
    "t_fucb_quotas",
    "thompson",
    "tscsf_b",
    "ucb",
    "ucb1",
    "window_for",
]
