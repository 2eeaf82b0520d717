"""A bandit speaks in the words of its user: audits, plans, health, saved and loaded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand.bandit import Bandit
from evenhand.changes import Promise, Reword
from evenhand.features import Category, Features

WORDS = {"unit": "€", "round_name": "visitors", "arm_name": "films"}
USUAL = re.compile(r"\b(round|arm)s?\b|of reward\b")
ARMS = ["Ida", "round trip", "arm 3", "Alien"]


def lived(words: Any = WORDS, **more: Any) -> Bandit:
    bandit = Bandit(
        ARMS, "fucb", fractions=[0.2, 0.2, 0, 0], seed=1, rewards=(0, 10), missing="never", words=words, **more
    )
    for now in range(300):
        able = ARMS if now < 150 else ARMS[1:]
        decision = bandit.decide(available=able, now=float(now))
        if now % 4:
            bandit.observe(decision.id, {arm: 10.0 * (ARMS.index(arm) % 2) for arm in decision.names}, now=float(now))
    return bandit


def sentences(bandit: Bandit) -> list[str]:
    audit = bandit.audit(now=400.0)
    plan = bandit.plan(Promise({"Ida": 0.4})).effect
    assert plan is not None
    assert audit.cost is not None
    assert audit.deficit_history is not None
    texts = [audit.verdict, audit.fault, *audit.warnings, *(line.reason for line in audit.lines), *audit.notes()]
    return [*texts, audit.cost.note, audit.deficit_history.note or "", *plan.text, bandit.health(now=400.0).text]


def test_every_sentence_has_the_words() -> None:
    """None but those of names is left, and nothing else is another than with the usual words."""
    own, usual = sentences(lived()), sentences(lived(None))
    for name in ARMS:
        own, usual = ([text.replace(name, "X") for text in texts] for texts in (own, usual))
    assert any(USUAL.search(text) for text in usual)
    assert [text for text in own if USUAL.search(text)] == []
    assert any("films" in text for text in own)
    assert any("per visitor" in text for text in own)
    assert any(" €" in text for text in own)


def test_the_printed_audit_has_the_words() -> None:
    head, *_ = str(lived().audit(now=400.0)).splitlines()
    assert head == "4 films, 300 visitors, fucb"
    assert re.search(r"^film +promised .*estimate, €", str(lived().audit(now=400.0)), re.MULTILINE)
    assert re.search(r"^arm +promised .*estimate(?!,)", str(lived(None).audit(now=400.0)), re.MULTILINE)


def test_words_are_saved_and_changed(tmp_path: Path) -> None:
    bandit = lived()
    bandit.save(tmp_path / "films.json")
    loaded = Bandit.load(tmp_path / "films.json")
    assert sentences(loaded) == sentences(bandit)
    assert loaded.plan(Reword(**WORDS)).changed is False
    assert loaded.plan(Reword("$")).changed is True
    version = loaded.version
    loaded.change(Reword())
    assert sentences(loaded) == sentences(lived(None))
    assert loaded.version == version, "the policy is the same"
    assert "words" not in loaded.dump()
    assert json.loads(json.dumps(loaded.audit(now=400.0).to_json()))["words"] == dict.fromkeys(WORDS, "")


@pytest.mark.parametrize("words", [{"unit": " €"}, {"rounds": "x"}])
def test_words_are_checked(words: Any) -> None:
    with pytest.raises(ValueError, match=r"unit must be|unknown key"):
        lived(words)


def test_names_of_segments_and_features_stay_as_they_are() -> None:
    features = Features({"arm of service": Category(["round trip", "one way"])})
    policy = {"index": "lin_ucb", "fairness": {"kind": "deficit_first", "fractions": 0.0}}
    bandit = Bandit(["Ida", "Alien"], policy, features=features, segments="arm of service", words=WORDS)
    bandit.promise({"Ida": 0.5}, segment="round trip", now=0.0)
    for now in range(20):
        bandit.decide(
            {"arm of service": "open return" if now % 5 else "round trip"}, available=["Alien"], now=float(now)
        )
    audit = bandit.audit(now=30.0)
    assert "Ida in the segment round trip is" in audit.verdict
    assert (
        "over all visitors. It is promised 50% in the segment round trip, where it is 2 plays behind and could play"
        in audit.lines[0].reason
    )
    assert "in the segment round trip" in audit.changes_made[-1].text
    assert any("arm of service had a value" in one and "20 visitors" in one for one in audit.warnings)
