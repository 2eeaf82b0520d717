"""The verdicts on an experiment's claims, and by which code their numbers were measured."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evenhand.core.errors import EvenhandError
from evenhand.core.source import digest_of, roots_of
from evenhand.judgement.claims import ClaimVerdict
from evenhand.papers.data import NEEDED
from evenhand.papers.experiment import Experiment, OfRuns, Runs
from evenhand.simulation.files import without_infinities


def judge(
    experiment: Experiment, runs: Runs, given: Collection[str] | None = None, quick: bool = False
) -> list[ClaimVerdict]:
    """The verdicts on an experiment's claims, and on what cannot be run for want of the paper's own data."""
    verdicts = []
    for claim in experiment.claims:
        findings = () if claim.missing else tuple(claim.test(runs))
        if not findings and not claim.missing:
            raise EvenhandError(f"{experiment.id}: nothing was measured for {claim.sentence!r}")
        verdicts.append(ClaimVerdict(claim.sentence, claim.source, claim.reading, findings, claim.missing, quick=quick))
    missing = [] if given is None else [need.kind for need in experiment.data if need.kind not in given]
    return verdicts + [_not_runnable(kind) for kind in missing]


def measured_by(experiment: Experiment) -> str:
    """A digest of the code, and of the numbers given to it, that measure an experiment's claims."""
    tests = [claim.test for claim in experiment.claims]
    given = [repr(value) for test in tests for value in _plain(test)]
    return hashlib.sha256("\n".join([digest_of(frozenset(roots_of(tests))), *given]).encode()).hexdigest()[:10]


def judged_again(entry: Mapping[str, Any], experiment: Experiment) -> dict[str, Any]:
    """An entry of the report by the present rules, and in the present words where its numbers are measured as now."""
    verdicts = [ClaimVerdict.of(kept) for kept in entry["verdicts"]]
    if entry["measured"] == measured_by(experiment):
        claims = zip(verdicts, experiment.claims, strict=False)  # what needs data comes after them
        verdicts[: len(experiment.claims)] = [
            replace(one, sentence=claim.sentence, source=claim.source, reading=claim.reading) for one, claim in claims
        ]
    pairs = zip(verdicts, entry["verdicts"], strict=True)
    again = [verdict.as_dict | {"full": kept["full"]} for verdict, kept in pairs]
    return {**entry, "verdicts": without_infinities(again)}


def _plain(value: object) -> Iterator[object]:
    """The texts and numbers that a test was given, and those that tests in it were given."""
    if isinstance(value, OfRuns):
        yield from _plain([value.given, *value.options.values()])
    elif isinstance(value, list | tuple | dict | set):
        for one in value.items() if isinstance(value, dict) else value:
            yield from _plain(one)
    elif isinstance(value, str | int | float | None):
        yield value


def _not_runnable(kind: str) -> ClaimVerdict:
    sentence, source = f"The claims above on the {kind} data that the paper used.", "the paper's data"
    return ClaimVerdict(sentence, source, "", (), f"Needs {NEEDED[kind]}; give the folder or file with --data.")
