"""What an audit says in sentences: which promises are kept, why each arm received what it received, what needs care."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.core.errors import number_of
from evenhand.core.state import Array, Mask
from evenhand.messages.answers import AllocationHealth, moment
from evenhand.messages.audit_text import plain
from evenhand.messages.lines import BoundLine, Line

WITHIN = 1.0 + 1e-9  # plays behind that any policy must allow which decides in whole plays
SURPLUS = 0.005  # of a share above the promised one, from which on it is more than was promised
ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available
MISSING = 0.1  # part of an arm's rewards above which missing ones are mentioned
CHANCE = 3.0  # standard deviations of a share from which on an arm is further behind than chance explains
SILENT = 5.0  # times the delay of 95% of the rewards after which a reward is overdue
SPARSE = 10.0  # times the mean time between two rewards after which the next one is overdue
HOUR = 3600.0  # seconds, before which no reward is overdue
DAY = 86_400.0  # seconds, taken for the usual delay before the first reward


def verdict(account: Account, promised: Array | None, bounds: Sequence[BoundLine] = ()) -> str:
    """Which promises are kept, and which arm or group is furthest from its own, in a sentence."""
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
    """By how much a promise is not kept."""

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
    """Why each arm received what it received: its promise, its availability, its rewards and its score."""
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
    """(arms,), whether the interval shows a share below the promise, and the arm is more than a play behind."""
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
    """A number of plays, with three digits where it is small."""
    return f"{number:.3g}" if abs(number) < 1000.0 else f"{number:,.0f}"


# --- health --------------------------------------------------------------------------------------------------------


def health_of(
    account: Account,
    promised: Array | None,
    bounds: Sequence[BoundLine],
    high_share: Array,
    fault: str,
    doubts: int,
    closed: bool,
    now: float,
) -> AllocationHealth:
    """The health of an allocation."""
    shares = None if account.merit is not None else promised
    worst = None if shares is None else _furthest(account, shares)
    status, text = "good", verdict(account, promised, bounds)
    beyond = _beyond(account, bounds)
    silence = _silence(account, now)
    if closed:
        status, text = "closed", f"Closed after {number_of(account.round, 'round')}."
    elif fault:
        status, text = "bad", f"With the recent availability, {fault}"
    elif worst is not None and shares is not None and below(account, shares, high_share)[worst[0]]:
        status, text = "bad", _behind(account, shares, *worst)
    elif worst is not None and shares is not None and worst[1] > _tolerated(account, shares, worst[0]):
        status, text = "attention", _behind(account, shares, *worst)
    elif beyond:
        status, text = "attention", f"{beyond}."
    elif doubts:
        status = "attention"
        text = f"{doubts:,} estimates cannot be trusted." if doubts > 1 else "An estimate cannot be trusted."
    elif silence:
        status, text = "attention", silence
    by_group = max((line.owed for line in bounds if line.kind == "group" and line.at_least > 0.0), default=-np.inf)
    by_arm = -np.inf if worst is None else worst[1]
    most = max(by_arm, by_group)
    return AllocationHealth(
        status=status,  # type: ignore[arg-type]
        text=text,
        behind=max(0.0, most) if np.isfinite(most) else None,
        arm=account.names[worst[0]] if worst is not None and by_arm > 0.0 and by_arm >= by_group else None,
        warnings=doubts,
        last_decision=None if account.decided is None else moment(account.decided),
        last_reward=None if account.rewarded is None else moment(account.rewarded),
    )


def _furthest(account: Account, shares: Array) -> tuple[int, float] | None:
    """The place of the arm that is furthest behind, and the plays that it is owed; None where nothing is promised."""
    counted = account.active & (shares > 0.0)
    if not counted.any():
        return None
    behind = np.where(counted, owed_now(account), -np.inf)
    return int(behind.argmax()), float(behind.max())


def _tolerated(account: Account, shares: Array, place: int) -> float:
    """Plays that an arm may be behind by chance, where a policy draws it with its promised share."""
    return _by_chance(float(shares[place]), account.round - float(account.since[place]), 1)


def _by_chance(share: float, rounds: float, plays: int) -> float:
    """Plays that a share of some rounds may miss by chance, of at most so many per round."""
    return max(WITHIN, CHANCE * float(np.sqrt(rounds * share * max(0.0, 1.0 - share / plays))))


def _beyond(account: Account, bounds: Sequence[BoundLine]) -> str:
    """Which group is further behind, or which cap further exceeded, than chance explains; empty for none."""
    found = [
        breach for breach in breaches(bounds) if breach.plays > _by_chance(breach.share, breach.rounds, account.plays)
    ]
    sentence = max(found, key=lambda breach: breach.plays).sentence if found else ""
    return re.sub("^the group ", "The group ", sentence)


def _behind(account: Account, shares: Array, place: int, owed: float) -> str:
    return f"{plain(account.names[place])} is {plays(owed)} plays behind its {percent(float(shares[place]))}."


def _silence(account: Account, now: float) -> str:
    """That no reward has arrived for long, while some are pending; empty where one is not overdue."""
    received = float(account.received.sum())
    if account.decided is None or account.first is None or (account.rewarded is not None and not received):
        return ""  # totals say nothing of the single rewards
    since = account.first if account.rewarded is None else account.rewarded
    usual = float(np.quantile(account.delays, 0.95)) if len(account.delays) else DAY
    gap = (account.rewarded - account.first) / received if account.rewarded is not None else 0.0
    if min(now, account.decided) - since <= max(SILENT * usual, SPARSE * gap, HOUR):
        return ""
    if account.rewarded is None:
        return f"No reward has arrived yet, though {number_of(account.round, 'round was', 'rounds were')} decided."
    return "No reward has arrived for much longer than usual, though rounds were decided."
