"""What rewards, rounds and arms are called: in sentences, and never in names."""

from __future__ import annotations

import pytest

from evenhand.core.errors import EvenhandError
from evenhand.messages.words import MASKED, Words, masks

FILMS = Words("€", "visitors", "films")


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (FILMS, "1 round, 2 rounds; an arm, the arms", "1 visitor, 2 visitors; a film, the films"),
        (Words(arm_name="items"), "Every arm had a round; an arm, An arm", "Every item had a round; an item, An item"),
        (Words(round_name="person/people"), "a round of 20 rounds", "a person of 20 people"),
        (Words(round_name="batch/batches"), "1 round", "1 batch"),
        (Words(arm_name="staff"), "1 arm of 2 arms", "1 staff of 2 staff"),
        (FILMS, "alarm, armed, around, roundest, harm", "alarm, armed, around, roundest, harm"),
        (Words("€"), "arms and rounds", "arms and rounds"),
        (Words(arm_name="\\1 \\g<0>s"), "an arm", "a \\1 \\g<0>"),
    ],
)
def test_sentences(words: Words, text: str, said: str) -> None:
    assert words.say(text) == said


def test_names_stay_as_they_are() -> None:
    names = ["arm 1", "arm 10", "the round one", "tea", "(arm)"]
    text = "arm 1 and arm 10 are behind; the round one had a round, as (arm) did; tea is an arm."
    said = "arm 1 and arm 10 are behind; the round one had a visitor, as (arm) did; tea is a film."
    assert FILMS.say(text, masks(names)) == said
    assert masks(["tea", "alarm"]) is None


def test_with_very_many_such_names_sentences_keep_the_words_that_they_have() -> None:
    text = "arm 3 had a round"
    assert FILMS.say(text, masks(f"arm {place}" for place in range(MASKED + 1))) == text
    assert FILMS.say(text, masks(f"arm {place}" for place in range(MASKED))) == "arm 3 had a visitor"


@pytest.mark.parametrize("unit", [" €", "a\nb", 3, "\u202e"])
def test_a_unit_is_printable_text(unit: str) -> None:
    with pytest.raises(EvenhandError, match=r"^unit must be printable text without spaces around it, got "):
        Words(unit)


@pytest.mark.parametrize("word", ["/", "a/", "/a", "a/b/c", "a/ /b"])
def test_a_word_has_one_form_or_two(word: str) -> None:
    with pytest.raises(EvenhandError, match=r"^arm_name must be a plural such as 'visitors', or 'person/people', got "):
        Words(arm_name=word)


def test_of_a_table() -> None:
    assert Words.of(None) == Words() == Words.of({})
    assert Words.of({"unit": "€"}).to_json() == {"unit": "€"}
    with pytest.raises(EvenhandError, match=r"^words: unknown key 'rounds'; known: unit, round_name, arm_name$"):
        Words.of({"rounds": "visitors"})
