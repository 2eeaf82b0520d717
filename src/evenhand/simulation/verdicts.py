"""Verdicts on a run, in words and numbers: which policy kept which promise, and what that cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from attrs import frozen

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array
from evenhand.inference.means import mean_and_reach
from evenhand.judgement.judge import judge, judge_rates
from evenhand.judgement.keeping import Keeping, doubled
from evenhand.judgement.sentences import Case, deed
from evenhand.simulation.books import Books, pages_of
from evenhand.simulation.files import without_infinities
from evenhand.simulation.tables import PolicyResult, ResultTables

FAIR = "fair optimum"


@frozen
class Verdict:
    """What one policy did with its promises, at the horizon.

    Example:
        >>> Verdict("UCB1", (0.5, 0.25), (-40.0, 12.0), ("milk",), (), -3.0, "UCB1 left milk short by 12.").to_json()
        {'text': 'UCB1 left milk short by 12.', 'promises_kept': False, 'missed': ['milk'], 'undecided': [],
         'gap': -3.0, 'promises': []}
    """

    label: str  # of the policy
    # (arms,) promised shares of the rounds, the mean over lanes; None where none are promised
    promised: tuple[float, ...] | None
    # (arms,) promised plays that each arm did not get, the mean over lanes; negative where it got more
    missing: tuple[float, ...] | None
    missed: tuple[str, ...]  # names of the arms and groups whose promise was missed, the most missing plays first
    undecided: tuple[str, ...]  # names of those for which the lanes and rounds are too few to decide it
    # expected reward below that of the best policy that keeps the promises, or where there are none below that of the
    # best policy; the mean over lanes. None where that is unknown
    gap: float | None
    text: str  # all of it in a sentence or two
    cases: tuple[Case, ...] = ()  # a judgement of each promise

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON values.

        Returns:
            ``text``; ``promises_kept``, null where nothing is promised or it is undecided; ``missed`` and
            ``undecided``, lists of names; ``gap``; and ``promises``, a table for each with ``to``, ``share`` (of the
            rounds, or with ``reward`` the reward per round), ``cap``, ``segment``, and its judgement.
        """
        kept = False if self.missed else True if self.cases and not self.undecided else None
        return {
            "text": self.text,
            "promises_kept": kept,
            "missed": list(self.missed),
            "undecided": list(self.undecided),
            "gap": self.gap,
            "promises": without_infinities([one.to_json() for one in self.cases]),
        }


def verdicts(results: ResultTables) -> dict[str, Verdict]:
    """A verdict on every policy of a run, by label.

    A promise is kept where the interval of the plays that are missing at the horizon, on average over lanes, is at
    most 1% of those promised, or one play; missed where the whole interval is above that, and above what the policy's
    rule allows; and else undecided. `evenhand.judgement.judge.judge` has the intervals.

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


#: What was lost and what is missing: of these pairs the first that results have.
PAIRS = (
    ("r_regret", "unfairness"),
    ("r_regret", "segment_unfairness"),
    ("reward_regret", "fairness_regret"),
    ("regret", "unfairness"),
)


def main_measures(measures: Collection[str]) -> list[str]:
    """What was lost, and where there are promises what is missing: the measures by which a run is summed up."""
    lost = next((one for one, _ in PAIRS if one in measures), "reward")
    return [lost, *(missing for one, missing in PAIRS if one == lost and missing in measures)]


def gap_measure(measures: Collection[str]) -> str:
    """What a policy lost is measured by: against the best that keeps the promises, where there are any."""
    return "r_regret" if "r_regret" in measures else "regret"


def _verdict(results: ResultTables, label: str) -> Verdict:
    result, shares = results.policies[label], results.promised[label]
    by_merit = "fairness_regret" in result.curves
    gap_of = gap_measure(result.curves)
    gap = float(result.curves[gap_of][-1].mean()) if gap_of in result.curves else None
    ending = _cost(results, label, gap, fair=gap_of == "r_regret")
    cases = cases_of(results, label)
    if not cases:
        return Verdict(label, None, None, (), (), gap, f"{label} promised no share, and {ending}.")
    promised = missing = None
    if shares is not None:
        share, rounds, books = _each(shares, result).mean(axis=0), float(results.rounds[-1]), books_of(results, label)
        behind = share * rounds - result.pulls[-1] if books is None else books.missing()
        promised, missing = tuple(share.tolist()), tuple(behind.mean(axis=0).tolist())
    if by_merit:
        ending = f"has a reward regret of {_last(result, 'reward_regret'):,.4g}"
    text = f"{label} {deed(cases, 'share by merit' if by_merit else 'promise')}, and {ending}."
    ordered = sorted(cases, key=lambda case: -case.judgement.behind)
    missed, undecided = (
        tuple(one.to for one in ordered if one.judgement.verdict == verdict) for verdict in ("missed", "undecided")
    )
    return Verdict(label, promised, missing, missed, undecided, gap, text, tuple(cases))


def books_of(results: ResultTables, label: str) -> Books | None:
    """What is owed under all promises of a policy at the horizon; None where they did not change."""
    pages = pages_of(results.information, label)
    return Books.read(pages, results.rounds, results.policies[label].pulls) if pages else None


def cases_of(results: ResultTables, label: str) -> list[Case]:
    """The promises of a policy, to arms, to groups and of rewards, with a judgement of each."""
    result, shares = results.policies[label], results.promised[label]
    how = results.information.get("promises", {}).get(label)
    keeping = Keeping() if how is None else Keeping.of_json(how)
    rounds, plays, books = float(results.rounds[-1]), result.pulls[-1].astype(float), books_of(results, label)
    cases: list[Case] = []
    if shares is not None:
        promised = _each(shares if books is None else books.page.promised.fractions, result)
        due, paid, lasted = promised * rounds, plays, np.full(len(results.names), rounds)
        if books is not None:
            due, paid, lasted = books.shares()
        arms = np.flatnonzero((promised > 0.0).any(axis=0))
        found = judge(keeping, due[:, arms], paid[:, arms], lasted[arms])
        cases += [
            Case(results.names[arm], float(promised[:, arm].mean()), found[place]) for place, arm in enumerate(arms)
        ]
    for place, bound in enumerate([] if how is None else how["bounds"]):
        for share, cap in ((bound["at_least"], False), (bound["at_most"], True)):
            if share is not None and (cap or share > 0.0):
                paid, lasted = plays[:, bound["arms"]].sum(axis=1, keepdims=True), np.array([rounds])
                due = share * lasted
                if books is not None:
                    due, paid, lasted = books.bound(place, bound["arms"], cap)
                found = judge(keeping, due, paid, lasted, cap=cap, at_once=float(len(bound["arms"])))
                cases.append(Case(bound["name"], share, found[0], cap))
    if how is not None and "segments" in how:
        cases += _within(
            results, label, doubled(keeping, shares is not None and bool(np.any(shares)), keeping.allowance)
        )
    return cases + ([] if how is None or "rates" not in how else _rewards(results, label, how))


def _within(results: ResultTables, label: str, keeping: Keeping) -> list[Case]:
    """The shares that are promised in segments, of the rounds of these since each promise began."""
    counts, promised = results.policies[label].segments, results.information["promises"][label]["segments"]
    if counts is None:
        return []
    shares, cases = np.array(promised["shares"]), []
    for row, arm in np.argwhere(shares > 0.0).tolist():
        since, made, missing = counts[:, 2:, row, arm].T[..., np.newaxis]
        if since.any():
            found = judge(keeping, made + missing, made, since.max(axis=0))
            segment = promised["names"][row]
            cases.append(Case(results.names[arm], shares.item(row, arm), found[0], segment=segment))
    return cases


def _rewards(results: ResultTables, label: str, how: Mapping[str, Any]) -> list[Case]:
    """The rewards per round that arms are guaranteed, on the scale [0, 1]."""
    result, rates, (low, width) = results.policies[label], np.array(how["rates"]), how["unit"]
    arms, pulls = np.flatnonzero(rates), result.pulls[-1]
    earned = np.where(pulls > 0, (result.estimate - low) / width * pulls, 0.0)
    found = judge_rates(rates[arms], earned[:, arms], float(results.rounds[-1]))
    return [Case(results.names[arm], float(rates[arm]), found[place], reward=True) for place, arm in enumerate(arms)]


def _each(shares: Array, result: PolicyResult) -> Array:
    """The promised shares of each lane, (lanes, arms)."""
    return np.broadcast_to(shares, result.pulls[-1].shape)


def _last(result: PolicyResult, measure: str) -> float:
    """The mean of a measure at the horizon; NaN where it could not be computed."""
    return float(result.curves[measure][-1].mean()) if measure in result.curves else math.nan


def _cost(results: ResultTables, label: str, gap: float | None, fair: bool) -> str:
    if gap is None:
        return f"earned {float(results.policies[label].curves['reward'][-1].mean()):,.0f}"
    best = f"the {FAIR}" if fair else "the best policy"
    if abs(gap) < 0.5:
        return f"earned as much as {best}"
    largest = _last(results.policies[label], "reward") + gap  # but for chance
    part = f" ({abs(gap) / largest:.1%})" if largest > abs(gap) else ""
    return f"earned {abs(gap):,.0f} {'less' if gap > 0 else 'more'}{part} than {best}"


@frozen
class Difference:
    """How one policy differs from another in a measure, lane by lane.

    Example:
        >>> Difference("UCB1", "reward", mean=2.5, low=1.5, high=3.5).mean
        2.5
    """

    label: str  # of the policy
    measure: str  # name of the measure
    mean: float  # of the differences over lanes, the policy less the other
    low: float  # of the 95% interval by Student's t; NaN for a single lane
    high: float  # of the interval


def differences(results: ResultTables, against: str) -> list[Difference]:
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
    mean, reach = (float(one) for one in mean_and_reach(values))
    return Difference(label, measure, mean, mean - reach, mean + reach)
