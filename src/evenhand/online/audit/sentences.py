"""What an audit says in sentences: which promises are kept, and why each arm received what it received."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.core.state import Array, Mask
from evenhand.online.audit.account import Account
from evenhand.online.audit.lines import Line
from evenhand.online.audit.text import plain

WITHIN = 1.0 + 1e-9  # plays behind that any policy must allow which decides in whole plays
SURPLUS = 0.005  # of a share above the promised one, from which on it is more than was promised
ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available
MISSING = 0.1  # part of an arm's rewards above which missing ones are mentioned


def verdict(account: Account, promised: Array | None) -> str:
    """Which promises are kept, and which arm is furthest behind, in a sentence.

    Args:
        account: what the bandit recorded.
        promised: (arms,), promised shares; None where none are promised.
    """
    if account.round == 0:
        return "Nothing has been decided yet."
    if account.merit is not None:
        return "The shares follow the merit of the arms, as it is estimated in each round."
    rounds = account.round - account.since
    counted = account.active & (rounds > 0.0)
    counted = counted & (promised > 0.0) if promised is not None else np.zeros(len(counted), dtype=bool)
    count = int(np.count_nonzero(counted))
    if promised is None or count == 0:
        if account.groups:
            return "The promises to groups are listed below; no share is promised to a single arm."
        return "No share is promised to any arm."
    behind = np.where(counted, owed_now(account), -np.inf)
    kept = int(np.count_nonzero(counted & (behind <= WITHIN)))
    if kept == count:
        return {1: "The promise is kept.", 2: "Both promises are kept."}.get(count, f"All {count:,} promises are kept.")
    worst = int(behind.argmax())
    begin = "The promise is not kept" if count == 1 else f"{kept:,} of {count:,} promises are kept"
    name, share = plain(account.names[worst]), percent(float(promised[worst]))
    return f"{begin}; {name} is {plays(float(behind[worst]))} plays behind its {share}."


def owed_now(account: Account) -> Array:
    """(arms,), plays that the policy still makes up for: without those that lapsed with earlier promises."""
    return account.deficits - account.lapsed


def reasons(lines: Sequence[Line], account: Account) -> list[str]:
    """Why each arm received what it received: its promise, its availability, its rewards and its score.

    Args:
        lines: of the arms, whose reasons are asked for.
        account: what the bandit recorded.
    """
    active, known = account.active, account.known
    means = np.divide(account.sums, known, out=np.full(len(known), -np.inf), where=active & (known > 0.0))
    best = int(means.argmax()) if np.isfinite(means).any() else None
    scores = np.sort(account.scores[active & np.isfinite(account.scores)]) if account.scores is not None else None
    by_merit = account.merit is not None
    first = None if best is None else (plain(account.names[best]), float(means[best]))
    found = []
    for line in lines:
        parts = [_owing(line, by_merit)] if not line.retired else ["It is retired, so it plays no more."]
        if not line.retired:
            parts += [_available(line), _compared(line, first, known), _missing(line), _ranked(line, scores)]
        found.append(" ".join(part for part in parts if part))
    return found


def _owing(line: Line, by_merit: bool) -> str:
    if by_merit:
        return f"Its share follows its merit, which now deserves {percent(line.promised or 0.0)}."
    if not line.promised:
        return "Nothing is promised to it."
    share = percent(line.promised)
    if line.rounds == 0:
        return f"Its promise of {share} begins with the next round."
    behind = (line.deficit or 0.0) - line.lapsed
    if behind > WITHIN:
        return f"It is owed {plays(behind)} plays of its promise of {share}."
    more = (line.share or 0.0) - line.promised > SURPLUS
    return f"It has {'more than' if more else 'just'} the {share} that it was promised."


def _available(line: Line) -> str:
    if line.available is None or line.available >= ASLEEP:
        return ""
    return f"It could play in {percent(line.available)} of the rounds only."


def _compared(line: Line, first: tuple[str, float] | None, known: Array) -> str:
    if first is None or not known.any():
        return ""
    if line.estimate is None:
        return "None of its rewards is known yet."
    name, mean = first
    if line.estimate >= mean:
        return f"Its mean reward, {line.estimate:.3g}, is the largest of all."
    sure = line.high is not None and line.high < mean
    doubt = "" if sure else ", which is within its interval, so this may change"
    return f"Its mean reward, {line.estimate:.3g}, is below that of {name}, {mean:.3g}{doubt}."


def _missing(line: Line) -> str:
    count = line.pending + line.lost
    if count <= MISSING * line.all_plays:
        return ""
    return f"The rewards of {count:,} of its {line.all_plays:,} plays are missing."


def _ranked(line: Line, scores: Array | None) -> str:
    """How many arms the policy scores higher."""
    if scores is None or line.score is None or len(scores) < 2:
        return ""
    higher = len(scores) - int(np.searchsorted(scores, line.score, side="right"))
    if higher == 0:
        return "The policy's score of it is the highest."
    if higher == len(scores) - 1:
        return "The policy scores every other arm higher."
    return f"The policy scores {higher:,} of the other {len(scores) - 1:,} arms higher."


def below(account: Account, promised: Array, high_share: Array) -> Mask:
    """(arms,), whether an arm's interval shows that its share is below its promise, and it is more than a play behind.

    Args:
        account: what the bandit recorded.
        promised: (arms,), promised shares.
        high_share: (arms,), upper ends of the intervals of the shares; NaN before the first round.
    """
    with np.errstate(invalid="ignore"):
        short: Mask = account.active & (promised > 0.0) & (high_share < promised) & (owed_now(account) > WITHIN)
    return short


def percent(share: float) -> str:
    """A share as a percentage with about three digits.

    Example:
        >>> percent(0.2), percent(1 / 3), percent(0.00012)
        ('20%', '33.3%', '0.012%')
    """
    return f"{100.0 * share:.3g}%"


def plays(number: float) -> str:
    """A number of plays, with three digits where it is small.

    Example:
        >>> plays(2.5), plays(80.0), plays(12345.6)
        ('2.5', '80', '12,346')
    """
    return f"{number:.3g}" if abs(number) < 1000.0 else f"{number:,.0f}"
