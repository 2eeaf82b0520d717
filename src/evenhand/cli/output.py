"""What commands print besides tables: JSON, notes, and what an interrupted command reports."""

from __future__ import annotations

import json
import re
import sys

#: Characters that a terminal executes or that change the direction of text, and that JSON does not escape itself.
STEERING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Interrupted(Exception):
    """The user interrupted a command; the message says what was done."""


def print_json(value: object) -> None:
    """Print a value as JSON to standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    print(STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def note(text: str) -> None:
    """Print a line to standard error, which leaves standard output to the results."""
    print(text, file=sys.stderr, flush=True)
