"""The Sphinx extension of these pages: markers filled in, formulas typeset, docstrings completed, names linked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import contents
import docstrings
import formulas
import mathml
import names
import notebooks
import tables

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """The markers of a page, and its formulas."""
    filled = notebooks.linked(docname, tables.fill_in(source[0]))
    pieces = re.split(r"(^(```+|~~~+).*?^\2 *$)", filled, flags=re.MULTILINE | re.DOTALL)
    for place in range(0, len(pieces), 3):  # what is not within a block of code
        pieces[place] = formulas.typeset(pieces[place])
    source[0] = "".join(piece for place, piece in enumerate(pieces) if place % 3 != 2)


def complete(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring, before napoleon reads it."""
    lines[:] = docstrings.complete(obj, lines)


def sign(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, result: str
) -> tuple[str, str] | None:
    """The signature of a function, method or class."""
    return docstrings.signature(what, obj)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what fills the pages in."""
    mathml.setup(app)
    names.setup(app)
    contents.setup(app)
    notebooks.setup(app)
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-docstring", complete, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", sign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
