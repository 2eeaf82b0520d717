"""The parts of an audit: a line per arm and per bound, the cost of the promises, and histories."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Literal

from ..core.dataclasses import dataclass
from .answers import Answer


@dataclass(frozen=True)
class DeficitExcerpt(Answer):
    """The largest deficits between evenly spaced rounds, of the arms that were furthest behind."""

    rounds: tuple[int, ...]  # the last round of each interval
    times: tuple[datetime, ...]  # when those rounds were decided
    # those with the largest worst deficit, at most 20; none where there are more than 200 arms in all
    arms: tuple[str, ...]
    # for each of `arms`, its largest deficit at the end of any round of each interval, in plays; null where it had no
    # promise
    deficits: tuple[tuple[float | None, ...], ...]
    largest: tuple[float | None, ...]  # the same over all arms; null where no arm had a promise
    # that no arm was ever further behind than whole plays must be; empty where one was
    note: str = ""


@dataclass(frozen=True)
class History(Answer):
    """Counts since the first round, at up to 256 times; the last one is the time of the last decision or reward.

    The difference of two columns says what happened between two times: plays divided by rounds are shares, and
    `rewards` divided by `known` are mean rewards. With more than 200 arms there are fewer times: 128 with 400 arms.
    """

    rounds: tuple[int, ...]  # rounds decided, at each time
    times: tuple[datetime, ...]  # never decreasing, even where the clock was set back
    # of the counts below: all, or of more than 200 the hundred with the most plays and the hundred furthest behind
    arms: tuple[str, ...]
    plays: tuple[tuple[int, ...], ...]  # for each of `arms`, its plays so far at each time
    # for each of `arms`, the rewards of these plays that are known now: those received in time, and zeros for missing
    # rewards where these count as zero
    known: tuple[tuple[int, ...], ...]
    rewards: tuple[tuple[float, ...], ...]  # for each of `arms`, the sum of its known rewards


@dataclass(frozen=True)
class ChangeMade(Answer):
    """A change of arms or promises."""

    time: datetime  # when it was made
    round: int  # the round after which it took effect
    text: str  # what was changed, in a sentence
    reason: str = ""  # why; empty where none was given
    key: str = ""  # id of the API key with which it was made; empty without one


@dataclass(frozen=True)
class BoundLine(Answer):
    """What a group of arms was promised and got, an arm that has a cap, or an arm in a segment of the rounds."""

    name: str  # of the group or arm
    kind: Literal["group", "arm", "segment"]  # which of the three
    arms: tuple[str, ...]  # the arms of the group, or the arm itself
    at_least: float  # promised plays of these arms per round
    at_most: float | None  # largest number of plays per round; null for no limit
    since: int  # the round after which that promise began
    rounds: int  # rounds since then
    plays: int  # plays of these arms since then
    share: float | None  # plays per round since then; null before the first
    owed: float  # plays behind the promise; negative where ahead
    excess: float | None  # plays above the limit; negative below it; null for no limit
    # share of the rounds of its segment in which an arm could play since it was added; null for all rounds
    available: float | None = None
    verdict: str | None = None  # whether both are `kept`, or one is `missed` or `undecided`; null before they begin
    standing: str | None = None  # the same in a few words, such as `kept` or `7.5 plays behind`
    segment: str = ""  # of whose rounds alone all counts are; empty for all rounds


@dataclass(frozen=True)
class SegmentLine(Answer):
    """What each arm got in a segment of the rounds; numbers by arm are in the order of the lines of the audit."""

    segment: str  # its name
    rounds: int  # decided in it
    plays: tuple[int, ...]  # of each arm in these rounds
    promised: tuple[float, ...]  # share of these rounds that is promised to each arm in this segment alone; 0 for none
    # rewards of these plays that are known: those that arrived in time, and missing ones where these count as zero
    known: tuple[int, ...]
    rewards: tuple[float, ...]  # their sum


@dataclass(frozen=True)
class StandingAlarm(Answer):
    """A promise that was found missed, and not kept since."""

    name: str  # of the arm or group
    # a share or a largest share, of an arm or of a group, or a share of an arm in a segment
    kind: Literal["share", "cap", "group", "group_cap", "segment"]
    since: datetime  # when that was stated, by an event `promise.behind`
    round: int  # the last round before it
    text: str  # how far the promise is kept now, in a sentence
    segment: str = ""  # of whose rounds alone the promise is; empty for all rounds


@dataclass(frozen=True)
class PromiseLine(Answer):
    """A promise to an arm or group, or a rest in which something was owed; of a largest share the excess is meant.

    ``owed + lapsed = carried + forgiven + capped`` where it has ended.
    """

    name: str  # of the arm or group
    # a share or a largest share, of an arm or of a group, or a share of an arm in a segment
    kind: Literal["share", "cap", "group", "group_cap", "segment"]
    share: float  # plays per round; 0 while nothing was promised
    since: int  # the round after which it began; in a segment, of its own rounds
    until: int | None  # its last round; null for a promise of today
    rounds: int  # rounds in which it held; those that leases gave back do not count
    plays: int  # plays in them
    brought: float  # plays owed when it began; negative where ahead
    owed: float  # plays owed when it ended, or now
    carried: float  # of these, owed from then on
    forgiven: float  # forgiven when it ended
    capped: float  # beyond the limit of the change that ended it
    lapsed: float  # of an advance, what did not count any more
    began: datetime | None  # when it was made; null at the start
    reason: str  # why it was made; `before the ledger` for all that an earlier version had counted
    key: str  # id of the API key with which it was made; empty without one
    ended_why: str = ""  # why it ended; empty where no reason was given, and where more than 100 changes followed
    segment: str = ""  # of whose rounds alone it is; empty for all rounds


@dataclass(slots=True)  # frozen, they would take three times as long to make, and there may be many
class Line(Answer):
    """What one arm was promised, what it got, and what its rewards were."""

    arm: str  # its name
    retired: bool  # whether it is retired
    # share of the rounds that it is promised now; by merit: the share that its estimate deserves; null for no promise
    promised: float | None
    # whether its promises so far are `kept` or `missed`, or that is `undecided`; null where no share is promised or
    # none has begun
    verdict: str | None
    standing: str | None  # the same in a few words, such as `kept` or `7.5 plays behind`
    since: int  # the round after which that promise began
    rounds: int  # rounds since then
    plays: int  # plays since then
    share: float | None  # plays per round since then; null before the first
    # lower end of the 95% interval of its mean propensity in these rounds, which holds at all times at once; null
    # before the first
    low_share: float | None
    high_share: float | None  # upper end
    # plays owed to it now, also where they wait for its next promise; negative where ahead; null where no share of the
    # rounds is or was promised
    deficit: float | None
    worst: float | None  # the largest deficit so far; null for none
    promises: int  # shares promised to it that have ended, as the share was changed or the arm retired
    due: float  # plays that its promises asked for so far; ``due = paid + deficit + forgiven + capped - lapsed``
    paid: int  # plays while a share was promised
    forgiven: float  # plays owed that changes forgave
    capped: float  # plays owed beyond the limits of changes
    lapsed: float  # plays ahead that changes did not carry over
    all_plays: int  # plays from the first round on
    available: float | None  # share of the rounds since it was added in which it was available; null before the first
    received: int  # rewards received before their window had passed
    # mean of the known rewards: those received in time, and zeros for missing rewards where these count as zero; null
    # without any
    estimate: float | None
    trusted: bool  # whether the estimate can be trusted; the audit's `warnings` say why not
    # lower end of the 95% interval of the mean reward of all its plays, which holds at all times at once and whatever
    # the pending, lost and late rewards are; null where no reward is certain
    low: float | None
    high: float | None  # upper end
    pending: int  # rewards that can still arrive
    lost: int  # rewards that were missing when their window had passed
    late: int  # of these, the ones that arrived afterwards
    # plays before the first round, or elsewhere, whose rewards the policy learned from; no other number counts them
    learned_plays: int
    learned_mean: float | None  # mean of these rewards; null without any
    # rewards that the policy's own estimate rests on, by their weights; null where it forgets none
    counted: float | None
    # how often the policy found that the mean had changed, and began anew; null where it looks for no changes
    changes: int | None
    # by which the policy compares arms, on its own scale; the larger, the sooner it plays. Null where it is drawn at
    # random, and before the first play
    score: float | None
    reason: str  # why it received what it received, in a few sentences
    # rounds until it can be at most one play behind its promise, at the earliest; null where it is not behind, and
    # where it cannot catch up with its recent availability
    catch_up_rounds: int | None
    catch_up_seconds: float | None  # the same in seconds, at the recent pace of decisions


COLUMNS = tuple(column.name for column in fields(Line))
VALUES = attrgetter(*COLUMNS)
