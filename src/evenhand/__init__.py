"""Fair sequential decisions with late feedback: fair multi-armed bandits for research and production.

``import evenhand`` is light: names are loaded when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.core.version import __version__

_HOME = {
    "Decision": "core.state",
    "Environment": "environment.world",
    "EvenhandError": "core.errors",
    "Feedback": "core.state",
    "Observation": "core.state",
    "InfeasiblePromise": "core.errors",
    "PerLane": "core.state",
    "Policy": "policy.composition",
    "Results": "simulation.results",
    "State": "core.state",
    "Tally": "core.state",
    "check_environment": "simulation.checks",
    "check_policy": "simulation.checks",
    "compare": "simulation.simulate",
    "dump": "core.state",
    "restore": "core.state",
    "simulate": "simulation.simulate",
    "sweep": "studies.sweep",
}
__all__ = [
    "Decision",
    "Environment",
    "EvenhandError",
    "Feedback",
    "InfeasiblePromise",
    "Observation",
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
    "sweep",
]

if TYPE_CHECKING:
    from evenhand.core.errors import EvenhandError, InfeasiblePromise
    from evenhand.core.state import Decision, Feedback, Observation, PerLane, State, Tally, dump, restore
    from evenhand.environment.world import Environment
    from evenhand.policy.composition import Policy
    from evenhand.simulation.checks import check_environment, check_policy
    from evenhand.simulation.results import Results
    from evenhand.simulation.simulate import compare, simulate
    from evenhand.studies.sweep import sweep


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
