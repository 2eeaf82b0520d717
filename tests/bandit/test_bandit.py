"""The bandit against the plain policy, against loops written by hand, and against an independent bookkeeping."""

from __future__ import annotations

import gc
import itertools
import json
import math
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from evenhand.algorithms import find
from evenhand.algorithms.build import Surroundings, build_policy
from evenhand.algorithms.minimum import fucb
from evenhand.algorithms.registry import ALGORITHMS
from evenhand.bandit import Bandit, pending
from evenhand.bandit.pending import RewardError
from evenhand.bandit.record import Chance
from evenhand.core.cohorts import Answers
from evenhand.core.errors import EvenhandError, InfeasiblePromise, MissingPart, StateError
from evenhand.core.state import Feedback, Observation, dump
from evenhand.messages.changes import Debt
from evenhand.policy.custom_merit import Custom
from evenhand.policy.merit import Power
from tests.service.propensity import propensities
from tests.thinned import thinned

ARMS = ("red", "green", "blue", "black")
SHARES = [0.1, 0.2, 0.0, 0.15]
GROUPS = [
    {"name": "bright", "arms": [0, 1], "at_least": 0.4},
    {"name": "control", "arms": [3], "at_most": 0.9},
]
POWER = {"kind": "power"}
#: Every algorithm of the registry, with parameters for four arms.
PARAMETERS: dict[str, dict[str, Any]] = {
    "ars_clw": {"first_horizon": 40},
    "ars_exp3": {"horizon": 3000},
    "ars_exp3_doubling": {"first_horizon": 40},
    "ars_fucb": {"fractions": SHARES},
    "ars_ucb": {},
    "bandit_q": {"rates": [0.1, 0.0, 0.05, 0.0], "horizon": 3000},
    "clw": {"horizon": 3000, "delay": 3},
    "cucb_d": {},
    "d_ts": {"discount": 0.95},
    "d_ucb": {"discount": 0.95},
    "eta_fucb": {"fractions": SHARES, "eta": 0.5},
    "exp3": {"horizon": 3000},
    "explore_then_commit": {"pulls": 5},
    "f_tas": {"fractions": SHARES},
    "f_tas_merit": {"merit": POWER},
    "f_tas_tracking": {"fractions": SHARES},
    "f_ts": {"fractions": SHARES},
    "fair_glr": {"fractions": SHARES},
    "fair_learn": {"fractions": SHARES, "tolerance": 1.0},
    "fair_random": {"fractions": SHARES},
    "fairx_ts": {"merit": POWER},
    "fairx_ucb": {"merit": POWER, "horizon": 3000},
    "fcts_d": {"merit": POWER},
    "fcucb_d": {"merit": POWER, "horizon": 3000},
    "fgreedy_d": {"merit": POWER},
    "floor_ts": {"fractions": SHARES},
    "fucb": {"fractions": SHARES},
    "glr_klucb": {"exploration_share": 0.2},
    "kl_ucb": {},
    "group_ts": {"groups": GROUPS, "evidence": "both"},
    "group_ucb": {"fractions": SHARES, "caps": [0.9, 0.8, 1.0, 1.0], "groups": GROUPS},
    "hard_threshold_ucb": {"fractions": SHARES, "penalties": 0.3},
    "ldf": {"fractions": SHARES},
    "lfg": {"fractions": SHARES, "eta": 5.0},
    "m_fcts_d": {"merit": POWER},
    "m_fcucb_d": {"merit": POWER, "horizon": 3000},
    "mp_ts_d": {},
    "naive": {"fractions": SHARES, "horizon": 3000, "epsilon": 0.02},
    "odaaf": {"horizon": 3000},
    "op_fcts_d": {"merit": POWER},
    "op_fcucb_d": {"merit": POWER, "horizon": 3000},
    "opse": {"horizon": 3000},
    "q_fcts_d": {"merit": POWER},
    "q_fcucb_d": {"merit": POWER, "horizon": 3000},
    "soft_threshold_ucb": {"fractions": SHARES, "penalties": [0.3, 0.2, 0.0, 0.1]},
    "sw_ucb": {"window": 25},
    "t_fucb": {"fractions": SHARES, "horizon": 60},
    "thompson": {"evidence": "both"},
    "tscsf_b": {"fractions": SHARES, "eta": 5.0, "queue": "recursive"},
    "ucb": {},
    "ucb1": {},
}
#: Those that learn from the round just decided only.
ORDERED = {"bandit_q", "exp3", "ars_exp3", "ars_exp3_doubling", "clw", "ars_clw"}
#: Those with a schedule that is fixed at the start.
FIXED = {"explore_then_commit", "fairx_ucb", "fcucb_d", "naive", "odaaf", "op_fcucb_d", "opse", "t_fucb"}
FIXED |= {"m_fcucb_d", "q_fcucb_d"}
SEVERAL = sorted(name for name in PARAMETERS if "plays" in find(name).parameters)
#: The main run takes each algorithm with one or two plays, in turn.
CASES = [
    pytest.param(name, plays, marks=() if plays == 1 + (place % 2 and name in SEVERAL) else pytest.mark.slow)
    for place, name in enumerate(PARAMETERS)
    for plays in ((1, 2) if name in SEVERAL else (1,))
]


def in_turn(third: int) -> list[Any]:
    """The cases, of which the main run takes every third: there each algorithm is in one of three tests in turn.

    Every algorithm passes the checks of `evenhand.bandit.checks`, which are much the same.
    """
    names = [*PARAMETERS]
    return [
        case if names.index(str(case.values[0])) % 3 == third else pytest.param(*case.values, marks=pytest.mark.slow)
        for case in CASES
    ]


def bandit_of(name: str, plays: int = 1, **options: Any) -> Bandit:
    return Bandit(ARMS, {"algorithm": name, **PARAMETERS[name]}, plays=plays, seed=5, **options)


def through_json(bandit: Bandit) -> Bandit:
    return Bandit.restored(json.loads(json.dumps(bandit.dump(), allow_nan=False)))


def some(rng: np.random.Generator, arms: list[str]) -> list[str] | None:
    """Nobody sleeps, or about half of the arms do."""
    if rng.random() < 0.5:
        return None
    return [arm for arm in arms if rng.random() < 0.5] or arms[:1]


def test_every_algorithm_is_tested() -> None:
    """Those that go by features: test_contexts.py."""
    assert set(PARAMETERS) == {name for name, one in ALGORITHMS.items() if not one.example().contextual}


def test_arms_that_can_play_are_named_by_keyword_only() -> None:
    """What stands first are features: a list there is an old habit, and not silently taken for anything."""
    bandit = Bandit(["tea", "coffee"], "ucb1")
    with pytest.raises(EvenhandError, match=r"without features; arms that can play are given as available="):
        bandit.decide(["tea"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="positional"):
        bandit.decide(None, ["tea"])  # type: ignore[call-arg,arg-type]
    assert bandit.round == 0


# --- The plain policy by hand -----------------------------------------------------------------------------------------


@dataclass
class ByHand:
    """The plain policy with a state and streams of its own."""

    name: str
    plays: int

    def __post_init__(self) -> None:
        table = {"algorithm": self.name, **PARAMETERS[self.name]}
        self.policy = build_policy(table, Surroundings(len(ARMS), self.plays))
        self.state, self.chance, self.learned = self.policy.start(len(ARMS)), Chance(5), 0

    def decide(self, available: list[str] | None) -> set[str]:
        mask = None if available is None else np.array([arm in available for arm in ARMS])
        observation = Observation(None if mask is None or mask.all() else mask)
        decision = self.policy.decide(self.state, observation, self.chance.deciding(self.state.clock))
        return {arm for arm, plays in zip(ARMS, decision.played, strict=True) if plays}

    def observe(self, rewards: dict[str, float], delay: int = 0) -> None:
        received = np.array([float(arm in rewards) for arm in ARMS])
        places = np.array([ARMS.index(arm) for arm in rewards], dtype=np.intp)
        answers = Answers(places, np.full(len(rewards), delay), np.array(list(rewards.values()), dtype=float))
        feedback = Feedback(received, np.array([rewards.get(arm, 0.0) for arm in ARMS]), answers)
        self.learned += 1
        self.policy.observe(self.state, feedback, self.chance.learning(self.learned))


@pytest.mark.parametrize(("name", "plays"), in_turn(0))
def test_decides_as_the_plain_policy(name: str, plays: int) -> None:
    bandit, plain, world = bandit_of(name, plays), ByHand(name, plays), np.random.default_rng(1)
    for _ in range(250):
        available = some(world, list(ARMS))
        choice = bandit.decide(available=available)
        assert set(choice.names) == plain.decide(available)
        rewards = {arm: float(world.random()) for arm in choice.names}  # no whole numbers: Thompson's trials draw, too
        assert set(bandit.observe(choice.id, rewards).values()) == {"accepted"}
        plain.observe(rewards)
    assert dump(bandit._record.state.tally) == dump(plain.state.tally)
    assert dump(bandit._record.state.index) == dump(plain.state.index)


@pytest.mark.parametrize(("name", "plays"), [case for case in in_turn(1) if case.values[0] not in ORDERED])
def test_decides_as_the_plain_policy_with_late_rewards(name: str, plays: int) -> None:
    """Rewards come arm by arm, in another order than the decisions; one in five never comes."""
    bandit, plain, world = bandit_of(name, plays), ByHand(name, plays), np.random.default_rng(2)
    due: dict[int, list[tuple[str, str, float]]] = {}
    for round in range(200):
        available = some(world, list(ARMS))
        choice = bandit.decide(available=available)
        assert set(choice.names) == plain.decide(available)
        for arm in choice.names:
            if world.random() < 0.8:
                entry = (choice.id, arm, float(world.random()))
                due.setdefault(round + int(world.integers(20)), []).append(entry)
        for decision, arm, reward in due.pop(round, []):
            assert bandit.observe(decision, {arm: reward}) == {arm: "accepted"}
            plain.observe({arm: reward}, round + 1 - int(decision))
    assert (bandit._record.state.tally.received <= bandit._record.state.tally.pulls).all()
    assert (bandit._record.state.tally.rewards == plain.state.tally.rewards).all()


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_silence_is_a_round_in_which_nothing_came(name: str) -> None:
    """The simulation gives these indexes every round; here a reward that is missing must do the same."""
    bandit, plain, world = bandit_of(name), ByHand(name, 1), np.random.default_rng(3)
    for _ in range(250):
        choice = bandit.decide()
        assert set(choice.names) == plain.decide(None)
        rewards = {choice.names[0]: float(world.random())} if world.random() < 0.6 else {}
        if rewards:
            bandit.observe(choice.id, rewards)
        plain.observe(rewards)


@pytest.mark.parametrize("missing", ["lost", "zero"])
@pytest.mark.parametrize("name", sorted(ORDERED))
def test_an_expired_reward_is_lost_once(name: str, missing: str) -> None:
    """A window that passes says no more to these indexes than the silence itself."""
    bandit, plain, world = bandit_of(name, window=5.0, missing=missing), ByHand(name, 1), np.random.default_rng(4)
    for round in range(250):
        choice = bandit.decide(now=2.0 * round)
        assert set(choice.names) == plain.decide(None)
        rewards = {choice.names[0]: float(world.random())} if world.random() < 0.5 else {}
        if rewards:
            bandit.observe(choice.id, rewards, now=2.0 * round)
        elif world.random() < 0.5:
            bandit.expire(now=2.0 * round + 1.0)
        plain.observe(rewards)


def test_a_reward_after_its_window_is_late_and_was_lost_once() -> None:
    bandit = Bandit(["a"], "ucb1", window=5.0, missing="lost")
    decision = bandit.decide(now=0.0)
    assert list(bandit.expire(now=6.0)) == [decision.id]
    assert bandit.observe(decision.id, {"a": 1.0}, now=7.0) == {"a": "late"}
    (line,) = bandit.audit(now=8.0).lines
    assert (line.pending, line.received, line.lost, line.late) == (0, 0, 1, 1)


@pytest.mark.parametrize("name", sorted({"ars_ucb", "ucb", "ars_fucb", "odaaf", "lfg"} | ORDERED))
def test_totals_are_credited_to_those_who_played(name: str) -> None:
    bandit, plain, world = bandit_of(name), ByHand(name, 1), np.random.default_rng(5)
    for _ in range(250):
        choice = bandit.decide()
        assert set(choice.names) == plain.decide(None)
        value = float(2.0 * world.random() - 0.2)  # a sum of several rounds' parts, or of corrections
        bandit.observe_total(value)
        plain.observe({arm: value / len(choice.names) for arm in choice.names})
    assert bandit.audit().lines[0].pending == 0


def test_a_total_is_shared_evenly_among_several() -> None:
    bandit = bandit_of("ucb1", plays=2)
    choice = bandit.decide()
    bandit.observe_total(0.9)
    assert bandit._record.state.tally.rewards.tolist() == [0.45 if arm in choice.names else 0.0 for arm in ARMS]


def test_totals_and_rewards_do_not_mix() -> None:
    bandit = bandit_of("ars_ucb")
    with pytest.raises(RewardError, match="no decision to credit") as refused:
        bandit.observe_total(1.0)
    assert refused.value.status == "unknown"
    bandit.decide()
    bandit.observe_total(1.0)
    with pytest.raises(RewardError, match="the total of round 1 is known") as refused:
        bandit.observe_total(1.0)
    assert refused.value.status == "conflict"
    choice = bandit.decide()
    with pytest.raises(RewardError, match="learns from totals") as refused:
        bandit.observe(choice.id, {choice.names[0]: 1.0})
    assert refused.value.status == "refused"
    other = bandit_of("ars_ucb")
    choice = other.decide()
    other.observe(choice.id, {choice.names[0]: 1.0})
    with pytest.raises(RewardError, match="has taken rewards by decision"):
        other.observe_total(1.0)
    late = bandit_of("ars_ucb", window=1.0, missing="lost")
    late.decide(now=0.0)
    late.expire(now=1.0)
    with pytest.raises(RewardError, match="the window of round 1 has passed"):
        late.observe_total(1.0)


@pytest.mark.parametrize("name", ["op_fcts_d", "fgreedy_d", "thompson"])
def test_wrapped_indexes_take_late_rewards(name: str) -> None:
    """A mean of two indexes passes notice on, but here neither takes any: order does not matter to it."""
    bandit = bandit_of(name)
    first = bandit.decide()
    bandit.decide()
    assert bandit.observe(first.id, {first.names[0]: 1.0}) == {first.names[0]: "accepted"}


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_order_matters_to_those_that_weigh_by_propensities(name: str) -> None:
    bandit = bandit_of(name)
    first = bandit.decide()
    bandit.decide()
    before = bandit.dump()
    with pytest.raises(RewardError, match="the round just decided only, 2, not from 1") as refused:
        bandit.observe(first.id, {first.names[0]: 1.0})
    assert refused.value.status == "refused"
    assert bandit.dump() == before


def test_the_arm_with_the_largest_propensity_comes_first() -> None:
    """With merits 1 and 3 the shares of two plays are 1/2, 1/2 and 1; the last arm is sure."""
    bandit = Bandit(["a", "b", "c", "d"], "fcts_d", merit={"kind": "threshold", "below": 1.0, "above": 3.0}, plays=2)
    bandit._record.state.tally.pulls[:] = bandit._record.state.tally.received[:] = 1e9  # posteriors that leave no doubt
    bandit._record.state.tally.rewards[:] = bandit._record.state.index.successes[:] = [0.0, 0.0, 0.0, 1e9]
    for _ in range(20):
        choice = bandit.decide()
        assert choice.names[0] == "d"
        assert len(choice.names) == 2


@pytest.mark.parametrize(
    ("name", "parameters"), [("tscsf_b", {"eta": 100.0}), ("lfg", {"eta": 100.0}), ("f_ts", {}), ("fucb", {})]
)
def test_policies_learn_from_rewards_in_any_unit(name: str, parameters: dict[str, Any]) -> None:
    """12 to 18 euros against 1.2 to 3: nearly all rounds go to the first arm, but for the tenth that is promised.

    The queues let some 70 plays be owed, η times the difference of the means on the scale [0, 1].
    """
    bandit = Bandit(["dear", "cheap"], name, fractions=[0.1, 0.1], rewards=(0.0, 18.0), seed=1, **parameters)
    world = np.random.default_rng(1)
    ranges = {"dear": (12.0, 18.0), "cheap": (1.2, 3.0)}
    for _ in range(6000):
        choice = bandit.decide()
        bandit.observe(choice.id, {arm: float(world.uniform(*ranges[arm])) for arm in choice.names})
    dear, cheap = bandit.audit().lines
    assert cheap.share == pytest.approx(0.1, abs=0.03)
    assert dear.estimate == pytest.approx(15.0, abs=0.2)
    assert cheap.estimate == pytest.approx(2.1, abs=0.2)


@pytest.mark.parametrize("name", ["ucb1", "thompson", "fcts_d", "exp3", "lfg"])
def test_the_unit_of_rewards_changes_no_decision(name: str) -> None:
    """Rewards in [0, 1], and the same ones as quarters between 8 and 12, which scale exactly."""
    unit, quarters = bandit_of(name), bandit_of(name, rewards=(8.0, 12.0))
    world = np.random.default_rng(2)
    for _ in range(200):
        reward = int(world.integers(5)) / 4.0
        one, other = unit.decide(), quarters.decide()
        assert one.names == other.names
        unit.observe(one.id, {one.names[0]: reward})
        quarters.observe(other.id, {other.names[0]: 8.0 + 4.0 * reward})
    for line, scaled in zip(unit.audit().lines, quarters.audit().lines, strict=True):
        assert line.promised == scaled.promised or line.promised == pytest.approx(scaled.promised)
        assert line.estimate is None or scaled.estimate == pytest.approx(8.0 + 4.0 * line.estimate)


def test_totals_need_rewards_from_zero_on() -> None:
    bandit = bandit_of("ars_ucb", rewards=(0.0, 4.0))
    choice = bandit.decide()
    bandit.observe_total(3.0)
    assert bandit._record.state.tally.rewards.tolist() == [0.75 if arm in choice.names else 0.0 for arm in ARMS]
    other = bandit_of("ars_ucb", rewards=(1.0, 5.0))
    other.decide()
    with pytest.raises(RewardError, match=r"make the bandit with rewards=\(0, 4\) and give totals of rewards less 1"):
        other.observe_total(3.0)


def test_a_missing_reward_is_zero_in_the_unit_of_the_user() -> None:
    bandit = bandit_of("ucb1", rewards=(-1.0, 3.0), missing="zero", window=1.0)
    choice = bandit.decide(now=0.0)
    bandit.expire(now=1.0)
    assert bandit._record.state.tally.rewards.tolist() == [0.25 if arm in choice.names else 0.0 for arm in ARMS]
    assert [line.estimate for line in bandit.audit(now=1.0).lines if line.arm in choice.names] == [0.0]


# --- A decision that fails --------------------------------------------------------------------------------------------


def test_guesses_of_the_delay_grow_without_end_and_survive_saving() -> None:
    """The phases end at 40, 80, 160, …; the window of sums grows with the guess ⌊T^(1/3)⌋, also in a saved bandit."""
    bandit = Bandit(ARMS, "ars_clw", first_horizon=40, seed=2)
    for round in range(400):
        choice = bandit.decide(now=0.0)
        bandit.observe(choice.id, {choice.names[0]: float(round % 2)}, now=0.0)
        if round % 75 == 0:
            bandit = through_json(bandit)
    assert bandit._record.state.index.recent.shape == (10,)  # ⌊1280^(1/3)⌋, of the phase after the one that ends at 640


@pytest.mark.parametrize("name", ["fcts_d", "fcucb_d", "fgreedy_d", "op_fcts_d", "fairx_ucb"])
def test_a_merit_that_fails_leaves_all_as_it_was(name: str) -> None:
    """One bandit's function fails now and then, its twin's never; they decide the same."""

    class Failing:
        fails = False

        def __call__(self, mean: Any) -> Any:
            if self.fails:
                raise ZeroDivisionError
            return 1.0 + mean

    merit, parameters = Failing(), {key: value for key, value in PARAMETERS[name].items() if key != "merit"}
    bandit, twin = (Bandit(ARMS, name, seed=5, merit=Custom(one), **parameters) for one in (merit, Failing()))
    for round in range(60):
        if round % 3 == 0:
            merit.fails = True
            with pytest.raises(ZeroDivisionError):
                bandit.decide(now=0.0)
            merit.fails = False
        choice, other = bandit.decide(now=0.0), twin.decide(now=0.0)
        assert (choice.id, choice.names) == (other.id, other.names)
        for one in (bandit, twin):
            one.observe(choice.id, {choice.names[0]: 0.5}, now=0.0)


# --- Saving -----------------------------------------------------------------------------------------------------------


def live(bandit: Bandit, world: np.random.Generator, rounds: int, start: float) -> Iterator[tuple[Any, ...]]:
    """Decisions and rewards, some of them late or never; what came of each."""
    ordered = bandit._record.algorithm in ORDERED
    open_reports: list[tuple[str, str]] = []
    for round in range(rounds):
        now = start + round
        choice = bandit.decide(
            available=some(world, [arm for arm in bandit.names if arm not in bandit.retired]), now=now
        )
        open_reports += [(choice.id, arm) for arm in choice.names]
        if ordered:
            open_reports = open_reports[-1:]
        statuses = []
        while open_reports and world.random() < 0.7:
            decision, arm = open_reports.pop(int(world.integers(len(open_reports))))
            statuses.append(bandit.observe(decision, {arm: float(world.random())}, now=now))
        yield choice.id, choice.names, choice.version, statuses


def change(bandit: Bandit) -> None:
    """An arm comes, one goes and one comes back."""
    shares = "fractions" in PARAMETERS[bandit._record.label]
    bandit.add("white", **newcomer(bandit._record.label, 0.05))
    bandit.retire("green")
    bandit.retire("white")
    bandit.bring_back("green", fraction=0.1 * shares)


def newcomer(name: str, share: float) -> dict[str, float]:
    """What a new arm needs under an algorithm."""
    parameters = PARAMETERS[name]
    share_of = {"fraction": share} if "fractions" in parameters else {}
    return share_of | ({"penalty": 0.2} if isinstance(parameters.get("penalties"), list) else {})


@pytest.mark.parametrize(("name", "plays"), in_turn(2))
def test_saved_and_loaded_it_goes_on_the_same(name: str, plays: int, tmp_path: Path) -> None:
    bandit, world = bandit_of(name, plays, window=30.0, missing="zero"), np.random.default_rng(7)
    for _ in live(bandit, world, 60, 0.0):
        pass
    if name not in FIXED:
        change(bandit)
        for _ in live(bandit, world, 20, 60.0):
            pass
    assert bandit._record.pending.waiting
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json")
    assert loaded.dump() == bandit.dump()
    other = np.random.default_rng()
    other.bit_generator.state = world.bit_generator.state
    for one, two in zip(live(bandit, world, 300, 80.0), live(loaded, other, 300, 80.0), strict=True):
        assert one == two
    assert loaded.dump() == bandit.dump()
    assert loaded.audit(now=0.0) == bandit.audit(now=0.0)


def test_what_was_dumped_does_not_change_any_more() -> None:
    bandit = bandit_of("ucb1")
    choice = bandit.decide()
    plain = bandit.dump()
    before = json.dumps(plain)
    bandit.observe(choice.id, {choice.names[0]: 1.0})
    bandit.decide()
    assert json.dumps(plain) == before


@pytest.mark.parametrize("merit", [Power(beta=1.0), {"kind": "linear", "slope": 0.5}])
def test_parts_of_the_package_can_be_saved(merit: Any) -> None:
    bandit = Bandit(ARMS, "fcts_d", merit=merit)
    assert through_json(bandit)._record.policy.merit == bandit._record.policy.merit


def test_parameters_of_many_kinds_can_be_saved() -> None:
    bandit = Bandit(
        np.array(ARMS),  # type: ignore[arg-type]
        "lfg",
        fractions=np.array(SHARES, dtype=np.float32),
        eta=math.inf,
        weights={"red": np.int64(2)},
        exploration=np.float32(2.0),
        plays=np.int64(2),  # type: ignore[arg-type]
        seed=np.int64(3),  # type: ignore[arg-type]
        window=np.int64(60),  # type: ignore[arg-type]
        missing="lost",
    )
    again = through_json(bandit)
    assert again.dump() == bandit.dump()
    assert again.parameters["eta"] == math.inf
    assert again.parameters["weights"] == [2.0, 1.0, 1.0, 1.0]


def test_a_function_of_ones_own_is_refused_when_saved() -> None:
    bandit = Bandit(ARMS, "fcts_d", merit=Custom(lambda mean: 1.0 + mean))
    with pytest.raises(EvenhandError, match=r"cannot be saved with this merit: the function .* cannot be saved"):
        bandit.dump()


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        (None, "not a saved bandit"),
        ([1], "not a saved bandit"),
        ({"evenhand": "9", "format": 7}, "format 7; this version reads format 6"),
        ({"evenhand": "9", "format": 1}, "damaged"),
    ],
)
def test_a_foreign_description_is_refused(plain: Any, words: str) -> None:
    with pytest.raises(StateError, match=words):
        Bandit.restored(plain)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"5", b"{}", b'{"a": NaN}'])
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bandit.json").write_bytes(content)
    with pytest.raises(StateError, match=r"bandit\.json"):
        Bandit.load(tmp_path / "bandit.json")
    with pytest.raises(StateError, match="there is no file"):
        Bandit.load(tmp_path / "nothing.json")
    with pytest.raises(StateError, match="cannot be read"):
        Bandit.load(tmp_path)


def saved(name: str) -> dict[str, Any]:
    bandit = bandit_of(name, window=30.0, missing="zero")
    for _ in live(bandit, np.random.default_rng(8), 40, 0.0):
        pass
    if name not in FIXED:
        change(bandit)
    plain: dict[str, Any] = json.loads(json.dumps(bandit.dump()))
    return plain


SAVED = {name: saved(name) for name in ("fucb", "tscsf_b", "clw", "ars_exp3", "op_fcts_d", "odaaf")}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.sampled_from([2**63, 2**64, 2**128, 10**400, 1e308, -0.5])
    | st.floats()
    | st.sampled_from(["", "nan", "inf", "red", "zzz", "1", "AAA=", "float64"])
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["red", "type", "x"]), inner),
    max_leaves=4,
)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything inside; of a long list to a few entries only."""
    if isinstance(value, dict):
        inner: list[Any] = list(value)
    else:
        inner = list(range(min(len(value), 6))) if isinstance(value, list) else []
    return [path] * bool(path) + [place for key in inner for place in places_in(value[key], (*path, key))]


def spoil(plain: Any, path: tuple[Any, ...], value: Any, how: str) -> Any:
    plain = json.loads(json.dumps(plain))
    inside = plain
    for key in path[:-1]:
        inside = inside[key]
    if how == "put":
        inside[path[-1]] = value
    elif how == "drop" or isinstance(inside, list):
        del inside[path[-1]]
    else:
        inside[path[-1] + "x"] = inside.pop(path[-1])
    return plain


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_description_is_refused_or_is_what_was_loaded(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAVED)))
    path = data.draw(st.sampled_from(places_in(SAVED[name])))
    how = data.draw(st.sampled_from(["put", "put", "put", "drop", "rename"]))
    plain = spoil(SAVED[name], path, data.draw(VALUES), how)
    try:
        loaded = Bandit.restored(plain)
    except (StateError, MissingPart):  # the latter where the name of a part is damaged
        return
    assert {**loaded.dump(), "evenhand": plain["evenhand"]} == plain


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_file_is_refused_or_is_what_was_loaded(data: st.DataObject, tmp_path_factory: Any) -> None:
    text = json.dumps(SAVED[data.draw(st.sampled_from(sorted(SAVED)))])
    at = data.draw(st.integers(0, len(text) - 1))
    if data.draw(st.booleans()):
        text = text[:at]
    else:
        text = text[:at] + data.draw(st.sampled_from(list('0123456789.-e",:[]{} truefalsn'))) + text[at + 1 :]
    path = tmp_path_factory.mktemp("damaged") / "bandit.json"
    path.write_text(text, encoding="utf-8")
    try:
        loaded = Bandit.load(path)
    except (StateError, MissingPart):  # the latter where the name of an algorithm is damaged
        return
    plain = json.loads(text)
    assert {**loaded.dump(), "evenhand": plain["evenhand"]} == plain


@pytest.mark.parametrize(("old", "new"), [('"tea"', '"tee"'), ('"seed": 1', '"seed": 2')])
def test_an_edited_file_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    """Also where what was written is consistent; its lines and the order of names are nobody's concern."""
    bandit, path = Bandit(["tea", "coffee"], "ucb1", seed=1), tmp_path / "bandit.json"
    for _ in range(3):
        bandit.decide(now=0.0)
    bandit.save(path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(json.dumps(json.loads(text), indent=1, sort_keys=True), encoding="utf-8")
    assert Bandit.load(path).dump() == bandit.dump()
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(StateError, match="the saved bandit is damaged: its content has another checksum"):
        Bandit.load(path)


@pytest.mark.parametrize("read", [Bandit.audit, Bandit.health])
def test_what_is_over_is_closed_before_it_is_read(read: Callable[..., Any]) -> None:
    bandit = Bandit(["tea", "coffee"], "ucb1", seed=1, window=10.0, missing="zero")
    bandit.decide(now=0.0)
    read(bandit, now=9.0)
    assert [line.pending for line in bandit.audit(now=9.0).lines] == [1, 0]
    read(bandit, now=11.0)
    assert bandit.dump()["pending"] == Bandit.restored(bandit.dump()).dump()["pending"]
    assert [line.pending for line in bandit.audit(now=11.0).lines] == [0, 0]
    assert bandit.expire(now=11.0) == {}


def test_errors_name_the_arm() -> None:
    for shares, fault in (({"coffee": 1.5}, r" in \[0, 1\], got 1.5"), ([0.1, "x"], ", got 'x'")):
        with pytest.raises(EvenhandError, match=f"^fractions.coffee must be a number{fault}"):
            Bandit(["tea", "coffee"], "fucb", fractions=shares)


# --- Changes ----------------------------------------------------------------------------------------------------------


class Loop:
    """FUCB with changes, written from the paper and the documentation: lists, and sums of what was promised since."""

    def __init__(self, shares: list[float]) -> None:
        self.round, self.able = 0, [True] * len(shares)
        self.shares, self.pulls, self.sums = list(shares), [0] * len(shares), [0.0] * len(shares)
        self.since, self.before, self.carried = [0] * len(shares), [0] * len(shares), [0.0] * len(shares)

    def deficit(self, arm: int) -> float:
        due = self.shares[arm] * (self.round - self.since[arm]) - (self.pulls[arm] - self.before[arm])
        return round(due + self.carried[arm], 9) if self.shares[arm] else self.carried[arm]

    def bound(self, arm: int) -> float:
        if self.pulls[arm] == 0:
            return math.inf
        return self.sums[arm] / self.pulls[arm] + math.sqrt(2.0 * math.log(self.round + 1) / self.pulls[arm])

    def decide(self) -> int:
        arms = [arm for arm, able in enumerate(self.able) if able]
        behind = [arm for arm in arms if self.deficit(arm) > 0.0]
        arm = max(behind, key=self.deficit) if behind else max(arms, key=self.bound)
        self.pulls[arm] += 1
        self.round += 1
        return arm

    def begin(self, arm: int, share: float) -> None:
        self.carried[arm] = max(self.deficit(arm), -1.0)
        self.shares[arm], self.since[arm], self.before[arm] = share, self.round, self.pulls[arm]

    def add(self, share: float) -> None:
        for values, new in ((self.shares, 0.0), (self.sums, 0.0), (self.carried, 0.0)):
            values.append(new)
        for counts in (self.pulls, self.since, self.before):
            counts.append(0)
        self.able.append(True)
        self.begin(len(self.able) - 1, share)


def test_what_is_owed_counts_from_when_the_promise_began() -> None:
    bandit, loop, world = bandit_of("fucb"), Loop(SHARES), np.random.default_rng(9)

    def both(rounds: int) -> None:
        for _ in range(rounds):
            choice, arm = bandit.decide(), loop.decide()
            assert choice.names == (bandit.names[arm],)
            reward = float(world.random() < 0.3 + 0.1 * arm)
            bandit.observe(choice.id, {choice.names[0]: reward})
            loop.sums[arm] += reward
        deficits = bandit._record.owed().tolist()
        assert deficits == pytest.approx([loop.deficit(arm) for arm in range(len(bandit.names))], abs=1e-9)

    both(103)
    bandit.promise({"red": 0.3, "black": 0.05})
    loop.begin(0, 0.3)
    loop.begin(3, 0.05)
    both(51)
    bandit.add("white", fraction=0.25)
    loop.add(0.25)
    both(37)
    bandit.retire("green")
    loop.able[1] = False
    loop.begin(1, 0.0)
    both(40)
    bandit.bring_back("green", fraction=0.15)
    loop.able[1] = True
    loop.begin(1, 0.15)
    both(200)
    assert bandit.version == 4
    line = bandit.audit().lines[1]
    assert (line.since, line.rounds, line.all_plays) == (231, 200, loop.pulls[1])
    assert line.plays == loop.pulls[1] - loop.before[1]


def test_a_new_arm_is_owed_nothing_for_the_past() -> None:
    """After a thousand rounds an arm with 0.3 is owed 3 plays in the next ten rounds, not three hundred."""
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.2, 0.2])
    for _ in range(1000):
        bandit.decide()
    bandit.add("c", fraction=0.3)
    plays = [bandit.decide().names == ("c",) for _ in range(11)]
    # At once, since it was never played; then whenever 0.3 n exceeds its plays: after n = 4 rounds and after 7.
    assert np.flatnonzero(plays).tolist() == [0, 4, 7]


@pytest.mark.parametrize("name", ["fucb", "tscsf_b", "lfg", "f_ts", "ars_fucb"])
def test_the_same_promise_again_changes_nothing(name: str) -> None:
    """9% sent every five rounds to ten arms, of all or of one: nobody is left behind, and decisions stay the same."""
    arms = [str(arm) for arm in range(10)]
    parameters: dict[str, Any] = {"eta": 1.0} if name in ("tscsf_b", "lfg") else {}
    bandit, other = (Bandit(arms, name, fractions=[0.09] * 10, seed=1, **parameters) for _ in range(2))
    world = np.random.default_rng(1)
    for round in range(1000):
        if round % 5 == 0:
            assert bandit.promise(dict.fromkeys(arms, 0.09)) == ()
            assert bandit.promise({arms[round % 10]: np.float64(0.09)}) == ()
        for_both = float(world.random() < 0.1 * int(other.decide().names[0]))
        choice = bandit.decide()
        for one in (bandit, other):
            one.observe(choice.id, {choice.names[0]: for_both})
    assert bandit.dump()["state"] == other.dump()["state"]
    assert bandit.version == 0
    audit = bandit.audit()
    assert all(line.plays >= 80 and line.promises == 0 and line.lapsed == 0.0 for line in audit.lines)
    assert max(line.deficit or 0.0 for line in audit.lines) <= 2.0


def test_promises_that_change_do_not_hide_what_was_owed() -> None:
    """9% and 9.01% in turn: arrears are carried, so that every arm is paid."""
    bandit = Bandit([str(arm) for arm in range(10)], "fucb", fractions=[0.09] * 10, seed=1)
    for round in range(1, 1001):
        bandit.decide()
        if round % 5 == 0:
            bandit.promise(dict.fromkeys(bandit.names, 0.09 + 0.0001 * (round // 5 % 2)))
    audit = bandit.audit(limit=10)
    last = audit.lines[0]
    assert (last.promises, last.since, last.rounds) == (200, 1000, 0)
    for line in audit.lines:
        assert line.due == pytest.approx(90.05, abs=1e-6)
        assert line.due == pytest.approx(line.paid + (line.deficit or 0.0) - line.lapsed, abs=1e-8)
        assert line.deficit is not None
        assert line.deficit <= 2.0
    assert max(line.all_plays for line in audit.lines) <= 200  # 100 are promised to nobody


def test_a_changed_promise_empties_the_queue_of_that_arm_only() -> None:
    """The recursive queue grows by the share in every round without a play."""
    bandit = Bandit(["a", "b", "c"], "tscsf_b", fractions=[0.3, 0.3, 0.0], eta=0.0, queue="recursive")
    for _ in range(5):
        assert bandit.decide(available=["c"]).names == ("c",)
    memory = bandit._record.state.fairness
    assert (bandit.parameters["fractions"] * memory.rounds - memory.plays).tolist() == pytest.approx([1.5, 1.5, 0.0])
    bandit.promise({"a": 0.4})
    memory = bandit._record.state.fairness
    assert (bandit.parameters["fractions"] * memory.rounds - memory.plays).tolist() == pytest.approx([0.0, 1.5, 0.0])


REFUSED: dict[str, Callable[[Bandit], object]] = {
    "too much for one": lambda bandit: bandit.promise({"red": 0.9}),
    "too much for a new one": lambda bandit: bandit.add("white", fraction=0.9),
    "no share": lambda bandit: bandit.promise({"red": 1.5}),
    "no number": lambda bandit: bandit.promise({"red": math.nan}),
    "a text": lambda bandit: bandit.promise({"red": "much"}),  # type: ignore[dict-item]
    "no mapping": lambda bandit: bandit.promise([0.1]),  # type: ignore[arg-type]
    "unknown": lambda bandit: bandit.promise({"rde": 0.1}),
    "retired": lambda bandit: bandit.promise({"black": 0.1}),
    "there already": lambda bandit: bandit.add("red"),
    "retired already": lambda bandit: bandit.retire("black"),
    "to be brought back": lambda bandit: bandit.add("black"),
    "blank": lambda bandit: bandit.add(" "),
    "no name": lambda bandit: bandit.add(["x"]),  # type: ignore[arg-type]
    "unknown value": lambda bandit: bandit.add("white", fracton=0.1),
    "no such value": lambda bandit: bandit.add("white", weight=2.0),
    "text for a share": lambda bandit: bandit.add("white", fraction="x"),
    "NaN for a share": lambda bandit: bandit.add("white", fraction=math.nan),
    "below 0": lambda bandit: bandit.add("white", fraction=-0.1),
    "not retired": lambda bandit: bandit.bring_back("red"),
    "back with too much": lambda bandit: bandit.bring_back("black", fraction=0.9),
    "back with NaN": lambda bandit: bandit.bring_back("black", fraction=math.nan),
    "back with less than none": lambda bandit: bandit.bring_back("black", fraction=-0.5),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_change_changes_nothing(what: str) -> None:
    bandit = bandit_of("fucb")
    for _ in range(20):
        bandit.decide()
    bandit.retire("black")
    before = bandit.dump()
    with pytest.raises(EvenhandError):
        REFUSED[what](bandit)
    assert bandit.dump() == before
    assert through_json(bandit).dump() == before


def test_as_many_stay_as_play() -> None:
    bandit = bandit_of("fucb", plays=2)
    bandit.retire("red")
    bandit.retire("blue")
    before = bandit.dump()
    with pytest.raises(EvenhandError, match="arm 'green' cannot retire: plays = 2 needs at least as many arms"):
        bandit.retire("green")
    assert bandit.dump() == before


def test_the_reason_is_named() -> None:
    bandit = bandit_of("fucb")
    with pytest.raises(InfeasiblePromise, match=r"'red', 'green', 'black' together are promised 1\.05 .* 0\.05 too"):
        bandit.promise({"red": 0.7})
    with pytest.raises(EvenhandError, match=r"there is no arm 'rde'; did you mean 'red'\?"):
        bandit.promise({"rde": 0.1})
    bandit.retire("black")
    with pytest.raises(EvenhandError, match="already an arm 'black'; bring it back"):
        bandit.add("black")
    with pytest.raises(EvenhandError, match="'black' is retired; bring it back before it can be available"):
        bandit.decide(available=["black"])


@pytest.mark.parametrize("name", sorted(FIXED))
def test_a_fixed_schedule_does_not_change(name: str) -> None:
    bandit = bandit_of(name)
    bandit.decide()
    before = bandit.dump()
    acts: list[Callable[[], object]] = [
        lambda: bandit.add("white"),
        lambda: bandit.retire("red"),
        lambda: bandit.promise({"red": 0.0}),
    ]
    for act in acts:
        with pytest.raises(EvenhandError, match="schedule that is fixed at the start"):
            act()
    assert bandit.dump() == before


def arrays_in(record: Any, path: str = "") -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(record, np.ndarray):
        yield path, record
    for name in getattr(record, "__dataclass_fields__", ()):
        yield from arrays_in(getattr(record, name), f"{path}.{name}")


GROWING = [name for name in PARAMETERS if name not in FIXED]


@pytest.mark.parametrize(
    "case",
    thinned(
        [(name, rounds) for name in GROWING for rounds in (0, 7, 40)],
        lambda case: GROWING.index(case[0]) % 6 == 2 * (0, 7, 40).index(case[1]),  # every second one, each in a place
        lambda case: f"{case[0]}-{case[1]}",
    ),
)
def test_every_part_grows_with_the_arms(case: tuple[str, int]) -> None:
    """In the middle of a hold, too: what is known of the old arms stays, the new one starts afresh and is played."""
    name, rounds = case
    bandit, world = bandit_of(name), np.random.default_rng(11)
    for _ in live(bandit, world, rounds, 0.0):
        pass
    before = {path: array.copy() for path, array in arrays_in(bandit._record.state)}
    bandit.add("white", **newcomer(name, 0.0))
    after = dict(arrays_in(bandit._record.state))
    assert before.keys() == after.keys()
    for path, array in before.items():
        assert after[path].shape in (array.shape, (*array.shape[:-1], 5)), path
        old = after[path][..., : array.shape[-1]]
        assert np.array_equal(old, array), path
    fresh = build_policy({"algorithm": name, **bandit.parameters}, Surroundings(5)).start(5)
    for path, array in arrays_in(fresh):
        if array.shape == (5,) and path not in (".index.logs", ".index.losses", ".hold.times", ".fairness.caps.rounds"):
            assert after[path][4] == array[4], path
    assert bandit._record.state.begun.rounds.tolist() == [0.0] * 4 + [float(rounds)]
    assert through_json(bandit).dump() == bandit.dump()
    for _ in live(bandit, world, 400 - rounds, 100.0):
        pass
    assert bandit._record.state.tally.pulls[4] > 0
    assert bandit._record.state.tally.pulls.sum() == 400


def test_a_new_arm_of_exponential_weights_gets_an_even_share() -> None:
    """It begins with the mean weight, so that its share is (1 − γ)/(K + 1) + γ/(K + 1)."""
    bandit = Bandit(["a", "b", "c"], "exp3", horizon=200, mixing=0.3, seed=1)
    for _ in range(100):
        choice = bandit.decide()
        bandit.observe(choice.id, {choice.names[0]: float(choice.names[0] == "a")})
    choice = bandit.decide(available=["b"])
    bandit.observe(choice.id, {"b": 0.0})  # nothing is left to be settled
    choice = bandit.decide(propensities=True)
    assert propensities(choice)["a"] > 0.7  # one arm is far ahead
    bandit.observe(choice.id, {choice.names[0]: 0.0})
    bandit.add("d")
    assert propensities(bandit.decide(propensities=True))["d"] == pytest.approx(0.25)


def test_holds_go_on_growing_when_an_arm_comes() -> None:
    """The k-th choice of ARS-EXP3 lasts ⌊√k⌋ rounds, whichever arm is chosen."""
    bandit, ends = bandit_of("ars_exp3"), list(itertools.accumulate(math.isqrt(k) for k in range(1, 120)))
    begins = {1, *(end + 1 for end in ends)}
    for round in range(1, ends[-1]):
        holds = bandit._record.state.hold.times.max()
        bandit.decide()
        assert (bandit._record.state.hold.times.max() > holds) == (round in begins)
        if round == 150:
            bandit.add("white")


def test_a_held_arm_that_retires_plays_no_more() -> None:
    bandit = bandit_of("ars_ucb")
    for _ in range(200):
        choice = bandit.decide()
        bandit.observe(choice.id, {choice.names[0]: 0.5})
    held = choice.names[0]
    bandit.retire(held)
    assert all(bandit.decide().names != (held,) for _ in range(50))
    assert held not in propensities(bandit.decide(propensities=True))


def test_a_retired_arm_still_takes_rewards() -> None:
    bandit = bandit_of("ucb1")
    choice = bandit.decide()
    bandit.retire(choice.names[0])
    assert bandit.observe(choice.id, {choice.names[0]: 1.0}) == {choice.names[0]: "accepted"}
    assert bandit._record.state.tally.rewards[0] == 1.0


# --- Everything at random ---------------------------------------------------------------------------------------------


@dataclass
class Play:
    """An arm's part in a decision, as the independent bookkeeping sees it."""

    decision: str
    arm: str
    time: float
    reward: float | None = None
    status: str = "pending"  # or received, lost, late


@dataclass
class MetricRecorder:
    """A plain bookkeeping: a list of plays, and of who was available in each round."""

    window: float | None
    plays: list[Play] = field(default_factory=list)
    rounds: list[list[str]] = field(default_factory=list)
    played: list[tuple[str, ...]] = field(default_factory=list)
    promises: dict[str, tuple[float, int]] = field(default_factory=dict)  # share, since
    worst: dict[str, float] = field(default_factory=dict)
    carried: dict[str, Fraction] = field(default_factory=dict)  # owed when the promise began, or while it rests
    lapsed: dict[str, Fraction] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)  # rounds before

    def expire(self, now: float) -> None:
        for play in self.plays:
            if play.status == "pending" and self.window is not None and play.time + self.window <= now:
                play.status = "lost"

    def deficit(self, arm: str) -> Fraction:
        share, since = self.promises[arm]
        carried = self.carried.get(arm, Fraction(0))
        if not share:
            return carried
        due = round(Fraction(share) * (len(self.rounds) - since) * 10**9)
        return carried + Fraction(due, 10**9) - sum(arm in arms for arms in self.played[since:])

    def begin(self, arm: str, share: float, most: float) -> None:
        """A new promise; what is owed goes on, and so do the plays ahead that one decision can give."""
        owed = self.deficit(arm) if arm in self.promises else Fraction(0)
        if arm not in self.promises:
            self.added[arm] = len(self.rounds)
        self.ended[arm] = self.ended.get(arm, 0) + bool(arm in self.promises and self.promises[arm][0])
        self.carried[arm] = max(owed, -Fraction(most))
        self.lapsed[arm] = self.lapsed.get(arm, Fraction(0)) + self.carried[arm] - owed
        self.promises[arm] = (share, len(self.rounds))

    def enter(self, decision: str, arms: tuple[str, ...], available: list[str], now: float) -> None:
        self.plays += [Play(decision, arm, now) for arm in arms]
        self.rounds.append(available)
        self.played.append(arms)
        for arm, (share, since) in self.promises.items():
            if share and len(self.rounds) > since:
                self.worst[arm] = max(self.worst.get(arm, -math.inf), float(self.deficit(arm)))


class Life(RuleBasedStateMachine):
    """Any sequence of operations, beside a plain bookkeeping."""

    @initialize(
        name=st.sampled_from(["fucb", "tscsf_b", "ars_fucb", "f_ts", "op_fcts_d", "lfg"]),
        window=st.sampled_from([None, 3.0]),
        missing=st.sampled_from(["lost", "zero"]),
        plays=st.integers(1, 2),
    )
    def begin(self, name: str, window: float | None, missing: str, plays: int) -> None:
        plays = plays if name in SEVERAL else 1
        missing = "never" if window is None else missing
        self.bandit = bandit_of(name, plays, window=window, missing=missing)
        self.shares = "fractions" in PARAMETERS[name]
        self.now, self.recorder = 0.0, MetricRecorder(window)
        for arm, share in zip(ARMS, SHARES, strict=True):
            self.recorder.promises[arm] = (share, 0)

    def able(self) -> list[str]:
        return [arm for arm in self.bandit.names if arm not in self.bandit.retired]

    @rule(wait=st.sampled_from([0.0, 0.5, 2.0]), data=st.data())
    def decide(self, wait: float, data: st.DataObject) -> None:
        self.now += wait
        able = self.able()
        chosen = data.draw(st.none() | st.lists(st.sampled_from(able), min_size=1, unique=True))
        choice = self.bandit.decide(available=chosen, now=self.now)
        available = able if chosen is None else chosen
        assert len(choice.names) == min(self.bandit._record.plays, len(available))
        assert set(choice.names) <= set(available)
        self.recorder.expire(self.now)
        self.recorder.enter(choice.id, choice.names, available, self.now)

    @precondition(lambda self: self.recorder.plays)
    @rule(data=st.data(), reward=st.sampled_from([0.0, 1.0, 0.25]))
    def report(self, data: st.DataObject, reward: float) -> None:
        play = data.draw(st.sampled_from(self.recorder.plays))
        self.recorder.expire(self.now)
        if play.reward is not None and play.reward != reward:
            before = self.bandit.dump()
            with pytest.raises(RewardError, match=f"decision {play.decision}, arm '{play.arm}'"):
                self.bandit.observe(play.decision, {play.arm: reward}, now=self.now)
            assert self.bandit.dump() == before
            return
        expected = "duplicate" if play.reward is not None else "late" if play.status == "lost" else "accepted"
        assert self.bandit.observe(play.decision, {play.arm: reward}, now=self.now) == {play.arm: expected}
        if expected != "duplicate":
            play.reward, play.status = reward, "late" if expected == "late" else "received"

    @rule(wait=st.sampled_from([1.0, 4.0]))
    def expire(self, wait: float) -> None:
        self.now += wait
        due = {play.decision for play in self.recorder.plays if play.status == "pending"}
        self.recorder.expire(self.now)
        still = {play.decision for play in self.recorder.plays if play.status == "pending"}
        assert set(self.bandit.expire(now=self.now)) == due - still

    @precondition(lambda self: self.able())
    @rule(data=st.data(), share=st.sampled_from([0.0, 0.1, 0.4]))
    def promise(self, data: st.DataObject, share: float) -> None:
        arm = data.draw(st.sampled_from(self.able()))
        self.attempt(
            lambda: self.bandit.promise({arm: share}, now=self.now), arm, share, refused=not self.shares, same=True
        )

    @precondition(lambda self: len(self.bandit.names) < 7)
    @rule(share=st.sampled_from([0.0, 0.1, 0.4]))
    def add(self, share: float) -> None:
        arm = f"new {len(self.bandit.names)}"
        values = {"fraction": share} if self.shares else {}
        self.attempt(lambda: self.bandit.add(arm, now=self.now, **values), arm, share)

    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        arm = data.draw(st.sampled_from(self.able()))
        self.attempt(
            lambda: self.bandit.retire(arm, now=self.now),
            arm,
            0.0,
            refused=len(self.able()) <= self.bandit._record.plays,
        )

    @precondition(lambda self: self.bandit.retired)
    @rule(data=st.data(), share=st.sampled_from([0.0, 0.1, 0.4]))
    def bring_back(self, data: st.DataObject, share: float) -> None:
        arm = data.draw(st.sampled_from(sorted(self.bandit.retired)))
        fraction = share if self.shares else 0.0
        self.attempt(lambda: self.bandit.bring_back(arm, fraction, now=self.now), arm, fraction)

    def attempt(
        self, act: Callable[[], object], arm: str, share: float, refused: bool = False, same: bool = False
    ) -> None:
        """A change that happens, or is refused and changes nothing."""
        total = share + sum(r for other, (r, _) in self.recorder.promises.items() if other != arm)
        refused = refused or (self.shares and total > self.bandit._record.plays + 1e-9)
        before, version = self.bandit.dump(), self.bandit.version
        most = self.bandit._record.policy.hold.longest(self.bandit.round + 1)
        if refused:
            with pytest.raises(EvenhandError):
                act()
            assert self.bandit.dump() == before
        else:
            kept = act() == ()
            assert kept == (same and self.recorder.promises[arm][0] == share)
            assert self.bandit.version == version + (not kept)
            if kept:
                assert self.bandit.dump() == before
            else:
                self.recorder.begin(arm, share, most)

    @rule()
    def save_and_load(self) -> None:
        self.bandit = through_json(self.bandit)

    @invariant()
    def the_record_agrees(self) -> None:
        tally, zero = self.bandit._record.state.tally, self.bandit._record.missing == "zero"
        assert (tally.received <= tally.pulls).all()
        audit, recorder = self.bandit.audit(now=self.now), self.recorder
        json.dumps(audit.to_json(), allow_nan=False)
        for line in audit.lines:
            plays = [play for play in recorder.plays if play.arm == line.arm]
            of = {status: [play for play in plays if play.status == status] for status in ("pending", "received")}
            lost = [play for play in plays if play.status in ("lost", "late")]
            known = [play.reward for play in of["received"]] + [0.0] * (len(lost) * zero)
            share, since = recorder.promises[line.arm]
            assert (line.pending, line.received) == (len(of["pending"]), len(of["received"]))
            assert (line.lost, line.late) == (len(lost), sum(play.status == "late" for play in plays))
            assert line.all_plays == len(plays) == line.pending + line.received + line.lost
            assert (line.since, line.rounds) == (since, len(recorder.rounds) - since)
            assert line.plays == sum(line.arm in arms for arms in recorder.played[since:])
            seen = recorder.rounds[recorder.added.get(line.arm, 0) :]
            present = sum(line.arm in available for available in seen)
            assert line.available == (pytest.approx(present / len(seen)) if seen else None)
            if self.shares:
                worst, owed = recorder.worst.get(line.arm), recorder.deficit(line.arm)
                assert line.promises == recorder.ended.get(line.arm, 0)
                assert line.lapsed == float(recorder.lapsed.get(line.arm, 0))
                assert (line.deficit or 0.0) == float(owed)
                if share:
                    assert line.worst == (None if worst is None else pytest.approx(worst, abs=1e-8))
            assert line.estimate == (pytest.approx(sum(r or 0.0 for r in known) / len(known)) if known else None)
            learned = len(of["received"]) + len(lost) * zero
            assert tally.received[self.bandit.names.index(line.arm)] == learned


Life.TestCase.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)
TestLife = Life.TestCase


# --- What a bandit shows ----------------------------------------------------------------------------------------------

PUBLIC = {
    "names", "retired", "parameters", "round", "version",
    "decide", "decide_many", "observe", "observe_total", "due", "expire", "lease", "report", "learn",
    "change", "plan", "add", "retire", "bring_back", "rename", "promise",
    "audit", "health", "differences", "stopping", "save_report", "dump", "restored", "save", "load",
}  # fmt: skip


def test_a_bandit_shows_what_its_users_need() -> None:
    """What else it remembers is its record's."""
    shown = {name for name in dir(Bandit(ARMS, "ucb1")) if not name.startswith("_")}
    assert shown == PUBLIC


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in ("ars_clw", "clw")])
def test_a_policy_is_taken_as_its_algorithm_is(name: str) -> None:
    """It decides the same, and is saved and loaded."""
    policy = build_policy({"algorithm": name} | PARAMETERS[name], Surroundings(len(ARMS), names=ARMS))
    by_name, by_policy = Bandit(ARMS, {"algorithm": name, **PARAMETERS[name]}, seed=5), Bandit(ARMS, policy, seed=5)
    promised = [np.zeros(4) if one._record.fractions is None else one._record.fractions for one in (by_name, by_policy)]
    np.testing.assert_array_equal(promised[0], promised[1])
    for round in range(1, 30):
        decision, other = by_name.decide(now=0.0), by_policy.decide(now=0.0)
        assert decision == other
        for bandit in (by_name, by_policy):
            bandit.observe(str(round), {decision.names[0]: float(round % 3 == 0)})
    again = Bandit.restored(json.loads(json.dumps(by_policy.dump())))
    assert again.decide(now=0.0) == by_policy.decide(now=0.0)


def test_a_policy_says_how_many_play_and_has_its_values_itself() -> None:
    bandit = Bandit(ARMS[:2], fucb(0.2, plays=2))
    assert len(bandit.decide().names) == 2
    bandit.add("blue", fraction=0.3)
    assert bandit.parameters == {"fractions": [0.2, 0.2, 0.3]}
    with pytest.raises(EvenhandError, match="plays = 3, but the policy plays 2; leave plays out"):
        Bandit(ARMS, fucb(0.2, plays=2), plays=3)
    with pytest.raises(EvenhandError, match="a policy has its parameters itself; leave out fractions"):
        Bandit(ARMS, fucb(0.2), fractions=0.2)
    with pytest.raises(EvenhandError, match="fractions has 2 entries, but there are 4 arms"):
        Bandit(ARMS, fucb([0.2, 0.2]))


# --- Memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fucb", "thompson", "ars_clw"])
def test_memory_stays_flat(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two rounds at which everything that is kept for a while is as full: the deficit history has 255 points
    after 255 times a power of 2. Whatever was kept of every decision would take at least the 8 bytes of a place in a
    list."""
    monkeypatch.setattr(pending, "REMEMBERED", 300)
    bandit, first, last = bandit_of(name, window=50.0, missing="lost"), 255 * 8, 255 * 64
    tracemalloc.start()

    def memory_after(rounds: int) -> tuple[int, int]:
        while bandit._record.state.round < rounds:
            now = float(bandit._record.state.round)
            choice = bandit.decide(available=None if bandit._record.state.round % 3 else ["red", "blue"], now=now)
            if bandit._record.state.round % 4:  # the others expire
                bandit.observe(choice.id, {choice.names[0]: float(bandit._record.state.round % 2)}, now=now)
            if bandit._record.state.round % 500 == 0:
                bandit.audit(now=now).to_json()
        size = len(json.dumps(bandit.dump()))
        gc.collect()
        return tracemalloc.get_traced_memory()[0], size

    memory_after(first - 1)  # whatever is set up when it is first asked for
    (memory, size), (grown, longer) = memory_after(first), memory_after(last)
    tracemalloc.stop()
    assert len(bandit._record.pending.settled) == 300
    assert len(bandit._record.pending.waiting) <= 50
    assert grown - memory < 4 * (last - first)  # half of that
    assert longer - size < last - first  # a digit and a comma of every decision would be twice as much


def test_it_is_shown_by_what_it_is() -> None:
    bandit = Bandit(["tea", "coffee"], "fucb", fractions=0.1)
    assert repr(bandit) == "<Bandit of fucb: 2 arms, 0 rounds>"
    bandit.decide()
    assert repr(bandit) == "<Bandit of fucb: 2 arms, 1 round>"


def test_many_arms_are_cheap_to_ask_for() -> None:
    """Nothing is done an arm in Python: names are put together when asked for."""
    arms = [f"arm {place}" for place in range(50_000)]
    bandit = Bandit(arms, "fucb", fractions=dict.fromkeys(arms, 1e-5))
    assert bandit.decide().propensities is None
    choice = bandit.decide(propensities=True)
    assert len(propensities(choice)) == 50_000
    assert propensities(choice)["arm 1"] == 1.0
    with pytest.raises(EvenhandError, match=r"there is no arm 'arm x'$"):
        bandit.decide(available=["arm x"])


# --- Odd input --------------------------------------------------------------------------------------------------------

ODD: list[tuple[dict[str, Any], str]] = [
    ({"arms": None}, "must be a list of names"),
    ({"arms": "tea"}, "must be a list of names"),
    ({"arms": []}, "at least one arm"),
    ({"arms": ["a", "a"]}, "2 arms have the name 'a'"),
    ({"arms": [1, 2]}, "must be a string"),
    ({"arms": ["a", " "]}, "not blank"),
    ({"arms": ["a", "b "]}, "white space"),
    ({"arms": ["a", "b\ud800"]}, "encodable as UTF-8"),
    ({"algorithm": ["fucb"]}, "must be a policy such as .*, the name of an algorithm"),
    ({"algorithm": "fucbb"}, "did you mean 'fucb'"),
    ({"plays": 0}, "at least 1"),
    ({"plays": "2"}, "must be a whole number"),
    ({"plays": 3}, "only 2 arms"),
    ({"seed": -1}, "at least 0"),
    ({"seed": None}, "whole number"),
    ({"window": 0.0}, "above 0"),
    ({"window": math.inf}, "must be a number"),
    ({"window": "day"}, "must be a number"),
    ({"missing": "none"}, "'lost' or 'zero'"),
    ({"rewards": (1.0, 0.0)}, "a smaller and a larger"),
    ({"rewards": (0.0,)}, "smallest and the largest"),
    ({"rewards": (0.0, math.nan)}, "smallest and the largest"),
    ({"rewards": 1.0}, "smallest and the largest"),
    ({"rewards": None}, "give the smallest and the largest reward"),
    ({"rewards": (-1e308, 1e308)}, "too wide"),
    ({"rewards": (1.0, 5.0), "missing": "zero", "window": 60.0}, r"extend rewards to 0, or use missing='lost'"),
    ({"fractions": [0.1]}, "1 entry, but there are 2 arms"),
    ({"fractions": {"c": 0.1}}, "unknown arm 'c'"),
    ({"fractions": {"a": "x"}}, r"fractions\.a must be a number"),
    ({"fractions": {"a": None}}, r"fractions\.a must be a number"),
    ({"fractions": [0.1, True]}, r"fractions\.b must be a number"),
    ({"fractions": [math.nan, 0.1]}, r"fractions\.a must be a finite number"),
    ({"fractions": [[0.1, 0.1]]}, "fractions has 1 entry, but there are 2 arms"),
    ({"fractions": {0.1, 0.2}}, "one per arm"),
    ({"fractions": 0.7}, "0.4 too much"),
    ({"fractions": [0.7, 0.5]}, "0.2 too much"),
    ({"tolerence": 1.0}, "did you mean 'tolerance'"),
]


@pytest.mark.parametrize(("odd", "words"), ODD)
def test_odd_parameters_are_refused(odd: dict[str, Any], words: str) -> None:
    arguments = {"arms": ["a", "b"], "algorithm": "fucb", "fractions": [0.1, 0.1]} | odd
    with pytest.raises(EvenhandError, match=words):
        Bandit(**arguments)


@pytest.mark.parametrize("available", ["a", 5, [], {}, ["z"], ["a", "a"], [["a"]], [None], [1], [True, False]])
def test_odd_availability_is_refused(available: Any) -> None:
    bandit = Bandit(["a", "b"], "thompson")
    before = bandit.dump()
    with pytest.raises(EvenhandError):
        bandit.decide(available=available)
    assert bandit.dump() == before


@pytest.mark.parametrize("now", ["x", math.nan, math.inf, True])
def test_odd_times_are_refused(now: Any) -> None:
    bandit = Bandit(["a", "b"], "thompson")
    before = bandit.dump()
    with pytest.raises(EvenhandError, match="now must be"):
        bandit.decide(now=now)
    assert bandit.dump() == before


@pytest.mark.parametrize("available", [("a",), {"a"}, np.array(["a"]), {"a": 1}, iter(["a"])])
def test_any_collection_of_names_will_do(available: Any) -> None:
    choice = Bandit(["a", "b"], "ucb1").decide(available=available)
    assert choice.names == ("a",)


def test_unknown_terms_of_a_change_name_the_known_ones() -> None:
    bandit = Bandit(["tea", "coffee", "mate"], "fucb", fractions=[0.1, 0.2, 0.1])
    with pytest.raises(EvenhandError, match="unknown 'debts'; did you mean 'debt'"):
        bandit.promise({"tea": 0.2}, debts="forgive")
    bandit.retire("mate")
    with pytest.raises(EvenhandError, match="unknown 'resn'; did you mean 'reason'"):
        bandit.bring_back("mate", resn="more")
    bandit.bring_back("mate", 0.1, debt="forgive", reason="a new season")
    assert bandit.names == ("tea", "coffee", "mate")


@pytest.mark.parametrize("method", [Bandit.promise, Bandit.bring_back])
def test_help_lists_what_can_become_of_debt(method: Any) -> None:
    assert not [one for one in get_args(Debt) if f'"{one}"' not in method.__doc__]


def test_a_change_is_given_as_a_record_or_by_its_table() -> None:
    bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.1, 0.2])
    table = {"change": "promise", "fractions": {"tea": 0.3}, "reason": "as agreed"}
    assert bandit.plan(table).begins == ("tea",)
    assert bandit.change(table) == ("tea",)
    assert bandit.audit().changes_made[-1].reason == "as agreed"
    with pytest.raises(EvenhandError, match=r"a change must be a record of evenhand.changes, .* got 'promise'"):
        bandit.change("promise")  # type: ignore[arg-type]
    with pytest.raises(EvenhandError, match=r"unknown 'fraction'; did you mean 'fractions'\?"):
        bandit.plan({"change": "promise", "fraction": {"tea": 0.3}})
