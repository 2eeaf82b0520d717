"""Who may import whom, where import-linter has no contract for it: ``python tools/imports.py``.

Modules may not import each other in a circle, also not under ``TYPE_CHECKING`` or inside a function, and nobody
imports another room's private names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

SOURCE = Path(__file__).parents[1] / "src"


def circle() -> list[str]:
    """A circle of modules, each of which imports the next; empty where there is none."""
    graph = grimp.build_graph("evenhand", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)}
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return [str(module) for module in reversed(error.args[1])]
    return []


def private_imports(path: Path) -> Iterator[str]:
    """The private names, of modules too, that a file imports from another room."""
    names = path.relative_to(SOURCE).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = (
                (*names[: -node.level], *(node.module or "").split(".")) if node.level else str(node.module).split(".")
            )
            for alias in node.names:
                full = [part for part in (*base, alias.name) if part]
                inside = any(part.startswith("_") and not part.endswith("__") for part in full)
                if inside and full[0] == "evenhand" and (full[1:2] != list(names[1:2]) or len(full) == 2):
                    yield f"{path.relative_to(SOURCE.parent)}:{node.lineno}: {'.'.join(full)} is another room's own"


def main() -> int:
    """Print each fault; the exit status is 1 where there is any."""
    faults = [fault for path in sorted(SOURCE.rglob("*.py")) for fault in private_imports(path)]
    if found := circle():
        faults.append(f"a circle of imports: {' -> '.join(found)}")
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
