"""What is wrong with a request: the codes of errors, and the form of their answers (RFC 9457)."""

from __future__ import annotations

from ..core.dataclasses import dataclass
from .answers import Answer

#: The codes of errors, each with its status and its meaning.
CODES: dict[str, tuple[int, str]] = {
    "malformed": (400, "the request is not HTTP"),
    "unauthenticated": (401, "the key is missing, unknown or revoked"),
    "forbidden": (403, "the key lacks the scope; or there are no keys and the request is not for this computer"),
    "not_found": (404, "there is no such page"),
    "unknown_allocation": (404, "there is no allocation of that name"),
    "unknown_arm": (404, "the allocation has no arm of that name"),
    "unknown_decision": (404, "the allocation has no decision with that id"),
    "unknown_lease": (404, "the allocation has no lease with that id that is open or has pending rewards"),
    "unknown_webhook": (404, "the allocation has no webhook with that id"),
    "method_not_allowed": (405, "the page does not accept this method"),
    "conflict": (409, "another allocation or arm of that name, total of that round or report of that lease exists"),
    "closed": (409, "the allocation is closed and decides no more until it is reopened"),
    "lease_over": (409, "the lease is over, and what was not reported has been returned"),
    "damaged": (
        409,
        "the stored events of the allocation are damaged; it answers nothing until it is restored or erased",
    ),
    "missing_part": (409, "the allocation needs a part of your own, with which the server was not started"),
    "timeout": (408, "the request was not complete in time"),
    "too_large": (413, "the body, batch, number of arms, values or open leases, or the work is over the limit"),
    "unsupported_media_type": (415, "the body must be application/json"),
    "key_reused": (422, "the idempotency key was used for another request"),
    "invalid": (422, "the request is invalid; `errors` lists where, as far as that is known"),
    "infeasible": (422, "the promised shares cannot be kept; nothing was changed"),
    "too_many_requests": (429, "the key is over its limit; retry after the seconds in `Retry-After`"),
    "headers_too_large": (431, "the headers are over the limit"),
    "internal": (500, "an error of the server, which its log explains"),
    "unavailable": (503, "the database cannot be reached, or the server is busy; retrying is safe"),
}
MAX_DETAILS = 20  # places that a problem lists at most
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Detail(Answer):
    """A place in a request where something is wrong."""

    where: str  # such as `body.rewards[0].decision`
    message: str  # what is wrong there

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True)
class Problem(Answer):
    """Why a request cannot be carried out, as RFC 9457 has it."""

    title: str  # the meaning of the status
    status: int  # of the answer
    detail: str  # what is wrong, for people
    code: str  # what is wrong, for programs
    errors: tuple[Detail, ...] = ()  # each place where something is wrong, at most 20
    type: str = "about:blank"  # always the default, as `code` says what is wrong
    instance: str | None = None  # path of the request
    request_id: str | None = None  # identifies the request in the log of the server
