"""What a server is told when it starts."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Where a server listens, and how much it takes at once.

    Attributes:
        host: name or address that it listens on.
        max_body: bytes of a request's body.
        max_batch: decisions or reports of a request.
        max_arms: arms of an allocation.

    Example:
        >>> Settings().local, Settings(host="0.0.0.0").local
        (True, False)
    """

    host: str = "127.0.0.1"
    max_body: int = 8 * 2**20
    max_batch: int = 1000
    max_arms: int = 100_000

    @property
    def local(self) -> bool:
        """Whether only this computer can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a name or an address stands for this very computer; no other name does, whatever it resolves to.

    Example:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "example.org")]
        [True, True, True, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
