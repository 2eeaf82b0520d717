"""The figures that a sweep writes beside its results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from evenhand.simulation.figures.files import save
from evenhand.simulation.verdicts import main_measures
from evenhand.studies.figures import frontier, heatmap, lines
from evenhand.studies.results import SweepResults


def draw_all(
    results: SweepResults, folder: Path, formats: Sequence[str] = ("png", "svg"), width: str = ""
) -> list[str]:
    """The figures of a sweep, into a folder; the names of their files without endings.

    What was lost and what was missed over each axis (at most four), over the two axes that matter most, and reward
    against missing plays.
    """
    found, names = main_measures(results.measures), []
    several = [name for name in results.axes if results.settings()[name].nunique() > 1]
    effects = results.effects(found[0])["axis"].tolist()
    ordered = effects + [name for name in several if name not in effects]
    drawn = {
        f"{_file(results.measure(measure).label)}_over_{_file(name)}": partial(lines, results, measure, name)
        for name in ordered[:4]
        for measure in found
    }
    if len(ordered) > 1 and results.study.mode == "full":
        x, y = ordered[:2]
        drawn[f"{_file(results.measure(found[0]).label)}_map"] = partial(heatmap, results, found[0], x, y)
    along = [name for name in ordered if results.study.concerned[name]]
    if along and "unfairness" in found and results.study.mode != "random":
        drawn["frontier"] = partial(frontier, results, along[0])
    for name, draw in drawn.items():
        save(draw(width=width), folder / name, formats)
        names.append(name)
    return names


def _file(label: str) -> str:
    """A name for a file, of letters, numbers and underscores."""
    return re.sub(r"\W+", "_", label.lower()).strip("_")
