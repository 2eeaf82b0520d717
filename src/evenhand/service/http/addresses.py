"""The addresses of webhooks: which of them a server may send to, and how a name becomes one of these."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

import httpx

from evenhand.core.errors import EvenhandError

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
#: Not for the public, by the registries of special addresses (RFC 6890) as of 2026. Written down here, as Python's
#: ``is_global`` differs: 3.11.7 takes 192.0.0.8 and 64:ff9b:1::1 for public, and each version ::127.0.0.1.
PRIVATE_4 = [
    ipaddress.IPv4Network(one)
    for one in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
        *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
    )
]
PUBLIC_6 = ipaddress.IPv6Network("2000::/3")  # all others are private, local, multicast or not given to anybody
#: In it, but for protocols (Teredo among them), documentation, and IPv4 through others' relays (6to4).
PRIVATE_6 = [ipaddress.IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # public addresses of IPv4, as networks without IPv4 write them


def is_public(ip: IP) -> bool:
    """Whether an address is one of the public internet."""
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in network for network in PRIVATE_4)
    if ip.ipv4_mapped is not None:
        return is_public(ip.ipv4_mapped)
    if ip in NAT64:
        return is_public(ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF))
    return ip in PUBLIC_6 and not any(ip in network for network in PRIVATE_6)


def check_address(url: str, private: bool) -> httpx.URL:
    """The address of a webhook, which need not be reachable yet."""
    try:
        address = httpx.URL(url)
        host = address.host
    except (httpx.InvalidURL, UnicodeError) as error:  # the latter for names that cannot be written in ASCII
        raise EvenhandError(f"url is invalid: {error}") from None
    if address.scheme not in ("https", "http") or not host or address.userinfo or address.fragment:
        raise EvenhandError("url must be an address such as https://example.org/hook, without a user name")
    if address.port is not None and not 0 < address.port < 2**16:
        raise EvenhandError(f"the port of url must be from 1 to 65,535, got {address.port:,}")
    if address.scheme == "http" and not private:
        raise EvenhandError("url must begin with https://, unless the server runs with --private-webhooks")
    return address


def check_registered(url: str, private: bool) -> None:
    """Refuse an address that is private or has a name of a private one; a name need not be known yet."""
    address = check_address(url, private)
    with suppress(OSError):
        _public(address, private)


def resolved(url: str, private: bool) -> tuple[httpx.URL, str]:
    """The address of a webhook with the IP address in place of the name of its host, and the header ``host``.

    The connection goes to the IP address that was checked, whatever the name resolves to a moment later.
    """
    address = check_address(url, private)
    try:
        ip = _public(address, private)
    except OSError as error:
        raise EvenhandError(f"the host {address.host} is unknown: {error}") from None
    return address.copy_with(host=ip), address.netloc.decode("ascii")


def _public(address: httpx.URL, private: bool) -> str:
    """The first IP address of a host, if all that it has may be sent to."""
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(address.host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a part of the name is too long
        raise OSError(str(error)) from None
    ips = [str(ip) for _, _, _, _, (ip, *_) in found]
    if not private and not all(is_public(ipaddress.ip_address(ip)) for ip in ips):
        raise EvenhandError(
            f"the host {address.host} is in a private network; --private-webhooks of `evenhand serve` allows it"
        )
    return ips[0]
