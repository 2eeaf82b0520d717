"""Reward models: means and variances against closed forms, logs row by row."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from evenhand import Environment, EvenhandError, PerLane
from evenhand.core.errors import DataError, shown
from evenhand.core.state import for_lanes
from evenhand.environment.availability import Logged
from evenhand.environment.rewards import Bernoulli, Beta, Categorical, Gaussian, Rewards, Table, Winners
from evenhand.typing import Decision

ROUNDS, LANES = 8000, 5
SIGMAS = 5.0  # a mean strays further than that from its expectation once in 1.7 million times
SAME = r"^probabilities must be the same in all lanes, one number per arm, got shape \(1, 2\)$"
Moments = tuple[float, float, float]  # mean, variance, fourth central moment


def bernoulli(p: float) -> Moments:
    variance = p * (1 - p)
    return p, variance, variance * (1 - 3 * variance)


def gaussian(mean: float, sd: float) -> Moments:
    return mean, sd**2, 3 * sd**4


def beta(a: float, b: float) -> Moments:
    n = a + b
    variance = a * b / (n**2 * (n + 1))
    excess = 6 * ((a - b) ** 2 * (n + 1) - a * b * (n + 2)) / (a * b * (n + 2) * (n + 3))
    return a / n, variance, (excess + 3) * variance**2


def categorical(values: list[float], chance: list[float]) -> Moments:
    mean = sum(p * x for p, x in zip(chance, values, strict=True))
    second, fourth = (sum(p * (x - mean) ** k for p, x in zip(chance, values, strict=True)) for k in (2, 4))
    return mean, second, fourth


MODELS: dict[str, tuple[Rewards, list[Moments]]] = {
    "bernoulli": (Bernoulli([0.0, 0.05, 0.5, 0.9, 1.0]), [bernoulli(p) for p in (0.0, 0.05, 0.5, 0.9, 1.0)]),
    "gaussian": (Gaussian([-0.3, 0.8], sd=[0.1, 2.0]), [gaussian(-0.3, 0.1), gaussian(0.8, 2.0)]),
    "gaussian, one sd": (Gaussian([0.2, 0.8], sd=0.2), [gaussian(0.2, 0.2), gaussian(0.8, 0.2)]),
    "beta": (Beta([1.0, 3.0, 0.5], [1.0, 1.0, 2.0]), [beta(1, 1), beta(3, 1), beta(0.5, 2)]),
    "beta by means": (Beta(means=[0.1, 0.5, 0.8]), [beta(0.1, 0.9), beta(0.5, 0.5), beta(0.8, 0.2)]),
    "categorical": (
        Categorical([0.2, 0.6, 1.0], [[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]),
        [categorical([0.2, 0.6, 1.0], [0.5, 0.5, 0.0]), categorical([0.2, 0.6, 1.0], [0.1, 0.2, 0.7])],
    ),
}


def places(rounds: int) -> Any:
    return np.arange(rounds)[:, np.newaxis]


@pytest.mark.parametrize("name", MODELS)
def test_means_and_variances(name: str) -> None:
    model, moments = MODELS[name]
    drawn = np.asarray(model.draw(np.random.default_rng(11), places(ROUNDS), LANES), dtype=float)
    assert drawn.shape == (ROUNDS, LANES, len(moments))
    for arm, (mean, variance, fourth) in enumerate(moments):
        values = drawn[..., arm].ravel()
        n = values.size
        assert float(model.means[arm]) == pytest.approx(mean, rel=1e-12)
        assert abs(values.mean() - mean) <= SIGMAS * math.sqrt(variance / n) + 1e-12
        # The variance of a sample variance is (μ4 − σ⁴)/n to first order.
        spread = math.sqrt(max(fourth - variance**2, 0.0) / n)
        centred = ((values - mean) ** 2).mean()
        assert abs(centred - variance) <= SIGMAS * spread + 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_draws_of_arms_lanes_and_rounds_do_not_hang_together(name: str) -> None:
    model, moments = MODELS[name]
    drawn = np.asarray(model.draw(np.random.default_rng(12), places(ROUNDS), LANES), dtype=float)
    # Rewards of mean 0 and variance 1; constant ones are left out.
    rest = [(drawn[..., arm] - m) / math.sqrt(v) for arm, (m, v, _) in enumerate(moments) if v > 0.0]
    # The mean product of n independent pairs of variance 1 has standard error 1/sqrt(n).
    for values in rest:
        by_lane = (values[:, 0] * values[:, 1]).mean()
        by_round = (values[0::2] * values[1::2]).mean()
        assert abs(by_lane) <= SIGMAS / math.sqrt(ROUNDS)
        assert abs(by_round) <= SIGMAS / math.sqrt(ROUNDS * LANES / 2)
    for one, other in itertools.combinations(rest, 2):
        assert abs((one * other).mean()) <= SIGMAS / math.sqrt(ROUNDS * LANES)


def test_bernoulli_rewards_are_booleans() -> None:
    assert Bernoulli([0.5]).draw(np.random.default_rng(0), places(2), 1).dtype == np.bool_


def test_categorical_rewards_take_listed_values_only() -> None:
    drawn = Categorical([0.2, 0.6, 1.0], [[0.5, 0.5, 0.0]]).draw(np.random.default_rng(0), places(1000), 2)
    assert set(np.unique(drawn)) == {0.2, 0.6}


def test_categorical_rows_may_sum_to_one_as_decimals_do() -> None:
    drawn = Categorical([0.0, 0.5, 1.0], [[0.3333333, 0.3333333, 0.3333333]]).draw(
        np.random.default_rng(0), places(50), 2
    )
    assert set(np.unique(drawn)) <= {0.0, 0.5, 1.0}


def test_beta_rewards_stay_within_zero_and_one() -> None:
    drawn = Beta(means=[1e-6, 0.5, 1.0 - 1e-6]).draw(np.random.default_rng(0), places(2000), 2)
    assert np.isfinite(drawn).all()
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0


def test_beta_means_of_zero_and_one_are_constant() -> None:
    drawn = Beta(means=[0.0, 1.0]).draw(np.random.default_rng(0), places(100), 2)
    assert (drawn[..., 0] == 0.0).all()
    assert (drawn[..., 1] == 1.0).all()


@pytest.mark.parametrize(
    ("model", "variance"),
    [
        (Bernoulli(PerLane(np.array([[0.1, 0.9], [0.5, 0.4]]))), lambda p: p * (1 - p)),
        (Gaussian(PerLane(np.array([[0.1, 0.9], [0.5, 0.4]])), 0.3), lambda p: 0.09),
        (Beta(means=PerLane(np.array([[0.1, 0.9], [0.5, 0.4]]))), lambda p: p * (1 - p) / 2),
    ],
)
def test_means_may_differ_between_lanes(model: Any, variance: Any) -> None:
    means = np.array([[0.1, 0.9], [0.5, 0.4]])
    assert Environment(model).means.tolist() == means.tolist()
    whole = for_lanes(model, slice(0, 2)).draw(np.random.default_rng(13), places(ROUNDS), 2)
    error = np.sqrt(variance(means) / ROUNDS)
    assert (np.abs(whole.mean(axis=0) - means) <= SIGMAS * error).all()
    second = for_lanes(model, slice(1, 2))
    assert second.means.tolist() == [[0.5, 0.4]]


def test_gaussian_sd_may_differ_between_lanes() -> None:
    model = for_lanes(Gaussian([0.0, 0.0], PerLane(np.array([[0.1, 0.2], [1.0, 2.0]]))), slice(0, 2))
    drawn = model.draw(np.random.default_rng(14), places(ROUNDS), 2)
    expected = np.array([[0.1, 0.2], [1.0, 2.0]]) ** 2
    assert (np.abs((drawn**2).mean(axis=0) - expected) <= SIGMAS * np.sqrt(2 * expected**2 / ROUNDS)).all()


def test_beta_may_differ_between_lanes() -> None:
    # A reward model takes one value a lane and arm wherever it takes one an arm.
    model = Beta(PerLane(np.array([[1.0, 3.0], [2.0, 1.0]])), PerLane(np.ones((2, 2))))
    np.testing.assert_allclose(Environment(model).means, [[1 / 2, 3 / 4], [2 / 3, 1 / 2]])


# --- winners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chances", [[1.0], [0.5, 0.5], [0.0, 1.0, 0.0], [0.3, 0.2, 0.14, 0.12, 0.1, 0.08, 0.06]])
def test_exactly_one_arm_pays(chances: list[float]) -> None:
    model = Winners(chances)
    assert model.means.tolist() == chances
    drawn = model.draw(np.random.default_rng(15), places(ROUNDS), LANES)
    assert drawn.dtype == np.bool_
    assert drawn.shape == (ROUNDS, LANES, len(chances))
    assert (drawn.sum(axis=-1) == 1).all()
    p = np.array(chances)
    assert (np.abs(drawn.mean(axis=(0, 1)) - p) <= SIGMAS * np.sqrt(p * (1 - p) / (ROUNDS * LANES))).all()
    # An arm without a chance never wins; nor do rounds or lanes hang together: both win with chance Σ p².
    assert not drawn[..., p == 0.0].any()
    same = (p**2).sum()
    winner = drawn.argmax(axis=-1)
    for pairs in (winner[:, 0] == winner[:, 1], winner[0::2, 2] == winner[1::2, 2]):
        assert abs(pairs.mean() - same) <= SIGMAS * math.sqrt(same * (1 - same) / pairs.size) + 1e-12


def test_chances_of_winners_may_sum_to_one_as_decimals_do() -> None:
    drawn = Winners([0.3333333, 0.3333333, 0.3333333]).draw(np.random.default_rng(16), places(2000), 2)
    assert (drawn.sum(axis=-1) == 1).all()


# --- logs -------------------------------------------------------------------------------------------------------------

BLANK = float("nan")
LOG = [[0.5, BLANK, 1.0], [0.0, 0.25, BLANK], [BLANK, 0.75, 0.5], [1.0, 0.0, 0.125], [0.25, 1.0, 0.0]]


def played(order: str, lanes: int, seed: int) -> tuple[Any, Any]:
    """All rewards and the availability of a run through the log, with every available arm playing."""
    environment = Environment(Table(LOG, order), Logged(~np.isnan(np.array(LOG))))
    world = environment.start(len(LOG), lanes, np.random.SeedSequence(seed))
    earned, awake = [], []
    for round in range(1, len(LOG) + 1):
        available = world.observe().available
        assert available is not None
        awake.append(available.copy())
        earned.append(world.step(Decision(round, available, None, available, available)).earned.copy())
    return np.array(earned), np.array(awake)


def test_a_log_is_replayed_in_its_order() -> None:
    earned, awake = played("log", lanes=3, seed=0)
    for lane in range(3):
        assert earned[:, lane].tolist() == np.nan_to_num(LOG).tolist()
        assert awake[:, lane].tolist() == (~np.isnan(np.array(LOG))).tolist()


def test_a_shuffled_log_is_a_permutation_of_its_rows_in_every_lane() -> None:
    earned, awake = played("shuffled", lanes=40, seed=1)
    rows = [tuple(row) for row in np.nan_to_num(LOG).tolist()]
    orders = []
    for lane in range(40):
        order = [rows.index(tuple(row)) for row in earned[:, lane].tolist()]
        assert sorted(order) == list(range(len(LOG)))
        # Who sleeps comes from the same row as what is earned.
        assert awake[:, lane].tolist() == (~np.isnan(np.array(LOG)))[order].tolist()
        orders.append(order)
    # There are 120 orders; that 40 lanes share 19 has probability below C(120, 19) (19/120)^40 = 6e-11.
    assert len({tuple(order) for order in orders}) >= 20
    # Every row comes first in a fifth of the lanes: 40 · 0.2 = 8, standard error 2.5.
    first = np.bincount([order[0] for order in orders], minlength=5)
    assert (np.abs(first - 8) <= SIGMAS * 2.53).all()
    again, _ = played("shuffled", lanes=40, seed=1)
    assert (again == earned).all()
    other, _ = played("shuffled", lanes=40, seed=2)
    assert (other != earned).any()


def test_means_of_a_log_are_those_of_its_known_rewards() -> None:
    # (0.5 + 0 + 1 + 0.25)/4, (0.25 + 0.75 + 0 + 1)/4, (1 + 0.5 + 0.125 + 0)/4
    assert Table(LOG).means.tolist() == [0.4375, 0.5, 0.40625]
    assert Table([[1.0, BLANK]]).means.tolist() == [1.0, 0.0]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bernoulli([0.1, BLANK]), r"means\[1\] must be a number in \[0, 1\], got nan"),
        (lambda: Bernoulli([1.1]), r"means\[0\] must be a number in \[0, 1\], got 1.1"),
        (lambda: Bernoulli([]), r"means must be a list with one number per arm, got \[\]"),
        (lambda: Bernoulli(0.5), "means must be a list with one number per arm, got 0.5"),  # type: ignore[arg-type]
        (lambda: Bernoulli({"a": 1}), "^means must be a list with one number per arm|^means must be numbers"),  # type: ignore[arg-type]
        (lambda: Bernoulli(["high"]), r"means\[0\] must be a number, got 'high'"),  # type: ignore[list-item]
        (lambda: Bernoulli([[0.1], [0.2, 0.3]]), "means must be numbers, one per arm"),  # type: ignore[list-item]
        (lambda: Bernoulli(PerLane(np.array([[0.1, 1.4]]))), r"means\[1\] must be a number in \[0, 1\], got 1.4"),
        (lambda: PerLane(np.array([0.1])), r"PerLane needs an array \(lanes, arms\), got shape \(1,\)"),
        (lambda: Gaussian([0.1, math.inf], 1.0), r"means\[1\] must be a finite number, got inf"),
        (lambda: Gaussian([0.1], -1.0), "sd must be a number of at least 0, got -1.0"),
        (lambda: Gaussian([0.1], BLANK), "sd must be a number of at least 0, got nan"),
        (lambda: Gaussian([0.1, 0.2], [1.0, 1.0, 1.0]), "sd has 3 entries, but there are 2 means"),
        (lambda: Beta([1.0, 0.0], [1.0, 1.0]), r"a\[1\] must be a number above 0, got 0\.0$"),
        (lambda: Beta([1.0], [1.0, 1.0]), "a has 1 entry, b has 2; both need one number per arm"),
        (lambda: Beta(means=[-0.1]), r"means\[0\] must be a number in \[0, 1\], got -0.1"),
        (lambda: Categorical([0.0, 1.0], [[0.5, 0.4]]), "probabilities must sum to 1, it sums to 0.9"),
        (lambda: Categorical([0.0, 1.0], [[0.5, 0.5], [0.5, 0.4]]), r"probabilities\[1\] must sum to 1"),
        (lambda: Categorical([0.0, 1.0], [[1.0]]), "probabilities has 1 column for 2 values"),
        (lambda: Categorical([0.0, 1.0], [0.5, 0.5]), r"probabilities must be rows of equal length, got shape \(2,\)"),  # type: ignore[list-item]
        (lambda: Categorical([0.0, BLANK], [[0.5, 0.5]]), r"values\[1\] must be a finite number, got nan"),
        (lambda: Categorical([0.0, 1.0], [[1.5, -0.5]]), r"probabilities\[0\]\[0\] must be a number in \[0, 1\]"),
        (lambda: Winners([0.5, 0.4]), "^probabilities must sum to 1, it sums to 0.9$"),
        (lambda: Winners([1.5, -0.5]), r"^probabilities\[0\] must be a number in \[0, 1\], got 1.5$"),
        (lambda: Winners([0.5, BLANK]), r"^probabilities\[1\] must be a number in \[0, 1\], got nan$"),
        (lambda: Winners([]), r"^probabilities must be a list with one number per arm, got \[\]$"),
        (lambda: Winners([[0.5, 0.5]]), SAME),  # type: ignore[list-item]
        (lambda: Winners(PerLane(np.array([[0.5, 0.5]]))), SAME),
        (lambda: Table([0.1, 0.2]), r"values must be rows of equal length, one number .*, got shape \(2,\)"),  # type: ignore[list-item]
        (
            lambda: Table(np.empty((0, 2))),
            r"values must be rows of equal length, one number .*, got shape \(0, 2\)",
        ),
        (lambda: Table([[0.1, 0.2]], "random"), "order must be 'log' or 'shuffled', got 'random'"),
    ],
)
def test_wrong_models_are_refused(make: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        make()


def test_an_infinite_reward_in_a_log_is_refused_with_its_row() -> None:
    with pytest.raises(DataError, match="row 2 of the reward table is infinite"):
        Table([[0.1, 0.2], [0.1, -math.inf]])


@pytest.mark.parametrize("values", [[[0.1, 0.2], [0.3]], [["high", 0.2]], [[10**400]]])
def test_a_table_that_is_no_table_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(EvenhandError) as caught:
        Table(values)
    assert str(caught.value) == f"values must be rows of equal length, one number per arm, got {shown(values)}"
