"""``evenhand kinds``."""

from __future__ import annotations

import json

import pytest

from evenhand.cli.main import run


def test_every_slot_has_its_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kinds", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"index", "evidence", "fairness", "rewards", "feedback", "metric"} <= set(found)
    (top,) = [one for one in found["selection"] if one["kind"] == "top_m"]
    assert top["parameters"] == {"plays": "1", "ties": "first"}
    (bernoulli,) = [one for one in found["rewards"] if one["kind"] == "bernoulli"]
    assert bernoulli["parameters"]["means"] is None
    assert all(one["summary"] for entries in found.values() for one in entries)
    (declared,) = [one for one in found["features"] if one["kind"] == "features"]
    assert declared["parameters"]["situation"] == "made by the part"
    assert "NOTHING" not in [
        text for entries in found.values() for one in entries for text in one["parameters"].values()
    ]


def test_one_slot_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kinds", "selection"]) == 0
    shown = capsys.readouterr().out
    assert "plays = 1, ties = first" in shown
    assert "ucb" not in shown.split()


def test_an_unknown_slot_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kinds", "rewrads"]) == 2
    assert capsys.readouterr().err == "evenhand: there is no slot 'rewrads'; did you mean 'rewards'?\n"
