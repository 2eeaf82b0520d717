"""``evenhand sweep``: runs a study of many settings, reports how far it is, joins its parts, and draws figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from evenhand.cli.help import App, Group
from evenhand.cli.options import AsJson, FigureFile, Import, Jobs, Title, Width, format_of
from evenhand.cli.output import Interrupted, note, print_json
from evenhand.core.errors import EvenhandError, Faults, nearest, number_of

if TYPE_CHECKING:
    from rich.console import Console

    from evenhand.studies.plan import Plan
    from evenhand.studies.results import SweepResults
    from evenhand.studies.study import Study

ROWS = 24  # settings at most whose results are printed
BEST = 8  # policies with their values of the axes that are printed


class _RunByDefault(Group):
    """``evenhand sweep STUDY.toml`` is ``evenhand sweep run STUDY.toml``."""

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)


app = App(
    "Run a study: a configuration, of which some values vary. `evenhand sweep STUDY.toml` runs it.", group=_RunByDefault
)

Measure = Annotated[
    str | None, typer.Option(metavar="MEASURE", help="Measure to print for few settings. Default: what was lost.")
]
OutOfSweep = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that `evenhand sweep` wrote.")]


@app.command()
def run(
    study: Annotated[Path, Argument(metavar="STUDY.toml")],  # configuration with a section [sweep]
    # folder for the results; those that it has are kept
    out: Annotated[Path, Option(metavar="FOLDER")] = Path("sweep"),
    jobs: Jobs = 1,
    backend: Literal["local", "dask", "ray"] = "local",  # where to run: on this machine, or on a cluster
    address: str = "",  # Scheduler of the cluster. Default: start a cluster on this machine
    # run only the Kth of N parts; `evenhand sweep merge` joins them
    shard: Annotated[str | None, Option(metavar="K/N")] = None,
    again: bool = False,  # run everything anew
    dry_run: bool = False,  # only report whether all can be run, and how long it will take
    figures: Annotated[bool, Option("--figures/--no-figures")] = True,  # draw figures of the axes
    measure: Measure = None,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Run every setting of a study that has no results yet.

    What is finished is kept: an interrupted command continues, and a study that was changed runs only what is new.

    Examples:
        evenhand sweep study.toml --jobs 2
        evenhand sweep study.toml --dry-run
        evenhand sweep study.toml --backend dask --address tcp://10.0.0.5:8786
        evenhand sweep run study.toml --shard 3/10 --out results/part3
    """
    from evenhand.studies.study import Study
    from evenhand.studies.sweep import sweep

    loaded = Study.load(study)
    if measure is not None:
        _check_measure(measure, loaded)
    if dry_run:
        from evenhand.studies.plan import plan
        from evenhand.studies.store import Store

        show_plan(plan(loaded, Store(out)), study, as_json)
        return
    try:
        results = sweep(loaded, out=out, jobs=jobs, backend=backend, address=address, shard=shard, again=again)
    except KeyboardInterrupt as interrupt:
        remedy = "without --again the same command continues" if again else "the same command continues"
        raise Interrupted(f"{str(interrupt) or 'interrupted'}; {remedy}") from None
    if shard is None:
        _finish(results, out, measure, as_json, figures)
    else:
        _show(results, measure, as_json)
        note(f"wrote part {shard} to {out}; join the parts with merge")
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
        print(f"failed: {_said_of(facts)}")
    if found.other:
        print(f"{number_of(found.other, 'result is', 'results are')} of settings that the study no longer has")


@app.command()
def merge(
    out: Annotated[Path, Argument(metavar="FOLDER")],  # folder for the joined results
    # Folders of the parts. Default: all wrote to FOLDER
    parts: Annotated[list[Path] | None, Argument(show_default=False)] = None,
    measure: Measure = None,
    own: Import = None,
    as_json: AsJson = False,
) -> None:
    """Join the parts of a study that `--shard` ran, and write its tables.

    Examples:
        evenhand sweep merge results results/part1 results/part2
    """
    from evenhand.studies.sweep import merge

    results = merge(out, *(parts or []))
    _finish(results, out, measure, as_json, figures=True)
    _report_failures(results)


@app.command()
def figure(
    folder: OutOfSweep,
    # what to draw: lines (a measure over one axis), heatmap (over two) or frontier (reward against unfairness)
    kind: Literal["lines", "heatmap", "frontier"],
    out: FigureFile,
    measure: str | None = None,  # Measure of lines and heat maps. Default: what was lost
    # Axis of the study; give two for a heat map. Default: the first
    axes: Annotated[list[str] | None, Option("--axis", metavar="AXIS")] = None,
    width: Width = "screen",
    title: Title = "",
) -> None:
    """Draw a figure of the results of a sweep.

    Examples:
        evenhand sweep figure sweep lines --measure r_regret --axis eta --out eta.pdf --width column
        evenhand sweep figure sweep heatmap --axis eta --axis delay --out map.png
    """
    from evenhand.simulation.figures.files import save
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


def _check_measure(measure: str, study: Study) -> None:
    """Refuse a measure that no run of a study will have; metrics that are wrong are for the run to report."""
    from evenhand.algorithms.build import importing_from
    from evenhand.simulation.measures import MEASURES, metrics_of

    own = metrics_of(study.config.get("metrics", ()), faults := Faults(), importing_from(study.folder))
    known = [*MEASURES, *(one.name for one in own)]
    if measure not in known and not faults:
        raise EvenhandError(f"there is no measure {measure!r}{nearest(measure, known)}")


def _finish(results: SweepResults, out: Path, measure: str | None, as_json: bool, figures: bool) -> None:
    """Draw the figures of a sweep that has results, and print what it answers."""
    from pydantic import TypeAdapter

    from evenhand.simulation.setup import FiguresSettings
    from evenhand.studies.gallery import draw_all

    asked = TypeAdapter(FiguresSettings).validate_python(results.study.config.get("figures", {}))
    names = draw_all(results, out, asked.formats, asked.width) if figures and results.measures else []
    files = [f"{name}.{asked.formats[0]}" for name in names]
    _write_page(results, out, files)
    _show(results, measure, as_json)
    note(f"wrote {', '.join(['summary.parquet, lanes, index.html', *files])} to {out}")


def _write_page(results: SweepResults, out: Path, files: Sequence[str]) -> None:
    """A page about the study: its answer, its figures, and what each choice kept and earned."""
    from evenhand.core import html
    from evenhand.core.files import write_text

    cells = ([f"{one:.4g}" if isinstance(one, float) else str(one) for one in row] for row in results.choices().values)
    columns = [results.study.symbol(str(name)) for name in results.choices()]
    tables = {"Policies with their values of the axes": html.table(columns, cells)}
    write_text(out / "index.html", html.report("A study", _extent(results), results.answer, tables, files))


def show_plan(found: Plan, study: Path, as_json: bool) -> None:
    """Print how much work a study is, whether every promise in it can be kept, and how long it will take."""
    from dataclasses import asdict

    from evenhand.studies.progress import duration

    if as_json:
        print_json(asdict(found))
    if found.faults:
        raise failed(f"{study}: {number_of(len(found.faults), 'unit')} of the study cannot be run", found.faults)
    if as_json:
        return
    work = f"{number_of(found.settings, 'setting')}, {number_of(found.units, 'different unit')} of work"
    print(f"the study is valid in all of its {work} (a policy in a setting), and every promise can be kept")
    if found.kept:
        print(f"{number_of(found.kept, 'unit is', 'units are')} finished already")
    print(f"it will take about {duration(found.seconds or 0.0)} of processor time, by a pilot of each policy")


def _show(results: SweepResults, measure: str | None, as_json: bool) -> None:
    """Print what the sweep answers, with its settings where they are few, and the policies in the order of success."""
    if as_json:
        from evenhand.simulation.files import without_infinities

        records = results.summary(*([measure] if measure else [])).to_dict("records")
        answers = {"answer": results.answer, "choices": results.choices().to_dict("records")}
        size = {"settings": len(results.study), "axes": results.axes}
        print_json(size | without_infinities(answers | {"results": records}))
        return
    if not results.measures:
        return
    from rich.markup import escape

    from evenhand.cli import rendering
    from evenhand.simulation.verdicts import main_measures

    console = rendering.console_for_tables()
    console.print(f"[bold]{escape(_extent(results))}[/bold]\n", highlight=False)
    for text in results.answer:
        console.print(escape(text), highlight=False)
    if len(results.study) <= ROWS:
        _show_settings(console, results, measure or main_measures(results.measures)[0])
    if len(results.choices()) > 1:
        _show_choices(console, results)


def _extent(results: SweepResults) -> str:
    """The settings, and the size of a run where all have the same."""
    settings = results.settings()
    axes = (f"{results.study.title(axis)} ({settings[axis].nunique():,})" for axis in results.axes)
    runs = [result.results.information for _, result in results.finished]
    sizes = {one: {run[one] for run in runs} for one in ("horizon", "lanes", "seed")}
    words = {"horizon": "round", "lanes": "lane"}
    same = [number_of(sizes[one].pop(), word) for one, word in words.items() if len(sizes[one]) == 1]
    same += [f"seed {seed}" for seed in sizes["seed"] if len(sizes["seed"]) == 1]
    return ", ".join([f"{number_of(len(results.study), 'setting')} of {', '.join(axes)}", *same])


def _show_settings(console: Console, results: SweepResults, measure: str) -> None:
    """The mean of a measure, a row for each setting and a column for each policy, with what became of its promises."""
    from rich.markup import escape

    from evenhand.cli import rendering
    from evenhand.cli.results import MISSED, UNDECIDED

    marks = {"missed": f" {MISSED}", "undecided": f" {UNDECIDED}"}
    verdicts, last = results.verdicts, results.last(measure)
    policies = list(dict.fromkeys(last["policy"]))
    table = rendering.table_of("setting", *map(results.study.symbol, results.axes), *policies)
    for number, group in last.groupby("setting", sort=True):
        cells = {}
        for label, mean, error in zip(group["policy"], group["mean"], group["stderr"], strict=True):
            known = f" ± {error:.2g}" if error == error else ""
            cells[label] = f"{mean:.4g}{known}{marks.get(verdicts[group['setting'].iloc[0], label], '')}"
        axes = [escape(str(group[axis].iloc[0])) for axis in results.axes]
        table.add_row(str(number), *axes, *(cells.get(label, "") for label in policies))
    console.print(f"\n{results.measure(measure).label}: mean ± standard error over the lanes", highlight=False)
    console.print(table)
    if {"missed", "undecided"} & set(verdicts.values()):
        console.print(f"[dim]{MISSED} missed some promise, {UNDECIDED} undecided[/dim]", highlight=False)


def _show_choices(console: Console, results: SweepResults) -> None:
    """The policies with their values of the axes, the best ones first."""
    from rich.markup import escape

    from evenhand.cli import rendering
    from evenhand.judgement.judge import VERDICTS
    from evenhand.studies.answer import named

    found = results.choices()
    many = int(found["worlds"].iloc[0]) > 1
    promised = bool(found[list(VERDICTS)].to_numpy().sum())
    columns = ["kept all promises"] * promised + ["reward per round"] + ["best in", "close in"] * many
    columns += ["behind the best"]
    table = rendering.table_of("policy", *columns, right=True)
    for row in found.head(BEST).to_dict("records"):
        counts = [f"{row['best']:,}", f"{row['close']:,}"] if many else []
        known = row["low"] == row["low"] and row["behind"] > 0
        behind = f"{row['behind']:.3g}" + f" ({row['low']:.2g} to {row['high']:.2g})" * known
        cells = [f"{row['kept']:,} of {row['settings']:,}"] * promised + [f"{row['reward']:.4g}", *counts]
        table.add_row(escape(named(results, row)), *cells, behind if row["behind"] == row["behind"] else "")
    console.print(table)
    if len(found) > BEST:
        console.print(f"and {len(found) - BEST:,} more; `evenhand table` prints all", highlight=False)
    among = " of those that surely kept all promises" * promised
    note = f"Best: earns most{among}; differences are lane by lane, with 95% intervals."
    world = " A world has one value of each axis that is not a policy's." * many
    console.print(f"[dim]{note}{world}[/dim]", highlight=False)


def _report_failures(results: SweepResults) -> None:
    """End with an error where units failed, after everything else is written."""
    if results.failures:
        them = "it" if len(results.failures) == 1 else "them"
        said = f"{number_of(len(results.failures), 'unit')} failed; the next run tries {them} again"
        raise failed(said, list(results.failures.values()), ", see `evenhand sweep status`")


def failed(said: str, units: Sequence[Mapping[str, str]], all_of_them: str = "") -> EvenhandError:
    """The error for units that failed, with the first five of them."""
    lines = [said, *(f"  {_said_of(facts)}" for facts in units[:5])]
    if len(units) > 5:
        lines.append(f"  and {len(units) - 5:,} more{all_of_them}")
    return EvenhandError("\n".join(lines))


def _said_of(facts: Mapping[str, str]) -> str:
    """A unit that failed, with its faults, each after the first on a line of its own."""
    return f"{facts['policy']}, {facts['setting']}: {facts['error']}".replace("\n", "\n    ")
