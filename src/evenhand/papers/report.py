"""The report: a page about all claims, and one for each paper with the settings, figures, claims and verdicts."""

from __future__ import annotations

import json
import math
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.algorithms.citations import PAPERS
from evenhand.core import glossary
from evenhand.core.errors import EvenhandError
from evenhand.core.files import write_text
from evenhand.core.html import page
from evenhand.judgement.claims import CONFIRMED, CONTRADICTED, CONTRADICTS, PARTLY, STATUSES, ClaimVerdict
from evenhand.papers import origin
from evenhand.papers.experiment import FOLDERS, Experiment, Runs
from evenhand.papers.findings import findings, terms
from evenhand.papers.judging import measured_by
from evenhand.papers.runner import Store
from evenhand.simulation.code_version import code_version
from evenhand.simulation.figures.files import save
from evenhand.simulation.files import without_infinities

#: Words that the report explains.
WORDS = {
    "arm",
    "fairness regret",
    "hold",
    "horizon",
    "lane",
    "merit",
    "promise",
    "r-regret",
    "regret",
    "reward regret",
    "round",
    "share",
}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def keep(store: Store, experiment: Experiment, runs: Runs, verdicts: Sequence[ClaimVerdict]) -> None:
    """Write an experiment's figure (PNG and SVG) and its verdicts into the store's folder."""
    for name in ("figures", "verdicts"):
        (store.folder / name).mkdir(parents=True, exist_ok=True)
    save(experiment.draw(runs), store.folder / "figures" / experiment.id)
    stamps = [store.stamp(part) for part in experiment.parts]
    sizes = [(run.setup.horizon, run.setup.lanes) for run in runs.values()]
    entry = {
        "id": experiment.id,
        "paper": experiment.paper,
        "code": store.code(experiment),
        "measured": measured_by(experiment),
        "date": datetime.now(UTC).date().isoformat(),
        "took": round(sum(stamp["took"] for stamp in stamps), 1),
        "processor": round(sum(stamp["processor"] for stamp in stamps), 1),
        "seed": stamps[0]["seed"],
        "commit": stamps[0]["commit"],
        "machine": stamps[0]["machine"],
        "load": stamps[0]["load"],
        "horizon": max(horizon for horizon, _ in sizes),
        "lanes": max(lanes for _, lanes in sizes),
        "data": store.data_of(experiment),
        "tables": [asdict(table) for table in experiment.tables(runs)] if experiment.tables else [],
        "verdicts": [
            verdict.as_dict | {"full": full_run(experiment.id, place) if store.quick else ""}
            for place, verdict in enumerate(verdicts)
        ],
    }
    text = json.dumps(without_infinities(entry), indent=1, ensure_ascii=False)
    write_text(store.folder / "verdicts" / f"{experiment.id}.json", text)


def kept(store: Store, experiments: Mapping[str, Experiment]) -> dict[str, dict[str, Any]]:
    """What `keep` wrote for this version of the code, by the experiment's id."""
    entries = {}
    for name, experiment in experiments.items():
        path = store.folder / "verdicts" / f"{name}.json"
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except ValueError:
            raise EvenhandError(f"{path} is damaged; remove it and run {name} again") from None
        if entry.get("code") == store.code(experiment):
            entries[name] = entry
    return entries


def write(store: Store, experiments: Mapping[str, Experiment]) -> Path:
    """Write the pages and ``claims.json`` about all experiments that have been run; returns the first page's path."""
    entries, about = kept(store, experiments), surroundings(store)
    for name, text in render(store, experiments, entries, about).items():
        write_text(store.folder / name, text)
    summary = {"about": about, "experiments": list(entries.values())}
    write_text(store.folder / "claims.json", json.dumps(summary, indent=1, ensure_ascii=False))
    return store.folder / "report.html"


def render(
    store: Store, experiments: Mapping[str, Experiment], entries: Mapping[str, dict[str, Any]], about: Mapping[str, Any]
) -> dict[str, str]:
    """The pages as HTML by the name of their file: ``report.html`` about all claims, and one for each paper."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("evenhand.papers", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["page"] = page
    templates.filters |= {"number": number, "numbers": numbers, "duration": duration}
    papers = [paper for key in FOLDERS if (paper := _paper(key, store, experiments, entries))["experiments"]]
    words = {name: term.plain for name, term in glossary.terms().items() if name in WORDS}
    shared = {"papers": papers, "quick": store.quick, "words": words, **about}
    missing = [name for name in experiments if name not in entries]
    stale = outdated(store, experiments, entries)
    shared |= {"stale": stale}
    first = templates.get_template("report.html.j2")
    found = {"count": counted(entries.values(), ours=False), "ours": counted(entries.values(), ours=True)}
    pages = {"report.html": first.render(paper=None, statuses=STATUSES, missing=missing, **found, **shared)}
    for paper in papers:
        pages[f"{paper['key']}.html"] = templates.get_template("paper.html.j2").render(paper=paper, **shared)
    return pages


def outdated(
    store: Store, experiments: Mapping[str, Experiment], entries: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The experiments whose numbers are of other code than the present: what was run, or what measured the claims."""
    return [
        name
        for name, experiment in experiments.items()
        if name in entries
        and (entries[name]["code"], entries[name]["measured"]) != (store.code(experiment), measured_by(experiment))
    ]


@cache
def full_runs() -> dict[str, dict[str, Any]]:
    """What is kept of a full run: for each experiment the verdicts, and the processor time that each size takes."""
    kept: dict[str, dict[str, Any]] = json.loads(
        (files("evenhand.papers") / "full_runs.json").read_text(encoding="utf-8")
    )
    return kept


def full_run(name: str, claim: int) -> str:
    """The verdict of the kept full run on one of an experiment's claims, in words; empty for one that it has not."""
    verdicts: list[str] = full_runs().get(name, {}).get("verdicts", [])
    return verdicts[claim] if claim < len(verdicts) else ""


def kept_counts(name: str) -> dict[str, int]:
    """How many of an experiment's claims a full run confirmed, found to hold in part, contradicted, and left open."""
    first = Counter(words.partition(" (")[0] for words in full_runs().get(name, {}).get("verdicts", []))
    decided = {status: first.pop(status, 0) for status in (CONFIRMED, PARTLY, CONTRADICTED)}
    return decided | {"open": first.total()}


def counted(entries: Iterable[Mapping[str, Any]], ours: bool | None = None) -> dict[str, int]:
    """How many claims have which verdict."""
    found = Counter(
        verdict["status"]
        for one in entries
        for verdict in one["verdicts"]
        if ours is None or ours == (one["paper"] == "beyond" or "ours" in verdict["source"])
    )
    return {status: found[status] for status in STATUSES}


def surroundings(store: Store) -> dict[str, Any]:
    """When, with which versions and on what kind of machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": code_version(),
        "commit": origin.commit(),
        "size": "quick" if store.quick else "paper",
        "machine": origin.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def number(value: float | None) -> str:
    """A number with four significant digits, and no decimals from 1000 on; None is shown as “none”."""
    if value is None:
        return "none"
    if abs(value) < 1e-9:
        return "0"  # what is left is rounding
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}·10" + str(int(exponent)).translate(RAISED)
    return text.replace("-", "−")


def numbers(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    """An estimate and the ends of its interval, to two digits of half the width of the interval."""
    found = [finding["effect"], finding["low"], finding["high"]]
    finite = all(value is not None and math.isfinite(value) for value in found)
    width = (found[2] - found[1]) / 2.0 if finite else 0.0
    if width < 1e-6:
        one, low, high = map(number, found)
        return one, low, high
    digits = max(1 - math.floor(math.log10(width)), 0)
    one, low, high = (f"{value + 0.0:,.{digits}f}".replace("-", "−") for value in found)
    return one, low, high


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 1:
        return "under a second"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def _paper(
    key: str, store: Store, experiments: Mapping[str, Experiment], entries: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """What the pages show of a paper: its experiments, and what became of its claims."""
    shown = [
        entries[name] | {"about": experiment, "size": _size(store.folder / "figures" / f"{name}.svg")}
        for name, experiment in experiments.items()
        if name in entries and experiment.paper == key
    ]
    claims = [verdict | {"id": one["id"]} for one in shown for verdict in one["verdicts"]]
    about = PAPERS.get(key)
    return {
        "key": key,
        "letter": "X" if about is None else key[0].upper(),
        "short": short_name(key),
        "title": "Beyond the papers" if about is None else about.title,
        "citation": "What none of the five papers has; claims are ours where no paper is named."
        if about is None
        else about.citation,
        "experiments": shown,
        "count": counted(shown, ours=False),
        "ours": counted(shown, ours=True),
        "short_findings": findings(key, entries),
        "terms": terms()[key],
        "confirmed": [claim for claim in claims if claim["status"] == CONFIRMED],
        "against": {
            "What the runs contradict": [_with_worst(claim) for claim in claims if claim["status"] == CONTRADICTED],
            "What holds in part": [_with_worst(claim) for claim in claims if claim["status"] == PARTLY],
        },
    }


def short_name(key: str) -> str:
    """The authors and the year of a paper; of none, what it is."""
    return PAPERS[key].short if key in PAPERS else "Beyond the papers"


def _with_worst(claim: dict[str, Any]) -> dict[str, Any]:
    """A claim with the number that contradicts it most clearly, and how many do."""
    against = [finding for finding in claim["findings"] if finding["mark"] == CONTRADICTS]
    return claim | {"worst": min(against, key=lambda one: one["p_value"]), "against": len(against)}


def _size(path: Path) -> tuple[int, int] | None:
    """Width and height of an SVG file in pixels, so that a page does not jump as it loads; None where unknown."""
    with path.open(encoding="utf-8") as file:
        found = re.search(r'<svg[^>]* width="([\d.]+)pt" height="([\d.]+)pt"', file.read(2000))
    return None if found is None else (round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3))
