"""The account of a bandit, from which its audit is made."""

from __future__ import annotations

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.memory import Memory
from evenhand.core.state import Array, Observation
from evenhand.policy.groups import membership


def account(memory: Memory) -> Account:
    """The record of a bandit as it stands.

    Args:
        memory: of the bandit.

    Returns:
        Everything that an audit is computed from, in plays, rounds and your unit of rewards.
    """
    state, counts, fractions = memory.state, memory.statistics, memory.fractions
    promised = np.zeros(len(memory.arms), dtype=bool) if fractions is None else fractions > 0.0
    deficits = np.where(promised, memory.total_deficits(), -np.inf)
    worst = np.where(promised, memory.worst_deficits(), -np.inf)
    history, policy, learned = memory.deficit_history, memory.policy, counts.learned_plays
    grouped = learned @ membership(policy.groups, len(learned)) if policy.groups else 0.0
    sets, frequencies = memory.availability.frequencies()
    evidence, over_time = policy.evidence, memory.count_history
    counted = state.tally.pulls - counts.learned_plays
    return Account(
        algorithm=memory.label,
        round=state.round,
        version=memory.version,
        plays=memory.plays,
        missing=memory.missing,
        limits=memory.reward_range,
        names=memory.names,
        active=memory.arms.active,
        fractions=fractions,
        merit=memory.policy.merit,
        since=state.begun.rounds,
        plays_before=state.begun.pulls - learned,
        pulls=state.tally.pulls - learned,
        deficits=deficits,
        worst=worst,
        resets=counts.resets,
        lapsed=counts.lapsed,
        received=counts.received,
        known=counts.known,
        sums=counts.sums,
        pending=memory.pending_counts(),
        lost=counts.lost,
        late=counts.late,
        missed=counts.missed,
        delays=counts.recent_delays(),
        sets=sets,
        frequencies=frequencies,
        deficit_history=history.excerpt(memory.names, worst) if promised.any() or history.any_promise() else None,
        caps=None if policy.caps is None else np.broadcast_to(policy.caps, len(memory.arms)),
        groups=policy.groups,
        groups_since=state.fairness.rounds if policy.groups else None,
        groups_before=state.fairness.plays - grouped if policy.groups else None,
        learned_plays=learned,
        learned_sums=counts.learned_sums,
        sources=memory.sources,
        counted=None if evidence is None else evidence.counted(state),
        changes=None if evidence is None else evidence.changes(state),
        scores=_scores(memory),
        history=over_time.excerpt(memory.names, state.round, memory.counts(), deficits if promised.any() else -counted),
        changes_made=memory.changes.excerpt(memory.names),
        pace=over_time.pace(),
        first=over_time.times[0] if over_time.times else None,
        decided=over_time.decided,
        rewarded=over_time.received,
    )


def _scores(memory: Memory) -> Array | None:
    """(arms,), the scores of the next round; None where they are drawn, or do not decide."""
    policy, active = memory.policy, memory.arms.active
    if policy.index.random or policy.fairness.ignores_score or memory.state.round == 0:
        return None
    scores = policy.index.score(memory.state, Observation(active), np.random.default_rng(0))
    return np.where(active, np.asarray(scores, dtype=float), np.nan)
