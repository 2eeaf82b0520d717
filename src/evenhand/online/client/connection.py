"""Connections to a service: calls are tried again where that helps, for a limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
from tenacity import RetryCallState, RetryError, Retrying, retry_if_exception_type, wait_random_exponential

from evenhand import __version__, validate
from evenhand.errors import EvenhandError
from evenhand.online.client.answers import Fault
from evenhand.online.client.errors import ServiceError, Unavailable
from evenhand.online.client.wire import Call, asked, bearer, read, refusal, refused, status, unexpected

Record = TypeVar("Record")
Found = TypeVar("Found")

#: Answers that another try may better.
PASSING = frozenset({429, 502, 503, 504})
#: What gets lost on the way, and may get through at the next try.
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.ProxyError, httpx.RemoteProtocolError)
#: What fails before anything of a call is sent.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: Seconds without an answer after which a call says so.
QUIET = 1.0
#: Hosts to which no proxy of the environment leads.
DIRECT: dict[str, httpx.BaseTransport | None] = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}
#: Seconds before the next try: at random up to 0.2, then 0.4, 0.8 and so on, so that clients do not come back together.
BACKOFF = wait_random_exponential(multiplier=0.2, max=5.0)


class Connection:
    """Connections to a service, kept open from call to call; threads may share them.

    Args:
        key: API key; never shown.
        timeout: seconds that a try waits for the service.
        retries: further tries after one that failed and may do better.
        patience: seconds that a call may take with all its tries.
        transport: what carries the calls; None for the network.
        sleep: waits for some seconds.
        clock: tells the seconds.
        notice: told once a call that no answer has come, after a second without one.

    Raises:
        EvenhandError: an argument is out of range.

    Example:
        >>> answer = httpx.Response(200, json={"round": 7})
        >>> connection = Connection(transport=httpx.MockTransport(lambda request: answer))
        >>> connection.ask(Call("GET", "http://localhost:8000/v1/anything"), dict[str, int])
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

    def ask(self, call: Call, shape: type[Record]) -> tuple[int, Record]:
        """The status of the answer to a call, and the answer as a record.

        Raises:
            ServiceError: the service refuses the call.
            Unavailable: it cannot be reached or cannot answer, however often it is asked.
            UnexpectedAnswer: the answer is of another shape.
        """

        def heard(response: httpx.Response, deadline: float) -> tuple[int, Record]:
            return response.status_code, read(call, response, self._body(response, deadline), shape)

        return self._tried(call, heard)

    def download(self, call: Call, path: Path, kind: str) -> None:
        """Write an answer of the content type ``kind`` to a file, piece by piece, as long as pieces keep coming.

        Raises:
            ServiceError: the service refuses the call.
            Unavailable: it cannot be reached or cannot answer, however often it is asked.
            UnexpectedAnswer: the answer is of another type.
            OSError: the file cannot be written.
        """

        def written(response: httpx.Response, deadline: float) -> None:
            found = response.headers.get("Content-Type", "").partition(";")[0].strip()
            if found != kind:
                raise unexpected(call, response, self._body(response, deadline), f"of the type {found or 'unknown'}")
            with path.open("wb") as file:
                for piece in response.iter_bytes():
                    file.write(piece)

        self._tried(call, written)

    def _tried(self, call: Call, use: Callable[[httpx.Response, float], Found]) -> Found:
        """What ``use`` makes of the answer; it is also given the time by which it is to be done."""
        request, begun, sent = call.request(), self._clock(), False
        deadline = begun + self.patience
        silence = threading.Timer(QUIET, self._notice or (lambda: None))
        silence.daemon = True

        def once() -> Found:
            nonlocal sent
            try:
                return self._once(call, request, deadline, use, silence)
            except _Passing as error:
                sent = sent or error.sent
                raise

        def spent(state: RetryCallState) -> bool:
            return state.attempt_number > self.retries or self._clock() + state.upcoming_sleep >= deadline

        tries = Retrying(sleep=self._sleep, stop=spent, wait=_pause, retry=retry_if_exception_type(_Passing))
        if self._notice is not None:
            silence.start()
        try:
            found: Found = tries(once)
        except RetryError as error:
            failed, seconds = error.last_attempt, self._clock() - begun
            raise self._given_up(call, _passing(failed.exception()), failed.attempt_number, seconds, sent) from None
        finally:
            silence.cancel()
        return found

    def _once(
        self,
        call: Call,
        request: dict[str, Any],
        deadline: float,
        use: Callable[[httpx.Response, float], Found],
        silence: threading.Timer,
    ) -> Found:
        left = max(min(self.timeout, deadline - self._clock()), 0.001)
        try:
            with self._http.stream(**request, timeout=left) as response:
                if response.is_success:
                    silence.cancel()
                    return use(response, deadline)
                body = self._body(response, deadline)
        except LOST as error:
            why = f"{_KINDS.get(type(error), 'the connection broke')} ({error})"
            raise _Passing(why, LOOK, sent=not isinstance(error, UNSENT)) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # an answer that cannot be unpacked, and the like
            raise ServiceError(f"{call} failed: {error}", "failed") from None
        if response.status_code not in PASSING:
            raise refused(call, response, body)
        fault = refusal(body)
        why = status(response) + (f", {fault.message}" if fault else "")
        raise _Passing(why, WAIT, asked(response), response.status_code, fault)

    def _body(self, response: httpx.Response, deadline: float) -> bytes:
        """An answer, of which no more is read after the deadline."""
        pieces, late = [], False
        for piece in response.iter_bytes():
            if late:
                raise httpx.ReadTimeout("the answer had begun and did not end")
            pieces.append(piece)
            late = self._clock() > deadline
        return b"".join(pieces)

    def _given_up(self, call: Call, last: _Passing, tries: int, seconds: float, sent: bool) -> Unavailable:
        """The error after the last try: what was tried, for how long, and what to do."""
        times = "one try" if tries == 1 else f"{tries} tries"
        told = f"{call} was not answered in {times} and {seconds:.1f} s; the last time: {last.why}. {last.advice}"
        if last.asked >= self.patience:
            told += f" It asks for {last.asked:g} s of rest, and the patience of this client is {self.patience:g} s."
        if call.idempotency_key is not None and not sent:
            told += "\nThe call was not sent, so nothing was done."
        elif call.idempotency_key is not None:
            told += (
                f"\nWhether it was done is not known; done again with the idempotency key {call.idempotency_key}, "
                "it is not done twice."
            )
        fault = last.fault or Fault("unavailable", "")
        return Unavailable(told, fault.code, fault.details, last.status, tries, seconds, call.idempotency_key)


class _Passing(Exception):
    """A try that failed where the next may do better."""

    def __init__(
        self,
        why: str,
        advice: str,
        asked: float = 0.0,
        status: int | None = None,
        fault: Fault | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(why)
        self.why, self.advice, self.asked, self.status, self.fault, self.sent = why, advice, asked, status, fault, sent


LOOK = "Is the service running there (evenhand serve), and can it be reached from here?"
WAIT = "Try again later."
_KINDS = {
    httpx.ConnectError: "no connection",
    httpx.ConnectTimeout: "no connection in time",
    httpx.ReadTimeout: "no answer in time",
}


def _pause(state: RetryCallState) -> float:
    """Seconds before the next try: what the service asks for, and a random time that grows."""
    assert state.outcome is not None
    return _passing(state.outcome.exception()).asked + BACKOFF(state)


def _passing(error: BaseException | None) -> _Passing:
    assert isinstance(error, _Passing)
    return error


def _seconds(name: str, value: float) -> float:
    value = validate.number(name, value, low=0.0)
    if value == 0.0:
        raise EvenhandError(f"{name} must be above 0 seconds, got 0")
    return value
