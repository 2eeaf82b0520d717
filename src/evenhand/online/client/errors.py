"""Errors of calls to the service."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.errors import EvenhandError
from evenhand.online.api.models import Detail


class ServiceError(EvenhandError):
    """The service refused a call, or its answer was invalid.

    Attributes:
        code: for programs: that of the service, such as ``"conflict"`` or ``"closed"``.
        message: for people.
        details: the places in the request where something is wrong, if any.
        status: of the HTTP answer; None if there was none.
    """

    def __init__(self, message: str, code: str = "", details: Sequence[Detail] = (), status: int | None = None) -> None:
        self.message, self.code, self.details, self.status = message, code, tuple(details), status
        super().__init__(message)

    def __str__(self) -> str:
        more = [line for line in map(str, self.details) if line not in self.message]
        return "\n".join([self.message, *more])


class Unavailable(ServiceError):
    """The service could not be reached, or could not answer, in all tries.

    The call may have been carried out or not. Repeating it with the same idempotency key is safe: it is not carried out
    twice.

    Attributes:
        tries: number of tries.
        seconds: duration of all tries.
        idempotency_key: of the call; None if it changes nothing.
    """

    def __init__(
        self,
        message: str,
        code: str = "unavailable",
        details: Sequence[Detail] = (),
        status: int | None = None,
        tries: int = 0,
        seconds: float = 0.0,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message, code, details, status)
        self.tries, self.seconds, self.idempotency_key = tries, seconds, idempotency_key


class UnexpectedAnswer(ServiceError):
    """The answer is not one of an Evenhand service, or of another version of it."""

    def __init__(
        self, message: str, code: str = "unexpected", details: Sequence[Detail] = (), status: int | None = None
    ) -> None:
        super().__init__(message, code, details, status)
