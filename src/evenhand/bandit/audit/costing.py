"""What the promises of a bandit cost, with an interval."""

from __future__ import annotations

import math

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.ledger import PLAY
from evenhand.core.state import Array, Mask
from evenhand.environment.availability import Joint
from evenhand.inference.means import CONFIDENCE, shrunk
from evenhand.inference.sequences import mean_rewards
from evenhand.inference.sums import simultaneous
from evenhand.judgement.merits import allowed_shares
from evenhand.messages.answers import Cost
from evenhand.policy.shares import proportional
from evenhand.theory.bounded import best_bounded, bounds_of
from evenhand.theory.prices import BOUNDED, best_promised, bounded_interval, cost_interval

NOTHING = "No reward of an arm is known yet."
BY_ROUND = (
    "Not computed from the means of arms, as who is best depends on the features of a round: what the promises cost is "
    "the reward of the same model and rounds without them less that with them, which evenhand price finds in the log."
)
BY_SEGMENT = "Not computed where shares are promised in segments: evenhand price finds it in the log."
ASLEEP = 0.995  # share of the rounds below which an arm does not count as always available


def _bounded(account: Account) -> bool:
    """Whether there are groups or caps."""
    return bool(account.groups) or (account.caps is not None and bool((account.caps[account.active] < 1.0).any()))


def best_shares(account: Account) -> Array | None:
    """(arms,), the shares that keep the promises with the largest reward, as in its cost; None where unknown."""
    if (
        account.contextual
        or account.owed_within
        or np.count_nonzero((account.known + account.learned_plays)[account.active]) < 2
    ):
        return None
    if _bounded(account) and np.count_nonzero(account.active) > BOUNDED:
        return None
    prices, shares = Prices(account), np.zeros(len(account.names))
    shares[account.active] = prices.shares(prices.likely)
    return shares


def cost_of(account: Account) -> Cost | None:
    """What the promises cost, also before the first round, and have cost; None where none cost anything."""
    active, bounded = account.active, _bounded(account)
    promised = account.fractions is not None and bool((account.fractions[active] > 0.0).any())
    if not (promised or bounded or account.merit is not None or account.owed_within):
        return None
    if account.contextual or account.owed_within:
        return _unknown(account, BY_ROUND if account.contextual else BY_SEGMENT)
    if not (account.known + account.learned_plays).any():
        return _unknown(account, NOTHING)
    if bounded and np.count_nonzero(active) > BOUNDED:
        return _unknown(account, f"Not computed for groups or caps of more than {BOUNDED} arms.")
    return _answer(account, Prices(account))


class Prices:
    """What is computed from the mean rewards of arms, scaled to [0, 1]; the price also from those of before."""

    def __init__(self, account: Account) -> None:
        self.account, self.bounded, given = account, _bounded(account), _given(account)
        counted = account.active | (given > 0.0)
        self.given, self.active = given[counted], account.active[counted]
        self.asleep = account.missed[counted]
        self.low, self.high = scaled_means(account, counted, beforehand=True)
        likely = _likely(account, counted, account.learned_plays, account.learned_sums)
        self.likely = np.clip(likely, self.low, self.high)
        self.low_here, self.high_here = scaled_means(account, counted)
        self.likely_here = _likely(account, counted)

    def free(self, means: Array) -> float:
        """The expected reward per round of the m best arms."""
        return float(np.sort(means[self.active])[-self.account.plays :].sum())

    def kept(self, means: Array) -> float:
        """The largest expected reward per round that keeps the promises."""
        return float(self.shares(means) @ means[self.active])

    def shares(self, means: Array) -> Array:
        """(arms,), of the active arms."""
        return shares_for(self.account, means[self.active])

    def price(self) -> float:
        """What keeping the promises likely costs per round."""
        free = self.free(self.likely)
        price = free - self.kept(self.likely)
        return price if abs(price) > 1e-12 * free else 0.0  # sums of shares are not exact

    def price_ends(self) -> tuple[float, float]:
        """The range of the price over all means in their intervals, or wider."""
        account, low, high = self.account, self.low[self.active], self.high[self.active]
        if account.merit is None and not self.bounded:
            assert account.fractions is not None
            return cost_interval(low, high, account.fractions[account.active], account.plays)
        if account.merit is None:
            return bounded_interval(low, high, account.plays, lambda means: _best_bounded(account, means))
        least, most = allowed_shares(account.merit, low, high, account.plays)
        kept = (float(least @ low), float(most @ high))
        return max(0.0, self.free(self.low) - kept[1]), max(0.0, self.free(self.high) - kept[0])

    def incurred(self) -> float:
        """What the last of the m best arms would likely have brought more in plays that promises asked for."""
        return self._missed(self.likely_here, self.likely_here, self.given)

    def incurred_ends(self) -> tuple[float, float]:
        """The range of what was incurred; plays may have cost nothing while one of the m best arms slept."""
        low, high = self.low_here, self.high_here
        best = np.argsort(np.where(self.active, low, -np.inf))[-self.account.plays :]
        least = self._missed(low, high, np.maximum(self.given - self.asleep[best].sum(), 0.0))
        if len(low) > BOUNDED:
            return least, self._missed(high, low, self.given)
        return least, max(least, most_missed(low, high, self.given, self.active, self.account.plays))  # rounded sums

    def _missed(self, best: Array, means: Array, given: Array) -> float:
        return float(np.maximum(np.sort(best[self.active])[-self.account.plays] - means, 0.0) @ given)


def most_missed(low: Array, high: Array, given: Array, active: Mask, plays: int) -> float:
    """The largest ``Σ_i g_i (b − μ_i)⁺`` over all means within intervals, with the m-th largest mean b of active arms.

    Then some active arm has its upper end, which is b; m − 1 others, whose upper ends are no lower, are above it; and
    all others have their lower ends. The first m miss nothing: of the m − 1, those are left out that would miss least.
    """
    missed = given * np.maximum(high[:, np.newaxis] - low, 0.0)  # (arm that is the m-th, arm)
    total = missed.sum(axis=1) - missed.diagonal()
    above = active & (high >= high[:, np.newaxis])
    np.fill_diagonal(above, val=False)
    total -= np.sort(np.where(above, missed, np.inf), axis=1)[:, : plays - 1].sum(axis=1)
    return float(total[active].max())


def _likely(account: Account, counted: Mask, plays: Array | float = 0.0, sums: Array | float = 0.0) -> Array:
    """Likely means of some arms, with these plays and sums beside those here; an unknown one is like the others."""
    known, sums = (account.known + plays)[counted], (account.sums + sums)[counted]
    some, likely = known > 0.0, np.full(len(known), 0.5)
    if some.any():
        likely[some] = shrunk(account.limits.scale(sums[some] / known[some]), known[some])
        likely[~some] = likely[some].mean()
    return likely


def _given(account: Account) -> Array:
    """(arms,), the plays of each arm so far that promises asked for: floors, and caps that left no room for others."""
    pulls = account.pulls
    if account.merit is not None:
        return np.where(account.active, np.minimum(pulls, deserved_shares(account) * account.seen), pulls)
    given = np.clip(np.minimum(account.balance.paid, account.balance.due / PLAY), 0.0, None)
    asked, barred = account.caused()
    for places, number in asked:
        plays, more = pulls[places], number - given[places].sum()
        if more > 0.0 and plays.sum() > 0.0:
            given[places] += more * plays / plays.sum()
    for places, number in barred:
        others = np.maximum(pulls - given, 0.0)
        others[places] = 0.0
        given += others * min(1.0, number / max(others.sum(), 1.0))
    return np.asarray(given)


def deserved_shares(account: Account) -> Array:
    """(arms,), the share that the estimate of each arm deserves by merit; 0 where it is retired."""
    assert account.merit is not None
    low, high = account.limits
    known = account.known
    means = np.divide(account.sums, known, out=np.full(len(known), (low + high) / 2.0), where=known > 0)
    scaled = np.clip((means - low) / (high - low), 0.0, 1.0)
    return np.asarray(proportional(account.merit(scaled), account.plays, account.active))


def scaled_means(account: Account, counted: Mask, beforehand: bool = False) -> tuple[Array, Array]:
    """Intervals of the mean rewards of some arms, scaled to [0, 1], that hold for all of these together."""
    confidence = simultaneous(CONFIDENCE, int(np.count_nonzero(counted)))
    plays, sums = account.learned_plays * beforehand, account.learned_sums * beforehand
    rewards = ((account.pulls + plays)[counted], (account.certain + plays)[counted], (account.sums + sums)[counted])
    low, high = mean_rewards(*rewards, account.limits, confidence)
    smallest, largest = account.limits
    low, high = np.nan_to_num(low, nan=smallest), np.nan_to_num(high, nan=largest)
    return (low - smallest) / (largest - smallest), (high - smallest) / (largest - smallest)


def shares_for(account: Account, means: Array) -> Array:
    """The shares of the active arms that keep the promises with the largest expected reward, for means of these."""
    if account.merit is not None:
        return np.asarray(proportional(account.merit(np.clip(means, 0.0, 1.0)), account.plays, None))
    if _bounded(account):
        return _best_bounded(account, means)
    promised = np.zeros(len(means)) if account.fractions is None else account.fractions[account.active]
    return np.asarray(best_promised(means[np.newaxis], promised, account.plays)[0])


def _best_bounded(account: Account, means: Array) -> Array:
    """The best shares of the active arms that keep the floors and caps of arms and groups."""
    names, arms = account.names, len(account.names)
    bounds = bounds_of(arms, account.fractions, account.caps, account.groups, names)
    gains = np.zeros(arms)
    gains[account.active] = means
    _, shares = best_bounded(gains, bounds, account.plays, Joint([account.active.astype(int).tolist()], [1.0]))
    return np.asarray(shares[account.active])


def _unknown(account: Account, note: str) -> Cost:
    return Cost(None, None, None, None, None, None, None, None, account.say(note))


def _answer(account: Account, prices: Prices) -> Cost:
    """The cost in the unit of the rewards."""
    low, high = account.limits
    span = high - low
    of_best, price, incurred = (span * one for one in (prices.free(prices.likely), prices.price(), prices.incurred()))
    best = low * account.plays + of_best  # per round, if nothing were promised
    if not math.isfinite(price * account.round + incurred + best * account.round):
        return _unknown(account, "Not computed: the rewards are too large.")
    least, most = (span * end for end in prices.price_ends())
    fewest, largest = (span * end for end in prices.incurred_ends())
    price, incurred = min(max(price, least), most), min(max(incurred, fewest), largest)
    part, note = price / best if best > 0.0 else None, account.say(" ".join(notes(account)))
    if not account.known.any():  # what was learned elsewhere says nothing of the rewards here
        return Cost(price, least, most, part, None, None, None, None, note)
    whole = incurred / (best * account.rounds) if best > 0.0 and account.rounds else None
    return Cost(price, least, most, part, incurred, fewest, largest, whole, note)


def notes(account: Account) -> list[str]:
    """What the price of promises rests on, in sentences."""
    notes, active = [], account.active
    if ((account.seen - account.missed)[active] < ASLEEP * account.seen[active]).any():
        asleep = "here some were not, for which the lower end of what the promises have cost allows"
        notes.append(f"The computation assumes that every arm is always available; {asleep}.")
    if account.learned_plays[active].any():
        notes.append("The price counts what was learned beforehand, and holds if those plays are like today's.")
    unknown = np.flatnonzero(active & (account.known + account.learned_plays == 0.0))
    if len(unknown):
        has = f"and {len(unknown) - 1:,} more have" if len(unknown) > 1 else "has"
        what = f"{account.names[unknown[0]]!r} {has} no known reward: there"
        notes.append(f"{what} the price takes the mean of the others, and its interval the whole range of rewards.")
    return notes
