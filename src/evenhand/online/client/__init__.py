"""A typed client of the HTTP service, with timeouts, retries and idempotency keys."""

from __future__ import annotations

from evenhand.online.client.client import Client as Client
from evenhand.online.client.errors import ServiceError as ServiceError
from evenhand.online.client.errors import Unavailable as Unavailable
from evenhand.online.client.errors import UnexpectedAnswer as UnexpectedAnswer
