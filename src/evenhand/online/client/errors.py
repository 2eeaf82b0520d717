"""What can go wrong with a call of the service."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.errors import EvenhandError
from evenhand.online.client.answers import Detail


class ServiceError(EvenhandError):
    """The service refused a call, or did not answer as it should.

    Attributes:
        code: what it is, for programs: that of the service, such as ``"conflict"`` or ``"closed"``.
        message: what it is, for people.
        details: the places of the request where something is wrong, if it is a matter of places.
        status: of the HTTP answer; None where there was none.
    """

    def __init__(self, message: str, code: str = "", details: Sequence[Detail] = (), status: int | None = None) -> None:
        self.message, self.code, self.details, self.status = message, code, tuple(details), status
        super().__init__(message)

    def __str__(self) -> str:
        more = [line for line in map(str, self.details) if line not in self.message]
        return "\n".join([self.message, *more])


class Unavailable(ServiceError):
    """The service could not be reached, or could not answer for now, however often it was asked.

    What the call was to do may have been done or not. Another call with the same idempotency key is safe: what has been
    done is not done again.

    Attributes:
        tries: how often it was asked.
        seconds: how long that took.
        idempotency_key: of the call; None where it was to change nothing.
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
    """An answer that no service of this kind gives; it comes from something else, or from another version."""

    def __init__(
        self, message: str, code: str = "unexpected", details: Sequence[Detail] = (), status: int | None = None
    ) -> None:
        super().__init__(message, code, details, status)
