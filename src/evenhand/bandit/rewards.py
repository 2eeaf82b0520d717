"""How a bandit takes rewards: by decision or as totals, in time, late or never."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from evenhand.bandit.pending import Counting, RewardError, RewardRecord
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Decision, RewardStatus


def observe(record: Record, decision: str, rewards: Mapping[str, float], now: float) -> dict[str, RewardStatus]:
    """Take the rewards of a decision; see `evenhand.bandit.Bandit.observe`."""
    if not isinstance(decision, str):
        hint = f"; give its id, {decision.id!r}" if isinstance(decision, Decision) else ""
        raise EvenhandError(f"a decision is identified by its id, a string such as '1'; got {decision!r}{hint}")
    if type(rewards) is not dict and not isinstance(rewards, Mapping):  # a dict is known sooner
        raise EvenhandError(
            f"rewards must be a mapping from arms to numbers, such as {{{record.names[0]!r}: 1.0}}, got {rewards!r}"
        )
    if record.pending.window is not None or record.leases:
        close(record, now)
    check, new = record.reward_range.check, []
    statuses: dict[str, RewardStatus] = {}
    for arm, reward in rewards.items():
        new.append((arm, check(arm, reward)))
    entry = record.find(decision)
    if entry is None:
        raise RewardError(f"there is no decision {decision!r} among those that are remembered", "unknown")
    for arm, reward in new:
        statuses[arm] = _status(entry, arm, reward)
    if "duplicate" in statuses.values():
        new = [(arm, reward) for arm, reward in new if statuses[arm] != "duplicate"]
    if new and not entry.closed and (record.last_total is not None or record.in_order):
        _check_learnable(record, entry.round)
    take(record, entry, new, now, unlearned=() if record.contexts is None else record.erased([entry.round]))
    return statuses


def take(
    record: Record,
    entry: RewardRecord,
    new: Sequence[tuple[str, float]],
    now: float,
    given: Container[str] = (),
    unlearned: Container[int] = (),
) -> None:
    """Record rewards of a decision by arm, whether they have just arrived or are read from a log.

    The policy does not learn from those of rounds that are ``unlearned``, as their features are erased.
    """
    if not new:
        return
    lease, (low, high) = record.leases.of(entry.round) if record.leases else None, record.reward_range
    book, statistics, scores, round = lease or record.pending, record.statistics, record.scores, entry.round
    places, rewards = [], []
    for arm, reward in new:
        place = record.arms.place[arm]
        table, weight, guess = book.write(round, place, reward)
        if entry.closed:
            statistics.late[place] += 1.0
            if record.missing == "zero":
                _count_missing(record, place, (table, weight, guess), late=True)
        else:
            statistics.receive(place, reward, now - entry.time if now > entry.time else 0.0)
            record.count_history.credit(round, place, sums=reward)
            value = (reward - low) / (high - low)
            off = value - guess
            scores.learn(table, place, 1.0, value, value * value, off * off, weight)
            if lease is not None:
                scores.lose(table, place, -1.0, weight)
            places.append(place)
            rewards.append(value)
    record.count_history.received = now
    if places and record.contexts is None:
        record.learn_rewards(places, rewards, [round] * len(places), given)
    elif record.contexts is not None:
        _learn_with_features(record, places, rewards, [round] * len(places), given, unlearned)
        if not record.pending.is_waiting(round):
            record.contexts.forget([round])
    if record.leases:
        record.leases.forget()


def _learn_with_features(
    record: Record,
    places: Sequence[int],
    rewards: Sequence[float],
    rounds: Sequence[int],
    given: Container[str],
    unlearned: Container[int],
) -> None:
    """Give the policy rewards in the order of the rounds and arms, without those whose features are erased."""
    rows = sorted(zip(rounds, places, rewards, strict=True))
    if record.contexts is not None and record.segments is not None:
        low, width = record.reward_range.low, record.reward_range.width
        for round, place, reward in rows:
            if round not in unlearned:
                record.contexts.count_reward(round, place, low + width * reward)
    if record.policy.contextual:
        rows = [row for row in rows if row[0] not in unlearned]
    if rows:
        record.learn_rewards([row[1] for row in rows], [row[2] for row in rows], [row[0] for row in rows], given)


def _status(entry: RewardRecord, arm: str, reward: float) -> RewardStatus:
    """What a reward is: accepted, duplicate or late."""
    if arm not in entry.rewards:
        played = ", ".join(map(repr, entry.rewards))
        raise RewardError(f"arm {arm!r} did not play in decision {entry.round}; {played} did", "unknown")
    known = entry.rewards[arm]
    if known is None:
        return "late" if entry.closed else "accepted"
    if known != reward:
        raise RewardError(
            f"decision {entry.round}, arm {arm!r}: its reward is {known:g} and cannot change to {reward:g}", "conflict"
        )
    return "duplicate"


def _check_learnable(record: Record, round: int) -> None:
    """Refuse a reward from which the policy cannot learn."""
    if record.last_total is not None:
        raise RewardError("this bandit learns from totals (observe_total) and cannot take rewards by decision as well")
    if record.in_order and round != record.state.round:
        raise RewardError(
            f"{record.label} learns from the round just decided only, {record.state.round}, not from {round}: "
            "give rewards before the next decision, or as totals"
        )


def observe_total(record: Record, value: float) -> None:
    """Take the total of the round just decided; see `evenhand.bandit.Bandit.observe_total`."""
    value, round = validate.number("value", value), record.state.round
    if record.reward_range.low != 0.0:
        low, high = record.reward_range
        raise RewardError(
            f"a total does not say how many rewards it is the sum of, so that totals need rewards from 0 on, not from "
            f"{low:g}: make the bandit with rewards=(0, {high - low:g}) and give totals of rewards less {low:g}"
        )
    if record.policy.named:
        raise RewardError(f"{record.label} goes by the age of plays, and a total names none: give rewards by decision")
    if round == 0:
        raise RewardError("there is no decision to credit a total to", "unknown")
    if record.last_total == round:
        raise RewardError(f"the total of round {round} is known; decide before the next total", "conflict")
    if not all(lease.settled for lease in record.leases.values()):
        raise RewardError("rounds are leased, and a total is of a round that was decided here; return the leases first")
    if record.last_total is None and record.statistics.received.any():
        raise RewardError("this bandit has taken rewards by decision and cannot take totals as well")
    if not record.pending.is_waiting(round):
        raise RewardError(f"the window of round {round} has passed; decide before the next total")
    record_total(record, value)


def record_total(record: Record, value: float, given: Container[str] = ()) -> None:
    """Record the total of the round just decided, whether it has just arrived or is read from a log."""
    round = record.state.round
    entry = record.pending.find(str(round))
    places = [record.arms.place[arm] for arm in ({} if entry is None else entry.rewards)]
    record.pending.forget_waiting()  # earlier rounds get no total of their own any more
    record.last_total = round
    record.count_history.received = record.count_history.decided  # a total is of the round just decided
    scaled = record.reward_range.scaled([value / len(places)] * len(places))
    record.learn_rewards(places, scaled, [round] * len(places), given)


def close(record: Record, now: float) -> dict[str, Any]:
    """Close the decisions whose window has passed, and take back leases whose time for reports is over."""
    if not record.due(now):
        return {"closed": {}}
    facts: dict[str, Any] = {"closed": record.pending.overdue(now)}
    from evenhand.bandit import lease_reports  # not before there is a lease or a window

    leases = lease_reports.overdue(record, now)
    returned = [str(lease.first) for lease in record.leases.values() if lease.open and lease.report_by <= now]
    facts |= {"leases": leases} if leases else {}
    facts |= {"returned": returned} if returned else {}
    if record.contexts is not None and record.missing == "zero":
        erased = sorted(record.erased([int(id) for id in facts["closed"]]))
        facts |= {"unlearned": erased} if erased else {}
    record_expiry(record, facts)
    return facts


def record_expiry(record: Record, facts: Mapping[str, Any], given: Container[str] = ()) -> None:
    """Record what `close` found, whether just now or by a log."""
    record_closed(record, facts["closed"], given, facts.get("unlearned", ()))
    from evenhand.bandit import lease_reports

    lease_reports.record_closed(record, facts.get("leases", {}), given)
    for id in facts.get("returned", ()):
        lease_reports.record_return(record, lease_reports.found(record, id))


def _count_missing(record: Record, place: int, counting: Counting, late: bool = False) -> None:
    """Count a missing reward in differences: as 0 where that is what it means, unless it arrives late after all."""
    table, weight, guess = counting
    if record.missing == "zero":
        times, (low, high) = -1.0 if late else 1.0, record.reward_range
        value = -low / (high - low)
        off = value - guess
        record.scores.learn(table, place, times, times * value, times * value * value, times * off * off, weight)
    if late == (record.missing == "zero"):
        record.scores.lose(table, place, 1.0, weight)


def record_closed(
    record: Record, closed: Mapping[str, Sequence[str]], given: Container[str] = (), unlearned: Container[int] = ()
) -> None:
    """Record that the windows of decisions have passed, whether just now or by a log."""
    pairs = [(int(id), record.arms.place[arm]) for id, arms in closed.items() for arm in arms]
    rounds, places = [round for round, _ in pairs], [place for _, place in pairs]
    for round, place in pairs:
        record.statistics.lost[place] += 1.0
        if record.missing == "zero":
            record.statistics.learn(place, 0.0)
            record.count_history.credit(round, place)
        _count_missing(record, place, record.pending.counting(round, place))
    record.pending.close(closed)
    # A policy that learns in the order of rounds is given missing rewards before the next decision.
    if places and record.missing == "zero" and not record.in_order:
        zeros = record.reward_range.scaled([0.0] * len(places))
        if record.contexts is None:
            record.learn_rewards(places, zeros, rounds, given)
        else:
            _learn_with_features(record, places, zeros, rounds, given, unlearned)
    if record.contexts is not None:
        record.contexts.forget(rounds)
