"""Adversaries that choose when the rewards of a round arrive, after seeing the plays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask, Shape, Unit
from evenhand.environment.anonymous import AnonymousFeedback, Delayed, Flow, Sums
from evenhand.environment.feedback import Channel, FeedbackRules, Scaled


def _arm(value: int | None) -> int | None:
    return None if value is None else validate.natural(value)


@part("feedback", "nonoblivious")
@frozen(eq=False)
class NonOblivious(AnonymousFeedback):
    """An adversary that holds the best arm's rewards back once the policy has settled on it.

    A total arrives whole after ``d`` rounds if the arm is the best one and plays for at least the 3d-th time in a row,
    this round included; else after one round.

    Args:
        delay: d ≥ 1.
        best: index of the best arm; None for the arm of the largest mean in the environment, lane by lane.

    Raises:
        EvenhandError: a parameter is out of range; or ``best`` is None where there is no environment.

    Example:
        >>> import numpy as np
        >>> plays, flow = np.array([[True, False]]), NonOblivious(delay=1, best=0).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([[x, 0.0]]), plays, None).item() for x in (1.0, 0.0, 0.0)]
        [0.0, 1.0, 0.0]

    Source: Wang et al. 2021, section 4.2.
    """

    delay: int = field(converter=validate.count)
    best: int | None = field(default=None, converter=_arm)

    @property
    def by_arm(self) -> bool:
        """True: the adversary sees which arms play."""
        return True

    def check(self, arms: int) -> None:
        """The best arm must be one of them."""
        if self.best is not None and self.best >= arms:
            raise EvenhandError(f"is arm {self.best + 1}, but there are {arms} arms", "best")

    def rules(self) -> FeedbackRules:
        """Totals whole, after one round or all."""
        return FeedbackRules("held back", last=self.delay, best=self.best)

    def flow(self, lanes: int, rounds: int) -> Flow:
        """Totals under way, and the number of the best arm's plays in a row."""
        if self.best is None:
            raise EvenhandError("must be the index of an arm, because there is no environment to take it from", "best")
        return self._flow(np.full(lanes, self.best), rounds)

    def open_for(self, means: Array, unit: Unit | None, shape: Shape, rounds: int) -> Channel:
        """A channel in which the best arm is that of the largest mean, unless it is given."""
        if self.best is not None:
            return super().open_for(means, unit, shape, rounds)
        best = np.broadcast_to(np.argmax(means, axis=-1), math.prod(shape[:-1]))
        channel = Sums(self._flow(best, rounds), shape, self.by_arm)
        return channel if unit is None else Scaled(channel, unit)

    def _flow(self, best: NDArray[np.intp], rounds: int) -> Flow:
        """The flow for the best arm of each lane, (lanes,)."""
        return Delayed(_Streak(self.delay, best).delays, len(best), rounds)


class _Streak:
    """How often the best arm has played in a row in each lane."""

    def __init__(self, delay: int, best: NDArray[np.intp]) -> None:
        self._delay, self._best, self._length = delay, best, np.zeros(len(best))

    def delays(self, plays: NDArray[np.intp], played: Mask, chance: Array | None) -> Array:
        self._length = np.where(played[np.arange(len(played)), self._best], self._length + 1.0, 0.0)
        lanes, arms = np.divmod(plays, played.shape[1])
        late = (arms == self._best[lanes]) & (self._length[lanes] >= 3 * self._delay)
        return np.where(late, float(self._delay), 1.0)


#: Number of the round, who plays (lanes, arms), who played before (rounds, lanes, arms) → delays, (lanes,) or one.
Chooser = Callable[[int, Mask, Mask], Array | Sequence[float] | float]


def _chooser(value: Chooser) -> Chooser:
    if not callable(value):
        raise EvenhandError(f"must be a function of the round, the plays and all past plays, got {shown(value)}")
    return value


@frozen(eq=False)
class Adversary(AnonymousFeedback):
    """Any adversary that sees all past plays and says when each total arrives, whole. It has no plain form.

    Args:
        function: takes the number of the round, counted from 1, who plays in it (lanes, arms), and who played in each
            round before, (rounds, lanes, arms); returns the delay of each lane's rewards of this round, (lanes,) or one
            number: rounds ≥ 0 or inf, rounded down.

    Raises:
        EvenhandError: when the function returns another shape, a negative delay or NaN.

    Example:
        >>> import numpy as np
        >>> plays = np.array([[True, False]])
        >>> slower = Adversary(lambda round, played, past: past.shape[0])
        >>> flow = slower.flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([[x, 0.0]]), plays, None).item() for x in (1.0, 1.0, 0.0)]
        [1.0, 0.0, 1.0]

    Source: Wang et al. 2021, section 3.1.
    """

    function: Chooser = field(converter=_chooser)

    @property
    def by_arm(self) -> bool:
        """True: the adversary sees which arms play."""
        return True

    def flow(self, lanes: int, rounds: int) -> Flow:
        """Totals under way, and all past plays."""
        return Delayed(_Memory(self.function).delays, lanes, rounds)


class _Memory:
    """All past plays, for the adversary's function."""

    def __init__(self, function: Chooser) -> None:
        self._function, self._round = function, 0
        self._past: Mask = np.zeros((0, 0, 0), dtype=bool)

    def delays(self, plays: NDArray[np.intp], played: Mask, chance: Array | None) -> Array:
        if self._round == len(self._past):  # room for as many rounds again
            grown = np.zeros((2 * self._round + 1, *played.shape), dtype=bool)
            grown[: self._round] = self._past.reshape(self._round, *played.shape)
            self._past = grown
        delays = np.asarray(self._function(self._round + 1, played, self._past[: self._round]), dtype=float)
        self._past[self._round] = played
        self._round += 1
        if delays.shape not in ((), (len(played),)):
            raise EvenhandError(
                f"the adversary returned shape {delays.shape} in round {self._round}; it must return one delay for "
                f"all lanes, or one for each of {len(played)}"
            )
        if not (delays >= 0.0).all():
            raise EvenhandError(
                f"the adversary returned {delays.tolist()} in round {self._round}; delays must be at least 0"
            )
        return np.asarray(np.floor(np.broadcast_to(delays, len(played))[plays // played.shape[1]]))
