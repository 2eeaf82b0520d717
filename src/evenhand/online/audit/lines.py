"""One arm's line of an audit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter

from ..api.answers import Answer


@dataclass(slots=True)  # frozen, they would take three times as long to make, and there may be many
class Line(Answer):
    """What one arm was promised, what it got, and what its rewards were."""

    arm: str
    """its name"""
    retired: bool
    """whether it is retired"""
    promised: float | None
    """share of the rounds that it is promised now; by merit: the share that its estimate deserves; null for no
    promise"""
    since: int
    """the round after which that promise began"""
    rounds: int
    """rounds since then"""
    plays: int
    """plays since then"""
    share: float | None
    """plays per round since then; null before the first"""
    low_share: float | None
    """lower end of the 95% interval of its mean propensity in these rounds, which holds at all times at once; null
    before the first"""
    high_share: float | None
    """upper end"""
    deficit: float | None
    """plays behind all promises since the first one; negative where ahead; null where no share of the rounds is
    promised"""
    worst: float | None
    """the largest deficit so far; null for none"""
    resets: int
    """promises to it that have ended: the share was changed, or the arm retired; the last one ended with round `since`,
    where there is a promise"""
    lapsed: float
    """the part of the deficit from these, which the policy does not make up for; negative where ahead"""
    all_plays: int
    """plays from the first round on"""
    available: float | None
    """share of all rounds in which it was available; null before the first"""
    received: int
    """rewards received before their window had passed"""
    estimate: float | None
    """mean of the known rewards: those received in time, and zeros for missing rewards where these count as zero; null
    without any"""
    trusted: bool
    """whether the estimate can be trusted; the audit's `warnings` say why not"""
    low: float | None
    """lower end of the 95% interval of the mean reward of all its plays, which holds at all times at once and whatever
    the pending, lost and late rewards are; null where no reward is certain"""
    high: float | None
    """upper end"""
    pending: int
    """rewards that can still arrive"""
    lost: int
    """rewards that were missing when their window had passed"""
    late: int
    """of these, the ones that arrived afterwards"""
    learned_plays: int
    """plays before the first round, or elsewhere, whose rewards the policy learned from; no other number counts them"""
    learned_mean: float | None
    """mean of these rewards; null without any"""
    counted: float | None
    """rewards that the policy's own estimate rests on, by their weights; null where it forgets none"""
    changes: int | None
    """how often the policy found that the mean had changed, and began anew; null where it looks for no changes"""
    score: float | None
    """by which the policy compares arms, on its own scale; the larger, the sooner it plays. Null where it is drawn at
    random, and before the first play"""
    reason: str
    """why it received what it received, in a few sentences"""
    catch_up_rounds: int | None
    """rounds until it can be at most one play behind its promise, at the earliest; null where it is not behind, and
    where it cannot catch up with its recent availability"""
    catch_up_seconds: float | None
    """the same in seconds, at the recent pace of decisions"""


COLUMNS = tuple(column.name for column in fields(Line))
VALUES = attrgetter(*COLUMNS)
