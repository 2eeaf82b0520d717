"""Fair sequential decisions with late feedback: fair multi-armed bandits for research and production.

``import evenhand as eh`` is light: names and the modules below are loaded when they are used.
"""

from __future__ import annotations

from evenhand.core.extras import name_missing
from evenhand.core.lazy import lazy
from evenhand.core.version import __version__ as __version__

name_missing()
TYPE_CHECKING = False  # without loading `typing`
if TYPE_CHECKING:
    from evenhand import algorithms as algorithms
    from evenhand import answers as answers
    from evenhand import availability as availability
    from evenhand import changes as changes
    from evenhand import checks as checks
    from evenhand import client as client
    from evenhand import contexts as contexts
    from evenhand import datasets as datasets
    from evenhand import delays as delays
    from evenhand import errors as errors
    from evenhand import evaluation as evaluation
    from evenhand import features as features
    from evenhand import feedback as feedback
    from evenhand import figures as figures
    from evenhand import merit as merit
    from evenhand import metrics as metrics
    from evenhand import policy as policy
    from evenhand import rewards as rewards
    from evenhand import service as service
    from evenhand import studies as studies
    from evenhand import theory as theory
    from evenhand import typing as typing
    from evenhand.algorithms.recommendation import which as which
    from evenhand.bandit.bandit import Bandit as Bandit
    from evenhand.bandit.checks import check_policy as check_policy
    from evenhand.core.errors import EvenhandError as EvenhandError
    from evenhand.core.errors import InfeasiblePromise as InfeasiblePromise
    from evenhand.core.parts import build as build
    from evenhand.core.parts import part as part
    from evenhand.core.parts import plain as plain
    from evenhand.core.state import Feedback as Feedback
    from evenhand.core.state import Observation as Observation
    from evenhand.core.state import PerLane as PerLane
    from evenhand.core.state import State as State
    from evenhand.core.state import dump as dump
    from evenhand.core.state import restore as restore
    from evenhand.environment.world import Environment as Environment
    from evenhand.features.declaration import Features as Features
    from evenhand.messages.requests import Round as Round
    from evenhand.policy.composition import Policy as Policy
    from evenhand.simulation.checks import check_environment as check_environment
    from evenhand.simulation.metrics import Metric as Metric
    from evenhand.simulation.results import Results as Results
    from evenhand.simulation.simulate import compare as compare
    from evenhand.simulation.simulate import simulate as simulate
    from evenhand.studies.sweep import sweep as sweep
else:
    __getattr__, __dir__ = lazy(__name__)
