"""The log of a server: one line per message, as text or as JSON, each with time, level, logger and request id.

The formatters are by hand: those of structlog take 18 and 21 µs a line instead of 10, their text has ESC and DEL
as they are, which a terminal carries out, and what hides secrets and selects the fields of a request would be as long.
"""

from __future__ import annotations

import json
import logging
import logging.config
import random
import re
from collections.abc import Iterable
from contextvars import ContextVar

from evenhand.messages.answers import moment, rfc3339

LEVELS = ("error", "warning", "info", "debug")
FORMATS = ("text", "json")
ACCESS = logging.getLogger("evenhand.access")  # a line for every request
REQUEST_ID = ContextVar[str | None]("request_id", default=None)  # of the request that is being answered
#: Not `secrets`, which asks the system and lets other threads run meanwhile: that took half of a decision's time.
IDS = random.Random()
WELL_FORMED = re.compile(rb"[!-~]{1,100}")
ARM = re.compile(r"(/v1/allocations/[^/]*/arms/).+", flags=re.DOTALL)
SECRET = re.compile(r"evh_[A-Za-z0-9_-]{20,}", flags=re.ASCII)
#: What a line has after its message, in this order; in text without those that the message of a request has already.
FIELDS = ("request_id", "method", "path", "status", "seconds", "key", "client")
IN_MESSAGE = ("method", "path", "status")
PLAIN = re.compile(r"[!#-~]+")  # a value that needs no quotes


def configure(level: str, format: str = "text") -> None:
    """Log everything on standard error: Evenhand's messages, uvicorn's, those of other libraries, and warnings."""
    others = "ERROR" if level == "error" else "WARNING"
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"()": JsonFormatter if format == "json" else TextFormatter}},
            "filters": {"request": {"()": RequestFilter}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["request"]}},
            "root": {"level": others, "handlers": ["stderr"]},
            "loggers": {
                "evenhand": {"level": level.upper()},
                "uvicorn": {"level": level.upper()},
                "psycopg": {"level": "ERROR"},  # the store logs its errors, once
            },
        }
    )
    logging.captureWarnings(True)


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The id of a request: its header ``X-Request-ID`` if that is well-formed, else a new one."""
    given = [value for name, value in headers if name == b"x-request-id"]
    if len(given) == 1 and WELL_FORMED.fullmatch(given[0]):
        return given[0].decode("ascii")
    return f"{IDS.getrandbits(128):032x}"


def log_request(method: str, path: str, status: int, **fields: str | float | None) -> None:
    """Log an answered request at the level ``info``, without the name of an arm, as it may be that of a person."""
    if ACCESS.isEnabledFor(logging.INFO):
        path = ARM.sub(r"\1{arm}", path)
        extra = {"method": method, "path": path, "status": status, **fields}
        ACCESS.info("%s %s %s", method, path, status, extra=extra)


def announce(message: str) -> None:
    """Log a line whatever the level."""
    logger = logging.getLogger("evenhand.service")
    logger.handle(logger.makeRecord(logger.name, logging.INFO, "", 0, message, (), None))


class RequestFilter(logging.Filter):
    """Adds the id of the request that is being answered to every line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add it, unless the line has one."""
        if getattr(record, "request_id", None) is None:
            record.request_id = REQUEST_ID.get()
        return True


class JsonFormatter(logging.Formatter):
    """A line of JSON in ASCII, in which every control character is an escape; secrets of keys are left out."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": rfc3339(moment(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _without_secrets(json.dumps(line)).replace("\x7f", "\\u007f")


class TextFormatter(logging.Formatter):
    """A line of text, with fields as ``name=value``; what cannot be printed is escaped, a traceback is indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        message = _printable(record.getMessage().rstrip())
        fields = {name: value for name, value in _fields(record).items() if name not in IN_MESSAGE}
        words = [f"{name}={_value(value)}" for name, value in fields.items()]
        lines = [" ".join([rfc3339(moment(record.created)), record.levelname, f"{record.name}:", message, *words])]
        if record.exc_info:
            lines += ["  " + _printable(line) for line in self.formatException(record.exc_info).split("\n")]
        return _without_secrets("\n".join(lines))


def _fields(record: logging.LogRecord) -> dict[str, str | float]:
    values = {name: getattr(record, name, None) for name in FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def _value(value: str | float) -> str:
    text = str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _without_secrets(line: str) -> str:
    return SECRET.sub("evh_(hidden)", line)
