"""How long a user waits before anything happens: fresh interpreters, in milliseconds beyond Python's own start.

Each command runs in turn with Python doing nothing, and medians are shown. A turn before those that count lets the
operating system read the files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

NOTHING = "python, doing nothing"
COMMAND = "import sys; from evenhand.cli import main; sys.argv = ['evenhand', '--help']; main()"  # as installed
CODE = {
    NOTHING: "pass",
    "import evenhand": "import evenhand",
    "evenhand --help": COMMAND,
    "import numpy": "import numpy",
    "from evenhand import compare": "from evenhand import compare",
}
AIM = 300.0  # milliseconds
AIMED_AT = ("import evenhand", "evenhand --help")


def milliseconds(code: str) -> float:
    """From the start of an interpreter to its end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def beyond_python(repeats: int) -> dict[str, float]:
    """Median milliseconds of each command less those of Python alone, taking turns."""
    turns = [{name: milliseconds(code) for name, code in CODE.items()} for _ in range(repeats + 1)][1:]
    found = {name: float(np.median([turn[name] for turn in turns])) for name in CODE}
    return {name: found[name] - found[NOTHING] for name in CODE if name != NOTHING} | {NOTHING: found[NOTHING]}


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each command; the median counts.")] = 11,
    as_json: Annotated[
        bool, typer.Option("--json", help="Figures as JSON on standard output, all else on standard error.")
    ] = False,
) -> None:
    """Measure how long ``import evenhand`` and ``evenhand --help`` take."""
    with Console(stderr=True).status("starting interpreters"):
        found = beyond_python(repeats)
    table = Table("command", "ms", f"aim: under {AIM:.0f}", title=f"beyond Python's {found[NOTHING]:.0f} ms")
    table.box, table.columns[1].justify = box.SIMPLE_HEAD, "right"
    for name in CODE:
        if name != NOTHING:
            verdict = "met" if found[name] < AIM else "missed"
            table.add_row(name, f"{found[name]:.0f}", verdict if name in AIMED_AT else "")
    Console(stderr=as_json).print(table)
    if as_json:
        print(json.dumps({"unit": "milliseconds", "repeats": repeats, **found}, indent=2))


if __name__ == "__main__":
    typer.run(main)
