"""The answers of the service, each defined once: for `Bandit`, the store, the routes, their description and the client.

They are plain dataclasses, so that a `Bandit` does not load pydantic; their descriptions have the comment at each
field. The audit, which is an answer as well, is `evenhand.messages.audit.Audit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from ..core.dataclasses import dataclass
from ..core.intervals import Claim, Difference
from .changes import ArmValues
from .rules import Described, Len
from .words import Words

#: Media types of a log, by its format.
LOG_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
LATEST = 253_402_300_799.0  # seconds since the epoch, the end of the year 9999
Missing = Literal["never", "lost", "zero"]
Assumption = Literal["lost independently", "the window is over"]  # of rewards that are not known
RewardStatus = Literal["accepted", "duplicate", "conflict", "unknown", "late", "invalid"]


def moment(seconds: float) -> datetime:
    """The time of a number of seconds since the epoch; the nearest one that has a date."""
    return datetime.fromtimestamp(seconds if 0.0 <= seconds <= LATEST else min(max(seconds, 0.0), LATEST), UTC)


@lru_cache(64)
def rfc3339(time: datetime) -> str:
    """A time as text, in UTC and with microseconds, so that texts are ordered as the times are."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def plain(value: Any) -> Any:
    """An answer, or a part of one, as plain JSON values."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


class Answer(Described):
    """Base of the answers."""

    __slots__ = ()
    #: The description says that every field is in an answer, also one with a default.
    __pydantic_config__: ClassVar[dict[str, Any]] = {"json_schema_serialization_defaults_required": True}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        values: dict[str, Any] = plain(self)
        return values


# --- decisions and rewards --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArmPropensity(Answer):
    """An arm, and the probability with which it was to play in a round, given everything known before."""

    arm: str  # name of the arm
    propensity: float | None  # its probability to play; null where it has no closed form and was not requested
    stderr: float | None  # standard error of the propensity; 0 where it is exact

    def __init__(self, arm: str, propensity: float | None, stderr: float | None) -> None:
        values = self.__dict__  # as a frozen record takes three times as long, and a decision makes two
        values["arm"], values["propensity"], values["stderr"] = arm, propensity, stderr


@dataclass(frozen=True)
class Decision(Answer):
    """The arms that play in a round.

    Example:
        >>> from evenhand import Bandit
        >>> decision = Bandit(["tea", "coffee"], "ucb1").decide()
        >>> decision.id, decision.names, decision.arms[0].propensity
        ('1', ('tea',), 1.0)
    """

    id: str  # identifies the decision when its rewards are sent
    round: int  # counted from 1
    time: datetime  # when it was made, by the clock of the server
    arms: tuple[ArmPropensity, ...]  # those that play, by decreasing propensity
    version: int  # of the policy: changes of arms and promises so far
    propensities: tuple[ArmPropensity, ...] | None  # of every available arm; null unless requested

    def __init__(
        self,
        id: str,
        round: int,
        time: datetime,
        arms: tuple[ArmPropensity, ...],
        version: int,
        propensities: tuple[ArmPropensity, ...] | None,
    ) -> None:
        values = self.__dict__  # in single steps, which take half the time of one
        values["id"], values["round"], values["time"] = id, round, time
        values["arms"], values["version"], values["propensities"] = arms, version, propensities

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms that play."""
        arms = self.arms
        return (arms[0].arm,) if len(arms) == 1 else tuple([one.arm for one in arms])  # the first, quicker, is usual


@dataclass(frozen=True)
class Decisions(Answer):
    """Decisions, in the order of their rounds."""

    decisions: tuple[Decision, ...]


@dataclass(frozen=True)
class ArmOutcome(ArmPropensity):
    """An arm that played in a round, and what came of it."""

    reward: float | None  # null where none was received
    # `pending`; `received` in time; `late`, received after the window; `lost`, missing when the window had passed;
    # `total`, a part of the anonymous total of a round
    status: Literal["pending", "received", "late", "lost", "total"]


@dataclass(frozen=True)
class DecisionOutcome(Answer):
    """A decision, and what came of it."""

    id: str  # identifies the decision
    round: int  # counted from 1
    time: datetime  # when it was made, by the clock of the server
    arms: tuple[ArmOutcome, ...]  # those that played, by decreasing propensity
    available: tuple[str, ...]  # names of the arms that could play


@dataclass(frozen=True)
class RewardResult(Answer):
    """The result of sending the reward of an arm."""

    decision: str  # id of the decision
    arm: str  # name of the arm
    status: RewardStatus  # what has become of the reward
    message: str = ""  # the reason; empty for `accepted`, `duplicate` and `late`

    @property
    def learned(self) -> bool:
        """Whether the allocation has learned from this reward, now or before."""
        return self.status in ("accepted", "duplicate")


@dataclass(frozen=True)
class RewardResults(Answer):
    """The result of each reward, in the order of the request."""

    results: tuple[RewardResult, ...]


@dataclass(frozen=True)
class LeasedArm(Answer):
    """An arm of a lease."""

    arm: str  # name of the arm
    count: int  # decisions of the lease in which it plays
    propensity: float  # its probability to play in any of them: `count` divided by the number of decisions


@dataclass(frozen=True)
class Lease(Answer):
    """Rounds that the client decides itself.

    The arms are laid into a table with a column per decision, one after another, each `count` times, and from the last
    column on to the first again. The decision at position p, counted from 0, has the id `round` + p, and plays the arms
    of column (`start` + p · `step`) mod `decisions`.
    """

    id: str  # identifies the lease when it is reported
    round: int  # its first round
    decisions: int  # number of its rounds
    plays: int  # arms per decision
    arms: tuple[LeasedArm, ...]  # those that play, in the order in which they are laid into the table
    start: int  # column of the first decision
    step: int  # columns from one decision to the next
    # of the hash by which units find their column; null where the decisions go through the columns in order
    salt: int | None
    seconds: float  # for which its decisions may be played, from the time when it was granted
    expires: datetime  # when they may be played no more, by the clock of the server
    report_by: datetime  # until when they may be reported; what is not reported by then is returned
    version: int  # of the policy: changes of arms and promises so far


@dataclass(frozen=True)
class LeaseReport(Answer):
    """What was taken of a report of a lease."""

    id: str  # of the lease
    played: int  # decisions reported so far
    returned: bool  # whether the others have been returned
    added: int  # decisions that this report added
    accepted: int  # rewards that were new
    duplicate: int  # rewards that were known
    late: int  # rewards that arrived after their window, so that nothing was learned from them


@dataclass(frozen=True)
class TotalResult(Answer):
    """The result of sending an anonymous total."""

    round: int  # the round to which it was credited
    status: Literal["accepted", "duplicate"]  # `duplicate`: it was received before


# --- allocations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Allocation(Answer):
    """An allocation: its settings and its current round."""

    name: str  # of the allocation
    algorithm: str | Mapping[str, Any]  # a name, or a table for each part of the policy
    arms: tuple[str, ...]  # names of all arms
    retired: tuple[str, ...]  # arms that play no more
    parameters: Mapping[str, Any]  # of the algorithm
    plays: int  # arms that play per round
    seed: int  # of all randomness
    window: float | None  # seconds to wait for a reward; null: no limit
    missing: Missing  # what a missing reward means: `never`, `lost` or `zero`
    rewards: Annotated[tuple[float, ...], Len(2, 2)]  # the smallest and the largest reward
    round: int  # rounds decided
    version: int  # changes of arms and promises so far
    closed: bool  # whether it decides no more
    created: datetime  # when it was created
    words: Words = Words()  # the unit of rewards, and what rounds and arms are called
    features: Mapping[str, Any] | None = None  # what is known before a decision, as declared; null: nothing
    arm_features: Mapping[str, Mapping[str, Any]] | None = None  # of arms, by name; null: none are declared
    segments: str | Mapping[str, Any] | None = None  # by which rounds are counted, as declared; null: none


@dataclass(frozen=True)
class Differences(Answer):
    """Differences of mean rewards, in your unit, which hold at all times at once, however often one looks.

    Each has an interval, what is claimed of it, and the premises under which it holds: `holds`, `holds_if`, or
    `not_claimed`, where the premises say why not. All hold at once with the given confidence.
    """

    of: Literal["arms", "groups"]  # what is compared
    control: str | None  # with which all others are compared; null for all pairs
    month: str | None  # in UTC, whose rewards alone count; null for all rounds
    assume: Assumption | None  # of rewards that are not known; null for the worst
    since: datetime | None  # when the first round was decided that counts; null where none does
    differences: tuple[Difference, ...]  # each of a first and a second arm or group: by how much the first earns more
    sentences: tuple[str, ...]  # what is true of each of `differences`
    words: Words = Words()  # the unit of rewards, and what rounds and arms are called


@dataclass(frozen=True)
class AllocationHealth(Answer):
    """What needs attention in an allocation."""

    # `bad`: a promise is missed, or cannot be kept with the recent availability; `attention`: an arm is as far behind
    # as only the rule of its policy allows, plays wait for a next promise, a promise that was missed is not kept again
    # yet, promises in segments and over all rounds cannot be kept together, estimates cannot be trusted, or no reward
    # has arrived for long
    status: Literal["good", "attention", "bad", "closed"]
    text: str  # why, in a sentence
    # plays that the arm or group furthest behind is owed; null where no share of the rounds is promised
    behind: float | None
    arm: str | None  # the name of that arm; null where none is behind, or a group is further behind
    warnings: int  # number of arms whose estimate cannot be trusted
    last_decision: datetime | None  # null before the first
    last_reward: datetime | None  # null before the first


@dataclass(frozen=True)
class AllocationSummary(Answer):
    """An allocation in a list."""

    name: str  # of the allocation
    algorithm: str  # its name, or those of its parts
    arms: int  # how many are not retired
    round: int  # rounds decided
    closed: bool  # whether it decides no more
    created: datetime  # when it was created
    health: AllocationHealth | None = None  # null unless requested
    # what is wrong with what is stored of it, and the remedy; null where nothing is known to be
    damaged: str | None = None


@dataclass(frozen=True)
class Allocations(Answer):
    """Allocations, by name."""

    allocations: tuple[AllocationSummary, ...]
    next: str | None  # `cursor` of the next page; null for the last page


@dataclass(frozen=True)
class _NamedArm(Answer):
    arm: str  # name of the arm
    retired: bool  # whether it plays no more


@dataclass(frozen=True)
class Arm(ArmValues, _NamedArm):
    """An arm of an allocation; values that the algorithm does not have per arm are null."""


@dataclass(frozen=True)
class Arms(Answer):
    """Arms, in their order."""

    arms: tuple[Arm, ...]
    next: str | None  # `cursor` of the next page; null for the last page


@dataclass(frozen=True)
class ChangeResult(Answer):
    """The result of a change of arms or promises."""

    version: int  # of the policy from now on
    round: int  # the round after which the change takes effect
    changed: bool  # false where everything was so already: nothing has changed then


@dataclass(frozen=True)
class GroupPromise(Answer):
    """What is promised to a group of arms together."""

    name: str  # of the group
    arms: tuple[str, ...]  # its arms
    at_least: float  # plays of its arms per round at least
    at_most: float | None  # plays of its arms per round at most; null for no limit


@dataclass(frozen=True)
class SettledPromise(Answer):
    """What became of what was owed where a promise changed: ``owed + lapsed = carried + forgiven + capped``, in plays.

    Of a largest share, what is owed is the excess.
    """

    name: str  # of the arm or group
    # what was promised: a share or a largest share, of an arm or of a group, or a share of an arm in a segment
    kind: Literal["share", "cap", "group", "group_cap", "segment"]
    owed: float  # under the promise that ends, or while it rested; negative where ahead
    carried: float  # owed from now on, or when the next promise begins
    forgiven: float  # not owed any more, as the change forgives it
    capped: float  # not owed any more, as it is beyond the limit of the change
    lapsed: float  # of an advance, what does not count any more


@dataclass(frozen=True)
class Cost(Answer):
    """What the promises cost in reward: the price of keeping them from now on, and what was incurred so far.

    The price is the largest expected reward per round without promises, less the largest with those of today, as if
    every arm were always available. Incurred are, over all promises so far, the plays that these asked for and the arms
    got, times what the best arm would have brought more; it may have slept, which the lower end allows for. Both are
    computed from the estimates, the price also from what was learned beforehand, and corrected for the best of many
    noisy means being too large. Their 95% intervals hold at all times at once, and whatever the rewards are that are
    not known.
    """

    per_round: float | None  # price per round, in the unit of the rewards; null where it is not known
    low: float | None  # lower end of its interval
    high: float | None  # upper end
    # the same as a part of what could be earned per round without promises; null where that is not above 0
    relative: float | None
    incurred: float | None  # reward that the promises cost so far; null where it is not known
    incurred_low: float | None  # lower end of its interval
    incurred_high: float | None  # upper end
    incurred_relative: float | None  # the same as a part of what could have been earned in all rounds
    note: str  # what the numbers rest on, or why there are none; can be empty


@dataclass(frozen=True)
class Stopping(Answer):
    """Whether one may stop: the arms that can still be the best, or that the best policy under the promises prefers.

    However often one looks, the answer is wrong with a probability of delta at most, if its premises are true.
    """

    # whether the arms of `chosen` are certain, or none is better by more than the epsilon that was asked for
    stop: bool
    candidates: tuple[str, ...]  # arms that are still possible, those with the largest estimate first
    chosen: tuple[str, ...]  # arms to take if one stops now, of which there are as many as were asked for
    # the smallest epsilon with which one could stop now, in the unit of the rewards: by how much another arm may be
    # better per play; for promises, what the chosen arms may miss per round; 0 where they are certain. Where
    # `premises` leave more, the last sentence says under which ones it is so
    epsilon_now: float
    # rounds from now until one may likely stop, at the present shares: earliest and latest; null where that is not
    # within ten times the rounds so far, or not foreseen
    rounds: Annotated[tuple[int | None, ...], Len(2, 2)]
    # `holds` in any case, or `holds_if` the premises are true; `not_claimed` where one is known to be false, and then
    # nothing may be stopped
    claim: Claim
    premises: tuple[str, ...]  # on which the answer rests, or why nothing is claimed: clauses without a full stop
    sentences: tuple[str, ...]  # the same in words

    def __str__(self) -> str:
        return "\n".join(self.sentences)


@dataclass(frozen=True)
class MovedShare(Answer):
    """The share of the rounds of an arm in the long run, where promises are kept and all else goes to the best arms."""

    arm: str  # its name
    now: float  # under the promises of today
    then: float  # after the change


@dataclass(frozen=True)
class CatchUp(Answer):
    """An arm that is owed more than a play when a change takes effect."""

    arm: str  # its name
    owed: float  # plays
    rounds: int | None  # until it can be at most one play behind, at the earliest; null where nobody can tell
    seconds: float | None  # the same in seconds, at the recent pace of decisions


@dataclass(frozen=True)
class Effect(Answer):
    """What other promises would cost, who pays, and when arrears are made up; by the estimates of today."""

    cost: Cost | None  # of the promises after the change, of which none is incurred yet; null where they cost nothing
    now: Cost | None  # the price of the promises of today
    # the arms whose share would be another, those that lose most first; at most 100
    shares: tuple[MovedShare, ...]
    catch_up: tuple[CatchUp, ...]  # the slowest first; at most 100
    text: tuple[str, ...]  # the same in sentences


@dataclass(frozen=True)
class Plan(Answer):
    """What a change would do, or a request with `dry_run`; nothing has changed, and the promises can be kept."""

    changed: bool  # whether anything would change; false where everything is so already
    round: int  # the round after which it would take effect; 0 for a new allocation
    plays: int  # arms that play per round
    # sum of the shares that are promised to arms; null where the algorithm promises none per arm
    promised: float | None
    arms: tuple[Arm, ...]  # all arms, with what each would be promised
    groups: tuple[GroupPromise, ...]  # that would be promised shares together
    begins: tuple[str, ...]  # arms and groups whose promise would begin with the next round
    settlement: tuple[SettledPromise, ...] = ()  # what would become of what is owed under promises that change
    # what it would cost, who pays and how long arrears last; null where nothing is promised
    effect: Effect | None = None


@dataclass(frozen=True)
class Event(Answer):
    """Something that happened to an allocation, as it is stored."""

    sequence: int  # 1, 2, … per allocation
    time: datetime  # when it happened, by the clock of the server
    # `create`, `decide`, `lease`, `report`, `reward`, `total`, `expire`, `change`, `alarm`, or `state` in place of
    # events that were not kept
    kind: str
    round: int | None  # of a decision, reward or total; the round after which a change took effect; else null
    data: Mapping[str, Any]  # what happened; its fields depend on the kind
    key: str | None  # id of the API key that caused it; null for none


@dataclass(frozen=True)
class Events(Answer):
    """Events, in order."""

    events: tuple[Event, ...]
    next: int | None  # `after` of the next page; null where there are no more events yet


@dataclass(frozen=True)
class Delivery(Answer):
    """A try to deliver an event to a webhook."""

    sequence: int  # of the event
    attempt: int  # 1 for the first try of this event
    sent: datetime  # when it began
    seconds: float  # until the answer or the error
    status: int | None  # of the answer; null where there was none
    error: str | None  # why it was not delivered; null where it was


@dataclass(frozen=True)
class Webhook(Answer):
    """An address to which events are sent."""

    id: str  # identifies it when it is removed
    url: str  # to which events are sent
    kinds: tuple[str, ...] | None  # of the events that are sent; null for all
    sequence: int  # of the last event that was delivered, or was of another kind
    created: datetime  # when it was registered
    failing: datetime | None  # since when nothing can be delivered; null where the last try succeeded
    # when it was disabled, after five days of failures or as its address wants no more; null where it is not
    disabled: datetime | None
    error: str | None  # why the last try failed; null where it succeeded
    secret: str | None = None  # with which messages are signed; only in the answer that registers it
    deliveries: tuple[Delivery, ...] = ()  # the last tries, at most 20, the last one first


@dataclass(frozen=True)
class Webhooks(Answer):
    """The webhooks of an allocation."""

    webhooks: tuple[Webhook, ...]


# --- the server -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KindParameter(Answer):
    """A parameter of a kind."""

    name: str  # of the parameter
    # `numbers` and `names`: a list of these; `value`: a string, list or table
    type: Literal["number", "integer", "boolean", "string", "numbers", "names", "value"]
    required: bool  # whether a table of this kind must have it
    default: Any  # its value where it is left out; null for none
    description: str  # what it means


@dataclass(frozen=True)
class Kind(Answer):
    """A kind of table that a parameter can be, such as `{"kind": "linear", "slope": 2}`."""

    kind: str  # by which the table names it
    summary: str  # what it is
    parameters: tuple[KindParameter, ...]  # the other keys of the table


@dataclass(frozen=True)
class AlgorithmParameter(Answer):
    """A parameter of an algorithm."""

    name: str  # of the parameter
    # `per_arm`: a number for all arms, a list in their order, or numbers by name; `value`: a string, list or table
    type: Literal["number", "integer", "boolean", "string", "per_arm", "value"]
    required: bool  # whether an allocation must have it
    default: Any  # its value where it is left out; null for none, or for one that is computed
    description: str  # what it means
    kinds: tuple[Kind, ...] = ()  # of the tables that it can be; empty where it has no kinds


@dataclass(frozen=True)
class AlgorithmInfo(Answer):
    """An algorithm that allocations can have."""

    name: str  # by which it is requested
    summary: str  # what it does
    # a minimum `share` of the rounds to each arm, a share in proportion to `merit`, shares to a `group` of arms, a
    # `reward` per round to each arm, or `none`
    promises: Literal["share", "merit", "group", "reward", "none"]
    promise: str  # what it promises, exactly
    # rewards that arrive late, delays that depend on the reward, sums that name no arm, means that change, each with
    # the parameters that it needs beside the defaults; none of these: rewards that are immediate
    made_for: Mapping[Literal["delayed", "dependent", "anonymous", "changing"], Mapping[str, str]]
    parameters: tuple[AlgorithmParameter, ...]  # beside those of every allocation, such as `plays`
    by_features: bool  # whether it goes by features, and so needs that some are declared


@dataclass(frozen=True)
class Question(Answer):
    """A question whose answer decides which algorithm suits."""

    name: str  # by which answers and options of `evenhand which` name it
    text: str  # the question
    options: Mapping[str, str]  # what can be answered, each with its meaning; the first one is usual


@dataclass(frozen=True)
class Recommendation(Answer):
    """An algorithm that suits some answers, and why."""

    algorithm: str  # by which it is requested
    parameters: Mapping[str, Any]  # that it needs for these answers, with sample values where they are required
    why: str  # what speaks for it
    evidence: tuple[str, ...]  # ids of experiments of `evenhand reproduce` whose confirmed claims say so
    when: Mapping[str, tuple[str, ...]]  # the answers that it suits, by question

    def __str__(self) -> str:
        """The recommendation in a sentence or two."""
        shown = f" (experiments: {', '.join(self.evidence)})" if self.evidence else ""
        return f"{self.algorithm}: {self.why}{shown}"


@dataclass(frozen=True)
class Algorithms(Answer):
    """The algorithms that allocations can have, by name, and which of them suits whom."""

    algorithms: tuple[AlgorithmInfo, ...]
    questions: tuple[Question, ...] = ()  # in the order in which they are asked
    # those recommended, the better ones first: the first two whose `when` has the answer to every question are shown
    recommendations: tuple[Recommendation, ...] = ()
    features: tuple[Kind, ...] = ()  # the kinds of features that can be declared


@dataclass(frozen=True)
class AccessInfo(Answer):
    """The access of a caller."""

    open: bool  # whether there are no keys, so that requests from this computer have every scope
    name: str | None  # of the key; null without one
    scopes: tuple[str, ...]  # some of `administer`, `decide`, `reward`, `read`
    allocations: tuple[str, ...] | None  # names of those that the key is for; null for all
    expires: datetime | None  # when the key expires; null for never


@dataclass(frozen=True)
class Health(Answer):
    """The server is alive, or ready."""

    status: Literal["ok"] = "ok"  # always `ok`
