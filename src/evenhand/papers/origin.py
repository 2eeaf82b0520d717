"""Where a result comes from: the commit of the code, the machine and its load."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path


@cache
def commit() -> str:
    """The commit that the package was run from, ``"+"`` after it where files were changed; empty outside a checkout."""
    here = Path(__file__)
    if not _git("ls-files", "--error-unmatch", here.name):
        return ""  # installed, perhaps inside another project's checkout
    changed = _git("status", "--porcelain", "--", str(here.parents[1]))
    return _git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def machine() -> str:
    """What kind of machine this is."""
    cores = os.cpu_count() or 1
    return f"{cores} core{'s' if cores > 1 else ''}, {platform.machine()}, {platform.system()}"


def load() -> float | None:
    """How many processes ran or waited for a core over the last minute; None where the system does not tell."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _git(*words: str) -> str:
    """What git prints; empty where there is no git or it fails."""
    command = ["git", "-C", str(Path(__file__).parent), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
