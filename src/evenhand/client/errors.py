"""Errors of calls to the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.errors import EvenhandError
from ..messages.problem import Detail


class ServiceError(EvenhandError):
    """The service refused a call, or its answer was invalid.

    Attributes:
        code: for programs: that of the service, such as ``"conflict"`` or ``"closed"``.
        message: for people.
        errors: the places in the request where something is wrong, if any.
        status: of the HTTP answer; None if there was none.
        request_id: identifies the request in the log of the service; None if it is unknown.
    """

    _usual = ""  # code where none is given

    def __init__(
        self,
        message: str,
        code: str | None = None,
        errors: Sequence[Detail] = (),
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        self.message, self.code = message, self._usual if code is None else code
        self.errors, self.status, self.request_id = tuple(errors), status, request_id
        super().__init__(message)

    def __str__(self) -> str:
        def said(one: Detail) -> bool:
            place = one.where.removeprefix("body.") if "[" in one.where else one.where.rpartition(".")[2]
            return place in self.message and one.message in self.message

        return "\n".join([self.message, *(str(one) for one in self.errors if not said(one))])


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
        *known: Any,  # as of `ServiceError`
        tries: int = 0,
        seconds: float = 0.0,
        idempotency_key: str | None = None,
    ) -> None:
        super().__init__(message, code, *known)
        self.tries, self.seconds, self.idempotency_key = tries, seconds, idempotency_key


class UnexpectedAnswer(ServiceError):
    """The answer is not one of an Evenhand service, or of another version of it."""

    _usual = "unexpected"
