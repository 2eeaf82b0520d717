"""How a bandit decides a round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from evenhand.core.state import Decision, Mask, Observation, State
from evenhand.online.bandit.choice import Choice
from evenhand.online.bandit.memory import Memory
from evenhand.online.bandit.propensities import copied, propensities
from evenhand.online.bandit.rewards import close
from evenhand.policy.fairness import owed


def decide(memory: Memory, available: Iterable[str] | None, now: float) -> Choice:
    """Decide the next round; see `evenhand.online.Bandit.decide`."""
    able, mask, packed = memory.arms.available(available)
    close(memory, now)
    decision, before = _decided(memory, mask)
    (played,) = decision.played.nonzero()
    if len(played) > 1:
        played = played[np.argsort(-1.0 * decision.inclusion[played], kind="stable")]
    places, names = played.tolist(), memory.names
    id, arms = str(decision.round), tuple([names[place] for place in places])
    memory.pending.enter(id, arms, now)
    if mask is not None:
        memory.statistics.miss(mask)
    memory.availability.add(packed)
    _note_deficits(memory, places, now)
    seed = (memory.seed, decision.round)
    estimate = partial(propensities, memory.policy, before, mask, decision, memory.arms.place, seed)
    propensity = tuple(map(float, decision.inclusion[played].tolist())) if before is None else None
    return Choice(id, decision.round, arms, memory.version, propensity, names, able, estimate)


def _decided(memory: Memory, mask: Mask | None) -> tuple[Decision, State | None]:
    """The policy's decision, and the state before it where the policy draws.

    Only such a policy can fail after it has changed something; then state and random numbers are restored.
    """
    silent = memory.in_order and _silent(memory)
    if not memory.policy.draws:
        if silent:
            memory.learn([], [])
        return memory.policy.decide(memory.state, Observation(mask), memory.rng), None
    saved, random = copied(memory.state), memory.rng.bit_generator.state
    try:
        before = saved
        if silent:
            memory.learn([], [])
            before = copied(memory.state)
        return memory.policy.decide(memory.state, Observation(mask), memory.rng), before
    except BaseException:
        memory.state, memory.rng.bit_generator.state = saved, random
        raise


def _silent(memory: Memory) -> bool:
    """Whether a reward of the last round is missing, which a policy that learns in the order of rounds has to know."""
    last = memory.state.round
    if last == 0 or memory.last_total == last:
        return False
    rewards = memory.pending.find(str(last))
    return rewards is not None and (rewards.closed or None in rewards.rewards.values())


def _note_deficits(memory: Memory, places: Sequence[int], now: float) -> None:
    """Record the deficits of the arms that have just played: a deficit is largest right before a play."""
    fractions, state = memory.fractions, memory.state
    if fractions is None:
        return
    begun, pulls, before, lapsed = state.begun, state.tally.pulls, state.round - 1, memory.statistics.lapsed
    for place in places:  # one by one: usually a single arm plays, and arrays of one element are slow
        rounds = before - begun.rounds.item(place)
        if rounds > 0.0:
            plays = pulls.item(place) - 1.0 - begun.pulls.item(place)
            deficit = owed(fractions.item(place), rounds, plays) + lapsed.item(place)
            memory.statistics.note(place, deficit)
            memory.deficit_history.note(before, place, deficit)
    if state.round >= memory.deficit_history.next:
        memory.deficit_history.mark(state.round, now, memory.total_deficits(), fractions > 0.0)
