"""The Sphinx extension of these pages: figures are drawn, markers filled in, docstrings completed, names linked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import docstrings
import make_figures
import tables

if TYPE_CHECKING:
    from docutils.nodes import TextElement, reference
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def draw(app: Sphinx) -> None:
    """The figures that pages show, into docs/_build/figures."""
    make_figures.main(Path(app.srcdir) / "_build" / "figures")


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """The markers of a page."""
    source[0] = tables.fill_in(source[0])


def complete(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring, before napoleon reads it."""
    lines[:] = docstrings.complete(obj, lines)


def sign(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, result: str
) -> tuple[str, str] | None:
    """The signature of a function, method or class."""
    return docstrings.signature(what, obj)


def link(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: TextElement) -> reference | None:
    """Where a bare name in a docstring leads, if that is clear."""
    from sphinx.util.nodes import make_refnode

    if node.get("refdomain") != "py" or node.get("reftype") not in ("obj", "class", "func"):
        return None
    objects: dict[str, Any] = env.domains["py"].data["objects"]
    name = docstrings.meaning(node["reftarget"], objects)
    if name is None:
        return None
    entry = objects[name]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, text, name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what fills the pages in."""
    app.connect("builder-inited", draw)
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-docstring", complete, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", sign)
    app.connect("missing-reference", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
