"""Check that nobody outside the rooms of the parts asks what class a part or its memory has.

``python tools/rooms.py`` reads ``src/evenhand`` and prints every ``isinstance``, ``issubclass``, ``type(x) is``,
pattern of ``match``, table with classes as keys, and test of a class's name, that names a class from ``policy`` or
``environment``. Parts answer for themselves: ask a member or a trait. To construct and to annotate is free.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "evenhand"
ROOMS = ("policy", "environment", "algorithms")  # in which classes may be asked for
#: What is not a part: what a caller gives as a whole.
WHOLE = {"Policy", "Environment", "World", "Algorithm", "Paper"}


def main(arguments: list[str]) -> int:
    """Print what is found; 1 if anything is."""
    root = Path(arguments[0]) if arguments else SOURCE
    classes = classes_of_parts(root)
    found = [line for path in sorted(root.rglob("*.py")) for line in faults(path, root, classes)]
    print("\n".join(found) or f"{len(classes)} classes of parts and memories are asked for in their rooms only")
    return 1 if found else 0


def classes_of_parts(root: Path) -> frozenset[str]:
    """The names of all classes that are defined in the rooms of the parts: parts, and what they remember."""
    names: set[str] = set()
    for room in ROOMS[:2]:
        for path in (root / room).rglob("*.py"):
            names |= {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
    return frozenset(name for name in names if not name.startswith("_")) - WHOLE


def faults(path: Path, root: Path, classes: frozenset[str]) -> Iterator[str]:
    """A line for each place of a module outside the rooms that asks for a class of a part."""
    place = path.relative_to(root)
    if place.parts[0] in ROOMS:
        return
    tree = ast.parse(path.read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    rooms = tuple(f"evenhand.{room}" for room in ROOMS)
    ours = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(tuple(f"evenhand.{one}" for one in ROOMS))
        for alias in node.names
        if alias.name in classes
    }
    modules = {
        alias.asname or alias.name for node in imports if node.module in (*rooms, "evenhand") for alias in node.names
    }

    def part(node: ast.AST) -> str | None:
        """The class of a part that an expression names, if it does."""
        if isinstance(node, ast.Name):
            return ours.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            return node.attr if node.attr in classes else None
        return None

    for node in ast.walk(tree):
        asked = [name for inner in _asking(node) for one in ast.walk(inner) if (name := part(one))]
        if asked:
            yield f"{place}:{getattr(node, 'lineno', 0)}: asks for {', '.join(sorted(set(asked)))}"
        if isinstance(node, ast.Compare) and any(_class_name(one) for one in (node.left, *node.comparators)):
            yield f"{place}:{node.lineno}: compares the name of a class"


def _asking(node: ast.AST) -> list[ast.expr]:
    """The expressions in which a class is asked for: what it is compared with, or looked up by."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        return list(node.args[1:])
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return sides if any(_is_type(one) for one in sides) else [one for one in sides if isinstance(one, ast.Name)]
    if isinstance(node, ast.MatchClass):
        return [node.cls]
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    return []


def _is_type(node: ast.AST) -> bool:
    """``type(x)`` or ``x.__class__``."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _class_name(node: ast.AST) -> bool:
    """``type(x).__name__`` or ``x.__class__.__name__``."""
    return isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__") and _is_type(node.value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
