"""The composition: what decide and observe do to a state, and what start refuses."""

from __future__ import annotations

import copy
import json
from dataclasses import fields
from typing import Any

import attrs
import numpy as np
import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import EvenhandError, Feedback, Policy, dump, restore
from evenhand.algorithms import (
    ars_clw,
    ars_exp3,
    ars_ucb,
    clw,
    explore_then_commit,
    f_ts,
    fair_random,
    fcts_d,
    fcucb_d,
    fgreedy_d,
    fucb,
    hard_threshold_ucb,
    lfg,
    naive,
    odaaf,
    op_fcts_d,
    opse,
    t_fucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.core.parts import build, plain
from evenhand.core.state import ALL_AVAILABLE, Decision, Observation, State, Unit
from evenhand.policy.accounts import BILLION, Accounts
from evenhand.policy.claim import Fairness, Shares
from evenhand.policy.fairness import (
    DeficitBonus,
    DeficitFirst,
    GuaranteedShares,
    MeritShares,
    Mixing,
    NoPromise,
)
from evenhand.policy.hold import EveryRound, HoldFor, PowerSize, RandomEnds
from evenhand.policy.index import FEW, UCB, BetaSample, EmpiricalMean, Index
from evenhand.policy.kl import KLUCB
from evenhand.policy.merit import Linear
from evenhand.policy.mixing import OnePhase
from evenhand.policy.part import Traits
from evenhand.policy.schedule import NoSchedule, PhasedElimination, Quotas
from evenhand.policy.selection import Categorical, DependentRounding, Selection, SystematicSampling, TopM
from evenhand.policy.virtual_queue import VirtualQueue
from evenhand.policy.weights import ExponentialWeights

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

SHARES: Any = [0.2, 0.1, 0.05]
SQUARES = HoldFor(PowerSize(2.0))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- Start -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "arms", "lanes", "message"),
    [
        (ucb1(plays=3), 2, None, r"^plays = 3, but there are only 2 arms to play$"),
        (ucb1(), 0, None, r"^arms must be at least 1, got 0$"),
        (ucb1(), 2.0, None, r"^arms must be a whole number, got 2\.0$"),
        (ucb1(), 2, 0, r"^lanes must be at least 1, got 0$"),
        (fucb([0.1, 0.2]), 3, None, r"^fractions has 2 entries, but there are 3 arms$"),
        (t_fucb([0.1, 0.2], horizon=9), 3, None, r"^fractions has 2 entries, but there are 3 arms$"),
        (fair_random([0.1, 0.2]), 3, 4, r"^fractions has 2 entries, but there are 3 arms$"),
    ],
)
def test_start_refuses(policy: Policy, arms: Any, lanes: int | None, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        policy.start(arms, lanes)


def test_start_refuses_quotas_for_another_number_of_arms() -> None:
    with pytest.raises(EvenhandError, match=r"quotas has 2 entries, but there are 3 arms"):
        Policy(schedule=Quotas([2, 1])).start(3)


def test_one_share_for_several_arms_is_refused_where_quotas_depend_on_their_number() -> None:
    with pytest.raises(EvenhandError, match=r"^fractions must have one number per arm, .*, got \[0\.2\]$"):
        naive([0.2], horizon=100)


def test_one_share_stands_for_all_arms() -> None:
    for policy in (fucb(0.2), t_fucb([0.2], horizon=10), fair_random(0.2), lfg(0.2, eta=1.0)):
        assert policy.fractions is not None
        assert policy.fractions.tolist() == [0.2]
        policy.start(3)


@pytest.mark.parametrize("lanes", [None, 1, 4])
def test_a_fresh_state_is_empty_and_of_the_right_shape(lanes: int | None) -> None:
    state = lfg(SHARES, eta=2.0).start(3, lanes)
    shape = (3,) if lanes is None else (lanes, 3)
    memories = [getattr(record, f.name) for record in (state.tally, state.fairness) for f in fields(record)]
    assert state.tally.cohorts is None  # only evidence by age counts them
    memories = [memory for memory in memories if memory is not None]
    assert len(memories) > 3
    for array in memories:
        assert array.shape == shape
        assert not array.any()
    assert (state.round, state.clock, state.arms) == (0, 1, 3)


def test_every_start_is_a_state_of_its_own() -> None:
    policy = thompson()
    one, two = policy.start(3), policy.start(3)
    decision = policy.decide(one, ALL_AVAILABLE, rng())
    policy.observe(one, Feedback(decision.played, decision.played.astype(float)), rng())
    assert (one.round, two.round) == (1, 0)
    assert not two.tally.pulls.any()
    assert not two.index.successes.any()


# --- Decide and observe ----------------------------------------------------------------------------------------------


def test_decide_counts_the_round_and_the_plays_and_nothing_else() -> None:
    policy = ucb1(plays=2)
    state = policy.start(3)
    decision = policy.decide(state, Observation(np.array([True, False, True])), rng())
    assert (state.round, decision.round) == (1, 1)
    assert decision.played.tolist() == [True, False, True]
    assert decision.available is not None
    assert decision.available.tolist() == [True, False, True]
    assert state.tally.pulls.tolist() == [1.0, 0.0, 1.0]
    assert not state.tally.received.any()
    assert not state.tally.rewards.any()


def test_observe_counts_what_arrived_and_nothing_else() -> None:
    policy = thompson()
    state = policy.start(2)
    policy.decide(state, ALL_AVAILABLE, rng())
    pulls = state.tally.pulls.copy()
    policy.observe(state, Feedback(np.array([0.0, 3.0]), np.array([0.0, 2.0])), rng())
    assert state.round == 1
    assert (state.tally.pulls == pulls).all()
    assert state.tally.received.tolist() == [0.0, 3.0]
    assert state.tally.rewards.tolist() == [0.0, 2.0]
    assert state.index.successes.tolist() == [0.0, 2.0]


def test_feedback_may_come_later() -> None:
    # Three plays without a word: each arm once, then both have the bound sqrt(2 ln 3) and the lowest index plays. Then
    # a reward of 1 arrives from the second arm, whose bound is now 1 + sqrt(2 ln 4) against sqrt(2 ln 4).
    policy = ucb1()
    state = policy.start(2)
    assert [policy.decide(state, ALL_AVAILABLE, rng()).played.argmax() for _ in range(3)] == [0, 1, 0]
    policy.observe(state, Feedback(np.array([0.0, 1.0]), np.array([0.0, 1.0])), rng())
    assert state.tally.received.tolist() == [0.0, 1.0]
    assert policy.decide(state, ALL_AVAILABLE, rng()).played.tolist() == [False, True]


def test_the_parts_record_the_plays() -> None:
    policy = Policy(EmpiricalMean(), VirtualQueue(SHARES, 0.0, queue="recursive"))
    state = policy.start(3)
    policy.decide(state, ALL_AVAILABLE, rng())  # arm 0, the lowest index
    # Arm 0: max(0.2 − 1, 0); the others gain their share. Arm 1 has the longest queue.
    assert policy.decide(state, ALL_AVAILABLE, rng()).played.tolist() == [False, True, False]


def test_probabilities_are_those_at_the_time_of_the_decision() -> None:
    policy = fair_random(SHARES)
    state = policy.start(3)
    decision = policy.decide(state, ALL_AVAILABLE, rng())
    before = np.array(decision.propensities)
    for _ in range(5):
        later = policy.decide(state, ALL_AVAILABLE, rng(1))
        policy.observe(state, Feedback(later.played, later.played * 1.0), rng())
    assert (np.array(decision.propensities) == before).all()
    assert before == pytest.approx([0.2 + 0.65 / 3, 0.1 + 0.65 / 3, 0.05 + 0.65 / 3])


@pytest.mark.parametrize("policy", [thompson(), f_ts([0.0, 0.0, 0.0]), fcts_d(Linear()), op_fcts_d(Linear())])
def test_where_the_score_is_drawn_only_the_inclusion_is_known(policy: Policy) -> None:
    # It holds given the draw; the chance given the past would be its mean over all draws.
    decision = policy.decide(policy.start(3), ALL_AVAILABLE, rng())
    assert decision.propensities is None
    assert decision.inclusion.shape == (3,)
    assert decision.inclusion.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("policy", [ucb1(), fucb(SHARES), fair_random(SHARES), fcucb_d(Linear(), horizon=50)])
def test_elsewhere_the_inclusion_is_the_propensities(policy: Policy) -> None:
    decision = policy.decide(policy.start(3), ALL_AVAILABLE, rng())
    assert decision.propensities is decision.inclusion


POLICIES: dict[str, Policy] = {
    "ucb1": ucb1(plays=2),
    "f_ts": f_ts(SHARES),
    "hard": hard_threshold_ucb(SHARES, penalties=0.3),
    "lfg": lfg(SHARES, eta=3.0, plays=2),
    "tscsf_b": tscsf_b(SHARES, eta=3.0, plays=2),
    "naive": naive(SHARES, horizon=60),
    "fcucb_d": fcucb_d(Linear(), horizon=60, plays=2),
    "op_fcts_d": op_fcts_d(Linear(), plays=2),
}


def run(policy: Policy, seed: int, lanes: int | None, rounds: int = 40) -> tuple[list[Any], Any]:
    """Plays of every round and the state at the end, with rewards and availability that depend on the seed alone."""
    state, own, world = policy.start(3, lanes), rng(seed), rng(seed + 1)
    shape = (3,) if lanes is None else (lanes, 3)
    plays = []
    for _ in range(rounds):
        rewards, awake = world.random(shape), world.random(shape) < 0.8
        decision = policy.decide(state, Observation(awake), own)
        policy.observe(state, Feedback(decision.played, rewards * decision.played), own)
        plays.append(decision.played.tolist())
    return plays, dump(state)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
@pytest.mark.parametrize("lanes", [None, 3])
def test_a_policy_holds_parameters_only(policy: Policy, lanes: int | None) -> None:
    # What it did before leaves no trace, nor does a copy differ.
    first = run(policy, 4, lanes)
    run(policy, 9, lanes)
    assert run(policy, 4, lanes) == first
    assert run(copy.deepcopy(policy), 4, lanes) == first


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_nobody_awake_is_a_round_like_any_other(policy: Policy) -> None:
    state = policy.start(3, lanes=2)
    decision = policy.decide(state, Observation(np.zeros((2, 3), dtype=bool)), rng())
    assert state.round == 1
    assert not decision.played.any()
    assert not state.tally.pulls.any()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.sampled_from(list(POLICIES)), st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
def test_tallies_stay_in_order(name: str, seed: int, lanes: int | None) -> None:
    policy = POLICIES[name]
    plays, state = run(policy, seed, lanes, rounds=25)
    pulls, received, rewards = (np.array(state["tally"][key]["values"]) for key in ("pulls", "received", "rewards"))
    assert (pulls == np.sum(plays, axis=0)).all()
    assert (received <= pulls).all()
    assert ((rewards >= 0) & (rewards <= received)).all()


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ucb1().index = BetaSample()  # type: ignore[misc]


# --- What a policy says of itself -------------------------------------------------------------------------------------


def fractions_of(policy: Policy) -> Any:
    assert policy.fractions is not None
    return policy.fractions.tolist()


def test_plays_and_fractions_come_from_the_parts() -> None:
    assert Policy(selection=TopM(3)).plays == 3
    assert Policy().fractions is None
    assert fractions_of(fucb(SHARES)) == fractions_of(t_fucb(SHARES, horizon=10)) == SHARES
    both = Policy(fairness=DeficitFirst(SHARES), schedule=Quotas([1, 1, 1], promised=[0.0, 0.0, 0.1]))
    assert fractions_of(both) == SHARES  # the fairness part's promise comes first


def test_parts_have_defaults() -> None:
    policy = Policy()
    assert (policy.index, policy.fairness, policy.selection) == (UCB(2.0), NoPromise(), TopM(1))
    assert (policy.schedule, policy.hold, policy.name) == (NoSchedule(), EveryRound(), "")


def test_which_policies_need_rewards_of_a_finite_range() -> None:
    assert not Policy().bounded
    assert not fucb(SHARES).bounded
    assert all(one.bounded for one in (thompson(), fcucb_d(Linear(), horizon=9), fgreedy_d(Linear()), opse(horizon=9)))
    assert fucb(SHARES, evidence="optimistic").bounded


def test_in_which_policies_chance_decides_more_than_the_selection() -> None:
    assert not Policy().draws
    assert not fair_random(SHARES).draws
    assert all(one.draws for one in (thompson(), fcts_d(Linear()), Policy(hold=RandomEnds(OnePhase(2, 9)))))
    assert not Policy(BetaSample(), GuaranteedShares(SHARES, "all"), Categorical()).draws  # even shares ignore scores


def test_the_allowance_of_a_promise() -> None:
    # FUCB: 1 + α + Σ_{j<K} R_j/j with R = 0.2, 0.3 of SHARES.
    assert fucb(SHARES).allowance(3, 100) == pytest.approx(1.0 + 0.2 + 0.3 / 2)
    assert fucb(SHARES, tolerance=2.5).allowance(3, 100) == pytest.approx(3.5 + 0.2 + 0.3 / 2)
    # Quotas come first, and holds multiply: 14 rounds of squares end in one of 9.
    first = Policy(fairness=DeficitFirst(SHARES), schedule=Quotas([2, 1, 1]))
    assert first.allowance(3, 100) == pytest.approx(1.35 + 4.0)
    assert Policy(fairness=DeficitFirst(SHARES), hold=SQUARES).allowance(3, 14) == pytest.approx(1.35 * 9.0)
    for nothing in (Policy(), t_fucb(SHARES, horizon=9), hard_threshold_ucb(SHARES, penalties=1.0)):
        assert nothing.allowance(3, 100) is None


# --- Choosing and recording ------------------------------------------------------------------------------------------

KINDS: dict[str, Policy] = POLICIES | {
    "ars_ucb": ars_ucb(),
    "ars_exp3": ars_exp3(horizon=60),
    "clw": clw(horizon=60, delay=2),
    "ars_clw": ars_clw(first_horizon=8, exponent=0.5),
    "odaaf": odaaf(horizon=60),
    "opse": opse(horizon=3),
    "explore_then_commit": explore_then_commit(pulls=3),
    "recursive queue": tscsf_b(SHARES, eta=3.0, queue="recursive"),
    "start": fcucb_d(Linear(), horizon=60),
}
EACH_KIND = pytest.mark.parametrize("policy", KINDS.values(), ids=list(KINDS))


def awake_of(chance: np.random.Generator, shape: tuple[int, ...]) -> Observation:
    return Observation(chance.random(shape) < chance.choice([0.5, 0.9, 1.0]))


@EACH_KIND
@pytest.mark.parametrize("lanes", [None, 3])
def test_to_choose_changes_nothing(policy: Policy, lanes: int | None) -> None:
    state, own, world = policy.start(3, lanes), rng(1), rng(2)
    for _ in range(60):
        observation = awake_of(world, state.tally.pulls.shape)
        before, record = dump(state), policy_parts(policy)
        once, again = (policy.choose(state, observation, rng(7)) for _ in range(2))
        assert dump(state) == before
        assert policy_parts(policy) == record
        assert same(once, again)
        decision = policy.decide(state, observation, own)
        policy.observe(state, Feedback(decision.played, decision.played * world.random(decision.played.shape)), own)


def policy_parts(policy: Policy) -> str:
    return repr(policy)


def same(one: Decision, other: Decision) -> bool:
    """Whether two decisions are equal in every field."""
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(Decision)]
    return all(a is b is None or np.array_equal(a, b) for a, b in pairs)


@EACH_KIND
@pytest.mark.parametrize("lanes", [None, 3])
def test_to_decide_is_to_choose_and_to_apply(policy: Policy, lanes: int | None) -> None:
    # Also where the decision was chosen elsewhere, and comes back from JSON: a log can replay what happened.
    states = [policy.start(3, lanes) for _ in range(3)]
    streams, world = [rng(1) for _ in range(3)], rng(2)
    for _ in range(60):
        observation = awake_of(world, states[0].tally.pulls.shape)
        decided = policy.decide(states[0], observation, streams[0])
        chosen = policy.choose(states[1], observation, streams[1])
        assert same(decided, chosen)
        policy.apply(states[1], chosen)
        policy.apply(states[2], restore(decided, json.loads(json.dumps(dump(decided)))))
        assert dump(states[0]) == dump(states[1]) == dump(states[2])
        feedback = Feedback(decided.played, decided.played * world.random(decided.played.shape))
        streams[2] = copy.deepcopy(streams[0])
        for state, stream in zip(states, streams, strict=True):
            policy.observe(state, feedback, stream)


def test_a_decision_says_for_which_round_it_is() -> None:
    policy = ucb1()
    state = policy.start(2)
    assert policy.choose(state, ALL_AVAILABLE, rng()).round == 1
    decision = policy.decide(state, ALL_AVAILABLE, rng())
    assert (decision.round, policy.choose(state, ALL_AVAILABLE, rng()).round) == (1, 2)


def test_availability_has_the_shape_of_the_state_or_of_the_arms() -> None:
    policy = ucb1()
    state = policy.start(3, lanes=2)
    one = policy.choose(state, Observation(np.array([False, True, True])), rng())
    assert one.available is not None
    assert one.available.tolist() == [[False, True, True]] * 2
    with pytest.raises(EvenhandError, match=r"^available has shape \(2,\), this policy needs \(2, 3\)$"):
        policy.decide(state, Observation(np.array([True, False])), rng())
    assert state.round == 0


# --- Parts that do not fit -------------------------------------------------------------------------------------------

MERIT = MeritShares(Linear())
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "shares for a ranking": (
        {"fairness": MERIT},
        "MeritShares gives shares, TopM takes a ranking: use selection=DependentRounding(plays)",
    ),
    "a ranking for a draw": (
        {"fairness": DeficitFirst(SHARES), "selection": DependentRounding(2)},
        "DeficitFirst gives a ranking, DependentRounding takes shares: use selection=TopM(plays=2)",
    ),
    "means for mixing": (
        {"fairness": Mixing(0.1), "selection": Categorical()},
        "Mixing works with weights, UCB gives means: use index=ExponentialWeights(mixing)",
    ),
    "weights for merit": (
        {"index": ExponentialWeights(0.1), "fairness": MERIT, "selection": Categorical()},
        "MeritShares works with means, ExponentialWeights gives weights: use index=UCB() or BetaSample()",
    ),
    "two that decide when": (
        {"schedule": Quotas(2), "hold": HoldFor(PowerSize(2.0))},
        "Quotas decides single rounds, but HoldFor holds choices for several rounds: use one of them",
    ),
    "a schedule alone and a promise": (
        {"fairness": DeficitFirst(SHARES), "schedule": PhasedElimination(60)},
        "PhasedElimination decides every round itself and keeps no promise: use fairness=NoPromise(), or no schedule",
    ),
    "shares of choices for shares of rounds": (
        {"fairness": MERIT, "selection": Categorical(), "hold": HoldFor(PowerSize(2.0))},
        "HoldFor holds an arm for longer the more often it was chosen, so MeritShares could not keep the promised "
        "shares: use HoldFor(size, count='all')",
    ),
    "no part": ({"index": 3}, "index must be an object such as UCB(), got 3"),
    "a number for a part": ({"fairness": 3}, "fairness must be an object such as NoPromise(), got 3"),
    "a part for another slot": (
        {"selection": UCB()},
        f"selection must be an object such as TopM(), got {UCB()!r}; UCB does not derive from Selection",
    ),
    "no schedule": ({"schedule": None}, "schedule must be an object such as NoSchedule(), got None"),
    "no hold": ({"hold": 2}, "hold must be an object such as EveryRound(), got 2"),
}


@pytest.mark.parametrize(("parts", "message"), REFUSED.values(), ids=list(REFUSED))
def test_parts_that_do_not_fit_are_refused_with_the_remedy(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError) as caught:
        Policy(**parts)
    assert str(caught.value) == message


def test_the_remedies_are_right() -> None:
    Policy(fairness=MERIT, selection=DependentRounding(2))
    Policy(fairness=DeficitFirst(SHARES), selection=TopM(2))
    Policy(ExponentialWeights(0.1), Mixing(0.1), Categorical())
    Policy(BetaSample(), MERIT, Categorical())
    Policy(schedule=Quotas(2))
    Policy(hold=HoldFor(PowerSize(2.0)))
    Policy(schedule=PhasedElimination(60))
    Policy(fairness=MERIT, selection=Categorical(), hold=HoldFor(PowerSize(2.0), count="all"))


def test_a_policy_has_a_plain_form() -> None:
    table = {"kind": "policy", "fairness": {"kind": "deficit_first", "fractions": SHARES}}
    assert build("policy", table).plays == 1


@pytest.mark.parametrize(
    ("slot", "name", "table"),
    [
        ("index", "ucb", {"kind": "ucb", "clip": True}),
        ("fairness", "none", {"kind": "deficit_first", "fractions": SHARES}),
        ("selection", "top_m", {"kind": "top_m", "plays": 2}),
        ("schedule", "forced_start", {"kind": "quotas", "quotas": 2}),
        ("hold", "every_round", {"kind": "hold_for", "size": {"kind": "power"}}),
    ],
)
def test_a_part_is_given_by_its_kind_or_by_a_table(slot: str, name: str, table: dict[str, Any]) -> None:
    for form in (name, table):
        made = getattr(Policy(**{slot: form}), slot)  # type: ignore[arg-type]
        assert plain(made) == plain(build(slot, form))
    with pytest.raises(EvenhandError, match=f"^{slot}: unknown kind 'nothing'"):
        Policy(**{slot: "nothing"})


# --- Weights of one's own --------------------------------------------------------------------------------------------


@frozen
class Weights(Fairness):
    """A promise of shares that are given, whatever they are."""

    values: tuple[float, ...]
    traits = Traits(gives="shares")

    def claim(self, score: Any, state: State) -> Shares:
        return Shares(np.broadcast_to(np.array(self.values), score.shape))


@pytest.mark.parametrize("selection", [Categorical(), DependentRounding(2), SystematicSampling(2)])
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("lanes", [None, 2])
def test_weights_that_are_no_numbers_never_reach_a_draw(selection: Selection, value: float, lanes: int | None) -> None:
    policy = Policy(fairness=Weights((1.0, value, 1.0)), selection=selection)
    state = policy.start(3, lanes)
    with pytest.raises(
        EvenhandError, match=r"^the weights of the arms must be finite; a fairness part gave infinity or"
    ):
        policy.decide(state, ALL_AVAILABLE, rng())
    assert state.round == 0
    assert not state.tally.pulls.any()


# --- The user's unit of reward ---------------------------------------------------------------------------------------


@frozen
class Fixed(Index):
    """Scores that are the same in every round."""

    values: tuple[float, ...]

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Any:
        return np.array(self.values)


def test_penalties_count_in_the_users_unit_of_reward() -> None:
    # Rewards of 10 to 30 euros: scores of 0.9 and 0.4 are 28 and 18 euros. Arm 1 is below its share in round 1 and has
    # a bonus of 9 euros, which is not enough, or of 11 euros, which is; on the scale [0, 1] of 0.45 or 0.55.
    unit = Unit(low=10.0, width=20.0)
    for penalty, played in ((9.0, 0), (11.0, 1)):
        policy = Policy(Fixed((0.9, 0.4)), DeficitBonus([0.0, 0.5], [0.0, penalty], "hard"))
        assert policy.decide(policy.start(2, unit=unit), ALL_AVAILABLE, rng()).played.argmax() == played
        assert policy.decide(policy.start(2), ALL_AVAILABLE, rng()).played.argmax() == 1
        scaled = Policy(Fixed((0.9, 0.4)), DeficitBonus([0.0, 0.5], [0.0, penalty / 20.0], "hard"))
        assert scaled.decide(scaled.start(2), ALL_AVAILABLE, rng()).played.argmax() == played


def test_weights_count_rewards_in_the_users_unit() -> None:
    # Rewards of 10 to 30 euros, of which those of arm 1 count twice: 28 against 2 · 18 euros, though on the scale
    # [0, 1] it is 0.9 against 2 · 0.4. One weight for all arms orders them alike in any unit.
    unit = Unit(low=10.0, width=20.0)
    for weights, unit_of_rewards, played in (([1.0, 2.0], unit, 1), ([1.0, 2.0], None, 0), (2.0, unit, 0)):
        policy = Policy(Fixed((0.9, 0.4)), VirtualQueue([0.0, 0.0], eta=1.0, weights=weights))
        assert policy.decide(policy.start(2, unit=unit_of_rewards), ALL_AVAILABLE, rng()).played.argmax() == played


def test_eta_counts_on_the_unit_scale_in_any_unit() -> None:
    # After a play of arm 0 the queues of r = 0.9 are 0 and 0.9; arm 0 leads by 0.5 of the range of rewards.
    for unit in (Unit(10.0, 20.0), Unit(0.0, 1.0), None):
        for eta, second in ((1.7, 1), (1.9, 0)):
            policy = Policy(Fixed((0.9, 0.4)), VirtualQueue([0.9, 0.9], eta))
            state = policy.start(2, unit=unit)
            assert policy.decide(state, ALL_AVAILABLE, rng()).played.argmax() == 0
            assert policy.decide(state, ALL_AVAILABLE, rng()).played.argmax() == second


def test_shares_by_merit_and_mixing_are_on_the_unit_scale() -> None:
    # f(μ) = 1 + μ of the scaled score, whatever the unit; the same of weights.
    unit = Unit(10.0, 20.0)
    policy = Policy(Fixed((1.0, 0.5)), MeritShares(Linear()), Categorical())
    assert policy.decide(policy.start(2, unit=unit), ALL_AVAILABLE, rng()).inclusion.tolist() == [2 / 3.5, 1.5 / 3.5]
    exp3 = Policy(ExponentialWeights(0.1), Mixing(0.1), Categorical())
    one, other = (exp3.decide(exp3.start(2, unit=given), ALL_AVAILABLE, rng()) for given in (unit, None))
    assert one.inclusion.tolist() == other.inclusion.tolist() == [0.5, 0.5]


def test_a_unit_is_saved_with_the_state() -> None:
    policy = ucb1()
    state = policy.start(2, unit=Unit(-5.0, 10.0))
    again = restore(policy.start(2, unit=Unit(0.0, 1.0)), json.loads(json.dumps(dump(state))))
    assert again.unit == Unit(-5.0, 10.0)


# --- Choices that last -----------------------------------------------------------------------------------------------

HOLDS: dict[str, Policy] = {
    "bounds": Policy(UCB(4.0, clip=True, clock="played"), hold=SQUARES),
    "owed first": Policy(UCB(), DeficitFirst(SHARES), hold=SQUARES),
    "queue": Policy(UCB(0.1), VirtualQueue(SHARES, 1.0), TopM(2), hold=SQUARES),
}


def step(policy: Policy, state: State, rewards: Any, available: Any = None) -> Decision:
    decision = policy.decide(state, Observation(available), rng())
    policy.observe(state, Feedback(decision.played, decision.played * rewards), rng())
    return decision


@pytest.mark.parametrize("policy", HOLDS.values(), ids=list(HOLDS))
def test_a_lane_that_holds_does_as_it_would_alone(policy: Policy) -> None:
    chance = rng(3)
    together, alone = policy.start(3, lanes=4), [policy.start(3) for _ in range(4)]
    for _ in range(150):
        rewards = chance.integers(0, 9, (4, 3)) / 8.0
        decision = step(policy, together, rewards)
        for lane, state in enumerate(alone):
            single = step(policy, state, rewards[lane])
            assert (single.played == decision.played[lane]).all()
            assert (single.inclusion == decision.inclusion[lane]).all()
    states = dump(together)
    for lane, state in enumerate(alone):
        assert dump(state)["tally"]["rewards"]["values"] == states["tally"]["rewards"]["values"][lane]
        if state.fairness is not None:
            assert dump(state)["fairness"]["lengths"]["values"] == states["fairness"]["lengths"]["values"][lane]


def chances(policy: Policy, rounds: int) -> list[Decision]:
    """Decisions of two lanes, of which the second cannot play its arm of round 2 in round 3."""
    state = policy.start(2, lanes=2)
    found: list[Decision] = []
    for t in range(1, rounds + 1):
        awake = np.ones((2, 2), dtype=bool)
        if t == 3:
            awake[1] = ~found[-1].played[1]
        found.append(step(policy, state, 0.5, awake))
    return found


def test_the_inclusion_of_a_hold() -> None:
    # f = 3, 6, … rounds for the choices of all arms: both lanes choose in round 1 and hold in round 2; in round 3 the
    # first holds and the second chooses its only arm awake; in round 4 the first chooses and the second holds.
    policy = Policy(ExponentialWeights(0.0), Mixing(1.0), Categorical(), hold=HoldFor(lambda k: 3.0 * k, count="all"))
    first, second, third, fourth = chances(policy, 4)
    assert first.inclusion.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert second.inclusion.tolist() == second.played.tolist() == first.played.tolist()
    assert third.played[0].tolist() == third.inclusion[0].tolist() == first.played[0].tolist()
    assert third.inclusion[1].tolist() == (~first.played[1]).tolist()
    assert fourth.inclusion[0].tolist() == [0.5, 0.5]
    assert fourth.inclusion[1].tolist() == third.played[1].tolist()
    for decision in (first, second, third, fourth):
        assert decision.propensities is decision.inclusion


def test_where_the_score_is_drawn_only_a_hold_of_all_lanes_has_propensities() -> None:
    policy = Policy(BetaSample(), hold=HoldFor(lambda k: 3.0 * k, count="all"))
    first, second, third, fourth = chances(policy, 4)
    assert (first.propensities, third.propensities, fourth.propensities) == (None, None, None)
    assert second.propensities is not None
    assert second.propensities.tolist() == first.played.tolist()
    assert third.inclusion.tolist() == third.played.tolist()


def test_a_hold_counts_plays_and_rounds_like_any_other() -> None:
    policy = HOLDS["queue"]
    state = policy.start(3)
    for t in range(1, 30):
        decision = step(policy, state, 0.5)
        assert (decision.round, state.round, state.clock) == (t, t, t + 1)
        assert state.tally.pulls.sum() == 2 * t
        assert (state.tally.received == state.tally.pulls).all()


@pytest.mark.parametrize("available", ["x", {}, [0.5, 1.0], [2, 0]])
def test_availability_that_is_neither_true_nor_false_is_refused(available: Any) -> None:
    policy, rng = Policy(), np.random.default_rng(1)
    with pytest.raises(EvenhandError, match=r"^available must be true or false, one per arm, got "):
        policy.choose(policy.start(2), Observation(available), rng)
    assert policy.choose(policy.start(2), Observation(np.array([0, 1])), rng).played.tolist() == [False, True]


def test_a_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(EvenhandError, match=r"^name must be a string, got 3$"):
        Policy(name=3)  # type: ignore[arg-type]


# --- One arm of a single lane -----------------------------------------------------------------------------------------

SINGLE = {
    "ucb1": ucb1(),
    "optimistic": Policy(UCB(evidence="optimistic")),
    "clipped": Policy(UCB(1.5, clip=True)),
    "played": Policy(UCB(clock="played")),
    "evidence": Policy(UCB(clock="evidence")),
    "thompson": thompson(),
    "prior": Policy(BetaSample(prior=[(1.0, 2.0), (3.0, 1.0), (0.5, 0.5), (2.0, 2.0)])),
    "mean": Policy(EmpiricalMean()),
    "kl": Policy(KLUCB()),
    "fucb": fucb([*SHARES, 0.3]),
    "tolerant": fucb([0.2], tolerance=1.5),
    "f_ts": Policy(BetaSample(), DeficitFirst([0.25])),
}
FOUR = ("prior", "fucb")  # which are for four arms


@pytest.mark.parametrize(
    ("name", "arms"), [(name, arms) for name in SINGLE for arms in (4, FEW + 1) if arms == 4 or name not in FOUR]
)
def test_one_arm_of_a_single_lane_is_chosen_as_by_its_claim(name: str, arms: int) -> None:
    policy, chance = SINGLE[name], rng(arms)
    state, whole = policy.start(arms=arms), Observation(np.ones(arms, dtype=bool))
    for round in range(300):
        if round == 100:
            carried = np.array([0.0, -2.0, 3.0] + [0.0] * (arms - 3)) * BILLION
            nothing = np.zeros(arms)
            state.begun = Accounts(np.full(arms, 90.0), state.tally.pulls.copy(), carried, nothing)
        if round == 200:
            state.begun = Accounts.opened((arms,))
        decision, claimed = (policy.choose(state, seen, rng(round)) for seen in (ALL_AVAILABLE, whole))
        assert policy.rounds.single
        assert decision.places == claimed.played.nonzero()[0].tolist()
        assert decision.played.tolist() == claimed.played.tolist()
        assert (decision.propensities is None) == (claimed.propensities is None)
        policy.apply(state, decision)
        if chance.random() < 0.7:
            rewards = decision.played * chance.choice([0.0, 0.25, 0.5, 1.0])
            policy.observe(state, Feedback(decision.played * 1.0, rewards), chance)
    assert state.tally.pulls.sum() == 300.0


def test_nothing_is_drawn_for_scores_that_do_not_count_but_where_it_is_drawn_otherwise() -> None:
    policy, generators = SINGLE["f_ts"], (rng(1), rng(1))
    state = policy.start(arms=4)
    for _ in range(40):
        for one, able in zip(generators, (None, np.ones(4, dtype=bool)), strict=True):
            decision = policy.choose(state, Observation(able), one)
        policy.apply(state, decision)
    assert generators[0].random() == generators[1].random()  # a simulation of one lane goes on with the same numbers
