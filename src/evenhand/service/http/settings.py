"""Settings of a server."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The address of a server, and its limits."""

    host: str = "127.0.0.1"
    max_body: int = 8 * 2**20
    max_batch: int = 1000
    max_arms: int = 100_000
    max_work: int = 500_000
    max_leases: int = 500
    max_rate: float = 1000.0
    max_concurrent: int = 200
    max_logs: int = 2
    max_seconds: float = 60.0
    max_connections: int = 1000
    no_keys: bool = False
    private_webhooks: bool = False

    @property
    def local(self) -> bool:
        """Whether only this computer can reach the server."""
        return is_loopback(self.host)

    @property
    def open(self) -> bool:
        """Whether requests need no key as long as there is none."""
        return self.local and self.no_keys


def is_loopback(host: str) -> bool:
    """Whether a host is this computer: ``localhost`` or a loopback address; no other name, whatever it resolves to."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
