"""The one rule for whether promises were kept: a judgement of each, from counts, intervals and a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array, Mask
from evenhand.inference.means import CONFIDENCE, mean_and_reach
from evenhand.inference.sequences import mean_interval
from evenhand.inference.shares import share_interval
from evenhand.judgement.keeping import Keeping, later

Verdict: TypeAlias = Literal["kept", "missed", "undecided"]
KEPT, MISSED, OPEN = 0, 1, 2  # places in the following
VERDICTS: tuple[Verdict, ...] = ("kept", "missed", "undecided")

PART = 0.01  # of what is due, which may be missing
FEWEST = 1.0  # plays that may be missing in any case
FIXED = 2.0 * CONFIDENCE - 1.0  # confidence of intervals whose ends are each wrong in at most 5%
ROUNDING = 1e-9  # plays
FAR = 10.0  # times the rounds so far, beyond which nobody waits for a decision


@dataclass(frozen=True, slots=True)
class Judgement:
    """What can be said of one promise."""

    verdict: Verdict
    behind: float  # plays that are missing, or above a cap; negative where there is room
    low: float  # lower end of the interval of what is missing; equal to `behind` where it is an exact count
    high: float
    tolerance: float  # plays that may be missing: 1% of what is due, or a single play
    allowed: float  # plays that the policy may owe by its rule after these rounds; 0 where its rule allows none
    parameter: str  # what allows them, with its value; empty for none
    # about how many rounds will decide, if things go on as they do; None where it is decided, or where ten times the
    # rounds so far would not decide
    rounds_needed: int | None
    lanes_needed: int | None  # about how many lanes of as many rounds would decide, in a simulation; None likewise


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """The judgements of many promises; each attribute but `keeping` is (promises,)."""

    verdicts: NDArray[np.intp]  # places in `VERDICTS`
    behind: Array
    low: Array
    high: Array
    tolerance: Array
    allowed: float
    rounds_needed: Array  # NaN where it is decided, inf for never
    lanes_needed: Array
    keeping: Keeping

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, place: int) -> Judgement:
        """The judgement of one promise."""
        by_rule = self.low[place] > self.tolerance[place]
        return Judgement(
            VERDICTS[self.verdicts[place]],
            float(self.behind[place]),
            float(self.low[place]),
            float(self.high[place]),
            float(self.tolerance[place]),
            self.allowed,
            self.keeping.parameter if by_rule and self.allowed else "",
            _whole(self.rounds_needed[place]),
            _whole(self.lanes_needed[place]),
        )

    def are(self, verdict: int) -> Mask:
        """(promises,), whether each is kept, missed or open."""
        found: Mask = self.verdicts == verdict
        return found


def tolerated(due: Array) -> Array:
    """How much of what is due may be missing."""
    return np.maximum(FEWEST, PART * due)


def judge(
    keeping: Keeping,
    due: Array,
    plays: Array,
    rounds: float | Array,
    *,
    online: bool = False,
    cap: bool = False,
    at_once: Array | float = 1.0,
    due_at_most: Array | None = None,
    confidence: float = CONFIDENCE,
) -> Judgements:
    """Whether each promise is kept or missed, or undecided.

    With ``D = due − plays`` and ``a = max(1, 1% of what is due)``, a promise is kept where the whole interval of D is
    at most a, and missed where the whole interval is above ``max(a, allowance)``. The interval is

    - the point D for a policy that counts what it owes (its allowance is `Policy.allowance`) or weighs it for a price;
    - that of the mean chance for promises by chance and by merit: a sequence that holds at all times ``online``, and
      Clopper and Pearson's after a fixed number of rounds and over lanes, whose ends are each wrong in at most 5%;
    - Student's of the mean D over lanes for counts (not beyond the lane furthest behind, and the one furthest ahead),
      prices and merit, with ends of the same kind.
    """
    lanes = plays.ndim > 1
    sure = np.broadcast_to(due, plays.shape)
    wanted = sure.mean(axis=0) if lanes else sure
    most = wanted if due_at_most is None else due_at_most
    middle = (wanted + most) / 2.0
    behind = middle - (plays.mean(axis=0) if lanes else plays)
    count = np.broadcast_to(np.asarray(rounds, dtype=float), wanted.shape)
    if keeping.keeps == "chance" or (keeping.keeps == "merit" and len(np.atleast_2d(plays)) == 1):
        fewest, largest = _chances(plays, count, keeping.longest, at_once, confidence if online else None)
        low, high = wanted - largest, most - fewest
    elif lanes and len(plays) > 1:
        low, high = _over_lanes(sure - plays, clipped=keeping.keeps == "count")
    else:
        low, high = wanted - (plays[0] if lanes else plays), most - (plays[0] if lanes else plays)
    if cap:
        behind, low, high = -behind, -high, -low
    tolerance = tolerated(middle)
    allowed = keeping.owed_at_most(float(count.max(initial=0.0)))
    verdicts = np.where(high <= tolerance + ROUNDING, KEPT, OPEN)
    verdicts = np.where(low > np.maximum(tolerance, allowed) + ROUNDING, MISSED, verdicts)
    more = _more(verdicts == OPEN, behind, low, high, tolerance)
    rates = np.divide(middle, count, out=np.zeros_like(middle), where=count > 0.0)
    by_rule = (verdicts == OPEN) & (low > tolerance)
    needed = np.ceil(count * np.where(more > FAR, np.inf, more))
    rounds_needed = np.where(by_rule, _until_small(keeping, rates, count, by_rule), needed)
    lanes_needed = np.where(by_rule | online, np.nan, np.ceil((len(plays) if lanes else 1) * more))
    return Judgements(verdicts, behind, low, high, tolerance, allowed, rounds_needed, lanes_needed, keeping)


def judge_rates(
    rates: Array, earned: Array, rounds: float | Array, unknown: Array | float = 0.0, *, online: bool = False
) -> Judgements:
    """Whether guaranteed rewards are earned; one that is not known is any between 0 and 1.

    Args:
        rates: (promises,), rewards per round on the scale [0, 1].
        earned: (promises,) of one allocation, or (lanes, promises), rewards that are known.
        rounds: over which they are due; a number, or (promises,).
        unknown: (promises,), how many rewards are not known.
        online: whether one looks again and again.
    """
    due = rates * rounds
    return judge(Keeping("merit"), due - unknown, earned, rounds, online=online, due_at_most=due)


def _chances(
    plays: Array, rounds: Array, longest: float, at_once: Array | float, online: float | None
) -> tuple[Array, Array]:
    """The ends of the plays that were to be expected, (promises,), of one lane; ``online`` is the confidence then.

    A draw that lasts up to L rounds, of up to m plays each, counts like one play of a round with ``1/(L m)`` for each
    of its plays: ``E exp(λ x) ≤ (1 + p (e^λ − 1))^x`` for the part x of L that it lasts.
    """
    lanes = len(plays) if plays.ndim > 1 else 1
    draws, scale = rounds * lanes / longest, longest * np.asarray(at_once)
    hits = np.minimum((plays.sum(axis=0) if plays.ndim > 1 else plays) / scale, draws)
    if online is not None:
        low, high = mean_interval(hits, hits, draws, online)
    else:
        low, high = share_interval(hits, draws, FIXED)
    return np.nan_to_num(low, nan=0.0) * rounds * at_once, np.nan_to_num(high, nan=1.0) * rounds * at_once


def _over_lanes(behind: Array, clipped: bool) -> tuple[Array, Array]:
    """The ends of the mean of what is missing, of (lanes, promises)."""
    mean, reach = mean_and_reach(behind.T, FIXED)
    low, high = mean - reach, mean + reach
    return (np.maximum(low, behind.min(axis=0)), np.minimum(high, behind.max(axis=0))) if clipped else (low, high)


def _more(undecided: Mask, behind: Array, low: Array, high: Array, tolerance: Array) -> Array:
    """How many times the evidence would decide, were what is missing so far the truth: ``(h/δ)²``; else NaN.

    h is half the interval, and δ how far its middle is from the tolerance.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        times = ((high - low) / 2.0 / np.abs(behind - tolerance)) ** 2
    return np.where(undecided, np.maximum(times, 1.0), np.nan)


def _until_small(keeping: Keeping, rates: Array, rounds: Array, asked: Mask) -> Array:
    """(promises,), the round from which on less may be owed than is tolerated; inf for never."""
    found = np.full(rates.shape, np.inf)
    if not asked.any():
        return found
    grid = later(float(rounds.max()))
    allowed = np.array([keeping.owed_at_most(one) for one in grid])
    excess = allowed / tolerated(rates[asked, None] * grid)  # (asked, grid)
    small = excess <= 1.0
    first = small.argmax(axis=1)
    before = np.maximum(first - 1, 0)
    rows = np.arange(len(first))
    over, under = np.log(excess[rows, before]), np.log(excess[rows, first])
    part = np.divide(over, over - under, out=np.ones_like(over), where=over > under)
    at = grid[before] * (grid[first] / grid[before]) ** part  # both fall as powers of the rounds, about
    found[asked] = np.where(small.any(axis=1), np.ceil(at), np.inf)
    return found


def _whole(number: float) -> int | None:
    return int(number) if math.isfinite(number) and number < 1e18 else None
