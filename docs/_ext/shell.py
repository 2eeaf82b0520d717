"""Runs the shell commands of the pages as they are written, in a clone and an environment of their own.

``python docs/_ext/shell.py`` runs every block of every page in its order, each page in a folder of its own. A block
below ``<!-- not run: REASON -->`` is left out; ``<!-- run first: COMMANDS -->`` above one gives what a reader has done
before. A command that begins with ``evenhand serve`` runs beside the others until its page ends.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1]
BLOCK = re.compile(r"(?:^<!-- (not run|run first): ([^\n]+) -->\n+)?^```sh\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
SERVE = re.compile(r"^(evenhand serve.*)$", flags=re.MULTILINE)
READY = "for _ in $(seq 300); do curl -sf http://127.0.0.1:8000/readyz > /dev/null && break; sleep 0.2; done"
PATIENCE = 300  # seconds for a page
#: What was downloaded before is there, and nothing is compiled before it is loaded: 0 is pip's word for yes.
PIP = {"PIP_CACHE_DIR": str(Path.home() / ".cache/pip"), "PIP_NO_COMPILE": "0"}


def scripts() -> Iterator[tuple[str, str]]:
    """The pages that have commands to run, with their script."""
    for path in sorted(DOCS.rglob("*.md")):
        found = [] if "_build" in path.parts else BLOCK.findall(path.read_text(encoding="utf-8"))
        parts = [f"{note if kind else ''}\n{content}" for kind, note, content in found if kind != "not run"]
        if parts:
            yield path.relative_to(DOCS).as_posix(), script("\n".join(parts))


def script(commands: str) -> str:
    """The commands, which stop at the first that fails; a service runs beside them and is ended with them."""
    served = SERVE.sub(lambda found: f"{found[1]} & {READY}", commands)
    return f"set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n{served}"


def main() -> int:
    """Run all pages; the number of those that failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        clone = Path(place) / "evenhand"
        subprocess.run(["git", "clone", "-q", str(DOCS.parent), str(clone)], check=True)
        subprocess.run([sys.executable, "-m", "venv", f"{place}/venv"], check=True)
        for page, commands in scripts():
            folder = Path(place) / page.replace("/", "-")
            shutil.copytree(clone, folder)
            environment = {"PATH": f"{place}/venv/bin:/usr/local/bin:/usr/bin:/bin", "HOME": place, **PIP}
            command = ["bash", "-c", commands]
            done = subprocess.run(
                command, cwd=folder, env=environment, timeout=PATIENCE, capture_output=True, text=True
            )
            print(f"{page}: {'runs' if done.returncode == 0 else 'FAILED'}", flush=True)
            if done.returncode:
                failed += 1
                print(done.stdout, done.stderr, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
