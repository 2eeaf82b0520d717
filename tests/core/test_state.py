"""Records: what is saved comes back exactly or is refused, and parameters for lanes are cut to their rows."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Feedback, PerLane, Policy, dump, restore, simulate
from evenhand.algorithms import (
    ars_exp3,
    ars_ucb,
    clw,
    explore_then_commit,
    fair_random,
    fucb,
    hard_threshold_ucb,
    lfg,
    odaaf,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.core.errors import StateError
from evenhand.core.state import ALL_AVAILABLE, State, Tally, for_lanes, rows
from evenhand.environment.rewards import Bernoulli
from evenhand.environment.world import Environment
from evenhand.policy.fairness import DeficitBonus, DeficitFirst, GuaranteedShares
from evenhand.policy.index import UCB, Committed, EmpiricalMean
from evenhand.policy.schedule import Quotas
from evenhand.policy.selection import Categorical
from evenhand.policy.virtual_queue import VirtualQueue

SHARES = [0.2, 0.1]
POLICIES: dict[str, Policy] = {
    "ucb1": ucb1(),
    "thompson": thompson(),
    "lfg": lfg(SHARES, eta=3.0),
    "explore_then_commit": explore_then_commit(pulls=5),
}


def after(policy: Policy, rounds: int = 30, lanes: int | None = None, arms: int = 2) -> State:
    """A state with history."""
    state, rng, world = policy.start(arms, lanes), np.random.default_rng(1), np.random.default_rng(2)
    for _ in range(rounds):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, decision.played * world.random(decision.played.shape)), rng)
    return state


# --- Saved and restored ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [None, 3])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_what_is_saved_comes_back_exactly(policy: Policy, lanes: int | None) -> None:
    state = after(policy, lanes=lanes)
    text = json.dumps(dump(state))
    again = restore(policy.start(2, lanes), json.loads(text))
    assert json.dumps(dump(again)) == text
    assert type(again) is State
    assert type(again.index) is type(state.index)
    assert type(again.schedule) is type(state.schedule)
    for name in ("pulls", "received", "rewards"):
        one, two = getattr(state.tally, name), getattr(again.tally, name)
        assert one.dtype == two.dtype
        assert (one == two).all()


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_every_float_survives(values: list[float]) -> None:
    tally = Tally(np.array(values), np.array(values), np.array(values))
    again = restore(Tally.empty((len(values),)), json.loads(json.dumps(dump(tally))))
    assert again.rewards.tobytes() == tally.rewards.tobytes()  # also the sign of zero


def test_an_infinite_score_survives_where_json_has_no_word_for_it() -> None:
    # A commitment to bounds, with an arm that has no quota and so an infinite bound.
    policy = Policy(Committed(UCB(), [0, 2]), schedule=Quotas([0, 2]))
    state = after(policy, rounds=5)
    assert state.index.score[0] == math.inf
    text = json.dumps(dump(state), allow_nan=False)
    assert restore(policy.start(2), json.loads(text)).index.score[0] == math.inf


def test_a_restored_state_is_a_copy() -> None:
    state = after(ucb1())
    saved = dump(state)
    again = restore(ucb1().start(2), saved)
    again.tally.pulls += 1.0
    assert (again.tally.pulls == state.tally.pulls + 1.0).all()
    assert saved == dump(state)


def damaged(change: Callable[[dict[str, Any]], object]) -> Callable[[], Any]:
    """Restoring a saved state of Thompson sampling after some damage."""
    plain = json.loads(json.dumps(dump(after(thompson()))))
    change(plain)
    return lambda: restore(thompson().start(2), plain)


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a field is missing": (
        lambda plain: plain["tally"].pop("pulls"),
        r"^the saved Tally must have \['cohorts', 'pulls', .*\], got \['cohorts', 'received', 'rewards'\]$",
    ),
    "a field is foreign": (
        lambda plain: plain["tally"].update(regret=1.0),
        r"^the saved Tally must have .*, got \['cohorts', 'pulls', 'received', 'regret', 'rewards'\]$",
    ),
    "a record is no record": (lambda plain: plain.update(tally=[1, 2]), r"^the saved Tally .*, got list$"),
    "a memory is missing": (lambda plain: plain.update(index=None), r"^the saved Trials .*, got NoneType$"),
    "an array is no array": (
        lambda plain: plain["tally"].update(pulls=[1.0, 2.0]),
        "^a saved array must have 'dtype' and 'values'",
    ),
    "an array is short": (
        lambda plain: plain["tally"]["pulls"].update(values=[1.0]),
        r"^a saved array has shape \(1,\), but this policy needs \(2,\)$",
    ),
    "an array is ragged": (lambda plain: plain["tally"]["pulls"].update(values=[[1.0], [1.0, 2.0]]), "array"),
    "an array holds words": (lambda plain: plain["tally"]["pulls"].update(values=["a", "b"]), "array"),
    "an array is of no type": (lambda plain: plain["tally"]["pulls"].update(dtype="numbers"), "array"),
    "an array is of another type": (lambda plain: plain["tally"]["pulls"].update(dtype="object"), "array"),
    "the round is not a number": (lambda plain: plain.update(round="seven"), "round"),
    "a memory is foreign": (lambda plain: plain.update(fairness={"lengths": {"dtype": "float64", "values": []}}), r"."),
}


@pytest.mark.parametrize(("change", "message"), DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_state_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(StateError, match=message):
        damaged(change)()


def test_a_state_of_another_policy_is_refused() -> None:
    recursive, exact = (tscsf_b(SHARES, eta=2.0, queue=queue) for queue in ("recursive", "exact"))
    with pytest.raises(StateError):
        restore(recursive.start(2), dump(after(exact)))
    with pytest.raises(StateError):
        restore(exact.start(2), dump(after(recursive)))
    with pytest.raises(StateError, match=r"shape \(2,\), but this policy needs \(3,\)"):
        restore(ucb1().start(3), dump(after(ucb1())))
    with pytest.raises(StateError, match=r"shape \(2,\), but this policy needs \(4, 2\)"):
        restore(ucb1().start(2, lanes=4), dump(after(ucb1())))


# --- Parameters that differ between lanes ----------------------------------------------------------------------------


def test_per_lane_needs_rows() -> None:
    with pytest.raises(EvenhandError, match=r"^PerLane needs an array \(lanes, arms\), got shape \(2,\)$"):
        PerLane(np.array([0.1, 0.2]))
    with pytest.raises(EvenhandError, match=r"got shape \(\)$"):
        PerLane(np.array(0.1))


def test_per_lane_is_an_array_of_rows() -> None:
    given = PerLane([[0.1, 0.2], [0.3, 0.4]])
    assert isinstance(given, np.ndarray)
    assert (given.shape, str(given.dtype), given.tolist()) == ((2, 2), "float64", [[0.1, 0.2], [0.3, 0.4]])
    # Results of arithmetic are plain arrays: only the parameter itself is cut to lanes.
    for result in (given * 2.0, 1.0 - given, np.sqrt(given), given + np.ones(2), given > 0.1, given @ np.ones(2)):
        assert type(result) is np.ndarray
    again = pickle.loads(pickle.dumps(given))
    assert (type(again), again.tolist()) == (PerLane, given.tolist())
    with pytest.raises(EvenhandError, match=r"^PerLane needs"):
        PerLane([0.1])


@frozen
class Leaf:
    value: Any
    other: float = 2.0


@frozen
class Branch:
    leaf: Leaf
    name: str = "x"


def test_for_lanes_cuts_rows_at_any_depth_and_nothing_else() -> None:
    rows = np.arange(8.0).reshape(4, 2)
    branch = Branch(Leaf(PerLane(rows)))
    cut = for_lanes(branch, slice(1, 3))
    assert (cut.leaf.value == rows[1:3]).all()
    assert (cut.leaf.other, cut.name) == (2.0, "x")
    assert isinstance(branch.leaf.value, PerLane)  # the original is as it was


def test_for_lanes_leaves_alone_what_has_no_rows() -> None:
    plain = Branch(Leaf(3.0))
    assert for_lanes(plain, slice(0, 1)) is plain
    assert for_lanes("words", slice(0, 1)) == "words"
    assert for_lanes(Branch, slice(0, 1)) is Branch


ROWS = np.array([[0.3, 0.1, 0.05], [0.05, 0.2, 0.4]])
COLUMN = np.array([[0.1], [0.3]])
Build = Callable[[Any], Policy]
PARTS: dict[str, Build] = {
    "DeficitFirst": lambda r: Policy(fairness=DeficitFirst(r)),
    "DeficitBonus": lambda r: Policy(fairness=DeficitBonus(r, 0.4, "hard")),
    "DeficitBonus, a rate an arm": lambda r: Policy(fairness=DeficitBonus(r, [0.4, 0.3, 0.2], "soft")),
    "DeficitBonus, rates by lane": lambda r: Policy(fairness=DeficitBonus(np.array([0.2, 0.1, 0.0]), r, "linear")),
    "VirtualQueue": lambda r: Policy(EmpiricalMean(), VirtualQueue(r, 0.5)),
    "VirtualQueue, recursive": lambda r: Policy(EmpiricalMean(), VirtualQueue(r, 0.5, queue="recursive")),
    "VirtualQueue, a weight an arm": lambda r: Policy(EmpiricalMean(), VirtualQueue(r, 0.5, [1.0, 2.0, 0.5])),
    "VirtualQueue, weights by lane": lambda r: Policy(EmpiricalMean(), VirtualQueue(np.array([0.2, 0.1, 0.0]), 3.0, r)),
    "GuaranteedShares": lambda r: Policy(EmpiricalMean(), GuaranteedShares(r), Categorical()),
    "GuaranteedShares, all": lambda r: Policy(EmpiricalMean(), GuaranteedShares(r, "all"), Categorical()),
    "Quotas": lambda r: Policy(schedule=Quotas(_scaled(r))),
    "Quotas, promised": lambda r: Policy(schedule=Quotas([1, 2, 3], promised=r)),
}


def _scaled(r: Any) -> Any:
    """Shares as whole plays."""
    return PerLane(np.round(np.asarray(r) * 20)) if isinstance(r, PerLane) else np.round(np.asarray(r) * 20)


def probabilities_of(policy: Policy, state: State) -> Any:
    """Those of the next round, (lanes, arms); the plays themselves where nothing is drawn."""
    decision = policy.decide(state, ALL_AVAILABLE, np.random.default_rng(7))
    rewards = decision.played * np.array([0.3, 0.5, 0.6])
    policy.observe(state, Feedback(decision.played, rewards), np.random.default_rng(8))
    return np.asarray(decision.propensities, dtype=float)


@pytest.mark.parametrize("values", [ROWS, COLUMN], ids=["a value an arm", "one for all arms"])
@pytest.mark.parametrize("build", PARTS.values(), ids=list(PARTS))
def test_every_part_takes_parameters_by_lane(build: Build, values: np.ndarray) -> None:
    # Each lane does what a policy with that lane's own parameters does.
    together = for_lanes(build(PerLane(values)), slice(0, 2))
    alone = [build(np.broadcast_to(values[lane], 3)) for lane in range(2)]
    state, states = together.start(3, lanes=2), [policy.start(3, lanes=1) for policy in alone]
    # Draws are made for all lanes together, so where there are any only the first round can be compared.
    for _ in range(1 if isinstance(together.selection, Categorical) else 40):
        found = probabilities_of(together, state)
        for lane in range(2):
            assert found[lane] == pytest.approx(probabilities_of(alone[lane], states[lane])[0])


def test_each_lane_of_a_simulation_has_its_own_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.core.streams.STRAND", 10)  # so that the lanes come in three strands
    lanes, horizon = 25, 200
    shares = np.column_stack([np.zeros(lanes), np.linspace(0.0, 0.5, lanes)])
    world = Environment(Bernoulli(PerLane(np.column_stack([np.full(lanes, 0.9), np.linspace(0.0, 0.5, lanes)]))))
    results = simulate(fucb(PerLane(shares)), world, horizon, lanes, checkpoints=1)
    # Who is owed r T is never a whole play short of it, and the last lane owes far more than UCB1 would give.
    assert (shares * horizon - results.policies["fucb"].pulls[-1] < 1.0).all()
    # A missing play costs nothing in the first lane and more than any reward in the last.
    prices = PerLane(np.column_stack([np.linspace(0.0, 10.0, lanes)] * 2))
    threshold = hard_threshold_ucb([0.0, 0.4], penalties=prices)
    later = simulate(threshold, Environment(Bernoulli([0.9, 0.1])), horizon, lanes, checkpoints=1)
    second = later.policies["hard_threshold_ucb"].pulls[-1][:, 1]
    assert second[-1] >= 0.4 * horizon - 1
    assert second[0] < 0.3 * horizon


def test_lanes_and_rows_must_agree() -> None:
    policy = fair_random(PerLane(np.array([[0.1, 0.2], [0.2, 0.1]])))
    with pytest.raises(EvenhandError, match=r"^a parameter is given for 2 lanes, but lanes = 3; use lanes = 2$"):
        simulate(policy, Environment(Bernoulli([0.9, 0.1])), 10, lanes=3)


def test_values_by_lane_are_checked_too() -> None:
    with pytest.raises(EvenhandError, match=r"^fractions\[1\] must be a number in \[0, 1\], got -0\.2$"):
        fucb(PerLane(np.array([[0.1, 0.2], [0.1, -0.2]])))
    with pytest.raises(EvenhandError, match=r"^fractions\[0\] must be a number in \[0, 1\], got nan$"):
        fucb(PerLane(np.array([[math.nan, 0.2]])))


# --- Some of the lanes -----------------------------------------------------------------------------------------------

HOLDING: dict[str, Policy] = {
    "ucb1": ucb1(),
    "thompson": thompson(),
    "lfg": lfg(SHARES, eta=3.0),
    "ars_ucb": ars_ucb(),
    "ars_exp3": ars_exp3(horizon=100),
    "clw": clw(horizon=100, delay=2),
    "odaaf": odaaf(horizon=100),
}


@pytest.mark.parametrize("policy", HOLDING.values(), ids=list(HOLDING))
def test_rows_are_those_lanes_in_every_array(policy: Policy) -> None:
    state, lanes = after(policy, lanes=5), np.array([3, 0])
    some = rows(state, lanes)
    assert type(some) is State
    assert some.round == state.round
    plain, cut = dump(state), dump(some)

    def compare(all_lanes: Any, few: Any) -> int:
        if isinstance(all_lanes, dict) and "values" in all_lanes:
            assert few["values"] == [all_lanes["values"][lane] for lane in (3, 0)]
            return 1
        if isinstance(all_lanes, dict):
            return sum(compare(all_lanes[name], few[name]) for name in all_lanes)
        assert all_lanes == few
        return 0

    assert compare(plain, cut) >= 3


def test_rows_are_a_copy() -> None:
    state = after(ucb1(), lanes=3)
    before = state.tally.pulls.copy()
    rows(state, np.array([1])).tally.pulls += 7.0
    assert (state.tally.pulls == before).all()


def test_what_is_no_record_has_no_rows() -> None:
    for value in (None, 3, "arm", State):
        assert rows(value, np.array([0])) is value
