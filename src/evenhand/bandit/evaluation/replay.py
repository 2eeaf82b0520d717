"""What a policy that learns would have done: it decides anew, and the rounds of a log are those that it accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from evenhand.bandit.arguments import RewardRange, by_arm
from evenhand.bandit.evaluation.known import Known
from evenhand.bandit.evaluation.log import Log, check_propensities
from evenhand.bandit.evaluation.plays import Plays
from evenhand.bandit.record import check_taken, label_of, policy_for, split
from evenhand.core import html, validate
from evenhand.core.cohorts import Answers
from evenhand.core.errors import DataError, EvenhandError, InfeasiblePromise
from evenhand.core.html import Bar
from evenhand.core.imports import misfits_named
from evenhand.core.intervals import Interval
from evenhand.core.numbers import percent
from evenhand.core.state import Array, Decision, Feedback, Mask, Observation, State
from evenhand.features.partition import Partition
from evenhand.inference.means import CONFIDENCE
from evenhand.inference.sums import Sums, mean
from evenhand.messages.changes import VALUES, Promise, change_of
from evenhand.policy.accounts import Accounts
from evenhand.policy.composition import Policy, parts_in
from evenhand.policy.segments import SegmentAccounts, check_segmented, infeasible, overall_of
from evenhand.policy.settlement import with_shares
from evenhand.simulation.files import without_infinities

FEW = 100  # accepted rounds below which a note says that they are few
TOO_FEW = (
    "only {:,} rounds could be accepted, as many as the smallest propensity allows: they say little of what learns"
)
TOO_SELDOM = "{:.1%} of the rounds have a propensity below the chance: their items are accepted too seldom"
ALIKE = ("the rewards of an item are alike over the whole log", "the propensities are right")


@dataclass(frozen=True, eq=False)
class InSegment:
    """What a policy did in the rounds of one segment that it accepted."""

    segment: str
    rounds: int
    plays: Array  # (items,)
    promised: Array  # (items,), shares of these rounds
    behind: Array  # (items,), plays behind what is promised; negative where there are more


@dataclass(frozen=True, eq=False)
class Replay:
    """What a policy did in the rounds of a log that it accepted; shown in a notebook, it is a figure of shares."""

    policy: str
    rounds: int  # that it decided: the effective length
    of: int  # rounds in the log
    chance: float  # of each round of the log to be accepted
    reward: float  # mean reward of its plays whose reward is known, in the log's unit; NaN without any
    interval: Interval  # of the mean reward of the items that it played
    items: tuple[str, ...]
    shares: Array  # (items,), of its rounds
    logged: float  # the mean reward in the log
    segments: tuple[InSegment, ...] = ()  # what it did in each segment
    notes: tuple[str, ...] = ()
    unit: str = ""  # of the rewards

    @property
    def sentence(self) -> str:
        """What it earned."""
        unit = self.unit and f" {self.unit}"
        return (
            f"{self.policy} decided {self.rounds:,} rounds of its own out of {self.of:,} in the log, and earned "
            f"{self.reward:.3g}{unit} per round, between {self.interval.low:.3g} and {self.interval.high:.3g}; "
            f"the log's policy earned {self.logged:.3g}{unit}"
        )

    def __str__(self) -> str:
        """The sentence and the notes, a line each."""
        return "\n".join([self.sentence, *self.notes])

    def _repr_html_(self) -> str:
        """The sentence and the shares, for a notebook."""
        bars = [Bar(name, float(share)) for name, share in zip(self.items, self.shares, strict=True)]
        texts = (html.paragraph(one) for one in (self.sentence, *self.notes))
        return html.notebook(*texts, html.chart(bars, (), f"shares of the rounds of {self.policy}", percent))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            The fields by their names, shares by item; None for what is unknown.
        """
        shares = self._by_item(self.shares)
        segments = [
            asdict(one) | {name: self._by_item(getattr(one, name)) for name in ("plays", "promised", "behind")}
            for one in self.segments
        ]
        found: dict[str, Any] = without_infinities(asdict(self) | {"shares": shares, "segments": segments})
        return found

    def _by_item(self, values: Array) -> dict[str, float]:
        return dict(zip(self.items, values.tolist(), strict=True))


def replay(
    log: Log,
    policy: str | Policy | Mapping[str, object],
    parameters: Mapping[str, object] = MappingProxyType({}),
    *,
    seed: int = 0,
    rewards: tuple[float, float] | None = None,
    chance: float | None = None,
    importing: Callable[[str], object] | None = None,
    segments: str | Mapping[str, object] | None = None,
    promises: Sequence[Promise | Mapping[str, object]] = (),
    **more: object,
) -> Replay:
    """Let a policy that learns decide the rounds of another policy's log by itself.

    In each round of the log the policy chooses an item, from nothing but the rounds that it has accepted before. If it
    is the one that the log played, with propensity p, the round is accepted with probability ``c/p``; then it counts as
    the policy's own, and its reward reaches the policy when it did in the log. Otherwise the round leaves no trace. So
    every round is accepted with probability c, whatever the policy would play, and what it has decided after n accepted
    rounds has the law of n rounds in which it decided alone. In a uniform log of K items, c is 1/K.

    Args:
        log: with one row per round, whose rounds are alike but for the items that are available.
        policy: a name of `evenhand.algorithms`, a table of parts, or a `evenhand.Policy`; it plays one item per round.
        parameters: of the algorithm, as in `evenhand.Bandit`: those with one value per item as a list in the order of
            the log's items, or by name. The default horizon is the expected number of accepted rounds.
        seed: of the policy, and of what is accepted.
        rewards: the smallest and the largest reward; policies learn from rewards scaled to [0, 1]. None: as the log
            says, else 0 and 1.
        chance: c, in (0, 1]; None: the smallest propensity in the log. A larger one accepts more rounds, but too few in
            which an item with a smaller propensity played.
        importing: how to find a part or an algorithm ``module:name``; None refuses them.
        segments: of a log with features, the feature by whose values its rounds are counted, as of `evenhand.Bandit`.
        promises: in these segments, which the policy keeps from its first round on: each a `evenhand.changes.Promise`
            with a segment, or a table such as ``{"fractions": {"tea": 0.1}, "segment": "FR"}``.
        **more: further parameters of the algorithm, such as ``fractions=0.1``.

    Returns:
        The accepted rounds, the mean reward in them with its interval, and the shares of the items.

    Raises:
        EvenhandError: a parameter is wrong, the policy plays several items per round, or a reward is outside the range.
        InfeasiblePromise: the promised shares cannot be kept.
        DataError: the log has rounds of several rows, or no propensities.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": range(8), "item_id": ["a", "b"] * 4, "reward": [0, 1] * 4, "propensity_score": 0.5}
        >>> found = replay(Log.of(pd.DataFrame(rows)), "ucb1")
        >>> found.rounds, found.reward, found.shares
        (5, 0.8, array([0.2, 0.8]))

    Source: Li, Chu, Langford & Wang, Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms, WSDM 2011 (uniform logs); Dudík, Erhan, Langford & Li, Sample-efficient nonstationary
    policy evaluation for contextual bandits, UAI 2012 (rejection by propensities).
    """
    check_propensities(log)
    limits = RewardRange.of(rewards or log.reading.rewards or (0.0, 1.0))
    limits.check_log(log.source, log.reward)
    rows = log.plays or log  # also those whose reward is lost or open
    if len(rows.item) > len(rows.available):
        raise DataError(f"{log.source} has decisions with several rows; a replay needs one, as with rounds='row'")
    accept = float(rows.propensity.min()) if chance is None else validate.number("chance", chance, 1e-9, 1.0)
    name, made = policy_of(log, policy, {**parameters, **more}, max(1, round(accept * len(rows.item))), importing)
    _check_learns(name, made, log, rows)
    rare = float((rows.propensity < accept * (1.0 - 1e-9)).mean())
    within = None if segments is None and not promises else Within.of(log, rows.known, made, segments, promises)
    with misfits_named(parts_in(made)):
        rounds, plays, values = _decided(log, rows, made, limits, accept, seed, within)
    notes = [*log.notes, *[TOO_FEW.format(rounds)] * (rounds < FEW), *[TOO_SELDOM.format(rare)] * (rare > 0.0)]
    return Replay(
        policy=name,
        rounds=rounds,
        of=len(rows.item),
        chance=accept,
        reward=float(values.mean()) if len(values) else float("nan"),
        interval=_interval(values, limits, rounds - len(values)),
        items=log.items,
        shares=plays / max(rounds, 1),
        logged=float(log.reward.mean()),
        unit=log.reading.unit,
        segments=() if within is None else within.found,
        notes=tuple(notes),
    )


def _check_learns(name: str, policy: Policy, log: Log, rows: Plays | Log) -> None:
    """Refuse a policy that cannot learn from the rounds of a log."""
    decided, arrived = _times(log)
    if policy.index.traits.in_order and (arrived > decided).any():
        raise EvenhandError(f"{name} learns from the round just decided only; the log has rewards that came later")
    if policy.contextual and rows.known is None:
        remedy = "read_log(path, features=…), or a table [features] in the file .columns.toml beside it"
        raise DataError(f"{name} goes by features, and {log.source} was read without: {remedy}")


def policy_of(
    log: Log,
    policy: str | Policy | Mapping[str, object],
    parameters: Mapping[str, object],
    horizon: int,
    importing: Callable[[str], object] | None = None,
) -> tuple[str, Policy]:
    """A policy for the items of a log, and what it is called."""
    from evenhand.algorithms.build import entry_of

    if isinstance(policy, Policy):
        name, made = policy.name or "the policy", policy
    else:
        label = policy.get("label") if isinstance(policy, Mapping) else None
        table = {key: one for key, one in policy.items() if key != "label"} if isinstance(policy, Mapping) else policy
        algorithm, values = split(table, parameters, len(log.items))
        if isinstance(algorithm, str) and "horizon" in entry_of(algorithm, importing).parameters:
            values = {"horizon": horizon} | values
        lists = {key: by_arm(key, value, log.items) if key in VALUES else value for key, value in values.items()}
        columns = (1, 1) if log.known is None else log.known.features.widths  # without, `replay` says what is missing
        made = policy_for(algorithm, lists, log.items, importing=importing, columns=columns)
        check_taken(algorithm, made, lists)
        name = str(label or label_of(algorithm))
    if made.plays != 1:
        raise EvenhandError(f"{name} plays {made.plays} items per round; one item per round is replayed")
    return name, made


def _times(log: Log) -> tuple[Array, Array]:
    """When each round was decided, and when its reward came; at once in a part of a log, and where no time is stated.

    What else is known, as that nothing came, is known after the window.
    """
    if log.plays is None:
        times = np.arange(log.rows, dtype=float)
        return times, times
    stated = np.isfinite(log.plays.rewarded)
    later = log.plays.decided + (log.reading.window or 0.0) * stated.any()
    return log.plays.decided, np.where(stated, log.plays.rewarded, later)


def _decided(
    log: Log, rows: Plays | Log, policy: Policy, limits: RewardRange, accept: float, seed: int, within: Within | None
) -> tuple[int, Array, Array]:
    """The rounds that the policy accepts: their number, the plays of each item, and the known rewards."""
    rng, coin = np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1))
    kept = np.flatnonzero(coin.random(len(rows.item)) * rows.propensity < accept)
    features = rows.known if policy.contextual else None
    columns = None if features is None else features.features.widths
    state = policy.start(len(log.items), unit=limits.unit, columns=columns)
    if within is not None:
        state.begun = Accounts.opened((len(log.items),))
    full = np.asarray(log.sets.all(axis=1))
    steady: dict[int, Decision] = {}  # decisions without chance since the policy last learned, by available set
    settled = features is None and within is None and not policy.draws
    known, waiting = list[float](), list[Due]()
    cells = (kept, *(one[kept] for one in (*_times(log), rows.item, rows.reward, rows.available)))
    for row, time, arrival, item, reward, number in zip(*(one.tolist() for one in cells), strict=True):
        if waiting and waiting[0][0] <= time:
            steady.clear()
            _learn(policy, state, waiting, time, limits, rng, features)
        decision = steady.get(number)
        if decision is None:
            able = None if full[number] else log.sets[number]
            deciding, before = (policy, state) if within is None else within.seen(row, policy, state)
            decision = deciding.choose(before, _observation(able, features, row), rng)
            if settled and bool((decision.inclusion == decision.played).all()):
                steady[number] = decision
        if decision.played[item]:
            steady.clear()
            policy.apply(state, decision)
            if within is not None:
                within.accounts.count(within.place[row], decision.played)
            if reward == reward:  # not NaN
                known.append(reward)
                heappush(waiting, Due(arrival, state.round, item, reward, row))
            if waiting and waiting[0][0] <= time:
                _learn(policy, state, waiting, time, limits, rng, features)
    return state.round, state.tally.pulls.copy(), np.array(known)


@dataclass(frozen=True, eq=False)
class Within:
    """The segments of the rounds of a log, and what a policy is to keep there."""

    place: list[int]  # the segment of each round
    accounts: SegmentAccounts

    @classmethod
    def of(
        cls,
        log: Log,
        known: Known | None,
        policy: Policy,
        segments: object,
        promises: Sequence[Promise | Mapping[str, object]],
    ) -> Within:
        """Those of a log, unless the policy cannot keep what is promised."""
        if known is None or segments is None:
            lacking = "a log with features" if known is None else "the feature that makes them, segments=…"
            raise EvenhandError(f"promises by segment need {lacking}", "segments" if promises == () else "promises")
        partition, items = Partition(segments, known.features), list(log.items)
        accounts = SegmentAccounts(partition.names, (len(items),))
        for place, given in enumerate(promises):
            try:
                promise = given if isinstance(given, Promise) else change_of({"change": "promise", **given})
                assert isinstance(promise, Promise)
                row = partition.place(promise.segment or "")
                accounts.shares[row] = with_shares("fractions", accounts.shares[row], promise.fractions or {}, items)
            except EvenhandError as error:
                raise error.at("promises", place) from None
        if promises:
            check_segmented(policy)
        place, overall = partition.of(known.situation), overall_of(policy, np.ones(len(items), dtype=bool))
        often = np.bincount(place, minlength=len(partition.names)) / len(place)
        if fault := infeasible(accounts.shares, overall, 1.0, often, partition.names, policy.repays, " in the log"):
            raise InfeasiblePromise(fault)
        return cls(place.tolist(), accounts)

    def seen(self, row: int, policy: Policy, state: State) -> tuple[Policy, State]:
        """The policy and the state by which a round is decided."""
        return self.accounts.seen(self.place[row], policy, state)

    @property
    def found(self) -> tuple[InSegment, ...]:
        """What was done in each segment."""
        own = self.accounts
        rows = zip(own.names, own.rounds.tolist(), own.plays, own.shares, own.owed(...), strict=True)
        return tuple(InSegment(name, int(rounds), *values) for name, rounds, *values in rows)


class Due(NamedTuple):
    """A reward that will come."""

    time: float
    round: int  # in which its item played, of the policy
    item: int
    reward: float
    row: int  # in the log


def _observation(able: Mask | None, features: Known | None, row: int) -> Observation:
    """What is known before a decision."""
    if features is None:
        return Observation(able)
    return Observation(able, features.situation[row], None if features.arms is None else features.arms[row])


def _learn(
    policy: Policy,
    state: State,
    waiting: list[Due],
    time: float,
    limits: RewardRange,
    rng: np.random.Generator,
    features: Known | None,
) -> None:
    """Give the policy the rewards that have come by a time, together."""
    arrived = []
    while waiting and waiting[0].time <= time:
        arrived.append(heappop(waiting))
    _, rounds, items, rewards, rows = zip(*arrived, strict=True)
    places, scaled = np.array(items, dtype=np.intp), np.array(limits.scaled(list(rewards)))
    received, sums = (np.bincount(places, one, state.arms) for one in (None, scaled))
    known = (None, None) if features is None else features.of_plays(np.array(rows), places)
    answers = Answers(places, state.round - np.array(rounds, dtype=np.int64), scaled, *known)
    policy.observe(state, Feedback(received.astype(float), sums, answers), rng)


def _interval(values: Array, limits: RewardRange, unknown: int, confidence: float = CONFIDENCE) -> Interval:
    """The sequence of the mean of the played items, each given the past."""
    low, high = limits
    scaled = (values - low) / (high - low)
    before = np.concatenate([[0.5], np.cumsum(scaled)[:-1] / np.arange(1, len(values))]) if len(values) else scaled
    sums = Sums(np.array(float(len(values))), scaled.sum(), ((scaled - before) ** 2).sum())
    least, most = (low + (high - low) * float(end) for end in mean(sums, confidence, float(unknown)))
    return Interval(least, most, confidence, "holds_if", ALIKE)
