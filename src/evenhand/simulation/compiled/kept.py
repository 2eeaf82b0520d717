"""What has been compiled on this machine: where Numba keeps it, whether it is there, and of which code it is."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from evenhand.core.files import write_text
from evenhand.core.source import Root, digest_of

PACKAGE = Path(__file__).absolute().parents[2]


@cache
def is_kept(loop: str) -> bool:
    """Whether something like a loop has been compiled on this machine."""
    return any(folder().glob(f"kernel.*.{loop}-*.nbi"))


def folder() -> Path:
    """Where Numba keeps what it has compiled of the loops, which Numba itself would take half a second to say."""
    given, here = os.environ.get("NUMBA_CACHE_DIR"), Path(__file__).parent.absolute()
    digest = hashlib.sha1(str(here).encode(), usedforsecurity=False).hexdigest()
    return Path(given) / f"{here.name}_{digest}" if given else here / "__pycache__"


def version_of(root: Root) -> str:
    """The digest of the code that a definition uses.

    It is kept beside what is compiled while no file of the package changes: to read them all takes a quarter of a
    second, as long as 10,000 rounds of 100 lanes.
    """
    place, stamp = folder() / f"{root.name}.version", _stamp()
    with suppress(OSError, ValueError):
        of, version = json.loads(place.read_text("utf-8"))
        if of == stamp:
            return str(version)
    version = digest_of(frozenset({root}))
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_text(place, json.dumps([stamp, version]))
    return version


def _stamp() -> str:
    """When the files of the package were last changed."""
    files = ((path, path.stat()) for path in sorted(PACKAGE.rglob("*.py")))
    facts = [f"{path.relative_to(PACKAGE)} {now.st_mtime_ns} {now.st_size}" for path, now in files]
    return hashlib.sha256("\n".join([sys.version, *facts]).encode()).hexdigest()
