"""The single checks of `evenhand.check_policy` and `evenhand.check_environment`, for one test each."""

from __future__ import annotations

from evenhand.bandit.checks import POLICY_CHECKS as POLICY_CHECKS
from evenhand.simulation.checks import ENVIRONMENT_CHECKS as ENVIRONMENT_CHECKS
