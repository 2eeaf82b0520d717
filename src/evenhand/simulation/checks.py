"""Checks of policies and environments, for parts of your own: the rules that everything else relies on.

`check_environment` and `evenhand.bandit.checks.check_policy` raise ``AssertionError`` with the rule that is broken.
``POLICY_CHECKS`` and ``ENVIRONMENT_CHECKS`` list the single checks, to be run one by one:
``@pytest.mark.parametrize("check", POLICY_CHECKS)``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from inspect import isfunction
from typing import Any, TypeVar

import numpy as np

from evenhand.core.errors import EvenhandError, StateError
from evenhand.core.imports import is_own
from evenhand.core.parts import build, plain
from evenhand.core.state import (
    Array,
    Decision,
    Mask,
    Outcome,
    State,
    dump,
    each_array,
    restore,
    unkept,
)
from evenhand.environment.contexts import Normal
from evenhand.environment.feedback import Quantile
from evenhand.environment.rewards import Bernoulli
from evenhand.environment.world import Environment, EnvironmentLike, World, as_environment
from evenhand.policy.composition import Policy, parts_in
from evenhand.simulation.promises import COLUMNS, heard, promise_is_kept, seen, started
from evenhand.simulation.simulate import compare, without_lanes

LANES, ROUNDS = 3, 60
SEEDS, LEVELS = 4, 60  # generators beside each other; delays of each arm
NEAR = 1e-9  # by which rounding may take a reward beyond its range
T = TypeVar("T")


def check_environment(environment: EnvironmentLike, horizon: int = ROUNDS) -> None:
    """Run every check of `ENVIRONMENT_CHECKS` on an environment.

    Args:
        environment: any rewards, availability and feedback, or the table of one.
        horizon: rounds to try; no more than its log holds.

    Raises:
        AssertionError: a rule is broken; the message says which.

    Example:
        >>> from evenhand import Environment, check_environment
        >>> from evenhand.rewards import Bernoulli
        >>> check_environment(Environment(Bernoulli([0.9, 0.5])))
    """
    world = as_environment(environment)
    for check in ENVIRONMENT_CHECKS:
        check(world, horizon)


def lanes_are_remembered(policy: Policy, arms: int) -> None:
    """What a part remembers has an axis for the lanes, the first."""
    fault = without_lanes(policy, started(policy, arms, arms + 1))
    assert not fault, fault


def members_are_asked(policy: Policy, arms: int) -> None:
    """No method of a part of one's own has nearly the name of one that is asked for, and is never asked itself."""
    for kind in dict.fromkeys(type(one) for one in parts_in(policy) if is_own(one)):
        members = {name for base in kind.__mro__[1:] for name in vars(base) if not name.startswith("_")}
        for name in [name for name, value in vars(kind).items() if isfunction(value) and name[0] != "_"]:
            # one that the class defines beside it is asked, and may ask this one in turn
            meant = [] if name in members else get_close_matches(name, members - set(vars(kind)), n=1, cutoff=0.85)
            assert not meant, f"{kind.__name__}.{name} is never asked; did you mean {meant[0]!r}?"


def memories_can_be_saved(policy: Policy, arms: int) -> None:
    """What a part remembers are arrays, texts and finite numbers, each of the kind that it began with."""
    first, state, rng = started(policy, arms, LANES), started(policy, arms, LANES), np.random.default_rng(1)
    for _ in range(ROUNDS):
        _play(policy, state, rng, rng)
    kept = {slot: one for slot, one in policy.parts.items() if not one.traits.offline}
    faults = [unkept(one, getattr(first, slot), getattr(state, slot)) for slot, one in kept.items()]
    assert not any(faults), "; ".join(filter(None, faults))


def decisions_are_sound(policy: Policy, arms: int) -> None:
    """Only available arms play, as many as can up to m, and the rounds count up from 1."""
    for place, (decision, _) in enumerate(_trial(policy, arms, asleep=True)):
        assert decision.round == place + 1, f"round {place + 1} is numbered {decision.round}"
        assert decision.played.dtype == np.bool_, f"played is {decision.played.dtype}, not bool"
        assert decision.played.shape == (LANES, arms), f"played has shape {decision.played.shape}"
        assert decision.available is not None
        held = "" if policy.hold.traits.idle else f": {type(policy.hold).__name__} may hold available arms only"
        assert not (decision.played & ~decision.available).any(), f"an arm plays that is not available{held}"
        expected = np.minimum(policy.plays, decision.available.sum(axis=-1))
        assert (decision.played.sum(axis=-1) == expected).all(), "not as many arms play as can"


def choosing_changes_nothing(policy: Policy, arms: int) -> None:
    """`Policy.choose` leaves the state as it is; applying its decision gives the state that `Policy.decide` gives."""
    state, rng, world = started(policy, arms, LANES), np.random.default_rng(1), np.random.default_rng(2)
    copy = started(policy, arms, LANES)
    for _ in range(ROUNDS):
        observation = seen(policy, state, world, _available(world, arms))
        rewards = world.random((LANES, arms))
        twin = np.random.default_rng()
        twin.bit_generator.state = rng.bit_generator.state
        before = _written(state)
        chosen = policy.choose(state, observation, rng)
        assert _written(state) == before, f"round {chosen.round}: choosing changes the state"
        policy.apply(state, chosen)
        decided = policy.decide(copy, observation, twin)
        assert (chosen.played == decided.played).all(), f"round {decided.round}: choose and decide differ"
        assert _written(state) == _written(copy), f"round {decided.round}: apply and decide give different states"
        for one, its_rng in ((state, rng), (copy, twin)):
            policy.observe(one, heard(chosen, rewards * chosen.played), its_rng)


def scores_are_sound(policy: Policy, arms: int) -> None:
    """The index gives every arm a number, and the fairness part every arm a score and a priority; none is NaN."""
    rng = np.random.default_rng(9)
    for state in _states(policy, arms):
        score = policy.index.score(state, seen(policy, state, rng), rng)
        claim = policy.fairness.claim(score, state)
        given = {"score": score, "claim": claim.score, "priority": claim.priority}
        for name, values in given.items():
            where = f"after round {state.round}: the {name}"
            if values is not None:
                assert np.shape(values) == (LANES, arms), f"{where} has shape {np.shape(values)}, not {(LANES, arms)}"
                assert not np.isnan(values).any(), f"{where} of an arm is NaN"


def probabilities_are_sound(policy: Policy, arms: int) -> None:
    """Inclusion probabilities and propensities are in [0, 1], sum to the number of arms played, and are above 0 for the
    arms played; they are equal where chance decides in the selection only."""
    for asleep in (False, True):
        for decision, _ in _trial(policy, arms, asleep):
            _check_chance(np.asarray(decision.inclusion, dtype=float), decision.played)
            if decision.propensities is None:
                continue
            if not policy.draws:
                same = np.array_equal(decision.propensities, decision.inclusion)
                assert same, "propensities differ from the inclusion"
            _check_chance(np.asarray(decision.propensities, dtype=float), decision.played)


def _check_chance(chance: Array, played: Mask) -> None:
    """Probabilities with which arms were selected."""
    assert chance.shape == played.shape, f"the inclusion probabilities have shape {chance.shape}"
    assert (chance >= 0).all(), "a probability is negative"
    assert (chance <= 1 + 1e-12).all(), "a probability exceeds 1"
    assert np.allclose(chance.sum(axis=-1), played.sum(axis=-1)), "the probabilities do not sum to the arms played"
    assert (chance[played] > 0).all(), "an arm of probability 0 plays"


def tallies_are_sound(policy: Policy, arms: int) -> None:
    """Pulls count the plays, and no more rewards are received than arms were pulled."""
    pulls = np.zeros((LANES, arms))
    for decision, state in _trial(policy, arms, asleep=True):
        pulls += decision.played
        assert (state.tally.pulls == pulls).all(), "the pulls in the state are not the plays"
        assert (state.tally.received <= state.tally.pulls).all(), "more rewards were received than arms were pulled"


def one_lane_is_any_lane(policy: Policy, arms: int) -> None:
    """Without a lane axis a policy decides as it does with one lane."""
    single, lane = started(policy, arms, None), started(policy, arms, 1)
    rng_single, rng_lane, world = (np.random.default_rng(seed) for seed in (5, 5, 6))
    for _ in range(ROUNDS):
        rewards, available = world.random(arms) < 0.5, world.random(arms) < 0.8
        one = seen(policy, single, world, available)
        a = policy.decide(single, one, rng_single)
        b = policy.decide(lane, each_array(one, lambda array: array[np.newaxis]), rng_lane)
        assert (a.played == b.played[0]).all(), f"round {a.round}: a single decision differs from a lane's"
        policy.observe(single, heard(a, rewards * a.played), rng_single)
        policy.observe(lane, heard(b, rewards * b.played), rng_lane)


def saved_state_continues(policy: Policy, arms: int) -> None:
    """A state that went through JSON continues exactly as the state itself, with a policy built from its plain form
    where its parts are registered.

    Where it goes by features, its scores are those of the state to nine digits, as what is solved from the sums is not
    saved, and it continues exactly as another copy.
    """
    state, rng = started(policy, arms, LANES), np.random.default_rng(3)
    world = np.random.default_rng(4)
    _play(policy, state, rng, world)
    written = json.loads(json.dumps(dump(state)))
    copy = restore(started(policy, arms, LANES), written)
    if policy.contextual:
        observation = seen(policy, state, np.random.default_rng(5))
        mine, theirs = (policy.index.score(each, observation, np.random.default_rng(6)) for each in (state, copy))
        assert np.allclose(mine, theirs, rtol=1e-9, atol=1e-12), "the scores of the saved state are others"
        state = restore(started(policy, arms, LANES), written)
    again = _rebuilt("policy", policy)
    rng_copy, world_copy = np.random.default_rng(), np.random.default_rng()
    rng_copy.bit_generator.state = json.loads(json.dumps(rng.bit_generator.state))
    world_copy.bit_generator.state = world.bit_generator.state
    for _ in range(ROUNDS):
        one, other = _play(policy, state, rng, world), _play(again, copy, rng_copy, world_copy)
        assert (one.played == other.played).all(), f"round {one.round}: the saved state continues differently"


def same_seed_same_run(policy: Policy, arms: int) -> None:
    """The same seed gives the same run, with any other policies beside and any number of processes."""
    contexts = Normal(COLUMNS[0] - 1, COLUMNS[1]) if policy.contextual else None
    world = Environment(Bernoulli(np.linspace(0.2, 0.8, arms)), contexts=contexts)
    alone = compare({"a": policy}, world, ROUNDS, LANES, seed=11, checkpoints=4, progress=False)
    other = compare({"b": Policy(), "a": policy}, world, ROUNDS, LANES, seed=11, checkpoints=4, jobs=2, progress=False)
    assert (alone.policies["a"].pulls == other.policies["a"].pulls).all(), "the same seed gives another run"


def chance_is_declared(policy: Policy, arms: int) -> None:
    """The same state and observation give the same scores, holds and probabilities of selection, whatever the generator
    draws, where no part says that it draws: propensities rest on that."""
    world, remedy = np.random.default_rng(9), "set traits = Traits(random=True) in the class"
    index, hold, selection = (type(one).__name__ for one in (policy.index, policy.hold, policy.selection))
    for state in _states(policy, arms):
        observation = seen(policy, state, world, _available(world, arms))
        where, rngs = f"after round {state.round}:", _generators(state)
        scores = [policy.index.score(state, observation, rng) for rng in rngs]
        fixed = policy.index.traits.random or _equal(scores)
        assert fixed, f"{where} {index}.score draws from rng, and the index does not declare it: {remedy}"
        held = [policy.hold.continued(state, observation, rng)[0] for rng in _generators(state)]
        fixed = policy.hold.traits.random or _equal(held)
        assert fixed, f"{where} {hold}.continued draws from rng, and the hold does not declare it: {remedy}"
        shares = [policy.rounds.selected(scores[0], state, observation, rng)[1] for rng in _generators(state)]
        assert _equal(shares), (
            f"{where} the probabilities that {selection}.select returns depend on what it draws from rng: return for "
            "every arm, drawn or not, the probability with which it is drawn"
        )


def draws_fit(environment: Environment, horizon: int) -> None:
    """What is drawn has an entry for every round, lane and arm, and contexts have the columns that they declare."""
    drawn = _world(environment, horizon).strands[0].draw(0, horizon)
    lanes, columns = (horizon, LANES), environment.widths or (0, 0)
    whole, each = (*lanes, environment.arms), (*lanes, environment.arms, columns[1])
    names = "rewards", "availability", "chance of the feedback", "means", "situation", "features of the arms"
    for name, given, shape in zip(names, drawn, (whole, whole, whole, whole, (*lanes, columns[0]), each), strict=True):
        found = np.asarray(given).shape
        fits = found == shape or (given is None and name != "rewards")
        assert fits, f"the {name}: what is drawn has the shape {found}, not {shape}"


def same_world_for_all(environment: Environment, horizon: int) -> None:
    """The same seed gives every policy the same rewards and availability, whatever it plays."""
    first, second = (_world(environment, horizon) for _ in range(2))
    rng = np.random.default_rng(0)
    for round in range(1, horizon + 1):
        one, two = first.observe().available, second.observe().available
        assert (one is None) == (two is None), "arms are available to one policy only"
        if one is not None and two is not None:
            assert (one == two).all(), "availability differs between policies"
        every, some = _all_awake(environment, one), rng.random((LANES, environment.arms)) < 0.5
        some &= every
        earned = [
            np.asarray(world.step(_decided(round, played, one)).earned)
            for world, played in ((first, every), (second, some))
        ]
        assert np.array_equal(earned[0][some], earned[1][some], equal_nan=True), "rewards depend on what is played"


def rewards_are_sound(environment: Environment, horizon: int) -> None:
    """Rewards are finite, within the range that the environment states, and 0 for arms that do not play."""
    low, high = environment.range or (-np.inf, np.inf)
    means = np.ravel(environment.means)
    assert np.isfinite(means).all(), "a mean is not finite"
    assert ((means >= low - NEAR) & (means <= high + NEAR)).all(), f"a mean is not between {low:g} and {high:g}"
    for _, played, outcome in _rounds(environment, horizon):
        earned = np.asarray(outcome.earned, dtype=float)
        assert np.isfinite(earned).all(), "a reward is not finite"
        outside = earned[played & ((earned < low - NEAR) | (earned > high + NEAR))]
        assert not outside.size, (
            f"a reward is {outside[0]:g}, outside the range from {low:g} to {high:g} that is stated"
        )
        assert (earned[~played] == 0).all(), "an arm earns without playing"


def feedback_is_sound(environment: Environment, horizon: int) -> None:
    """No feedback arrives for what was not played, and none arrives twice."""
    pulls, received = np.zeros((LANES, environment.arms)), np.zeros((LANES, environment.arms))
    for _, played, outcome in _rounds(environment, horizon):
        pulls += played
        received += outcome.feedback.received
        assert (received <= pulls).all(), "more rewards arrived than arms were played"


def delays_are_declared(environment: Environment, horizon: int) -> None:
    """Delays follow from the level, the arm and the reward alone; from the reward only where the traits declare it."""
    model = environment.feedback
    quantile: Quantile | None = getattr(model, "quantile", None)
    if quantile is None:
        return
    arms = np.tile(np.arange(environment.arms), LEVELS)
    level = np.random.default_rng(0).random(len(arms)) * model.traits.random
    each = [np.asarray(outcome.earned, dtype=float)[played] for _, played, outcome in _rounds(environment, horizon)]
    earned = np.concatenate(each)
    between = np.quantile(earned, np.linspace(0.0, 1.0, 5), method="nearest") if earned.size else earned
    rewards = [0.0, 0.0, 1.0, *between.tolist()]
    delays = [np.asarray(quantile(level, arms, np.full(len(arms), reward)), dtype=float) for reward in rewards]
    name = f"{type(model).__name__}.quantile"
    same = np.array_equal(delays[0], delays[1], equal_nan=True)
    assert same, f"{name} gives other delays for the same levels: chance may enter by the level only"
    for reward, late in zip(rewards, delays, strict=True):
        if not model.traits.biased and not np.array_equal(delays[0], late, equal_nan=True):
            raise AssertionError(
                f"{name} gives other delays for a reward of {reward:g} than for one of 0, and does not declare it: set "
                f"traits = FeedbackTraits(random={model.traits.random}, biased=True) in the class; otherwise its "
                "`quantiles`, and the shares of the rewards that are known by a round, are those of a reward of 0"
            )


def plain_form_is_whole(environment: Environment, horizon: int) -> None:
    """An environment built from its plain form gives the same rewards and feedback, if its parts are registered."""
    pairs = zip(_rounds(environment, horizon), _rounds(_rebuilt("environment", environment), horizon), strict=True)
    for (_, _, one), (_, _, other) in pairs:
        assert np.array_equal(one.earned, other.earned), "the rebuilt environment gives other rewards"
        assert np.array_equal(one.feedback.rewards, other.feedback.rewards), (
            "the rebuilt environment gives other feedback"
        )


#: The checks of a policy in simulations, to be run one by one.
POLICY_CHECKS: tuple[Callable[[Policy, int], None], ...] = (
    members_are_asked,
    lanes_are_remembered,
    memories_can_be_saved,
    decisions_are_sound,
    choosing_changes_nothing,
    scores_are_sound,
    probabilities_are_sound,
    tallies_are_sound,
    one_lane_is_any_lane,
    saved_state_continues,
    same_seed_same_run,
    chance_is_declared,
    promise_is_kept,
)
#: The checks of `check_environment`, to be run one by one.
ENVIRONMENT_CHECKS: tuple[Callable[[Environment, int], None], ...] = (
    draws_fit,
    same_world_for_all,
    rewards_are_sound,
    feedback_is_sound,
    delays_are_declared,
    plain_form_is_whole,
)


def _states(policy: Policy, arms: int) -> list[State]:
    """The states before the first round and after each; none of a schedule that asks no other part."""
    if policy.schedule.traits.alone:
        return []
    return [started(policy, arms, LANES), *(state for _, state in _trial(policy, arms, asleep=False))]


def _generators(state: State) -> list[np.random.Generator]:
    return [np.random.default_rng((seed, state.round)) for seed in range(SEEDS)]


def _equal(given: list[Any]) -> bool:
    return all(one is given[0] or np.array_equal(one, given[0], equal_nan=True) for one in given)


def _trial(policy: Policy, arms: int, asleep: bool) -> list[tuple[Decision, State]]:
    state, rng, world = started(policy, arms, LANES), np.random.default_rng(1), np.random.default_rng(2)
    trial = []
    for _ in range(ROUNDS):
        decision = _play(policy, state, rng, world, asleep)
        trial.append((decision, each_array(state, np.copy)))
    return trial


def _play(
    policy: Policy, state: State, rng: np.random.Generator, world: np.random.Generator, asleep: bool = True
) -> Decision:
    """One round with rewards that are not whole numbers."""
    rewards, available = world.random((LANES, state.arms)), _available(world, state.arms)
    decision = policy.decide(state, seen(policy, state, world, available if asleep else None), rng)
    policy.observe(state, heard(decision, rewards * decision.played), rng)
    return decision


def _available(world: np.random.Generator, arms: int) -> Mask:
    """All arms, some, or none at all."""
    return np.asarray(world.random((LANES, arms)) < world.choice([0.0, 0.5, 1.0]))


def _written(state: State) -> str:
    return json.dumps(dump(state))


def _rebuilt(slot: str, whole: T) -> T:
    """The part from its plain form through JSON; the part itself where something in it is not registered."""
    try:
        table = json.loads(json.dumps(plain(whole)))
    except StateError:
        return whole
    try:
        again: T = build(slot, table)
    except EvenhandError as error:
        raise AssertionError(f"its plain form cannot be built again: {error}") from None
    assert plain(again) == plain(whole), "what is built from its plain form has another plain form"
    return again


def _world(environment: Environment, horizon: int) -> World:
    return environment.start(horizon, LANES, np.random.SeedSequence(8))


def _rounds(environment: Environment, horizon: int) -> Iterator[tuple[int, Mask, Outcome]]:
    """Round, arms played and outcome, when all available arms play."""
    world = _world(environment, horizon)
    for round in range(1, horizon + 1):
        available = world.observe().available
        played = _all_awake(environment, available)
        yield round, played, world.step(_decided(round, played, available))


def _all_awake(environment: Environment, available: Mask | None) -> Mask:
    return np.ones((LANES, environment.arms), dtype=bool) if available is None else np.array(available)


def _decided(round: int, played: Mask, available: Mask | None) -> Decision:
    return Decision(round, played, None, available, played)
