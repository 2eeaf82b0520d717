"""How often stopping errs in many runs, beside "when 95% intervals no longer overlap", and how soon it comes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

from evenhand import Policy
from evenhand.algorithms import f_tas, f_ts
from evenhand.bandit.audit.stopping import COMPARED
from evenhand.core.state import ALL_AVAILABLE, Array, Feedback, Mask
from evenhand.inference.stopping import likelihood_ratio, threshold
from evenhand.theory import rounds_until_known

DELTA, LOOK = 0.05, 20  # error, and rounds from one look to the next


class Ends(NamedTuple):
    """When runs stop, or −1, and whether the arm that they take is the only best one."""

    rounds: Array
    right: Mask

    @property
    def wrong(self) -> int:
        """Runs that stop with the wrong arm, or with one of two best ones as if it were better."""
        return int(((self.rounds >= 0) & ~self.right).sum())

    def median(self) -> float:
        """Of the rounds; infinite where half of the runs do not stop."""
        return float(np.median(np.where(self.rounds < 0, np.inf, self.rounds)))


def stopped(policy: Policy, means: list[float], runs: int, rounds: int, seed: int = 1) -> tuple[Ends, Ends]:
    """The ends by likelihood ratios, and those by intervals that no longer overlap, in the same runs."""
    arms, rng = np.array(means), np.random.default_rng(seed)
    state = policy.start(len(arms), runs)
    only = (arms == arms.max()) & ((arms == arms.max()).sum() == 1)
    ends = [Ends(np.full(runs, -1.0), np.zeros(runs, dtype=bool)) for _ in range(2)]
    for round in range(1, rounds + 1):
        played = policy.decide(state, ALL_AVAILABLE, rng, propensities=False).played
        policy.observe(state, Feedback(played, played * (rng.random(played.shape) < arms)), rng)
        if round % LOOK:
            continue
        sums, count = state.tally.rewards, np.maximum(state.tally.pulls, 1.0)
        lead = (sums / count).argmax(axis=1)
        for end, done in zip(ends, (beyond(sums, count, lead), apart(sums, count, lead)), strict=True):
            new = (end.rounds < 0) & done
            end.rounds[new], end.right[new] = round, only[lead[new]]
        if all((end.rounds >= 0).all() for end in ends):
            break
    return ends[0], ends[1]


def beyond(sums: Array, count: Array, lead: Array) -> Mask:
    """Whether the leading arm is better than every other beyond doubt."""
    each, means = np.arange(len(sums)), sums / count
    top, many = (one[each, lead][:, np.newaxis] for one in (means, count))
    clear = likelihood_ratio(top, many, means, count) >= threshold(
        many, count, (1.0 - COMPARED) * DELTA, means.shape[1] - 1
    )
    clear[each, lead] = True
    return np.asarray(clear.all(axis=1))


def apart(sums: Array, count: Array, lead: Array) -> Mask:
    """Whether the interval of the leading arm lies above all others, by Agresti and Coull, after ten plays of each."""
    each, means = np.arange(len(sums)), (sums + 2.0) / (count + 4.0)
    reach = 1.96 * np.sqrt(means * (1.0 - means) / (count + 4.0))
    high = means + reach
    low = (means - reach)[each, lead]
    high[each, lead] = -1.0
    return np.asarray((low > high.max(axis=1)) & (count.min(axis=1) >= 10.0))


def test_few_runs_stop_with_the_right_arm_and_equal_arms_do_not() -> None:
    found, _ = stopped(f_tas(0.1), [0.1, 0.7, 0.3], runs=30, rounds=800)
    assert (found.rounds >= 0).mean() > 0.9
    assert found.wrong <= binom.ppf(0.999, 30, DELTA)
    equal, others = stopped(f_ts(0.2), [0.5, 0.5], runs=300, rounds=1000)
    assert equal.wrong <= binom.ppf(0.999, 300, DELTA)
    assert others.wrong > equal.wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "means", "rounds"),
    [
        (f_tas(0.1), [0.3, 0.5, 0.4], 10_000),
        (f_ts(0.1), [0.3, 0.5, 0.4], 20_000),
        (f_tas(0.1), [0.5, 0.5, 0.4], 10_000),
        (f_ts(0.2), [0.5, 0.5], 20_000),
    ],
    ids=["f_tas", "f_ts", "f_tas, equal", "f_ts, equal"],
)
def test_no_more_than_delta_of_2000_runs_err(policy: Policy, means: list[float], rounds: int) -> None:
    found, others = stopped(policy, means, runs=2000, rounds=rounds)
    print(f"\n{policy.name} {means}: wrong {found.wrong / 2000:.2%}, median {found.median():,.0f};", end=" ")
    print(f"intervals apart: wrong {others.wrong / 2000:.2%}, median {others.median():,.0f}")
    assert found.wrong <= binom.ppf(0.999, 2000, DELTA)
    if means == [0.3, 0.5, 0.4]:
        assert found.median() >= rounds_until_known(means, DELTA, 0.1)
        assert found.median() < {"f_tas": 3000.0, "f_ts": 10_000.0}[policy.name]
    else:
        assert others.wrong > found.wrong
