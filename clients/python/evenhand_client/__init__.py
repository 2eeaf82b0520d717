"""Typed clients of Evenhand's HTTP service, with timeouts, retries and idempotency keys."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("evenhand-client")

from .client import AsyncClient as AsyncClient
from .client import Client as Client
from .client import InvalidSignature as InvalidSignature
from .client import LeasedDecision as LeasedDecision
from .client import LeasedDecisions as LeasedDecisions
from .client import LeaseOver as LeaseOver
from .client import ServiceError as ServiceError
from .client import Unavailable as Unavailable
from .client import UnexpectedAnswer as UnexpectedAnswer
from .client import verify_webhook as verify_webhook
from .core.errors import DataError as DataError
from .core.errors import EvenhandError as EvenhandError
from .messages.changes import AddArm as AddArm
from .messages.changes import BringBack as BringBack
from .messages.changes import Close as Close
from .messages.changes import Erase as Erase
from .messages.changes import Promise as Promise
from .messages.changes import Redeclare as Redeclare
from .messages.changes import Rename as Rename
from .messages.changes import Reopen as Reopen
from .messages.changes import Retire as Retire
from .messages.changes import Reword as Reword
from .messages.requests import Round as Round
