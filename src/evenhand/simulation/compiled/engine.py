"""Which simulations can run compiled, when that pays, and how their parts become the rules of the kernel."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, State
from evenhand.core.streams import Streams
from evenhand.environment.environment import World
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.evidence import Received
from evenhand.policy.fairness import DeficitBonus, DeficitFirst, Fairness, NoPromise, VirtualQueue
from evenhand.policy.hold import EveryRound
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean, Index
from evenhand.policy.policy import Policy
from evenhand.policy.prior import shapes
from evenhand.policy.schedule import NoSchedule
from evenhand.policy.selection import TopM
from evenhand.simulation.measures import MEASURES, MaxViolation
from evenhand.simulation.metrics import Metric, MetricRecorder

#: The environment variable that chooses the engine, and what it may be.
CHOICE, CHOICES = "EVENHAND_ENGINE", ("auto", "numpy", "compiled")
KERNEL = "evenhand.simulation.compiled.kernel"
#: Nanoseconds that NumPy takes for a round, and for each arm of each lane in it.
ROUND, ARM = 25_000, 40
#: Seconds of NumPy from which on compiling pays.
PAYS = 5.0

_seconds = 0.0  # that NumPy would have taken for what could have been compiled in this process


def engine(
    policy: Policy, world: World, recorder: MetricRecorder, state: State, rng: np.random.Generator
) -> Engine | None:
    """What plays the rounds of a block compiled; None where NumPy does.

    It is used where Numba is installed, every part has a rule in the kernel, and so much is to be done in this process
    that compiling pays. The environment variable ``EVENHAND_ENGINE`` forbids it (``numpy``) or has it used for
    whatever it can do (``compiled``). The results are the same.

    Args:
        policy: what decides.
        world: before its first round.
        recorder: of the measures.
        state: of the policy, before the first round.
        rng: of the policy.

    Raises:
        EvenhandError: the environment variable names no engine, or Numba is wanted and not installed.
    """
    choice = validate.one_of(CHOICE, os.environ.get(CHOICE, "auto"), CHOICES)
    if choice == "numpy" or not (_installed(choice) and _able(policy, world, recorder)):
        return None
    if choice == "auto" and not _pays(world.horizon * (ROUND + world.lanes * world.environment.arms * ARM) * 1e-9):
        return None
    return Engine(policy, world, recorder, state, rng)


class Engine:
    """Plays the rounds of a block compiled; state and measures are those that NumPy would have.

    Args:
        policy: see `engine`, as for the rest.
        world: before its first round.
        recorder: of the measures.
        state: of the policy.
        rng: of the policy.
    """

    def __init__(
        self, policy: Policy, world: World, recorder: MetricRecorder, state: State, rng: np.random.Generator
    ) -> None:
        """See the class."""
        from evenhand.simulation.compiled import kernel

        self._play, self._draws = kernel.play, kernel.Draws
        self._world, self._run, self._state = world, recorder.run, state
        self._streams = {lanes.start: one for one, lanes in rng.strands} if isinstance(rng, Streams) else {0: rng}
        self._exploration = getattr(policy.index, "exploration", 0.0)
        self._late = float(getattr(policy.index, "clock", "round") == "played")
        shape = state.tally.pulls.shape
        self._rules = kernel.Rules(
            **_score_rules(policy.index, shape), **_owed_rules(policy.fairness, shape), **_choice_rules(policy)
        )
        self._counts = kernel.Counts(**_counts(state, recorder))

    def play(self, stop: int) -> None:
        """Play on, up to and including a round.

        Args:
            stop: the round.
        """
        for lanes, before, rewards, available in self._world.ahead(stop):
            times = np.arange(before + 1.0, before + len(rewards) + 1.0) + self._state.rounds_before
            growth = self._exploration * np.log(np.maximum(times - self._late, 1.0))
            earned = rewards if rewards.dtype == bool else rewards.astype(float)
            limits = np.empty((0, 0), dtype=bool) if available is None else _flat(available)
            draws = self._draws(growth, _flat(earned), limits)
            self._play(self._rules, self._counts, draws, before, lanes.start, lanes.stop, self._streams[lanes.start])
        self._state.round = stop
        self._run.jump(stop, self._state.tally.pulls)


@cache
def _installed(choice: str) -> bool:
    found = importlib.util.find_spec("numba") is not None
    if choice == "compiled" and not found:
        raise EvenhandError(f"{CHOICE} = 'compiled', but Numba is not installed; install evenhand[fast]")
    return found


def _pays(seconds: float) -> bool:
    """Whether compiling pays, with all that could have been compiled before in this process."""
    global _seconds
    _seconds += seconds
    return _seconds >= PAYS or KERNEL in sys.modules


def _able(policy: Policy, world: World, recorder: MetricRecorder) -> bool:
    """Whether every part has a rule in the kernel; parts of the user's own have none."""
    index, fairness = policy.index, policy.fairness
    return (
        type(policy) is Policy
        and type(policy.schedule) is NoSchedule
        and type(policy.hold) is EveryRound
        and type(policy.selection) is TopM
        and not (policy.selection.ties == "random" and index.random)  # whose draws would be in another order
        and type(index) in (UCB, BetaSample, EmpiricalMean)
        and type(index.evidence) is Received
        and getattr(index, "clock", "round") != "evidence"
        and type(fairness) in (NoPromise, DeficitFirst, DeficitBonus, VirtualQueue)
        and world.plain
        and (type(index) is not BetaSample or type(world.environment.rewards) is Bernoulli)
        and all(MEASURES.get(one.name) is one and _watches_nothing(one) for one, _ in recorder.metrics)
    )


def _watches_nothing(metric: Metric) -> bool:
    return type(metric).see is Metric.see or type(metric) is MaxViolation


def _score_rules(index: Index, shape: tuple[int, ...]) -> dict[str, Any]:
    from evenhand.simulation.compiled import kernel

    kinds: dict[type[Index], int] = {UCB: kernel.UCB, BetaSample: kernel.BETA, EmpiricalMean: kernel.MEAN}
    a, b = shapes(index.prior) if isinstance(index, BetaSample) else (1.0, 1.0)
    return {
        "arms": shape[-1],
        "score": kinds[type(index)],
        "clip": bool(getattr(index, "clip", False)),
        "prior": np.array([_full(a, shape[-1:]), _full(b, shape[-1:])]),
    }


def _owed_rules(fairness: Fairness, shape: tuple[int, ...]) -> dict[str, Any]:
    from evenhand.simulation.compiled import kernel

    kind, rates, tolerance = kernel.NOTHING, np.zeros(1), 0.0
    if isinstance(fairness, DeficitFirst):
        kind, tolerance = kernel.FIRST, fairness.tolerance
    elif isinstance(fairness, DeficitBonus):
        kinds = {"linear": kernel.LINEAR, "hinge": kernel.HINGE, "hard": kernel.HARD, "soft": kernel.SOFT}
        kind, rates = kinds[fairness.shape], fairness.rate
    elif isinstance(fairness, VirtualQueue):
        kind = kernel.RECURSIVE if fairness.queue == "recursive" else kernel.EXACT
        rates = fairness.eta * fairness.weights
        if not fairness.promises:
            kind, rates = kernel.WEIGHED, fairness.weights
    return {
        "owed": kind,
        "fractions": _full(0.0 if fairness.fractions is None else fairness.fractions, shape).ravel(),
        "rates": _full(rates, shape).ravel(),
        "tolerance": float(tolerance),
    }


def _choice_rules(policy: Policy) -> dict[str, Any]:
    from evenhand.simulation.compiled import kernel

    kinds = {"first": kernel.LOWEST, "fewest": kernel.FEWEST, "random": kernel.RANDOM}
    assert isinstance(policy.selection, TopM)
    return {"plays": policy.plays, "ties": kinds[policy.selection.ties]}


def _counts(state: State, recorder: MetricRecorder) -> dict[str, Any]:
    run, shape, tally = recorder.run, state.tally.pulls.shape, state.tally
    worst = next((memory for metric, memory in recorder.metrics if type(metric) is MaxViolation), None)
    by_set = run.baseline.by_set
    counted = {
        "pulls": tally.pulls,
        "received": tally.received,
        "rewards": tally.rewards,
        "successes": getattr(state.index, "successes", None),
        "queue_rounds": getattr(state.fairness, "rounds", None),
        "queue_plays": getattr(state.fairness, "plays", None),
        "earned": run.earned,
        "worst": worst,
        "promised": None if worst is None else _full(run.baseline.fractions, shape),
    }
    flat = {name: np.empty(0) if values is None else values.reshape(-1) for name, values in counted.items()}
    return {
        **flat,
        "optima": run.optima,
        "by_set": np.empty((0, 0)) if by_set is None else np.ascontiguousarray(by_set),
    }


def _flat(draws: NDArray[Any]) -> NDArray[Any]:
    """(rounds, lanes × arms)."""
    return np.ascontiguousarray(draws.reshape(len(draws), -1))


def _full(values: Any, shape: tuple[int, ...]) -> Array:
    full: NDArray[np.float64] = np.array(np.broadcast_to(np.asarray(values, dtype=float), shape))
    return full
