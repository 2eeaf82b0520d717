"""The operations of the service: each once, for the client and for the asynchronous one.

An operation is a generator: it gives calls, is sent the status and the record that each is answered with, and returns
its result. It neither waits nor sends, so that both clients can carry it out.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Generator, Iterable, Mapping, Sequence
from http import HTTPStatus
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar

from ..core.errors import DataError, EvenhandError
from ..core.files import path_of, whole
from ..messages import answers
from ..messages.answers import Assumption, Missing
from ..messages.arguments import SHARED
from ..messages.changes import ChangeLike, change_of
from ..messages.requests import Round
from .errors import UnexpectedAnswer
from .leases import LeasedDecisions
from .messages import Call, Download, path_to

if TYPE_CHECKING:
    from ..messages.audit import Audit
    from ..messages.prices import Price

Json = Mapping[str, Any]
Record = TypeVar("Record")
Result = TypeVar("Result")
Steps = Generator[tuple[Call, type[Any] | Download], tuple[int, Any], Result]
PAGE = 1000  # entries per page of a list
REPORT = 20_000  # rewards and columns per report of a lease
#: Arguments that mean the same in several operations, whose docstrings need not describe them again.
COMMON = {
    **SHARED,
    "name": "of the allocation.",
    "idempotency_key": "by which the service recognises the call when it is repeated; None for a new one.",
}
DRY_RUN = {"dry_run": "true"}  # the query of a request that is to write nothing


def create(
    name: str,
    arms: Sequence[str],
    algorithm: Any,
    *,
    missing: Missing,
    parameters: Mapping[str, Any] | None = None,
    plays: int = 1,
    seed: int | None = None,
    window: float | None = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    start_from: str | Mapping[str, tuple[int, float]] | None = None,
    words: Mapping[str, str] | None = None,
    features: Any = None,
    arm_features: Mapping[str, Mapping[str, Any]] | None = None,
    segments: str | Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> Steps[bool | answers.Plan]:
    """Create an allocation.

    Args:
        arms: their names, each once.
        algorithm: a name of `evenhand.algorithms`, a policy, or a table for each of its parts, of registered kinds.
        missing: what a missing reward means: ``"zero"`` where only successes are sent, and what has not arrived
            within the window counts as 0; ``"lost"`` where it says nothing; ``"never"``, without a window, where
            every reward is sent at some time, also those of 0.
        parameters: of the algorithm, as in a configuration; those with one value per arm as a list in the order of
            ``arms``, or by name.
        plays: arms that play per round.
        seed: of all randomness; None lets the service draw one.
        window: seconds to wait for a reward; None for no limit.
        rewards: the smallest and the largest reward; others are refused.
        start_from: evidence that the policy learns from beforehand: the name of another allocation, or by arm the
            number of plays whose rewards are known and the sum of these. It counts for no promise.
        words: the ``unit`` of rewards, and by ``round_name`` and ``arm_name`` what rounds and arms are called.
        features: what is known before a decision: `evenhand.Features`, or their plain form, with ``situation`` and
            ``arms``, by name a table of a ``kind`` and what it needs.
        arm_features: values of features that arms have, by arm and name; a decision can give others.
        segments: the feature by whose values rounds are counted, and shares can be promised: the name of a category or
            flag, or ``{"feature": "age", "cuts": [18, 65]}`` of a number.
        dry_run: whether to write nothing, and only say what would be done.

    Returns:
        Whether it is new; False if it exists with the same settings, perhaps from a try whose answer was lost. With
        ``dry_run`` the plan: whether it would be new, and what each arm would be promised.

    Raises:
        ServiceError: another allocation has that name (code ``"conflict"``), or the arguments are invalid.
    """
    body: dict[str, Any] = {"name": name, "arms": list(arms), "algorithm": algorithm, "plays": plays, "seed": seed}
    body |= {"window": window, "missing": missing, "rewards": list(rewards)}
    body |= {"parameters": _infinity_as_string(parameters or {})}
    if isinstance(start_from, str):
        body["start_from"] = start_from
    elif start_from is not None:
        body["start_from"] = {arm: {"plays": number, "sum": total} for arm, (number, total) in start_from.items()}
    if words and any(words.values()):
        body["words"] = dict(words)
    features = getattr(features, "to_json", lambda: features)()
    if not isinstance(features, Mapping | None):
        raise EvenhandError(f"must be Features or their plain form, a table, got {features!r}", "features")
    body |= {name: dict(one) for name, one in (("features", features), ("arm_features", arm_features)) if one}
    if segments is not None:
        body["segments"] = segments if isinstance(segments, str) else dict(segments)
    if dry_run:
        return (yield from _send(Call("POST", "/v1/allocations", body, DRY_RUN), answers.Plan))
    status, _ = yield Call("POST", "/v1/allocations", body), dict[str, Any]
    return status == HTTPStatus.CREATED


def allocations(health: bool = False) -> Steps[tuple[answers.AllocationSummary, ...]]:
    """The allocations of the service, by name.

    Args:
        health: whether to add the health of each, for which the service loads them.

    Returns:
        A summary of each allocation that the key may see, by name.
    """
    return _entries("allocations", "/v1/allocations", answers.Allocations, health=health or None)


def describe(name: str) -> Steps[answers.Allocation]:
    """An allocation: its settings and its current round."""
    return _get(path_to(name), answers.Allocation)


def arms(name: str) -> Steps[tuple[answers.Arm, ...]]:
    """The arms of an allocation, in their order, with their promises.

    Returns:
        One record per arm, retired arms among them.
    """
    return _entries("arms", path_to(name, "arms"), answers.Arms)


# --- decisions and rewards --------------------------------------------------------------------------------------------


def decide(
    name: str,
    features: Mapping[str, Any] | None = None,
    *,
    arms: Mapping[str, Mapping[str, Any]] | None = None,
    available: Iterable[str] | None = None,
    propensities: bool = False,
    idempotency_key: str | None = None,
) -> Steps[answers.Decision]:
    """Decide which arms play in the next round.

    Args:
        propensities: whether to return the propensities of all available arms, which takes time if they have no
            closed form.

    Returns:
        The decision, with its id, the arms that play, and their propensities where they are known.
    """
    known: Any = features, arms, _names(available)
    body = {"propensities": propensities, "count": 1, **_known(Round(*known))}
    (decision,) = yield from _decisions(name, body, 1, idempotency_key)
    return decision


def decide_many(
    name: str,
    rounds: SupportsIndex | Sequence[Round],
    *,
    available: Iterable[str] | None = None,
    propensities: bool = False,
    idempotency_key: str | None = None,
) -> Steps[tuple[answers.Decision, ...]]:
    """Decide which arms play in the next rounds.

    Args:
        rounds: how many; or what is known of each, such as ``Round({"age": 33})``.
        available: the arms that can play in all of them, where their number is given.
        propensities: as for `decide`.

    Returns:
        The decisions, in the order of their rounds.
    """
    body: dict[str, Any] = {"propensities": propensities}
    if isinstance(rounds, SupportsIndex):
        count = body["count"] = int(rounds)
        body |= _known(Round(available=_names(available)))
    else:
        if available is not None:
            raise EvenhandError("give the available arms either for each round or for all of them, not both")
        count, body["rounds"] = len(rounds), [_known(round) for round in rounds]
    return _decisions(name, body, count, idempotency_key)


def _known(round: Round) -> dict[str, Any]:
    """What is known of a round, as the body of a request has it."""
    if not isinstance(round, Round):
        raise EvenhandError(f"a round must be a Round, such as Round(available=['tea']), got {round!r}")
    if round.features is not None and not isinstance(round.features, Mapping):
        raise EvenhandError(
            f"must be a table of features by name, got {round.features!r}; "
            "arms that can play are given as available=[…]",
            "features",
        )
    known = {"features": round.features, "arms": round.arms, "available": _names(round.available)}
    return {name: value for name, value in known.items() if value is not None}


def _decisions(name: str, body: Mapping[str, Any], count: int, key: str | None) -> Steps[tuple[answers.Decision, ...]]:
    """The decisions that a request asks for, so many."""
    answer = yield from _write(path_to(name, "decisions"), body, key, answers.Decisions)
    decisions = answer.decisions
    if len(decisions) != count:
        raise UnexpectedAnswer(f"{count} decisions were requested, but the answer has {len(decisions)}")
    return decisions


def decision(name: str, id: str) -> Steps[answers.DecisionOutcome]:
    """A decision, and what came of it: who could play, who played, and their rewards.

    Args:
        id: of the decision.

    Returns:
        The decision, with the reward of each arm that played or None where it is not known.
    """
    return _get(path_to(name, "decisions", id), answers.DecisionOutcome)


def reward(
    name: str, decision: str, rewards: Mapping[str, float], *, idempotency_key: str | None = None
) -> Steps[tuple[answers.RewardResult, ...]]:
    """Send the rewards of arms, at any time, in any order, one by one or together.

    Args:
        decision: its id.
        rewards: by the names of arms that played in it.

    Returns:
        The result of each; a reward that is not accepted is not an error.
    """
    return reward_many(name, [(decision, rewards)], idempotency_key=idempotency_key)


def reward_many(
    name: str, rewards: Iterable[tuple[str, Mapping[str, float]]], *, idempotency_key: str | None = None
) -> Steps[tuple[answers.RewardResult, ...]]:
    """Send the rewards of several decisions.

    Args:
        rewards: ids of decisions, each with rewards by the names of arms.

    Returns:
        For each decision, in the order given, its id and what became of each reward or why they were refused.
    """
    body = {"rewards": [{"decision": decision, "rewards": _by_arm(by_arm)} for decision, by_arm in rewards]}
    answer = yield from _write(path_to(name, "rewards"), body, idempotency_key, answers.RewardResults)
    return answer.results


def lease(
    name: str,
    decisions: int,
    *,
    seconds: float = 60.0,
    available: Iterable[str] | None = None,
    units: bool = False,
    idempotency_key: str | None = None,
) -> Steps[LeasedDecisions]:
    """Lease the next rounds, to draw their decisions here.

    How often each arm plays in them is decided now, with promised shares kept exactly. Report what was drawn, with
    `report`; what is not reported in time is returned.

    Args:
        decisions: number of rounds, at most 1,000,000.
        seconds: for which they may be drawn; they may be reported for as long again, and at least a minute.
        units: whether the arms of a decision follow from a unit, such as the id of a user, so that it keeps its arm.

    Returns:
        The leased decisions, to be drawn in this process without a further request.
    """
    body = {"decisions": decisions, "seconds": seconds, "available": _names(available), "units": units}
    begun = time.monotonic()  # before it was granted, so that no decision is drawn too late
    answer = yield from _write(path_to(name, "leases"), body, idempotency_key, answers.Lease)
    return LeasedDecisions(answer, begun=begun)


def report(name: str, leased: LeasedDecisions, *, finished: bool = False) -> Steps[answers.LeaseReport]:
    """Report the decisions of a lease that were drawn so far, and the rewards that were collected in it.

    It can be repeated: what the service knows already is not taken twice.

    Args:
        leased: the decisions.
        finished: whether no more will be drawn, so that the others are returned.

    Returns:
        The service's answer to the last part of the report.
    """
    path = path_to(name, "leases", leased.lease.id, "reports")
    while True:
        body, last = leased.body(REPORT)
        answer = yield from _send(Call("POST", path, body | {"finished": finished and last}), answers.LeaseReport)
        leased.reported(body, answer)
        if last:
            return answer


def report_by_id(
    name: str,
    lease: str,
    played: int,
    *,
    rewards: Mapping[str, Mapping[int, float]] | None = None,
    columns: Iterable[int] | None = None,
    finished: bool = False,
) -> Steps[answers.LeaseReport]:
    """Report decisions of a lease that another program drew, or an earlier run of this one; see `report`.

    Args:
        lease: its id.
        played: number of decisions played so far, which are the first ones of the lease; 0 for those reported before.
        rewards: by the names of arms and the positions of decisions, counted from 0; None for none.
        columns: of a lease for units: the columns of the decisions that are new; None otherwise.
        finished: whether no more will be played, so that the others are returned.
    """
    by_arm = {
        arm: {"positions": list(by_position), "values": list(by_position.values())}
        for arm, by_position in (rewards or {}).items()
    }
    body: dict[str, Any] = {"played": played, "rewards": by_arm, "finished": finished}
    if columns is not None:
        body["columns"] = list(columns)
    return _send(Call("POST", path_to(name, "leases", lease, "reports"), body), answers.LeaseReport)


def total(
    name: str, value: float, round: int | None = None, *, idempotency_key: str | None = None
) -> Steps[answers.TotalResult]:
    """Send the anonymous total of the round just decided: all rewards that arrived in it, of any arm.

    Args:
        value: the total.
        round: which round it is, so that it cannot be credited to another one; None for the last one.

    Returns:
        The round to which the total was credited, and whether it was known before.
    """
    body = {"value": value, "round": round}
    return _write(path_to(name, "totals"), body, idempotency_key, answers.TotalResult)


# --- changes ----------------------------------------------------------------------------------------------------------


def change(
    name: str, record: ChangeLike, *, version: int | None = None, idempotency_key: str | None = None
) -> Steps[answers.ChangeResult]:
    """Change arms or promises, or close or reopen the allocation; what is promised anew counts from the next round.

    Args:
        record: the change, one of `evenhand.changes`, such as ``Promise({"tea": 0.2})``, or its table.
        version: that the allocation must have; None for any. With it, nothing is changed that others changed meanwhile.

    Returns:
        The round and version of the allocation after the change, and whether it changed anything.

    Raises:
        ServiceError: it cannot be made, such as that promises cannot be kept (code ``"infeasible"``), or the allocation
            has another version (code ``"conflict"``).
    """
    body, path = change_of(record).to_json(), path_to(name, "changes")
    return _write(path, body, idempotency_key, answers.ChangeResult, version=version)


def plan(name: str, record: ChangeLike, *, version: int | None = None) -> Steps[answers.Plan]:
    """What `change` would do with the same change, and what each arm would be promised; nothing is written.

    Args:
        record: the change.
        version: that the allocation must have; None for any.

    Raises:
        ServiceError: what `change` would raise.
    """
    body, query = change_of(record).to_json(), {"version": version, **DRY_RUN}
    return _send(Call("POST", path_to(name, "changes"), body, query), answers.Plan)


# --- webhooks ---------------------------------------------------------------------------------------------------------


def add_webhook(
    name: str, url: str, *, kinds: Iterable[str] | None = None, secret: str | None = None, after: int | None = None
) -> Steps[answers.Webhook]:
    """Register an address to which events are sent; called again after a failure, it may be there twice.

    Args:
        url: to which its events are sent.
        kinds: of events that are sent; None for all.
        secret: ``whsec_`` and base64, with which they are signed; None for a new one, which the result has.
        after: sequence of the event before the first that is sent; None for the last one now.

    Returns:
        The webhook, with its id and, this once, its secret.
    """
    body = {"url": url, "kinds": None if kinds is None else list(kinds), "secret": secret, "after": after}
    return _send(Call("POST", path_to(name, "webhooks"), body), answers.Webhook)


def webhooks(name: str) -> Steps[tuple[answers.Webhook, ...]]:
    """The addresses to which events are sent, how far each is, and what is wrong with it.

    Returns:
        The webhooks, without their secrets.
    """
    answer = yield from _get(path_to(name, "webhooks"), answers.Webhooks)
    return answer.webhooks


def remove_webhook(name: str, id: str) -> Steps[answers.Webhook]:
    """Remove an address: nothing is sent to it any more.

    Args:
        id: of the webhook.
    """
    return _send(Call("DELETE", path_to(name, "webhooks", id)), answers.Webhook)


# --- results ----------------------------------------------------------------------------------------------------------


def audit(name: str, limit: int | None = None) -> Steps[Audit]:
    """What each arm was promised, and what it received.

    Args:
        limit: number of arms, those furthest behind their promise first; None for all, in their order.
    """
    from ..messages.audit import Audit  # the largest of the messages, which other calls do not load

    return _get(path_to(name, "audit"), Audit, limit=limit)


def stopping(
    name: str, delta: float = 0.05, epsilon: float = 0.0, *, best: int | Literal["promises"] | None = None
) -> Steps[answers.Stopping]:
    """Whether one may stop: the arms that can still be the best; ask as often as you like.

    Returns:
        The answer; printed, it is sentences.
    """
    return _get(path_to(name, "stopping"), answers.Stopping, delta=delta, epsilon=epsilon, best=best)


def price(name: str, promises: Sequence[float] | None = None) -> Steps[Price]:
    """What promised shares would cost in the long run, from the rewards so far; nothing is simulated.

    Args:
        promises: shares of the rounds in [0, 1], each for every active arm; None for 5, 10 and 15%, or less for many
            arms.

    Returns:
        The price; printed, it is sentences.
    """
    from ..messages.prices import Price

    asked = None if promises is None else ",".join(f"{share:.12f}" for share in promises)
    return _get(path_to(name, "price"), Price, promise=asked)


def differences(
    name: str,
    control: str | None = None,
    *,
    of: Literal["arms", "groups"] = "arms",
    month: str | None = None,
    assume: Assumption | None = None,
    confidence: float = 0.95,
) -> Steps[answers.Differences]:
    """Differences of mean rewards, with intervals that hold at all times at once, however often one looks.

    Returns:
        The differences, each with its interval, what is claimed of it, and a sentence.
    """
    query = {"control": control, "of": of, "month": month, "assume": assume, "confidence": confidence}
    return _get(path_to(name, "differences"), answers.Differences, **query)


def access() -> Steps[answers.AccessInfo]:
    """The access of the client's key.

    Returns:
        The name and scopes of the key, and the allocations that it may use.
    """
    return _get("/v1/access", answers.AccessInfo)


def algorithms() -> Steps[tuple[answers.AlgorithmInfo, ...]]:
    """The algorithms that allocations of the service can have.

    Returns:
        A record of each, by name, with its promise and its parameters.
    """
    answer = yield from _get("/v1/algorithms", answers.Algorithms)
    return answer.algorithms


def event_page(name: str, after: int) -> Steps[answers.Events]:
    """A page of events."""
    return _get(path_to(name, "events"), answers.Events, after=after, limit=PAGE)


def log(
    name: str,
    path: str | PathLike[str],
    *,
    since: int = 1,
    until: int | None = None,
    estimate: bool = False,
    features: bool = False,
) -> Steps[None]:
    """Download the log of an allocation to a file, which is written whole or not at all.

    Args:
        path: of the file; its suffix, ``.csv`` or ``.parquet``, selects the format.
        since: the first round.
        until: the last round; None for the last one decided.
        estimate: whether to estimate propensities that have no closed form, which takes time.
        features: whether to add the features of the decisions, which may be personal.

    Raises:
        DataError: the file cannot be written.
    """
    target = Path(fspath(path))
    format = target.suffix.removeprefix(".").lower()
    if format not in answers.LOG_TYPES:
        raise DataError(f"the name of a log must end in .csv or .parquet, got {fspath(path)!r}")
    query = {"format": format, "since": since, "until": until, "estimate": str(estimate).lower()}
    query |= {"features": "true"} if features else {}
    yield from _download("log", Call("GET", path_to(name, "log"), query=query), target, answers.LOG_TYPES[format])


def save_report(name: str, path: str | PathLike[str]) -> Steps[None]:
    """Download a report on an allocation to an HTML file, to be handed on; it is written whole or not at all.

    Args:
        path: of the file.

    Raises:
        DataError: the file cannot be written.
    """
    yield from _download("report", Call("GET", path_to(name, "report")), path_of(path), "text/html; charset=utf-8")


def _download(what: str, call: Call, target: Path, media_type: str) -> Steps[None]:
    try:
        with whole(target) as temporary:
            yield call, Download(temporary, media_type)
    except OSError as error:
        raise DataError(f"the {what} could not be written to {target}: {error}") from None


def _send(call: Call, shape: type[Record]) -> Steps[Record]:
    _, record = yield call, shape
    return record  # type: ignore[no-any-return]


def _get(path: str, shape: type[Record], **query: Any) -> Steps[Record]:
    return _send(Call("GET", path, query=query), shape)


def _entries(field: str, path: str, shape: type[Any], **query: Any) -> Steps[tuple[Any, ...]]:
    """The entries of all pages of a list, which are in a field of each."""
    found, cursor = list[Any](), None
    while True:
        page = yield from _get(path, shape, limit=PAGE, cursor=cursor, **query)
        found += getattr(page, field)
        cursor = page.next
        if cursor is None:
            return tuple(found)


def _write(path: str, body: Json, idempotency_key: str | None, shape: type[Record], **query: Any) -> Steps[Record]:
    key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
    return _send(Call("POST", path, body, query, key), shape)


def _infinity_as_string(value: Any) -> Any:
    """Parameters as the service accepts them, as JSON has no infinity."""
    if isinstance(value, Mapping):
        return {name: _infinity_as_string(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_infinity_as_string(part) for part in value]
    return repr(value) if isinstance(value, float) and math.isinf(value) else value


def _by_arm(rewards: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(rewards, Mapping):
        raise EvenhandError(f"rewards must be a mapping from arms to numbers, such as {{'tea': 1.0}}, got {rewards!r}")
    return dict(rewards)


def _names(arms: Iterable[str] | None) -> list[str] | None:
    if isinstance(arms, str):
        raise EvenhandError(f"available must be a list of arms, got the string {arms!r}")
    return None if arms is None else list(arms)
