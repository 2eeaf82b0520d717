"""Figures as files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.files import write_whole
from evenhand.core.state import Array
from evenhand.simulation.figures.arrivals import delays
from evenhand.simulation.figures.comparison import frontier, spread_over_lanes
from evenhand.simulation.figures.lines import curves, paired_differences
from evenhand.simulation.figures.overview import overview
from evenhand.simulation.figures.shares import arms_over_time, fractions, shares_over_time
from evenhand.simulation.figures.style import style_for
from evenhand.simulation.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Kind(NamedTuple):
    """A kind of figures of results, and what it is drawn of besides them: a measure, a policy."""

    draw: Callable[..., Figure]
    asks: tuple[Literal["measure", "policy"], ...] = ()


#: By the names that a configuration and ``evenhand figure`` have for them.
KINDS = {
    "overview": Kind(overview),
    "curves": Kind(curves, ("measure",)),
    "shares": Kind(fractions),
    "shares-over-time": Kind(shares_over_time, ("policy",)),
    "arms-over-time": Kind(arms_over_time, ("policy",)),
    "differences": Kind(paired_differences, ("measure", "policy")),
    "lanes": Kind(spread_over_lanes, ("measure",)),
    "frontier": Kind(frontier),
    "delays": Kind(delays),
}
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
        >>> import evenhand as eh
        >>> results = eh.simulate("ucb1", eh.Environment(eh.rewards.Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
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
        with mpl.rc_context(style_for(str(figure.get_label()))):
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
    kinds: Sequence[str] = ("overview", "curves"),
    measures: Sequence[str] | None = None,
) -> list[str]:
    """Every figure of some kinds, into ``folder``; returns their names.

    What the results do not allow is left out: differences of a single policy, a frontier where nothing is promised, the
    delays of an adversary.

    Args:
        results: of a simulation.
        folder: must exist.
        bounds: by measure, then by label.
        log: axes with a logarithmic scale.
        title: above each figure.
        band: around the curves, see `curves`.
        width: ``"column"`` or ``"text"`` of a paper; empty for a screen.
        formats: of the files, see `save`.
        kinds: of `KINDS`.
        measures: of which there are figures; by default all.

    Returns:
        The names of the figures, without endings.

    Raises:
        EvenhandError: there is no such kind, band, width or format.

    Example:
        >>> import pathlib, tempfile
        >>> import evenhand as eh
        >>> results = eh.simulate("ucb1", eh.Environment(eh.rewards.Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> draw_all(results, pathlib.Path(tempfile.mkdtemp()))
        ['overview', 'regret', 'time_averaged_regret']
    """
    for kind in kinds:
        if kind not in KINDS:
            raise EvenhandError(f"there is no kind of figure {kind!r}{nearest(kind, KINDS)}")
    style: dict[str, Any] = {"title": title, "width": width}
    shown = [name for name in results.measures if measures is None or name in measures]
    drawn, names = [], (shown, list(results.policies))
    for kind in dict.fromkeys(kinds):
        for name, subject in zip(file_names(kind, *names), _subjects(kind, *names), strict=True):
            if kind == "curves":
                bound = (bounds or {}).get(subject)
                figure = curves(results, subject, bounds=bound, log=log, band=band, **style)
            else:
                try:
                    figure = KINDS[kind].draw(results, *([subject] if subject else []), **style)
                except EvenhandError:
                    continue
            save(figure, folder / name, formats)
            drawn.append(name)
    return drawn


def file_names(kind: str, measures: Sequence[str], policies: Sequence[str]) -> list[str]:
    """The names of the files, all different and without endings, that `draw_all` writes for a kind."""
    if kind == "curves":
        return _subjects(kind, measures, policies)
    if kind == "shares":
        return ["selection_fractions"]
    stem = kind.replace("-", "_")
    ends = [re.sub(r"[^\w.=]+", "_", subject).strip("_.") for subject in _subjects(kind, measures, policies)]
    twice = {end for end in ends if ends.count(end) > 1}
    numbered = [f"{end}_{place + 1}" if end in twice else end for place, end in enumerate(ends)]
    return [f"{stem}_{end}" if end else stem for end in numbered]


def _subjects(kind: str, measures: Sequence[str], policies: Sequence[str]) -> list[str]:
    """What the figures of a kind are about, each: a measure, a policy, or nothing in particular."""
    if not KINDS[kind].asks:
        return [""]
    measures = [name for name in measures if name != "reward" or kind != "curves"]
    return measures if KINDS[kind].asks[0] == "measure" else list(policies)
