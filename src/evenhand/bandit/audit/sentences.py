"""What an audit says in sentences: which promises are kept, and why each arm received what it received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.core.state import Array, Mask
from evenhand.messages.audit_text import plain
from evenhand.messages.lines import BoundLine, Line

WITHIN = 1.0 + 1e-9  # plays behind that any policy must allow which decides in whole plays
SURPLUS = 0.005  # of a share above the promised one, from which on it is more than was promised
ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available
MISSING = 0.1  # part of an arm's rewards above which missing ones are mentioned


def verdict(account: Account, promised: Array | None, bounds: Sequence[BoundLine] = ()) -> str:
    """Which promises are kept, and which arm or group is furthest from its own, in a sentence.

    Args:
        account: what the bandit recorded.
        promised: (arms,), promised shares; None where none are promised.
        bounds: of groups, and of arms with a cap.
    """
    if account.round == 0:
        return "Nothing has been decided yet."
    if account.merit is not None:
        return "The shares follow the merit of the arms, as it is estimated in each round."
    rounds = account.round - account.since
    counted = account.active & (rounds > 0.0)
    counted = counted & (promised > 0.0) if promised is not None else np.zeros(len(counted), dtype=bool)
    beyond = breaches(bounds)
    count = int(np.count_nonzero(counted)) + len(beyond)
    if count == 0:
        later = bool(bounds) or (promised is not None and bool((account.active & (promised > 0.0)).any()))
        return "The promises begin with the next round." if later else "No share is promised to any arm."
    behind = np.where(counted, owed_now(account), -np.inf)
    kept = int(np.count_nonzero(counted & (behind <= WITHIN))) + sum(breach.plays <= WITHIN for breach in beyond)
    if kept == count:
        return {1: "The promise is kept.", 2: "Both promises are kept."}.get(count, f"All {count:,} promises are kept.")
    if promised is not None and counted.any():
        arm = int(behind.argmax())
        share, name = float(promised[arm]), plain(account.names[arm])
        beyond.append(Breach(float(behind[arm]), name, f"behind its {percent(share)}", share, float(rounds[arm])))
    worst = max(beyond, key=lambda breach: breach.plays)
    some = f"{kept:,} of {count:,} promises {'is' if kept == 1 else 'are'} kept"
    begin = "The promise is not kept" if count == 1 else some
    return f"{begin}; {worst.sentence}."


class Breach(NamedTuple):
    """By how much a promise is not kept.

    Attributes:
        plays: behind a share, or above a largest one; at most 0 where it is kept.
        name: of the arm or group.
        bound: what the plays are behind or above.
        share: promised, or the largest one, in plays per round.
        rounds: since the promise began.
    """

    plays: float
    name: str
    bound: str
    share: float
    rounds: float

    @property
    def sentence(self) -> str:
        """Such as "the group hot is 12 plays behind its 40%"."""
        return f"{self.name} is {plays(self.plays)} plays {self.bound}"


def breaches(bounds: Sequence[BoundLine]) -> list[Breach]:
    """The promises to groups, and the largest shares of groups and arms, that have begun.

    Args:
        bounds: of groups, and of arms with a cap.

    Example:
        >>> hot = BoundLine("hot", "group", ("tea",), 0.4, 0.5, 0, 100, 55, 0.55, -15.0, 5.0)
        >>> [breach.sentence for breach in breaches([hot]) if breach.plays > 0]
        ['the group hot is 5 plays above its largest share of 50%']
    """
    found: list[Breach] = []
    for line in bounds:
        name = f"the group {plain(line.name)}" if line.kind == "group" else plain(line.name)
        if line.rounds and line.kind == "group" and line.at_least > 0.0:
            least = f"behind its {percent(line.at_least)}"
            found.append(Breach(line.owed, name, least, line.at_least, line.rounds))
        if line.rounds and line.at_most is not None and line.excess is not None:
            most = f"above its largest share of {percent(line.at_most)}"
            found.append(Breach(line.excess, name, most, line.at_most, line.rounds))
    return found


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
    found, (caps, groups) = [], _bounded(account)
    for line in lines:
        parts = ["It is retired, so it plays no more."]
        if not line.retired:
            cap, group = caps.get(line.arm, ""), groups.get(line.arm, "")
            parts = [_owing(line, by_merit, bool(group)), cap, group]
            parts += [_available(line), _compared(line, first, known), _missing(line), _ranked(line, scores)]
        found.append(" ".join(part for part in parts if part))
    return found


def _owing(line: Line, by_merit: bool, grouped: bool) -> str:
    if by_merit:
        return f"Its share follows its merit, which now deserves {percent(line.promised or 0.0)}."
    if not line.promised:
        return f"Nothing is promised to it{' alone' * grouped}."
    share = percent(line.promised)
    if line.rounds == 0:
        return f"Its promise of {share} begins with the next round."
    behind = (line.deficit or 0.0) - line.lapsed
    if behind > WITHIN:
        return f"It is owed {plays(behind)} plays of its promise of {share}."
    more = (line.share or 0.0) - line.promised > SURPLUS
    return f"It has {'more than ' if more else ''}the {share} that it was promised."


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
        return "The policy gives it the highest score."
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
