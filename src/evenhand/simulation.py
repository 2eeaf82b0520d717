"""Lanes through time: policies in an environment, the same rewards for each, in this process or several."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand import engine, validate
from evenhand.describe import types_in
from evenhand.environment import Environment
from evenhand.errors import EvenhandError
from evenhand.metrics import MEASURES, Ledger, Yardstick, yardstick
from evenhand.policy import Policy
from evenhand.records import PerLane, for_lanes
from evenhand.results import Record, Results, run_information

#: Lanes that run side by side with random streams of their own: the unit of work.
BLOCK = 1000
#: Rounds at which measures are taken, unless said otherwise.
CHECKPOINTS = 200


def simulate(
    policy: Policy,
    environment: Environment,
    horizon: int,
    lanes: int = 100,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = CHECKPOINTS,
    spacing: str = "even",
    jobs: int = 1,
    progress: bool | None = None,
) -> Results:
    """One policy in an environment; see `compare`, of which this is the case of one.

    Example:
        >>> from evenhand import simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.environment import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(fucb([0.2, 0.2]), Environment(Bernoulli([0.8, 0.2])), horizon=200, lanes=10, seed=1)
        >>> bool((results.records["fucb"].pulls[-1] >= 39).all())  # of 200 rounds, never more than one play behind
        True
    """
    label = policy.name or "policy"
    options: dict[str, Any] = {
        "checkpoints": checkpoints,
        "spacing": spacing,
        "jobs": jobs,
        "progress": progress,
    }
    return compare({label: policy}, environment, horizon, lanes, seed, **options)


def compare(
    policies: Mapping[str, Policy] | Sequence[Policy],
    environment: Environment,
    horizon: int,
    lanes: int = 100,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = CHECKPOINTS,
    spacing: str = "even",
    jobs: int = 1,
    progress: bool | None = None,
) -> Results:
    """Several policies in the same environment, facing the same rewards and availability.

    Lanes come in blocks of `BLOCK`; each block has random streams of its own, one for the policy and several for the
    environment, all spawned from the seed. So the results depend on the seed alone, not on ``jobs``. Memory grows
    with lanes × arms × checkpoints, not with the horizon.

    Args:
        policies: by label, or a list of them, labelled with their algorithm's name.
        environment: what they face.
        horizon: T ≥ 1, rounds.
        lanes: independent replications of each.
        seed: of all randomness, ≥ 0.
        checkpoints: how many rounds to look at, or which ones; the last round is always among them.
        spacing: ``"even"`` or ``"log"``, if ``checkpoints`` is a number.
        jobs: processes; −1 takes every core.
        progress: whether to show a progress bar on standard error; None for only where that is a terminal.

    Raises:
        InfeasiblePromise: a policy promises what cannot be kept; nothing has run then.
        EvenhandError: a parameter is out of range.

    Example:
        >>> from evenhand import compare
        >>> from evenhand.algorithms import fucb, ucb1
        >>> from evenhand.environment import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> world = Environment(Bernoulli([0.8, 0.2]), fractions=[0.2, 0.2])
        >>> results = compare([ucb1(), fucb([0.2, 0.2])], world, horizon=500, lanes=10, seed=1)
        >>> final = results.final()
        >>> bool(final["ucb1"]["unfairness"]["mean"] > final["fucb"]["unfairness"]["mean"])
        True
    """
    validate.whole("horizon", horizon)
    validate.whole("lanes", lanes)
    validate.whole("seed", seed, low=0)
    if validate.whole("jobs", jobs, low=-1) == 0:
        raise EvenhandError("jobs must be at least 1, or -1 for every core, got 0")
    named = _labelled(policies)
    rounds = checkpoint_rounds(horizon, checkpoints, spacing)
    _check_lanes(environment, named, lanes)
    _check_memory(len(rounds) * lanes * len(named), environment.arms)
    environment.check_horizon(horizon)
    for policy in named.values():
        policy.start(environment.arms)
    sticks = {label: yardstick(policy, environment, label) for label, policy in named.items()}
    blocks = [slice(start, min(start + BLOCK, lanes)) for start in range(0, lanes, BLOCK)]
    seeds = np.random.SeedSequence(seed).spawn(len(blocks))
    units: list[tuple[Any, ...]] = []
    for label, policy in named.items():
        for block, stream in zip(blocks, seeds, strict=True):
            cut = for_lanes(policy, block), for_lanes(environment, block), sticks[label].for_lanes(block)
            units.append((*cut, block.stop - block.start, rounds, stream))
    if jobs != 1:
        engine.carry(set().union(*(types_in(part) for part in (environment, *named.values()))))
    done = engine.run(run_block, units, [horizon] * len(units), jobs, progress)
    parts = {label: done[i * len(blocks) : (i + 1) * len(blocks)] for i, label in enumerate(named)}
    return Results(
        records={label: Record.joined(part) for label, part in parts.items()},
        rounds=rounds,
        names=environment.names,
        promised={label: stick.promised for label, stick in sticks.items()},
        information=run_information(named, environment, lanes, seed, rounds),
    )


def run_block(
    policy: Policy,
    environment: Environment,
    stick: Yardstick,
    lanes: int,
    rounds: NDArray[np.int64],
    seed: np.random.SeedSequence,
    tick: Callable[[int], None] = lambda rounds: None,
) -> Record:
    """One policy through one block of lanes."""
    outside, inside = _streams(seed)
    world = environment.start(int(rounds[-1]), lanes, outside)
    rng = np.random.default_rng(inside)
    state = policy.start(environment.arms, lanes)
    ledger = Ledger(stick, len(rounds), lanes, environment.arms)
    plays = state.tally.pulls
    if policy.cadence.free_start:
        plays = np.zeros_like(state.tally.pulls)
        state.tally.pulls += 1.0
        policy.observe(state, world.free_pull(), rng)
    start = 0
    for stop in rounds.tolist():
        for _ in range(start, stop):
            decision = policy.decide(state, rng, world.offer())
            outcome = world.play(decision)
            policy.observe(state, outcome.feedback, rng)
            if plays is not state.tally.pulls:
                plays += decision.played
            ledger.see(plays, decision, outcome)
        ledger.keep(stop, plays)
        tick(stop)
        start = stop
    with np.errstate(invalid="ignore"):
        estimate = state.tally.rewards / state.tally.received
    return Record(ledger.pulls, ledger.curves, estimate, policy.index.worth(state, rng))


def checkpoint_rounds(
    horizon: int, checkpoints: int | Sequence[int] = CHECKPOINTS, spacing: str = "even"
) -> NDArray[np.int64]:
    """The rounds at which measures are taken, (checkpoints,), rising, the last one being the horizon.

    Example:
        >>> checkpoint_rounds(1000, 4)
        array([ 250,  500,  750, 1000])
        >>> checkpoint_rounds(1000, 4, spacing="log")
        array([   1,   10,  100, 1000])
    """
    validate.one_of("spacing", spacing, ("even", "log"))
    if isinstance(checkpoints, int | np.integer):
        number = min(validate.whole("checkpoints", checkpoints), horizon)
        even = np.linspace(horizon / number, horizon, number)
        chosen = even if spacing == "even" else np.geomspace(1, horizon, number) if number > 1 else even[-1:]
        return np.unique(np.round(chosen).astype(np.int64))
    for place, value in enumerate(checkpoints):
        if not 1 <= validate.whole(f"checkpoints[{place}]", value) <= horizon:
            raise EvenhandError(f"checkpoints[{place}] = {value} is not one of the {horizon} rounds")
    return np.unique(np.array([*checkpoints, horizon], dtype=np.int64))


def _labelled(policies: Mapping[str, Policy] | Sequence[Policy]) -> dict[str, Policy]:
    pairs = policies.items() if isinstance(policies, Mapping) else [(p.name or "policy", p) for p in policies]
    labels = [label for label, _ in pairs]
    if not labels:
        raise EvenhandError("there is no policy to simulate")
    for label in labels:
        if labels.count(label) > 1:
            raise EvenhandError(f"{labels.count(label)} policies are labelled {label!r}; give each a label of its own")
    return dict(pairs)


def _check_lanes(environment: Environment, policies: Mapping[str, Policy], lanes: int) -> None:
    """Parameters that differ between lanes must have as many rows as there are lanes."""
    for part in (environment, *policies.values()):
        for rows in _lane_rows(part):
            if rows != lanes:
                raise EvenhandError(f"a parameter is given for {rows} lanes, but lanes = {lanes}")


def _check_memory(kept: int, arms: int) -> None:
    """Refuse what cannot fit: for every checkpoint, lane and policy 4 bytes an arm and 8 bytes a measure."""
    if not hasattr(os, "sysconf"):
        return
    needed, there = kept * (4 * arms + 8 * len(MEASURES)), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise EvenhandError(
            f"the results would take {needed / 1e9:,.0f} GB, this machine has {there / 1e9:,.0f}: "
            "ask for fewer lanes or checkpoints"
        )


def _lane_rows(part: Any) -> list[int]:
    if isinstance(part, PerLane):
        return [part.shape[0]]
    if not dataclasses.is_dataclass(part):
        return []
    return [rows for field in dataclasses.fields(part) for rows in _lane_rows(getattr(part, field.name))]


def _streams(seed: np.random.SeedSequence) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """Streams for the environment and for the policy; made anew from the block's key, so every policy gets the same."""
    base = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    outside, inside = base.spawn(2)
    return outside, inside
