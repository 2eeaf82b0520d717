"""Puts a built documentation beside those of other versions: ``python docs/_ext/versions.py BUILT SITE v0.1.0``.

``versions.json`` lists them, ``latest`` first; every page reads it (``_static/versions.js``) and offers the others.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

LATEST = "latest"


def publish(built: Path, site: Path, ref: str) -> list[str]:
    """Replace one version of a site; the versions that it has then."""
    name = ref.removeprefix("v")
    shutil.rmtree(site / name, ignore_errors=True)
    shutil.copytree(built, site / name, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    names = sorted((one.parent.name for one in site.glob("*/index.html")), key=order)
    (site / "versions.json").write_text(json.dumps(names) + "\n", encoding="utf-8")
    first = next((one for one in names if one != LATEST), LATEST)
    (site / "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={first}/">\n', encoding="utf-8")
    (site / ".nojekyll").touch()  # folders that begin with _ are served
    return names


def order(name: str) -> tuple[bool, list[int], str]:
    """Where a version stands: the main branch first, then the newest."""
    return name != LATEST, [-int(part) for part in name.split(".") if part.isdecimal()], name


if __name__ == "__main__":
    print(*publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
