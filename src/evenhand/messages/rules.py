"""The rules of names and keys, each with its sentence: the same in requests, in the store and in the client."""

from __future__ import annotations

import re

ALLOCATION = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
ARM = r"\S"
IDEMPOTENCY_KEY = r"^[!-~]{1,200}$"
#: What a string must be that matches a pattern.
SENTENCES = {
    ALLOCATION: "must be 1 to 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
    ARM: "must have a character other than spaces",
    IDEMPOTENCY_KEY: "must be 1 to 200 printable ASCII characters without spaces",
}
MAX_LEASE = 1_000_000  # decisions of a lease
MAX_LEASE_SECONDS = 86_400.0  # for which they may be played
SCOPES = ("administer", "decide", "reward", "read")  # of keys


def matches(pattern: str, text: object) -> bool:
    """Whether a value is a string that has the form of a name of an allocation or of an idempotency key.

    Example:
        >>> matches(ALLOCATION, "drinks"), matches(IDEMPOTENCY_KEY, "two words")
        (True, False)
    """
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None
