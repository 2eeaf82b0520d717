"""Configuration of the documentation: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import docstrings  # noqa: E402
import make_figures  # noqa: E402
import tables  # noqa: E402

import evenhand  # noqa: E402

if TYPE_CHECKING:
    from docutils.nodes import Element, TextElement, reference
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "Evenhand"
author = "the authors of Evenhand"
copyright = "the authors of Evenhand; Apache License 2.0"
version = release = evenhand.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["_build"]
language = "en_GB"

default_role = "py:obj"  # `Policy` in a docstring is a link, or code where there is nothing to link to
add_module_names = False
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 96
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Fields", "params_style")]
napoleon_use_rtype = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Evenhand {version}"
html_static_path = ["_static"]
html_css_files = ["evenhand.css"]
pygments_style = "friendly"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def _fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = tables.fill_in(source[0])


def _draw(app: Sphinx) -> None:
    make_figures.main(HERE / "_build" / "figures")


def _complete(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = docstrings.complete(obj, lines)


def _sign(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, result: str
) -> tuple[str, str] | None:
    return docstrings.signature(what, obj)


def _find(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: TextElement) -> reference | None:
    """Where a bare name in a docstring leads, if that is clear: a public name, or the only object of that name."""
    if node.get("refdomain") != "py" or node.get("reftype") not in ("obj", "class"):
        return None
    domain: Any = env.domains["py"]
    found = docstrings.meaning(node["reftarget"], domain.objects)
    if found is None:
        return None
    from sphinx.util.nodes import make_refnode

    entry = domain.objects[found]
    children: Element = text
    made: reference = make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, children, found)
    return made


def setup(app: Sphinx) -> None:
    """Connect what fills the pages in."""
    app.connect("builder-inited", _draw)
    app.connect("source-read", _fill_in)
    app.connect("autodoc-process-docstring", _complete, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", _sign)
    app.connect("missing-reference", _find)
