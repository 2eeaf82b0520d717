"""``evenhand figure``: draws one figure of the results of a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from evenhand.cli.options import FigureFile, Title, Width, format_of
from evenhand.cli.output import note
from evenhand.simulation.kinds import FigureKind


def figure(
    results: Path,  # folder that `evenhand simulate` wrote
    # what to draw: overview, curves, shares, shares-over-time, arms-over-time, differences (paired), lanes (their
    # spread), frontier (reward against unfairness) or delays (when rewards become known)
    kind: FigureKind,
    out: FigureFile,
    # Measure of curves, differences and lanes. Default: r-regret where there are promises, else regret
    measure: str | None = None,
    # Policy that the figure is about, or that differences are to. Default: the first
    policy: Annotated[str | None, Option(metavar="LABEL")] = None,
    width: Width = "screen",
    title: Title = "",
) -> None:
    """Draw one figure of the results of a simulation.

    Examples:
        evenhand figure results overview --out figure1.pdf --width text
        evenhand figure results curves --measure r_regret --out r_regret.pdf --width column
        evenhand figure results shares-over-time --policy FUCB --out shares.svg
        evenhand figure results differences --measure reward --policy LFG --out differences.png
    """
    from evenhand.simulation.figures.files import KINDS, save
    from evenhand.simulation.results import Results
    from evenhand.simulation.verdicts import gap_measure

    found, ending = Results.load(results), format_of(out)
    asked = {"measure": measure or gap_measure(found.measures), "policy": policy}
    about = [asked[name] for name in KINDS[kind].asks]
    save(KINDS[kind].draw(found, *about, title=title, width="" if width == "screen" else width), out, [ending])
    note(f"wrote {out}")
