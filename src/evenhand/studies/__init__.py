"""Studies of many settings: what `evenhand.sweep` runs, its results and their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.studies import figures as figures
    from evenhand.studies.results import SweepResults as SweepResults
    from evenhand.studies.study import Setting as Setting
    from evenhand.studies.study import Study as Study
else:
    __getattr__, __dir__ = lazy(__name__)
