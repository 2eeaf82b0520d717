"""Verdicts on a run, in words and numbers: which policy kept which promise, and what that cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from scipy import stats

from evenhand.core.errors import EvenhandError, nearest
from evenhand.simulation.results import PolicyResult, Results, mean_and_error

KEPT = 0.01  # part of its promised plays that an arm may miss, on average over lanes; or a single play
NAMED = 3  # arms that a sentence names
CONFIDENCE = 0.95
FAIR = "fair optimum"


@frozen
class Verdict:
    """What one policy did with its promises, at the horizon.

    Attributes:
        label: of the policy.
        promised: (arms,) promised shares of the rounds, the mean over lanes; None where none are promised.
        missing: (arms,) promised plays that each arm did not get, the mean over lanes; negative where it got more.
        missed: names of the arms whose promise was missed, the most missing plays first.
        gap: expected reward below that of the best policy that keeps the promises, or where there are none below that
            of the best policy; the mean over lanes. None where that is unknown.
        text: all of it in a sentence or two.

    Example:
        >>> Verdict("UCB1", (0.5, 0.25), (-40.0, 12.0), ("milk",), -3.0, "UCB1 left milk short by 12 plays.").to_json()
        {'text': 'UCB1 left milk short by 12 plays.', 'promises_kept': False, 'missed': ['milk'], 'gap': -3.0}
    """

    label: str
    promised: tuple[float, ...] | None
    missing: tuple[float, ...] | None
    missed: tuple[str, ...]
    gap: float | None
    text: str

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON values, without the shares.

        Returns:
            ``text``, ``promises_kept`` (null where nothing is promised), ``missed``, a list of arms, and ``gap``.
        """
        kept = None if self.promised is None else not self.missed
        return {"text": self.text, "promises_kept": kept, "missed": list(self.missed), "gap": self.gap}


def verdicts(results: Results) -> dict[str, Verdict]:
    """A verdict on every policy of a run, by label.

    A promise counts as kept where at most 1% of the promised plays, or one play, is missing at the horizon, on average
    over lanes: algorithms keep long-run promises up to a number of plays that grows more slowly than the rounds.

    Args:
        results: of a simulation.

    Returns:
        Verdicts in the order of the policies.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import fucb, ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> world = Environment(Bernoulli([0.9, 0.5]), names=("tea", "milk"), fractions=[0.0, 0.2])
        >>> found = verdicts(compare([fucb([0.0, 0.2]), ucb1()], world, horizon=2000, lanes=20))
        >>> found["fucb"].missed, found["ucb1"].missed
        ((), ('milk',))
        >>> found["fucb"].text.split(",")[0]
        'fucb kept its promise'
    """
    return {label: _verdict(results, label) for label in results.policies}


def _verdict(results: Results, label: str) -> Verdict:
    result, shares = results.policies[label], results.promised[label]
    by_merit = "fairness_regret" in result.curves
    gap_of = "r_regret" if "r_regret" in result.curves else "regret"
    gap = float(result.curves[gap_of][-1].mean()) if gap_of in result.curves else None
    ending = _cost(results, label, gap, fair=gap_of == "r_regret")
    if shares is None or not np.any(shares > 0):
        return Verdict(label, None, None, (), gap, f"{label} promised nothing, and {ending}.")
    rounds = float(results.rounds[-1])
    wanted = np.broadcast_to(shares, result.pulls[-1].shape).mean(axis=0) * rounds
    missing = wanted - result.pulls[-1].mean(axis=0)
    short = [
        arm
        for arm in np.argsort(-missing, kind="stable")
        if wanted[arm] > 0 and missing[arm] > max(KEPT * wanted[arm], 1)
    ]
    promises = int(np.sum(wanted > 0))
    if by_merit:
        promise, ending = "share by merit", f"has a reward regret of {_last(result, 'reward_regret'):,.4g}"
    else:
        promise = "promise"
    text = f"{label} {_about_shares(results, promise, promises, short, missing)}, and {ending}."
    missed = tuple(results.names[arm] for arm in short)
    return Verdict(label, tuple(wanted / rounds), tuple(missing.tolist()), missed, gap, text)


def _about_shares(results: Results, promise: str, promises: int, short: Sequence[int], missing: Any) -> str:
    """Which promises were kept, as the predicate of a sentence."""
    several = promise.replace("promise", "promises").replace("share", "shares")
    if not short:
        return f"kept its {promise}" if promises == 1 else f"kept {_all(promises)} {several}"
    names = [f"arm {name}" if name.isdigit() else name for name in (results.names[arm] for arm in short[:NAMED])]
    plays = [f"{missing[arm]:,.0f}" for arm in short]
    parts = [f"{name} by {amount}" for name, amount in zip(names[1:], plays[1:NAMED], strict=True)]
    parts.insert(0, f"{names[0]} short by {plays[0]} {'play' if plays[0] == '1' else 'plays'}")
    if len(short) > NAMED:
        more = len(short) - NAMED
        parts.append(f"1 more arm by {plays[NAMED]}" if more == 1 else f"{more} more arms by up to {plays[NAMED]}")
    kept = f" ({promises - len(short)} of {promises} {several} kept)" if promises > 1 else ""
    return f"left {_listed(parts)}{kept}"


def _last(result: PolicyResult, measure: str) -> float:
    """The mean of a measure at the horizon; NaN where it could not be computed."""
    return float(result.curves[measure][-1].mean()) if measure in result.curves else math.nan


def _cost(results: Results, label: str, gap: float | None, fair: bool) -> str:
    if gap is None:
        return f"earned {float(results.policies[label].curves['reward'][-1].mean()):,.0f}"
    best = f"the {FAIR}" if fair else "the best policy"
    if abs(gap) < 0.5:
        return f"earned as much as {best}"
    largest = _last(results.policies[label], "reward") + gap  # but for chance
    part = f" ({abs(gap) / largest:.1%})" if largest > abs(gap) else ""
    return f"earned {abs(gap):,.0f} {'less' if gap > 0 else 'more'}{part} than {best}"


def _all(count: int) -> str:
    words = ("both", "all three", "all four", "all five", "all six", "all seven", "all eight", "all nine", "all ten")
    return words[count - 2] if count <= 10 else f"all {count}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@frozen
class Difference:
    """How one policy differs from another in a measure, lane by lane.

    Attributes:
        label: of the policy.
        measure: name of the measure.
        mean: of the differences over lanes, the policy less the other.
        low: of the 95% interval by Student's t; NaN for a single lane.
        high: of the interval.

    Example:
        >>> Difference("UCB1", "reward", mean=2.5, low=1.5, high=3.5).mean
        2.5
    """

    label: str
    measure: str
    mean: float
    low: float
    high: float


def differences(results: Results, against: str) -> list[Difference]:
    """Paired differences at the horizon of every other policy to one of them, in every measure that both have.

    All policies meet the same random numbers in a lane, so the differences vary less than the measures themselves.

    Args:
        results: of a simulation.
        against: label of the policy to compare with.

    Returns:
        One for each other policy and measure: its mean over the lanes less that of ``against``, with its interval.

    Raises:
        EvenhandError: there is no such policy.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import thompson, ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> results = compare([ucb1(), thompson()], Environment(Bernoulli([0.9, 0.5])), horizon=500, lanes=20)
        >>> reward = differences(results, against="ucb1")[0]
        >>> reward.label, reward.measure, reward.low < reward.mean < reward.high
        ('thompson', 'reward', True)
    """
    if against not in results.policies:
        raise EvenhandError(f"there is no policy {against!r}{nearest(against, results.policies)}")
    base = results.policies[against].curves
    return [
        _difference(label, name, result.curves[name][-1] - base[name][-1])
        for label, result in results.policies.items()
        for name in results.measures
        if label != against and name in result.curves and name in base
    ]


def _difference(label: str, measure: str, values: Any) -> Difference:
    mean, stderr = (float(one[0]) for one in mean_and_error(values[None]))
    if math.isnan(stderr):
        return Difference(label, measure, mean, math.nan, math.nan)
    width = stderr * float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1))
    return Difference(label, measure, mean, mean - width, mean + width)
