"""Fair sequential decisions with late feedback: fair multi-armed bandits for research and production.

``import evenhand`` is light: names are loaded when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Decision": "records",
    "Environment": "environment",
    "EvenhandError": "errors",
    "Feedback": "records",
    "InfeasiblePromise": "errors",
    "PerLane": "records",
    "Policy": "policy",
    "Results": "results",
    "State": "records",
    "Tally": "records",
    "check_environment": "checks",
    "check_policy": "checks",
    "compare": "simulation",
    "dump": "records",
    "restore": "records",
    "simulate": "simulation",
}
__all__ = [
    "Decision",
    "Environment",
    "EvenhandError",
    "Feedback",
    "InfeasiblePromise",
    "PerLane",
    "Policy",
    "Results",
    "State",
    "Tally",
    "__version__",
    "check_environment",
    "check_policy",
    "compare",
    "dump",
    "restore",
    "simulate",
]

if TYPE_CHECKING:
    from evenhand.checks import check_environment, check_policy
    from evenhand.environment import Environment
    from evenhand.errors import EvenhandError, InfeasiblePromise
    from evenhand.policy import Policy
    from evenhand.records import Decision, Feedback, PerLane, State, Tally, dump, restore
    from evenhand.results import Results
    from evenhand.simulation import compare, simulate


def __getattr__(name: str) -> Any:
    """Load a public name from its module at first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"evenhand.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
