"""The figures on the pages of the paths: those that their examples save when they run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import examples

SHOWN = re.compile(r"_static/figures/paths/(\w+\.svg)")


def main(folder: Path) -> None:
    """Run every page of a path that shows such a figure, and keep it."""
    place = (folder / "paths").absolute()
    place.mkdir(parents=True, exist_ok=True)
    for path in examples.pages():
        text = (examples.DOCS / path).read_text(encoding="utf-8")
        if names := SHOWN.findall(text):
            with examples.workplace():
                for _ in examples.run(text, examples.earlier(path)):
                    pass
                for name in names:
                    shutil.copyfile(name, place / name)
