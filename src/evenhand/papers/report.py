"""The report: one self-contained page with every experiment's setting, figure, claims and verdicts."""

from __future__ import annotations

import base64
import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.algorithms.citations import PAPERS
from evenhand.core.errors import EvenhandError
from evenhand.core.files import write_whole
from evenhand.papers.experiment import FOLDERS, Experiment, Runs
from evenhand.papers.judging import STATUSES, Verdict
from evenhand.papers.runner import Store, code_version
from evenhand.simulation import figures
from evenhand.simulation.files import without_infinities


def keep(store: Store, experiment: Experiment, runs: Runs, verdicts: Sequence[Verdict]) -> None:
    """Write an experiment's figure (PNG and SVG) and its verdicts into the store's folder."""
    for name in ("figures", "verdicts"):
        (store.folder / name).mkdir(parents=True, exist_ok=True)
    figures.save(experiment.draw(runs), store.folder / "figures" / experiment.id)
    sizes = [(run.setup.horizon, run.setup.lanes) for run in runs.values()]
    entry = {
        "id": experiment.id,
        "code": code_version(),
        "date": datetime.now(UTC).date().isoformat(),
        "took": sum(store.stamp(part)["took"] for part in experiment.parts),
        "horizon": max(horizon for horizon, _ in sizes),
        "lanes": max(lanes for _, lanes in sizes),
        "data": store.data_of(experiment),
        "tables": [asdict(table) for table in experiment.tables(runs)] if experiment.tables else [],
        "verdicts": [
            {
                "sentence": verdict.claim.sentence,
                "source": verdict.claim.source,
                "reading": verdict.claim.reading,
                "status": verdict.status,
                "missing": verdict.missing,
                "lanes_needed": verdict.lanes_needed,
                "findings": [
                    asdict(finding) | {"mark": mark}
                    for finding, mark in zip(verdict.findings, verdict.marks, strict=True)
                ],
            }
            for verdict in verdicts
        ],
    }
    text = json.dumps(without_infinities(entry), indent=1, ensure_ascii=False)
    write_whole(store.folder / "verdicts" / f"{experiment.id}.json", lambda path: path.write_text(text, "utf-8"))


def kept(store: Store, experiments: Mapping[str, Experiment]) -> dict[str, dict[str, Any]]:
    """What `keep` wrote for this version of the code, by the experiment's id."""
    entries = {}
    for name in experiments:
        path = store.folder / "verdicts" / f"{name}.json"
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except ValueError:
            raise EvenhandError(f"{path} is damaged; remove it and run {name} again") from None
        if entry.get("code") == code_version():
            entries[name] = entry
    return entries


def write(store: Store, experiments: Mapping[str, Experiment]) -> Path:
    """Write ``report.html`` and ``claims.json`` about all experiments that have been run; returns the page's path."""
    entries = kept(store, experiments)
    page = render(store, experiments, entries)
    write_whole(store.folder / "report.html", partial(_text, page))
    summary = {"about": surroundings(store), "experiments": list(entries.values())}
    write_whole(store.folder / "claims.json", partial(_text, json.dumps(summary, indent=1, ensure_ascii=False)))
    return store.folder / "report.html"


def render(store: Store, experiments: Mapping[str, Experiment], entries: Mapping[str, dict[str, Any]]) -> str:
    """The page as HTML; figures are in it, so that it needs no other file and no network."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("evenhand.papers", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"number": number, "duration": duration}
    papers = [
        {
            "key": folder,
            "title": PAPERS[folder].title if folder in PAPERS else "Beyond the papers",
            "citation": PAPERS[folder].citation
            if folder in PAPERS
            else "What no paper of the five has; claims are ours.",
            "experiments": _of(folder, store, experiments, entries),
        }
        for folder in FOLDERS
    ]
    return templates.get_template("report.html.j2").render(
        papers=[paper for paper in papers if paper["experiments"]],
        counts=counted(entries.values()),
        statuses=STATUSES,
        missing=[name for name in experiments if name not in entries],
        quick=store.quick,
        **surroundings(store),
    )


def counted(entries: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many claims have which verdict."""
    found = Counter(verdict["status"] for one in entries for verdict in one["verdicts"])
    return {status: found[status] for status in STATUSES}


def surroundings(store: Store) -> dict[str, Any]:
    """When, with which versions and on what kind of machine."""
    cores = os.cpu_count() or 1
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": code_version(),
        "size": "quick" if store.quick else "paper",
        "machine": f"{cores} core{'s' if cores > 1 else ''}, {platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def number(value: float | None) -> str:
    """A number with four significant digits, and no decimals from 1000 on; None is shown as “none”.

    Example:
        >>> number(12345.678), number(0.0123456), number(-2.0), number(None)
        ('12,346', '0.01235', '−2', 'none')
    """
    if value is None:
        return "none"
    if abs(value) < 1e-9:
        return "0"  # what is left is rounding
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}·10^{int(exponent)}"
    return text.replace("-", "−")


def duration(seconds: float) -> str:
    """Seconds in words.

    Example:
        >>> duration(0.4), duration(75), duration(5400)
        ('under a second', '1 min 15 s', '1 h 30 min')
    """
    if seconds < 1:
        return "under a second"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def _of(
    folder: str, store: Store, experiments: Mapping[str, Experiment], entries: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """What the page shows of the experiments of a paper."""
    return [
        entries[name] | {"about": experiment, "image": _picture(store.folder / "figures" / f"{name}.png")}
        for name, experiment in experiments.items()
        if name in entries and experiment.paper == folder
    ]


def _picture(path: Path) -> dict[str, Any]:
    return _embedded(path, path.stat().st_mtime_ns)


@cache  # the page is written after every experiment, and most pictures are those of before
def _embedded(path: Path, changed: int) -> dict[str, Any]:
    """A picture as a data URL, with few colours, which line art does not miss, and its width on a screen."""
    from io import BytesIO

    from PIL import Image

    small = BytesIO()
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(96).save(small, "PNG", optimize=True)
        width = round(picture.width / 1.5)  # two thirds of its pixels, so that it stays sharp on a fine screen
    return {"url": f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}", "width": width}


def _text(content: str, path: Path) -> None:
    path.write_text(content, encoding="utf-8")
