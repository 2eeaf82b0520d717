"""How arms and promises of a bandit change: the parameters, and everything that has a value per arm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import State
from evenhand.online.bandit.arms import Arms, checked_names
from evenhand.online.bandit.memory import Memory
from evenhand.online.bandit.statistics import Statistics
from evenhand.policy.fairness import Queue
from evenhand.policy.hold import HoldFor
from evenhand.policy.policy import Policy
from evenhand.policy.weights import Credit, Window

#: The value of a new arm by its name, the parameter that it belongs to, and its default; None where it must be given.
NEW_ARM: tuple[tuple[str, str, float | None], ...] = (
    ("fraction", "fractions", 0.0),
    ("penalty", "penalties", None),
    ("weight", "weights", 1.0),
)


def add(memory: Memory, arm: str, values: Mapping[str, float], checked: bool = False) -> None:
    """Add an arm; see `evenhand.online.Bandit.add`."""
    _check_changeable(memory)
    (arm,) = checked_names([arm])
    if arm in memory.arms.place:
        raise EvenhandError(f"there is already an arm {arm!r}" + ("; bring it back" * (arm in memory.retired)))
    known = [name for name, _, _ in NEW_ARM]
    for name in values:
        if name not in known:
            raise EvenhandError(f"unknown {name!r}{nearest(name, known)}")
    parameters = dict(memory.parameters)
    for name, parameter, default in NEW_ARM:
        value = values.get(name)
        if isinstance(parameters.get(parameter), list):
            value = default if value is None else value
            if value is None:
                raise EvenhandError(f"{memory.label} needs a {name} for the new arm {arm!r}")
            parameters[parameter] = [*parameters[parameter], validate.number(name, value, low=0.0)]
        elif value is not None:
            raise EvenhandError(f"{memory.label} has no {name} per arm here")
    _change(memory, Arms((*memory.names, arm), memory.retired), parameters, [arm], checked)
    memory.availability.clear()  # it is unknown whether the new arm would have been available


def retire(memory: Memory, arm: str, checked: bool = False) -> None:
    """Retire an arm; see `evenhand.online.Bandit.retire`."""
    _check_changeable(memory)
    memory.arms.check(arm)
    if arm in memory.retired:
        raise EvenhandError(f"arm {arm!r} is already retired")
    if len(memory.arms) - len(memory.retired) <= memory.plays:
        raise EvenhandError(f"arm {arm!r} cannot retire: plays = {memory.plays} needs at least as many arms")
    _change(memory, Arms(memory.names, memory.retired | {arm}), _with_fraction(memory, arm, 0.0), [arm], checked)


def bring_back(memory: Memory, arm: str, fraction: float, checked: bool = False) -> None:
    """Bring back a retired arm; see `evenhand.online.Bandit.bring_back`."""
    memory.arms.check(arm)
    if arm not in memory.retired:
        raise EvenhandError(f"arm {arm!r} is not retired")
    parameters = _with_fraction(memory, arm, validate.number("fraction", fraction, 0.0, 1.0))
    _change(memory, Arms(memory.names, memory.retired - {arm}), parameters, [arm], checked)
    memory.availability.clear()  # it is unknown whether it would have been available


def rename(memory: Memory, arm: str, name: str) -> None:
    """Give an arm another name; see `evenhand.online.Bandit.rename`."""
    memory.arms.check(arm)
    (name,) = checked_names([name])
    if name == arm:
        return
    if name in memory.arms.place:
        raise EvenhandError(f"there is already an arm {name!r}")
    use_names(memory, [name if one == arm else one for one in memory.names])
    memory.version += 1


def use_names(memory: Memory, names: Sequence[str]) -> None:
    """Use these names of the arms from now on, in their order."""
    retired = [names[memory.arms.place[arm]] for arm in memory.retired]
    memory.adopt(Arms(tuple(names), retired), memory.parameters, memory.policy)


def promise(memory: Memory, fractions: Mapping[str, float], checked: bool = False) -> tuple[str, ...]:
    """Change promised shares; see `evenhand.online.Bandit.promise`."""
    _check_changeable(memory)
    if not isinstance(memory.parameters.get("fractions"), list):
        raise EvenhandError(f"{memory.label} promises no shares that could be changed")
    if not isinstance(fractions, Mapping):
        raise EvenhandError(f"fractions must be a mapping from arms to shares, got {fractions!r}")
    shares, changed = list(memory.parameters["fractions"]), []
    for arm, share in fractions.items():
        memory.arms.check_active(arm, "bring it back with its share")
        place, new = memory.arms.place[arm], validate.number(f"fractions[{arm!r}]", share, 0.0, 1.0)
        if new != shares[place]:  # an equal promise goes on, with what the arm is owed
            shares[place] = new
            changed.append(arm)
    if changed:
        _change(memory, memory.arms, memory.parameters | {"fractions": shares}, changed, checked)
    return tuple(changed)


def _check_changeable(memory: Memory) -> None:
    if memory.policy.schedule.fixed:
        raise EvenhandError(
            f"{memory.label} follows a schedule that is fixed at the start; its arms and promises cannot change"
        )


def _with_fraction(memory: Memory, arm: str, fraction: float) -> dict[str, Any]:
    """The parameters with another promised share for one arm."""
    if not isinstance(memory.parameters.get("fractions"), list):
        if fraction:
            raise EvenhandError(f"{memory.label} has no fraction per arm")
        return dict(memory.parameters)
    shares = list(memory.parameters["fractions"])
    shares[memory.arms.place[arm]] = fraction
    return memory.parameters | {"fractions": shares}


def _change(memory: Memory, arms: Arms, parameters: Mapping[str, Any], begun: Collection[str], checked: bool) -> None:
    """Use other arms and parameters, all at once or not at all; the promises to ``begun`` begin with the next round.

    Args:
        memory: updated in place.
        arms: from now on.
        parameters: from now on.
        begun: names of the arms whose promise begins.
        checked: whether the promises are known to be feasible; see `Memory.built`.
    """
    policy, old = memory.built(arms.names, parameters, checked), len(memory.arms)
    places = [arms.place[arm] for arm in begun]
    state = _grown_state(memory, policy, old, len(arms))
    state.begun.rounds[places] = state.round
    state.begun.pulls[places] = state.tally.pulls[places]
    if isinstance(state.fairness, Queue):  # the queue of a promise that begins anew is empty
        state.fairness.rounds[places] = 0.0
        state.fairness.plays[places] = 0.0
    statistics = grown(memory.statistics, Statistics.empty(len(arms)))
    _lapse(memory, statistics, [place for place in places if place < old])
    statistics.missed[old:] = state.round  # the rounds before an arm was added
    memory.leases.begin_promises(places)
    memory.adopt(arms, parameters, policy)
    memory.state, memory.statistics = state, statistics
    memory.version += 1


def _lapse(memory: Memory, statistics: Statistics, places: Collection[int]) -> None:
    """Record that the promises to some arms end, and with them what the policy makes up for."""
    if memory.fractions is None:
        return
    round, deficits = memory.state.round, memory.total_deficits()
    for place in places:
        if memory.fractions.item(place) > 0.0:
            deficit = deficits.item(place)
            statistics.resets[place] += 1.0
            statistics.lapsed[place] = deficit
            if round > memory.state.begun.rounds.item(place):
                statistics.note(place, deficit)
                memory.deficit_history.note(round, place, deficit)


def _grown_state(memory: Memory, policy: Policy, old: int, arms: int) -> State:
    """The state of a policy with the arms from place ``old`` on added to it."""
    new: State = grown(memory.state, memory.started(policy, arms))
    if isinstance(new.index, Credit | Window):  # new arms start with the mean weight, and so with an equal share
        logs, scale = new.index.logs, getattr(policy.index, "scale", 1.0)
        top = logs[:old].max()
        logs[old:] = top + scale * np.log(np.exp((logs[:old] - top) / scale).mean())
    if isinstance(policy.hold, HoldFor) and policy.hold.count == "all":  # every arm counts all holds
        new.hold.times[old:] = new.hold.times[0]
    return new


def grown(old: Any, fresh: Any) -> Any:
    """A record with the values of ``old``, and those of ``fresh`` for the arms that ``old`` does not have.

    Example:
        >>> from evenhand.core.state import Tally
        >>> grown(Tally(np.ones(2), np.ones(2), np.ones(2)), Tally.empty((3,))).pulls
        array([1., 1., 0.])
    """
    if isinstance(fresh, np.ndarray):
        if fresh.shape == old.shape or fresh.shape[-1] < old.shape[-1]:  # a window of rounds may have become longer
            return old.copy()
        longer = fresh.copy()
        longer[..., : old.shape[-1]] = old
        return longer
    if is_dataclass(fresh) and not isinstance(fresh, type):
        names = [field.name for field in fields(fresh)]
        return type(fresh)(**{name: grown(getattr(old, name), getattr(fresh, name)) for name in names})
    return old
