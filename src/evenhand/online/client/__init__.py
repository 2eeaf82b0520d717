"""A typed client of the HTTP service: patient, and sure that nothing is done twice."""

from __future__ import annotations

from evenhand.online.client.client import Client as Client
from evenhand.online.client.errors import ServiceError as ServiceError
from evenhand.online.client.errors import Unavailable as Unavailable
from evenhand.online.client.errors import UnexpectedAnswer as UnexpectedAnswer
