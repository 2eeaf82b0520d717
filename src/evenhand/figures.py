"""Figures of results: measures over the rounds, shares, arms over time, policies against each other, delays; audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.bandit.audit.figure import audit_figure as audit_figure
    from evenhand.bandit.audit.figure import audit_table as audit_table
    from evenhand.simulation.figures.arrivals import delays as delays
    from evenhand.simulation.figures.comparison import frontier as frontier
    from evenhand.simulation.figures.comparison import spread_over_lanes as spread_over_lanes
    from evenhand.simulation.figures.files import draw_all as draw_all
    from evenhand.simulation.figures.files import save as save
    from evenhand.simulation.figures.lines import bounds_of as bounds_of
    from evenhand.simulation.figures.lines import curves as curves
    from evenhand.simulation.figures.lines import paired_differences as paired_differences
    from evenhand.simulation.figures.overview import overview as overview
    from evenhand.simulation.figures.shares import arms_over_time as arms_over_time
    from evenhand.simulation.figures.shares import fractions as fractions
    from evenhand.simulation.figures.shares import shares_over_time as shares_over_time
else:
    __getattr__, __dir__ = lazy(__name__)
