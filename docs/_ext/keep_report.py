"""Copies a full run of ``evenhand reproduce all`` into the documentation, and its times into the package.

``python docs/_ext/keep_report.py reproduction/paper reproduction/quick 1.0``; the second folder, of a quick run, gives
the times of quick runs only. The number scales the full run's times: below 1 where it shared its two cores with other
work.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
TIMES = ROOT / "src" / "evenhand" / "papers" / "times.json"


def main(paper: Path, quick: Path, part: float = 1.0) -> None:
    """Copy the page and the claims, and write down how long each experiment took."""
    shutil.copyfile(paper / "report.html", STATIC / "report.html")
    shutil.copyfile(paper / "claims.json", STATIC / "claims.json")
    times: dict[str, dict[str, float]] = {}
    for folder, scale in ((paper, part), (quick, 1.0)):
        claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        for experiment in claims["experiments"]:
            seconds = max(1, round(experiment["took"] * scale))
            times.setdefault(experiment["id"], {})[claims["about"]["size"]] = seconds
    TIMES.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:]))
