"""Evidence from elsewhere: plays and rewards that a policy learns from, and that count for no promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.arguments import RewardRange
from evenhand.bandit.propensities import copied
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.cohorts import Answers
from evenhand.core.errors import HINTED, EvenhandError, nearest
from evenhand.core.state import Array, Feedback
from evenhand.policy import memories

Places = NDArray[np.intp]
LARGEST = 1e15  # plays, beyond which they are no whole numbers any more


class Counts(NamedTuple):
    """Plays of an arm whose rewards are known, and the sum of these, in the user's unit."""

    plays: float
    sum: float


def as_counts(given: Mapping[str, object], names: Sequence[str], limits: RewardRange) -> dict[str, Counts]:
    """Counts by arm, each given as a pair or as a table with ``plays`` and ``sum``."""
    if not isinstance(given, Mapping):
        raise EvenhandError(f"start_from must be counts by arm, such as {{'tea': (120, 31)}}, got {given!r}")
    known = set(names)
    for arm in given:
        if arm not in known:
            hint = nearest(str(arm), names) if len(names) <= HINTED else ""
            raise EvenhandError(f"start_from has an unknown arm {arm!r}{hint}")
    return {arm: _counts(arm, value, limits) for arm, value in given.items()}


def _counts(arm: object, value: object, limits: RewardRange) -> Counts:
    where = f"start_from[{arm!r}]"
    if isinstance(value, Mapping) and set(value) == {"plays", "sum"}:
        value = (value["plays"], value["sum"])
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise EvenhandError(f"{where} must be (plays, sum of their rewards), got {value!r}")
    plays, total = validate.number(f"{where} plays", value[0], 0.0, LARGEST), validate.number(f"{where} sum", value[1])
    if plays != round(plays):
        raise EvenhandError(f"{where}: plays must be a whole number, got {value[0]!r}")
    slack = 1e-9 * max(1.0, abs(total))
    if not plays * limits.low - slack <= total <= plays * limits.high + slack:
        raise EvenhandError(
            f"{where}: {plays:.0f} rewards in [{limits.low:g}, {limits.high:g}] sum to a number in "
            f"[{plays * limits.low:g}, {plays * limits.high:g}], got {total:g}"
        )
    return Counts(plays, total)


def check_learns(record: Record, by_features: bool = False) -> None:
    """Refuse a policy whose evidence is more than a number of rewards per arm and their sum, or also their features."""
    policy, state, label = record.policy, record.state, record.label
    if record.last_total is not None:
        raise EvenhandError("this bandit learns from totals, which name no arm, and takes no counts per arm")
    reason = ""
    if not policy.hold.traits.idle:
        reason = "it holds a choice and learns from the rounds of the hold"
    elif not policy.schedule.traits.flexible:
        reason = "it follows a schedule that is fixed at the start, whose plays other ones cannot replace"
    elif policy.named:
        reason = "it counts plays by their age, which counts do not have"
    elif policy.contextual and not by_features:
        reason = "it learns from the features of each play, which counts do not have: learn from a log with them"
    elif policy.index.traits.in_order:
        reason = "it weighs each reward by the propensity of its play, which counts do not have"
    elif not by_features:
        nothing = np.zeros(len(record.arms))
        try:
            memories.learn(policy, copied(state), nothing, nothing)
        except EvenhandError as error:
            reason = str(error)
    if reason:
        raise EvenhandError(
            f"{label} cannot start from counts: {reason}; use an algorithm such as 'fucb' or 'thompson'"
        )


def learn_counts(record: Record, counts: Mapping[str, Counts], source: str) -> None:
    """Let the policy learn from plays elsewhere; what the arms are owed stays as it is."""
    check_learns(record)
    plays, sums = np.zeros(len(record.arms)), np.zeros(len(record.arms))
    for arm, one in counts.items():
        plays[record.arms.place[arm]], sums[record.arms.place[arm]] = one
    scaled = np.clip(record.reward_range.scale(sums, plays), 0.0, plays)
    memories.learn(record.policy, record.state, plays, scaled)
    _count(record, plays, sums, scaled, source)


def learn_pulls(record: Record, places: Places, rewards: Array, known: tuple[Array, Array | None], source: str) -> None:
    """Let a policy that goes by features learn from plays elsewhere, by arm and reward and with these features."""
    scaled = np.array(record.reward_range.scaled(rewards.tolist()))
    weights = np.ones(len(places)), rewards, scaled
    plays, sums, within = (np.bincount(places, one, len(record.arms)).astype(float) for one in weights)
    answers = Answers(places, np.zeros(len(places), dtype=np.int64), scaled, *known)
    feedback = Feedback(plays, within, answers)
    record.policy.index.learn_pulls(record.state, feedback, np.random.default_rng(record.seed))
    _count(record, plays, sums, within, source)


def _count(record: Record, plays: Array, sums: Array, scaled: Array, source: str) -> None:
    """Note plays elsewhere, (arms,), and the sums of their rewards, in the user's unit and on the scale [0, 1]."""
    state = record.state
    state.tally.pulls += plays
    state.tally.received += plays
    state.tally.rewards += scaled
    state.rounds_before += float(plays.sum()) / state.plays
    state.begun.plays = state.begun.plays + plays
    record.statistics.learned_plays += plays
    record.statistics.learned_sums += sums
    record.sources = (*record.sources, source)


def counts_of(record: Record) -> dict[str, Counts]:
    """What another bandit can start from: the known rewards of every arm, and what it learned beforehand."""
    if record.last_total is not None:
        raise EvenhandError("totals name no arm, so that there are no counts to start from")
    statistics = record.statistics
    plays: Array = statistics.known + statistics.learned_plays
    sums: Array = statistics.sums + statistics.learned_sums
    rows = zip(record.names, plays.tolist(), sums.tolist(), strict=True)
    return {arm: Counts(number, total) for arm, number, total in rows if number}


class Start(NamedTuple):
    """Evidence to start from."""

    counts: dict[str, Counts]
    source: str
    unused: tuple[str, ...] = ()


def start_from(record: Record, names: Sequence[str], limits: RewardRange, source: str) -> Start:
    """The evidence of a bandit for another one, as far as they have the same arms."""
    if limits != record.reward_range:
        raise EvenhandError(
            f"{source} has rewards in [{record.reward_range.low:g}, {record.reward_range.high:g}], not in "
            f"[{limits.low:g}, {limits.high:g}]: give the same rewards"
        )
    known = set(names)
    if known.isdisjoint(record.names):
        raise EvenhandError(f"{source} has none of these arms; its arms are {', '.join(record.names[:10])}")
    counts = counts_of(record)
    unused = tuple(arm for arm in counts if arm not in known)
    return Start({arm: one for arm, one in counts.items() if arm in known}, source, unused)
