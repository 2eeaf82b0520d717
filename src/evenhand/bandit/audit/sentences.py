"""What an audit says of an arm in sentences: its promise, its availability, its rewards and its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.judged import Judged
from evenhand.core.numbers import percent
from evenhand.core.state import Array
from evenhand.judgement import comparing
from evenhand.judgement.sentences import WHOLE, counted, listed, sentence
from evenhand.messages.audit_text import plain
from evenhand.messages.lines import BoundLine, Line
from evenhand.messages.words import in_segment

ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available
MISSING = 0.1  # part of an arm's rewards above which missing ones are mentioned


class Means(NamedTuple):
    """The mean rewards of all arms, by which they are compared, with the ends of their intervals; NaN where unknown."""

    value: Array
    low: Array
    high: Array


def reasons(lines: Sequence[Line], account: Account, judged: Judged) -> list[str]:
    """Why each arm received what it received: its promise, its availability, its rewards and its score."""
    means = Means(*account.means(np.arange(len(account.names))))
    best = _surest(account, means)
    scores = account.scores
    if scores is not None:
        scores = np.sort(scores[account.active & np.isfinite(scores)])
    (caps, groups), place = _bounded(account), {name: at for at, name in enumerate(account.names)}
    within = _within(account)
    found = []
    for line in lines:
        parts = ["It is retired, so it plays no more.", _waiting(line, account)]
        if not line.retired:
            cap, group = caps.get(line.arm, ""), groups.get(line.arm, "")
            segment = within.get(line.arm, "")
            elsewhere = " alone" * bool(group) + " over all rounds" * bool(segment)
            parts = [_owing(line, account, judged, place[line.arm], elsewhere), segment, cap, group]
            parts += [
                _available(line),
                _compared(line, best, means, account),
                _missing(line, account),
                _ranked(line, scores),
            ]
        found.append(account.say(" ".join(part for part in parts if part)))
    return found


def _owing(line: Line, account: Account, judged: Judged, place: int, elsewhere: str) -> str:
    """How far its promise is kept, and what allows arrears; ``elsewhere`` says what else may be promised to it."""
    found = judged.of_arm(place)
    if account.merit is not None:
        if account.contextual:
            return "Its share follows its merit in each round."
        text = f"Its share follows its merit, which now deserves {percent(line.promised or 0.0)}."
        return text if found is None else f"{text} {sentence(judged.case('It', place, found))}."
    if not line.promised and found is None:
        return " ".join(filter(None, (f"Nothing is promised to it{elsewhere}.", _waiting(line, account))))
    if found is None and line.rounds:
        return f"It has not been due more than a play of the {percent(line.promised or 0.0)} that it is promised."
    if found is None:
        return f"Its promise of {percent(line.promised or 0.0)} begins with the next round."
    text = f"{sentence(judged.case('It', place, found))}."
    if account.kept_for_price and found.verdict != "kept" and account.keeping.parameter:
        text += f" Its share is weighed against rewards, by {account.keeping.parameter}, and not promised outright."
    return text


def _waiting(line: Line, account: Account) -> str:
    """What is owed while nothing is promised, to be repaid."""
    owed = line.deficit or 0.0
    if owed <= 0.0 or (line.promised and not line.retired) or account.keeping.keeps != "count":
        return ""
    return f"It is owed {counted(owed)}, waiting for its next promise."


def _bounded(account: Account) -> tuple[dict[str, str], dict[str, str]]:
    """By the names of arms: their caps, and the groups in which they are."""
    of: dict[int, list[str]] = {}
    for group in account.groups:
        for place in group["arms"]:
            of.setdefault(place, []).append(plain(group["name"]))
    groups = {
        account.names[place]: f"It is in the group{'s' * (len(names) > 1)} {', '.join(names)}."
        for place, names in of.items()
    }
    caps = [] if account.caps is None else account.caps.tolist()
    capped = {account.names[place]: cap for place, cap in enumerate(caps) if cap < 1.0}
    return {name: f"It may have at most {percent(cap)}." for name, cap in capped.items()}, groups


def _within(account: Account) -> dict[str, str]:
    """By the names of arms: what is promised to them in segments, and what waits there for a next promise."""
    shares: dict[str, list[str]] = {}
    for line in account.bounds:
        if line.kind == "segment":
            share = in_segment(percent(line.at_least), plain(line.segment))
            shares.setdefault(line.name, []).append(", where it ".join([share, *_there(line)]))
    found = {name: f"It is promised {listed(some)}." for name, some in shares.items()}
    for (name, segment), owed in account.waiting_within.items():
        waits = f"{in_segment(f'It is owed {counted(owed)}', plain(segment))}, waiting for its next promise there."
        found[name] = " ".join(filter(None, (found.get(name), waits)))
    return found


def _there(line: BoundLine) -> list[str]:
    """How far a promise in a segment is behind, and that its arm slept there."""
    said = [] if line.owed <= WHOLE else [f"is {counted(line.owed)} behind"]
    if line.available is not None and line.available < ASLEEP:
        said.append(f"could play in {percent(line.available)} of the rounds only")
    return [" and ".join(said)] if said else []


def _available(line: Line) -> str:
    if line.available is None or line.available >= ASLEEP:
        return ""
    return f"It could play in {percent(line.available)} of the rounds only."


def _surest(account: Account, means: Means) -> int | None:
    """The place of the arm whose mean reward is surely the largest: by the lower ends of the intervals."""
    counted = account.active & ~np.isnan(means.value)
    if not counted.any():
        return None
    low = np.where(counted, np.nan_to_num(means.low, nan=account.limits[0]), -np.inf)
    return int(np.lexsort((np.where(counted, means.value, -np.inf), low))[-1])


def _compared(line: Line, best: int | None, means: Means, account: Account) -> str:
    if account.incomparable:
        return f"Its mean reward is {comparing.NO_FLOOR}." if line.received else ""
    if best is None:
        return ""
    if line.estimate is None:
        return "None of its rewards is known yet."
    name, mean = plain(account.names[best]), float(means.value[best])
    own, largest = (account.words.amount(f"{one:.3g}") for one in (line.estimate, mean))
    what = "Its mean reward over all rounds" if account.contextual else "Its mean reward"
    known = means.value[account.active & ~np.isnan(means.value)]
    if line.estimate == mean and (known <= mean + 1e-12).all():
        return f"{what}, {own}, is the largest of all."
    if line.arm == account.names[best]:
        return f"{what}, {own}, is not the largest, but its interval begins highest."
    if line.estimate >= mean:
        how = "above" if line.estimate > mean else "as large as"
        return f"{what}, {own}, is {how} that of {name}, {largest}, but its interval begins lower."
    sure = line.high is not None and line.high < mean
    doubt = "" if sure else ", which is within its interval, so this may change"
    return f"{what}, {own}, is below that of {name}, {largest}{doubt}."


def _missing(line: Line, account: Account) -> str:
    count = line.pending + line.lost
    if count <= MISSING * line.all_plays:
        return ""
    zero = "; after the window they count as 0" * (account.missing == "zero")
    return f"The rewards of {count:,} of its {line.all_plays:,} plays are missing{zero}."


def _ranked(line: Line, scores: Array | None) -> str:
    """How many arms the policy scores higher."""
    if scores is None or line.score is None or len(scores) < 2:
        return ""
    higher = len(scores) - int(np.searchsorted(scores, line.score, side="right"))
    if higher == 0:
        return "The policy gives it the highest score."
    if higher == len(scores) - 1:
        return "The policy scores every other arm higher."
    return f"The policy scores {higher:,} of the other {len(scores) - 1:,} arms higher."
