"""Breaks fifty places of the core, one at a time, and runs the tests that should notice: ``nox -s faults``.

Each fault replaces a piece of source that stands once in its file, in a copy of this checkout. A fault that no test
notices, or whose source is no longer there, ends the run with status 1; one with which the tests no longer end is
noticed, too, and marked. ``--only WORD`` tries those whose file or new source has the word; ``--root FOLDER`` breaks
another checkout.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PARTS = ("src", "tests", "docs", "examples", "tools", "benchmarks", "clients", "pyproject.toml", "README.md")
SECONDS = 300  # for the tests of one fault


class Fault(NamedTuple):
    """A piece of source, what it becomes, and the tests that should notice, beside the examples of the file."""

    file: str
    source: str
    broken: str
    tests: list[str]


FAULTS = [Fault(**table) for table in tomllib.loads((ROOT / "tools" / "faults.toml").read_text("utf-8"))["faults"]]


def main() -> None:
    """Print a line per fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a word of the file or of the new source")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to break")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if options.only in fault.file or options.only in fault.broken]
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            source = options.root / part
            if source.is_dir():
                shutil.copytree(source, Path(folder) / part)
            else:
                shutil.copy(source, Path(folder) / part)
        for number, fault in enumerate(chosen, start=1):
            found = outcome(Path(folder), fault)
            unnoticed += found not in {"noticed", "no end"}
            print(f"{number:3} {found:12} {fault.file}: {fault.broken}", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} faults were noticed")
    sys.exit(unnoticed > 0)


def outcome(root: Path, fault: Fault) -> str:
    """Whether the tests notice a fault in a copy of the checkout, which is mended afterwards."""
    path = root / "src" / "evenhand" / fault.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text.count(fault.source) != 1:
        return f"stands {text.count(fault.source)} times"
    path.write_text(text.replace(fault.source, fault.broken), encoding="utf-8")
    tests = [str(path), *(str(root / "tests" / place) for place in fault.tests)]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    surroundings = os.environ | {"PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=root, env=surroundings, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "no end"
    finally:
        path.write_text(text, encoding="utf-8")
    return {0: "UNNOTICED", 1: "noticed", 2: "noticed"}.get(done.returncode, f"status {done.returncode}")


if __name__ == "__main__":
    main()
