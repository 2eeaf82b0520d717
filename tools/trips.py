"""How far some calls travel: ``python tools/trips.py`` prints the files that each crosses, and its moves between files.

A move is a call of a function of the package that is in another file than the one called before it. Each call is made
five times before it is counted, so that what is loaded or kept at first use does not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parent.parent
PACKAGE = f"{ROOT / 'src' / 'evenhand'}/"
sys.path.insert(0, str(ROOT))
WARM = 5  # calls before the one that counts


class Trace:
    """The files of the package whose functions are called, in order, on all threads."""

    def __init__(self) -> None:
        self.files: list[str] | None = None

    def start(self) -> None:
        """Listen on this thread and on those that start from now on."""
        threading.setprofile(self._heard)
        sys.setprofile(self._heard)

    def of(self, call: Callable[[], object]) -> list[str]:
        """The file of every function that a call runs."""
        for _ in range(WARM):
            call()
        files: list[str] = []
        self.files = files
        call()
        self.files = None
        return files

    def _heard(self, frame: FrameType, event: str, _: object) -> None:
        if self.files is not None and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.files.append(frame.f_code.co_filename.removeprefix(PACKAGE))


def main() -> None:
    """Print a line per call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="also list the files, each with its calls")
    listing = parser.parse_args().files
    trace = Trace()
    trace.start()
    from tests.service.http.asking import Asking

    from evenhand.bandit import Bandit
    from evenhand.service.store import Decide, Store

    def show(name: str, call: Callable[[], object]) -> None:
        files = trace.of(call)
        moves = sum(one != other for one, other in pairwise(files))
        print(f"{name:22} {len(set(files)):3} files {moves:4} moves {len(files):4} calls")
        for file in sorted(set(files)) if listing else ():
            print(f"    {files.count(file):4} {file}")

    number = count()
    shares = {"coffee": 0.2, "cocoa": 0.2}
    show("Bandit.decide", Bandit(["tea", "coffee", "cocoa"], "fucb", fractions=shares).decide)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"{folder}/drinks.db")
        store.create("drinks", ["tea", "coffee", "cocoa"], "fucb", parameters={"fractions": shares}, seed=1)
        show("decide by the store", lambda: store.run("drinks", Decide()))
        with Asking(store) as http:
            show("decide over HTTP", lambda: http.post("/v1/allocations/drinks/decisions", {}))
            show(
                "add an arm over HTTP",
                lambda: http.put(f"/v1/allocations/drinks/arms/{next(number)}", {"fraction": 0.01}),
            )
        store.close()


if __name__ == "__main__":
    main()
