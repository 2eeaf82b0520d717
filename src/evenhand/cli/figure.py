"""``evenhand figure``: draws one figure of the results of a simulation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evenhand.cli.output import note
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.simulation.results import Results


class Kind(StrEnum):
    """What a figure shows."""

    CURVES = "curves"
    SHARES = "shares"
    SHARES_OVER_TIME = "shares-over-time"
    ARMS_OVER_TIME = "arms-over-time"
    DIFFERENCES = "differences"
    LANES = "lanes"
    FRONTIER = "frontier"
    DELAYS = "delays"
    ANIMATION = "animation"


def figure(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder that `evenhand simulate` wrote.")],
    kind: Annotated[
        Kind,
        typer.Argument(
            metavar="KIND",
            help="curves, shares, shares-over-time, arms-over-time, differences (paired), lanes (their spread), "
            "frontier (reward against unfairness), delays (when rewards become known) or animation.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write: .png, .svg or .pdf; .gif or .mp4 for an animation.")
    ],
    measure: Annotated[
        str, typer.Option(metavar="MEASURE", help="Measure of curves, differences and lanes.")
    ] = "regret",
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL", help="Policy that the figure is about, or that differences are to. Default: the first."
        ),
    ] = None,
    width: Annotated[
        Literal["screen", "column", "text"],
        typer.Option(help="Size of the figure and of its text: for a screen, or for a paper."),
    ] = "screen",
    title: Annotated[str, typer.Option(metavar="TITLE", help="Title above the figure.")] = "",
) -> None:
    """Draw one figure of the results of a simulation.

    Examples:

      evenhand figure results curves --measure r_regret --out r_regret.pdf --width column

      evenhand figure results shares-over-time --policy FUCB --out shares.svg

      evenhand figure results differences --measure reward --policy LFG --out differences.png

      evenhand figure results animation --out run.gif
    """
    from evenhand.simulation import figures
    from evenhand.simulation.results import Results

    found = Results.load(results)
    if kind is Kind.ANIMATION:
        figures.animate(found, out, policy, title=title)
    else:
        ending = out.suffix.removeprefix(".")
        if ending not in ("png", "svg", "pdf"):
            raise EvenhandError(f"--out must end with .png, .svg or .pdf, got {out.name!r}")
        figures.save(drawn(found, kind, measure, policy, "" if width == "screen" else width, title), out, [ending])
    note(f"wrote {out}")


def drawn(results: Results, kind: Kind, measure: str, policy: str | None, width: str, title: str) -> Any:
    """The figure of a kind.

    Args:
        results: of a simulation.
        kind: any but an animation.
        measure: of curves, differences and lanes.
        policy: label; None for the first.
        width: ``"column"``, ``"text"`` or ``""``.
        title: above the figure.

    Raises:
        EvenhandError: there is no such measure or policy.

    Example:
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import ucb1
        >>> from evenhand.environment.world import Environment
        >>> from evenhand.environment.rewards import Bernoulli
        >>> results = simulate(ucb1(), Environment(Bernoulli([0.8, 0.2])), horizon=50, lanes=4)
        >>> drawn(results, Kind.SHARES, "regret", None, "", "Who played").get_suptitle()
        'Who played'
    """
    from evenhand.simulation import figures

    style: dict[str, Any] = {"title": title, "width": width}
    if kind is Kind.CURVES:
        return figures.curves(results, measure, **style)
    if kind is Kind.DIFFERENCES:
        return figures.paired_differences(results, measure, policy, **style)
    if kind is Kind.LANES:
        return figures.spread_over_lanes(results, measure, **style)
    if kind is Kind.SHARES:
        return figures.fractions(results, **style)
    if kind is Kind.FRONTIER:
        return figures.frontier(results, **style)
    if kind is Kind.DELAYS:
        return figures.delays(results, **style)
    of_one = figures.shares_over_time if kind is Kind.SHARES_OVER_TIME else figures.arms_over_time
    return of_one(results, policy, **style)
