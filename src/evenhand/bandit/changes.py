"""How arms and promises of a bandit change: the parameters, and everything that has a value per arm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.bandit.arguments import with_places
from evenhand.bandit.arms import Arms, checked_names
from evenhand.bandit.record import Record
from evenhand.bandit.statistics import Statistics
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import grown
from evenhand.policy.composition import Policy
from evenhand.policy.prior import UNIFORM

#: The value of a new arm by its name, the parameter that it belongs to, and its default; None where it must be given.
NEW_ARM: tuple[tuple[str, str, float | None], ...] = (
    ("fraction", "fractions", 0.0),
    ("penalty", "penalties", None),
    ("weight", "weights", 1.0),
    ("cap", "caps", 1.0),
    ("rate", "rates", 0.0),
)


@dataclass(frozen=True)
class Plan:
    """What a change would make of a bandit.

    Attributes:
        arms: from then on.
        parameters: of the algorithm from then on.
        begun: names of the arms whose promise begins.
        groups_begun: names of the groups whose promise begins or ends.
    """

    arms: Arms
    parameters: Mapping[str, Any]
    begun: tuple[str, ...]
    groups_begun: tuple[str, ...] = ()

    def policy(self, record: Record, checked: bool = False) -> Policy:
        """The policy from then on.

        Args:
            record: of the bandit.
            checked: whether the promises are known to be feasible; see `Record.built`.

        Returns:
            The policy.

        Raises:
            InfeasiblePromise: the promised shares cannot be kept.
        """
        return record.built(self.arms.names, self.parameters, checked, self.arms.retired)


def add(record: Record, arm: str, values: Mapping[str, float], checked: bool = False) -> None:
    """Add an arm; see `evenhand.bandit.Bandit.add`.

    Args:
        record: of the bandit.
        arm: name of the new arm.
        values: its fraction, penalty, weight, cap or rate, by these names.
        checked: whether the promises are known to be feasible, as when a stored change is replayed.
    """
    _change(record, plan_add(record, arm, values), checked)
    record.availability.clear()  # it is unknown whether the new arm would have been available


def plan_add(record: Record, arm: str, values: Mapping[str, float]) -> Plan:
    """What a bandit would be with a new arm; see `evenhand.bandit.Bandit.add`.

    Args:
        record: of the bandit, which does not change.
        arm: name of the new arm.
        values: its fraction, penalty, weight, cap or rate, by these names.

    Returns:
        The arms and the parameters with the new arm.
    """
    _check_changeable(record)
    (arm,) = checked_names([arm])
    if arm in record.arms.place:
        raise EvenhandError(f"there is already an arm {arm!r}" + ("; bring it back" * (arm in record.retired)))
    known = [name for name, _, _ in NEW_ARM]
    for name in values:
        if name not in known:
            raise EvenhandError(f"unknown {name!r}{nearest(name, known)}")
    parameters = dict(record.parameters)
    for name, parameter, default in NEW_ARM:
        value = values.get(name)
        if isinstance(parameters.get(parameter), list):
            value = default if value is None else value
            if value is None:
                raise EvenhandError(f"{record.label} needs a {name} for the new arm {arm!r}")
            parameters[parameter] = [*parameters[parameter], validate.number(name, value, low=0.0)]
        elif value is not None:
            raise EvenhandError(f"{record.label} has no {name} per arm; leave the {name} out")
    prior = parameters.get("prior")
    if prior is not None and np.ndim(prior) == 2:
        parameters["prior"] = [*prior, UNIFORM]
    return Plan(Arms((*record.names, arm), record.retired), parameters, (arm,))


def retire(record: Record, arm: str, checked: bool = False) -> None:
    """Retire an arm; see `evenhand.bandit.Bandit.retire`.

    Args:
        record: of the bandit.
        arm: name of the arm.
        checked: as for `add`.
    """
    _change(record, plan_retire(record, arm), checked)


def plan_retire(record: Record, arm: str) -> Plan:
    """What a bandit would be without an arm; see `evenhand.bandit.Bandit.retire`.

    Args:
        record: of the bandit, which does not change.
        arm: name of the arm.

    Returns:
        The arms, of which it is retired, and the parameters without its promise.
    """
    _check_changeable(record)
    record.arms.check(arm)
    if arm in record.retired:
        raise EvenhandError(f"arm {arm!r} is already retired")
    if len(record.arms) - len(record.retired) <= record.plays:
        raise EvenhandError(f"arm {arm!r} cannot retire: plays = {record.plays} needs at least as many arms")
    arms = Arms(record.names, record.retired | {arm})
    return Plan(arms, _with_fraction(record, arm, 0.0), (arm,))


def bring_back(record: Record, arm: str, fraction: float, checked: bool = False) -> None:
    """Bring back a retired arm; see `evenhand.bandit.Bandit.bring_back`.

    Args:
        record: of the bandit.
        arm: name of the arm.
        fraction: its promised share of the rounds, in [0, 1].
        checked: as for `add`.
    """
    _change(record, plan_bring_back(record, arm, fraction), checked)
    record.availability.clear()  # it is unknown whether it would have been available


def plan_bring_back(record: Record, arm: str, fraction: float = 0.0) -> Plan:
    """What a bandit would be with a retired arm brought back; see `evenhand.bandit.Bandit.bring_back`.

    Args:
        record: of the bandit, which does not change.
        arm: name of the arm.
        fraction: its promised share of the rounds, in [0, 1].

    Returns:
        The arms, of which it is no longer retired, and the parameters with its promise.
    """
    record.arms.check(arm)
    if arm not in record.retired:
        raise EvenhandError(f"arm {arm!r} is not retired")
    parameters = _with_fraction(record, arm, validate.number("fraction", fraction, 0.0, 1.0))
    return Plan(Arms(record.names, record.retired - {arm}), parameters, (arm,))


def rename(record: Record, arm: str, name: str) -> None:
    """Give an arm another name; see `evenhand.bandit.Bandit.rename`.

    Args:
        record: of the bandit.
        arm: present name of the arm.
        name: its new name.
    """
    plan = plan_rename(record, arm, name)
    if plan.arms is not record.arms:
        record.adopt(plan.arms, record.parameters, record.policy)
        record.version += 1


def plan_rename(record: Record, arm: str, name: str) -> Plan:
    """What a bandit would be with another name of an arm; see `evenhand.bandit.Bandit.rename`.

    Args:
        record: of the bandit, which does not change.
        arm: present name of the arm.
        name: its new name.

    Returns:
        The arms with that name; those that there are where it is the present one.
    """
    record.arms.check(arm)
    (name,) = checked_names([name])
    if name == arm:
        return Plan(record.arms, record.parameters, ())
    if name in record.arms.place:
        raise EvenhandError(f"there is already an arm {name!r}")
    names = [name if one == arm else one for one in record.names]
    return Plan(_with_names(record, names), record.parameters, ())


def use_names(record: Record, names: Sequence[str]) -> None:
    """Use these names of the arms from now on, in their order.

    Args:
        record: of the bandit.
        names: (arms,), the new names.
    """
    record.adopt(_with_names(record, names), record.parameters, record.policy)


def _with_names(record: Record, names: Sequence[str]) -> Arms:
    """The arms with other names, of which the same are retired."""
    return Arms(tuple(names), [names[record.arms.place[arm]] for arm in record.retired])


def promise(
    record: Record,
    fractions: Mapping[str, float] | None = None,
    caps: Mapping[str, float] | None = None,
    groups: Mapping[str, Mapping[str, Any] | None] | None = None,
    checked: bool = False,
) -> tuple[str, ...]:
    """Change promised shares; see `evenhand.bandit.Bandit.promise`.

    Args:
        record: of the bandit.
        fractions: promised shares of the rounds by arm, in [0, 1]; None to keep them.
        caps: largest shares of the rounds by arm, in [0, 1]; None to keep them.
        groups: what changes, by the names of groups; None in place of a table ends one.
        checked: as for `add`.

    Returns:
        The names of the arms and groups whose promise is another now.
    """
    plan = plan_promise(record, fractions, caps, groups)
    if plan.parameters != record.parameters:
        _change(record, plan, checked)
    return (*plan.begun, *plan.groups_begun)


def plan_promise(
    record: Record,
    fractions: Mapping[str, float] | None = None,
    caps: Mapping[str, float] | None = None,
    groups: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> Plan:
    """What a bandit would be with other promises; see `evenhand.bandit.Bandit.promise`.

    Args:
        record: of the bandit, which does not change.
        fractions: promised shares of the rounds by arm, in [0, 1]; None to keep them.
        caps: largest shares of the rounds by arm, in [0, 1]; None to keep them.
        groups: what changes, by the names of groups; None in place of a table ends one.

    Returns:
        The parameters with these promises, and the arms and groups whose promise changes.
    """
    _check_changeable(record)
    if fractions is None and caps is None and groups is None:
        raise EvenhandError("promise needs fractions, caps or groups")
    parameters: dict[str, Any] = dict(record.parameters)
    changed: dict[str, None] = {}
    for name, shares in (("fractions", fractions), ("caps", caps)):
        if shares is not None:
            parameters[name], arms = _with_shares(record, name, shares)
            changed |= dict.fromkeys(arms)
    begun: list[str] = []
    if groups is not None:
        parameters["groups"], begun = with_changes(record, groups)
    return Plan(record.arms, parameters, tuple(changed), tuple(begun))


def _with_shares(record: Record, name: str, given: Mapping[str, float]) -> tuple[list[float], list[str]]:
    """The shares of all arms with some changed, and the arms whose share is another."""
    known = record.parameters.get(name)
    if known is None and record.policy.fairness.traits.limits:
        known = [1.0 if name == "caps" else 0.0] * len(record.arms)
    if not isinstance(known, list):
        what = "shares" if name == "fractions" else name
        raise EvenhandError(f"{record.label} promises no {what} that could be changed")
    if not isinstance(given, Mapping):
        raise EvenhandError(f"{name} must be a mapping from arms to shares, got {given!r}")
    shares, changed = list(known), []
    for arm, share in given.items():
        record.arms.check_active(arm, "bring it back with its share")
        place, new = record.arms.place[arm], validate.number(f"{name}[{arm!r}]", share, 0.0, 1.0)
        if new != shares[place]:  # an equal promise goes on, with what the arm is owed
            shares[place] = new
            changed.append(arm)
    return shares, changed


def with_changes(
    record: Record, given: Mapping[str, Mapping[str, Any] | None]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The groups of a bandit with some changed, and the names of those whose promise is another.

    Args:
        record: of the bandit.
        given: what changes, by the names of groups; None ends one.

    Returns:
        The tables of all groups, and the names of the groups whose promise changed or ended.
    """
    if not record.policy.fairness.traits.limits:
        raise EvenhandError(f"{record.label} has no promises to groups; use group_ucb or group_ts")
    if not isinstance(given, Mapping):
        raise EvenhandError(f"groups must be a mapping from names to tables, got {given!r}")
    groups: dict[str, dict[str, Any]] = {group["name"]: dict(group) for group in record.policy.groups}
    before = {name: dict(group) for name, group in groups.items()}
    for name, table in given.items():
        if table is None:
            if groups.pop(name, None) is None:
                raise EvenhandError(f"there is no group {name!r}{nearest(str(name), before)}")
            continue
        if not isinstance(table, Mapping):
            raise EvenhandError(f"groups[{name!r}] must be a table such as {{'at_least': 0.2}}, got {table!r}")
        kept = {} if table.get("exactly") is not None else before.get(name, {})
        arms = {"arms": before[name]["arms"]} if name in before else {}
        groups[name] = {**arms, **kept, **table, "name": name}
    new = with_places(list(groups.values()), record.names)
    bounds = {name: (group["at_least"], group["at_most"]) for name, group in before.items()}
    begun = [one["name"] for one in new if bounds.get(one["name"]) != (one["at_least"], one["at_most"])]
    return new, [*begun, *(name for name in before if name not in groups)]


def _check_changeable(record: Record) -> None:
    if not record.policy.schedule.traits.flexible:
        raise EvenhandError(
            f"{record.label} follows a schedule that is fixed at the start; its arms and promises cannot change"
        )


def _with_fraction(record: Record, arm: str, fraction: float) -> dict[str, Any]:
    """The parameters with another promised share for one arm."""
    if not isinstance(record.parameters.get("fractions"), list):
        if fraction:
            raise EvenhandError(f"{record.label} has no fraction per arm; leave the fraction out")
        return dict(record.parameters)
    shares = list(record.parameters["fractions"])
    shares[record.arms.place[arm]] = fraction
    return record.parameters | {"fractions": shares}


def _change(record: Record, plan: Plan, checked: bool) -> None:
    """Use other arms and parameters, all at once or not at all; promises that begin do so with the next round.

    Args:
        record: updated in place.
        plan: what it is from now on.
        checked: whether the promises are known to be feasible; see `Record.built`.
    """
    policy, arms, old = plan.policy(record, checked), plan.arms, len(record.arms)
    places = [arms.place[arm] for arm in plan.begun]
    state = policy.grow(record.state, len(arms))
    state.fairness = policy.fairness.regroup(state.fairness, record.policy.groups, state, plan.groups_begun)
    policy.begin(state, places, np.zeros(len(arms)))
    statistics = grown(record.statistics, Statistics.empty(len(arms)))
    _lapse(record, statistics, [place for place in places if place < old])
    statistics.missed[old:] = state.round  # the rounds before an arm was added
    record.leases.begin_promises(places)
    record.adopt(arms, plan.parameters, policy)
    record.state, record.statistics = state, statistics
    record.version += 1


def _lapse(record: Record, statistics: Statistics, places: Collection[int]) -> None:
    """Record that the promises to some arms end, and with them what the policy makes up for."""
    if record.fractions is None:
        return
    round, deficits = record.state.round, record.total_deficits()
    for place in places:
        if record.fractions.item(place) > 0.0:
            deficit = deficits.item(place)
            statistics.resets[place] += 1.0
            statistics.lapsed[place] = deficit
            if round > record.state.begun.rounds.item(place):
                statistics.note(place, deficit)
                record.deficit_history.note(round, place, deficit)
