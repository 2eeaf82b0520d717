"""The messages of the service: what a request must look like, and what an answer looks like."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

DEEP = 8  # lists and objects within each other that a parameter has at most

ALLOCATION = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
ARM = r"\S"

AllocationName = Annotated[str, StringConstraints(pattern=ALLOCATION, strict=True)]
ArmName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=ARM, strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
NO_OTHERS: dict[str, Any] = {"additionalProperties": False}  # than names that arms can have
Status = Literal["accepted", "duplicate", "conflict", "unknown", "late", "invalid"]


class Message(BaseModel):
    """What requests have in common: nothing unknown in them, and nothing is taken for what it is not."""

    model_config = ConfigDict(strict=True, extra="forbid")


def form(name: str) -> Tag:
    """A name for one of several forms of a message, after the field that only that form has."""
    return Tag(f"{name}…")


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    layer: list[Any] = [value]
    for _ in range(DEEP + 1):
        layer = [
            one
            for outer in layer
            for one in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(one, dict | list)
        ]
        if not layer:
            return value
    raise ValueError(f"at most {DEEP} lists and objects may stand within each other")


class Creation(Message):
    """A new allocation: its arms, and the algorithm that chooses among them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "drinks",
                    "arms": ["tea", "coffee", "cocoa"],
                    "algorithm": "fucb",
                    "parameters": {"fractions": {"coffee": 0.2, "cocoa": 0.2}},
                    "window": 86400.0,
                }
            ]
        }
    )
    name: AllocationName = Field(description="letters, digits and . _ -, beginning with a letter or digit")
    arms: list[ArmName] = Field(min_length=1, description="names, each once")
    algorithm: str = Field(min_length=1, max_length=100, description="as `evenhand algorithms` lists them")
    parameters: Annotated[dict[str, Any], AfterValidator(_shallow)] = Field(
        default_factory=dict,
        description="of the algorithm; what has one value an arm as a list in the order of the arms, or by name; "
        'infinity is "inf"',
    )
    plays: int = Field(default=1, ge=1, lt=2**31, description="arms that play a round")
    seed: int | None = Field(
        default=None, ge=0, lt=2**53, description="of all randomness; null lets the server draw one"
    )
    window: float | None = Field(
        default=None,
        gt=0.0,
        le=1e10,
        allow_inf_nan=False,
        description="seconds that a report is waited for; null: ever",
    )
    missing: Literal["lost", "zero"] = Field(default="lost", description="what a report that never came counts as")
    rewards: list[Number] | None = Field(
        default_factory=lambda: [0.0, 1.0],
        min_length=2,
        max_length=2,
        description="the smallest and the largest reward; null takes any",
    )


class Counted(Message):
    """Decisions for so many rounds, all with the same arms available."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{}, {"count": 3}, {"available": ["tea", "cocoa"], "propensities": True}]}
    )
    count: int = Field(default=1, ge=1, description="rounds")
    available: list[ArmName] | None = Field(
        default=None, min_length=1, description="arms that can play; null: all that are not retired"
    )
    propensities: bool = Field(default=False, description="also estimate chances that have no closed form")


class Listed(Message):
    """Decisions for rounds that differ in the arms available."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rounds": [["tea"], None, ["tea", "cocoa"]]}]})
    rounds: list[Annotated[list[ArmName], Field(min_length=1)] | None] = Field(
        min_length=1, description="for each round the arms that can play; null: all that are not retired"
    )
    propensities: bool = Field(default=False, description="also estimate chances that have no closed form")


def _which(value: Any) -> str:
    rounds = "rounds" in value if isinstance(value, dict) else isinstance(value, Listed)
    return "rounds…" if rounds else "count…"


Wish = Annotated[
    Annotated[Counted, form("count")] | Annotated[Listed, form("rounds")],
    Discriminator(_which),
]


class Reported(Message):
    """What arms earned in a decision."""

    decision: str = Field(min_length=1, max_length=100, description="its id")
    rewards: dict[ArmName, Number] = Field(
        min_length=1, json_schema_extra=NO_OTHERS, description="by the names of arms that it played"
    )


class Reports(Message):
    """What came of decisions, in any order, arm by arm or together."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reports": [{"decision": "1", "rewards": {"tea": 1.0}}]}]}
    )
    reports: list[Reported] = Field(min_length=1)


class Sum(Message):
    """The anonymous sum of a round: all that arrived in it, whoever earned it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 3.5, "round": 12}]})
    value: Number
    round: int | None = Field(default=None, ge=1, lt=2**53, description="the round just decided; null: that one")


class Add(Message):
    """A new arm."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"change": "add", "arm": "mate", "fraction": 0.1}]})
    change: Literal["add"]
    arm: ArmName
    fraction: Share | None = Field(default=None, description="its promised share of the rounds")
    penalty: NotNegative | None = Field(default=None, description="where the algorithm has one for each arm")
    weight: NotNegative | None = Field(default=None, description="where the algorithm has one for each arm")


class Retire(Message):
    """An arm plays no more."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"change": "retire", "arm": "cocoa"}]})
    change: Literal["retire"]
    arm: ArmName


class BringBack(Message):
    """A retired arm plays again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"change": "bring_back", "arm": "cocoa"}]})
    change: Literal["bring_back"]
    arm: ArmName
    fraction: Share | None = Field(default=None, description="its promised share of the rounds")


class Promise(Message):
    """Other promised shares for some arms."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"change": "promise", "fractions": {"coffee": 0.1}}]})
    change: Literal["promise"]
    fractions: dict[ArmName, Share] = Field(min_length=1, json_schema_extra=NO_OTHERS)


class Close(Message):
    """Decide no more."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"change": "close"}]})
    change: Literal["close"]


class Reopen(Message):
    """Decide again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"change": "reopen"}]})
    change: Literal["reopen"]


Changing = Annotated[Add | Retire | BringBack | Promise | Close | Reopen, Field(discriminator="change")]


class Allocation(BaseModel):
    """An allocation as it stands."""

    name: str
    algorithm: str
    arms: list[str]
    retired: list[str]
    parameters: dict[str, Any]
    plays: int
    seed: int
    window: float | None
    missing: Literal["lost", "zero"]
    rewards: list[float] | None
    round: int = Field(description="rounds decided")
    version: int = Field(description="changes of arms and promises so far")
    closed: bool
    created: float = Field(description="seconds since the epoch")


class Summary(BaseModel):
    """An allocation in a list."""

    name: str
    algorithm: str
    arms: int = Field(description="how many are not retired")
    round: int = Field(description="rounds decided")
    closed: bool
    created: float = Field(description="seconds since the epoch")


class Allocations(BaseModel):
    """All allocations."""

    allocations: list[Summary]


class Chance(BaseModel):
    """The chance with which an arm was to play."""

    probability: float
    error: float = Field(description="standard error; 0 where the chance is exact")


class Decision(BaseModel):
    """Who plays in a round."""

    id: str = Field(description="names the decision in reports")
    round: int
    time: float = Field(description="seconds since the epoch")
    arms: list[str] = Field(description="those that play, the surest first")
    version: int = Field(description="of the policy: changes of arms and promises so far")
    propensities: list[float] | None = Field(
        description="for each of `arms` the chance with which it was to be among those that play; null where that has "
        "no closed form and was not asked for"
    )
    chances: dict[str, Chance] | None = Field(description="of every available arm; null unless asked for")


class Decisions(BaseModel):
    """Decisions, in the order of their rounds."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "decisions": [
                        {
                            "id": "1",
                            "round": 1,
                            "time": 1790000000.1,
                            "arms": ["tea"],
                            "version": 0,
                            "propensities": [1.0],
                            "chances": None,
                        }
                    ]
                }
            ]
        }
    )
    decisions: list[Decision]


class Taken(BaseModel):
    """What became of a report of an arm."""

    decision: str
    arm: str
    status: Status
    message: str = Field(description="empty for what was accepted, or came before")


class Answers(BaseModel):
    """What became of each report, in the order of the request."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"answers": [{"decision": "1", "arm": "tea", "status": "accepted", "message": ""}]}]
        }
    )
    answers: list[Taken]


class Credited(BaseModel):
    """What became of a sum."""

    round: int
    status: Literal["accepted", "duplicate"]


class Changed(BaseModel):
    """After which round a change came, and the version of the policy since."""

    version: int
    round: int


class Line(BaseModel):
    """What an arm was promised, and what it got."""

    arm: str
    retired: bool
    promised: float | None = Field(description="share of the rounds; null for no promise")
    since: int = Field(description="the round after which that promise began")
    rounds: int = Field(description="since then")
    plays: int = Field(description="since then")
    share: float | None = Field(description="plays a round since then; null before the first")
    low_share: float | None = Field(description="lower end of its 95 % interval")
    high_share: float | None = Field(description="upper end")
    deficit: float | None = Field(description="plays behind the promise; negative where ahead; null for no promise")
    worst: float | None = Field(description="the largest deficit so far")
    all_plays: int = Field(description="from the first round on")
    available: float | None = Field(description="share of all rounds in which it was available")
    reports: int = Field(description="rewards reported in time")
    estimate: float | None = Field(description="mean of the rewards known")
    low: float | None = Field(description="lower end of its 95 % interval")
    high: float | None = Field(description="upper end")
    pending: int = Field(description="reports that are waited for")
    lost: int = Field(description="reports that did not come in time")
    late: int = Field(description="of the lost: reports that came after all")


class Bins(BaseModel):
    """A histogram."""

    edges: list[float]
    counts: list[int]


class Delays(BaseModel):
    """How long the last reports took, in seconds."""

    count: int
    quantiles: dict[str, float]
    bins: Bins


class Trail(BaseModel):
    """Deficits over time."""

    rounds: list[int]
    times: list[float]
    arms: list[str]
    deficits: list[list[float | None]] = Field(description="for each of `arms`, at each of `rounds`")
    largest: list[float | None] = Field(description="over all arms, at each of `rounds`")


class Audit(BaseModel):
    """What each arm was promised and got."""

    name: str
    algorithm: str
    round: int
    version: int
    time: float = Field(description="of this audit, in seconds since the epoch")
    arms: int = Field(description="how many there are; there may be fewer lines")
    fault: str = Field(description="why the promises cannot be kept with the availability seen; empty if they can")
    lines: list[Line]
    delays: Delays | None
    trail: Trail | None


class Rights(BaseModel):
    """What whoever asks may do."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"open": False, "name": "web", "scopes": ["decide", "report"]}]}
    )
    open: bool = Field(description="whether there are no keys, and this computer may do everything")
    name: str | None = Field(description="of the key")
    scopes: list[str]


class Health(BaseModel):
    """That the server is alive, or ready."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})
    status: Literal["ok"]
