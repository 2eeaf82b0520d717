"""Which simulations can run compiled, when that pays, and the rounds that do."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.aside import aside
from evenhand.core.errors import EvenhandError
from evenhand.core.extras import remedy
from evenhand.core.parts import rules_of
from evenhand.core.state import Array, Mask, State
from evenhand.core.streams import STRAND, Streams
from evenhand.environment.feedback import FeedbackRules
from evenhand.environment.rewards import RewardRules
from evenhand.environment.world import AVAILABLE, DRAWN_AHEAD, LATE, REWARDS, Strand, World
from evenhand.policy.composition import Policy
from evenhand.policy.rules import PolicyRules
from evenhand.simulation.compiled import rules
from evenhand.simulation.compiled.kept import is_kept
from evenhand.simulation.interrupts import interrupts_wait
from evenhand.simulation.measures import (
    MEASURES,
    AdversarialRegret,
    FairnessRegret,
    MaxViolation,
    RewardRegret,
    by_sums,
)
from evenhand.simulation.metrics import Metric, MetricRecorder
from evenhand.simulation.parallel import COMPILING
from evenhand.theory.baseline import Baseline

#: The environment variable that chooses the engine, and what it may be.
CHOICE, CHOICES = "EVENHAND_ENGINE", ("auto", "numpy", "compiled")
#: The loops of the kernel.
GENERAL, PLAIN, BOUNDS = "play", "play_plainly", "play_by_bounds"
#: What the others read of `_Run._parts`.
NO_PARTS = (None,) * 5
#: Queues, whose weights count rewards in the user's unit.
QUEUES = ("weighed", "exact", "recursive")
#: Scores that are drawn.
DRAWN = ("beta", "both")
#: Regrets against fair shares by merit, in the order in which the kernel counts them.
BY_MERIT = (RewardRegret.name, FairnessRegret.name)
#: Nanoseconds that NumPy takes for a round, and for each arm of each lane in it: between FUCB's and TSCSF-B's.
ROUND, ARM = 40_000, 60
#: Seconds of NumPy from which on compiling pays.
PAYS = 10.0
#: Seconds from which on it pays to load what was compiled before, which takes about as long.
PAYS_KEPT = 0.5
#: Rounds of all strands in which late rewards can be due, at most.
ROOM = 50_000_000
#: The longest random delay of anonymous sums, in rounds.
LONGEST = 100_000
#: Numbers of arms and lanes that are kept at checkpoints before they are measured: few enough for the cache.
KEPT = 50_000

#: Seconds that NumPy would have taken for what each loop could have played in this process.
_seconds = dict.fromkeys((GENERAL, PLAIN, BOUNDS), 0.0)
#: The loops that this process has called, so that they are compiled.
_loaded: set[str] = set()


@aside
def engine(
    policy: Policy,
    world: World,
    recorder: MetricRecorder,
    state: State,
    rng: np.random.Generator,
    tick: Callable[[int], None],
) -> Engine | None:
    """What plays the rounds of a block compiled; None where NumPy does.

    It is used where Numba is installed, every part has a rule in the kernel, and so much is to be done in this process
    that compiling pays. The environment variable ``EVENHAND_ENGINE`` forbids it (``numpy``) or has it used for
    whatever it can do (``compiled``). The results are the same.
    """
    choice = validate.one_of(CHOICE, os.environ.get(CHOICE, "auto"), CHOICES)
    if choice == "numpy" or not _installed(choice):
        return None
    given: PolicyRules | None = rules_of(policy)
    if given is None or not _able(policy, given, world, recorder):
        return None
    unit = world.environment.unit
    numbers = rules.rules_for(given, (world.lanes, world.environment.arms), 1.0 if unit is None else unit.width)
    loop = _loop(given, numbers, world, recorder)
    if choice == "auto" and not _pays(loop, world):
        return None
    if loop not in _loaded:
        if not is_kept(loop):
            tick(COMPILING)
        with interrupts_wait():  # what is tried is compiled
            from evenhand.simulation.compiled.trusted import trusted

            if not trusted():
                return None
    return Engine(given, numbers, loop, world, recorder, state, rng)


@dataclass(frozen=True, eq=False)
class Engine:
    """Plays the rounds of a block compiled, strand after strand; results and state are those that NumPy would have."""

    policy: PolicyRules
    rules: rules.Rules
    loop: str
    world: World
    recorder: MetricRecorder
    state: State
    rng: np.random.Generator

    def play(self, rounds: NDArray[np.int64], tick: Callable[[int], None]) -> None:
        """Play all rounds, up to and including the last checkpoint."""
        world, horizon = self.world, int(rounds[-1])
        streams = self.rng.strands if isinstance(self.rng, Streams) else [(self.rng, slice(0, world.lanes))]
        for strand, (own, lanes) in zip(world.strands, streams, strict=True):
            run = _Run(self, strand, own, rounds)
            for stop in run.stops():
                run.play(stop)
                tick((lanes.start * horizon + (lanes.stop - lanes.start) * stop) // world.lanes)
            run.leave(self.state)
        self.state.round = horizon


class _Run:
    """The lanes that share random streams, as the kernel sees them."""

    def __init__(self, engine: Engine, strand: Strand, own: np.random.Generator, rounds: NDArray[np.int64]) -> None:
        from evenhand.simulation.compiled.generator import words_of

        policy, recorder, environment = engine.policy, engine.recorder, engine.world.environment
        lanes, arms, horizon = strand.lanes.stop - strand.lanes.start, environment.arms, int(rounds[-1])
        self._policy, self._loop, self._recorder, self._rounds = policy, engine.loop, recorder, rounds
        self._strand, self._own, self._begins = strand, own, _phases(policy, horizon)
        self._rules = rules.for_strand(engine.rules, strand.lanes)
        self._feedback: FeedbackRules = rules_of(environment.feedback)
        measured = {type(metric) for metric, _ in recorder.metrics}
        trials = policy.score.kind in DRAWN and not _binary(environment.rewards)
        remembered = MaxViolation in measured, AdversarialRegret in measured
        self._counts = rules.counts_for(self._rules, lanes, _at_once(policy, engine.world), trials, *remembered)
        by_merit = _by_merit(recorder)
        self._scratch = rules.scratch_for(arms, lanes, policy.plays, by_merit or policy.fairness.merit is not None)
        checkpoints = min(len(rounds), max(1, KEPT // (lanes * arms)))
        self._kept = rules.kept_for(lanes, arms, checkpoints, hindsight=remembered[1])
        self._streams = np.zeros((4, 5), dtype=np.uint64)  # of those that the kernel does not draw from: nothing
        self._streams[rules.POLICY] = words_of(own)
        self._world = self._world_of(engine.world, by_merit)
        self._row, self._done, self._recorded = 0, 0, 0
        if self._loop == GENERAL:
            self._holds = rules.holds_for(policy.hold, arms, lanes)
            self._plans = rules.plans_for(policy.schedule, arms, lanes)
            self._weights = rules.weights_for(policy.score.weights, arms, lanes, horizon)
            best = np.argmax(np.broadcast_to(environment.means, (engine.world.lanes, arms))[strand.lanes], axis=-1)
            if self._feedback.best is not None:
                best[:] = self._feedback.best
            self._arrivals = rules.arrivals_for(self._feedback, best, horizon)

    def _world_of(self, world: World, by_merit: bool) -> rules.World:
        from evenhand.simulation.compiled.generator import jumps, limits, words_of

        strand, environment, baseline = self._strand, world.environment, self._recorder.run.baseline
        arms, block, shape = environment.arms, (world.lanes, environment.arms), self._scratch.score.shape[::-1]
        earning: RewardRules | None = rules_of(strand.rewards)
        biased = self._feedback.quantile is not None and environment.feedback.traits.biased
        chances = None if earning is None or biased else earning.chances
        awake, late, unit = rules_of(strand.availability), self._feedback.kind == "random", environment.unit
        if chances is not None:
            self._streams[rules.REWARDS] = words_of(strand.stream(REWARDS))
        if awake is not None:
            self._streams[rules.AWAKE] = words_of(strand.stream(AVAILABLE))
        if late:
            self._streams[rules.LATE] = words_of(strand.stream(LATE))
        own, reward, _, delay = (int(words[2]) << 64 | int(words[3]) for words in self._streams)
        steps, no_words, none = [*range(1, arms + 1), arms], np.empty((0, 0), dtype=np.uint64), np.empty((0, 0))

        def of_arms(values: Any, wanted: bool = True) -> Array:
            return rules.by_arm(0.0 if values is None else values, block, strand.lanes) if wanted else none

        return rules.World(
            limits=no_words if chances is None else limits(rules.by_arm(chances, shape)),
            awake=no_words if awake is None else limits(rules.by_arm(awake, shape)),
            steps=jumps(reward, steps),
            late_steps=jumps(delay, steps) if late else no_words,
            ties=jumps(own, [arms]) if self._policy.ties == "random" else no_words,
            sleeping=environment.availability.traits.sleeping,
            scaled=unit is not None,
            low=0.0 if unit is None else unit.low,
            width=1.0 if unit is None else unit.width,
            by_set=none if baseline.by_set is None else rules.own(baseline.by_set),
            promised=of_arms(baseline.fractions, self._counts.worst.size > 0),
            deserved=of_arms(baseline.deserved, by_merit),
            gains=of_arms(baseline.gains, by_merit),
        )

    def stops(self) -> list[int]:
        """The rounds up to which it plays at a time: as many as tables, and what is kept, have room for."""
        horizon, room = int(self._rounds[-1]), len(self._kept.pulls)
        step = max(1, DRAWN_AHEAD // (self._counts.pulls.size if self._tables else 1))
        kept, phases = self._rounds[room - 1 :: room].tolist(), {one - 1 for one in self._begins}
        return sorted({*range(step, horizon, step), *kept, *phases - {0}, horizon})

    @property
    def _tables(self) -> bool:
        """Whether numbers for every arm are drawn outside of the kernel."""
        drawn = self._world.limits.size > 0 and (self._world.awake.size > 0 or not self._world.sleeping)
        return not drawn or self._feedback.kind == "singly"

    def play(self, stop: int) -> None:
        """Play on, up to and including a round."""
        given = self._rules, self._world, self._counts, *(self._parts(stop) if self._loop == GENERAL else NO_PARTS)
        now = self._draws(stop), self._scratch, self._kept, self._streams, self._rounds[self._recorded :]
        with nullcontext() if self._loop in _loaded else interrupts_wait():  # the first call compiles
            from evenhand.simulation.compiled import kernel

            self._row = getattr(kernel, self._loop)(*given, *now, self._row, self._done)
        _loaded.add(self._loop)
        self._done = stop
        if self._row == len(self._kept.pulls) or stop == self._rounds[-1]:
            kept, rows = self._kept, slice(0, self._row)
            regrets = dict(zip(BY_MERIT, kept.regrets[:, rows], strict=True))
            worst, potential = kept.worst[rows].swapaxes(1, 2), kept.potential[rows].swapaxes(1, 2)
            memories = {MaxViolation.name: worst, AdversarialRegret.name: potential, **regrets}
            sums = kept.pulls[rows].swapaxes(1, 2), kept.earned[rows].swapaxes(1, 2), kept.optima[:, rows]
            self._recorder.record_strand(self._strand.lanes, self._rounds, self._recorded, *sums, memories)
            self._row, self._recorded = 0, self._recorded + self._row

    def _parts(self, stop: int) -> tuple[Any, ...]:
        """What only the general loop reads, with room for the next rounds."""
        rounds = stop - self._done
        self._holds = rules.with_sizes(self._holds, self._policy.hold, rounds, int(self._rounds[-1]))
        self._arrivals = rules.with_room(self._arrivals, rounds * self._scratch.playing.size)
        phase = rules.phase_for(self._policy, self._done + 1, self._rules.arms)
        if phase.restarts and self._holds.coins:
            self._toss(phase.delay)
        return self._holds, self._weights, phase, self._plans, self._arrivals

    def _toss(self, delay: float) -> None:
        """The rounds without a marker before the first of a phase; see `evenhand.policy.hold.RandomEnds`."""
        from evenhand.simulation.compiled.generator import put_back, words_of

        put_back(self._own, self._streams[rules.POLICY].tolist())
        past = self._own.geometric(1.0 / (2.0 * delay), self._holds.left.size) - 1.0
        self._holds.left[:] = np.minimum(past, 2.0 * delay - 1.0)
        self._streams[rules.POLICY] = words_of(self._own)

    def _draws(self, stop: int) -> rules.Draws:
        """What is drawn outside of the kernel for the next rounds."""
        index, span = self._policy.score, (self._done, stop)
        times = np.arange(self._done + 1.0, stop + 1.0)
        growth = 0.0 if index.growth is None else index.growth(times, self._rules.arms)
        growth = rules.own(np.asarray(growth, dtype=float)) if np.ndim(growth) else np.full(len(times), growth)
        table: NDArray[Any] = np.empty((0, 0, 0))
        if not self._world.limits.size:
            table = self._strand.draw_rewards(*span)
            shape = len(times), self._scratch.scale.size, self._rules.arms
            if np.shape(table) != shape:  # of a model of one's own: the loop would read beyond its end
                raise EvenhandError(f"the rewards that are drawn must have the shape {shape}, got {np.shape(table)}")
        late = self._late(table, *span)
        can: Mask | None = None
        if self._world.sleeping and not self._world.awake.size:
            can = self._strand.draw_available(*span)
        awake = np.empty((0, 0, 0), dtype=bool) if can is None else rules.own(can)
        return rules.Draws(growth, rules.own(table.astype(float)), awake, late)

    def _late(self, table: NDArray[Any], start: int, stop: int) -> Array:
        """The delay of every reward, where each arrives by itself."""
        quantile = self._feedback.quantile
        if quantile is None:
            return np.empty((0, 0, 0))
        chance = self._strand.draw_chance(start, stop)
        shape = (stop - start, self._scratch.scale.size, self._rules.arms)
        rewards = table if table.size else np.zeros(shape)  # on which delays do not depend
        arms = np.broadcast_to(np.arange(shape[-1]), shape).reshape(-1)
        level = np.zeros(arms.size) if chance is None else chance.reshape(-1)
        return rules.own(np.asarray(quantile(level, arms, rewards.reshape(-1)), dtype=float).reshape(shape))

    def leave(self, state: State) -> None:
        """Write down what was counted, and let the policy's generator go on where the kernel has stopped."""
        from evenhand.simulation.compiled.generator import put_back

        lanes, tally, counts = self._strand.lanes, state.tally, self._counts
        for name in ("pulls", "received", "rewards"):
            getattr(tally, name)[lanes] = getattr(counts, name).T
        if self._policy.score.kind in DRAWN:
            state.index.successes[lanes] = counts.successes.T
        if self._policy.score.weights is not None:
            self._leave_weights(state)
        put_back(self._own, self._streams[rules.POLICY].tolist())

    def _leave_weights(self, state: State) -> None:
        """Write down from what the weights of the next round are made."""
        lanes, weights, memory = self._strand.lanes, self._weights, state.index
        memory.logs[lanes] = weights.logs.T
        memory.arms[lanes] = weights.arm[:, np.newaxis] == np.arange(self._rules.arms)
        memory.propensity[lanes] = weights.propensity[:, np.newaxis]
        window = len(weights.recent)
        if window:
            if memory.recent.shape[-1] != window:
                memory.recent = np.zeros((len(memory.logs), window))
            memory.recent[lanes] = np.roll(weights.recent, -(self._done % window), axis=0).T
        else:
            memory.earned[lanes], memory.rounds[lanes] = weights.earned[:, np.newaxis], weights.rounds[:, np.newaxis]


@cache
def _installed(choice: str) -> bool:
    found = importlib.util.find_spec("numba") is not None
    if choice == "compiled" and not found:
        raise EvenhandError(f"{CHOICE} = 'compiled', but {remedy('numba')}")
    return found


def _pays(loop: str, world: World) -> bool:
    """Whether compiling a loop pays, with all that it could have played before in this process."""
    _seconds[loop] += world.horizon * (ROUND + world.lanes * world.environment.arms * ARM) * 1e-9
    return _seconds[loop] >= (PAYS_KEPT if is_kept(loop) else PAYS) or loop in _loaded


def _at_once(rules: PolicyRules, world: World) -> bool:
    """Whether every reward is known at once, as it was earned."""
    feedback: FeedbackRules = rules_of(world.environment.feedback)
    changed = rules.score.weights is not None or rules.hold.halved or world.environment.unit is not None
    trials = rules.score.kind in DRAWN and not _binary(world.environment.rewards)
    return feedback.kind == "at once" and not (changed or trials)


def _loop(policy: PolicyRules, numbers: rules.Rules, world: World, recorder: MetricRecorder) -> str:
    """The loop of the kernel that plays."""
    planned = policy.hold.lasts or policy.schedule.lengths or policy.fairness.merit is not None
    watched = _by_merit(recorder) or any(isinstance(metric, AdversarialRegret) for metric, _ in recorder.metrics)
    if not _at_once(policy, world) or planned or watched:
        return GENERAL
    return BOUNDS if rules.by_bounds(numbers, world.environment.availability.traits.sleeping) else PLAIN


def _able(policy: Policy, rules: PolicyRules, world: World, recorder: MetricRecorder) -> bool:
    """Whether the kernel can play all parts together."""
    return (
        world.environment.contexts is None
        and not (rules.ties == "random" and policy.index.traits.random)  # whose draws would be in another order
        and not (rules.hold.lasts and policy.by_lane)  # which draws for lanes that hold, too
        and not (rules.schedule.lengths and (world.environment.availability.traits.sleeping or rules.hold.lasts))
        and world.within
        and not (world.environment.unit is not None and _weighs(rules))
        and _can_arrive(rules, world)
        and _can_share(rules, policy, world)
        and all(_can_measure(metric, rules, world, recorder.run.baseline) for metric, _ in recorder.metrics)
    )


def _phases(rules: PolicyRules, horizon: int) -> set[int]:
    """The rounds in which something changes for all that follow."""
    weights = rules.score.weights
    given = rules.fairness.phases, rules.hold.phases, None if weights is None else weights.phases
    return {round for begins in given if begins is not None for round in begins(horizon)}


def _by_merit(recorder: MetricRecorder) -> bool:
    """Whether regrets against fair shares are measured."""
    return any(metric.name in BY_MERIT for metric, _ in recorder.metrics)


def _can_share(rules: PolicyRules, policy: Policy, world: World) -> bool:
    """Whether arms are drawn by merit or weights, in the way in which the kernel draws them, or not at all."""
    kinds = rules.fairness.owed == "mixed", rules.score.kind == "weights", rules.ties == "drawn"
    if any(kinds):
        return all(kinds) and not (policy.by_lane or rules.schedule.lengths or rules.schedule.once)
    if rules.fairness.owed == "merit":
        return rules.ties == "rounding" and not (policy.by_lane or world.environment.availability.traits.sleeping)
    plain = rules.score.kind != "interval" and rules.score.epsilon == 0.0 and not rules.schedule.once
    return plain and rules.ties != "rounding" and not (rules.score.kind == "both" and rules.hold.lasts)


def _can_measure(metric: Metric, rules: PolicyRules, world: World, baseline: Baseline) -> bool:
    """Whether a metric's value follows from what is kept."""
    if by_sums(metric) or metric in (MEASURES[MaxViolation.name], MEASURES[AdversarialRegret.name]):
        return True
    fair = baseline.deserved is not None and not world.environment.availability.traits.sleeping
    return (
        fair and metric.name in BY_MERIT and metric is MEASURES[metric.name] and rules.ties not in ("random", "drawn")
    )


def _weighs(rules: PolicyRules) -> bool:
    """Whether rewards of arms are weighed differently, so that it matters where their scale begins."""
    return rules.fairness.owed in QUEUES and np.size(rules.fairness.rates) > 1


def _binary(rewards: Any) -> bool:
    earning: RewardRules | None = rules_of(rewards)
    return earning is not None and earning.binary


def _can_arrive(rules: PolicyRules, world: World) -> bool:
    """Whether there is a rule for how rewards arrive."""
    feedback: FeedbackRules | None = rules_of(world.environment.feedback)
    binary, trials = _binary(world.environment.rewards), rules.score.kind in DRAWN
    if feedback is None:
        return False
    if feedback.kind == "at once":
        return True
    if not world.plain:
        return False
    if feedback.kind == "singly":
        return binary and world.horizon * -(-world.lanes // STRAND) <= ROOM
    drawn = feedback.kind in ("random", "held back")
    exact = binary or (rules.plays == 1 and not drawn)
    return exact and not trials and not (drawn and feedback.last > LONGEST)
