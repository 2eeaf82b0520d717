"""Promises that change within a run: which a policy makes from which round on, and how a stage of a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
from attrs import frozen

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, InfeasiblePromise, shown
from evenhand.core.parts import parameters_of, several
from evenhand.core.state import Array, State, for_lanes
from evenhand.environment.world import Environment
from evenhand.messages.changes import From, Promise, change_of
from evenhand.policy.accounts import CARRIED, Accounts, Terms
from evenhand.policy.composition import Policy
from evenhand.policy.groups import BoundedShares, with_changes
from evenhand.policy.segments import check_segmented
from evenhand.policy.settlement import Waiting, begin, check_changeable, lasting, settle, with_shares
from evenhand.simulation.books import Page
from evenhand.simulation.metrics import MetricRecorder
from evenhand.simulation.segments import Within
from evenhand.theory.baseline import Baseline, baseline_of

FromLike: TypeAlias = From | Mapping[str, Any]


@frozen(eq=False)
class Stage:
    """What a policy promises, and is measured against, from a round on until the next stage begins."""

    page: Page
    policy: Policy
    baseline: Baseline

    def for_lanes(self, lanes: slice, keep: bool = False) -> Stage:
        """With the rows of the given lanes."""
        baseline = self.baseline.for_lanes(lanes)
        return Stage(for_lanes(self.page, lanes, keep), for_lanes(self.policy, lanes, keep), baseline)


@frozen(eq=False)
class Draft:
    """A stage before it is known whether the promises can be kept."""

    page: Page
    policy: Policy
    environment: Environment  # with the shares that hold for policies without their own

    def checked(self, label: str, lanes: int) -> Stage:
        """The stage, unless what it promises cannot be kept."""
        policy, world = self.policy, self.environment
        try:
            policy.start(world.arms, lanes if policy.by_lane else None, world.unit, world.widths)
            return Stage(self.page, policy, baseline_of(policy, world, label, self.page.within))
        except InfeasiblePromise as error:
            if not self.page.after:
                raise
            raise InfeasiblePromise(f"from round {self.page.after + 1} on ({label!r}): {error}") from None


def changes_of(
    values: FromLike | Sequence[FromLike], names: Sequence[str], horizon: int, shorter: bool = False
) -> tuple[From, ...]:
    """The changes of a run, in their order; those that a ``shorter`` run than was meant does not reach are left out."""
    changes: list[From] = []
    for place, value in enumerate(several(values)):
        try:
            change = value if isinstance(value, From) else _from_table(value, names)
            first = 2 if change.promise.segment is None else 1
            if validate.whole("from", change.round, low=first) > horizon and shorter:
                continue
            if change.round > horizon:
                raise EvenhandError(f"is {change.round}, but the run has only {horizon} rounds", "from")
            beside = {one.promise.segment for one in changes if one.round == change.round}
            if changes and (change.round < changes[-1].round or change.promise.segment in beside):
                raise EvenhandError(f"is {change.round}, not after {changes[-1].round}, where the last begins", "from")
        except EvenhandError as error:
            raise error.at("promises", place) from None
        changes.append(change)
    return tuple(changes)


def _from_table(table: object, names: Sequence[str]) -> From:
    if not isinstance(table, Mapping):
        raise EvenhandError(f"must be a table such as {{ from = 501, fractions = [0.1, 0.2] }}, got {shown(table)}")
    if "from" not in table:
        raise EvenhandError("is missing: the round from which on the promises hold", "from")
    given = {name: value for name, value in table.items() if name != "from"}
    for name in ("fractions", "caps"):
        if name in given and not isinstance(given[name], Mapping):
            shares = validate.for_all_lanes(name, validate.per_arm_or_one(name, given[name], 0.0, 1.0))
            validate.one_per_arm(name, shares, len(names))
            given[name] = dict(zip(names, np.broadcast_to(shares, len(names)).tolist(), strict=True))
    if isinstance(given.get("groups"), list | tuple):
        given["groups"] = _by_name(given["groups"])
    for name in ("limit", "limit_rounds"):
        if given.get(name) is not None:
            given[name] = validate.number(name, given[name], low=0.0)
    promise = change_of({"change": "promise", **given})
    assert isinstance(promise, Promise)
    return From(table["from"], promise)


def _by_name(tables: Sequence[object]) -> dict[str, dict[str, object]]:
    """Groups in a list of tables, each with its name."""
    groups: dict[str, dict[str, Any]] = {}
    for place, table in enumerate(tables):
        if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
            raise EvenhandError(f"must be a table with a name, got {shown(table)}", "groups", place)
        if table["name"] in groups:
            raise EvenhandError(f"two groups have the name {table['name']!r}; give each its own name", "groups")
        groups[table["name"]] = {key: value for key, value in table.items() if key != "name"}
    return groups


def drafts_of(policy: Policy, environment: Environment, changes: Sequence[From], label: str) -> tuple[Draft, ...]:
    """What a policy promises in each stage; one that promises nothing is measured by the environment's shares."""
    shares = any(one.promise.fractions for one in changes if one.promise.segment is None)
    if policy.fractions is None and environment.fractions is None and shares:
        environment = attrs.evolve(environment, fractions=0.0)
    drafts = [_draft(policy, environment)]
    for place, change in enumerate(changes):
        try:
            drafts.append(_next(drafts[-1], change, label))
        except EvenhandError as error:
            raise error.at("promises", place) from None
    return tuple(drafts)


def _draft(
    policy: Policy, environment: Environment, after: int = 0, terms: Terms = CARRIED, within: Array | None = None
) -> Draft:
    shares = environment.fractions if policy.fractions is None else policy.fractions
    caps = 1.0 if policy.caps is None else policy.caps
    promised = BoundedShares(0.0 if shares is None else shares, caps, policy.groups)
    return Draft(Page(after, promised, policy.plays, terms, lasting(policy, after), within), policy, environment)


def _next(before: Draft, change: From, label: str) -> Draft:
    """The stage that a change begins."""
    policy, environment, promise = before.policy, before.environment, change.promise
    names, after = environment.names, change.round - 1
    terms, within = Terms(promise.debt, promise.limit, promise.limit_rounds), before.page.within
    if promise.segment is not None:
        return _draft(policy, environment, after, terms, _within(before, promise, promise.segment))
    if policy.fractions is None:
        if promise.fractions is not None:
            shares = with_shares("fractions", environment.fractions, promise.fractions, names)
            environment = attrs.evolve(environment, fractions=shares)
        return _draft(policy, environment, after, terms, within)
    check_changeable(policy, f"from round {change.round} on: {label!r}")
    fairness: Any = policy.fairness
    new: dict[str, Any] = {}
    for name, given in (("fractions", promise.fractions), ("caps", promise.caps)):
        if given is not None:
            new[name] = with_shares(name, getattr(policy, name), given, names)
    if promise.groups is not None:
        new["groups"] = with_changes(policy.groups, names, promise.groups)
    for name in new:
        if name not in parameters_of(type(fairness)):
            raise EvenhandError(f"from round {change.round} on: {label!r} promises no {name} that could change")
    policy = attrs.evolve(policy, fairness=attrs.evolve(fairness, **new))
    return _draft(policy, environment, after, terms, within)


def _within(before: Draft, promise: Promise, segment: str) -> Array:
    """(segments, arms), the shares that are promised by segment with some of one segment changed."""
    policy, environment = before.policy, before.environment
    if environment.partition is None:
        raise EvenhandError(f"is {segment!r}, but the environment has no segments: name a feature there", "segment")
    if policy.fractions is not None:  # others are measured by what is promised, and go on as they are
        check_segmented(policy)
    row, shares = environment.partition.place(segment), np.zeros((len(environment.partition.names), environment.arms))
    if before.page.within is not None:
        shares = before.page.within.copy()
    shares[row] = with_shares("fractions", shares[row], promise.fractions or {}, environment.names)
    return shares


def promised_by(stages: Sequence[Stage], horizon: int) -> Array | None:
    """The shares that a policy is judged by, the mean over the rounds where they change; None for none."""
    shares = [stage.baseline.promised for stage in stages]
    known = [one for one in shares if one is not None]
    if not known or all(np.array_equal(one, known[0]) for one in known):
        return known[0] if known else None
    rounds = np.diff([*(stage.page.after for stage in stages), horizon])
    return np.round(np.asarray(sum(one * part for one, part in zip(known, rounds, strict=True))) / horizon, 12)


class Stages:
    """The stages of a block of lanes, which begin one after another; without changes there are none."""

    def __init__(
        self, stages: Sequence[Stage], lanes: int, state: State, recorder: MetricRecorder, within: Within | None
    ) -> None:
        self._later = [stage.for_lanes(slice(0, lanes)) for stage in stages[1:]]
        self._state, self._recorder, self._within = state, recorder, within
        self._waiting: Waiting = {}
        if stages:
            state.begun = Accounts.opened(state.tally.pulls.shape)
            recorder.run.open(stages[0].for_lanes(slice(0, lanes)).page)

    def after(self, round: int, policy: Policy) -> Policy:
        """The policy of the next round; where stages begin with it, what is owed is settled."""
        while self._later and self._later[0].page.after == round:
            policy = self._begun(policy, self._later.pop(0))
        return policy

    def _begun(self, policy: Policy, stage: Stage) -> Policy:
        everyone = np.ones(self._state.arms, dtype=bool)
        page, active = stage.page, (everyone, everyone)
        found = settle(policy, stage.policy, self._state, active, page.terms, self._waiting, page.most)
        begin(stage.policy, self._state, found.began, found.accounts)
        if self._within is not None and page.within is not None:
            accounts = self._within.accounts
            accounts.begin(page.within, accounts.settled(page.within, active, page.terms, page.most))
        self._recorder.run.begin(page, stage.baseline)
        return stage.policy
