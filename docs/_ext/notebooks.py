"""The pages of the paths as notebooks: their text as it is, their examples as cells, with what they printed."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import examples

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PATHS = "paths/"
LINK = '<p class="download"><a href="{name}.ipynb" download>Download as a notebook</a></p>'


def notebook(text: str) -> dict[str, Any]:
    """A page as a notebook of format 4."""
    cells, end = [], 0
    for found in examples.BLOCK.finditer(text):
        cells += [prose(text[end : found.start()]), *code(examples.Block(*found.groups()))]
        end = found.end()
    cells.append(prose(text[end:]))
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    kept = [one | {"id": f"cell-{place}"} for place, one in enumerate(filter(None, cells))]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": kept}


def prose(text: str) -> dict[str, Any] | None:
    """A cell of text, or None where there is none; comments and roles of these pages are left out."""
    plain = re.sub(r"<!--.*?-->|^```\{.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    plain = re.sub(r"\{\w+\}`([^`<]+?)(?: <[^`>]*>)?`", r"*\1*", plain).strip()
    return {"cell_type": "markdown", "metadata": {}, "source": plain} if plain else None


def code(block: examples.Block) -> list[dict[str, Any]]:
    """The cells of a block: a file is written, commands and sessions run, anything else is shown."""
    if block.file:
        return [cell(f"%%writefile {block.file}\n{block.content}".rstrip())]
    if block.language == "console":
        return [cell(f"!{line}", shown) for line, shown in examples.commands_of(block.content)]
    if block.language == "pycon":
        return session(block.content)
    return [{"cell_type": "markdown", "metadata": {}, "source": f"```{block.language}\n{block.content}```"}]


def session(content: str) -> list[dict[str, Any]]:
    """The cells of a session: one ends where something is printed."""
    cells, lines = [], ""
    for one in doctest.DocTestParser().get_examples(content):
        lines += one.source
        if one.want:
            cells.append(cell(lines.rstrip(), one.want))
            lines = ""
    return [*cells, cell(lines.rstrip())] if lines else cells


def cell(source: str, printed: str = "") -> dict[str, Any]:
    """A cell of code, with what it printed."""
    outputs = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "source": source, "outputs": outputs}


def linked(docname: str, text: str) -> str:
    """The page of a path with a link to its notebook below the title."""
    if not (docname.startswith(PATHS) and docname.count("/") == 2):
        return text
    title, rest = text.split("\n", 1)
    return f"{title}\n\n{LINK.format(name=docname.rpartition('/')[2])}\n{rest}"


def write(app: Sphinx, exception: Exception | None) -> None:
    """The notebooks beside the pages."""
    if exception is None and app.builder.format == "html":
        for page in sorted((examples.DOCS / PATHS).glob("*/*.md")):
            target = Path(app.outdir) / page.relative_to(examples.DOCS).with_suffix(".ipynb")
            target.write_text(json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connects it."""
    app.connect("build-finished", write)
