"""Typed clients of the HTTP service, with timeouts, retries and idempotency keys.

The imports of this package are relative, as it is also in the distribution ``evenhand-client``, under another name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy

if TYPE_CHECKING:
    from .carriers import AsyncClient as AsyncClient
    from .carriers import Client as Client
    from .errors import ServiceError as ServiceError
    from .errors import Unavailable as Unavailable
    from .errors import UnexpectedAnswer as UnexpectedAnswer
    from .leases import LeasedDecision as LeasedDecision
    from .leases import LeasedDecisions as LeasedDecisions
    from .leases import LeaseOver as LeaseOver
    from .webhooks import InvalidSignature as InvalidSignature
    from .webhooks import verify_webhook as verify_webhook
else:
    __getattr__, __dir__ = lazy(__name__)
