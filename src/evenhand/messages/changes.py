"""The changes of arms and promises: each is one record, the same in every place where a change is made or shown.

It is the argument of `evenhand.bandit.Bandit.change` and of the clients' one method, the body of the request, the
command of the store and the body of its event; the options of the command line and the fields of the page are made of
it. They are plain dataclasses, so that a `Bandit` does not load pydantic; at the border pydantic reads their types,
their limits, and the comment at each field as its description.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypedDict,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_type_hints,
)

from ..core.dataclasses import dataclass
from ..core.errors import HINTED, EvenhandError, nearest, shown
from .rules import NAMED, SLICED, ArmName, ArmNames, Described, MaxLen, MinLen, Nonnegative, Share, Table
from .words import Words

Shares = Annotated[Mapping[ArmName, Share], MinLen(1), SLICED, NAMED]
Reason = Annotated[str, MaxLen(1000)]
Debt = Literal["carry", "cap", "forgive"]


class Stated(Described):
    """Base of the changes and their parts, which the server describes with examples."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
    examples: ClassVar[tuple[dict[str, Any], ...]] = ()  # of its JSON

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        described = handler.resolve_ref_schema(reference := super().__get_pydantic_json_schema__(core, handler))
        described["description"] = summary(cls)
        kept = {one.name: dict(one.metadata) for one in fields(cast(Any, cls)) if one.metadata}
        for name, about in described.get("properties", {}).items():
            about.setdefault("description", "which change it is")
            if name in kept:
                about["x-value"] = kept[name]
        if examples := vars(cls).get("examples"):
            described["examples"] = list(examples)
        if hasattr(cls, "change"):  # by which changes are distinguished
            described["required"] = ["change", *(one for one in described.get("required", ()) if one != "change")]
        return reference


@dataclass(frozen=True)
class ChangeRecord(Stated):
    """Base of the changes."""

    change: ClassVar[str]
    # why, for the audit and the events; without names of persons, as it stays when an arm is erased
    reason: Reason = field(default="", kw_only=True)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, without what is left out."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "reason" or self.reason}
        return {"change": self.change} | {name: _plain(value) for name, value in given.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def per_arm(parameter: str, new: float | None = None) -> Any:
    """A field with a value of an arm, and the parameter of algorithms in which it stands for all arms."""
    return field(default=None, kw_only=True, metadata={"parameter": parameter, "new": new})


@dataclass(frozen=True)
class ArmValues(Stated):
    """The values of an arm, each for algorithms that have one per arm; for all others it is null."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"fraction": 0.1}, {})
    fraction: Share | None = per_arm("fractions", 0.0)  # promised share of the rounds
    penalty: Nonnegative | None = per_arm("penalties")  # penalty of a missing play
    weight: Nonnegative | None = per_arm("weights", 1.0)  # weight of its rewards
    cap: Share | None = per_arm("caps", 1.0)  # largest share of the rounds
    rate: Share | None = per_arm("rates", 0.0)  # guaranteed reward per round


#: The values of an arm, by the name of the parameter that has them: the name of the field, and that of a new arm.
VALUES: dict[str, tuple[str, float | None]] = {
    one.metadata["parameter"]: (one.name, one.metadata["new"]) for one in fields(ArmValues)
}


def in_order(name: str, given: Mapping[Any, Any], arms: Sequence[str]) -> list[Any]:
    """The values of a parameter in the order of the arms, from a mapping that leaves out those of a new arm."""
    known = set(arms)
    for arm in given:
        if arm not in known:
            hint = nearest(str(arm), arms) if len(arms) <= HINTED else ""
            raise EvenhandError(f"has an unknown arm {arm!r}{hint}", name)
    return [given.get(arm, VALUES[name][1] or 0.0) for arm in arms]


CHANGES: dict[str, type[ChangeRecord]] = {}  # by their names
Record = TypeVar("Record", bound=type[ChangeRecord])


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def change(name: str, *examples: dict[str, Any]) -> Callable[[Record], Record]:
    """Make a change of a class with fields."""

    def register(cls: Record) -> Record:
        cls.__annotations__["change"] = Literal[name]
        vars_of: Any = cls
        vars_of.change = field(default=name, kw_only=True, repr=False)
        vars_of.examples = tuple({"change": name, **one} for one in examples)
        made: Any = dataclass(frozen=True)(cls)
        CHANGES[name] = made
        return cast(Record, made)

    return register


@dataclass(frozen=True)
class OfArm(ChangeRecord):
    """Base of the changes of one arm."""

    arm: ArmName  # name of the arm


@change("add", {"arm": "mate", "fraction": 0.1})
class AddArm(ArmValues, OfArm):
    """Add an arm, whose promise begins with the next round; where it is there with the same values, nothing changes.

    Example:
        >>> AddArm("mate", fraction=0.2, reason="new in the shop").fraction
        0.2
    """

    # values of its features, by name, with all that every other arm has; a decision can give others
    features: Table | None = field(default=None, kw_only=True)


@change("retire", {"arm": "cocoa", "reason": "out of stock"})
class Retire(OfArm):
    """Retire an arm: it plays no more and its promise ends; its rewards are still accepted.

    Example:
        >>> Retire("cocoa").to_json()
        {'change': 'retire', 'arm': 'cocoa'}
    """


@dataclass(frozen=True)
class OwedTerms(ChangeRecord):
    """What becomes of what is owed where a promise changes."""

    # what becomes of plays that are owed: `carry`: they go on in full, as do advances up to what one decision can give;
    # `cap`: the same, up to the limit; `forgive`: nothing is owed from then on, which needs a reason
    debt: Debt = field(default="carry", kw_only=True)
    limit: Nonnegative | None = field(default=None, kw_only=True)  # of `cap`: the plays that go on at most
    # of `cap`, instead of `limit`: the rounds of the new share that go on at most
    limit_rounds: Nonnegative | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        limits = sum(one is not None for one in (self.limit, self.limit_rounds))
        if self.debt not in get_args(Debt):
            raise EvenhandError(f"debt must be one of {', '.join(get_args(Debt))}, got {self.debt!r}")
        if limits != (self.debt == "cap"):
            needs = "needs limit, in plays, or limit_rounds" if self.debt == "cap" else "has no limit"
            raise EvenhandError(
                f"debt {self.debt!r} {needs}, got limit {self.limit} and limit_rounds {self.limit_rounds}"
            )
        if self.debt == "forgive" and not self.reason:
            raise EvenhandError("debt 'forgive' needs a reason, which the ledger shows: what is owed is not paid")


@change("bring_back", {"arm": "cocoa", "fraction": 0.1})
class BringBack(OwedTerms, OfArm):
    """Bring a retired arm back, with everything known of it, a promise that begins with the next round, and what waits.

    Example:
        >>> BringBack("cocoa", 0.1).fraction
        0.1
    """

    fraction: Share | None = None  # its promised share of the rounds; null: none


@change("rename", {"arm": "tea", "new_name": "green tea"})
class Rename(OfArm):
    """Rename an arm: it stays the same arm, also in earlier decisions and answers.

    Example:
        >>> Rename("tea", "green tea").new_name
        'green tea'
    """

    new_name: ArmName  # its name from now on


@change("erase", {"arm": "cocoa"})
class Erase(OfArm):
    """Retire an arm and erase its name, which may be that of a person: everywhere, it is called `erased-3` or so.

    Example:
        >>> Erase("Ann Smith").arm
        'Ann Smith'
    """


class GroupTerms(TypedDict, total=False):
    """What changes of a group of arms, or a new group; what is left out stays as it is."""

    arms: ArmNames
    """its arms"""
    at_least: Nonnegative
    """plays of its arms per round at least"""
    at_most: Nonnegative | None
    """plays of its arms per round at most; null: no limit"""
    exactly: Nonnegative
    """both of them"""


CONFIG: dict[str, Any] = {"extra": "forbid", "use_attribute_docstrings": True}


def _for_pydantic(terms: Any, handler: Any) -> Any:
    """The schema of the same table of `typing_extensions`, as pydantic asks for; that takes 3 ms to load."""
    from typing_extensions import TypedDict

    twin: Any = TypedDict
    twin = twin(terms.__name__, get_type_hints(terms, include_extras=True), total=False)
    twin.__module__, twin.__doc__, twin.__pydantic_config__ = terms.__module__, terms.__doc__, CONFIG
    return handler.generate_schema(twin)


setattr(GroupTerms, "__get_pydantic_core_schema__", _for_pydantic)  # noqa: B010


if TYPE_CHECKING:
    GroupLike = Mapping[str, Any]
    Declaration = Any  # also an object with `to_json`
else:
    GroupLike = GroupTerms
    Declaration = Table


@change("promise", {"fractions": {"coffee": 0.1, "cocoa": 0.3}})
class Promise(OwedTerms):
    """Change promises of arms and groups, all at once or not at all; they begin with the next round.

    What is owed goes on unless `debt` says otherwise, which the ledger records. An arm that is promised what it has
    keeps its account as it is, as do the arms that are not named. Promises that cannot be kept together are refused.

    Example:
        >>> Promise({"coffee": 0.5}, caps={"coffee": 0.6}, reason="more of what is new").caps
        {'coffee': 0.6}
        >>> Promise()
        Traceback (most recent call last):
        ...
        evenhand.core.errors.EvenhandError: a promise must have at least one of fractions, caps and groups
    """

    fractions: Shares | None = None  # promised shares of the rounds, by arm
    caps: Shares | None = None  # largest shares of the rounds, by arm; 1: no limit
    # promises of groups, by name; what is left out of one stays as it is, and null ends it
    groups: Annotated[Mapping[str, GroupLike | None], MinLen(1), MaxLen(1000)] | None = None
    segment: str | None = None  # in whose rounds the fractions are promised; null: in all rounds

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, what in (("fractions", "arms to shares"), ("caps", "arms to shares"), ("groups", "names to tables")):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise EvenhandError(f"{name} must be a mapping from {what}, got {value!r}")
        if self.fractions is None and self.caps is None and self.groups is None:
            raise EvenhandError("a promise must have at least one of fractions, caps and groups")
        if self.segment is not None and (self.fractions is None or self.caps is not None or self.groups is not None):
            raise EvenhandError("a promise in a segment must have fractions, and neither caps nor groups")


@dataclass(frozen=True)
class From:
    """A change of promises within a simulated run; its arms are those of the environment.

    Example:
        >>> From(501, Promise({"tea": 0.3}, debt="forgive", reason="a new season")).to_json()
        {'from': 501, 'reason': 'a new season', 'debt': 'forgive', 'fractions': {'tea': 0.3}}
    """

    round: int  # from which on the promises hold, counted from 1; at least 2, or 1 for a segment
    promise: Promise  # the change

    def to_json(self) -> dict[str, Any]:
        """The table ``[[promises]]`` of a configuration.

        Returns:
            ``from``, and what is given of the promise.
        """
        return {"from": self.round} | {name: one for name, one in self.promise.to_json().items() if name != "change"}


@change("redeclare", {"features": {"situation": {"age": {"kind": "number", "low": 0, "high": 120}}}})
class Redeclare(ChangeRecord):
    """Declare other features from the next round on; what was learned of columns that are encoded as before stays.

    Columns that are new, or encoded otherwise, begin as if they had been 0 until now, also those of rewards that are
    still to arrive.

    Example:
        >>> from evenhand.features import Features, Number
        >>> Redeclare(Features({"age": Number(0, 120)})).features["situation"]["age"]["high"]
        120.0
    """

    features: Declaration  # of the situation and of the arms, with crosses and intercept, as a new allocation has them
    # values of features that arms have from now on, by arm and name; null: those that they had, where still declared
    arm_features: Mapping[ArmName, Table] | None = None

    def __post_init__(self) -> None:
        to_json = getattr(self.features, "to_json", None)
        object.__setattr__(self, "features", self.features if to_json is None else to_json())
        if not isinstance(self.features, Mapping):
            raise EvenhandError("must be a table, or an object such as Features(…)", "features")


@change("close", {})
class Close(ChangeRecord):
    """Close an allocation: it decides no more; rewards are still accepted.

    Example:
        >>> Close(reason="the sale is over").reason
        'the sale is over'
    """


@change("reopen", {})
class Reopen(ChangeRecord):
    """Reopen a closed allocation: it decides again.

    Example:
        >>> Reopen().change
        'reopen'
    """


@change("reword", {"unit": "€", "round_name": "visitors", "arm_name": "films"})
class Reword(ChangeRecord, Words):
    """Call rewards, rounds and arms by other words where people read of them; what is left out has the usual one.

    Example:
        >>> Reword("€", "visitors").to_json()
        {'change': 'reword', 'unit': '€', 'round_name': 'visitors', 'arm_name': ''}
    """

    @property
    def words(self) -> Words:
        """The words."""
        return Words(self.unit, self.round_name, self.arm_name)


ChangeLike: TypeAlias = ChangeRecord | Mapping[str, Any]
Change = AddArm | Retire | BringBack | Rename | Erase | Promise | Redeclare | Close | Reopen | Reword


def change_of(given: ChangeLike) -> ChangeRecord:
    """A change, given as one, or by the table that `ChangeRecord.to_json` makes of it."""
    if isinstance(given, ChangeRecord):
        return given
    if not isinstance(given, Mapping):
        forms = "Retire('tea'), or its table, such as {'change': 'retire', 'arm': 'tea'}"
        raise EvenhandError(f"a change must be a record of evenhand.changes, such as {forms}, got {shown(given)}")
    values = dict(given)
    name = values.pop("change", None)
    if name not in CHANGES:
        raise EvenhandError(f"there is no change {name!r}{nearest(str(name), CHANGES)}")
    known = {one.name: one.default is MISSING for one in fields(CHANGES[name]) if one.name != "change"}
    for one in values:
        if one not in known:
            raise EvenhandError(f"unknown {one!r}{nearest(str(one), known)}")
    if missing := [one for one, needed in known.items() if needed and one not in values]:
        raise EvenhandError(f"{name} needs {', '.join(missing)}")
    return CHANGES[name](**values)


def summary(record: type) -> str:
    """What a record is, without its example."""
    return inspect.cleandoc(record.__doc__ or "").partition("\n\nExample:")[0]
