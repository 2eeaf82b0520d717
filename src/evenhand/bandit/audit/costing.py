"""What the promises of a bandit cost, with an interval."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.ledger import PLAY
from evenhand.core.state import Array
from evenhand.environment.availability import Joint
from evenhand.inference.means import CONFIDENCE, shrunk
from evenhand.inference.sequences import mean_rewards
from evenhand.judgement.merits import allowed_shares
from evenhand.messages.lines import Cost
from evenhand.policy.shares import proportional
from evenhand.theory.bounded import best_bounded, bounds_of

BOUNDED = 500  # arms up to which the program with groups and caps, and the lower end of the interval, are computed
SETS = 1000  # of arms that may be the best ones, up to which all are tried
ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available


def cost_of(account: Account) -> Cost | None:
    """What the promises cost, and have cost; None where none cost anything."""
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
    return _answer(account, _Prices(account, bounded))


class _Prices:
    """What is computed from the mean rewards of the arms that are not retired, scaled to [0, 1]."""

    def __init__(self, account: Account, bounded: bool) -> None:
        low, high = account.limits
        self.account, self.bounded, active = account, bounded, account.active
        means: Array = (account.sums[active] / account.known[active] - low) / (high - low)
        self.low, self.high = _means(account)
        self.given = _given(account)[active]
        self.likely = shrunk(means, account.known[active])[np.newaxis]

    def free(self, means: Array) -> Array:
        """(draws,), the expected reward per round of the m best arms, of (draws, arms)."""
        return np.asarray(np.sort(means, axis=1)[:, ::-1][:, : self.account.plays].sum(axis=1))

    def kept(self, means: Array) -> Array:
        """(draws,), the largest expected reward per round that keeps the promises."""
        account = self.account
        if account.merit is not None:
            shares = [proportional(account.merit(np.clip(row, 0.0, 1.0)), account.plays, None) for row in means]
            return np.array([float(share @ row) for share, row in zip(shares, means, strict=True)])
        if self.bounded:
            return np.array([_largest_bounded(account, row) for row in means])
        assert account.fractions is not None
        return self.free(means) - cost_of_shares(means, account.fractions[account.active], account.plays)

    def price(self, means: Array) -> Array:
        """(draws,), what keeping the promises costs per round."""
        return self.free(means) - self.kept(means)

    def incurred(self, means: Array) -> Array:
        """(draws,), what plays that were given for promises would have brought with the last of the m best arms."""
        best = np.sort(means, axis=1)[:, -self.account.plays, np.newaxis]
        return np.asarray(np.maximum(best - means, 0.0) @ self.given)

    def price_ends(self) -> tuple[float, float]:
        """The range of the price over all means in their intervals, or wider."""
        account, low, high = self.account, self.low[np.newaxis], self.high[np.newaxis]
        if account.merit is None and not self.bounded:
            assert account.fractions is not None
            return cost_interval(self.low, self.high, account.fractions[account.active], account.plays)
        if account.merit is not None:
            least, most = allowed_shares(account.merit, self.low, self.high, account.plays)
            kept = (float(least @ self.low), float(most @ self.high))
        else:  # both optima grow with every mean
            kept = (float(self.kept(low)[0]), float(self.kept(high)[0]))
        return max(0.0, float(self.free(low)[0]) - kept[1]), max(0.0, float(self.free(high)[0]) - kept[0])

    def incurred_ends(self) -> tuple[float, float]:
        """The range of what was incurred."""
        at = -self.account.plays
        least, most = np.sort(self.low)[at], np.sort(self.high)[at]
        return (
            float(np.maximum(least - self.high, 0.0) @ self.given),
            float(np.maximum(most - self.low, 0.0) @ self.given),
        )


def _given(account: Account) -> Array:
    """(arms,), the plays of each arm so far that its promises, or those of its groups, asked for."""
    if account.merit is not None:
        deserved = deserved_shares(account)
        return np.minimum(account.pulls, deserved * account.rounds)
    balance = account.balance
    given = np.clip(np.minimum(balance.paid, balance.due / PLAY), 0.0, None)
    for group, line in zip(account.groups, account.bounds, strict=False):
        plays, places = account.pulls[group["arms"]], group["arms"]
        more = min(float(line.plays), line.plays + line.owed) - float(given[places].sum())
        if more > 0.0 and plays.sum() > 0.0:
            given[places] += more * plays / plays.sum()
    return np.asarray(given)


def deserved_shares(account: Account) -> Array:
    """(arms,), the share that the estimate of each arm deserves by merit; 0 where it is retired."""
    assert account.merit is not None
    low, high = account.limits
    known = account.known
    means = np.divide(account.sums, known, out=np.full(len(known), (low + high) / 2.0), where=known > 0)
    scaled = np.clip((means - low) / (high - low), 0.0, 1.0)
    return np.asarray(proportional(account.merit(scaled), account.plays, account.active))


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


def _largest_bounded(account: Account, means: Array) -> float:
    """The largest expected reward per round that keeps the floors and caps of arms and groups."""
    names, arms = account.names, len(account.names)
    bounds = bounds_of(arms, account.fractions, account.caps, account.groups, names)
    gains = np.zeros(arms)
    gains[account.active] = means
    value, _ = best_bounded(gains, bounds, account.plays, Joint([account.active.astype(int).tolist()], [1.0]))
    return value


def _unknown(note: str) -> Cost:
    return Cost(None, None, None, None, None, None, None, None, note)


def _answer(account: Account, prices: _Prices) -> Cost:
    """The cost in the unit of the rewards."""
    low, high = account.limits
    span = high - low
    of_best, price, incurred = (
        span * float(one(prices.likely)[0]) for one in (prices.free, prices.price, prices.incurred)
    )
    best = low * account.plays + of_best  # per round, if nothing were promised
    if not math.isfinite(price * account.round + incurred + best * account.round):
        return _unknown("Not computed: the rewards are too large.")
    least, most = (span * end for end in prices.price_ends())
    fewest, largest = (span * end for end in prices.incurred_ends())
    price, incurred = min(max(price, least), most), min(max(incurred, fewest), largest)
    part, whole = (price / best, incurred / (best * account.rounds)) if best > 0.0 and account.rounds else (None, None)
    return Cost(price, least, most, part, incurred, fewest, largest, whole, _note(account))


def _note(account: Account) -> str:
    seen = np.maximum(account.seen, 1.0)
    if ((account.seen - account.missed)[account.active] < ASLEEP * seen[account.active]).any():
        return "The computation assumes that every arm is always available; here some were not."
    return ""
