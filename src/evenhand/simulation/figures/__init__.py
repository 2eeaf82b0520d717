"""Figures of results: curves with their bands and bounds, and shares of the rounds against promises."""

from evenhand.simulation.figures.bounds import bounds_of
from evenhand.simulation.figures.files import draw_all, save
from evenhand.simulation.figures.lines import curves
from evenhand.simulation.figures.shares import fractions
from evenhand.simulation.figures.style import COLOURS, DASHES, STYLE

__all__ = ["COLOURS", "DASHES", "STYLE", "bounds_of", "curves", "draw_all", "fractions", "save"]
