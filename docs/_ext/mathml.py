"""Formulas as MathML, which browsers typeset by themselves: no script, and nothing from a network."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

SPACE = "http://www.w3.org/1998/Math/MathML"
FONT = "STIXTwoMath-Regular.ttf"  # in the package ziamath, with its licence, the SIL Open Font Licence
#: Signs whose limits stand below and above them where there is room.
LARGE = {"∑", "∏", "max", "min", "sup", "inf", "argmax"}


@cache
def converted(source: str, display: str) -> str:
    """LaTeX as MathML; ``display`` is ``inline`` or ``block``."""
    from latex2mathml.converter import convert

    ET.register_namespace("", SPACE)
    root = ET.fromstring(convert(source, display=display))
    for one in root.iter():
        name = one.tag.removeprefix(f"{{{SPACE}}}")
        if name in ("msub", "msubsup") and len(one) and "".join(one[0].itertext()) in LARGE:
            one.tag = f"{{{SPACE}}}" + {"msub": "munder", "msubsup": "munderover"}[name]
    root.set("alttext", source)
    return ET.tostring(root, encoding="unicode")


def visit_inline(self: Any, node: nodes.math) -> None:
    """A formula within a line."""
    from docutils.nodes import SkipNode

    self.body.append(f'<span class="formula">{converted(node.astext(), "inline")}</span>')
    raise SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """A formula that stands alone."""
    from docutils.nodes import SkipNode

    self.body.append(f'<div class="formula">{converted(node.astext(), "block")}</div>')
    raise SkipNode


def bring_font(app: Sphinx, exception: Exception | None) -> None:
    """The font beside the pages, so that formulas look alike on machines that have none for mathematics."""
    import ziamath

    folder = Path(app.outdir) / "_static"
    if exception is None and folder.is_dir():
        shutil.copyfile(Path(ziamath.__file__).parent / "fonts" / FONT, folder / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the renderer for HTML."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", bring_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
