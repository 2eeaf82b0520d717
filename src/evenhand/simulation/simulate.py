"""Lanes through time: policies in an environment, the same rewards for each, in this process or several."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.algorithms.build import PoliciesLike, PolicyLike, policies_of, surroundings_of
from evenhand.core import streams, validate
from evenhand.core.descriptions import complete, described
from evenhand.core.errors import EvenhandError, Faults, number_of, shown
from evenhand.core.imports import is_own, misfits_named
from evenhand.core.state import ALL_AVAILABLE, Array, State, for_lanes, shapes_in
from evenhand.environment.world import Environment, EnvironmentLike, World, as_environment
from evenhand.policy.composition import REMEMBERING, Policy, parts_in
from evenhand.simulation import held, parallel, segments
from evenhand.simulation.compiled.engine import engine
from evenhand.simulation.measures import MEASURES, metrics_of
from evenhand.simulation.metrics import Metric, MetricLike, MetricRecorder, chosen
from evenhand.simulation.results import Results
from evenhand.simulation.setup import CHECKPOINTS, Setup, lane_rows, run_information
from evenhand.simulation.stages import FromLike, Stage, Stages, changes_of, drafts_of, promised_by
from evenhand.simulation.tables import JoinedResult, PolicyResult
from evenhand.theory.baseline import Baseline

CALLS = 2000  # lanes × arms for which the arithmetic of a round takes as long as its calls
LARGEST = 50_000  # lanes × arms of a block
ALLOWED = "allowed"  # what an arm may be owed at most, beside the measures, where it depends on the run


def simulate(
    policy: PolicyLike,
    environment: EnvironmentLike,
    horizon: int,
    lanes: int = 100,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = CHECKPOINTS,
    spacing: str = "even",
    metrics: MetricLike | Sequence[MetricLike] = (),
    promises: FromLike | Sequence[FromLike] = (),
    jobs: int = 1,
    progress: bool | None = None,
) -> Results:
    """Simulate one policy in an environment: `compare` with a single policy.

    Args:
        policy: what decides.
        metrics: of your own, measured beside those of `evenhand.simulation.measures` that are meaningful here.

    Returns:
        The results, with the policy under the name of its algorithm.

    Example:
        >>> from evenhand import Environment, simulate
        >>> from evenhand.algorithms import fucb
        >>> from evenhand.rewards import Bernoulli
        >>> results = simulate(fucb([0.2, 0.2]), Environment(Bernoulli([0.8, 0.2])), horizon=200, lanes=10, seed=1)
        >>> bool((results.policies["fucb"].pulls[-1] >= 39).all())  # at most one play behind in 200 rounds
        True
    """
    return compare(
        [policy],
        environment,
        horizon,
        lanes,
        seed,
        checkpoints=checkpoints,
        spacing=spacing,
        metrics=metrics,
        promises=promises,
        jobs=jobs,
        progress=progress,
    )


def compare(
    policies: PoliciesLike,
    environment: EnvironmentLike,
    horizon: int,
    lanes: int = 100,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = CHECKPOINTS,
    spacing: str = "even",
    metrics: MetricLike | Sequence[MetricLike] = (),
    promises: FromLike | Sequence[FromLike] = (),
    jobs: int = 1,
    progress: bool | None = None,
    kept: MutableMapping[str, PolicyResult] | None = None,
) -> Results:
    """Simulate several policies in the same environment, with the same rewards, delays and availability for each.

    Lanes come in strands of 100; each strand has random streams of its own, one for the policy and several for the
    environment, all spawned from the seed. So the results depend on the seed alone, not on ``jobs``, and the first 100
    of 200 lanes are those of a run of 100. Memory grows with lanes × arms × checkpoints, not with the horizon.

    A measure that would be meaningful but cannot be computed, such as a regret where the distribution of the available
    arms is not known, is left out; ``omitted`` of the results has the reason.

    Args:
        policies: one, a list of them, labelled with their algorithm's name, or by label. Each is given as a policy, by
            the name of an algorithm, ``"fucb"``, or by a table as in a configuration, with ``label`` and ``grid`` where
            wanted; by name or table it takes from the environment what it leaves out.
        environment: what they face, or its table.
        horizon: T ≥ 1, rounds.
        lanes: independent replications of each.
        seed: of all randomness, ≥ 0.
        checkpoints: how many rounds to look at, or which ones; the last round is always included.
        spacing: ``"even"`` or ``"log"``, if ``checkpoints`` is a number.
        metrics: of your own, or the names of their kinds, one or several, measured beside those of
            `evenhand.simulation.measures` that are meaningful here.
        promises: that begin within the run, for all policies and what they are measured by, one or several: each a
            `evenhand.changes.From`, or a table such as ``{"from": 501, "fractions": [0.1, 0.3]}`` with the fields of
            `evenhand.changes.Promise`. What is owed survives a change as in a bandit. The rounds before are looked at,
            too.
        jobs: processes; −1 takes every core.
        progress: whether to show a progress bar on standard error; None for only where that is a terminal.
        kept: results by label, to which each is added as soon as it is finished; those that are there, of the same
            environment, size, seed, metrics and promises, are not run again.

    Returns:
        The curves of every measure, the plays and the estimates, by label; see `Results`.

    Raises:
        InfeasiblePromise: a policy promises what cannot be kept; nothing has run then.
        EvenhandError: a parameter is out of range, or a policy needs rewards of a finite range, which the environment
            does not have; or a policy cannot change its promises.

    Example:
        >>> from evenhand import Environment, compare
        >>> from evenhand.algorithms import fucb, ucb1
        >>> from evenhand.rewards import Bernoulli
        >>> world = Environment(Bernoulli([0.8, 0.2]), fractions=[0.2, 0.2])
        >>> results = compare([ucb1(), fucb([0.2, 0.2])], world, horizon=500, lanes=10, seed=1)
        >>> final = results.final()
        >>> bool(final["ucb1"]["unfairness"]["mean"] > final["fucb"]["unfairness"]["mean"])
        True
    """
    kept = {} if kept is None else kept
    _check_size(horizon, lanes, seed, jobs)
    faults, world = Faults(), as_environment(environment)
    measures = metrics_of(metrics, faults)
    named = policies_of(policies, surroundings_of(world, horizon), faults)
    if faults:
        raise EvenhandError.together(faults)
    changes = changes_of(promises, world.names, horizon)
    drafts = {label: drafts_of(policy, world, changes, label) for label, policy in named.items()}
    before = [change.round - 1 for change in changes if change.round > 1]
    rounds = np.union1d(checkpoint_rounds(horizon, checkpoints, spacing), np.array(before, dtype=np.int64))
    check_can_run(world, named, horizon, lanes)
    stages = {label: [draft.checked(label, lanes) for draft in own] for label, own in drafts.items()}
    asked = {label: _chosen([stage.baseline for stage in own], measures) for label, own in stages.items()}
    measured = sum(len(chosen) for chosen, _ in asked.values())
    _check_memory(len(rounds), lanes, world.arms, len(named), measured, parallel.processes(jobs))
    if jobs != 1:
        parallel.carry(world, *named.values(), *measures)
    missing = {label: own for label, own in stages.items() if label not in kept}
    parts = world.rewards, world.availability, world.feedback, world.contexts, *measures
    with misfits_named(itertools.chain(parts, *map(parts_in, named.values()))):
        _run_missing(missing, world, lanes, seed, rounds, measures, bool(changes), kept, jobs, progress)
    information = run_information(named, world, lanes, seed, rounds, measures, changes)
    for label in named:
        if ALLOWED in kept[label].curves:
            most = kept[label].curves[ALLOWED].max(axis=1).tolist()
            information["promises"][label]["allowed"] = [list(pair) for pair in zip(rounds.tolist(), most, strict=True)]
    return Results(
        policies={label: kept[label] for label in named},
        rounds=rounds,
        names=world.names,
        promised={label: promised_by(own, horizon) for label, own in stages.items()},
        information=information,
        own={metric.name: metric.measure for metric in measures},
        omitted={label: omitted for label, (_, omitted) in asked.items()},
    )


complete(simulate, described(compare))


def _check_size(horizon: int, lanes: int, seed: int, jobs: int) -> None:
    """Refuse sizes of a run that are out of range."""
    validate.whole("horizon", horizon, high=validate.MOST)
    validate.whole("lanes", lanes, high=validate.MOST)
    validate.whole("seed", seed, low=0)
    if validate.whole("jobs", jobs, low=-1) == 0:
        raise EvenhandError("must be at least 1, or -1 for every core, got 0", "jobs")


def _run_missing(
    stages: Mapping[str, Sequence[Stage]],
    world: Environment,
    lanes: int,
    seed: int,
    rounds: NDArray[np.int64],
    measures: Sequence[Metric],
    changing: bool,
    kept: MutableMapping[str, PolicyResult],
    jobs: int,
    progress: bool | None,
) -> None:
    """Run policies in blocks of lanes, and keep the result of each as soon as all its blocks are there."""
    labels, strands = list(stages), streams.strand_seeds(seed, lanes)
    blocks = cut(lanes, world.arms, len(labels), parallel.processes(jobs))
    parts = {label: JoinedResult(blocks) for label in labels}
    units: list[tuple[Any, ...]] = []
    for label in labels:
        for block in blocks:
            cuts = [stage.for_lanes(block, keep=True) for stage in stages[label]]
            own = cuts[0].policy, for_lanes(world, block, keep=True), cuts[0].baseline
            seeds = strands[block.start // streams.STRAND : -(-block.stop // streams.STRAND)]
            units.append((*own, block.stop - block.start, rounds, seeds, measures, cuts if changing else ()))

    def finished(number: int, block: PolicyResult) -> None:
        label = labels[number // len(blocks)]
        if (whole := parts[label].put(number % len(blocks), block)) is not None:
            kept[label] = whole

    if units:
        parallel.run(run_block, units, [int(rounds[-1])] * len(units), jobs, progress, finished)


def run_setup(setup: Setup, **options: Any) -> Results:
    """What `compare` finds for what a configuration or a result file describes."""
    size = setup.horizon, setup.lanes, setup.seed
    about = {name: getattr(setup, name) for name in ("checkpoints", "spacing", "metrics", "promises")}
    return compare(setup.policies, setup.environment, *size, **about | options)


def run_block(
    policy: Policy,
    environment: Environment,
    baseline: Baseline,
    lanes: int,
    rounds: NDArray[np.int64],
    seeds: Sequence[np.random.SeedSequence],
    metrics: Sequence[Metric] = (),
    stages: Sequence[Stage] = (),
    tick: Callable[[int], None] = lambda rounds: None,
) -> PolicyResult:
    """One policy in one block of lanes."""
    try:
        return _run(policy, environment, baseline, lanes, rounds, seeds, metrics, stages, tick)
    except streams.NotByLaneError:  # a part of the user's own draws in another shape
        spans = streams.spans(streams.strand_sizes(lanes, len(seeds)))
        joined = JoinedResult(spans)
        for place, (span, seed) in enumerate(zip(spans, seeds, strict=True)):
            own = for_lanes(policy, span, keep=True), for_lanes(environment, span, keep=True), baseline.for_lanes(span)
            cuts = [stage.for_lanes(span, keep=True) for stage in stages]
            whole = joined.put(place, _run(*own, span.stop - span.start, rounds, [seed], metrics, cuts, tick))
        assert whole is not None
        return whole


def _run(
    policy: Policy,
    environment: Environment,
    baseline: Baseline,
    lanes: int,
    rounds: NDArray[np.int64],
    seeds: Sequence[np.random.SeedSequence],
    metrics: Sequence[Metric],
    stages: Sequence[Stage],
    tick: Callable[[int], None],
) -> PolicyResult:
    policy = for_lanes(policy, slice(0, lanes))
    outside, inside = zip(*map(streams_of, seeds), strict=True)
    world = environment.start(int(rounds[-1]), lanes, outside)
    rng = streams.joined([np.random.default_rng(one) for one in inside], lanes)
    state = policy.start(environment.arms, lanes, environment.unit, environment.widths)
    measured, _ = _chosen([stage.baseline for stage in stages] or [baseline], metrics)
    recorder = MetricRecorder(baseline, measured, len(rounds), lanes, environment.arms)
    within = recorder.run.within = segments.started(environment, lanes)
    later = Stages(stages, lanes, state, recorder, within)
    policy = later.after(0, policy)
    plays = _counted(policy, state, world, rng)
    compiled = None if stages or within is not None else engine(policy, world, recorder, state, rng, tick)
    if compiled is not None:
        compiled.play(rounds, tick)
    holding, observation = held.applies(policy, world, recorder), ALL_AVAILABLE
    allowed = list[float | None]()
    for stop in rounds.tolist() if compiled is None else ():
        while state.round < stop:
            if holding and held.play_on(policy, world, recorder, state, stop):
                continue
            observation = world.observe()
            if within is None:
                decision = policy.decide(state, observation, rng, propensities=False)
            else:
                decision = within.decide(policy, state, observation, rng)
            outcome = world.step(decision)
            policy.observe(state, outcome.feedback, rng)
            if plays is not state.tally.pulls:
                plays += decision.played
            recorder.see(plays, decision, outcome)
        recorder.record()
        if policy.fairness.traits.scaled:
            allowed.append(policy.allowance(state.arms, stop, state))
        policy = later.after(stop, policy)
        tick(stop)
    score = policy.index.score(state, observation if policy.contextual else ALL_AVAILABLE, rng)
    if allowed:
        recorder.curves[ALLOWED] = np.repeat(np.array(allowed, dtype=float)[:, np.newaxis], lanes, axis=1)
    counts = None if within is None else within.counts()
    return PolicyResult(recorder.pulls, recorder.curves, _estimate(state, environment), score, counts)


def _counted(policy: Policy, state: State, world: World, rng: np.random.Generator) -> Array:
    """The plays that are counted; those of a free start, which is made here, are not."""
    if not policy.schedule.traits.free:
        return state.tally.pulls
    plays = np.zeros_like(state.tally.pulls)
    state.tally.pulls += 1.0
    policy.observe(state, world.free_pull(), rng)
    return plays


def _estimate(state: State, environment: Environment) -> Array:
    """The mean of the rewards received of each arm, in the user's unit; NaN where there are none."""
    with np.errstate(invalid="ignore"):
        estimate = state.tally.rewards / state.tally.received
    return estimate if environment.unit is None else environment.unit.low + environment.unit.width * estimate


def cut(lanes: int, arms: int, policies: int, processes: int) -> list[slice]:
    """The lanes in blocks of whole strands, so that all policies take the least time.

    A round of a block takes as long as `CALLS` + lanes × arms; the processes share the blocks of all policies.
    """
    strands = -(-lanes // streams.STRAND)

    def time(blocks: int) -> float:
        return -(-policies * blocks // processes) * (CALLS + -(-strands // blocks) * streams.STRAND * arms)

    least = min(strands, -(-lanes * arms // LARGEST))
    number = min(range(least, strands + 1), key=time)
    ends = [min(strands * place // number * streams.STRAND, lanes) for place in range(number + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]


def _chosen(baselines: Sequence[Baseline], metrics: Sequence[Metric]) -> tuple[list[Metric], dict[str, str]]:
    """The measures and the user's own metrics that are measured, and why others are left out."""
    every = (*MEASURES.values(), *metrics)
    found = [chosen(every, baseline) for baseline in baselines]
    omitted = {name: reason for _, reasons in found for name, reason in reasons.items()}
    names = {metric.name for measured, _ in found for metric in measured} - set(omitted)
    return [metric for metric in every if metric.name in names], omitted


def checkpoint_rounds(
    horizon: int, checkpoints: int | Sequence[int] = CHECKPOINTS, spacing: str = "even"
) -> NDArray[np.int64]:
    """The rounds at which measures are taken, (checkpoints,), ascending, the last one being the horizon."""
    validate.one_of("spacing", spacing, ("even", "log"))
    if isinstance(checkpoints, int | np.integer):
        number = min(validate.whole("checkpoints", checkpoints), horizon)
        even = np.linspace(horizon / number, horizon, number)
        places = even if spacing == "even" or number == 1 else np.geomspace(1, horizon, number)
        return np.unique(np.round(places).astype(np.int64))
    if isinstance(checkpoints, str | bytes) or not np.iterable(checkpoints):
        raise EvenhandError(f"must be a whole number, or a list of rounds, got {shown(checkpoints)}", "checkpoints")
    for place, value in enumerate(checkpoints):
        if not 1 <= validate.whole(f"checkpoints[{place}]", value) <= horizon:
            raise EvenhandError(f"checkpoints[{place}] = {value} is not one of the {horizon} rounds")
    return np.unique(np.array([*checkpoints, horizon], dtype=np.int64))


def check_can_run(environment: Environment, policies: Mapping[str, Policy], horizon: int, lanes: int) -> None:
    """Refuse policies that cannot run in an environment, and runs that are longer than its log."""
    for rows in lane_rows(environment, *policies.values()):
        if rows != lanes:
            raise EvenhandError(
                f"a parameter is given for {number_of(rows, 'lane')}, but lanes = {lanes}; use lanes = {rows}"
            )
    environment.check_horizon(horizon)
    _check_rewards(environment)
    _check_memories(environment, policies)
    _check_contexts(environment, policies)
    _check_range(environment, policies)
    _check_named(environment, policies)


def _check_rewards(environment: Environment) -> None:
    """Rewards of one's own are refused whose means and range are not numbers."""
    rewards, name = environment.rewards, type(environment.rewards).__name__
    if is_own(rewards) and environment.contexts is None:
        validate.per_arm(f"{name}.means", rewards.means)
        if rewards.range is not None:
            low, high = validate.per_arm(f"{name}.range", rewards.range)
            if low > high:
                raise EvenhandError(
                    f"must be the smallest and the largest reward, got {low:g} and {high:g}", f"{name}.range"
                )


def _check_memories(environment: Environment, policies: Mapping[str, Policy]) -> None:
    """Parts of one's own are refused that remember nothing for each lane."""
    for label, policy in policies.items():
        if (policy.contextual and environment.contexts is None) or lane_rows(policy):
            continue
        state = policy.start(environment.arms, 1 if environment.arms > 1 else 2, columns=environment.widths)
        if fault := without_lanes(policy, state):
            raise EvenhandError(f"{label!r} cannot run: {fault}")


def without_lanes(policy: Policy, state: State) -> str:
    """Which part remembers arrays without an axis for the lanes of a state; empty where none does."""
    shape = state.tally.pulls.shape
    for slot in REMEMBERING:
        for found in shapes_in(getattr(state, slot)):
            if found[:1] != shape[:1]:
                return (
                    f"{type(getattr(policy, slot)).__name__}.start must return arrays whose first axis is the lanes, "
                    f"such as np.zeros(shape) with the shape {shape} that it is given, got an array of shape {found}"
                )
    return ""


def _check_contexts(environment: Environment, policies: Mapping[str, Policy]) -> None:
    """Policies that go by features are refused where there are none."""
    needing = [label for label, policy in policies.items() if policy.contextual]
    if needing and environment.contexts is None:
        raise EvenhandError(
            f"{', '.join(map(repr, needing))} {'goes' if len(needing) == 1 else 'go'} by features, and the environment "
            "has none: give it contexts, such as {'kind': 'normal', 'situation': 5}, or take another algorithm"
        )


def _check_range(environment: Environment, policies: Mapping[str, Policy]) -> None:
    """Policies that need rewards of a finite range are refused where there is none."""
    needing = [label for label, policy in policies.items() if policy.bounded]
    if environment.bounded or not needing:
        return
    from evenhand.algorithms.registry import ALGORITHMS

    quoted = ", ".join(map(repr, needing))
    able = [name for name, algorithm in ALGORITHMS.items() if not algorithm.example().bounded]
    raise EvenhandError(
        f"{quoted} {'needs' if len(needing) == 1 else 'need'} rewards of a finite range, and "
        f"{type(environment.rewards).__name__} has none: give the environment reward_range = [low, high], with every "
        f"reward that can occur, or take an algorithm that does not need one: {', '.join(able)}"
    )


def _check_named(environment: Environment, policies: Mapping[str, Policy]) -> None:
    """Policies that go by the age or the features of pulls are refused where rewards come back without their pull."""
    needing = [label for label, policy in policies.items() if policy.named or policy.contextual]
    feedback = environment.feedback
    if feedback.named or not needing:
        return
    kind = type(feedback).__name__
    remedy = "sums of several pulls cannot have one" if feedback.traits.anonymous else f"give {kind}(…, named=True)"
    raise EvenhandError(
        f"{', '.join(map(repr, needing))} {'needs' if len(needing) == 1 else 'need'} each reward with its pull, and "
        f"{kind} returns rewards without the pull that they belong to: {remedy}"
    )


def _check_memory(checkpoints: int, lanes: int, arms: int, policies: int, measures: int, processes: int) -> None:
    """Refuse what cannot fit: the results, and a block of lanes from each process that is copied into them.

    A lane of all policies has 4 bytes per checkpoint and arm, 8 per checkpoint and measure, and 16 per arm at the end.
    """
    if not hasattr(os, "sysconf"):
        return
    block = min(lanes, max(streams.STRAND, LARGEST // arms))
    blocks = processes * block / policies if processes > 1 or block < lanes else 0.0
    needed = (lanes + blocks) * (checkpoints * (4 * arms * policies + 8 * measures) + 16 * arms * policies)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        raise EvenhandError(
            f"the results would take {needed / 1e9:,.0f} GB, but this machine has {memory / 1e9:,.0f} GB: use fewer "
            "lanes or checkpoints"
        )


def streams_of(seed: np.random.SeedSequence) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """Streams for the environment and the policy, from a strand's key: the same for every policy."""
    base = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    outside, inside = base.spawn(2)
    return outside, inside
