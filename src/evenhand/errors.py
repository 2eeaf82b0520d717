"""The errors that Evenhand raises; each says what is wrong, where, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EvenhandError(ValueError):
    """Any error that the user can mend."""


class InfeasiblePromise(EvenhandError):
    """Promised shares that no policy can keep; names the arms and the amount by which they overask."""


class ConfigurationError(EvenhandError):
    """A configuration that cannot be run."""


class DataError(EvenhandError):
    """A data file that cannot be read; names the file, the column and the row."""


class StateError(EvenhandError):
    """A saved state that does not belong to this policy."""


def nearest(name: str, known: Iterable[object]) -> str:
    """A hint at the nearest known name, or at all of them where none is near."""
    names = {str(one).lower(): one for one in known}
    close = difflib.get_close_matches(str(name).lower(), list(names), n=1, cutoff=0.5)
    return f"; did you mean {names[close[0]]!r}?" if close else f"; known: {', '.join(map(str, names.values()))}"
