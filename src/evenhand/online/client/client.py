"""The client: a method for everything that the service does."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar

import httpx

from evenhand.errors import DataError, EvenhandError
from evenhand.online.client import answers
from evenhand.online.client.answers import Access, Changed, Decided, Description, Reported, Summary, Totalled
from evenhand.online.client.connection import Connection
from evenhand.online.client.errors import UnexpectedAnswer
from evenhand.online.client.wire import Call, address, path_to

if TYPE_CHECKING:
    from evenhand.online.audit import Audit

Record = TypeVar("Record")

#: Types of the files that a log comes in, by their suffix.
KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


class Client:
    """A client of the HTTP service.

    A call that fails on the way, or finds the service busy or gone for a moment (429, 502, 503, 504), is made again
    after a short and growing time, or as long as the service asks for; whatever else is wrong is raised at once. What
    changes something carries an idempotency key, the same in all tries, so that it is done once: where the last try
    failed too, the error has the key, with which the call can be made again later.

    Connections are kept open; threads may share a client. Close it after use, or use it in a ``with`` statement.

    Args:
        url: address of the service.
        key: API key, where the service has keys; it is never shown.
        timeout: seconds that a try waits for the service.
        retries: further tries after one that failed and may do better.
        patience: seconds that a call may take with all its tries.
        transport: what carries the calls; None for the network.
        sleep: waits for some seconds.
        clock: tells the seconds, from anywhere.
        notice: called, from another thread, where a call has had no answer for a second; at most once a call.

    Raises:
        EvenhandError: an argument is out of range.

    Example:
        >>> def service(request):
        ...     decided = {"id": "1", "round": 1, "time": 1790000000.0, "arms": ["tea"], "version": 0}
        ...     return httpx.Response(200, json={"decisions": [decided | {"propensities": [1.0], "chances": None}]})
        >>> with Client("http://localhost:8000", transport=httpx.MockTransport(service)) as client:
        ...     client.decide("drinks").arms
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
        algorithm: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        plays: int = 1,
        seed: int | None = None,
        window: float | None = None,
        missing: str = "lost",
        rewards: tuple[float, float] | None = (0.0, 1.0),
    ) -> bool:
        """A new allocation.

        Args:
            name: of the allocation.
            arms: their names, each once.
            algorithm: a name of `evenhand.algorithms`.
            parameters: the algorithm's, as in a configuration; those with one value an arm as a list in the order of
                ``arms``, or by name.
            plays: arms that play a round.
            seed: of all randomness; None lets the service draw one.
            window: seconds after which a report that is missing is not waited for any more; None for never.
            missing: what a report that never came counts as: ``"lost"`` (never known) or ``"zero"`` (a reward of 0).
            rewards: the smallest and the largest reward; others are refused. None takes any.

        Returns:
            Whether it is new; False where the very same was there, perhaps from a try whose answer was lost.

        Raises:
            ServiceError: another one of that name is there (code ``"conflict"``), or what is asked for cannot be.
        """
        body = {
            "name": name,
            "arms": list(arms),
            "algorithm": algorithm,
            "parameters": _infinity_as_text(parameters or {}),
            "plays": plays,
            "seed": seed,
            "window": window,
            "missing": missing,
            "rewards": None if rewards is None else list(rewards),
        }
        status, _ = self._connection.ask(Call("POST", f"{self.url}/v1/allocations", body), dict[str, Any])
        return status == httpx.codes.CREATED

    def allocations(self) -> tuple[Summary, ...]:
        """The allocations of the service."""
        return self._get("/v1/allocations", answers.Allocations).allocations

    def describe(self, name: str) -> Description:
        """How an allocation was made, and where it stands."""
        return self._get(path_to(name), Description)

    # --- decisions and reports ----------------------------------------------------------------------------------------

    def decide(
        self,
        name: str,
        available: Iterable[str] | None = None,
        *,
        propensities: bool = False,
        idempotency_key: str | None = None,
    ) -> Decided:
        """Who plays the next round.

        Args:
            name: of the allocation.
            available: names of the arms that can play; None for all that are not retired.
            propensities: whether to tell the chances of all available arms, which costs time where there is no closed
                form.
            idempotency_key: by which the service knows the call again; None for a fresh one.
        """
        (decided,) = self.decide_many(name, 1, available, propensities=propensities, idempotency_key=idempotency_key)
        return decided

    def decide_many(
        self,
        name: str,
        rounds: SupportsIndex | Sequence[Iterable[str] | None],
        available: Iterable[str] | None = None,
        *,
        propensities: bool = False,
        idempotency_key: str | None = None,
    ) -> tuple[Decided, ...]:
        """Who plays the next rounds.

        Args:
            name: of the allocation.
            rounds: how many; or for each of them who can play, None for all that are not retired.
            available: who can play in all of them.
            propensities: as for `decide`.
            idempotency_key: as for `decide`.
        """
        body: dict[str, Any] = {"propensities": propensities}
        if isinstance(rounds, SupportsIndex):
            count = body["count"] = int(rounds)
            body["available"] = _names(available)
        else:
            if available is not None:
                raise EvenhandError("name those who are available either for each round or for all, not both")
            count, body["rounds"] = len(rounds), [_names(one) for one in rounds]
        decided = self._post(path_to(name, "decisions"), body, idempotency_key, answers.Decisions).decisions
        if len(decided) != count:
            raise UnexpectedAnswer(f"{count} decisions were asked for, and the service answered with {len(decided)}")
        return decided

    def report(
        self, name: str, decision: str, rewards: Mapping[str, float], *, idempotency_key: str | None = None
    ) -> tuple[Reported, ...]:
        """Tell what arms earned, at any time, in any order, one by one or together.

        Args:
            name: of the allocation.
            decision: its id.
            rewards: by the names of arms that it played.
            idempotency_key: by which the service knows the call again; None for a fresh one.

        Returns:
            What became of each; a reward that was not taken in is no error.
        """
        return self.report_many(name, [(decision, rewards)], idempotency_key=idempotency_key)

    def report_many(
        self,
        name: str,
        reports: Iterable[tuple[str, Mapping[str, float]]],
        *,
        idempotency_key: str | None = None,
    ) -> tuple[Reported, ...]:
        """Tell what arms earned in several decisions.

        Args:
            name: of the allocation.
            reports: ids of decisions, each with rewards by the names of arms.
            idempotency_key: as for `report`.
        """
        body = {
            "reports": [
                {"decision": decision, "rewards": _by_arm("rewards", "{'tea': 1.0}", rewards)}
                for decision, rewards in reports
            ]
        }
        return self._post(path_to(name, "reports"), body, idempotency_key, answers.Answers).answers

    def total(
        self, name: str, value: float, round: int | None = None, *, idempotency_key: str | None = None
    ) -> Totalled:
        """Tell the anonymous sum of the round just decided: all that arrived in it, whoever earned it.

        Args:
            name: of the allocation.
            value: the sum.
            round: which round that is, so that it cannot go to a wrong one; None trusts that it is the last.
            idempotency_key: as for `report`.
        """
        body = {"value": value, "round": round}
        return self._post(path_to(name, "totals"), body, idempotency_key, Totalled)

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
    ) -> Changed:
        """A new arm; what it is owed counts from the next round.

        Args:
            name: of the allocation.
            arm: name of the arm.
            fraction: the share that it is promised, where the algorithm promises shares.
            penalty: of the arm, where the algorithm has penalties.
            weight: of the arm, where the algorithm has weights.
            idempotency_key: by which the service knows the call again; None for a fresh one.
        """
        values = {"fraction": fraction, "penalty": penalty, "weight": weight}
        given = {label: value for label, value in values.items() if value is not None}
        return self._change(name, "add", idempotency_key, arm=arm, **given)

    def retire(self, name: str, arm: str, *, idempotency_key: str | None = None) -> Changed:
        """An arm that does not play any more; its promise ends, reports of it are still welcome."""
        return self._change(name, "retire", idempotency_key, arm=arm)

    def bring_back(
        self, name: str, arm: str, *, fraction: float | None = None, idempotency_key: str | None = None
    ) -> Changed:
        """A retired arm plays again, with all that is known of it and a promise that begins now."""
        given = {} if fraction is None else {"fraction": fraction}
        return self._change(name, "bring_back", idempotency_key, arm=arm, **given)

    def promise(self, name: str, fractions: Mapping[str, float], *, idempotency_key: str | None = None) -> Changed:
        """Other promised shares for some arms; those of the others stay, with all that they are owed."""
        return self._change(name, "promise", idempotency_key, fractions=_by_arm("fractions", "{'tea': 0.2}", fractions))

    def close_allocation(self, name: str, *, idempotency_key: str | None = None) -> Changed:
        """The allocation decides no more; reports are still welcome."""
        return self._change(name, "close", idempotency_key)

    def reopen_allocation(self, name: str, *, idempotency_key: str | None = None) -> Changed:
        """A closed allocation decides again."""
        return self._change(name, "reopen", idempotency_key)

    def _change(self, name: str, change: str, idempotency_key: str | None, **values: Any) -> Changed:
        return self._post(path_to(name, "changes"), {"change": change} | values, idempotency_key, Changed)

    # --- what became of it --------------------------------------------------------------------------------------------

    def audit(self, name: str, limit: int | None = None) -> Audit:
        """What each arm was promised, and what it got.

        Args:
            name: of the allocation.
            limit: at most so many arms, those furthest behind their promise first; None for all, in their order.
        """
        from evenhand.online.client.audits import Audited

        return self._get(path_to(name, "audit"), Audited, limit=limit).record()

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
            path: of the file; its suffix, ``.csv`` or ``.parquet``, says in which form it comes.
            since: the first round.
            until: the last round; None for the last one decided.
            estimate: whether to estimate the chances that have no closed form, which takes time.

        Raises:
            DataError: the file cannot be written.
        """
        from evenhand.results import write_whole

        target = Path(fspath(path))
        form = target.suffix.removeprefix(".").lower()
        if form not in KINDS:
            raise DataError(f"the name of a log must end in .csv or .parquet, got {fspath(path)!r}")
        query = {"format": form, "since": since, "until": until, "estimate": str(estimate).lower()}
        call = Call("GET", self.url + path_to(name, "log"), query=query)
        try:
            write_whole(target, lambda temporary: self._connection.download(call, temporary, KINDS[form]))
        except OSError as error:
            raise DataError(f"the log could not be written to {target}: {error}") from None

    def access(self) -> Access:
        """What the client's key may do."""
        return self._get("/v1/access", Access)

    # ------------------------------------------------------------------------------------------------------------------

    def _get(self, path: str, shape: type[Record], **query: Any) -> Record:
        return self._connection.ask(Call("GET", self.url + path, query=query), shape)[1]

    def _post(self, path: str, body: Mapping[str, Any], idempotency_key: str | None, shape: type[Record]) -> Record:
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        return self._connection.ask(Call("POST", self.url + path, body, idempotency_key=key), shape)[1]


def _infinity_as_text(value: Any) -> Any:
    """Parameters as the service takes them, as JSON has no infinity."""
    if isinstance(value, Mapping):
        return {name: _infinity_as_text(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_infinity_as_text(one) for one in value]
    return repr(value) if isinstance(value, float) and math.isinf(value) else value


def _by_arm(what: str, example: str, given: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise EvenhandError(f"{what} must be a mapping from arms to numbers, such as {example}, got {given!r}")
    return dict(given)


def _names(arms: Iterable[str] | None) -> list[str] | None:
    if isinstance(arms, str):
        raise EvenhandError(f"name the available arms in a list, got the text {arms!r}")
    return None if arms is None else list(arms)
