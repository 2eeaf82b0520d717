"""Connections to a service, with retries for a limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
from tenacity import RetryCallState, RetryError, Retrying, retry_if_exception_type, wait_random_exponential

from evenhand import __version__
from evenhand.core import validate
from evenhand.core.errors import EvenhandError
from evenhand.online.api.errors import Problem
from evenhand.online.client.errors import ServiceError, Unavailable
from evenhand.online.client.messages import (
    Call,
    bearer,
    problem_in,
    read,
    retry_after,
    service_error,
    status,
    unexpected,
)

Record = TypeVar("Record")
Result = TypeVar("Result")

#: Statuses after which another try may succeed.
TRANSIENT = frozenset({429, 502, 503, 504})
#: Errors of the network after which another try may succeed.
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.ProxyError, httpx.RemoteProtocolError)
#: Errors before anything of a call is sent.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: Seconds without an answer after which ``notice`` is called.
NOTICE_AFTER = 1.0
#: Hosts for which the proxy of the environment is not used.
DIRECT: dict[str, httpx.BaseTransport | None] = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}
#: Seconds before the next try: random, up to 0.2, then 0.4, 0.8 and so on, so that clients do not retry together.
BACKOFF = wait_random_exponential(multiplier=0.2, max=5.0)
CHECK_SERVICE = "Is the service running there (evenhand serve), and can it be reached from here?"
RETRY_LATER = "Retry later."
REASONS = {
    httpx.ConnectError: "no connection",
    httpx.ConnectTimeout: "no connection in time",
    httpx.ReadTimeout: "no answer in time",
}


class Connection:
    """Connections to a service, kept open between calls; threads may share them.

    Args:
        key: API key; never shown.
        timeout: seconds per try.
        retries: further tries after one that failed and may succeed when repeated.
        patience: seconds per call, with all its tries.
        transport: carries the calls; None for the network.
        sleep: waits for some seconds.
        clock: returns the time in seconds.
        notice: called once per call if it has no answer after a second.

    Raises:
        EvenhandError: an argument is out of range.

    Example:
        >>> answer = httpx.Response(200, json={"round": 7})
        >>> connection = Connection(transport=httpx.MockTransport(lambda request: answer))
        >>> connection.send(Call("GET", "http://localhost:8000/v1/anything"), dict[str, int])
        (200, {'round': 7})
    """

    def __init__(
        self,
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
        self.timeout, self.patience = _seconds("timeout", timeout), _seconds("patience", patience)
        self.retries = validate.whole("retries", retries, low=0)
        self._sleep, self._clock, self._notice = sleep, clock, notice
        headers = {"User-Agent": f"evenhand/{__version__}"}
        if key is not None:
            headers["Authorization"] = bearer(key)
        self._http = httpx.Client(headers=headers, transport=transport, mounts=DIRECT)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call, shape: type[Record]) -> tuple[int, Record]:
        """The status of the answer to a call, and the answer as a record.

        Raises:
            ServiceError: the service refuses the call.
            Unavailable: it cannot be reached or cannot answer, in all tries.
            UnexpectedAnswer: the answer has another shape.
        """

        def use(response: httpx.Response, deadline: float) -> tuple[int, Record]:
            return response.status_code, read(call, response, self._body(response, deadline), shape)

        return self._try(call, use)

    def download(self, call: Call, path: Path, media_type: str) -> None:
        """Write an answer to a file in pieces, for as long as pieces arrive.

        Raises:
            ServiceError: the service refuses the call.
            Unavailable: it cannot be reached or cannot answer, in all tries.
            UnexpectedAnswer: the answer has another media type.
            OSError: the file cannot be written.
        """

        def use(response: httpx.Response, deadline: float) -> None:
            got = _media_type(response.headers.get("Content-Type", ""))
            if got != _media_type(media_type):
                raise unexpected(call, response, self._body(response, deadline), f"of the type {got or 'unknown'}")
            with path.open("wb") as file:
                file.writelines(response.iter_bytes())

        self._try(call, use)

    def _try(self, call: Call, use: Callable[[httpx.Response, float], Result]) -> Result:
        """The result of ``use`` on the answer and the deadline, after as many tries as necessary and allowed."""
        request, start, sent = call.request(), self._clock(), False
        deadline = start + self.patience
        notice = threading.Timer(NOTICE_AFTER, self._notice or (lambda: None))
        notice.daemon = True

        def once() -> Result:
            nonlocal sent
            try:
                return self._once(call, request, deadline, use, notice)
            except _Transient as error:
                sent = sent or error.sent
                raise

        def stop(state: RetryCallState) -> bool:
            return state.attempt_number > self.retries or self._clock() + state.upcoming_sleep >= deadline

        retrying = Retrying(sleep=self._sleep, stop=stop, wait=_pause, retry=retry_if_exception_type(_Transient))
        if self._notice is not None:
            notice.start()
        try:
            result: Result = retrying(once)
        except RetryError as error:
            last, seconds = error.last_attempt, self._clock() - start
            raise self._unavailable(call, _transient(last.exception()), last.attempt_number, seconds, sent) from None
        finally:
            notice.cancel()
        return result

    def _once(
        self,
        call: Call,
        request: dict[str, Any],
        deadline: float,
        use: Callable[[httpx.Response, float], Result],
        notice: threading.Timer,
    ) -> Result:
        timeout = max(min(self.timeout, deadline - self._clock()), 0.001)
        try:
            with self._http.stream(**request, timeout=timeout) as response:
                if response.is_success:
                    notice.cancel()
                    return use(response, deadline)
                body = self._body(response, deadline)
        except LOST as error:
            reason = f"{REASONS.get(type(error), 'the connection broke')} ({error})"
            raise _Transient(reason, CHECK_SERVICE, sent=not isinstance(error, UNSENT)) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # such as an answer that cannot be decompressed
            raise ServiceError(f"{call} failed: {error}", "failed") from None
        if response.status_code not in TRANSIENT:
            raise service_error(call, response, body)
        problem = problem_in(body)
        reason = status(response) + (f", {problem.detail}" if problem else "")
        raise _Transient(reason, RETRY_LATER, retry_after(response), response.status_code, problem)

    def _body(self, response: httpx.Response, deadline: float) -> bytes:
        """The body of an answer, which is not read beyond the deadline."""
        pieces, late = [], False
        for piece in response.iter_bytes():
            if late:
                raise httpx.ReadTimeout("the answer began, but was not complete in time")
            pieces.append(piece)
            late = self._clock() > deadline
        return b"".join(pieces)

    def _unavailable(self, call: Call, last: _Transient, tries: int, seconds: float, sent: bool) -> Unavailable:
        """The error after the last try: what was tried, for how long, and the remedy."""
        times = "one try" if tries == 1 else f"{tries} tries"
        message = f"{call} was not answered in {times} and {seconds:.1f} s; last reason: {last.reason}. {last.remedy}"
        if last.retry_after >= self.patience:
            message += (
                f" It asks to retry after {last.retry_after:g} s, but the patience of this client is "
                f"{self.patience:g} s."
            )
        if call.idempotency_key is not None and not sent:
            message += "\nThe call was not sent, so nothing was changed."
        elif call.idempotency_key is not None:
            message += (
                "\nThe call may have been carried out. Repeated with the idempotency key "
                f"{call.idempotency_key}, it is not carried out twice."
            )
        problem = last.problem or Problem(title="", status=503, detail="", code="unavailable")
        return Unavailable(
            message,
            problem.code,
            problem.errors,
            last.status,
            problem.request_id,
            tries=tries,
            seconds=seconds,
            idempotency_key=call.idempotency_key,
        )


class _Transient(Exception):
    """A try that failed, where the next one may succeed."""

    def __init__(
        self,
        reason: str,
        remedy: str,
        retry_after: float = 0.0,
        status: int | None = None,
        problem: Problem | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.retry_after = reason, remedy, retry_after
        self.status, self.problem, self.sent = status, problem, sent


def _pause(state: RetryCallState) -> float:
    """Seconds before the next try: those that the service asks for, and a random time that grows."""
    assert state.outcome is not None
    return _transient(state.outcome.exception()).retry_after + BACKOFF(state)


def _transient(error: BaseException | None) -> _Transient:
    assert isinstance(error, _Transient)
    return error


def _media_type(header: str) -> str:
    """A media type without its parameters."""
    return header.partition(";")[0].strip()


def _seconds(name: str, value: float) -> float:
    value = validate.number(name, value, low=0.0)
    if value == 0.0:
        raise EvenhandError(f"{name} must be above 0 seconds, got 0")
    return value
