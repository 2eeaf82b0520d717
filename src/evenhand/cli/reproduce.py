"""``evenhand reproduce``: lists the experiments, or runs some of them and writes the report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from evenhand.cli.options import AsJson, Jobs
from evenhand.cli.output import Interrupted, print_json

if TYPE_CHECKING:
    from evenhand.papers.experiment import Experiment
    from evenhand.papers.runner import Store

MARKS = {"confirmed": "✓", "holds in part": "½", "contradicted": "✗", "open": "?"}  # of claims, by what became of them


def _ids() -> list[str]:
    """What can be run, for the completion of a shell."""
    from evenhand.papers.experiment import experiments

    known = experiments()
    return ["all", *dict.fromkeys(one.paper for one in known.values()), *known]


def reproduce(
    # Ids such as C-1, papers such as huang2020, or all. Default: list the experiments
    names: Annotated[list[str] | None, Argument(metavar="EXPERIMENT", autocompletion=_ids, show_default=False)] = None,
    quick: bool = False,  # fewer lanes and rounds than in the papers
    # file or folder of real data: MovieLens, Outbrain, Coupon, Yeast, a conversion log; can be repeated
    data: Annotated[list[Path] | None, Option(metavar="PATH")] = None,
    jobs: Jobs = 2,
    out: Annotated[Path, Option(metavar="FOLDER")] = Path("reproduction"),  # folder for results, figures and the report
    again: bool = False,  # run experiments again even if they have results
    as_json: AsJson = False,
) -> None:
    """Reproduce the papers' experiments, with a report of the figures and a verdict on every claim.

    Finished experiments are not run again. An interrupted command continues where it stopped.

    Examples:
        evenhand reproduce
        evenhand reproduce C-1 H-2
        evenhand reproduce all --quick
        evenhand reproduce H-6 H-7 --data ~/ml-latest-small
    """
    from evenhand.papers.data import recognised
    from evenhand.papers.runner import Store

    place = Store(out / ("quick" if quick else "paper"), quick, recognised(data or []), jobs, again)
    if not names:
        show(place, as_json)
        return
    try:
        run(names, place, as_json)
    except KeyboardInterrupt as interrupt:
        remedy = "without --again the same command continues" if again else "the same command continues"
        raise Interrupted(f"{str(interrupt) or 'interrupted'}; finished runs are saved; {remedy} from there") from None


def show(place: Store, as_json: bool) -> None:
    """List the experiments by paper: what each is about, what became of its claims in full runs, how long it takes."""
    from rich.markup import escape

    from evenhand.cli import rendering
    from evenhand.papers import report
    from evenhand.papers.experiment import experiments

    listed = [_facts(one, place) for one in experiments().values()]
    if as_json:
        print_json(listed)
        return
    table = rendering.table_of("", "", *MARKS.values(), "quick", "full", right=True)
    table.columns[1].justify, table.columns[1].no_wrap, table.columns[1].width = "left", False, 36
    for paper, group in groupby(listed, key=lambda facts: facts["paper"]):
        table.add_row("", f"[bold]{report.short_name(paper)}[/bold]  [dim]{paper}[/dim]")
        for facts in group:
            about = facts["title"] + (f" (data: {facts['data']})" if facts["data"] else "")
            counts = (str(facts["kept"][status] or "") for status in MARKS)
            seconds = [facts[size] for size in ("quick_seconds", "full_seconds")]
            times = ("" if one is None else f"{one:.0f} s" if one < 100 else f"{one / 60:.0f} min" for one in seconds)
            table.add_row(f"[bold]{facts['id']}[/bold]{'*' * facts['run']}", escape(about), *counts, *times)
        table.add_section()
    console = rendering.console_for_tables()
    console.print(table)
    meaning = ", ".join(f"{mark} {status}" for status, mark in MARKS.items())
    totals = [sum(facts[size] or 0 for facts in listed) for size in ("quick_seconds", "full_seconds")]
    quick, full = map(report.duration, totals)
    console.print(f"Kept full runs: {meaning}.", highlight=False)
    if any(one["run"] for one in listed):
        console.print("* has been run.")
    console.print(f"Time on one core: {quick} with --quick, {full} in full.", highlight=False)


def run(names: Sequence[str], place: Store, as_json: bool) -> None:
    """Run experiments, judge their claims, draw their figures, and write the report."""
    from rich.console import Console
    from rich.markup import escape

    from evenhand.core.files import check_folder
    from evenhand.papers import report
    from evenhand.papers.experiment import chosen, experiments
    from evenhand.papers.judging import judge

    wanted, known = chosen(names), experiments()
    check_folder(place.folder)
    progress = Console(stderr=True, highlight=False)
    progress.print("[dim]The first run on a machine also compiles the engine, which takes a minute or two.[/dim]")
    try:
        for number, experiment in enumerate(wanted, start=1):
            where = f"[{number} of {len(wanted)}] {experiment.id}"
            progress.print(f"[bold]{escape(where)}[/bold]  {escape(experiment.title)}{_about(experiment, place)}")
            runs = place.run(experiment, lambda part: progress.print(f"    {escape(part)}"))
            report.keep(place, experiment, runs, judge(experiment, runs, place.data, place.reduces(experiment)))
    finally:  # once, which takes a second: of what is finished, also where it is interrupted
        report.write(place, known)
    found = report.kept(place, known)
    shown = [found[experiment.id] for experiment in wanted]
    if as_json:
        print_json({"about": report.surroundings(place), "experiments": shown})
    else:
        _print_tables(shown)
        _print_verdicts(shown)
    print(f"wrote {place.folder / 'report.html'}, figures and results beside it", file=sys.stderr)


def _facts(experiment: Experiment, place: Store) -> dict[str, Any]:
    from evenhand.papers.report import full_runs, kept_counts

    took = full_runs().get(experiment.id, {})
    return {
        "id": experiment.id,
        "title": experiment.title,
        "paper": experiment.paper,
        "figure": experiment.figure,
        "data": ", ".join(need.kind for need in experiment.data),
        "kept": kept_counts(experiment.id),
        "quick_seconds": took.get("paper" if experiment.quick is None else "quick"),
        "full_seconds": took.get("paper"),
        "run": place.is_there(experiment),
    }


def _about(experiment: Experiment, place: Store) -> str:
    from evenhand.papers import report

    seconds = _facts(experiment, place)["quick_seconds" if place.quick else "full_seconds"]
    return "" if seconds is None else f"  [dim]about {report.duration(seconds)} of processor time[/dim]"


def _print_tables(shown: Sequence[dict[str, Any]]) -> None:
    from rich.markup import escape

    from evenhand.cli import rendering

    console = rendering.console_for_tables()
    for table in (table for one in shown for table in one["tables"]):
        view = rendering.table_of(table["title"], *table["columns"], right=True)
        for name, cells in table["rows"].items():
            means = ("none" if mean is None else f"{mean:.3f}" for mean, _ in cells)
            errors = ("" if error is None else f" ± {error:.3f}" for _, error in cells)
            view.add_row(escape(name), *(mean + error for mean, error in zip(means, errors, strict=True)))
        console.print(view)


def _print_verdicts(shown: Sequence[dict[str, Any]]) -> None:
    from rich.markup import escape

    from evenhand.cli import rendering
    from evenhand.papers import report

    colours = {"confirmed": "green", "contradicted": "red", "holds in part": "yellow", "undecided": "yellow"}
    quick = any(verdict["full"] for one in shown for verdict in one["verdicts"])
    columns = ["verdict", *(["kept full run"] if quick else []), "numbers that agree"]
    table = rendering.table_of("experiment", "claim", *columns)
    for one in shown:
        for place, verdict in enumerate(one["verdicts"]):
            agree = sum(finding["mark"] == "agrees" for finding in verdict["findings"])
            colour = colours.get(verdict["status"], "dim")
            table.add_row(
                "" if place else one["id"],
                escape(verdict["sentence"]),
                f"[{colour}]{verdict['words']}[/{colour}]",
                *([verdict["full"]] if quick else []),
                f"{agree} of {len(verdict['findings'])}" if verdict["findings"] else "",
            )
    console = rendering.console_for_tables()
    console.print(table)
    counts = report.counted(shown)
    console.print(", ".join(f"{number} {status}" for status, number in counts.items() if number))
