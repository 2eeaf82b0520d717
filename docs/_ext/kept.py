"""Figures that need simulations are kept in docs/_static/figures; this draws them anew and says which are out of date.

``python docs/_ext/kept.py`` draws what is out of date, ``--all`` everything; ``--check`` only lists it, with an error.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

import examples
from evenhand.core.source import bare
from evenhand.simulation.code_version import code_version

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = HERE.parent / "_static" / "figures"
MADE = FOLDER / "made.json"
#: The modules whose ``main(folder)`` draws, each with the files beside it that its figures also come from.
SETS = {
    "make_figures": ["gallery.py", "../../examples/coffee.toml", "../../src/evenhand/studies/figures.py"],
    "algorithm_figures": [],
    "front_figures": ["../../examples/films.toml"],
    "path_figures": [
        *(f"../paths/{page}" for page in ("study/2-late.md", "study/3-sweep.md", "study/4-paper.md")),
        "../../src/evenhand/studies/figures.py",
    ],
    "study_figures": ["../../examples/study.toml", "../../src/evenhand/studies/figures.py"],
}
DRAWING = ROOT / "src/evenhand/simulation"
LARGEST = 300_000  # bytes of an SVG; a larger one is kept as PNG


def digest(name: str) -> str:
    """Of all that decides how the figures of a module look, without comments and docstrings."""
    files = [HERE / f"{name}.py", *(HERE / other for other in SETS[name]), *sorted(DRAWING.rglob("figures*.py"))]
    files += sorted((DRAWING / "figures").rglob("*.py")) if (DRAWING / "figures").is_dir() else []
    whole = hashlib.sha256(code_version().encode())
    for file in filter(Path.exists, files):
        content = file.read_bytes()
        whole.update(decisive(file.suffix, content))
    return whole.hexdigest()[:16]


def decisive(suffix: str, content: bytes) -> bytes:
    """Of a module its code, of a page its examples, of any other file everything."""
    if suffix == ".md":
        return "".join(block.content for block in examples.blocks(content.decode())).encode()
    return bare(content).encode() if suffix == ".py" else content


def outdated() -> list[str]:
    """The modules whose figures are not those that they would draw today."""
    made = json.loads(MADE.read_text(encoding="utf-8")) if MADE.exists() else {}
    return [name for name in SETS if made.get(name) != digest(name)]


def draw(name: str) -> None:
    """Draw what a module draws, and note with which code."""
    with tempfile.TemporaryDirectory() as place:
        importlib.import_module(name).main(Path(place))
        for file in sorted(Path(place).rglob("*")):
            if file.is_file() and file == best(file):
                target = FOLDER / file.relative_to(place)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    made = json.loads(MADE.read_text(encoding="utf-8")) if MADE.exists() else {}
    MADE.write_text(json.dumps({**made, name: digest(name)}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def best(file: Path) -> Path:
    """Of a figure drawn as SVG and PNG the one to keep."""
    vector, pixels = file.with_suffix(".svg"), file.with_suffix(".png")
    if file.suffix not in (".svg", ".png") or not (vector.exists() and pixels.exists()):
        return file
    return vector if vector.stat().st_size <= LARGEST else pixels


def main(arguments: list[str]) -> int:
    """Draw, or check."""
    stale = outdated()
    if "--check" in arguments:
        for name in stale:
            print(f"the figures of docs/_ext/{name}.py are out of date; draw them with: nox -s figures")
        return int(bool(stale))
    for name in SETS if "--all" in arguments else stale:
        print(f"drawing {name}")
        draw(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
