"""``evenhand reproduce``: lists the experiments, or runs some of them and writes the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from evenhand import listing
from evenhand.papers.experiment import Experiment, chosen, experiments
from evenhand.reproduction import report
from evenhand.reproduction.data import recognised
from evenhand.reproduction.runner import Store, judge
from evenhand.results import check_folder


def store(out: Path, quick: bool, data: Sequence[Path], jobs: int, again: bool) -> Store:
    """The folder for results of the asked size, on the user's data."""
    return Store(out / ("quick" if quick else "paper"), quick, recognised(data), jobs, again)


def show(place: Store, as_json: bool) -> None:
    """List the experiments: what each is about, what it needs, about how long it takes, whether it has been run."""
    told = [_facts(one, place) for one in experiments().values()]
    if as_json:
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return
    table = listing.table_of("experiment", "about", "paper", "data", "takes about", "run")
    for facts in told:
        took = "" if facts["seconds"] is None else report.duration(facts["seconds"])
        cells = (facts["title"], facts["paper"], facts["data"] or "", took, "yes" if facts["run"] else "")
        table.add_row(f"[bold]{facts['id']}[/bold]", *map(escape, cells))
    console = listing.console_for_tables()
    console.print(table)
    total = sum(facts["seconds"] or 0.0 for facts in told)
    console.print(
        f"all of them: about {report.duration(total)} on two cores"
        f"{' in quick size' if place.quick else '; --quick runs smaller ones'}"
    )


def run(names: Sequence[str], place: Store, as_json: bool) -> None:
    """Run experiments, judge their claims, draw their figures, and write the report.

    Raises:
        EvenhandError: an experiment is unknown, or the folder holds results of another version.
    """
    wanted, known = chosen(names), experiments()
    check_folder(place.folder)
    progress = Console(stderr=True, highlight=False)
    for number, experiment in enumerate(wanted, start=1):
        where = f"[{number} of {len(wanted)}] {experiment.id}"
        progress.print(f"[bold]{escape(where)}[/bold]  {escape(experiment.title)}{_about(experiment, place)}")
        runs = place.run(experiment, lambda part: progress.print(f"    {escape(part)}"))
        report.keep(place, experiment, runs, judge(experiment, runs, place.data))
        report.write(place, known)
    found = report.kept(place, known)
    shown = [found[experiment.id] for experiment in wanted]
    if as_json:
        print(json.dumps({"about": report.surroundings(place), "experiments": shown}, indent=2, ensure_ascii=False))
    else:
        _print(shown)
    print(f"wrote {place.folder / 'report.html'}, figures and results beside it", file=sys.stderr)


def _facts(experiment: Experiment, place: Store) -> dict[str, Any]:
    times = json.loads((files("evenhand.reproduction") / "times.json").read_text(encoding="utf-8"))
    size = "quick" if place.quick else "paper"
    return {
        "id": experiment.id,
        "title": experiment.title,
        "paper": experiment.paper,
        "figure": experiment.figure,
        "data": ", ".join(need.kind for need in experiment.data),
        "seconds": times.get(experiment.id, {}).get(size),
        "run": place.is_there(experiment),
    }


def _about(experiment: Experiment, place: Store) -> str:
    seconds = _facts(experiment, place)["seconds"]
    return "" if seconds is None else f"  [dim]about {report.duration(seconds)}[/dim]"


def _print(shown: Sequence[dict[str, Any]]) -> None:
    colours = {"confirmed": "green", "not confirmed": "yellow", "not runnable here": "dim"}
    table = listing.table_of("experiment", "claim", "verdict", "numbers that agree")
    for one in shown:
        for place, verdict in enumerate(one["verdicts"]):
            agree = sum(finding["holds"] for finding in verdict["findings"])
            colour = colours[verdict["status"]]
            table.add_row(
                "" if place else one["id"],
                escape(verdict["sentence"]),
                f"[{colour}]{verdict['status']}[/{colour}]",
                f"{agree} of {len(verdict['findings'])}" if verdict["findings"] else "",
            )
    console = listing.console_for_tables()
    console.print(table)
    counts = report.counted(shown)
    console.print(", ".join(f"{number} {status}" for status, number in counts.items() if number))
