"""Where the values of a TOML file are, so that a message can point at one: `tomllib` keeps no positions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evenhand.core.errors import Path

BARE = re.compile(r"[A-Za-z0-9_-]+")
SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
STRINGS = {
    '"""': re.compile(r'"""(?:\\.|(?!""").)*"{3,5}', re.DOTALL),
    "'''": re.compile(r"'''(?:(?!''').)*'{3,5}", re.DOTALL),
    '"': re.compile(r'"(?:\\.|[^"\\\n])*"'),
    "'": re.compile(r"'[^'\n]*'"),
}
PLAIN = re.compile(r"[^,\]}#\n]*[^,\]}#\s]")  # numbers, dates, true and false


@dataclass(frozen=True)
class Span:
    """A key and its value, as places in the text; a table that has a header has its header in place of both."""

    key: tuple[int, int]
    value: tuple[int, int]


def positions(text: str) -> dict[Path, Span]:
    """The place of every value of a TOML file by its path, such as ``("policies", 0, "fractions", 1)``."""
    scanner = _Scanner(text)
    scanner.file()
    return scanner.found


@dataclass
class _Scanner:
    text: str
    at: int = 0
    found: dict[Path, Span] = field(default_factory=dict)
    tables: dict[Path, int] = field(default_factory=dict)  # path of an array of tables → index of its last table

    def file(self) -> None:
        within: Path = ()
        self.space()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                within = self.header()
            else:
                self.pair(within)
            self.space()

    def header(self) -> Path:
        start = self.at
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        names = self.key()
        self.at = self.text.index("]" * brackets, self.at) + brackets
        path: Path = ()
        for place, name in enumerate(names):
            path += (name,)
            if brackets == 2 and place == len(names) - 1:
                self.tables[path] = self.tables.get(path, -1) + 1
            if path in self.tables:
                path += (self.tables[path],)
        self.found[path] = Span((start, self.at), (start, self.at))
        return path

    def pair(self, within: Path) -> None:
        start = self.at
        path = (*within, *self.key())
        end = self.at
        self.space()
        self.at += 1  # the equals sign
        self.space()
        self.value(path, (start, end))

    def key(self) -> list[str]:
        names = []
        while True:
            self.space()
            quote = self.text[self.at]
            match = STRINGS.get(quote, BARE).match(self.text, self.at)
            assert match is not None
            names.append(match[0].strip("\"'"))
            self.at = match.end()
            rest = re.compile(r"[ \t]*\.").match(self.text, self.at)
            if rest is None:
                return names
            self.at = rest.end()

    def value(self, path: Path, key: tuple[int, int]) -> None:
        start, first = self.at, self.text[self.at]
        if first in "[{":
            self.at += 1
            self.items(path, "]" if first == "[" else "}")
        else:
            quote = next((quote for quote in STRINGS if self.text.startswith(quote, self.at)), None)
            match = (STRINGS[quote] if quote else PLAIN).match(self.text, self.at)
            assert match is not None
            self.at = match.end()
        self.found[path] = Span(key, (start, self.at))

    def items(self, path: Path, close: str) -> None:
        number = 0
        self.space()
        while self.text[self.at] != close:
            if close == "]":
                self.value((*path, number), (self.at, self.at))
            else:
                self.pair(path)
            number += 1
            self.space()
            if self.text[self.at] == ",":
                self.at += 1
                self.space()
        self.at += 1

    def space(self) -> None:
        match = SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
