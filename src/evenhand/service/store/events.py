"""The events of an allocation: what happened, as facts, and how a bandit takes them over.

Applying an event uses nothing but counting, comparing, and +, −, ×, ÷ in a fixed order, on numbers that stand in the
events. So a replay results in the same state on every processor and with every later version. What would need more, a
draw or a logarithm, was done when the event was written, and its result is in the event.

The rows have the numbers of arms, an `Event` has their names; see `evenhand.service.store.arms`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from hashlib import blake2b
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Union, get_args, get_origin, get_type_hints

import orjson
from pydantic import ConfigDict, Discriminator, Field, TypeAdapter, with_config
from typing_extensions import TypedDict, is_typeddict

from evenhand.bandit import replay, saved
from evenhand.bandit.contexts import Elsewhere
from evenhand.bandit.history import Counts, learn_counts
from evenhand.bandit.ledger import BEFORE
from evenhand.bandit.record import Record
from evenhand.bandit.saved import DAMAGE
from evenhand.core.errors import MissingPart, StateError
from evenhand.core.version import __version__
from evenhand.messages.changes import CHANGES, ChangeRecord, change_of
from evenhand.service.store.arms import FORMS, numbered
from evenhand.service.store.features import Sealed

VERSION = 2  # of the bodies of events that this version of the package writes
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # made once, as events are many
STRICT = with_config(ConfigDict(extra="forbid"))
Number = Annotated[int, Field(ge=0)]  # of an arm


@STRICT
class Created(TypedDict):
    """An allocation was created; the first event."""

    evenhand: str  # version of the package that wrote it
    algorithm: Any  # a name, or a table of parts
    arms: Number  # how many
    plays: int
    seed: int
    window: float | None
    missing: str
    rewards: list[float]
    parameters: dict[str, Any]
    learned: NotRequired[dict[Number, list[float]]]  # by arm, plays elsewhere and the sum of their rewards
    source: NotRequired[str]  # of these
    words: NotRequired[dict[str, str]]  # the unit of rewards, and what rounds and arms are called
    features: NotRequired[dict[str, Any]]  # what is known before a decision, as declared
    arm_features: NotRequired[dict[Number, dict[str, Any]]]  # of arms, by name
    segments: NotRequired[str | dict[str, Any]]  # the feature by which rounds are counted, as declared


@STRICT
class Decided(TypedDict):
    """A round was decided."""

    arms: list[Number]  # that play, the one with the largest propensity first
    available: NotRequired[list[Number]]  # left out for all that are not retired
    propensity: NotRequired[list[float]]  # of each of `arms`
    stderr: NotRequired[list[float]]  # of the propensities, where they are estimated
    silent: NotRequired[bool]  # a reward of the round before was missing
    features: NotRequired[str]  # their seal; see `evenhand.service.store.features`
    spread: NotRequired[float]  # of the scores, where the promise goes by it
    eta: NotRequired[float]  # that was taken from the spreads of the rounds before
    least: NotRequired[float]  # the smallest propensity of an arm that could play; left out where it was 0 or unknown
    uncounted: NotRequired[bool]  # it is of version 1: it does not count in differences
    memory: NotRequired[dict[str, Any]]  # what parts of the policy remember now


@STRICT
class Rewarded(TypedDict):
    """Rewards of one decision arrived."""

    rewards: dict[Number, float]  # by arm
    late: list[Number]  # those of these arms that came after their window
    forgotten: NotRequired[bool]  # the bandit remembers the decision no more, and only counts
    unlearned: NotRequired[bool]  # the features of the decision were erased before
    memory: NotRequired[dict[str, Any]]


@STRICT
class Totalled(TypedDict):
    """The total of a round arrived."""

    value: float
    memory: NotRequired[dict[str, Any]]


@STRICT
class Leased(TypedDict):
    """Rounds were leased; the event has the first of them."""

    decisions: int  # number of rounds
    arms: list[Number]  # that play in them
    counts: list[int]  # how often each of `arms` does
    plays: int  # arms per round
    start: int  # see `evenhand.messages.answers.Lease`
    step: int
    salt: int | None
    expires: float  # in seconds since the epoch
    report_by: float
    available: NotRequired[list[Number]]  # left out for all that are not retired
    memory: NotRequired[dict[str, Any]]


@STRICT
class LeasedRewards(TypedDict):
    """Rewards of an arm in a lease."""

    positions: list[int]  # of the rounds, counted from 0
    values: list[float]


@STRICT
class Reported(TypedDict):
    """Leased rounds were reported as played; the event has the first round of the lease."""

    played: int  # rounds reported so far
    rewards: dict[Number, LeasedRewards]  # by arm
    late: dict[Number, LeasedRewards]  # those that came after their window
    finished: bool  # the other rounds are returned
    columns: NotRequired[list[int]]  # of the rounds that it adds, of a lease for units
    uncounted: NotRequired[bool]  # as of a decision
    memory: NotRequired[dict[str, Any]]


@STRICT
class Expired(TypedDict):
    """Windows of decisions passed, or the time of leases."""

    closed: dict[str, list[Number]]  # by decision, the arms whose rewards are missing
    leases: NotRequired[dict[str, int]]  # by lease, the number of its rounds whose windows have passed
    returned: NotRequired[list[str]]  # leases whose other rounds are returned
    unlearned: NotRequired[list[int]]  # rounds whose features were erased before
    memory: NotRequired[dict[str, Any]]


def _loose(hint: Any) -> Any:
    """A type with plain tables, which a replay checks."""
    if is_typeddict(hint):
        return dict[str, Any]
    if get_origin(hint) in (None, Literal):
        return hint
    origin = Union if get_origin(hint) is UnionType else get_origin(hint)
    return origin[tuple(map(_loose, get_args(hint)))]


def _changed(record: type[ChangeRecord]) -> Any:
    """The body of the event of a change, without the limits of requests; the names of arms stand in it."""
    hints, there = get_type_hints(record), {"memory": NotRequired[dict[str, Any]]}
    for one in fields(record):
        hint = _loose(hints[one.name])
        there[one.name] = hint if one.name == "change" or one.default is MISSING else NotRequired[hint]
    typed: Any = TypedDict  # of fields that are known when it runs
    return STRICT(typed(record.__name__, there))


#: Arms or promises changed, or the allocation was closed or opened again.
Changed: Any = Annotated[Union[tuple(map(_changed, CHANGES.values()))], Discriminator("change")]  # noqa: UP007


@STRICT
class JudgedPromise(TypedDict):
    """A promise of which an alarm speaks, and how it was judged; without figures where it is in force no more."""

    promise: Literal["share", "cap", "group", "group_cap", "segment"]
    segment: NotRequired[str]
    arm: NotRequired[Number]
    group: NotRequired[str]
    share: NotRequired[float]
    reward: NotRequired[bool]  # a reward per round is promised
    behind: NotRequired[float]  # plays that are missing, or above a largest share
    low: NotRequired[float]  # lower end of their interval
    high: NotRequired[float]
    tolerance: NotRequired[float]


@STRICT
class Alarmed(TypedDict):
    """Promises were found missed, kept again, or in force no more; nothing is stated twice or lost, as events are not.

    A replay takes it as a fact, as intervals differ in the last bit elsewhere; `verify --redecide` judges again.
    """

    alarm: Literal["promise.behind", "promise.kept_again", "promise.ended"]
    promises: list[JudgedPromise]


@STRICT
class Stated(TypedDict):
    """The whole state after the events that this one replaces; it has the sequence and the round of the last of them.

    Its own hash is of itself alone, and the next event goes on from ``chain``.
    """

    evenhand: str  # version of the package that wrote it
    replaces: int  # sequence of the first event that it replaces
    chain: str  # of the last event that it replaces
    created: float  # time of the first event of all, in seconds since the epoch
    create: Created  # the body of that event
    closed: bool  # whether the allocation decides no more
    bandit: dict[str, Any]  # as `Bandit.dump` describes it, with numbers of arms
    features: NotRequired[dict[int, str]]  # by round the seals of those that were not erased then


#: The bodies of events by their kinds.
BODIES: dict[str, type] = {
    "create": Created,
    "decide": Decided,
    "lease": Leased,
    "report": Reported,
    "reward": Rewarded,
    "total": Totalled,
    "expire": Expired,
    "change": Changed,
    "alarm": Alarmed,
    "state": Stated,
}
KINDS = tuple(BODIES)
ORDINARY = ("decide", "lease", "report", "reward")  # without numbers that only Python's JSON has
#: By kind and version, how the body of an event becomes one of the next version.
UPCASTS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    (kind, 1): lambda body: body | {"uncounted": True} for kind in ("decide", "report")
}


@cache
def reader(kind: str) -> TypeAdapter[Any]:
    """What reads the body of an event of a kind; made when the first is read, as all take a twentieth of a start."""
    return TypeAdapter(BODIES[kind])


class Event(NamedTuple):
    """Something that happened to an allocation."""

    sequence: int
    time: float
    kind: str
    round: int | None
    body: Mapping[str, Any]
    chain: str = ""
    key: str | None = None
    features: Mapping[int, Sealed] = {}  # of the decisions that it is about, by round, as far as they are stored

    def row(self, allocation: int, before: str, place: Mapping[str, int]) -> dict[str, Any]:
        """The event as a row of its table."""
        plain = numbered(FORMS[self.kind], self.body, place) if self.kind in FORMS else self.body
        body = (
            orjson.dumps(plain, option=orjson.OPT_SERIALIZE_NUMPY).decode() if self.kind in ORDINARY else encode(plain)
        )
        return {
            "allocation": allocation,
            "sequence": self.sequence,
            "time": self.time,
            "kind": self.kind,
            "round": self.round,
            "version": VERSION,
            "body": body,
            "key": self.key,
            "chain": chained(before, self.sequence, self.time, self.kind, self.round, VERSION, body, self.key),
        }


def chained(before: str, *row: object) -> str:
    """A hash of a row and of all rows before it, so that a row that is edited, lost or added is noticed."""
    return blake2b(repr((before, *row)).encode(), digest_size=16).hexdigest()


def stated(
    bandit: Record, closed: bool, last: Event, first: Event, replaces: int, seals: Mapping[int, str] | None = None
) -> Event:
    """The event that replaces events; ``seals`` are of features that are kept."""
    body = {
        "evenhand": __version__,
        "replaces": replaces,
        "chain": last.chain,
        **created_by(first),
        "closed": closed,
        "bandit": saved.dump(bandit),
        **({"features": dict(seals)} if seals else {}),
    }
    return Event(last.sequence, last.time, "state", int(bandit.state.round), body, last.chain)


def elsewhere(bandit: Record) -> Elsewhere:
    """The features of decisions of a bandit that are at hand: those that are decided or needed now, of its table."""
    assert bandit.contexts is not None
    if not isinstance(bandit.contexts.pulls, Elsewhere):
        bandit.contexts.pulls = Elsewhere()
    return bandit.contexts.pulls


def created_by(first: Event) -> dict[str, Any]:
    """When an allocation was created, ``created``, and with which settings, ``create``, by its first event."""
    if first.kind == "state":
        return {"created": first.body["created"], "create": first.body["create"]}
    return {"created": first.time, "create": first.body}


def bandit_from(event: Event) -> Record:
    """The bandit that a first event creates."""
    if event.kind == "state":
        try:
            return saved.restored(event.body["bandit"])
        except StateError as error:
            raise StateError(f"event {event.sequence} (state) cannot be replayed: {error}") from None
    if event.kind != "create":
        raise StateError(f"event {event.sequence} ({event.kind}) does not create an allocation")
    apart_from = ("evenhand", "learned", "source")
    try:
        bandit = saved.made_by({name: value for name, value in event.body.items() if name not in apart_from})
        if "source" in event.body:
            counts = {arm: Counts(*pair) for arm, pair in event.body["learned"].items()}
            learn_counts(bandit, counts, event.body["source"])
        return bandit
    except MissingPart:
        raise
    except DAMAGE as error:
        raise StateError(f"event {event.sequence} ({event.kind}) does not create an allocation: {error}") from None


def fold(bandit: Record | None, event: Event, closed: bool) -> tuple[Record, bool]:
    """The bandit after an event, and whether its allocation is closed then."""
    if bandit is None or event.kind == "state":
        return bandit_from(event), bool(event.body.get("closed"))
    try:
        if bandit.contexts is not None:
            elsewhere(bandit).clear()
            if event.kind != "decide":  # which brings its own
                elsewhere(bandit).update({round: one.pull() for round, one in event.features.items()})
        _fold(bandit, event)
        replay.replay_memory(bandit, event.body.get("memory", {}))
    except DAMAGE as error:
        raise StateError(f"event {event.sequence} ({event.kind}) cannot be replayed: {error}") from None
    if event.kind == "change":
        closed = closed_after(event.body["change"], closed)
    return bandit, closed


def _fold(bandit: Record, event: Event) -> None:
    body, round = event.body, event.round
    facts = {name: value for name, value in body.items() if name not in ("memory", "stderr")}
    match event.kind:
        case "decide" if round is not None:
            if seal := facts.pop("features", None):
                facts["pull"] = event.features[round].checked(seal, round) if round in event.features else None
            replay.replay_decision(bandit, round, facts.pop("arms"), event.time, **facts)
        case "lease" if round is not None:
            replay.replay_lease(bandit, round, body, event.time)
        case "report":
            replay.replay_report(bandit, str(round), body, event.time)
        case "reward" if "forgotten" in body:
            for arm in body["rewards"]:
                bandit.count_late(arm)
        case "reward":
            unlearned = body.get("unlearned", False)
            replay.replay_rewards(bandit, str(round), body["rewards"], body["late"], event.time, unlearned)
        case "total" if round is not None:
            replay.replay_total(bandit, round, body["value"])
        case "expire":
            replay.replay_expiry(bandit, **facts)
        case "change":
            if round != bandit.state.round:
                raise StateError(f"it is of round {round}, which should be {bandit.state.round}")
            replay.replay_change(bandit, change_of(_reasoned(facts)), event.time, event.key or "")
        case "alarm" if round == bandit.state.round:
            replay.replay_alarm(bandit, body["alarm"], body["promises"], event.time)
        case kind:
            raise StateError(f"there is no event {kind!r} of round {round}")


def _reasoned(change: Mapping[str, object]) -> Mapping[str, Any]:
    """A change as it is read now: before there was a ledger, all that was owed was forgiven, for no reason."""
    debt = change.get("debt", "forgive" if change["change"] == "bring_back" else "carry")
    return {**change, "debt": debt, "reason": BEFORE} if debt == "forgive" and not change.get("reason") else change


def closed_after(change: str, closed: bool) -> bool:
    """Whether an allocation is closed after a change, given whether it was closed before."""
    return {"close": True, "reopen": False}.get(change, closed)
