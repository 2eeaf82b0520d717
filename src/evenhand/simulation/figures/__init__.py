"""Figures of results: measures over the rounds, shares, arms over time, policies against each other, delays."""

from evenhand.simulation.figures.arrivals import delays
from evenhand.simulation.figures.comparison import frontier, spread_over_lanes
from evenhand.simulation.figures.files import draw_all, save
from evenhand.simulation.figures.lines import bounds_of, curves, paired_differences
from evenhand.simulation.figures.overview import overview
from evenhand.simulation.figures.shares import arms_over_time, fractions, shares_over_time
from evenhand.simulation.figures.style import COLOURS, DASHES, STYLE

__all__ = [
    "COLOURS",
    "DASHES",
    "STYLE",
    "arms_over_time",
    "bounds_of",
    "curves",
    "delays",
    "draw_all",
    "fractions",
    "frontier",
    "overview",
    "paired_differences",
    "save",
    "shares_over_time",
    "spread_over_lanes",
]
