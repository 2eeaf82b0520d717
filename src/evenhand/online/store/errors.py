"""What can be wrong with a request to the store, beyond what a bandit itself refuses."""

from __future__ import annotations

from evenhand.errors import EvenhandError


class UnknownAllocation(EvenhandError):
    """There is no allocation of that name."""


class Conflict(EvenhandError):
    """Something else is there already: an allocation of that name, or another total of that round."""


class Closed(EvenhandError):
    """The allocation decides no more."""


class KeyReused(EvenhandError):
    """An idempotency key that came with another request before."""


class StoreUnavailable(EvenhandError):
    """The database cannot be reached or written to; nothing that was answered is lost, and asking again is safe."""


class Overloaded(StoreUnavailable):
    """Too much is asked at once."""
