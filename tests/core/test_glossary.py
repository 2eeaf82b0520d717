"""The glossary explains what commands and measures are called, in order, and links only to words that it has."""

from __future__ import annotations

import json
import re

import pytest

from evenhand.cli import main as cli
from evenhand.core.errors import EvenhandError
from evenhand.core.glossary import LINK, find, terms
from evenhand.policy.composition import SLOTS


def test_words_are_in_order_and_links_lead_somewhere() -> None:
    names = list(terms())
    assert names == sorted(names, key=str.lower)
    known = {form.lower() for term in terms().values() for form in (term.name, *term.forms)}
    for term in terms().values():
        for link in re.findall(r"\{term\}`(?:[^`<]+<)?([^`>]+)>?`", term.text):
            assert link.lower() in known, term.name
        assert len(LINK.findall(term.text)) == term.text.count("{term}")
        assert "{" not in term.plain
        assert term.text.endswith(".")


def test_slots_of_a_policy_are_explained() -> None:
    assert SLOTS.keys() <= terms().keys()


@pytest.mark.parametrize(("word", "name"), [("DEFICIT", "deficit"), ("shares", "share"), ("pscore", "propensity")])
def test_a_word_is_found_by_its_forms_and_by_words_of_the_literature(word: str, name: str) -> None:
    assert find(word).name == name


def test_an_unknown_word_is_refused_with_the_nearest() -> None:
    with pytest.raises(EvenhandError, match=r"no word 'defizit'; did you mean 'deficit'\?"):
        find("defizit")


def test_command_lists_all_words_or_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["glossary", "--json"]) == 0
    assert [one["word"] for one in json.loads(capsys.readouterr().out)] == list(terms())
    assert cli.run(["glossary", "arrears"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("arrears\n  An arm is in arrears")
    assert "See deficit." in " ".join(shown.split())
