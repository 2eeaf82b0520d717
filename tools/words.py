"""Checks the wording of code, messages and documentation against ``words.txt``: ``python tools/words.py [PATH]…``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LIST = Path(__file__).with_name("words.txt")
ENDINGS = {".cff", ".css", ".html", ".j2", ".js", ".md", ".py", ".toml", ".ts"}
#: Texts of others, results of runs, and the list's own examples.
EXEMPT = re.compile(r"(^|/)(vendor/|_static/|words\.py$|test_words\.py$)")


def rules(text: str) -> dict[re.Pattern[str], str]:
    """The patterns of a list, each with its replacement."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    pairs = [line.split(" -> ", 1) for line in lines]
    return {re.compile(rf"\b(?:{pattern})\b", flags=re.IGNORECASE): remedy for pattern, remedy in pairs}


def faults(text: str, known: dict[re.Pattern[str], str]) -> Iterator[tuple[int, str, str]]:
    """The line, the wording and the remedy of each fault of a text; wording may run over the end of a line."""
    flat = re.sub(r"\s", " ", text)
    for pattern, remedy in known.items():
        for match in pattern.finditer(flat):
            yield text.count("\n", 0, match.start()) + 1, match[0], remedy


def files(paths: Iterable[str]) -> Iterator[Path]:
    """The files under version control at the paths that hold text of the project."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *paths], capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = Path(name)
        if path.suffix in ENDINGS and path.is_file() and not EXEMPT.search(path.as_posix()):
            yield path


def main(paths: list[str]) -> int:
    """Print every fault as ``file:line: wording -> remedy``; 1 if there is any."""
    known, count = rules(LIST.read_text(encoding="utf-8")), 0
    for path in files(paths):
        for line, wording, remedy in sorted(faults(path.read_text(encoding="utf-8"), known)):
            print(f"{path}:{line}: {wording} -> {remedy}")
            count += 1
    if count:
        print(f"{count} to reword", file=sys.stderr)
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
