"""``evenhand sweep``: runs a study of many settings, reports how far it is, joins its parts, and draws figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evenhand.cli.help import App, Group
from evenhand.cli.options import AsJson, FigureFile, Import, Jobs, Title, Width, format_of
from evenhand.cli.output import Interrupted, note, print_json
from evenhand.core.errors import EvenhandError, number_of

if TYPE_CHECKING:
    from evenhand.studies.results import SweepResults

ROWS = 24  # settings at most whose results are printed


class _RunByDefault(Group):
    """``evenhand sweep STUDY.toml`` is ``evenhand sweep run STUDY.toml``."""

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)


app = App(
    "Run a study: a configuration, of which some values vary. `evenhand sweep STUDY.toml` runs it.",
    group=_RunByDefault,
)

Measure = Annotated[
    str | None, typer.Option(metavar="MEASURE", help="Measure to print. Default: regret, where there is any.")
]
OutOfSweep = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that `evenhand sweep` wrote.")]


@app.command()
def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Configuration with a section [sweep].")],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the results; those that it has are kept.")
    ] = Path("sweep"),
    jobs: Jobs = 1,
    backend: Annotated[
        Literal["local", "dask", "ray"], typer.Option(help="Where to run: on this machine, or on a cluster.")
    ] = "local",
    address: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Scheduler of the cluster. Default: start a cluster on this machine."),
    ] = "",
    shard: Annotated[
        str | None,
        typer.Option(metavar="K/N", help="Run only the Kth of N parts; `evenhand sweep merge` joins them."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Run everything anew.")] = False,
    measure: Measure = None,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Run every setting of a study that has no results yet.

    What is finished is kept: an interrupted command continues, and a study that was changed runs only what is new.

    Examples:
        evenhand sweep study.toml --jobs 2
        evenhand sweep study.toml --backend dask --address tcp://10.0.0.5:8786
        evenhand sweep run study.toml --shard 3/10 --out results/part3
    """
    from evenhand.studies.sweep import sweep

    try:
        results = sweep(study, out=out, jobs=jobs, backend=backend, address=address, shard=shard, again=again)
    except KeyboardInterrupt as interrupt:
        remedy = "without --again the same command continues" if again else "the same command continues"
        raise Interrupted(f"{str(interrupt) or 'interrupted'}; {remedy}") from None
    _show(results, measure, as_json)
    note(f"wrote the results to {out}" if shard is None else f"wrote part {shard} to {out}; join the parts with merge")
    _report_failures(results)


@app.command()
def status(folder: OutOfSweep, as_json: AsJson = False) -> None:
    """Report how far a sweep is, and what failed; it may be running.

    Examples:
        evenhand sweep status sweep
    """
    from dataclasses import asdict

    from evenhand.studies.sweep import status

    found = status(folder)
    if as_json:
        print_json(asdict(found))
        return
    units = number_of(found.units, "different unit")
    print(f"{number_of(found.settings, 'setting')}, {units} of work (a policy in a setting)")
    print(f"{found.finished:,} finished, {len(found.failed):,} failed, {found.missing:,} to be run")
    for facts in found.failed.values():
        print(f"failed: {facts['policy']}, {facts['setting']}: {facts['error']}")
    if found.other:
        print(f"{number_of(found.other, 'result is', 'results are')} of settings that the study no longer has")


@app.command()
def merge(
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the joined results.")],
    parts: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PARTS", help="Folders of the parts. Default: all wrote to FOLDER.", show_default=False),
    ] = None,
    measure: Measure = None,
    as_json: AsJson = False,
) -> None:
    """Join the parts of a study that `--shard` ran, and write its tables.

    Examples:
        evenhand sweep merge results results/part1 results/part2
    """
    from evenhand.studies.sweep import merge

    results = merge(out, *(parts or []))
    _show(results, measure, as_json)
    note(f"wrote the results to {out}")
    _report_failures(results)


@app.command()
def figure(
    folder: OutOfSweep,
    kind: Annotated[
        Literal["lines", "heatmap", "frontier"],
        typer.Argument(
            metavar="KIND",
            help="lines (a measure over one axis), heatmap (over two) or frontier (reward against unfairness).",
        ),
    ],
    out: FigureFile,
    measure: Annotated[str, typer.Option(metavar="MEASURE", help="Measure of lines and heat maps.")] = "regret",
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="AXIS", help="Axis of the study; give two for a heat map. Default: the first."),
    ] = None,
    width: Width = "screen",
    title: Title = "",
) -> None:
    """Draw a figure of the results of a sweep.

    Examples:
        evenhand sweep figure sweep lines --measure r_regret --axis eta --out eta.pdf --width column
        evenhand sweep figure sweep heatmap --axis eta --axis delay --out map.png
    """
    from evenhand.simulation.figures import save
    from evenhand.studies import figures
    from evenhand.studies.results import SweepResults

    ending, results = format_of(out), SweepResults.load(folder)
    style: dict[str, Any] = {"title": title, "width": "" if width == "screen" else width}
    if kind == "lines":
        drawn = figures.lines(results, measure, *(axes or [])[:1], **style)
    elif kind == "heatmap":
        drawn = figures.heatmap(results, measure, *(axes or [])[:2], **style)
    else:
        drawn = figures.frontier(results, *(axes or [])[:1], **style)
    save(drawn, out, [ending])
    note(f"wrote {out}")


def _show(results: SweepResults, measure: str | None, as_json: bool) -> None:
    """Print the mean of a measure, a row for each setting and a column for each policy."""
    if as_json:
        from evenhand.simulation.files import without_infinities

        records = results.summary(*([measure] if measure else [])).to_dict("records")
        print_json({"settings": len(results.study), "axes": results.axes, "results": without_infinities(records)})
        return
    if not results.measures:
        return
    from evenhand.cli import rendering

    name = measure or next(one for one in (*PREFERRED, *results.measures) if one in results.measures)
    rows = results.summary(name)
    last = rows[rows["round"] == rows.groupby(["setting", "policy"])["round"].transform("max")]
    policies = list(dict.fromkeys(last["policy"]))
    table = rendering.table_of("setting", *results.axes, *policies)
    settings = list(last.groupby("setting", sort=True))
    for number, group in settings[:ROWS]:
        cells = dict(zip(group["policy"], map(_mean, group["mean"], group["stderr"]), strict=True))
        axes = [str(group[axis].iloc[0]) for axis in results.axes]
        table.add_row(str(number), *axes, *(cells.get(label, "") for label in policies))
    console = rendering.console_for_tables()
    print(f"{name}: mean ± standard error over the lanes")
    console.print(table)
    if len(settings) > ROWS:
        print(f"and {len(settings) - ROWS:,} more settings; all are in summary.parquet")


PREFERRED = ("regret", "r_regret", "reward")


def _mean(mean: float, error: float) -> str:
    return f"{mean:.4g}" if error != error else f"{mean:.4g} ± {error:.2g}"


def _report_failures(results: SweepResults) -> None:
    """End with an error where units failed, after everything else is written."""
    if results.failures:
        them = "it" if len(results.failures) == 1 else "them"
        said = f"{number_of(len(results.failures), 'unit')} failed; the next run tries {them} again"
        raise failed(said, list(results.failures.values()), ", see `evenhand sweep status`")


def failed(said: str, units: Sequence[Mapping[str, str]], all_of_them: str = "") -> EvenhandError:
    """The error for units that failed, with the first five of them."""
    lines = [said, *(f"  {facts['policy']}, {facts['setting']}: {facts['error']}" for facts in units[:5])]
    if len(units) > 5:
        lines.append(f"  and {len(units) - 5:,} more{all_of_them}")
    return EvenhandError("\n".join(lines))
