"""``evenhand table``: tables of results for papers and pages, as Markdown, LaTeX or CSV."""

from __future__ import annotations

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.simulation.results import Results


class Format(StrEnum):
    """Markup of a table."""

    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


class Content(StrEnum):
    """What a table shows."""

    MEASURES = "measures"
    SHARES = "shares"
    DIFFERENCES = "differences"


def table(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder that `evenhand simulate` wrote.")],
    show: Annotated[
        Content, typer.Option(help="Measures by policy, shares of the arms by policy, or paired differences.")
    ] = Content.MEASURES,
    markup: Annotated[Format, typer.Option("--format", help="Markup of the table.")] = Format.MARKDOWN,
    against: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Policy for the differences; the first by default.")
    ] = None,
) -> None:
    """Print a table of results at the horizon as Markdown, LaTeX or CSV.

    Numbers are mean ± standard error over lanes, differences have a 95% interval; CSV has each in a column.

    Examples:
        evenhand table results
        evenhand table results --show shares --format latex > shares.tex
        evenhand table results --show differences --against LFG --format csv
    """
    from evenhand.simulation.results import Results

    rows = frame(Results.load(results), show, against)
    if markup is Format.CSV:
        rows.to_csv(sys.stdout, index=False, float_format="%.10g")
    else:
        print(marked_up(rows, markup))


def frame(results: Results, show: Content, against: str | None = None) -> pd.DataFrame:
    """The numbers of a table, a row for each policy and measure or arm."""
    import pandas as pd
    from attrs import asdict

    from evenhand.simulation.verdicts import differences, verdicts

    if show is Content.DIFFERENCES:
        compared = differences(results, against or next(iter(results.policies)))
        columns = ["label", "measure", "mean", "low", "high"]
        return pd.DataFrame([asdict(one) for one in compared], columns=columns).rename(columns={"label": "policy"})
    final, rows = results.final(), []
    if show is Content.MEASURES:
        for label, measures in final.items():
            rows += [
                {"policy": label, "measure": name, **measures[name]} for name in measures if name in results.measures
            ]
        return pd.DataFrame(rows)
    found = verdicts(results)
    for label, measures in final.items():
        shares, promised = measures["selection_fractions"], found[label].promised
        for arm, name in enumerate(results.names):
            numbers = {"mean": shares["mean"][arm], "stderr": shares["stderr"][arm]}
            rows.append(
                {"policy": label, "arm": name, **numbers, "promised": None if promised is None else promised[arm]}
            )
    return pd.DataFrame(rows)


def marked_up(rows: pd.DataFrame, markup: Format) -> str:
    """A table with policies as columns, as text."""
    from tabulate import tabulate

    heading = "arm" if "arm" in rows else "measure"
    cells = rows.assign(cell=[_cell(row) for row in rows.to_dict("records")])
    wide = cells.pivot_table(index=heading, columns="policy", values="cell", aggfunc="first", sort=False, observed=True)
    if "promised" in rows and rows["promised"].notna().any():
        wide.insert(
            0, "promised", rows.groupby(heading, sort=False, observed=True)["promised"].first().map("{:.4g}".format)
        )
    text = wide.fillna("").reset_index()
    style = "github" if markup is Format.MARKDOWN else "latex_booktabs"
    made: str = tabulate(
        text.to_numpy().tolist(),
        headers=[*text.columns],
        tablefmt=style,
        disable_numparse=True,
        colalign=("left", *["right"] * (len(text.columns) - 1)),
    )
    return made if markup is Format.MARKDOWN else made.replace("±", r"$\pm$")


def _cell(row: dict[Any, Any]) -> str:
    from evenhand.cli.rendering import plus_minus

    if "low" in row:
        known = not math.isnan(row["low"])
        return f"{row['mean']:+,.4g}" + (f" ({row['low']:,.4g} to {row['high']:,.4g})" if known else "")
    return plus_minus(row["mean"], row["stderr"], 4 if "arm" in row else None)
