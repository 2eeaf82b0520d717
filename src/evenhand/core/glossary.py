"""The words of the project and what they mean, read from ``glossary.toml``."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError, nearest

LINK = re.compile(r"\{term\}`([^`<]+?)(?: <[^`>]*>)?`")


@dataclass(frozen=True)
class Term:
    """A word and what it means."""

    name: str
    text: str
    forms: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """The meaning without Markdown."""
        return re.sub(r"[*`]", "", LINK.sub(r"\1", self.text))


def terms() -> dict[str, Term]:
    """All words, in the order of the alphabet."""
    tables = tomllib.loads(files("evenhand.core").joinpath("glossary.toml").read_text(encoding="utf-8"))
    return {name: Term(name, one["text"], tuple(one.get("forms", ()))) for name, one in tables.items()}


def find(word: str) -> Term:
    """The term for a word, or for a word of the literature that stands in brackets."""
    known, wanted = terms(), word.lower()
    for term in known.values():
        if wanted in (name.lower() for name in (term.name, *term.forms)):
            return term
    bracketed = re.compile(rf"\([^)]*\b{re.escape(wanted)}\b[^)]*\)", flags=re.IGNORECASE)
    for term in known.values():
        if bracketed.search(term.plain):
            return term
    raise EvenhandError(f"the glossary has no word {word!r}{nearest(word, known)}")
