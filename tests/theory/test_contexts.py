"""The best rewards over contexts: both ways to find them, what a policy earns that follows them, and the regrets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import frozen
from scipy.optimize import linprog

from evenhand import Environment, Observation, PerLane, Policy, compare
from evenhand.algorithms import ucb1
from evenhand.availability import Independent, Logged
from evenhand.contexts import Categories, Context, Log, Normal
from evenhand.core.state import Array, State
from evenhand.delays import Geometric
from evenhand.merit import Power
from evenhand.policy import DeficitFirst, Index, MeritShares, TopM, Traits
from evenhand.policy.claim import Group
from evenhand.policy.groups import BoundedShares
from evenhand.policy.selection import Categorical
from evenhand.rewards import Bernoulli, Linear, Logistic, Table
from evenhand.theory import baseline_of
from evenhand.theory import contexts as optima
from evenhand.theory.bounded import bounds_of

COEFFICIENTS = np.c_[[0.3, 0.5, 0.6], [[0.1, 0.05], [-0.1, 0.02], [0.0, -0.08]]]
WORLD = Environment(Linear(COEFFICIENTS), contexts=Normal(2))


@frozen(eq=False)
class Known(Index):
    """The true mean of every arm in the present context, and an addition to each."""

    environment: Environment
    prices: Any = 0.0

    traits = Traits(contextual=True)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        rewards: Any = self.environment.rewards
        assert observation.situation is not None
        return np.asarray(rewards.means_given(Context(observation.situation, observation.arms)) + self.prices)


def bounds(arms: int, floors: Any, caps: Any = None, groups: Any = ()) -> Any:
    return bounds_of(arms, np.broadcast_to(floors, arms), caps, groups)


def optimum(gains: Array, chances: Array, plays: int, bound: Any, available: Any) -> float:
    prices, due = optima.best_prices(gains, chances, plays, bound, available)
    return float(optima._largest(gains + prices, plays, available) @ chances) - due


@pytest.mark.parametrize("plays", [1, 2])
def test_the_program_and_its_dual_agree_with_a_program_of_its_own(plays: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(plays)
    north = Group(name="north", arms=[0, 1], at_least=0.5 * plays, at_most=0.6 * plays)
    for _ in range(5):
        gains, available = rng.random((60, 4)) + np.array([0.0, 0.1, 0.5, 0.7]), rng.random((60, 4)) < 0.9
        chances = rng.dirichlet(np.ones(60))
        bound = bounds(4, 0.2, np.array([1.0, 1.0, 0.5, 1.0]), [north])
        members = bound.members.toarray()
        taken = (chances[:, np.newaxis, np.newaxis] * members).reshape(-1, members.shape[1]).T
        own = linprog(
            -(chances[:, np.newaxis] * gains).ravel(),
            A_ub=np.concatenate([-taken, taken]),
            b_ub=np.concatenate([-bound.floors, bound.caps]),
            A_eq=np.kron(np.eye(60), np.ones(4)),
            b_eq=np.minimum(available.sum(axis=1), plays),
            bounds=[(0.0, float(able)) for able in available.ravel()],
        )
        found = []
        for largest in (10**9, 0):
            monkeypatch.setattr(optima, "REDUCED_UP_TO", largest)
            found.append(optimum(gains, chances, plays, bound, available))
        assert own.fun is not None
        np.testing.assert_allclose(found, -float(own.fun), atol=1e-7)


def test_a_promise_is_kept_where_it_costs_least() -> None:
    """Two countries as often, the second arm .1 worse in one and .8 in the other: 20 % cost .2 · .1."""
    world = Environment(
        Linear([[0.9, 0.0, 0.0], [0.0, 0.8, 0.1]], noise=0.0),
        contexts=Categories({"country": {"DE": 0.5, "FR": 0.5}}),
        fractions=[0.0, 0.2],
    )
    found = baseline_of(ucb1(), world)
    assert found.best is not None
    assert found.best_fair is not None
    np.testing.assert_allclose([found.best, found.best_fair], [0.9, 0.88], atol=1e-9)
    np.testing.assert_allclose(found.gains, [0.9, 0.45], atol=1e-12)


def test_the_policy_of_the_prices_earns_the_optimum_and_keeps_the_promises() -> None:
    found = baseline_of(Policy(), Environment(WORLD.rewards, contexts=WORLD.contexts, fractions=0.25))
    assert found.in_context is not None
    follower = Policy(Known(WORLD, found.in_context.prices[1]))
    world = Environment(WORLD.rewards, contexts=WORLD.contexts, fractions=0.25)
    results = compare({"best": follower, "free": Policy(Known(WORLD))}, world, 400, 50, checkpoints=1, progress=False)
    last = {label: {name: curve[-1] for name, curve in one.curves.items()} for label, one in results.policies.items()}
    assert (results.policies["best"].pulls[-1].mean(axis=0) / 400 > 0.24).all()
    assert abs(last["best"]["r_regret"].mean()) < 0.02 * last["best"]["regret"].mean() + 1.0
    np.testing.assert_allclose(last["free"]["regret"], 0.0, atol=1e-9)
    assert last["free"]["r_regret"].mean() < -5.0  # it earns more, and owes
    earned = last["best"]["reward"].mean() / 400
    assert found.best_fair is not None
    assert abs(earned - float(found.best_fair)) < 0.01


def test_keeping_promises_at_once_costs_what_the_contexts_are_worth() -> None:
    """A policy that pays what is owed whatever the situation is has regret against one that waits for a good one."""
    fair = {"first": Policy(Known(WORLD), DeficitFirst([0.25] * 3), TopM())}
    regret = compare(fair, WORLD, 400, 20, checkpoints=1, progress=False).policies["first"].curves["r_regret"][-1]
    assert regret.mean() > 4.0


@pytest.mark.slow
def test_penalties_cost_no_more_than_promises_and_no_less_than_nothing() -> None:
    def per_round(penalty: float) -> float:
        world = Environment(WORLD.rewards, contexts=WORLD.contexts, fractions=0.25, penalties=penalty)
        found = baseline_of(Policy(), world)
        assert found.best_penalized is not None
        return float(found.best_penalized)

    found = baseline_of(Policy(), Environment(WORLD.rewards, contexts=WORLD.contexts, fractions=0.25))
    assert found.best is not None
    assert found.best_fair is not None
    assert per_round(0.0) == pytest.approx(float(found.best))
    assert per_round(10.0) == pytest.approx(float(found.best_fair), abs=1e-6)
    assert float(found.best_fair) < per_round(0.05) < float(found.best)


def test_who_can_play_is_part_of_the_law() -> None:
    """Exact where both can be listed, drawn where not, row by row where both are logs."""
    contexts = Categories({"a": {"x": 0.3, "y": 0.7}}, intercept=False)
    rewards = Linear([[0.9, 0.2], [0.5, 0.4]], noise=0.0)
    found = baseline_of(Policy(), Environment(rewards, Independent([0.5, 1.0]), contexts=contexts))
    assert found.best is not None
    assert float(found.best) == pytest.approx(0.5 * (0.3 * 0.9 + 0.7 * 0.4) + 0.5 * (0.3 * 0.5 + 0.7 * 0.4))
    drawn = baseline_of(
        Policy(),
        Environment(Linear(np.c_[[0.5, 0.4], [0.1, -0.1]]), Independent([0.5, 1.0]), contexts=Normal(1)),
    )
    assert drawn.best is not None
    assert 0.4 < float(drawn.best) < 0.6
    table = Table([[1.0, 0.5], [0.0, 0.5]])
    logged = Environment(table, Logged([[False, True], [True, True]]), contexts=Log([[1.0], [2.0]]))
    best = baseline_of(Policy(), logged).best
    assert best is not None
    assert float(best) == 0.5
    odd = Environment(Bernoulli([0.5, 0.6]), Logged([[False, True], [True, True]]), contexts=Normal(1))
    assert baseline_of(Policy(), odd).best == pytest.approx(0.6)


def test_shares_by_merit_are_those_of_each_context() -> None:
    world = Environment(Logistic(COEFFICIENTS * 3), contexts=Normal(2), merit=Power(beta=1.0, exponent=2.0))
    fair = Policy(Known(world), MeritShares(Power(beta=1.0, exponent=2.0)), Categorical())
    blind = Policy(fairness=MeritShares(Power(beta=1.0, exponent=2.0)), selection=Categorical())
    results = compare({"fair": fair, "blind": blind}, world, 50, 5, checkpoints=1, progress=False)
    assert results.policies["fair"].curves["fairness_regret"][-1].max() < 1e-9
    assert results.policies["blind"].curves["fairness_regret"][-1].min() > 1.0
    deserved = baseline_of(fair, world).deserved
    assert deserved is not None
    assert deserved.sum() == pytest.approx(1.0)


def test_groups_and_caps_count_over_contexts() -> None:
    north = Group(name="north", arms=[0, 1], at_least=0.7, at_most=None)
    policy = Policy(Known(WORLD), BoundedShares(0.1, 0.5, (north,)))
    found = baseline_of(policy, WORLD)
    assert found.best is not None
    assert found.best_fair is not None
    assert float(found.best_fair) < float(found.best)
    results = compare({"bounded": policy}, WORLD, 300, 10, checkpoints=1, progress=False)
    assert results.policies["bounded"].curves["bound_violation"][-1].max() <= 1.0


def test_where_promises_differ_between_lanes_the_optimum_is_said_to_be_unknown() -> None:
    policy = Policy(Known(WORLD), DeficitFirst(PerLane([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2]])))
    results = compare({"lanes": policy}, WORLD, 20, 2, checkpoints=1, progress=False)
    assert "differ between lanes, in an environment with contexts" in results.omitted["lanes"]["regret"]


def test_a_bound_that_knows_no_contexts_is_not_drawn() -> None:
    from evenhand.theory.bounds.bound import UCB1

    assert [premise.sentence for premise in UCB1.violated(ucb1(), WORLD, baseline_of(ucb1(), WORLD))]


def test_late_rewards_change_nothing_of_what_is_best() -> None:
    late = Environment(WORLD.rewards, feedback=Geometric(0.1, named=True), contexts=WORLD.contexts, fractions=0.2)
    prompt = Environment(WORLD.rewards, contexts=WORLD.contexts, fractions=0.2)
    assert baseline_of(Policy(), late).best_fair == baseline_of(Policy(), prompt).best_fair
