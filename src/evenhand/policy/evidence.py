"""What do we believe about rewards that have not arrived, or are old?

A piece of evidence turns a `Tally` into the sum and the number of rewards that an index works with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, State, Tally
from evenhand.policy.part import PolicyPart, Traits, built


class Weighing(NamedTuple):
    """How plays with features count: V = Σ w² φφᵀ and b = Σ w φr, over the plays that count."""

    at_play: bool = False  # whether a play counts in V at once, and not when its reward comes
    discount: float = 1.0  # γ, by which every play counts less per round


class Evidence(PolicyPart, ABC):
    """A rule for rewards that are still missing, or too old to count. An own rule needs `of` only.

    What it remembers beside the tally, if anything, is ``state.evidence``. Indexes of one policy share it. Its traits:
    ``bounded`` where it fills in 0 or 1 for a missing reward, and ``named`` where it goes by the age of pulls.
    """

    def tally(self, state: State) -> Tally:
        """The counts that the evidence goes by: those of the state, or what is not forgotten of them.

        Args:
            state: of the policy.

        Returns:
            The tally, (…, arms) in its arrays.
        """
        return state.tally

    def counted(self, state: State) -> Array | None:
        """Rewards that the evidence still rests on, (…, arms), where it forgets others; None where it rests on all.

        Args:
            state: of the policy.

        Returns:
            Numbers of rewards, or None.
        """
        return None

    def changes(self, state: State) -> Array | None:
        """How many changes of its mean were found for each arm, (…, arms); None where none are looked for.

        Args:
            state: of the policy.

        Returns:
            Numbers of changes, or None.
        """
        return None

    def learn(self, memory: Any, plays: Array, sums: Array) -> Any:
        """Refused where it remembers anything: counts have no order of rounds."""
        if memory is None:
            return None
        raise EvenhandError("it goes by the order of its rounds, which counts do not have")

    def weighing(self) -> Weighing | None:
        """How plays with features count, for an index that goes by features.

        Returns:
            The weighing; None: it goes by counts alone.
        """
        return None

    @abstractmethod
    def of(self, tally: Tally) -> tuple[Array, Array]:
        """Sum and number of the rewards to work with, each (…, arms).

        Args:
            tally: pulls, rewards received, and their sum.
        """

    def memory(self) -> object:
        """What must be equal in two pieces of evidence that share one memory; None where there is none.

        Returns:
            Any value that can be compared with ``==``.
        """
        return None


@part("evidence", "received")
@frozen
class Received(Evidence):
    """Only rewards that have arrived count: sum S, number M.

    Example:
        >>> import numpy as np
        >>> from evenhand.typing import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Received().of(Tally(pulls, received, rewards))
        (array([3.]), array([4.]))
    """

    def rules(self) -> str:
        """What a missing reward counts as."""
        return "nothing"

    def weighing(self) -> Weighing:
        """A play counts when its reward comes."""
        return Weighing()

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S, M)``."""
        return tally.rewards, tally.received


@part("evidence", "optimistic")
@frozen
class Optimistic(Evidence):
    """A missing reward counts as 1: sum ``S + (N − M)``, number N.

    Whatever the missing rewards in [0, 1] are, and however they depend on their delay, the mean of all N rewards is no
    larger.

    Example:
        >>> import numpy as np
        >>> from evenhand.typing import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Optimistic().of(Tally(pulls, received, rewards))
        (array([4.]), array([5.]))

    Source: Lancewicki et al. 2021, section 4; Chen et al. 2024, section 5.
    """

    traits = Traits(bounded=True)

    def rules(self) -> str:
        """What a missing reward counts as."""
        return "one"

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S + (N − M), N)``."""
        return at_best(tally.rewards, tally.pulls, tally.received), tally.pulls


def at_best(rewards: Any, pulls: Any, received: Any) -> Any:
    """The sum of rewards in which every missing one counts as 1, elementwise, for arrays and numbers alike."""
    return rewards + (pulls - received)


@part("evidence", "pessimistic")
@frozen
class Pessimistic(Evidence):
    """A missing reward counts as 0: sum S, number N.

    Under an index that goes by features a play counts in V at once, and its reward in b when it comes: what is learned
    is τ θ, τ the chance of an answer. The order of the arms is right only if τ is the same for all arms and features.

    Example:
        >>> import numpy as np
        >>> from evenhand.typing import Tally
        >>> pulls, received, rewards = np.array([5.0]), np.array([4.0]), np.array([3.0])
        >>> Pessimistic().of(Tally(pulls, received, rewards))
        (array([3.]), array([5.]))

    Source: Lancewicki et al. 2021, section 4; Chen et al. 2024, section 5; with features Vernade et al. 2020.
    """

    traits = Traits(bounded=True)

    def rules(self) -> str:
        """What a missing reward counts as."""
        return "zero"

    def weighing(self) -> Weighing:
        """A play counts at once, as 0 until its reward comes."""
        return Weighing(at_play=True)

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(S, N)``."""
        return tally.rewards, tally.pulls


@part("evidence", "mature")
@frozen
class Mature(Evidence):
    """Only pulls that are old enough count, with their rewards or without, and the age is chosen per arm.

    At the age with the smallest ``(n − f)/n + 1/sqrt(n)``, where n pulls are at least so old, f of them with a reward
    and y the sum of these: sum ``y + n − f`` (``"optimistic"``) or y (``"pessimistic"``), number n. A pull enters by
    its age alone, so no kind of reward is preferred; a reward that is late or lost costs what is missing among the
    old pulls only, and not among all.

    Needs feedback that names the pull of each reward. Sums of rewards that are not 0 or 1 go into `BetaSample` as they
    are, without trials.

    Args:
        missing: what a missing reward of an old pull counts as, ``"optimistic"`` for 1 or ``"pessimistic"`` for 0.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.policy import UCB
        >>> tally = Policy(UCB(evidence=Mature())).start(arms=1).tally
        >>> for _ in range(3):
        ...     tally.cohorts.pull(np.array([True]))
        >>> Mature().of(tally)
        (array([3.]), array([3.]))

    Source: ours; Chen et al. 2024, section 5, for pulls of every age.
    """

    missing: str = field(default="optimistic", validator=validate.choice("optimistic", "pessimistic"))

    traits = Traits(bounded=True, named=True)

    def memory(self) -> object:
        """The counts by age."""
        return "ages"

    def of(self, tally: Tally) -> tuple[Array, Array]:
        """``(y + n − f, n)`` or ``(y, n)`` at the age of each arm."""
        pulls, received, rewards = at_best_age(tally)
        return (rewards + pulls - received if self.missing == "optimistic" else rewards), pulls


def counts_by_age(tally: Tally) -> Array:
    """See `evenhand.core.cohorts.Cohorts.by_age`."""
    if tally.cohorts is None:
        raise EvenhandError("the tally has no counts by age; start the state with the policy that has this evidence")
    return tally.cohorts.by_age()


def at_best_age(tally: Tally) -> Array:
    """Pulls n, those with a reward f, and the sum of these y, at the age of each arm of which most is known.

    It is the age with the smallest ``(n − f)/n + 1/sqrt(n)``, the youngest of equal ones.
    """
    counts = counts_by_age(tally)
    doubt = np.sqrt(counts[0])
    doubt += counts[0]
    doubt -= counts[1]
    with np.errstate(invalid="ignore"):
        doubt /= counts[0]
    np.copyto(doubt, np.inf, where=counts[0] == 0.0)
    age = doubt.argmin(axis=0)
    return np.asarray(np.take_along_axis(counts, age[np.newaxis, np.newaxis], 1)[:, 0])


EvidenceLike = Evidence | str | Mapping[str, object]


def as_evidence(value: EvidenceLike) -> Evidence:
    """A piece of evidence, given as one, by its kind, or by its plain form."""
    return built("evidence", value, Evidence, "Received() or 'received'")


def shared_evidence(one: Evidence | None, other: Evidence | None, names: str) -> Evidence | None:
    """The evidence whose memory two parts read; each may have none."""
    if one is None or other is None:
        return one or other
    if one.memory() != other.memory():
        raise EvenhandError(
            f"{names} must forget in the same way, because they share one memory, got {one!r} and {other!r}: give "
            "both the same discount or window"
        )
    return one
