"""Every recommendation suits what it is for, can be started as it says, and has a claim that was confirmed."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.algorithms.build import Surroundings, build_policy
from evenhand.algorithms.properties import feedback_of, promise_of
from evenhand.algorithms.recommendation import TABLE, by_features, command, of_parts, recommendations, start
from evenhand.algorithms.registry import find
from evenhand.cli.options import parameters, policy
from evenhand.core.errors import ConfigurationError
from evenhand.messages.questions import QUESTIONS, REPORTED

CLAIMS = json.loads((Path(__file__).parents[2] / "docs/_static/claims.json").read_text(encoding="utf-8"))
#: What of `feedback_of` an answer needs; late rewards that depend on nothing suit every policy.
NEEDS: dict[str, set[str]] = {
    "late": set(),
    "dependent": {"dependent"},
    "unnamed": {"dependent"},
    "sums": {"anonymous"},
}
PROMISES = {"share": "share", "long_run": "share", "price": "share", "chance": "share"}


@pytest.mark.parametrize("one", recommendations(), ids=lambda one: f"{one.algorithm}-{'-'.join(one.when['rewards'])}")
def test_a_recommendation_is_made_for_what_it_is_recommended_for(one: eh.answers.Recommendation) -> None:
    (promise,) = one.when["promise"]
    if of_parts(one):
        made = build_policy(one.parameters, Surroundings(3, columns=(1, 1)))
        assert made.contextual
        assert made.promises_shares
        assert made.repays == (promise != "chance")
        return
    entry = find(one.algorithm)
    assert entry.example().contextual == by_features(one)
    assert promise_of(entry) == PROMISES.get(promise, promise)
    known = feedback_of(entry)
    for rewards in one.when["rewards"]:
        assert set(known) >= NEEDS[rewards]
        for kind in NEEDS[rewards]:
            assert one.parameters.items() >= known[kind].items()
    changing = "changing" in known or "discount" in one.parameters
    assert one.when["means"] == ("fixed",) or changing or one.parameters["evidence"]["kind"] == "forgetting"


@pytest.mark.parametrize("one", recommendations(), ids=start)
def test_a_recommendation_starts_as_it_says(one: eh.answers.Recommendation) -> None:
    for reported in REPORTED.options:
        bandit: eh.Bandit = eval(start(one, reported), {"Bandit": eh.Bandit})
        assert bandit.decide({"country": "FR"} if by_features(one) else None).names
    words = shlex.split(command(one))
    assert words[:4] == ["evenhand", "client", "create", "drinks"]
    assert ("--features" in words) == by_features(one)
    if of_parts(one):
        assert policy(words[4])[0] == one.parameters
        return
    assert words[4] == one.algorithm
    assert parameters([words[at + 1] for at, word in enumerate(words) if word == "--set"]) == one.parameters


@pytest.mark.parametrize(
    ("experiment", "words"),
    sorted({(name, words) for one in TABLE for row in one.rows() for name, words in row.evidence}),
)
def test_evidence_is_a_confirmed_claim(experiment: str, words: str) -> None:
    verdicts = next(one for one in CLAIMS["experiments"] if one["id"] == experiment)["verdicts"]
    (verdict,) = (one for one in verdicts if one["sentence"].startswith(words))
    assert verdict["status"] == "confirmed"


def test_usual_answers_have_a_recommendation_and_explainable_ones_do_not_draw() -> None:
    for promise in QUESTIONS[0].options:
        assert 1 <= len(eh.which(promise)) <= 2
        assert all("yes" in one.when["explainable"] for one in eh.which(promise, explainable=True))
    for answers in product(*(question.options for question in QUESTIONS[:3])):
        assert len(eh.which(*answers)) <= 2
    assert [one.algorithm for one in eh.which("share", "dependent")] == ["f_ts", "fucb"]
    assert eh.which("merit", "sums") == ()


def test_with_features_it_is_what_goes_by_them() -> None:
    for promise in ("share", "long_run", "chance", "merit", "none"):
        assert all("yes" in one.when["features"] for one in eh.which(promise, features=True))
        assert eh.which(promise, features=True)
    assert [one.algorithm for one in eh.which("long_run", features=True)] == [
        "lin_ts + virtual_queue", "lin_ucb + virtual_queue",
    ]  # fmt: skip
    assert [one.algorithm for one in eh.which("none", features=True, explainable=True)] == ["lin_ucb"]
    assert eh.which("share", "sums", features=True) == ()


def test_an_unknown_answer_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^rewards must be one of late, .*, got 'soon'$"):
        eh.which("share", "soon")
