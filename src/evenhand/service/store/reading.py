"""The commands that read an allocation and change nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import select

from evenhand.bandit.arguments import RewardRange
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.computation import audit, health
from evenhand.bandit.audit.differences import differences
from evenhand.bandit.audit.health import furthest
from evenhand.bandit.audit.report import Reported, report, reported
from evenhand.bandit.audit.stopping import stopping
from evenhand.bandit.history import Start, start_from
from evenhand.bandit.saved import settings_of
from evenhand.core.errors import EvenhandError
from evenhand.judgement.differences import sentence
from evenhand.messages import answers
from evenhand.messages.answers import Assumption
from evenhand.messages.audit import Audit
from evenhand.messages.prices import Price
from evenhand.service.store import tables
from evenhand.service.store.allocation import loaded
from evenhand.service.store.api_keys import Keys
from evenhand.service.store.changes import arm_values
from evenhand.service.store.checked import intact
from evenhand.service.store.commands import CommandContext, Reading, round_of
from evenhand.service.store.database import Database
from evenhand.service.store.errors import UnknownDecision
from evenhand.service.store.events import Event
from evenhand.service.store.reader import available_after, damage_as_state_error


@dataclass(frozen=True)
class ReadAudit(Reading[Audit]):
    """Read the audit: what each arm was promised, and what it received.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, ReadAudit, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Decide(count=3))
        >>> [(line.arm, line.plays) for line in store.run("drinks", ReadAudit()).lines]
        [('tea', 2), ('coffee', 1)]
        >>> store.close()
    """

    limit: int | None = None  # number of lines; None for all arms

    def run(self, context: CommandContext) -> Audit:
        """The audit, with the name of the allocation and the sequence of its last event."""
        allocation = context.allocation
        made = audit(Account(allocation.bandit), self.limit, context.now)
        made = replace(made, sequence=allocation.sequence, checksum=allocation.checksum())
        return replace(made, name=allocation.name, closed=allocation.closed)


@dataclass(frozen=True)
class ReadReport(Reading[Reported]):
    """Read what a report says; the names of keys are yet to be added."""

    def run(self, context: CommandContext) -> Reported:
        """All of it after the same event."""
        return reported(context.allocation.bandit, ReadAudit().run(context))


def stored_report(database: Database, name: str, now: float) -> str:
    """The report on an allocation in a database, which is only read."""
    with intact(database, name, limit=None) as (connection, row):
        found = ReadReport().run(CommandContext(loaded(connection, row), now, connection, row.sequence))
    authors = {key.id: key.name for key in Keys(database).list()}
    return report(*found._replace(audit=replace(found.audit, authors=authors)))


@dataclass(frozen=True)
class ReadDifferences(Reading[answers.Differences]):
    """Read differences of mean rewards; the arguments are those of `evenhand.Bandit.differences`.

    Example:
        >>> import tempfile
        >>> from evenhand.service import ReadDifferences, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> [(one.first, one.second, one.verdict) for one in store.run("drinks", ReadDifferences()).differences]
        [('tea', 'coffee', 'undecided')]
        >>> store.close()
    """

    control: str | None = None
    of: Literal["arms", "groups"] = "arms"
    month: str | None = None
    assume: Assumption | None = None
    confidence: float = 0.95

    def run(self, context: CommandContext) -> answers.Differences:
        """The differences, each with its sentence."""
        record = context.allocation.bandit
        found = differences(record, self.control, self.of, self.month, self.assume, self.confidence)
        since = None if record.scores.since is None else answers.moment(record.scores.since)
        say, texts = Account(record).say, (sentence(one, record.words) for one in found)
        sentences = tuple(say(f"{text[:1].upper()}{text[1:]}.") for text in texts)
        return answers.Differences(
            self.of, self.control, self.month, self.assume, since, found, sentences, record.words
        )


@dataclass(frozen=True)
class ReadStopping(Reading[answers.Stopping]):
    """Read whether one may stop; see `evenhand.Bandit.stopping`."""

    delta: float = 0.05  # the probability with which the answer may be wrong
    epsilon: float = 0.0  # by how much another arm may be better, in the unit of the rewards
    best: int | str | None = None  # how many best arms, or ``"promises"``; None for as many as play in a round

    def run(self, context: CommandContext) -> answers.Stopping:
        """The answer as of now."""
        return stopping(context.allocation.bandit, self.delta, self.epsilon, self.best)


@dataclass(frozen=True)
class ReadPrice(Reading[Price]):
    """Read what promised shares would cost; see `evenhand.evaluation.price`."""

    # shares of the rounds, each for every active arm; None for the usual ones
    promises: tuple[float, ...] | None = None

    def run(self, context: CommandContext) -> Price:
        """The price as of now."""
        from evenhand.bandit.evaluation.price import PROMISES, price_of
        from evenhand.bandit.evaluation.priced import of_account

        facts = replace(of_account(Account(context.allocation.bandit)), source=context.allocation.name)
        return price_of(facts, PROMISES if self.promises is None else self.promises)


@dataclass(frozen=True)
class ReadHealth(Reading[answers.AllocationHealth]):
    """Read what needs attention in an allocation.

    Example:
        >>> import tempfile
        >>> from evenhand.service import ReadHealth, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> store.run("drinks", ReadHealth()).text
        'Nothing has been decided yet.'
        >>> store.close()
    """

    def run(self, context: CommandContext) -> answers.AllocationHealth:
        """The health of the allocation, closed or not."""
        allocation = context.allocation
        return health(Account(allocation.bandit), allocation.closed, context.now)


@dataclass(frozen=True)
class Gauges:
    """Numbers for monitoring."""

    pending: int
    leased: int
    largest_deficit: float | None
    behind: int  # promises that are stated to be behind
    round: int


@dataclass(frozen=True)
class ReadGauges(Reading[Gauges]):
    """Read numbers for monitoring.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, ReadGauges, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Decide(count=3))
        >>> store.run("drinks", ReadGauges())
        Gauges(pending=3, leased=0, largest_deficit=None, behind=0, round=3)
        >>> store.close()
    """

    def run(self, context: CommandContext) -> Gauges:
        """The numbers."""
        bandit = context.allocation.bandit
        pending = bandit.pending.count + sum(lease.pending for lease in bandit.leases.values())
        return Gauges(
            pending, bandit.leases.open, furthest(Account(bandit)).plays, len(bandit.alarms), int(bandit.state.round)
        )


@dataclass(frozen=True)
class Describe(Reading[answers.Allocation]):
    """Describe the allocation: its settings and its current round.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Describe, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Describe())
        >>> answer.algorithm, answer.arms, answer.seed, answer.closed
        ('ucb1', ('tea', 'coffee'), 1, False)
        >>> store.close()
    """

    def run(self, context: CommandContext) -> answers.Allocation:
        """The settings."""
        allocation, bandit = context.allocation, context.allocation.bandit
        created = select(tables.allocations.c.created).where(tables.allocations.c.id == allocation.id)
        settings: dict[str, Any] = settings_of(bandit)
        return answers.Allocation(
            **settings | {"arms": bandit.names, "rewards": tuple(bandit.reward_range), "words": bandit.words},
            name=allocation.name,
            retired=tuple(sorted(bandit.retired)),
            round=int(bandit.state.round),
            version=bandit.version,
            closed=allocation.closed,
            created=answers.moment(context.connection.execute(created).scalar_one()),
        )


@dataclass(frozen=True)
class ReadEvidence(Reading[Start]):
    """Read the evidence that another allocation can start from."""

    arms: Sequence[str]
    rewards: RewardRange

    def run(self, context: CommandContext) -> Start:
        """The counts of the arms that both have."""
        name = context.allocation.name
        return start_from(context.allocation.bandit, self.arms, self.rewards, f"allocation {name}")


@dataclass(frozen=True)
class ReadArms(Reading[answers.Arms]):
    """Read a page of the arms, in their order.

    Example:
        >>> import tempfile
        >>> from evenhand.service import ReadArms, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.1}, seed=1)
        >>> page = store.run("drinks", ReadArms(limit=1))
        >>> page.arms
        (Arm(arm='tea', retired=False, fraction=0.1, penalty=None, weight=None, cap=None, rate=None),)
        >>> [one.arm for one in store.run("drinks", ReadArms(cursor=page.next)).arms]
        ['coffee']
        >>> store.close()
    """

    limit: int = 100  # arms at most
    cursor: str | None = None  # `next` of the page before; None for the first page

    def run(self, context: CommandContext) -> answers.Arms:
        """The page."""
        bandit = context.allocation.bandit
        first = 0 if self.cursor is None else _place_of(self.cursor)
        last = first + self.limit
        arms = [answers.Arm(arm, arm in bandit.retired, **arm_values(bandit, arm)) for arm in bandit.names[first:last]]
        return answers.Arms(tuple(arms), f"{last:x}" if last < len(bandit.names) else None)


def _place_of(cursor: str) -> int:
    """The place at which a page begins."""
    try:
        place = int(cursor, 16)
    except ValueError:
        place = -1
    if place < 0:
        raise EvenhandError(f"cursor must be the value of `next` from the previous page, got {cursor!r}")
    return place


@dataclass(frozen=True)
class ReadDecision(Reading[answers.DecisionOutcome]):
    """Read a decision and what came of it, from the events.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, ReadDecision, Reward, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Decide())
        >>> answer = store.run("drinks", Reward([("1", {"tea": 0.5})]))
        >>> decision = store.run("drinks", ReadDecision("1"))
        >>> decision.available, decision.arms[0].reward, decision.arms[0].status
        (('tea', 'coffee'), 0.5, 'received')
        >>> store.close()
    """

    id: str  # of the decision

    def run(self, context: CommandContext) -> answers.DecisionOutcome:
        """The decision."""
        allocation = context.allocation
        round = round_of(allocation.bandit, self.id)
        event, rewards = context.decided(round) if round is not None else (None, [])
        if event is None or round is None:
            raise UnknownDecision(f"allocation {allocation.name!r} has no decision {self.id!r}")
        with damage_as_state_error():
            available = event.body.get("available")
            if available is None:
                allocation.flush(context.connection)
                *_, available = (
                    arms
                    for after, arms in available_after(context.connection, allocation.id, allocation.names)
                    if after < round
                )
            arms = _outcomes(context, self.id, event, rewards)
            return answers.DecisionOutcome(self.id, round, answers.moment(event.time), arms, tuple(available))


def _outcomes(
    context: CommandContext, id: str, decided: Event, rewarded: list[Event]
) -> tuple[answers.ArmOutcome, ...]:
    arms = decided.body["arms"]
    propensities = decided.body.get("propensity", [None] * len(arms))
    stderr = decided.body.get("stderr", [None if one is None else 0.0 for one in propensities])
    rewards = {arm: reward for event in rewarded for arm, reward in event.body["rewards"].items()}
    late = {arm for event in rewarded for arm in event.body["late"]}
    bandit = context.allocation.bandit
    entry = bandit.find(id)
    missing: Any = "pending" if entry is not None and not entry.closed else "lost"
    missing = "total" if bandit.by_totals else missing
    statuses = ["late" if arm in late else "received" if arm in rewards else missing for arm in arms]
    columns = (arms, propensities, stderr, map(rewards.get, arms), statuses)
    return tuple(itertools.starmap(answers.ArmOutcome, zip(*columns, strict=True)))
