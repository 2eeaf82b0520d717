"""The version of the code that decides results, by which kept results are known to be of it."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

from evenhand.core.version import __version__

#: Folders whose code decides results.
DECIDING = ("algorithms", "core", "environment", "policy", "simulation", "theory")
#: Files and folders in them that decide none: they describe, draw and check.
ASIDE = (
    "algorithms/citations.py",
    "algorithms/properties.py",
    "simulation/code_version.py",
    "core/errors.py",
    "simulation/checks.py",
    "simulation/figures",
    "simulation/verdicts.py",
    "theory/bounds",
    "theory/growth.py",
)


@cache
def code_version() -> str:
    """The version, and a digest of the code that decides results; comments and docstrings decide none.

    Example:
        >>> code_version().startswith(__version__)
        True
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(file for folder in DECIDING for file in (root / folder).rglob("*.py")):
        name = file.relative_to(root)
        if not any(path.as_posix() in ASIDE for path in (name, *name.parents)):
            digest.update(name.as_posix().encode() + bare(file.read_bytes()).encode())
    return f"{__version__}+{digest.hexdigest()[:10]}"


def bare(source: bytes) -> str:
    """Code without comments and without strings that stand alone, as docstrings do.

    Args:
        source: of a Python file.

    Example:
        >>> bare(b"x = 1  # one")
        'x = 1'
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
