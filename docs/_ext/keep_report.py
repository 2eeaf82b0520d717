"""Keeps full runs of ``evenhand reproduce`` in the documentation, and their verdicts and times in the package.

``python docs/_ext/keep_report.py reproduction/paper reproduction/quick`` keeps the experiments that were run there; a
folder of quick runs gives only their times. Without folders, what is kept is judged again by the present rules, and its
pages are written anew; their first page lists what has not been run since the code changed. ``--check`` fails if they
are not what this would write.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from evenhand.papers import report
from evenhand.papers.experiment import experiments
from evenhand.papers.judging import judged_again
from evenhand.papers.runner import Store

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
CLAIMS = STATIC / "claims.json"
LONG = re.compile(r"(?<=[ \"(,])-?\d+\.\d{3,}")  # of points; a hundredth of one is not seen
FULL_RUNS = ROOT / "src" / "evenhand" / "papers" / "full_runs.json"


def keep(folder: Path) -> None:
    """Take over the claims and figures of a folder in place of those that are kept, and its times."""
    new, kept = (json.loads(path.read_text(encoding="utf-8")) for path in (folder / "claims.json", CLAIMS))
    times = json.loads(FULL_RUNS.read_text(encoding="utf-8"))
    for entry in new["experiments"]:
        times.setdefault(entry["id"], {})[new["about"]["size"]] = max(1, round(entry["processor"]))
        if new["about"]["size"] == "paper":
            text = (folder / "figures" / f"{entry['id']}.svg").read_text(encoding="utf-8")
            short = LONG.sub(lambda number: f"{float(number[0]):.2f}", text)
            (STATIC / "report" / "figures" / f"{entry['id']}.svg").write_text(short, encoding="utf-8")
    if new["about"]["size"] == "paper":
        entries = {one["id"]: one for one in kept["experiments"] + new["experiments"]}
        kept = {"about": new["about"], "experiments": [entries[name] for name in experiments() if name in entries]}
        CLAIMS.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")
    FULL_RUNS.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


def files() -> dict[Path, str]:
    """What is to be kept besides the figures: the claims and pages by the present code, and their verdicts."""
    known, kept = experiments(), json.loads(CLAIMS.read_text(encoding="utf-8"))
    entries = {one["id"]: judged_again(one, known[one["id"]]) for one in kept["experiments"]}
    pages = report.render(Store(STATIC / "report"), known, entries, kept["about"])
    runs: dict[str, dict[str, Any]] = json.loads(FULL_RUNS.read_text(encoding="utf-8"))
    for name, entry in entries.items():
        runs[name]["verdicts"] = [verdict["words"] for verdict in entry["verdicts"]]
    summary = {"about": kept["about"], "experiments": list(entries.values())}
    return {
        CLAIMS: json.dumps(summary, indent=1, ensure_ascii=False),
        FULL_RUNS: json.dumps(runs, indent=1) + "\n",
        **{STATIC / "report" / name: page for name, page in pages.items()},
    }


def main(arguments: list[str]) -> int:
    """Keep, or check."""
    if "--check" in arguments:
        old = [path.relative_to(ROOT) for path, text in files().items() if path.read_text(encoding="utf-8") != text]
        for path in old:
            print(f"{path} is older than the code; write it anew with: python docs/_ext/keep_report.py")
        return int(bool(old))
    for folder in arguments:
        keep(Path(folder))
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
