"""Figures as files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.files import write_whole
from evenhand.core.state import Array
from evenhand.simulation.figures.lines import curves
from evenhand.simulation.figures.shares import fractions
from evenhand.simulation.figures.style import STYLE, installed
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Formats of files → options of matplotlib.
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 160},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}


def save(figure: Figure, path: str | os.PathLike[str], formats: Sequence[str] = ("png", "svg")) -> None:
    """Write ``path`` with the endings of the formats; each file appears whole or not at all.

    Args:
        figure: of matplotlib.
        path: of the files, with or without an ending.
        formats: of ``"png"``, ``"svg"`` and ``"pdf"``.

    Raises:
        EvenhandError: there is no such format.

    Example:
        >>> import pathlib, tempfile
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> save(fractions(results), folder / "shares")
        >>> sorted(path.name for path in folder.iterdir())
        ['shares.png', 'shares.svg']
    """
    import matplotlib as mpl

    path = Path(path)
    stem = path.stem if path.suffix.removeprefix(".") in FORMATS else path.name
    for name in formats:
        if name not in FORMATS:
            raise EvenhandError(f"there is no format {name!r}{nearest(name, FORMATS)}")
        with mpl.rc_context(STYLE | {"font.family": ["DejaVu Sans", *installed()]}):
            write_whole(path.with_name(f"{stem}.{name}"), partial(figure.savefig, **FORMATS[name]))


def draw_all(
    results: Results,
    folder: Path,
    bounds: Mapping[str, Mapping[str, Array]] | None = None,
    log: str = "",
    title: str = "",
    *,
    band: str = "95%",
    width: str = "",
    formats: Sequence[str] = ("png", "svg"),
) -> list[str]:
    """Every figure of the results, into ``folder``; returns their names.

    Args:
        results: of a simulation.
        folder: must exist.
        bounds: by measure, then by label.
        log: axes with a logarithmic scale.
        title: above each figure.
        band: around the curves, see `curves`.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.
        formats: of the files, see `save`.

    Returns:
        The names of the figures, without endings.

    Example:
        >>> import pathlib, tempfile
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.environment import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> draw_all(results, pathlib.Path(tempfile.mkdtemp()))
        ['regret', 'time_averaged_regret', 'selection_fractions']
    """
    names = [name for name in results.measures if name != "reward"]
    for name in names:
        bound = (bounds or {}).get(name)
        figure = curves(results, name, bounds=bound, log=log, title=title, band=band, width=width)
        save(figure, folder / name, formats)
    save(fractions(results, title=title, width=width), folder / "selection_fractions", formats)
    return [*names, "selection_fractions"]
