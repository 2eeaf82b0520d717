"""Promises to groups of arms, and limits: floors and caps of shares of the rounds, with an exact queue for each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import HINTED, EvenhandError, nearest, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Shape, State, grown
from evenhand.core.streams import over_arms
from evenhand.policy.accounts import Accounts
from evenhand.policy.claim import Fairness, Group, Ranking, deficits, weighed
from evenhand.policy.part import Places, Traits

NEVER = -1e18  # the score of an arm whose cap is 0, which plays only where no other can


GroupLike = Mapping[str, object]
KEYS = ("name", "arms", "at_least", "at_most", "exactly")


def as_groups(values: Iterable[GroupLike]) -> tuple[Group, ...]:
    """Groups from tables with ``name``, ``arms`` and ``at_least``, ``at_most`` or, for both, ``exactly``."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise EvenhandError(
            f"must be a list of tables such as {{ name = 'north', arms = [0, 2] }}, got {shown(values)}"
        )
    groups = tuple(_group(place, table) for place, table in enumerate(values))
    names = [group["name"] for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise EvenhandError(f"two groups have the name {name!r}; give each its own name")
    return groups


def _group(place: int, table: object) -> Group:
    if not isinstance(table, Mapping):
        raise EvenhandError(f"must be a table such as {{ name = 'north', arms = [0, 2] }}, got {shown(table)}", place)
    for key in table:
        if key not in KEYS:
            raise EvenhandError(f"has an unknown key {key!r}{nearest(str(key), KEYS)}", place, key=str(key))
    name, arms = table.get("name"), table.get("arms")
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        raise EvenhandError(f"must be a string without surrounding white space, got {shown(name)}", place, "name")
    if isinstance(arms, str) or not isinstance(arms, Sequence) or len(arms) == 0:
        raise EvenhandError(f"the group {name!r} needs arms, a list with at least one arm, got {shown(arms)}")
    places = [validate.whole(f"an arm of the group {name!r}", arm, low=0) for arm in arms]
    if len(set(places)) < len(places):
        raise EvenhandError(f"the group {name!r} names an arm twice")
    low, high = table.get("at_least"), table.get("at_most")
    if table.get("exactly") is not None:
        if low is not None or high is not None:
            raise EvenhandError(f"the group {name!r} has exactly together with at_least or at_most; remove one of them")
        low = high = table["exactly"]
    least = 0.0 if low is None else validate.number(f"at_least of the group {name!r}", low, 0.0)
    most = None if high is None else validate.number(f"at_most of the group {name!r}", high, 0.0)
    if most is not None and most < least:
        raise EvenhandError(
            f"the group {name!r} is promised at least {least:g} and at most {most:g}; at_least must not exceed at_most"
        )
    return Group(name=name, arms=places, at_least=least, at_most=most)


def with_places(groups: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Groups with the places of their arms, which may be given by name."""
    place = {name: at for at, name in enumerate(names)}
    if isinstance(groups, list | tuple):
        groups = [with_numbers(group, place) for group in groups]
    try:
        checked = as_groups(groups)
        membership(checked, len(names))
    except EvenhandError as error:
        raise error.at("groups") from None
    return [dict(group) for group in checked]


def with_numbers(group: Any, place: Mapping[str, int]) -> Any:
    """The table of a group with the places of its arms, which it may name."""
    arms = group.get("arms") if isinstance(group, Mapping) else None
    if not isinstance(arms, list | tuple):
        return group
    for arm in arms:
        if isinstance(arm, str) and arm not in place:
            raise EvenhandError(f"has an unknown arm {arm!r}{nearest(arm, place) * (len(place) <= HINTED)}", "groups")
    return {**group, "arms": [place[arm] if isinstance(arm, str) else arm for arm in arms]}


def with_changes(
    groups: Sequence[Group], names: Sequence[str], given: Mapping[str, Mapping[str, Any] | None]
) -> list[dict[str, Any]]:
    """Groups with some changed: what is left out of a table stays as it is, and None ends a group."""
    known: dict[str, dict[str, Any]] = {group["name"]: dict(group) for group in groups}
    new = dict(known)
    for name, table in given.items():
        if table is None:
            if new.pop(name, None) is None:
                raise EvenhandError(f"there is no group {name!r}{nearest(str(name), known)}")
            continue
        if not isinstance(table, Mapping):
            raise EvenhandError(f"groups[{name!r}] must be a table such as {{'at_least': 0.2}}, got {table!r}")
        before = known.get(name, {})
        kept = {"arms": before["arms"]} if before and table.get("exactly") is not None else before
        new[name] = {**kept, **table, "name": name}
    return with_places(list(new.values()), names)


@dataclass(slots=True)
class Bounds:
    """The accounts of largest shares of arms, and of what groups are promised, at least and at most."""

    caps: Accounts  # (…, arms)
    groups: Accounts  # (…, groups)
    group_caps: Accounts  # (…, groups)


def membership(groups: Sequence[Group], arms: int) -> Array:
    """(arms, groups), 1 where an arm is in a group."""
    members = np.zeros((arms, len(groups)))
    for place, group in enumerate(groups):
        if max(group["arms"]) >= arms:
            raise EvenhandError(
                f"the group {group['name']!r} has an arm {max(group['arms'])}, but arms are "
                f"numbered from 0 to {arms - 1}"
            )
        members[group["arms"], place] = 1.0
    return members


def floors_of(groups: Sequence[Group]) -> Array:
    """(groups,), what each is promised at least, in plays per round."""
    return np.array([group["at_least"] for group in groups])


def caps_of(groups: Sequence[Group]) -> Array:
    """(groups,), the most that each may have, in plays per round; the number of its arms where there is no cap."""
    caps = [len(group["arms"]) if group["at_most"] is None else group["at_most"] for group in groups]
    return np.array(caps, dtype=float)


@part("fairness", "bounded_shares")
@frozen(eq=False)
class BoundedShares(Fairness):
    """Floors and caps of the shares of arms and of groups of arms, each with an exact queue, weighed against the score.

    ``η score_i + Σ_{g∋i} (D⁻_g − D⁺_g)``,  ``D⁻_g = max(L_g n − N_g, 0)``,  ``D⁺_g = max(N_g − U_g n, 0)``

    g runs over the arm itself and its groups, n over the rounds since the promise to g began, and N_g are the plays of
    its arms since then. What is owed to a group raises the scores of all its arms alike, so that it is paid by the best
    of them. A floor that is equal to the cap fixes a share, as for a control group. Both queues are exact: a surplus
    counts against later claims, and nothing is forgotten. A cap of 0 excludes arms as long as others can play.

    Args:
        fractions: (arms,), floors, in [0, 1]; one number for all arms.
        caps: (arms,), caps, in [0, 1]; one number for all arms.
        groups: tables with ``name``, ``arms`` (places from 0; in configurations and bandits also names), ``at_least``,
            ``at_most`` or ``exactly``, in plays of these arms per round.
        eta: η ≥ 0, the plays owed that outweigh one unit of reward.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import EmpiricalMean
        >>> north = {"name": "north", "arms": [1, 2], "at_least": 0.5}
        >>> policy = Policy(EmpiricalMean(), BoundedShares(groups=[north]))
        >>> state, rng = policy.start(arms=3), np.random.default_rng(0)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(4)]
        [0, 1, 0, 1]

    Source: ours; the exact queue is that of Huang et al. 2020, eq. (5), with a group or a cap in place of an arm's
    floor.
    """

    fractions: Array = field(default=0.0, converter=validate.fractions)
    caps: Array = field(default=1.0, converter=validate.fractions)
    groups: tuple[Group, ...] = field(default=(), converter=as_groups)
    eta: float = field(default=1.0, converter=validate.nonnegative)
    traits = Traits(exact=True, limits=True, arrears="eta")

    def __attrs_post_init__(self) -> None:
        validate.same_length("caps", self.caps, self.fractions, "fractions")
        floors, caps = np.broadcast_arrays(self.fractions, self.caps)
        over = floors > caps
        if over.any():
            *_, arm = np.argwhere(over)[0].tolist()
            raise EvenhandError(
                f"is {floors[over][0]:g}, above caps[{arm}], which is {caps[over][0]:g}; "
                "a floor must not exceed the cap",
                "fractions",
                arm,
            )

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``(K + G)(1 + η (1 + sqrt(2 ln t)))``: what a queue must outweigh is no more than the largest score."""
        largest = 1.0 + float(np.sqrt(2.0 * np.log(max(rounds, 1))))
        return (arms + len(self.groups)) * (1.0 + self.eta * largest)

    def check(self, arms: int, plays: int) -> None:
        """Every group has arms that there are."""
        validate.one_per_arm("caps", self.caps, arms)
        membership(self.groups, arms)

    def start(self, shape: Shape) -> Bounds:
        """All promises begin with round 1."""
        of_groups = (*shape[:-1], len(self.groups))
        return Bounds(*(Accounts.opened(one) for one in (shape, of_groups, of_groups)))

    def grow(self, memory: Bounds, arms: int) -> Bounds:
        """With accounts of the new arms; groups have theirs."""
        return dataclasses.replace(memory, caps=grown(memory.caps, Accounts.opened((arms,))))

    def begin(self, memory: Bounds, places: Places, carried: Array) -> Bounds:
        """As it was: `evenhand.policy.settlement` begins these accounts."""
        return memory

    def advance(self, memory: object, plays: Array, rounds: float) -> NoReturn:
        """Refused."""
        raise EvenhandError(f"{type(self).__name__} keeps caps and promises to groups by rounds")

    def learn(self, memory: Bounds, plays: Array, sums: Array) -> Bounds:
        """Plays elsewhere count as plays before the promises began."""
        of_groups = plays @ membership(self.groups, len(plays))
        new = dataclasses.replace
        return Bounds(
            new(memory.caps, plays=memory.caps.plays + plays),
            *(new(one, plays=one.plays + of_groups) for one in (memory.groups, memory.group_caps)),
        )

    def claim(self, score: Array, state: State) -> Ranking:
        """The score with what is owed to the arm and its groups, less what they had too much."""
        owing = np.maximum(deficits(self.fractions, state.round, state), 0.0)
        owing += np.minimum(state.fairness.caps.owed(self.caps, state.round, state.tally.pulls), 0.0)
        barred = np.broadcast_to(self.caps == 0.0, owing.shape)
        if self.groups:
            floors, caps = group_deficits(self.groups, state)
            members = self._members(state.arms)
            owing += over_arms((np.maximum(floors, 0.0) + np.minimum(caps, 0.0))[..., np.newaxis, :] * members)
            barred = barred | (members @ (caps_of(self.groups) == 0.0) > 0.0)
        return Ranking(np.where(barred, NEVER, owing + weighed(np.array([self.eta]), score)), owed=owing, rate=self.eta)

    def _members(self, arms: int) -> Array:
        known = self._memberships
        if arms not in known:
            known[arms] = membership(self.groups, arms)
        return known[arms]

    @cached_property
    def _memberships(self) -> dict[int, Array]:
        """`membership` for each number of arms that was asked for."""
        return {}


def group_deficits(groups: Sequence[Group], state: State) -> tuple[Array, Array]:
    """The plays owed to each group by its floor, and those left under its cap."""
    bounds: Bounds = state.fairness
    plays = state.tally.pulls @ membership(groups, state.arms)
    floors = bounds.groups.owed(floors_of(groups), state.round, plays)
    return floors, bounds.group_caps.owed(caps_of(groups), state.round, plays)
