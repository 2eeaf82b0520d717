"""``evenhand glossary``: what the words of the project mean."""

from __future__ import annotations

import textwrap
from typing import Annotated

from typer import Argument

from evenhand.cli.options import AsJson
from evenhand.cli.output import print_json


def words() -> list[str]:
    """The words, for completion."""
    from evenhand.core.glossary import terms

    return list(terms())


def glossary(
    word: Annotated[str | None, Argument(autocompletion=words)] = None,  # word to explain; without one, all are listed
    as_json: AsJson = False,
) -> None:
    """Explain a word that commands, pages and errors use, or list all of them.

    Examples:
        evenhand glossary deficit
        evenhand glossary --json
    """
    from evenhand.core.glossary import find, terms

    chosen = [find(word)] if word else list(terms().values())
    if as_json:
        found = [{"word": term.name, "forms": list(term.forms), "text": term.plain} for term in chosen]
        print_json(found[0] if word else found)
        return
    for term in chosen:
        print(", ".join([term.name, *term.forms]))
        print(textwrap.fill(term.plain, 80, initial_indent="  ", subsequent_indent="  "))
