"""The single checks of `evenhand.check_policy` and `evenhand.check_environment`, for one test each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.bandit.checks import POLICY_CHECKS as POLICY_CHECKS
    from evenhand.simulation.checks import ENVIRONMENT_CHECKS as ENVIRONMENT_CHECKS
else:
    __getattr__, __dir__ = lazy(__name__)
