"""The requests of the HTTP API: plain dataclasses, with the comment at each field as its description."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar

from ..core.dataclasses import dataclass
from .answers import Missing
from .rules import (
    MAX_LEASE,
    MAX_LEASE_SECONDS,
    NAMED,
    SLICED,
    AllocationName,
    ArmName,
    ArmNames,
    Described,
    Flag,
    Form,
    Ge,
    Gt,
    Le,
    Lt,
    MaxLen,
    MinLen,
    Number,
    Table,
    Whole,
)
from .words import Words

Json = dict[str, Any]


def like(*examples: Json) -> Json:
    """How pydantic reads a request with these examples: unknown fields are refused."""
    return Request.__pydantic_config__ | {"json_schema_extra": {"examples": list(examples)}}


class Request(Described):
    """Base of the requests."""

    __pydantic_config__: ClassVar[Json] = {"extra": "forbid"}


@dataclass(frozen=True)
class AllocationRequest(Request):
    """A new allocation: its arms, and the algorithm that selects among them."""

    __pydantic_config__: ClassVar[Json] = like(
        {
            "name": "drinks",
            "arms": ["tea", "coffee", "cocoa"],
            "algorithm": "fucb",
            "parameters": {"fractions": {"coffee": 0.2, "cocoa": 0.2}},
            "window": 86400.0,
            "missing": "zero",
        }
    )
    name: AllocationName  # letters, digits and . _ -, beginning with a letter or digit
    arms: ArmNames  # unique names
    # as `evenhand algorithms` lists them, or a table for each part of a policy, of registered kinds
    algorithm: Annotated[str, MinLen(1), MaxLen(100)] | Table
    # what a missing reward means: `zero` where only successes are sent, and what has not arrived within the window
    # counts as 0; `lost` where it says nothing and is given up after the window; `never`, without a window, where every
    # reward is sent at some time, also those of 0
    missing: Missing
    # of the algorithm; those with one value per arm as a list in the order of the arms, or by name; infinity is the
    # string `inf`
    parameters: Table = field(default_factory=dict)
    plays: Annotated[Whole, Ge(1), Lt(2**31)] = 1  # arms that play per round
    seed: Annotated[Whole, Ge(0), Lt(2**53)] | None = None  # of all randomness; null: the server draws one
    window: Annotated[Number, Gt(0.0), Le(1e10)] | None = None  # seconds to wait for a reward; null: no limit
    # the smallest and the largest reward
    rewards: Annotated[list[Number], MinLen(2), MaxLen(2)] = field(default_factory=lambda: [0.0, 1.0])
    # evidence that the policy learns from beforehand, and that counts for no promise: the name of another allocation;
    # or by arm `plays`, the number of plays whose rewards are known, and `sum`, of these
    start_from: AllocationName | Table | None = None
    words: Words | None = None  # the unit of rewards, and what rounds and arms are called
    # what is known before a decision: `situation` and `arms`, by name a table of a `kind` (`number`, `category`, `flag`
    # or `vector`) and what it needs, such as `{"kind": "number", "low": 0, "high": 100}`; `crosses`, pairs of names;
    # and `intercept`; null: nothing
    features: Table | None = None
    arm_features: Annotated[dict[ArmName, Table], NAMED] | None = None  # of arms, by name; a decision can give others
    # by which rounds are counted, and shares can be promised: the name of a category or flag of the situation, or of a
    # number with cuts, such as `{"feature": "age", "cuts": [18, 65]}`; null: none
    segments: str | Table | None = None


@dataclass(frozen=True)
class PriceRequest(Request):
    """A log of decisions, and what is to be promised."""

    __pydantic_config__: ClassVar[Json] = like(
        {"log": "time,item,click\n1,tea,1\n2,mate,0\n3,mate,1\n", "promises": [0.1]}
    )
    log: Annotated[str, MinLen(1)]  # the text of a CSV file with a row per play
    columns: Table = field(default_factory=dict)  # names of columns by what they are, such as `{"reward": "euros"}`
    missing: Missing | None = None  # what a blank reward means; null: there are none
    window: Annotated[Number, Gt(0.0), Le(1e10)] | None = None  # age from which a blank is final; null: any
    # the smallest and the largest reward; null: as in the log
    rewards: Annotated[list[Number], MinLen(2), MaxLen(2)] | None = None
    # shares of the rounds, each for every arm; null: 5, 10 and 15%, or less for many arms
    promises: Annotated[list[Number], MinLen(1), MaxLen(20)] | None = None


@dataclass(frozen=True)
class Round(Request):
    """What is known of a round before it is decided.

    Example:
        >>> Round({"age": 33}, {"tea": {"price": 2.5}}).features
        {'age': 33}
    """

    __pydantic_config__: ClassVar[Json] = like({"features": {"age": 33}, "arms": {"tea": {"price": 2.5}}})
    features: Table | None = None  # of the situation, by name; null: none are declared
    # features of arms in this round, by arm and name, which go before those that an arm has
    arms: Annotated[dict[ArmName, Table], NAMED] | None = None
    available: ArmNames | None = None  # arms that can play; null: all that are not retired


@dataclass(frozen=True)
class CountedRounds(Request):
    """Decisions for a number of rounds of which the same is known."""

    __pydantic_config__: ClassVar[Json] = like(
        {}, {"count": 3}, {"features": {"age": 33}}, {"available": ["tea", "cocoa"], "propensities": True}
    )
    count: Annotated[Whole, Ge(1)] = 1  # number of rounds
    features: Table | None = None  # of the situation, by name; null: none are declared
    # features of arms in these rounds, by arm and name, which go before those that an arm has
    arms: Annotated[dict[ArmName, Table], NAMED] | None = None
    available: ArmNames | None = None  # arms that can play; null: all that are not retired
    propensities: Flag = False  # also estimate propensities that have no closed form


@dataclass(frozen=True)
class ListedRounds(Request):
    """Decisions for rounds with other features each, or other arms that can play."""

    __pydantic_config__: ClassVar[Json] = like(
        {"rounds": [{"available": ["tea"]}, {}]}, {"rounds": [{"features": {"age": 33}}, {"features": {"age": 60}}]}
    )
    rounds: Annotated[list[Round], MinLen(1), SLICED]
    propensities: Flag = False  # also estimate propensities that have no closed form


@dataclass(frozen=True)
class DecisionRewards(Request):
    """The rewards of a decision."""

    decision: Annotated[str, MinLen(1), MaxLen(100)]  # id of the decision
    rewards: Annotated[dict[ArmName, Number], MinLen(1), SLICED, NAMED]  # by the names of arms that played in it


@dataclass(frozen=True)
class RewardRequest(Request):
    """Rewards of decisions, in any order, one by one or together."""

    __pydantic_config__: ClassVar[Json] = like({"rewards": [{"decision": "1", "rewards": {"tea": 1.0}}]})
    rewards: Annotated[list[DecisionRewards], MinLen(1), SLICED]


@dataclass(frozen=True)
class LeaseRequest(Request):
    """Rounds that the client decides itself."""

    __pydantic_config__: ClassVar[Json] = like({"decisions": 1000}, {"decisions": 500, "seconds": 30.0, "units": True})
    decisions: Annotated[Whole, Ge(1), Le(MAX_LEASE)]  # number of rounds
    # for which they may be played; they may be reported for as long again, and at least a minute
    seconds: Annotated[Number, Gt(0.0), Le(MAX_LEASE_SECONDS)] = 60.0
    available: ArmNames | None = None  # arms that can play; null: all that are not retired
    # whether the arms of a decision follow from a hash of a unit, such as the id of a user, so that it keeps its arm;
    # the counts are then kept on average only
    units: Flag = False


Positions = Annotated[list[Annotated[Whole, Ge(0), Lt(MAX_LEASE)]], Form(fail_fast=True)]


@dataclass(frozen=True)
class PositionRewards(Request):
    """Rewards of an arm in a lease."""

    positions: Annotated[Positions, MinLen(1)]  # of decisions in which it played, counted from 0
    values: Annotated[list[Number], Form(fail_fast=True), MinLen(1)]  # its reward at each


@dataclass(frozen=True)
class ReportRequest(Request):
    """The decisions of a lease that were played so far, and rewards: all of it is taken, or nothing."""

    __pydantic_config__: ClassVar[Json] = like(
        {"played": 600, "rewards": {"tea": {"positions": [0, 17], "values": [1.0, 0.5]}}},
        {"played": 1000, "finished": True},
        {"played": 3, "columns": [71, 4, 71]},
    )
    played: Annotated[Whole, Ge(0), Le(MAX_LEASE)]  # number of decisions, which are the first ones of the lease
    rewards: Annotated[dict[ArmName, PositionRewards], SLICED, NAMED] = field(default_factory=dict)  # by arm
    # of a lease for units: the columns of the last of these decisions, at least of those that were not reported before
    columns: Positions | None = None
    finished: Flag = False  # whether the others will not be played: they are returned


@dataclass(frozen=True)
class TotalRequest(Request):
    """The anonymous total of a round: all rewards that arrived in it, of any arm."""

    __pydantic_config__: ClassVar[Json] = like({"value": 3.5, "round": 12})
    value: Number
    round: Annotated[Whole, Ge(1), Lt(2**53)] | None = None  # the round just decided; null: that one


@dataclass(frozen=True)
class WebhookRequest(Request):
    """An address to which events are to be sent."""

    __pydantic_config__: ClassVar[Json] = like(
        {"url": "https://example.org/hook"}, {"url": "https://example.org/h", "kinds": ["reward"]}
    )
    url: Annotated[str, MinLen(1), MaxLen(2000)]  # to which events are sent by POST
    # of the events that are sent; null: all
    kinds: Annotated[list[Annotated[str, MaxLen(20)]], MinLen(1), MaxLen(20)] | None = None
    # `whsec_` and base64, with which they are signed; null: a new one
    secret: Annotated[str, MaxLen(200)] | None = None
    # sequence of the event before the first one sent; null: the last now
    after: Annotated[Whole, Ge(0), Lt(2**53)] | None = None
