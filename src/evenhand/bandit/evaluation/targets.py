"""Target policies, whose value and shares are estimated from the log of another policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.algorithms.build import entry_of
from evenhand.bandit.arguments import RewardRange, by_arm
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.record import label_of, policy_for, split
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array, Decision, Feedback, Observation
from evenhand.messages.changes import VALUES
from evenhand.policy.composition import Policy

CELLS = 2_000_000  # propensities in memory at a time
LANES = 100  # over which random scores are averaged


class Target(Protocol):
    """A policy that plays one item per round, whose mean reward is to be estimated."""

    @property
    def name(self) -> str:
        """The name in results and messages."""
        ...

    def items(self) -> tuple[str, ...]:
        """Items that the target can play and the log may lack.

        Returns:
            Their names.
        """
        ...

    def propensities(self, log: Log) -> Iterator[Array]:
        """The propensity of every item in each round, (rounds, items), in order and some rounds at a time.

        The propensities of a round may depend on the earlier rounds of the log and on nothing else.

        Args:
            log: whose rounds the target decides again.

        Returns:
            Arrays of (some rounds, items), each number in [0, 1].
        """
        ...


@dataclass(frozen=True)
class FixedShares:
    """Every item plays with a fixed share, in proportion among the available items.

    ``π(i) = s_i / Σ_{j available} s_j``, and equal shares where that sum is 0

    Args:
        shares: by item, with a sum of 1; items left out have none. None gives equal shares to all available items.

    Raises:
        EvenhandError: a share is outside [0, 1], or the sum is not 1.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1], "item_id": ["a"], "reward": [1], "propensity_score": [1], "available": "a|b"}
        >>> log = Log.of(pd.DataFrame(rows))
        >>> next(FixedShares({"a": 0.25, "b": 0.75}).propensities(log))
        array([[0.25, 0.75]])
    """

    shares: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.shares is None:
            return
        total = sum(validate.number(f"the share of {name!r}", share, 0.0, 1.0) for name, share in self.shares.items())
        if abs(total - 1.0) > 1e-6:
            raise EvenhandError(f"shares must sum to 1, they sum to {total:.6g}")

    @property
    def name(self) -> str:
        """``uniform`` or ``fixed shares``."""
        return "uniform" if self.shares is None else "fixed shares"

    def items(self) -> tuple[str, ...]:
        """The items with a share.

        Returns:
            Their names.
        """
        return tuple(name for name, share in (self.shares or {}).items() if share > 0.0)

    def propensities(self, log: Log) -> Iterator[Array]:
        """The shares among the available items.

        Args:
            log: whose rounds the target decides again.

        Returns:
            Arrays of (some rounds, items), each row with the sum 1.
        """
        by_item = dict.fromkeys(log.items, 1.0) if self.shares is None else self.shares
        shares = np.array([by_item.get(name, 0.0) for name in log.items])
        size = max(1, CELLS // len(log.items))
        for start in range(0, log.rounds, size):
            available = log.sets[log.available[start : start + size]]
            weights = np.where((available @ shares > 0.0)[:, np.newaxis], available * shares, available)
            yield weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Learner:
    """An algorithm that learns from the log, round by round.

    In every round its propensities are computed from the state after the earlier rounds of the log; then the round's
    items count as its own plays (N), and their rewards as its feedback. An index that divides a reward by the
    propensity of its play (EXP3) is given the log's propensity. So the estimated value is

    ``V = (1/T) Σ_t Σ_i π_t(i) μ_i``,  with π_t the algorithm's propensities after t − 1 rounds of the log:

    the mean over the rounds of the algorithm's reward in round t after it has learned from the log until then. This is
    not its reward if it had decided from the start: it would have learned from other plays, and its promises would be
    counted against its own plays instead of the log's. In particular, an algorithm with
    promised shares keeps playing the items that are behind in the *log*, without ever catching up.

    Where the propensities have a closed form they are exact. Otherwise they are means over independent lanes; since the
    estimates other than SNIPS are linear in the propensities, this adds to their variance, not to their bias.

    Args:
        algorithm: a name of `evenhand.algorithms`, or a table as in a configuration, with an ``algorithm`` or a table
            for each part; one that plays one item per round and decides in every round.
        parameters: its parameters, as in `evenhand.bandit.Bandit`: those with one value per item as a list in the order
            of the log's items, or by name; a single fraction applies to all items. The default horizon is the number of
            rounds in the log.
        seed: of the lanes.
        lanes: over which random scores are averaged.
        rewards: the smallest and the largest reward of the log; the algorithm learns from rewards scaled to [0, 1].
        importing: how to find a part or an algorithm ``module:name``; None refuses them.

    Raises:
        EvenhandError: a parameter is missing, unknown or out of range; the algorithm holds its choices for several
            rounds, which the log does not; a reward is outside the range; an item is not in the log.
        InfeasiblePromise: the promised shares cannot be kept.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2, 3], "item_id": ["a", "b", "a"], "reward": [0, 1, 0], "propensity_score": 0.5}
        >>> next(Learner("ucb1").propensities(Log.of(pd.DataFrame(rows))))
        array([[1., 0.],
               [0., 1.],
               [0., 1.]])
    """

    algorithm: str | Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    lanes: int = LANES
    rewards: tuple[float, float] = (0.0, 1.0)
    importing: Callable[[str], Any] | None = None

    def __post_init__(self) -> None:
        validate.whole("seed", self.seed, low=0)
        validate.whole("lanes", self.lanes)
        RewardRange.of(self.rewards)

    @property
    def name(self) -> str:
        """The label of the table, the name of the algorithm, or the kinds of its parts."""
        label = self.algorithm.get("label") if isinstance(self.algorithm, Mapping) else None
        return label_of(self._split()[0]) if label is None else str(label)

    def items(self) -> tuple[str, ...]:
        """None: it plays the items of the log.

        Returns:
            An empty tuple.
        """
        return ()

    def propensities(self, log: Log) -> Iterator[Array]:
        """The propensities of each round, given the rounds before.

        Args:
            log: from which the policy learns; its rewards must be in the range ``rewards``.

        Returns:
            Arrays of (some rounds, items), each number in [0, 1].

        Raises:
            EvenhandError: a reward is outside the range.
        """
        limits = RewardRange.of(self.rewards)
        low, high = limits
        limits.check_log(log.source, log.reward)
        scaled = (log.reward - low) / (high - low)
        policy = self._policy(log)
        state = policy.start(len(log.items), self.lanes if policy.index.traits.random else None, limits.unit)
        shape, rng = state.tally.pulls.shape, np.random.default_rng(self.seed)
        size = max(1, CELLS // len(log.items))
        ends = np.searchsorted(log.round, np.arange(log.rounds), side="right").tolist()
        row, propensities = 0, np.zeros((min(size, log.rounds), len(log.items)))
        full: list[bool] = np.asarray(log.sets.all(axis=1)).tolist()
        for round, end in enumerate(ends):
            items, number = log.item[row:end], int(log.available[round])
            available = None if full[number] else log.sets[number]
            chosen = policy.choose(state, Observation(available), rng)
            inclusion = np.array(np.broadcast_to(chosen.inclusion, shape), dtype=float)
            propensities[round % size] = inclusion if inclusion.ndim == 1 else inclusion.mean(axis=0)
            logged = _logged(chosen, inclusion, items, log.propensity[row:end])
            policy.apply(state, logged)
            rewards = np.zeros(shape)
            rewards[..., items] = scaled[row:end]
            policy.observe(state, Feedback(logged.played, rewards), rng)
            row = end
            if (round + 1) % size == 0 or round + 1 == log.rounds:
                yield propensities[: round % size + 1].copy()

    def _policy(self, log: Log) -> Policy:
        """The policy for the log's items."""
        algorithm, parameters = self._split()
        if isinstance(algorithm, str):
            parameters = self._for_log(algorithm, parameters, log)
        for name in set(VALUES) & set(parameters):
            parameters[name] = by_arm(name, parameters[name], log.items)
        policy = policy_for(algorithm, parameters, log.items, importing=self.importing)
        if policy.plays != 1:
            raise EvenhandError(f"{self.name} plays {policy.plays} items per round; one item per round is evaluated")
        if not policy.hold.traits.idle or policy.schedule.forces:
            raise EvenhandError(
                f"{self.name} holds a choice for several rounds, which cannot be evaluated from a log; use an "
                "algorithm that decides in every round"
            )
        return policy

    def _split(self) -> tuple[str | dict[str, Any], dict[str, Any]]:
        """The name or the table of parts, and the parameters."""
        if isinstance(self.algorithm, str):
            return split(self.algorithm, self.parameters)
        return split({key: value for key, value in self.algorithm.items() if key != "label"}, self.parameters)

    def _for_log(self, algorithm: str, parameters: dict[str, Any], log: Log) -> dict[str, Any]:
        """The parameters of an algorithm, with the horizon of the log."""
        known = entry_of(algorithm, self.importing).parameters
        for key in parameters:
            if key not in known or key == "plays":
                hint = "; one item per round is evaluated" if key == "plays" else nearest(key, set(known) - {"plays"})
                raise EvenhandError(f"{algorithm} has no parameter {key!r} here{hint}")
        return {"horizon": log.rounds} | parameters if "horizon" in known else parameters


def _logged(chosen: Decision, inclusion: Array, items: NDArray[np.intp], propensity: Array) -> Decision:
    """The decision of the log in place of the policy's, with its propensities."""
    played = np.zeros(inclusion.shape, dtype=bool)
    played[..., items] = True
    inclusion[..., items] = propensity
    return replace(chosen, played=played, inclusion=inclusion)


def as_target(target: Target | Mapping[str, float] | str) -> Target:
    """A target, from one, from shares by item, or from ``"uniform"``."""
    if isinstance(target, Mapping):
        return FixedShares(dict(target))
    if isinstance(target, str):
        validate.one_of("target", target, ("uniform",))
        return FixedShares()
    return target
