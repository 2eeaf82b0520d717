"""The commands of an allocation: each runs on its bandit in memory, and records events; here decisions and rewards."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.health import due
from evenhand.bandit.decisions import checked_rounds, decide
from evenhand.bandit.pending import RewardError
from evenhand.bandit.propensities import LANES
from evenhand.bandit.record import Record
from evenhand.bandit.replay import replay_alarm
from evenhand.bandit.rewards import observe, observe_total
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, StateError
from evenhand.messages.answers import Decision, Decisions, RewardResult, RewardResults, RewardStatus, TotalResult
from evenhand.messages.requests import Round
from evenhand.messages.rules import IDEMPOTENCY_KEY, SENTENCES, matches
from evenhand.service.priority import PRIORITY
from evenhand.service.store import tables
from evenhand.service.store.allocation import Allocation
from evenhand.service.store.errors import Closed, Conflict, TooMuchWork
from evenhand.service.store.events import Event
from evenhand.service.store.reader import LeaseLog, damage_as_state_error, found

if TYPE_CHECKING:
    from evenhand.bandit.contexts import Seen

Answer = TypeVar("Answer")
#: What is not a part of what a command asks for.
UNHASHED = ("key", "request", "api_key", "done", "max_work", "max_leases")
LEASED = ("lease", "report")  # the kinds of events that say what was played of leases
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode  # made once, as commands are many
# Seconds of processor time of a decision, and more for each arm, as Thompson sampling takes with 500 and 100,000:
DECISION, SCORE = 5e-5, 4e-7
ESTIMATED = 200  # times as much for each arm where propensities are estimated, of many lanes at once
REWARD = 2e-5  # seconds of processor time of a reward
# With features: to encode and to store them, and for each product of two numbers, as with 10 and 384 columns by arm:
ENCODING, PRODUCT = 1e-4, 2e-9
LONGEST = 2.0  # seconds that the features of the decisions of a request may take, where work has a limit


class FeatureSeconds(NamedTuple):
    """Processor time that features take in a decision, and for the reward of an arm, as estimated."""

    decision: float = 0.0
    reward: float = 0.0


NO_FEATURES = FeatureSeconds()


@dataclass
class CommandContext:
    """What the commands of an allocation run on in a transaction."""

    allocation: Allocation
    now: float
    connection: Connection
    before: int
    api_key: str | None = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    carried_out: list[tuple[Command[Any], Any]] = field(default_factory=list)

    def record(self, kind: str, round: int, body: Mapping[str, Any]) -> None:
        """Record an event that the bandit has applied."""
        self.allocation.record(kind, self.now, round, body, self.api_key)

    def earlier(self, kind: str, round: int) -> list[Event]:
        """All events of a kind about a round, in order."""
        table = tables.events.c
        where = (table.allocation == self.allocation.id, table.round == round, table.kind == kind)
        unwritten = [one for one in self.allocation.unwritten if one.kind == kind and one.round == round]
        return [*found(self.connection, self.allocation.names, *where), *unwritten]

    def decided(self, round: int) -> tuple[Event | None, list[Event]]:
        """The decision of a round, also of a leased one that was played, and its rewards; None where there is none."""
        decisions, rewards = self.earlier("decide", round), self.earlier("reward", round)
        if decisions:
            return decisions[0], rewards
        if any(one.kind in LEASED for one in self.allocation.unwritten):
            self.allocation.flush(self.connection)
        leased = next(LeaseLog(self.allocation.id).rounds(self.connection, self.allocation.names, round, round), None)
        if leased is None:
            return None, []
        return leased.decided, [*([] if leased.rewarded is None else [leased.rewarded]), *rewards]


@dataclass(frozen=True)
class Command(ABC, Generic[Answer]):
    """A command of an allocation."""

    reads: ClassVar[bool] = False
    purges: ClassVar[bool] = False
    kind: ClassVar[str]  # of one that does not read: a part of what is remembered with its key
    answer: ClassVar[type]
    key: str | None = field(default=None, kw_only=True)
    request: Any = field(default=None, kw_only=True)
    api_key: str | None = field(default=None, kw_only=True)
    done: Callable[[object], object] | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.key is not None and not matches(IDEMPOTENCY_KEY, self.key):
            raise EvenhandError(f"an idempotency key {SENTENCES[IDEMPOTENCY_KEY]}, got {self.key!r}")

    @abstractmethod
    def run(self, context: CommandContext) -> Answer:
        """Carry it out; nothing has changed if it raises."""

    def work(self, arms: int, features: FeatureSeconds = NO_FEATURES) -> float:
        """Processor time that it takes among so many arms with such features, as estimated."""
        return 0.0

    def values(self) -> dict[str, Any]:
        """What it asks for, by the names of its fields."""
        return {name: value for name, value in vars(self).items() if name not in UNHASHED}

    def digest(self) -> str:
        """A hash of a request to change something, in canonical JSON: neither the order of names nor Python matters."""
        received = [self.kind, self.values()] if self.request is None else self.request
        return hashlib.sha256(canonical(received).encode()).hexdigest()


class Reading(Command[Answer]):
    """A command that changes nothing."""

    reads: ClassVar[bool] = True


def canonical(value: object) -> str:
    """JSON with sorted names, no spaces, and whole numbers as integers: equal values, equal texts (after RFC 8785)."""
    return CANONICAL(_whole_as_integers(value))


def _whole_as_integers(value: object) -> Any:
    if value is None or isinstance(value, str | int):  # most values, and quickly seen
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole_as_integers(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_as_integers(one) for one in value]
    return value


def decision_seconds(
    rounds: int, arms: int, features: FeatureSeconds = NO_FEATURES, propensities: bool = False
) -> float:
    """Processor time of decisions among so many arms, as estimated."""
    scores = arms * (ESTIMATED if propensities else 1)
    return rounds * (DECISION + SCORE * scores + features.decision)


def feature_seconds(bandit: Record) -> FeatureSeconds:
    """What the features of a bandit take."""
    if bandit.contexts is None:
        return NO_FEATURES
    products = bandit.policy.index.products(len(bandit.arms), bandit.contexts.features.widths)
    return FeatureSeconds(*(ENCODING + PRODUCT * number for number in products))


@dataclass(frozen=True)
class Judge(Command[int]):
    """State the promises that are missed, and those that are kept again; nothing where that was stated before."""

    def work(self, arms: int, features: FeatureSeconds = NO_FEATURES) -> float:
        """So much that it is carried out before the transaction that writes what it states, and no other waits."""
        return 1.0

    def run(self, context: CommandContext) -> int:
        """State them; returns the sequence of the last event."""
        allocation, bandit = context.allocation, context.allocation.bandit
        for alarm, promises in ({} if allocation.closed else due(Account(bandit))).items():
            replay_alarm(bandit, alarm, promises, context.now)
            context.record("alarm", int(bandit.state.round), {"alarm": alarm, "promises": promises})
        return allocation.sequence


@dataclass(frozen=True)
class Decide(Command[Decisions]):
    """Decide one or several rounds.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> [decision.names for decision in store.run("drinks", Decide(count=2)).decisions]
        [('tea',), ('coffee',)]
        >>> [decision] = store.run("drinks", Decide(available=["coffee"], propensities=True)).decisions
        >>> decision.id, decision.propensities
        ('3', (ArmPropensity(arm='coffee', propensity=1.0, stderr=0.0),))
        >>> store.close()
    """

    kind: ClassVar[str] = "decide"
    answer: ClassVar[type] = Decisions
    count: int = 1  # number of rounds
    available: Sequence[str] | None = None  # names of the arms that can play in them; None for all that are not retired
    rounds: Sequence[Round] | None = None  # instead of the others, what is known of each round
    features: Mapping[str, Any] | None = None  # of the situation in all of them
    arms: Mapping[str, Mapping[str, Any]] | None = None  # features of arms in all of them, by arm
    # whether to return the propensity of every available arm, estimated where it has no closed form
    propensities: bool = False
    max_work: int | None = None  # decisions × arms, and × lanes where propensities are estimated; None for no limit

    def values(self) -> dict[str, Any]:
        """The same, with rounds as tables."""
        rounds = None if self.rounds is None else [vars(one) for one in self.rounds]
        return {**super().values(), "rounds": rounds}

    def work(self, arms: int, features: FeatureSeconds = NO_FEATURES) -> float:
        """Processor time, as estimated."""
        rounds = self.count if self.rounds is None else len(self.rounds)
        return decision_seconds(rounds, arms, features, self.propensities)

    def run(self, context: CommandContext) -> Decisions:
        """Decide."""
        allocation = context.allocation
        if allocation.closed:
            raise Closed(f"allocation {allocation.name!r} is closed and decides no more; reopen it first")
        rounds = self._rounds()
        self._check_work(allocation.bandit, len(rounds))
        seen: Sequence[Seen | None] = [None] * len(rounds)
        if self.rounds is not None:
            seen = checked_rounds(allocation.bandit, rounds)  # none is decided if one cannot be
        return Decisions(tuple(map(partial(self._decide, context), rounds, seen)))

    def _check_work(self, bandit: Record, count: int) -> None:
        """Refuse more work than the limit, during which no other allocation could write."""
        arms = len(bandit.arms.names)
        lanes = LANES if self.propensities and bandit.policy.estimates else 1
        if self.max_work is not None and count * arms * lanes > self.max_work:
            most = self.max_work // (arms * lanes)
            each = f", each with {lanes:,} lanes for its propensities," if lanes > 1 else ""
            remedy = f"request at most {most:,} at a time" if most else "request them without propensities"
            raise TooMuchWork(
                f"{count:,} decisions among {arms:,} arms{each} are {count * arms * lanes:,} scores; a request may "
                f"have at most {self.max_work:,}; {remedy}"
            )
        seconds = feature_seconds(bandit).decision
        if self.max_work is not None and count * seconds > LONGEST:
            most = int(LONGEST / seconds)
            remedy = f"request at most {most:,} at a time" if most else "declare fewer columns, or have fewer arms"
            raise TooMuchWork(
                f"the features of {count:,} decisions among {arms:,} arms take about {count * seconds:.1f} seconds; a "
                f"request may take {LONGEST:g}; {remedy}"
            )

    def _rounds(self) -> Sequence[Round]:
        known: Any = self.features, self.arms, self.available
        if self.rounds is None:
            return [Round(*known)] * validate.whole("count", self.count)
        if self.count != 1 or known != (None, None, None):
            raise EvenhandError("give either rounds, or count and what is known of all of them, not both")
        if not self.rounds:
            raise EvenhandError("rounds is empty; list what is known of each round, {} for nothing")
        return self.rounds

    def _decide(self, context: CommandContext, round: Round, seen: Seen | None) -> Decision:
        PRIORITY.pause()
        facts: dict[str, Any] = {}
        bandit, known = context.allocation.bandit, (round.features, round.arms, seen)
        decision = decide(bandit, round.available, context.now, self.propensities, facts, *known)
        if pull := facts.pop("pull", None):
            facts["features"] = context.allocation.keep(decision.round, pull, round.features, round.arms)
        context.record("decide", decision.round, facts)
        return decision


@dataclass(frozen=True)
class Reward(Command[RewardResults]):
    """Take in the rewards of arms; each reward has its own result.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Reward, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Decide())
        >>> for result in store.run("drinks", Reward([("1", {"tea": 1.0}), ("1", {"coffee": 0.5})])).results:
        ...     print(result.arm, result.status, result.message)
        tea accepted
        coffee unknown arm 'coffee' did not play in decision 1
        >>> store.close()
    """

    kind: ClassVar[str] = "reward"
    answer: ClassVar[type] = RewardResults
    # ids of decisions, each with the rewards of arms that played in it
    rewards: Sequence[tuple[str, Mapping[str, float]]] = ()

    def work(self, arms: int, features: FeatureSeconds = NO_FEATURES) -> float:
        """Processor time, as estimated."""
        return (REWARD + features.reward) * sum(len(rewards) for _, rewards in self.rewards)

    def run(self, context: CommandContext) -> RewardResults:
        """Take the rewards in."""
        results: list[RewardResult] = []
        rounds = (round_of(context.allocation.bandit, decision) for decision, _ in self.rewards)
        context.allocation.fetch(context.connection, {round for round in rounds if round is not None})
        for decision, rewards in self.rewards:
            PRIORITY.pause()
            try:
                statuses = _observe(context, decision, rewards)
                results += [RewardResult(decision, arm, status) for arm, status in statuses.items()]
            except EvenhandError:  # one of them is wrong; the others stand
                results += [_observe_one(context, decision, arm, reward) for arm, reward in rewards.items()]
        return RewardResults(tuple(results))


def _observe_one(context: CommandContext, decision: str, arm: str, reward: float) -> RewardResult:
    """The result of the reward of one arm."""
    try:
        return RewardResult(decision, arm, _observe(context, decision, {arm: reward})[arm])
    except RewardError as error:
        if error.status == "unknown":
            if context.allocation.bandit.find(decision) is not None:  # then no event needs to be read
                return RewardResult(decision, arm, "unknown", f"arm {arm!r} did not play in decision {decision}")
            with damage_as_state_error():
                return RewardResult(decision, arm, *_observe_forgotten(context, decision, arm, reward, str(error)))
        return RewardResult(decision, arm, "conflict" if error.status == "conflict" else "invalid", str(error))
    except StateError:  # of damaged events
        raise
    except EvenhandError as error:
        return RewardResult(decision, arm, "invalid", str(error))


def _observe(context: CommandContext, decision: str, rewards: Mapping[str, float]) -> dict[str, RewardStatus]:
    """The statuses of rewards by arm; those that are new are recorded."""
    bandit = context.allocation.bandit
    round = round_of(bandit, decision)
    unlearned = {} if round is None or not bandit.erased([round]) else {"unlearned": True}
    statuses = observe(bandit, decision, rewards, context.now)
    new = {arm: float(rewards[arm]) for arm, status in statuses.items() if status != "duplicate"}
    if new:
        late = [arm for arm in new if statuses[arm] == "late"]
        context.record("reward", int(decision), {"rewards": new, "late": late, **unlearned})
    return statuses


def _observe_forgotten(
    context: CommandContext, decision: str, arm: str, reward: float, unknown: str
) -> tuple[RewardStatus, str]:
    """The status and the message for a reward whose decision the bandit has forgotten, by the events."""
    bandit = context.allocation.bandit
    round = round_of(bandit, decision)
    if round is None:
        return "unknown", unknown
    decided, rewards = context.decided(round)
    lease = bandit.leases.of(round)
    if decided is None and lease is not None:
        return "unknown", f"decision {decision} is of lease {lease.first}, which did not report it as played"
    if decided is None:
        return "unknown", f"decision {decision} is of a round that was not played, or of which events are not kept"
    if arm not in decided.body["arms"]:
        return "unknown", f"arm {arm!r} did not play in decision {decision}"
    if bandit.by_totals:
        return "invalid", "this allocation learns from totals and cannot take rewards by decision as well"
    for event in rewards:
        if arm in event.body["rewards"]:
            known = event.body["rewards"][arm]
            if known == float(reward):
                return "duplicate", ""
            change = f"its reward is {known:g} and cannot change to {reward:g}"
            return "conflict", f"decision {decision}, arm {arm!r}: {change}"
    bandit.count_late(arm)
    context.record("reward", round, {"rewards": {arm: float(reward)}, "late": [arm], "forgotten": True})
    return "late", ""


def round_of(bandit: Record, decision: str) -> int | None:
    """The round of a decision by its id; None if there is no such decision."""
    round = int(decision) if decision.isascii() and decision.isdigit() and len(decision) < 19 else 0
    return round if 0 < round <= bandit.state.round and str(round) == decision else None


@dataclass(frozen=True)
class Total(Command[TotalResult]):
    """Take in the anonymous total of the round just decided.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Store, Total
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        >>> answer = store.run("drinks", Decide())
        >>> store.run("drinks", Total(3.5, round=1))
        TotalResult(round=1, status='accepted')
        >>> store.run("drinks", Total(3.5, round=1))
        TotalResult(round=1, status='duplicate')
        >>> store.close()
    """

    kind: ClassVar[str] = "total"
    answer: ClassVar[type] = TotalResult
    value: float  # the sum of all rewards that arrived in the round
    # which round it is, so that a total cannot be credited to another one; None for the last one
    round: int | None = None

    def run(self, context: CommandContext) -> TotalResult:
        """Take the total in."""
        bandit = context.allocation.bandit
        value, last = validate.number("value", self.value), int(bandit.state.round)
        round = last if self.round is None else validate.whole("round", self.round)
        with damage_as_state_error():
            for event in context.earlier("total", round) if 0 < round <= last else ():
                if event.body["value"] != value:
                    raise Conflict(f"round {round}: received a total of {event.body['value']:g} before, now {value:g}")
                return TotalResult(round, "duplicate")
        if round != last:
            raise Conflict(f"a total must be of the round just decided, which is {last}, got {round}")
        observe_total(bandit, value)
        context.record("total", round, {"value": value})
        return TotalResult(round, "accepted")
