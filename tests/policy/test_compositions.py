"""Every composition of the shipped parts is refused with a remedy, or plays as it should and keeps its promise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from evenhand import Policy
from evenhand.core.errors import EvenhandError
from evenhand.core.parts import build, kinds
from evenhand.policy.best_chance import BestChance
from evenhand.simulation.promises import COLUMNS, heard, promise_is_kept, seen
from tests.thinned import thinned

ARMS, LANES, ROUNDS = 4, 2, 25
MERIT = {"kind": "power", "beta": 1.5, "exponent": 2}
SHARES = [0.2, 0.1, 0.15, 0.05]
GROUP = {"name": "a", "arms": [1, 2], "at_least": 0.3, "at_most": 1.2}
CONFIDENCE = {"kind": "hoeffding", "inside": 100.0}
PHASES = {"kind": "one_phase", "longest": 3, "horizon": 500}
DOUBLED = {"kind": "doubled_horizon", "first_horizon": 20, "exponent": 0.5}

#: At least one part of every kind, by slot; `test_no_kind_is_left_out` sees to that.
PARTS: dict[str, list[dict[str, Any]]] = {
    "index": [
        {"kind": "ucb"},
        {"kind": "ucb", "clip": True, "evidence": "optimistic"},
        {"kind": "ucb", "evidence": {"kind": "forgetting", "window": 9}, "clock": "evidence"},
        {"kind": "kl_ucb", "evidence": {"kind": "since_change", "evidence": "optimistic"}},
        {"kind": "empirical_mean"},
        {"kind": "beta_sample"},
        {"kind": "mean_of", "first": {"kind": "beta_sample"}, "second": {"kind": "beta_sample"}},
        {"kind": "exploring", "index": "empirical_mean", "epsilon": 0.2},
        {"kind": "committed", "index": "empirical_mean", "quotas": 5},
        {"kind": "optimistic_shares", "confidence": CONFIDENCE, "merit": MERIT},
        {"kind": "mature_beta"},
        {"kind": "until_disproved", "trusting": {"kind": "beta_sample"}, "doubting": {"kind": "mature_beta"}},
        {"kind": "exponential_weights", "mixing": 0.1},
        {"kind": "window_weights", "phases": PHASES},
        {"kind": "restarted_weights", "phases": DOUBLED},
        {"kind": "best_chance"},
        {"kind": "reward_rates", "rates": 0.1, "weight": 5.0},
        {"kind": "lin_ucb"},
        {"kind": "lin_ucb", "model": "shared", "evidence": "pessimistic", "cutoff": 5, "radius": "theorem"},
        {"kind": "lin_ts", "model": "hybrid"},
        {"kind": "logistic_ts"},
        {"kind": "chain", "index": {"kind": "lin_ucb", "radius": 0.5}},
        {"kind": "lin_ts", "evidence": {"kind": "forgetting", "discount": 0.9}, "scale": "theorem"},
    ],
    "fairness": [
        {"kind": "none"},
        {"kind": "deficit_first", "fractions": SHARES},
        {"kind": "deficit_bonus", "fractions": SHARES, "rate": 0.3, "shape": "linear"},
        {"kind": "deficit_bonus", "fractions": SHARES, "rate": 0.3, "shape": "hard"},
        {"kind": "virtual_queue", "fractions": SHARES, "eta": 2.0},
        {"kind": "virtual_queue", "fractions": SHARES, "eta": 2.0, "queue": "recursive"},
        {"kind": "virtual_queue", "fractions": SHARES, "eta": "auto"},
        {"kind": "guaranteed_shares", "fractions": SHARES},
        {"kind": "guaranteed_shares", "fractions": SHARES, "rest": "all"},
        {"kind": "merit_shares", "merit": MERIT},
        {"kind": "group_rank", "window": 10},
        {"kind": "mixing", "mixing": 0.1},
        {"kind": "bounded_shares", "fractions": SHARES, "caps": [0.4, 1.0, 1.0, 1.0], "groups": [GROUP]},
        {"kind": "floor_shares", "fractions": SHARES},
        {"kind": "floor_shares", "fractions": SHARES, "rule": "clip"},
        {"kind": "identifying_shares", "fractions": SHARES},
        {"kind": "tracked_shares", "fractions": SHARES},
        {"kind": "identifying_merit", "floor_merit": MERIT},
    ],
    "selection": [
        {"kind": "top_m", "plays": 1},
        {"kind": "top_m", "plays": 2, "ties": "random"},
        {"kind": "top_m", "plays": 2, "ties": "fewest"},
        {"kind": "exploration_floor", "floor": 0.05},
        {"kind": "inverse_gap"},
        {"kind": "categorical"},
        {"kind": "dependent_rounding", "plays": 2},
        {"kind": "systematic", "plays": 2},
    ],
    "schedule": [
        {"kind": "none"},
        {"kind": "quotas", "quotas": [3, 1, 2, 0]},
        {"kind": "forced_start"},
        {"kind": "periodic_exploration", "share": 0.3},
        {"kind": "elimination", "confidence": CONFIDENCE},
        {"kind": "phased_elimination", "horizon": 500},
    ],
    "hold": [
        {"kind": "every_round"},
        {"kind": "hold_for", "size": {"kind": "power", "exponent": 1.0}},
        {"kind": "hold_for", "size": {"kind": "power", "exponent": 0.5}, "count": "all"},
        {"kind": "random_ends", "phases": PHASES},
        {"kind": "restarted", "phases": DOUBLED},
    ],
}
BUILT = {slot: [build(slot, table) for table in tables] for slot, tables in PARTS.items()}
#: One case for each pair of index and fairness part: the others are walked through inside.
PAIRS = list(itertools.product(BUILT["index"], BUILT["fairness"]))
THIRD = 3  # the main run takes every third composition of a pair, `nox -s slow` all of every pair
REMEDIES = ("use ", "give ")


def compositions(index: Any, fairness: Any) -> tuple[list[Policy], list[str]]:
    """The policies that can be made of two parts and all the others, and the refusals."""
    policies, refusals = [], []
    for selection, schedule, hold in itertools.product(BUILT["selection"], BUILT["schedule"], BUILT["hold"]):
        try:
            policy = Policy(index, fairness, selection, schedule, hold)
            policy.start(ARMS, columns=COLUMNS)
            policies.append(policy)
        except EvenhandError as error:
            refusals.append(str(error))
    return policies, refusals


def usual(pair: tuple[Any, Any]) -> bool:
    """Each index with a promise, and each promise with an index; the other pairs are slow."""
    index, fairness = (BUILT[slot].index(part) for slot, part in zip(("index", "fairness"), pair, strict=True))
    return index % len(BUILT["fairness"]) == fairness


def named(pair: tuple[Any, Any]) -> str:
    """The names of the classes."""
    return "-".join(type(one).__name__ for one in pair)


USUAL = [*filter(usual, PAIRS)]


def in_turn(pair: tuple[Any, Any], policies: list[Policy]) -> list[Policy]:
    """Every third of some policies of a pair; where to begin differs from index to index."""
    return policies[BUILT["index"].index(pair[0]) % THIRD :: THIRD]


def play(policy: Policy) -> None:
    """Some rounds in which all, some or no arms are available: as many play as should, and with sound chances."""
    columns = COLUMNS if policy.contextual else None
    state, rng, world = policy.start(ARMS, LANES, columns=columns), np.random.default_rng(3), np.random.default_rng(4)
    for _ in range(ROUNDS):
        available = world.random((LANES, ARMS)) < world.choice([0.0, 0.5, 1.0])
        decision = policy.decide(state, seen(policy, state, world, available), rng)
        assert not (decision.played & ~available).any()
        expected = np.minimum(policy.plays, available.sum(axis=-1))
        assert (decision.played.sum(axis=-1) == expected).all(), policy
        assert np.isfinite(np.asarray(decision.inclusion, dtype=float)).all()
        assert (decision.inclusion[decision.played] > 0.0).all()
        rewards = (world.random((LANES, ARMS)) < 0.5) & decision.played
        policy.observe(state, heard(decision, rewards), rng)


@pytest.mark.parametrize("pair", [*filter(usual, PAIRS)], ids=named)
def test_a_composition_is_refused_with_a_remedy_or_plays_as_many_arms_as_it_should(pair: tuple[Any, Any]) -> None:
    policies, refusals = compositions(*pair)
    others = (len(BUILT[slot]) for slot in ("selection", "schedule", "hold"))
    assert len(policies) + len(refusals) == math.prod(others)
    for refusal in refusals:
        assert any(remedy in refusal for remedy in REMEDIES), refusal
    for policy in in_turn(pair, policies):
        play(policy)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_every_composition_is_refused_with_a_remedy_or_plays_as_many_arms_as_it_should(pair: tuple[Any, Any]) -> None:
    policies, refusals = compositions(*pair)
    for refusal in refusals:
        assert any(remedy in refusal for remedy in REMEDIES), refusal
    for policy in policies:
        play(policy)


def near(policies: list[Policy]) -> list[Policy]:
    """The first of some policies, and those that differ from it in one part."""
    slots = ("selection", "schedule", "hold")
    return [one for one in policies if sum(getattr(one, slot) is not getattr(policies[0], slot) for slot in slots) <= 1]


@pytest.mark.parametrize("pair", thinned(USUAL, USUAL[::2].__contains__, named))
def test_a_composition_keeps_the_promise_that_it_reports(pair: tuple[Any, Any]) -> None:
    for policy in in_turn(pair, near(compositions(*pair)[0])):
        promise_is_kept(policy, ARMS, rounds=150)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_every_composition_keeps_the_promise_that_it_reports(pair: tuple[Any, Any]) -> None:
    for policy in compositions(*pair)[0]:
        promise_is_kept(policy, ARMS, rounds=150)


@pytest.mark.slow
def test_there_are_compositions_of_every_kind_of_part() -> None:
    used: set[int] = set()
    for index, fairness in PAIRS:
        for policy in compositions(index, fairness)[0]:
            used |= {id(getattr(policy, slot)) for slot in BUILT}
    unused = [part for parts in BUILT.values() for part in parts if id(part) not in used]
    assert unused == []


@pytest.mark.parametrize("slot", PARTS)
def test_no_kind_is_left_out(slot: str) -> None:
    own = {name for name, cls in kinds(slot).items() if cls.__module__.startswith("evenhand.policy.")}
    assert {table["kind"] for table in PARTS[slot]} == own


def shares_are_propensities(index: Any, third: int) -> None:
    """In many lanes with pasts of their own; where scores are drawn within a floor, given these."""
    lanes, checked = 100 if isinstance(index, BestChance) else 1500, 0  # which integrates for every lane
    for place, (fairness, selection) in enumerate(itertools.product(BUILT["fairness"], BUILT["selection"])):
        if place % THIRD != third:
            continue
        try:
            policy = Policy(index, fairness, selection)
            state = policy.start(ARMS, lanes, columns=COLUMNS if policy.contextual else None)
        except EvenhandError:
            continue
        rng, world = np.random.default_rng(5), np.random.default_rng(6)
        for _ in range(2):
            decision = policy.decide(state, seen(policy, state, world), rng)
            policy.observe(state, heard(decision, (world.random((lanes, ARMS)) < 0.5) & decision.played), rng)
        decision = policy.choose(state, seen(policy, state, world), rng)
        if decision.propensities is None:
            assert policy.draws, policy
            continue
        chance = np.asarray(decision.propensities, dtype=float)
        gap, noise = (decision.played - chance).sum(axis=0), np.sqrt((chance * (1.0 - chance)).sum(axis=0))
        assert (np.abs(gap) <= 5.0 * noise + 1e-6).all(), policy
        checked += 1
    assert checked > 0


@pytest.mark.parametrize(
    ("index", "third"),
    [
        pytest.param(
            index,
            third,
            id=f"{type(index).__name__}-{third}",
            marks=() if place % 2 == 0 and third == place % THIRD else pytest.mark.slow,
        )
        for place, index in enumerate(BUILT["index"])
        for third in range(THIRD)
    ],
)
def test_arms_play_as_often_as_propensities_say(index: Any, third: int) -> None:
    shares_are_propensities(index, third)
