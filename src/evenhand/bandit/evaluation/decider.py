"""A bandit as a target: it decides the rounds of a log as it stands, and learns nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.bandit.decisions import apply, chosen
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.saved import dump, restored
from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.state import Array, Mask, Observation

if TYPE_CHECKING:
    from evenhand.bandit.arms import Available
    from evenhand.bandit.bandit import Bandit
    from evenhand.bandit.record import Record


@dataclass(frozen=True, eq=False)
class Decider:
    """A bandit that decides every round of a log, one after the other, and receives no reward.

    Its queues and deficits go on from round to round; scores that are drawn are drawn once in each round. What it
    learned before must be from another log, or it knows the rewards by which it is judged.
    """

    bandit: Bandit

    @cached_property
    def record(self) -> Record:
        """The bandit's."""
        return self.bandit._record

    @property
    def name(self) -> str:
        """That of its algorithm."""
        return self.record.label

    def items(self) -> tuple[str, ...]:
        """The arms that can play."""
        return tuple(name for name in self.record.names if name not in self.record.retired)

    def propensities(self, log: Log) -> Iterator[Array]:
        """The chances of the items in every round, given the decisions before."""
        self._check(log)
        record = restored(dump(self.record))  # a copy
        place = [record.arms.place.get(item, -1) for item in log.items]
        able = [self._available(record, log, some) for some in log.sets]
        chances = np.zeros((log.rounds, len(log.items)))
        for round, some in enumerate(log.available.tolist()):
            observation = self._observation(record, log, place, able[some].mask, round)
            decision = chosen(record, observation, record.state)
            decision.places = decision.played.nonzero()[0].tolist()
            pull = None if record.contexts is None else record.contexts.pull(observation, decision.places)
            apply(record, decision, able[some], float(round), pull=pull)
            chances[round] = np.append(decision.inclusion, 0.0)[place]
        yield chances

    def _check(self, log: Log) -> None:
        """Refuse a bandit that cannot decide these rounds."""
        contexts, plays = self.record.contexts, self.record.state.plays
        if plays != 1:
            raise EvenhandError(f"{self.name} plays {plays} items per round; a target plays one")
        if contexts is not None and (log.known is None or log.known.features != contexts.features):
            raise DataError(f"{log.source} was not read with the features of this bandit: read_log(path, features=…)")

    def _available(self, record: Record, log: Log, some: Mask) -> Available:
        """The arms among some of the items."""
        names = [item for item, there in zip(log.items, some.tolist(), strict=True) if there and item in self.items()]
        if not names:
            raise DataError(f"{log.source} has rounds in which no arm of {self.name} is available")
        return record.arms.available(names)

    def _observation(self, record: Record, log: Log, place: list[int], mask: Mask | None, round: int) -> Observation:
        """What is known before a decision."""
        if record.contexts is None or log.known is None:
            return Observation(mask)
        rows = None
        if log.known.arms is not None:
            rows = np.zeros((len(record.arms) + 1, log.known.arms.shape[-1]))
            rows[place] = log.known.arms[round]
            rows = rows[:-1]
        return Observation(mask, log.known.situation[round], rows)
