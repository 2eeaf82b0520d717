"""Whether floors and caps can be kept, against brute force over a grid of shares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand import Environment
from evenhand.algorithms import fucb, group_ucb
from evenhand.core.errors import InfeasiblePromise
from evenhand.environment.availability import Always, Independent, Joint
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.groups import as_groups
from evenhand.theory.baseline import baseline_of
from evenhand.theory.bounded import best_bounded, bounds_of, check_bounds
from evenhand.theory.oracle import optimal_fair

TENTHS = [np.array(point) / 10 for point in itertools.product(range(11), repeat=3) if sum(point) == 10]


@pytest.mark.parametrize("seed", range(12))
def test_with_one_play_it_is_what_a_search_of_all_shares_in_tenths_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 4, 3) / 10
    high = np.minimum(low + rng.integers(0, 5, 3) / 10, 1.0)
    groups = as_groups(
        [
            {"name": "a", "arms": [0, 1], "at_least": rng.integers(0, 6) / 10, "at_most": rng.integers(6, 10) / 10},
            {"name": "b", "arms": [1, 2], "at_least": rng.integers(0, 8) / 10},
        ]
    )
    bounds, gains = bounds_of(3, low, high, groups), rng.random(3)

    def kept(shares: np.ndarray) -> bool:
        sums = [shares[group["arms"]].sum() for group in groups]
        return bool(
            (low - 1e-9 <= shares).all()
            and (shares <= high + 1e-9).all()
            and all(group["at_least"] - 1e-9 <= one for group, one in zip(groups, sums, strict=True))
            and sums[0] <= (groups[0]["at_most"] or 2.0) + 1e-9
        )

    # Floors and caps in tenths on intervals of arms: the program's corners are in tenths, too.
    found = [point for point in TENTHS if kept(point)]
    if found:
        check_bounds(bounds, 1, Always())
        value, shares = best_bounded(gains, bounds, 1, Always())
        assert value == pytest.approx(max(float(gains @ point) for point in found))
        assert kept(shares)
    else:
        with pytest.raises(InfeasiblePromise):
            check_bounds(bounds, 1, Always())


def test_floors_of_arms_alone_give_the_optimum_of_the_oracle() -> None:
    gains, shares, availability = np.array([0.4, 0.5, 0.7]), np.array([0.5, 0.6, 0.4]), Independent([0.9, 0.8, 0.7])
    value, _ = best_bounded(gains, bounds_of(3, shares, None, []), 2, availability)
    assert value == pytest.approx(optimal_fair(gains, shares, 2, availability).value)


@pytest.mark.parametrize(
    ("low", "high", "groups", "message"),
    [
        (
            [0.5, 0.6, 0.0],
            None,
            [],
            "arm 'tea' at least 0.5 and arm 'mate' at least 0.6 .* contradict each other by 0.1",
        ),
        (None, [0.3, 0.3, 0.3], [], "'tea' at most 0.3, arm 'mate' at most 0.3 and arm 'cocoa' at most 0.3 .* by 0.1 "),
        (
            [0.0, 0.0, 0.2],
            None,
            [{"name": "hot", "arms": [0, 1], "exactly": 0.9}],
            r"arm 'cocoa' at least 0\.2 and the group 'hot' at least 0\.9 of .* contradict each other by 0\.1 ",
        ),
        (None, None, [{"name": "hot", "arms": [0, 1], "at_least": 1.2}], "the group 'hot' at least 1.2 .* by 0.2 "),
    ],
)
def test_a_contradiction_is_named(
    low: list[float] | None, high: list[float] | None, groups: list[dict[str, object]], message: str
) -> None:
    floors, caps = (None if one is None else np.array(one) for one in (low, high))
    with pytest.raises(InfeasiblePromise, match=message):
        check_bounds(bounds_of(3, floors, caps, as_groups(groups), ["tea", "mate", "cocoa"]), 1, Always())


def test_arms_that_sleep_together_cannot_keep_what_they_could_apart() -> None:
    bounds = bounds_of(3, None, None, as_groups([{"name": "hot", "arms": [0, 1], "at_least": 0.7}]))
    check_bounds(bounds, 1, Joint([[1, 0, 1], [0, 1, 1]], [0.5, 0.5]))
    with pytest.raises(InfeasiblePromise, match=r"by 0\.2 .*and the given availability"):
        check_bounds(bounds, 1, Joint([[1, 1, 1], [0, 0, 1]], [0.5, 0.5]))


def test_a_policy_is_measured_against_the_best_that_keeps_its_groups() -> None:
    world = Environment(Bernoulli([0.9, 0.4, 0.6]))
    policy = group_ucb(groups=[{"name": "north", "arms": [1, 2], "at_least": 0.5}])
    assert baseline_of(policy, world).best_fair == pytest.approx(0.75)
    assert baseline_of(fucb(0.1), world).bounds == ()
    wrong = group_ucb(groups=[{"name": "north", "arms": [1, 2], "at_least": 1.5}])
    with pytest.raises(InfeasiblePromise, match="of 'mine' cannot be kept: the group 'north'"):
        baseline_of(wrong, world, "mine")
