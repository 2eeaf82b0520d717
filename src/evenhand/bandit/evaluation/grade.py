"""Whether a log can answer for a target: overlap, weights, drift, and how much depends on the propensities."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from evenhand.bandit.evaluation.estimators import mean, snips
from evenhand.bandit.evaluation.followed import Followed
from evenhand.bandit.evaluation.intervals import CONTRADICTED
from evenhand.bandit.evaluation.plays import FEW, FEWEST
from evenhand.bandit.evaluation.propensities import UNSEEN as NEVER
from evenhand.bandit.evaluation.propensities import chances_change, mend, without_chance
from evenhand.core.errors import number_of
from evenhand.core.intervals import Interval
from evenhand.core.state import Array
from evenhand.inference.tails import pareto_k
from evenhand.simulation.files import without_infinities

HEAVY = 0.05  # part of all weight above which there is a warning about a single play
THIN = 0.01  # effective plays, as a part of all, below which there is a warning
FAR = 4.0  # standard errors by which the mean weight may differ from 1
WRONG = 0.2  # difference of the mean weight from 1 above which the log does not answer
ROUNDED = 0.01  # and an additional difference, since propensities in files are rounded
UNSEEN = 0.05  # part of the target's plays without a chance in the log above which the log does not answer
SPIKE = 0.1  # ratio of the largest weight to the root of the sum of their squares, up to which no tail matters
TAIL = 0.7  # tail index of the weights above which a mean is unreliable
CHANGED = 0.001  # probability of a difference of the halves as large, were there none, below which rewards drift
ESTIMATED = (
    "the propensities were estimated: whatever else the policy looked at biases the estimates, and nothing shows it"
)
RARE = 5.0  # rewards other than the usual one, below which a normal interval is too narrow
GAMMA = 1.2  # factor by which propensities may be off

Answer = Literal["yes", "with care", "no"]
ANSWERS: tuple[Answer, ...] = ("yes", "with care", "no")
CAN = {"yes": "can say", "with care": "can say, with care,", "no": "cannot say"}


@dataclass(frozen=True)
class Grade:
    """Whether a log can answer what a target would have earned."""

    target: str
    answer: Answer
    reasons: tuple[str, ...]  # why not, or with care
    plays: int  # in the log
    effective: float  # what they count as for the target, ``(Σw)²/Σw²``
    largest: float  # weight
    mean_weight: float  # per round; 1 if the propensities are right
    overlap: float  # part of the target's plays that had a chance in the log, as far as the log shows
    tail: float  # Pareto's k of the weights; −inf where it does not matter
    drift: float  # p-value of "the mean rewards of the items are the same in both halves of the log"
    sensitivity: tuple[float, float]  # between which SNIPS lies if each propensity is off by a factor of up to 1.2

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        says = f"{self.answer.capitalize()}: the log {CAN[self.answer]} what {self.target} would earn"
        if self.answer == "no":
            return f"{says}."
        return f"{says}; for that its {self.plays:,} plays count as {self.effective:,.0f}."

    def __str__(self) -> str:
        """The sentence, and the reasons."""
        return " ".join([self.sentence, *(f"{one[:1].upper()}{one[1:]}." for one in self.reasons)])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            The fields by their names; None for what is not finite.
        """
        found: dict[str, Any] = without_infinities(asdict(self))
        return found


def graded(target: Followed, kind: str, interval: Interval, unit: str = "") -> Grade:
    """Whether a log can answer for a target, of which an interval of some kind was computed."""
    log, weight = target.log, target.weight
    lost, never = without_chance(target), (np.bincount(log.item, minlength=len(log.items)) == 0) & (target.shares > 0.0)
    overlap = 1.0 - max(float(target.shares[never].sum()), float(lost.mean()))
    tail, p_value = tail_of(weight), drift(target)
    fatal, care = _missing(target, lost, never), [*_uneven(target, tail, kind), *_changed(target, p_value)]
    if overlap >= 1.0 - UNSEEN and weight.any():
        fatal, care = [], [*fatal, *care]
    if not never.any() and weight.any() and (wrong := _wrong(target, 1.0 - float(lost.mean()))):
        (fatal if abs(float((target.weights + lost).mean()) - 1.0) > WRONG else care).append(wrong)
    if 0.0 < target.effective < FEWEST:
        number = round(target.effective)
        fatal.append(f"{number_of(number, 'play')} {'is' if number == 1 else 'are'} too few")
    if kind == "normal" and (rare := _rare(target)):
        (care if other_rewards(target) else fatal).append(rare)
    if CONTRADICTED in interval.premises:
        fatal.append(CONTRADICTED)
    care += [*([] if fatal else _wide(target, interval, unit)), *_crowded(target)]
    return Grade(
        target=target.name,
        answer=ANSWERS[2 if fatal else bool(care)],
        reasons=(*fatal, *care),
        plays=log.rows,
        effective=target.effective,
        largest=float(weight.max()),
        mean_weight=float(target.weights.mean()),
        overlap=overlap,
        tail=tail,
        drift=p_value,
        sensitivity=sensitivity(target),
    )


def _missing(target: Followed, lost: Array, never: Array) -> list[str]:
    """What the log never shows."""
    reasons, log = [], target.log
    if never.any():
        reasons.append(
            f"the log never plays {listed([log.items[place] for place in np.flatnonzero(never)])}, to which "
            f"{target.name} gives {target.shares[never].sum():.3g} of the rounds"
            + (
                ": IPS takes their reward for 0, SNIPS leaves them out, DR uses the mean of all items"
                if target.weight.any()
                else ""
            )
        )
    if lost.any():
        reasons.append(mend(target, lost > 0.0))
    if not target.weight.any():
        reasons.append(NEVER)
    return reasons


def tail_of(weight: Array) -> float:
    """Pareto's k of the weights, −inf where no tail matters, as the largest is small against the sample.

    Weights are at most one over the smallest chance, so their tail ends, and k is only of use where few of the largest
    were drawn. A sum of independent terms up to w is normal within ``0.56 w/√(Σ w²)``, whatever their tail: where the
    ratio is at most a tenth, the intervals of simulated logs cover 95% (and 92 to 93% where it is a fifth).

    Source: Shevtsova, On the absolute constants in the Berry-Esseen inequality, 2010 (0.56).
    """
    return pareto_k(weight) if weight.max() > SPIKE * math.sqrt(float(weight @ weight)) else -math.inf


def _rare(target: Followed) -> str:
    """Why a normal interval is too narrow where nearly all rewards are the same, as of clicks."""
    number, usual = other_rewards(target), _usual(target)
    if usual is None or number >= RARE or not target.weight.any():
        return ""
    of = f"the plays of {target.name}, which count as {target.effective:,.0f}, have a reward other than {usual:g}"
    some = f"only {number:.2g}" if number else "none"
    return f"{some} of {of}: a normal interval is too narrow, a sequence is not"


def other_rewards(target: Followed) -> float:
    """What the plays count as whose reward is not the usual one."""
    weight = target.weight * (target.log.reward != _usual(target))
    return float(weight.sum()) ** 2 / max(float(weight @ weight), 1e-300)


def _usual(target: Followed) -> float | None:
    """The reward that more than half of the plays in the log have, though not all."""
    values, counts = np.unique(target.log.reward, return_counts=True)
    return float(values[counts.argmax()]) if 1 < 2 * counts.max() / len(target.log.reward) < 2 else None


def _wide(target: Followed, interval: Interval, unit: str) -> list[str]:
    """Whether the interval is wider than the rewards are large."""
    weight = target.weight
    size = float(weight @ np.abs(target.log.reward)) / float(weight.sum()) if weight.any() else math.nan
    if not interval.high - interval.low > size:
        return []
    end = unit and f" {unit}"
    return [
        f"the interval for {target.name}, {interval.low:.3g} to {interval.high:.3g}{end}, is as wide as the rewards "
        f"are large, {size:.3g}{end} on average: it says little"
    ]


def _crowded(target: Followed) -> list[str]:
    """Whether an item would have to play several times in a round."""
    log = target.log
    most, name = float(target.shares.max()), log.items[int(target.shares.argmax())]
    if most * log.rows <= log.rounds * (1.0 + 1e-9):
        return []
    return [
        f"a round has {log.rows / log.rounds:.3g} plays, and no item plays twice in it: of all plays {name!r} "
        f"can have up to {log.rounds / log.rows:.3g}, and {target.name} gives it {most:.3g}"
    ]


def _uneven(target: Followed, tail: float, kind: str) -> list[str]:
    """Whether few plays decide, of which sequences take account by themselves."""
    reasons, weight = [], target.weight
    unreliable = "the estimate rests on it" if kind == "sequence" else "the intervals are unreliable"
    total = float(weight.sum())
    squares = (snips(target).parts) ** 2
    if weight.max() > HEAVY * total > 0.0:
        reasons.append(f"a single play has {weight.max() / total:.1%} of all weight: {unreliable}")
    elif squares.max() > FEW * squares.sum() > 0.0:
        reasons.append(
            f"a single play has {squares.max() / squares.sum():.0%} of the squared error: {unreliable}, since too few "
            "rewards determine the result"
        )
    elif tail > TAIL and kind != "sequence":
        reasons.append(
            f"the weights have a heavy tail (Pareto's k is {tail:.2f}, above {TAIL}): the intervals are too narrow"
        )
    if 0.0 < target.effective < THIN * len(weight):
        reasons.append(
            f"the weights are so uneven that {len(weight):,} plays count as {target.effective:,.0f}: the log's policy "
            "is too different from the target"
        )
    return reasons


def _wrong(target: Followed, expected: float) -> str:
    """Why the propensities do not fit; nothing where the mean weight is as expected."""
    weights = mean(target.weights)
    if not abs(weights.value - expected) > FAR * weights.stderr + ROUNDED:  # also of a single round
        return ""
    return (
        f"the mean weight is {weights.value:.3g} ± {round(weights.stderr, 9):.2g} and should be {expected:.3g}: the "
        "propensities are wrong, some items are never played in some rounds, or rows are missing"
    )


def _changed(target: Followed, p_value: float) -> list[str]:
    """Whether propensities were estimated, and whether the rewards stayed the same."""
    drifted = (
        "the rewards of the items differ between the first and the second half of the log: the estimates are for "
        "its own time, and not for any other"
    )
    return [*([ESTIMATED] if target.log.estimated else []), *([drifted] if p_value < CHANGED else [])]


def drift(target: Followed) -> float:
    """The p-value of "the items have the same mean rewards in both halves", from their differences; 1 if unknown.

    Where chances went by features, the means of an item are of the situations in which it was played, and say nothing.
    """
    from scipy.special import chdtrc

    log, size = target.log, len(target.log.items)
    if log.known is not None and chances_change(log):
        return 1.0
    key = log.item + size * (log.round >= log.rounds // 2)
    plays, sums, squares = (
        np.bincount(key, values, 2 * size).reshape(2, size) for values in (None, log.reward, log.reward**2)
    )
    enough = (plays >= 10).all(axis=0)
    plays, sums, squares = plays[:, enough], sums[:, enough], squares[:, enough]
    spread = (np.maximum(squares / plays - (sums / plays) ** 2, 0.0) / (plays - 1)).sum(axis=0)
    known = spread > 0.0
    gaps = np.diff(sums / plays, axis=0)[0][known] ** 2 / spread[known]
    return float(chdtrc(known.sum(), gaps.sum())) if known.any() else 1.0


def sensitivity(target: Followed, gamma: float = GAMMA) -> tuple[float, float]:
    """The least and the largest SNIPS where each propensity may be off by a factor of up to gamma, either way.

    The extremes have ``w γ`` for the largest rewards and ``w/γ`` for the others, or the other way round.

    Source: Zhao, Small & Bhattacharya, Sensitivity analysis for inverse probability weighting estimators via the
    percentile bootstrap, JRSS B 2019, section 4.3.
    """
    if not target.weight.any():
        return math.nan, math.nan
    order = np.argsort(target.log.reward, kind="stable")
    weight, reward = target.weight[order], target.log.reward[order]
    ends = []
    for below, above in ((gamma, 1.0 / gamma), (1.0 / gamma, gamma)):
        over, under = (
            below * np.append(0.0, np.cumsum(one)) + above * np.append(np.cumsum(one[::-1])[::-1], 0.0)
            for one in (weight * reward, weight)
        )
        ratios = over / under
        ends.append(float(ratios.min() if below > above else ratios.max()))
    return ends[0], ends[1]


def listed(names: list[str]) -> str:
    """The first of many names."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
