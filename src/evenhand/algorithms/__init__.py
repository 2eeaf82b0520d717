"""The published algorithms, each a choice of parts; ``evenhand algorithms`` lists them.

Every function takes the algorithm's parameters and returns a `Policy`. ``plays`` is m, the arms played per round;
where it is offered, arms may also be unavailable. Ties go to the lowest index unless said otherwise, and an arm that
was never played goes before all others that go by UCB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.algorithms.anonymous import ars_clw as ars_clw
from evenhand.algorithms.anonymous import ars_exp3 as ars_exp3
from evenhand.algorithms.anonymous import ars_exp3_doubling as ars_exp3_doubling
from evenhand.algorithms.anonymous import ars_fucb as ars_fucb
from evenhand.algorithms.anonymous import ars_ucb as ars_ucb
from evenhand.algorithms.anonymous import clw as clw
from evenhand.algorithms.anonymous import exp3 as exp3
from evenhand.algorithms.anonymous import odaaf as odaaf
from evenhand.algorithms.anonymous import ucb as ucb
from evenhand.algorithms.baselines import cucb_d as cucb_d
from evenhand.algorithms.baselines import explore_then_commit as explore_then_commit
from evenhand.algorithms.baselines import mp_ts_d as mp_ts_d
from evenhand.algorithms.baselines import opse as opse
from evenhand.algorithms.baselines import thompson as thompson
from evenhand.algorithms.baselines import ucb1 as ucb1
from evenhand.algorithms.contextual import lin_ts as lin_ts
from evenhand.algorithms.contextual import lin_ucb as lin_ucb
from evenhand.algorithms.contextual import logistic_ts as logistic_ts
from evenhand.algorithms.contextual import otf_lin_ucb as otf_lin_ucb
from evenhand.algorithms.contextual_fair import fair_greedy as fair_greedy
from evenhand.algorithms.contextual_fair import fairx_lin_ts as fairx_lin_ts
from evenhand.algorithms.contextual_fair import ridge_fair as ridge_fair
from evenhand.algorithms.drift import d_ts as d_ts
from evenhand.algorithms.drift import d_ucb as d_ucb
from evenhand.algorithms.drift import discount_for as discount_for
from evenhand.algorithms.drift import fair_glr as fair_glr
from evenhand.algorithms.drift import glr_klucb as glr_klucb
from evenhand.algorithms.drift import kl_ucb as kl_ucb
from evenhand.algorithms.drift import sw_ucb as sw_ucb
from evenhand.algorithms.drift import window_for as window_for
from evenhand.algorithms.identification import f_tas as f_tas
from evenhand.algorithms.identification import f_tas_merit as f_tas_merit
from evenhand.algorithms.identification import f_tas_tracking as f_tas_tracking
from evenhand.algorithms.mature import m_fcts_d as m_fcts_d
from evenhand.algorithms.mature import m_fcucb_d as m_fcucb_d
from evenhand.algorithms.mature import q_fcts_d as q_fcts_d
from evenhand.algorithms.mature import q_fcucb_d as q_fcucb_d
from evenhand.algorithms.merit import fairx_ts as fairx_ts
from evenhand.algorithms.merit import fairx_ucb as fairx_ucb
from evenhand.algorithms.merit import fcts_d as fcts_d
from evenhand.algorithms.merit import fcucb_d as fcucb_d
from evenhand.algorithms.merit import fgreedy_d as fgreedy_d
from evenhand.algorithms.merit import op_fcts_d as op_fcts_d
from evenhand.algorithms.merit import op_fcucb_d as op_fcucb_d
from evenhand.algorithms.minimum import eta_fucb as eta_fucb
from evenhand.algorithms.minimum import f_ts as f_ts
from evenhand.algorithms.minimum import fair_learn as fair_learn
from evenhand.algorithms.minimum import fair_random as fair_random
from evenhand.algorithms.minimum import fucb as fucb
from evenhand.algorithms.minimum import hard_threshold_ucb as hard_threshold_ucb
from evenhand.algorithms.minimum import lfg as lfg
from evenhand.algorithms.minimum import naive as naive
from evenhand.algorithms.minimum import naive_quotas as naive_quotas
from evenhand.algorithms.minimum import soft_threshold_ucb as soft_threshold_ucb
from evenhand.algorithms.minimum import t_fucb as t_fucb
from evenhand.algorithms.minimum import t_fucb_quotas as t_fucb_quotas
from evenhand.algorithms.minimum import tscsf_b as tscsf_b
from evenhand.algorithms.promises import bandit_q as bandit_q
from evenhand.algorithms.promises import floor_ts as floor_ts
from evenhand.algorithms.promises import group_ts as group_ts
from evenhand.algorithms.promises import group_ucb as group_ucb
from evenhand.algorithms.promises import ldf as ldf
from evenhand.algorithms.registry import algorithm as algorithm
from evenhand.algorithms.registry import find as find
from evenhand.core.lazy import lazy

if not TYPE_CHECKING:  # the modules above are loaded, as they enter their algorithms in the list
    __getattr__, __dir__ = lazy(__name__)
