"""Typed clients of Evenhand's HTTP service, with timeouts, retries and idempotency keys."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("evenhand-client")

from .core.errors import DataError as DataError
from .core.errors import EvenhandError as EvenhandError
from .online.client import AsyncClient as AsyncClient
from .online.client import Client as Client
from .online.client import InvalidSignature as InvalidSignature
from .online.client import LeasedDecision as LeasedDecision
from .online.client import LeasedDecisions as LeasedDecisions
from .online.client import LeaseOver as LeaseOver
from .online.client import ServiceError as ServiceError
from .online.client import Unavailable as Unavailable
from .online.client import UnexpectedAnswer as UnexpectedAnswer
from .online.client import verify_webhook as verify_webhook
