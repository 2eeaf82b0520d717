"""When the rewards of a log come, in rounds: a test whether that depends on the reward, and the law of delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from evenhand.bandit.evaluation.plays import Plays
from evenhand.core.state import Array, Mask
from evenhand.environment.delays import Empirical
from evenhand.environment.feedback import FeedbackModel, FeedbackTraits, Immediate
from evenhand.environment.late import Arms, Delay, singly

LEVELS = 1000  # quantiles of delays that are kept
DOUBT = 3.0  # standard deviations from which delays count as dependent on rewards: two tests, 0.5 % together
FEW = 3  # different rewards that are a class each


@dataclass(frozen=True, eq=False)
class Lateness:
    """How rewards come."""

    feedback: FeedbackModel
    dependent: bool  # whether delays depend on rewards
    beyond: float  # share of the rewards that would come after the end of the log, or never
    sentences: tuple[str, ...]


@frozen(eq=False)
class ClassDelays(Delay):
    """Delays drawn from those of the reward's class."""

    edges: Array  # (classes − 1,), the smallest rewards of all classes but the first
    delays: Array  # (classes, levels), quantiles in rounds

    rules = singly

    traits = FeedbackTraits(random=True, biased=True)

    def quantile(self, level: Array, arm: Arms, reward: NDArray[Any]) -> Array:
        """The delay at the level in the reward's class."""
        place = np.clip(np.ceil(level * LEVELS) - 1.0, 0.0, LEVELS - 1.0).astype(np.intp)
        return np.asarray(self.delays[np.searchsorted(self.edges, reward, side="right"), place])


def lateness(plays: Plays) -> Lateness:
    """How the rewards of a log come; delays are counted in decisions of the log."""
    window, missing = plays.reading.window, plays.reading.missing
    known = ~np.isnan(plays.rewarded)
    if not known.any():
        return Lateness(
            Immediate(), False, 0.0, ("The log does not say when rewards came: they count as known at once.",)
        )
    times = plays.decided[np.flatnonzero(np.diff(plays.round, prepend=-1))]
    times = np.maximum.accumulate(times)  # rows of a round stand together, at the time of the first
    delay = np.maximum(np.searchsorted(times, plays.rewarded) - 1 - plays.round, 0).astype(float)
    age = np.asarray(len(times) - 1.0 - plays.round, dtype=float)
    if window is not None:
        age = np.minimum(age, np.searchsorted(times, plays.decided + window) - 1 - plays.round)
    reward = np.where(np.isnan(plays.reward), 0.0, plays.reward)
    answered = known & ~np.isnan(plays.reward)
    lost = np.isnan(plays.reward) & ~plays.open
    waiting = plays.open & np.isnan(plays.reward)
    unsaid = int((~known & ~np.isnan(plays.reward) & (missing != "zero")).sum())
    says = [f"{unsaid:,} rewards have no time: they count as coming when the others do."] if unsaid else []
    kept = answered | waiting | (lost & (missing == "lost")) | ((missing == "zero") & ~known)
    delay, age = np.where(answered, delay, np.inf)[kept], age[kept]
    reward, item, open = reward[kept], plays.item[kept], waiting[kept]
    if missing == "zero" and not answered.all():
        return _reported(delay, age, reward, open, says)
    score = dependence(delay[np.isfinite(delay)], reward[np.isfinite(delay)], item[np.isfinite(delay)])
    if abs(score) <= DOUBT:
        share = product_limit(delay, age, np.isfinite(delay))
        says.append(
            "A test finds no sign that delays depend on rewards (answered early against late), so delays are estimated "
            "by the product limit, for all arms together."
        )
        return Lateness(Empirical(quantiles(share)), False, 1.0 - float(share[-1]), (*says, *_tail(share, missing)))
    return _by_class(delay, age, reward, score, missing, says)


def _by_class(
    delay: Array, age: Array, reward: Array, score: float, missing: str | None, says: Sequence[str]
) -> Lateness:
    """The delays for each class of rewards, where they depend on these by so many standard deviations."""
    classes, edges = _classes(reward, np.isfinite(delay))
    shares = [product_limit(delay, age, np.isfinite(delay) & (classes == one)) for one in range(len(edges) + 1)]
    whole = sum(float(share[-1]) for share in shares)
    rows = [quantiles(share * whole / max(float(share[-1]), 1e-12)) for share in shares]
    direction = "larger" if score > 0.0 else "smaller"
    said = (
        f"Delays depend on rewards: {direction} ones come later (answered early against late, {abs(score):.1f} "
        "standard deviations). They are estimated for each class of rewards (Aalen-Johansen), and means only from "
        "plays that are old enough, with the worst case for those still open."
    )
    tail = 1.0 - whole
    return Lateness(ClassDelays(edges, np.array(rows)), True, tail, (*says, said, *_tail(np.array([whole]), missing)))


def dependence(delay: Array, reward: Array, item: NDArray[np.intp]) -> float:
    """By how many standard deviations late rewards differ from early ones of the same arm; the larger of two scores.

    Linear rank statistics with their permutation moments, for the ranks of delays and for their distances from the
    middle one: ``S = Σ (a − ā)(r − r̄)`` within each arm, with variance ``Σ(a − ā)² Σ(r − r̄)²/(n − 1)``.

    Source: Hájek, Šidák and Sen 1999, Theory of rank tests (stratified linear rank statistics).
    """
    if len(delay) < 2:
        return 0.0
    order = np.argsort(np.argsort(delay, kind="stable"), kind="stable")
    _, same, number = np.unique(delay, return_inverse=True, return_counts=True)
    rank = (np.bincount(same, weights=order) / number)[same] / len(delay)
    count = np.maximum(np.bincount(item), 1)

    def centred(values: Array) -> Array:
        return values - (np.bincount(item, weights=values) / count)[item]

    gap, scores = centred(reward), []
    for values in (rank, np.abs(rank - 0.5)):
        value = centred(values)
        spread = np.bincount(item, weights=value**2) * np.bincount(item, weights=gap**2) / np.maximum(count - 1, 1)
        scores.append(float(value @ gap) / max(float(np.sqrt(spread.sum())), 1e-300))
    return scores[0] if abs(scores[0]) >= abs(scores[1]) else float(np.copysign(scores[1], scores[0] or 1.0))


def product_limit(delay: Array, age: Array, counted: Mask) -> Array:
    """(delays,), the share of all plays that are answered within 0, 1, … rounds, with an answer that is counted.

    With all answers counted it is the product limit ``1 − Π (1 − e_d/n_d)``; with those of a class the estimator of
    Aalen and Johansen, ``Σ S(d−) e_d/n_d``. A play at whose age nothing has come yet is at risk up to then.

    Args:
        delay: (plays,), rounds; inf where there is no answer.
        age: (plays,), rounds up to the end of the log.
        counted: (plays,), the answers that are counted.

    Source: Kaplan and Meier 1958; Aalen and Johansen 1978.
    """
    answered = np.isfinite(delay)
    until = np.where(answered, delay, age).astype(np.intp)
    length = int(until[answered].max(initial=0)) + 1
    left = len(until) - np.concatenate([[0], np.cumsum(np.bincount(until, minlength=length))[: length - 1]])
    every = np.bincount(until[answered], minlength=length)[:length]
    own = np.bincount(until[answered & counted], minlength=length)[:length]
    risk = np.maximum(left, 1)
    survival = np.concatenate([[1.0], np.cumprod(1.0 - every / risk)[:-1]])
    return np.cumsum(survival * own / risk)


def quantiles(share: Array) -> Array:
    """(levels,), delays by level, of the share that is known within 0, 1, … rounds; inf beyond."""
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    place = np.searchsorted(np.minimum(share, 1.0), levels)
    return np.where(place < len(share), place, np.inf)


def _reported(delay: Array, age: Array, reward: Array, open: Mask, says: list[str]) -> Lateness:
    """Where only successes are reported: a zero is known when its window is over."""
    reported = np.isfinite(delay)
    classes, edges = _classes(reward, reported)
    rows = []
    for one in range(len(edges) + 1):
        share = product_limit(delay, age, reported & (classes == one))
        rows.append(quantiles(share / max(float(share[-1]), 1e-12)))
    final = ~reported & ~open
    zero = np.quantile(age[final], (np.arange(LEVELS) + 0.5) / LEVELS).round() if final.any() else rows[0]
    first = float(np.min(reward[reported])) if reported.any() else 1.0
    says.append(
        "Only successes are reported: how long they take is estimated for each class of rewards (Aalen-Johansen), and "
        "a zero is known when its window is over."
    )
    model = ClassDelays(np.array([np.nextafter(0.0, first), *edges]), np.array([zero, *rows]))
    return Lateness(model, True, 0.0, tuple(says))


def _classes(reward: Array, known: Mask) -> tuple[NDArray[np.intp], Array]:
    """The class of each reward, and the smallest rewards of all classes but the first."""
    values = np.unique(reward[known])
    edges = values[1:]
    if len(values) > FEW:  # the smallest, which is often the only frequent one, and the others in two halves
        edges = np.unique([values[1], np.quantile(reward[known & (reward > values[0])], 0.5, method="higher")])
    return np.searchsorted(edges, reward, side="right"), edges


def _tail(share: Array, missing: str | None) -> Sequence[str]:
    """What is not known of rewards that come after the log's end."""
    left = 1.0 - float(share[-1])
    if left < 0.5 / LEVELS:
        return ()
    lost = "" if missing == "never" else "are lost, or "
    return (f"{left:.1%} of the rewards {lost}come later than the log is long: in simulations they never come.",)
