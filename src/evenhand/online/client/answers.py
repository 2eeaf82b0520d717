"""What the service answers, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Chance:
    """The chance with which an arm was to play.

    Attributes:
        probability: of it.
        error: its standard error; 0 where it is exact.
    """

    probability: float
    error: float


@dataclass(frozen=True)
class Decided:
    """A decision: who plays in a round.

    Attributes:
        id: names the decision in reports.
        round: counted from 1.
        time: of the decision, seconds since the epoch, by the service's clock.
        arms: those that play, the surest first.
        version: of the policy: the number of changes of arms and promises so far.
        propensities: the chance with which each of ``arms`` was to be among those that play; None where the policy has
            no closed form and the chances were not asked for.
        chances: that of every available arm; None where they were not asked for.
    """

    id: str
    round: int
    time: float
    arms: tuple[str, ...]
    version: int
    propensities: tuple[float, ...] | None
    chances: Mapping[str, Chance] | None


@dataclass(frozen=True)
class Reported:
    """What became of the report of an arm's reward.

    Attributes:
        decision: its id.
        arm: that played in it.
        status: ``"accepted"``; ``"duplicate"`` (it was reported before); ``"conflict"`` (another reward was reported
            before); ``"unknown"`` (there is no such decision, or the arm did not play in it); ``"late"`` (written down,
            not learned from); ``"invalid"`` (the reward is none).
        message: why, where it was not taken in.
    """

    decision: str
    arm: str
    status: str
    message: str = ""

    @property
    def taken(self) -> bool:
        """Whether the service has learned from this reward, now or before."""
        return self.status in ("accepted", "duplicate")


@dataclass(frozen=True)
class Totalled:
    """What became of an anonymous sum.

    Attributes:
        round: whose sum it is.
        status: ``"accepted"`` or ``"duplicate"``.
    """

    round: int
    status: str


@dataclass(frozen=True)
class Changed:
    """What became of a change of arms or promises.

    Attributes:
        version: of the policy from now on.
        round: after which the change holds.
    """

    version: int
    round: int


@dataclass(frozen=True)
class Summary:
    """An allocation in a line.

    Attributes:
        name: of the allocation.
        algorithm: which decides.
        arms: how many there are.
        round: rounds decided.
        closed: whether it decides no more.
        created: when, seconds since the epoch.
    """

    name: str
    algorithm: str
    arms: int
    round: int
    closed: bool
    created: float


@dataclass(frozen=True)
class Description:
    """An allocation: how it was made, and where it stands.

    Attributes:
        name: of the allocation.
        algorithm: which decides.
        arms: their names.
        retired: those that play no more.
        parameters: of the algorithm.
        plays: arms that play a round.
        seed: of all randomness.
        window: seconds after which a report that is missing is not waited for any more; None for never.
        missing: what a report that never came counts as: ``"lost"`` or ``"zero"``.
        rewards: the smallest and the largest reward; None where any is taken.
        round: rounds decided.
        version: changes of arms and promises so far.
        closed: whether it decides no more.
        created: when, seconds since the epoch.
    """

    name: str
    algorithm: str
    arms: tuple[str, ...]
    retired: tuple[str, ...]
    parameters: Mapping[str, Any]
    plays: int
    seed: int
    window: float | None
    missing: str
    rewards: tuple[float, float] | None
    round: int
    version: int
    closed: bool
    created: float


@dataclass(frozen=True)
class Access:
    """What a key may do.

    Attributes:
        open: whether the service has no keys and everybody on its machine may do everything.
        name: of the key; None without one.
        scopes: what it may do: some of ``"administer"``, ``"decide"``, ``"report"``, ``"read"``.
    """

    open: bool
    name: str | None
    scopes: tuple[str, ...]


# Envelopes, as they come.


@dataclass(frozen=True)
class Decisions:
    """An answer with decisions."""

    decisions: tuple[Decided, ...]


@dataclass(frozen=True)
class Answers:
    """An answer with what became of reports."""

    answers: tuple[Reported, ...]


@dataclass(frozen=True)
class Allocations:
    """An answer with allocations."""

    allocations: tuple[Summary, ...]


@dataclass(frozen=True)
class Detail:
    """Where in a request something is wrong.

    Attributes:
        where: such as ``body.reports[0].rewards``.
        message: what is wrong there.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True)
class Fault:
    """What is wrong: the error of an answer.

    Attributes:
        code: for programs.
        message: for people.
        details: where, if in several places.
    """

    code: str
    message: str
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """An answer that says what went wrong."""

    error: Fault
