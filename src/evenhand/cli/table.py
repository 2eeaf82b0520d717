"""``evenhand table``: tables of results for papers and pages, as Markdown, LaTeX or CSV."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from evenhand.core.errors import EvenhandError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.simulation.results import Results

BOLD = "\x02", "\x03"  # around the best, until the markup is known
LATEX = {"±": r"$\pm$", "η": r"$\eta$", "α": r"$\alpha$", "γ": r"$\gamma$", "δ": r"$\delta$", "ε": r"$\epsilon$"}
Format = Literal["markdown", "latex", "csv"]
Content = Literal["measures", "shares", "differences", "choices"]


def table(
    results: Path,  # folder that `evenhand simulate` or `evenhand sweep` wrote
    # measures by policy, shares of the arms by policy, paired differences, or the choices of a sweep
    show: Content = "measures",
    markup: Annotated[Format, Option("--format")] = "markdown",  # markup of the table
    against: Annotated[str | None, Option(metavar="LABEL")] = None,  # policy for the differences; the first by default
    measure: list[str] | None = None,  # only this measure; can be repeated
    policy: Annotated[list[str] | None, Option(metavar="LABEL")] = None,  # only this policy; can be repeated
    interval: bool = False,  # 95% intervals in place of standard errors
) -> None:
    """Print a table of results at the horizon as Markdown, LaTeX or CSV.

    Numbers are mean ± standard error over lanes, differences have a 95% interval; CSV has each in a column. The best of
    those that did not miss a promise, and what is within noise of it, is in bold.

    Examples:
        evenhand table results
        evenhand table results --measure r_regret --measure unfairness --interval --format latex > regrets.tex
        evenhand table results --show differences --against LFG --format csv
        evenhand table sweep --format latex
    """
    from evenhand.simulation.results import Results

    if (results / "study.json").is_file():
        rows = frame_of_sweep(results, show, against)
    else:
        rows = frame(Results.load(results), show, against)
    rows = _chosen(_chosen(rows, "measure", measure), "policy", policy)
    if markup == "csv":
        rows.drop(columns=["best", "label"], errors="ignore").to_csv(sys.stdout, index=False, float_format="%.10g")
    else:
        print(marked_up(rows, markup, interval))


def _chosen(rows: pd.DataFrame, column: str, wanted: Sequence[str] | None) -> pd.DataFrame:
    """The rows with some values of a column, in their order."""
    for one in wanted or ():
        if column not in rows or one not in set(rows[column]):
            raise EvenhandError(f"the table has no {column} {one!r}{nearest(one, map(str, set(rows.get(column, []))))}")
    return rows[rows[column].isin(wanted)] if wanted else rows


def frame(results: Results, show: Content, against: str | None = None) -> pd.DataFrame:
    """The numbers of a table, a row for each policy and measure or arm."""
    import pandas as pd

    from evenhand.inference.means import student

    if show == "choices":
        raise EvenhandError("--show choices is of a sweep; these are the results of one simulation")
    labels = {name: measure.label for name, measure in results.measures.items()}
    if show == "differences":
        found = results.differences(against)
        return found.assign(label=found["measure"].map(labels))
    final, rows, reach = results.final(), [], student(results.information["lanes"])
    for label, measures in final.items():
        if show == "measures":
            for name in (name for name in measures if name in labels):
                rows.append({"policy": label, "measure": name, "label": labels[name], **measures[name]})
                rows[-1]["best"] = label in best(results, name)
            continue
        shares, promised = measures["selection_fractions"], results.verdicts[label].promised
        for arm, name in enumerate(results.names):
            numbers = {"mean": shares["mean"][arm], "stderr": shares["stderr"][arm]}
            of = None if promised is None else promised[arm]
            rows.append({"policy": label, "arm": name, **numbers, "promised": of})
    return _with_ends(pd.DataFrame(rows), reach)


def _with_ends(rows: pd.DataFrame, reach: Any) -> pd.DataFrame:
    """With the ends of an interval of so many standard errors."""
    return rows.assign(low=rows["mean"] - reach * rows["stderr"], high=rows["mean"] + reach * rows["stderr"])


def best(results: Results, measure: str) -> set[str]:
    """The policies that are best in a measure, or within noise of the best, lane by lane.

    Of rewards and regrets the best is among those that missed no promise, as a broken promise may pay.
    """
    import numpy as np

    from evenhand.inference.means import mean_and_reach
    from evenhand.simulation.measures import MEASURES

    if measure not in MEASURES or len(results.policies) < 2:
        return set()
    sign = -1.0 if measure == "reward" else 1.0
    costs = measure == "reward" or "regret" in measure
    lanes = {
        label: sign * one.curves[measure][-1]
        for label, one in results.policies.items()
        if measure in one.curves and not (costs and results.verdicts[label].missed)
    }
    lanes = lanes if costs else {label: np.maximum(values, 0.0) for label, values in lanes.items()}
    if not lanes:
        return set()
    first = min(lanes.values(), key=lambda values: float(values.mean()))
    gaps = {label: mean_and_reach(values - first) for label, values in lanes.items()}
    return {label for label, (mean, reach) in gaps.items() if not mean > np.nan_to_num(reach)}


def frame_of_sweep(folder: Path, show: Content, against: str | None = None) -> pd.DataFrame:
    """The numbers of a sweep, a row for each setting, policy and measure, with what became of its promises."""
    from evenhand.inference.means import student
    from evenhand.studies.results import SweepResults

    results = SweepResults.load(folder)
    if show == "choices":
        return results.choices()
    if show == "shares":
        raise EvenhandError("--show shares is of one simulation; `SweepResults.results(number)` has those of a setting")
    if show == "differences":
        found = results.differences(against or results.units[0].label).drop(columns="stderr")
    else:
        found = results.last()
        keys = zip(found["setting"], found["policy"], strict=True)
        found = _with_ends(found.assign(promises=[results.verdicts[key] for key in keys]), found["n"].map(student))
    return found.assign(label=[results.measure(name).label for name in found["measure"]])


def marked_up(rows: pd.DataFrame, markup: Format, interval: bool = False) -> str:
    """A table as text: measures or arms by policy; of a sweep, settings and policies by measure."""
    from tabulate import tabulate

    text = _wide(rows, interval).astype(str)
    if markup == "markdown":
        text = text.map(lambda cell: cell.replace(BOLD[0], "**").replace(BOLD[1], "**"))
    words = ("measure", "arm", "policy", "promises")
    made: str = tabulate(
        text.to_numpy().tolist(),
        headers=[str(name) for name in text.columns],
        tablefmt="github" if markup == "markdown" else "latex_booktabs",
        disable_numparse=True,
        colalign=["left" if name in words else "right" for name in text.columns],
    )
    if markup == "markdown":
        return made
    made = made.replace(BOLD[0], r"\textbf{").replace(BOLD[1], "}")
    for letter, command in LATEX.items():
        made = made.replace(letter, command)
    return re.sub(r"(?<![\w.}$-])-(?=\d)", "$-$", made)


def _wide(rows: pd.DataFrame, interval: bool) -> pd.DataFrame:
    """Cells of text, with one row for each measure, arm, or setting with its policy."""
    from evenhand.studies.study import Study

    if "measure" not in rows and "arm" not in rows:
        return rows.map(_number).rename(columns=Study.symbol)
    heading = "arm" if "arm" in rows else "label"
    digits = {name: _digits(group) for name, group in rows.groupby(heading, sort=False, observed=True)}
    cells = [_cell(row, digits[row[heading]], interval) for row in rows.to_dict("records")]
    axes = [name for name in rows.columns[: list(rows.columns).index("policy")] if name != "setting"]
    index, columns = ([*axes, "policy"], "label") if "setting" in rows else ([heading], "policy")
    index += ["promises"] if "promises" in rows else []
    kept = ["setting", *index] if "setting" in rows else index
    wide = rows.assign(cell=cells).pivot_table("cell", kept, columns, aggfunc="first", sort=False, observed=True)
    if "promised" in rows and rows["promised"].notna().any():
        first = rows.groupby(heading, sort=False, observed=True)["promised"].first()
        wide.insert(0, "promised", first.map("{:.4g}".format))
    text = wide.fillna("").reset_index().drop(columns="setting", errors="ignore").rename(columns={"label": "measure"})
    return text.rename(columns={name: Study.symbol(name) for name in axes if "setting" in rows})


def _number(value: object) -> str:
    """A number with four digits; nothing where it is missing."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def _digits(rows: pd.DataFrame) -> int:
    """Decimals of all numbers of a measure: two digits of the largest error, and one of the smallest."""
    errors = rows["stderr"] if "stderr" in rows else (rows["high"] - rows["low"]) / 4.0
    errors = errors[errors > 1e-9 * rows["mean"].abs().max()]
    if errors.empty:
        size = float(rows["mean"].abs().max())
        return 0 if size >= 1000 or not size else min(6, max(0, 3 - math.floor(math.log10(size))))
    most, least = float(errors.max()), float(errors.min())
    return min(6, max(0, 1 - math.floor(math.log10(most)), -math.floor(math.log10(least))))


def _cell(row: Mapping[Any, Any], digits: int, interval: bool) -> str:
    sign = "+" if "stderr" not in row else ""
    text = f"{row['mean'] + 0.0:{sign},.{digits}f}"
    if interval or "stderr" not in row:
        known = not math.isnan(row["low"])
        text += f" ({row['low']:,.{digits}f} to {row['high']:,.{digits}f})" if known else ""
    elif not math.isnan(row["stderr"]):
        text += f" ± {row['stderr']:,.{digits}f}"
    return f"{BOLD[0]}{text}{BOLD[1]}" if row.get("best") is True else text
