"""Errors of the store, beyond those of the bandit itself."""

from __future__ import annotations

from evenhand.core.errors import EvenhandError
from evenhand.core.errors import MissingPart as MissingPart


class UnknownAllocation(EvenhandError):
    """There is no allocation of that name."""


class UnknownArm(EvenhandError):
    """The allocation has no arm of that name."""


class UnknownDecision(EvenhandError):
    """The allocation has no decision with that id."""


class UnknownLease(EvenhandError):
    """The allocation has no lease with that id that is open or has pending rewards."""


class LeaseOver(EvenhandError):
    """The lease is over, and what was not reported has been returned."""


class UnknownWebhook(EvenhandError):
    """The allocation has no webhook with that id."""


class Conflict(EvenhandError):
    """Another allocation of that name, another such arm or another total of that round exists."""


class Closed(EvenhandError):
    """The allocation is closed and decides no more."""


class KeyReused(EvenhandError):
    """The idempotency key was used for another request."""


class TooMuchWork(EvenhandError):
    """The request would take too long, and others would have to wait for it."""


class StoreUnavailable(EvenhandError):
    """The database cannot be reached or written to; nothing that was answered is lost, and retrying is safe."""


class DamagedAllocation(EvenhandError):
    """The events of an allocation are damaged: it answers nothing until it is restored or erased; others go on."""


class Overloaded(StoreUnavailable):
    """Too many requests wait for an allocation."""
