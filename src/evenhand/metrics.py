"""Metrics of a simulation, and the base class of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.simulation.calibration import calibration as calibration
    from evenhand.simulation.measures import MEASURES as MEASURES
    from evenhand.simulation.metrics import Metric as Metric
    from evenhand.simulation.metrics import Run as Run
    from evenhand.simulation.tables import PolicyResult as PolicyResult
    from evenhand.simulation.verdicts import Difference as Difference
    from evenhand.simulation.verdicts import Verdict as Verdict
    from evenhand.simulation.verdicts import differences as differences
    from evenhand.simulation.verdicts import verdicts as verdicts
else:
    __getattr__, __dir__ = lazy(__name__)
