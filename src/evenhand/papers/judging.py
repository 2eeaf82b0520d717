"""What becomes of a claim: confirmed, contradicted, undecided, or not runnable here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.core.errors import EvenhandError
from evenhand.papers.data import NEEDED
from evenhand.papers.experiment import Experiment, Finding, PaperClaim, Runs

#: Verdicts, in the order in which they are counted.
STATUSES = ("confirmed", "contradicted", "undecided", "too small to decide", "not runnable here")
#: What a number says of its claim.
AGREES, CONTRADICTS, OPEN = "agrees", "contradicts", "undecided"
ERROR = 0.05  # chance that a true claim is contradicted


@dataclass(frozen=True)
class ClaimVerdict:
    """What became of a claim.

    A claim is confirmed if every number agrees, contradicted if one surely does not, and undecided otherwise. The more
    numbers a claim stands on, the more probably one of them is off by chance; so p-values are corrected by Holm's
    method, and a true claim is contradicted with a chance of at most 5% however many they are. To be confirmed all of
    its numbers must agree, which needs no correction.
    """

    claim: PaperClaim  # what was to be shown
    findings: tuple[Finding, ...]  # the numbers; none if it could not be run
    missing: str = ""  # why it could not be run; empty if it could
    quick: bool = False  # whether it was run in a reduced size, which contradicts nothing

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """What each number says: ``"agrees"``, ``"contradicts"`` or ``"undecided"``."""
        corrected = holm([finding.p_value for finding in self.findings])
        return tuple(
            CONTRADICTS if p_value <= ERROR else AGREES if finding.holds else OPEN
            for finding, p_value in zip(self.findings, corrected, strict=True)
        )

    @property
    def status(self) -> str:
        """One of `STATUSES`."""
        if self.missing:
            return "not runnable here"
        if all(mark == AGREES for mark in self.marks):
            return "confirmed"
        if self.quick:
            return "too small to decide"
        return "contradicted" if CONTRADICTS in self.marks else "undecided"

    @property
    def lanes_needed(self) -> int | None:
        """About how many lanes would decide an undecided claim; None where it is decided, or lanes do not decide it."""
        needed = [finding.lanes_needed for finding, mark in zip(self.findings, self.marks, strict=True) if mark == OPEN]
        known = [lanes for lanes in needed if lanes is not None]
        return max(known) if self.status == "undecided" and len(known) == len(needed) else None


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method.

    Sorted, the k-th of n is multiplied by ``n + 1 − k``, and is at least the one before and at most 1.

    Example:
        >>> holm([0.01, 0.5, 0.02])
        [0.03, 0.5, 0.04]

    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def judge(
    experiment: Experiment, runs: Runs, given: Collection[str] | None = None, quick: bool = False
) -> list[ClaimVerdict]:
    """The verdicts on an experiment's claims, and on what cannot be run for want of the paper's own data."""
    verdicts = []
    for claim in experiment.claims:
        if claim.missing:
            verdicts.append(ClaimVerdict(claim, (), claim.missing))
            continue
        findings = tuple(claim.test(runs))
        if not findings:
            raise EvenhandError(f"{experiment.id}: nothing was measured for {claim.sentence!r}")
        verdicts.append(ClaimVerdict(claim, findings, quick=quick))
    missing = [] if given is None else [need.kind for need in experiment.data if need.kind not in given]
    return verdicts + [_not_runnable(kind) for kind in missing]


def _not_runnable(kind: str) -> ClaimVerdict:
    claim = PaperClaim(f"The claims above on the {kind} data that the paper used.", "the paper's data", lambda runs: [])
    return ClaimVerdict(claim, (), f"Needs {NEEDED[kind]}; give the folder or file with --data.")
