"""Which simulations can run compiled, when that pays, and the rounds that do."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.extras import remedy
from evenhand.core.parts import rules_of
from evenhand.core.source import aside
from evenhand.core.state import Array, State
from evenhand.core.streams import STRAND, Streams
from evenhand.environment.feedback import FeedbackRules
from evenhand.environment.world import Drawn, World
from evenhand.policy.composition import Policy
from evenhand.policy.rules import IndexRules, PolicyRules
from evenhand.simulation.compiled import rules
from evenhand.simulation.interrupts import interrupts_wait
from evenhand.simulation.measures import MEASURES, MaxViolation, by_sums
from evenhand.simulation.metrics import MetricRecorder

#: The environment variable that chooses the engine, and what it may be.
CHOICE, CHOICES = "EVENHAND_ENGINE", ("auto", "numpy", "compiled")
KERNEL = "evenhand.simulation.compiled.kernel"
#: Nanoseconds that NumPy takes for a round, and for each arm of each lane in it.
ROUND, ARM = 25_000, 40
#: Seconds of NumPy from which on compiling pays.
PAYS = 10.0
#: Seconds that the compiled loop takes to begin, for each strand and checkpoint; of NumPy's time at most a part.
CALL, PART = 30e-6, 1 / 8
#: Rounds of all strands in which late rewards can be due, at most.
ROOM = 50_000_000
#: The longest random delay of anonymous sums, in rounds.
LONGEST = 100_000

_seconds = 0.0  # that NumPy would have taken for what could have been compiled in this process


@aside
def engine(
    policy: Policy, world: World, recorder: MetricRecorder, state: State, rng: np.random.Generator
) -> Engine | None:
    """What plays the rounds of a block compiled; None where NumPy does.

    It is used where Numba is installed, every part has a rule in the kernel, and so much is to be done in this process
    that compiling pays. The environment variable ``EVENHAND_ENGINE`` forbids it (``numpy``) or has it used for
    whatever it can do (``compiled``). The results are the same.
    """
    choice = validate.one_of(CHOICE, os.environ.get(CHOICE, "auto"), CHOICES)
    if choice == "numpy" or not (_installed(choice) and _able(policy, world, recorder)):
        return None
    if choice == "auto" and not _pays(world, len(recorder.pulls)):
        return None
    return Engine(policy, world, recorder, state, rng)


class Engine:
    """Plays the rounds of a block compiled; state and measures are those that NumPy would have."""

    def __init__(
        self, policy: Policy, world: World, recorder: MetricRecorder, state: State, rng: np.random.Generator
    ) -> None:
        """See the class."""
        self._world, self._run, self._state = world, recorder.run, state
        self._rules: PolicyRules = rules_of(policy)
        streams = rng.strands if isinstance(rng, Streams) else [(rng, slice(0, world.lanes))]
        self._strands = {
            lanes.start: _Strand(self._rules, world, recorder, state, lanes, own) for own, lanes in streams
        }

    def play(self, stop: int) -> None:
        """Play on, up to and including a round."""
        with interrupts_wait():
            from evenhand.simulation.compiled import kernel

        for drawn in self._world.ahead(stop):
            rounds, lanes, _ = drawn.rewards.shape
            strand = self._strands[drawn.lanes.start]
            strand.holds = rules.with_sizes(strand.holds, self._rules.hold, rounds)
            strand.arrivals = rules.with_room(strand.arrivals, rounds * lanes * self._rules.plays)
            draws = self._draws(drawn)
            with interrupts_wait():  # the first call compiles
                strand.play(kernel.play, draws, drawn.before)
        self._state.round = stop
        self._run.jump(stop, self._state.tally.pulls)

    def _draws(self, drawn: Drawn) -> rules.Draws:
        """What is drawn, in the form of the kernel."""
        index, rewards = self._rules.score, drawn.rewards
        times = np.arange(drawn.before + 1.0, drawn.before + len(rewards) + 1.0) + self._state.rounds_before
        growth = index.exploration * np.log(np.maximum(times - float(index.played), 1.0))
        earned = rewards if rewards.dtype == bool else rewards.astype(float)
        limits = np.empty((0, 0), dtype=bool) if drawn.available is None else _flat(drawn.available)
        return rules.Draws(growth, _flat(earned), limits, self._late(drawn))

    def _late(self, drawn: Drawn) -> Array:
        """The delay of every reward, or the chance that decides it."""
        quantile = rules_of(self._world.environment.feedback).quantile
        if quantile is None:
            return np.empty((0, 0)) if drawn.chance is None else _flat(drawn.chance)
        shape = drawn.rewards.shape
        arms = np.broadcast_to(np.arange(shape[-1]), shape).reshape(-1)
        level = np.zeros(arms.size) if drawn.chance is None else drawn.chance.reshape(-1)
        delays = np.array(quantile(level, arms, drawn.rewards.reshape(-1)), dtype=float)
        return _flat(delays.reshape(shape))


class _Strand:
    """The lanes that share a random stream, as the kernel sees them."""

    def __init__(
        self,
        policy: PolicyRules,
        world: World,
        recorder: MetricRecorder,
        state: State,
        lanes: slice,
        rng: np.random.Generator,
    ) -> None:
        self.rng = rng
        self.rules = rules.rules_for(policy, state.tally.pulls.shape, lanes)
        self.counts = rules.counts_of(state, recorder, lanes)
        self.holds = rules.holds_of(policy.hold, state, lanes)
        self.arrivals = rules.arrivals_of(rules_of(world.environment.feedback), lanes.stop - lanes.start, world.horizon)
        self.scratch = rules.scratch_for(lanes.stop - lanes.start, world.environment.arms, policy.plays)

    def play(self, loop: Callable[..., None], draws: rules.Draws, before: int) -> None:
        """The rounds for which something was drawn, after so many before."""
        loop(self.rules, self.counts, self.holds, self.arrivals, draws, self.scratch, before, self.rng)


@cache
def _installed(choice: str) -> bool:
    found = importlib.util.find_spec("numba") is not None
    if choice == "compiled" and not found:
        raise EvenhandError(f"{CHOICE} = 'compiled', but {remedy('numba')}")
    return found


def _strand_number(world: World) -> int:
    return -(-world.lanes // STRAND)


def _pays(world: World, checkpoints: int) -> bool:
    """Whether compiling pays, with all that could have been compiled before in this process."""
    global _seconds
    seconds = world.horizon * (ROUND + world.lanes * world.environment.arms * ARM) * 1e-9
    if checkpoints * _strand_number(world) * CALL > PART * seconds:
        return False
    _seconds += seconds
    return _seconds >= PAYS or KERNEL in sys.modules


def _able(policy: Policy, world: World, recorder: MetricRecorder) -> bool:
    """Whether every part has rules that the kernel can play together."""
    rules: PolicyRules | None = rules_of(policy)
    return (
        rules is not None
        and not (rules.ties == "random" and policy.index.traits.random)  # whose draws would be in another order
        and not (rules.hold.size is not None and policy.by_lane)  # which draws for lanes that hold, too
        and world.plain
        and _can_arrive(rules.score, rules.plays, world)
        and all(by_sums(metric) or metric is MEASURES[MaxViolation.name] for metric, _ in recorder.metrics)
    )


def _can_arrive(index: IndexRules, plays: int, world: World) -> bool:
    """Whether there is a rule for how rewards arrive."""
    environment, trials = world.environment, index.kind == "beta"
    binary = rules_of(environment.rewards) is not None
    feedback: FeedbackRules | None = rules_of(environment.feedback)
    if feedback is None or (trials and not binary):
        return False
    if feedback.kind == "at once":
        return True
    if feedback.kind == "singly":
        return binary and world.horizon * _strand_number(world) <= ROOM
    drawn = feedback.kind == "random"
    exact = binary or (plays == 1 and not drawn)
    return exact and not trials and not (drawn and feedback.last > LONGEST)


def _flat(draws: NDArray[Any]) -> NDArray[Any]:
    """(rounds, lanes × arms)."""
    return np.ascontiguousarray(draws.reshape(len(draws), -1))
