"""The account of a bandit, from which its audit is made."""

from __future__ import annotations

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.record import Record
from evenhand.core.state import Array, Observation
from evenhand.policy.groups import membership


def account(record: Record) -> Account:
    """The record of a bandit as it stands.

    Args:
        record: of the bandit.

    Returns:
        Everything that an audit is computed from, in plays, rounds and your unit of rewards.
    """
    state, counts, fractions = record.state, record.statistics, record.fractions
    promised = np.zeros(len(record.arms), dtype=bool) if fractions is None else fractions > 0.0
    deficits = np.where(promised, record.total_deficits(), -np.inf)
    worst = np.where(promised, record.worst_deficits(), -np.inf)
    history, policy, learned = record.deficit_history, record.policy, counts.learned_plays
    grouped = learned @ membership(policy.groups, len(learned)) if policy.groups else 0.0
    sets, frequencies = record.availability.frequencies()
    evidence, over_time = policy.evidence, record.count_history
    counted = state.tally.pulls - counts.learned_plays
    return Account(
        algorithm=record.label,
        round=state.round,
        version=record.version,
        plays=record.plays,
        missing=record.missing,
        limits=record.reward_range,
        names=record.names,
        active=record.arms.active,
        fractions=fractions,
        merit=record.policy.merit,
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
        pending=record.pending_counts(),
        lost=counts.lost,
        late=counts.late,
        missed=counts.missed,
        delays=counts.recent_delays(),
        sets=sets,
        frequencies=frequencies,
        deficit_history=history.excerpt(record.names, worst) if promised.any() or history.any_promise() else None,
        caps=None if policy.caps is None else np.broadcast_to(policy.caps, len(record.arms)),
        groups=policy.groups,
        groups_since=state.fairness.rounds if policy.groups else None,
        groups_before=state.fairness.plays - grouped if policy.groups else None,
        learned_plays=learned,
        learned_sums=counts.learned_sums,
        sources=record.sources,
        counted=None if evidence is None else evidence.counted(state),
        changes=None if evidence is None else evidence.changes(state),
        scores=_scores(record),
        history=over_time.excerpt(record.names, state.round, record.counts(), deficits if promised.any() else -counted),
        changes_made=record.changes.excerpt(record.names),
        pace=over_time.pace(),
        first=over_time.times[0] if over_time.times else None,
        decided=over_time.decided,
        rewarded=over_time.received,
    )


def _scores(record: Record) -> Array | None:
    """(arms,), the scores of the next round; None where they are drawn, or do not decide."""
    policy, active = record.policy, record.arms.active
    if policy.index.traits.random or policy.fairness.traits.ignores_score or record.state.round == 0:
        return None
    scores = policy.index.score(record.state, Observation(active), np.random.default_rng(0))
    return np.where(active, np.asarray(scores, dtype=float), np.nan)
