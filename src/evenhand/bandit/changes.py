"""How arms and promises of a bandit change: the parameters, and everything that has a value per arm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.bandit.arms import Arms, checked_names
from evenhand.bandit.change_log import change_between, change_in
from evenhand.bandit.counts import Statistics
from evenhand.bandit.ledger import Holder, Kind, Opening, flow_of, flows
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.state import ALL_AVAILABLE, Array, Mask, State, grown
from evenhand.messages import answers
from evenhand.messages.answers import SettledPromise
from evenhand.messages.changes import (
    VALUES,
    AddArm,
    BringBack,
    ChangeRecord,
    Close,
    Erase,
    Promise,
    Redeclare,
    Rename,
    Reopen,
    Retire,
    Reword,
)
from evenhand.policy.accounts import CARRIED, Terms
from evenhand.policy.composition import Policy
from evenhand.policy.groups import with_changes
from evenhand.policy.memories import recolumned
from evenhand.policy.prior import UNIFORM
from evenhand.policy.settlement import Settlement, begin, check_changeable, lasting, settle

if TYPE_CHECKING:
    from evenhand.bandit.contexts import Contexts
    from evenhand.bandit.segments import Segments


@dataclass(frozen=True)
class Plan:
    """What a change would make of a bandit."""

    arms: Arms
    parameters: Mapping[str, Any]
    moved: tuple[str, ...] = ()  # arms that are added, retired or brought back
    begun: tuple[str, ...] = ()  # arms and groups whose promise is another
    contexts: Contexts | None = None  # with another declaration of features; None: as it is
    shares: Array | None = None  # (segments, arms), that are promised by segment; None: as they are

    def policy(self, record: Record, checked: bool = False) -> Policy:
        """The policy from then on."""
        return record.built(self.arms.names, self.parameters, checked, self.arms.retired)


class Outcome(NamedTuple):
    """What a plan makes of the policy and of what is owed, before the bandit adopts it."""

    policy: Policy
    state: State
    shares: dict[Kind, dict[Holder, float]]  # that are promised until now
    waiting: dict[str, tuple[Array, Array]]
    settlement: Settlement


def make(record: Record, change: ChangeRecord, now: float, replayed: bool = False, key: str = "") -> tuple[str, ...]:
    """Make a change; the names of the arms and groups whose promise begins."""
    version, policy, arms, segments = record.version, record.policy, record.arms, record.segments
    plan, before = plan_of(record, change, replayed), None if segments is None else segments.shares
    opening = Opening(now, 0, 0, change.reason, key, record.state.round)
    if plan.parameters != record.parameters or not np.array_equal(plan.arms.active, record.arms.active):
        _change(record, plan, change, opening, replayed)
    elif plan.shares is not None and segments is not None:
        _change_segments(record, segments, plan, change, opening)
        record.version += 1
    elif plan.contexts is not None:
        record.state, record.contexts = _recolumned(record, plan.contexts), plan.contexts
        record.version += 1
    elif isinstance(change, Reword):
        record.words = change.words
    elif isinstance(change, Rename | Erase) and (replayed or plan.arms is not record.arms):
        record.adopt(plan.arms, record.parameters, record.policy)
        record.version += 1
    if isinstance(change, AddArm) and record.contexts is not None and len(record.contexts.arms) < len(record.arms):
        record.contexts.add_arm(change.features or {})
    if isinstance(change, Erase) and record.contexts is not None:
        record.contexts.erase_arm(arms.place[change.arm])
    if isinstance(change, AddArm | BringBack):
        record.availability.clear()  # it is unknown whether the arm would have been available
        if segments is not None:
            segments.recent.clear()
    if record.version != version or isinstance(change, Close | Reopen):
        name = getattr(change, "arm", "")  # as it was before, or that of a new one
        place, round = arms.place.get(name, record.arms.place.get(name)), record.state.round
        if plan.shares is not None and isinstance(change, Promise) and before is not None and segments:
            row = segments.place(change.segment or "")
            shown = change_in(change.segment or "", before[row], plan.shares[row], now, round, change, key)
        else:
            shown = change_between(policy, record.policy, len(record.arms.names), now, round, change, place, key)
        record.changes.append(shown)
    return (*plan.moved, *plan.begun)


def plan_of(record: Record, change: ChangeRecord, replayed: bool = False) -> Plan:
    """What a bandit would be after a change; it does not change."""
    match change:
        case AddArm():
            return _with_arm(record, change)
        case Retire():
            return _without(record, change.arm)
        case BringBack():
            return _brought_back(record, change)
        case Rename():
            return _renamed(record, change.arm, change.arm if replayed else change.new_name)
        case Erase():
            return _erased(record, change.arm, replayed)
        case Promise():
            return _promised(record, change)
        case Redeclare():
            return Plan(record.arms, record.parameters, contexts=_redeclared(record, change))
    return Plan(record.arms, record.parameters)


def _with_arm(record: Record, change: AddArm) -> Plan:
    check_changeable(record.policy, record.label)
    (arm,) = checked_names([change.arm])
    if arm in record.arms.place:
        raise EvenhandError(f"there is already an arm {arm!r}" + ("; bring it back" * (arm in record.retired)))
    parameters = dict(record.parameters)
    for parameter, (name, new) in VALUES.items():
        value = getattr(change, name)
        if isinstance(parameters.get(parameter), list):
            value = new if value is None else value
            if value is None:
                raise EvenhandError(f"{record.label} needs a {name} for the new arm {arm!r}")
            parameters[parameter] = [*parameters[parameter], validate.number(name, value, low=0.0)]
        elif value is not None:
            raise EvenhandError(f"{record.label} has no {name} per arm; leave the {name} out")
    _check_features(record, change.features, "give it with the arm")
    prior = parameters.get("prior")
    if prior is not None and np.ndim(prior) == 2:
        parameters["prior"] = [*prior, UNIFORM]
    return Plan(Arms((*record.arms.names, arm), record.arms.retired), parameters, (arm,))


def _check_features(record: Record, values: Any, remedy: str) -> None:
    """Refuse features of an arm that are not as they are declared, or without which later decisions would fail."""
    if record.contexts is not None:
        record.contexts.check_arm({} if values is None else values, np.flatnonzero(record.arms.active).tolist(), remedy)
    elif values is not None:
        raise EvenhandError("must be left out: this bandit was made without features", "features")


def _redeclared(record: Record, change: Redeclare) -> Contexts | None:
    """The contexts with the declaration of a change; None where they are as it says."""
    if record.contexts is None:
        raise EvenhandError("must be left out: this bandit was made without features", "features")
    contexts = record.contexts.redeclared(change.features, change.arm_features, record.arms)
    if contexts is not None:
        _recolumned(record, contexts)
    return contexts


def _recolumned(record: Record, contexts: Contexts) -> State:
    """The state of the policy with the columns of another declaration."""
    record.policy.start(len(record.arms.names), columns=contexts.features.widths)  # refuses what it cannot go by
    moved = contexts.history[-1]
    return recolumned(record.policy, record.state, contexts.features.widths, moved.situation, moved.arms)


def _without(record: Record, arm: str) -> Plan:
    check_changeable(record.policy, record.label)
    record.arms.check(arm)
    if arm in record.retired:
        raise EvenhandError(f"arm {arm!r} is already retired")
    if len(record.arms.names) - len(record.retired) <= record.plays:
        raise EvenhandError(f"arm {arm!r} cannot retire: plays = {record.plays} needs at least as many arms")
    arms = Arms(record.names, record.retired | {arm})
    return Plan(arms, _with_fraction(record, arm, 0.0), (arm,))


def _brought_back(record: Record, change: BringBack) -> Plan:
    arm = change.arm
    record.arms.check(arm)
    if arm not in record.retired:
        raise EvenhandError(f"arm {arm!r} is not retired")
    if record.contexts is not None:
        _check_features(record, record.contexts.arms[record.arms.place[arm]], "declare the features of all arms anew")
    fraction = 0.0 if change.fraction is None else validate.number("fraction", change.fraction, 0.0, 1.0)
    return Plan(Arms(record.names, record.retired - {arm}), _with_fraction(record, arm, fraction), (arm,))


def _renamed(record: Record, arm: str, name: str) -> Plan:
    record.arms.check(arm)
    (name,) = checked_names([name])
    if name == arm:
        return Plan(record.arms, record.parameters)
    if name in record.arms.place:
        raise EvenhandError(f"there is already an arm {name!r}")
    return Plan(_with_names(record.arms, arm, name), record.parameters)


def _erased(record: Record, arm: str, replayed: bool) -> Plan:
    """The arm retires, where it has not, and has a neutral name, where a replay does not find it there already."""
    record.arms.check(arm)
    name = neutral = arm if replayed else f"erased-{record.arms.place[arm] + 1}"
    number = 1
    while name in record.arms.place and name != arm:
        name, number = f"{neutral}-{number}", number + 1
    try:
        plan = Plan(record.arms, record.parameters) if arm in record.retired else _without(record, arm)
    except EvenhandError as error:
        raise EvenhandError(f"{error}; give it a neutral name instead, which erases its own as well") from None
    arms = plan.arms if name == arm else _with_names(plan.arms, arm, name)
    return Plan(arms, plan.parameters, (name,) if plan.moved else ())


def _with_names(arms: Arms, arm: str, name: str) -> Arms:
    """The arms with another name of one."""
    return Arms(*(tuple(name if one == arm else one for one in names) for names in (arms.names, arms.retired)))


def use_names(record: Record, names: Sequence[str]) -> None:
    """Use these names of the arms from now on, in their order."""
    retired = [names[record.arms.place[arm]] for arm in record.retired]
    record.adopt(Arms(tuple(names), retired), record.parameters, record.policy)


def _promised(record: Record, change: Promise) -> Plan:
    check_changeable(record.policy, record.label)
    if change.segment is not None:
        return _promised_in_segment(record, change, change.segment)
    parameters: dict[str, Any] = dict(record.parameters)
    changed: dict[str, None] = {}
    for name, shares in (("fractions", change.fractions), ("caps", change.caps)):
        if shares is not None:
            parameters[name], arms = _with_shares(record, name, shares)
            changed |= dict.fromkeys(arms)
    begun: list[str] = []
    if change.groups is not None:
        parameters["groups"], begun = _with_groups(record, change.groups)
    return Plan(record.arms, parameters, begun=(*changed, *begun))


def _promised_in_segment(record: Record, change: Promise, name: str) -> Plan:
    """Other shares in a segment."""
    segments, fractions = record.segments, change.fractions or {}
    if segments is None:
        raise EvenhandError("this bandit was made without segments", "segment")
    segment = segments.place(name)
    for arm in fractions:
        record.arms.check_active(arm, "bring it back first")
    shares = segments.with_shares(segment, fractions, record.arms.place)
    begun = [record.names[place] for place in np.flatnonzero(shares[segment] != segments.shares[segment]).tolist()]
    if not begun:
        return Plan(record.arms, record.parameters)
    segments.check(shares, record.policy, record.arms.active)
    return Plan(record.arms, record.parameters, begun=tuple(begun), shares=shares)


def _change_segments(record: Record, segments: Segments, plan: Plan, change: ChangeRecord, opening: Opening) -> None:
    """Promise other shares by segment; those of an arm that retires end."""
    old, number = len(record.arms.names), len(plan.arms.names)
    before = np.concatenate([record.arms.active, np.zeros(number - old, dtype=bool)])
    segments.grow(number)
    shares = np.where(plan.arms.active, segments.shares if plan.shares is None else plan.shares, 0.0)
    most = lasting(record.policy, record.state.round)
    segments.adopt(shares, (before, plan.arms.active), terms_of(change), most, record.ledger, opening)


def answer(record: Record, change: ChangeRecord | None, plan: Plan | None) -> answers.Plan:
    """What a change with its plan would do, as an answer; None for nothing."""
    terms = terms_of(change)
    outcome = None if plan is None else _outcome(record, plan, terms)
    plan = plan or Plan(record.arms, record.parameters)
    policy = record.policy if outcome is None else outcome.policy
    changed = plan.arms is not record.arms or plan.parameters != record.parameters
    changed |= (
        plan.contexts is not None
        or plan.shares is not None
        or isinstance(change, Close | Reopen)
        or (isinstance(change, Reword) and change.words != record.words)
    )
    groups = {group["name"] for group in policy.groups}
    begins = [name for name in (*plan.moved, *plan.begun) if name in groups or name in plan.arms.place]
    begins = [name for name in begins if name not in plan.arms.retired]
    owed = [] if outcome is None else list(flows(outcome.settlement, terms))
    if plan.shares is not None and record.segments is not None:
        owed += record.segments.changed(
            plan.shares, record.arms.active, terms, lasting(record.policy, record.state.round)
        )
    settlement = [flow_of(flow, plan.arms.names) for flow in owed]
    return planned(
        record.plays, plan.arms, policy, plan.parameters, changed, int(record.state.round), begins, settlement
    )


def planned(
    plays: int,
    arms: Arms,
    policy: Policy,
    parameters: Mapping[str, Any],
    changed: bool,
    round: int = 0,
    begins: Collection[str] = (),
    settlement: Collection[SettledPromise] = (),
) -> answers.Plan:
    """What a policy with these parameters would promise these arms, from some round on."""
    columns = {name: parameters[key] for key, (name, _) in VALUES.items() if isinstance(parameters.get(key), list)}
    if policy.fractions is not None:
        columns["fraction"] = np.broadcast_to(np.asarray(policy.fractions, dtype=float), len(arms)).tolist()
    promises = [
        answers.Arm(arm, arm in arms.retired, **{name: values[place] for name, values in columns.items()})
        for place, arm in enumerate(arms.names)
    ]
    groups = [
        answers.GroupPromise(
            one["name"], tuple(arms.names[place] for place in one["arms"]), one["at_least"], one["at_most"]
        )
        for one in policy.groups
    ]
    promised = float(np.sum(columns["fraction"])) if "fraction" in columns else None
    return answers.Plan(
        changed, round, plays, promised, tuple(promises), tuple(groups), tuple(begins), tuple(settlement)
    )


def _with_shares(record: Record, name: str, given: Mapping[str, float]) -> tuple[list[float], list[str]]:
    """The shares of all arms with some changed, and the arms whose share is another."""
    known = record.parameters.get(name)
    if known is None and record.policy.fairness.traits.limits:
        known = [1.0 if name == "caps" else 0.0] * len(record.arms.names)
    if not isinstance(known, list):
        what = "shares" if name == "fractions" else name
        raise EvenhandError(f"{record.label} promises no {what} that could be changed")
    shares, changed = list(known), []
    for arm, share in given.items():
        record.arms.check_active(arm, "bring it back with its share")
        place, new = record.arms.place[arm], validate.number(f"{name}[{arm!r}]", share, 0.0, 1.0)
        if new != shares[place]:  # an equal promise goes on, with what the arm is owed
            shares[place] = new
            changed.append(arm)
    return shares, changed


def _with_groups(record: Record, given: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The groups of a bandit with some changed, and the names of those whose promise is another."""
    if not record.policy.fairness.traits.limits:
        raise EvenhandError(f"{record.label} has no promises to groups; use group_ucb or group_ts")
    before = {group["name"]: (group["at_least"], group["at_most"]) for group in record.policy.groups}
    new = with_changes(record.policy.groups, record.names, given)
    begun = [one["name"] for one in new if before.get(one["name"]) != (one["at_least"], one["at_most"])]
    left = {one["name"] for one in new}
    return new, [*begun, *(name for name in before if name not in left)]


def _with_fraction(record: Record, arm: str, fraction: float) -> dict[str, Any]:
    """The parameters with another promised share for one arm."""
    if not isinstance(record.parameters.get("fractions"), list):
        if fraction:
            raise EvenhandError(f"{record.label} has no fraction per arm; leave the fraction out")
        return dict(record.parameters)
    shares = list(record.parameters["fractions"])
    shares[record.arms.place[arm]] = fraction
    return record.parameters | {"fractions": shares}


def _change(record: Record, plan: Plan, change: ChangeRecord, opening: Opening, checked: bool) -> None:
    """Use other arms and parameters, all at once or not at all; promises that begin do so with the next round."""
    arms, old, number, terms = plan.arms, len(record.arms.names), len(plan.arms.names), terms_of(change)
    policy, state, shares, waiting, found = _outcome(record, plan, terms, checked)
    if number > old and not checked:
        _check_decides(policy, state, plan.moved[0])
    statistics = grown(record.statistics, Statistics.empty(number))
    _note(record, statistics, found.began)
    statistics.added[old:] = state.round - record.returned
    if (segments := record.segments) is not None:
        _change_segments(record, segments, plan, change, opening)
    record.leases.begin_promises(np.flatnonzero(found.began).tolist(), shares["share"])
    record.adopt(arms, plan.parameters, policy)
    record.state, record.statistics = state, statistics
    record.ledger.grow(number)
    record.ledger.waiting = waiting
    record.ledger.settle(found, shares, terms, state.round, opening)
    record.version += 1


def _outcome(record: Record, plan: Plan, terms: Terms, checked: bool = False) -> Outcome:
    """What a plan would make of the bandit, which stays as it is."""
    arms, old, number = plan.arms, len(record.arms.names), len(plan.arms.names)
    before = np.concatenate([record.arms.active, np.zeros(number - old, dtype=bool)])
    policy = plan.policy(record, checked)
    if (segments := record.segments) is not None and segments.promised and not checked:
        segments.check(np.where(arms.active[:old], segments.shares, 0.0), policy, arms.active)
    if number > old:
        record.check_kept()
    state, shares, waiting = policy.grow(record.state, number), promises_of(record), dict(record.ledger.waiting)
    moved, most = [arms.place[arm] for arm in plan.moved], lasting(record.policy, state.round)
    ahead = record.leases.ahead(number, shares["share"])
    found = settle(record.policy, policy, state, (before, arms.active), terms, waiting, most, moved, ahead)
    begin(policy, state, found.began, found.accounts)
    return Outcome(policy, state, shares, waiting, found)


def terms_of(change: ChangeRecord | None) -> Terms:
    """What becomes of what is owed: what the change says, or all is carried."""
    if isinstance(change, Promise | BringBack):
        return Terms(change.debt, change.limit, change.limit_rounds)
    return CARRIED


def _check_decides(policy: Policy, state: State, arm: str) -> None:
    """Refuse an arm with which a part of the user's own cannot decide, as it has a value for each of the others."""
    try:
        policy.choose(state, ALL_AVAILABLE, np.random.default_rng(0))
    except EvenhandError:
        return  # a decision says so itself, such as beyond the horizon
    except Exception as error:
        raise EvenhandError(
            f"the policy cannot decide with the new arm {arm!r} ({type(error).__name__}: {error}): a part of your own "
            "that has a value for each arm cannot have more arms; make a new bandit with start_from=this one"
        ) from error


def _note(record: Record, statistics: Statistics, began: Mask) -> None:
    """Record how far behind arms are whose promises end."""
    places = np.flatnonzero(began[: len(record.arms.names)]).tolist()
    if not places:
        return
    round, owed, seen = record.state.round, record.owed(), record.promised
    for place in places:
        if seen[place] and round > record.state.begun.rounds.item(place):
            statistics.note(place, owed.item(place))
            record.deficit_history.note(round, place, owed.item(place))


def promises_of(record: Record) -> dict[Kind, dict[Holder, float]]:
    """What is promised now, by kind: to arms by their places, to groups by their names."""
    promised, caps, groups = record.promised, record.policy.caps, record.policy.groups
    shares = record.fractions if record.policy.promises_shares else None
    limits = np.broadcast_to(1.0 if caps is None else caps, len(record.arms.names))
    return {
        "share": {} if shares is None else {at: shares.item(at) for at in np.flatnonzero(promised).tolist()},
        "cap": {place: limits.item(place) for place in np.flatnonzero((limits < 1.0) & record.arms.active).tolist()},
        "group": {group["name"]: group["at_least"] for group in groups if group["at_least"] > 0.0},
        "group_cap": {group["name"]: group["at_most"] for group in groups if group["at_most"] is not None},
        "segment": {} if record.segments is None else record.segments.held(),
    }
