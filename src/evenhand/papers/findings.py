"""What came of a paper in a few sentences, each shown where its verdicts are as given; the names that claims use."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def sentences() -> dict[str, list[dict[str, Any]]]:
    """All sentences by paper: ``text``, and ``rests_on``: experiment, number of the claim, verdict, and
    perhaps the first letter of the mark of each of its numbers.
    """
    text = (files("evenhand.papers") / "findings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def findings(paper: str, entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The sentences about a paper that the verdicts bear out, each with the experiments that it rests on."""
    return [
        {"text": one["text"], "experiments": list(dict.fromkeys(name for name, *_ in one["rests_on"]))}
        for one in sentences().get(paper, [])
        if all(_is_so(entries, *verdict) for verdict in one["rests_on"])
    ]


@cache
def terms() -> dict[str, dict[str, str]]:
    """What the names mean that the claims use, by paper and name."""
    return tomllib.loads((files("evenhand.papers") / "terms.toml").read_text(encoding="utf-8"))


def _is_so(entries: Mapping[str, Mapping[str, Any]], name: str, number: int, status: str, marks: str = "") -> bool:
    """Whether a claim has a verdict, and each of its numbers a mark, of which the first letter is given."""
    verdicts = entries[name]["verdicts"] if name in entries else []
    if number >= len(verdicts) or verdicts[number]["status"] != status:
        return False
    return not marks or marks == "".join(finding["mark"][0] for finding in verdicts[number]["findings"])
