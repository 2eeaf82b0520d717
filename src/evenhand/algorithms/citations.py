r"""The publications that the algorithms come from, read from ``citations.bib``.

The file is this project's own: an entry has one field per line, and every value is in braces. Reading that takes the
few lines below and about a millisecond; the libraries for BibTeX read any file, and take 50 milliseconds
(bibtexparser 2.1) or 70 (pybtex 0.26) to import.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from os import path

from evenhand.core.dataclasses import dataclass

ENTRY = re.compile(r"^@(?P<kind>\w+)\{(?P<key>\w+),\n(?P<fields>.*?)^\}", flags=re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (?P<name>\w+) *= \{(?P<value>.*)\},$", flags=re.MULTILINE)
#: Accents in TeX and as combining characters of Unicode.
ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308"}


@dataclass(frozen=True)
class Paper:
    """A publication."""

    entry: str
    key: str
    kind: str
    fields: Mapping[str, str]

    @property
    def title(self) -> str:
        """The title."""
        return self.fields["title"]

    @property
    def short(self) -> str:
        """Authors and year in a few words."""
        names = [author.split(",")[0] for author in self.fields["author"].split(" and ")]
        several = f"{names[0]} et al." if len(names) > 2 else " & ".join(names)
        return f"{several} {self.fields['year']}"

    @property
    def citation(self) -> str:
        """The publication in one line: authors, title, venue, year."""
        authors = ", ".join(_initials(author) for author in self.fields["author"].split(" and "))
        return f"{authors}: {self.title}. {self._venue}, {self.fields['year']}"

    @property
    def _venue(self) -> str:
        if "booktitle" in self.fields:
            return self.fields["booktitle"]
        if "journal" in self.fields:
            number = f"({self.fields['number']})" if "number" in self.fields else ""
            return f"{self.fields['journal']} {self.fields.get('volume', '')}{number}".strip()
        return f"{self.fields['archiveprefix']}:{self.fields['eprint']}"

    def bibtex(self) -> str:
        """The BibTeX entry."""
        return self.entry


def parse(text: str) -> dict[str, Paper]:
    r"""The entries of a BibTeX file in the format of ``citations.bib``, by key."""
    return {
        found["key"]: Paper(
            entry=found[0],
            key=found["key"],
            kind=found["kind"],
            fields={field["name"]: _unicode(field["value"]) for field in FIELD.finditer(found["fields"])},
        )
        for found in ENTRY.finditer(text)
    }


def _unicode(value: str) -> str:
    """Accents and dashes of TeX as characters, without the braces that protect capitals."""
    value = re.sub(r"\{?\\([`'^~\"])\{?(\w)\}?\}?", lambda found: found[2] + ACCENTS[found[1]], value)
    return unicodedata.normalize("NFC", value.replace("--", "–").replace("{", "").replace("}", ""))


def _initials(author: str) -> str:
    """``"Schapire, Robert E."`` as ``"R. E. Schapire"``."""
    last, _, given = author.partition(", ")
    return " ".join([*(f"{name[0]}." for name in given.split()), last])


def _text() -> str:
    with open(path.join(path.dirname(__file__), "citations.bib"), encoding="utf-8") as file:  # `pathlib` takes longer
        return file.read()


PAPERS = parse(_text())
