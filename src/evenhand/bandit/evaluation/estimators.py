"""Off-policy evaluation: the mean reward and the shares of a target policy, from the log of another policy."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.evaluation.log import Log, check_propensities
from evenhand.bandit.evaluation.targets import Learner, Target, as_target
from evenhand.core import html, validate
from evenhand.core.errors import HINTED, EvenhandError
from evenhand.core.html import Bar
from evenhand.core.state import Array
from evenhand.inference.means import NORMAL, mean_and_error

HEAVY = 0.05  # part of all weight above which there is a warning about a single play
THIN = 0.01  # effective plays, as a part of all, below which there is a warning
FEW = 0.1  # part of the squared error of SNIPS above which there is a warning about a single play
FAR = 4.0  # standard errors by which the mean weight may differ from 1
ROUNDED = 0.01  # and an additional difference, since propensities in files are rounded
ESTIMATORS = {
    "ips": "inverse propensity scores",
    "snips": "the same, self-normalised",
    "dr": "doubly robust",
}


@dataclass(frozen=True)
class Estimate:
    """A mean reward per round or per play, with its standard error and a 95% interval; NaN where it is unknown.

    Example:
        >>> Estimate(0.5, 0.1).low.__round__(3), Estimate(0.5, 0.1).high.__round__(3)
        (0.304, 0.696)
    """

    value: float
    stderr: float

    @property
    def low(self) -> float:
        """Lower end of the interval, ``value − 1.96 stderr``."""
        return self.value - NORMAL * self.stderr

    @property
    def high(self) -> float:
        """Upper end of the interval, ``value + 1.96 stderr``."""
        return self.value + NORMAL * self.stderr

    def to_json(self) -> dict[str, float | None]:
        """Plain JSON values, None for NaN.

        Returns:
            ``value``, ``stderr``, ``low`` and ``high``.
        """
        return {name: _finite(getattr(self, name)) for name in ("value", "stderr", "low", "high")}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The estimates for a target policy from a log."""

    target: str  # its name
    rounds: int  # decisions in the log
    rows: int  # plays in the log
    items: tuple[str, ...]  # names of all items
    estimates: Mapping[str, Estimate]  # of the target's mean reward per round, by ``"ips"``, ``"snips"`` and ``"dr"``
    logged: Estimate  # the mean reward per play of the policy that made the log
    shares: Array  # (items,), the target's share of the rounds of each item: the mean of its propensities
    logged_shares: Array  # (items,), each item's share of the plays in the log
    effective: float  # the effective sample size ``(Σw)²/Σw²``, in plays
    largest: float  # the largest weight, before clipping
    mean_weight: float  # mean of the weights per round; about 1 if the propensities are right and nothing is clipped
    clipped: int  # plays whose weight was clipped
    warnings: tuple[str, ...]  # why the estimates may be unreliable
    notes: tuple[str, ...] = ()  # how the log was changed when it was read

    def _repr_html_(self) -> str:
        """The estimates with their intervals, and how far they can be trusted, for a notebook."""
        named = {"the log's policy": self.logged} | {
            f"{self.target}, {name}": one for name, one in self.estimates.items()
        }
        bars = [
            Bar(name, one.value, low=one.low, high=one.high, colour=bool(place))
            for place, (name, one) in enumerate(named.items())
        ]
        size = f"{self.rounds:,} rounds, {len(self.items):,} items, effective sample size {self.effective:,.0f}"
        texts = (html.paragraph(one) for one in (*self.notes, *(f"Warning: {one}" for one in self.warnings)))
        chart = html.chart(bars, caption="mean reward per round; line: 95% interval")
        return html.notebook(html.paragraph(size, strong=True), *texts, chart)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            The result by the names that the command line's JSON has, such as ``estimates`` and
                ``effective_sample_size``.
        """
        return {
            "target": self.target,
            "rounds": self.rounds,
            "rows": self.rows,
            "estimates": {name: estimate.to_json() for name, estimate in self.estimates.items()},
            "logged": self.logged.to_json(),
            "shares": {
                name: {"target": float(target), "logged": float(logged)}
                for name, target, logged in zip(self.items, self.shares, self.logged_shares, strict=True)
            },
            "effective_sample_size": self.effective,
            "largest_weight": self.largest,
            "mean_weight": self.mean_weight,
            "clipped": self.clipped,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def evaluate(log: Log, target: Target | Mapping[str, float] | str, clip: float | None = None) -> Evaluation:
    """Estimate the mean reward per round of a policy, and its shares, from the log of another policy.

    With the weight ``w = π(i)/p`` of a play of item i, its propensity under the target over that in the log, and sums
    over the T rounds and their plays:

    =====  =====================================================================================================
    IPS    ``(1/T) Σ w r``; unbiased
    SNIPS  ``Σ w r / Σ w``; slightly biased, often with a much smaller variance, and equivariant to shifted rewards
    DR     ``(1/T) Σ_t [ Σ_i π_t(i) q_t(i) + Σ w (r − q_t(i)) ]``; unbiased, with a small variance where q is good
    =====  =====================================================================================================

    q_t(i) is the mean reward of item i in the rounds before t, that of all items for an item that was not played yet,
    and 0 in the first round; so it does not depend on round t. In a round of several plays each has the propensity of
    being among those played, and the sums estimate the reward of the one play of the target.

    The standard errors are those of a mean over rounds: of ``Σ w r`` for IPS and of the bracket for DR; for SNIPS by
    linearisation, of ``Σ w (r − V)`` over the mean weight. They hold for many rounds that are independent given the
    past; with a few very large weights the interval is too narrow by an unknown amount. Where the target learns from
    the log, its value changes from round to round, and the intervals of IPS and DR tend to be too wide.

    Args:
        log: of another policy, from `read_log` or `Log.of`.
        target: shares by item, ``"uniform"``, or a `Target`: `FixedShares`, `Learner`, or a custom one.
        clip: the largest weight, to which larger ones are clipped: less variance, more bias. None clips nothing.

    Returns:
        The estimates, the shares, and diagnostics of their reliability.

    Raises:
        EvenhandError: ``clip`` is not above 0, or the target cannot be evaluated on the log.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2], "item_id": ["a", "b"], "reward": [1, 0], "propensity_score": [0.5, 0.5]}
        >>> result = evaluate(Log.of(pd.DataFrame(rows)), {"a": 0.75, "b": 0.25})
        >>> result.estimates["ips"].value, result.estimates["snips"].value, result.shares, result.effective
        (0.75, 0.75, array([0.75, 0.25]), 1.6)

    Source: IPS: Horvitz & Thompson, A generalization of sampling without replacement from a finite universe, JASA 1952.
    SNIPS: Swaminathan & Joachims, The self-normalized estimator for counterfactual learning, NIPS 2015. DR: Dudík,
    Langford & Li, Doubly robust policy evaluation and learning, ICML 2011.
    """
    check_propensities(log)
    if clip is not None and validate.number("clip", clip, low=0.0) == 0.0:
        raise EvenhandError("clip must be above 0, got 0")
    target = as_target(target)
    items = target.items()
    _check_known(items, log)
    log = log.with_items(items)
    absent = [name for name in items if not log.sets[np.unique(log.available), log.items.index(name)].any()]
    propensity, model, guess, shares = _followed(log, target)
    unclipped = propensity / log.propensity
    weight = unclipped if clip is None else np.minimum(unclipped, clip)
    rounds, total = log.rounds, float(weight.sum())
    by_round = _sums(log, weight)
    snips = float(weight @ log.reward) / total if total > 0.0 else math.nan
    estimates = {
        "ips": _mean(_sums(log, weight * log.reward)),
        "snips": _ratio(_sums(log, weight * (log.reward - snips)), snips, total),
        "dr": _mean(model + _sums(log, weight * (log.reward - guess))),
    }
    mean = float(log.reward.mean())
    squares = float(weight @ weight)
    effective = total**2 / squares if squares > 0.0 else 0.0
    clipped = int((unclipped > weight).sum())
    played = np.bincount(log.item, minlength=len(log.items)) / log.rows
    return Evaluation(
        target=target.name,
        rounds=rounds,
        rows=log.rows,
        items=log.items,
        estimates=estimates,
        logged=_ratio(_sums(log, log.reward - mean), mean, float(log.rows)),
        shares=shares,
        logged_shares=played,
        effective=effective,
        largest=float(unclipped.max()),
        mean_weight=total / rounds,
        clipped=clipped,
        warnings=(
            *([f"{_listed(absent)} is never available in the log; the others get its share"] if absent else []),
            *([_one_step_ahead(target, log.rows, effective)] if isinstance(target, Learner) else []),
            *_warnings(log, shares, played, weight, weight * (log.reward - snips), _mean(by_round), clipped),
        ),
        notes=log.notes,
    )


def _check_known(items: Sequence[str], log: Log) -> None:
    """Refuse an item that the log lacks where its name is nearly that of one in the log that is left out."""
    others = [name for name in log.items if name not in items]
    for name in items if len(others) <= HINTED else ():
        near = [] if name in log.items else difflib.get_close_matches(name, others, n=1, cutoff=0.8)
        if near and re.sub(r"\d", "", name) != re.sub(r"\d", "", near[0]):  # variant 3 is not meant for variant 2
            raise EvenhandError(f"{name!r} is not in {log.source}; did you mean {near[0]!r}?")


def _followed(log: Log, target: Target) -> tuple[Array, Array, Array, Array]:
    """The target's propensities and the model of rewards, round by round."""
    propensity, guess, model = np.zeros(log.rows), np.zeros(log.rows), np.zeros(log.rounds)
    shares, counts, sums = (np.zeros(len(log.items)) for _ in range(3))
    start = 0
    for propensities in target.propensities(log):
        stop = start + len(propensities)
        rows = slice(*np.searchsorted(log.round, (start, stop)))
        inside, item = log.round[rows] - start, log.item[rows]
        known = _before(inside, item, None, counts, len(propensities))
        earned = _before(inside, item, log.reward[rows], sums, len(propensities))
        plays = known.sum(axis=1, keepdims=True)
        overall = earned.sum(axis=1, keepdims=True) / np.maximum(plays, 1.0)
        means = np.where(known > 0.0, earned / np.maximum(known, 1.0), overall)
        model[start:stop] = (propensities * means).sum(axis=1)
        propensity[rows], guess[rows] = propensities[inside, item], means[inside, item]
        shares += propensities.sum(axis=0)
        np.add.at(counts, item, 1.0)
        np.add.at(sums, item, log.reward[rows])
        start = stop
    return propensity, model, guess, shares / log.rounds


def _before(inside: NDArray[np.intp], item: NDArray[np.intp], values: Array | None, begun: Array, rounds: int) -> Array:
    """Running sums of each item, (rounds, items), before each round; ``begun`` before the first."""
    sums = np.zeros((rounds + 1, len(begun)))
    sums[0] = begun
    np.add.at(sums, (inside + 1, item), 1.0 if values is None else values)
    return np.asarray(np.cumsum(sums, axis=0)[:-1])


def _sums(log: Log, values: Array) -> Array:
    """Sums over the plays of each round."""
    return np.asarray(np.bincount(log.round, weights=values, minlength=log.rounds), dtype=float)


def _mean(values: Array) -> Estimate:
    """A mean over rounds."""
    return Estimate(*(float(one) for one in mean_and_error(values)))


def _ratio(rests: Array, value: float, total: float) -> Estimate:
    """A ratio of sums over rounds; ``rests`` are the numerator minus value times denominator, per round."""
    rounds = len(rests)
    if rounds < 2 or not total > 0.0:
        return Estimate(value, math.nan)
    return Estimate(value, math.sqrt(float(rests @ rests) * rounds / (rounds - 1)) / total)


def _one_step_ahead(target: Target, rows: int, effective: float) -> str:
    """What the estimate of a policy that learns from the log is not."""
    return (
        f"in every round {target.name} has learned from the plays of the log, not from its own, and promises count the "
        "plays of the log: this is neither what it would earn nor whom it would play if it decided itself. The "
        f"{rows:,} plays of the log count as {effective:,.0f}"
    )


def _warnings(
    log: Log, shares: Array, played: Array, weight: Array, rests: Array, mean: Estimate, clipped: int
) -> list[str]:
    """Why the estimates may be unreliable."""
    warnings = []
    if log.propensity.min() == 1.0:
        warnings.append(
            "every propensity in the log is 1: its policy was deterministic, and a log has no information about items "
            "with a propensity of 0"
        )
    never = (played == 0.0) & (shares > 0.0)
    if never.any():
        names = [log.items[place] for place in np.flatnonzero(never)]
        warnings.append(
            f"the log never plays {_listed(names)}, to which the target gives {shares[never].sum():.3g} of "
            "the rounds: IPS takes their reward for 0, SNIPS leaves them out, DR uses the mean of all items"
        )
    total, squares = float(weight.sum()), float(weight @ weight)
    if total == 0.0:
        return [*warnings, "the target never plays what the log played: its reward cannot be estimated"]
    if weight.max() > HEAVY * total:
        warnings.append(f"a single play has {weight.max() / total:.1%} of all weight: the intervals are unreliable")
    elif (rests**2).max() > FEW * float(rests @ rests) > 0.0:
        warnings.append(
            f"a single play has {(rests**2).max() / float(rests @ rests):.0%} of the squared error: the "
            "intervals are unreliable, since too few rewards determine them"
        )
    if total**2 < THIN * squares * log.rows:
        warnings.append(
            f"the weights are so uneven that {log.rows:,} plays count as {total**2 / squares:,.0f}: the log's policy "
            "is too different from the target"
        )
    if not never.any() and not clipped and abs(mean.value - 1.0) > FAR * mean.stderr + ROUNDED:
        warnings.append(
            f"the mean weight is {mean.value:.3g} ± {mean.stderr:.2g} and should be 1: the propensities are "
            "wrong, some items are never played in some rounds, or rows are missing"
        )
    if clipped:
        count = "1 weight was" if clipped == 1 else f"{clipped:,} weights were"
        warnings.append(f"{count} clipped, which biases the estimates towards the log's mean reward")
    return warnings


def _listed(names: Sequence[str]) -> str:
    """The first of many names."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
