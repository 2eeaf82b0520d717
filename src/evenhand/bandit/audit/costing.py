"""What the promises of a bandit cost, with an interval."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.intervals import CONFIDENCE, mean_rewards
from evenhand.core.state import Array
from evenhand.environment.availability import Joint
from evenhand.messages.lines import Cost
from evenhand.policy.shares import proportional
from evenhand.theory.bounded import best_bounded, bounds_of

BOUNDED = 500  # arms up to which the program with groups and caps, and the lower end of the interval, are computed
SETS = 1000  # of arms that may be the best ones, up to which all are tried
ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available


def cost_of(account: Account) -> Cost | None:
    """What the promises cost; None where none cost anything."""
    active = account.active
    bounded = bool(account.groups) or (account.caps is not None and bool((account.caps[active] < 1.0).any()))
    promised = account.fractions is not None and bool((account.fractions[active] > 0.0).any())
    if not (promised or bounded or account.merit is not None) or account.round == 0:
        return None
    if not account.known.any():
        return _unknown("No reward of an arm is known yet.")
    unknown = np.flatnonzero(active & (account.known == 0.0))
    if len(unknown):
        return _unknown(f"Unknown until every arm has a known reward; {account.names[unknown[0]]!r} has none.")
    if bounded and np.count_nonzero(active) > BOUNDED:
        return _unknown(f"Not computed for groups or caps of more than {BOUNDED} arms.")
    low, high = account.limits
    means = (account.sums[active] / account.known[active] - low) / (high - low)
    ends = (math.nan, math.nan)
    if account.merit is not None:
        shares = proportional(account.merit(np.clip(means, 0.0, 1.0)), account.plays, None)
        per_round = _largest(means, account.plays) - float(shares @ means)
    elif bounded:
        per_round = _largest(means, account.plays) - _largest_bounded(account, means)
    else:
        assert account.fractions is not None
        fractions = account.fractions[active]
        per_round = float(cost_of_shares(means[None], fractions, account.plays)[0])
        ends = cost_interval(*_means(account), fractions, account.plays)
    return _answer(account, max(0.0, per_round), ends)


def cost_of_shares(means: Array, fractions: Array, plays: int) -> Array:
    """The largest expected reward per round without promised shares, less that with them."""
    order = np.argsort(-means, axis=1, kind="stable")
    ranked, room = np.take_along_axis(means, order, axis=1), (1.0 - fractions)[order]
    before = np.cumsum(room, axis=1) - room
    filled = np.clip(plays - fractions.sum() - before, 0.0, room)
    fair = means @ fractions + (filled * ranked).sum(axis=1)
    difference: Array = ranked[:, :plays].sum(axis=1) - fair
    return difference


def cost_interval(low: Array, high: Array, fractions: Array, plays: int) -> tuple[float, float]:
    """The range of `cost_of_shares` over all means within intervals.

    As the mean of one arm grows, the cost falls while the arm is not among the m best, and does not fall from then on.
    So the largest cost has every mean at an end of its interval, and the smallest has the means as equal as the
    intervals allow: ``μ_i = min(max(t, l_i), u_i)`` for some t. With one play the largest cost is
    ``max_j Σ_{i≠j} r_i (u_j − l_i)``. With m plays it is found by trying all sets of m arms while these are few; else
    ``Σ r_i (max_j u_j − l_i)`` without its m smallest terms bounds it.
    """
    largest = _largest_cost(low, high, fractions, plays)
    if len(low) > BOUNDED:
        return 0.0, largest
    levels = np.unique(np.concatenate([low, high]))
    equal = np.clip(levels[:, None], low, high)
    return max(0.0, float(cost_of_shares(equal, fractions, plays).min())), max(0.0, largest)


def _largest_cost(low: Array, high: Array, fractions: Array, plays: int) -> float:
    """The largest cost, or a bound of it; see `cost_interval`."""
    if plays == 1:
        return float((fractions.sum() * high - fractions @ low + fractions * (low - high)).max())
    if math.comb(len(low), plays) <= SETS:
        corners = np.array([low] * math.comb(len(low), plays))
        for row, best in zip(corners, combinations(range(len(low)), plays), strict=True):
            row[list(best)] = high[list(best)]
        return float(cost_of_shares(corners, fractions, plays).max())
    return float(np.sort(fractions * (high.max() - low))[plays:].sum())


def _means(account: Account) -> tuple[Array, Array]:
    """Intervals of the mean rewards of the arms, scaled to [0, 1], that hold for all arms together."""
    active = account.active
    confidence = 1.0 - (1.0 - CONFIDENCE) / np.count_nonzero(active)
    low, high = mean_rewards(
        account.pulls[active], account.certain[active], account.sums[active], account.limits, confidence
    )
    smallest, largest = account.limits
    low, high = np.nan_to_num(low, nan=smallest), np.nan_to_num(high, nan=largest)
    return (low - smallest) / (largest - smallest), (high - smallest) / (largest - smallest)


def _largest(means: Array, plays: int) -> float:
    """Expected reward per round of the m best arms."""
    return float(np.sort(means)[::-1][:plays].sum())


def _largest_bounded(account: Account, means: Array) -> float:
    """The largest expected reward per round that keeps the floors and caps of arms and groups."""
    names, arms = account.names, len(account.names)
    bounds = bounds_of(arms, account.fractions, account.caps, account.groups, names)
    gains = np.zeros(arms)
    gains[account.active] = means
    value, _ = best_bounded(gains, bounds, account.plays, Joint([account.active.astype(int).tolist()], [1.0]))
    return value


def _unknown(note: str) -> Cost:
    return Cost(None, None, None, None, note)


def _answer(account: Account, per_round: float, ends: tuple[float, float]) -> Cost:
    """The cost in the unit of the rewards."""
    low, high = account.limits
    span, rounds = high - low, account.round - int(account.since[account.active].max())
    if not math.isfinite(span * per_round * rounds):
        return _unknown("Not computed: the rewards are too large.")
    least, most = (None if math.isnan(end) else span * end for end in ends)
    return Cost(span * per_round, least, most, span * per_round * rounds, _note(account, least))


def _note(account: Account, least: float | None) -> str:
    available = 1.0 - account.missed / account.round
    parts = []
    if (available[account.active] < ASLEEP).any():
        parts.append("The computation assumes that every arm is always available; here some were not.")
    if account.merit is not None:
        parts.append("The shares by merit follow from the present estimates, so there is no interval.")
    elif least is None:
        parts.append("With groups or caps, no interval is computed.")
    return " ".join(parts)
