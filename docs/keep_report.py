"""Takes a full run of ``evenhand reproduce all`` into the documentation, and its times into the package.

``python docs/keep_report.py reproduction/paper reproduction/quick 1.0``; the second folder, of a quick run, gives the
times of quick runs only. The number is the part of the full run's times that two cores of their own would have needed,
where it had to share them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
TIMES = HERE.parent / "src" / "evenhand" / "reproduction" / "times.json"


def main(paper: Path, quick: Path, part: float = 1.0) -> None:
    """Copy the page and the claims, and write down how long each experiment took."""
    shutil.copyfile(paper / "report.html", HERE / "_static" / "report.html")
    shutil.copyfile(paper / "claims.json", HERE / "claims.json")
    times: dict[str, dict[str, float]] = {}
    for folder, scale in ((paper, part), (quick, 1.0)):
        told = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
        for one in told["experiments"]:
            times.setdefault(one["id"], {})[told["about"]["size"]] = max(1, round(one["took"] * scale))
    TIMES.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:]))
