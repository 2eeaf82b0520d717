"""What an audit is computed from: the figures of a bandit's record, each by one name."""

from __future__ import annotations

import numpy as np

from evenhand.bandit.record import Record
from evenhand.core.state import Array, Observation
from evenhand.policy.groups import membership


class Account:
    """A record as it stands, in plays, rounds, seconds and the user's unit of rewards; it changes nothing.

    What is known of each arm has the shape (arms,).
    """

    def __init__(self, record: Record) -> None:
        state, counts, policy, times = record.state, record.statistics, record.policy, record.count_history
        self.algorithm, self.round, self.version, self.plays = record.label, state.round, record.version, record.plays
        self.missing = record.missing  # what a missing reward counts as: "never", "lost" or "zero"
        self.limits = record.reward_range  # the smallest and the largest reward
        self.names, self.active = record.names, record.arms.active

        self.fractions = record.fractions  # promised share of the rounds; None where no share is promised
        self.merit = policy.merit  # of a mean scaled to [0, 1], to which a share is proportional; None for none
        self.caps = None if policy.caps is None else np.broadcast_to(policy.caps, len(self.names))
        self.since = state.begun.rounds  # rounds before each arm's promise began
        promised = np.zeros(len(self.names), dtype=bool) if self.fractions is None else self.fractions > 0.0
        self.deficits = np.where(promised, record.total_deficits(), -np.inf)  # behind all promises; −inf for none
        self.worst = np.where(promised, record.worst_deficits(), -np.inf)  # the largest deficits so far
        self.resets, self.lapsed = counts.resets, counts.lapsed  # promises that ended, and the deficits from these
        past = record.deficit_history if promised.any() or record.deficit_history.any_promise() else None
        self.deficit_history = None if past is None else past.excerpt(self.names, self.worst)

        learned = counts.learned_plays  # elsewhere, with known rewards; no other figure counts them
        self.learned_plays, self.learned_sums, self.sources = learned, counts.learned_sums, record.sources
        self.pulls: Array = state.tally.pulls - learned
        self.plays_before: Array = state.begun.pulls - learned  # before each arm's promise began
        self.received, self.pending = counts.received, record.pending_counts()
        self.known, self.sums = counts.known, counts.sums  # received, and zeros for missing rewards if these count
        self.lost, self.late = counts.lost, counts.late  # missing when their window had passed; received afterwards
        #: Known rewards without the zeros of those that arrived late.
        self.certain: Array = self.known - np.minimum(self.late, self.known - self.received)

        self.groups = policy.groups  # arms that are promised shares together, and of these promises since when
        self.groups_since = state.fairness.rounds if policy.groups else None  # (groups,)
        of_groups = membership(policy.groups, len(learned)) if policy.groups else None
        self.groups_before = None if of_groups is None else state.fairness.plays - learned @ of_groups  # plays before

        self.missed = counts.missed  # rounds in which an arm was not available
        self.sets, self.frequencies = record.availability.frequencies()  # of arms, packed, in the last rounds

        evidence = policy.evidence  # rewards that the policy's estimates rest on, and changes it found; None for none
        self.counted = None if evidence is None else evidence.counted(state)
        self.changes = None if evidence is None else evidence.changes(state)
        self.scores = _scores(record)

        self.delays = counts.recent_delays()  # of the last rewards received in time
        self.history = times.excerpt(
            self.names, self.round, record.counts(), self.deficits if promised.any() else -self.pulls
        )
        self.pace = times.pace()  # seconds per round lately; None before the second round
        self.first = times.times[0] if times.times else None  # when the first round was decided, in seconds
        self.decided, self.rewarded = times.decided, times.received  # when the last decision and reward were
        self.changes_made = record.changes.excerpt(self.names)


def _scores(record: Record) -> Array | None:
    """(arms,), the scores of the next round; None where they are drawn, or do not decide."""
    policy, active = record.policy, record.arms.active
    if policy.index.traits.random or policy.fairness.traits.ignores_score or record.state.round == 0:
        return None
    scores = policy.index.score(record.state, Observation(active), np.random.default_rng(0))
    return np.where(active, np.asarray(scores, dtype=float), np.nan)
