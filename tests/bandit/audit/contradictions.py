"""What an audit and a health say, held against each other; the numbers themselves are tried elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenhand.messages.answers import AllocationHealth
from evenhand.messages.audit import Audit
from evenhand.messages.lines import Line


def contradictions(audit: Audit, health: AllocationHealth) -> Iterator[str]:
    """Each pair of sentences, or of a sentence and a number, that cannot both be true."""
    present = [line for line in audit.lines if not line.retired]
    for line in audit.lines:
        yield from (f"{line.arm}: {fault}" for fault in _of_line(line, present))
    yield from _of_verdict(audit, health, present)
    yield from _of_numbers(audit, health, present)


def _of_line(line: Line, present: list[Line]) -> Iterator[str]:
    said, means = line.reason, {one.arm: one.estimate for one in present}
    says = {
        "kept": "It has the" in said or "no more than 1% of what is due" in said,
        "missed": " behind the" in said and "undecided" not in said and "allows;" not in said,
        "undecided": "undecided whether" in said or "allows;" in said,
    }
    if line.verdict is not None and not says[line.verdict]:
        yield f"is {line.verdict}: {said}"
    if line.verdict is None and (says["kept"] or says["missed"] or says["undecided"]):
        yield f"is not judged: {said}"
    behind = re.search(r"It is ([\d.,e+]+) plays? behind the", said)
    if behind and abs(_number(behind[1]) - (line.deficit or 0.0)) > 0.006 * max(1.0, line.deficit or 0.0):
        yield f"its deficit is {line.deficit}: {said}"
    if (
        "is the largest of all" in said
        and line.estimate is not None
        and any(other is not None and other > line.estimate for other in means.values())
    ):
        yield f"its mean is not the largest: {said}"
    below = re.search(r"Its mean reward, \S+, is below that of (.+?), ", said)
    if below and (line.estimate is None or not line.estimate < (means[below[1]] or 0.0)):
        yield f"its mean is not below: {said}"
    above = re.search(r"Its mean reward, \S+, is above that of (.+?), \S+, but its interval begins lower", said)
    if above and not (line.estimate or 0.0) > (means[above[1]] or 0.0):
        yield f"its mean is not above: {said}"
    missing = re.search(r"The rewards of ([\d,]+) of its ([\d,]+) plays are missing", said)
    if missing and (_number(missing[1]), _number(missing[2])) != (line.pending + line.lost, line.all_plays):
        yield f"others are missing: {said}"
    if ("It could play in" in said) != (line.available is not None and line.available < 0.995 and not line.retired):
        yield f"was available in {line.available}: {said}"
    if line.plays < 0 or line.rounds < 0 or line.since + line.rounds < line.rounds:
        yield f"has {line.plays} plays in {line.rounds} rounds"
    # An arm that was always ahead, and whose advance has ended with its promise, is behind by 0.
    if line.verdict and line.rounds and line.deficit is not None and line.deficit > max(line.worst or 0.0, 0.0) + 1e-9:
        yield f"was never behind by {line.deficit}, only by {line.worst}"


def _of_verdict(audit: Audit, health: AllocationHealth, present: list[Line]) -> Iterator[str]:
    of_arms = [line.verdict for line in present if line.verdict]
    of_bounds = [line.verdict for line in audit.bounds if line.verdict]
    said = audit.verdict
    some = re.match(r"([\d,]+) of ([\d,]+) promises? (?:is|are) kept", said)
    if some and not of_bounds and (_number(some[1]), _number(some[2])) != (of_arms.count("kept"), len(of_arms)):
        yield f"{of_arms.count('kept')} of {len(of_arms)} are kept: {said}"
    if re.match(r"(?:All [\d,]+|Both) promises are kept|The promise is kept", said) and {*of_arms, *of_bounds} != {
        "kept"
    }:
        yield f"not all are kept: {said}"
    if audit.fault and health.status == "good":
        yield f"the health is good: {audit.fault}"
    for line in present:
        within = {one.segment for one in audit.bounds if one.kind == "segment" and one.name == line.arm}
        if "Nothing is promised to it." in line.reason and within:
            yield f"something is promised in {within}: {line.reason}"
        if any(f"in the segment {segment}" not in line.reason for segment in within):
            yield f"of what is promised in {within} nothing is said: {line.reason}"
        promised = [one.owed for one in audit.bounds if one.kind == "segment" and one.name == line.arm]
        behind = [owed for owed in promised if owed > 1.0 + 1e-9]
        stated = [_number(one) for one in re.findall(r"where it is ([\d.,e+]+) plays? behind", line.reason)]
        if len(stated) != len(behind) or any(
            abs(a - b) > 0.006 * max(1.0, b) for a, b in zip(stated, behind, strict=True)
        ):
            yield f"in segments it is {behind} behind: {line.reason}"
    near = audit.deficit_history is not None and audit.deficit_history.note
    if near and any(line.owed > 1.0 + 1e-9 for line in audit.bounds if line.kind == "segment"):
        yield f"somebody is behind: {near}"
    if said.startswith("No share is promised") and (of_arms or of_bounds):
        yield f"{len(of_arms) + len(of_bounds)} are judged: {said}"
    missed = "missed" in (*of_arms, *of_bounds)
    if missed != (re.search(r"(?:is|are) missed", said) is not None):
        yield f"missed or not: {said}"
    if missed and health.status != "bad":
        yield f"the health is {health.status}: {said}"
    if health.status == "good" and health.text != said:
        yield f"the health says {health.text}, the audit {said}"


def _of_numbers(audit: Audit, health: AllocationHealth, present: list[Line]) -> Iterator[str]:
    owed = [line.deficit for line in present if line.deficit is not None]
    owed += [line.owed for line in audit.bounds if line.kind != "arm" and line.at_least > 0.0]
    waits = re.search(
        r"(?:^|[.;] )([^.;]* in the segment [^.;]*) is owed ([\d.,e+]+) plays?(?:, which wait|\.$)", audit.verdict
    )
    if waits and audit.furthest == waits[1]:
        owed.append(health.behind or 0.0)
    if health.behind is not None and abs(health.behind - max([0.0, *owed])) > 1e-9:
        yield f"the health says {health.behind} plays behind, the audit {max([0.0, *owed])}"
    if audit.behind != health.behind:
        yield f"the health says {health.behind} plays behind, the audit {audit.behind}"
    cost = audit.cost
    if cost is not None and cost.per_round is not None:
        assert None not in (cost.low, cost.high)
        if not cost.low - 1e-9 <= cost.per_round <= cost.high + 1e-9:  # type: ignore[operator]
            yield f"{cost}"
        # where no reward is known here, what was learned beforehand gives a price alone
        assert None not in (cost.incurred, cost.incurred_low, cost.incurred_high) or not any(
            line.received for line in audit.lines
        )
    incurred = () if cost is None else (cost.incurred_low, cost.incurred, cost.incurred_high)
    if None not in incurred and list(incurred) != sorted(incurred):  # type: ignore[type-var]
        yield f"{cost}"
    if cost is not None and "No reward" in cost.note and any(line.received for line in audit.lines):
        yield f"there are rewards: {cost.note}"
    plays = {line.arm: line.all_plays for line in audit.lines}
    history = audit.history
    if history is not None and (
        {arm: course[-1] for arm, course in zip(history.arms, history.plays, strict=True)}
        != {arm: plays[arm] for arm in history.arms}
        or history.rounds[-1] != audit.rounds
    ):
        yield f"the history ends with {history.plays} in {history.rounds[-1]} rounds"
    worst, past = {line.arm: line.worst for line in audit.lines}, audit.deficit_history
    for arm, course in () if past is None else zip(past.arms, past.deficits, strict=True):
        if max((one for one in course if one is not None), default=0.0) > max(worst[arm] or 0.0, 0.0) + 1e-9:
            yield f"{arm} was never behind by {max(one or 0.0 for one in course)}, only by {worst[arm]}"


def _number(text: str) -> float:
    return float(text.replace(",", ""))
