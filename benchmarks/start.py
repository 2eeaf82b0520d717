"""How long a user waits before anything happens: fresh interpreters, in milliseconds beyond Python's own start.

Each command runs in turn with Python doing nothing, and medians are shown. A turn before those that count lets the
operating system read the files.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from report import AsJson, Table, Write, publish

NOTHING = "python, doing nothing"
COMMAND = "import sys; from evenhand.cli.main import main; sys.argv = ['evenhand', '--help']; main()"  # as installed
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
    times = {name: float(np.median([turn[name] for turn in turns])) for name in CODE}
    return {name: times[name] - times[NOTHING] for name in CODE if name != NOTHING} | {NOTHING: times[NOTHING]}


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each command; the median counts.")] = 11,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Measure how long ``import evenhand`` and ``evenhand --help`` take."""
    with Console(stderr=True).status("starting interpreters"):
        times = beyond_python(repeats)
    cells = []
    for name in CODE:
        if name != NOTHING:
            verdict = "met" if times[name] < AIM else "missed"
            cells.append((f"`{name}`", f"{times[name]:.0f}", verdict if name in AIMED_AT else ""))
    title = f"milliseconds beyond Python's own {times[NOTHING]:.0f}"
    publish(
        [Table("start", title, ("command", "ms", f"aim: under {AIM:.0f}"), cells)],
        {"milliseconds": times},
        packages=("evenhand", "numpy"),
        method=f"medians of {repeats} turns",
        code=("evenhand.cli.start:main",),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
