"""Signatures of webhooks, as Standard Webhooks (https://www.standardwebhooks.com) has them.

By hand, since the package `standardwebhooks` raises errors other than its own where a signature has another form or the
body is not UTF-8, so that a receiver fails on a hostile message; and neither its clock nor its tolerance can be set.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from ..core.errors import EvenhandError

PREFIX = "whsec_"  # of a secret, before its base64
TOLERANCE = 300.0  # seconds by which the clocks of sender and receiver may differ


class InvalidSignature(EvenhandError):
    """A webhook was not sent by the service, was changed on the way, or is too old."""


def key_of(secret: str) -> bytes:
    """The bytes of a secret."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not key:
        raise EvenhandError("the secret of a webhook must be whsec_ and base64, as the service showed it")
    return key


def signature(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """The value of the header ``webhook-signature``."""
    digest = hmac.digest(key_of(secret), f"{id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def verify_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = TOLERANCE, now: float | None = None
) -> dict[str, Any]:
    """The message of a webhook, if the service has signed it.

    Args:
        secret: of the endpoint, as the service showed it when it was registered.
        headers: of the request.
        body: as it was received, not parsed.
        tolerance: seconds by which its time and the clock may differ.
        now: seconds since the epoch; None for the computer's clock.

    Returns:
        Its JSON, with ``type``, ``timestamp`` and ``data``, the event with the name of its ``allocation``.

    Raises:
        InvalidSignature: it must be refused.

    Example:
        >>> secret, body = "whsec_c2VjcmV0", b'{"type": "decide"}'
        >>> headers = {"webhook-id": "m1", "webhook-timestamp": "60"}
        >>> headers["webhook-signature"] = signature(secret, "m1", 60, body)
        >>> verify_webhook(secret, headers, body, now=61.0)
        {'type': 'decide'}
    """
    values = {name.lower(): value for name, value in headers.items()}
    try:
        id, sent, signed = (values[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        timestamp = int(sent)
    except (KeyError, ValueError):
        raise InvalidSignature("the headers webhook-id, webhook-timestamp and webhook-signature are needed") from None
    if abs((time.time() if now is None else now) - timestamp) > tolerance:
        raise InvalidSignature(f"the message is of another time: more than {tolerance:g} seconds from now")
    expected = signature(secret, id, timestamp, body).encode()
    if not any(hmac.compare_digest(expected, one.encode()) for one in signed.split(" ")):
        raise InvalidSignature("the signature does not fit the message and the secret")
    message: dict[str, Any] = json.loads(body)
    return message
