"""The kinds of figures of a run, by name; without what draws them, which takes long to load."""

from __future__ import annotations

from typing import Literal

FigureKind = Literal[
    "overview", "curves", "shares", "shares-over-time", "arms-over-time", "differences", "lanes", "frontier", "delays"
]
