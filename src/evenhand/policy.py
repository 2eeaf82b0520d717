"""A policy is a choice of five parts: index, fairness, selection and cadence; the index names its evidence."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand import validate
from evenhand.cadence import Cadence, EveryRound
from evenhand.errors import EvenhandError
from evenhand.fairness import Fairness, NoPromise
from evenhand.index import UCB, Heedful, Index
from evenhand.merit import Merit
from evenhand.records import Decision, Feedback, Mask, State, Tally, rows
from evenhand.selection import Selection, TopM


@dataclass(frozen=True)
class Policy:
    """Decides who plays, and learns from what comes back.

    A policy holds parameters only. What it remembers is a `State`, which `start` makes, `decide` and `observe` update
    in place, and `evenhand.dump` and `evenhand.restore` save and load exactly.

    Args:
        index: what each arm is worth, from which evidence.
        fairness: what each arm is owed.
        selection: who plays a round.
        cadence: how long a choice lasts.
        name: the algorithm's name in the registry, for labels; empty for a composition of your own.

    Example:
        >>> import numpy as np
        >>> from evenhand.policy import Policy
        >>> from evenhand.records import Feedback
        >>> from evenhand.fairness import DeficitFirst
        >>> policy, rng = Policy(fairness=DeficitFirst([0.2, 0.2])), np.random.default_rng(7)
        >>> state = policy.start(arms=2)
        >>> decision = policy.decide(state, rng)
        >>> decision.played
        array([ True, False])
        >>> policy.observe(state, Feedback(received=decision.played, rewards=np.array([1.0, 0.0])), rng)
        >>> state.tally.rewards
        array([1., 0.])
    """

    index: Index = UCB()
    fairness: Fairness = NoPromise()
    selection: Selection = TopM()
    cadence: Cadence = EveryRound()
    name: str = ""

    def __post_init__(self) -> None:
        validate.part("index", self.index, "worth", "UCB()")
        validate.part("fairness", self.fairness, "claim", "NoPromise()")
        validate.part("selection", self.selection, "select", "TopM()")
        validate.part("cadence", self.cadence, "worth", "EveryRound()")

    @property
    def plays(self) -> int:
        """Arms played a round, m."""
        return self.selection.plays

    @property
    def merit(self) -> Merit | None:
        """The function of an arm's mean to which its share is proportional; None where no such share is promised."""
        return self.fairness.merit

    @property
    def fractions(self) -> Any:
        """The share of the rounds promised to each arm, (…, arms); None where no share is promised."""
        return self.cadence.fractions if self.fairness.fractions is None else self.fairness.fractions

    def start(self, arms: int, lanes: int | None = None) -> State:
        """A state in which nothing has happened yet.

        Args:
            arms: number of arms, K ≥ m.
            lanes: number of independent replications that run side by side; None for a single one without a lane axis.

        Raises:
            EvenhandError: there are fewer arms than plays, a parameter has another number of arms, or a share could
                exceed one.
        """
        validate.whole("arms", arms)
        if self.plays > arms:
            raise EvenhandError(f"plays = {self.plays}, but there are only {arms} arms to play")
        if self.fractions is not None:
            validate.one_an_arm("fractions", self.fractions, arms)
            if lanes is None and isinstance(self.fractions, np.ndarray) and self.fractions.ndim > 1:
                raise EvenhandError("fractions has several rows; PerLane(fractions) gives each lane one of them")
        self.fairness.check(arms, self.plays)
        self.cadence.check(arms)
        shape = (arms,) if lanes is None else (validate.whole("lanes", lanes), arms)
        return State(
            round=0,
            tally=Tally.empty(shape),
            index=self.index.start(shape),
            fairness=self.fairness.start(shape),
            cadence=self.cadence.start(shape),
        )

    def decide(self, state: State, rng: np.random.Generator, available: Mask | None = None) -> Decision:
        """Who plays the next round; counts the plays in ``state``.

        Args:
            state: updated in place.
            rng: the policy's own random stream.
            available: (…, arms) or (arms,), True where an arm can play; None where all can.

        Raises:
            EvenhandError: ``available`` is for another number of arms or lanes.
        """
        if available is not None:
            available = _awake(available, state)
        held = self.cadence.held(state, available, rng)
        chosen: Mask | None = None if held is None else np.logical_not(held @ np.ones((state.arms, 1), dtype=bool))
        if held is None or chosen is None or chosen.all():
            played, vector, random = self._choose(state, rng, available)
        elif not chosen.any():
            played, vector, random = held, held, False
        else:
            played, vector, random = self._choose_in(chosen[..., 0], held, state, rng, available)
        if self._heedful is not None:
            self._heedful.note(state, played, vector, chosen)
        self.cadence.note(state, played, chosen)
        state.round += 1
        state.tally.pulls += played
        self.fairness.note(state.fairness, played)
        return Decision(state.round, played, None if random else vector, available, vector)

    def _choose(
        self, state: State, rng: np.random.Generator, available: Mask | None
    ) -> tuple[Mask, NDArray[Any], bool]:
        """Who plays, the selection vector, and whether chance had a part in it beyond the selection."""
        worth = self.index.worth(state, rng, None if self.cadence.holds else available)
        worth = self.cadence.worth(worth, state)
        claim = self.fairness.claim(worth, self.index.random, state)
        claim = self.cadence.claim(claim, state, available)
        played, vector = self.selection.select(claim, available, rng)
        return played, vector, claim.random

    def _choose_in(
        self, chosen: Mask, held: Mask, state: State, rng: np.random.Generator, available: Mask | None
    ) -> tuple[Mask, NDArray[Any], bool]:
        """A choice in some lanes only; the others go on."""
        lanes = np.flatnonzero(chosen)
        awake = None if available is None else available[lanes]
        if self._by_lane:
            found, share, random = self._choose(state, rng, available)
            found, share = found[lanes], share[lanes]
        else:
            found, share, random = self._choose(rows(state, lanes), rng, awake)
        played, vector = held.copy(), held.astype(share.dtype)
        played[lanes], vector[lanes] = found, share
        return played, vector, random

    @cached_property
    def _heedful(self) -> Heedful | None:
        """The index if it takes notice of who plays; asking costs as much as playing."""
        return self.index if isinstance(self.index, Heedful) else None

    @cached_property
    def _by_lane(self) -> bool:
        """Whether a parameter differs between lanes."""
        return _has_rows(self)

    def observe(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Take in what arrived at the end of a round; updates ``state`` in place."""
        state.tally.received += feedback.received
        state.tally.rewards += feedback.rewards
        self.index.observe(state.index, feedback, rng)


def _has_rows(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.ndim > 1
    if not dataclasses.is_dataclass(part):
        return False
    return any(_has_rows(getattr(part, field.name)) for field in dataclasses.fields(part))


def _awake(available: Any, state: State) -> Mask:
    """``available`` as booleans in the shape of the state."""
    shape = state.tally.pulls.shape
    awake = np.asarray(available, dtype=bool)
    if awake.shape == shape:
        return awake
    try:
        return np.broadcast_to(awake, shape)
    except ValueError:
        raise EvenhandError(f"available has shape {awake.shape}, this policy needs {shape}") from None
