"""The messages of the HTTP API, for server and client: requests as they must be, and answers as they are.

Only pydantic is needed to import it, so that the client does not load the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

if TYPE_CHECKING:
    from evenhand.online.audit.audit import Audit as AuditRecord

MAX_NESTING = 8  # levels of nested lists and objects per parameter
ALLOCATION = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
ARM = r"\S"
IDEMPOTENCY_KEY = r"^[!-~]+$"
#: Media types of a log, by its format.
LOG_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}

AllocationName = Annotated[str, StringConstraints(pattern=ALLOCATION, strict=True)]
ArmName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=ARM, strict=True)]
#: A list of many wrong names is refused for the first one: describing each takes longer than accepting them.
ArmNames = Annotated[list[ArmName], Field(fail_fast=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Nonnegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
RewardStatus = Literal["accepted", "duplicate", "conflict", "unknown", "late", "invalid"]
NO_OTHER_NAMES: dict[str, Any] = {"additionalProperties": False}  # than valid names of arms


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


# --- requests ---------------------------------------------------------------------------------------------------------


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
    missing: Literal["lost", "zero"] | None = Field(
        default=None,
        description="what a reward counts as that is missing when its window has passed, required with a window: "
        "`zero` where only successes are sent; `lost`, unknown, where a missing reward says nothing",
    )
    rewards: list[Number] = Field(
        default_factory=lambda: [0.0, 1.0],
        min_length=2,
        max_length=2,
        description="the smallest and the largest reward",
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


class TotalRequest(Request):
    """The anonymous total of a round: all rewards that arrived in it, of any arm."""

    model_config = _example({"value": 3.5, "round": 12})
    value: Number
    round: int | None = Field(default=None, ge=1, lt=2**53, description="the round just decided; null: that one")


class Add(Request):
    """Add an arm."""

    model_config = _example({"change": "add", "arm": "mate", "fraction": 0.1})
    change: Literal["add"]
    arm: ArmName
    fraction: Share | None = Field(default=None, description="its promised share of the rounds")
    penalty: Nonnegative | None = Field(default=None, description="for algorithms with one per arm")
    weight: Nonnegative | None = Field(default=None, description="for algorithms with one per arm")


class Retire(Request):
    """Retire an arm: it plays no more."""

    model_config = _example({"change": "retire", "arm": "cocoa"})
    change: Literal["retire"]
    arm: ArmName


class BringBack(Request):
    """Bring a retired arm back."""

    model_config = _example({"change": "bring_back", "arm": "cocoa"})
    change: Literal["bring_back"]
    arm: ArmName
    fraction: Share | None = Field(default=None, description="its promised share of the rounds")


class Promise(Request):
    """Change the promised shares of some arms."""

    model_config = _example({"change": "promise", "fractions": {"coffee": 0.1}})
    change: Literal["promise"]
    fractions: dict[ArmName, Share] = Field(min_length=1, fail_fast=True, json_schema_extra=NO_OTHER_NAMES)


class Close(Request):
    """Close the allocation: no more decisions."""

    model_config = _example({"change": "close"})
    change: Literal["close"]


class Reopen(Request):
    """Reopen a closed allocation."""

    model_config = _example({"change": "reopen"})
    change: Literal["reopen"]


ChangeRequest = Annotated[Add | Retire | BringBack | Promise | Close | Reopen, Field(discriminator="change")]


# --- answers ----------------------------------------------------------------------------------------------------------


class Answer(BaseModel):
    """Base of the answers: records that do not change."""

    model_config = ConfigDict(frozen=True)


class Allocation(Answer):
    """An allocation: its settings and its current round."""

    name: str
    algorithm: str | Mapping[str, Any] = Field(description="a name, or a table for each part of the policy")
    arms: tuple[str, ...]
    retired: tuple[str, ...] = Field(description="arms that play no more")
    parameters: Mapping[str, Any] = Field(description="of the algorithm")
    plays: int = Field(description="arms that play per round")
    seed: int = Field(description="of all randomness")
    window: float | None = Field(description="seconds to wait for a reward; null: no limit")
    missing: Literal["lost", "zero"] = Field(description="what a missing reward counts as")
    rewards: tuple[float, ...] = Field(min_length=2, max_length=2, description="the smallest and the largest reward")
    round: int = Field(description="rounds decided")
    version: int = Field(description="changes of arms and promises so far")
    closed: bool = Field(description="whether it decides no more")
    created: float = Field(description="seconds since the epoch")


class AllocationSummary(Answer):
    """An allocation in a list."""

    name: str
    algorithm: str
    arms: int = Field(description="how many are not retired")
    round: int = Field(description="rounds decided")
    closed: bool
    created: float = Field(description="seconds since the epoch")


class Allocations(Answer):
    """All allocations, by name."""

    allocations: tuple[AllocationSummary, ...]


class Propensity(Answer):
    """The propensity of an arm: its probability to play in a round, given everything known before."""

    value: float
    stderr: float = Field(description="standard error; 0 where the propensity is exact")


class Decision(Answer):
    """The arms that play in a round."""

    id: str = Field(description="names the decision when its rewards are sent")
    round: int = Field(description="counted from 1")
    time: float = Field(description="seconds since the epoch, by the server's clock")
    arms: tuple[str, ...] = Field(description="those that play, by decreasing propensity")
    version: int = Field(description="of the policy: changes of arms and promises so far")
    propensity: tuple[float, ...] | None = Field(
        description="of each of `arms`; null where it has no closed form and was not requested"
    )
    propensities: Mapping[str, Propensity] | None = Field(description="of every available arm; null unless requested")


class Decisions(Answer):
    """Decisions, in the order of their rounds."""

    model_config = _example(
        {
            "decisions": [
                {
                    "id": "1",
                    "round": 1,
                    "time": 1790000000.1,
                    "arms": ["tea"],
                    "version": 0,
                    "propensity": [1.0],
                    "propensities": None,
                }
            ]
        }
    )
    decisions: tuple[Decision, ...]


class RewardResult(Answer):
    """The result of sending the reward of an arm."""

    decision: str = Field(description="id of the decision")
    arm: str
    status: RewardStatus
    message: str = Field(description="the reason; empty for `accepted`, `duplicate` and `late`")

    @property
    def learned(self) -> bool:
        """Whether the allocation has learned from this reward, now or before."""
        return self.status in ("accepted", "duplicate")


class RewardResults(Answer):
    """The result of each reward, in the order of the request."""

    model_config = _example({"results": [{"decision": "1", "arm": "tea", "status": "accepted", "message": ""}]})
    results: tuple[RewardResult, ...]


class TotalResult(Answer):
    """The result of sending an anonymous total."""

    round: int
    status: Literal["accepted", "duplicate"]


class ChangeResult(Answer):
    """The result of a change of arms or promises."""

    version: int = Field(description="of the policy from now on")
    round: int = Field(description="the round after which the change takes effect")
    changed: bool = Field(description="false where arms were promised the shares that they have: nothing has changed")


class AuditLine(Answer):
    """What an arm was promised, and what it received."""

    arm: str
    retired: bool
    promised: float | None = Field(description="share of the rounds; null for no promise")
    since: int = Field(description="the round after which that promise began")
    rounds: int = Field(description="since then")
    plays: int = Field(description="since then")
    share: float | None = Field(description="plays per round since then; null before the first")
    low_share: float | None = Field(
        description="lower end of the 95 % interval of its mean propensity, which holds at all times at once"
    )
    high_share: float | None = Field(description="upper end")
    deficit: float | None = Field(
        description="plays behind all promises since the first one; negative where ahead; null for no promise"
    )
    worst: float | None = Field(description="the largest deficit so far")
    resets: int = Field(description="promises to it that have ended: the share was changed, or the arm retired")
    lapsed: float = Field(
        description="the part of the deficit from these, which is not made up for; negative where ahead"
    )
    all_plays: int = Field(description="from the first round on")
    available: float | None = Field(description="share of all rounds in which it was available")
    received: int = Field(description="rewards received in time")
    estimate: float | None = Field(description="mean of the known rewards")
    trusted: bool = Field(description="whether the estimate can be trusted; the audit's `warnings` say why not")
    low: float | None = Field(
        description="lower end of the 95 % interval of the mean reward of all its plays, which holds at all times at "
        "once and whatever the pending, lost and late rewards are; null where no reward is certain"
    )
    high: float | None = Field(description="upper end")
    pending: int = Field(description="rewards that are pending")
    lost: int = Field(description="rewards that were not received in time")
    late: int = Field(description="lost rewards that were received after the window")


class Bins(Answer):
    """A histogram."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class DelaySummary(Answer):
    """The delays of the last rewards, in seconds."""

    count: int
    quantiles: Mapping[str, float]
    bins: Bins


class DeficitHistory(Answer):
    """Deficits over time."""

    rounds: tuple[int, ...]
    times: tuple[float, ...]
    arms: tuple[str, ...]
    deficits: tuple[tuple[float | None, ...], ...] = Field(description="for each of `arms`, at each of `rounds`")
    largest: tuple[float | None, ...] = Field(description="over all arms, at each of `rounds`")


class Audit(Answer):
    """What each arm was promised, and what it received."""

    name: str = Field(description="of the allocation")
    sequence: int = Field(description="of the last event, which every decision, reward and change increases")
    closed: bool = Field(description="whether the allocation decides no more")
    algorithm: str
    round: int = Field(description="rounds decided")
    version: int = Field(description="changes of arms and promises so far")
    time: float = Field(description="of this audit, in seconds since the epoch")
    arms: int = Field(description="how many there are; there may be fewer lines")
    fault: str = Field(description="why the promises cannot be kept with the availability seen; empty if they can")
    warnings: tuple[str, ...] = Field(description="which estimates cannot be trusted, and why")
    lines: tuple[AuditLine, ...]
    delays: DelaySummary | None
    deficit_history: DeficitHistory | None

    def record(self) -> AuditRecord:
        """The audit with its table and its figure, as `Bandit.audit` returns it."""
        from evenhand.online.audit.audit import Audit as Record
        from evenhand.online.audit.deficits import DeficitExcerpt
        from evenhand.online.audit.delays import DelaySummary as Delays
        from evenhand.online.audit.lines import Line

        parts: dict[str, Any] = vars(self) | {"lines": tuple(Line(**vars(line)) for line in self.lines)}
        for name in ("name", "sequence", "closed"):  # of the allocation, not of its bandit
            del parts[name]
        if self.delays is not None:
            bins = self.delays.bins
            parts["delays"] = Delays(self.delays.count, self.delays.quantiles, bins.edges, bins.counts)
        if self.deficit_history is not None:
            parts["deficit_history"] = DeficitExcerpt(**vars(self.deficit_history))
        return Record(**parts)


class AccessInfo(Answer):
    """The access of a caller."""

    model_config = _example(
        {"open": False, "name": "web", "scopes": ["decide", "reward"], "allocations": ["drinks"], "expires": None}
    )
    open: bool = Field(description="whether there are no keys, so that requests from this computer have every scope")
    name: str | None = Field(description="of the key; null without one")
    scopes: tuple[str, ...] = Field(description="some of `administer`, `decide`, `reward`, `read`")
    allocations: tuple[str, ...] | None = Field(description="names of those that the key is for; null for all")
    expires: float | None = Field(description="when the key expires, in seconds since the epoch; null for never")


class Health(Answer):
    """The server is alive, or ready."""

    model_config = _example({"status": "ok"})
    status: Literal["ok"]


# --- errors -----------------------------------------------------------------------------------------------------------

#: The codes of errors, each with its status and its meaning.
CODES: dict[str, tuple[int, str]] = {
    "malformed": (400, "the request is not HTTP"),
    "unauthenticated": (401, "the key is missing, unknown or revoked"),
    "forbidden": (403, "the key lacks the scope; or there are no keys and the request is not for this computer"),
    "not_found": (404, "there is no such page"),
    "unknown_allocation": (404, "there is no allocation of that name"),
    "method_not_allowed": (405, "the page does not accept this method"),
    "conflict": (409, "another allocation of that name, or another total of that round, exists"),
    "closed": (409, "the allocation is closed and decides no more until it is reopened"),
    "damaged": (
        409,
        "the stored events of the allocation are damaged; it answers nothing until it is restored or erased",
    ),
    "timeout": (408, "the request was not complete in time"),
    "too_large": (413, "the body, the batch, the number of arms or the work is over the limit"),
    "unsupported_media_type": (415, "the body must be application/json"),
    "key_reused": (422, "the idempotency key was used for another request"),
    "invalid": (422, "the request is invalid; `details` lists where"),
    "infeasible": (422, "the promised shares cannot be kept; nothing was changed"),
    "too_many_requests": (429, "the key is over its limit; retry after the seconds in `Retry-After`"),
    "headers_too_large": (431, "the headers are over the limit"),
    "internal": (500, "an error of the server, which its log explains"),
    "unavailable": (503, "the database cannot be reached, or the server is busy; retrying is safe"),
}
MAX_DETAILS = 20  # per error


class Detail(Answer):
    """A place in a request where something is wrong."""

    where: str = Field(description="such as `body.rewards[0].decision`")
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class Problem(Answer):
    """What is wrong."""

    code: str = Field(description="for programs", json_schema_extra={"enum": list(CODES)})
    message: str = Field(description="for people")
    details: tuple[Detail, ...] = Field(
        default=(), description=f"each place where something is wrong, at most {MAX_DETAILS}"
    )


class ErrorResponse(Answer):
    """The answer to a request that cannot be carried out."""

    error: Problem
