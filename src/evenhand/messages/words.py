"""What rewards, rounds and arms are called where people read of them.

The imports are relative, as the client's package has this module, too, under another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from ..core.dataclasses import dataclass
from ..core.errors import EvenhandError
from .rules import Described, MaxLen

Word = Annotated[str, MaxLen(40)]
NOUN = re.compile(r"\b(?:([Aa])n? )?(round|arm)(s?)\b")
MASKED = 1000  # names with such a word in them; with more of them sentences keep the words that they have
ALL = re.compile("(.+)", re.DOTALL)


@dataclass(frozen=True)
class Words(Described):
    """The unit of rewards, and what rounds and arms are called.

    Example:
        >>> words = Words("€", "visitors", "films")
        >>> words.say("No arm was behind in any of the 3 rounds; a round has an arm.")
        'No film was behind in any of the 3 visitors; a visitor has a film.'
        >>> words.amount("3.2"), Words(round_name="person/people").say("1 round of 2 rounds")
        ('3.2 €', '1 person of 2 people')
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
    unit: Word = ""  # of rewards, such as `€`
    # what rounds are called, such as `visitors`, or `person/people` where the singular is another word
    round_name: Word = ""
    arm_name: Word = ""  # what arms are called, such as `films`, in the same form

    def __post_init__(self) -> None:
        for name in NAMES:
            value = getattr(self, name)
            if not isinstance(value, str) or not (value == "" or value.isprintable()) or value != value.strip():
                raise EvenhandError(f"{name} must be printable text without spaces around it, got {value!r}")
            if name != "unit" and (value.count("/") > 1 or not all(map(str.strip, forms_of(value)))):
                raise EvenhandError(f"{name} must be a plural such as 'visitors', or 'person/people', got {value!r}")

    @classmethod
    def of(cls, plain: Words | Mapping[str, Any] | None) -> Words:
        """From a table of its fields, or None for no words."""
        if isinstance(plain, Words) or plain is None:
            return plain or cls()
        if unknown := sorted(set(plain) - set(NAMES)):
            raise EvenhandError(f"words: unknown key {unknown[0]!r}; known: {', '.join(NAMES)}")
        return cls(**plain)

    def to_json(self) -> dict[str, str]:
        """The words that there are."""
        return {name: value for name, value in vars(self).items() if value}

    def amount(self, number: str) -> str:
        """A number of reward with its unit."""
        return f"{number} {self.unit}" if self.unit else number

    def head(self, name: str) -> str:
        """The head of a column of arms, or of rewards and their differences."""
        return f"{name}, {self.unit}" if name in ("estimate", "reward", "difference") and self.unit else self.say(name)

    def say(self, text: str, masked: re.Pattern[str] | None = None) -> str:
        """A sentence with these words; names that the pattern finds stay as they are."""
        if not (self.round_name or self.arm_name):
            return text
        parts = [text] if masked is None else masked.split(text)
        return "".join(part if at % 2 else NOUN.sub(self._word, part) for at, part in enumerate(parts))

    def _word(self, found: re.Match[str]) -> str:
        article, noun, plural = found[1], found[2], bool(found[3])
        value = self.round_name if noun == "round" else self.arm_name
        if not value:
            return found[0]
        word = forms_of(value)[plural]
        return f"{article}{'n' * (word[0].lower() in 'aeiou')} {word}" if article else word


NAMES = tuple(Words.__annotations__)[1:]


def forms_of(word: str) -> tuple[str, str]:
    """The singular and the plural."""
    one, slash, more = word.partition("/")
    return (one, more) if slash else (word.removesuffix("s") or word, word) if word else ("-", "-")


def masks(names: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for the names in which a word stands that a sentence would replace; None where there are none."""
    found = {name for name in names if NOUN.search(name)}
    return _pattern(tuple(sorted(found, key=len, reverse=True))) if len(found) <= MASKED else ALL


@lru_cache(16)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile(f"({'|'.join(map(re.escape, names))})") if names else None


def in_segment(name: str, segment: str) -> str:
    """What an arm is called of which something is promised in one segment of the rounds."""
    return f"{name} in the segment {segment}"
