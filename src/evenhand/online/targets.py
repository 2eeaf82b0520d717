"""Policies whose value and shares are estimated from a log that another policy made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.algorithms import find
from evenhand.cadence import ChooseAlways
from evenhand.errors import EvenhandError, nearest
from evenhand.fairness import Claim
from evenhand.online.bandit import Bandit
from evenhand.online.logfile import Log
from evenhand.policy import Policy
from evenhand.records import Array, Feedback, Mask
from evenhand.selection import Chosen, Selection

CELLS = 2_000_000  # chances in memory at a time
LANES = 100  # in which an index that is drawn at random is drawn


class Target(Protocol):
    """A policy that plays one item a round, of which is asked what it would earn."""

    @property
    def name(self) -> str:
        """What the report calls it."""
        ...

    def needs(self) -> tuple[str, ...]:
        """Items that the target names, also where the log does not know them."""
        ...

    def chances(self, log: Log) -> Iterator[Array]:
        """The chance of every item in each round, (rounds, items), some rounds at a time and in order.

        The chances of a round may depend on what the log says of the rounds before, and on nothing else.
        """
        ...


@dataclass(frozen=True)
class FixedShares:
    """Every item plays with a fixed share; where some are not available, the others share in proportion.

    ``π(i) = s_i / Σ_{j available} s_j``, and evenly where that sum is 0

    Args:
        shares: of the items, with a sum of 1; items that are not named have none. None gives all available items the
            same.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1], "item_id": ["a"], "reward": [1], "propensity_score": [1], "available": "a|b"}
        >>> log = Log.of(pd.DataFrame(rows))
        >>> next(FixedShares({"a": 0.25, "b": 0.75}).chances(log))
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
        """Uniform, or fixed shares."""
        return "uniform" if self.shares is None else "fixed shares"

    def needs(self) -> tuple[str, ...]:
        """All that have a share."""
        return tuple(name for name, share in (self.shares or {}).items() if share > 0.0)

    def chances(self, log: Log) -> Iterator[Array]:
        """The shares among those available."""
        given = dict.fromkeys(log.items, 1.0) if self.shares is None else self.shares
        shares = np.array([given.get(name, 0.0) for name in log.items])
        size = max(1, CELLS // len(log.items))
        for start in range(0, log.rounds, size):
            awake = log.sets[log.available[start : start + size]]
            weights = np.where((awake @ shares > 0.0)[:, np.newaxis], awake * shares, awake)
            yield weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Learner:
    """An algorithm that learns from the log as it goes.

    Before every round its chances are worked out from the state that the log's past has led to; then the round's items
    count as its own plays (N), and their rewards as its feedback. An index that weighs a reward by the chance of the
    play it came from (EXP3) is told the log's propensity. So what is estimated is

    ``V = (1/T) Σ_t Σ_i π_t(i) μ_i``,  π_t being the algorithm's chances after t − 1 rounds of the log:

    the mean over the rounds of what the algorithm would earn in round t if it had learned from the log until then. This
    is not what it would have earned had it chosen all along itself: it would then have learned of other items, and a
    promised share would be reckoned against its own plays and not against the log's. In particular, an algorithm with
    promised shares keeps giving the items that the *log* neglected, without ever catching up.

    Where the chances have a closed form they are exact. Otherwise they are the mean over lanes, each with draws of its
    own; as the estimates are linear in the chances, but for SNIPS, this adds to their spread and not to their bias.

    Args:
        algorithm: a name of `evenhand.algorithms` that plays one item a round and decides anew in every round.
        parameters: its parameters, as in `evenhand.online.Bandit`: those with one value an item as a list in the order
            of the log's items, or by name; a single fraction stands for all. A horizon left out is the log's rounds.
        seed: of the draws.
        lanes: in which an index that is drawn at random is drawn.

    Raises:
        EvenhandError: a parameter is missing, unknown or out of range; the algorithm holds its choices for several
            rounds, which the log does not; a reward is outside [0, 1]; an item is not in the log.
        InfeasiblePromise: the promised shares cannot be kept.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2, 3], "item_id": ["a", "b", "a"], "reward": [0, 1, 0], "propensity_score": 0.5}
        >>> next(Learner("ucb1").chances(Log.of(pd.DataFrame(rows))))
        array([[1., 0.],
               [0., 1.],
               [0., 1.]])
    """

    algorithm: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    lanes: int = LANES

    def __post_init__(self) -> None:
        validate.whole("seed", self.seed, low=0)
        validate.whole("lanes", self.lanes)

    @property
    def name(self) -> str:
        """The algorithm's."""
        return self.algorithm

    def needs(self) -> tuple[str, ...]:
        """None beyond the log's."""
        return ()

    def chances(self, log: Log) -> Iterator[Array]:
        """The chances of each round, given the rounds before."""
        outside = (log.reward < 0.0) | (log.reward > 1.0)
        if outside.any():
            reward = float(log.reward[outside][0])
            raise EvenhandError(f"algorithms learn from rewards in [0, 1]; {log.source} has one of {reward:g}")
        plain = self._policy(log)
        logged = _Logged(plain.selection)
        policy = replace(plain, selection=logged)
        state = policy.start(len(log.items), self.lanes if plain.index.random else None)
        shape, rng = state.tally.pulls.shape, np.random.default_rng(self.seed)
        size = max(1, CELLS // len(log.items))
        ends = np.searchsorted(log.round, np.arange(log.rounds), side="right").tolist()
        row, chances = 0, np.zeros((min(size, log.rounds), len(log.items)))
        full: list[bool] = np.asarray(log.sets.all(axis=1)).tolist()
        for round, end in enumerate(ends):
            items, number = log.item[row:end], int(log.available[round])
            logged.say(items, log.propensity[row:end], shape)
            policy.decide(state, rng, None if full[number] else log.sets[number])
            chances[round % size] = logged.vector
            rewards = np.zeros(shape)
            rewards[..., items] = log.reward[row:end]
            policy.observe(state, Feedback(logged.played, rewards), rng)
            row = end
            if (round + 1) % size == 0 or round + 1 == log.rounds:
                yield chances[: round % size + 1].copy()

    def _policy(self, log: Log) -> Policy:
        """The policy for the log's items."""
        known, given = find(self.algorithm).parameters, dict(self.parameters)
        for key in given:
            if key not in known or key == "plays":
                hint = "; an item a round is evaluated" if key == "plays" else nearest(key, set(known) - {"plays"})
                raise EvenhandError(f"{self.algorithm} has no parameter {key!r} here{hint}")
        if "horizon" in known:
            given.setdefault("horizon", log.rounds)
        if isinstance(given.get("fractions"), int | float):
            given["fractions"] = [given["fractions"]] * len(log.items)
        policy = Bandit(log.items, self.algorithm, **given).policy
        if not isinstance(policy.cadence, ChooseAlways):
            raise EvenhandError(
                f"{self.algorithm} holds a choice for several rounds, which a log does not let it do; take an "
                "algorithm that decides anew in every round"
            )
        return policy


@dataclass
class _Logged:
    """A selection in whose place the log has chosen; keeps what the selection's chances would have been."""

    inner: Selection
    items: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    propensity: Array = field(default_factory=lambda: np.zeros(0))
    played: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    vector: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def plays(self) -> int:
        return self.inner.plays

    def say(self, items: NDArray[np.intp], propensity: Array, shape: tuple[int, ...]) -> None:
        """What the log has chosen, with which chance."""
        self.items, self.propensity = items, propensity
        self.played = np.zeros(shape, dtype=bool)
        self.played[..., items] = True

    def select(self, claim: Claim, available: Mask | None, rng: np.random.Generator) -> Chosen:
        """The log's choice, with its chance; the selection's own chances, averaged over the lanes, are kept."""
        _, vector = self.inner.select(claim, available, rng)
        given = np.array(np.broadcast_to(vector, self.played.shape), dtype=float)
        self.vector = given if given.ndim == 1 else given.mean(axis=0)
        noted = given.copy()
        noted[..., self.items] = self.propensity
        return self.played, noted


def as_target(target: Target | Mapping[str, float] | str) -> Target:
    """A target, from one, from shares by item, or from ``"uniform"``.

    Example:
        >>> as_target({"a": 1.0}).name, as_target("uniform").name
        ('fixed shares', 'uniform')
    """
    if isinstance(target, Mapping):
        return FixedShares(dict(target))
    if isinstance(target, str):
        validate.one_of("target", target, ("uniform",))
        return FixedShares()
    return target
