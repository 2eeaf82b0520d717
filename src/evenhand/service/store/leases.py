"""The commands of leases: rounds that a client decides itself, and its reports of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from evenhand.bandit import lease_reports, lease_rounds
from evenhand.bandit.pending import RewardError
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Lease, LeaseReport
from evenhand.service.store.commands import NO_FEATURES, Command, CommandContext, FeatureSeconds, decision_seconds
from evenhand.service.store.errors import Closed, Conflict, LeaseOver, TooMuchWork, UnknownLease

REFUSED = {"unknown": UnknownLease, "over": LeaseOver, "conflict": Conflict}


@dataclass(frozen=True)
class LeaseRounds(Command[Lease]):
    """Lease the next rounds to a client that decides them itself.

    Example:
        >>> import tempfile
        >>> from evenhand.service import LeaseRounds, ReportLease, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.2}, seed=1)
        >>> lease = store.run("drinks", LeaseRounds(1000))
        >>> lease.id, [(one.arm, one.count) for one in lease.arms]
        ('1', [('tea', 800), ('coffee', 200)])
        >>> store.run("drinks", ReportLease("1", played=600, finished=True)).returned
        True
        >>> store.close()
    """

    kind: ClassVar[str] = "lease"
    answer: ClassVar[type] = Lease
    decisions: int  # number of rounds
    seconds: float = 60.0  # for which they may be played
    available: Sequence[str] | None = None  # names of the arms that can play in them; None for all that are not retired
    units: bool = False  # whether arms follow from a hash of a unit; see `evenhand.bandit.Bandit.lease`
    max_work: int | None = None  # decisions of the policy × arms; None for no limit
    max_leases: int | None = None  # leases of the allocation that may be open; None for no limit

    def work(self, arms: int, features: FeatureSeconds = NO_FEATURES) -> float:
        """Processor time, as estimated."""
        return decision_seconds(min(self.decisions, lease_rounds.STEPS), arms)

    def run(self, context: CommandContext) -> Lease:
        """Lease them."""
        allocation = context.allocation
        if allocation.closed:
            raise Closed(f"allocation {allocation.name!r} is closed and leases no rounds; reopen it first")
        bandit = allocation.bandit
        open = sum(one.open > 0 for one in bandit.leases.values())
        if self.max_leases is not None and open >= self.max_leases:  # every command of it looks at each
            raise TooMuchWork(
                f"allocation {allocation.name!r} has {open:,} open leases; an allocation may have at most "
                f"{self.max_leases:,}; report some as finished, or lease more rounds at a time"
            )
        work = min(self.decisions, lease_rounds.STEPS) * len(bandit.names)
        if self.max_work is not None and work > self.max_work:
            raise TooMuchWork(
                f"a lease among {len(bandit.names):,} arms computes {work:,} scores; a request may have at most "
                f"{self.max_work:,}; request at most {self.max_work // len(bandit.names):,} decisions at a time"
            )
        lease, facts = lease_rounds.lease(bandit, self.decisions, self.seconds, self.available, self.units, context.now)
        context.record("lease", lease.round, facts)
        return lease


@dataclass(frozen=True)
class ReportLease(Command[LeaseReport]):
    """Take a report of a lease: the decisions played so far, and rewards; all of it, or nothing."""

    kind: ClassVar[str] = "report"
    answer: ClassVar[type] = LeaseReport
    lease: str  # its id
    played: int  # number of its decisions that were played so far, from the first on
    # by arm, at which positions it had rewards, and these
    rewards: Mapping[str, tuple[Sequence[int], Sequence[float]]] = field(default_factory=dict)
    columns: Sequence[int] | None = None  # of the last of these decisions, of a lease for units
    finished: bool = False  # whether no more will be played

    def run(self, context: CommandContext) -> LeaseReport:
        """Take the report."""
        bandit = context.allocation.bandit
        try:
            answer, facts = lease_reports.report(
                bandit, self.lease, self.played, self.rewards, self.columns, self.finished, context.now
            )
        except lease_reports.LeaseError as error:
            raise REFUSED[error.status](str(error)) from None
        except RewardError as error:
            raise (Conflict if error.status == "conflict" else EvenhandError)(str(error)) from None
        if facts is not None:
            context.record("report", int(self.lease), facts)
        return answer
