"""Contexts: the same for every policy, with the law that is said, and with every reward the features of its pull."""

from __future__ import annotations

import pickle
from typing import Any

import attrs
import numpy as np
import pytest

from evenhand import Environment, EvenhandError, Observation, check_environment
from evenhand.availability import Independent
from evenhand.contexts import Categories, Context, Contexts, Log, Normal
from evenhand.core.cohorts import Answers
from evenhand.core.streams import strand_seeds
from evenhand.delays import Fixed, Geometric
from evenhand.features import Category, Features, Number
from evenhand.feedback import Discounted
from evenhand.rewards import Bernoulli, Linear, Logistic, Table
from evenhand.typing import Array, Decision

COEFFICIENTS = [[0.5, 0.1, 0.0], [0.5, -0.1, 0.0], [0.4, 0.0, 0.1]]
LANES, ROUNDS = 5, 120


def world(arms: Any = 0, shared: Any = None, **others: Any) -> Environment:
    """Three arms with two drawn features and an intercept."""
    return Environment(Linear(COEFFICIENTS, shared), contexts=Normal(2, arms=arms), **others)


WORLDS = {
    "situation": world(),
    "features drawn for every arm": world(arms=2, shared=[0.05, -0.05]),
    "features that stay": world(arms=[[0.1], [0.2], [0.9]], shared=[0.2]),
    "late": world(arms=1, shared=[0.05], feedback=Geometric(0.1, named=True)),
    "late, without a name": world(feedback=Geometric(0.1)),
    "coins": Environment(Linear(COEFFICIENTS, noise="coins", high=4.0), contexts=Normal(2, sd=[0.5, 2.0])),
    "logistic": Environment(Logistic(COEFFICIENTS), Independent([0.5, 0.9, 1.0]), contexts=Normal(2)),
    "contexts without influence": Environment(Bernoulli([0.2, 0.8]), contexts={"kind": "normal", "situation": 1}),
}


def untyped(value: Any) -> Any:
    """A value that no type checker would let through."""
    return value


def play(environment: Environment, seed: int, lanes: int = LANES) -> tuple[list[Observation], list[Any]]:
    """One arm of each lane in every round, drawn."""
    seeds = strand_seeds(8, lanes)
    world, rng = environment.start(ROUNDS, lanes, seeds), np.random.default_rng(seed)
    observations, outcomes = [], []
    for round in range(1, ROUNDS + 1):
        observations.append(world.observe())
        played = rng.integers(0, environment.arms, (lanes, 1)) == np.arange(environment.arms)
        if observations[-1].available is not None:
            played &= observations[-1].available
        outcomes.append(world.step(Decision(round, played, None, observations[-1].available, played)))
    return observations, outcomes


@pytest.mark.parametrize("name", WORLDS)
def test_environments_with_contexts_follow_the_rules_of_all(name: str) -> None:
    check_environment(WORLDS[name])


@pytest.mark.parametrize("name", WORLDS)
def test_every_policy_meets_the_same_contexts_and_means(name: str) -> None:
    (one, first), (other, second) = play(WORLDS[name], seed=1), play(WORLDS[name], seed=2)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.situation, b.situation)
        np.testing.assert_array_equal(np.asarray(a.arms), np.asarray(b.arms))
    assert all(np.array_equal(a.means, b.means) for a, b in zip(first, second, strict=True))


def test_the_first_lanes_of_many_have_the_contexts_that_they_have_alone() -> None:
    many, few = play(WORLDS["situation"], 1, lanes=130)[0], play(WORLDS["situation"], 1, lanes=100)[0]
    for a, b in zip(many, few, strict=True):
        assert a.situation is not None
        assert b.situation is not None
        np.testing.assert_array_equal(a.situation[:100], b.situation)


def test_contexts_change_nothing_of_what_is_drawn_besides() -> None:
    """Rewards, availability and delays have streams of their own, whether there are contexts or not."""
    plain = Environment(Bernoulli([0.2, 0.8]), Independent([0.5, 0.9]), Geometric(0.2, named=True))
    outcomes = (play(one, seed=1)[1] for one in (plain, attrs.evolve(plain, contexts=Normal(3))))
    for a, b in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(a.potential_rewards, b.potential_rewards)
        np.testing.assert_array_equal(a.feedback.rewards, b.feedback.rewards)


@pytest.mark.parametrize("feedback", ["immediate", Fixed(7, named=True), Geometric(0.05, named=True)])
@pytest.mark.parametrize("arms", [0, 2, [[0.1, 0.2]] * 3])
def test_every_reward_comes_with_the_features_of_its_own_pull(feedback: Any, arms: Any) -> None:
    environment = world(arms, None if arms == 0 else [0.05, -0.05], feedback=feedback)
    observations, outcomes = play(environment, seed=3)
    found = 0
    for round, outcome in enumerate(outcomes):
        answers: Answers = outcome.feedback.answers
        for place, (at, delay) in enumerate(zip(answers.places, answers.delays, strict=True)):
            lane, arm = divmod(int(at), 3)
            then, said = observations[round - delay], outcomes[round - delay]
            assert said.earned[lane, arm] == answers.rewards[place]
            np.testing.assert_array_equal(answers.situation[place], then.situation[lane])  # type: ignore[index]
            if arms != 0:
                np.testing.assert_array_equal(answers.arms[place], then.arms[lane, arm])  # type: ignore[index]
            found += 1
        assert (answers.arms is None) == (arms == 0)
    assert found == sum(int(outcome.feedback.received.sum()) for outcome in outcomes)
    assert found > 0.8 * LANES * ROUNDS


@pytest.mark.parametrize(
    "contexts",
    [
        Normal(2, arms=[[0.1]] * 3),
        Categories({"a": {"x": 0.5, "y": 0.5}, "b": {"x": 0.5, "y": 0.5}}, intercept=False),
        Log([[1.0, 2.0]], order="drawn"),
    ],
)
def test_contexts_go_to_other_processes(contexts: Contexts) -> None:
    one, other = (each.law(3)[0].situation for each in (contexts, pickle.loads(pickle.dumps(contexts))))
    np.testing.assert_array_equal(one, other)


def test_what_is_not_awaited_any_more_is_not_kept() -> None:
    environment = world(feedback=Fixed(7, named=True))
    running = environment.start(ROUNDS, LANES, np.random.SeedSequence(0))
    played = np.tile([True, False, False], (LANES, 1))
    for round in range(1, ROUNDS + 1):
        running.observe()
        running.step(Decision(round, played, None, None, played))
        assert len(running._awaited._slots) <= 7
    assert not running._awaited._slots


def test_the_mean_of_a_linear_reward_is_exact_and_every_reward_in_the_range() -> None:
    rewards, rng = Linear([[0.02], [0.5], [1.5], [-1.0]], noise=0.2), np.random.default_rng(0)
    means = np.broadcast_to(rewards.means_given(Context(np.array([[1.0]]))), (40_000, 1, 4))
    drawn = rewards.draw_given(rng, means)
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0
    np.testing.assert_allclose(drawn.mean(axis=(0, 1)), [0.02, 0.5, 1.0, 0.0], atol=0.004)
    np.testing.assert_allclose(drawn[:, 0, 1].std(), 0.2, atol=0.005)
    coins = Linear([[3.0]], noise="coins", low=2.0, high=6.0)
    paid = coins.draw_given(rng, np.full((40_000, 1, 1), 3.0))
    assert set(np.unique(paid)) == {2.0, 6.0}
    assert abs(paid.mean() - 3.0) < 0.04


def test_scores_are_those_of_the_coefficients() -> None:
    rng = np.random.default_rng(4)
    coefficients, shared = rng.normal(size=(3, 4)), rng.normal(size=2)
    situation, arms = rng.normal(size=(7, 4)), rng.normal(size=(7, 3, 2))
    chances = Logistic(coefficients, shared).means_given(Context(situation, arms))
    expected = 1.0 / (1.0 + np.exp(-(situation @ coefficients.T + arms @ shared)))
    np.testing.assert_allclose(chances, expected, rtol=1e-12)


def test_means_of_the_environment_are_means_over_the_contexts() -> None:
    means = world().means
    np.testing.assert_allclose(means, [0.5, 0.5, 0.4], atol=1e-4)  # symmetric contexts that the range hardly cuts
    drawn = np.mean([outcome.means.mean(axis=0) for outcome in play(WORLDS["logistic"], 1, lanes=100)[1]], axis=0)
    np.testing.assert_allclose(WORLDS["logistic"].means, drawn, atol=0.005)


def test_means_of_a_log_are_the_rewards_of_its_rows() -> None:
    class Hours(Contexts):
        widths = (1, 0)
        rows = 3

        def draw(self, rng: np.random.Generator, rows: Any, lanes: int, arms: int) -> Context:
            situation: Array = np.broadcast_to(rows[..., np.newaxis] + 0.0, (len(rows), lanes, 1))
            return Context(situation)

    table = Table([[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]], order="shuffled")
    running = Environment(table, contexts=Hours()).start(3, LANES, np.random.SeedSequence(5))
    played, seen = np.ones((LANES, 2), dtype=bool), []
    for round in range(1, 4):
        situation = running.observe().situation
        assert situation is not None
        seen.append(situation[:, 0])
        outcome = running.step(Decision(round, played, None, None, played))
        np.testing.assert_array_equal(outcome.earned, table.values[seen[-1].astype(int)])
        np.testing.assert_array_equal(outcome.means, outcome.earned)
    assert (np.sort(seen, axis=0) == np.arange(3.0)[:, np.newaxis]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Environment(Linear(COEFFICIENTS)), "Linear rewards depend on contexts: give the environment contexts"),
        (lambda: Environment(Linear(COEFFICIENTS), contexts=Normal(3)), "has 4 columns of the situation"),
        (lambda: world(arms=1), "contexts has 1 column of the arms"),
        (lambda: world(arms=[[1.0]], shared=[1.0]), "contexts is given for 1 arm, rewards for 3"),
        (lambda: Normal(0, intercept=False), "must be at least 1"),
        (lambda: Normal(2, sd=[1.0, 1.0, 1.0]), "sd has 3 entries for 2 drawn columns"),
        (lambda: Normal(2, arms=untyped("two")), "arms must be a number of columns, or a table"),
        (lambda: Linear([[1.0]], low=1.0, high=1.0), "low must be below high = 1, got 1"),
        (lambda: Linear([[float("nan")]]), "must be a finite number"),
        (lambda: Linear([[1.0]], noise=-1.0), "noise must be a number of at least 0"),
        (lambda: Environment(Bernoulli([0.5]), contexts="normal"), "situation is missing"),
        (lambda: Environment(Bernoulli([0.5]), contexts="norm"), "did you mean 'normal'?"),
        (lambda: Environment(Bernoulli([0.5]), contexts=untyped(3)), "contexts must be an object such as Normal"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(EvenhandError) as error:
        make()
    assert message in str(error.value)


def test_rewards_by_context_have_no_means_of_their_own() -> None:
    with pytest.raises(EvenhandError, match=r"environment\.means is their mean over all"):
        Linear(COEFFICIENTS).means  # noqa: B018
    with pytest.raises(EvenhandError, match="draw_given"):
        Linear(COEFFICIENTS).draw(np.random.default_rng(0), np.zeros((1, 1), dtype=int), 1)


def test_sums_of_anonymous_feedback_have_no_features() -> None:
    outcomes = play(world(feedback=Discounted(0.5)), seed=1)[1]
    assert all(outcome.feedback.answers is None for outcome in outcomes)


def test_categories_have_the_law_and_the_columns_that_are_said() -> None:
    contexts = Categories({"a": {"x": 0.25, "y": 0.75}, "b": {"u": 0.5, "v": 0.5, "w": 0.0}}, arms=[[1.0], [2.0]])
    assert contexts.columns == ("intercept", "a=x", "a=y", "b=u", "b=v", "b=w", "z1")
    context, chances = contexts.law(arms=2)
    np.testing.assert_allclose(chances @ context.situation, [1.0, 0.25, 0.75, 0.5, 0.5, 0.0])
    drawn = contexts.draw(np.random.default_rng(0), np.zeros((4000, 1), dtype=int), lanes=2, arms=2)
    np.testing.assert_allclose(drawn.situation.mean(axis=(0, 1)), chances @ context.situation, atol=0.02)
    assert drawn.arms is not None
    np.testing.assert_array_equal(drawn.arms[7, 1], [[1.0], [2.0]])


FEATURES = Features(
    {"country": Category(["DE", "FR"], unknown="error"), "age": Number(0, 100, missing=50)},
    {"price": Number(0, 10)},
    crosses=[("country", "price")],
)
ROWS = [{"country": "DE", "age": 20}, {"country": "FR", "age": None}, {"country": "FR", "age": 80}]


@pytest.mark.parametrize("by_row", [False, True])
def test_rows_of_a_log_become_the_numbers_of_its_declaration(by_row: bool) -> None:
    prices = [[{"price": 2 * row}, {"price": 1 + row}] for row in range(3)] if by_row else [{"price": 2}, {"price": 5}]
    log = Log(ROWS, FEATURES, arms=prices)
    assert (log.arms, log.columns, log.rows) == (2, FEATURES.columns, 3)
    drawn = log.draw(np.random.default_rng(0), np.arange(3)[:, np.newaxis], lanes=2, arms=2)
    for row in range(3):
        known: Any = ROWS[row]
        own: Any = prices[row] if by_row else prices
        situation, arms = FEATURES.observed(known, dict(zip("ab", own, strict=True)), ["a", "b"])
        for lane in range(2):
            np.testing.assert_array_equal(drawn.situation[row, lane], situation)
            np.testing.assert_array_equal(np.asarray(drawn.arms)[row, lane], np.asarray(arms))


def test_a_table_of_pandas_is_a_log_and_its_blanks_are_missing() -> None:
    import pandas as pd

    declared = Features({"country": Category(["DE", "FR"], unknown="error"), "age": Number(0, 100, missing=50)})
    one, other = Log(pd.DataFrame(ROWS), declared), Log(ROWS, declared)
    np.testing.assert_array_equal(one.law(2)[0].situation, other.law(2)[0].situation)


@pytest.mark.parametrize("order", ["log", "shuffled", "drawn"])
def test_a_log_is_replayed_shuffled_or_drawn_from(order: str) -> None:
    numbers = np.arange(ROUNDS, dtype=float)[:, np.newaxis]
    environment = Environment(Linear([[0.001], [0.002]]), contexts=Log(numbers, order=order))
    check_environment(environment)
    seen = np.array([observation.situation[:, 0] for observation in play(environment, 1)[0]])  # type: ignore[index]
    in_order = (seen == numbers).all()
    assert in_order == (order == "log")
    assert (np.sort(seen, axis=0) == numbers).all() == (order != "drawn")
    assert environment.rows == (None if order == "drawn" else ROUNDS)
    if order != "drawn":
        with pytest.raises(EvenhandError, match="the log has only 120 rounds"):
            environment.check_horizon(ROUNDS + 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categories({"a": {"x": 0.5, "y": 0.4}}), "a must sum to 1"),
        (lambda: Categories({str(k): {"x": 0.5, "y": 0.5} for k in range(15)}), "have 32,768 combinations"),
        (lambda: Categories(untyped({"a": 3})), "a must be a table of levels"),
        (lambda: Categories(untyped([])), "categories must be a table of categories such as"),
        (lambda: Log([{"country": "DE"}]), "has rows by name: give features"),
        (lambda: Log([[1.0]], FEATURES), "must be dictionaries where features are declared"),
        (lambda: Log(ROWS, FEATURES), "arms must be a dictionary for each arm, with price"),
        (lambda: Log(ROWS, FEATURES, arms=[[{"price": 1}]]), "must have the same arms in each of 3 rows"),
        (lambda: Log([{"country": "IT"}], Features(untyped({"country": {"kind": "category", "levels": ["DE"]}}))), ""),
        (lambda: Log([[1.0], [2.0]], arms=[[[1.0]]]), "arms must be finite numbers"),
        (lambda: Log([[1.0]], untyped(3)), "features must be Features(…) or its table"),
        (lambda: Environment(Table([[1.0, 0.0]]), contexts=Log([[1.0], [2.0]])), "contexts has 2 rows, the log of"),
    ],
)
def test_logs_and_categories_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    if not message:
        assert make().rows == 1  # an unknown level is "other"
        return
    with pytest.raises(EvenhandError) as error:
        make()
    assert message in str(error.value)
