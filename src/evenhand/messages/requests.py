"""The requests of the HTTP API, as they must be."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from .answers import Missing
from .rules import ALLOCATION, ARM, MAX_LEASE, MAX_LEASE_SECONDS

MAX_NESTING = 8  # levels of nested lists and objects per parameter
#: Media types of a log, by its format.
LOG_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}

AllocationName = Annotated[str, StringConstraints(pattern=ALLOCATION, strict=True)]
ArmName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=ARM, strict=True)]
#: A list of many wrong names is refused for the first one: describing each takes longer than accepting them.
ArmNames = Annotated[list[ArmName], Field(fail_fast=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Nonnegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
NO_OTHER_NAMES: dict[str, Any] = {"additionalProperties": False}  # than valid names of arms
Fractions = Annotated[dict[ArmName, Share], Field(min_length=1, fail_fast=True, json_schema_extra=NO_OTHER_NAMES)]


def _example(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


def _check_nesting(value: dict[str, Any]) -> dict[str, Any]:
    level: list[Any] = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise ValueError(f"must have at most {MAX_NESTING} levels of nested lists and objects")


class Request(BaseModel):
    """Base of the requests: unknown fields are refused, and no value is converted to another type."""

    model_config = ConfigDict(strict=True, extra="forbid")


AlgorithmName = Annotated[str, Field(min_length=1, max_length=100)]


class AllocationRequest(Request):
    """A new allocation: its arms, and the algorithm that selects among them."""

    model_config = _example(
        {
            "name": "drinks",
            "arms": ["tea", "coffee", "cocoa"],
            "algorithm": "fucb",
            "parameters": {"fractions": {"coffee": 0.2, "cocoa": 0.2}},
            "window": 86400.0,
            "missing": "zero",
        }
    )
    name: AllocationName = Field(description="letters, digits and . _ -, beginning with a letter or digit")
    arms: ArmNames = Field(min_length=1, description="unique names")
    algorithm: AlgorithmName | Annotated[dict[str, Any], AfterValidator(_check_nesting)] = Field(
        description="as `evenhand algorithms` lists them, or a table for each part of a policy, of registered kinds"
    )
    parameters: Annotated[dict[str, Any], AfterValidator(_check_nesting)] = Field(
        default_factory=dict,
        description="of the algorithm; those with one value per arm as a list in the order of the arms, or by name; "
        'infinity is "inf"',
    )
    plays: int = Field(default=1, ge=1, lt=2**31, description="arms that play per round")
    seed: int | None = Field(default=None, ge=0, lt=2**53, description="of all randomness; null: the server draws one")
    window: float | None = Field(
        default=None, gt=0.0, le=1e10, allow_inf_nan=False, description="seconds to wait for a reward; null: no limit"
    )
    missing: Missing = Field(
        description="what a missing reward means: `zero` where only successes are sent, and what has not arrived "
        "within the window counts as 0; `lost` where it says nothing and is given up after the window; `never`, "
        "without a window, where every reward is sent at some time, also those of 0",
    )
    rewards: list[Number] = Field(
        default_factory=lambda: [0.0, 1.0],
        min_length=2,
        max_length=2,
        description="the smallest and the largest reward",
    )
    start_from: AllocationName | Annotated[dict[str, Any], AfterValidator(_check_nesting)] | None = Field(
        default=None,
        description="evidence that the policy learns from beforehand, and that counts for no promise: the name of "
        "another allocation; or by arm `plays`, the number of plays whose rewards are known, and `sum`, of these",
    )


class CountedRounds(Request):
    """Decisions for a number of rounds with the same arms available."""

    model_config = _example({}, {"count": 3}, {"available": ["tea", "cocoa"], "propensities": True})
    count: int = Field(default=1, ge=1, description="number of rounds")
    available: ArmNames | None = Field(
        default=None, min_length=1, description="arms that can play; null: all that are not retired"
    )
    propensities: bool = Field(default=False, description="also estimate propensities that have no closed form")


class ListedRounds(Request):
    """Decisions for rounds with different arms available."""

    model_config = _example({"rounds": [["tea"], None, ["tea", "cocoa"]]})
    rounds: list[Annotated[ArmNames, Field(min_length=1)] | None] = Field(
        min_length=1, description="for each round the arms that can play; null: all that are not retired"
    )
    propensities: bool = Field(default=False, description="also estimate propensities that have no closed form")


def _rounds_form(value: Any) -> str:
    listed = "rounds" in value if isinstance(value, dict) else isinstance(value, ListedRounds)
    return "rounds…" if listed else "count…"  # the field that only this form has


DecisionRequest = Annotated[
    Annotated[CountedRounds, Tag("count…")] | Annotated[ListedRounds, Tag("rounds…")], Discriminator(_rounds_form)
]


class DecisionRewards(Request):
    """The rewards of a decision."""

    decision: str = Field(min_length=1, max_length=100, description="id of the decision")
    rewards: dict[ArmName, Number] = Field(
        min_length=1, json_schema_extra=NO_OTHER_NAMES, description="by the names of arms that played in it"
    )


class RewardRequest(Request):
    """Rewards of decisions, in any order, one by one or together."""

    model_config = _example({"rewards": [{"decision": "1", "rewards": {"tea": 1.0}}]})
    rewards: list[DecisionRewards] = Field(min_length=1)


Position = Annotated[int, Field(ge=0, lt=MAX_LEASE)]


class LeaseRequest(Request):
    """Rounds that the client decides itself."""

    model_config = _example({"decisions": 1000}, {"decisions": 500, "seconds": 30.0, "units": True})
    decisions: int = Field(ge=1, le=MAX_LEASE, description="number of rounds")
    seconds: float = Field(
        default=60.0,
        gt=0.0,
        le=MAX_LEASE_SECONDS,
        allow_inf_nan=False,
        description="for which they may be played; they may be reported for as long again, and at least a minute",
    )
    available: ArmNames | None = Field(
        default=None, min_length=1, description="arms that can play; null: all that are not retired"
    )
    units: bool = Field(
        default=False,
        description="whether the arms of a decision follow from a hash of a unit, such as the id of a user, so that it "
        "keeps its arm; the counts are then kept on average only",
    )


class PositionRewards(Request):
    """Rewards of an arm in a lease."""

    positions: Annotated[list[Position], Field(fail_fast=True)] = Field(
        min_length=1, description="of decisions in which it played, counted from 0"
    )
    values: Annotated[list[Number], Field(fail_fast=True)] = Field(min_length=1, description="its reward at each")


class ReportRequest(Request):
    """The decisions of a lease that were played so far, and rewards: all of it is taken, or nothing."""

    model_config = _example(
        {"played": 600, "rewards": {"tea": {"positions": [0, 17], "values": [1.0, 0.5]}}},
        {"played": 1000, "finished": True},
        {"played": 3, "columns": [71, 4, 71]},
    )
    played: int = Field(ge=0, le=MAX_LEASE, description="number of decisions, which are the first ones of the lease")
    rewards: dict[ArmName, PositionRewards] = Field(
        default_factory=dict, json_schema_extra=NO_OTHER_NAMES, description="by arm"
    )
    columns: Annotated[list[Position], Field(fail_fast=True)] | None = Field(
        default=None,
        description="of a lease for units: the columns of the last of these decisions, at least of those that were not "
        "reported before",
    )
    finished: bool = Field(default=False, description="whether the others will not be played: they are returned")


class TotalRequest(Request):
    """The anonymous total of a round: all rewards that arrived in it, of any arm."""

    model_config = _example({"value": 3.5, "round": 12})
    value: Number
    round: int | None = Field(default=None, ge=1, lt=2**53, description="the round just decided; null: that one")


class ArmRequest(Request):
    """An arm that is to be there."""

    model_config = _example({"fraction": 0.1}, {})
    fraction: Share | None = Field(default=None, description="its promised share of the rounds; null: none")
    penalty: Nonnegative | None = Field(default=None, description="for algorithms with one per arm")
    weight: Nonnegative | None = Field(default=None, description="for algorithms with one per arm; null: 1")
    cap: Share | None = Field(default=None, description="its largest share of the rounds; null: no limit")
    rate: Share | None = Field(default=None, description="its guaranteed reward per round; null: none")


class ArmPatch(Request):
    """What is to change of an arm."""

    model_config = _example(
        {"retired": True}, {"retired": False, "fraction": 0.1}, {"fraction": 0.2}, {"name": "green tea"}
    )
    retired: bool | None = Field(
        default=None, description="true: it plays no more, and its promise ends; false: it plays again"
    )
    fraction: Share | None = Field(default=None, description="its promised share of the rounds, from now on")
    name: ArmName | None = Field(default=None, description="its name from now on; without other changes")

    @model_validator(mode="after")
    def _changes_something(self) -> ArmPatch:
        if self.retired is None and self.fraction is None and self.name is None:
            raise ValueError("must have at least one of retired, fraction and name")
        if self.name is not None and (self.retired is not None or self.fraction is not None):
            raise ValueError("must not have a name beside other changes: rename the arm in a request of its own")
        if self.retired and self.fraction is not None:
            raise ValueError("must not have a fraction where retired is true: the promise of a retired arm ends")
        return self


class GroupPatch(Request):
    """What is to change of a group of arms, or a new group."""

    arms: list[ArmName] | None = Field(default=None, min_length=1, description="its arms; null: as they are")
    at_least: Nonnegative | None = Field(default=None, description="plays of its arms per round at least")
    at_most: Nonnegative | None = Field(default=None, description="plays of its arms per round at most")
    exactly: Nonnegative | None = Field(default=None, description="both of them")


class WebhookRequest(Request):
    """An address to which events are to be sent."""

    model_config = _example({"url": "https://example.org/hook"}, {"url": "https://example.org/h", "kinds": ["reward"]})
    url: str = Field(min_length=1, max_length=2000, description="to which events are sent by POST")
    kinds: list[Annotated[str, Field(max_length=20)]] | None = Field(
        default=None, min_length=1, max_length=20, description="of the events that are sent; null: all"
    )
    secret: str | None = Field(
        default=None, max_length=200, description="`whsec_` and base64, with which they are signed; null: a new one"
    )
    after: int | None = Field(
        default=None, ge=0, lt=2**53, description="sequence of the event before the first one sent; null: the last now"
    )


class AllocationPatch(Request):
    """What is to change of an allocation: all of it or nothing."""

    model_config = _example({"fractions": {"coffee": 0.1, "cocoa": 0.3}}, {"closed": True})
    fractions: Fractions | None = Field(default=None, description="promised shares of some arms, from now on")
    caps: Fractions | None = Field(default=None, description="largest shares of some arms, from now on; 1: no limit")
    groups: dict[str, GroupPatch | None] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="promises of groups by name, from now on; what is left out stays as it is; null ends the group",
    )
    closed: bool | None = Field(default=None, description="true: it decides no more; false: it decides again")

    @model_validator(mode="after")
    def _changes_something(self) -> AllocationPatch:
        if all(one is None for one in (self.fractions, self.caps, self.groups, self.closed)):
            raise ValueError("must have at least one of fractions, caps, groups and closed")
        return self
