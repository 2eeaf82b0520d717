"""How a bandit decides a round."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from evenhand.bandit.arms import Available
from evenhand.bandit.propensities import Propensities, copied, propensities
from evenhand.bandit.record import Record
from evenhand.bandit.rewards import close
from evenhand.core.state import Decision, Feedback, Mask, Observation, State
from evenhand.messages import answers
from evenhand.messages.answers import ArmPropensity, moment
from evenhand.policy.accounts import owed


def decide(
    record: Record, available: Iterable[str] | None, now: float, estimate: bool = False
) -> tuple[answers.Decision, dict[str, Any]]:
    """Decide the next round; see `evenhand.bandit.Bandit.decide`."""
    able = record.arms.all if available is None else record.arms.available(available)
    if record.leases or record.pending.window is not None:
        close(record, now)
    decision, silent = _decided(record, able.mask)
    (played,) = decision.played.nonzero()
    if len(played) > 1:
        played = played[np.argsort(-1.0 * decision.inclusion[played], kind="stable")]
    names, places, round = record.arms.names, played.tolist(), decision.round
    chosen = [names[place] for place in places]
    listed = [names[place] for place in np.flatnonzero(able.arms).tolist()] if estimate or available is not None else []
    known: Propensities = {}
    if estimate:
        seed = (record.seed, round)
        known = propensities(record.policy, record.state, able.mask, decision, record.arms.place, seed, listed)
    apply(record, decision, places, able, now)
    facts: dict[str, Any] = {"arms": chosen}
    if available is not None:
        facts["available"] = listed
    if decision.propensities is not None:
        facts["propensity"] = values = list(map(float, decision.propensities[played].tolist()))
        arms = tuple([ArmPropensity(arm, value, 0.0) for arm, value in zip(chosen, values, strict=True)])
    elif known:
        arms = tuple([known[arm] for arm in chosen])
        facts["propensity"], facts["stderr"] = [one.propensity for one in arms], [one.stderr for one in arms]
    else:
        arms = tuple([ArmPropensity(arm, None, None) for arm in chosen])
    if silent:
        facts["silent"] = True
    every = tuple(known.values()) if estimate else None
    return answers.Decision(str(round), round, moment(now), arms, record.version, every), facts


def _decided(record: Record, mask: Mask | None) -> tuple[Decision, bool]:
    """The policy's decision, and whether a reward was missing before."""
    silent = record.in_order and _silent(record)
    saved, learned = copied(record.state) if silent else record.state, record.learned
    if silent:
        record.learn_rewards([], [], [])
    state = record.state
    try:
        decision = record.policy.choose(state, Observation(mask), record.chance.deciding(state.round + 1))
    except BaseException:  # nothing has changed but that
        record.state, record.learned = saved, learned
        raise
    return decision, silent


def estimated(record: Record, arms: Sequence[str], available: Iterable[str] | None, silent: bool) -> Propensities:
    """The propensities of the next decision, of which a log says who plays; changes nothing."""
    able, before = record.arms.available(available), _before(record, silent)
    played = np.zeros(len(record.arms), dtype=bool)
    played[[record.arms.place[arm] for arm in arms]] = True
    decision = Decision(before.clock, played, None, able.mask, played)
    names = [record.names[place] for place in np.flatnonzero(able.arms).tolist()]
    seed = (record.seed, before.clock)
    return propensities(record.policy, before, able.mask, decision, record.arms.place, seed, names)


def decided_again(record: Record, available: Iterable[str] | None, silent: bool) -> Decision:
    """What this computer and this version decide for the next round; changes nothing. See `estimated`."""
    mask = record.arms.available(available).mask
    before = _before(record, silent)
    return record.policy.choose(before, Observation(mask), record.chance.deciding(before.clock))


def _before(record: Record, silent: bool) -> State:
    """A copy of the state right before the next decision."""
    before = copied(record.state)
    if silent:
        nothing = np.zeros(len(record.arms))
        record.policy.observe(before, Feedback(nothing, nothing), record.chance.learning(record.learned + 1))
    return before


def apply(
    record: Record,
    decision: Decision,
    places: Sequence[int],
    available: Available,
    now: float,
    given: Container[str] = (),
) -> None:
    """Record a decision, whether it was just made or is read from a log."""
    record.policy.apply(record.state, decision, given)
    record.pending.enter(decision.round, places, now)
    if available.mask is not None:
        record.statistics.miss(available.mask)
    record.availability.add(available.packed)
    _note_deficits(record, places)
    record.mark(now)


def _silent(record: Record) -> bool:
    """Whether a reward of the last round is missing, which a policy that learns in the order of rounds has to know."""
    last = record.state.round
    if last == 0 or record.last_total == last:
        return False
    rewards = record.pending.find(str(last))
    return rewards is not None and (rewards.closed or None in rewards.rewards.values())


def _note_deficits(record: Record, places: Sequence[int]) -> None:
    """Record the deficits of the arms that have just played: a deficit is largest right before a play."""
    fractions, state = record.fractions, record.state
    if fractions is None:
        return
    begun, pulls, before = state.begun, state.tally.pulls, state.round - 1
    for place in places:  # one by one: usually a single arm plays, and arrays of one element are slow
        share, rounds = fractions.item(place), before - begun.rounds.item(place)
        if share > 0.0 and rounds > 0.0:
            plays = pulls.item(place) - 1.0 - begun.plays.item(place)
            deficit = owed(share, rounds, plays, begun.carried.item(place))
            record.statistics.note(place, deficit)
            record.deficit_history.note(before, place, deficit)
