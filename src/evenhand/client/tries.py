"""When a call is tried again, and for how long.

By hand: stamina takes neither the clock nor the sleep of a caller, and tenacity would replace the loops of six lines in
`transport`; what is long stays: which errors are transient, the time left for a try, and what the last error says.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import httpx

from ..core.dataclasses import dataclass
from ..core.errors import EvenhandError
from ..messages.problem import Problem
from .errors import ServiceError, Unavailable
from .messages import Call, problem_in, retry_after, service_error, status

#: Statuses after which another try may succeed.
TRANSIENT = frozenset({429, 502, 503, 504})
#: Errors of the network after which another try may succeed.
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.ProxyError, httpx.RemoteProtocolError)
#: Errors before anything of a call is sent.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds before the next try, at most: random, so that clients do not meet again
CHECK_SERVICE = "Is the service running there (evenhand serve), and can it be reached from here?"
RETRY_LATER = "Retry later."
REASONS = {
    httpx.ConnectError: "no connection",
    httpx.ConnectTimeout: "no connection in time",
    httpx.ReadTimeout: "no answer in time",
}


@dataclass(frozen=True)
class Limits:
    """How often and for how long a call is tried."""

    timeout: float = 10.0
    retries: int = 10
    patience: float = 30.0
    wait: bool = True

    def __post_init__(self) -> None:
        for name in ("timeout", "patience"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value < float("inf"):
                raise EvenhandError(f"{name} must be a finite number of seconds, got {value!r}")
            if value <= 0.0:
                raise EvenhandError(f"{name} must be above 0 seconds, got {value!r}")
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise EvenhandError(f"retries must be a whole number of at least 0, got {self.retries!r}")


@dataclass(eq=False)
class Transient(Exception):
    """A try that failed, where the next one may succeed."""

    reason: str
    remedy: str
    retry_after: float = 0.0
    status: int | None = None
    problem: Problem | None = None
    sent: bool = True
    connected: bool = True


class Tries:
    """The tries of a call, and the time that is left for them."""

    def __init__(self, call: Call, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.call, self.request = call, call.request()
        self._limits, self._clock, self._start = limits, clock, clock()
        self._deadline = self._start + limits.patience
        self._number, self._sent = 0, False

    @property
    def timeout(self) -> float:
        """Seconds that the next try may take."""
        return max(min(self._limits.timeout, self._deadline - self._clock()), 0.001)

    @property
    def late(self) -> bool:
        """Whether the time for all tries is over."""
        return self._clock() > self._deadline

    def pause(self, error: Transient) -> float:
        """Seconds to wait before the next try."""
        longest = min(FIRST_PAUSE * 2.0 ** min(self._number, 10), LONGEST_PAUSE)
        seconds = error.retry_after + random.uniform(0.0, longest)
        self._number, self._sent = self._number + 1, self._sent or error.sent
        useless = not (error.connected or self._limits.wait)
        if useless or self._number > self._limits.retries or self._clock() + seconds >= self._deadline:
            raise self._unavailable(error) from None
        return seconds

    def _unavailable(self, last: Transient) -> Unavailable:
        """The error after the last try: what was tried, for how long, and the remedy."""
        call, seconds, patience = self.call, self._clock() - self._start, self._limits.patience
        if self._number == 1:
            message = f"{call} was not answered: {last.reason}. {last.remedy}"
        else:
            tried = f"in {self._number} tries and {seconds:.1f} s; last reason"
            message = f"{call} was not answered {tried}: {last.reason}. {last.remedy}"
        if last.retry_after >= patience:
            message += (
                f" It asks to retry after {last.retry_after:g} s, but the patience of this client is {patience:g} s."
            )
        if call.idempotency_key is not None and not self._sent:
            message += "\nThe call was not sent, so nothing was changed."
        elif call.idempotency_key is not None:
            message += (
                "\nThe call may have been carried out. Repeated with the idempotency key "
                f"{call.idempotency_key}, it is not carried out twice."
            )
        problem = last.problem or Problem(title="", status=503, detail="", code="unavailable")
        known = (problem.code, problem.errors, last.status, problem.request_id)
        return Unavailable(message, *known, tries=self._number, seconds=seconds, idempotency_key=call.idempotency_key)


def failed(call: Call, error: httpx.HTTPError | httpx.InvalidURL) -> Transient | ServiceError:
    """The error for a try without an answer."""
    if isinstance(error, LOST):
        reason = f"{REASONS.get(type(error), 'the connection broke')} ({error})"
        sent, connected = not isinstance(error, UNSENT), not isinstance(error, httpx.ConnectError)
        return Transient(reason, CHECK_SERVICE, sent=sent, connected=connected)
    return ServiceError(f"{call} failed: {error}", "failed")  # such as an answer that cannot be decompressed


def refused(call: Call, response: httpx.Response, body: bytes) -> Transient | ServiceError:
    """The error for an answer that is not successful."""
    if response.status_code not in TRANSIENT:
        return service_error(call, response, body)
    problem = problem_in(body)
    reason = status(response) + (f", {problem.detail}" if problem else "")
    return Transient(reason, RETRY_LATER, retry_after(response), response.status_code, problem)
