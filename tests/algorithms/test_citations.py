"""The citations: every entry of the .bib file is read in full, and reads well in one line."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from evenhand.algorithms.citations import PAPERS, Paper, parse
from evenhand.algorithms.registry import ALGORITHMS

TEXT = (files("evenhand.algorithms") / "citations.bib").read_text(encoding="utf-8")
#: Fields that an entry must have, by its type: the venue and what every entry has.
REQUIRED = {
    "article": {"title", "author", "year", "journal", "volume", "pages"},
    "inproceedings": {"title", "author", "year", "booktitle"},
    "misc": {"title", "author", "year", "eprint", "archiveprefix"},
}
EVERY = pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))


def test_no_entry_is_left_out() -> None:
    assert len(PAPERS) == TEXT.count("\n@") + TEXT.startswith("@")
    assert list(PAPERS) == sorted(PAPERS)
    assert "\n\n".join(paper.bibtex() for paper in PAPERS.values()) == TEXT.strip()


@EVERY
def test_an_entry_is_complete(paper: Paper) -> None:
    assert set(paper.fields) >= REQUIRED[paper.kind]
    assert all(paper.fields.values())
    assert len(paper.fields) == paper.entry.count("\n") - 1  # every line between the first and the last
    assert paper.entry.count("{") == paper.entry.count("}")


@EVERY
def test_the_key_names_first_author_and_year(paper: Paper) -> None:
    surname = paper.fields["author"].split(",")[0].replace("-", "").lower()
    assert paper.key.startswith(surname + paper.fields["year"])


@EVERY
def test_the_citation_is_readable(paper: Paper) -> None:
    authors, title = paper.citation.split(": ", 1)
    assert len(authors.split(", ")) == paper.fields["author"].count(" and ") + 1
    assert all(re.fullmatch(r"([A-Z]\. )+[\w-]+", author) for author in authors.split(", "))
    assert title.startswith(paper.title)
    assert title.endswith(f", {paper.fields['year']}")
    assert not set("{}\\") & set(paper.citation)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_cites_an_entry(name: str) -> None:
    paper = ALGORITHMS[name].paper
    assert paper is not None
    assert PAPERS[paper.key] == paper


def test_accents_dashes_and_braces_are_read() -> None:
    lines = (r"author = {O'Neil, Ren{\'e}e and Gr{\"u}n, Nicol\`o}", "pages = {1--2}", "title = {A {B}}")
    text = "@misc{o2020,\n" + "".join(f"  {line},\n" for line in lines) + "}\n"
    fields = parse(text)["o2020"].fields
    assert dict(fields) == {"author": "O'Neil, Renée and Grün, Nicolò", "pages": "1–2", "title": "A B"}
