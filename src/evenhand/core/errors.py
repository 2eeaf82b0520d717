"""The errors that Evenhand raises; each says what is wrong, where, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Self

from .dataclasses import dataclass

Path = tuple[str | int, ...]
HINTED = 100  # names up to which an error about an unknown one suggests the nearest
VERBS = ("must ", "should ", "has ", "have ", "is ", "needs a ")  # with which a message goes on that has a subject


@dataclass(frozen=True)
class Fault:
    """What is wrong with one value: a message without its subject, which is the path.

    ``key`` is what the message is about in the table at the path: a key that is unknown, or ``kind``.
    """

    text: str
    path: Path = ()
    key: str = ""

    def __str__(self) -> str:
        """The fault with its path in front."""
        if not self.path:
            return self.text
        return f"{written(self.path)}{' ' if self.text.startswith(VERBS) else ': '}{self.text}"


def written(path: Path) -> str:
    """A path as text."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


class EvenhandError(ValueError):
    """An error that the caller can correct; it carries what is wrong, and where, as data.

    Args:
        text: the message, without its subject where there is a path.
        *path: names and numbers that lead to the value; empty ones are left out.
        key: what the message is about in the table at the path, such as an unknown key.

    Attributes:
        faults: one or several.

    Example:
        >>> print(EvenhandError("must be a number in [0, 1], got 2.0", "fractions", 3))
        fractions[3] must be a number in [0, 1], got 2.0
    """

    faults: tuple[Fault, ...]

    def __init__(self, text: str = "", *path: str | int, key: str = "") -> None:
        if path and " " in str(path[0]):  # a phrase such as "an arm of the group 'north'"
            text, path = f"{written(path)} {text}", ()
        self.faults = (Fault(text, tuple(step for step in path if step != ""), key),)
        super().__init__(str(self.faults[0]))

    def __str__(self) -> str:
        """A line for each fault."""
        return "\n".join(map(str, self.faults))

    def having(self, faults: Iterable[Fault]) -> Self:
        """The same error with other faults.

        Args:
            faults: in the order in which they are listed; equal ones once.
        """
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, faults=tuple(dict.fromkeys(faults)))
        other.args = (str(other),)
        return other

    def at(self, *path: str | int) -> Self:
        """The same error with the path to the value in front, for every fault of it.

        Args:
            *path: names and numbers that lead to the value or to the table that holds it.

        Example:
            >>> print(EvenhandError("must be at most 1, got 2.0", "fractions", 3).at("policies", 0, "fairness"))
            policies[0].fairness.fractions[3] must be at most 1, got 2.0
        """
        return self.having(replace(fault, path=path + fault.path) for fault in self.faults)

    @classmethod
    def together(cls, errors: Sequence[EvenhandError]) -> EvenhandError:
        """One error with the faults of several; of this class, or of the first one's where this is `EvenhandError`.

        Args:
            errors: at least one.

        Example:
            >>> print(EvenhandError.together([EvenhandError("must be 1", "a"), EvenhandError("must be 2", "b")]))
            a must be 1
            b must be 2
        """
        if len(errors) == 1 and isinstance(errors[0], cls):
            return errors[0]
        first = errors[0] if cls is EvenhandError else cls()
        return first.having(fault for error in errors for fault in error.faults)


class MissingValue(Exception):
    """A table needs another one that has a fault, which is reported already."""


class Faults(list[EvenhandError]):
    """Errors of several tables, each with the path to it."""

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Keep the error of the block, if it has one, and go on."""
        with suppress(MissingValue):
            try:
                yield
            except EvenhandError as error:
                self.append(error.at(*path))


class InfeasiblePromise(EvenhandError):
    """Promised shares that no policy can keep; names the arms and the amount by which they exceed what is possible."""


class ConfigurationError(EvenhandError):
    """A configuration that cannot be run."""


class DataError(EvenhandError):
    """A data file that cannot be read; names the file, the column and the row."""


class StateError(EvenhandError):
    """A saved state that does not belong to this policy."""


class MissingPart(EvenhandError):
    """What was saved needs a part or an algorithm of the user's own, which was not imported."""


def nearest(name: str, known: Iterable[object]) -> str:
    """A hint at the nearest known name, or at all of them where none is near."""
    from difflib import get_close_matches  # loaded where a name is wrong, as below

    names = {str(one).lower(): one for one in known}
    close = [one for one in get_close_matches(str(name).lower(), list(names), cutoff=0.5) if _alike(name, one)]
    return f"; did you mean {names[close[0]]!r}?" if close else f"; known: {', '.join(map(str, names.values()))}"


def _alike(name: str, known: str) -> bool:
    """Whether a name may be meant: not by letters here and there alone, as in context and count."""
    from difflib import SequenceMatcher

    both = SequenceMatcher(None, str(name).lower(), known)
    wrong = max(len(str(name)), len(known)) - sum(block.size for block in both.get_matching_blocks())
    longest = both.find_longest_match().size
    return wrong <= 1 or both.ratio() >= 0.7 or longest >= min(3, len(str(name)) - 1, len(known) - 1)


def number_hint(text: str, share: bool = False) -> str:
    """How to write a number that is a percentage, as 50 is for a share, or has a decimal comma or no leading zero."""
    found = re.fullmatch(r"(?=.*\d)(?![1-9]\d{0,2}(?:,\d{3})+$)(-?\d*)(?:([.,])(\d+))? ?(%?)", text.strip())
    if found is None:
        return ""
    value = float(f"{found[1]}.{found[3] or 0}")
    value /= 100.0 if (percent := found[4] or (share and 2.0 <= value <= 100.0)) else 1.0
    return f" (write {value:.12g})" if percent or found[2] == "," or found[1] in ("", "-") else ""


def number_of(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def there_are(count: int, one: str, many: str = "") -> str:
    """That there are so many of something."""
    return f"there {'is' if count == 1 else 'are'} {number_of(count, one, many)}"


def shown(value: object, limit: int = 200) -> str:
    """A value as a message quotes it: its repr on one line, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # a whole number of more than 4300 digits, or a class whose repr fails
        return f"{type(value).__name__} that cannot be shown"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
