"""The client: one method per route of the service."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar

import httpx

from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.files import write_whole
from evenhand.online.api import answers
from evenhand.online.api.answers import (
    AccessInfo,
    Allocation,
    AllocationSummary,
    Arm,
    ChangeResult,
    Decision,
    DecisionOutcome,
    Event,
    Missing,
    RewardResult,
    TotalResult,
)
from evenhand.online.api.requests import LOG_TYPES
from evenhand.online.client.errors import UnexpectedAnswer
from evenhand.online.client.messages import Call, address, path_to
from evenhand.online.client.transport import Connection

if TYPE_CHECKING:
    from evenhand.online.audit.audit import Audit

Record = TypeVar("Record")
PAGE = 1000  # entries per page of a list


class Client:
    """A client of the HTTP service.

    A call is retried if the connection fails or the service is temporarily unavailable (429, 502, 503, 504), after a
    short, growing time or the one that the service asks for; every other error is raised at once. A call that changes
    something has an idempotency key, the same in all tries, so that it is carried out once; if the last try fails, the
    error has the key, with which the call can be repeated later.

    Connections are kept open; threads may share a client. Close it after use, or use it in a ``with`` statement.

    Args:
        url: address of the service.
        key: API key, if the service has keys; it is never shown.
        timeout: seconds per try.
        retries: further tries after one that failed and may succeed when repeated.
        patience: seconds per call, with all its tries.
        transport: carries the calls; None for the network.
        sleep: waits for some seconds.
        clock: returns the time in seconds.
        notice: called once per call, from another thread, if it has no answer after a second.

    Raises:
        EvenhandError: an argument is out of range.

    Example:
        >>> def service(request):
        ...     decision = {"id": "1", "round": 1, "time": "2026-09-21T14:13:20.000000Z", "version": 0}
        ...     arms = [{"arm": "tea", "propensity": 1.0, "stderr": 0.0}]
        ...     return httpx.Response(200, json={"decisions": [decision | {"arms": arms, "propensities": None}]})
        >>> with Client("http://localhost:8000", transport=httpx.MockTransport(service)) as client:
        ...     client.decide("drinks").names
        ('tea',)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 10,
        patience: float = 30.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        notice: Callable[[], object] | None = None,
    ) -> None:
        self.url = address(url)
        self._connection = Connection(
            key,
            timeout=timeout,
            retries=retries,
            patience=patience,
            transport=transport,
            sleep=sleep,
            clock=clock,
            notice=notice,
        )

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    # --- allocations --------------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        arms: Sequence[str],
        algorithm: str | Mapping[str, Any],
        *,
        missing: Missing,
        parameters: Mapping[str, Any] | None = None,
        plays: int = 1,
        seed: int | None = None,
        window: float | None = None,
        rewards: tuple[float, float] = (0.0, 1.0),
    ) -> bool:
        """Create an allocation.

        Args:
            name: of the allocation.
            arms: their names, each once.
            algorithm: a name of `evenhand.algorithms`, or a table for each part of a policy, of registered kinds.
            missing: what a missing reward means: ``"zero"`` where only successes are sent, and what has not arrived
                within the window counts as 0; ``"lost"`` where it says nothing; ``"never"``, without a window, where
                every reward is sent at some time, also those of 0.
            parameters: of the algorithm, as in a configuration; those with one value per arm as a list in the order of
                ``arms``, or by name.
            plays: arms that play per round.
            seed: of all randomness; None lets the service draw one.
            window: seconds to wait for a reward; None for no limit.
            rewards: the smallest and the largest reward; others are refused.

        Returns:
            Whether it is new; False if it exists with the same settings, perhaps from a try whose answer was lost.

        Raises:
            ServiceError: another allocation has that name (code ``"conflict"``), or the arguments are invalid.
        """
        body = {
            "name": name,
            "arms": list(arms),
            "algorithm": algorithm,
            "parameters": _infinity_as_string(parameters or {}),
            "plays": plays,
            "seed": seed,
            "window": window,
            "missing": missing,
            "rewards": list(rewards),
        }
        status, _ = self._connection.send(Call("POST", f"{self.url}/v1/allocations", body), dict[str, Any])
        return status == httpx.codes.CREATED

    def allocations(self) -> tuple[AllocationSummary, ...]:
        """The allocations of the service."""
        found, cursor = list[AllocationSummary](), None
        while True:
            page = self._get("/v1/allocations", answers.Allocations, limit=PAGE, cursor=cursor)
            found += page.allocations
            cursor = page.next
            if cursor is None:
                return tuple(found)

    def describe(self, name: str) -> Allocation:
        """An allocation: its settings and its current round."""
        return self._get(path_to(name), Allocation)

    def arms(self, name: str) -> tuple[Arm, ...]:
        """The arms of an allocation, in their order, with their promises."""
        found, cursor = list[Arm](), None
        while True:
            page = self._get(path_to(name, "arms"), answers.Arms, limit=PAGE, cursor=cursor)
            found += page.arms
            cursor = page.next
            if cursor is None:
                return tuple(found)

    # --- decisions and rewards ----------------------------------------------------------------------------------------

    def decide(
        self,
        name: str,
        available: Iterable[str] | None = None,
        *,
        propensities: bool = False,
        idempotency_key: str | None = None,
    ) -> Decision:
        """Decide which arms play in the next round.

        Args:
            name: of the allocation.
            available: names of the arms that can play; None for all that are not retired.
            propensities: whether to return the propensities of all available arms, which takes time if they have no
                closed form.
            idempotency_key: by which the service recognises the call when it is repeated; None for a new one.
        """
        (decision,) = self.decide_many(name, 1, available, propensities=propensities, idempotency_key=idempotency_key)
        return decision

    def decide_many(
        self,
        name: str,
        rounds: SupportsIndex | Sequence[Iterable[str] | None],
        available: Iterable[str] | None = None,
        *,
        propensities: bool = False,
        idempotency_key: str | None = None,
    ) -> tuple[Decision, ...]:
        """Decide which arms play in the next rounds.

        Args:
            name: of the allocation.
            rounds: how many; or for each of them the arms that can play, None for all that are not retired.
            available: the arms that can play in all of them.
            propensities: as for `decide`.
            idempotency_key: as for `decide`.
        """
        body: dict[str, Any] = {"propensities": propensities}
        if isinstance(rounds, SupportsIndex):
            count = body["count"] = int(rounds)
            body["available"] = _names(available)
        else:
            if available is not None:
                raise EvenhandError("give the available arms either for each round or for all of them, not both")
            count, body["rounds"] = len(rounds), [_names(arms) for arms in rounds]
        decisions = self._write("POST", path_to(name, "decisions"), body, idempotency_key, answers.Decisions).decisions
        if len(decisions) != count:
            raise UnexpectedAnswer(f"{count} decisions were requested, but the answer has {len(decisions)}")
        return decisions

    def decision(self, name: str, id: str) -> DecisionOutcome:
        """A decision, and what came of it: who could play, who played, and their rewards."""
        return self._get(path_to(name, "decisions", id), DecisionOutcome)

    def reward(
        self, name: str, decision: str, rewards: Mapping[str, float], *, idempotency_key: str | None = None
    ) -> tuple[RewardResult, ...]:
        """Send the rewards of arms, at any time, in any order, one by one or together.

        Args:
            name: of the allocation.
            decision: its id.
            rewards: by the names of arms that played in it.
            idempotency_key: by which the service recognises the call when it is repeated; None for a new one.

        Returns:
            The result of each; a reward that is not accepted is not an error.
        """
        return self.reward_many(name, [(decision, rewards)], idempotency_key=idempotency_key)

    def reward_many(
        self,
        name: str,
        rewards: Iterable[tuple[str, Mapping[str, float]]],
        *,
        idempotency_key: str | None = None,
    ) -> tuple[RewardResult, ...]:
        """Send the rewards of several decisions.

        Args:
            name: of the allocation.
            rewards: ids of decisions, each with rewards by the names of arms.
            idempotency_key: as for `reward`.
        """
        body = {
            "rewards": [
                {"decision": decision, "rewards": _by_arm("rewards", "{'tea': 1.0}", by_arm)}
                for decision, by_arm in rewards
            ]
        }
        return self._write("POST", path_to(name, "rewards"), body, idempotency_key, answers.RewardResults).results

    def total(
        self, name: str, value: float, round: int | None = None, *, idempotency_key: str | None = None
    ) -> TotalResult:
        """Send the anonymous total of the round just decided: all rewards that arrived in it, of any arm.

        Args:
            name: of the allocation.
            value: the total.
            round: which round it is, so that it cannot be credited to another one; None for the last one.
            idempotency_key: as for `reward`.
        """
        body = {"value": value, "round": round}
        return self._write("POST", path_to(name, "totals"), body, idempotency_key, TotalResult)

    # --- changes ------------------------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        arm: str,
        *,
        fraction: float | None = None,
        penalty: float | None = None,
        weight: float | None = None,
        idempotency_key: str | None = None,
    ) -> ChangeResult:
        """Add an arm; what it is owed counts from the next round.

        Args:
            name: of the allocation.
            arm: name of the arm.
            fraction: its promised share of the rounds, if the algorithm promises shares.
            penalty: of the arm, if the algorithm has penalties.
            weight: of the arm, if the algorithm has weights.
            idempotency_key: by which the service recognises the call when it is repeated; None for a new one.
        """
        values = {"fraction": fraction, "penalty": penalty, "weight": weight}
        body = {label: value for label, value in values.items() if value is not None}
        return self._write("PUT", path_to(name, "arms", arm), body, idempotency_key, ChangeResult)

    def retire(self, name: str, arm: str, *, idempotency_key: str | None = None) -> ChangeResult:
        """Retire an arm: it plays no more and its promise ends; its rewards are still accepted."""
        return self._write("PATCH", path_to(name, "arms", arm), {"retired": True}, idempotency_key, ChangeResult)

    def bring_back(
        self, name: str, arm: str, *, fraction: float | None = None, idempotency_key: str | None = None
    ) -> ChangeResult:
        """Bring a retired arm back, with everything known of it and a promise that begins now."""
        body = {"retired": False} | ({} if fraction is None else {"fraction": fraction})
        return self._write("PATCH", path_to(name, "arms", arm), body, idempotency_key, ChangeResult)

    def promise(self, name: str, fractions: Mapping[str, float], *, idempotency_key: str | None = None) -> ChangeResult:
        """Change the promised shares of some arms, of all or of none; what these arms are owed lapses.

        An arm with that share already keeps its promise and what it is owed, as do the arms that are not named; the
        result's ``changed`` is False where all have theirs.
        """
        body = {"fractions": _by_arm("fractions", "{'tea': 0.2}", fractions)}
        return self._write("PATCH", path_to(name), body, idempotency_key, ChangeResult)

    def close_allocation(self, name: str, *, idempotency_key: str | None = None) -> ChangeResult:
        """Close an allocation: it decides no more; rewards are still accepted."""
        return self._write("PATCH", path_to(name), {"closed": True}, idempotency_key, ChangeResult)

    def reopen_allocation(self, name: str, *, idempotency_key: str | None = None) -> ChangeResult:
        """Reopen a closed allocation."""
        return self._write("PATCH", path_to(name), {"closed": False}, idempotency_key, ChangeResult)

    # --- results ------------------------------------------------------------------------------------------------------

    def audit(self, name: str, limit: int | None = None) -> Audit:
        """What each arm was promised, and what it received.

        Args:
            name: of the allocation.
            limit: number of arms, those furthest behind their promise first; None for all, in their order.
        """
        from evenhand.online.audit.audit import Audit

        return self._get(path_to(name, "audit"), Audit, limit=limit)

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """What happened to an allocation, in order, up to now.

        Args:
            name: of the allocation.
            after: sequence of the last event that is known; 0 for none.
        """
        following: int | None = after
        while following is not None:
            page = self._get(path_to(name, "events"), answers.Events, after=following, limit=PAGE)
            yield from page.events
            following = page.next

    def log(
        self,
        name: str,
        path: str | PathLike[str],
        *,
        since: int = 1,
        until: int | None = None,
        estimate: bool = False,
    ) -> None:
        """Download the log of an allocation to a file, which is written whole or not at all.

        Args:
            name: of the allocation.
            path: of the file; its suffix, ``.csv`` or ``.parquet``, selects the format.
            since: the first round.
            until: the last round; None for the last one decided.
            estimate: whether to estimate propensities that have no closed form, which takes time.

        Raises:
            DataError: the file cannot be written.
        """
        target = Path(fspath(path))
        format = target.suffix.removeprefix(".").lower()
        if format not in LOG_TYPES:
            raise DataError(f"the name of a log must end in .csv or .parquet, got {fspath(path)!r}")
        query = {"format": format, "since": since, "until": until, "estimate": str(estimate).lower()}
        call = Call("GET", self.url + path_to(name, "log"), query=query)
        try:
            write_whole(target, lambda temporary: self._connection.download(call, temporary, LOG_TYPES[format]))
        except OSError as error:
            raise DataError(f"the log could not be written to {target}: {error}") from None

    def access(self) -> AccessInfo:
        """The access of the client's key."""
        return self._get("/v1/access", AccessInfo)

    # ------------------------------------------------------------------------------------------------------------------

    def _get(self, path: str, shape: type[Record], **query: Any) -> Record:
        return self._connection.send(Call("GET", self.url + path, query=query), shape)[1]

    def _write(
        self, method: str, path: str, body: Mapping[str, Any], idempotency_key: str | None, shape: type[Record]
    ) -> Record:
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return self._connection.send(Call(method, self.url + path, body, idempotency_key=key), shape)[1]


def _infinity_as_string(value: Any) -> Any:
    """Parameters as the service accepts them, as JSON has no infinity."""
    if isinstance(value, Mapping):
        return {name: _infinity_as_string(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_infinity_as_string(part) for part in value]
    return repr(value) if isinstance(value, float) and math.isinf(value) else value


def _by_arm(what: str, example: str, values: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise EvenhandError(f"{what} must be a mapping from arms to numbers, such as {example}, got {values!r}")
    return dict(values)


def _names(arms: Iterable[str] | None) -> list[str] | None:
    if isinstance(arms, str):
        raise EvenhandError(f"available must be a list of arms, got the string {arms!r}")
    return None if arms is None else list(arms)
