"""The errors that Evenhand raises; each says what is wrong, where, and what would be right."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Self

#: How a message begins that has a value as its subject: a name or a path, or nothing but the verb.
SUBJECT = re.compile(r"(?!there |this )[a-z_][\w.\[\]]*(?:: | (?:must|has|have|is|needs a|should)\b)|[a-z_]\w*\[")


class EvenhandError(ValueError):
    """An error that the caller can correct; `at` adds where it is, and `together` joins several."""

    def at(self, place: str) -> Self:
        """The same error with the path to the value in front, for every line of it.

        A message that begins with ``must`` or with an index in brackets lacks its subject, which is then the path.

        Args:
            place: path to the value or to the table that holds it, such as ``policies[2].fairness``.

        Example:
            >>> print(EvenhandError("fractions[3] must be a number in [0, 1], got 2.0").at("policies[0].fairness"))
            policies[0].fairness.fractions[3] must be a number in [0, 1], got 2.0
            >>> print(EvenhandError("must be a number, got 'a'").at("tolerance"))
            tolerance must be a number, got 'a'
        """
        lines = (_joined(place, line) for line in str(self).split("\n"))
        located = copy.copy(self)
        located.args = ("\n".join(lines),)
        return located

    def within(self, name: str) -> Self:
        """The same error with the name of the file, or of whatever else it is in, in front of every line.

        Args:
            name: what the error is in.

        Example:
            >>> print(EvenhandError("horizon is missing").within("run.toml"))
            run.toml: horizon is missing
        """
        located = copy.copy(self)
        located.args = ("\n".join(f"{name}: {line}" for line in str(self).split("\n")),)
        return located

    @classmethod
    def together(cls, errors: Sequence[EvenhandError]) -> EvenhandError:
        """One error with a line for each of several; of the first one's type.

        Args:
            errors: at least one.

        Example:
            >>> print(EvenhandError.together([EvenhandError("a must be 1"), EvenhandError("b must be 2")]))
            a must be 1
            b must be 2
        """
        if len(errors) == 1:
            return errors[0]
        joined = copy.copy(errors[0])
        joined.args = ("\n".join(dict.fromkeys(str(error) for error in errors)),)
        return joined


class InfeasiblePromise(EvenhandError):
    """Promised shares that no policy can keep; names the arms and the amount by which they exceed what is possible."""


class ConfigurationError(EvenhandError):
    """A configuration that cannot be run."""


class DataError(EvenhandError):
    """A data file that cannot be read; names the file, the column and the row."""


class StateError(EvenhandError):
    """A saved state that does not belong to this policy."""


def nearest(name: str, known: Iterable[object]) -> str:
    """A hint at the nearest known name, or at all of them where none is near.

    Args:
        name: that is unknown.
        known: the names that there are.

    Returns:
        The end of a message, from its semicolon on.
    """
    names = {str(one).lower(): one for one in known}
    close = difflib.get_close_matches(str(name).lower(), list(names), n=1, cutoff=0.5)
    return f"; did you mean {names[close[0]]!r}?" if close else f"; known: {', '.join(map(str, names.values()))}"


def number_of(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    Args:
        count: how many there are.
        one: the noun in the singular.
        many: its plural; empty for the singular with an s.

    Returns:
        Both, with commas between thousands.

    Example:
        >>> number_of(1, "entry", "entries"), number_of(2, "entry", "entries"), number_of(1200, "arm")
        ('1 entry', '2 entries', '1,200 arms')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def there_are(count: int, one: str, many: str = "") -> str:
    """That there are so many of something.

    Args:
        count: how many there are.
        one: the noun in the singular.
        many: its plural; empty for the singular with an s.

    Returns:
        A clause, such as that of a message.

    Example:
        >>> there_are(1, "arm"), there_are(3, "arm")
        ('there is 1 arm', 'there are 3 arms')
    """
    return f"there {'is' if count == 1 else 'are'} {number_of(count, one, many)}"


def shown(value: object, limit: int = 200) -> str:
    """A value as a message quotes it: its repr on one line, cut where it is long.

    Args:
        value: the value.
        limit: characters, at most.

    Returns:
        At most ``limit`` characters, the last of them ``…`` where the text is cut.

    Example:
        >>> shown([0.5, "a"]), shown("x" * 300, limit=10)
        ("[0.5, 'a']", "'xxxxxxxx…")
    """
    try:
        text = repr(value)
    except Exception:  # a whole number of more than 4300 digits, or a class whose repr fails
        return f"{type(value).__name__} that cannot be shown"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _joined(place: str, line: str) -> str:
    if not place:
        return line
    if line.startswith("["):
        return f"{place}{line}"
    if line.startswith(("must ", "needs a ", "is missing")):
        return f"{place} {line}"
    return f"{place}.{line}" if SUBJECT.match(line) else f"{place}: {line}"
