"""The audit of a bandit, from what the bandit recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from evenhand.bandit.arms import available_sets
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.costing import cost_of, deserved_shares
from evenhand.bandit.audit.delays import summarise
from evenhand.bandit.audit.faults import fault_of, leading
from evenhand.bandit.audit.health import furthest, health_of, standing
from evenhand.bandit.audit.judged import Judged, judged, verdict
from evenhand.bandit.audit.sentences import reasons
from evenhand.bandit.ledger import PLAY
from evenhand.core import validate
from evenhand.core.state import Array, Mask
from evenhand.inference.sequences import mean_interval
from evenhand.judgement.sentences import WHOLE
from evenhand.messages.answers import AllocationHealth, moment
from evenhand.messages.audit import Audit
from evenhand.messages.lines import COLUMNS, Line
from evenhand.policy.part import Places

BOUNDS = 1000  # lines of groups and caps, at most
FEW = 10  # unknown rewards of an arm up to which nothing is suspected
SMALL = 0.1  # part of an arm's rewards up to which unknown ones are not suspected, where the others are all the largest
LARGE = 0.5  # part from which on unknown rewards are always suspected
NAMED = 5  # arms that a warning names


def audit(account: Account, limit: int | None, now: float) -> Audit:
    """The audit of a bandit."""
    if limit is None:
        places = np.arange(len(account.names))
    else:
        plays = account.pulls - account.plays_before
        places = leading([-account.deficits, -plays], validate.whole("limit", limit))
    trust, warnings = trusted(account)
    promised, fault, found = _promised(account), fault_of(account) or account.fault_within, judged(account)
    lines = _lines(account, places, trust, promised, found)
    owing = furthest(account)
    return Audit(
        algorithm=account.algorithm,
        round=account.round,
        rounds=account.rounds,
        version=account.version,
        time=moment(now),
        arms=len(account.names),
        verdict=account.say(verdict(account, found)),
        fault=account.say(fault),
        warnings=tuple(map(account.say, (*warnings, *filter(None, [account.premise_within]), *account.doubts))),
        lines=lines,
        bounds=found.of_bounds(account.bounds[:BOUNDS]),
        delays=summarise(account.delays) if len(account.delays) else None,
        deficit_history=account.deficit_history,
        behind=owing.plays,
        furthest=owing.name,
        cost=cost_of(account) if account.round else None,
        history=account.history,
        changes_made=account.changes_made,
        ledger=account.ledger(),
        alarms=standing(account, found),
        sources=tuple(account.sources),
        words=account.words,
        rewards=tuple(account.limits),
        window=account.window,
        missing=account.missing,  # type: ignore[arg-type]  # one of the three, as the record checks
        segmented=account.segmented,
        segments=account.segments_of(places),
    )


def _lines(account: Account, places: Places, trust: Mask, promised: Array | None, found: Judged) -> tuple[Line, ...]:
    """The lines of some arms, made column by column, which is fast for many arms."""
    words = found.words()

    def some(values: Any, listed: Callable[[Array], list[Any]] = np.ndarray.tolist) -> list[Any]:
        return [None] * len(places) if values is None else listed(values[places])

    columns: dict[str, Iterable[Any]] = {
        "arm": [account.names[place] for place in places.tolist()],
        "retired": some(np.logical_not(account.active)),
        "promised": some(promised),
        "verdict": [words[place][0] for place in places.tolist()],
        "standing": [words[place][1] for place in places.tolist()],
        "trusted": some(trust),
        "counted": some(account.counted),
        "changes": some(account.changes, _whole),
        "score": some(account.scores, _or_none),
        "reason": [""] * len(places),  # which follows from the others
    }
    for name, part in account.balance._asdict().items():  # but for numbers of promises and plays in billionths
        columns[name] = some(part if name in ("promises", "paid") else part / PLAY)
    columns |= _figures(account, places)
    lines = tuple(Line(*row) for row in zip(*(columns[name] for name in COLUMNS), strict=True))
    for line, reason in zip(lines, reasons(lines, account, found), strict=True):
        line.reason = reason
    return lines


def _figures(account: Account, places: Places) -> dict[str, Iterable[Any]]:
    """The columns of counts and other numbers."""
    pulls, since, slowly = account.pulls[places], account.since[places], catch_up(account, recent(account))[places]
    rounds, plays = account.round - since, pulls - account.plays_before[places]
    counts = {
        "since": account.opened[places],
        "rounds": rounds,
        "plays": plays,
        "all_plays": pulls,
        **{name: getattr(account, name)[places] for name in ("received", "pending", "lost", "late", "learned_plays")},
    }
    numbers = {
        "share": _ratio(plays, rounds),
        **dict(zip(("low_share", "high_share"), mean_interval(plays, plays, rounds), strict=True)),
        "deficit": account.deficits[places],
        "worst": account.worst[places],
        "available": _ratio(account.seen[places] - account.missed[places], account.seen[places]),
        **dict(zip(("estimate", "low", "high"), account.means(places), strict=True)),
        "learned_mean": _ratio(account.learned_sums[places], account.learned_plays[places]),
        "catch_up_seconds": np.where(np.isfinite(slowly), slowly, np.nan) * (account.pace or math.nan),
    }
    columns: dict[str, Iterable[Any]] = {name: _whole(part) for name, part in counts.items()}
    columns |= {name: _or_none(part) for name, part in numbers.items()}
    return columns | {"catch_up_rounds": [int(one) if math.isfinite(one) else None for one in slowly.tolist()]}


def _whole(numbers: Array) -> list[int]:
    return numbers.astype(np.int64).tolist()  # type: ignore[no-any-return]


def _or_none(numbers: Array) -> list[float | None]:
    """The numbers, with None for NaN and infinity."""
    listed: list[float | None] = numbers.tolist()
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        listed[place] = None
    return listed


def _ratio(parts: Array, whole: Array) -> Array:
    ratio: Array = np.divide(parts, whole, out=np.full(len(parts), np.nan), where=whole > 0.0)
    return ratio


def _promised(account: Account) -> Array | None:
    """(arms,), the share that each arm is promised; by merit, the share that its estimate deserves. None where nothing
    is promised, or the merit of an arm depends on the round.
    """
    if account.merit is None:
        return account.fractions
    return None if account.contextual else deserved_shares(account)


def health(account: Account, closed: bool, now: float) -> AllocationHealth:
    """The health of an allocation."""
    trust, _ = trusted(account)
    doubts = int(np.count_nonzero(~trust & account.active))
    return health_of(account, judged(account), fault_of(account), doubts, closed, now)


def recent(account: Account) -> Array:
    """(arms,), the share of the recent rounds in which each arm was available; 1 before the first."""
    if not account.sets:
        return np.ones(len(account.names))
    sets = available_sets(account.sets, len(account.names))
    return np.asarray(account.frequencies @ sets)


def catch_up(account: Account, available: Array) -> Array:
    """Rounds after which each arm can be at most one play behind its promise, at the earliest.

    ``⌈(owed − 1)/(a − r)⌉``: an arm that plays whenever it can gains ``a − r`` plays per round, with its availability a
    and its promised share r. Known only of policies that let the arms play first that are owed something: where
    rewards can outweigh what is owed, an arm may never catch up.
    """
    if account.fractions is None or not account.owed_first:
        return np.full(len(account.names), np.nan)
    behind, gain = account.deficits, available - account.fractions
    late = account.active & (account.fractions > 0.0) & (behind > WHOLE)
    rounds = np.full(len(behind), np.inf)
    np.divide(behind - 1.0, gain, out=rounds, where=late & (gain > 0.0))
    return np.where(late, np.ceil(rounds - 1e-6), np.nan)  # sums of shares are not exact


def trusted(account: Account) -> tuple[Mask, tuple[str, ...]]:
    """Whether each arm's estimate can be trusted, and warnings that say why not."""
    low, high = account.limits
    known, unknown = account.known, account.pulls - account.known
    suspected = (known > 0.0) & (unknown > FEW)
    largest = account.sums >= known * (high - 1e-9 * (high - low))
    successes = suspected & largest & (unknown > SMALL * account.pulls)
    partial = suspected & ~successes & (unknown > LARGE * account.pulls)
    warnings = [account.incomparable] if account.incomparable and known.any() else []
    if successes.any():
        if account.missing == "zero":
            remedy = "a missing reward counts as 0 only when its window has passed"
        else:
            remedy = "if only successes are reported, create it anew with a window and missing='zero'"
        count = int(unknown[successes].sum())
        warnings.append(
            f"the estimates of {_names(account.names, successes)} are too high if failures are not reported: every "
            f"known reward is the largest, {high:g}, and {count:,} are unknown; {remedy}"
        )
    if partial.any():
        part = unknown[partial].sum() / account.pulls[partial].sum()
        warnings.append(
            f"the estimates of {_names(account.names, partial)} are from a small part of the rewards: {part:.0%} are "
            "unknown, and the estimates are wrong if these are better or worse than the others"
        )
    return ~(successes | partial), tuple(warnings)


def _names(names: Sequence[str], chosen: Mask) -> str:
    places = np.flatnonzero(chosen).tolist()
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return ", ".join(repr(names[place]) for place in places[:NAMED]) + more
