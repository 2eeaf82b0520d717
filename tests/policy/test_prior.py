"""What Thompson sampling believes before any reward."""

import tomllib

import numpy as np
import pytest

from evenhand import Policy
from evenhand.algorithms.registry import SAMPLE, algorithms
from evenhand.bandit import Bandit
from evenhand.core.errors import EvenhandError
from evenhand.core.state import ALL_AVAILABLE, Observation
from evenhand.policy.best_chance import BestChance
from evenhand.policy.index import BetaSample
from evenhand.studies.configuration import parse

WITH_PRIOR = sorted(name for name, one in algorithms().items() if "prior" in one.parameters)


def test_every_algorithm_that_draws_from_a_posterior_takes_a_prior() -> None:
    beta = {name for name, one in algorithms().items() if "Beta" in one.equation or "BetaSample" in repr(one.example())}
    assert beta <= set(WITH_PRIOR) | {"q_fcts_d"}
    assert {"thompson", "f_ts", "tscsf_b", "group_ts", "floor_ts", "d_ts"} <= set(WITH_PRIOR)


@pytest.mark.parametrize("name", WITH_PRIOR)
def test_the_uniform_prior_decides_as_none_does_and_another_one_is_used(name: str) -> None:
    entry = algorithms()[name]
    needed = {one: SAMPLE[one] for one, value in entry.parameters.items() if value.default is value.empty}

    def scores(**prior: object) -> np.ndarray:
        policy = entry.build(**needed, **prior)
        state = policy.start(arms=2, lanes=500)
        return policy.index.score(state, ALL_AVAILABLE, np.random.default_rng(1))

    np.testing.assert_array_equal(scores(), scores(prior=(1, 1)))
    np.testing.assert_array_equal(scores(), scores(prior=[(1, 1), (1, 1)]))
    favoured = scores(prior=[(1, 30), (30, 1)])
    assert (favoured[:, 0] < favoured[:, 1]).mean() > 0.99


def test_the_posterior_adds_successes_and_failures_to_the_prior() -> None:
    """Mean (a + S)/(a + b + M) and variance of the Beta distribution, within five standard errors of 200,000 draws."""
    policy = Policy(BetaSample(prior=[(2.0, 8.0), (5.0, 1.5)]))
    state = policy.start(arms=2, lanes=200_000)
    state.tally.received[:], state.index.successes[:] = [10.0, 4.0], [7.0, 0.0]
    draws = policy.index.score(state, ALL_AVAILABLE, np.random.default_rng(3))
    a, b = np.array([9.0, 5.0]), np.array([11.0, 5.5])
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1.0))
    assert (abs(draws.mean(axis=0) - mean) < 5.0 * np.sqrt(variance / 200_000)).all()
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.02)


def test_the_chance_to_be_best_is_the_integral_over_the_prior() -> None:
    """Of Beta(2, 1) against Beta(1, 1): ∫ 2x · x dx = 2/3."""
    policy = Policy(BestChance(prior=[(2, 1), (1, 1)]))
    chance = policy.index.score(policy.start(arms=2), ALL_AVAILABLE, np.random.default_rng(0))
    np.testing.assert_allclose(chance, [2.0 / 3.0, 1.0 / 3.0], atol=1e-6)


def test_a_sleeping_arm_keeps_its_own_prior_apart() -> None:
    policy = Policy(BetaSample(prior=[(1, 99), (50, 50), (99, 1)]))
    awake = Observation(np.array([True, False, True]))
    scores = policy.index.score(policy.start(arms=3), awake, np.random.default_rng(0))
    assert scores[0] < 0.2
    assert scores[1] == 0.0
    assert scores[2] > 0.8


@pytest.mark.parametrize("prior", [(1, 0), (-1, 2), (1, 2, 3), "both", 1.0, [], [(1, 1), (1, float("inf"))], [(1,)]])
def test_what_is_no_prior_is_refused(prior: object) -> None:
    with pytest.raises(EvenhandError, match=r"prior.*must be two numbers above 0"):
        BetaSample(prior=prior)  # type: ignore[arg-type]


def test_a_prior_for_other_arms_is_refused() -> None:
    with pytest.raises(EvenhandError, match="prior has 2 pairs, but there are 3 arms"):
        Bandit(["a", "b", "c"], "thompson", prior=[(1, 1), (1, 1)])
    with pytest.raises(EvenhandError, match="prior has an unknown arm 'tee'"):
        Bandit(["tea", "coffee"], "thompson", prior={"tee": (2, 8)})


def test_a_bandit_takes_a_prior_by_name_and_saves_it_and_a_new_arm_starts_uniform() -> None:
    bandit = Bandit(["tea", "coffee"], "thompson", prior={"coffee": (2, 8)}, seed=1)
    again = Bandit.restored(bandit.dump())
    bandit.add("mate")
    assert again._record.policy.index == BetaSample(prior=[(1, 1), (2, 8)])
    assert bandit._record.policy.index == BetaSample(prior=[(1, 1), (2, 8), (1, 1)])


def test_a_configuration_takes_a_prior_per_arm() -> None:
    setup = parse(
        tomllib.loads(
            """
        horizon = 10
        [environment]
        arms = ["tea", "coffee"]
        rewards = { kind = "bernoulli", means = [0.5, 0.4] }
        [[policies]]
        algorithm = "thompson"
        prior = { coffee = [2, 8] }
        [[policies]]
        label = "parts"
        index = { kind = "beta_sample", prior = [2, 8] }
        """
        )
    )
    assert setup.policies["thompson"].index == BetaSample(prior=[(1, 1), (2, 8)])
    assert setup.policies["parts"].index == BetaSample(prior=(2, 8))
