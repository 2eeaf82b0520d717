"""Intervals of means, shares, rewards and differences, from sums and counts.

Each function states its theorem and the premises under which it holds; none knows a bandit.
"""

from __future__ import annotations

from evenhand.inference.offpolicy import adaptive as adaptive
from evenhand.inference.offpolicy import offpolicy as offpolicy
from evenhand.inference.offpolicy import offpolicy_difference as offpolicy_difference
from evenhand.inference.sums import Scores as Scores
from evenhand.inference.sums import Sums as Sums
from evenhand.inference.sums import difference as difference
from evenhand.inference.sums import mean as mean
from evenhand.inference.sums import simultaneous as simultaneous
from evenhand.inference.sums import weighted as weighted
from evenhand.inference.sums import weighted_mean as weighted_mean
