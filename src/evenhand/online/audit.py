"""What each arm was promised, and what it got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from io import StringIO
from operator import attrgetter
from statistics import NormalDist
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import validate
from evenhand.errors import EvenhandError
from evenhand.feasibility import check_shares
from evenhand.online.tallies import Places
from evenhand.online.trail import Excerpt
from evenhand.online.waits import Waits
from evenhand.records import Array
from evenhand.shares import proportional

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from evenhand.online.bandit import Bandit

CONFIDENCE = 0.95
SHOWN = 100  # lines of a printed audit
WIDTH = 80  # of it
EXAMINED = 100  # arms, those with the largest promise for their availability, that are asked whether they overask


@dataclass(slots=True)  # frozen, they would take three times as long to make, and there may be many
class Line:
    """One arm's line of an audit.

    Attributes:
        arm: its name.
        retired: whether it plays no more.
        promised: its share of the rounds, now; by merit: the share that its estimate deserves; None for no promise.
        since: the round after which that promise began.
        rounds: rounds since then.
        plays: plays since then.
        share: plays a round since then; None before the first.
        low_share: lower end of the 95 % interval of the chance to play that this share is an estimate of: Wilson's, as
            if all rounds had been decided alike and apart from each other; None before the first.
        high_share: upper end.
        deficit: plays behind the promise; negative where ahead; None for no promise in rounds.
        worst: the largest deficit so far; None for none.
        all_plays: plays from the very first round on.
        available: share of all rounds in which it was available; None before the first.
        reports: rewards reported in time.
        estimate: mean of the rewards known: those, and zeros for reports that never came where that counts as zero;
            None without any.
        low: lower end of its 95 % confidence interval; None where too few are known.
        high: upper end.
        pending: reports that are waited for.
        lost: reports that did not come in time.
        late: of these, came after all.
    """

    arm: str
    retired: bool
    promised: float | None
    since: int
    rounds: int
    plays: int
    share: float | None
    low_share: float | None
    high_share: float | None
    deficit: float | None
    worst: float | None
    all_plays: int
    available: float | None
    reports: int
    estimate: float | None
    low: float | None
    high: float | None
    pending: int
    lost: int
    late: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(zip(COLUMNS, VALUES(self), strict=True))


COLUMNS = tuple(column.name for column in fields(Line))
VALUES = attrgetter(*COLUMNS)


@dataclass(frozen=True)
class Audit:
    """What each arm was promised and got.

    Attributes:
        algorithm: which decided.
        round: rounds decided.
        version: changes of arms and promises so far.
        time: of the audit, in seconds since the epoch.
        arms: how many there are; there may be fewer lines.
        fault: why the promises cannot be kept with the availability seen so far; empty if they can.
        lines: an arm each, in the order of the arms; with a limit those that are furthest behind their promise first.
        delays: how long the last reports took; None before the first.
        trail: how far behind arms were in the course of time; None where no share of the rounds was ever promised.

    Example:
        >>> from evenhand.online import Bandit
        >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.0, 0.5])
        >>> for _ in range(4):
        ...     choice = bandit.decide()
        >>> audit = bandit.audit()
        >>> audit.lines[1].plays, audit.lines[1].deficit, audit.fault
        (2, 0.0, '')
        >>> audit.trail.rounds, audit.trail.arms, audit.trail.deficits
        ((1, 2, 3, 4), ('coffee',), ((0.5, 0.0, 0.5, 0.0),))
        >>> print(audit)
        2 arms, 4 rounds, fucb
        arm     promised  share  plays  deficit  worst  estimate  pending
        tea            0    0.5      2                                  2
        coffee       0.5    0.5      2        0    0.5                  2
    """

    algorithm: str
    round: int
    version: int
    time: float
    arms: int
    fault: str
    lines: tuple[Line, ...]
    delays: Waits | None
    trail: Excerpt | None

    def __str__(self) -> str:
        """A line an arm, in 80 columns, estimates with 95 % intervals; the fault below. `table` has all columns."""
        shown = self.lines[:SHOWN]
        count = f"{self.arms:,} arm" + ("" if self.arms == 1 else "s")
        told = [f"{count}, {self.round:,} rounds, {self.algorithm}"]
        if shown:
            told.append(_text(shown))
        if len(shown) < self.arms:
            told.append(f"and {self.arms - len(shown):,} more")
        if self.fault:
            told += wrap(f"cannot be kept: {self.fault}", WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n".join(told)

    def table(self) -> pd.DataFrame:
        """A row an arm."""
        import pandas as pd

        return pd.DataFrame.from_records([VALUES(line) for line in self.lines], columns=list(COLUMNS))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return vars(self) | {
            "lines": [line.to_json() for line in self.lines],
            "delays": None if self.delays is None else self.delays.to_json(),
            "trail": None if self.trail is None else self.trail.to_json(),
        }

    def figure(self) -> Figure:
        """Shares promised and got since the promise began, and estimated rewards with their intervals, an arm a row."""
        from evenhand.online.picture import draw

        return draw(self)


def fitting(columns: Mapping[str, Sequence[str]], room: int, gap: int, dispensable: Sequence[str]) -> list[str]:
    """Which columns fit the room, with a gap between any two; some may be left out, the first ones before the others.

    The first column needs no more than 9 places, as its texts can be folded.

    Example:
        >>> fitting({"arm": ["tea"], "plays": ["1,000,000"], "lost": ["17"]}, room=17, gap=2, dispensable=["lost"])
        ['arm', 'plays']
    """
    from rich.cells import cell_len

    wide = {name: max(map(cell_len, (name.strip(), *cells))) for name, cells in columns.items()}
    first, *_ = wide
    wide[first] = min(wide[first], 9)
    for name in dispensable:
        if sum(wide.values()) + gap * (len(wide) - 1) <= room:
            break
        wide.pop(name, None)
    return list(wide)


def plain(name: str) -> str:
    """A name in one line, without what a terminal would obey.

    Example:
        >>> plain("tea"), plain("green\\ntea")
        ('tea', "'green\\\\ntea'")
    """
    return name if name.isprintable() else repr(name)


def _text(lines: Sequence[Line]) -> str:
    """Lines as text in 80 columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    told = {
        "arm": [plain(line.arm) + (" (retired)" if line.retired else "") for line in lines],
        "promised": [_number(line.promised) for line in lines],
        "share": [_number(line.share) for line in lines],
        "plays": [f"{line.plays:,}" for line in lines],
        "deficit": [_number(line.deficit) for line in lines],
        "worst": [_number(line.worst) for line in lines],
        "estimate": [_estimate(line) for line in lines],
        "pending": [f"{line.pending:,}" for line in lines],
    }
    gap = 2 if len(fitting(told, WIDTH, 2, ["pending"])) == len(told) else 1
    names = fitting(told, WIDTH, gap, ["pending", "worst", "estimate"])
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for name in names:
        first = name == "arm"
        table.add_column(
            name, justify="left" if first else "right", no_wrap=not first, overflow="fold" if first else "ellipsis"
        )
    for row in zip(*(told[name] for name in names), strict=True):
        table.add_row(*map(Text, row))
    with StringIO() as text:
        Console(file=text, width=WIDTH, color_system=None, force_terminal=False).print(table)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _estimate(line: Line) -> str:
    """The estimate with its interval."""
    if line.low is None or line.high is None:
        return _number(line.estimate)
    return f"{_number(line.estimate)} [{_number(line.low)}, {_number(line.high)}]"


def audit(bandit: Bandit, limit: int | None, now: float) -> Audit:
    """The audit of a bandit as it stands."""
    promised, deficits, worst = _promised(bandit), bandit.deficits(), bandit.worst()
    if promised is None or bandit.fractions is None:
        behind = np.full(len(bandit.names), -np.inf)
    else:
        behind = np.where(promised > 0.0, deficits, -np.inf)
    if limit is None:
        places = np.arange(len(bandit.names))
    else:
        plays = bandit.state.tally.pulls - bandit.state.begun.pulls
        places = leading([-behind, -plays], validate.whole("limit", limit))
    waited, any_promise = bandit.tallies.waited(), behind.max() > -np.inf or bandit.trail.tells()
    return Audit(
        algorithm=bandit.algorithm,
        round=bandit.state.round,
        version=bandit.version,
        time=now,
        arms=len(bandit.names),
        fault=_fault(bandit),
        lines=_lines(bandit, places, promised, behind, worst),
        delays=Waits.of(waited) if len(waited) else None,
        trail=bandit.trail.excerpt(bandit.names, _where(worst, behind)) if any_promise else None,
    )


def leading(keys: Sequence[Array], limit: int) -> Places:
    """The first places in the order of some keys, the smallest first; equal ones in their own order.

    Where there are many, only those that are near the limit are looked at twice.

    Example:
        >>> leading([np.array([1.0, 0.0, 1.0, 1.0]), np.array([5.0, 9.0, 4.0, 5.0])], limit=3)
        array([1, 2, 0])
    """
    chosen: list[Places] = []
    open_, left = np.arange(len(keys[0])), limit
    for key in keys:
        if len(open_) <= left:
            break
        values = key[open_]
        last = np.sort(values)[left - 1]  # quicker than a partition where many are equal
        chosen.append(open_[values < last])
        left -= len(chosen[-1])
        open_ = open_[values == last]
    places = np.sort(np.concatenate([*chosen, open_[:left]]))
    return places[np.lexsort([key[places] for key in reversed(keys)])]


def _lines(bandit: Bandit, places: Places, promised: Array | None, behind: Array, worst: Array) -> tuple[Line, ...]:
    """The lines of some arms; a column at a time, which is the quickest way to many."""
    counts, begun, pulls, round = bandit.tallies, bandit.state.begun, bandit.state.tally.pulls, bandit.state.round
    pulls, since = pulls[places], begun.rounds[places]
    rounds, plays = round - since, pulls - begun.pulls[places]
    known, sums, behind = counts.known[places], counts.sums[places], behind[places]
    low_share, high_share = wilson(plays, rounds)
    low, high = _intervals(known, sums, counts.spread[places], bandit.range)
    names = [bandit.names[place] for place in places.tolist()]
    columns: list[Iterable[Any]] = [
        names,
        np.logical_not(bandit.able[places]).tolist(),
        [None] * len(names) if promised is None else promised[places].tolist(),
        _whole(since),
        _whole(rounds),
        _whole(plays),
        _or_none(_ratio(plays, rounds)),
        _or_none(low_share),
        _or_none(high_share),
        _or_none(behind),
        _or_none(_where(worst[places], behind)),
        _whole(pulls),
        _or_none(_ratio(round - counts.missed[places], np.full(len(places), float(round)))),
        _whole(counts.reports[places]),
        _or_none(_ratio(sums, known)),
        _or_none(low),
        _or_none(high),
        _whole(bandit.pending()[places]),
        _whole(counts.lost[places]),
        _whole(counts.late[places]),
    ]
    return tuple(Line(*row) for row in zip(*columns, strict=True))


def _whole(numbers: Array) -> list[int]:
    return numbers.astype(np.int64).tolist()  # type: ignore[no-any-return]


def _or_none(numbers: Array) -> list[float | None]:
    """Numbers; None where there is none, or infinity."""
    listed: list[float | None] = numbers.tolist()
    for place in np.flatnonzero(~np.isfinite(numbers)).tolist():
        listed[place] = None
    return listed


def _ratio(parts: Array, whole: Array) -> Array:
    ratio: Array = np.divide(parts, whole, out=np.full(len(parts), np.nan), where=whole > 0.0)
    return ratio


def _where(worst: Array, behind: Array) -> Array:
    """The worst deficits of those who are promised anything; −inf for the others."""
    return np.where(behind > -np.inf, worst, -np.inf)


def _promised(bandit: Bandit) -> Array | None:
    """The share that each arm is promised; by merit, what its estimate deserves."""
    merit = bandit.policy.merit
    if merit is None:
        return bandit.fractions
    known = bandit.tallies.known
    means = np.divide(bandit.tallies.sums, known, out=np.full(len(known), 0.5), where=known > 0)
    return np.asarray(proportional(merit(np.clip(means, 0.0, 1.0)), bandit.plays, bandit.able))


def _fault(bandit: Bandit) -> str:
    """Why promises cannot be kept with the availability seen: the arms that were there too rarely, or overask."""
    from evenhand.availability import Joint

    shares = bandit.fractions
    if shares is None:
        return ""
    promised = np.flatnonzero(shares > 0.0)
    sets, parts = bandit.seen(promised)
    if not sets.size:
        return ""
    shares = shares[promised]
    there = sum((part * row for row, part in zip(sets, parts, strict=True)), np.zeros(len(shares)))
    pace = np.divide(shares, there, out=np.full(len(shares), np.inf), where=there > 0.0)
    # Mostly every arm can play in an even part of the rounds in which it was there, and nothing more need be asked.
    if pace.max() <= 1.0 and (pace.sum() <= bandit.plays or all(row @ pace <= bandit.plays for row in sets)):
        return ""
    pressing = np.sort(leading([-pace], EXAMINED))
    names = [bandit.names[place] for place in promised[pressing].tolist()]
    try:
        check_shares(shares[pressing], bandit.plays, Joint(sets[:, pressing].astype(int), parts), names)
    except EvenhandError as error:
        return str(error)
    return ""


def wilson(parts: Array, count: Array) -> tuple[Array, Array]:
    """Wilson's 95 % intervals of chances of which ``parts`` out of ``count`` came true; NaN where that is 0.

    Example:
        >>> low, high = wilson(np.array([0.0, 50.0]), np.array([10.0, 100.0]))
        >>> low.round(3), high.round(3)
        (array([0.   , 0.404]), array([0.278, 0.596]))
    """
    square = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0) ** 2
    count = np.where(count > 0.0, count, np.nan)
    part = parts / count
    centre = (part + square / (2.0 * count)) / (1.0 + square / count)
    inside = np.maximum(part * (1.0 - part), 0.0) + square / (4.0 * count)
    reach = np.sqrt(square * inside / count) / (1.0 + square / count)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)


def _intervals(known: Array, sums: Array, spread: Array, limits: tuple[float, float] | None) -> tuple[Array, Array]:
    """The 95 % intervals of mean rewards: Wilson's where rewards are bounded, Student's where they are not; NaN where
    too few rewards are known.

    Wilson's takes the rewards for 0 and 1, which spread more than any others with the same mean: it is never too short
    for that, and is no point where all rewards were equal.
    """
    if limits is not None:
        least, width = limits[0], limits[1] - limits[0]
        low, high = wilson((sums - least * known) / width, known)
        return least + width * low, least + width * high
    from scipy.stats import t

    count = np.where(known > 1.0, known, np.nan)
    reach = np.asarray(t.ppf(0.5 + CONFIDENCE / 2.0, count - 1.0)) * np.sqrt(spread / (count - 1.0) / count)
    return sums / count - reach, sums / count + reach
