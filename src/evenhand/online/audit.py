"""What each arm was promised, and what it got."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.feasibility import check_shares
from evenhand.records import Array
from evenhand.shares import proportional

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from evenhand.online.bandit import Bandit

CONFIDENCE = 0.95


@dataclass(frozen=True)
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
        deficit: plays behind the promise; negative where ahead; None for no promise in rounds.
        worst: the largest deficit so far; None for none.
        all_plays: plays from the very first round on.
        available: share of all rounds in which it was available; None before the first.
        reports: rewards reported in time.
        estimate: their mean; None without any.
        low: lower end of the 95 % confidence interval; None without reports.
        high: upper end.
        pending: reports that are waited for.
        lost: reports that did not come in time.
        late: reports that came after that.
    """

    arm: str
    retired: bool
    promised: float | None
    since: int
    rounds: int
    plays: int
    share: float | None
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


@dataclass(frozen=True)
class Audit:
    """What each arm was promised and got.

    Attributes:
        algorithm: which decided.
        round: rounds decided.
        version: changes of arms and promises so far.
        lines: an arm each.
        fault: why the promises cannot be kept with the availability seen so far; empty if they can.

    Example:
        >>> from evenhand.online import Bandit
        >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.0, 0.5])
        >>> for _ in range(4):
        ...     choice = bandit.decide()
        >>> audit = bandit.audit()
        >>> audit.lines[1].plays, audit.lines[1].deficit, audit.fault
        (2, 0.0, '')
    """

    algorithm: str
    round: int
    version: int
    lines: tuple[Line, ...]
    fault: str

    def table(self) -> pd.DataFrame:
        """A row an arm."""
        import pandas as pd

        return pd.DataFrame([asdict(line) for line in self.lines])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self) | {"lines": [asdict(line) for line in self.lines]}

    def figure(self) -> Figure:
        """Shares promised and got since the promise began, and estimated rewards with their intervals, an arm a row."""
        from evenhand.online.picture import draw

        return draw(self)


def audit(bandit: Bandit) -> Audit:
    """The audit of a bandit as it stands."""
    begun, pulls, round = bandit.state.begun, bandit.state.tally.pulls, bandit.state.round
    counts, pending = bandit.tallies, bandit.book.pending()
    promised, owes = _promised(bandit), bandit.fractions is not None
    deficits = bandit.deficits()
    lines = []
    for place, arm in enumerate(bandit.names):
        rounds = round - int(begun.rounds[place])
        plays = int(pulls[place] - begun.pulls[place])
        low, high = _interval(counts.reports[place], counts.sums[place], counts.squares[place], bandit.range)
        behind = owes and promised is not None and promised[place] > 0.0
        reports = int(counts.reports[place])
        lines.append(
            Line(
                arm=arm,
                retired=arm in bandit.retired,
                promised=None if promised is None else float(promised[place]),
                since=int(begun.rounds[place]),
                rounds=rounds,
                plays=plays,
                share=plays / rounds if rounds else None,
                deficit=float(deficits[place]) if behind else None,
                worst=float(counts.worst[place]) if behind and np.isfinite(counts.worst[place]) else None,
                all_plays=int(pulls[place]),
                available=float(counts.offered[place] / round) if round else None,
                reports=reports,
                estimate=float(counts.sums[place] / reports) if reports else None,
                low=low,
                high=high,
                pending=pending.get(arm, 0),
                lost=int(counts.lost[place]),
                late=int(counts.late[place]),
            )
        )
    return Audit(bandit.algorithm, round, bandit.version, tuple(lines), _fault(bandit))


def _promised(bandit: Bandit) -> Array | None:
    """The share that each arm is promised; by merit, what its estimate deserves."""
    merit = bandit.policy.merit
    if merit is None:
        return bandit.fractions
    reports = bandit.tallies.reports
    means = np.divide(bandit.tallies.sums, reports, out=np.full(len(reports), 0.5), where=reports > 0)
    awake = np.array([name not in bandit.retired for name in bandit.names])
    return np.asarray(proportional(merit(np.clip(means, 0.0, 1.0)), bandit.plays, awake))


def _fault(bandit: Bandit) -> str:
    """Why promises cannot be kept with the availability seen: the arms that were there too rarely, or overask."""
    shares, seen = bandit.fractions, bandit.seen()
    if shares is None or not len(seen[0]):
        return ""
    from evenhand.availability import Joint

    try:
        check_shares(shares, bandit.plays, Joint(seen[0].astype(int), seen[1]), bandit.names)
    except EvenhandError as error:
        return str(error)
    return ""


def _interval(
    count: float, total: float, squares: float, limits: Sequence[float] | None
) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean reward: Wilson's where rewards are bounded, Student's where they are not.

    Wilson's takes the rewards for 0 and 1, which spread more than any others with the same mean: it is never too short
    for that, and is no point where all rewards were equal.
    """
    if limits is not None:
        low, high = limits
        return (None, None) if count < 1 else _wilson(count, total, low, high)
    if count < 2:
        return None, None
    from scipy.stats import t

    mean = total / count
    spread = math.sqrt(max(squares - total * mean, 0.0) / (count - 1.0) / count)
    reach = float(t.ppf(0.5 + CONFIDENCE / 2.0, count - 1.0)) * spread
    return float(mean - reach), float(mean + reach)


def _wilson(count: float, total: float, low: float, high: float) -> tuple[float, float]:
    from scipy.stats import norm

    width = high - low
    part = (total / count - low) / width if width else 0.0
    square = float(norm.ppf(0.5 + CONFIDENCE / 2.0)) ** 2
    centre = (part + square / (2.0 * count)) / (1.0 + square / count)
    reach = math.sqrt(square * (max(part * (1.0 - part), 0.0) + square / (4.0 * count)) / count) / (
        1.0 + square / count
    )
    return low + width * max(centre - reach, 0.0), low + width * min(centre + reach, 1.0)
