"""What an audit is computed from: the figures of a bandit's record, each by one name."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from evenhand.bandit.audit.differences import weighted_means
from evenhand.bandit.audit.promises import bounds_of, caused, ledger_of, segments_of, waiting_of
from evenhand.bandit.changes import promises_of
from evenhand.bandit.ledger import Promised, whole
from evenhand.bandit.record import Record
from evenhand.core.parts import rules_of
from evenhand.core.state import Array, Observation
from evenhand.inference.means import CONFIDENCE
from evenhand.inference.sequences import mean_rewards
from evenhand.judgement import comparing
from evenhand.judgement.keeping import keeping_of, keeping_within
from evenhand.judgement.sentences import CLOSE, WHOLE
from evenhand.messages.lines import DeficitExcerpt, History, SegmentLine
from evenhand.messages.words import in_segment, masks
from evenhand.policy.part import Places


class Account:
    """A record as it stands, in plays, rounds, seconds and the user's unit of rewards; it changes nothing."""

    def __init__(self, record: Record) -> None:
        state, policy = record.state, record.policy
        self.algorithm, self.round, self.version, self.plays = record.label, state.round, record.version, record.plays
        self.missing, self.window = record.missing, record.pending.window  # what a missing reward counts as, and when
        self.limits = record.reward_range  # the smallest and the largest reward
        self.by_totals = record.by_totals
        self.names, self.active, self.words = record.names, record.arms.active, record.words
        self.fractions = record.fractions  # promised share of the rounds; None where no share is promised
        rates = policy.index.rates  # (arms,), guaranteed rewards per round, scaled to [0, 1]; None for none
        self.rates = None if rates is None else np.broadcast_to(rates, len(self.names))
        self.contextual = policy.contextual  # whether arms meet the rounds that suit them
        self.merit = policy.merit  # of a mean scaled to [0, 1], to which a share is proportional; None for none
        self.caps = None if policy.caps is None else np.broadcast_to(policy.caps, len(self.names))
        self.groups = policy.groups  # arms that are promised shares together, and of these promises since when
        self.since = state.begun.rounds  # rounds that do not count for each arm's promise, such as those before
        self.ledger, self.caused = partial(ledger_of, record), partial(caused, record)  # a health asks for neither
        self._record, self._promised = record, bool(record.promised.any())  # nor for what is computed of these
        self._owe(record)
        self._count(record)
        self._within_segments(record)
        evidence = policy.evidence  # rewards that the policy's estimates rest on, and changes it found; None for none
        self.counted = None if evidence is None else evidence.counted(state)
        self.changes = None if evidence is None else evidence.changes(state)
        self.alarms = record.alarms
        self.changes_made = record.changes.excerpt(self.names, self.say)

    def _owe(self, record: Record) -> None:
        """What is owed to arms, and how that is kept."""
        state, policy = record.state, record.policy
        owed, promised = record.owed(), record.promised
        self.keeping = keeping_of(policy, len(self.names), max(self.round, 1), state)
        self.keeping_within = keeping_within(policy, len(self.names), self.round, state, self.keeping)
        kept = policy.promises_shares  # a share with a price has no account
        self.opened = record.ledger.opened(self.since) if kept else self.since  # the same in rounds decided
        self.kept_for_price = not kept
        rules = rules_of(policy.fairness)
        #: Whether arms that are more than a play behind play before all others.
        self.owed_first = rules is not None and rules.owed == "first" and rules.tolerance <= 1.0
        running = np.where(promised, state.round - state.begun.rounds, 0.0)
        self.rounds_promised: Array = running + record.ledger.rounds_of_shares().astype(float)  # so far
        self.balance = record.ledger.balance(promised & kept, state.begun, whole(owed * kept), state.tally.pulls)
        counted = promised | (owed != 0.0)
        self.deficits = np.where(counted, owed, -np.inf)  # plays behind, also where they wait; −inf for no promise
        self.worst = np.where(counted, record.worst(), -np.inf)  # the most so far

    def _count(self, record: Record) -> None:
        """Plays, rewards, rounds and times."""
        state, counts, times = record.state, record.statistics, record.count_history
        learned = counts.learned_plays  # elsewhere, with known rewards; no other figure counts them
        self.learned_plays, self.learned_sums, self.sources = learned, counts.learned_sums, record.sources
        self.pulls: Array = state.tally.pulls - learned
        self.plays_before: Array = state.begun.plays - learned  # before each arm's promise began
        self.received, self.pending = counts.received, record.pending_counts()
        self.known, self.sums = counts.known, counts.sums  # received, and zeros for missing rewards if these count
        self.lost, self.late = counts.lost, counts.late  # missing when their window had passed; received afterwards
        #: Known rewards without the zeros of those that arrived late.
        self.certain: Array = self.known - np.minimum(self.late, self.known - self.received)
        self.missed = counts.missed  # rounds in which an arm was not available
        self.seen: Array = state.round - record.returned - counts.added  # rounds that an arm has been there for
        self.rounds = state.round - record.returned  # that count: without those that leases gave back
        self.sets, self.frequencies = record.availability.frequencies()  # of arms, packed, in the last rounds
        self.delays = counts.delays[: counts.count]  # of the last rewards received in time, at most 1000, in no order
        self.pace = times.pace()  # seconds per round lately; None before the second round
        self.first = times.times[0] if times.times else None  # when the first round was decided, in seconds
        self.decided, self.rewarded = times.decided, times.received  # when the last decision and reward were

    def _within_segments(self, record: Record) -> None:
        """Promises to groups, largest shares, and promises in segments."""
        policy = record.policy
        self.bounds = bounds_of(record)  # a line for each group, and for each arm with a cap
        within = (line for line in self.bounds if line.kind == "segment")
        self.owed_within = {in_segment(line.name, line.segment): line.owed for line in within}  # by promise
        ended = (entry for entry in record.ledger.entries if entry.kind == "segment" and entry.share)
        self.ended_within = {entry.holder for entry in ended}  # arms in segments that were promised something before
        self.waiting_within = dict(waiting_of(record)) if self.keeping.keeps == "count" else {}  # for a next promise
        segments = self.segments = record.segments if record.segments is not None and record.segments.promised else None
        #: Why promises by segment and for all rounds cannot be kept together, or on which frequencies that rests.
        self.fault_within = "" if segments is None else segments.fault(segments.shares, policy, self.active)
        self.doubts = [] if record.contexts is None else record.contexts.doubts(self.round)  # of features
        self.premise_within = "" if segments is None or self.fault_within else segments.premise(policy, self.active)
        self.segmented = "" if record.segments is None else record.segments.feature

    @cached_property
    def _weighted(self) -> tuple[Array, Array]:
        """The rounds and means of `weighted_means`."""
        return weighted_means(self._record, CONFIDENCE)

    @cached_property
    def incomparable(self) -> str:
        """Why the rewards of arms cannot be compared, as a clause; empty where they can."""
        return comparing.fault(self.contextual, float(self._weighted[0].max()) if self.contextual else 0.0)

    def means(self, places: Places) -> tuple[Array, Array, Array]:
        """Of some arms the mean reward and its interval, by which they can be compared; NaN where unknown."""
        if self.contextual:
            low, high = self.limits
            value, least, most = low + (high - low) * self._weighted[1][:, places]
            return value, least, most
        known, sums = self.known[places], self.sums[places]
        value = np.divide(sums, known, out=np.full(len(known), np.nan), where=known > 0.0)
        return value, *mean_rewards(self.pulls[places], self.certain[places], sums, self.limits)

    def segments_of(self, places: Places) -> tuple[SegmentLine, ...]:
        """What some arms got in each segment of the rounds."""
        return segments_of(self._record, places)

    @cached_property
    def scores(self) -> Array | None:
        """(arms,), the scores of the next round; None where they are drawn, go by its features, or do not decide."""
        policy = self._record.policy
        if policy.index.traits.random or self.contextual or policy.fairness.traits.ignores_score or self.round == 0:
            return None
        scores = policy.index.score(self._record.state, Observation(self.active), np.random.default_rng(0))
        return np.where(self.active, np.asarray(scores, dtype=float), np.nan)

    @property
    def recent_plays(self) -> Array:
        """(arms,), plays per round in the last quarter of the rounds, or since a mark shortly before."""
        times = self._record.count_history
        for round, counts in zip(reversed(times.rounds), reversed(times.counts), strict=False):
            if counts is not None and round <= 0.75 * self.round:
                before = np.concatenate([counts[0], np.zeros(len(self.names) - len(counts[0]))])
                return np.asarray(np.maximum(self.pulls - before, 0.0) / (self.round - round))
        return self.pulls / max(self.round, 1)

    def say(self, text: str) -> str:
        """A sentence in the words of the allocation."""
        return self.words.say(text, self._masks) if self.words.round_name or self.words.arm_name else text

    @cached_property
    def _masks(self) -> re.Pattern[str] | None:
        record, names = self._record, [*self.names, *(group["name"] for group in self.groups)]
        names += [] if record.segments is None else record.segments.names
        if record.contexts is not None:
            names += [*record.contexts.features.situation, *record.contexts.features.arms]
        return masks(names)

    @cached_property
    def history(self) -> History | None:
        """Plays and rewards over time; None before the first round."""
        record, furthest = self._record, self.deficits if self._promised else -self.pulls
        return record.count_history.excerpt(self.names, self.rounds, record.counts(), furthest)

    @cached_property
    def deficit_history(self) -> DeficitExcerpt | None:
        """The deficits over time; None where no share was ever promised."""
        past = self._record.deficit_history
        if not self._promised and np.isnan(past.largest).all():
            return None
        found = past.excerpt(self.names, self.worst)
        within = any(kind == "segment" for kind, _ in self._record.ledger.openings)  # of which this is no history
        near = bool(found.rounds) and not within and not (self.worst > WHOLE).any()
        return replace(found, note=self.say(CLOSE)) if near else found

    def held(self, promise: Promised) -> bool:
        """Whether there is still a promise of this kind to this arm or group."""
        kind, holder = promise
        if isinstance(holder, int) and (self.rates is not None or self.merit is not None):
            return bool(self.active[holder] and (self.rates is None or self.rates[holder] > 0.0))
        return holder in promises_of(self._record)[kind]
