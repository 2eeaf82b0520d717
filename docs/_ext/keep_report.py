"""Copies a full run of ``evenhand reproduce all`` into the documentation, and its times into the package.

``python docs/_ext/keep_report.py reproduction/paper reproduction/quick``; the second folder, of a quick run, gives the
times of quick runs only. Without folders, the pages that are kept are written anew from the claims that are kept: for
changes of words and looks.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

from evenhand.papers import report
from evenhand.papers.experiment import experiments
from evenhand.papers.runner import Store

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
LONG = re.compile(r"(?<=[ \"(,])-?\d+\.\d{3,}")  # of points; a hundredth of one is not seen
TIMES = ROOT / "src" / "evenhand" / "papers" / "times.json"


def main(paper: Path, quick: Path) -> None:
    """Copy the pages, their figures and the claims, and write down the processor time that each experiment took."""
    shutil.rmtree(STATIC / "report", ignore_errors=True)
    (STATIC / "report" / "figures").mkdir(parents=True)
    for file in paper.glob("*.html"):
        shutil.copyfile(file, STATIC / "report" / file.name)
    for file in paper.glob("figures/*.svg"):
        text = LONG.sub(lambda number: f"{float(number[0]):.2f}", file.read_text(encoding="utf-8"))
        (STATIC / "report" / "figures" / file.name).write_text(text, encoding="utf-8")
    shutil.copyfile(paper / "claims.json", STATIC / "claims.json")
    times: dict[str, dict[str, float]] = {}
    for folder in (paper, quick):
        claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        for experiment in claims["experiments"]:
            seconds = max(1, round(experiment["processor"]))
            times.setdefault(experiment["id"], {})[claims["about"]["size"]] = seconds
    TIMES.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


def again() -> None:
    """Write the kept pages anew from the kept claims."""
    claims = json.loads((STATIC / "claims.json").read_text(encoding="utf-8"))
    entries = {one["id"]: one for one in claims["experiments"]}
    store = Store(STATIC / "report")
    for name, page in report.render(store, experiments(), entries, claims["about"]).items():
        (STATIC / "report" / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(*map(Path, sys.argv[1:]))
    else:
        again()
