"""What each arm was promised, and what it got."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
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
EXAMINED = 100  # arms, those with the largest promise for their availability, that are asked whether they overask


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
        estimate: mean of the rewards known: those, and zeros for reports that never came where that counts as zero;
            None without any.
        low: lower end of its 95 % confidence interval; None where too few are known.
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

        return pd.DataFrame([vars(line) for line in self.lines])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return vars(self) | {"lines": [dict(vars(line)) for line in self.lines]}

    def figure(self) -> Figure:
        """Shares promised and got since the promise began, and estimated rewards with their intervals, an arm a row."""
        from evenhand.online.picture import draw

        return draw(self)


def audit(bandit: Bandit) -> Audit:
    """The audit of a bandit as it stands."""
    begun, pulls, round = bandit.state.begun, bandit.state.tally.pulls, bandit.state.round
    counts, pending = bandit.tallies, bandit.book.pending()
    promised, owes = _promised(bandit), bandit.fractions is not None
    deficits, worst = bandit.deficits(), bandit.worst()
    lows, highs = _intervals(counts.known, counts.sums, counts.spread, bandit.range)
    lines = []
    for place, arm in enumerate(bandit.names):
        rounds = round - int(begun.rounds[place])
        plays = int(pulls[place] - begun.pulls[place])
        behind = owes and promised is not None and promised[place] > 0.0
        known = float(counts.known[place])
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
                worst=float(worst[place]) if behind and np.isfinite(worst[place]) else None,
                all_plays=int(pulls[place]),
                available=float(counts.offered[place] / round) if round else None,
                reports=int(counts.reports[place]),
                estimate=float(counts.sums[place] / known) if known else None,
                low=None if np.isnan(lows[place]) else float(lows[place]),
                high=None if np.isnan(highs[place]) else float(highs[place]),
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
    known = bandit.tallies.known
    means = np.divide(bandit.tallies.sums, known, out=np.full(len(known), 0.5), where=known > 0)
    awake = np.array([name not in bandit.retired for name in bandit.names])
    return np.asarray(proportional(merit(np.clip(means, 0.0, 1.0)), bandit.plays, awake))


def _fault(bandit: Bandit) -> str:
    """Why promises cannot be kept with the availability seen: the arms that were there too rarely, or overask."""
    from evenhand.availability import Joint

    shares, (sets, parts) = bandit.fractions, bandit.seen()
    if shares is None or not len(sets):
        return ""
    there = sum((part * row for row, part in zip(sets, parts, strict=True)), np.zeros(len(shares)))
    pace = np.divide(shares, there, out=np.where(shares > 0.0, np.inf, 0.0), where=there > 0.0)
    # Mostly every arm can play in an even part of the rounds in which it was there, and nothing more need be asked.
    if pace.max() <= 1.0 and all(pace[row].sum() <= bandit.plays for row in sets):
        return ""
    pressing = np.sort(np.argsort(-pace, kind="stable")[: min(EXAMINED, np.count_nonzero(shares))])
    try:
        joint = Joint(sets[:, pressing].astype(int), parts)
        check_shares(shares[pressing], bandit.plays, joint, [bandit.names[place] for place in pressing.tolist()])
    except EvenhandError as error:
        return str(error)
    return ""


def _intervals(known: Array, sums: Array, spread: Array, limits: tuple[float, float] | None) -> tuple[Array, Array]:
    """The 95 % intervals of mean rewards: Wilson's where rewards are bounded, Student's where they are not; NaN where
    too few rewards are known.

    Wilson's takes the rewards for 0 and 1, which spread more than any others with the same mean: it is never too short
    for that, and is no point where all rewards were equal.
    """
    count = np.where(known > (0.0 if limits else 1.0), known, np.nan)
    mean = sums / count
    if limits is None:
        from scipy.stats import t

        reach = np.asarray(t.ppf(0.5 + CONFIDENCE / 2.0, count - 1.0)) * np.sqrt(spread / (count - 1.0) / count)
        return mean - reach, mean + reach
    low, width = limits[0], limits[1] - limits[0]
    part, square = (mean - low) / width, NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0) ** 2
    centre = (part + square / (2.0 * count)) / (1.0 + square / count)
    inside = np.maximum(part * (1.0 - part), 0.0) + square / (4.0 * count)
    reach = np.sqrt(square * inside / count) / (1.0 + square / count)
    return low + width * np.maximum(centre - reach, 0.0), low + width * np.minimum(centre + reach, 1.0)
