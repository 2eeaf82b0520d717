"""Records the plays of tests/algorithms/test_trace.py that are not recorded yet: ``python tools/traces.py``.

What is recorded stays: to record a case anew, after its rule was corrected, delete its lines in the file first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.algorithms.test_trace import (  # noqa: E402
    BY_AGE,
    BY_FEATURES,
    CASES,
    FORGETFUL,
    RECORDED,
    WORLDS,
    digest,
)

from evenhand.algorithms import find  # noqa: E402

PATH = ROOT / "tests" / "algorithms" / "trace.json"


def main() -> None:
    """Each case that is missing, in every world, with one play and, where it is offered, with two."""
    found = dict(RECORDED)
    for case in CASES.keys() - {key.rsplit("/", 2)[0] for key in RECORDED}:
        name = case.partition(":")[0]
        for world in WORLDS:
            if (world == "changing" and name not in FORGETFUL) or (world == "spread" and case in BY_AGE):
                continue
            if (world == "features") != (name in BY_FEATURES):
                continue
            for plays in (1, 2) if "plays" in find(name).parameters else (1,):
                found[f"{case}/{world}/{plays}"] = digest(case, world, plays)
    PATH.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
