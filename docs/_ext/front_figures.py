"""The picture of the README, light and dark: what its first command answers, beside the shares and the promises."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from evenhand import compare
from evenhand.simulation.figures.style import COLOURS, style_for
from evenhand.simulation.results import Results
from evenhand.simulation.verdicts import verdicts
from evenhand.studies.configuration import load

FILMS = Path(__file__).parents[2] / "examples" / "films.toml"
#: By file: the background, the text, and the line at a promise.
COLOURED = {"first": ("#ffffff", "#1f2328", "#000000"), "first_dark": ("#0d1117", "#e6edf3", "#ffffff")}
PALE = "#8b949e"  # of the command
LETTERS = 58  # in a line of the answers


def main(folder: Path) -> None:
    """Draw both into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    setup = load(FILMS)
    results = compare(setup.policies, setup.environment, setup.horizon, setup.lanes, setup.seed, progress=False)
    for name in COLOURED:
        with mpl.rc_context(style_for("") | colours(name)):
            draw(results, name).savefig(folder / f"{name}.svg", metadata={"Date": None})


def colours(name: str) -> dict[str, object]:
    """The settings of matplotlib for a light or dark page."""
    page, ink, _ = COLOURED[name]
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings = dict.fromkeys(inked, ink) | dict.fromkeys(("figure.facecolor", "axes.facecolor"), page)
    return settings | {"axes.grid": False}


def draw(results: Results, name: str) -> Figure:
    """The answers at the left, the bars of each film at the right."""
    figure = Figure(figsize=(10, 4.1))
    lines = [part for one in verdicts(results).values() for part in (*textwrap.wrap(one.text, LETTERS), "")]
    figure.text(0.02, 0.95, "$ evenhand simulate examples/films.toml", family="monospace", size=9, color=PALE, va="top")
    figure.text(0.02, 0.86, "\n".join(lines), family="monospace", size=9, va="top", linespacing=1.4)
    shares(results, figure.add_axes((0.63, 0.08, 0.35, 0.78)), COLOURED[name][2])
    return figure


def shares(results: Results, axes: Axes, promised: str) -> None:
    """For each film a bar by policy, and a line across these at the promise."""
    names, policies = results.names, results.policies
    height = 0.8 / len(policies)
    for place, (label, result) in enumerate(policies.items()):
        widths = result.pulls[-1].mean(axis=0) / results.rounds[-1]
        rows = np.arange(len(names)) + (place - (len(policies) - 1) / 2) * height
        axes.barh(rows, widths, 0.85 * height, color=COLOURS[place], label=label)
    for row, share in enumerate(next(iter(verdicts(results).values())).promised or ()):
        axes.plot(
            [share, share], [row - 0.46, row + 0.46], color=promised, linewidth=2, label="" if row else "promised"
        )
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.legend(loc="lower right", ncols=5, bbox_to_anchor=(1.02, 1.0), columnspacing=1.1, handlelength=1.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
